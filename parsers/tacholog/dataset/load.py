"""From run folders to tables: manifests and logs in, pandas frames out, Parquet on disk.

The logs are the only source; a dataset can be rebuilt from them at any time and is never committed. A file, a line or a run that cannot be used costs
only itself and becomes a row of ``problems``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import msgspec

from tacholog.dataset.quality import RunContext, best_goodput, judge, mark_growing, mark_republished
from tacholog.errors import UnreadableInput
from tacholog.evidence import open_evidence
from tacholog.extras import require
from tacholog.formats.kit.lines import Broken
from tacholog.formats.reading import Account, Event, Scan
from tacholog.formats.source import LogText, open_log
from tacholog.runs.host import stated_host
from tacholog.runs.manifest import HOSTS_FOLDER, RUN_FILE, Host, LogFile, Manifest, folders_below, read_host, read_manifest
from tacholog.runs.problems import ALTERED, CONTRADICTED, UNREADABLE, add_unlisted_folder, forgotten, no_files, problem, unlisted_files, utf8
from tacholog.runs.stated import Contradiction, contradictions, options_apart, sized, stated
from tacholog.schema.records import METRICS, SEVERITY, Conditions, Facts, Histogram, Record, StatedConditions, Status

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]
TABLES = ("runs", "logs", "problems", "results", "histograms")
_CONDITION_FIELDS = Conditions.__struct_fields__
_BUILD = "perftest_git"  # the one tool whose log states the commit that it was built from


class Limits(NamedTuple):
    """How much of one log is read at most: a log with more costs its numbers, and is a problem that says so."""

    text_bytes: int
    numbers: int


#: Told what is being read, and how many more bytes of its text have been.
Progress = Callable[[str, int], object]


class Dataset(msgspec.Struct, frozen=True):
    """All that is known of a set of runs. Unknown is ``<NA>``.

    ``runs``: one row a run. ``logs``: one row a log, with the count of its lines by class. ``problems``: one row for each line or file that
    could not be used. ``results``: tidy, one row a number, in the units of `tacholog.schema.records.METRICS`. ``histograms``: one row a latency
    record that has one.
    """

    runs: pd.DataFrame
    logs: pd.DataFrame
    problems: pd.DataFrame
    results: pd.DataFrame
    histograms: pd.DataFrame
    hosts: dict[str, Host]

    def save(self, folder: Path) -> None:
        """Write the tables as Parquet files, and the hosts as JSON."""
        require("parquet", f"{folder}: saving a dataset")
        folder.mkdir(parents=True, exist_ok=True)
        for name in TABLES:
            getattr(self, name).to_parquet(folder / f"{name}.parquet", compression="zstd", index=False)
        (folder / "hosts.json").write_bytes(msgspec.json.encode(self.hosts, order="sorted"))


def open_saved(folder: Path, without: Collection[str] = (), *, as_categories: bool = False) -> Dataset:
    """Read what `Dataset.save` wrote, ``without`` columns of the results that the caller does not need.

    ``as_categories``: the text columns of the results name each word once, a million rows of text that says the same throughout take 15 MB a column.

    Raises:
        UnreadableInput: the folder holds no dataset.
    """
    import pandas as pd

    require("parquet", f"{folder}: reading a saved dataset")
    try:
        tables = {name: pd.read_parquet(folder / f"{name}.parquet") for name in TABLES if name != "results"}
        if "options" not in tables["runs"]:  # saved by version 0.3
            tables["runs"]["options"] = pd.Series(pd.NA, tables["runs"].index, dtype=_TEXT)
        tables["results"] = _results(folder / "results.parquet", without, as_categories=as_categories)
        hosts = msgspec.json.decode((folder / "hosts.json").read_bytes(), type=dict[str, Host])
    except OSError as error:
        raise UnreadableInput(f"{folder}: no dataset: {error.strerror or error}") from error
    return Dataset(**tables, hosts=hosts)


def _results(path: Path, without: Collection[str], *, as_categories: bool) -> pd.DataFrame:
    """The saved results. Rows with the same marks share them: an array for each of a million rows took half of the time, a quarter of the memory."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import parquet

    names = [name for name in parquet.read_schema(path).names if name not in ("marks", *without)]
    text = [name for name, dtype in _COLUMNS["results"].items() if dtype == _TEXT and name in names] if as_categories else []
    frame: pd.DataFrame = parquet.read_table(path, columns=names, read_dictionary=text).to_pandas()
    marks = parquet.read_table(path, columns=["marks"])["marks"].combine_chunks().cast(pa.list_(pa.string()))
    joined = pc.fill_null(pc.binary_join(marks, " "), "").dictionary_encode()
    sets = np.empty(len(joined.dictionary), object)
    for place, words in enumerate(joined.dictionary.to_pylist()):
        sets[place] = tuple(words.split())
    frame["marks"] = sets[joined.indices.to_numpy(zero_copy_only=False)]
    pa.default_memory_pool().release_unused()
    return frame


