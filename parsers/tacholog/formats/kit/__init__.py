"""Everything that the author of a log format imports: ``from tacholog.formats.kit import Finding, Line, Record, printed``.

**Lines in, findings out.** The function ``parse`` of a format gets `Line`s and yields `Finding`s. A finding contains one of these:

- a `Record` with its `Number`s and `Conditions`;
- `Facts` about the run;
- a part of a `Histogram`: its `Bins`, or a tuple of them;
- `Broken`, for a line that is damaged;
- ``None``, for a line without meaning.

`finding_on` makes a finding on several lines. `closed_cells` splits a row whose last cell may be cut. A prefix of each line, such as a time or the
name of a service, is removed before ``parse`` gets the line. `of_seconds` converts the seconds that a tool prints to a time.

The function ``detect`` of a format returns `Detected`. `LineStart` finds how lines of the head start. A format has these constants:

- ``DIALECTS`` holds `Dialect`s.
- ``STATES`` (optional) holds `States`: they say which conditions the results of a test state.
- ``COMPUTED`` (optional) holds the formulas of numbers that the tool does not print.

**Numbers.** `printed` makes a number that the tool rounded. `counted` makes an exact count. `impossible` makes a number that cannot be true.
`unit_of_last_place` and `unit_of_last_decimal` return the resolution of a printed number. `MICROSECOND` is a microsecond in nanoseconds. `is_size`,
`COUNT_LIMIT` and `VALUE_LIMIT` define which sizes, counts and values are possible. `METRICS` and `STATISTICS` are the names that a number may have,
with their units.

**Computed results.** `Tally` makes a summary of interval records, with the marks `DERIVED` and `PARTIAL`. `Distribution` computes percentiles of
single samples in bounded memory.

**JSON.** `json_findings` is a complete ``parse`` for a tool that prints JSON. It reads documents line by line, and passes each `JsonObject`, with the
line of each `JsonMember`, to a function of the format. This function yields `JsonResult`s from `JsonScalar`s. `json_findings` uses `JsonReader`,
which returns a `JsonLine` for each line. `parse_json` reads a text that is one object. `settings_text` writes the condition ``settings``.

**Kinds of lines.** `LineRule` declares a kind of line once, for single lines and for many lines together. It declares the pattern, its `Field`s, each
`Check` on the fields, and the `Order` of neighbouring lines. The expressions of a rule get `Cells`. `every`, `ascending` and `at_least` work with a
number and with an array. `Cell` is a text with its position on its line.

**Results in bulk (optional).** Some tools print thousands of lines of one shape in a row. The format of such a tool may have a constant ``BULK``,
which holds `Bulk`s: those of its rules, or others. A function of such a `Bulk` returns `RecordColumns`. They contain `NumberColumn`s, with one array
element for each record. `printed_column`, `counted_column` and `exact_column` make such a column.

If the lines are not independent of other lines, ``parse`` gets `Lines`, and yields `BulkFinding`s, with `Records` or without. `lines_in` yields the
lines one by one. `read_in_bulk` passes `Lines` to a function that returns a `BulkStep`. `first_false` helps to write this function. `rounded` rounds
an array as ``round`` rounds a number.

The contract:

- Findings come in the order of the results. `Facts` may come anywhere, also after the results: they apply to all records of their run. Later facts
  replace earlier facts, but ``status="ok"`` never replaces a bad ending. A second ``tool_version`` after results begins another run.
- A format yields a finding at most 4096 lines, or 8 MiB, after it got the line. A line without a finding is unknown, and is reported.
- Records, facts and columns may get more fields, each with a default. No field and no function of the kit is removed or changes its meaning.
  `RecordColumns` hold the fields of `Record` and `Number` as columns: results may be kept as columns without a change to any format.
- A format imports nothing else of Tacholog, opens no files, reads no environment, and keeps a bounded number of lines.
"""

from tacholog.formats.kit.bulk import (
    Bulk,
    Lines,
    NumberColumn,
    RecordColumns,
    counted_column,
    exact_column,
    first_false,
    lines_in,
    printed_column,
    rounded,
)
from tacholog.formats.kit.findings import BulkFinding, BulkStep, Finding, Records, finding_on, read_in_bulk
from tacholog.formats.kit.json import JsonLine, JsonMember, JsonObject, JsonReader, JsonResult, JsonScalar, json_findings, parse_json, settings_text
from tacholog.formats.kit.lines import Broken, Cell, Detected, Dialect, Line, LineStart, States, closed_cells, of_seconds
from tacholog.formats.kit.numbers import (
    COUNT_LIMIT,
    MICROSECOND,
    VALUE_LIMIT,
    counted,
    impossible,
    is_size,
    printed,
    unit_of_last_decimal,
    unit_of_last_place,
)
from tacholog.formats.kit.rules import Cells, Check, Field, LineRule, Order, ascending, at_least, every
from tacholog.formats.kit.summaries import DERIVED, PARTIAL, Distribution, Tally
from tacholog.schema.conditions import Basis, Conditions, DataPath, LoadMode, Reach, Reliability, Touched
from tacholog.schema.metrics import METRICS, STATISTICS
from tacholog.schema.records import Bins, Bound, Facts, Histogram, Number, Record, Scope, Side, Status, Test

# The names that packages for Tacholog 0.4.0 import.
Found = Finding
FoundMany = BulkFinding
Taken = BulkStep
found_on = finding_on

__all__ = [
    "COUNT_LIMIT",
    "DERIVED",
    "METRICS",
    "MICROSECOND",
    "PARTIAL",
    "STATISTICS",
    "VALUE_LIMIT",
    "Basis",
    "Bins",
    "Bound",
    "Broken",
    "Bulk",
    "BulkFinding",
    "BulkStep",
    "Cell",
    "Cells",
    "Check",
    "Conditions",
    "DataPath",
    "Detected",
    "Dialect",
    "Distribution",
    "Facts",
    "Field",
    "Finding",
    "Histogram",
    "JsonLine",
    "JsonMember",
    "JsonObject",
    "JsonReader",
    "JsonResult",
    "JsonScalar",
    "Line",
    "LineRule",
    "LineStart",
    "Lines",
    "LoadMode",
    "Number",
    "NumberColumn",
    "Order",
    "Reach",
    "Record",
    "RecordColumns",
    "Records",
    "Reliability",
    "Scope",
    "Side",
    "States",
    "Status",
    "Tally",
    "Test",
    "Touched",
    "ascending",
    "at_least",
    "closed_cells",
    "counted",
    "counted_column",
    "every",
    "exact_column",
    "finding_on",
    "first_false",
    "impossible",
    "is_size",
    "json_findings",
    "lines_in",
    "of_seconds",
    "parse_json",
    "printed",
    "printed_column",
    "read_in_bulk",
    "rounded",
    "settings_text",
    "unit_of_last_decimal",
    "unit_of_last_place",
]
