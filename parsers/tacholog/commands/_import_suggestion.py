"""What ``tacholog import`` shows where no pattern was given: what a folder looks like, and the command to type."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from tacholog import terminal
from tacholog.commands.shared.listing import counted
from tacholog.errors import UnreadableInput
from tacholog.runs.importing.rules import read_rules
from tacholog.runs.importing.suggestion import Suggestion, suggest
from tacholog.runs.importing.survey import NOT_LOGS, is_log, list_files

_PATTERNS_SHOWN = 3
_VALUES_SHOWN = 4


def show_suggestion(folder: Path, data: Path | None, settings: Sequence[str] = (), ignore: Sequence[str] = ()) -> None:
    """Print what the paths of the logs have in common, and the command that would import them.

    Raises:
        UnreadableInput: there is no log.
    """
    rules = read_rules((), None, settings, ignore)
    listed = list_files(folder, data)
    files = [path for path in listed.files if not rules.is_ignored(path) and not path.endswith(NOT_LOGS)]
    logs = [path for path in files if is_log(folder, path)]
    if not logs:
        there = f"; {counted(len(listed.run_folders), 'folder')} with a run.toml hold runs already" if listed.run_folders else ""
        raise UnreadableInput(f"{folder}: no log of a known format in this folder{there}")
    others = len(files) - len(logs)
    click.echo(f"{counted(len(logs), 'log')} of known formats, {counted(others, 'other file')}")
    click.echo("Nothing was imported: --map must say what the paths mean.")
    found = suggest(logs)[:_PATTERNS_SHOWN]
    if not found:
        click.echo("No pattern was found that fits their paths. Write one: tacholog import --help names the fields.")
        return
    fitting = sum(len(one.paths) for one in found)
    words = "this pattern fits" if len(found) == 1 else "these patterns fit"
    click.echo(f"From the paths alone, {words} {fitting} of {counted(len(logs), 'log')}:\n")
    terminal.line("  " + command(folder, data, found, settings, ignore))
    click.echo()
    for one in found:
        terminal.line(f"{one.pattern} fits {counted(len(one.paths), 'log')}, such as {one.paths[0]}")
    labels: dict[str, list[str]] = {}
    for name, value in ((name, value) for one in found for name, values in one.labels.items() for value in values):
        labels[name] = list(dict.fromkeys([*labels.get(name, []), value]))
    for name, values in labels.items():
        shown = ", ".join(values[:_VALUES_SHOWN]) + (f" and {len(values) - _VALUES_SHOWN} more" if len(values) > _VALUES_SHOWN else "")
        terminal.line(f"rename {name}: it is {shown}")


def import_command(folder: Path, logs: Sequence[str] | None = None) -> str | None:
    """Return the command that imports a folder of logs, with patterns made from the paths; ``None`` if there are no logs, or no pattern fits.

    Args:
        folder: the folder.
        logs: the paths of its logs below it; if not given, they are looked for.
    """
    found = [path for path in list_files(folder).files if not path.endswith(NOT_LOGS) and is_log(folder, path)] if logs is None else logs
    patterns = suggest(found)[:_PATTERNS_SHOWN]
    return command(folder, None, patterns) if patterns else None


def command(folder: Path, data: Path | None, found: Sequence[Suggestion], settings: Sequence[str] = (), ignore: Sequence[str] = ()) -> str:
    """Return the command that imports a folder with the suggested patterns, as one types it."""
    words = ["tacholog", "import", str(folder), "--to", str(data or "DATA")]
    words += [word for one in found for word in ("--map", one.pattern)]
    words += [word for setting in settings for word in ("--set", setting)] + [word for glob in ignore for word in ("--ignore", glob)]
    return " ".join([*map(shlex.quote, words), "--dry-run"])
