"""List the log formats that can be read.

Each with what it reads, what that was learnt from, and its dialects: the versions that print them, and what they were checked against.
"from source only" stands where no real log was found: the dialect was written after the tool's own printing functions.
"""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING

import click

from tacholog import terminal
from tacholog.commands._listing import counted

if TYPE_CHECKING:
    from tacholog.formats.registry import Format

UNREAL = "from source only"
PIPED_COLUMNS = 200  # Whoever pipes this into a pager or a search wants a dialect on one line.


@click.command(help=__doc__)
@click.argument("names", nargs=-1, metavar="[NAME]...")
def formats(names: tuple[str, ...]) -> None:
    """Print a paragraph for each format, or for those of these names, and a line for each of its dialects."""
    from tacholog.formats.registry import format_named, installed

    found = installed()
    wanted = {name: format_named(name) for name in names if name not in found.failures} if names else found.formats
    for name, module in wanted.items():
        terminal.styled(f"{name}: {module.TOOL}, for {module.SYSTEM}", bold=True)
        for line in _paragraph(module):
            click.echo(line)
        click.echo()
    for name, reason in found.failures.items():
        terminal.styled(f"{name}: {reason}", fg="red")
        click.echo()
    dialects = [dialect for module in wanted.values() for dialect in module.DIALECTS]
    unreal = sum(dialect.evidence.startswith(UNREAL) for dialect in dialects)
    click.echo(f"{counted(len(wanted), 'format')}, {counted(len(dialects), 'dialect')}, {unreal} of them {UNREAL}", err=True)


def _paragraph(module: Format) -> Iterator[str]:
    """What a format reads, its source, and its dialects."""
    text = module.__doc__ or ""
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPED_COLUMNS
    for word, said in (("reads", text.strip().partition("\n")[0]), ("source", text.partition("Source:")[2])):
        if said:
            yield from _wrapped(f"  {word:<8}", said, columns)
    heads = ("dialect", "versions", "checked against")
    rows = [heads, *module.DIALECTS]
    first, second = (max(len(row[at]) for row in rows) for at in (0, 1))
    second = min(second, max(columns - first - 40, 20))
    for dialect, versions, evidence in rows:
        left = max(columns - first - second - 8, 20)
        lines = zip_longest([dialect], textwrap.wrap(versions, second), textwrap.wrap(evidence, left), fillvalue="")
        yield from (f"    {one:<{first}}  {two:<{second}}  {three}".rstrip() for one, two, three in lines)


def _wrapped(head: str, said: str, columns: int) -> list[str]:
    """Text behind a head, its further lines below its start."""
    lines = textwrap.wrap(" ".join(said.split()), columns, initial_indent=head, subsequent_indent=" " * len(head))
    return lines or [head.rstrip()]
