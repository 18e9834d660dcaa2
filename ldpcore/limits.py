"""What is refused because it would not fit into a machine, before any of it is made."""

from __future__ import annotations

from typing import Final

from ldpcore.domain import MAX_CELLS
from ldpcore.errors import ParameterError
from ldpcore.mechanisms.base import Mechanism

MOST_BYTES: Final = 4 * 10**9
"""Reports that are held in memory together."""

MOST_DEVICES_ONE_BY_ONE: Final = 10**9
"""Devices whose values are held one by one, 8 bytes each; counts alone have no such limit."""


def require_cells(domain_size: int) -> None:
    """Refuse more cells than a domain of the map may have, where the phone's program is really run."""
    if domain_size > MAX_CELLS:
        raise ParameterError(
            "domain_size",
            f"--domain-size must be at most {MAX_CELLS:,}, the most cells a domain may have, got {domain_size:,}; "
            "try 1000.",
        )


def require_room(mechanism: Mechanism, reports: int, *, parameter: str, per: int = 1) -> None:
    """Refuse reports that do not fit into memory together.

    Parameters
    ----------
    mechanism
        Whose reports.
    reports
        How many are held together.
    parameter
        The setting that decides how many.
    per
        Reports that one step of the setting stands for.

    Raises
    ------
    ParameterError
        If they take more than `MOST_BYTES`; it names the largest value that works, where there is one.
    """
    width = mechanism.payload_bytes
    if reports * width > MOST_BYTES:
        most = MOST_BYTES // (width * per)
        advice = f"at most {most:,} fit" if most else "not even one fits"
        raise ParameterError(
            parameter,
            f"{reports:,} reports of {width:,} bytes take {reports * width / 1e9:,.0f} GB, more than the "
            f"{MOST_BYTES / 1e9:.0f} GB that are held at once; of --{parameter} {advice}, or take fewer cells.",
        )
