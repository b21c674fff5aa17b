"""The shaded areas and the texts of points in figures of latency."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from tacholog.render.figures.figures import Figure, latency_over_size
from tacholog.render.figures.plots import plot, spec
from tacholog.render.figures.run_curves import distribution_of, distributions_of
from tacholog.render.figures.svg import draw
from tacholog.render.links import Links
from tacholog.render.tables.summary import latency_summary
from tacholog.store.load import load_logs
from tacholog.view.results import ResultRow
from tacholog.view.series import series_of
from tacholog.view.views import view_of

LOG = Path(__file__).parent.parent / "formats" / "native" / "latency-udp.log"


def facts(label: str = "0.1") -> list[ResultRow]:
    """Return the numbers of a sample log, changed to numbers of a release. ``label`` is the name of the release."""
    found = view_of(load_logs([LOG])).summaries()
    run = msgspec.structs.replace(found[0].run, run=label, system="Ours", system_version=label, host="desk", release=label)
    return [msgspec.structs.replace(fact, run=run) for fact in found]


def figure_of(*labels: str) -> Figure:
    figure = latency_over_size(series_of([fact for label in labels for fact in facts(label)]))
    assert figure
    return figure


def test_area_from_the_median_to_the_99th_percentile_is_shaded() -> None:
    figure = figure_of("0.1")

    (shade,) = figure.shades
    assert [(point.x, point.y) for point in shade.points] == [(64, 3851), (1024, 4667), (1024, 270591), (64, 913407)]
    assert figure.note.startswith("The shaded area reaches from the median to the 99th percentile.")
    assert draw(figure, "a").count('class="tl-shade') == 1


def test_figure_with_more_than_two_shaded_areas_draws_these_areas_only_after_the_legend_is_used() -> None:
    figure = figure_of("0.1", "0.2", "0.3")

    assert len(figure.shades) == 3
    assert "tl-shade" not in draw(figure, "a")
    assert "shaded" not in figure.note


def test_figure_of_a_single_size_has_no_shaded_area() -> None:
    figure = latency_over_size(series_of([fact for fact in facts() if fact.payload_bytes == 64]))

    assert figure
    assert figure.shades == ()
    assert "shaded" not in figure.note


def test_text_of_a_point_states_all_its_known_conditions() -> None:
    (shade, first, *_) = json.loads(json.dumps(spec(figure_of("0.1"), lambda fact: (3, fact.line or 0) if fact else None)))["data"]

    assert shade["meta"]["shade"] is True
    assert first["text"][0].split("<br>") == [
        "<b>64\u00a0B: 3.85\u00a0µs</b>",
        "copy, best-effort p50",
        "1 run, 737 samples",
        "marked: Shortened warm-up",
        "0.1/latency-udp.log, line 13",
    ]
    assert first["customdata"][0] == [3, 13]
    assert first["meta"]["details"].split("<br>") == ["Ours 0.1", "machine: desk", "own run, by perftest, round trip, load closed"]


def test_text_of_a_point_says_that_a_missing_value_is_not_stated() -> None:
    bare = [msgspec.structs.replace(fact, samples=None, run=msgspec.structs.replace(fact.run, system_version=None, host=None)) for fact in facts()]
    figure = latency_over_size(series_of(bare))

    assert figure
    assert figure.traces[0].details[:2] == ("Ours (version not stated)", "machine: not stated")
    assert figure.traces[0].points[0].more[0] == "1 run, samples not stated"


def test_newest_version_is_listed_first_and_earlier_versions_keep_their_colours() -> None:
    before, after = (series_of([fact for label in labels for fact in facts(label)]) for labels in (("0.9",), ("0.10", "0.9")))

    assert [(one.slot, one.results[0].run.system_version) for one in before] == [(0, "0.9")]
    assert [(one.slot, one.results[0].run.system_version) for one in after] == [(0, "0.9"), (1, "0.10")]
    said = latency_summary(after, Links())
    assert said.index("version 0.10") < said.index("version 0.9")


def test_point_with_too_few_samples_is_a_cross_and_the_caption_explains_the_cross() -> None:
    figure, good = (latency_over_size(series_of(found)) for found in (facts(), [fact for fact in facts() if fact.statistic == "p50"]))

    assert figure
    assert good
    assert draw(figure, "a").count("l6 6m0-6l-6 6") == 2  # The 99th percentiles of both sizes have too few samples.
    assert figure.note.endswith(
        "Crosses have too few samples for their percentile. Those of high percentiles say little more than the largest value."
    )
    symbols = [trace["marker"]["symbol"] for trace in json.loads(json.dumps(spec(figure, lambda _: None)))["data"] if "marker" in trace]
    assert symbols.count(["x-thin", "x-thin"]) == 1
    assert "l6 6m0-6l-6 6" not in draw(good, "a")
    assert good.note == ""


def test_caption_states_that_medians_are_rough_if_they_have_too_few_samples() -> None:
    medians = [fact for fact in facts() if fact.statistic == "p50"]
    few = [msgspec.structs.replace(fact, marks=("undersampled",)) for fact in medians]
    again = [msgspec.structs.replace(fact, run=msgspec.structs.replace(fact.run, run="again")) for fact in medians]
    all_few, some_few = (latency_over_size(series_of(found)) for found in (few, [*few, *again]))

    assert all_few
    assert some_few
    assert all_few.note == "Crosses have too few samples for their percentile. Those of medians are rough."
    assert some_few.note.endswith("Crosses have too few samples for their percentile, in at least one of their runs. Those of medians are rough.")


def test_line_has_one_element_for_all_points_and_one_title_for_all_values() -> None:
    view = view_of(load_logs([LOG]))
    (series,) = view.series()
    figure = distribution_of(series, view.histograms)

    assert figure
    drawn = draw(figure, "a")
    assert drawn.count('class="tl-dots"') == len(figure.traces)
    assert "tl-point" not in drawn
    assert all(point.words in drawn for trace in figure.traces for point in trace.points)


def test_percentile_curves_of_several_series_are_in_one_figure_with_one_axis() -> None:
    view = view_of(load_logs([LOG]))
    (series,) = view.series()
    other = msgspec.structs.replace(series, label="another", slot=1)

    figure = distributions_of([series, other], view.histograms)

    assert figure
    assert [(trace.name, trace.slot, trace.style, trace.dash) for trace in figure.traces] == [
        (series.label, 0, "64\u00a0B", "solid"),
        (series.label, 0, "1\u00a0KiB", "dash"),
        ("another", 1, "64\u00a0B", "solid"),
        ("another", 1, "1\u00a0KiB", "dash"),
    ]
    assert str(plot(figure, "a", Links())).count("tl-style") == 2


def test_each_run_of_a_median_is_drawn_as_a_dot_and_no_range_is_drawn() -> None:
    found = facts()
    slower = [msgspec.structs.replace(one, run=msgspec.structs.replace(one.run, run="again"), value=(one.value or 0) * 2) for one in found]

    figure = latency_over_size(series_of([*found, *slower]))

    assert figure
    dots, tail = [trace for trace in figure.traces if trace.shape == "runs"]
    assert sorted((point.x, point.y) for point in dots.points) == [(64, 3851), (64, 7702), (1024, 4667), (1024, 9334)]
    assert [(trace.style, trace.points[0].low is None) for trace in figure.traces if trace.shape == "line"] == [("p50", True), ("p99", True)]
    assert (dots.style, tail.style) == ("p50", "p99")
    assert figure.note.startswith("Each dot is a run.")
    assert draw(figure, "a").count("tl-runs-strip") == 2


def test_whiskers_of_a_line_are_one_element_of_the_drawing() -> None:
    figure = figure_of("0.1")
    trace = figure.traces[0]
    points = tuple(point._replace(low=point.y, high=point.y * 2) for point in trace.points)
    repeated = msgspec.structs.replace(figure, traces=(msgspec.structs.replace(trace, points=points),))

    assert len(points) == 2
    assert draw(repeated, "a").count("tl-whisker") == 1
