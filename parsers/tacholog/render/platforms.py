"""What takes part in a measurement by its own words: a process, a thread, or, where a table has a column for each, an operating system."""

from __future__ import annotations

import re

_SYSTEM = re.compile(r"windows|win\s?\d|ubuntu|debian|linux|macos|freebsd|qnx", re.IGNORECASE)


def participant_title(name: object) -> str:
    """Return what a participant is to be called: nobody looks for Windows among participants."""
    return "operating system" if _SYSTEM.match(str(name or "")) else "participant"
