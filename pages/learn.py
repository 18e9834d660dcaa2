"""Learn: local differential privacy in eight steps on the city's own map."""

from ldpcore.errors import ParameterError, TripFileError
from ui.learn_frame import ask, for_classes, glossary, onward, opening
from ui.learn_link import place
from ui.learn_page import STEPS_DRAWN, lesson
from ui.scenario import get_settings, halt

here = place()
try:
    taught = lesson(get_settings(), here)
    step = opening(here, taught.changes)
    question = STEPS_DRAWN[step.number](here, taught.scenario)
except (ParameterError, TripFileError) as error:
    halt(error)
ask(question, here)
onward(step)
for_classes(here, taught.scenario)
glossary()
