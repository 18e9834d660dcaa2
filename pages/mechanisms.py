"""Mechanisms: every randomiser at the scenario's epsilon, domain and number of devices."""

from ldpcore.errors import ParameterError, TripFileError
from ui.glossary import words_used
from ui.mechanism_cards import cards
from ui.mechanism_parts import adviser, headline, make_redraws, over_epsilon, picture, table, usable
from ui.pipeline import get_population
from ui.scenario import get_settings, halt, show_odds

scenario = get_settings()
try:
    population = get_population(scenario)
except (ParameterError, TripFileError) as error:
    halt(error)
scenario, comparison = usable(scenario, population)
show_odds(comparison.own.mechanism)
headline(comparison)
picture(comparison, scenario)
words_used("randomiser", "epsilon", "p", "q", "standard_error", "report", place="mechanisms")
adviser(comparison, population)
table(comparison, scenario, population)
over_epsilon(comparison, scenario, population)
cards(comparison, population)
make_redraws(comparison, scenario)
