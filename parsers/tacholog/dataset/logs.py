"""One log of a run: its records, its problems, and what the manifest adds to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from tacholog.dataset.frames import Row
from tacholog.errors import UnreadableInput
from tacholog.evidence import open_evidence
from tacholog.formats.kit.lines import Broken
from tacholog.formats.reading import Account, Event, LineClass, Scan
from tacholog.formats.source import LogText
from tacholog.runs.manifest import LogFile, Manifest
from tacholog.runs.problems import ALTERED, CONTRADICTED, UNREADABLE, problem
from tacholog.runs.stated import Contradiction, attributed, contradictions, sized, stated
from tacholog.schema.conditions import Conditions, StatedConditions
from tacholog.schema.records import Facts, Histogram, Record, Status

#: Is called with the log that is being read, and how many more bytes of its text are read now.
Progress = Callable[[str, int], object]


class Limits(NamedTuple):
    """How much of one log is read. Of a longer log no number is used, and a problem says so."""

    text_bytes: int
    numbers: int


class Reading(NamedTuple):
    """How logs are read.

    Attributes:
        limits: how much of each log is read; ``None``: all of it.
        progress: is told how far the reading is.
        named_by_user: whether the user typed the names of the logs. Otherwise a manifest names them, and no name may lead out of its folder.
    """

    limits: Limits | None = None
    progress: Progress | None = None
    named_by_user: bool = False

    def open(self, folder: Path, name: str) -> BinaryIO:
        """Open a log."""
        return (folder / name).open("rb") if self.named_by_user else open_evidence(folder, name)


class LoadedLog:
    """One log of a run, read."""

    def __init__(self, run: str, folder: Path, manifest: Manifest, entry: LogFile, reading: Reading) -> None:
        """Read the log. A log that cannot be read has no records and one problem."""
        self.entry = entry
        self.records: list[tuple[Event, Record]] = []
        self.histograms: list[Row] = []
        self.problems: list[Row] = []
        self.account: Account | None = None
        self._run = run
        self._manifest = manifest
        self._stated = stated(manifest)
        self._completed: dict[tuple[Conditions, int], Conditions] = {}
        self._format: str | None = entry.format
        self._reading, self._text_bytes, self._numbers = reading, 0, 0
        self._kind_if_lost = UNREADABLE
        try:
            self._read(folder)
        except UnreadableInput as error:
            self.records.clear()  # If a format fails in the middle of a log, its beginning is not trusted either.
            self.histograms.clear()
            self.problems.clear()
            self._add_problem(0, self._kind_if_lost, "", str(error))

    def _read(self, folder: Path) -> None:
        if not self.entry.results:
            self._read_without_results(folder)
            return
        with self._reading.open(folder, self.entry.file) as stream:
            if self._manifest.status not in (None, "ok"):
                self._kind_if_lost = "failed"  # A run that failed may have left a file that is no log. Its manifest says already that it failed.
            scan = Scan(LogText(stream, self._before_reading), self.entry.format)
            self._format = scan.format_name
            for event in scan:
                self._take(event)
        self.account = scan.account
        self._check_content()

    def _read_without_results(self, folder: Path) -> None:
        """Read a log that holds no results. Its format is found if it has one, so that a page can show its lines; none of its lines is a problem."""
        with self._reading.open(folder, self.entry.file) as stream:
            text = LogText(stream, self._before_reading)
            try:
                self._format = Scan(text, self.entry.format).format_name
            except UnreadableInput:
                self._format = None
            lines = sum(1 for _ in text.lines())
            size_bytes, checksum = text.identity()
        self.account = Account(lines=Counter[LineClass]({"chatter": lines}), size_bytes=size_bytes, sha256=checksum)
        self._check_content()

    def _check_content(self) -> None:
        if self.account is None:
            return
        if self.account.sha256 != self.entry.sha256:
            self._add_problem(0, ALTERED, "", f"the log's SHA-256 is {self.account.sha256}, run.toml says {self.entry.sha256}")

    def _before_reading(self, count: int) -> None:
        """Check the limit and report the progress before so many more bytes of text are read."""
        self._text_bytes += count
        limits = self._reading.limits
        if limits and self._text_bytes > limits.text_bytes:
            self._kind_if_lost = UNREADABLE
            raise UnreadableInput(f"its text is longer than {limits.text_bytes / 1e6:g} MB, the limit (log_text_mb), so it was not read")
        if self._reading.progress:
            self._reading.progress(f"{self._run}/{self.entry.file}", count)

    def _take(self, event: Event) -> None:
        match event.what:
            case Record() as record:
                self._add_record(event, record)
            case Histogram() as histogram:
                self._add_histogram(histogram)
            case Broken() as broken:
                self._add_problem(event.line, "broken", event.text, broken.reason)
            case None if event.kind == "unknown":
                self._add_problem(event.line, "unknown", event.text, "the format does not recognise this line")
            case _:
                pass

    def _add_record(self, event: Event, record: Record) -> None:
        self.records.append((event, attributed(record, self.entry)))
        self._numbers += len(record.numbers)
        limits = self._reading.limits
        if limits and self._numbers > limits.numbers:
            self._kind_if_lost = UNREADABLE
            raise UnreadableInput(f"it holds more than {limits.numbers} numbers, the limit (log_numbers), so it was not read")

    def _add_histogram(self, histogram: Histogram) -> None:
        """Join the parts of one histogram, which belongs to the record before it."""
        line = self.records[-1][0].line if self.records else 0
        bins = [list(edges) for edges in histogram.bins]
        if self.histograms and self.histograms[-1]["line"] == line:
            self.histograms[-1]["bins"].extend(bins)
            return
        place = {"run": self._run, "log": self.entry.file, "line": line}
        self.histograms.append({**place, "payload_bytes": histogram.payload_bytes, "basis": histogram.basis, "bins": bins})

    def _add_problem(self, line: int, kind: str, text: str, reason: str) -> None:
        self.problems.append(problem(self._run, self.entry.file, line, kind, text, reason))

    def complete_from_manifest(self) -> None:
        """Fill in the size that only the manifest states, and report and mark each contradiction between the manifest and the log."""
        manifest = self._stated
        if manifest == StatedConditions():
            return
        for histogram in self.histograms:
            if histogram["payload_bytes"] is None:
                histogram["payload_bytes"] = manifest.payload_bytes
        found: dict[tuple[object, ...], list[Contradiction]] = {}  # Many records share their conditions.
        reported: set[Contradiction] = set()
        for place, (event, record) in enumerate(self.records):
            key = (record.conditions, record.scope, record.payload_bytes if manifest.payload_bytes else None, event.run)
            if key not in found:
                found[key] = contradictions(record, self._conditions_in_log(event.run), manifest)
            for contradiction in found[key]:
                if contradiction not in reported:
                    self._add_problem(event.line, CONTRADICTED, "", str(contradiction))
            reported.update(found[key])
            completed = sized(record, manifest)
            if found[key]:
                numbers = tuple(msgspec.structs.replace(number, marks=(*number.marks, "contradicted")) for number in completed.numbers)
                completed = msgspec.structs.replace(completed, numbers=numbers)
            self.records[place] = event, completed

    def _conditions_in_log(self, run: int) -> Conditions:
        return self.account.conditions(run) if self.account else Conditions()

    def conditions(self, record: Record, run: int) -> Conditions:
        """Return the conditions of a record: its own, then those that the log states for its run, then those of the manifest.

        Many records share their conditions, so each combination is completed once.
        """
        key = (record.conditions, run)
        if key not in self._completed:
            self._completed[key] = record.conditions.over(self._conditions_in_log(run).over(self._stated))
        return self._completed[key]

    @property
    def is_of_processes(self) -> bool:
        """Whether this is the log of what the processes of the run used. It states no conditions, and holds under those of the results."""
        return self._format == "resources"

    @property
    def facts(self) -> Facts:
        """What the log says of its run; nothing if it could not be read."""
        return self.account.facts if self.account else Facts(status="failed", reason=f"{self.entry.file} cannot be read")

    @property
    def status(self) -> tuple[Status | None, str | None]:
        """How the run ended and why, as far as the log says."""
        if not self.entry.results:
            return None, None
        return (self.account.status, self.account.reason) if self.account else ("failed", self.facts.reason)

    def row(self) -> Row:
        """Return this log's row of ``logs``."""
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
            "status": self.status[0],
        }
