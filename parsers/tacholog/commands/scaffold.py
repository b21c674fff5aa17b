"""Create a Python package that adds the log format NAME.

The package works immediately, for the log of an invented tool. Replace its patterns, its sample log and the expected values with those of your tool.
docs/add-a-format.md explains each step.
"""

from __future__ import annotations

import keyword
import re
from pathlib import Path

import click

from tacholog import terminal
from tacholog.errors import UnreadableInput
from tacholog.formats.registry import installed
from tacholog.installation import templates_dir

EXAMPLE = "pingbench"
_NAME = re.compile(r"[a-z][a-z0-9_]{1,39}")


def _free_name(_: click.Context, __: click.Parameter, name: str) -> str:
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        usable = re.sub(r"\W+", "_", name.lower(), flags=re.ASCII).strip("_")
        hint = f", as in {usable}" if _NAME.fullmatch(usable) and not keyword.iskeyword(usable) else ""
        raise click.BadParameter(f"{name!r} cannot be the name of a module: use 2 to 40 characters of a-z, 0-9 and _, and start with a letter{hint}")
    if name in (registry := installed()).formats or name in registry.failures:
        raise click.BadParameter(f"a format called {name!r} is already installed; 'tacholog formats' lists them all")
    return name


@click.command(help=__doc__)
@click.argument("name", callback=_free_name)
@click.option(
    "--output", type=click.Path(path_type=Path), metavar="DIR", help="The folder to write, which must be new or empty.  [default: tacholog-NAME]"
)
def scaffold(name: str, output: Path | None) -> None:
    """Copy the example package under the new name. The example package itself is tested in CI."""
    folder = output or Path(f"tacholog-{name.replace('_', '-')}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UnreadableInput(f"{folder} exists already and is not an empty folder; nothing was written")
    example = templates_dir() / "format-package"
    for source in sorted(path for path in example.rglob("*") if path.is_file()):
        path = source.relative_to(example)
        if any(part.startswith((".", "__pycache__")) for part in path.parts):
            continue  # files that tools create in a checkout
        target = folder / str(path).replace(EXAMPLE, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(source.read_text(encoding="utf-8").replace(EXAMPLE, name), encoding="utf-8")
        click.echo(target)
    terminal.remark("")
    terminal.remark(f"Next: pip install --editable {folder} pytest hypothesis && pytest {folder} && tacholog formats")
