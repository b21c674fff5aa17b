"""The tables of Fast RTPS's LatencyTest, its CSV files of minima and averages, and eProsima's summaries of raw files.

Source: the printers of LatencyTest in Fast RTPS 0.5.1 to Fast DDS 3 and the scripts of eProsima/benchmarking, see tacholog.formats.fastrtps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tacholog.formats.fastrtps.statistics import STATISTICS, is_ascending, known_in_order
from tacholog.formats.kit import (
    MICROSECOND,
    Basis,
    Broken,
    Conditions,
    Found,
    Line,
    Number,
    Record,
    Reliability,
    closed_cells,
    counted,
    impossible,
    is_size,
    printed,
    unit_of_last_place,
)

_BY_THEMSELVES = {"mean", "min", "p50"}  # Without these a row says too little.
_CELL = r"-?[0-9]{{1,15}}\.[0-9]{{{0}}}|-?nan"
_COUNT = r"[0-9]{1,18}"
_COMMAS = "a table with decimal commas: its cells cannot be told apart; export it again with decimal points"


class LatencyForm(NamedTuple):
    """A generation of the table: the columns behind the size, and the whole rows by the decimals they have."""

    columns: Sequence[str]
    rows: Mapping[int, re.Pattern[str]]


def _form(columns: Sequence[str], decimals: Sequence[int]) -> LatencyForm:
    return LatencyForm(columns, {places: _row(columns, places) for places in decimals})


def _row(columns: Sequence[str], places: int) -> re.Pattern[str]:
    cells = [_COUNT if name == "samples" else _CELL.format(places) for name in columns]
    return re.compile(",".join(f"({cell})" for cell in (_COUNT, *cells)))


FORMS: Mapping[str, LatencyForm] = {
    "Bytes,stdev,mean,min,50%,90%,99%,99.99%,max": _form(STATISTICS, (2,)),
    "Bytes,Samples,stdev,mean,min,50%,90%,99%,99.99%,max": _form(("samples", *STATISTICS), (2, 3)),
    "Bytes,Samples,Max,Min,Mean,Median,Stdev,Meanjitter,Maxjitter,90%,99%,99.99%": _form(
        ("samples", "max", "min", "mean", "p50", "std", "jitter mean", "jitter max", "p90", "p99", "p99.99"), (3,)
    ),
}
# A spreadsheet may take "50%" for a number as well.
DECIMAL_COMMAS = {f"Bytes,Samples,stdev,mean,min,{half},90%,99%,99,99%,max" for half in ("50%", "0,5")}
_MEANINGS: Mapping[tuple[bool, int], tuple[str, Basis | None]] = {
    (False, 2): ("fastrtps-latency-0.5.1", "rtt"),
    (True, 2): ("fastrtps-latency-1.1", None),
    (True, 3): ("fastrtps-latency-1.9.4", "rtt/2"),
}


class LatencyTable:
    """A table that is open: its form, and the samples that were asked for."""

    def __init__(self, form: LatencyForm, samples: int | None) -> None:
        """Open a table below its header."""
        self._form = form
        self._samples = samples

    def row(self, line: Line, squeezed: str) -> Record | Broken:
        """The record of a row, given without its blanks. All cells have the same decimals, so a cut one shows.

        Where the log ends within the row, the statistics whose cells are closed stand by themselves.
        """
        kept = len(self._form.columns)
        if not line.whole and not any(pattern.fullmatch(squeezed) for pattern in self._form.rows.values()):
            closed = closed_cells(line._replace(text=squeezed))
            kept = len(closed) - 1
            if not {*self._form.columns[: max(kept, 0)]} >= _BY_THEMSELVES:
                return Broken("the log ends within this line")
            squeezed = ",".join(closed + closed[-1:] * (len(self._form.columns) - kept))  # For the pattern; what is filled in is not read.
        for places, pattern in self._form.rows.items():
            if found := pattern.fullmatch(squeezed):
                size, *cells = found.groups()
                return self._record(size, dict(zip(self._form.columns[:kept], cells, strict=False)), places)
        return Broken("a row of this table is cut short or garbled")

    def _record(self, size: str, cells: Mapping[str, str], places: int) -> Record | Broken:
        if not is_size(int(size)):
            return Broken("a message size that cannot be")
        if not _is_possible(cells):
            return Broken("minimum, percentiles and maximum of this row are not in order")
        definition, basis = _MEANINGS["samples" in cells, places]
        summary = "jitter mean" in self._form.columns
        samples = int(cells["samples"]) if "samples" in cells else self._samples
        return Record(
            test="latency",
            payload_bytes=int(size),
            numbers=(*_numbers(cells, places), *([counted("messages_received", int(cells["samples"]))] if "samples" in cells else [])),
            samples=samples,
            side="publisher",
            conditions=Conditions(basis=basis, load_mode="closed", definition="fastrtps-latency-summary" if summary else definition),
        )


def _numbers(cells: Mapping[str, str], places: int) -> Iterator[Number]:
    for name, cell in cells.items():
        if name == "samples":
            continue
        metric, statistic = ("jitter", name.partition(" ")[2]) if name.startswith("jitter") else ("latency", name)
        if cell.endswith("nan"):
            yield impossible(metric, statistic)
        else:
            whole_microseconds = name == "std" and places == len("00")  # Rounded before it was printed with decimals.
            yield printed(metric, statistic, round(float(cell) * MICROSECOND, 3), MICROSECOND if whole_microseconds else MICROSECOND / 10**places)


def _is_possible(cells: Mapping[str, str]) -> bool:
    """Whether the statistics are in order, with the mean between minimum and maximum."""
    if not is_ascending(cells) or cells["mean"].endswith("nan"):
        return is_ascending(cells)
    known = known_in_order(cells)
    return known[0] <= float(cells["mean"]) <= (known[-1] if "max" in cells else float("inf"))


class DecimalCommas:
    """A spreadsheet that was saved with decimal commas between commas."""

    def row(self, _: Line, __: str) -> Broken:
        """No row of it can be read."""
        return Broken(_COMMAS)


_VALUE = r"[0-9]{1,15}(?:\.[0-9]{1,15})?(?:e[+-][0-9][0-9])?"
_OF_ONE_SIZE = re.compile(r'"Minimum of ([0-9]{1,12}) samples \((reliable|besteffort)\)","Average of \1 samples \(\2\)"')
_OF_ALL_SIZES = re.compile(r'"[0-9]{1,12} samples of [0-9]{1,12} bytes \(us\)"(?:,"[0-9]{1,12} samples of [0-9]{1,12} bytes \(us\)"){0,99},?')
_OF_DEMANDS = re.compile(r'"[0-9]{1,12} bytes; demand [0-9]{1,12} \(\S{1,20}\)"(?:,"[0-9]{1,12} bytes; demand [0-9]{1,12} \(\S{1,20}\)"){0,999},?')
_DEMAND = re.compile(r'"([0-9]{1,12}) bytes; demand ([0-9]{1,12}) \((\S{1,20})\)"')
_PAIR = re.compile(rf'"({_VALUE})","({_VALUE})"')
_VALUES = re.compile(rf'"{_VALUE}"(?:,"{_VALUE}"){{0,999}},?')
_RELIABILITY: Mapping[str, Reliability] = {"reliable": "reliable", "besteffort": "best-effort"}


class QuotedFile:
    """The CSV files of old: a line of quoted headings, a line of quoted values."""

    def __init__(self, heading: str) -> None:
        """Open a file below the heading that `is_heading` has said yes to."""
        self._heading = heading
        self._read = False

    @staticmethod
    def is_heading(text: str) -> bool:
        """Whether the text is such a heading."""
        return any(pattern.fullmatch(text) for pattern in (_OF_ONE_SIZE, _OF_ALL_SIZES, _OF_DEMANDS))

    def values(self, line: Line) -> Iterator[Found]:
        """The records of the line of values: a closing quote says that it is whole."""
        if self._read:
            yield Found(line, Broken("a second line of values below one heading"))
            return
        self._read = True
        if one := _OF_ONE_SIZE.fullmatch(self._heading):
            yield Found(line, _minimum_and_average(one, line.text))
        elif _OF_ALL_SIZES.fullmatch(self._heading):
            yield Found(line, Broken("only the file's name says whether these are minima or averages: read the files of the single sizes instead"))
        else:
            yield from self._goodputs(line)

    def _goodputs(self, line: Line) -> Iterator[Found]:
        values = [value.strip('"') for value in line.text.rstrip(",").split(",")]
        demands = _DEMAND.findall(self._heading)
        if not _VALUES.fullmatch(line.text) or len(values) != len(demands):
            yield Found(line, Broken("there are not as many values as headings, or one is garbled"))
            return
        if not all(is_size(int(size)) and is_size(int(demand)) for size, demand, _ in demands):
            yield Found(line, Broken("a heading with a message size or a demand that cannot be"))
            return
        for (size, demand, words), value in zip(demands, values, strict=True):
            conditions = Conditions(demand=int(demand), reliability=_RELIABILITY.get(words), definition="fastrtps-demand-csv")
            goodput = printed("goodput", "mean", round(float(value) * 1e6, 3), unit_of_last_place(float(value)) * 1e6)
            yield Found(line, Record(test="demand", payload_bytes=int(size), numbers=(goodput,), side="subscriber", conditions=conditions))


def _minimum_and_average(heading: re.Match[str], text: str) -> Record | Broken:
    values = _PAIR.fullmatch(text)
    if values is None or float(values[1]) > float(values[2]):
        return Broken("a line of a minimum and an average that is cut short or garbled")
    return Record(
        test="latency",
        payload_bytes=None,
        numbers=tuple(
            printed("latency", name, round(float(value) * MICROSECOND, 6), unit_of_last_place(float(value)) * MICROSECOND)
            for name, value in zip(("min", "mean"), values.groups(), strict=True)
        ),
        samples=int(heading[1]),
        side="publisher",
        conditions=Conditions(reliability=_RELIABILITY[heading[2]], load_mode="closed", definition="fastrtps-latency-csv"),
    )
