"""The direction of unproven changes, the reach of a band, and the names of options in a report."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy
from tacholog.compare.result import Comparison, Difference
from tacholog.compare.sides import of_release
from tacholog.render.diff.document import line_of, sections
from tacholog.render.diff.notes import changed_words
from tacholog.render.diff.page import html
from tacholog.render.diff.summary import by_transport, conclusion, headline, short_conclusion
from tacholog.runs.manifest import Host
from tacholog.store.frames import Dataset
from tacholog.store.load import load
from tacholog.view.names import words

Side = Callable[..., Dataset]
Compared = Callable[..., Comparison]


def test_rows_with_unproven_differences_state_the_direction_and_those_towards_worse_come_first(checkout: Path) -> None:
    data = load([checkout / "data/perftest"])

    report = compare(of_release(data, "0.3.0"), of_release(data, "0.4.0"), Policy())

    differ = next(section for section in sections(report) if section.verdict == "unreplicated_diff")
    lines = [(line.name.replace("\u00a0", " "), line.remark.partition(";")[0]) for line in differ.lines[:5]]
    assert lines == [
        ("payload received mean, udp-multicast, copy, 64 KiB", "26 % lower, toward worse"),
        ("latency p99, tcp, copy, 4 KiB", "27 % higher, toward worse"),
        ("payload received mean, udp-wan, copy, 64 KiB", "9.8 % lower, toward worse"),
        ("latency p50, shm, copy, 1 MiB", "11 % higher, toward worse"),
        ("latency p99.9, shm-zero-copy, zero-copy, 16 B", "94 % lower, toward better"),
    ]
    assert "208 rows are unproven (64 of them differ: 4 toward worse, 60 toward better)." in conclusion(report)
    assert headline(report).startswith("0 worse, 7 better, 64 differ, not proven (4 toward worse, 60 toward better), 15 too noisy to tell")
    short = "Of 405 results: 7 better, none worse, 208 unproven, 190 not comparable. "
    assert short_conclusion(report).startswith(f"{short}60 better and 4 worse only look so: they were measured on another machine. ")
    page = html(report)
    assert re.search(r'<li class="worse none"><span><svg.*?</svg><b>0</b> Worse</span></li>', page)
    assert "<b>64</b> Differ, not proven: 4 toward worse, 60 toward better</a>" in page


def test_rows_towards_worse_are_counted_if_no_row_could_be_tested(compared: Compared) -> None:
    single = compared(np.array([[10_000.0], [10_000.0]]), np.array([[20_000.0], [8_000.0]]))

    assert headline(single) == "2 differ, not proven (1 toward worse, 1 toward better)"
    assert "2 rows differ by more than the band (1 toward worse, 1 toward better)" in conclusion(single)


@pytest.mark.parametrize(
    ("statistic", "said"),
    [("p50", "9.1 % lower to 10 % higher"), ("p99", "20 % lower to 25 % higher"), ("p99.9", "33 % lower to 50 % higher")],
)
def test_band_states_how_far_it_reaches_in_both_directions(compared: Compared, statistic: str, said: str) -> None:
    report = compared(np.array([[10_000.0]]), np.array([[20_000.0]]), statistic=statistic)

    assert f"; band: {said}, assumed" in line_of(report.rows[0]).remark


def test_change_just_outside_the_lower_end_of_the_band_is_outside_the_band_that_the_row_states(compared: Compared) -> None:
    (row,) = compared(np.array([[10_000.0]]), np.array([[9_050.0]])).rows

    assert row.verdict == "unreplicated_diff"
    assert line_of(row).remark.startswith("9.5 % lower, toward better; band: 9.1 % lower to 10 % higher, assumed")


def test_options_and_other_changes_have_readable_names_and_units() -> None:
    assert words("options", '{"warmup_s": 0.2, "mode": "a"}') == "warm-up 0.2 s, mode a"
    assert changed_words(Difference("planned_duration_s", "0.4, 0.5", "0.1")) == "planned duration: 0.4, 0.5 -> 0.1 s"
    assert changed_words(Difference("planned_duration_s", "0.4", None)) == "planned duration: 0.4 s -> not stated"
    assert changed_words(Difference("planned_duration_s", None, "0.1")) == "planned duration: not stated -> 0.1 s"


def test_report_without_comparable_rows_has_no_table_of_counts(side: Side, noise: NDArray[np.float64], other_host: Host) -> None:
    one, other = side(noise[0]), side(noise[1], host=other_host)
    old, new = (msgspec.structs.replace(found, results=found.results.assign(transport=["shm", "shm", "shm", "udp"] * 12)) for found in (one, other))

    report = compare(old, new, Policy())

    assert {(row.key.transport, row.verdict) for row in report.rows} == {("shm", "not_comparable"), ("udp", "not_comparable")}
    assert by_transport(report) == []
    assert 'class="transports"' not in html(report)
