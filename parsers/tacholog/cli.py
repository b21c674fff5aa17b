"""Turn publish/subscribe benchmark logs into performance documentation that can be trusted."""

from __future__ import annotations

import importlib
import keyword
import os
import sys
from typing import TYPE_CHECKING, NoReturn

import click

from tacholog import terminal
from tacholog.errors import TachologError
from tacholog.installation import Extra, require, require_linux
from tacholog.memory import collect_rarely, exit_without_search, keep_freed_memory
from tacholog.terminal import ending_in_order

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The subcommands in the order of typical use, with the first line of their help. The line is repeated here so that --help need not import all
#: commands.
COMMANDS = {
    "parse": "Print the records in raw logs.",
    "import": "Make runs from existing logs, whose paths state what was measured.",
    "formats": "List the log formats that Tacholog can read.",
    "bench": "Run campaigns, and keep each log together with the state of the machine.",
    "sustain": "Search for the highest rate that a tool sustains, by running the tool repeatedly.",
    "report": "Build the site: pages with tables, plots, scripts and raw logs.",
    "publish": "Publish a built site, and keep its older versions.",
    "table": "Answer a question: compare the values of one field over another field, as a table of medians.",
    "diff": "Compare two releases, and state how certain each change is.",
    "require": 'Check that runs meet requirements, such as "p99 latency at 1 KiB stays under 5 us".',
    "ab": "Run two builds in interleaved pairs within one session, then compare them as tacholog diff does.",
    "noise": "Measure in about one minute the smallest change that this machine can show.",
    "export": "Export the numbers for other tools.",
    "check": "Check a folder of runs before you contribute it.",
    "verify": "Verify that a site or a folder of runs agrees with its logs.",
    "cache": "Show how much space the cache of logs takes, or empty the cache.",
    "scaffold": "Create a Python package that adds the log format NAME.",
    "host": "Describe this machine in a host file.",
}
#: The commands that need more than ``pip install tacholog``, with the extra that contains their packages. The others only read logs, or measure.
EXTRAS: dict[str, Extra] = {
    "report": "site",
    "publish": "site",
    "table": "diff",
    "diff": "diff",
    "require": "diff",
    "ab": "diff",
    "noise": "diff",
    "export": "diff",
    "verify": "site",
}
# These commands read the state of the machine, or exchange folders, in a way that only Linux offers.
_NEED_LINUX = ("bench", "ab", "noise", "host", "publish")
USAGE = 2
_WITHOUT_REMARKS = ("sustain", "cache", "host")  # All other commands have -q and -v. The arguments of sustain are a command with options of its own.
_HELP = {"-h", "--help"}
_RUN_PROGRAMS = ("bench", "sustain", "ab", "noise", "host")  # These commands pass the environment unchanged to the programs that they measure.
_THREADS_OF_NUMPY = "OPENBLAS_NUM_THREADS"


def module_name(command: str) -> str:
    """Return the name of the module of a subcommand, and of the function in it. If Python reserves the name, an underscore is appended."""
    return f"{command}_" if keyword.iskeyword(command) else command


