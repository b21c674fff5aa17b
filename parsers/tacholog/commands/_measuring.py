"""Doing runs one after the other, and showing how far it is."""

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
    """Do the runs in their order; ``count`` of them were planned in all."""
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
        # The unit is a second as planned: runs differ in length by far more than they differ from their plan.
        shown = progress.add_task("", total=sum(task.run.expected_s for task in tasks), index=0, count=count, left="")
        for number, (folder, plan, run, tools, label) in enumerate(tasks):
            progress.update(shown, description=drawn_in_line(label), index=run.order_index, left=_left(tasks[number:]))
            began = time.monotonic()
            manifest = campaign.measure(folder, plan, run, tools, checkout())
            progress.advance(shown, run.expected_s)
            took_s, wrong = time.monotonic() - began, campaign.failure_reason(folder, plan, run)
            if not console.is_terminal or wrong:
                ended = f"{manifest.status}, {took_s:.1f} s" + (f" ({wrong})" if wrong else "")
                line = f"[{run.order_index}/{count}] {label}: {ended}, {_left(tasks[number + 1 :])}"
                console.print(drawn_in_line(line), markup=False, highlight=False, soft_wrap=True)


def _left(tasks: Sequence[Task]) -> str:
    return f"{duration(sum(task.run.expected_s for task in tasks))} left"


def duration(seconds: float) -> str:
    """A duration, as rough as it is known."""
    minutes = math.ceil(seconds / 60)
    if minutes <= 1:
        return f"{seconds:.0f} s"
    return f"{minutes // _MINUTES_AN_HOUR} h {minutes % _MINUTES_AN_HOUR:02d} min" if minutes >= _MINUTES_AN_HOUR else f"{minutes} min"