def load(roots: Sequence[Path], limits: Limits | None = None, progress: Progress | None = None) -> Dataset:
    """Read every run below the given folders.

    A run's id is its folder's path below its root. Hosts are read from ``hosts/`` in a root and in any folder above a run.
    ``limits`` says how much of a log is read at most, ``progress`` hears how far it is.

    Raises:
        UnreadableInput: a root is no folder, or two roots hold the same run.
    """
    rows: dict[str, list[Row]] = {name: [] for name in TABLES}
    hosts: dict[str, Host] = {}
    seen: dict[str, Path] = {}
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
            _load_run(run, folder, rows, _Reading(limits, progress))
    mark_growing(rows["results"])
    mark_republished(rows["results"], {row["run"]: (row["system"], row["release"]) for row in rows["runs"] if row["published"] and row["release"]})
    return Dataset(**{name: _frame(name, rows[name]) for name in TABLES}, hosts=hosts)


def load_logs(paths: Sequence[Path], left_out: Sequence[Row] = ()) -> Dataset:
    """Read raw logs that have no manifest: each is a run of its own, of the system that its format measures, on the machine that it states.

    ``left_out`` are the problems of what lies beside them and is no log.

    Raises:
        UnreadableInput: a log cannot be opened, or its format is not known.
    """
    rows: dict[str, list[Row]] = {name: [] for name in TABLES}
    rows["problems"].extend(left_out)
    hosts: dict[str, Host] = {}
    for path in paths:
        try:
            _check_name(path.as_posix())
            with open_log(path) as text, path.open("rb") as raw:
                module = Scan(text).format
                entry = LogFile(file=path.name, sha256=hashlib.file_digest(raw, "sha256").hexdigest())
        except UnreadableInput as error:
            raise UnreadableInput(f"{path}: {error}") from None
        manifest = Manifest(system=module.SYSTEM, tool=module.TOOL, logs=(entry,))
        (log,) = _load_manifest(path.as_posix(), path.parent, manifest, rows, _Reading(named_by_user=True))
        stated = stated_host(log.facts.environment)
        hosts |= stated
        rows["runs"][-1]["host"] = next(iter(stated), None)
    mark_growing(rows["results"])
    return Dataset(**{name: _frame(name, rows[name]) for name in TABLES}, hosts=hosts)


def run_folders(root: Path) -> Iterator[Path]:
    """Every folder below ``root`` (itself included) that holds a ``run.toml``, sorted; links are not followed."""
    return (folder for folder, files in folders_below(root) if RUN_FILE in files)


def _check_name(name: str) -> None:
    if utf8(name) != name:
        raise UnreadableInput(f"{utf8(name)}: the name is no UTF-8, so that no page can be called so; rename it")


def _load_hosts(folder: Path, files: Sequence[str], hosts: dict[str, Host], problems: list[Row]) -> None:
    for file in files:
        if not file.endswith(".toml"):
            continue
        try:
            _check_name(file)
            hosts[file.removesuffix(".toml")] = read_host(folder / file)
        except UnreadableInput as error:
            problems.append(problem("", file, 0, UNREADABLE, "", str(error)))


def _load_run(run: str, folder: Path, rows: dict[str, list[Row]], reading: _Reading) -> None:
    try:
        _check_name(run)
        manifest = read_manifest(folder / RUN_FILE)
    except UnreadableInput as error:
        rows["problems"].append(problem(run, RUN_FILE, 0, UNREADABLE, "", str(error)))
        return
    _load_manifest(run, folder, manifest, rows, reading)
    rows["problems"].extend(unlisted_files(run, folder, manifest))


