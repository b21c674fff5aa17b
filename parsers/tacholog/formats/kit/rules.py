"""One declaration for a kind of line, used for one line and for many.

A `LineRule` declares the form of such a line as a pattern with named groups. For each group, it declares which metric and statistic the printed value
belongs to, and the unit and the rounding of the value. It also declares conditions on the values. Conditions and computed numbers are expressions
with operators. Therefore the kit can apply an expression to the values of a single line, and to arrays with the values of many lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from operator import and_
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from tacholog.formats.kit.bulk import Bulk, Lines, NumberColumn, RecordColumns, rounded
from tacholog.formats.kit.lines import Broken, Cell
from tacholog.formats.kit.numbers import at_cell, converted, counted, is_size, printed
from tacholog.schema.records import Number, Record

if TYPE_CHECKING:
    # At run time, only the functions that use NumPy import it: most logs are read without it.
    import numpy as np
    from numpy.typing import NDArray

_NAME = re.compile(r"\(\?P<\w+>")


class Cells(dict[str, Any]):
    """The numbers of one line, by the names of their groups. For many lines, the value of each name is an array.

    A group that does not occur on a line is missing. ``decimals`` is the number of digits after the decimal point of each number. ``printed`` has the
    printed text of each number. For many lines, ``columns`` has the index of each number among the numbers of its line.
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        decimals: Mapping[str, int],
        printed: Mapping[str, Cell] = MappingProxyType({}),
        columns: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        super().__init__(values)
        self.decimals, self.printed, self.columns = decimals, printed, columns

    def part(self, part: int | slice) -> Cells:
        """Return the numbers of one line, or of some lines."""
        return Cells({name: value[part] for name, value in self.items()}, self.decimals, columns=self.columns)


Expression = Callable[[Cells], Any]


def every(conditions: Iterable[Any]) -> Any:  # noqa: ANN401 - a truth value, or an array of them
    """Return whether all conditions hold. For arrays, the result is an array with one answer for each line."""
    return reduce(and_, conditions, True)


def ascending(values: Sequence[Any]) -> Any:  # noqa: ANN401
    """Return whether no value is below the previous value. For arrays, the result is an array with one answer for each line."""
    return every(low <= high for low, high in pairwise(values))


def at_least(value: Any, least: float) -> Any:  # noqa: ANN401
    """Return the value, but at least ``least``, so that a division by the result is possible."""
    return value + (value < least) * (least - value)


class Check(NamedTuple):
    """A condition on the numbers of a line. ``reason`` is reported if the condition does not hold."""

    reason: str
    holds: Expression


class Order(NamedTuple):
    """A condition on a line and the previous line of the same series. ``reason`` is reported if the condition does not hold."""

    reason: str
    holds: Callable[[Cells, Cells], Any]


