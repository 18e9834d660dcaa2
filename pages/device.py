"""Device: what the reports of one phone over a week give away, and what memory and a cap do about it."""

from ldpcore.errors import ParameterError
from ui.device_attack import attack_map, belief_table, knowledge, success_curves
from ui.device_crowd import crowd, not_hidden, real_client
from ui.device_parts import ask
from ui.device_timeline import timeline
from ui.device_words import beside_the_report, checks, to_remember, unprotected
from ui.scenario import get_settings, halt, show_odds

scenario = get_settings()
try:
    view = ask(scenario)
except ParameterError as error:
    halt(error)
show_odds(view.setting.mechanism)
attack_map(view)
knowledge()
belief_table(view)
timeline(view)
not_hidden(view)
success_curves(view)
crowd(view)
beside_the_report(view)
real_client(view)
unprotected()
to_remember(view)
checks(scenario)
