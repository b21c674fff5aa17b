"""One-way latencies between two machines: kept only if the clocks of both have a witness.

A run on several machines has a ``clock.log`` with what the clocks report of themselves (`tacholog.runs.clocks`). If the reports tell how far the
clocks may be apart, this error stands beside each one-way latency. If they do not, the latency is not shown, because nobody knows what it says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.runs.clocks import CLOCK_FILE, NoWitness, clock_error_ns
from tacholog.runs.manifest import Manifest
from tacholog.runs.problems import CLOCKS, problem
from tacholog.schema.records import BOUNDS
from tacholog.store.columns import NOT_STATED, NUMBER_WIDTH, Columns
from tacholog.store.frames import Row

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ERROR = ("clock_error", "max")
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

    def apply(self, columns: Columns) -> int | None:
        """Put the error of the clocks beside each one-way latency of a log, or take the latency away.

        Returns:
            The line of the first latency that was taken away; ``None`` if none was.
        """
        if (self.error_ns is None and self.refusal is None) or not columns.number_count:
            return None
        records, numbers = columns.records, columns.numbers
        one_way = _flags(shape.conditions.basis == "one-way" for shape in columns.shapes)[records.shape]
        latency = _flags(metric == "latency" for metric, _ in columns.names)[numbers.name] & one_way[numbers.record]
        if not latency.any():
            return None
        if self.refusal is not None:
            for name in ("value", "resolution"):
                getattr(numbers, name)[latency] = float("nan")
            numbers.bound[latency] = BOUNDS.index("=")
            columns.add_marks(latency, ("two_clocks",))
            return int(records.line[numbers.record[latency.argmax()]])
        self._add_error(columns, latency)
        return None

    def problem(self, run: str, log: str, line: int) -> Row:
        """Return the problem that the one-way latencies of a log, of which this line has the first, are refused."""
        return problem(run, log, line, CLOCKS, "", self.refusal or "")

    def _add_error(self, columns: Columns, latency: NDArray[np.bool_]) -> None:
        """Add the error to each record with such latencies, and mark those of which it is a large part.

        A standard deviation does not depend on an offset.
        """
        import numpy as np

        error_ns, numbers = self.error_ns or 0.0, columns.numbers
        spread = _flags(statistic == "std" for _, statistic in columns.names)[numbers.name]
        is_large = error_ns > _RELEVANT_SHARE * np.abs(numbers.value)
        columns.add_marks(latency & ~spread & is_large, ("clock_error",))
        if _ERROR not in columns.names:
            columns.names = [*columns.names, _ERROR]
        of_records = np.unique(numbers.record[latency])
        ends = np.searchsorted(numbers.record, of_records, side="right")
        added = np.full((NUMBER_WIDTH, len(of_records)), NOT_STATED)
        columns.number_words = np.insert(columns.number_words, ends, added, axis=1)
        numbers = columns.numbers
        positions = ends + np.arange(len(ends))
        numbers.record[positions], numbers.name[positions] = of_records, columns.names.index(_ERROR)
        numbers.value[positions], numbers.resolution[positions] = error_ns, np.nan
        numbers.bound[positions], numbers.marks[positions] = BOUNDS.index("="), 0


def _flags(values: Iterable[bool]) -> NDArray[np.bool_]:
    import numpy as np

    return np.fromiter(values, dtype=bool)


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
