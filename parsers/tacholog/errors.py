"""The errors that a user can act on."""

from __future__ import annotations


class TachologError(Exception):
    """An error that the user can act on. The command line prints its text, one line, and nothing else."""


class UnreadableInput(TachologError):
    """An input that cannot be read at all: a missing file, a format that is unknown or ambiguous, a broken manifest."""
