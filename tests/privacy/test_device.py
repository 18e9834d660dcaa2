"""The client that ships: its source, every outcome of its coins, and its law beside the simulation's."""

from __future__ import annotations

import ast
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2_contingency, chisquare

from ldpcore.device import randomiser
from ldpcore.device.randomiser import RANDOMISERS
from ldpcore.device.wire import make_client, payload_matrix
from ldpcore.mechanisms import MECHANISMS, Mechanism, make_mechanism, parse_options

SOURCE = Path(randomiser.__file__).read_text()
VERSION = "0123456789abcdef"

# -- the source ------------------------------------------------------------------------------------

ALLOWED_IMPORTS = {
    "__future__": {"annotations"},
    "collections.abc": {"Callable", "Mapping"},
    "dataclasses": {"dataclass"},
    "secrets": {"randbelow", "randbits"},
    "types": {"MappingProxyType"},
}
FORBIDDEN_NAMES = {
    "float",
    "random",
    "Random",
    "numpy",
    "np",
    "math",
    "round",
    "time",
    "eval",
    "exec",
    "__import__",
}


def complaints(source: str) -> list[str]:
    """What the source of a randomiser must not contain."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.append(f"imports {node.names[0].name}")
        elif isinstance(node, ast.ImportFrom):
            allowed = ALLOWED_IMPORTS.get(node.module or "", set())
            found += [f"imports {node.module}.{a.name}" for a in node.names if a.name not in allowed]
        elif isinstance(node, ast.Constant) and isinstance(node.value, float | complex):
            found.append(f"holds the number {node.value}")
        elif isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Div):
            found.append("divides into a float")
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            found.append("takes a power, which is a float for a negative exponent")
        elif isinstance(node, ast.Name | ast.Attribute):
            name = node.id if isinstance(node, ast.Name) else node.attr
            # A local variable that holds random bits may be called so; a generator may not.
            if name in FORBIDDEN_NAMES and not (name == "random" and isinstance(node, ast.Name)):
                found.append(f"uses {name}")
    return found


def test_the_source_holds_no_other_generator_and_no_float() -> None:
    assert complaints(SOURCE) == []


@pytest.mark.parametrize(
    "line",
    [
        "import random",
        "from random import random",
        "import numpy as np",
        "from secrets import SystemRandom",
        "kept = randbelow(10**6) < int(p * 1e6)",
        "kept = randbits(53) / 2 < 1",
        "kept = float(randbits(53)) < 1",
        "x = randbits(3) * 2**-3",
        "x /= 2",
    ],
)
def test_the_reader_of_the_source_can_complain(line: str) -> None:
    assert complaints(f"{SOURCE}\n{line}\n")


def test_every_mechanism_has_a_client() -> None:
    assert set(RANDOMISERS) == set(MECHANISMS)


# -- every outcome of the coins --------------------------------------------------------------------


class TooDeepError(Exception):
    """A branch of the enumeration that is cut off."""


class Explorer:
    """Stands in for `secrets`: runs a function once for every sequence of answers, with its probability."""

    def __init__(self, depth: int = 60) -> None:
        self.depth = depth
        self.path: list[list[int]] = []
        self.place = 0

    def randbelow(self, bound: int) -> int:
        if self.place == len(self.path):
            if self.place >= self.depth:
                raise TooDeepError
            self.path.append([0, bound])
        answer, known = self.path[self.place]
        assert known == bound
        self.place += 1
        return answer

    def randbits(self, count: int) -> int:
        return self.randbelow(2**count)

    def outcomes(self, run: Callable[[], Any]) -> Iterator[tuple[Any, Fraction]]:
        while True:
            self.place = 0
            try:
                result = run()
            except TooDeepError:
                result = TooDeepError
            yield result, Fraction(1, math.prod(bound for _, bound in self.path[: self.place]))
            del self.path[self.place :]
            while self.path and self.path[-1][0] + 1 == self.path[-1][1]:
                self.path.pop()
            if not self.path:
                return
            self.path[-1][0] += 1


def law_of(
    monkeypatch: pytest.MonkeyPatch, run: Callable[[], Any], *, depth: int = 60
) -> dict[Any, Fraction]:
    explorer = Explorer(depth)
    monkeypatch.setattr(randomiser, "randbelow", explorer.randbelow)
    monkeypatch.setattr(randomiser, "randbits", explorer.randbits)
    law: dict[Any, Fraction] = defaultdict(Fraction)
    for result, probability in explorer.outcomes(run):
        law[result] += probability
    return law


def assert_weighted(
    laws: list[dict[Any, Fraction]], favours: Callable[[Any, int], bool], ratio: Fraction
) -> None:
    """Every output that favours a cell is `ratio` times as likely from it as one that does not."""
    for cell, law in enumerate(laws):
        assert sum(law.values()) == 1
        assert set(law) == set(laws[0])
        weights = {output: ratio if favours(output, cell) else Fraction(1) for output in law}
        total = sum(weights.values())
        assert law == {output: weight / total for output, weight in weights.items()}
    greatest = max(laws[a][o] / laws[b][o] for a, b in product(range(len(laws)), repeat=2) for o in laws[0])
    assert greatest <= ratio


# A ratio of 5/2 in small numbers, so that every draw can be looked at.
SMALL = {"ratio": 5, "one": 2}


def test_direct(monkeypatch: pytest.MonkeyPatch) -> None:
    laws = [
        law_of(monkeypatch, lambda c=cell: randomiser.direct(c, cells=4, size=1, **SMALL))
        for cell in range(4)
    ]
    assert_weighted(laws, lambda output, cell: output[0] == cell, Fraction(5, 2))


@pytest.mark.parametrize(("cells", "picks"), [(2, 1), (4, 1), (4, 2), (5, 3), (4, 3)])
def test_subset(monkeypatch: pytest.MonkeyPatch, cells: int, picks: int) -> None:
    laws = [
        law_of(monkeypatch, lambda c=cell: randomiser.subset(c, cells=cells, picks=picks, size=1, **SMALL))
        for cell in range(cells)
    ]
    assert {output[0] for output in laws[0]} == {
        sum(1 << cell for cell in chosen) for chosen in combinations(range(cells), picks)
    }
    assert_weighted(laws, lambda output, cell: bool(output[0] >> cell & 1), Fraction(5, 2))


def test_signed_row(monkeypatch: pytest.MonkeyPatch) -> None:
    laws = [
        law_of(monkeypatch, lambda c=cell: randomiser.signed_row(c, row_bits=2, size=1, **SMALL))
        for cell in range(4)
    ]

    def favours(output: bytes, cell: int) -> bool:
        return (output[0] >> 1 & cell).bit_count() % 2 == output[0] & 1

    assert_weighted(laws, favours, Fraction(5, 2))


@pytest.mark.parametrize(("columns", "blocks"), [(4, 1), (8, 1), (4, 2), (2, 4)])
def test_hadamard_column(monkeypatch: pytest.MonkeyPatch, columns: int, blocks: int) -> None:
    laws = [
        law_of(
            monkeypatch,
            lambda c=cell: randomiser.hadamard_column(c, columns=columns, blocks=blocks, size=1, **SMALL),
        )
        for cell in range((columns - 1) * blocks)
    ]

    def favours(output: bytes, cell: int) -> bool:
        block, row = divmod(cell, columns - 1)
        return output[0] // columns == block and (output[0] % columns & (row + 1)).bit_count() % 2 == 0

    assert_weighted(laws, favours, Fraction(5, 2))


@pytest.mark.parametrize("seed_sizes", [(1,), (1, 1, 1)])
def test_local_hash(monkeypatch: pytest.MonkeyPatch, seed_sizes: tuple[int, ...]) -> None:
    settings = {"prime": 5, "buckets": 2, "seed_sizes": seed_sizes, "size": 1, **SMALL}
    laws = [law_of(monkeypatch, lambda c=cell: randomiser.local_hash(c, **settings)) for cell in range(4)]

    def favours(output: bytes, cell: int) -> bool:
        if len(seed_sizes) == 1:
            a0, a1, a2 = output[0] % 5, output[0] // 5 % 5, output[0] // 25
        else:
            a0, a1, a2 = output[:3]
        return (a2 * cell * cell + a1 * cell + a0) % 5 * 2 // 5 == output[-1]

    assert_weighted(laws, favours, Fraction(5, 2))


def test_unary(monkeypatch: pytest.MonkeyPatch) -> None:
    """With exact coins of the given probabilities; the coins themselves are held below."""
    p, q = Fraction(3, 5), Fraction(2, 7)
    laws = []
    for cell in range(3):
        law: dict[Any, Fraction] = defaultdict(Fraction)
        for bits, own in product(range(8), (False, True)):
            monkeypatch.setattr(randomiser, "coins", lambda count, a, b, bits=bits: bits)  # noqa: ARG005
            monkeypatch.setattr(randomiser, "coin", lambda a, b, own=own: own)  # noqa: ARG005
            output = randomiser.unary(cell, cells=3, p=(3, 5), q=(2, 7), size=1)
            law[output] += math.prod(q if bits >> place & 1 else 1 - q for place in range(3)) * (
                p if own else 1 - p
            )
        laws.append(law)
    for cell, law in enumerate(laws):
        for output, probability in law.items():
            ones = [p if place == cell else q for place in range(3)]
            expected = math.prod(one if output[0] >> place & 1 else 1 - one for place, one in enumerate(ones))
            assert probability == expected


@pytest.mark.parametrize(
    ("numerator", "denominator"), [(1, 2), (1, 3), (3, 4), (5, 7), (1, 1), (0, 5), (2, 2**40)]
)
def test_coins_follow_the_digits_of_the_probability(
    monkeypatch: pytest.MonkeyPatch, numerator: int, denominator: int
) -> None:
    depth = 12
    law = law_of(monkeypatch, lambda: randomiser.coins(1, numerator, denominator), depth=depth)
    exact = Fraction(numerator, denominator)
    assert law[1] <= exact <= law[1] + law[TooDeepError]
    assert law[TooDeepError] <= Fraction(1, 2**depth)


def test_coins_of_one_toss_are_independent(monkeypatch: pytest.MonkeyPatch) -> None:
    law = law_of(monkeypatch, lambda: randomiser.coins(2, 1, 4), depth=8)
    for bits in range(4):
        expected = math.prod(Fraction(1, 4) if bits >> place & 1 else Fraction(3, 4) for place in range(2))
        assert law[bits] == expected


@pytest.mark.parametrize(("numerator", "denominator"), [(1, 1), (1, 2), (2, 3), (0, 1), (3, 2)])
def test_exponential_coin(monkeypatch: pytest.MonkeyPatch, numerator: int, denominator: int) -> None:
    law = law_of(monkeypatch, lambda: randomiser.exponential_coin(numerator, denominator), depth=7)
    exact = math.exp(-numerator / denominator)
    assert float(law[True]) - 1e-12 <= exact <= float(law[True] + law[TooDeepError]) + 1e-12
    assert law[TooDeepError] < 1e-2


def test_laplace_number_has_its_law() -> None:
    """Chi-square over 23 classes, 100,000 draws of the real client, failure rate 1e-6."""
    draws = [randomiser.laplace_number(7, 2) for _ in range(100_000)]
    outcomes = range(-11, 12)
    weights = np.exp(-np.abs(np.array(outcomes)) * 2 / 7)
    decay = math.exp(-2 / 7)
    weights[[0, -1]] /= 1 - decay
    found = Counter(min(max(draw, -11), 11) for draw in draws)
    expected = 100_000 * weights / weights.sum()
    assert chisquare([found[outcome] for outcome in outcomes], expected).pvalue > 1e-6


# -- the client and the simulation -----------------------------------------------------------------


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 8.0, 20.0])
def test_settings_are_the_exact_fractions(name: str, epsilon: float) -> None:
    mechanism = make_mechanism(name, epsilon=epsilon, domain_size=100)
    settings = mechanism.device_settings()
    if "ratio" in settings:
        assert Fraction(settings["ratio"], settings["one"]) == mechanism.ratio  # type: ignore[call-overload]
    for key, exact in (("p", mechanism.p), ("q", mechanism.q)):
        if key in settings:
            assert Fraction(*settings[key]) == exact  # type: ignore[misc]
    assert all(
        isinstance(number, int)
        for value in settings.values()
        for number in (value if isinstance(value, tuple) else (value,))
    )


VARIANTS = [*MECHANISMS, "hr:blocks=2", "ss:k=3", "olh:g=3"]


def simulate(mechanism: Mechanism, value: int, devices: int) -> Any:
    return mechanism.privatize(np.full(devices, value), rng=np.random.default_rng(5))


def supports_of(mechanism: Mechanism, reports: Any) -> np.ndarray:
    """The pattern of supported cells of each report, as a number."""
    return sum(
        mechanism.supports(reports, cell).astype(np.int64) << cell for cell in range(mechanism.domain_size)
    )


@pytest.mark.parametrize("variant", VARIANTS)
def test_device_and_simulation_send_alike(variant: str) -> None:
    """Two-sample chi-square over support patterns of four cells, failure rate 1e-6 each."""
    name, _, options = variant.partition(":")
    mechanism = make_mechanism(name, epsilon=1.0, domain_size=4, **parse_options(options))
    devices = 20_000
    client = make_client(mechanism, VERSION)
    payloads = payload_matrix([client.payload(2) for _ in range(devices)], mechanism.payload_bytes)
    real, _, rejected = mechanism.unpack(payloads)
    assert not rejected
    # Byte-compatible: what the device sent is what the simulation would have packed.
    assert np.array_equal(mechanism.pack(real), payloads)
    simulated = simulate(mechanism, 2, devices)
    table = np.array(
        [np.bincount(supports_of(mechanism, reports), minlength=16) for reports in (real, simulated)]
    )
    table = table[:, table.sum(axis=0) > 20]
    assert chi2_contingency(table).pvalue > 1e-6


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("domain_size", [4, 8, 9, 70])
def test_reports_survive_the_wire(variant: str, domain_size: int) -> None:
    name, _, options = variant.partition(":")
    mechanism = make_mechanism(name, epsilon=1.0, domain_size=domain_size, **parse_options(options))
    reports = mechanism.privatize(np.arange(domain_size), rng=np.random.default_rng(3))
    payloads = mechanism.pack(reports)
    assert payloads.shape == (domain_size, mechanism.payload_bytes)
    back, _, rejected = mechanism.unpack(payloads)
    assert not rejected
    assert back.dtype == reports.dtype
    assert np.array_equal(back, reports)
    assert np.array_equal(mechanism.aggregate(back), mechanism.aggregate(reports))


@pytest.mark.parametrize("variant", VARIANTS)
def test_supports_add_up_to_the_counts(variant: str) -> None:
    name, _, options = variant.partition(":")
    mechanism = make_mechanism(name, epsilon=1.0, domain_size=9, **parse_options(options))
    reports = mechanism.privatize(np.arange(9).repeat(20), rng=np.random.default_rng(3))
    counts = mechanism.aggregate(reports)
    if name == "she":
        assert mechanism.supports(reports, 3).sum() == (reports[:, 3] >= 2**20).sum()
        return
    expected = mechanism.support(counts, n=180)
    assert [int(mechanism.supports(reports, cell).sum()) for cell in range(9)] == expected.tolist()
