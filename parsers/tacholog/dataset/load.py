"""From folders of runs, or from raw logs, to a dataset.

The logs are the only source. A dataset can be rebuilt from them at any time and is never committed. A file, a line or a run that cannot be used costs
only itself, and becomes a row of ``problems``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from tacholog.dataset.clocks import clocks_of
from tacholog.dataset.frames import Dataset, Row, dataset
from tacholog.dataset.logs import Limits, LoadedLog, Progress, Reading
from tacholog.dataset.quality import RunContext, best_goodput, judge, mark_growing, mark_republished
from tacholog.dataset.rows import result_rows, run_ending, run_row
from tacholog.errors import UnreadableInput
from tacholog.formats.reading import Scan
from tacholog.formats.source import open_log
from tacholog.runs.disturbance import exceeded
from tacholog.runs.host import stated_host
from tacholog.runs.manifest import HOSTS_FOLDER, RUN_FILE, Host, LogFile, Manifest, folders_below, read_host, read_manifest
from tacholog.runs.problems import UNREADABLE, add_unlisted_folder, forgotten, no_files, problem, unlisted_files, utf8
from tacholog.runs.stated import options_apart
from tacholog.schema.conditions import Conditions, StatedConditions
from tacholog.schema.records import Facts, number_in
from tacholog.schema.tables import TABLES

_REASONS_SHOWN = 3


def load(roots: Sequence[Path], limits: Limits | None = None, progress: Progress | None = None) -> Dataset:
    """Read every run below the given folders.

    A run's id is its folder's path below its root. Hosts are read from ``hosts/`` in a root and in any folder above a run.

    Args:
        roots: the folders; runs are looked for in all folders below them.
        limits: how much of one log is read; ``None``: all of it.
        progress: is told which log is being read, and how far.

    Raises:
        UnreadableInput: a root is no folder, or two roots hold the same run.
    """
    rows: dict[str, list[Row]] = {name: [] for name in TABLES}
    hosts: dict[str, Host] = {}
    seen: dict[str, Path] = {}
    # All hosts are read before the first run: a run's marks depend on the processors of its host, and "hosts" is not the first folder in order.
    for root in roots:
        if not root.is_dir():
            raise UnreadableInput(f"{root}: no such folder")
        for folder, files in folders_below(root, partial(add_unlisted_folder, root, rows["problems"])):
            if folder.name == HOSTS_FOLDER:
                _load_hosts(folder, files, hosts, rows["problems"])
            if RUN_FILE not in files:
                rows["problems"].extend((*no_files(folder), *forgotten(root, folder, files)))
                continue
            run = folder.relative_to(root).as_posix()
            if run in seen:
                raise UnreadableInput(f"{folder}: the run {run} is in {seen[run]} too")
            seen[run] = folder
    for run, folder in seen.items():
        _load_run(run, folder, rows, hosts, Reading(limits, progress))
    mark_growing(rows["results"])
    mark_republished(rows["results"], {row["run"]: (row["system"], row["release"]) for row in rows["runs"] if row["published"] and row["release"]})
    return dataset(rows, hosts)


def load_logs(paths: Sequence[Path], left_out: Sequence[Row] = (), *, skip_unreadable: bool = False) -> Dataset:
    """Read raw logs that have no manifest.

    Each log is a run of its own. Its system is the one that its format measures, and its host is the machine that the log states.

    Args:
        paths: the logs.
        left_out: rows of ``problems`` about what lies beside the logs and is no log.
        skip_unreadable: whether a log that cannot be read becomes a row of ``problems``, as long as another one can be read. A folder of logs may
            hold other files too. A file that the user named must be readable.

    Raises:
        UnreadableInput: a log cannot be opened, or its format is not known; with ``skip_unreadable``: none of the logs can be read.
    """
    rows: dict[str, list[Row]] = {name: [] for name in TABLES}
    rows["problems"].extend(left_out)
    hosts: dict[str, Host] = {}
    skipped: list[Row] = []
    for path in paths:
        try:
            manifest = _assumed_manifest(path)
        except UnreadableInput as error:
            if not skip_unreadable:
                raise
            skipped.append(problem("", path.name, 0, UNREADABLE, "", str(error)))
            continue
        (log,) = _load_logs_of(manifest, path.as_posix(), path.parent, rows, Reading(named_by_user=True))
        rows["runs"][-1]["system"] = log.facts.system or manifest.system
        machine = stated_host(log.facts.environment)
        hosts |= machine
        rows["runs"][-1]["host"] = next(iter(machine), None)
    if skipped and not rows["runs"]:
        more = f"; and {len(skipped) - _REASONS_SHOWN} more files" if len(skipped) > _REASONS_SHOWN else ""
        raise UnreadableInput("; ".join(row["reason"] for row in skipped[:_REASONS_SHOWN]) + more)
    rows["problems"].extend(skipped)
    mark_growing(rows["results"])
    return dataset(rows, hosts)


def _assumed_manifest(path: Path) -> Manifest:
    """Return the manifest of a log that has none: its system is the one that its format measures.

    Raises:
        UnreadableInput: the log cannot be opened, or its format is not known.
    """
    try:
        _check_name(path.as_posix())
        with open_log(path) as text, path.open("rb") as raw:
            module = Scan(text).format
            entry = LogFile(file=path.name, sha256=hashlib.file_digest(raw, "sha256").hexdigest())
    except UnreadableInput as error:
        raise UnreadableInput(f"{path}: {error}") from None
    return Manifest(system=module.SYSTEM, tool=module.TOOL, logs=(entry,))


def run_folders(root: Path) -> Iterator[Path]:
    """Yield every folder below ``root`` (itself included) that holds a ``run.toml``, sorted. Links are not followed."""
    return (folder for folder, files in folders_below(root) if RUN_FILE in files)


def _check_name(name: str) -> None:
    if utf8(name) != name:
        raise UnreadableInput(f"{utf8(name)}: the name is not valid UTF-8, so it cannot name a page; rename it")


def _load_hosts(folder: Path, files: Sequence[str], hosts: dict[str, Host], problems: list[Row]) -> None:
    for file in files:
        if not file.endswith(".toml"):
            continue
        try:
            _check_name(file)
            hosts[file.removesuffix(".toml")] = read_host(folder / file)
        except UnreadableInput as error:
            problems.append(problem("", file, 0, UNREADABLE, "", str(error)))


def _load_run(run: str, folder: Path, rows: dict[str, list[Row]], hosts: Mapping[str, Host], reading: Reading) -> None:
    try:
        _check_name(run)
        manifest = read_manifest(folder / RUN_FILE)
    except UnreadableInput as error:
        rows["problems"].append(problem(run, RUN_FILE, 0, UNREADABLE, "", str(error)))
        return
    _load_logs_of(manifest, run, folder, rows, reading, hosts.get(manifest.host or ""))
    rows["problems"].extend(unlisted_files(run, folder, manifest))


def _load_logs_of(
    manifest: Manifest, run: str, folder: Path, rows: dict[str, list[Row]], reading: Reading, host: Host | None = None
) -> list[LoadedLog]:
    """Read the logs of a manifest, and add the rows of its run to all tables."""
    logs = [LoadedLog(run, folder, manifest, entry, reading) for entry in manifest.logs]
    for log in logs:
        log.complete_from_manifest()
        rows["logs"].append(log.row())
        rows["problems"].extend(sorted(log.problems, key=lambda problem: int(problem["line"])))
    status, _ = run_ending(manifest, logs)
    clocks = clocks_of(manifest, partial(reading.open, folder))
    complete = [[(event, record, log.conditions(record, event.run)) for event, record in log.records] for log in logs]
    own = {conditions for log, records in zip(logs, complete, strict=True) if not log.is_of_processes for _, _, conditions in records}
    shared = _shared(own)
    complete = [
        [(event, record, shared.over(conditions)) for event, record, conditions in records] if log.is_of_processes else clocks.applied(records)
        for log, records in zip(logs, complete, strict=True)
    ]
    rows["problems"].extend(clocks.problems(run, [(log.entry.file, records) for log, records in zip(logs, complete, strict=True)]))
    best = best_goodput(record for records in complete for _, record, _ in records)
    for log, records in zip(logs, complete, strict=True):
        load, processors = _load_at_start(log.facts, manifest, host)
        context = RunContext(
            failed=status == "failed",
            clock_overhead_ns=log.facts.environment_number("clock_overhead_ns"),
            load=load,
            processors=processors,
            best_goodput_bit_per_s=best,
            is_disturbed=any(exceeded(manifest.environment, manifest.limits)),
            took_other_way=log.facts.environment.get("way_agrees") == "no",
        )
        for event, record, conditions in records:
            rows["results"].extend(result_rows(run, log.entry.file, event, judge(record, conditions, context), conditions))
        rows["histograms"].extend(row for row in log.histograms if row["basis"] != "one-way" or clocks.refusal is None)
    options = options_apart(manifest, [(record, conditions) for records in complete for _, record, conditions in records])
    rows["runs"].append(run_row(run, folder, manifest, logs, options))
    return logs


def _shared(found: Collection[Conditions]) -> Conditions:
    """Return the conditions that all results of a run have in common, without those that only say what a latency is."""
    names = [name for name in Conditions.__struct_fields__ if name not in ("basis", "definition")]
    values = {name: {getattr(conditions, name) for conditions in found} for name in names}
    return StatedConditions(**{name: next(iter(known)) for name, known in values.items() if len(known) == 1})


def _load_at_start(facts: Facts, manifest: Manifest, host: Host | None) -> tuple[float | None, float | None]:
    """Return the load average when the run began and the number of processors: of the log, else of the manifest and of the host file."""
    load, processors = facts.environment_number("load_start_load1"), facts.environment_number("host_cpus_online")
    if load is None:
        load = number_in(manifest.environment, "load1_before")
    if processors is None and host is not None:
        processors = number_in(host.cpu, "threads")
    return load, processors
