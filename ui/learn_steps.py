"""What holds for every step of the lesson: its name, its idea, the processes it is about, its question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

PROCESSES: Final = ("Encode", "Perturb", "Aggregate", "Estimate")
"""The four processes of data aggregation under local privacy, in order (Yang et al., figure 2)."""
WHERE: Final = ("on the phone", "on the phone", "on the server", "on the server")


@dataclass(frozen=True, slots=True)
class Step:
    """One step.

    Parameters
    ----------
    number
        1 to 8.
    title
        A few words.
    short
        One word for the list of steps.
    idea
        The one idea, in plain words.
    processes
        Those of `PROCESSES` it is about, by place.
    """

    number: int
    title: str
    short: str
    idea: str
    processes: tuple[int, ...]


STEPS: Final = (
    Step(
        1,
        "One phone, one coin",
        "Coin",
        "A phone that tosses a coin before it answers gives away nothing certain about itself. Because the odds of "
        "the coin are known, the crowd can still be counted.",
        (1,),
    ),
    Step(
        2,
        "One phone, a grid",
        "Grid",
        "For a map the answer is a place. The phone writes its cell as one mark on the list of all cells, changes "
        "the marks by chance, and only then sends.",
        (0, 1),
    ),
    Step(
        3,
        "A crowd",
        "Crowd",
        "The server adds up all reports, cell by cell. Chance marks cells all over the map, so empty ones look busy too, "
        "however many phones take part.",
        (2,),
    ),
    Step(
        4,
        "The way back",
        "Way back",
        "The server knows how often chance alone marks a cell. It takes that away and scales up what is left. "
        "Teams forget this step more than any other.",
        (3,),
    ),
    Step(
        5,
        "The error bar",
        "Error",
        "An estimate is one draw of many. Toss all coins again and it moves, for an empty cell below zero about as "
        "often as above.",
        (3,),
    ),
    Step(
        6,
        "A finer grid",
        "Finer",
        "Smaller cells hold fewer phones. With marks on a list, the error of a cell stays what it was, so each count "
        "drowns in it sooner.",
        (0, 3),
    ),
    Step(
        7,
        "Again tomorrow",
        "Again",
        "Fresh coins every day average out, and the place shows through. A phone that remembers its answer says "
        "nothing new, as long as it remembers.",
        (1,),
    ),
    Step(
        8,
        "What it does not protect",
        "Limits",
        "The promise is about odds, and about the content of a report alone: not about what an observer knew before, "
        "nor about the envelope, nor about who sends.",
        (1, 2),
    ),
)


@dataclass(frozen=True, slots=True)
class Choice:
    """One possible answer, whether it is right, and why or why not."""

    text: str
    right: bool
    why: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its choices, exactly one of them right."""

    text: str
    choices: tuple[Choice, ...]

    @property
    def answer(self) -> Choice:
        """The right choice."""
        return next(choice for choice in self.choices if choice.right)


Draw = Callable[..., Question]
