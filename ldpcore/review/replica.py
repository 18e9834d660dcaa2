"""Attack the client that ships, twice: with its own coins, and with seeded ones so that the figures can be made again.

The randomiser takes its coins from the operating system, so two attacks on it never give the same numbers. A report
must, so the same source file is loaded a second time with a seeded generator in the place of the two functions of
`secrets` that it calls: every figure comes from this replica. The client with its own coins is attacked as well, and
of that attack the report keeps whether it passed, which does not vary, save once in a million reports.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import random
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Final

from ldpcore.device import randomiser
from ldpcore.device.wire import make_client
from ldpcore.mechanisms import FrequencyOracle, Mechanism, make_mechanism, option_names
from ldpcore.privacy.audit import Audit, PayloadSource, audit_mechanism

COIN_SOURCES: Final = ("randbelow", "randbits")
"""The functions of `secrets` that a randomiser may take coins from."""

MOST_CELLS: Final[Mapping[str, int]] = MappingProxyType({"she": 8})
_MOST_CELLS: Final = 2_048
"""Cells of an audited domain at most: reports grow with the cells while the code that makes them stays the same."""

_MICROSECONDS: Final[Mapping[str, tuple[float, float]]] = MappingProxyType(
    {"she": (0.0, 0.3), "ss": (5.0, 0.3), "the": (10.0, 0.08)}
)
_USUAL: Final = (10.0, 0.03)
"""What one report costs about, fixed and a bit, from one measurement: it sets the trials, so it can't be the clock."""

_DOMAIN: Final = "0" * 16


@dataclass(frozen=True, slots=True)
class ClientAudit:
    """What attacking the client gave.

    Parameters
    ----------
    cells
        Of the domain that was audited.
    replica
        The attack on the client's source with seeded coins.
    live_passed
        Whether the client with its own coins passed.
    payload_bytes
        Size of every payload that was made, in both attacks.
    """

    cells: int
    replica: Audit
    live_passed: bool
    payload_bytes: int

    @property
    def could_refute(self) -> bool:
        """Whether so many trials could have proved a loss above the claim at all."""
        return self.replica.max_certifiable > self.replica.epsilon_effective


def audit_client(
    mechanism: FrequencyOracle, *, seed: int, microseconds: float, tick: Callable[[], None]
) -> ClientAudit:
    """Attack a mechanism's client with its own coins and with seeded ones.

    Parameters
    ----------
    mechanism
        The randomiser of the scenario.
    seed
        Of the replica's coins.
    microseconds
        Work for one world of one attack, which sets the number of trials.
    tick
        Called every thousand reports; it may raise, which ends the attack.
    """
    cells = min(mechanism.domain_size, MOST_CELLS.get(mechanism.name, _MOST_CELLS))
    audited = _over(mechanism, cells)
    trials = trials_for(audited, microseconds)
    live = make_client(audited, _DOMAIN)
    copy = seeded_client(audited, seed)
    outcomes = [
        audit_mechanism(audited, trials=trials, new_device=_Watched(client, tick).itself)
        for client in (copy, live)
    ]
    return ClientAudit(cells, outcomes[0], outcomes[1].passed, audited.payload_bytes)


def trials_for(mechanism: Mechanism, microseconds: float) -> int:
    """Return how many trials a world so much work buys, by a fixed price list and not by the clock."""
    fixed, a_bit = _MICROSECONDS.get(mechanism.name, _USUAL)
    trials = int(microseconds / (fixed + a_bit * mechanism.report_bits))
    return max(round(trials, -3), 1_000)


def _over(mechanism: FrequencyOracle, cells: int) -> Mechanism:
    options = {name: getattr(mechanism, name) for name in option_names(type(mechanism))}
    return make_mechanism(mechanism.name, epsilon=mechanism.epsilon, domain_size=cells, **options)


@dataclass(slots=True)
class _Watched:
    """A client that says every thousand reports that it still works."""

    client: PayloadSource
    tick: Callable[[], None]
    made: int = 0

    def itself(self) -> _Watched:
        """Return this device: it remembers nothing, so one stands for all."""
        return self

    def payload(self, cell: int | None) -> bytes:
        """Randomise one cell."""
        self.made += 1
        if self.made % 1_000 == 0:
            self.tick()
        return self.client.payload(cell)


def seeded_client(mechanism: Mechanism, seed: int) -> PayloadSource:
    """Return the shipped client's source with coins from a seed: for repeatable tests, never for a phone."""
    copy = _load_source()
    coins = random.Random(seed)  # noqa: S311 - a replica, so that the figures of a report can be made again
    # Set on this copy of the module alone; the module that ships keeps its own.
    vars(copy).update(randbelow=coins.randrange, randbits=coins.getrandbits)
    shipped = make_client(mechanism, _DOMAIN)
    client: PayloadSource = copy.Client(
        mechanism=shipped.mechanism, cells=shipped.cells, settings=shipped.settings, header=shipped.header
    )
    return client


def _load_source() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        f"ldpcore.review._replica_{threading.get_ident()}", _source_path()
    )
    assert spec is not None  # noqa: S101 - the file was imported from there
    assert spec.loader is not None  # noqa: S101
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by name while the class is made.
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        sys.modules.pop(spec.name, None)
    return module


def _source_path() -> Path:
    assert randomiser.__file__ is not None  # noqa: S101 - a module of files
    return Path(randomiser.__file__)


@dataclass(frozen=True, slots=True)
class Generator:
    """Where the shipped client takes its coins from, read from its source.

    Parameters
    ----------
    sha256
        Of the source file, all 64 hexadecimal digits.
    lines
        Lines of the file.
    imports
        Modules that it imports.
    coins
        Functions of `secrets` that it imports.
    objections
        What must not be there, in words: another generator, or a number that is rounded.
    """

    sha256: str
    lines: int
    imports: tuple[str, ...]
    coins: tuple[str, ...]
    objections: tuple[str, ...]


_ALLOWED: Final = frozenset({"__future__", "collections.abc", "dataclasses", "secrets", "types"})
_GENERATORS: Final = frozenset(
    {"random", "numpy", "np", "time", "eval", "exec", "__import__", "float", "round"}
)


@lru_cache(maxsize=1)
def read_generator() -> Generator:
    """Read the shipped randomiser's source and say where its coins come from."""
    source = _source_path().read_bytes()
    return judge_source(source)


def judge_source(source: bytes) -> Generator:
    """Return what a randomiser's source imports, and what in it must not be there."""
    modules: list[str] = []
    coins: list[str] = []
    objections: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules.append(node.module or "")
            if node.module == "secrets":
                coins += [name.name for name in node.names]
        else:
            objections += _objections(node)
    objections += [f"imports {name}" for name in modules if name not in _ALLOWED]
    objections += [f"takes coins from secrets.{name}" for name in coins if name not in COIN_SOURCES]
    return Generator(
        hashlib.sha256(source).hexdigest(),
        source.count(b"\n"),
        tuple(sorted(set(modules))),
        tuple(sorted(set(coins))),
        tuple(sorted(set(objections))),
    )


def _objections(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, float | complex):
        return [f"holds the rounded number {node.value}"]
    if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Div):
        return ["divides into a rounded number"]
    if isinstance(node, ast.Call):
        called: Any = node.func
        name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
        if name in _GENERATORS:
            return [f"calls {name}"]
    return []
