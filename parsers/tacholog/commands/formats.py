"""List the log formats that Tacholog can read.

For each format, this shows the logs that it reads, its source, and its dialects. A dialect is one way in which some versions of a tool print their
logs. It is listed with these versions and with the logs that were used to check it. "from source only" means that no real log was found: the dialect
was written from the source code of the tool.
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
from tacholog.commands.shared.messages import counted
from tacholog.formats.registry import format_named, installed

if TYPE_CHECKING:
    from tacholog.formats.registry import Format

NO_REAL_LOG = "from source only"
PIPED_COLUMNS = 200  # If the output goes to a pager or to grep, each dialect is on one line.


@click.command(help=__doc__)
@click.argument("names", nargs=-1, metavar="[NAME]...")
def formats(names: tuple[str, ...]) -> None:
    """Print a paragraph for each format, or only for the named formats. Each dialect has a line."""
    registry = installed()
    wanted = {name: format_named(name) for name in names if name not in registry.failures} if names else registry.formats
    for name, module in wanted.items():
        terminal.styled(f"{name}: {module.TOOL}, for {module.SYSTEM}", bold=True)
        for line in _paragraph(module):
            click.echo(line)
        click.echo()
    for name, reason in registry.failures.items():
        terminal.styled(f"{name}: {reason}", fg="red")
        click.echo()
    dialects = [dialect for module in wanted.values() for dialect in module.DIALECTS]
    without_log = sum(dialect.evidence.startswith(NO_REAL_LOG) for dialect in dialects)
    terminal.remark(f"{counted(len(wanted), 'format')}, {counted(len(dialects), 'dialect')}, {without_log} of them {NO_REAL_LOG}")


def _paragraph(module: Format) -> Iterator[str]:
    text = module.__doc__ or ""
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPED_COLUMNS
    for label, content in (("reads", text.strip().partition("\n")[0]), ("source", text.partition("Source:")[2])):
        if content:
            yield from _wrapped(f"  {label:<8}", content, columns)
    heads = ("dialect", "versions", "checked against")
    rows = [heads, *module.DIALECTS]
    first, second = (max(len(row[column]) for row in rows) for column in (0, 1))
    second = min(second, max(columns - first - 40, 20))
    for dialect, versions, evidence in rows:
        left = max(columns - first - second - 8, 20)
        lines = zip_longest([dialect], textwrap.wrap(versions, second), textwrap.wrap(evidence, left), fillvalue="")
        yield from (f"    {cells[0]:<{first}}  {cells[1]:<{second}}  {cells[2]}".rstrip() for cells in lines)


def _wrapped(head: str, text: str, columns: int) -> list[str]:
    lines = textwrap.wrap(" ".join(text.split()), columns, initial_indent=head, subsequent_indent=" " * len(head))
    return lines or [head.rstrip()]
