"""The first screen of a comparison: the plot of all ratios, one line on rows that do not compare, and the largest changes."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec
import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy
from tacholog.compare.result import Comparison
from tacholog.render.diff.drawings import axis, picture
from tacholog.render.diff.page import fragment, html
from tacholog.render.diff.summary import apart_words, moved_most
from tacholog.runs.manifest import Host
from tacholog.store.frames import Dataset

Compared = Callable[..., Comparison]
Side = Callable[..., Dataset]


def signs(drawn: str) -> list[tuple[str, float]]:
    """Return the verdict and the y position of each symbol, from left to right. A smaller y is higher on the page."""
    found = re.findall(r'<path d="M([\d.]+) ([\d.]+)m[^"]*" class="sign (\w+)">', drawn)
    return [(verdict, float(y)) for x, y, verdict in sorted(found, key=lambda one: float(one[0]))]


def test_rows_are_sorted_from_better_to_worse_and_each_verdict_has_its_own_symbol(compared: Compared, noise: NDArray[np.float64]) -> None:
    drawn = str(picture(compared(noise[0], noise[1] * np.array([[1.2], [0.7], [1.0], [1.0]]))))

    found = signs(drawn)
    assert [verdict for verdict, _ in found] == ["better", "no_change", "no_change", "worse"]
    assert [y for _, y in found] == sorted((y for _, y in found), reverse=True)  # Worse is higher on the page.
    shapes = {verdict: re.sub(r"^M[\d.]+ [\d.]+", "", path) for path, verdict in re.findall(r'<path d="([^"]+)" class="sign (\w+)"', drawn)}
    assert len({*shapes.values()}) == 3


def test_lower_rate_is_worse_and_is_drawn_high_in_the_plot_like_a_higher_latency(compared: Compared, noise: NDArray[np.float64]) -> None:
    report = compared(noise[0], noise[1] * np.array([[0.5], [1.0], [1.0], [1.0]]), metric="goodput", statistic="mean", test="throughput")

    last = signs(str(picture(report)))[-1]

    assert last[0] == "worse"
    assert last[1] < 130  # The symbol is in the upper half of the plot.


def test_each_interval_is_drawn(compared: Compared, noise: NDArray[np.float64]) -> None:
    drawn = str(picture(compared(noise[0], noise[1])))

    assert sum(path.count("M") for path in re.findall(r'<path d="([^"]*)" class="ci \w+"/>', drawn)) == 4


def test_value_beyond_the_axis_has_an_arrow_that_points_outwards_and_other_values_have_no_arrow(compared: Compared) -> None:
    values = np.full((60, 12), 10_000.0) + 10.0 * np.arange(12)
    factor = np.full((60, 1), 1.1)
    factor[7] = 0.01

    drawn = str(picture(compared(values, values * factor)))

    (arrows,) = re.findall(r'<path d="([^"]*)" class="cut"', drawn)
    left, tip, right = (float(y) for y in re.findall(r"[\d.]+ ([\d.]+)", arrows))
    assert left == right < tip  # The arrow points down, towards better.
    assert "beyond the end of the axis" in drawn
    assert "beyond the end of the axis" not in str(picture(compared(values, values * 1.1)))


def test_labels_of_the_ratio_axis_fit_at_both_ends() -> None:
    for span in (0.0953, 0.2, 0.23, 0.41, 0.7, 1.1, 1.386):
        places = [float(x) for x in re.findall(r'x="([\d.]+)"', str(axis(span)))]
        assert 110.0 in places
        assert min(places) >= 20
        assert max(places) <= 200


def test_plot_of_many_rows_has_few_elements(compared: Compared) -> None:
    values = np.full((400, 6), 10_000.0) * np.linspace(1, 2, 400)[:, None]

    assert str(picture(compared(values, values * 1.001))).count("<") < 60


def test_part_of_a_page_has_a_limited_number_of_rows(compared: Compared) -> None:
    values = np.full((2_000, 6), 10_000.0) * np.linspace(1, 2, 2_000)[:, None]

    page = str(fragment(compared(values, values * 1.001), "part"))

    assert len(re.findall(r"<[a-z]", page)) < 4_700
    assert re.search(r"\.\.\. and \d+ more: <code>tacholog diff --limit 0</code>", page)


def test_single_row_has_no_plot(compared: Compared, noise: NDArray[np.float64]) -> None:
    assert picture(compared(noise[0][:1], noise[1][:1])) == ""


def test_page_has_the_conclusion_first_then_the_plot_then_the_rows_then_the_remarks(compared: Compared, noise: NDArray[np.float64]) -> None:
    page = html(compared(noise[0], noise[1] * np.array([[1.2], [1.0], [1.0], [1.0]])))

    places = [page.index(part) for part in ('class="lead', 'class="picture"', 'id="worse"', 'id="sides"', 'id="runs"')]
    assert places == sorted(places)


def test_rows_on_another_machine_are_folded_into_one_line_that_states_their_number(side: Side, noise: NDArray[np.float64], other_host: Host) -> None:
    report = compare(side(noise[0]), side(noise[1], host=other_host), Policy())

    assert apart_words(report) == "4 rows do not compare: 4 on another machine"
    assert '<summary class="stat-count">4 rows do not compare: 4 on another machine</summary>' in html(report)
    assert html(report).index('id="apart"') < html(report).index('id="not_comparable"')


def test_reasons_why_rows_do_not_compare_are_counted(side: Side, noise: NDArray[np.float64]) -> None:
    older, newer = side(noise[0][:3], transport="shm"), side(noise[1], transport="shm")
    other = side(noise[1][:2], transport="uds")
    more = type(newer)(newer.runs, newer.logs, newer.problems, newer.results, newer.histograms, hosts=newer.hosts)

    assert apart_words(compare(older, more, Policy())) == "1 row does not compare: 1 with a size that only new has"
    assert apart_words(compare(older, other, Policy())) == (
        "5 rows do not compare: 3 with a transport that only old has, 2 with a transport that only new has"
    )
    assert apart_words(compare(older, older, Policy())) == ""


def test_unstated_value_is_not_given_as_the_reason_why_a_row_does_not_compare(side: Side, noise: NDArray[np.float64]) -> None:
    older, newer = side(noise[0][:1], transport="shm"), side(noise[1][:1], transport="shm")
    output = side(noise[1][:1], transport=None, participant="server output")
    both = msgspec.structs.replace(newer, results=pd.concat([newer.results, output.results], ignore_index=True))

    assert apart_words(compare(older, both, Policy())) == "1 row does not compare: 1 with a participant that only new has"


@pytest.mark.parametrize(
    ("condition", "values", "words"),
    [("load_mode", ("closed", "open"), "with different load mode"), ("keyed", (None, True), "with keys not stated")],
)
def test_condition_that_differs_or_is_not_stated_is_named_as_the_reason(
    side: Side, noise: NDArray[np.float64], condition: str, values: tuple[object, object], words: str
) -> None:
    old, new = (side(values_, **{condition: value}) for values_, value in zip(noise, values, strict=True))

    assert apart_words(compare(old, new, Policy())).endswith(f": 4 {words}")


def test_largest_changes_are_rows_whose_change_was_tested_and_is_significant(compared: Compared, noise: NDArray[np.float64]) -> None:
    report = compared(noise[0], noise[1] * np.array([[1.2], [0.5], [1.0], [1.4]]))

    assert [(one.verdict, one.words) for one in moved_most(report, most=2)] == [("better", "50 % better"), ("worse", "42 % worse")]


def test_largest_changes_compare_single_values_and_say_so_if_no_test_was_possible(compared: Compared) -> None:
    (moved,) = moved_most(compared(np.array([[10_000.0]]), np.array([[20_000.0]])))

    assert moved.verdict == "unreplicated_diff"
    assert moved.words == "100 % higher, one value on each side"


# --- rows that do not compare


GOODPUT = {"metric": "goodput", "statistic": "mean", "unit": "bit_per_s", "test": "throughput", "basis": None, "definition": "d"}
LOSS = {"metric": "loss", "statistic": "total", "unit": "ratio", "test": "throughput", "basis": None, "definition": "d"}
NO_RATE = (
    # If a transport lost all messages, or if its receiver printed nothing, only the loss is known.
    pytest.param(LOSS, np.array([[1.0, 1.0]]), id="loss"),
    # This side has only a maximum, which is shown and not tested.
    pytest.param(GOODPUT | {"statistic": "max"}, np.array([[5e6, 6e6]]), id="untested"),
)


@pytest.mark.parametrize(("other", "values"), NO_RATE)
@pytest.mark.parametrize("turned", [False, True])
def test_transport_is_not_missing_on_a_side_that_only_lacks_a_metric_of_this_transport(
    side: Side, other: dict[str, object], values: np.ndarray, *, turned: bool
) -> None:
    poor = side(values, transport="UDP", **other)
    rich = side(np.array([[1.1e6, 1.2e6]]), transport="UDP", **GOODPUT)

    words = apart_words(compare(*((rich, poor) if turned else (poor, rich)), Policy()))

    assert words.startswith("1 row does not compare: 1 ")
    assert "transport" not in words
    assert "size" not in words


def test_transport_that_only_one_side_has_is_reported_as_missing_on_the_other_side(side: Side) -> None:
    poor, rich = side(np.array([[1.0, 1.0]]), transport="TCP", **LOSS), side(np.array([[1.1e6, 1.2e6]]), transport="UDP", **GOODPUT)

    assert apart_words(compare(poor, rich, Policy())) == "1 row does not compare: 1 with a transport that only new has"


def test_caption_counts_the_rows_with_a_ratio_that_are_not_drawn(compared: Compared, noise: NDArray[np.float64]) -> None:
    report = compared(noise[0], noise[1])
    first, *others = report.rows
    partly = msgspec.structs.replace(report, rows=(msgspec.structs.replace(first, verdict="insufficient", ratio=6.563), *others))

    assert "no sign" not in str(picture(report))
    assert "1 row with a ratio has no sign" in str(picture(partly))
