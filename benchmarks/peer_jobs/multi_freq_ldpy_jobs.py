"""multi-freq-ldpy 0.2.5: a list of what the client function returns, then the aggregator function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.HE import HE_Aggregator_MI, HE_Client
from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

Values = npt.NDArray[np.int64]
Work = Callable[[], Any]


def _job(
    client: Callable[[int, int, float], Any], aggregator: Callable[[list[Any], int, float], Any]
) -> Callable[[Values, int, float, int], Work]:
    def prepare(values: Values, cells: int, epsilon: float, threads: int) -> Work:  # noqa: ARG001
        return lambda: aggregator([client(value, cells, epsilon) for value in values], cells, epsilon)

    return prepare


JOBS = {
    "grr": _job(GRR_Client, GRR_Aggregator_MI),
    "sue": _job(lambda v, k, e: UE_Client(v, k, e, False), lambda r, _k, e: UE_Aggregator_MI(r, e, False)),
    "oue": _job(UE_Client, lambda r, _k, e: UE_Aggregator_MI(r, e)),
    "she": _job(HE_Client, lambda r, k, e: HE_Aggregator_MI(r, k, e, use_thresh=False)),
    "the": _job(HE_Client, HE_Aggregator_MI),
    "blh": _job(
        lambda v, k, e: LH_Client(v, k, e, optimal=False),
        lambda r, k, e: LH_Aggregator_MI(r, k, e, optimal=False),
    ),
    "olh": _job(LH_Client, LH_Aggregator_MI),
    "ss": _job(SS_Client, SS_Aggregator_MI),
}
