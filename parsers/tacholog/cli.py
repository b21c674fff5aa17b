"""Turn publish/subscribe benchmark logs into performance documentation that can be trusted."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

import click

from tacholog.errors import TachologError

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = ("parse", "formats", "bench", "report", "publish", "diff", "export", "check", "host")
USAGE = 2


class Commands(click.Group):
    """The subcommands, imported only when they are called: ``tacholog parse`` need not wait for Sphinx."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Name the subcommands in the order of the work."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the module of that name from `tacholog.commands`; its docstring is the help."""
        if cmd_name not in COMMANDS:
            return None
        command = getattr(importlib.import_module(f"tacholog.commands.{cmd_name}"), cmd_name)
        return command if isinstance(command, click.Command) else None


@click.group(cls=Commands, help=__doc__, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tacholog", prog_name="tacholog")
def tacholog() -> None:
    """Carry the options that all subcommands share: none so far."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; every error that a user can act on is one line on stderr and exit code 2."""
    try:
        tacholog.main(args=arguments, prog_name="tacholog", standalone_mode=True)
    except TachologError as error:
        click.echo(f"tacholog: {error}", err=True)
        sys.exit(USAGE)
    except BrokenPipeError:
        sys.stderr.close()  # The reader of our output has gone, as head does: not an error, and nobody to tell.
        sys.exit(0)
    except OSError as error:
        click.echo(f"tacholog: {error.filename or ''}: {error.strerror or error}", err=True)
        sys.exit(USAGE)
