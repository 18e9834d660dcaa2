import numpy as np
import pytest
from scipy.linalg import hadamard

from ldpcore.mechanisms.hadamard import walsh_hadamard


@pytest.mark.parametrize("size", [1, 2, 8, 64, 512])
def test_fast_transform_equals_multiplication_by_the_matrix(size):
    matrix = hadamard(size)
    rows = np.random.default_rng(size).integers(-(10**9), 10**9, (2, 3, size))
    before = rows.copy()
    transformed = walsh_hadamard(rows)
    assert transformed.dtype == rows.dtype
    np.testing.assert_array_equal(transformed, rows @ matrix)
    np.testing.assert_array_equal(rows, before)  # the argument stays as it was
