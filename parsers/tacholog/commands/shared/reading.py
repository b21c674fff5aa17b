"""How many processes read the logs of a command, and what it says about that."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tacholog import terminal
from tacholog.commands.shared.listing import counted

if TYPE_CHECKING:
    from tacholog.commands.shared.progress import Progress
    from tacholog.store.pool import Work

_Command = TypeVar("_Command", bound=Callable[..., Any])


def reading_options(command: _Command) -> _Command:
    """Add the options that say who reads the logs."""
    jobs = click.option("--jobs", metavar="N", type=click.IntRange(1), help="Read logs in N processes.  [default: one for each processor]")
    cluster = click.option(
        "--cluster", metavar="ADDRESS", help="Read logs on the workers of a Dask cluster; the address of its scheduler, as in tcp://host:8786."
    )
    return jobs(cluster(command))


def work_of(jobs: int | None, cluster: str | None, progress: Progress | None = None) -> Work:
    """Return who reads the logs."""
    from tacholog.store.pool import Work, all_cores

    return Work(jobs or all_cores(), cluster, told=progress.runs if progress else None, warned=lambda text: terminal.line(text, err=True))


def tally_words(work: Work) -> str:
    """Return of how many logs the results were read, and of how many they were taken from the cache. The text of a log may be needed all the same."""
    kept, read = work.tally.kept, work.tally.read
    return f"results of {counted(kept + read, 'log')}: {read} read, {kept} from the cache"
