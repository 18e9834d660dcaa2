"""ldp-toolbox 0.1.3: `protocol.obfuscate` for every user, then `protocol.estimate` of the list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from ldp_toolbox.protocols.frequency.grr import GeneralizedRandomizedResponse
from ldp_toolbox.protocols.frequency.he import HistogramEncoding
from ldp_toolbox.protocols.frequency.lh import LocalHashing
from ldp_toolbox.protocols.frequency.ss import SubsetSelection
from ldp_toolbox.protocols.frequency.ue import UnaryEncoding

Values = npt.NDArray[np.int64]
Work = Callable[[], Any]


def _job(protocol: Callable[[int, float], Any]) -> Callable[[Values, int, float, int], Work]:
    def prepare(values: Values, cells: int, epsilon: float, threads: int) -> Work:  # noqa: ARG001
        made = protocol(cells, epsilon)
        return lambda: made.estimate([made.obfuscate(value) for value in values])

    return prepare


JOBS = {
    "grr": _job(GeneralizedRandomizedResponse),
    "sue": _job(lambda k, e: UnaryEncoding(k, e, optimal=False)),
    "oue": _job(UnaryEncoding),
    "she": _job(lambda k, e: HistogramEncoding(k, e, thresholding=False)),
    "the": _job(HistogramEncoding),
    "blh": _job(lambda k, e: LocalHashing(k, e, optimal=False)),
    "olh": _job(LocalHashing),
    "ss": _job(SubsetSelection),
}
