"""Report how much of the logs has been read."""

from __future__ import annotations

import click

_STEP_BYTES = 16_000_000


class Progress:
    """Reports on standard error how much text of logs has been read: one line for each 16 MB in total."""

    def __init__(self) -> None:
        """Start at zero."""
        self._read_bytes = 0

    def __call__(self, log: str, count: int) -> None:
        """Count this many more bytes of the text of a log."""
        before = self._read_bytes // _STEP_BYTES
        self._read_bytes += count
        if self._read_bytes // _STEP_BYTES > before:
            click.echo(f"reading {log!r}: {self._read_bytes // 1_000_000} MB of text so far", err=True)
