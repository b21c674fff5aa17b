"""Describe this machine in a host file.

Save the output as hosts/ID.toml in the data folder. Properties that cannot be read are left out. The host name, addresses and serial numbers are
never read.
"""

from __future__ import annotations

from pathlib import Path

import click
import msgspec
import tomli_w

from tacholog import terminal
from tacholog.commands.shared.output import writable
from tacholog.errors import UnreadableInput
from tacholog.runs.host import this_host
from tacholog.runs.manifest import write


def _usable_file_name(_: click.Context, __: click.Parameter, name: str | None) -> str | None:
    if name is not None and (not name.strip() or name.startswith(".") or "/" in name or not name.isprintable()):
        raise click.BadParameter(f"{name!r}: the name becomes the file hosts/NAME.toml, so it cannot contain / or start with a dot")
    return name


@click.command(help=__doc__)
@click.option("--id", "name", metavar="NAME", callback=_usable_file_name, help="The name of the machine.  [default: its CPU]")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file.  [default: standard output]")
@click.option("--replace", is_flag=True, help="Replace a host file that exists already.")
def host(name: str | None, output: Path | None, *, replace: bool) -> None:
    description = this_host()
    if name:
        description = msgspec.structs.replace(description, name=name)
    if output:
        if output.exists() and not replace:
            raise UnreadableInput(f"{output}: this host file exists already and may have been edited (use --replace to overwrite it)")
        with writable(output):
            output.parent.mkdir(parents=True, exist_ok=True)
        write(output, description)
    else:
        terminal.data(tomli_w.dumps(msgspec.to_builtins(description)))
