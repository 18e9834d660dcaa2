"""Plain references of the compiled loops, written from their descriptions, compared byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from ldpcore.errors import ParameterError
from ldpcore.mechanisms import make_mechanism
from ldpcore.mechanisms.blocks import BLOCK_DEVICES, draw_key

WORD = 2**64 - 1


def mix(word: int) -> int:
    word = (word + 0x9E3779B97F4A7C15) & WORD
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & WORD
    return word ^ (word >> 31)


class Stream:
    """A splitmix64 counter."""

    def __init__(self, state: int) -> None:
        self.state = state

    @classmethod
    def of(cls, seed: int, block: int) -> Stream:
        return cls(mix(mix(seed) ^ (block * 0xD1342543DE82EF95 & WORD)))

    def word(self) -> int:
        word, self.state = mix(self.state), (self.state + 0x9E3779B97F4A7C15) & WORD
        return word

    def below(self, bound: int) -> int:
        while True:
            product = self.word() * bound
            if product & WORD >= 2**64 % bound:
                return product >> 64

    def bernoulli(self, probability: Fraction) -> bool:
        threshold = (probability.numerator << 128) // probability.denominator
        word = self.word()
        if word == threshold >> 64:
            return self.word() < threshold & WORD
        return word < threshold >> 64


def sfc64(stream: Stream) -> Iterator[int]:
    a, b, c, counter = stream.word(), stream.word(), stream.word(), 1
    drawn = 0
    while True:
        word = (a + b + counter) & WORD
        counter += 1
        a, b, c = b ^ (b >> 11), (c + (c << 3)) & WORD, ((c << 24 | c >> 40) + word) & WORD
        drawn += 1
        if drawn > 12:
            yield word


def keys(seed: int) -> tuple[int, int]:
    rng = np.random.default_rng(seed)
    return draw_key(rng), draw_key(rng)


@pytest.mark.parametrize("domain_size", [2, 5, 1000])
def test_direct_reports(domain_size: int) -> None:
    mechanism = make_mechanism("grr", epsilon=1.0, domain_size=domain_size)
    assert mechanism.p is not None
    values = np.random.default_rng(2).integers(0, domain_size, BLOCK_DEVICES + 300)
    reports = mechanism.privatize(values, rng=np.random.default_rng(7))
    key = keys(7)[1]
    for block, start in ((0, 0), (1, BLOCK_DEVICES)):
        stream = Stream.of(key, block)
        for value, report in zip(values[start : start + 300], reports[start : start + 300], strict=True):
            kept = stream.bernoulli(mechanism.p)
            other = stream.below(domain_size - 1)
            other += other >= value
            assert report == (value if kept else other)
    assert np.array_equal(mechanism.aggregate(reports), np.bincount(reports, minlength=domain_size))


@pytest.mark.parametrize("domain_size", [2, 9, 64, 65, 200])
@pytest.mark.parametrize("devices", [1, 16, 37])
def test_unary_reports(domain_size: int, devices: int) -> None:
    mechanism = make_mechanism("oue", epsilon=1.0, domain_size=domain_size)
    assert mechanism.p is not None
    assert mechanism.q is not None
    values = np.random.default_rng(2).integers(0, domain_size, devices)
    reports = mechanism.privatize(values, rng=np.random.default_rng(7))

    key = keys(7)[1]
    start = Stream.of(key, 0)
    lanes = [sfc64(start) for _ in range(32)]
    stream = Stream(mix(Stream.of(key, 0).state))
    digits = (mechanism.q.numerator << 138) // mechanism.q.denominator
    rest = Fraction(digits & (2**128 - 1), 2**128)
    words_a_row = (domain_size + 63) // 64
    expected = []
    for first in range(0, devices, 16):
        words: list[int] = []
        while len(words) < 16 * words_a_row:
            ones, undecided = [], []
            for lane in lanes:
                draws = [next(lane) for _ in range(10)]
                one = equal = 0
                for bit in range(64):
                    fraction = sum((draw >> bit & 1) << (9 - place) for place, draw in enumerate(draws))
                    one |= (fraction < digits >> 128) << bit
                    equal |= (fraction == digits >> 128) << bit
                ones.append(one)
                undecided.append(equal)
            for lane_number, equal in enumerate(undecided):
                for bit in range(64):
                    if equal >> bit & 1 and stream.bernoulli(rest):
                        ones[lane_number] |= 1 << bit
            words += ones
        for row, value in enumerate(values[first : first + 16]):
            bits = sum(
                word << (64 * place)
                for place, word in enumerate(words[row * words_a_row : (row + 1) * words_a_row])
            )
            bits &= 2**domain_size - 1
            own = stream.bernoulli(mechanism.p)
            bits = bits & ~(1 << int(value)) | (own << int(value))
            expected.append(list(bits.to_bytes((domain_size + 7) // 8, "little")))
    assert reports.tolist() == expected


@pytest.mark.parametrize("domain_size", [2, 9, 64, 65, 200, 2218])
def test_unary_column_sums(domain_size: int) -> None:
    mechanism = make_mechanism("oue", epsilon=0.1, domain_size=domain_size)
    devices = BLOCK_DEVICES + 77
    reports = mechanism.privatize(np.zeros(devices, int), rng=np.random.default_rng(7))
    bits = np.unpackbits(reports, axis=1, count=domain_size, bitorder="little")
    assert np.array_equal(mechanism.aggregate(reports), bits.sum(axis=0))


def test_unary_column_sums_of_a_full_block() -> None:
    """A block of all-ones reports fills the bit planes to the top."""
    mechanism = make_mechanism("oue", epsilon=0.1, domain_size=70)
    reports = np.full((2 * BLOCK_DEVICES, 9), 255, np.uint8)
    reports[:, -1] = 63
    assert mechanism.aggregate(reports).tolist() == [2 * BLOCK_DEVICES] * 70


@pytest.mark.parametrize(
    ("domain_size", "options", "prime"),
    [
        (2, {}, 2_642_239),
        (300, {}, 2_642_239),
        (2_642_239, {"g": 5}, 2_642_239),
        (2_642_240, {"g": 5}, 2**31 - 1),
        (301, {"g": 100_000}, 2**31 - 1),
    ],
)
def test_hash_reports(domain_size: int, options: dict[str, int], prime: int) -> None:
    mechanism = make_mechanism("olh", epsilon=1.0, domain_size=domain_size, **options)
    assert mechanism.p is not None
    buckets = mechanism.parameters()["g"]
    assert isinstance(buckets, int)
    values = np.random.default_rng(2).integers(0, domain_size, 100)
    values[-1] = domain_size - 1
    reports = mechanism.privatize(values, rng=np.random.default_rng(7))
    hashing, moving = (Stream.of(key, 0) for key in keys(7))
    for value, report in zip(values.tolist(), reports, strict=True):
        a0, a1, a2 = (hashing.below(prime) for _ in range(3))
        bucket = (a2 * value**2 + a1 * value + a0) % prime * buckets // prime
        kept = moving.bernoulli(mechanism.p)
        other = moving.below(buckets - 1)
        other += other >= bucket
        assert report.tolist() == (a0, a1, a2, bucket if kept else other)


@pytest.mark.parametrize(
    ("domain_size", "options"), [(2, {}), (3, {}), (301, {}), (301, {"g": 2}), (97, {"g": 100_000})]
)
@pytest.mark.parametrize("devices", [1, 600])
def test_hash_supports(domain_size: int, options: dict[str, int], devices: int) -> None:
    mechanism = make_mechanism("olh", epsilon=2.0, domain_size=domain_size, **options)
    buckets = mechanism.parameters()["g"]
    assert isinstance(buckets, int)
    prime = 2_642_239 if buckets <= 4096 else 2**31 - 1
    reports = mechanism.privatize(np.zeros(devices, int), rng=np.random.default_rng(3))
    cells = range(domain_size)
    expected = np.zeros(domain_size, int)
    for a0, a1, a2, bucket in reports.tolist():
        expected += [(a2 * i * i + a1 * i + a0) % prime * buckets // prime == bucket for i in cells]
    assert np.array_equal(mechanism.aggregate(reports), expected)


@pytest.mark.parametrize("buckets", [2, 3, 4, 8, 56, 4096, 5000])
def test_collision_probability(buckets: int) -> None:
    """Two cells take any pair of residues equally often, so they meet where both lie in one bucket."""
    mechanism = make_mechanism("olh", epsilon=1.0, domain_size=50, g=buckets)
    prime = 2_642_239 if buckets <= 4096 else 2**31 - 1
    edges = [-(-bucket * prime // buckets) for bucket in range(buckets + 1)]
    meets = sum(Fraction(high - low, prime) ** 2 for low, high in pairwise(edges))
    assert mechanism.collision_probability == meets  # type: ignore[attr-defined]
    assert abs(meets - Fraction(1, buckets)) < Fraction(1, 2**20)


def test_hash_values_at_three_cells_are_independent() -> None:
    """With a small prime every hash can be looked at: each triple of residues occurs exactly once."""
    prime = 7
    seen = {
        tuple((a2 * i * i + a1 * i + a0) % prime for i in (1, 4, 6))
        for a0 in range(prime)
        for a1 in range(prime)
        for a2 in range(prime)
    }
    assert len(seen) == prime**3


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0, 12.0, 20.0])
def test_bias_of_the_hash_is_negligible(epsilon: float) -> None:
    mechanism = make_mechanism("olh", epsilon=epsilon, domain_size=2218)
    assert abs(mechanism.bias_per_device) < Fraction(1, 5 * 10**9)  # type: ignore[attr-defined]


@pytest.mark.parametrize("domain_size", [2, 5, 64, 100])
def test_hadamard_signs(domain_size: int) -> None:
    mechanism = make_mechanism("hrr", epsilon=1.0, domain_size=domain_size)
    assert mechanism.p is not None
    rows = 1 << (domain_size - 1).bit_length()
    values = np.random.default_rng(2).integers(0, domain_size, 400)
    reports = mechanism.privatize(values, rng=np.random.default_rng(7))
    drawing, keeping = (Stream.of(key, 0) for key in keys(7))
    for value, report in zip(values.tolist(), reports.tolist(), strict=True):
        row = drawing.word() % rows
        negative = (row & value).bit_count() % 2
        assert report == 2 * row + (negative if keeping.bernoulli(mechanism.p) else 1 - negative)
    signs = [[(-1) ** (row & cell).bit_count() for cell in range(domain_size)] for row in range(rows)]
    supports = sum(np.array(signs[code >> 1]) == (-1) ** (code & 1) for code in reports.tolist())
    assert np.array_equal(mechanism.aggregate(reports), supports)


@pytest.mark.parametrize(
    ("domain_size", "blocks"), [(2, 1), (5, 1), (64, 1), (100, 1), (100, 4), (9, 16), (7, 2)]
)
def test_hadamard_columns(domain_size: int, blocks: int) -> None:
    mechanism = make_mechanism("hr", epsilon=1.0, domain_size=domain_size, blocks=blocks)
    columns = next(2**k for k in range(20) if 2**k >= Fraction(domain_size, blocks) + 1)
    members = columns // 2
    total = members * mechanism.ratio + columns * blocks - members
    telling = (mechanism.ratio - 1) * members / total
    values = np.random.default_rng(2).integers(0, domain_size, 400)
    reports = mechanism.privatize(values, rng=np.random.default_rng(7))
    stream = Stream.of(keys(7)[1], 0)
    for value, report in zip(values.tolist(), reports.tolist(), strict=True):
        told = stream.bernoulli(telling)
        output = stream.word() % (columns * blocks)
        if told:
            row = value % (columns - 1) + 1
            column = output % columns
            if (row & column).bit_count() % 2:
                column ^= row & -row
            assert (row & column).bit_count() % 2 == 0
            output = value // (columns - 1) * columns + column
        assert report == output
    histogram = np.bincount(reports, minlength=columns * blocks)
    expected = [
        sum(
            histogram[cell // (columns - 1) * columns + column]
            for column in range(columns)
            if ((cell % (columns - 1) + 1) & column).bit_count() % 2 == 0
        )
        for cell in range(domain_size)
    ]
    counts = mechanism.aggregate(reports)
    assert mechanism.support(counts, n=400).tolist() == expected
    assert counts.tolist() == (expected if blocks == 1 else histogram.tolist())


@pytest.mark.parametrize("blocks", [3, 6, 0, -1, 1024, 2.0])
def test_blocks_must_be_a_power_of_two_in_range(blocks: object) -> None:
    with pytest.raises(ParameterError, match=r"blocks must be .*; try \d+") as caught:
        make_mechanism("hr", epsilon=1.0, domain_size=100, blocks=blocks)
    assert caught.value.parameter == "blocks"


@pytest.mark.parametrize(
    ("domain_size", "size"), [(2, 1), (9, 2), (64, 17), (65, 17), (200, 1), (200, 150), (130, 129)]
)
def test_subsets(domain_size: int, size: int) -> None:
    mechanism = make_mechanism("ss", epsilon=1.0, domain_size=domain_size, k=size)
    assert mechanism.p is not None
    values = np.random.default_rng(2).integers(0, domain_size, 37)
    reports = mechanism.privatize(values, rng=np.random.default_rng(7))

    key = keys(7)[1]
    start = Stream.of(key, 0)
    lanes = [sfc64(start) for _ in range(32)]
    stream = Stream(mix(Stream.of(key, 0).state))
    aim = max(0.0, (size - (size * (1 - size / domain_size)) ** 0.5) / domain_size)
    digits = [int(aim * 128) >> place & 1 for place in range(7)]
    words_a_row = (domain_size + 63) // 64
    expected = []
    for first in range(0, 37, 16):
        words: list[int] = []
        while len(words) < 16 * words_a_row:
            for lane in lanes:
                bits = 0
                for digit in digits:
                    word = next(lane)
                    bits = (bits | word) if digit else (bits & word)
                words.append(bits)
        for row, value in enumerate(values[first : first + 16].tolist()):
            bits = sum(
                word << (64 * place)
                for place, word in enumerate(words[row * words_a_row : (row + 1) * words_a_row])
            )
            bits &= (2**domain_size - 1) & ~(1 << value)
            included = stream.bernoulli(mechanism.p)
            missing = size - included - bits.bit_count()
            while missing:
                word = stream.word()
                for half in (word & 0xFFFFFFFF, word >> 32):
                    place, rest = divmod(half * domain_size, 2**32)
                    if rest < 2**32 % domain_size or not missing:
                        continue
                    absent = not bits >> place & 1
                    if missing > 0 and absent and place != value:
                        bits |= 1 << place
                        missing -= 1
                    elif missing < 0 and not absent:
                        bits ^= 1 << place
                        missing += 1
            bits |= included << value
            expected.append(list(bits.to_bytes((domain_size + 7) // 8, "little")))
    assert reports.tolist() == expected
    columns = np.unpackbits(reports, axis=1, count=domain_size, bitorder="little")
    assert (columns.sum(axis=1) == size).all()
    assert np.array_equal(mechanism.aggregate(reports), columns.sum(axis=0))


@pytest.mark.parametrize("size", [10, 11, 0, -1, 2.5, "3"])
def test_size_of_the_subset_is_checked(size: object) -> None:
    with pytest.raises(
        ParameterError, match=r"k must be an integer of at least 1 and at most 9.*; try 1"
    ) as caught:
        make_mechanism("ss", epsilon=2.0, domain_size=10, k=size)
    assert caught.value.parameter == "k"


def test_a_set_of_another_size_is_refused() -> None:
    mechanism = make_mechanism("ss", epsilon=1.0, domain_size=12, k=3)
    mechanism.aggregate(np.array([[7, 0]], np.uint8))
    for wrong, reason in (([3, 0], "impossible weight"), ([3, 16], "padding")):
        with pytest.raises(ParameterError, match=reason):
            mechanism.aggregate(np.array([wrong], np.uint8))


def test_noisy_histograms_add_up() -> None:
    mechanism = make_mechanism("she", epsilon=1.0, domain_size=5)
    reports = mechanism.privatize(np.arange(5), rng=np.random.default_rng(1))
    assert reports.dtype == np.int64
    assert np.array_equal(mechanism.aggregate(reports), reports.sum(axis=0))
    assert mechanism.estimate(reports.sum(axis=0), n=5) == pytest.approx(reports.sum(axis=0) / 2**20)
    reports[2, 3] = 2**53
    with pytest.raises(ParameterError, match="entry out of range"):
        mechanism.aggregate(reports)


@pytest.mark.parametrize("theta", [0.5, 1.0, 1.5, 0.3, -1.0, "0.7", True])
def test_threshold_outside_its_interval_is_refused(theta: object) -> None:
    with pytest.raises(ParameterError, match=r"theta must be greater than 0.5 and less than 1.*; try 0.619"):
        make_mechanism("the", epsilon=1.0, domain_size=10, theta=theta)
    assert make_mechanism("the", epsilon=1.0, domain_size=10, theta=0.7).parameters()["theta"] == 0.7
