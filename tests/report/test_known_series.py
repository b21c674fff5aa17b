"""What an earlier build found out about series: taken where nothing changed, never where anything did."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.report.conftest import FIRST, SECOND, add_run, rti, write_data

from tacholog.schema.conditions import Conditions
from tacholog.site.output.kept_series import SeriesMemory
from tacholog.store.load import load
from tacholog.view.known_series import KeptSeries, KnownSeries, remember
from tacholog.view.page_index import PageIndex
from tacholog.view.ranking_groups import Compared, compared
from tacholog.view.results import ResultRow, RunRow
from tacholog.view.series import Cell
from tacholog.view.views import View, view_of

pytestmark = pytest.mark.machinery

# Two groups of runs, and a percentile that only some runs state.
MEDIANS = (900.0, 905.0, 910.0, 1500.0, 1490.0, 1510.0)


def numbers_of(run: RunRow, median: float, *, tail: float | None, marks: tuple[str, ...] = ()) -> list[ResultRow]:
    conditions = Conditions(transport="udp", basis="rtt")
    return [
        ResultRow(run, "sub.log", "latency", name, 3, test="latency", conditions=conditions, payload_bytes=64, value=value, unit="ns", marks=marks)
        for name, value in (("p50", median), ("p99.9", tail), ("max", 2.5 * median))
    ]


def made_up() -> View:
    found = {}
    for number, median in enumerate(MEDIANS):
        run = RunRow(run=f"run-{number}", system="X")
        found[run.run] = numbers_of(run, median, tail=None if number == 4 else 2 * median, marks=("undersampled",) if number else ())
    return View(found, {name: results[0].run for name, results in found.items()}, (), (), {}, number_digests={name: name for name in found})


def measured(root: Path) -> View:
    """Real runs of several systems, of which the fifth may have changed."""
    return view_of(load([root]))


def data_in(root: Path, log: str = FIRST) -> Path:
    write_data(root)
    for number, text in enumerate((FIRST, SECOND, FIRST, SECOND, log)):
        add_run(root, f"rti/mine-{number}", text, msgspec.structs.replace(rti("UDPv4", published=False), release="7.3"))
    return root


def everything_of(one: Compared) -> dict[str, object]:
    series = one.series
    cells = {name: dict(series.cells(*name)) for name in series.statistics()}
    return {"cells": cells, "sizes": list(series.sizes()), "marks": series.measured.marks, "statistics": list(series.statistics())}


def cells_of(one: Compared) -> list[Cell]:
    return [cell for name in one.series.statistics() for cell in one.series.cells(*name).values()]


def known_after(view: View, kept: dict[str, KeptSeries] | None = None) -> dict[str, KeptSeries]:
    """What a build knows at its end that asks for everything; written to a file and read again."""
    known = KnownSeries(kept or {})
    remember(view, known)
    for one in compared(view, PageIndex()):
        everything_of(one)
    return msgspec.json.decode(msgspec.json.encode(known.now()), type=dict[str, KeptSeries])


@pytest.mark.parametrize("kind", ["made up", "measured"])
def test_a_series_that_is_known_shows_what_it_shows_when_nothing_is_known(kind: str, tmp_path: Path) -> None:
    root = data_in(tmp_path)
    plain, first, second = (made_up() if kind == "made up" else measured(root) for _ in range(3))
    kept = known_after(first)

    again = known_after(second, kept)

    assert [everything_of(one) for one in compared(second, PageIndex())] == [everything_of(one) for one in compared(plain, PageIndex())]
    assert all("_by_size" not in one.series.measured.__dict__ for one in compared(second, PageIndex())), "made of all numbers again"
    assert again == kept
    if kind == "made up":
        assert {len(cell.groups) for one in compared(second, PageIndex()) for cell in cells_of(one)} == {0, 2}
        assert {cell.value is None for one in compared(second, PageIndex()) for cell in cells_of(one)} == {True, False}


def test_a_cell_that_is_known_holds_the_numbers_themselves(tmp_path: Path) -> None:
    root = data_in(tmp_path)
    kept = known_after(measured(root))
    view = measured(root)
    known_after(view, kept)
    numbers = {id(result) for result in view.results}

    shown = [result for one in compared(view, PageIndex()) for cell in cells_of(one) for result in (cell.shown, *cell.results)]

    assert shown
    assert all(id(result) in numbers for result in shown)


def test_of_a_series_with_a_changed_run_nothing_is_believed(tmp_path: Path) -> None:
    kept = known_after(measured(data_in(tmp_path / "before")))
    for path in (tmp_path / "before").rglob("*"):  # the same folder, with another log in the last run
        if path.name == "sub.log" and path.parent.name == "mine-4":
            path.write_text(SECOND)
    changed, plain = measured(tmp_path / "before"), measured(tmp_path / "before")

    now = known_after(changed, kept)

    assert [everything_of(one) for one in compared(changed, PageIndex())] == [everything_of(one) for one in compared(plain, PageIndex())]
    assert 0 < len(now.keys() - kept.keys()) < len(now), "only the series of that run are made again"


def test_a_number_that_was_not_asked_for_before_is_kept_from_then_on() -> None:
    first = made_up()
    known = KnownSeries({})
    remember(first, known)
    compared(first, PageIndex())[0].series.cells("latency", "p50")

    kept = known_after(made_up(), dict(known.now()))

    (one,) = kept.values()
    assert [cells.statistic for cells in one.cells] == ["p50", "p99.9", "max"]


@pytest.mark.parametrize("fault", ["another code", "damaged"])
def test_of_another_code_or_a_damaged_file_nothing_is_known(fault: str, tmp_path: Path) -> None:
    memory, view = tmp_path / "series.json", made_up()
    kept = SeriesMemory(memory, "1", view)
    everything_of(compared(view, PageIndex())[0])
    kept.save()
    text = memory.read_text()
    if fault == "damaged":
        assert "p99.9" in text
        memory.write_text(text.replace("p99.9", "p99.8"))
    view = made_up()

    SeriesMemory(memory, "2" if fault == "another code" else "1", view)

    assert "made_cells" not in compared(view, PageIndex())[0].series.measured.__dict__


def test_a_build_that_asks_for_no_series_forgets_none(tmp_path: Path) -> None:
    memory, view = tmp_path / "series.json", made_up()
    kept = SeriesMemory(memory, "1", view)
    everything_of(compared(view, PageIndex())[0])
    kept.save()
    before = memory.read_bytes()

    SeriesMemory(memory, "1", made_up()).save()

    assert memory.read_bytes() == before
