"""Synthetic cities look like cities: the bands of real trips, and the figures of the README."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ldpcore.trips.cities import CITIES, city_domain
from ldpcore.trips.realism import BANDS, measure, measure_days, sample_trips

README = Path(__file__).resolve().parents[2] / "data" / "README.md"

# The sample and its seed are fixed, so these tests do not fail by chance.


@pytest.fixture(scope="module")
def measured() -> dict[str, dict[str, float]]:
    return {slug: measure(sample_trips(slug), slug) for slug in CITIES}


@pytest.mark.parametrize("slug", CITIES)
def test_a_weekday_of_100_000_trips_lies_in_every_band(
    slug: str, measured: dict[str, dict[str, float]]
) -> None:
    assert set(measured[slug]) == set(BANDS)
    outside = {name: value for name, value in measured[slug].items() if not BANDS[name].holds(value)}
    assert not outside


def test_the_readme_shows_what_is_measured(measured: dict[str, dict[str, float]]) -> None:
    text = README.read_text(encoding="utf-8")
    for name, band in BANDS.items():
        row = next(line for line in text.splitlines() if line.startswith(f"| {band.label} |"))
        shown = [float(cell.strip(" *")) for cell in row.split("|")[3:-1]]
        assert shown == pytest.approx([measured[slug][name] for slug in CITIES], abs=0.002)


def test_the_readme_shows_the_cell_counts() -> None:
    text = README.read_text(encoding="utf-8")
    for slug, city in CITIES.items():
        row = re.search(rf"^\| {city.label} \|((?: [\d,]+ \|){{6}})$", text, flags=re.MULTILINE)
        assert row is not None
        counts = [int(cell.replace(",", "")) for cell in row.group(1).split("|")[:-1]]
        assert counts == [city_domain(slug, resolution).size for resolution in range(5, 11)]


def test_measures_of_a_table_worked_by_hand() -> None:
    """Five trips between three cells of Tokyo."""
    domain = city_domain("tokyo", 8)
    a, b, c = domain.centres()[[100, 900, 1500]]
    ends = [(a, b), (a, b), (b, a), (a, a), (c, a)]
    start = pd.Timestamp("2024-06-05 07:30:00")
    trips = pd.DataFrame(
        {
            "start_lat": [one[0] for one, _ in ends],
            "start_lng": [one[1] for one, _ in ends],
            "end_lat": [other[0] for _, other in ends],
            "end_lng": [other[1] for _, other in ends],
            "start_time": [start] * 5,
            "end_time": [start + pd.Timedelta(minutes=m) for m in (5, 5, 5, 10, 20)],
            "length_m": [1000.0] * 5,
        }
    )
    found = measure(trips, "tokyo")
    # Visits: a has 3 starts and 3 ends, b 1 and 2, c 1 and 0.
    assert found["empty_share"] == pytest.approx(1 - 3 / domain.size)
    assert found["gini"] == pytest.approx(2 * (1 * 1 + 2 * 3 + 3 * 6) / (3 * 10) - 4 / 3)
    assert found["same_cell"] == pytest.approx(1 / 5)
    # Pairs: ab twice, ba, aa, ca; away from home: ab 2, ba 1, ca 1; returned: min(2, 1) both ways.
    assert found["pairs_used"] == pytest.approx(4 / 9)
    assert found["pairs_once"] == pytest.approx(3 / 4)
    assert found["reciprocity"] == pytest.approx(2 / 4)
    assert found["duration_mu"] == pytest.approx(np.log([5, 5, 5, 10, 20]).mean())
    assert found["morning_high"] == 1.0
    assert found["night_high"] == 0.0


def test_days_of_the_same_devices() -> None:
    days = measure_days("new_york", devices=5_000, days=4)
    # Real persons: 2.1 stay cells a day, 3 at the 90th percentile, return ratio 0.70 (GeoLife).
    assert days["stay_cells_mean"] == pytest.approx(2.1, abs=0.2)
    assert days["stay_cells_p90"] == 3.0
    assert days["return_ratio_1"] < days["return_ratio_2"] < days["return_ratio_4"]
    assert days["return_ratio_4"] == pytest.approx(0.70, abs=0.06)
