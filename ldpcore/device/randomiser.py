"""The client that ships: one report at a time, whole numbers and the operating system's randomness only.

This file imports nothing but the standard library and is meant to be read in one sitting. Every
probability is a quotient of two whole numbers, every coin comes from `secrets`, nothing is rounded, and no
number is a float. A likelihood ratio R is handed in as `ratio` / `one`, with one = 2^64 in every real client;
the server chose ratio as e^epsilon * 2^64 rounded down, so R never exceeds e^epsilon.

The formats of the payloads are those of `ldpcore.device.wire`; all are little-endian and all reports of one
client have the same size.

What this does not protect: when a report is sent, from which address and account, and a phone whose
software was changed. Python does not promise that two runs take the same time; the number of random bits
that are read depends on coins only, never on the cell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from secrets import randbelow, randbits
from types import MappingProxyType

# -- coins ---------------------------------------------------------------------------------------


def coin(numerator: int, denominator: int) -> bool:
    """Return True with probability numerator / denominator, exactly."""
    return randbelow(denominator) < numerator


def coins(count: int, numerator: int, denominator: int) -> int:
    """Toss many coins at once: `count` independent bits, each 1 with probability numerator / denominator.

    A bit is 1 where an endless random binary fraction lies below the probability. All fractions are
    written down digit by digit at the same time, and a bit is settled at the first digit that differs
    from the digit of the probability. The digits of the probability come from long division, so they
    never run out and nothing is rounded.
    """
    ones, open_bits = 0, (1 << count) - 1
    rest = numerator
    while open_bits and rest:
        rest *= 2
        digit = rest >= denominator
        if digit:
            rest -= denominator
        random = randbits(count)
        if digit:
            ones |= open_bits & ~random
            open_bits &= random
        else:
            open_bits &= ~random
    # Where the probability has no further digits, a fraction that still agrees with it is not below it.
    return ones


def exponential_coin(numerator: int, denominator: int) -> bool:
    """Return True with probability e^(-numerator / denominator), exactly.

    Up to exponent 1: coins of probability x, x/2, x/3, ... until the first failure, which comes at an odd
    place with probability 1 - x + x^2/2! - ... (C. Canonne, G. Kamath, T. Steinke, *The Discrete Gaussian
    for Differential Privacy*, 2020, algorithm 1). A greater exponent is a product of such coins.
    """
    while numerator > denominator:
        if not exponential_coin(1, 1):
            return False
        numerator -= denominator
    place = 1
    while coin(numerator, denominator * place):
        place += 1
    return place % 2 == 1


def laplace_number(numerator: int, denominator: int) -> int:
    """Return a whole number z with probability proportional to e^(-|z| denominator / numerator), exactly.

    Algorithm 2 of the same paper: a geometric number is put together from a uniform remainder and a count of
    whole scales, then gets a sign; a negative zero is drawn again.
    """
    while True:
        remainder = randbelow(numerator)
        if not exponential_coin(remainder, numerator):
            continue
        scales = 0
        while exponential_coin(1, 1):
            scales += 1
        magnitude = (remainder + numerator * scales) // denominator
        negative = coin(1, 2)
        if not (negative and magnitude == 0):
            return -magnitude if negative else magnitude


# -- randomisers ---------------------------------------------------------------------------------


def direct(cell: int, *, cells: int, ratio: int, one: int, size: int) -> bytes:
    """Generalized randomised response: the own cell weighs `ratio`, every other cell weighs `one`."""
    return other_unless_kept(cell, cells, ratio, one).to_bytes(size, "little")


def unary(cell: int, *, cells: int, p: tuple[int, int], q: tuple[int, int], size: int) -> bytes:
    """Unary encoding: every bit is 1 with probability q, then the own bit is redrawn with probability p."""
    bits = coins(cells, *q)
    own = coin(*p)
    bits = bits & ~(1 << cell) | own << cell
    return bits.to_bytes(size, "little")


def summed_histogram(cell: int, *, cells: int, grid: int, scale: tuple[int, int], largest: int) -> bytes:
    """Noisy one-hot vector: 1 at the own cell, in steps of 1 / grid, plus a Laplace number everywhere."""
    numbers = [laplace_number(*scale) + (grid if place == cell else 0) for place in range(cells)]
    return b"".join(
        min(max(number, -largest), largest).to_bytes(8, "little", signed=True) for number in numbers
    )


def local_hash(
    cell: int, *, prime: int, buckets: int, ratio: int, one: int, seed_sizes: tuple[int, ...], size: int
) -> bytes:
    """Local hashing: a fresh quadratic hash, then randomised response on the bucket of the own cell.

    The hash is drawn before the cell is looked at and never again.
    """
    a0, a1, a2 = randbelow(prime), randbelow(prime), randbelow(prime)
    bucket = (a2 * cell * cell + a1 * cell + a0) % prime * buckets // prime
    sent = other_unless_kept(bucket, buckets, ratio, one)
    if len(seed_sizes) == 1:
        seed = (a0 + prime * (a1 + prime * a2)).to_bytes(seed_sizes[0], "little")
    else:
        seed = b"".join(
            part.to_bytes(width, "little") for part, width in zip((a0, a1, a2), seed_sizes, strict=True)
        )
    return seed + sent.to_bytes(size, "little")


def signed_row(cell: int, *, row_bits: int, ratio: int, one: int, size: int) -> bytes:
    """Hadamard randomised response: a random row and the sign at the own cell, kept with R / (R + 1)."""
    row = randbits(row_bits)
    negative = (row & cell).bit_count() % 2
    kept = coin(ratio, ratio + one)
    return (2 * row + (negative if kept else 1 - negative)).to_bytes(size, "little")


def hadamard_column(cell: int, *, columns: int, blocks: int, ratio: int, one: int, size: int) -> bytes:
    """Hadamard response: columns in which the own row has a plus weigh `ratio`, all others weigh `one`.

    Drawn as a mixture: the extra weight goes to a uniform member of the own set, the rest to any column.
    """
    members = columns // 2
    extra = members * (ratio - one)
    telling = coin(extra, extra + columns * blocks * one)
    column = randbelow(columns * blocks)
    if telling:
        block, row = cell // (columns - 1), cell % (columns - 1) + 1
        column %= columns
        if (row & column).bit_count() % 2:
            # Turning the lowest bit of the row turns the parity: two columns lead to each member.
            column ^= row & -row
        column += block * columns
    return column.to_bytes(size, "little")


def subset(cell: int, *, cells: int, picks: int, ratio: int, one: int, size: int) -> bytes:
    """Subset selection: `picks` cells; sets that hold the own cell weigh `ratio`, all others weigh `one`.

    The set is sent as one bit a cell, so it has no order. The other cells are a uniform choice by R. Floyd's
    method (J. Bentley, R. Floyd, *A Sample of Brilliance*, 1987).
    """
    included = coin(picks * ratio, picks * ratio + (cells - picks) * one)
    others = cells - 1
    chosen: set[int] = set()
    for last in range(others - (picks - included), others):
        drawn = randbelow(last + 1)
        chosen.add(last if drawn in chosen else drawn)
    bits = included << cell
    for other in chosen:
        bits |= 1 << (other + (other >= cell))
    return bits.to_bytes(size, "little")


def other_unless_kept(value: int, values: int, ratio: int, one: int) -> int:
    """Return the value with weight `ratio`, any other of 0..values-1 with weight `one` each."""
    drawn = randbelow(ratio + (values - 1) * one)
    if drawn < ratio:
        return value
    other = (drawn - ratio) // one
    return other + (other >= value)


Randomiser = Callable[..., bytes]

RANDOMISERS: Mapping[str, Randomiser] = MappingProxyType(
    {
        "grr": direct,
        "sue": unary,
        "oue": unary,
        "she": summed_histogram,
        "the": unary,
        "blh": local_hash,
        "olh": local_hash,
        "hrr": signed_row,
        "hr": hadamard_column,
        "ss": subset,
    }
)
"""Every randomiser by the name of its mechanism."""


# -- the client ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Client:
    """One phone's half: it holds the settings that the server published and nothing about its owner.

    Parameters
    ----------
    mechanism
        A key of `RANDOMISERS`.
    cells
        Number of cells of the domain.
    settings
        The exact whole numbers of that mechanism.
    header
        What every report of these settings begins with.
    """

    mechanism: str
    cells: int
    settings: Mapping[str, object]
    header: bytes

    def payload(self, cell: int | None) -> bytes:
        """Randomise one cell; None, outside the domain, sends the report of a random cell.

        A phone outside the domain must not fall silent, because silence would say where it is not.

        Raises
        ------
        ValueError
            If the cell is not one of the domain's.
        """
        if cell is None:
            cell = randbelow(self.cells)
        if not 0 <= cell < self.cells:
            raise ValueError(f"cell must lie in 0..{self.cells - 1}, got {cell}")
        return RANDOMISERS[self.mechanism](cell, **self.settings)

    def report(self, cell: int | None) -> bytes:
        """Return the header and the payload of one report."""
        return self.header + self.payload(cell)