class Commands(click.Group):
    """The subcommands. Each module is imported only when its command is called, so that ``tacholog parse`` does not wait for Sphinx."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the subcommands in the order of typical use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the module with that name from `tacholog.commands`. The docstring of the module is the help text."""
        if cmd_name not in COMMANDS:
            return None
        if cmd_name not in _RUN_PROGRAMS:
            os.environ.setdefault(_THREADS_OF_NUMPY, "1")  # NumPy's matrices are small here: more threads would only keep processors busy
        name = module_name(cmd_name)
        command = getattr(importlib.import_module(f"tacholog.commands.{name}"), name)
        if not isinstance(command, click.Command):
            return None
        if cmd_name not in _WITHOUT_REMARKS and not {option.name for option in _VERBOSITY} & {parameter.name for parameter in command.params}:
            command.params += _VERBOSITY
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand, and refuse empty values. If a command does not exist, the message suggests a similar one."""
        if ctx.resilient_parsing:  # A shell completes a command line: a value may be empty because the user has not typed it yet.
            return super().resolve_command(ctx, args)
        if args[0] == "help":
            return super().resolve_command(ctx, [*args[1:2], "--help"]) if args[1:2] else self._own_help(ctx)
        if args[0] not in COMMANDS:
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, 1)
            ctx.fail(f"No such command '{args[0]}'." + (f" Did you mean '{near[0]}'?" if near else ""))
        name, command, arguments = super().resolve_command(ctx, args)
        if command and name and not _HELP & set(arguments):
            _require_all(name)
        if command:
            _refuse_empty(click.Context(command, parent=ctx, info_name=name, **command.context_settings), arguments)
        return name, command, arguments

    def _own_help(self, ctx: click.Context) -> NoReturn:
        click.echo(ctx.get_help())
        ctx.exit()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of subcommands into the help."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _require_all(command: str) -> None:
    if command in _NEED_LINUX:
        require_linux(f"tacholog {command}")
    if command in EXTRAS:
        require(EXTRAS[command], f"tacholog {command}")


def _option_of(wanted: terminal.Verbosity, words: str) -> click.Option:
    def callback(_context: click.Context, _parameter: click.Parameter, is_set: bool) -> None:
        if is_set:
            terminal.set_verbosity(wanted)

    return click.Option([f"-{wanted.value[0]}", f"--{wanted.value}"], is_flag=True, expose_value=False, callback=callback, help=words)


_VERBOSITY = [
    _option_of(terminal.Verbosity.QUIET, "Print only results and errors."),
    _option_of(terminal.Verbosity.VERBOSE, "Print more: which logs are read, and every run of an import."),
]


def _refuse_empty(ctx: click.Context, args: Sequence[str]) -> None:
    """Refuse an empty value, which usually comes from a shell variable that is not set.

    The commands would treat it as a missing option or as the current folder. Arguments of another program may be empty.
    """
    values, _, _ = ctx.command.make_parser(ctx).parse_args(args=list(args))
    for parameter in ctx.command.params:
        value = values.get(parameter.name or "")
        if parameter.type is not click.UNPROCESSED and "" in (value if isinstance(value, list | tuple) else [value]):
            raise click.BadParameter("it is empty", ctx, parameter)


@click.group(cls=Commands, help=__doc__, context_settings={"help_option_names": sorted(_HELP, key=len), "color": True})
@click.version_option(None, "-V", "--version", package_name="tacholog", prog_name="tacholog")
def tacholog() -> None:
    """The group of all subcommands. It has no options of its own."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line. An error that the user can correct is printed as one line on stderr, with exit code 2.

    After Ctrl-C, the exit code is 130, after SIGTERM 143, and after its terminal was closed 129.
    """
    keep_freed_memory()
    exit_without_search()
    collect_rarely()
    terminal.set_verbosity(terminal.Verbosity.NORMAL)
    with terminal.guarded(), ending_in_order():
        _run(arguments)


def _run(arguments: Sequence[str] | None) -> None:
    try:
        try:
            tacholog.main(args=arguments, prog_name="tacholog", standalone_mode=True)
        finally:
            sys.stdout.flush()  # a full disk is reported here, and not by Python when it exits
    except TachologError as error:
        terminal.line(f"tacholog: {error}", err=True)
        sys.exit(USAGE)
    except BrokenPipeError:
        sys.stderr.close()  # the reader closed the pipe, as head does: this is not an error
        sys.exit(0)
    except MemoryError:
        terminal.line("tacholog: there is not enough memory for this", err=True)
        sys.exit(USAGE)
    except OSError as error:
        path = error.filename2 or error.filename  # if a file could not be replaced, filename2 is its name
        advice = ". This must be a file, so move the directory away" if isinstance(error, IsADirectoryError) else ""
        nameless = "the current folder" if isinstance(error, FileNotFoundError) else "cannot write"
        terminal.line(f"tacholog: {path or nameless}: {error.strerror or error}{advice}", err=True)
        _give_up_output()
        sys.exit(USAGE)


def _give_up_output() -> None:
    """Drop the remaining output if it cannot be written. Otherwise Python would try again when it exits, and print a second error."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
