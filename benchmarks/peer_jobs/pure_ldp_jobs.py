"""pure-ldp 1.2.0: `client.privatise` and `server.aggregate` for every user, then `server.estimate_all`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from pure_ldp.frequency_oracles import (
    CMSClient,
    CMSServer,
    DEClient,
    DEServer,
    HadamardMechClient,
    HadamardMechServer,
    HadamardResponseClient,
    HadamardResponseServer,
    HEClient,
    HEServer,
    LHClient,
    LHServer,
    UEClient,
    UEServer,
)

Values = npt.NDArray[np.int64]
Work = Callable[[], Any]
Pair = tuple[Any, Any]

SKETCH_HASHES = 1024
SKETCH_WIDTH = 1024


def _job(pair: Callable[[int, float], Pair]) -> Callable[[Values, int, float, int], Work]:
    def prepare(values: Values, cells: int, epsilon: float, threads: int) -> Work:  # noqa: ARG001
        client, server = pair(cells, epsilon)
        items = values + 1  # the library counts items from 1

        def work() -> Any:  # noqa: ANN401
            for item in items:
                server.aggregate(client.privatise(item))
            return server.estimate_all(range(1, cells + 1), suppress_warnings=True)

        return work

    return prepare


def _hadamard_mechanism(cells: int, epsilon: float) -> Pair:
    # Its transform needs a power of two; with one coefficient a report it is Hadamard randomised response.
    size = 1 << (cells - 1).bit_length()
    return HadamardMechClient(epsilon, size, t=1), HadamardMechServer(epsilon, size, t=1)


def _hadamard_response(cells: int, epsilon: float) -> Pair:
    server = HadamardResponseServer(epsilon, cells)
    return HadamardResponseClient(epsilon, cells, server.get_hash_funcs()), server


def _sketch(*, hadamard: bool) -> Callable[[int, float], Pair]:
    def pair(cells: int, epsilon: float) -> Pair:  # noqa: ARG001 - a sketch has no domain
        server = CMSServer(epsilon, SKETCH_HASHES, SKETCH_WIDTH, is_hadamard=hadamard)
        return CMSClient(epsilon, server.get_hash_funcs(), SKETCH_WIDTH, is_hadamard=hadamard), server

    return pair


JOBS = {
    "grr": _job(lambda d, e: (DEClient(e, d), DEServer(e, d))),
    "sue": _job(lambda d, e: (UEClient(e, d), UEServer(e, d))),
    "oue": _job(lambda d, e: (UEClient(e, d, use_oue=True), UEServer(e, d, use_oue=True))),
    "she": _job(lambda d, e: (HEClient(e, d), HEServer(e, d))),
    "the": _job(lambda d, e: (HEClient(e, d), HEServer(e, d, use_the=True))),
    "blh": _job(lambda d, e: (LHClient(e, d), LHServer(e, d))),
    "olh": _job(lambda d, e: (LHClient(e, d, use_olh=True), LHServer(e, d, use_olh=True))),
    "hrr": _job(_hadamard_mechanism),
    "hr": _job(_hadamard_response),
    "cms": _job(_sketch(hadamard=False)),
    "hcms": _job(_sketch(hadamard=True)),
}
