"""How tests wait for other processes: for an event, never for a time. Only a failing test reaches the limit, which is for tasks that hang."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

#: A guard against hanging, far longer than any task takes on a busy machine.
LIMIT_S = 600


def until(condition: Callable[[], object], what: str) -> None:
    """Wait until a condition is true.

    If this takes longer than `LIMIT_S`, the test fails. The message of the failure contains ``what``, the awaited event.
    """
    give_up = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < give_up, f"waited {LIMIT_S} s until {what}"
        time.sleep(0.02)


def gone(pid: int) -> bool:
    """Return whether a process has ended. A zombie, which its parent has not waited for yet, also counts as ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True
