"""Sizing: whether local privacy can work with the devices, cells and accuracy somebody has in mind."""

from ldpcore.errors import ParameterError, TripFileError
from ui.glossary import words_used
from ui.pipeline import get_population
from ui.scenario import get_settings, halt, show_odds
from ui.sizing_more import alternatives, budget, conditions, downloads, engineering
from ui.sizing_parts import ask, figures, formulas, nearest_yes, trap
from ui.sizing_resolutions import over_resolutions

scenario = get_settings()
try:
    population = get_population(scenario) if not scenario.synthetic else None
    question = ask(scenario, population)
except (ParameterError, TripFileError) as error:
    halt(error)
show_odds(question.case.randomiser())
figures(question)
words_used(
    "epsilon",
    "relative_error",
    "standard_error",
    "composition",
    "memoisation",
    "shuffle_model",
    place="sizing",
)
nearest_yes(question)
over_resolutions(question)
trap(question)
formulas(question)
conditions(question)
alternatives(question)
budget(question)
engineering()
downloads(question)
