"""Report on standard error which input could not be used."""

from __future__ import annotations

from collections.abc import Iterable

import click

from tacholog import terminal
from tacholog.store.complaints import Complaints

UNREADABLE_EXIT = 2
_SHOWN = 20


def tell(found: Iterable[Complaints], *, bare: bool = False) -> int:
    """Print what could not be read, each message once. Return the exit code: 2 if a run, a log or a folder was left out, else 0.

    Args:
        found: the problems.
        bare: whether some are of logs without a run.toml, of which `tacholog check` only says that they have none.
    """
    complaints = list(found)
    unread = list(dict.fromkeys(line for complaint in complaints for line in complaint.unread))
    others = list(dict.fromkeys(line for complaint in complaints for line in complaint.others))
    for line in (*unread, *others[:_SHOWN]):
        terminal.line(f"tacholog: {line}", err=True)
    if len(others) > _SHOWN:
        lists = "'tacholog parse' names those of each log" if bare else "'tacholog check' lists them all"
        click.echo(f"tacholog: {len(others) - _SHOWN} more problems with lines and files; {lists}", err=True)
    return UNREADABLE_EXIT if unread else 0
