"""Make runs from existing logs, whose paths state what was measured.

The pattern after --map states what the path of a log below DIR means: '{release}/{label.plugin}/test-{repetition}/perf-{role}{participant}.log'. Logs
that differ only in role and participant become one run. To import several folders, name the folder that contains them. Without --map and --rules,
nothing is imported: a pattern is suggested.

Logs are copied and never changed. Runs that were imported before are not changed, so the same command can be repeated when there are more logs.
DIR may also be a history of github-action-benchmark (data.js): each of its entries becomes a run, and its commit becomes the release.

docs/import.md explains the fields, the rules file, and which value is used if several are stated.

Exit code 2: wrong usage, or a file that may be a log was not imported. It is named, and all other logs were imported.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from tacholog import terminal
from tacholog.commands.shared.arguments import Folder
from tacholog.commands.shared.messages import UNREADABLE_EXIT, Progress, counted
from tacholog.errors import TachologError, UnreadableInput
from tacholog.runs.manifest import HOSTS_FOLDER

if TYPE_CHECKING:
    from tacholog.runs.importing.grouping import ImportedRun
    from tacholog.runs.importing.rules import Rules
    from tacholog.runs.importing.survey import Problem


def _single_folder(context: click.Context, parameter: click.Parameter, paths: tuple[str, ...]) -> Path:
    """Return the only folder. If there are several, say how to import them, and how to name the data folder: users type one or the other."""
    if len(paths) > 1:
        raise click.UsageError(
            f"import reads one folder, and {len(paths)} are named. To import several folders, name the folder that contains them. "
            "Name the data folder with --to DATA"
        )
    return Folder(exists=True, or_file=True).convert(paths[0], parameter, context)


@click.command("import", help=__doc__)
@click.argument("folder", metavar="DIR", nargs=-1, required=True, callback=_single_folder)
@click.option("--to", "data", metavar="DATA", type=Folder(), help="The data folder for the runs. It is made if it does not exist.")
@click.option(
    "--map", "maps", metavar="PATTERN", multiple=True, help="What the path of a log means. May be repeated; the first pattern that fits is used."
)
@click.option(
    "--rules",
    "rules_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Rules (TOML): more patterns, with fields for the logs that they fit.",
)
@click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    help="Set a field, such as release or start_time, for all logs whose path and rule do not state it. May be repeated.",
)
@click.option(
    "--facts",
    metavar="FILE",
    help="A file beside each log that states its conditions (JSON, TOML or YAML), as in '{folder}/experiment_config.json'.",
)
@click.option("--ignore", metavar="GLOB", multiple=True, help="Leave files alone, as in '*.png' or 'old/*'. May be repeated.")
@click.option("--link", is_flag=True, help="Make hard links instead of copies. Then a change of the original log also changes the evidence.")
@click.option(
    "--times-from-files",
    is_flag=True,
    help="If nothing else states when a run began, take the modification time of its log. run.toml and the pages then say so.",
)
@click.option("--dry-run", is_flag=True, help="Only show what would be imported.")
def import_(
    *,
    folder: Path,
    data: Path | None,
    maps: tuple[str, ...],
    rules_file: Path | None,
    settings: tuple[str, ...],
    facts: str | None,
    ignore: tuple[str, ...],
    link: bool,
    times_from_files: bool,
    dry_run: bool,
) -> None:
    """Plan the import, show the plan, and write the runs."""
    from tacholog.commands._import_listing import show_suggestion
    from tacholog.runs.importing.facts import SidecarFacts
    from tacholog.runs.importing.rules import read_rules

    is_history = folder.is_file()
    if is_history and (maps or rules_file or facts or link or times_from_files):
        raise click.UsageError("a history already states releases and times: use only --to, --set and --dry-run with it")
    if not is_history and not maps and rules_file is None:
        show_suggestion(folder, data, settings, ignore)
        sys.exit(UNREADABLE_EXIT)
    if data is None and not dry_run:
        raise click.UsageError("--to DATA is missing: the data folder for the runs (or --dry-run, to see what would be imported)")
    rules = read_rules(maps, rules_file, settings, ignore)
    if is_history:
        _import_history(folder, data, rules, dry_run=dry_run)
        return
    if facts is not None:
        rules = rules._replace(facts=SidecarFacts(folder, facts))
    _import_folder(folder, data, rules, link=link, times_from_files=times_from_files, dry_run=dry_run)


def _import_history(file: Path, data: Path | None, rules: Rules, *, dry_run: bool) -> None:
    from tacholog.runs.importing.history import split_history

    with TemporaryDirectory(prefix="tacholog-") as split:
        history = split_history(file, Path(split))
        if not history.entries:
            raise UnreadableInput(f"{file}: the history has no entry")
        suites = counted(len(history.suites), "suite")
        terminal.remark(f"{counted(history.entries, 'measurement')} in {suites}: each becomes a log, and its commit becomes its release", err=False)
        _import_folder(Path(split), data, history.rules(rules), dry_run=dry_run)


def _import_folder(
    folder: Path, data: Path | None, rules: Rules, *, link: bool = False, times_from_files: bool = False, dry_run: bool = False
) -> None:
    from tacholog.commands._import_listing import import_command, show_plan
    from tacholog.runs.importing.plan import plan_import

    plan = plan_import(folder, data, rules, Progress(), times_from_files=times_from_files)
    show_plan(plan, dry_run=dry_run)
    if rules.facts and (missing := sorted(rules.facts.missing)):
        some = f"{missing[0]}{', ...' if missing[1:] else ''}"
        terminal.remark(f"{counted(len(missing), 'file')} of facts not found, so these logs have no facts: {some}", err=False)
    if data:
        _mention_undescribed_hosts(plan.runs, data)
    complete = plan.is_complete
    if data and not dry_run:
        complete &= _write(folder, data, plan.decisions.new, link=link)
    if plan.unmatched and not plan.runs and (command := import_command(folder, plan.unmatched)):
        terminal.line(f"a pattern that fits their paths: {command}", err=True)
    if not plan.runs and complete:
        raise UnreadableInput(f"{folder}: no log was found whose path fits a pattern")
    if not complete:
        sys.exit(UNREADABLE_EXIT)


def _mention_undescribed_hosts(runs: Sequence[ImportedRun], data: Path) -> None:
    named = {run.manifest.host for run in runs if run.manifest.host} - {host for run in runs for host in run.hosts}
    for host in sorted(named):
        path = data / HOSTS_FOLDER / f"{host}.toml"
        if not path.exists():
            terminal.remark(f"describe the host {host} in {path}; on that machine, tacholog host prints its description", err=False)


def _write(root: Path, data: Path, runs: Sequence[ImportedRun], *, link: bool) -> bool:
    """Return whether all runs were written."""
    from tacholog.runs.importing.writing import remove_leftovers, staging, write_hosts, write_run

    written = 0
    problems: list[Problem] = []
    try:
        remove_leftovers(data)
        if runs:
            with staging(data) as stage:
                hosts = write_hosts(data, runs)
                for run in runs:
                    problem = write_run(root, data, stage, run, link=link)
                    written += problem is None
                    problems += [problem] if problem else []
            if hosts:
                terminal.remark(f"described by their logs: {', '.join(f'{data / HOSTS_FOLDER / host}.toml' for host in hosts)}", err=False)
    except TachologError as error:
        raise TachologError(f"{error}; {counted(written, 'run')} of {len(runs)} imported, each of them completely") from error
    for problem in problems:
        terminal.line(f"tacholog: not imported: {problem}", err=True)
    click.echo(f"{counted(written, 'run')} imported to {data}")
    return not problems
