"""One-way latencies between two machines: kept only if the clocks of both have a witness.

A run on several machines has a ``clock.log`` with what the clocks report of themselves (`tacholog.runs.clocks`). If the reports tell how far the
clocks may be apart, this error stands beside each one-way latency. If they do not, the latency is not shown, because nobody knows what it says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import BinaryIO

import msgspec

from tacholog.dataset.frames import Row
from tacholog.errors import UnreadableInput
from tacholog.formats.reading import Event
from tacholog.runs.clocks import CLOCK_FILE, NoWitness, clock_error_ns
from tacholog.runs.manifest import Manifest
from tacholog.runs.problems import CLOCKS, problem
from tacholog.schema.conditions import Conditions
from tacholog.schema.records import Number, Record

Read = tuple[Event, Record, Conditions]
_LARGEST_BYTES = 2**20
_RELEVANT_SHARE = 0.1


class Clocks(msgspec.Struct, frozen=True):
    """What is known about the clocks of a run.

    Attributes:
        error_ns: how far they may be apart; ``None`` if all processes shared one clock, and if nobody knows.
        refusal: why one-way latencies of the run are refused; ``None`` if they are not.
    """

    error_ns: float | None = None
    refusal: str | None = None

    def applied(self, records: Sequence[Read]) -> list[Read]:
        """Return the records of a log with the error of the clocks beside each one-way latency, or without the latency."""
        return [(event, self._applied(record, conditions), conditions) for event, record, conditions in records]

    def problems(self, run: str, logs: Iterable[tuple[str, Sequence[Read]]]) -> Iterator[Row]:
        """Yield a problem for each log whose one-way latencies are refused."""
        for name, records in logs:
            refused = next((event for event, record, _ in records if any("two_clocks" in number.marks for number in record.numbers)), None)
            if refused is not None:
                yield problem(run, name, refused.line, CLOCKS, "", self.refusal or "")

    def _applied(self, record: Record, conditions: Conditions) -> Record:
        if conditions.basis != "one-way" or not any(number.metric == "latency" for number in record.numbers):
            return record
        if self.refusal is not None:
            return msgspec.structs.replace(record, numbers=tuple(_refused(number) for number in record.numbers))
        if self.error_ns is None:
            return record
        numbers = tuple(self._marked(number) for number in record.numbers)
        return msgspec.structs.replace(record, numbers=(*numbers, Number(metric="clock_error", statistic="max", value=self.error_ns)))

    def _marked(self, number: Number) -> Number:
        """Mark a latency if the error of the clocks is a large part of it. A standard deviation does not depend on an offset."""
        is_large = number.value is not None and (self.error_ns or 0) > _RELEVANT_SHARE * abs(number.value)
        if number.metric != "latency" or number.statistic == "std" or not is_large:
            return number
        return msgspec.structs.replace(number, marks=(*number.marks, "clock_error"))


def _refused(number: Number) -> Number:
    if number.metric != "latency":
        return number
    return msgspec.structs.replace(number, value=None, resolution=None, bound="=", marks=(*number.marks, "two_clocks"))


def clocks_of(manifest: Manifest, open_log: Callable[[str], BinaryIO]) -> Clocks:
    """Return what is known about the clocks of a run.

    Args:
        manifest: of the run.
        open_log: opens a file of the run.
    """
    if manifest.clocks != "several":
        return Clocks()
    refused = "one-way latencies between machines are not shown"
    if not any(entry.file == CLOCK_FILE for entry in manifest.logs):
        return Clocks(refusal=f"{refused}: the run has no {CLOCK_FILE}, in which the clocks of its hosts report how exact they are")
    try:
        with open_log(CLOCK_FILE) as file:
            return Clocks(error_ns=clock_error_ns(file.read(_LARGEST_BYTES).decode("utf-8", "replace")))
    except (NoWitness, UnreadableInput, OSError) as error:
        return Clocks(refusal=f"{refused}: {error}")
