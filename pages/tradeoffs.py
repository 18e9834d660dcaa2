"""Trade-offs: what privacy costs here, over epsilon, resolution, randomiser and devices."""

from ldpcore.errors import ParameterError, TripFileError
from ldpcore.scenario import scenario_mechanism
from ui.pipeline import get_population
from ui.scenario import complain, get_settings, halt, show_odds
from ui.tradeoff_choices import read_choices, study_of
from ui.tradeoff_more import bearers, decision, downloads, maps
from ui.tradeoff_parts import front, heat, lines, take_from_list, top, tried, useful_control
from ui.tradeoff_work import get_work

scenario = get_settings()
try:
    population = get_population(scenario)
    choices = read_choices(scenario)
    study = study_of(scenario, choices)
    work = get_work(study)
except (ParameterError, TripFileError) as error:
    halt(error)
try:
    show_odds(scenario_mechanism(scenario, population))
except ParameterError as error:
    complain(error)  # the sweep goes on and names the combinations that can't be run
noun = "devices" if population.unit == "device" else "trips"
top(study, choices["useful"])
useful_control()
heat(study, choices["figure"], noun)
take_from_list(study, scenario)
tried(scenario)
lines(study, choices["figure"], noun)
front(study, choices["utility"], noun)
maps(scenario, work, noun)
bearers(work, noun)
decision(work, population)
downloads(work)
