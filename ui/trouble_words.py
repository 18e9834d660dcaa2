"""What goes wrong, in words: symptom, cause, how it is noticed, the remedy, and where the guide is mended.

The guide is the text on local privacy on mobile clients that this product was built from; where it is loose or wrong,
the page says so and shows what holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class Trouble:
    """One failure and what is to be known of it, a sentence or two each.

    Parameters
    ----------
    symptom
        What somebody sees.
    cause, notice, remedy
        Why, how to tell, what to do.
    guide
        What the guide says of it, and what holds.
    choice
        What the variants are called, empty where there is one.
    variants
        Ways to bring it about, by the token in the link.
    """

    symptom: str
    cause: str
    notice: str
    remedy: str
    guide: str
    choice: str
    variants: Mapping[str, str]


TROUBLES: Final[Mapping[str, Trouble]] = MappingProxyType(
    {
        "flat": Trouble(
            symptom="Every cell looks equally busy",
            cause=(
                "The server does not invert the randomisation, or inverts it with parameters that are not the client's: "
                "another ε after an update of one side only, or another encoding under the same name."
            ),
            notice=(
                "Where a report can point to many cells, the estimates of all cells must add up to the number of reports, "
                "within their error; no truth is needed for that. Direct response always adds up, and so can sets of one size: "
                "there only the parameters in the report tell."
            ),
            remedy=(
                "Send the scheme, its parameters and the domain version with every report, count each kind apart and "
                "refuse what does not fit. The report files here do so."
            ),
            guide=(
                "It says that every bit is flipped with one probability that follows from ε, but its code keeps the own "
                "bit with ½: two encodings with two inversions. So a version names the scheme, not ε alone."
            ),
            choice="What the server does",
            variants={
                "flat": "The counts are not inverted",
                "flat.epsilon": "Inverted with another ε",
                "flat.scheme": "Inverted for another encoding",
            },
        ),
        "noisy": Trouble(
            symptom="Estimates are wildly noisy",
            cause=(
                "The error of a cell grows with the root of all reports, whoever is in it. A grid too fine leaves each cell "
                "a small count under the same error, however many devices there are in all."
            ),
            notice="Typical error over the count of an average cell; above one half little can be read from a map.",
            remedy=(
                "Coarsen the grid: each step puts about seven times the devices into a cell. Else more devices at the same "
                "share of each cell, or a larger ε. The page on sizing says how much is enough."
            ),
            guide=(
                "It recommends local hashing and says that a coarser grid has less variance. Hashing has the same error as "
                "unary encoding, with shorter reports. A coarser grid has the same error in devices; only the counts are "
                "larger. The variance itself falls for direct response alone."
            ),
            choice="What is tried on the fine grid",
            variants={"noisy": "This randomiser", "noisy.hashing": "Local hashing, as the guide advises"},
        ),
        "sparse": Trouble(
            symptom="Sparse cells swing between large positive and negative",
            cause=(
                "No bug: in a cell with fewer devices than the standard error the estimate is mostly noise. It is right on "
                "average over many redraws, and negative in up to half of them."
            ),
            notice="Redraw the coins: what is noise changes sign, what is there stays.",
            remedy=(
                "Show a cell only where its lower bound, corrected for looking at all cells, reaches the floor. Do not cut "
                "at zero: that adds 0.4 standard errors to every empty cell. Keep the negative estimates in the file."
            ),
            guide=(
                "It hides what lies within its error bar of zero. At 95 % that still shows about one empty cell in twenty, "
                "half of them as negative: over many cells the bound has to be corrected."
            ),
            choice="What is shown",
            variants={
                "sparse": "Every estimate",
                "sparse.bar": "What exceeds its error bar, as in the guide",
            },
        ),
        "loss": Trouble(
            symptom="Privacy loss runs faster than planned",
            cause=(
                "The client randomises the same cell again instead of repeating its answer, or the cap on distinct cells is "
                "kept on the server, which has every answer by then."
            ),
            notice=(
                "No figure of the server shows it. Test the client: the same cell twice gives the same bytes, and a device "
                "at its cap sends nothing new."
            ),
            remedy=(
                "Remember answers on the device, for one epoch and domain version, and keep the cap there. State the loss of "
                "a day and of the time a phone is kept, not of one report."
            ),
            guide=(
                "It says that a repeated cell costs nothing more. That holds for which cells, not for when the phone moved, "
                "which the repeats show. New answers every epoch average out again at that pace."
            ),
            choice="How often the phone reports",
            variants={
                "loss": "Every five minutes, as in the guide",
                "loss.own": "As the budget in the sidebar says",
            },
        ),
        "data": Trouble(
            symptom="A regulator asks who holds personal data",
            cause=(
                "A report arrives from an address, at a time, often with an account, and says something about its phone. "
                "Randomising bounds how much; it does not make it about nobody."
            ),
            notice="List what each party sees and keeps, beside the payload.",
            remedy=(
                "Strip address, time and account at a relay that the server does not run, keep no logs that tie them to a "
                "payload, keep the client small, audited and versioned on its own. Then state what is left, with figures. "
                "Whether it is personal data is a question for a lawyer, who needs those figures."
            ),
            guide=(
                "It answers: nobody does. That claims too much: a report with its address or time is about somebody, and "
                "an observer's odds still move by up to e to the ε."
            ),
            choice="",
            variants={"data": "The server keeps the address with the report"},
        ),
    }
)
"""Every failure mode of the guide, in its order."""

SEES: Final = (
    ("Device", "where it is", "everything; the trust ends at its app, which an update can replace"),
    ("Network", "address, time and size of the message", "that this phone reported, and when; not what"),
    ("Relay, if there is one", "address and time, payload sealed", "who, not what"),
    ("Server", "payload, and the address and time unless a relay strips them", "what this page computes"),
    ("Analyst", "counts and estimates", "nothing of one phone beyond its ε"),
    ("Public", "published cells", "nothing of one phone beyond its ε"),
)
"""Who sees what, and what it tells them of one phone."""


def advice_html(trouble: Trouble) -> str:
    """Return cause, notice, remedy and the guide's word as a list."""
    entries = (
        ("Cause", trouble.cause),
        ("How it is noticed", trouble.notice),
        ("Remedy", trouble.remedy),
        ("What the guide says, and what holds", trouble.guide),
    )
    cards = "".join(
        f"<div><h3 class=card>{escape(name)}</h3><p>{escape(text)}</p></div>" for name, text in entries
    )
    return f'<div class="advice">{cards}</div>'


def sees_html() -> str:
    """Return who sees what as a table."""
    rows = "".join(
        f'<tr><th scope="row">{escape(who)}</th><td>{escape(what)}</td><td>{escape(tells)}</td></tr>'
        for who, what, tells in SEES
    )
    return (
        '<div class="scroll"><table class="pair"><thead><tr><th scope="col">Who</th><th scope="col">Sees</th>'
        f'<th scope="col">And knows of one phone</th></tr></thead><tbody>{rows}</tbody></table></div>'
    )
