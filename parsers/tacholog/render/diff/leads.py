"""Where the values of a diff lead: each to its line of a log, each transport to its page. A file of its own has neither, and so no links."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from tacholog.compare.comparable import as_text
from tacholog.compare.result import DiffRow, Loss, Report, RowKey, Side
from tacholog.render.tables.tables import Links
from tacholog.runs.labels import is_label, labels_of
from tacholog.view.page_index import PageIndex
from tacholog.view.results import CONDITIONS, ResultRow, RunRow, is_of_control, of_these_runs
from tacholog.view.views import View

Which = Literal["old", "new"]
_OF_RUN = frozenset(RunRow.__struct_fields__)
_NAMES = tuple(name for name in RowKey.__struct_fields__ if name != "apart")


class Leads:
    """The links of a comparison. Without them (``NO_LEADS``), nothing is linked."""

    def __init__(
        self,
        line: Callable[[DiffRow | Loss, Which], str | None] = lambda _row, _which: None,
        pages: PageIndex | None = None,
        *,
        is_linked: bool = False,
    ) -> None:
        """``line`` gives the link to the value of a side, ``pages`` are those of transports."""
        self.line, self._pages, self.is_linked = line, pages or PageIndex(), is_linked

    def transport(self, system: str | None, transport: str | None) -> str | None:
        """Return the link to the page of a transport; nothing if there is none, or several that share it."""
        found = {part.document for part in self._pages.parts if (part.system, part.transport) == (system, transport)}
        return f"doc:{found.pop()}" if len(found) == 1 else None


NO_LEADS = Leads()


def leads_to(report: Report, sides: Mapping[Which, View], links: Links, pages: PageIndex) -> Leads:
    """Return the links of a comparison.

    Args:
        report: the comparison.
        sides: the runs of each side.
        links: where the pages of logs are.
        pages: the pages of transports.
    """
    names = tuple(name for name in _NAMES if name not in report.settings.across)
    wanted = {"old": {_setting(key, names) for key in (*(row.key for row in report.rows), *(loss.key for loss in report.losses))}}
    wanted["new"] = wanted["old"] | {_setting(row.new_key, names) for row in report.rows if row.new_key}
    numbers = {which: _numbers(side, wanted[which], names) for which, side in sides.items()} if links.logs is not None else {}
    controls = {id(row) for row in report.controls.rows} if report.controls else set()

    def line(row: DiffRow | Loss, which: Which) -> str | None:
        key = row.new_key if isinstance(row, DiffRow) and which == "new" and row.new_key else row.key
        value = _value(row, which)
        if value is None:
            return None
        there = [one for one in numbers.get(which, {}).get(_setting(key, names), ()) if is_of_control(one) == (id(row) in controls)]
        found = of_these_runs(_of(there, key.apart), value, _values(row, which))
        return next((link for one in found if (link := links.to_line(one))), None)

    return Leads(line, pages, is_linked=bool(numbers))


def _value(row: DiffRow | Loss, which: Which) -> float | None:
    """The value that stands for a side: that of the median run, of loss that of the run which lost most."""
    if isinstance(row, Loss):
        lost = row.old if which == "old" else row.new
        return lost.most if lost else None
    side = row.old if which == "old" else row.new
    return side.median if side else None


def _values(row: DiffRow | Loss, which: Which) -> Sequence[float]:
    """The values of the runs that a side rests on, where they are known."""
    side = row.old if which == "old" else row.new
    return side.values if isinstance(side, Side) else ()


def _setting(key: RowKey, names: Sequence[str]) -> tuple[object, ...]:
    return tuple(getattr(key, name) for name in names)


def _numbers(side: View, wanted: set[tuple[object, ...]], names: Sequence[str]) -> dict[tuple[object, ...], list[ResultRow]]:
    """Return the numbers of a side by row, of the rows of the report alone: a release has many more numbers than a comparison shows."""
    metrics = {(setting[-2], setting[-1]) for setting in wanted}  # a key ends with metric and statistic
    found: dict[tuple[object, ...], list[ResultRow]] = {}
    for one in side.summaries():
        if (one.metric, one.statistic) in metrics and (setting := tuple(_of_number(one, name) for name in names)) in wanted:
            found.setdefault(setting, []).append(one)
    return found


def _of_number(one: ResultRow, name: str) -> object:
    if name == "system":
        return one.run.system
    return getattr(one.conditions if name in CONDITIONS else one, name)


def _of(there: Iterable[ResultRow], apart: Sequence[tuple[str, str | None]]) -> list[ResultRow]:
    """Return the numbers that have everything that tells the row from others: an equal value of another row is no evidence."""
    return [one for one in there if all(_has(one, name, text) for name, text in apart)]


def _has(one: ResultRow, name: str, text: str | None) -> bool:
    if is_label(name):
        return labels_of(one.run.labels).get(name) == text
    if name in CONDITIONS:
        return as_text(getattr(one.conditions, name)) == text
    return name not in _OF_RUN or as_text(getattr(one.run, name)) == text
