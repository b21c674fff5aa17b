"""Messages that several commands print: unreadable input, the order of releases, and the progress of reading."""

from __future__ import annotations

import math
import re
import threading
import time
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from tacholog import terminal

if TYPE_CHECKING:
    import pandas as pd

    from tacholog.store.complaints import Complaints
    from tacholog.store.pool import Work

ENDED_BADLY = {"failed": "failed", "truncated": "was cut off", "empty": "has no result"}
UNREADABLE_EXIT = 2
_SHOWN = 20
_SHOWN_OF_A_LOG = 3
_LOG_LINE = re.compile(r"(.*?):[0-9]+: ")
_STEP_S = 0.2
_MINUTES_AN_HOUR = 60


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, such as ``2 runs``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def print_complaints(per_source: Iterable[Complaints], *, bare: bool = False) -> int:
    """Print each problem once. Return the exit code: 2 if a run, a log or a folder could not be read, otherwise 0.

    Args:
        per_source: the problems of each side or dataset.
        bare: whether some logs have no run.toml. If so, the output does not recommend ``tacholog check``, because this command does not read such
            logs.
    """
    complaints = list(per_source)
    unread = list(dict.fromkeys(line for complaint in complaints for line in complaint.unread))
    others = list(dict.fromkeys(line for complaint in complaints for line in complaint.others))
    of_log: Counter[str] = Counter()
    printed: list[str] = []
    for line in others:
        match = _LOG_LINE.match(line)
        of_log[match[1] if match else line] += 1
        if len(printed) < _SHOWN and of_log[match[1] if match else line] <= _SHOWN_OF_A_LOG:
            printed.append(line)
    for line in (*unread, *printed):
        terminal.line(f"tacholog: {line}", err=True)
    if more := len(others) - len(printed):
        lists = "'tacholog parse' names those of each log" if bare else "'tacholog check' lists them all"
        click.echo(f"tacholog: {more} more problem{'s' if more > 1 else ''} with lines and files; {lists}", err=True)
    return UNREADABLE_EXIT if unread else 0


def mention_order(runs: pd.DataFrame) -> None:
    """Print the newest release of each system whose releases are ordered by their names. This order may be wrong.

    Only own releases are considered, not published figures.
    """
    from tacholog.view.history import newest_by_name

    own_runs = runs.loc[~runs["published"].astype(bool), ["system", "release", "start_time"]].astype(object)
    for system, (newest, reason) in newest_by_name(own_runs.where(own_runs.notna(), None).itertuples(index=False, name=None)).items():
        words = f"{newest} counts as the newest release of {system} by its name, because {reason}"
        terminal.remark(f'{words}; to state one, write start_time = "2026-01-31T12:00:00Z" into run.toml')


def tally_words(work: Work) -> str:
    """Return how many logs were read, and how many results came from the cache. The text of a log may be read although its result is cached."""
    cached, read = work.tally.cached, work.tally.read
    return f"results of {counted(cached + read, 'log')}: {read} read, {cached} from the cache"


class Progress:
    """Shows the progress of reading logs on a terminal. With ``--verbose``, it prints the name of each log that is read, even without a terminal."""

    def __init__(self) -> None:
        """Create the display. Nothing has been read yet."""
        self._read_bytes, self._runs, self._log = 0, "", ""
        self._lock = threading.Lock()  # Several threads call this object: there is one thread for each process that reads logs.
        self._began: tuple[float, int] | None = None  # when the first runs were finished, and how many there were
        self._shown_s = 0.0
        terminal.status("looking for runs")

    def runs(self, done: int, total: int) -> None:
        """Show how many runs are finished."""
        self._began = self._began or (time.monotonic(), done)
        began_s, first = self._began
        left = (time.monotonic() - began_s) / (done - first) * (total - done) if done > first else 0.0
        self._runs = f", {done} of {total} runs" + (f", about {duration(left)} left" if left else "")
        self._show()

    def __call__(self, log: str, count: int) -> None:
        """Add ``count`` to the number of bytes that were read, and show that ``log`` is being read."""
        with self._lock:
            self._read_bytes += count
            is_new, self._log = log != self._log, log
        if is_new and terminal.verbosity() == terminal.Verbosity.VERBOSE:
            terminal.remark(f"reading {log}")
        self._show()

    def _show(self) -> None:
        if time.monotonic() - self._shown_s > _STEP_S:
            self._shown_s = time.monotonic()
            terminal.status(f"reading: {self._read_bytes / 1e6:.0f} MB of text{self._runs}{f', {self._log}' if self._log else ''}")


def duration(seconds: float) -> str:
    """Return a duration in words: in seconds up to one minute, otherwise in whole minutes."""
    minutes = math.ceil(seconds / 60)
    if minutes <= 1:
        return f"{seconds:.0f} s"
    return f"{minutes // _MINUTES_AN_HOUR} h {minutes % _MINUTES_AN_HOUR:02d} min" if minutes >= _MINUTES_AN_HOUR else f"{minutes} min"
