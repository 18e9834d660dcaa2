"""The checklist: what ships passes, and for each of the six points something broken does not.

The client draws from the operating system and takes no seed. What ships fails the first check with probability at
most 1e-9 (`FAILURE`; proven in `test_unbiasedness.py`) and no other by chance, so the ten mechanisms together
fail here once in 10^8 runs. A broken double passes by mistake with less than 1e-8; where that is not
obvious, the arithmetic stands beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from secrets import randbelow

import numpy as np
import pytest

from ldpcore.checklist import FAILURE, ITEMS, Check, Publishing, checked_mechanism, run_checklist
from ldpcore.checks.estimator import (
    check_floor,
    check_unbiased,
    known_crowd,
    shipped_publisher,
)
from ldpcore.checks.phone import check_cap, check_generator, check_memo, check_versions, shipped_phone
from ldpcore.cli import main
from ldpcore.device.inbox import Inbox
from ldpcore.device.ledger import MESSAGE_ID_BYTES
from ldpcore.device.store import KeyStore, MemoryKeyStore, MemoryStore, Store
from ldpcore.device.wire import HEADER_BYTES, header_of, make_client
from ldpcore.errors import ParameterError
from ldpcore.estimate import estimate_counts
from ldpcore.mechanisms import MECHANISMS, Mechanism, make_mechanism
from ldpcore.schedule import DEFAULT_SCHEDULE, Schedule
from ldpcore.settings import DEFAULT

OUE = make_mechanism("oue", epsilon=2, domain_size=20)
FLOOR = Publishing(floor=100)
RNG_SEED = 4


def figures(check: Check) -> dict[str, float]:
    """The figures of a check that must have failed, with what it is about."""
    assert not check.passed, check.evidence
    return check.figures


# -- what ships ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name == "she")) for name in MECHANISMS]
)
def test_what_ships_passes_all_six(name: str) -> None:
    found = run_checklist(make_mechanism(name, epsilon=1, domain_size=8), rules=Publishing(floor=30))
    assert tuple(check.item for check in found) == ITEMS
    assert [check.evidence for check in found if not check.passed] == []
    assert FAILURE == 1e-9


@pytest.mark.parametrize("cap", [1, 1000])
def test_replay_passes_too_and_so_do_odd_caps(cap: int) -> None:
    schedule = Schedule(cap=cap, at_cap="replay", epoch_days=1)
    memo, capped = check_memo(OUE, schedule=schedule), check_cap(OUE, schedule=schedule)
    assert memo.passed, memo.evidence
    assert capped.passed, capped.evidence
    # Five new places a turn, or only the one outside the domain; nothing to send again over the other domain.
    assert capped.figures["sent"] == (15 if cap == 1 else 3)
    assert capped.figures["new"] == 0


def test_the_crowd_is_known_and_leaves_cells_empty() -> None:
    assert known_crowd(20, 50).tolist()[:7] == [25, 13, 6, 3, 2, 1, 0]
    assert known_crowd(20, 50).sum() == known_crowd(2, 50).sum() == 50
    assert known_crowd(2, 50).tolist() == [50, 0]


# -- 1: unbiased -----------------------------------------------------------------------------------


def test_raw_counts_are_caught() -> None:
    # An empty cell has 50 q = 6 false supports on average, 19 standard errors of the mean above 0.
    found = figures(check_unbiased(OUE, estimate=lambda counts, n: np.asarray(counts, float)))  # noqa: ARG005
    assert found["means_accused"] >= 14


def test_an_estimator_that_clips_at_zero_is_caught() -> None:
    # The mean of an empty cell is 0.399 sigma above 0, which is 8 standard errors of 400 draws, with a deviation
    # of 0.58 standard errors; the limit is 6.7. All 14 empty cells are missed with probability (0.02)^14.
    found = figures(check_unbiased(OUE, estimate=lambda counts, n: np.maximum(OUE.estimate(counts, n=n), 0)))
    assert found["means_accused"] > 0


def test_an_estimator_with_more_spread_than_it_says_is_caught() -> None:
    rng = np.random.default_rng(RNG_SEED)
    sigma = np.sqrt(OUE.variance(known_crowd(20, 50), n=50))
    found = figures(
        check_unbiased(OUE, estimate=lambda counts, n: OUE.estimate(counts, n=n) + rng.normal(0, 1.2 * sigma))
    )
    # Variance 2.44 times too great; the limit is about 1.55 and the deviation 0.17: 20 cells all miss below 1e-100.
    assert found["spreads_accused"] > 0
    assert found["worst_spread"] > 2


def test_a_client_with_another_epsilon_is_caught() -> None:
    weak = make_client(make_mechanism("oue", epsilon=1, domain_size=20), "0" * 16)
    # An empty cell has 50 (0.269 - 0.119) = 7.5 more supports than expected, 23 standard errors.
    assert figures(check_unbiased(OUE, client=weak))["means_accused"] >= 14


def test_a_client_that_sends_nonsense_is_caught() -> None:
    class Broken:
        def payload(self, cell: int | None) -> bytes:
            # The last byte has four padding bits that must be 0.
            return bytes([cell or 0, 0, 0xFF if randbelow(2) else 0])

    assert figures(check_unbiased(OUE, client=Broken()))["refused"] > 3


# -- 2: memo ---------------------------------------------------------------------------------------


def test_a_phone_that_draws_anew_each_time_is_caught() -> None:
    schedule = replace(DEFAULT_SCHEDULE, memo=False)
    found = figures(check_memo(OUE, schedule=schedule))
    # 95 repeats; one is the same bytes with probability 0.5 (0.79)^19 = 0.006.
    assert found["different"] > 50
    assert found["drawn"] == 100
    assert found["epsilon"] == 200


def test_a_phone_that_forgets_when_it_is_restarted_is_caught() -> None:
    def start(mechanism: Mechanism, version: str, store: Store, keys: KeyStore) -> object:  # noqa: ARG001
        return shipped_phone(DEFAULT_SCHEDULE)(mechanism, version, MemoryStore(), MemoryKeyStore())

    # Five cells are drawn a second time; all five are the same bytes with probability 0.006^5 < 1e-11.
    assert figures(check_memo(OUE, schedule=DEFAULT_SCHEDULE, start=start))["different"] >= 10


# -- 3: the generator ------------------------------------------------------------------------------

BAD_SOURCES = {
    "random": "import random\ndef coin(): return random.random() < 0.5",
    "from random": "from random import getrandbits\ndef coin(): return getrandbits(1)",
    "numpy": "import numpy as np\ndef coin(): return np.random.default_rng(1).integers(2)",
    "hidden in a module of its own": "from secrets import randbelow\nfrom program.helper import coin",
    "relative import": "from secrets import randbelow\nfrom .helper import coin",
    "seeded by the clock": "from secrets import randbelow\nfrom datetime import datetime\nSEED = datetime.now()",
    "made at run time": "from secrets import randbelow\ncoin = __import__('random').random",
    "another source of bits": "import os\nfrom secrets import randbelow\ndef coin(): return os.urandom(1)[0] & 1",
    "no coins at all": "def report(cell): return cell",
}


@pytest.mark.parametrize("source", BAD_SOURCES.values(), ids=BAD_SOURCES)
def test_any_other_generator_is_caught(tmp_path: Path, source: str) -> None:
    program = tmp_path / "program"
    program.mkdir()
    (program / "__init__.py").write_text("")
    (program / "helper.py").write_text("import random\ncoin = random.random\n")
    (program / "phone.py").write_text(source + "\n")
    check = check_generator(entry=program / "phone.py", root=tmp_path)
    assert not check.passed, check.evidence


def test_the_source_that_is_read_is_the_whole_phone() -> None:
    check = check_generator()
    assert check.passed
    for part in ("phone", "randbelow", "randbits", "token_bytes"):
        assert part in check.evidence
    assert check.figures["files"] == 7


# -- 4: the cap ------------------------------------------------------------------------------------


def test_a_phone_that_leaves_the_cap_to_the_server_is_caught() -> None:
    for rule in ("silent", "replay"):
        schedule = Schedule(cap=5, at_cap=rule)
        found = figures(check_cap(OUE, schedule=schedule, start=shipped_phone(replace(schedule, cap=1000))))
        assert found["sent"] == 20
        assert found["drawn"] > 5


def test_a_phone_whose_cap_ends_with_a_restart_is_caught() -> None:
    schedule = Schedule(cap=5)

    def start(mechanism: Mechanism, version: str, store: Store, keys: KeyStore) -> object:  # noqa: ARG001
        return shipped_phone(schedule)(mechanism, version, MemoryStore(), MemoryKeyStore())

    assert figures(check_cap(OUE, schedule=schedule, start=start))["sent"] == 15


def test_a_phone_whose_cap_ends_with_a_new_domain_is_caught() -> None:
    schedule = Schedule(cap=5)

    class PerVersion:
        """A fresh ledger for every domain version."""

        def __init__(self) -> None:
            self.kept: dict[str, tuple[Store, KeyStore]] = {}

        def __call__(self, mechanism: Mechanism, version: str, store: Store, keys: KeyStore) -> object:  # noqa: ARG002
            stores = self.kept.setdefault(version, (MemoryStore(), MemoryKeyStore()))
            return shipped_phone(schedule)(mechanism, version, *stores)

    assert figures(check_cap(OUE, schedule=schedule, start=PerVersion()))["sent"] == 5


# -- 5: the floor ----------------------------------------------------------------------------------


def test_publishing_by_the_estimate_alone_is_caught() -> None:
    def publish(counts: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        estimate = OUE.estimate(counts, n=n)
        return estimate, estimate >= FLOOR.floor

    # Nineteen cells lie half of the time above a floor they miss by one device.
    assert figures(check_floor(OUE, rules=FLOOR, publish=publish))["redraws_wrong"] == 200


def test_a_recorded_number_that_was_raised_to_the_floor_is_caught() -> None:
    honest = shipped_publisher(OUE, FLOOR)

    def publish(counts: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        at_least = np.maximum(honest(counts, n)[0], FLOOR.floor)
        return at_least, at_least >= FLOOR.floor

    assert figures(check_floor(OUE, rules=FLOOR, publish=publish))["redraws_wrong"] == 200


def test_a_recorded_number_below_the_floor_is_caught() -> None:
    honest = shipped_publisher(OUE, FLOOR)

    def publish(counts: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        at_least, published = honest(counts, n)
        return at_least - 1e6, published

    assert figures(check_floor(OUE, rules=FLOOR, publish=publish))["rows_below"] > 0


def test_bounds_that_hold_for_one_cell_only_are_caught_where_all_are_promised() -> None:
    def publish(counts: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        at_least = estimate_counts(OUE, counts, n=n, correction="none").at_least
        return at_least, at_least >= FLOOR.floor

    # 1 - 0.95^19 = 62 % of the redraws are wrong.
    assert 100 < figures(check_floor(OUE, rules=FLOOR, publish=publish))["redraws_wrong"] < 150


def test_without_a_correction_the_promise_is_that_of_each_cell() -> None:
    check = check_floor(OUE, rules=replace(FLOOR, correction="none"))
    assert check.passed, check.evidence
    assert "most often published" in check.evidence
    assert check.figures["redraws_wrong"] < 25


def test_an_epsilon_so_small_that_nothing_is_published_is_checked_in_reasonable_time() -> None:
    check = check_floor(make_mechanism("ss", epsilon=1e-6, domain_size=5), rules=FLOOR, redraws=50)
    assert check.passed, check.evidence
    # Even a billion devices in one cell do not clear the floor; false publications are as rare as promised.
    assert check.figures["rows"] < 25


def test_the_promise_is_nearly_used_up_where_it_is_hardest_to_keep() -> None:
    check = check_floor(OUE, rules=FLOOR, redraws=4000)
    # 19 cells at level 0.05 / 20, one device short: 1 - (1 - 0.0025)^19 = 4.65 % in the normal law.
    assert abs(check.figures["redraws_wrong"] - 186) < 5 * np.sqrt(186)
    assert check.passed


# -- 6: versions -----------------------------------------------------------------------------------


class Careless:
    """A server that decodes whatever comes, with the parameters it happens to have."""

    def __init__(self, *asked: tuple[Mechanism, str]) -> None:
        self.inbox = Inbox(*asked)
        self.header = header_of(*asked[0])

    @property
    def tallies(self) -> object:
        return self.inbox.tallies

    @property
    def rejected(self) -> dict[str, int]:
        return self.inbox.rejected

    def take(self, messages: Iterable[bytes]) -> int:
        start = MESSAGE_ID_BYTES
        return self.inbox.take(
            message[:start] + self.header + message[start + HEADER_BYTES :] for message in messages
        )


class Forgetful(Careless):
    """A server that counts a message as often as it comes."""

    def take(self, messages: Iterable[bytes]) -> int:
        return self.inbox.take(
            number.to_bytes(MESSAGE_ID_BYTES, "little") + message[MESSAGE_ID_BYTES:]
            for number, message in enumerate(messages)
        )


def test_a_server_that_mixes_versions_is_caught() -> None:
    assert figures(check_versions(OUE, count=Careless))["counted"] == 8


def test_a_server_that_counts_a_message_twice_is_caught() -> None:
    assert figures(check_versions(OUE, count=Forgetful))["counted"] == 5


def test_a_phone_that_did_not_notice_the_new_domain_is_caught() -> None:
    def start(mechanism: Mechanism, version: str, store: Store, keys: KeyStore) -> object:  # noqa: ARG001
        return shipped_phone(DEFAULT_SCHEDULE)(mechanism, "0123456789abcdef", store, keys)

    check = check_versions(OUE, start=start)
    assert figures(check)["mislabelled"] == 4
    assert "an old answer was used again: 2" in check.evidence


# -- the scenario's randomiser, and the command line -----------------------------------------------


def test_a_scenario_is_checked_over_as_many_cells_as_end_in_seconds() -> None:
    assert checked_mechanism(DEFAULT, 318).domain_size == 318
    assert checked_mechanism(DEFAULT, 100_000).domain_size == 600
    assert checked_mechanism(replace(DEFAULT, mechanism="she"), 318).domain_size == 20
    assert checked_mechanism(DEFAULT, 318).epsilon == DEFAULT.epsilon


def test_check_prints_every_item_with_its_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--json", "--mechanism", "grr", "--epsilon", "1", "--domain-size", "10"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [row["item"] for row in answer] == list(ITEMS)
    assert all(row["passed"] is True and len(row["evidence"]) > 80 for row in answer)
    assert main(["check", "--mechanism", "grr", "--domain-size", "10"]) == 0
    assert capsys.readouterr().out.count(" yes ") == 6


def test_check_ends_with_one_if_an_item_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--json", "--mechanism", "grr", "--domain-size", "10", "--no-memo"]) == 1
    answer = json.loads(capsys.readouterr().out)
    # A phone that doesn't remember has no cap either: its loss is counted by reports.
    assert [row["item"] for row in answer if not row["passed"]] == [ITEMS[1], ITEMS[3]]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--epsilon", "0"], "epsilon"),
        (["--domain-size", "1"], "domain_size"),
        (["--cap", "0"], "cap"),
        (["--at-cap", "shout"], "shout"),
        (["--confidence", "1"], "confidence"),
        (["--mechanism", "none"], "mechanism"),
    ],
)
def test_check_refuses_what_is_impossible(
    arguments: list[str], word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", *arguments]) == 2
    complaint = capsys.readouterr().err
    assert complaint.count("\n") == 1
    assert word in complaint


def test_a_clock_is_never_read_by_the_phone() -> None:
    # The day is handed in; a phone that read it by itself could not be tested with a wrong one.
    phone = shipped_phone(DEFAULT_SCHEDULE)(OUE, "0" * 16, MemoryStore(), MemoryKeyStore())
    assert phone.report(3, datetime(1999, 12, 31)) is not None


def test_options_that_do_not_fit_fewer_cells_are_named() -> None:
    with pytest.raises(ParameterError):
        checked_mechanism(replace(DEFAULT, mechanism="ss", options=(("k", 700),)), 1000)
