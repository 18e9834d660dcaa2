"""Every reader against files broken at random: a table whose account adds up, or one sentence, in time."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ldpcore.trips.readers import READERS
from tests.trips.fuzzing import MUTATIONS, broken, judge, samples

SAMPLES = samples()
#: Readers that only say what to do instead; their first bytes are all there is to them.
ONLY_REFUSED = {"pdf", "picture", "database", "sheet"}

#: Contents that once did something else than they should.
FOUND: dict[str, bytes] = {}


def test_there_is_a_sample_for_every_reader() -> None:
    heads = [content[:4096] for content in SAMPLES.values()]
    used = {next(r.name for r in READERS if r.matches(head)) for head in heads}
    assert {r.name for r in READERS} - used <= ONLY_REFUSED | {"xml"}


@pytest.mark.parametrize("name", SAMPLES)
def test_the_samples_are_sound(name: str) -> None:
    refused = {"nyc_tlc.csv", "taxis_named.csv", "zones.csv", "zones.geojson", "page.html", "track.kml"}
    assert (judge(SAMPLES[name]) == "refused") == (name in refused)


@pytest.mark.parametrize("way", MUTATIONS)
def test_each_way_to_break_a_file_can_be_repeated(way: Callable[[bytes, random.Random], bytes]) -> None:
    for content in SAMPLES.values():
        assert broken(content, [way], 7) == broken(content, [way], 7)


@pytest.mark.parametrize("name", SAMPLES)
@settings(
    max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
)
@given(ways=st.lists(st.sampled_from(MUTATIONS), min_size=1, max_size=4), seed=st.integers(0, 2**32))
def test_a_broken_file_is_read_or_refused(
    name: str, ways: list[Callable[[bytes, random.Random], bytes]], seed: int
) -> None:
    judge(broken(SAMPLES[name], ways, seed))


def test_what_was_found_stays_mended() -> None:
    for content in FOUND.values():
        judge(content)
