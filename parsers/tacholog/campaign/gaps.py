"""Gaps. A gap is a condition that comparisons need, although neither the campaign nor its logs state it.

Gaps are searched before the first run, and again in the first log of each variant. Two things are known before the first run: the conditions that the
campaign states, and the conditions that logs of this format state, always or sometimes (`tacholog.formats.kit.States`). The needed conditions depend
on the test and its load mode. If the campaign does not state the load mode, each test of the format is assumed, with its usual load mode.

A property of a machine is never a gap: it is stated in the host file, and runs on the same host can be compared without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec.structs import asdict

from tacholog.campaign.campaign_file import RESOURCES_FILE
from tacholog.campaign.plan import Plan, PlannedRun
from tacholog.compare import comparable
from tacholog.compare.policy import TESTED, samples_needed
from tacholog.formats.kit.lines import States
from tacholog.formats.reading import Event, Scan
from tacholog.formats.registry import formats_of_tool, states_of
from tacholog.formats.source import open_log_in
from tacholog.runs.conditions import stated_conditions, with_stated_size
from tacholog.runs.labels import CONTROL, label_name
from tacholog.runs.manifest import FLOOR, RUN_FILE, LogFile, Manifest, read_manifest
from tacholog.schema.conditions import CONDITIONS, STATED_CONDITIONS, Conditions
from tacholog.schema.records import Record

SIZE, VERSION = "payload_bytes", "tool_version"
# The metric that is compared, for each test.
_MEASURED: Mapping[str, str] = {"latency": "latency", "throughput": "goodput", "demand": "goodput", "sustain": "sustained_rate"}
_COMPARED = {"latency", "jitter", "goodput", "message_rate", "acknowledged_rate", "sustained_rate"}
_USUAL_LOAD: Mapping[str, str] = {"latency": "closed", "throughput": "max-rate", "demand": "max-rate", "sustain": "open"}
_LOADS: Mapping[str, tuple[str, ...]] = {"latency": ("closed", "open"), "sustain": ("open",)}
_RATE_LOADS = ("paced", "max-rate")
# These fields are not searched for gaps, because they describe the run or its host.
_OF_RUN = (*comparable.MACHINE, "host", "tool", "options", "harness_major")
_EXAMPLES: Mapping[str, str] = {
    SIZE: f'"{{{SIZE}}}"',
    "transport": '"udp"',
    "batch_bytes": "0",
    "offered_rate_per_s": "1000",
    "recovery_time_ns": "1000000",
    "instances": "1",
    "acks": '"all"',
}


class Gap(NamedTuple):
    """A condition that a comparison of rows needs, and that nothing states.

    Attributes:
        condition: the name of the condition, or ``payload_bytes`` or ``tool_version``.
        is_certain: whether it is certain that nothing states the condition. If not, some logs of the format state it.
        rows: the rows that need the condition, such as ``throughput at max-rate``.
        variants: the variants of the campaign that have such rows.
    """

    condition: str
    is_certain: bool
    rows: str
    variants: tuple[str, ...] = ()

    @property
    def remedy(self) -> str:
        """Return the text that the user can add to the campaign file to close the gap."""
        if self.condition == VERSION:
            return 'version_command = ["TOOL", "--version"], or tool_version = "...",'
        return f"conditions = {{ {self.condition} = {_example(self.condition)} }}"

    @property
    def allowed(self) -> tuple[str, ...]:
        """Return the allowed values of the condition. The result is empty if the schema has no list of allowed values."""
        column = CONDITIONS.get(self.condition)
        return column.allowed if column else ()


class ExpectedGaps(NamedTuple):
    """The gaps of a campaign, as far as they are known before its first run.

    Attributes:
        gaps: the conditions that neither the logs nor the campaign will state.
        unknown_logs: the variants for which the content of the logs cannot be predicted, each with the reason.
    """

    gaps: tuple[Gap, ...]
    unknown_logs: Mapping[str, str]


class FirstLogReport(NamedTuple):
    """The gaps in the logs of one run.

    Attributes:
        gaps: conditions that neither the logs nor the campaign state.
        unknown_lines: by log, the count of lines that its format does not know, and the line number of the first such line.
        short: the tested percentiles with too few samples in this run. Each comes with its number of samples, at the message size with the fewest
            samples.
    """

    gaps: tuple[Gap, ...]
    unknown_lines: Mapping[str, tuple[int, int]]
    short: Mapping[str, int] = MappingProxyType({})


def expected_gaps(plan: Plan) -> ExpectedGaps:
    """Return the conditions that neither the campaign nor its logs will state.

    A variant is listed in ``unknown_logs`` if its format does not declare which conditions the logs state.
    """
    variants_of: dict[tuple[str, bool, str], dict[str, None]] = {}
    unknown_logs: dict[str, str] = {}
    for run in (run for run in plan.runs if run.repetition == 1):
        names, doubt = _formats(plan, run)
        declared = {name: tests for name in names if (tests := states_of(name)) is not None}
        if doubt := doubt or next((f"the format {name} does not declare what its logs state" for name in names if name not in declared), None):
            unknown_logs[run.variant] = doubt
        for test, states in ((test, states) for tests in declared.values() for test, states in tests.items()):
            for gap in _missing(plan, run, test, states):
                variants_of.setdefault(gap, {})[run.variant] = None
    gaps = [Gap(*gap, tuple(variants)) for gap, variants in variants_of.items()]
    return ExpectedGaps(tuple(_in_order(_without_uncertain_duplicates(gaps))), unknown_logs)


def _formats(plan: Plan, run: PlannedRun) -> tuple[list[str], str | None]:
    """Return the formats of the logs that have results, or the reason why these formats are unknown."""
    stated_formats = [process.format or plan.format for process in run.processes if process.results] or [plan.format]
    if None not in stated_formats:
        return sorted({name for name in stated_formats if name is not None}), None
    guessed = formats_of_tool(plan.tool)
    if len(guessed) == 1:
        return guessed, None
    return [], f"the campaign names no format, and {'several formats read' if guessed else 'no format reads'} the tool {plan.tool!r}"


def _missing(plan: Plan, run: PlannedRun, test: str, states: States) -> Iterator[tuple[str, bool, str]]:
    """Yield (condition, whether the gap is certain, rows) for each gap of one test: a condition that is needed, but stated nowhere."""
    conditions = asdict(stated_conditions(Manifest(system=plan.system, conditions=run.conditions, options=run.options, logs=())))
    sometimes = states.sometimes.split()
    unstated = [
        name for name in (*comparable.asked("diff", _MEASURED[test]), SIZE) if name not in states.always.split() and conditions.get(name) is None
    ]
    load = conditions["load_mode"] or _USUAL_LOAD[test]
    if load not in _LOADS.get(test, _RATE_LOADS):
        return  # this block does not measure this test: its load mode does not fit
    for name in (name for name in unstated if name not in _OF_RUN and name in STATED_CONDITIONS):
        if _is_needed(name, test, {**conditions, "load_mode": load}):
            depends_on_load = not _is_needed(name, test, {**conditions, "load_mode": None})
            yield name, name not in sometimes, f"{test} at {load}" if depends_on_load else test
    if plan.tool_version is None and not plan.versions.keys() - {FLOOR} and VERSION not in states.always.split():
        yield VERSION, VERSION not in sometimes, test


def _is_needed(name: str, test: str, conditions: Mapping[str, Any]) -> bool:
    # Without the message size, results of several sizes would become one row.
    if name == SIZE:
        return True
    row = {**conditions, name: None, "test": test, "metric": _MEASURED[test]}
    if row["transport"] is None and name != "transport":
        row["transport"] = "network"  # without a stated transport, "network" is assumed until the first log is read
    return comparable.CONDITIONS[name].needed(row, "diff")


def _without_uncertain_duplicates(gaps: Sequence[Gap]) -> list[Gap]:
    certain = {(gap.condition, gap.rows) for gap in gaps if gap.is_certain}
    return [gap for gap in gaps if gap.is_certain or (gap.condition, gap.rows) not in certain]


def _in_order(gaps: Iterable[Gap]) -> list[Gap]:
    order = [*STATED_CONDITIONS, VERSION]
    return sorted(gaps, key=lambda gap: (not gap.is_certain, order.index(gap.condition), gap.rows))


def inspect_run(folder: Path, run: PlannedRun) -> FirstLogReport:
    """Return the gaps in the logs of a run.

    Args:
        folder: the folder of the campaign.
        run: a run with readable logs; see `tacholog.campaign.campaign_folder.failure_reason`.
    """
    manifest = read_manifest(folder / run.folder / RUN_FILE)
    gaps: dict[tuple[str, str], None] = {}
    unknown_lines: dict[str, tuple[int, int]] = {}
    short: dict[str, int] = {}
    for log in (log for log in manifest.logs if log.results and log.file != RESOURCES_FILE):
        scan, records, first_unknown = _read(folder / run.folder, log)
        if first_unknown is not None:
            unknown_lines[log.file] = scan.account.lines["unknown"], first_unknown
        facts = scan.account.facts
        for record in records:
            for statistic, samples in () if label_name(CONTROL) in run.labels else _short(record):
                short[statistic] = min(samples, short.get(statistic, samples))
            gaps |= dict.fromkeys(_lacking(with_stated_size(record, stated_conditions(manifest)), facts.conditions, manifest, facts.tool_version))
    all_gaps = (Gap(condition, True, rows, (run.variant,)) for condition, rows in gaps)
    return FirstLogReport(tuple(_in_order(all_gaps)), unknown_lines, short)


def planned_short(plan: Plan) -> dict[str, dict[str, int]]:
    """Return the variants that will have too few samples for a tested percentile.

    Each variant comes with its number of samples, by percentile. This number is computed from the planned rate and duration.
    """
    short: dict[str, dict[str, int]] = {}
    for run in plan.runs:
        rate, seconds = run.conditions.offered_rate_per_s, run.conditions.planned_duration_s
        if run.conditions.load_mode == "open" and rate and seconds and label_name(CONTROL) not in run.labels:
            samples = int(rate * seconds)
            few = {statistic: samples for statistic in TESTED["latency"] if samples < (samples_needed(statistic) or 0)}
            short |= {run.variant: few} if few else {}
    return short


def _short(record: Record) -> Iterator[tuple[str, int]]:
    """Yield the tested percentiles for which a record has too few samples for a verdict, with the number of samples."""
    for number in record.numbers:
        needed = samples_needed(number.statistic) if number.statistic in TESTED.get(number.metric, ()) else None
        if needed is not None and record.samples is not None and record.samples < needed:
            yield number.statistic, record.samples


def _read(folder: Path, log: LogFile) -> tuple[Scan, list[Record], int | None]:
    """Return the scan, one summary result of each kind, and the line number of the first unknown line."""
    records: dict[tuple[object, ...], Record] = {}
    first_unknown: int | None = None
    with open_log_in(folder, log.file) as text:
        scan = Scan(text, log.format)
        for event in scan.batches():
            what = event.what if isinstance(event, Event) else event.like
            if isinstance(what, Record) and what.scope == "summary":
                records[what.test, what.side, what.conditions, what.payload_bytes] = what
            elif isinstance(event, Event) and event.kind == "unknown" and first_unknown is None:
                first_unknown = event.line
    return scan, list(records.values()), first_unknown


def _lacking(record: Record, in_log: Conditions, manifest: Manifest, version: str | None) -> Iterator[tuple[str, str]]:
    """Yield (condition, rows) for each gap of a record: a condition that comparisons of these rows need, but that is stated nowhere."""
    conditions: dict[str, Any] = dict.fromkeys(comparable.CONDITIONS)
    by_manifest = Conditions(**{name: getattr(stated_conditions(manifest), name) for name in CONDITIONS})
    conditions |= asdict(record.conditions.over(in_log).over(by_manifest)) | {
        "test": record.test,
        "side": record.side,
        "participant": record.participant,
    }
    rows = f"{record.test} at {conditions['load_mode']}" if conditions["load_mode"] else record.test
    codes = {code: name for name, code in comparable.CODES.items()}
    for metric in sorted({number.metric for number in record.numbers} & _COMPARED) or ["goodput"]:
        lacking = (codes[code] for code in comparable.unknown({**conditions, "metric": metric}, "diff"))
        yield from ((name, rows) for name in lacking if name not in _OF_RUN)
    if record.payload_bytes is None:
        yield SIZE, rows
    if manifest.tool_version is None and version is None:
        yield VERSION, rows


def _example(condition: str) -> str:
    if condition in _EXAMPLES:
        return _EXAMPLES[condition]
    column = STATED_CONDITIONS[condition]
    return f'"{column.allowed[0]}"' if column.allowed else "true" if column.kind == "true or false" else '"..."'
