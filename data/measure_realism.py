"""Measure a sample of each city against the bands of real trips and write the table in data/README.md.

python data/measure_realism.py
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from ldpcore.trips.cities import CITIES  # noqa: E402
from ldpcore.trips.realism import BANDS, SAMPLE_SEED, SAMPLE_TRIPS, measure, measure_days, sample_trips  # noqa: E402

README = Path(__file__).resolve().parent / "README.md"
START, END = "<!-- measured: start -->\n", "<!-- measured: end -->\n"


def table() -> str:
    """Return the Markdown tables of bands and measured values."""
    measured = {slug: measure(sample_trips(slug), slug) for slug in CITIES}
    lines = [
        f"One weekday, the first {SAMPLE_TRIPS:,} trips of seed {SAMPLE_SEED}. "
        "A value outside its band is in bold.",
        "",
        "| quantity | band | " + " | ".join(city.label for city in CITIES.values()) + " |",
        "| --- | --- |" + " --- |" * len(CITIES),
    ]
    for name, band in BANDS.items():
        values = [measured[slug][name] for slug in CITIES]
        shown = [f"{value:.3f}" if band.holds(value) else f"**{value:.3f}**" for value in values]
        lines.append(f"| {band.label} | {band.low:g} to {band.high:g} | " + " | ".join(shown) + " |")
    days = measure_days("new_york")
    lines += [
        "",
        "Over ten weekdays of the same 20,000 devices in New York, seed "
        f"{SAMPLE_SEED} (real figures: GeoLife and bike schemes):",
        "",
        "| quantity | real | synthetic |",
        "| --- | --- | --- |",
        f"| stay cells per person and day, mean | 2.1 | {days['stay_cells_mean']:.2f} |",
        f"| stay cells per person and day, 90th percentile | 3 | {days['stay_cells_p90']:.0f} |",
        f"| return ratio after 3, 5 and 10 days | 0.70 | {days['return_ratio_3']:.2f}, "
        f"{days['return_ratio_5']:.2f}, {days['return_ratio_10']:.2f} |",
        "| origins per cell from one day to the next, Pearson | 0.93 to 0.97 | "
        f"**{days['day_correlation']:.3f}** |",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Replace the measured part of the README."""
    text = README.read_text(encoding="utf-8")
    before, rest = text.split(START)
    _, after = rest.split(END)
    README.write_text(before + START + "\n" + table() + "\n" + END + after, encoding="utf-8")
    print(table())


if __name__ == "__main__":
    main()
