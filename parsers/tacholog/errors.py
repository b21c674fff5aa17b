"""The errors that a user can act on."""

from __future__ import annotations


class TachologError(Exception):
    """An error that the user can act on. Its text is one line, and is all that the command line prints."""


class UnreadableInput(TachologError):
    """An input that cannot be read at all: a missing file, a format that is unknown or ambiguous, a broken manifest."""
