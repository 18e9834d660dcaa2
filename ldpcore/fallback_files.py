"""Files of a release of mixed resolutions: the table of `ldpcore.release_files`, told how it fell back."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from ldpcore.fallback import FallbackRelease
from ldpcore.release import Release
from ldpcore.release_files import WRITERS, sidecar, write_table


def fallback_command(command: str, run: FallbackRelease) -> str:
    """Return the command line of a plain run with the words that make it fall back.

    Examples
    --------
    >>> from ldpcore.fallback import fall_back
    >>> from ldpcore.population import population_of
    >>> from ldpcore.settings import Scenario
    >>> scenario = Scenario(city="helsinki", devices=1000)
    >>> fallback_command("python -m ldpcore run", fall_back(scenario, population_of(scenario)))
    'python -m ldpcore run --fall-back summed --coarsest 5'
    """
    return f"{command} {shlex.join(['--fall-back', run.method, '--coarsest', str(run.tree.resolutions[0])])}"


def fallback_sidecar(plain: Release, run: FallbackRelease, *, truth: bool) -> dict[str, Any]:
    """Return all that is needed to make a release of mixed resolutions again, ready for JSON.

    Parameters
    ----------
    plain
        The release of the same scenario at one resolution.
    run
        The release of mixed resolutions.
    truth
        Whether the table it stands beside holds the truth.
    """
    about = sidecar(plain, truth=truth)
    coarsest = run.tree.resolutions[0]
    about["fall_back"] = {
        "method": run.method,
        "coarsest": coarsest,
        "cells_answered": {str(level): cells for level, cells in run.answered.items()},
        "cells_without_answer": int((run.answer < 0).sum()),
    }
    if "link" in about:
        about["link"] = {**about["link"], "fall_back": run.method, "coarsest": str(coarsest)}
        about["command"] = fallback_command(about["command"], run)
    return about


def fallback_bytes(plain: Release, run: FallbackRelease, ending: str, *, truth: bool) -> bytes:
    """Return a release of mixed resolutions as the bytes of a file; `ending` is a key of `WRITERS`."""
    return WRITERS[ending](run.frame(truth=truth), fallback_sidecar(plain, run, truth=truth))


def write_fallback(plain: Release, run: FallbackRelease, path: Path, *, truth: bool) -> list[Path]:
    """Write a release of mixed resolutions and its sidecar, and return the files written."""
    return write_table(run.frame(truth=truth), fallback_sidecar(plain, run, truth=truth), path)


def fallback_figures(run: FallbackRelease) -> dict[str, Any]:
    """Return the figures of falling back, as the verb ``run`` prints them."""
    below = run.true_counts < run.scenario.floor
    return {
        "fall_back": run.method,
        "coarsest": run.tree.resolutions[0],
        "answered": int((run.answer >= 0).sum()),
        "answered_by_resolution": {str(level): cells for level, cells in run.answered.items()},
        "devices_answered": float(
            run.population.true_counts[run.answer >= 0].sum() / max(run.population.size, 1)
        ),
        "nodes_published": int(run.published.sum()),
        "nodes_false_published": int((run.published & below).sum()),
    }
