"""The errors a user can cause, each one sentence that says what, where and what to do."""

from __future__ import annotations


class ParameterError(ValueError):
    """A setting outside what is possible.

    Parameters
    ----------
    parameter
        Name of the setting, as the command line and the scenario spell it, so that a page
        can show the sentence at the control concerned.
    message
        One sentence: the condition, the value that broke it, and a value that works.
    """

    def __init__(self, parameter: str, message: str) -> None:
        super().__init__(message)
        self.parameter = parameter


class TripFileError(ValueError):
    """A trip file that cannot be used, with the reason and the remedy in one sentence."""
