"""The box that a map is fitted to, also where the cells lie on both sides of the date line."""

from __future__ import annotations

import numpy as np
import pytest

from ldpcore.domain import cells_over
from ldpcore.trips.areas import area_from_text
from ui.explore_map import cell_bounds


@pytest.mark.parametrize("text", ["10.6,59.8,10.9,60.0", "-74.2,40.5,-73.7,40.9", "179.8,-17.1,-179.8,-16.7"])
def test_the_box_of_cells_is_that_of_their_area_and_a_cell_more(text: str) -> None:
    west, south, east, north = (float(part) for part in text.split(","))
    found = cell_bounds(cells_over(area_from_text(text), 8).cells)
    # A cell of resolution 8 is 1.1 km across at most: 0.01 degrees, and twice that of longitude at 60 N.
    assert np.allclose(found, (west, south, east, north), atol=0.03)
    assert found[0] <= west
    assert found[2] >= east
    assert all(abs(edge) <= 180 for edge in found)
