"""List the log formats that can be read: their dialects, the versions that print them, and what each was checked against."""

from __future__ import annotations

import click


@click.command(help=__doc__)
def formats() -> None:
    """Print a table; one row a dialect."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from tacholog.formats.registry import installed

    found = installed()

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("format", "dialect", "versions", "checked against"):
        table.add_column(column, overflow="fold")
    for name, module in found.formats.items():
        for dialect in module.DIALECTS:
            table.add_row(name, *dialect)
    for name, reason in found.failures.items():
        table.add_row(name, "-", "-", f"[red]{escape(reason)}[/]")
    console = Console()
    console.print(table)
    for name, module in found.formats.items():
        console.print(f"\n[bold]{name}[/]  {(module.__doc__ or '').partition(chr(10))[0]}", highlight=False)
