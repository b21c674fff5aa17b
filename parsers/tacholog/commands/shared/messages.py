"""Messages that several commands print: unreadable input, the order of releases, and the progress of reading."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from tacholog import terminal
from tacholog.store.complaints import Complaints

if TYPE_CHECKING:
    import pandas as pd

    from tacholog.store.pool import Work

ENDED_BADLY = {"failed": "failed", "truncated": "was cut off", "empty": "has no result"}
UNREADABLE_EXIT = 2
_SHOWN = 20
_STEP_BYTES = 16_000_000
_STEP_S = 10


def counted(count: int, noun: str) -> str:
    """Return the number with its noun, such as ``2 runs``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def print_complaints(per_source: Iterable[Complaints], *, bare: bool = False) -> int:
    """Print the problems, each message once. Return the exit code: 2 if a run, a log or a folder could not be read, else 0.

    Args:
        per_source: the problems of each side or dataset.
        bare: whether some logs have no run.toml. ``tacholog check`` does not read such logs.
    """
    complaints = list(per_source)
    unread = list(dict.fromkeys(line for complaint in complaints for line in complaint.unread))
    others = list(dict.fromkeys(line for complaint in complaints for line in complaint.others))
    for line in (*unread, *others[:_SHOWN]):
        terminal.line(f"tacholog: {line}", err=True)
    if len(others) > _SHOWN:
        lists = "'tacholog parse' names those of each log" if bare else "'tacholog check' lists them all"
        click.echo(f"tacholog: {len(others) - _SHOWN} more problems with lines and files; {lists}", err=True)
    return UNREADABLE_EXIT if unread else 0


def mention_order(runs: pd.DataFrame) -> None:
    """Print the newest release of each system whose own releases are ordered by their names: this order may be wrong."""
    from tacholog.view.history import newest_by_name

    own_runs = runs.loc[~runs["published"].astype(bool), ["system", "release", "start_time"]].astype(object)
    for system, (newest, undated) in newest_by_name(own_runs.where(own_runs.notna(), None).itertuples(index=False, name=None)).items():
        words = f"{newest} counts as the newest release of {system} by its name, because no run of {undated} has a start time"
        terminal.line(f'{words}: start_time = "2026-01-31T12:00:00Z" in run.toml states one', err=True)


def tally_words(work: Work) -> str:
    """Return how many logs were read, and for how many the results came from the cache. The text of such a log may be read nevertheless."""
    cached, read = work.tally.cached, work.tally.read
    return f"results of {counted(cached + read, 'log')}: {read} read, {cached} from the cache"


class Progress:
    """Reports the progress of reading on standard error.

    There is a line for each 16 MB of text, and every ten seconds a line with the number of runs and the remaining time.
    """

    def __init__(self) -> None:
        """Start at zero."""
        self._read_bytes = 0
        self._lock = threading.Lock()  # several processes may read, and a thread waits for each of them
        self._began: tuple[float, int] | None = None  # the time when the first runs were done, and their number
        self._printed_s = 0.0

    def runs(self, done: int, total: int) -> None:
        """Print how many runs are done, at most once in ten seconds."""
        now_s = time.monotonic()
        if self._began is None:
            self._began, self._printed_s = (now_s, done), now_s
        if now_s - self._printed_s < _STEP_S or done >= total:
            return
        self._printed_s = now_s
        left_s = (now_s - self._began[0]) / (done - self._began[1]) * (total - done)
        click.echo(f"{done} of {total} runs, about {_duration(left_s)} left", err=True)

    def __call__(self, log: str, count: int) -> None:
        """Add bytes of the text of a log."""
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
