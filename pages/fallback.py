"""Falling back: what coarser cells can still say where a cell is too small, and what post-processing does."""

from ui.fallback_parts import answer, downloads, gains, picture, table
from ui.fallback_post import columns, measured, ways
from ui.pipeline import own_trips
from ui.scenario import get_settings, release_in_force, show_odds
from ui.upload import own_file

scenario = get_settings()
if own_trips() is None:
    own_file(scenario)  # says what to load, or which columns it needs to know
plain = release_in_force(scenario)
show_odds(plain.mechanism)
answered = answer(plain)
if answered is not None:
    choice, mixed = answered
    picture(plain, mixed)
    gains(plain, choice)
    table(mixed)
    downloads(plain, mixed)
measured(plain)
columns(plain)
ways(plain)
if own_trips() is not None:
    own_file(scenario)