class Field(NamedTuple):
    """One number of a record.

    Attributes:
        metric: one of `METRICS`.
        statistic: one of `STATISTICS`, or a percentile.
        value: the group in which the number is printed, or an expression that computes it from other numbers. A computed number has no position on
            the line, and is exact unless it has a resolution.
        unit: the factor that converts the printed value to the unit of the metric. Give an expression for the factor if the line names the unit. Give
            a name if the unit is stated elsewhere in the log, such as in the head of a table: see `LineRule.cells`.
        is_exact: whether the number was not rounded. For example, a count is exact.
        resolution: the step to which the number was rounded, in the unit of the metric. ``None`` stands for the unit of the last printed decimal. An
            expression may return ``None`` if the number of the line was not rounded.
        places: the number of decimals to keep, in the unit of the metric. Further decimals are rounding errors of floating point.
        zero: a condition that is true if the number is exactly 0, although it is printed as a rounded number.
        unknown: a condition that is true if the printed text cannot be the number. Such lines are read one by one.
        where: a condition that is true if the record has this number. Lines for which this condition is false are read one by one.
        marks: the marks of the number.
    """

    metric: str
    statistic: str
    value: str | Expression
    unit: float | str | Expression = 1.0
    is_exact: bool = False
    resolution: float | Expression | None = None
    places: int = 3
    zero: Expression | None = None
    unknown: Expression | None = None
    where: Expression | None = None
    marks: tuple[str, ...] = ()

    @classmethod
    def counted(cls, metric: str, group: str) -> Field:
        """Declare an exact count that is printed."""
        return cls(metric, "total", group, is_exact=True)

    def is_in(self, cells: Cells) -> bool:
        """Whether the line has this number. For many lines: whether at least one line has it."""
        return (not isinstance(self.value, str) or self.value in cells) and (self.where is None or self.where(cells) is not False)

    def number(self, cells: Cells) -> Number:
        """Return the number of one line."""
        marks, unit = self.marks, self._unit(cells)
        value, cell = (cells[self.value], cells.printed.get(self.value)) if isinstance(self.value, str) else (self.value(cells), None)
        if self.unknown and self.unknown(cells):
            number = Number(metric=self.metric, statistic=self.statistic, value=None, marks=("impossible", *marks))
        elif self.zero and self.zero(cells):
            number = Number(metric=self.metric, statistic=self.statistic, value=0.0, marks=marks)
        elif self.is_exact and self.statistic == "total" and isinstance(self.value, str):
            number = counted(self.metric, value)
        elif self._is_exact:
            number = Number(metric=self.metric, statistic=self.statistic, value=float(value), marks=marks)
        elif (resolution := self._resolution(cells, unit)) is None:
            number = Number(metric=self.metric, statistic=self.statistic, value=converted(value, unit), marks=marks)
        else:
            amount = float(value) if unit == 1 else float(round(value * unit, self.places))
            number = printed(self.metric, self.statistic, amount, resolution, marks)
        return at_cell(number, cell)

    def column(self, cells: Cells, like: Number) -> NumberColumn | None:
        """Return the numbers of this field on many lines; ``None`` if their unit cannot be determined. ``like`` is the number on the first line."""
        import numpy as np

        count, nothing = len(next(iter(cells.values()))), np.float64(np.nan)
        values, cell = (cells[self.value], cells.columns.get(self.value)) if isinstance(self.value, str) else (self.value(cells), None)
        if self._is_exact:
            exact, never = np.broadcast_to(nothing, count), np.broadcast_to(np.False_, count)
            return NumberColumn(self.metric, self.statistic, values, exact, never, self.marks, cell=cell)
        unit = self._unit(cells)
        if isinstance(unit, str):
            if like.resolution is None:
                return None
            unit = round(like.resolution * 10 ** cells.decimals[str(self.value)], 6)
        resolution = self._resolution(cells, unit)
        if isinstance(unit, np.ndarray) or unit != 1:
            values = rounded(values * unit, self.places)
        below = values == 0
        resolutions = resolution if isinstance(resolution, np.ndarray) else np.broadcast_to(np.float64(resolution), count)
        if below.any():
            values = np.where(below, resolutions, values)
        if self.zero and (none := self.zero(cells)).any():
            values, resolutions, below = np.where(none, 0.0, values), np.where(none, nothing, resolutions), below & ~none
        return NumberColumn(self.metric, self.statistic, values, resolutions, below, self.marks, cell=cell)

    @property
    def _is_exact(self) -> bool:
        return self.is_exact or (callable(self.value) and self.resolution is None)

    def _unit(self, cells: Cells) -> Any:  # noqa: ANN401 - a number, an array of them, or the name of one that many lines do not have
        return self.unit(cells) if callable(self.unit) else cells.get(self.unit, self.unit) if isinstance(self.unit, str) else self.unit

    def _resolution(self, cells: Cells, unit: Any) -> Any:  # noqa: ANN401 - a number, or an array of them
        if self.resolution is None:
            return round(10.0 ** -cells.decimals[str(self.value)] * unit, 6)
        return self.resolution(cells) if callable(self.resolution) else self.resolution


