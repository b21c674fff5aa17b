"""Plots of intervals over time."""

from __future__ import annotations

from pathlib import Path

from tacholog.render.figures.figures import Figure
from tacholog.render.figures.run_curves import interval_figures
from tacholog.store.load import load_logs
from tacholog.view.views import view_of

FORMATS = Path(__file__).parent.parent / "formats"


def figures(log: str) -> list[Figure]:
    return [figure for _, figure in interval_figures(view_of(load_logs([FORMATS / log])).interval_series())]


def test_rate_is_drawn_at_the_end_of_its_interval_if_the_log_states_the_length() -> None:
    (figure,) = figures("iperf3/tcp.json")

    assert figure.x.title == "Time since the start of the measurement"
    assert [(round(point.x, 6), round(point.y)) for point in figure.traces[0].points] == [
        (1.001224, 22138749327),
        (2.00007, 18948663663),
        (3.001529, 15580079505),
    ]
    assert figure.y.title == "Payload offered by the publisher"


def test_intervals_without_a_stated_length_are_numbered() -> None:
    (figure,) = figures("rti/csv-intervals-sub.csv")

    assert figure.x.title == "Interval"
    assert [point.words for point in figure.traces[0].points][:2] == ["interval 1: 916\u00a0Mbit/s", "interval 2: 932\u00a0Mbit/s"]


def test_single_interval_is_not_drawn() -> None:
    assert figures("native/latency-udp.log") == []


def test_intervals_on_one_log_line_are_drawn_separately() -> None:
    goodput, latency = figures("performance_test/layout.json")

    assert [(point.x, round(point.y)) for point in latency.traces[0].points] == [(1, 65_123), (2, 60_017), (3, 62_001)]
    assert [(round(point.x, 6), round(point.y / 1e6, 3)) for point in goodput.traces[0].points] == [
        (2.000392, 32.830),
        (3.000564, 32.896),
        (4.000714, 32.863),
    ]
