"""Write benchmarks/README.md and the charts from the JSON files of the last measurements.

python -m benchmarks.report
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from benchmarks import limits, main_job, page, peers, scaling
from benchmarks.charts import scaling_chart, speed_chart
from benchmarks.machine import ROOT, read_results
from benchmarks.tables import markdown_table, times_text

README = ROOT / "benchmarks" / "README.md"
SPEED_CHART = ROOT / "docs" / "speed.svg"
SCALING_CHART = ROOT / "docs" / "scaling.svg"

INTRODUCTION = """# Speed

`make bench` measures all of this again (a quiet machine, some twenty minutes; `make bench QUICK=--quick` is a
smoke run of two) and writes this page, the charts and the raw figures in `results/`. CPU seconds are those of
the whole process, children included, best of several; "~" marks what was extrapolated along a straight line
from fewer devices, because the whole would take more than two minutes (histogram encodings, which are here for
comparison only: ten and twenty seconds) or more than half of the free memory.

## What is not reached, and why

- **`she`**: some twice as fast as the others, not a hundred times. It draws a Laplace number for every device
  and cell, and the logarithm in it (9 ns) is the same work for everybody.
- **Counts drawn at 100,000 cells** (figure to reach 0.1 s): `hrr` and `hr` have no O(d) joint law known to us.
  They take d log₂ d binomial numbers, 4.5 million, 70 ns each in numpy: 0.3 s at a billion devices. `ss` takes some
  50 k log₂ d numbers, k = d / 8: 0.08 s at 2,000 cells and 3.6 s at 100,000. All the others stay below 0.02 s. None
  grows with the devices once every cell has some.
- **Slider to map**, 2,186 cells: p50 0.27 s where 0.25 s was wanted (p95 0.38 s, wanted 0.5 s; 13,967 cells 0.31 s,
  wanted 0.6 s). Python has a tenth of it; the rest is Streamlit's way to the run and back and a browser that
  draws in software on the same two cores. **Cold start** 5.3 s where 5 s was wanted.
- **Without AVX2** (compiled for SSE2 alone): `blh` and `olh` take four times as long, 0.8 s instead of 0.2 s, past
  the figure of 0.4 s, since SSE2 has no minimum of unsigned 32-bit numbers; all others stay within theirs but `hr`,
  which is at 0.011 s. AVX2 alone is as fast as AVX-512, and for hashes faster.
- **Two threads** halve the wall time wherever it is above 10 ms. Below that (`grr`, `hrr`, `hr`) a block of 8,192
  devices takes 40 µs, and what the interpreter does around it is not shared out.
"""

SECTIONS: tuple[tuple[str, str, str, Callable[[dict[str, Any]], str]], ...] = (
    (
        "peers",
        "Against other libraries",
        "Every report really made, counted and inverted; values from a Zipf law with exponent 1.2, ε = 2. Each "
        "library runs in an environment of its own, as its documentation has it, in the same run and next to "
        "ours in time. Ratios below 1.5 are no difference.",
        peers.tables,
    ),
    (
        "limits",
        "Against the machine",
        "What a kernel costs beside a bare loop that does only the part of its work that cannot be left out. A "
        "random bit costs ten words of a generator for 64 of them; counting the bits, the device's own cell and the "
        "exact last digits come on top. For `olh` and `blh` the bare loop is the simplest hash there is, which "
        "would make pairs of cells correlated; a hash without that costs two modular additions more. `ss` starts from "
        "bits of seven words and repairs them, so over many cells it is below the loop of ten. For `grr`, `hrr` "
        "and `hr` it is two random words and one update, where a kernel also compares, rejects and selects.",
        limits.tables,
    ),
    (
        "scaling",
        "How cost grows",
        "One thread. Memory is the peak of a process of its own that makes and counts all reports with two "
        "threads, the values and the interpreter (some 170 MB) included. Below that: drawing the counts from "
        "their joint law without making reports, and the client of the device.",
        scaling.tables,
    ),
    (
        "page",
        "The page",
        "Headless Chromium that draws in software on the same two cores, ten million devices, New York. A "
        "move is a key on the slider of ε; it ends when the map is drawn anew. *Browser, before*: key to message "
        "sent. *Network and server*: the socket both ways and what Streamlit does before and after a run. *Python*: "
        "the run until the map's bytes are handed over. *Browser, after*: message to drawn map.",
        page.tables,
    ),
    (
        "main_job",
        "The main job",
        "One million devices, New York at resolution 8: making the trips, and a run whose trips are made.",
        main_job.tables,
    ),
)


def machine_sentence(machine: dict[str, Any]) -> str:
    """Say what was measured on what."""
    packages = ", ".join(f"{name} {machine['packages'][name]}" for name in ("numpy", "numba", "streamlit"))
    return (
        f"{machine['processor']} ({machine['vector_instructions']}), {machine['cores']} cores, Python "
        f"{machine['python']}, {packages}; commit {machine['commit']}, {machine['date']} UTC, "
        f"load {machine['load_before']} when it began."
    )


def machines_of(results: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the machine of each part of a measurement, equal ones once."""
    machines = results["machines"].values() if "machines" in results else [results["machine"]]
    return list({(machine["commit"], machine["date"]): machine for machine in machines}.values())


def page_text(measured: dict[str, dict[str, Any]]) -> str:
    """Return the whole page in Markdown."""
    parts = [INTRODUCTION]
    for name, title, words, tables in SECTIONS:
        if name not in measured:
            continue
        results = measured[name]
        machines = " ".join(f"*{machine_sentence(machine)}*" for machine in machines_of(results))
        chart = {"peers": "speed", "scaling": "scaling"}.get(name)
        picture = [f"![{title}](../docs/{chart}.svg)"] if chart else []
        parts += [f"## {title}", words, machines, *picture, tables(results)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def readme_rows(results: dict[str, Any]) -> str:
    """Return the short table of the main README: our seconds and the best peer's, both shapes side by side."""
    rows = []
    for name in dict.fromkeys(row["mechanism"] for row in results["rows"]):
        cells = [f"`{name}`"]
        for row in (row for row in results["rows"] if row["mechanism"] == name):
            best, ratio = peers.best_peer(row), peers.ratio_to_best_peer(row)
            cells += [
                peers.seconds_cell(row["ours"]["1"]),
                f"{peers.seconds_cell(best[1])} ({best[0]})" if best else "no peer",
                times_text(ratio) if ratio else "",
            ]
        rows.append(cells)
    header = (
        "mechanism",
        *(f"{words}, {shape}" for shape in ("1M × 2,000", "100k × 100k") for words in _COLUMNS),
    )
    return markdown_table(header, rows)


_COLUMNS = ("here", "best peer", "ratio")


def main() -> None:
    """Read, write."""
    measured = {name: results for name, *_ in SECTIONS if (results := read_results(name)) is not None}
    README.write_text(page_text(measured), encoding="utf-8")
    if "peers" in measured:
        SPEED_CHART.write_text(speed_chart(measured["peers"]["rows"]), encoding="utf-8")
        print(readme_rows(measured["peers"]))
    if "cost" in measured.get("scaling", {}):
        SCALING_CHART.write_text(scaling_chart(measured["scaling"]["cost"]), encoding="utf-8")
    print(f"wrote {README.relative_to(ROOT)} from {', '.join(measured)}", file=sys.stderr)


if __name__ == "__main__":
    main()