def _load_manifest(run: str, folder: Path, manifest: Manifest, rows: dict[str, list[Row]], reading: _Reading) -> list[_LoadedLog]:
    loaded = [_LoadedLog(run, folder, manifest, entry, reading) for entry in manifest.logs]
    for log in loaded:
        log.hold_against_the_manifest()
        rows["logs"].append(log.row())
        rows["problems"].extend(sorted(log.problems, key=lambda problem: int(problem["line"])))
    status, reason = _status(manifest, loaded)
    rows["runs"].append(_run_row(run, folder, manifest, loaded, (status, reason)))
    records = [record for log in loaded for _, record in log.records]
    for log in loaded:
        context = RunContext(
            failed=status == "failed",
            clock_overhead_ns=log.environment("clock_overhead_ns"),
            load=log.environment("load_start_load1"),
            processors=log.environment("host_cpus_online"),
            best_goodput_bit_per_s=best_goodput(records),
        )
        for event, record in log.records:
            conditions = record.conditions.over(log.conditions(event.run))
            rows["results"].extend(_result_rows(run, log.entry.file, event, judge(record, conditions, context), conditions))
        rows["histograms"].extend(log.histograms)
    whole = [(record, record.conditions.over(log.conditions(event.run))) for log in loaded for event, record in log.records]
    rows["runs"][-1]["options"] = options_apart(manifest, whole)
    return loaded


class _Reading(NamedTuple):
    """How logs are read: how much of each, who hears of it, and whether their names are the user's own words or those of a manifest."""

    limits: Limits | None = None
    progress: Progress | None = None
    named_by_user: bool = False

    def open(self, folder: Path, name: str) -> BinaryIO:
        return (folder / name).open("rb") if self.named_by_user else open_evidence(folder, name)


