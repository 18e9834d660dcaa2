"""Measures of a table of trips, and the bands that real trips fall into.

The bands come from public trip files (bike schemes of Singapore, New York and Oslo, taxis of Chicago
and New York, GeoLife), compared at 40,000 to 230,000 trips, H3 resolution 8, visits = origins +
destinations, cells = every cell of the area's domain.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pandas as pd

from ldpcore.shapes import FloatArray, IntArray
from ldpcore.trips.cities import city_domain
from ldpcore.trips.generate import generate_trips

RESOLUTION = 8
"""H3 resolution that the bands were measured at."""

SAMPLE_TRIPS = 100_000
SAMPLE_SEED = 1
"""Size and seed of the sample that is held against the bands."""


class Band(NamedTuple):
    """A closed range that a measure should fall into.

    Parameters
    ----------
    label
        What is measured, for people.
    low, high
        Ends of the range, both allowed.
    """

    label: str
    low: float
    high: float

    def holds(self, value: float) -> bool:
        """Whether a value lies in the band."""
        return self.low <= value <= self.high


BANDS: Mapping[str, Band] = MappingProxyType(
    {
        "gini": Band("Gini over active cells", 0.55, 0.85),
        "rank_slope": Band("rank-size slope, busier half of the active cells", -1.45, -0.65),
        "log_count_sd": Band("standard deviation of ln counts over active cells", 1.3, 2.3),
        "empty_share": Band("share of land cells with no visit", 0.45, 0.55),
        "top_tenth_share": Band("share of visits in the top 10 % of land cells", 0.60, 0.65),
        "length_mu": Band("straight trip length, km, mean of ln", 0.95, 1.10),
        "length_sigma": Band("straight trip length, km, sd of ln", 0.60, 1.00),
        "same_cell": Band("trips that start and end in the same cell", 0.08, 0.12),
        "pairs_used": Band("origin-destination pairs used / active²", 0.01, 0.06),
        "pairs_once": Band("pairs seen once", 0.30, 0.60),
        "reciprocity": Band(
            "reciprocity: share of trips between cells matched by one the other way", 0.60, 0.90
        ),
        "ends_correlation": Band("origins against destinations per cell, Pearson", 0.95, 1.0),
        "duration_mu": Band("duration, minutes, mean of ln", 1.9, 2.4),
        "duration_sigma": Band("duration, minutes, sd of ln", 0.70, 0.76),
        "network_factor": Band("network / straight line", 1.3, 1.4),
        "morning_low": Band("weekday starts in the emptier hour of 07–09", 0.09, 0.13),
        "morning_high": Band("weekday starts in the fuller hour of 07–09", 0.09, 0.13),
        "evening_low": Band("weekday starts in the emptier hour of 16–18", 0.08, 0.11),
        "evening_high": Band("weekday starts in the fuller hour of 16–18", 0.08, 0.11),
        "night_high": Band("weekday starts in the fuller hour of 02–04", 0.0, 0.005),
    }
)
"""Bands for one weekday of about 100,000 trips. The taxi band for the mean trip length is taken."""


def measure(trips: pd.DataFrame, city: str) -> dict[str, float]:
    """Measure one weekday of trips.

    Parameters
    ----------
    trips
        Table of trips with the columns of ``generate_trips``.
    city
        Built-in city that they lie in.

    Returns
    -------
    One figure for each name in ``BANDS``.
    """
    domain = city_domain(city, RESOLUTION)
    size = domain.size
    origin = domain.index_of_points(trips["start_lat"], trips["start_lng"])
    destination = domain.index_of_points(trips["end_lat"], trips["end_lng"])
    inside = (origin >= 0) & (destination >= 0)
    origin, destination, trips = origin[inside], destination[inside], trips[inside]
    starts, ends = np.bincount(origin, minlength=size), np.bincount(destination, minlength=size)
    visits = np.sort(starts + ends)[::-1].astype(np.float64)
    active = visits[visits > 0]
    n_active = active.size
    ascending = active[::-1]
    gini = (
        2 * float((np.arange(1, n_active + 1) * ascending).sum()) / (n_active * ascending.sum())
        - (n_active + 1) / n_active
    )
    busier = active[: n_active // 2]
    ranks = np.log(np.arange(1, busier.size + 1))
    slope = np.polyfit(ranks, np.log(busier), 1)[0] if busier.size > 1 else np.nan

    straight_km = great_circle_km(trips)
    positive = straight_km > 0
    log_km = np.log(straight_km[positive])
    pair, flow = np.unique(origin * size + destination, return_counts=True)
    away = pair // size != pair % size
    back = pair[away] % size * size + pair[away] // size
    at = np.minimum(np.searchsorted(pair, back), pair.size - 1)
    returned = np.where(pair[at] == back, flow[at], 0)
    minutes = (trips["end_time"] - trips["start_time"]).dt.total_seconds().to_numpy() / 60
    log_minutes = np.log(minutes[minutes > 0])
    hours = np.bincount(trips["start_time"].dt.hour, minlength=24) / len(trips)
    return {
        "gini": gini,
        "rank_slope": float(slope),
        "log_count_sd": float(np.log(active).std()),
        "empty_share": float((visits == 0).mean()),
        "top_tenth_share": float(visits[: round(size / 10)].sum() / visits.sum()),
        "length_mu": float(log_km.mean()),
        "length_sigma": float(log_km.std()),
        "same_cell": float((origin == destination).mean()),
        "pairs_used": pair.size / n_active**2,
        "pairs_once": float((flow == 1).mean()),
        "reciprocity": float(np.minimum(flow[away], returned).sum() / flow[away].sum()),
        "ends_correlation": float(np.corrcoef(starts, ends)[0, 1]),
        "duration_mu": float(log_minutes.mean()),
        "duration_sigma": float(log_minutes.std()),
        "network_factor": float(
            trips["length_m"].to_numpy()[positive].sum() / (1000 * straight_km[positive].sum())
        ),
        "morning_low": float(hours[7:9].min()),
        "morning_high": float(hours[7:9].max()),
        "evening_low": float(hours[16:18].min()),
        "evening_high": float(hours[16:18].max()),
        "night_high": float(hours[2:4].max()),
    }


def great_circle_km(trips: pd.DataFrame) -> FloatArray:
    """Return the great-circle distance between the ends of each trip, kilometres (haversine)."""
    lat_1, lng_1, lat_2, lng_2 = (
        np.radians(trips[name].to_numpy(dtype=np.float64))
        for name in ("start_lat", "start_lng", "end_lat", "end_lng")
    )
    half = np.sin((lat_2 - lat_1) / 2) ** 2 + np.cos(lat_1) * np.cos(lat_2) * np.sin((lng_2 - lng_1) / 2) ** 2
    distance: FloatArray = 2 * 6371.0088 * np.arcsin(np.sqrt(half))
    return distance


def sample_trips(city: str) -> pd.DataFrame:
    """Return the weekday that the bands are judged on: the first trips of a fixed seed."""
    # About 2.5 trips a device.
    return generate_trips(city, devices=SAMPLE_TRIPS * 42 // 100, seed=SAMPLE_SEED).head(SAMPLE_TRIPS)


def measure_days(city: str, *, devices: int = 20_000, days: int = 10) -> dict[str, float]:
    """Measure several weekdays of the same devices.

    Returns
    -------
    ``stay_cells_mean`` and ``stay_cells_p90``: different cells a device stays in on a day;
    ``return_ratio_3``, ``_5`` and so on: share of all stays up to that day in a cell where the
    device had stayed before; ``day_correlation``: Pearson correlation of origins per cell between one
    day and the next, mean over the days.
    """
    domain = city_domain(city, RESOLUTION)
    seen = np.empty(0, dtype=np.int64)
    returned = stays = 0
    figures: dict[str, float] = {}
    origins: list[IntArray] = []
    for number in range(days):
        trips = generate_trips(city, devices=devices, seed=SAMPLE_SEED, day_number=number)
        device = trips["device"].to_numpy()
        start = domain.index_of_points(trips["start_lat"], trips["start_lng"])
        end = domain.index_of_points(trips["end_lat"], trips["end_lng"])
        origins.append(np.bincount(start, minlength=domain.size))
        first = np.concatenate([[True], device[1:] != device[:-1]])
        keys = np.concatenate([device[first] * domain.size + start[first], device * domain.size + end])
        # The first stay in a cell is new; a later one of the same day, or on a later day, is a return.
        today, counts = np.unique(keys, return_counts=True)
        stays += keys.size
        returned += int(counts.sum() - np.count_nonzero(~np.isin(today, seen)))
        seen = np.union1d(seen, today)
        figures[f"return_ratio_{number + 1}"] = returned / stays
        if number == 0:
            per_device = np.bincount(today // domain.size, minlength=devices)
            figures["stay_cells_mean"] = float(per_device.mean())
            figures["stay_cells_p90"] = float(np.quantile(per_device, 0.9))
    pairs = [np.corrcoef(one, other)[0, 1] for one, other in pairwise(origins)]
    figures["day_correlation"] = float(np.mean(pairs))
    return figures
