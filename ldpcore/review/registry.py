"""The fields of the public deployments registry, filled from a report or None with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ldpcore.mechanisms import MECHANISMS
from ldpcore.population import UNITS
from ldpcore.privacy.composition import LIFETIME_DAYS, device_loss
from ldpcore.review.facts import Facts
from ldpcore.review.promise import loss_formula
from ldpcore.review.words import fraction, rounded, whole
from ldpcore.settings import QUERIES
from ldpcore.statements import STATEMENTS

FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "basic": (
        "name",
        "data_curators",
        "intended_use",
        "data_product_type",
        "data_product_region",
        "description",
        "publication_date",
        "sector",
    ),
    "dp_variant": ("variant_name", "data_domain", "unprotected_quantities"),
    "privacy_loss": ("privacy_unit", "privacy_unit_details", "privacy_parameters"),
    "deployment_model": ("model_name", "actors", "release_type", "data_source_type", "access_type"),
    "accounting": ("post_processing", "composition"),
    "implementation": ("preprocessing_and_hyperparameter_tuning", "mechanisms", "justification"),
    "administrative": ("sources", "notes", "registry_authors"),
}
PARAMETERS: Final = ("epsilon", "delta", "rho")

_UNSAID: Final = "Not addressed: the statement “{}” is empty."
_RHO: Final = "Does not apply: the guarantee is pure, not one of zero-concentrated differential privacy."


def registry_of(facts: Facts) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the registry's fields, nested, and why each that is None is so, by its path."""
    computed = _computed(facts)
    said = {
        entry.registry: (entry.label, facts.statements.get(name))
        for name, entry in STATEMENTS.items()
        if entry.registry
    }
    filled: dict[str, Any] = {}
    gaps: dict[str, str] = {}
    for part, names in FIELDS.items():
        filled[part] = {}
        for name in names:
            path = f"{part}.{name}"
            if path == "privacy_loss.privacy_parameters":
                filled[part][name] = {"epsilon": facts.scenario.epsilon, "delta": 0, "rho": None}
                gaps[f"{path}.rho"] = _RHO
                continue
            value: Any = computed.get(path)
            if value is None:
                label, value = said[path]
                if value is None:
                    gaps[path] = _UNSAID.format(label)
                elif name in {"data_curators", "registry_authors"}:
                    value = [line.strip() for line in value.splitlines() if line.strip()]
            filled[part][name] = value
    return filled, gaps


def _computed(facts: Facts) -> dict[str, Any]:
    """Return the fields that follow from the run, by path."""
    scenario, schedule, population = facts.scenario, facts.schedule, facts.population
    mechanism = facts.mechanism
    life = device_loss(scenario.epsilon, schedule, days=LIFETIME_DAYS, distinct_cells=population.domain.size)
    day = device_loss(scenario.epsilon, schedule, days=1, distinct_cells=population.domain.size)
    exact = (
        f" p = {fraction(mechanism.p)}, q = {fraction(mechanism.q)}."
        if mechanism.p is not None and mechanism.q is not None
        else " It has no one pair of probabilities."
    )
    synthetic = "Synthetic trips. " if scenario.synthetic else ""
    return {
        "basic.data_product_type": "Summary statistics: estimated counts of "
        + f"{facts.noun} a cell, with error bars",
        "basic.description": f"{synthetic}{QUERIES[scenario.query]} {whole(population.size)} {facts.noun} in "
        f"{population.area.label}, over {whole(population.domain.size)} H3 cells of resolution {scenario.resolution} (domain version "
        f"{population.domain.version}).",
        "dp_variant.variant_name": "Pure DP",
        "dp_variant.data_domain": f"One H3 cell of {whole(population.domain.size)} for each {population.unit}.",
        "dp_variant.unprotected_quantities": _unprotected(facts),
        "privacy_loss.privacy_unit": "user-day, one report" if population.unit == "device" else "trip",
        "privacy_loss.privacy_unit_details": f"{UNITS[population.unit]}. Neighbours differ in the value of one {population.unit} (replace-one). "
        f"The epsilon that the exact probabilities imply is {mechanism.epsilon_effective!r}.",
        "deployment_model.model_name": "Local"
        + (" with a shuffler, see the report" if "shuffler" in facts.statements else ""),
        "deployment_model.release_type": "One release"
        if schedule.reports_a_day == 1 and schedule.epoch_days == 1
        else "Many releases",
        "deployment_model.data_source_type": "Dynamic, simulated here with synthetic trips"
        if scenario.synthetic
        else "Dynamic, simulated here from a file",
        "accounting.post_processing": "None: raw unbiased estimates with error bars; cells are held back unless "
        f"{whole(max(scenario.floor, 1))} {facts.noun} are in them with confidence {100 * scenario.confidence:g} % "
        f"(correction over cells: {scenario.correction}).",
        "accounting.composition": f"Worst device: epsilon {rounded(day.epsilon, 6)} in a day ({loss_formula(day)}), {rounded(life.epsilon, 6)} in "
        f"{LIFETIME_DAYS} days ({loss_formula(life)})."
        + ("" if life.pattern_hidden else " When the device changed cell is not covered."),
        "implementation.mechanisms": f"{MECHANISMS[scenario.mechanism].label} ({scenario.mechanism}). {MECHANISMS[scenario.mechanism].reference}."
        + exact,
    }


def _unprotected(facts: Facts) -> str:
    parts = [
        "that a device reports, how many do, and when",
        "address, account and size of a report",
        "the domain and the parameters",
        "a phone or client that was changed",
    ]
    if facts.schedule.memo:
        parts.append("when a device changed cell within an epoch")
        if facts.schedule.at_cap == "silent":
            parts.append("that a device hit its cap")
    return "; ".join(parts) + "."
