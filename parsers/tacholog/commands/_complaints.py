"""Report on standard error what could not be read."""

from __future__ import annotations

from collections.abc import Iterable

import click

from tacholog import terminal
from tacholog.dataset.complaints import Complaints

UNREADABLE_EXIT = 2
_SHOWN = 20


def tell(found: Iterable[Complaints]) -> int:
    """Report each problem once. Return the exit code: 2 if a whole run, log or folder could not be read."""
    complaints = list(found)
    unread = list(dict.fromkeys(line for some in complaints for line in some.unread))
    others = list(dict.fromkeys(line for some in complaints for line in some.others))
    for line in (*unread, *others[:_SHOWN]):
        terminal.line(f"tacholog: {line}", err=True)
    if len(others) > _SHOWN:
        click.echo(f"tacholog: {len(others) - _SHOWN} more lines and files have problems; 'tacholog check' lists them all", err=True)
    return UNREADABLE_EXIT if unread else 0
