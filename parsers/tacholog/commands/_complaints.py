"""Saying on standard error what of the input could not be used."""

from __future__ import annotations

from collections.abc import Iterable

import click

from tacholog import terminal
from tacholog.dataset.complaints import Complaints

UNREADABLE_EXIT = 2
_SHOWN = 20


def tell(found: Iterable[Complaints]) -> int:
    """Say what could not be read, each thing once. Returns the exit code that this makes: 2 if something was lost whole."""
    told = list(found)
    unread = list(dict.fromkeys(line for one in told for line in one.unread))
    others = list(dict.fromkeys(line for one in told for line in one.others))
    for line in (*unread, *others[:_SHOWN]):
        terminal.line(f"tacholog: {line}", err=True)
    if len(others) > _SHOWN:
        click.echo(f"tacholog: {len(others) - _SHOWN} more lines and files are not as they should be; 'tacholog check' lists them all", err=True)
    return UNREADABLE_EXIT if unread else 0