class LineRule:
    """A kind of line.

    Args:
        shapes: the patterns of such a line, with named groups. A pattern contains only ASCII characters. It uses ``[ ]`` for blanks and ``[0-9]`` for
            digits. A line with more or fewer numbers needs a shape of its own. A number has at most 15 digits and no sign. Each repetition ends with
            ``+``, as in ``[0-9]{1,15}+``. Without this ``+``, a log could make matching slow, because one match covers many lines in a row.
        fields: the numbers of the record. If a shape does not have the group of a field, the field is left out.
        record: a record with the values that all records share. If it has no definition, the definition depends on the log.
        checks: conditions on the numbers of a line.
        order: conditions on neighbouring lines of one series.
        size: the group of the message size, or the name of a value that is stated elsewhere in the log; ``None`` if the size is unknown.
        samples: the group that is the number of samples, or an expression.
        other: patterns with the same groups for single lines only: dialects that are never printed in large numbers.
        letters: digits that replace letters, such as ``{"K": "1", "M": "2"}``: a unit of one letter becomes a number of the line.
    """

    def __init__(
        self,
        *shapes: str,
        fields: Sequence[Field],
        record: Record,
        checks: Sequence[Check] = (),
        order: Sequence[Order] = (),
        size: str | None = "size",
        samples: str | Expression | None = None,
        other: Sequence[re.Pattern[str]] = (),
        letters: Mapping[str, str] | None = None,
    ) -> None:
        self.like = record
        self._fields, self._checks, self._order = fields, checks, order
        self._size, self._samples = size, samples
        self._letters = letters or {}
        patterns = [re.compile(f"{shape} *+", re.ASCII) for shape in shapes]
        self._patterns = (*patterns, *other)
        letters_in_runs = tuple((letter, digit) for letter, digit in self._letters.items() if letter)
        bulks = [Bulk(_NAME.sub("(?:", pattern.pattern).encode(), letters=letters_in_runs, rule=self) for pattern in patterns]
        self.bulk = tuple(bulks)  #: for the constant ``BULK`` of the format
        self._shapes = {bulk.line: pattern for bulk, pattern in zip(bulks, patterns, strict=True)}

    def match(self, text: str) -> dict[str, Cell] | None:
        """Return the text of each group of the pattern, by the name of the group; ``None`` if the line is not of this kind."""
        match = next((match for pattern in self._patterns if (match := pattern.fullmatch(text))), None)
        return None if match is None else Cell.named(match)

    def cells(self, texts: Mapping[str, str | None], **log_values: float) -> Cells:
        """Return the numbers of one line.

        Args:
            texts: the printed texts, by the names of the groups. If a text is a `Cell`, the position of the text is known. A text that is not a
                number, such as a word, is left out.
            log_values: values that are stated elsewhere in the log. Each argument has the name that the fields use for this value.
        """
        values: dict[str, Any] = {}
        decimals: dict[str, int] = {}
        for name, text in texts.items():
            plain = (self._letters.get(text) or text).replace(",", ".") if text is not None else ""
            try:
                values[name] = int(plain) if plain.isdecimal() else float(plain)
            except ValueError:
                continue
            decimals[name] = len(plain.partition(".")[2])
        return Cells(values | log_values, decimals, {name: text for name, text in texts.items() if isinstance(text, Cell)})

    def record(self, cells: Cells, before: Cells | None = None) -> Record | Broken:
        """Return the record of one line. ``before`` is the previous line of its series, if there is one."""
        fields = [field for field in self._fields if field.is_in(cells)]
        unknown = {str(field.value) for field in fields if field.unknown and field.unknown(cells)}
        possible = Cells({name: value for name, value in cells.items() if name not in unknown}, cells.decimals) if unknown else cells
        wrong = next((check.reason for check in self._checks if not check.holds(possible)), None)
        if wrong is None and before is not None:
            wrong = next((order.reason for order in self._order if not order.holds(cells, before)), None)
        size = cells.get(self._size or "")
        if wrong is None and size is not None and not is_size(size):
            wrong = "an impossible message size"
        if wrong is not None:
            return Broken(wrong)
        return msgspec.structs.replace(
            self.like,
            payload_bytes=size,
            samples=self._samples(cells) if callable(self._samples) else cells.get(self._samples or ""),
            numbers=tuple(field.number(cells) for field in fields),
        )

    def read(self, text: str, before: Cells | None = None, **log_values: float) -> Record | Broken | None:
        """Return the record of one line; ``None`` if the line is not of this kind."""
        texts = self.match(text)
        return None if texts is None else self.record(self.cells(texts, **log_values), before)

    def cells_of(self, lines: Lines) -> Cells | None:
        """Return the numbers of many lines of one shape; ``None`` if the first line does not match, or if a group contains a word."""
        text = lines.line(0).text
        first = self._shapes[lines.bulk.line].fullmatch(text)
        if first is None:
            return None
        texts = {name: text for name, text in first.groupdict().items() if text is not None}
        numbers = {tuple(span): index for index, span in enumerate(Lines(1, f"{text}\n".encode(), lines.bulk).spans[0].tolist())}
        if any(first.span(name) not in numbers for name in texts):
            return None
        columns = {name: numbers[first.span(name)] for name in texts}
        decimals = {name: len(text.partition(".")[2]) for name, text in texts.items()}
        return Cells({name: lines.cells[:, index] for name, index in columns.items()}, decimals, columns=columns)

    def columns(self, lines: Lines, like: Record) -> RecordColumns | None:
        """Return the records of many lines; ``None`` if ``like`` is not a record of this rule. ``like`` is the record of the first line."""
        import numpy as np

        shared, definition = self.like, self.like.conditions.definition
        fits = (like.test, like.scope) == (shared.test, shared.scope) and definition in (None, like.conditions.definition)
        cells = self.cells_of(lines) if fits else None
        if cells is None:
            return None
        fields = [field for field in self._fields if field.is_in(cells)]
        if [(field.metric, field.statistic) for field in fields] != [(number.metric, number.statistic) for number in like.numbers]:
            return None
        if self._size and self._size not in cells and like.payload_bytes is not None:
            cells[self._size] = np.broadcast_to(np.float64(like.payload_bytes), lines.count)
        return self.columns_of(cells, like)

    def columns_of(self, cells: Cells, like: Record) -> RecordColumns | None:
        """Return the records of many lines; ``None`` if a unit cannot be determined. ``like`` is the record of the first line."""
        import numpy as np

        fields = [field for field in self._fields if field.is_in(cells)]
        columns = [field.column(cells, number) for field, number in zip(fields, like.numbers, strict=True)]
        if any(column is None for column in columns):
            return None
        count, size = len(next(iter(cells.values()))), cells.get(self._size or "")
        sizes = np.broadcast_to(np.int64(-1), count) if size is None else size.astype("int64")
        samples = self._samples(cells) if callable(self._samples) else cells.get(self._samples or "")
        counts = None if samples is None else samples.astype("int64")
        return RecordColumns(self.valid(cells), sizes, counts, tuple(column for column in columns if column))

    def valid(self, cells: Cells, before: Cells | None = None) -> NDArray[np.bool_]:
        """Return whether each line is valid, alone and in the order of the lines. ``before`` is the line before the first of these lines."""
        import numpy as np

        valid = np.ones(len(next(iter(cells.values()))), dtype=np.bool_)
        for check in self._checks:
            valid &= check.holds(cells)
        for field in self._fields:
            if field.where and field.is_in(cells):
                valid &= field.where(cells)
            if field.unknown and field.is_in(cells):
                valid &= np.logical_not(field.unknown(cells))
        for order in self._order:
            valid[1:] &= order.holds(cells.part(slice(1, None)), cells.part(slice(-1)))
            valid[:1] &= before is None or order.holds(cells.part(0), before)
        return valid
