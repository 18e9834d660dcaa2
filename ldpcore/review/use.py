"""The sections that say what the promise costs: what can be known, for whom, and what else was tried."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ldpcore.comparison import Comparison, Entry
from ldpcore.estimate import publication_threshold
from ldpcore.postprocess import POSTPROCESSORS
from ldpcore.postprocess_measured import MeasuredBias
from ldpcore.review.evidence import TRUSTED, Alternative
from ldpcore.review.facts import Facts
from ldpcore.review.report import NOT_ADDRESSED, Claim, Section, Table, said
from ldpcore.review.words import percent, rounded, signed, whole
from ldpcore.shapes import BoolArray


def justification(facts: Facts) -> Section:
    """Say why these settings, and what else was tried."""
    evidence, n = facts.evidence, facts.population.size
    smallest = (
        f"From {rounded(evidence.smallest)} {facts.noun} on, a cell is known to ±{100 * TRUSTED:g} % (one standard error; the 95 % "
        f"error bar is twice as wide). That is {percent(evidence.smallest / n)} of the {whole(n)} that report."
        if evidence.smallest <= n
        else f"No count is known to ±{100 * TRUSTED:g} %, not even that of all {whole(n)} {facts.noun}."
    )
    comparison = evidence.comparison
    return Section(
        "justification",
        "Why these settings, and what else was tried",
        (
            said(facts.statements, "justification"),
            Claim(
                smallest,
                page=facts.page("sizing"),
                figures={
                    "smallest_count": evidence.smallest,
                    "relative_error": TRUSTED,
                    "share": evidence.smallest / n,
                },
                about="Smallest count that can be known",
            ),
            Claim(
                _mechanism_verdict(comparison),
                page=facts.page("mechanisms"),
                figures={
                    name: {
                        "error": entry.error_typical,
                        "report_bits": entry.mechanism.report_bits,
                        "best_guess": entry.guess.success,
                    }
                    for name, entry in comparison.entries.items()
                },
                about="Other randomisers at the same ε",
                table=_mechanism_table(comparison, facts.noun),
            ),
            Claim(
                "Expected, from the exact variances: cells that are published, the share of the devices in them, and the "
                "typical error of a cell. Which of these to give up for which is a decision, not a computation.",
                page=facts.page("tradeoffs"),
                figures={
                    alternative.what: {
                        "published": alternative.published,
                        "share": alternative.share,
                        "error": alternative.error,
                    }
                    for alternative in evidence.alternatives
                },
                about="Other resolutions and other ε",
                table=_alternatives_table(evidence.alternatives, facts.noun),
            ),
        ),
    )


def _mechanism_verdict(comparison: Comparison) -> str:
    own, best = comparison.own, comparison.best
    if best.error_typical >= own.error_typical * (1 - 1e-9):
        return f"None of the {len(comparison.entries)} randomisers has a smaller typical error here than {own.label.lower()}."
    ratio = own.error_typical / best.error_typical
    less = "less than a hundredth" if ratio < 1.01 else f"{rounded(100 * (ratio - 1), 2)} %"
    return (
        f"{best.label} has the smallest typical error here; that of {own.label.lower()} is {less} larger. The table says what "
        "the others would cost or save."
    )


def _mechanism_table(comparison: Comparison, noun: str) -> Table:
    own = comparison.own
    rows = [
        (
            entry.label + (" (this one)" if entry is own else ""),
            f"±{rounded(entry.error_typical)}",
            whole(entry.mechanism.report_bits),
            "not known" if entry.guess.success is None else percent(entry.guess.success),
            _why(entry, own),
        )
        for entry in comparison.ranked()
    ]
    return Table(
        ("randomiser", f"typical error ({noun})", "bits a report", "best guess right", "beside this one"),
        tuple(rows),
        (1, 2, 3),
    )


def _why(entry: Entry, own: Entry) -> str:
    """Say what speaks for and against another randomiser by its figures, and nothing else."""
    if entry is own:
        return ""
    ratio = entry.error_typical / own.error_typical
    if ratio > 1.005:
        error = f"error {rounded(ratio)} times as large"
    elif ratio < 0.995:
        error = f"error {rounded(ratio)} times as large: smaller"
    else:
        error = "same error"
    bits, mine = entry.mechanism.report_bits, own.mechanism.report_bits
    if bits < mine:
        return f"{error}; smaller reports"
    return f"{error}; larger reports" if bits > mine else error


def _alternatives_table(alternatives: tuple[Alternative, ...], noun: str) -> Table:
    rows = [
        (
            alternative.what + (" (this one)" if alternative.own else ""),
            whole(alternative.cells),
            f"{rounded(alternative.published, 4)} ({percent(alternative.published / alternative.cells)})",
            percent(alternative.share),
            f"±{rounded(alternative.error)}",
        )
        for alternative in alternatives
    ]
    return Table(
        ("setting", "cells", "published, expected", f"{noun} in them", f"typical error ({noun})"),
        tuple(rows),
        (1, 2, 3, 4),
    )


def utility(facts: Facts) -> Section:
    """Say what the release is good for, and who bears the error."""
    evidence, figures = facts.evidence, facts.release.figures
    cells, noun = facts.population.domain.size, facts.noun
    measured = evidence.measured
    over = f"over {evidence.redraws} redraws of the coins"
    error = (
        f"A typical cell is off by ±{rounded(figures.rmse_expected)} {noun} (root mean square over all cells, exact theory); this "
        f"run gave ±{rounded(figures.rmse)}, and {over} the mean is {_with_error(measured['rmse'])}."
    )
    published = (
        f"{whole(figures.published)} of {whole(cells)} cells are published in this run; theory expects "
        f"{rounded(figures.published_expected, 4)}, and {over} the mean is {_with_error(measured['published'])}."
    )
    false = (
        f"Published although fewer than the floor of {whole(facts.scenario.floor)} were there: {whole(figures.false_published)} in this "
        f"run, {rounded(figures.false_published_expected)} expected. Held back although the floor was reached: "
        f"{whole(figures.false_suppressed)}, {rounded(figures.false_suppressed_expected)} expected. Only a simulation can know."
    )
    covered = (
        f"Of all cells, {percent(figures.coverage)} have their truth inside the {100 * facts.scenario.confidence:g} % error bar in this "
        f"run; {over}, {percent(evidence.selection.coverage)}."
    )
    claims: tuple[Claim, ...] = (
        Claim(
            error,
            figures={
                "rmse": figures.rmse,
                "rmse_expected": figures.rmse_expected,
                **_mean_figures("rmse", measured["rmse"]),
            },
            about="Error of a cell",
        ),
        Claim(
            published,
            figures={
                "published": figures.published,
                "published_expected": figures.published_expected,
                **_mean_figures("published", measured["published"]),
                "cells": cells,
            },
            about="Published",
        ),
        Claim(
            false,
            figures={
                "false_published": figures.false_published,
                "false_published_expected": figures.false_published_expected,
                "false_suppressed": figures.false_suppressed,
                "false_suppressed_expected": figures.false_suppressed_expected,
            },
            about="False alarms",
        ),
        Claim(
            covered,
            figures={"coverage": figures.coverage, "coverage_mean": evidence.selection.coverage},
            about="Error bars that hold",
        ),
        Claim(
            "Cells by tenths of density, emptiest first. The noise in devices is much the same everywhere, so as a share of the count "
            f"it is borne by the quiet places. Errors: one standard error over the mean count, {over}; published: the mean share.",
            page=facts.page("tradeoffs"),
            figures={
                f"decile_{row['decile']}": {
                    name: _number(row[name]) for name in ("mean_count", "relative_error", "published_share")
                }
                for row in _deciles(facts)
            },
            about="Who bears the error",
            table=_decile_table(facts),
        ),
    )
    flows = Claim(
        "Not addressed. This product answers one cell a device; origin-destination pairs are not estimated.",
        NOT_ADDRESSED,
        about="Flows between cells",
    )
    claims = (*claims, flows)
    return Section("utility", "What the release is good for", claims)


def _with_error(mean: tuple[float, float]) -> str:
    value, error = mean
    if not math.isfinite(error):
        return rounded(value, 4)
    return f"{rounded(value, 4)} (standard error {rounded(error, 2)})"


def _mean_figures(name: str, mean: tuple[float, float]) -> dict[str, float | None]:
    """Return the mean over the redraws and its standard error by name, ready for JSON."""
    return {f"{name}_mean": _number(mean[0]), f"{name}_mean_error": _number(mean[1])}


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _deciles(facts: Facts) -> list[dict[str, Any]]:
    """Return the tenths of the cells that have cells, emptiest first."""
    rows: list[dict[Any, Any]] = facts.evidence.deciles.to_dict("records")
    return [row for row in rows if row["cells"]]


def _decile_table(facts: Facts) -> Table:
    rows = [
        (
            str(row["decile"]),
            whole(row["cells"]),
            rounded(row["mean_count"]),
            f"±{rounded(row['error'])}",
            f"±{percent(row['relative_error'])}" if math.isfinite(row["relative_error"]) else "nobody there",
            percent(row["published_share"]),
        )
        for row in _deciles(facts)
    ]
    noun = facts.noun
    columns = ("tenth", "cells", f"{noun} a cell", f"mean error ({noun})", "of the count", "published")
    return Table(columns, tuple(rows), (0, 1, 2, 3, 4, 5))


def suppression(facts: Facts) -> Section:
    """State the rule by which cells are held back, what it removes, and whom it flatters."""
    scenario, evidence, mechanism = facts.scenario, facts.evidence, facts.mechanism
    cells, noun, selection = facts.population.domain.size, facts.noun, evidence.selection
    together = {
        "none": "for each cell by itself",
        "bonferroni": "for all cells together (Bonferroni)",
        "sidak": "for all cells together (Šidák)",
    }[scenario.correction]
    rule = (
        f"A cell is published when at least {whole(max(scenario.floor, 1))} {noun} are in it with confidence "
        f"{100 * scenario.confidence:g} %, {together}. How many really are there no server can see, so the floor can only be promised "
        "with that confidence."
    )
    figures: dict[str, object] = {"floor": scenario.floor, "confidence": scenario.confidence}
    if mechanism.variance_empty is not None:
        threshold = publication_threshold(
            mechanism,
            n=facts.population.size,
            floor=max(scenario.floor, 1),
            confidence=scenario.confidence,
            correction=scenario.correction,
        )
        rule += f" Here that takes an estimate of about {rounded(threshold)} {noun}."
        figures["threshold"] = threshold
    removed = cells - facts.release.figures.published
    removes = (
        f"{whole(removed)} of {whole(cells)} cells are held back in this run. They are expected to hold "
        f"{percent(selection.held_back_share)} of the {noun}."
    )
    return Section(
        "suppression",
        "What is held back, and what that does to the rest",
        (
            Claim(rule, figures=figures, about="Rule"),
            Claim(
                removes,
                figures={"held_back": removed, "held_back_share": selection.held_back_share},
                about="What it removes",
            ),
            _selection_claim(facts),
            Claim(
                "Holding back protects readers from noise. It protects nobody in the data: the estimates are private already, so "
                "nothing is exposed by publishing them and nothing is undone by subtracting published ones from a total.",
                about="What it is not",
            ),
        ),
    )


def _selection_claim(facts: Facts) -> Claim:
    selection, noun = facts.evidence.selection, facts.noun
    if selection.bias is None:
        return Claim(
            "No cell was published in any redraw, so there is nothing to be biased.", about="Selection bias"
        )
    margin = "" if selection.bias_error is None else f" (standard error {rounded(selection.bias_error, 2)})"
    over = f"over {facts.evidence.redraws} redraws"
    lead = "Cells are printed when chance helps them over the threshold, so printed estimates lean upward"
    if selection.bias_error is not None and abs(selection.bias) < 2 * selection.bias_error:
        text = f"{lead}. Here the lean is too small to be told from none: {signed(selection.bias)} {noun} a printed cell{margin}, {over}."
    else:
        text = f"{lead}: here by {signed(selection.bias)} {noun} a printed cell{margin}, {over}."
    if selection.borderline_bias is not None:
        margin = (
            ""
            if selection.borderline_bias_error is None
            else f" (standard error {rounded(selection.borderline_bias_error, 2)})"
        )
        text += (
            f" It is borne by cells near the threshold: those that are printed in fewer than half of all draws are printed "
            f"{signed(selection.borderline_bias)} {noun} too high{margin}."
        )
    if selection.coverage_printed is not None:
        text += (
            f" Of {rounded(selection.printed / facts.evidence.redraws)} cells printed in a mean redraw, {percent(selection.coverage_printed)} "
            f"have their truth inside the error bar; of all cells {percent(selection.coverage)}."
        )
    return Claim(
        text,
        reproduce=facts.review_command,
        figures={
            "bias": selection.bias,
            "bias_error": selection.bias_error,
            "borderline_bias": selection.borderline_bias,
            "coverage_printed": selection.coverage_printed,
            "redraws": facts.evidence.redraws,
        },
        about="Selection bias",
    )


def postprocessing(facts: Facts) -> Section:
    """State that nothing is post-processed, and what each way of doing it would add."""
    noun = facts.noun
    measured = facts.evidence.postprocessing
    return Section(
        "postprocessing",
        "Post-processing and its bias",
        (
            Claim(
                "None is applied. What is published is the raw unbiased estimate with its error bar; some are negative, and they "
                "are left so. Error bars are clipped to what is possible only where they are drawn.",
                about="Applied",
            ),
            Claim(
                "Each way of making the estimates look like counts costs no privacy and adds bias. Were it used, it would do this "
                f"over {facts.evidence.redraws} redraws: the mean error of cells without a single device, of the fullest tenth, and of "
                "the sum of all cells. One standard error is in brackets.",
                reproduce=facts.review_command,
                figures={
                    row.name: {"rmse": _typical_error(row), "total_bias": float(row.sum_bias[0])}
                    for row in measured
                },
                about="If it were applied",
                table=Table(
                    (
                        "way",
                        f"empty cells ({noun})",
                        f"fullest tenth ({noun})",
                        f"sum ({noun})",
                        f"typical error ({noun})",
                    ),
                    tuple(_bias_row(row, facts) for row in measured),
                    (1, 2, 3, 4),
                ),
            ),
        ),
    )


def _bias_row(row: MeasuredBias, facts: Facts) -> tuple[str, ...]:
    truth = facts.population.true_counts
    empty = truth == 0
    full = truth >= np.sort(truth)[-max(truth.size // 10, 1)]
    label = "raw estimate" if row.name == "raw" else POSTPROCESSORS[row.name].label

    def over(cells: BoolArray) -> str:
        chosen, errors = row.bias[cells], row.bias_error[cells]
        if not chosen.size:
            return "none"
        # Cells are taken as independent: the error of a mean over them.
        return f"{signed(float(chosen.mean()))} ({rounded(float((errors**2).sum()) ** 0.5 / chosen.size, 2)})"

    total, total_error = float(row.sum_bias[0]), float(row.sum_bias_error[0])
    sum_text = "0, exactly" if abs(total) < 1e-3 else f"{signed(total)} ({rounded(total_error, 2)})"
    return (label, over(empty), over(full), sum_text, f"±{rounded(_typical_error(row))}")


def _typical_error(row: MeasuredBias) -> float:
    """Return the root mean squared error over cells and redraws."""
    return math.sqrt(float((row.rmse**2).mean()))
