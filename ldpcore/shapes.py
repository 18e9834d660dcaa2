"""Type aliases for the arrays that travel between the modules."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

BoolArray: TypeAlias = npt.NDArray[np.bool_]
FloatArray: TypeAlias = npt.NDArray[np.float64]
ComplexArray: TypeAlias = npt.NDArray[np.complex128]
IntArray: TypeAlias = npt.NDArray[np.int64]
ByteArray: TypeAlias = npt.NDArray[np.uint8]
CellArray: TypeAlias = npt.NDArray[np.uint64]
WordArray: TypeAlias = npt.NDArray[np.uint32]
AnyArray: TypeAlias = npt.NDArray[Any]