class _LoadedLog:
    """One log of a run, read."""

    def __init__(self, run: str, folder: Path, manifest: Manifest, entry: LogFile, reading: _Reading) -> None:
        self.entry = entry
        self.records: list[tuple[Event, Record]] = []
        self.histograms: list[Row] = []
        self.problems: list[Row] = []
        self.account: Account | None = None
        self._run = run
        self._manifest = manifest
        self._stated = stated(manifest)
        self._format: str | None = entry.format
        self._reading, self._text_bytes, self._numbers = reading, 0, 0
        self._loss = UNREADABLE
        try:
            self._read(folder)
        except UnreadableInput as error:
            self.records.clear()  # A format that failed in the middle of a log is not trusted with its beginning.
            self.histograms.clear()
            self.problems.clear()
            self._complain(0, self._loss, "", str(error))

    def _read(self, folder: Path) -> None:
        with self._reading.open(folder, self.entry.file) as stream:
            if self._manifest.status not in (None, "ok"):
                self._loss = "failed"  # A run that failed may have left a file that is no log: its manifest has told that already.
            scan = Scan(LogText(stream, self._heard), self.entry.format)
            self._format = scan.format_name
            for event in scan:
                self._take(event)
        self.account = scan.account
        if self.account.sha256 != self.entry.sha256:
            self._complain(0, ALTERED, "", f"the log's SHA-256 is {self.account.sha256}, run.toml says {self.entry.sha256}")

    def _heard(self, count: int) -> None:
        """Hear that so many bytes of text are about to be read."""
        self._text_bytes += count
        limits = self._reading.limits
        if limits and self._text_bytes > limits.text_bytes:
            self._loss = UNREADABLE
            raise UnreadableInput(f"its text is longer than {limits.text_bytes / 1e6:g} MB, which is the limit here (log_text_mb): it was not read")
        if self._reading.progress:
            self._reading.progress(f"{self._run}/{self.entry.file}", count)

    def _add_record(self, event: Event, record: Record) -> None:
        self.records.append((event, record))
        self._numbers += len(record.numbers)
        limits = self._reading.limits
        if limits and self._numbers > limits.numbers:
            self._loss = UNREADABLE
            raise UnreadableInput(f"it holds more than {limits.numbers} numbers, which is the limit here (log_numbers): it was not read")

    def _take(self, event: Event) -> None:
        match event.what:
            case Record() as record:
                self._add_record(event, record)
            case Histogram() as histogram:
                self._add_histogram(histogram)
            case Broken() as broken:
                self._complain(event.line, "broken", event.text, broken.reason)
            case None if event.kind == "unknown":
                self._complain(event.line, "unknown", event.text, "no rule of the format knows this line")
            case _:
                pass

    def _add_histogram(self, histogram: Histogram) -> None:
        """Join the parts of one histogram, and hang it on the record before it."""
        line = self.records[-1][0].line if self.records else 0
        bins = [list(edges) for edges in histogram.bins]
        if self.histograms and self.histograms[-1]["line"] == line:
            self.histograms[-1]["bins"].extend(bins)
        else:
            self.histograms.append(
                {
                    "run": self._run,
                    "log": self.entry.file,
                    "line": line,
                    "payload_bytes": histogram.payload_bytes,
                    "basis": histogram.basis,
                    "bins": bins,
                }
            )

    def _complain(self, line: int, kind: str, text: str, reason: str) -> None:
        self.problems.append(problem(self._run, self.entry.file, line, kind, text, reason))

    def hold_against_the_manifest(self) -> None:
        """Fill in the size that the manifest states and the log does not, and say and mark what the two contradict each other in."""
        manifest = self._stated
        if manifest == StatedConditions():
            return
        known: dict[tuple[object, ...], list[Contradiction]] = {}  # many records share their conditions
        told: set[Contradiction] = set()
        for place, (event, record) in enumerate(self.records):
            key = (record.conditions, record.scope, record.payload_bytes if manifest.payload_bytes else None, event.run)
            if key not in known:
                known[key] = contradictions(record, self._said(event.run), manifest)
            found = known[key]
            for one in found:
                if one not in told:
                    self._complain(event.line, CONTRADICTED, "", str(one))
            told.update(found)
            full = sized(record, manifest)
            if found:
                numbers = tuple(msgspec.structs.replace(number, marks=(*number.marks, "contradicted")) for number in full.numbers)
                full = msgspec.structs.replace(full, numbers=numbers)
            self.records[place] = event, full

    def _said(self, run: int) -> Conditions:
        return self.account.conditions(run) if self.account else Conditions()

    @property
    def facts(self) -> Facts:
        """What the log says of its run; nothing if it could not be read."""
        return self.account.facts if self.account else Facts(status="failed", reason=f"{self.entry.file} cannot be read")

    def conditions(self, run: int) -> Conditions:
        """The conditions that a run of the log and the manifest state; the log, being the evidence, goes first."""
        return self._said(run).over(self._stated)

    def environment(self, name: str) -> float | None:
        """A number that the log states of the run's surroundings, if it does."""
        try:
            return float(self.facts.environment[name])
        except (KeyError, ValueError):
            return None

    def status(self) -> tuple[Status | None, str | None]:
        """How the log says that the run ended, if it does."""
        return (self.account.status, self.account.reason) if self.account else ("failed", self.facts.reason)

    def row(self) -> Row:
        """This log's row of ``logs``."""
        lines = self.account.lines if self.account else {}
        return {
            "run": self._run,
            "log": self.entry.file,
            "sha256": self.account.sha256 if self.account else None,
            "bytes": self.account.size_bytes if self.account else None,
            "format": self._format,
            "side": self.entry.side,
            "lines": self.account.total if self.account else None,
            "records": lines.get("record", 0),
            "chatter": lines.get("chatter", 0),
            "broken": lines.get("broken", 0),
            "unknown": lines.get("unknown", 0),
            "status": self.status()[0],
        }


def _status(manifest: Manifest, logs: Sequence[_LoadedLog]) -> tuple[Status | None, str | None]:
    """The worst that the manifest and the logs say; logs that do not say how the run ended leave it to the others."""
    endings = [(manifest.status, manifest.reason), *([log.status() for log in logs] or [("empty", "the run has no log")])]
    return max((ending for ending in endings if ending[0]), key=lambda ending: SEVERITY[ending[0]], default=(None, None))


