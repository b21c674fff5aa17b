"""Turn publish/subscribe benchmark logs into performance documentation that can be trusted."""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING

import click

from tacholog import terminal
from tacholog.errors import TachologError

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The subcommands in the order of the work, and what each does: said here too, so that --help need not import them all.
COMMANDS = {
    "parse": "Print the records in raw logs.",
    "formats": "List the log formats that can be read.",
    "bench": "Run campaigns, and keep every log with the machine's state.",
    "report": "Build the site: pages with tables, plots, scripts and raw logs.",
    "publish": "Publish a built site beside its older versions.",
    "diff": "Compare two releases, and say how certain each change is.",
    "ab": "Run two builds in interleaved pairs within one session, then compare them as tacholog diff does.",
    "export": "Write the numbers for other tools.",
    "check": "Check a folder of runs that somebody contributes.",
    "scaffold": "Write a package that teaches Tacholog the log format NAME.",
    "host": "Print this machine's facts as a host file.",
}
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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write what each subcommand does."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Commands, help=__doc__, context_settings={"help_option_names": ["-h", "--help"], "color": True})
@click.version_option(package_name="tacholog", prog_name="tacholog")
def tacholog() -> None:
    """Carry the options that all subcommands share: none so far."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; every error that a user can act on is one line on stderr and exit code 2."""
    with terminal.guarded():
        _run(arguments)


def _run(arguments: Sequence[str] | None) -> None:
    try:
        try:
            tacholog.main(args=arguments, prog_name="tacholog", standalone_mode=True)
        finally:
            sys.stdout.flush()  # A full disk is told here, not in words of Python's own when it exits.
    except TachologError as error:
        terminal.line(f"tacholog: {error}", err=True)
        sys.exit(USAGE)
    except BrokenPipeError:
        sys.stderr.close()  # The reader of our output has gone, as head does: not an error, and nobody to tell.
        sys.exit(0)
    except OSError as error:
        terminal.line(f"tacholog: {error.filename or 'cannot write'}: {error.strerror or error}", err=True)
        _give_up_output()
        sys.exit(USAGE)


def _give_up_output() -> None:
    """If standard output cannot be written, let what is left for it go: Python would try again when it exits, and complain in its own words."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
