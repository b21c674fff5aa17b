"""The errors that a user can act on."""

from __future__ import annotations


class TachologError(Exception):
    """An error that the user can act on. The command line prints only its text, as one line."""


class UnreadableInput(TachologError):
    """An input that cannot be read: a missing file, a format that is unknown or ambiguous, a broken manifest."""
