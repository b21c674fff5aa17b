"""A selection of a view contains exactly the selected numbers. Earlier selections do not change this."""

from __future__ import annotations

import itertools

import msgspec
import pytest
from tests.report.conftest import FIRST, add_run, rti, write_data

from tacholog.store.load import load
from tacholog.view.numerals import NOT_STATED
from tacholog.view.results import ResultRow
from tacholog.view.series import series_of
from tacholog.view.views import Selection, View, view_of


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> View:
    """Runs of several systems, transports and releases, and one unreadable run."""
    root = write_data(tmp_path_factory.mktemp("parts"))
    add_run(root, "rti/own-3", FIRST, msgspec.structs.replace(rti("UDPv4", published=False), release="7.3", labels={"plugin": "flannel"}))
    (root / "broken").mkdir()
    (root / "broken/run.toml").write_text("system = ")
    return view_of(load([root]))


def is_selected(result: ResultRow, selection: Selection) -> bool:
    """Return whether a selection contains a number. The tests compare this simple implementation with the implementation of Tacholog."""
    given = {name: getattr(result.run, name) for name in ("system", "host", "run", "release")}
    given |= {"transport": result.conditions.transport, "test": result.test}
    asked = {name: getattr(selection, name) for name in given if getattr(selection, name) is not None}
    labels = result.run.labels == '{"plugin": "flannel"}' if selection.labels else True
    return labels and all(value == (given[name] or NOT_STATED) for name, value in asked.items())


def selections() -> list[Selection]:
    systems, transports = (None, "RTI Connext DDS", "Tacholog perftest", "nobody"), (None, "UDPv4", "udp", NOT_STATED)
    others: tuple[dict[str, object], ...] = (
        {},
        {"release": "7.3"},
        {"release": NOT_STATED},
        {"host": "desk"},
        {"run": "rti/copy"},
        {"labels": (("label.plugin", "flannel"),)},
    )
    return [
        msgspec.convert({"system": system, "transport": transport, "test": test, **other}, Selection)
        for system, transport, test, other in itertools.product(systems, transports, (None, "latency", "throughput"), others)
    ]


def test_selection_contains_exactly_the_numbers_whose_fields_have_the_selected_values(whole: View) -> None:
    counts = set()
    for selection in selections():
        shown = whole.only(selection).results

        assert shown == [result for result in whole.results if is_selected(result, selection)], selection
        counts.add(len(shown))
    assert len(counts) > 5


def test_selection_knows_the_transports_and_tests_of_the_selected_numbers(whole: View) -> None:
    several = [msgspec.structs.replace(result, test=test) for result in whole.by_run["rti/own-3"] for test in ("latency", "throughput")]
    view = msgspec.structs.replace(whole, by_run=whole.by_run | {"rti/own-3": several})
    for selection in selections():
        part = view.only(selection)
        seen = {name: {(result.conditions.transport, result.test) for result in results} for name, results in part.by_run.items()}

        assert part.kinds == seen, selection
    assert len(view.kinds["rti/own-3"]) == len(several) // len(whole.by_run["rti/own-3"])
    assert len(view.only(Selection(test="latency")).kinds["rti/own-3"]) == 1


def test_selection_of_a_selection_shows_the_numbers_that_both_selections_include(whole: View) -> None:
    for selection in selections():
        in_two = whole.only(msgspec.structs.replace(selection, transport=None, test=None))
        in_two = in_two.only(Selection(transport=selection.transport)).only(Selection(test=selection.test))

        assert in_two.results == whole.only(selection).results
        assert in_two.runs == whole.only(selection).runs


def test_selection_of_one_test_has_the_same_series_as_a_view_of_this_test_alone(whole: View) -> None:
    found = 0
    for selection in (one for one in selections() if one.test is not None):
        shown = whole.only(selection)
        alone = View(shown.by_run, shown.runs, shown.logs, shown.problems, shown.hosts)

        assert [(one.label, one.slot, one.key, one.results) for one in shown.series()] == [
            (one.label, one.slot, one.key, one.results) for one in alone.series()
        ], selection
        found += len(shown.series())
    assert found


def test_series_of_a_test_have_no_numbers_of_another_test_of_the_same_run(whole: View) -> None:
    name, results = next((name, results) for name, results in whole.by_run.items() if {result.test for result in results} == {"latency"})
    half = len(results) // 2
    both = [*results[:half], *(msgspec.structs.replace(result, test="throughput") for result in results[half:])]
    mixed = View({name: both}, {name: whole.runs[name]}, [], [], {})
    counts = {test: sum(len(one.results) for one in mixed.only(Selection(test=test)).series()) for test in ("latency", "throughput")}

    assert sum(len(one.results) for one in mixed.series()) == len(mixed.summaries())
    assert counts == {test: sum(result.test == test and result.scope == "summary" for result in both) for test in counts}
    assert all(counts.values())


def test_selection_of_a_system_excludes_similar_runs_of_other_systems(whole: View) -> None:
    name, results = next((name, results) for name, results in whole.by_run.items() if not whole.runs[name].published)
    run = whole.runs[name]
    other = msgspec.structs.replace(run, run="other", system="another")
    by_run = {name: results, "other": [msgspec.structs.replace(result, run=other) for result in results]}
    both = View(by_run, {name: run, "other": other}, [], [], {})
    (shared,) = {len(one.runs) for one in both.series()}

    assert shared == 2
    for system in (run.system, "another"):
        assert {run.system for one in both.only(Selection(system=system)).series() for run in one.runs} == {system}


def test_cell_has_each_mark_of_the_runs_once_and_in_a_fixed_order(whole: View) -> None:
    first = whole.summaries()[0]
    runs = [msgspec.structs.replace(first, marks=marks) for marks in (("loss",), (), ("undersampled", "loss"))]
    (one,) = series_of(runs)

    (cell,) = one.cells(first.metric, first.statistic).values()
    assert cell.marks == ("loss", "undersampled")


def test_unreadable_runs_are_listed_only_if_everything_is_selected(whole: View) -> None:
    assert [problem.run for problem in whole.only(Selection()).unread] == ["broken"]
    assert whole.only(Selection()).problems[-1].run == "broken"
    for selection in selections():
        if selection != Selection():
            assert whole.only(selection).unread == []


def test_series_do_not_depend_on_earlier_selections(whole: View) -> None:
    selection = Selection(system="Tacholog perftest", transport="udp", test="latency")
    part = whole.only(selection)
    first = [(one.label, one.slot, dict(one.cells("latency", "p50"))) for one in part.series()]

    named = part.series(("label.plugin",))

    assert [one.label for one in named] == [label for label, _, _ in first]  # No run has the label.
    assert [(one.label, one.slot, dict(one.cells("latency", "p50"))) for one in part.series()] == first
    fresh = msgspec.structs.replace(whole).only(selection)
    assert [(one.label, one.slot, dict(one.cells("latency", "p50"))) for one in fresh.series()] == first
