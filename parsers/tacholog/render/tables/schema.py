"""What the columns of the tables for other tools mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args, get_origin

import msgspec

from tacholog.render.html import Html, join, tag
from tacholog.render.tables.plain import plain_table
from tacholog.schema.records import Conditions
from tacholog.view.names import CONDITION_WORDS

TEXT, WHOLE, NUMBER, YES_NO = "text", "integer", "number", "true or false"
# Every column but the conditions, in the order of the tables. A test holds that none is missing.
_BEFORE = {
    "id": (TEXT, "The number's permanent id: run, log, line, metric and statistic. Cite it; its line leads to it on this site."),
    "run": (TEXT, "The run's id: the path of its folder in the data."),
    "log": (TEXT, "The name of the log in that folder."),
    "line": (WHOLE, "The line of the log that the number was read from, from 1."),
    "last_line": (WHOLE, "The last of its lines, where a result spans several."),
    "value_line": (WHOLE, "The line that the number itself stands on, where a result spans several."),
    "scope": (TEXT, "`summary`: a whole measurement. `interval`: a part of one; parts add up to no summary. `resources`: what it cost."),
    "test": (TEXT, "`latency`, `throughput`, or `demand` (bursts of a given size)."),
    "side": (TEXT, "Who measured: `publisher`, `subscriber`, or `both`."),
    "participant": (TEXT, "Which of several publishers or subscribers."),
}
_AFTER = {
    "payload_bytes": (WHOLE, "The payload of a message in bytes, as the tool was asked for it."),
    "payload_bytes_high": (WHOLE, "The largest payload, where one number stands for a range of sizes."),
    "samples": (WHOLE, "How many samples are behind a latency, or messages behind a rate."),
    "metric": (TEXT, "What was measured; the definitions page lists all."),
    "statistic": (TEXT, "`mean`, `min`, `max`, `p99.9` (a percentile), `total`, `range-low`, ..."),
    "value": (NUMBER, "The number, in `unit`. Empty: the log does not state it. Never a guess, and 0 only where the log says 0."),
    "unit": (TEXT, "`ns`, `bit_per_s`, `messages_per_s`, `messages`, `ratio` (0 to 1), ..."),
    "bound": (TEXT, "`=`; `<` below, `>` above, `~` about this value; `range-low` and `range-high` are the ends of a range."),
    "resolution": (NUMBER, "The unit of the last printed place: the number is known to within this."),
    "marks": (TEXT, "Quality marks, separated by blanks. They never change a value."),
    "system": (TEXT, "What was measured, by name."),
    "system_version": (TEXT, "Its version."),
    "tool": (TEXT, "The tool that measured."),
    "tool_version": (TEXT, "Its version."),
    "release": (TEXT, "The label under which runs are published and compared."),
    "host": (TEXT, "The machine's id."),
    "published": (YES_NO, "True: a figure that somebody else published. False: an own run."),
    "status": (TEXT, "How the run ended: `ok`, `empty`, `truncated`, `failed`; null: neither its log nor its manifest says."),
}


def columns() -> dict[str, tuple[str, str]]:
    """Return every column with its kind and meaning, in order."""
    kinds = {field.name: _kind(field.type) for field in msgspec.structs.fields(Conditions)}
    return {**_BEFORE, **{name: (kind, CONDITION_WORDS[name]) for name, kind in kinds.items()}, **_AFTER}


def schema_table() -> Html:
    """Return the columns as a table."""
    rows = [[tag("code", name), kind, _words(words)] for name, (kind, words) in columns().items()]
    return plain_table("Columns", ("column", "kind", "meaning"), rows)


def _words(text: str) -> Html:
    """Return text whose odd pieces between backticks are code."""
    return join(tag("code", piece) if index % 2 else piece for index, piece in enumerate(text.split("`")))


def _kind(type_: object) -> str:
    kinds = {bool: YES_NO, int: WHOLE, float: NUMBER}
    return next((kinds[found] for found in _plain_types(type_) if found in kinds), TEXT)


def _plain_types(type_: object) -> Iterator[object]:
    """Yield the types inside unions and annotations."""
    yield type_
    for inner in get_args(type_) if get_origin(type_) is not Literal else ():
        yield from _plain_types(inner)
