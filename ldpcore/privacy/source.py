"""Read the source of the phone's program: which modules it runs, and where its randomness comes from.

The imports are followed from one file through every module of the project it leads to, packages included.
Each import from outside must be on a short list; every name that draws random bits must come from
`secrets`; a generator that is seeded, a clock read, or code made at run time is an objection. Reading the
source proves what is written there, not what a changed interpreter would do with it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ALLOWED: Final = frozenset(
    {
        "__future__",
        "collections.abc",
        "contextlib",
        "cryptography.exceptions",
        "cryptography.hazmat.primitives.ciphers.aead",
        "dataclasses",
        "datetime",
        "fcntl",
        "fractions",
        "json",
        "os",
        "pathlib",
        "secrets",
        "struct",
        "types",
        "typing",
    }
)
"""What the phone's program may import besides its own modules."""

_OBJECTIONS: Final = {
    **dict.fromkeys(("urandom", "getrandom"), "draws random bits without secrets"),
    **dict.fromkeys(("Random", "seed", "getrandbits", "default_rng"), "uses a generator with a state"),
    **dict.fromkeys(("now", "today", "utcnow", "time_ns", "monotonic"), "reads a clock"),
    **dict.fromkeys(("eval", "exec", "compile", "__import__", "import_module"), "runs code made at run time"),
}


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read and found.

    Parameters
    ----------
    files
        Every file that was read, the first one first, relative to the root.
    lines
        Lines of all of them.
    draws
        Names taken from `secrets`, sorted.
    objections
        What must not be there, each with file and line.
    """

    files: tuple[str, ...]
    lines: int
    draws: tuple[str, ...]
    objections: tuple[str, ...]


def read_source(entry: Path, *, root: Path) -> Reading:
    """Follow the imports of a file and collect objections.

    Parameters
    ----------
    entry
        The file to begin with, below the root.
    root
        Folder that holds the project's packages; a module that is found in it is followed.
    """
    waiting, read = [entry], dict[Path, str]()
    draws: set[str] = set()
    objections: list[str] = []
    while waiting:
        path = waiting.pop(0)
        if path in read:
            continue
        read[path] = path.read_text(encoding="utf-8")
        name = path.relative_to(root).as_posix()
        for node in ast.walk(ast.parse(read[path])):
            for module, names in _imports(node, path, root):
                own = _files_of(module, names, root)
                waiting += own
                if not own and module not in ALLOWED:
                    objections.append(f"{name} line {node.lineno} imports {module}")  # type: ignore[attr-defined]
                if module == "secrets":
                    draws.update(names or ["secrets"])
            objections += [
                f"{name} line {node.lineno} {_OBJECTIONS[word]}: {word}"  # type: ignore[attr-defined]
                for word in _words(node)
                if word in _OBJECTIONS
            ]
    return Reading(
        tuple(path.relative_to(root).as_posix() for path in read),
        sum(text.count("\n") for text in read.values()),
        tuple(sorted(draws)),
        tuple(objections),
    )


def _imports(node: ast.AST, path: Path, root: Path) -> list[tuple[str, list[str]]]:
    """Return modules that a statement imports, each with the names taken from it."""
    if isinstance(node, ast.Import):
        return [(alias.name, []) for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
        if node.level:
            package = path.relative_to(root).parts[: -node.level]
            module = ".".join([*package, *filter(None, [module])])
        return [(module, [alias.name for alias in node.names])]
    return []


def _files_of(module: str, names: list[str], root: Path) -> list[Path]:
    """Return files of the project that an import runs: the module, its packages, and modules named in it."""
    parts = module.split(".")
    candidates = [root.joinpath(*parts[:length], "__init__.py") for length in range(1, len(parts) + 1)]
    for dotted in (parts, *([*parts, name] for name in names)):
        candidates += [root.joinpath(*dotted).with_suffix(".py"), root.joinpath(*dotted, "__init__.py")]
    return [path for path in dict.fromkeys(candidates) if path.is_file()]


def _words(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Name):
        # A local hash has a seed too; only a generator's is a method.
        return [node.id] if node.id != "seed" else []
    if isinstance(node, ast.Attribute):
        return [node.attr]
    if isinstance(node, ast.ImportFrom):
        return [alias.name for alias in node.names]
    return []
