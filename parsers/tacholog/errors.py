"""What can go wrong, as a user meets it."""

from __future__ import annotations


class TachologError(Exception):
    """Something that the user can act on; its text is one clear line and becomes the whole message."""


class UnreadableInput(TachologError):
    """An input that cannot be read at all: a missing file, an unknown or ambiguous format, a broken manifest."""
