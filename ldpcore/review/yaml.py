"""A report as YAML in the fields of the public deployments registry, and as JSON."""

from __future__ import annotations

import json
from typing import Any

import yaml

from ldpcore.review.report import BESIDE, Report


def report_json(report: Report) -> str:
    """Return the whole report as JSON text."""
    return json.dumps(
        {**report.to_dict(), "registry": report.registry, "registry_gaps": dict(report.registry_gaps)},
        indent=2,
        ensure_ascii=False,
        allow_nan=False,
    )


def _beside(report: Report) -> dict[str, Any]:
    """Return the comparison with another scenario, which has no field of the registry; empty where there is none."""
    found = next((section for section in report.sections if section.id == BESIDE), None)
    if found is None:
        return {}
    claims = {
        claim.about: {"text": claim.text, "reproduce": claim.reproduce, "figures": dict(claim.figures)}
        for claim in found.statements
    }
    return {"beside_another_scenario": claims}


def report_yaml(report: Report) -> str:
    """Return the registry's fields, each filled or null with the reason, and where the evidence stands.

    Texts are quoted by the writer where they could be read as anything but text; characters outside ASCII that can be
    printed stay, the others have been made visible when the statements were checked.
    """
    document: dict[str, Any] = {
        **report.registry,
        "why_null": dict(report.registry_gaps),
        "evidence": {
            "made_with": f"LDP Atlas {report.version}",
            "created": report.created,
            "configuration_sha256": report.configuration,
            "level": report.level,
            "supported": report.supported,
            "verdict": report.verdict,
            "banner": report.banner,
            "not_addressed": list(report.not_addressed),
        },
    }
    document |= _beside(report)
    text: str = yaml.safe_dump(
        document, sort_keys=False, allow_unicode=True, width=100, default_flow_style=False
    )
    return text
