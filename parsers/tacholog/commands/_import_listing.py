"""The output of ``tacholog import``: the plan of an import, or, if no pattern was given, a suggested command."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import click
import msgspec

from tacholog import terminal
from tacholog.commands.shared.messages import ENDED_BADLY, counted
from tacholog.compare.comparable import CODES, asked, unknown
from tacholog.errors import UnreadableInput
from tacholog.runs.conditions import stated_conditions, with_stated_side
from tacholog.runs.importing.grouping import ImportedRun, by_variant
from tacholog.runs.importing.plan import ImportPlan, run_folder
from tacholog.runs.importing.rules import read_rules
from tacholog.runs.importing.suggestion import Suggestion, suggest
from tacholog.runs.importing.survey import NOT_LOGS, KindOfRecord, is_log, list_files, survey
from tacholog.runs.moments import has_zone
from tacholog.schema.conditions import CONDITIONS, Conditions
from tacholog.view.refusals import title_of

_PATTERNS_SHOWN = 3
_VALUES_SHOWN = 4
_SIDELESS = "log"
_NAMED = 3  # how many paths are listed for each reason, without --verbose
_VARIANTS_SHOWN = 60
_REASONS_SHOWN = 20
_SIZES_SHOWN = 4
_LARGEST_READ = 4 << 20  # in bytes; larger logs are not read to make a suggestion
_UNCHANGED = "nothing was changed: edit run.toml, or remove them and import again"
_HEADS = ("runs", "repetitions", "new", "logs", "format", "measured")
#: How the user can state a missing condition. The key is the code of the condition in comparisons.
_REMEDIES: Mapping[str, str] = {
    "batching": "--set batch_bytes=BYTES (0 if batching was off)",
    "qos": "--set reliability=VALUE (reliable or best-effort)",
    "basis": "--set basis=VALUE (rtt, rtt/2, one-way or pub-to-ack)",
    "acks": "--set acks=VALUE (all, 1, 0 or the word of the broker)",
    "load_mode": "--set load_mode=VALUE (max-rate or paced)",
    "payload_touched": "--set payload_touched=VALUE (none, write or write+read)",
    "offered_rate": "--set offered_rate_per_s=NUMBER",
    "recovery_time": "--set recovery_time_ns=NUMBER",
    "instances": "--set instances=NUMBER",
    "harness_major": "--set tool_version=VERSION",
    "data_path": "--set data_path=VALUE (copy, zero-copy, pointer or flat-data)",
    "transport": "--set transport=NAME",
    "metric_def": "no option can state it, because the format does not define this metric",
    "message size": "{payload_bytes} in the pattern if the paths state it, or --set payload_bytes=BYTES if all logs have the same size",
    "machine": "--set host=NAME, or {host} in the pattern; describe the machine in hosts/NAME.toml (tacholog host describes this machine)",
}
#: The name of the condition that belongs to each code.
FIELDS: Mapping[str, str] = {code: name for name, code in CODES.items() if name in CONDITIONS}
_MACHINE = ("cpu_model", "cores_smt", "memory", "nic", "mtu", "host")


def show_suggestion(folder: Path, data: Path | None, settings: Sequence[str] = (), ignore: Sequence[str] = ()) -> None:
    """Print patterns that fit the paths of the logs, and the command that imports the logs with these patterns.

    Raises:
        UnreadableInput: the folder contains no log.
    """
    rules = read_rules((), None, settings, ignore)
    listed = list_files(folder, data)
    files = [path for path in listed.files if not rules.is_ignored(path) and not path.endswith(NOT_LOGS)]
    logs = [path for path in files if is_log(folder, path)]
    if not logs:
        there = f"; {counted(len(listed.run_folders), 'folder')} with a run.toml already contain runs" if listed.run_folders else ""
        raise UnreadableInput(f"{folder}: no log of a known format in this folder{there}")
    others = len(files) - len(logs)
    click.echo(f"{counted(len(logs), 'log')} of known formats, {counted(others, 'other file')}")
    click.echo("Nothing was imported: --map must state what the paths mean.")
    suggestions = suggest(logs, partial(_stated_sizes, folder))[:_PATTERNS_SHOWN]
    if not suggestions:
        click.echo("No pattern was found that fits their paths. Write one: tacholog import --help names the fields.")
        return
    fitting = sum(len(suggestion.paths) for suggestion in suggestions)
    words = "this pattern fits" if len(suggestions) == 1 else "these patterns fit"
    click.echo(f"From the paths alone, {words} {fitting} of {counted(len(logs), 'log')}:\n")
    terminal.line("  " + command(folder, data, suggestions, settings, ignore))
    click.echo()
    for suggestion in suggestions:
        terminal.line(f"{suggestion.pattern} fits {counted(len(suggestion.paths), 'log')}, such as {suggestion.paths[0]}")
    fields: dict[str, list[str]] = {}
    for name, value in ((name, value) for suggestion in suggestions for name, values in suggestion.fields.items() for value in values):
        fields[name] = list(dict.fromkeys([*fields.get(name, []), value]))
    unnamed = {name for suggestion in suggestions for name in suggestion.unnamed}
    for name, values in fields.items():
        value_list = ", ".join(values[:_VALUES_SHOWN]) + (f" and {len(values) - _VALUES_SHOWN} more" if len(values) > _VALUES_SHOWN else "")
        other_name = (
            "; give it another name: that of a field, such as release, or a label of your own, such as label.plugin" if name in unnamed else ""
        )
        terminal.line(f"{name} is {value_list}{other_name}")


def import_command(folder: Path, logs: Sequence[str] | None = None) -> str | None:
    """Return the command that imports a folder of logs, with patterns made from the paths; ``None`` if there are no logs, or no pattern fits.

    Args:
        folder: the folder.
        logs: the paths of its logs, relative to the folder. By default, all logs in the folder are used.
    """
    if logs is None:
        logs = [path for path in list_files(folder).files if not path.endswith(NOT_LOGS) and is_log(folder, path)]
    suggestions = suggest(logs, partial(_stated_sizes, folder))[:_PATTERNS_SHOWN]
    return command(folder, None, suggestions) if suggestions else None


def _stated_sizes(folder: Path, path: str) -> frozenset[int]:
    try:
        if (folder / path).lstat().st_size > _LARGEST_READ:
            return frozenset()
        kinds = survey(folder, path).kinds
    except (OSError, UnreadableInput):
        return frozenset()
    return frozenset(kind.record.payload_bytes for kind in kinds if kind.record.payload_bytes is not None)


def command(folder: Path, data: Path | None, suggestions: Sequence[Suggestion], settings: Sequence[str] = (), ignore: Sequence[str] = ()) -> str:
    """Return the command that imports a folder with the suggested patterns, as the user types it."""
    words = ["tacholog", "import", str(folder), "--to", str(data or "DATA")]
    words += [word for suggestion in suggestions for word in ("--map", suggestion.pattern)]
    words += [word for setting in settings for word in ("--set", setting)] + [word for glob in ignore for word in ("--ignore", glob)]
    return " ".join([*map(shlex.quote, words), "--dry-run"])


_say = partial(terminal.remark, err=False)


def show_plan(plan: ImportPlan, *, dry_run: bool) -> None:
    """Print what the import will do with each file of a folder."""
    verbose = terminal.verbosity() == terminal.Verbosity.VERBOSE
    _show_runs(plan, verbose=verbose)
    _show_order(plan)
    prefixed = ((log.survey.prefix, log.path) for run in plan.runs for log in run.logs if log.survey.prefix)
    for words, paths in _grouped(prefixed):
        _say(f"{counted(len(paths), 'log')}: each line begins with {words}, which was taken off: {_some(paths, verbose)}")
    _show_present(plan)
    for name in plan.unused:
        _say(f"--set {name} is not used, because the paths or rules of all logs state this field")
    for sentence, folders in _grouped((sentence, run_folder(run)) for run in plan.runs for sentence in run.overruled):
        _say(f"{sentence}: {counted(len(folders), 'run')}: {_some(folders, verbose)}")
    if plan.contradictions:
        _say("some values contradict the logs; the values in the logs are used, and get a mark:")
        for text, paths in _first_groups(((entry.text, entry.path) for entry in plan.contradictions), verbose=verbose):
            _say(f"  {counted(len(paths), 'log')}: {text}: {_some(paths, verbose)}")
    _show_same_rows(plan.runs, verbose=verbose)
    _show_missing(plan.runs)
    _show_endings(plan.runs, verbose=verbose)
    refused = [(problem.reason, problem.path) for problem in (*plan.refused, *plan.decisions.problems)]
    refused += [("no pattern fits the path of this log", path) for path in plan.unmatched]
    for reason, paths in _first_groups(refused, verbose=verbose, err=True):
        several = f"{counted(len(paths), 'file')}: {reason}: {_some(paths, verbose)}"
        terminal.line(f"tacholog: not imported: {several if len(paths) > 1 else f'{paths[0]}: {reason}'}", err=True)
    if plan.left_alone:
        _say(f"{counted(len(plan.left_alone), 'other file')} left alone, because no pattern and no format fits: {_some(plan.left_alone, verbose)}")
    if plan.run_folders:
        _say(f"{counted(len(plan.run_folders), 'folder')} with a run.toml left alone: {_some(plan.run_folders, verbose)}")
    if dry_run:
        _say("dry run: nothing was written")


def _show_runs(plan: ImportPlan, *, verbose: bool) -> None:
    new = {run_folder(run) for run in plan.decisions.new}
    variants = by_variant(sorted(plan.runs, key=lambda run: (run.folder, run.repetition)))
    logs = sum(len(run.logs) for run in plan.runs)
    _say(f"{counted(len(plan.runs), 'run')} of {counted(logs, 'log')}, {len(new)} of them new")
    if verbose:
        for run in plan.runs:
            _say(run_folder(run) + ("" if run_folder(run) in new else "  (already there)"))
            for log, entry in zip(run.logs, run.manifest.logs, strict=True):
                words = (entry.side, entry.participant, log.survey.format or "no results")
                _say(f"    {log.path}  {', '.join(word for word in words if word)}")
        return
    rows = [_HEADS, *(_row(folder, runs, new) for folder, runs in [*variants.items()][:_VARIANTS_SHOWN])]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADS))]
    for row in rows if plan.runs else ():
        _say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    if len(variants) > _VARIANTS_SHOWN:
        _say(f"and {len(variants) - _VARIANTS_SHOWN} more; --verbose lists every run")


def _row(folder: str, runs: Sequence[ImportedRun], new: set[str]) -> tuple[str, ...]:
    logs = [(log, entry) for run in runs for log, entry in zip(run.logs, run.manifest.logs, strict=True)]
    sides = Counter(entry.side or _SIDELESS for _, entry in logs)
    formats = dict.fromkeys(log.survey.format or "not read" for log, _ in logs)
    return (
        folder,
        _as_ranges([run.repetition for run in runs]),
        str(sum(run_folder(run) in new for run in runs)),
        ", ".join(counted(count, side) if side == _SIDELESS else f"{count} {side}" for side, count in sorted(sides.items())),
        ", ".join(formats),
        _measured((kind, stated_conditions(run.manifest).payload_bytes) for run in runs for log in run.logs for kind in log.survey.kinds),
    )


def _as_ranges(numbers: Sequence[int]) -> str:
    ranges: list[list[int]] = []
    for number in sorted({*numbers}):
        if ranges and ranges[-1][-1] == number - 1:
            ranges[-1] = [ranges[-1][0], number]
        else:
            ranges.append([number])
    return ", ".join(" to ".join(map(str, ends)) for ends in ranges)


def _measured(kinds: Iterable[tuple[KindOfRecord, int | None]]) -> str:
    """Return text such as ``latency (64, 1024 bytes)``.

    ``kinds`` contains kinds of records, each with the size that its path or rule states.
    """
    sizes: dict[str, set[int]] = defaultdict(set)
    for kind, stated_size in kinds:
        size = stated_size if kind.record.payload_bytes is None else kind.record.payload_bytes
        sizes[kind.record.test] |= {size} if size is not None else set()
    return ", ".join(f"{test}{_size_words(sorted(sizes_of_test))}" for test, sizes_of_test in sorted(sizes.items())) or "nothing"


def _size_words(sizes: Sequence[int]) -> str:
    if len(sizes) > _SIZES_SHOWN:
        return f" ({len(sizes)} sizes, {sizes[0]} to {sizes[-1]} bytes)"
    return f" ({', '.join(map(str, sizes))} bytes)" if sizes else ""


def _show_order(plan: ImportPlan) -> None:
    none_stated = "no path states a repetition: {} were numbered in the order of "
    for order, words in (
        ("start time", f"{none_stated}the start times in the logs"),
        ("name", f"{none_stated}the names of the logs, because not all logs state when they started"),
        ("start time and repetition", "the paths state the same repetitions at several start times: {} were numbered in the order of both"),
    ):
        folders = [folder for folder, order_of_folder in plan.order.items() if order_of_folder == order]
        if folders:
            where = "all runs" if len(folders) == len({run.folder for run in plan.runs}) else f"the runs of {_some(folders, verbose=False)}"
            _say(words.format(where))
    numbered_folders = {run.folder for run in plan.runs if not run.is_counted}
    if counted_runs := [run for run in plan.runs if run.is_counted and run.folder in numbered_folders]:
        names = _some([f"{run.logs[0].path} ({run.repetition})" for run in counted_runs], verbose=False)
        _say(f"{counted(len(counted_runs), 'run')} whose path states no repetition got a number that no other run has: {names}")


def _show_present(plan: ImportPlan) -> None:
    renamed = [folder for run, folder in plan.decisions.present if folder != run_folder(run)]
    if renamed:
        _say(f"{counted(len(renamed), 'run')} already there under another name: {_some(renamed, verbose=False)}; {_UNCHANGED}")
    for fields, folders in _grouped((", ".join(names), folder) for folder, names in plan.decisions.relabelled):
        _say(f"{counted(len(folders), 'run')} already there with other values of {fields}: {_some(folders, verbose=False)}; {_UNCHANGED}")


def _show_endings(runs: Sequence[ImportedRun], *, verbose: bool) -> None:
    bad = [(str(log.survey.status), log.path) for run in runs for log in run.logs if log.survey.status in ENDED_BADLY and log.fields.results]
    for status, paths in _grouped(bad):
        is_single = len(paths) == 1
        words = {
            "empty": "without any result",
            "failed": "of a failed run" if is_single else "of failed runs",
            "truncated": f"cut off before {'its' if is_single else 'their'} end",
        }[status]
        _say(f"{counted(len(paths), 'log')} {words}: {_some(paths, verbose)}")
    doubtful = [(log.path, log.survey.bad_lines) for run in runs for log in run.logs if log.survey.bad_lines]
    if doubtful:
        count = counted(sum(lines for _, lines in doubtful), "broken or unknown line")
        paths = [path for path, _ in doubtful]
        _say(f"{count} in {counted(len(paths), 'log')}, which tacholog parse shows: {_some(paths, verbose)}")


def _show_same_rows(runs: Iterable[ImportedRun], *, verbose: bool) -> None:
    duplicates = []
    for run in runs:
        rows: dict[object, str] = {}
        for log, entry in zip(run.logs, run.manifest.logs, strict=True):
            keys = {(with_stated_side(kind.record, entry), kind.conditions) for kind in log.survey.kinds if kind.metrics}
            if any(rows.setdefault(row, log.path) != log.path for row in keys):
                duplicates.append(log.path)
    if duplicates:
        words = "the same results as another log of the run; the median of both logs is used, unless a rule with results = false leaves one out"
        _say(f"{counted(len(duplicates), 'log')} with {words}: {_some(duplicates, verbose)}")


def _show_missing(runs: Sequence[ImportedRun]) -> None:
    logs: dict[tuple[str, str], set[str]] = defaultdict(set)
    values_in_other_logs: dict[str, set[object]] = defaultdict(set)
    for run in runs:
        for log in run.logs:
            for code, test in ((code, kind.record.test) for kind in log.survey.kinds for code in missing(kind, run)):
                logs[code, test].add(log.path)
                values_in_other_logs[code] |= {getattr(other.survey.facts.conditions, FIELDS.get(code, ""), None) for other in run.logs}
    if logs:
        _say("not stated, although comparisons need it:")
    for code in dict.fromkeys(code for code, _ in logs):
        tests = sorted(test for other, test in logs if other == code)
        count = len(set().union(*(paths for (other, _), paths in logs.items() if other == code)))
        values = [str(value) for value in values_in_other_logs[code] - {None}]
        hint = f" (other logs of these runs state {FIELDS[code]} = {' and '.join(sorted(values))})" if values else ""
        remedy = _REMEDIES.get(code, f"--set {FIELDS.get(code, code)}=VALUE")
        if code == "load_mode" and "latency" in tests:  # most latency tests send a message only after the answer to the previous message
            others = "" if tests == ["latency"] else " for latency; max-rate or paced for the other tests"
            remedy = f"--set load_mode=VALUE (closed or open{others})"
        _say(f"  {title_of(code)}, in {counted(count, 'log')} of {' and '.join(tests)}: {remedy}{hint}")
    _show_undated(runs)


def _show_undated(runs: Sequence[ImportedRun]) -> None:
    without_zone = [run_folder(run) for run in runs if (time := _start_of(run)) and not has_zone(time)]
    if without_zone:
        words = "a start time without a time zone, which is taken as UTC; if this is wrong, write the time with its zone into run.toml"
        _say(f"{counted(len(without_zone), 'run')} with {words}: {_some(without_zone, verbose=False)}")
    repeated = [run for members in by_variant(runs).values() if len(members) > 1 for run in members]
    undated = [run for run in repeated if not _start_of(run)]
    if undated:
        _say(
            f"{counted(len(undated), 'repeated run')} state no start time, so tacholog diff will not call any change better or worse: "
            "put {start_time} into the pattern, take the dates of the files with --times-from-files, "
            'or write start_time = "2026-01-31T12:00:00Z" into the run.toml of each run'
        )
    elif any(run.manifest.session is None for run in repeated):
        count = sum(run.manifest.session is None for run in repeated)
        _say(
            f"{counted(count, 'repeated run')} state{'s' if count == 1 else ''} no session: "
            "use --set session=NAME if all runs are from one session, or put {session} into the pattern"
        )


def _start_of(run: ImportedRun) -> str | None:
    return run.manifest.start_time or next((log.survey.facts.start_time for log in run.logs if log.survey.facts.start_time), None)


def missing(kind: KindOfRecord, run: ImportedRun) -> Iterator[str]:
    """Yield the code of each missing condition: comparisons of releases need it, but neither the log nor the manifest of these records states it."""
    manifest = stated_conditions(run.manifest)
    if kind.metrics and kind.record.payload_bytes is None and manifest.payload_bytes is None:
        yield "message size"
    logged = next((log.survey.facts.tool_version for log in run.logs if log.survey.facts.tool_version), None)
    loads = frozenset({log.survey.facts.conditions.load_mode for log in run.logs} - {None})
    version = run.manifest.tool_version or logged
    codes = _unknown_codes(kind.conditions.over(manifest), kind.metrics, kind.record.test, version, run.manifest.host, loads)
    yield from (code for code in codes if code not in _MACHINE)
    if run.manifest.host is None and any(code in _MACHINE for code in codes):  # runs on one host count as runs on one machine
        yield "machine"


@lru_cache(maxsize=4096)  # cached, because many records have the same arguments
def _unknown_codes(
    conditions: Conditions, metrics: frozenset[str], test: str, version: str | None, host: str | None, loads: frozenset[str]
) -> tuple[str, ...]:
    codes: dict[str, None] = {}
    for metric in sorted(metrics):
        row: dict[str, Any] = {**dict.fromkeys(asked("diff", metric)), **msgspec.structs.asdict(conditions), "metric": metric, "test": test}
        row |= {"harness_major": version, "host": host}
        codes |= dict.fromkeys(unknown(row, "diff"))
        # Another log of the run may state the load mode. Then further conditions may be needed.
        codes |= dict.fromkeys(code for load in loads if row["load_mode"] is None for code in unknown({**row, "load_mode": load}, "diff"))
    return tuple(codes)


def _first_groups(pairs: Iterable[tuple[str, str]], *, verbose: bool, err: bool = False) -> Iterator[tuple[str, list[str]]]:
    """Yield each key of the pairs with all its values. Without ``verbose``, yield only the first keys, and print how many files the rest has."""
    groups = _grouped(pairs)
    yield from groups if verbose else groups[:_REASONS_SHOWN]
    if len(groups) > _REASONS_SHOWN and not verbose:
        words = f"and {counted(sum(len(paths) for _, paths in groups[_REASONS_SHOWN:]), 'more file')}; --verbose lists them"
        (partial(terminal.line, err=True) if err else _say)(words)


def _grouped(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return [*groups.items()]


def _some(names: Sequence[str], verbose: bool) -> str:
    listed = names if verbose else names[:_NAMED]
    return ", ".join(listed) + (f" and {len(names) - len(listed)} more" if len(names) > len(listed) else "")
