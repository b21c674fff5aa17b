"""How tests wait for other processes: never longer than a limit, and never by a fixed time."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

#: So long a test waits for something that takes a second on a quiet machine.
LIMIT_S = 60


def until(condition: Callable[[], object], what: str, limit_s: float = LIMIT_S) -> None:
    """Wait until a condition holds. If it does not hold in time, the test fails with ``what``."""
    give_up = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < give_up, what
        time.sleep(0.02)


def gone(pid: int) -> bool:
    """Whether a process has ended. A zombie counts as ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True
