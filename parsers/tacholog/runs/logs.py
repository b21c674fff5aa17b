"""Read one log of a run: its problems, and how its run ended. A `Receiver` gets the records: the store makes columns of them, `check` judges them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import BinaryIO, NamedTuple, Protocol

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.formats.account import Account, LineClass
from tacholog.formats.blocks import RecordBlock
from tacholog.formats.kit.lines import Broken
from tacholog.formats.reading import Event, Scan, why_unknown
from tacholog.formats.registry import describe_error
from tacholog.formats.source import LogText
from tacholog.runs.manifest import LogFile, Manifest
from tacholog.runs.problems import ALTERED, UNREADABLE, Row, altered_reason, problem
from tacholog.schema.records import SEVERITY, Facts, Histogram, Record, Status


class LogHead(msgspec.Struct):
    """Everything about a log except its results.

    Attributes:
        format: the format in which the log was read.
        size_bytes: the size of the file; ``None`` if it could not be read. The same holds for ``sha256`` and ``text_sha256``.
        text_sha256: the SHA-256 of the text. If the log is compressed, ``text_sha256`` differs from ``sha256``.
        lines: the number of lines of each class.
        facts: the facts that the log states about its run.
        status: how the run ended; ``None`` if the log does not state how.
        reason: why the run ended in this way; ``None`` if the log does not state a reason.
        problems: the problems of the log, as rows of the table ``problems``. The rows lack the column ``run``.
        text_bytes: the size of the text. If the log is compressed, the text is larger than the file.
        is_lost: whether the log could not be read. Then a problem states the reason.
    """

    format: str | None
    size_bytes: int | None
    sha256: str | None
    text_sha256: str | None
    lines: dict[LineClass, int]
    facts: Facts
    status: Status | None
    reason: str | None
    problems: list[Row]
    text_bytes: int
    is_lost: bool = False


class ReadingLimits(NamedTuple):
    """The largest size of a log. If a log is larger, none of its numbers is used, and a problem reports this."""

    text_bytes: int
    numbers: int

    def refusals(self, text_bytes: int, numbers: int) -> list[str]:
        """Return a sentence for each limit that a log exceeds."""
        reasons = []
        if text_bytes > self.text_bytes:
            reasons.append(f"its text is longer than {self.text_bytes / 1e6:g} MB, the limit (log_text_mb), so it was not read")
        if numbers > self.numbers:
            reasons.append(f"it holds more than {self.numbers} numbers, the limit (log_numbers), so it was not read")
        return reasons


class Receiver(Protocol):
    """Receives the records of a log while the log is read. If the log turns out to be unreadable, the records must not be used.

    Attributes:
        number_count: how many measured values it has received.
        last_line_read: the line where the latest record begins.
    """

    number_count: int
    last_line_read: int

    def add(self, event: Event, record: Record) -> None:
        """Take one record."""

    def add_block(self, block: RecordBlock, run: int) -> None:
        """Take the records of a block. All records of a block belong to one run of the log."""

    def add_histogram(self, histogram: Histogram) -> None:
        """Take a histogram of the latest record."""

    def complete(self, head: LogHead, account: Account) -> None:
        """Finish the log: use the facts that are known only now, and add problems to its head."""


def read_log(
    stream: BinaryIO,
    manifest: Manifest,
    entry: LogFile,
    receiver: Receiver,
    limits: ReadingLimits | None = None,
    progress: Callable[[int], object] | None = None,
) -> LogHead:
    """Read a log that a manifest lists, and return its head. If the log cannot be read, the head is marked as lost, and has one problem.

    Args:
        stream: the opened log.
        manifest: the manifest of the run.
        entry: the log in the manifest.
        receiver: gets the results.
        limits: the limits for the size of the log.
        progress: called with the number of bytes of text that are read next.
    """
    reader = _Reader(manifest, entry, receiver, limits, progress)
    try:
        return reader.read(stream)
    except UnreadableInput as error:
        return lost_head(entry, reader.kind_if_lost, str(error), reader.format, reader.text_bytes)
    except (MemoryError, OSError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever a stranger's log makes us fail with, it costs this log and no other
        reason = f"Tacholog failed after line {receiver.last_line_read}: {describe_error(error)}"
        return lost_head(entry, UNREADABLE, reason, reader.format, reader.text_bytes)


def lost_head(entry: LogFile, kind: str, reason: str, log_format: str | None = None, text_bytes: int = 0) -> LogHead:
    """Return the head of a log that could not be read.

    A format may fail in the middle of a log. Then the whole log counts as not read, so the results before the failure are not used.
    """
    facts = Facts(status="failed", reason=f"{entry.file} cannot be read")
    status, why = (facts.status, facts.reason) if entry.results else (None, None)
    problems = [problem("", entry.file, 0, kind, "", reason)]
    return LogHead(log_format or entry.format, None, None, None, {}, facts, status, why, problems, text_bytes, is_lost=True)


class _Reader:
    def __init__(
        self, manifest: Manifest, entry: LogFile, receiver: Receiver, limits: ReadingLimits | None, progress: Callable[[int], object] | None
    ) -> None:
        self.format = entry.format
        self.kind_if_lost = UNREADABLE
        self.text_bytes = 0
        self._manifest, self._entry, self._receiver, self._limits, self._progress = manifest, entry, receiver, limits, progress
        self._problems: list[Row] = []

    def read(self, stream: BinaryIO) -> LogHead:
        text, entry = LogText(stream, self._before_reading), self._entry
        account = self._read_results(text) if entry.results else self._read_without_results(text)
        if account.sha256 != entry.sha256:
            self._add_problem(0, ALTERED, "", altered_reason(account.sha256, entry.sha256))
        status, reason = (account.status, account.reason) if entry.results else (None, None)
        head = LogHead(
            self.format,
            account.size_bytes,
            account.sha256,
            account.text_sha256,
            dict(account.lines),
            account.facts,
            status,
            reason,
            self._problems,
            self.text_bytes,
        )
        self._receiver.complete(head, account)
        head.problems.sort(key=lambda row: row["line"])
        return head

    def _read_results(self, text: LogText) -> Account:
        if self._manifest.status not in (None, "ok"):
            self.kind_if_lost = "failed"  # the log of a failed run may be unreadable; the manifest already states the failure
        scan = Scan(text, self._entry.format)
        self.format = scan.format_name
        for batch in scan.batches():
            if isinstance(batch, RecordBlock):
                self._receiver.add_block(batch, len(scan.account.runs))
                self._check_limits()
            else:
                self._take(batch)
        return scan.account

    def _read_without_results(self, text: LogText) -> Account:
        """Return the account of a log whose results are not used, so that no line of the log causes a problem.

        The format is detected, because a page shows the lines.
        """
        try:
            self.format = Scan(text, self._entry.format).format_name
        except UnreadableInput:
            self.format = None
        account = Account()
        account.lines["chatter"] = sum(1 for _ in text.lines())
        account.size_bytes, account.sha256, account.text_sha256 = text.identity()
        return account

    def _before_reading(self, count: int) -> None:
        self.text_bytes += count
        self._check_limits()
        if self._progress:
            self._progress(count)

    def _check_limits(self) -> None:
        if self._limits and (refusals := self._limits.refusals(self.text_bytes, self._receiver.number_count)):
            self.kind_if_lost = UNREADABLE
            raise UnreadableInput(refusals[0])

    def _take(self, event: Event) -> None:
        match event.what:
            case Record() as record:
                self._receiver.add(event, record)
                if self._limits:
                    self._check_limits()
            case Histogram() as histogram:
                self._receiver.add_histogram(histogram)
            case Broken() as broken:
                self._add_problem(event.line, "broken", event.text, broken.reason)
            case None if event.kind == "unknown":
                self._add_problem(event.line, "unknown", event.text, why_unknown(event.text))
            case _:
                pass

    def _add_problem(self, line: int, kind: str, text: str, reason: str) -> None:
        self._problems.append(problem("", self._entry.file, line, kind, text, reason))


def run_ending(manifest: Manifest, logs: Sequence[LogHead], *, has_results: bool) -> tuple[Status | None, str | None]:
    """Return how a run ended, and the reason.

    If its manifest and its logs state different endings, the worst one counts. Both values are ``None`` if no ending is stated.

    A log may be empty although the run is not, because in many runs only one side prints results.
    """
    in_logs = [(log.status, log.reason) for log in logs] or [("empty", "the run has no log")]
    if has_results:
        in_logs = [ending for ending in in_logs if ending[0] != "empty"]
    endings = [(manifest.status, manifest.reason), *in_logs]
    return max((ending for ending in endings if ending[0]), key=lambda ending: SEVERITY[ending[0]], default=(None, None))
