"""``results/latest.json``: the newest release of each system in a small and stable form, for dashboards; and the badges of the requirements."""

from __future__ import annotations

from importlib.metadata import version
from typing import Literal

import msgspec

from tacholog.compare.requirements.file import RequirementFile
from tacholog.compare.requirements.judge import judge
from tacholog.compare.row_values import RowValue, row_values
from tacholog.render.requirements import badges
from tacholog.site.requirements import releases_of_site
from tacholog.store.frames import Dataset
from tacholog.view.names import row_name
from tacholog.view.page_index import BADGES, RESULTS
from tacholog.view.requirements import newest
from tacholog.visible import drawn

LATEST = f"{RESULTS}/latest.json"


class LatestRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One row: its name, and the median over its runs with its 95 % interval, in the unit of the schema.

    What is not known is left out: no ``low`` and ``high`` where too few runs were made for an interval. ``marks`` are names of quality marks
    (`tacholog.schema.marks`), such as ``undersampled``; they are left out where there are none.
    """

    name: str
    system: str | None = None
    release: str | None = None
    transport: str | None = None
    payload_bytes: int | None = None
    metric: str
    statistic: str
    unit: str
    better: str | None = None
    value: float
    low: float | None = None
    high: float | None = None
    runs: int
    host: str | None = None
    marks: tuple[str, ...] = ()


class LatestRequirement(msgspec.Struct, frozen=True, kw_only=True):
    """One requirement: its name, its limit in words, its verdict (failed, missing, undecided, passed), and the path of its badge."""

    name: str
    limit: str
    verdict: str
    badge: str


class Latest(msgspec.Struct, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """The file. Fields are only ever added; a change of another kind gets another ``schema``."""

    schema_: Literal["latest/1"] = "latest/1"
    generated_by: str
    rows: tuple[LatestRow, ...]
    requirements: tuple[LatestRequirement, ...]


def latest_files(data: Dataset, file: RequirementFile | None) -> dict[str, bytes]:
    """Return the file, and the badges of the requirements if there are any, by their paths in the site."""
    chosen = newest(data)
    files: dict[str, bytes] = {}
    requirements: list[LatestRequirement] = []
    if file is not None and not chosen.runs.empty:
        others = {than for one in file.requirements if (than := one.requirement.than)}
        report = judge(newest(data, others) if others else chosen, file, releases_of_site(data))
        made = badges(report)
        files = {f"{BADGES}/{name}.svg": svg.encode() for name, svg in made.items()}
        named = list(made)[1:]  # the first is that of all requirements together
        requirements = [
            LatestRequirement(name=drawn(result.name), limit=result.stated, verdict=result.verdict, badge=f"{BADGES}/{name}.svg")
            for result, name in zip(report.results, named, strict=True)
        ]
    latest = Latest(generated_by=f"tacholog {version('tacholog')}", rows=tuple(map(_row, row_values(chosen))), requirements=tuple(requirements))
    return {LATEST: _one_row_a_line(latest), **files}


def _one_row_a_line(latest: Latest) -> bytes:
    """Return the file with one row on each line: half as long as indented JSON, and a change of one row is a change of one line."""
    encoder = msgspec.json.Encoder()
    lists = [b",\n".join(map(encoder.encode, rows)) for rows in (latest.rows, latest.requirements)]
    head = (encoder.encode(latest.schema_), encoder.encode(latest.generated_by))
    return b'{"schema": %s, "generated_by": %s,\n"rows": [\n%s\n],\n"requirements": [\n%s\n]}\n' % (*head, *lists)


def _row(row: RowValue) -> LatestRow:
    return LatestRow(
        name=drawn(row_name(row.key, with_system=True).replace("\u00a0", " ").replace("\u202f", " ")),
        system=row.key.system,
        release=row.release,
        transport=row.key.transport,
        payload_bytes=row.key.payload_bytes,
        metric=row.key.metric,
        statistic=row.key.statistic,
        unit=row.unit,
        better=row.better,
        value=row.value,
        low=row.low,
        high=row.high,
        runs=row.runs,
        host=row.host,
        marks=row.marks,
    )
