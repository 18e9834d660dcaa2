"""The table of frequency mechanisms, and how to make one by name.

Menus, documentation, the adviser and the command line are built from `MECHANISMS`; a new
mechanism is one new module and one new row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from ldpcore.errors import ParameterError
from ldpcore.mechanisms.base import Mechanism
from ldpcore.mechanisms.direct import GeneralizedRandomizedResponse
from ldpcore.mechanisms.hadamard import HadamardRandomizedResponse, HadamardResponse
from ldpcore.mechanisms.hashing import BinaryLocalHashing, OptimizedLocalHashing
from ldpcore.mechanisms.histogram import SummationHistogramEncoding, ThresholdHistogramEncoding
from ldpcore.mechanisms.options import option_defaults, option_names
from ldpcore.mechanisms.oracle import FrequencyOracle
from ldpcore.mechanisms.subset import SubsetSelection
from ldpcore.mechanisms.unary import OptimizedUnaryEncoding, SymmetricUnaryEncoding

_FAMILY: tuple[type[Mechanism], ...] = (
    GeneralizedRandomizedResponse,
    SymmetricUnaryEncoding,
    OptimizedUnaryEncoding,
    SummationHistogramEncoding,
    ThresholdHistogramEncoding,
    BinaryLocalHashing,
    OptimizedLocalHashing,
    HadamardRandomizedResponse,
    HadamardResponse,
    SubsetSelection,
)

MECHANISMS: Mapping[str, type[Mechanism]] = MappingProxyType({entry.name: entry for entry in _FAMILY})
"""Every mechanism by its name, in the order of menus."""


def make_mechanism(name: str, *, epsilon: float, domain_size: int, **options: object) -> Mechanism:
    """Make a mechanism by name.

    Parameters
    ----------
    name
        A key of `MECHANISMS`.
    epsilon
        Finite, above 0, at most 20.
    domain_size
        Number of cells, at least 2.
    **options
        The options of that mechanism.

    Raises
    ------
    ParameterError
        If the name is unknown (the message lists those that exist), an option is unknown (the message lists
        those that the mechanism takes), or a value is outside its range.

    Examples
    --------
    >>> make_mechanism("grr", epsilon=2, domain_size=10).report_bits
    4
    """
    if name not in MECHANISMS:
        raise ParameterError(
            "mechanism", f"there is no mechanism {name!r}; choose one of {', '.join(MECHANISMS)}"
        )
    chosen = MECHANISMS[name]
    allowed = option_names(chosen)
    for option in options:
        if option not in allowed:
            takes = f"its options are {', '.join(allowed)}" if allowed else "it takes none"
            raise ParameterError("options", f"{name} has no option {option!r}; {takes}")
    return chosen(epsilon=epsilon, domain_size=domain_size, **options)


def parse_options(text: str) -> dict[str, object]:
    """Read options as the command line writes them.

    Parameters
    ----------
    text
        "name=value,name=value"; a value is an integer, a number, true, false, none, a pair in
        parentheses or a word. Empty text gives no options.

    Raises
    ------
    ParameterError
        If a part has no "=" or a name comes twice.

    Examples
    --------
    >>> parse_options("k=5,instantaneous=(0.5,0.75)")
    {'k': 5, 'instantaneous': (0.5, 0.75)}
    """
    options: dict[str, object] = {}
    # A comma inside parentheses belongs to the value.
    for part in re.split(r",(?![^(]*\))", text):
        if not part.strip():
            continue
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not name or not value:
            raise ParameterError("options", f"options are written name=value,name=value, got {part!r}")
        if name in options:
            raise ParameterError("options", f"option {name!r} is given twice")
        options[name] = _parse_value(value)
    return options


_WORDS: Mapping[str, object] = MappingProxyType({"true": True, "false": False, "none": None})


def _parse_value(text: str) -> object:
    if text.startswith("(") and text.endswith(")"):
        return tuple(_parse_value(piece.strip()) for piece in text[1:-1].split(",") if piece.strip())
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return _WORDS.get(text.lower(), text)


__all__ = [
    "MECHANISMS",
    "FrequencyOracle",
    "Mechanism",
    "make_mechanism",
    "option_defaults",
    "option_names",
    "parse_options",
]