def _run_row(run: str, folder: Path, manifest: Manifest, logs: Sequence[_LoadedLog], status: tuple[Status | None, str | None]) -> Row:
    facts = [log.facts for log in logs]
    return {
        "run": run,
        "system": manifest.system,
        "system_version": manifest.system_version or next((f.system_version for f in facts if f.system_version), None),
        "tool": manifest.tool,
        "tool_version": manifest.tool_version or next((f.tool_version for f in facts if f.tool_version), None),
        "release": manifest.release,
        "host": manifest.host,
        "published": manifest.published,
        "status": status[0],
        "reason": status[1],
        "start_time": manifest.start_time or next((f.start_time for f in facts if f.start_time), None),
        "order_index": manifest.order_index,
        "session": manifest.session,
        "repetition": manifest.repetition,
        "campaign": manifest.campaign,
        "options": None,
        "build": next((f.environment[_BUILD] for f in facts if _BUILD in f.environment), None),
        "root": str(folder),
        "manifest": msgspec.json.encode(manifest).decode(),
    }


def _result_rows(run: str, log: str, event: Event, record: Record, conditions: Conditions) -> Iterator[Row]:
    shared: Row = {
        "run": run,
        "log": log,
        "line": event.line,
        "last_line": event.last_line,
        "scope": record.scope,
        "test": record.test,
        "side": record.side,
        "participant": record.participant,
        **{name: getattr(conditions, name) for name in _CONDITION_FIELDS},
        "payload_bytes": record.payload_bytes,
        "payload_bytes_high": record.payload_bytes_high,
        "samples": record.samples,
    }
    for number in record.numbers:
        yield shared | {
            "value_line": number.line,
            "metric": number.metric,
            "statistic": number.statistic,
            "value": number.value,
            "unit": METRICS[number.metric].unit,
            "bound": number.bound,
            "resolution": number.resolution,
            "marks": list(number.marks),
        }


_TEXT, _WHOLE, _REAL, _YES, _LIST = "string", "Int64", "Float64", "boolean", "object"
_CONDITION_TYPES = dict.fromkeys(_CONDITION_FIELDS, _TEXT) | {
    "keyed": _YES,
    **dict.fromkeys(("instances", "demand", "recovery_time_ns", "batch_bytes", "publishers", "subscribers"), _WHOLE),
    **dict.fromkeys(("offered_rate_per_s", "planned_duration_s", "link_bit_per_s"), _REAL),
}
_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "runs": dict.fromkeys(("run", "system", "system_version", "tool", "tool_version", "release", "host"), _TEXT)
    | {"published": _YES, "status": _TEXT, "reason": _TEXT, "start_time": _TEXT, "order_index": _WHOLE, "session": _TEXT}
    | {"repetition": _WHOLE, "campaign": _TEXT, "options": _TEXT, "build": _TEXT, "root": _TEXT, "manifest": _TEXT},
    "logs": {"run": _TEXT, "log": _TEXT, "sha256": _TEXT, "bytes": _WHOLE, "format": _TEXT, "side": _TEXT}
    | dict.fromkeys(("lines", "records", "chatter", "broken", "unknown"), _WHOLE)
    | {"status": _TEXT},
    "problems": {"run": _TEXT, "log": _TEXT, "line": _WHOLE, "kind": _TEXT, "text": _TEXT, "reason": _TEXT},
    "results": {"run": _TEXT, "log": _TEXT, **dict.fromkeys(("line", "last_line", "value_line"), _WHOLE)}
    | dict.fromkeys(("scope", "test", "side", "participant"), _TEXT)
    | _CONDITION_TYPES
    | {"payload_bytes": _WHOLE, "payload_bytes_high": _WHOLE, "samples": _WHOLE, "metric": _TEXT, "statistic": _TEXT, "value": _REAL, "unit": _TEXT}
    | {"bound": _TEXT, "resolution": _REAL, "marks": _LIST},
    "histograms": {"run": _TEXT, "log": _TEXT, "line": _WHOLE, "payload_bytes": _WHOLE, "basis": _TEXT, "bins": _LIST},
}


def _frame(name: str, rows: Sequence[Row]) -> pd.DataFrame:
    """The rows as a frame whose columns and types do not depend on what happens to be in it."""
    import pandas as pd

    columns = {column: pd.Series([row[column] for row in rows], dtype=dtype) for column, dtype in _COLUMNS[name].items()}
    return pd.DataFrame(columns)
