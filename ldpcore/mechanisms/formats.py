"""What a report looks like: in memory, on the wire, and when it is one that no honest client sends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ldpcore.errors import ParameterError
from ldpcore.mechanisms.options import checked_integer
from ldpcore.shapes import AnyArray, BoolArray, ByteArray


class Unpacked(NamedTuple):
    """Reports that were read from payloads, which payloads they are, and what was left out by reason."""

    reports: AnyArray
    kept: BoolArray
    rejected: dict[str, int]


class ReportFormat(ABC):
    """The half of a mechanism that knows its reports; `ldpcore.mechanisms.base.Mechanism` is the whole."""

    __slots__ = ()

    name: ClassVar[str]
    domain_size: int

    @property
    @abstractmethod
    def report_bits(self) -> int:
        """Bits of one report at fixed width, without the header of the wire format."""

    @property
    @abstractmethod
    def report_layout(self) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """Number type of an array of reports and its shape behind the first axis."""

    @property
    def payload_bytes(self) -> int:
        """Bytes of one report on the wire, without the header; the same for every report."""
        return (self.report_bits + 7) // 8

    def pack(self, reports: AnyArray) -> ByteArray:
        """Turn reports into payloads, byte for byte those of the device client.

        Parameters
        ----------
        reports
            Reports of this mechanism, first axis n.

        Returns
        -------
        Array
            (n, payload_bytes) uint8; `ldpcore.device.wire` describes the bytes.

        Raises
        ------
        ParameterError
            If shape or type are not those of a report, or a report is one that no client sends.
        """
        self._check_reports(reports)
        return self._pack(reports)

    def unpack(self, payloads: ByteArray) -> Unpacked:
        """Turn payloads into reports, leaving out and counting those that no honest client sends.

        Parameters
        ----------
        payloads
            (n, payload_bytes) uint8.

        Returns
        -------
        Unpacked
            The reports, at most n; which payloads they come from; and how many were left out for each
            reason. Reports that an honest client sends less than once in 10^9 times count as "impossible
            weight".

        Raises
        ------
        ParameterError
            If the array has another type or width: reports of other parameters are never guessed at.
        """
        if payloads.ndim != 2 or payloads.dtype != np.uint8 or payloads.shape[1] != self.payload_bytes:
            raise ParameterError(
                "payloads",
                f"payloads of {self.name} over {self.domain_size} cells are uint8 of shape "
                f"(n, {self.payload_bytes}), got {payloads.dtype} of shape {payloads.shape}",
            )
        reports = self._unpack(payloads)
        kept = np.ones(len(reports), bool)
        rejected: dict[str, int] = {}
        for reason, found in (
            *self._faults(reports).items(),
            ("impossible weight", self._improbable(reports)),
        ):
            count = int((found & kept).sum())
            if count:
                rejected[reason] = count
            kept &= ~found
        return Unpacked(reports[kept] if rejected else reports, kept, rejected)

    def supports(self, reports: AnyArray, cell: int) -> BoolArray:
        """Tell which reports support a cell; (n,) bool.

        Raises
        ------
        ParameterError
            If the reports are not of this mechanism or the cell is outside the domain.
        """
        self._check_reports(reports)
        last = self.domain_size - 1
        return self._supports(reports, checked_integer("cell", cell, minimum=0, maximum=last))

    def _faults(self, reports: AnyArray) -> dict[str, BoolArray]:  # noqa: ARG002 - some have none
        """Return, for each thing that can be wrong with a report, which reports have it."""
        return {}

    def _improbable(self, reports: AnyArray) -> BoolArray:
        """Tell which reports an honest client sends less than once in 10^9 times."""
        return np.zeros(len(reports), bool)

    def _check_reports(self, reports: AnyArray) -> None:
        """Refuse reports of another shape or type, or that no client sends."""
        dtype, shape = self.report_layout
        if reports.ndim == 0 or reports.shape[1:] != shape or reports.dtype != dtype:
            raise ParameterError(
                "reports",
                f"reports of {self.name} over {self.domain_size} cells are {dtype} of shape "
                f"{('n', *shape)}, got {reports.dtype} of shape {reports.shape}",
            )
        for reason, found in self._faults(reports).items():
            if found.any():
                raise ParameterError(
                    "reports",
                    f"{int(found.sum())} of {len(reports)} reports of {self.name} over {self.domain_size} "
                    f"cells cannot have come from a client: {reason}",
                )

    def distinguishing_events(self, reports: AnyArray, one: int, other: int) -> dict[str, BoolArray]:
        """Tell which reports fall into the events that tell two cells apart best.

        Parameters
        ----------
        reports
            Reports of this mechanism, first axis n.
        one, other
            Two cells.

        Returns
        -------
        dict
            Name of the event to (n,) bool. The ratio of an event's probabilities under the two cells is the
            likelihood ratio of the mechanism.
        """
        first, second = self.supports(reports, one), self.supports(reports, other)
        return {
            f"supports cell {one} and not {other}": first & ~second,
            f"supports cell {other} and not {one}": second & ~first,
        }

    @abstractmethod
    def _supports(self, reports: AnyArray, cell: int) -> BoolArray:
        """Tell which reports support a cell."""

    def _pack(self, reports: AnyArray) -> ByteArray:
        """Turn checked reports into payloads: by default packed bytes as they are."""
        return reports.astype(np.uint8, copy=False)

    def _unpack(self, payloads: ByteArray) -> AnyArray:
        """Turn payloads of the right size into reports; the inverse of `_pack`."""
        return payloads
