"""The tables of a dataset, column by column.

This is the only list of columns. Frames, checks, the files for other tools and their headers, the JSON Schema, the pages that explain columns, and
the privacy classes are derived from it. The conditions are columns of ``results`` too, and are declared in `tacholog.schema.conditions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import get_args

import msgspec

from tacholog.schema.columns import PrivacyClass, SchemaColumn
from tacholog.schema.conditions import CONDITIONS, Basis
from tacholog.schema.metrics import METRICS
from tacholog.schema.records import Bound, Scope, Side, Status, Test

_MARKS = "Quality marks. They never change a value."
_STATUS = "How the run ended: `ok`, `empty`, `truncated`, `failed`; null: neither its log nor its manifest says."


def _text(
    privacy: PrivacyClass, meaning: str, *, allowed: tuple[str, ...] = (), title: str | None = None, unique: bool = False, offered: bool = False
) -> SchemaColumn:
    return SchemaColumn(kind="text", privacy=privacy, meaning=meaning, allowed=allowed, title=title, unique=unique, offered=offered)


def _integer(meaning: str, *, at_least: int = 0, unit: str | None = None) -> SchemaColumn:
    return SchemaColumn(kind="integer", privacy="public", meaning=meaning, at_least=at_least, unit=unit)


def _list(meaning: str) -> SchemaColumn:
    return SchemaColumn(kind="list", privacy="public", meaning=meaning, required=True)


def _with_required(columns: Mapping[str, SchemaColumn], *required: str) -> Mapping[str, SchemaColumn]:
    """Required columns never contain ``<NA>``."""
    return MappingProxyType(
        {name: msgspec.structs.replace(column, required=True) if name in required else column for name, column in columns.items()}
    )


RUNS = _with_required(
    {
        "run": _text("public", "The run's id: the path of its folder in the data.", unique=True),
        "system": _text("public", "What was measured, by name.", offered=True),
        "system_version": _text("public", "The version of the system.", title="version", offered=True),
        "tool": _text("public", "The tool that measured.", offered=True),
        "tool_version": _text("public", "The version of the tool.", offered=True),
        "release": _text("public", "The name under which runs are published and compared.", offered=True),
        "host": _text("name", "The machine's id.", offered=True),
        "published": SchemaColumn(
            kind="true or false",
            privacy="public",
            meaning="True: a figure that somebody else published. False: an own run.",
            title="own or published",
            offered=True,
        ),
        "status": _text("public", _STATUS, allowed=get_args(Status), offered=True),
        "reason": _text("free text", "Why the run ended as it did."),
        "start_time": _text("public", "When the run began, as its manifest or its log writes it: a day and a time of ISO 8601."),
        "order_index": _integer("The run's place in the order in which its campaign ran."),
        "session": _text("name", "The session that the run belongs to: runs made in one go on one machine."),
        "repetition": _integer("The number of the repetition of this measurement."),
        "campaign": _text("public", "The campaign that the run belongs to."),
        "options": _text("open", "The options of the manifest that distinguish this run and that are not conditions, as a JSON object."),
        "labels": _text(
            "open",
            "The user's own words that distinguish this run, such as a network plugin, as a JSON object with sorted keys. Empty: the run has none.",
            offered=True,
        ),
        "build": _text("public", "The commit that the measured program was built from."),
        "root": _text("never", "The run's folder on the machine that read it."),
        "manifest": _text("never", "The manifest, as a JSON object."),
    },
    *("run", "system", "published", "root", "manifest"),
)

LOGS = _with_required(
    {
        "run": _text("public", "The run's id."),
        "log": _text("public", "The name of the log in the run's folder."),
        "sha256": _text("public", "The SHA-256 of the log's bytes."),
        "text_sha256": _text("public", "The SHA-256 of its text: that of the bytes, if the log is not compressed."),
        "bytes": _integer("The size of the log.", unit="bytes"),
        "format": _text("public", "The format that the log was read in."),
        "side": _text("public", "The side that wrote the log, as the manifest states it.", allowed=get_args(Side)),
        "lines": _integer("How many lines the log has. Each is in exactly one of the four classes that follow."),
        "records": _integer("How many lines are part of a result."),
        "chatter": _integer("How many lines are known output of the tool without a result."),
        "broken": _integer("How many lines are cut, garbled or impossible."),
        "unknown": _integer("How many lines the format does not recognise."),
        "status": _text("public", "How the log says that the run ended.", allowed=get_args(Status)),
    },
    *("run", "log", "records", "chatter", "broken", "unknown"),
)

PROBLEMS = _with_required(
    {
        "run": _text("public", "The run's id; empty if the problem belongs to no run."),
        "log": _text("public", "The file in the run's folder; empty if the problem concerns the whole folder."),
        "line": _integer("The line of the log, counted from 1; 0 if the problem concerns the whole file."),
        "kind": _text(
            "public",
            "What is wrong.",
            allowed=("broken", "unknown", "manifest", "unreadable", "altered", "contradicted", "copied", "clocks", "forgotten", "failed"),
        ),
        "text": _text("free text", "The beginning of the line."),
        "reason": _text("free text", "The reason why the line, file or folder could not be used."),
    },
    *("run", "log", "line", "kind", "text", "reason"),
)

_WHERE_FROM = {
    "run": _text("public", "The run's id: the path of its folder in the data."),
    "log": _text("public", "The name of the log in that folder."),
    "line": _integer("The line of the log from which the number was read; the first line is 1.", at_least=1),
    "last_line": _integer("The last line of the result, if it spans several lines.", at_least=1),
    "value_line": _integer("The line that has the number itself, if the result spans several lines.", at_least=1),
    "scope": _text(
        "public",
        "`summary`: a whole measurement. `interval`: a part of a measurement; do not add up intervals to get a summary. `resources`: processor "
        "time, memory and context switches.",
        allowed=get_args(Scope),
    ),
    "test": _text(
        "public",
        "`latency`, `throughput`, `demand` (bursts of a given size), or `sustain` (the search for the highest rate that keeps a goal).",
        allowed=get_args(Test),
    ),
    "side": _text("public", "Who measured: `publisher`, `subscriber`, or `both`.", allowed=get_args(Side)),
    "participant": _text("name", "Which of several publishers or subscribers."),
}
_NUMBER = {
    "payload_bytes": _integer("The payload of a message in bytes, as requested from the tool.", at_least=1, unit="bytes"),
    "payload_bytes_high": _integer("The largest payload, if one number is for a range of sizes.", at_least=1, unit="bytes"),
    "samples": _integer("For a latency, the number of samples from which it was computed; for a rate or a use of resources, the number of messages."),
    "metric": _text("public", "What was measured; the list of metrics gives its unit.", allowed=tuple(METRICS)),
    "statistic": _text("public", "`mean`, `min`, `max`, `p99.9` (a percentile), `total`, `range-low`, ..."),
    "value": SchemaColumn(
        kind="number",
        privacy="public",
        meaning="The number, in `unit`. Empty: the log does not state it. The number is never guessed, and is 0 only if the log states 0.",
    ),
    "unit": _text(
        "public",
        "`ns`, `bit_per_s`, `messages_per_s`, `messages`, `ratio` (0 to 1), ...",
        allowed=tuple(dict.fromkeys(metric.unit for metric in METRICS.values())),
    ),
    "bound": _text(
        "public",
        "`=`; `<` below, `>` above, `~` about this value; `range-low` and `range-high` are the ends of a range.",
        allowed=get_args(Bound),
    ),
    "resolution": SchemaColumn(
        kind="number",
        privacy="public",
        meaning="The unit of the last printed digit: the precision of the number.",
        above=0,
    ),
    "marks": _list(_MARKS),
}
RESULTS = _with_required(
    {**_WHERE_FROM, **CONDITIONS, **_NUMBER},
    *("run", "log", "line", "last_line", "scope", "test", "metric", "statistic", "unit", "bound"),
)

HISTOGRAMS = _with_required(
    {
        "run": _text("public", "The run's id."),
        "log": _text("public", "The name of the log in the run's folder."),
        "line": _integer("The line of the record that the distribution belongs to."),
        "payload_bytes": _integer("The payload of a message.", unit="bytes"),
        "basis": _text("public", CONDITIONS["basis"].meaning, allowed=get_args(Basis)),
        "bins": _list("The distribution: ascending bins, each with its lower and upper end in ns and its count."),
    },
    *("run", "log", "line", "basis"),
)

TABLES: Mapping[str, Mapping[str, SchemaColumn]] = MappingProxyType(
    {"runs": RUNS, "logs": LOGS, "problems": PROBLEMS, "results": RESULTS, "histograms": HISTOGRAMS}
)

#: The columns of ``runs`` that the files for other tools join to each result.
OFFERED_OF_RUNS = tuple(name for name, column in RUNS.items() if column.offered)
#: The columns of the files for other tools (CSV, JSON lines, Parquet), in order.
OFFERED = _with_required(
    {
        "id": _text(
            "public",
            "The number's permanent id: run, log, line, metric and statistic. If several numbers of a line share these, the id of the second "
            "number ends with `~2`, that of the third with `~3`. Use the id to cite the number; on this site, its log line leads to it.",
        ),
        **RESULTS,
        "marks": _text("public", f"{_MARKS} Separated by blanks."),
        **{name: RUNS[name] for name in OFFERED_OF_RUNS},
    },
    *("id", "marks"),
)


def title(name: str) -> str:
    """Return the name of a column of the results or the runs, as in running text."""
    column = RESULTS.get(name) or RUNS.get(name)
    return (column.title if column else None) or name.replace("_", " ")
