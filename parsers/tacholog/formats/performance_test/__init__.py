"""Apex.AI performance_test: a head with one ``Key: value`` on each line, then about one result per second.

A result is a row of CSV or a screen of boxes. The tool can also write the head and all results in JSON.

The table names its columns, which are separated by commas and tabs::

    QOS: Reliability: RELIABLE Durability: VOLATILE History kind: KEEP_LAST History depth: 16 Sync. pub/sub: true
    ---EXPERIMENT-START---
    T_experiment,	T_loop,	received,	sent,	lost,	relative_loss,	data_received,	latency_min (ms),	latency_max (ms), ...
    1.000123,		1.000100,		998,		998,		0,		0.00,		1021952,		0.0412,		0.9123, ...

A row covers the time since the previous row. Each row becomes two interval records: a record of latency and a record of throughput. For each table, a
summary is computed. ``received``, ``sent``, ``lost`` and ``data_received`` are per second: all versions of the tool divide their counts by the time
since the previous row, cut off the fraction, and add up all publishers or subscribers. The number of messages is computed as the rate times
``T_loop``, which is slightly too small. The rates are not exact enough to compute the message size, and no line states it. Latencies are printed in
milliseconds, with four significant digits; the "variance (ms)" is the variance in seconds squared, times 1000. Without samples, the minimum is
infinite or huge, so it is no latency. Between hosts without a common clock, the minimum can be far below zero, which is no latency either.

The middleware is the system: ``RMW Implementation`` if messages go through ROS 2, else ``Communication mean``. Conditions are reliability, rate,
duration, type, publishers and subscribers, zero copy, the seconds ignored at the beginning (warm-up) and, as settings, everything else that changes
how messages are transported: the part of ROS 2 that waits for them (``Communication mean``, ``Communicator``), durability, history and its depth,
synchronous publishing, one participant for all, security, and messages without a size limit. Environment are the domain, the names of files, and
whether memory was checked: they do not change how messages are transported.
Source: performance_test/src/experiment_execution and src/outputs of performance_test 1.x and 2.x; samples in tests/formats/performance_test/.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator, Mapping
from math import isfinite

import msgspec

from tacholog.formats.kit import (
    DERIVED,
    PARTIAL,
    Broken,
    Conditions,
    Detected,
    Dialect,
    Facts,
    Finding,
    Line,
    LineStart,
    LoadMode,
    Record,
    States,
    Tally,
    settings_text,
)
from tacholog.formats.performance_test.json import ACCUMULATING, SIGN, accumulated, looks_like_document, read_document, taken_apart, without_latencies
from tacholog.formats.performance_test.rows import SCREEN_SIGN, ExperimentRow, Screen, Screens, columns_of, found_of, is_of_screen, read_row

SYSTEM = "ROS 2"
TOOL = "performance_test"
DIALECTS = (
    Dialect("csv-2", "2.x: 'Communicator'", "from source only"),
    Dialect("csv-1", "1.x and before: 'Communication mean'", "a real log of version 57791ae"),
    Dialect("screen", "1.3 and later, on a terminal or with its output in a file", "a screen in a manual; what stands above it from source only"),
    Dialect("json", "1.x and 2.x with a log file in JSON", "real logs of versions 036a5f5 and eff2a50"),
)
LINE_BYTES = 1 << 22  # The whole JSON is one line, with about 750 bytes for each second.
DEFINITIONS = {
    "performance_test-one-way": "From the time stamp that the publisher put into a message to its receipt by a subscriber, on one clock or on two.",
    "performance_test-rtt": "Round trip of a message that a relay sent back (roundtrip mode MAIN), on one clock.",
    "performance_test-rates": "Messages and bytes per second, as the tool computes them for the time between two rows: whole numbers, added over "
    "publishers or subscribers. Total numbers of messages are these rates times that time. The bytes are the size of the message type, even if "
    "fewer bytes were sent. Processor time is that of the process, over all cores.",
}
STATES = {
    "latency": States(
        always="reliability type offered_rate_per_s publishers subscribers settings basis definition planned_duration_s tool_version",
        sometimes="data_path load_mode warmup",
    ),
    "throughput": States(
        always="reliability type offered_rate_per_s publishers subscribers settings definition planned_duration_s tool_version",
        sometimes="data_path load_mode warmup",
    ),
}

_KEY = re.compile(r"(?P<key>[A-Za-z][\w .()/-]{0,60}?) ?: ?(?P<value>.{0,400})")
_OPENING = "Experiment id"
_VERSION = "Performance Test Version"
_START = "---EXPERIMENT-START---"
_ENDINGS = {
    "Maximum runtime reached. Exiting.": Facts(status="ok"),
    "Caught signal. Exiting.": Facts(status="truncated", reason="Caught signal. Exiting."),
}
_HEADER = re.compile(r"T_experiment,\s*T_loop,\s*received,")
_ROW = re.compile(r"-?[0-9]{1,12}\.[0-9]{1,9},\s*-?[0-9]{1,12}\.[0-9]{1,9},")
_RELIABILITY = re.compile(r"Reliability: (RELIABLE|BEST_EFFORT)\b")
_TYPE = re.compile(r"(?:Array|Struct|PointCloud|BoundedSequence|UnboundedSequence|Radar|NavSatFix|Range|String)\w{0,30}")
_ONE_WAY = Conditions(basis="one-way", definition="performance_test-one-way")
_MEANINGS = {"NONE": _ONE_WAY, "RELAY": _ONE_WAY, "MAIN": Conditions(basis="rtt", definition="performance_test-rtt")}
_MODE = "Roundtrip Mode"
_IGNORED = "Ignore seconds from beginning"
# On a cut line, a part of a word may look like a value. So a value needs a blank after it, except the last value, which is true or false.
_QOS = re.compile(r"(?P<name>Durability|History kind|History depth): (?P<value>\w{1,40}) |(?P<last>Sync\. pub/sub): (?P<flag>true|false|[01]) ?$")
_SETTINGS = {
    "Durability": "durability",
    "History kind": "history",
    "History depth": "history_depth",
    "Sync. pub/sub": "synchronous",
    "Use single participant": "single_participant",
    "With security": "security",
    "Unbounded message size": "unbounded",
    "is_rt_init_required": "real_time",
    "execution_strategy": "execution_strategy",
}
_FLAGS = {"true": "1", "false": "0"}
_THROUGH_ROS = re.compile(r"(?:ros2?|rclcpp)(?![a-z])", re.IGNORECASE)
_WITHOUT_MODES = "Communication mean"  # All versions without modes print this key. Some versions with modes print it too.
_WITH_MODES = {"Shared memory transfer", "Unbounded message size", _IGNORED}  # Only versions with modes print these keys.
_ON_SCREEN = ("",)  # The columns of an experiment with screens: screens have no header.
_KEYS = 60  # The tool prints about twenty keys, and the contents of the environment variable APEX_PERFORMANCE_TEST.
_HEAD = LineStart(rf"{_START}|{SIGN.pattern}|{SCREEN_SIGN}")


def detect(head: str) -> Detected:
    """Return whether the log has the start mark, the first columns of the table, the first box of a screen, or the first members of the JSON."""
    fits = _HEAD.is_in(head) or _HEADER.search(head) is not None
    return Detected(fits, wants=f"'{_START}', a header 'T_experiment, T_loop, received, ...', a box '| T_experiment | ...', or its JSON on one line")


def parse(lines: Iterable[Line]) -> Iterator[Finding]:
    """Yield two interval records for each row, and at the end of an experiment the summaries of these records."""
    experiment = _Experiment()
    for line in lines:
        if _HEADER.match(line.text):
            yield Finding(line, experiment.begin(line))
        elif _ROW.match(line.text):
            yield from experiment.row(line)
        elif looks_like_document(line.text):
            yield from experiment.summaries()
            experiment = _Experiment()
            yield from experiment.document(line)
        elif line.text.strip() == _START:
            experiment.columns = ()
            yield Finding(line, experiment.load_facts())
        elif is_of_screen(line.text):
            yield from experiment.box(line)
        elif (text := line.text.strip()) in _ENDINGS or not text:
            yield Finding(line, _ENDINGS.get(text))
        elif match := _KEY.fullmatch(line.text):
            if match["key"] == _OPENING:
                yield from experiment.summaries()
                experiment = _Experiment()
            if facts := experiment.learn(match["key"], match["value"].strip()):
                yield Finding(line, facts)
        yield from experiment.pass_by(line)
    yield from experiment.summaries()


class _Experiment:
    def __init__(self) -> None:
        self.columns: tuple[str, ...] = ()
        self._head: dict[str, str] = {}
        self._conditions = Conditions()
        self._tallies: dict[str, Tally] = {}
        self._before_silence: dict[str, Tally] | None = None  # The tallies before the latest idle rows; None if the latest row is not idle.
        self._flowing: frozenset[str] = frozenset()  # The rates that were above zero in at least one row.
        self._time = -1.0
        self._partial = False  # Whether the summaries lack rows.
        self._so_far: tuple[Line, ExperimentRow] | None = None  # The latest row whose latencies cover the whole run up to this row.
        self._is_over = False
        self._screens = Screens()

    def learn(self, key: str, value: str) -> Facts | None:
        """Read a line of the head. A line before the opening line, or after the start of the table, is not part of a head."""
        if self.columns or len(self._head) >= _KEYS or not (self._head or key == _OPENING):
            return None
        return self._learn_all({key: value})

    def _learn_all(self, values: Mapping[str, str]) -> Facts:
        before, system = self._conditions, _measured_system(self._head)
        self._head |= values
        self._conditions = _conditions(self._head)
        environment = {f"performance_test {key}": value.strip() for key, value in values.items() if value}
        now = _measured_system(self._head)
        return Facts(
            tool_version=values.get(_VERSION),
            system=now if now != system else None,
            conditions=_added_conditions(self._conditions, before, settled=_MODE in values),
            environment=environment,
        )

    def load_facts(self) -> Facts | None:
        """Return the load mode as a fact at the start of the table, or ``None`` if there is nothing to return.

        If the head of the log states the load mode, this fact was returned earlier, and is not returned again.
        """
        mode = self._conditions.load_mode
        return Facts(conditions=Conditions(load_mode=mode)) if mode and _MODE not in self._head else None

    def document(self, line: Line) -> Iterator[Finding]:
        """Yield all findings of an experiment in JSON. The facts are first, because they apply to the records."""
        document = read_document(line.text)
        if isinstance(document, Broken):
            yield Finding(line, document)
            return
        yield Finding(None, self._learn_all(document.head))
        accumulates = accumulated(document.head.get(_VERSION), document.rows)
        for row in document.rows:
            yield from self._of_row(line, row, accumulates=accumulates)
        self._is_over = not document.ends_early and bool(document.rows) and isinstance(document.rows[-1], ExperimentRow)
        if not document.rows:
            yield Finding(line, None)
        if document.ends_early:
            self._partial = True
            yield Finding(None, Facts(status="truncated", reason="the JSON ends before its last brace"))

    def box(self, line: Line) -> Iterator[Finding]:
        """Yield the findings of a line that belongs to a screen."""
        # The tool prints the head above the first screen.
        self.columns = self.columns or _ON_SCREEN
        for finding in self._screens.take(line):
            if isinstance(finding, Screen):
                yield from self._of_screen(finding)
            else:
                yield finding

    def pass_by(self, line: Line) -> Iterator[Finding]:
        for screen in self._screens.pass_by(line):
            yield from self._of_screen(screen)

    def _of_screen(self, screen: Screen) -> Iterator[Finding]:
        for finding in self._of_row(screen.lines[0], screen.row, accumulates=self._head.get(_VERSION) in ACCUMULATING):
            yield found_of(screen, finding)

    def begin(self, line: Line) -> Broken | None:
        self.columns = columns_of(line.text) if line.whole else ()
        return None if self.columns else Broken("a header that is garbled or cut short")

    def row(self, line: Line) -> Iterator[Finding]:
        """Yield the two records of a row. The summaries use only rows in the correct order."""
        yield from self._of_row(line, read_row(line, self.columns), accumulates=self._head.get(_VERSION) in ACCUMULATING)

    def _of_row(self, line: Line, row: ExperimentRow | Broken, *, accumulates: bool) -> Iterator[Finding]:
        if isinstance(row, Broken):
            self._partial = True
            yield Finding(line, row)
            return
        row = row._replace(flowing=self._flowing)
        self._flowing |= row.active
        own_row = self._own_row(line, row) if accumulates else row
        records = own_row.records(self._conditions, self._meaning)
        for record in records:
            yield Finding(line, record)
        if row.time > self._time and (self._tallies or not row.idle):
            is_whole, self._time = self._time >= 0, row.time
            self._count(line, row, records if not accumulates else records[-1:], is_whole=is_whole)

    def _own_row(self, line: Line, row: ExperimentRow) -> ExperimentRow:
        """Return the row with latencies of this row only. The tool prints latencies since the start of the run."""
        before = self._so_far[1] if self._so_far else None
        if row.samples and row.time > self._time:
            self._so_far = (line, row)
        return taken_apart(row, before) if "latency_M2" in row.cells else without_latencies(row)

    @property
    def _meaning(self) -> Conditions:
        return _MEANINGS.get(_mode(self._head), Conditions())

    def _count(self, line: Line, row: ExperimentRow, records: Iterable[Record], *, is_whole: bool) -> None:
        """Add a row. An idle row counts only if messages follow, because the time after the last message does not belong to the run."""
        if not row.idle:
            self._before_silence = None
        elif self._before_silence is None:
            self._before_silence = copy.deepcopy(self._tallies)
        for record in records:
            self._tallies.setdefault(record.test, Tally(line, record)).add(line, record, stamp=row.time, whole=is_whole, lasted=row.lasted)

    def summaries(self) -> Iterator[Finding]:
        for screen in self._screens.close():
            yield from self._of_screen(screen)
        if self._so_far and (whole_run := self._whole_run(*self._so_far)):
            yield whole_run
        for tally in (self._before_silence or self._tallies).values():
            if summary := tally.found(partial=self._partial):
                yield summary
        self._tallies.clear()
        self._before_silence = None
        self._so_far = None

    def _whole_run(self, line: Line, row: ExperimentRow) -> Finding | None:
        """Return the latencies of the whole run, which the last row prints. In a cut log, they cover only a part of the run."""
        record = row.latency(self._conditions, self._meaning)
        if record is None:
            return None
        marks = () if self._is_over else (DERIVED, PARTIAL)
        numbers = tuple(msgspec.structs.replace(number, marks=tuple(sorted({*number.marks, *marks}))) for number in record.numbers)
        samples = record.samples if "latencies" in row.cells else None
        return Finding(line, msgspec.structs.replace(record, scope="summary", samples=samples, numbers=numbers))


def _conditions(head: Mapping[str, str]) -> Conditions:
    reliability = _RELIABILITY.search(head.get("QOS", ""))
    rate = _positive(head.get("Publishing rate"))
    mode: LoadMode | None = "max-rate" if head.get("Publishing rate") == "0" else "open" if rate else None
    return Conditions(
        reliability=None if reliability is None else "reliable" if reliability[1] == "RELIABLE" else "best-effort",
        type=head.get("Msg name") or _type_as_topic(head.get("Topic name", "")),
        offered_rate_per_s=rate,
        load_mode=mode if _mode(head) == "NONE" else None,
        planned_duration_s=_positive(head.get("Maximum runtime (sec)")),
        publishers=_count(head.get("Number of publishers")),
        subscribers=_count(head.get("Number of subscribers")),
        data_path="zero-copy" if head.get("Zero copy transfer") == "1" else None,
        warmup=_ignored(head.get(_IGNORED)),
        settings=_settings(head),
    )


def _added_conditions(conditions: Conditions, before: Conditions, *, settled: bool) -> Conditions:
    """Return the conditions that a line of the head adds.

    The load mode is added only when the mode is known (`_mode`), because a fact cannot be removed later.
    """
    named = {name: value for name in Conditions.__struct_fields__ if (value := getattr(conditions, name)) != getattr(before, name)}
    return Conditions(**{**named, "load_mode": conditions.load_mode if settled else None})


def _settings(head: Mapping[str, str]) -> str | None:
    """Return the condition ``settings``: the values in the head that change how messages are transported.

    Values that have a condition of their own are left out. A setting has the same name in the text output and in the JSON.
    """
    qos = {match["name"] or match["last"]: match["value"] or match["flag"] for match in _QOS.finditer(head.get("QOS", ""))}
    values = {setting: {**head, **qos}.get(key) for key, setting in _SETTINGS.items()}
    means = _means(head)
    values["communication"] = means if means and _THROUGH_ROS.match(means) else None  # All other means are the measured system.
    return settings_text({setting: _FLAGS.get(value, value) for setting, value in values.items() if value})


def _measured_system(head: Mapping[str, str]) -> str | None:
    means, rmw = _means(head), head.get("RMW Implementation")
    if means and not _THROUGH_ROS.match(means):
        return means
    return f"{SYSTEM} with {rmw}" if rmw else None


def _means(head: Mapping[str, str]) -> str | None:
    return head.get(_WITHOUT_MODES) or head.get("Communicator")


def _ignored(seconds: str | None) -> str | None:
    return f"first {seconds} s ignored" if _count(seconds) else None


def _mode(head: Mapping[str, str]) -> str:
    """Return the mode of the run; an empty text if a version of the tool that has modes does not state the mode.

    The mode is ``NONE`` if there is no relay, and ``MAIN`` or ``RELAY`` if there is a relay.
    """
    return head.get(_MODE, "NONE" if _WITHOUT_MODES in head and not _WITH_MODES & head.keys() else "")


def _type_as_topic(topic: str) -> str | None:
    """Return the topic if it is a message type. Some versions print the type only as the name of the topic."""
    return topic if _TYPE.fullmatch(topic) else None


def _positive(text: str | None) -> float | None:
    value = float(text) if text and re.fullmatch(r"[0-9]{1,12}(?:\.[0-9]{1,9})?", text) else 0.0
    return value if value > 0 and isfinite(value) else None


def _count(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"[0-9]{1,9}", text) else None
