"""The tables of Fast RTPS's LatencyTest, its CSV files of minima and averages, its files of single latencies, and eProsima's summaries.

Single latencies become one record for each payload, in bounded memory.
Source: the printers of LatencyTest in Fast RTPS 0.5.1 to Fast DDS 3, its ``--export_raw_data``, and the scripts of eProsima/benchmarking, see
tacholog.formats.fastrtps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from tacholog.formats.fastrtps.tables import STATISTICS, Form, LogTable, RecordTable, is_in_order
from tacholog.formats.kit import (
    MICROSECOND,
    Basis,
    Broken,
    Bulk,
    BulkFinding,
    BulkStep,
    Cell,
    Cells,
    Check,
    Conditions,
    Distribution,
    Field,
    Finding,
    Line,
    LineRule,
    Lines,
    Record,
    Reliability,
    first_false,
    is_size,
    printed,
    unit_of_last_place,
)

_CELL = r"-?[0-9]{{1,15}}\.[0-9]{{{0}}}|-?nan"
_COUNT = r"[0-9]{1,18}"
_SUMMARY_COLUMNS = ("samples", "max", "min", "mean", "p50", "std", "jitter_mean", "jitter_max", "p90", "p99", "p99_99")
_COMMAS = "a table with decimal commas: its cells cannot be separated; export it again with decimal points"


def _form(columns: Sequence[str], decimals: int, definition: str, basis: Basis | None) -> Form:
    counts = ("bytes", *(name for name in columns if name == "samples"))
    cells = {name: _COUNT if name in counts else _CELL.format(decimals) for name in ("bytes", *columns)}
    # If the log ends within a row, a record needs all cells up to the median.
    return Form.from_cells(cells, f"fastrtps-latency-{definition}", basis, least=2 + columns.index("p50"))


FORMS: Mapping[str, Sequence[Form]] = {
    "Bytes,stdev,mean,min,50%,90%,99%,99.99%,max": [_form(STATISTICS, 2, "0.5.1", "rtt")],
    "Bytes,Samples,stdev,mean,min,50%,90%,99%,99.99%,max": [
        _form(("samples", *STATISTICS), 2, "1.1", None),
        _form(("samples", *STATISTICS), 3, "1.9.4", "rtt/2"),
    ],
    "Bytes,Samples,Max,Min,Mean,Median,Stdev,Meanjitter,Maxjitter,90%,99%,99.99%": [_form(_SUMMARY_COLUMNS, 3, "summary", "rtt/2")],
}
# A spreadsheet may also have converted "50%" to a number.
DECIMAL_COMMAS = {f"Bytes,Samples,stdev,mean,min,{half},90%,99%,99,99%,max" for half in ("50%", "0,5")}


class LatencyTable(RecordTable):
    """An open table, with its possible forms and the requested number of samples."""

    def __init__(self, forms: Sequence[Form], samples: int | None) -> None:
        self._forms = forms
        self._samples = samples

    def row(self, line: Line) -> Record | Broken:
        """Return the record of a row. If the log ends within the row, the statistics in its complete cells are used."""
        form, texts = next(((form, texts) for form in self._forms if (texts := form.texts(line))), (None, None))
        if form is None or texts is None:
            return Broken("a row of this table is cut short or garbled" if line.whole else "the log ends within this line")
        rule = _SUMMARIES if "jitter_mean" in form.columns else LATENCIES
        cells = rule.cells(texts)
        record = rule.record(cells)
        if isinstance(record, Broken):
            return record
        conditions = Conditions(basis=form.basis, load_mode="closed", definition=form.definition)
        return msgspec.structs.replace(record, samples=cells.get("samples", self._samples), conditions=conditions)


def _is_possible(cells: Cells) -> Any:  # noqa: ANN401
    least, most = cells.get("min", float("-inf")), cells.get("max", float("inf"))
    mean = cells.get("mean", least)
    return is_in_order(cells) & (least <= mean) & (mean <= most)


def _field(name: str) -> Field:
    metric, statistic = ("jitter", name.removeprefix("jitter_")) if name.startswith("jitter") else ("latency", name.replace("_", "."))

    def resolution(cells: Cells) -> float:
        decimals = cells.decimals[name]
        whole_microseconds = name == "std" and decimals == len("00")  # The tool rounds the deviation, then prints it with decimals.
        return MICROSECOND if whole_microseconds else MICROSECOND / 10**decimals

    # If there were no samples, the tool prints ``nan``.
    return Field(metric, statistic, name, unit=MICROSECOND, resolution=resolution, unknown=lambda cells: cells[name] != cells[name])


def _rule(*shapes: str, columns: Sequence[str]) -> LineRule:
    return LineRule(
        *shapes,
        fields=(*(_field(name) for name in columns if name != "samples"), Field.counted("messages_received", "samples")),
        record=Record(test="latency", payload_bytes=None, numbers=(), side="publisher"),
        checks=(Check("minimum, percentiles and maximum of this row are not in order", _is_possible),),
        size="bytes",
        samples="samples",
    )


def _padded_row_pattern(counts: Sequence[str], decimals: int) -> str:
    cells = [*((name, "[0-9]{1,15}+") for name in counts), *((name, rf"[0-9]{{1,12}}+\.[0-9]{{{decimals}}}") for name in STATISTICS)]
    return ",".join(f" *+(?P<{name}>{cell})" for name, cell in cells)


LATENCIES = _rule(
    _padded_row_pattern(["bytes"], 2), _padded_row_pattern(["bytes", "samples"], 2), _padded_row_pattern(["bytes", "samples"], 3), columns=STATISTICS
)
_SUMMARIES = _rule(columns=_SUMMARY_COLUMNS)


class DecimalCommas(RecordTable):
    """A table that a spreadsheet has saved with commas both as decimal signs and as separators."""

    def row(self, _: Line) -> Broken:
        """Reject the row: its cells cannot be separated."""
        return Broken(_COMMAS)


_VALUE = r"[0-9]{1,15}(?:\.[0-9]{1,15})?(?:e[+-][0-9][0-9])?"
_OF_ONE_SIZE = re.compile(r'"Minimum of ([0-9]{1,12}) samples \((reliable|besteffort)\)","Average of \1 samples \(\2\)"')
_OF_ALL_SIZES = re.compile(r'"[0-9]{1,12} samples of [0-9]{1,12} bytes \(us\)"(?:,"[0-9]{1,12} samples of [0-9]{1,12} bytes \(us\)"){0,99},?')
_OF_DEMANDS = re.compile(r'"[0-9]{1,12} bytes; demand [0-9]{1,12} \(\S{1,20}\)"(?:,"[0-9]{1,12} bytes; demand [0-9]{1,12} \(\S{1,20}\)"){0,999},?')
_DEMAND = re.compile(r'"([0-9]{1,12}) bytes; demand ([0-9]{1,12}) \((\S{1,20})\)"')
_PAIR = re.compile(rf'"(?P<min>{_VALUE})","(?P<mean>{_VALUE})"')
_VALUES = re.compile(rf'"{_VALUE}"(?:,"{_VALUE}"){{0,999}},?')
_RELIABILITY: Mapping[str, Reliability] = {"reliable": "reliable", "besteffort": "best-effort"}


class QuotedFile(LogTable):
    """The CSV files of old versions: a line of quoted headings, then a line of quoted values."""

    def __init__(self, heading: str) -> None:
        self._heading = heading
        self._read = False

    @staticmethod
    def is_heading(text: str) -> bool:
        """Whether the text is the line of headings of a CSV file of an old version."""
        return any(pattern.fullmatch(text) for pattern in (_OF_ONE_SIZE, _OF_ALL_SIZES, _OF_DEMANDS))

    def knows(self, squeezed: str) -> bool:
        """Whether a line consists of quoted values."""
        return squeezed.startswith(('"', ","))

    def take(self, line: Line) -> Iterator[Finding]:
        """Yield the records of a line of values. A line without its closing quote is broken, because it may be cut off."""
        if self._read:
            yield Finding(line, Broken("a second line of values below one heading"))
            return
        self._read = True
        if heading := _OF_ONE_SIZE.fullmatch(self._heading):
            yield Finding(line, _minimum_and_average(heading, line.text))
        elif _OF_ALL_SIZES.fullmatch(self._heading):
            yield Finding(line, Broken("only the file's name says whether these are minima or averages: read the files of the single sizes instead"))
        else:
            yield from self._goodputs(line)

    def _goodputs(self, line: Line) -> Iterator[Finding]:
        values = [Cell(value[1], value.start(1)) for value in re.finditer(r'"([^"]*)"', line.text)]
        demands = _DEMAND.findall(self._heading)
        if not _VALUES.fullmatch(line.text) or len(values) != len(demands):
            yield Finding(line, Broken("the numbers of values and headings differ, or a value is garbled"))
            return
        if not all(is_size(int(size)) and is_size(int(demand)) for size, demand, _ in demands):
            yield Finding(line, Broken("a heading with an impossible message size or demand"))
            return
        for (size, demand, words), value in zip(demands, values, strict=True):
            conditions = Conditions(demand=int(demand), reliability=_RELIABILITY.get(words), definition="fastrtps-demand-csv")
            goodput = printed("goodput", "mean", round(float(value) * 1e6, 3), unit_of_last_place(float(value)) * 1e6, cell=value)
            yield Finding(line, Record(test="demand", payload_bytes=int(size), numbers=(goodput,), side="subscriber", conditions=conditions))


def _minimum_and_average(heading: re.Match[str], text: str) -> Record | Broken:
    values = _PAIR.fullmatch(text)
    if values is None or float(values["min"]) > float(values["mean"]):
        return Broken("a line of a minimum and an average that is cut short or garbled")
    return Record(
        test="latency",
        payload_bytes=None,
        numbers=tuple(
            printed("latency", name, round(float(value) * MICROSECOND, 6), unit_of_last_place(float(value)) * MICROSECOND, cell=value)
            for name, value in Cell.named(values).items()
        ),
        samples=int(heading[1]),
        side="publisher",
        conditions=Conditions(reliability=_RELIABILITY[heading[2]], load_mode="closed", definition="fastrtps-latency-csv"),
    )


RAW_HEADER = "Sample,Payload[Bytes],Latency[us]"
_SAMPLE = re.compile(r"([0-9]{1,15}),([0-9]{1,15}),([0-9]{1,12}(?:\.[0-9]{1,12})?(?:e[+-][0-9][0-9])?)")
_UNITS_PER_MICROSECOND = 10**6  # Samples are stored in picoseconds: six decimals of a microsecond.
_NS_PER_UNIT = 1e-3
# Only samples with at most six decimals and no exponent are read in bulk. `RawFile.take` reads all other samples one by one.
SAMPLES = Bulk(rb"\d{1,15}+,\d{1,15}+,\d{1,9}+(?:\.\d{1,6}+)?+")


class RawFile(LogTable):
    """A file of single samples, sorted by payload. Each line begins with an index that grows through the whole file."""

    def __init__(self) -> None:
        self._number = 0
        self._payload_bytes = 0
        self._distribution = Distribution()
        self._last: Line | None = None
        self._damaged = False

    def knows(self, squeezed: str) -> bool:
        """Whether a line looks like a sample."""
        return squeezed[:1].isdigit()

    def take(self, line: Line) -> Iterator[Finding]:
        """Add a sample. A new payload ends the previous payload. If a sample is missing or garbled, its payload gets no record."""
        match = _SAMPLE.fullmatch(line.text.strip()) if line.whole else None
        if match is None or int(match[2]) == 0:
            self._damaged = True
            yield Finding(line, Broken("a sample is cut short or garbled: without it, the statistics of its payload would be wrong"))
            return
        number, payload_bytes = int(match[1]), int(match[2])
        if payload_bytes != self._payload_bytes:
            yield from self.close()
        elif self._last:
            yield Finding(self._last, None)
        if number != self._number + 1:
            self._damaged = True
        self._number, self._payload_bytes, self._last = number, payload_bytes, line
        self._distribution.add(round(float(match[3]) * _UNITS_PER_MICROSECOND))

    def take_many(self, lines: Lines) -> BulkStep:
        """Read many samples together. Return how many samples were read, and the findings on them.

        Reading stops before the first sample of another payload, and before a gap in the indices.
        """
        import numpy as np

        if lines.bulk is not SAMPLES:
            return BulkStep()
        number, payload_bytes, latency = lines.cells.T
        valid = (number == np.arange(self._number + 1, self._number + 1 + lines.count)) & (payload_bytes == self._payload_bytes)
        count = first_false(valid)
        if count == 0 or self._last is None:
            return BulkStep()
        findings: list[Finding | BulkFinding] = [Finding(self._last, None)]
        if count > 1:
            findings.append(BulkFinding(lines.part(0, count - 1), None))
        self._number += count
        self._last = lines.line(count - 1)
        self._distribution.add_many(np.rint(latency[:count] * _UNITS_PER_MICROSECOND).astype("int64"))
        return BulkStep(count, findings)

    def close(self) -> Iterator[Finding]:
        """End the current payload, and yield the finding on its last line.

        The finding is the record of the payload, or `Broken` if a sample of the payload is missing or garbled.
        """
        if self._last and self._damaged:
            yield Finding(self._last, Broken("samples before this one are missing or garbled: the statistics of its payload cannot be computed"))
        elif self._last:
            yield Finding(self._last, self._record())
        self._distribution, self._last, self._damaged = Distribution(), None, False

    def _record(self) -> Record:
        return Record(
            test="latency",
            payload_bytes=self._payload_bytes,
            numbers=tuple(
                printed("latency", name, round(value * _NS_PER_UNIT, 3), max(width * _NS_PER_UNIT, unit_of_last_place(value * _NS_PER_UNIT)))
                for name, (value, width) in self._distribution.statistics().items()
            ),
            samples=self._distribution.count,
            side="publisher",
            conditions=Conditions(basis="rtt/2", load_mode="closed", definition="fastrtps-samples"),
        )
