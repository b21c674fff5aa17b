"""Do the runs of a campaign one after the other, and show the progress."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence

from tacholog import campaign
from tacholog.campaign.pairs import Task
from tacholog.resources import checkout
from tacholog.terminal import direct
from tacholog.visible import drawn_in_line

_MINUTES_AN_HOUR = 60


def measure_all(tasks: Sequence[Task], count: int) -> None:
    """Do these runs in their order. ``count`` is the number of all planned runs, with those that are done already."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    console = Console(file=direct(sys.stderr))
    columns = (
        TextColumn("[{task.fields[index]}/{task.fields[count]}] {task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(
        *columns, console=console, redirect_stdout=False, redirect_stderr=False, disable=not console.is_terminal, transient=True
    ) as progress:
        # The unit of progress is one planned second, not one run: runs differ much in length, and each takes about as long as planned.
        bar = progress.add_task("", total=sum(task.run.expected_s for task in tasks), index=0, count=count, left="")
        for number, (folder, plan, run, tools, label) in enumerate(tasks):
            progress.update(bar, description=drawn_in_line(label), index=run.order_index, left=_left(tasks[number:]))
            start_s = time.monotonic()
            manifest = campaign.measure(folder, plan, run, tools, checkout())
            progress.advance(bar, run.expected_s)
            took_s, failure = time.monotonic() - start_s, campaign.failure_reason(folder, run)
            if not console.is_terminal or failure:
                outcome = f"{manifest.status}, {took_s:.1f} s" + (f" ({failure})" if failure else "")
                line = f"[{run.order_index}/{count}] {label}: {outcome}, {_left(tasks[number + 1 :])}"
                console.print(drawn_in_line(line), markup=False, highlight=False, soft_wrap=True)


def _left(tasks: Sequence[Task]) -> str:
    return f"{duration(sum(task.run.expected_s for task in tasks))} left"


def duration(seconds: float) -> str:
    """Return a duration in words: seconds up to one minute, else whole minutes."""
    minutes = math.ceil(seconds / 60)
    if minutes <= 1:
        return f"{seconds:.0f} s"
    return f"{minutes // _MINUTES_AN_HOUR} h {minutes % _MINUTES_AN_HOUR:02d} min" if minutes >= _MINUTES_AN_HOUR else f"{minutes} min"
