"""Compiled inner loops, each loaded at its first use.

Numba takes half a second to import, and a page that only draws from the aggregate samplers
never needs it; so the modules here are imported when a report is really made.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ldpcore.mechanisms.kernels import direct, hadamard, hashing, laplace, streams, subset, unary

_LOADED_ON_USE = ("direct", "hadamard", "hashing", "laplace", "streams", "subset", "unary")

__all__ = ["direct", "hadamard", "hashing", "laplace", "streams", "subset", "unary"]


def __getattr__(name: str) -> ModuleType:
    if name not in _LOADED_ON_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
