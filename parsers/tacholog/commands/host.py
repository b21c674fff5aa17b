"""Print this machine's facts as a host file.

It is for hosts/<id>.toml beside runs. Facts that cannot be read are left out. Host name, addresses and serial numbers are never read.
"""

from __future__ import annotations

from pathlib import Path

import click


def _file_name(_: click.Context, __: click.Parameter, name: str | None) -> str | None:
    """A name that hosts/NAME.toml can have."""
    if name is not None and (not name.strip() or name.startswith(".") or "/" in name or not name.isprintable()):
        raise click.BadParameter(f"{name!r}: it becomes the name of hosts/NAME.toml: no / in it, and no dot before it")
    return name


@click.command(help=__doc__)
@click.option("--id", "name", metavar="NAME", callback=_file_name, help="What to call the machine; without it, its CPU.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file instead.")
def host(name: str | None, output: Path | None) -> None:
    import msgspec
    import tomli_w

    from tacholog import terminal
    from tacholog.runs.host import this_host
    from tacholog.runs.manifest import write

    facts = this_host()
    if name:
        facts = msgspec.structs.replace(facts, name=name)
    if output:
        write(output, facts)
    else:
        terminal.data(tomli_w.dumps(msgspec.to_builtins(facts)))
