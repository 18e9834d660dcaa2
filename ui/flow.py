"""The data's way in this scenario's own numbers: devices, reports, server, release."""

from __future__ import annotations

from html import escape

from ldpcore.release import Release
from ui.number_words import count_of, thousands


def flow_html(release: Release) -> str:
    """Return the four stations as HTML, each with what it sees and what happens there."""
    population, mechanism = release.population, release.mechanism
    n, d = population.size, population.domain.size
    made = (
        "each made and counted"
        if release.scenario.per_report
        else "their counts drawn from the exact joint law"
    )
    # What is sent and what it holds are two figures: a set of few cells is sent as one bit for each cell of all.
    content = count_of(mechanism.report_bits, "bit")
    size = f"{count_of(mechanism.payload_bytes, 'byte')} ({content} of content)"
    if mechanism.p is None or mechanism.q is None:
        inversion = "the randomisation inverted"
    else:
        inversion = (
            f"estimate = (count − {thousands(n)} × {float(mechanism.q):.4f}) ÷ "
            f"({float(mechanism.p):.4f} − {float(mechanism.q):.4f})"
        )
    published = int(release.published.sum())
    stations = [
        (
            "Devices",
            "encode, perturb",
            f"{thousands(n)} phones, each one true cell of {thousands(d)}. Each randomises its own report before it leaves.",
            "see: their own place",
        ),
        ("Reports", "send", f"{thousands(n)} reports of {size}, {made}.", "see: randomised reports"),
        (
            "Server",
            "aggregate, estimate",
            f"Counts support per cell, then inverts: {inversion}.",
            "sees: no true place",
        ),
        (
            "Release",
            "publish or hold back",
            f"{thousands(published)} cells published, {thousands(d - published)} held back below "
            f"{thousands(release.scenario.floor)} devices at {100 * release.scenario.confidence:g} % confidence.",
            "public sees: estimates with error bars",
        ),
    ]
    cards = "".join(
        f'<li><h4>{escape(name)}</h4><p class="term">{escape(term)}</p><p>{escape(text)}</p><p class="sees">{escape(sees)}</p></li>'
        for name, term, text, sees in stations
    )
    return f'<ol class="flow">{cards}</ol>'
