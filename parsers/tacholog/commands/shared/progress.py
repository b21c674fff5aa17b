"""Report how much of the logs has been read."""

from __future__ import annotations

import threading
import time

import click

_STEP_BYTES = 16_000_000
_STEP_S = 10


class Progress:
    """Reports on standard error how far the reading is.

    One line for each 16 MB of text in total, and every ten seconds one with the number of runs and the time that is left.
    """

    def __init__(self) -> None:
        """Start at zero."""
        self._read_bytes = 0
        self._lock = threading.Lock()  # Several processes may read, each with a thread that waits for it.
        self._began: tuple[float, int] | None = None  # when the first runs were done, and how many they were
        self._told_s = 0.0

    def runs(self, done: int, total: int) -> None:
        """Say how many runs of how many are done, unless that was said a moment ago."""
        now_s = time.monotonic()
        if self._began is None:
            self._began, self._told_s = (now_s, done), now_s
        if now_s - self._told_s < _STEP_S or done >= total:
            return
        self._told_s = now_s
        left_s = (now_s - self._began[0]) / (done - self._began[1]) * (total - done)
        click.echo(f"{done} of {total} runs, about {_duration(left_s)} left", err=True)

    def __call__(self, log: str, count: int) -> None:
        """Count this many more bytes of the text of a log."""
        with self._lock:
            before = self._read_bytes // _STEP_BYTES
            self._read_bytes += count
            is_step = self._read_bytes // _STEP_BYTES > before
        if is_step:
            click.echo(f"{self._read_bytes // 1_000_000} MB of text read, the last of it from {log!r}", err=True)


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 1:
        return f"{round(seconds)} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"  # noqa: PLR2004 - two hours
