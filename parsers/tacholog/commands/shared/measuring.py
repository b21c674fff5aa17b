"""Do the runs of a campaign one after the other, and show the progress."""

from __future__ import annotations

import sys
import time
from collections.abc import Hashable, Iterable, Sequence

from tacholog import campaign
from tacholog.campaign.foresight import Gap, look, variant_of
from tacholog.campaign.pace import Pace
from tacholog.campaign.pairs import Task
from tacholog.commands.shared.planning import duration, first_look_words
from tacholog.installation import checkout
from tacholog.terminal import direct
from tacholog.visible import drawn_in_line


def measure_all(tasks: Sequence[Task], count: int, announced: Sequence[Gap] = ()) -> None:
    """Do these runs in their order. After the first good run of each variant, say what its logs lack for comparisons.

    Args:
        tasks: the runs.
        count: the number of all planned runs, with those that are done already.
        announced: what the plan has said already that comparisons will lack.
    """
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
        pace, news = Pace(), _News(announced)
        bar = progress.add_task("", total=sum(task.run.expected_s for task in tasks), index=0, count=count, left="")
        for number, task in enumerate(tasks):
            folder, plan, run, tools, label = task
            progress.update(bar, description=drawn_in_line(label), index=run.order_index, left=_left(tasks[number:], pace))
            start_s = time.monotonic()
            manifest = campaign.measure(folder, plan, run, tools, checkout())
            progress.advance(bar, run.expected_s)
            took_s, failure = time.monotonic() - start_s, campaign.failure_reason(folder, run)
            if not failure:  # a run that fails at once says nothing about how long the others take
                pace.add(_kind(task), run.expected_s, took_s)
            if not console.is_terminal or failure:
                state = "not good" if failure and manifest.status == "ok" else manifest.status
                outcome = f"{state}, {took_s:.1f} s" + (f" ({failure})" if failure else "")
                line = f"[{run.order_index}/{count}] {label}: {outcome}, {_left(tasks[number + 1 :], pace)}"
                console.print(drawn_in_line(line), markup=False, highlight=False, soft_wrap=True)
            for line in news.of(task) if not failure else ():
                console.print(drawn_in_line(line), markup=False, highlight=False, soft_wrap=True)


class _News:
    """What the first good run of each variant shows, without what was said before."""

    def __init__(self, announced: Iterable[Gap]) -> None:
        self._said = {(gap.condition, gap.rows) for gap in announced if gap.is_certain}
        self._looked_at: set[Hashable] = set()

    def of(self, task: Task) -> list[str]:
        """Return what is new in the logs of a good run."""
        if _kind(task) in self._looked_at:
            return []
        self._looked_at.add(_kind(task))
        found = look(task.folder, task.run)
        # The plan may have said it of all rows of a test: "throughput"; the log says "throughput at max-rate".
        new = [gap for gap in found.gaps if not {(gap.condition, gap.rows), (gap.condition, gap.rows.partition(" at ")[0])} & self._said]
        self._said |= {(gap.condition, gap.rows) for gap in new}
        return first_look_words(task.label, found, new)


def _kind(task: Task) -> Hashable:
    """The runs that take about as long, and whose logs state the same: those of one variant on one side."""
    return task.folder, variant_of(task.run)


def _left(tasks: Sequence[Task], pace: Pace) -> str:
    return f"{duration(pace.seconds((_kind(task), task.run.expected_s) for task in tasks))} left"
