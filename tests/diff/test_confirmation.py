"""Rows that look worse or better in the first pairs get their verdicts from new pairs alone (`tacholog ab --confirm`)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.depth import tries
from tests.diff.bounds import at_least
from tests.diff.conftest import make_pairs

from tacholog.compare.confirmation import changed_rows, confirmed, only_rows, runs_with
from tacholog.compare.diff.compare import compare, exit_code
from tacholog.compare.policy import Policy
from tacholog.compare.result import Comparison, ComparisonRow, to_json
from tacholog.render.diff.page import html
from tacholog.render.diff.text import comment, markdown, text

Floats = NDArray[np.float64]
Figure = Callable[[str, str], None]
REPORTS, ROWS, PAIRS = tries(60, 1000), 40, 12
SHOWN = (text, markdown, comment, html)
LOSS: dict[str, Any] = {"metric": "loss", "statistic": "total", "unit": "ratio", "test": "throughput", "basis": None}


def two_looks(first: tuple[Floats, Floats], again: tuple[Floats, Floats], **said: Any) -> tuple[Comparison, Comparison]:  # noqa: ANN401 - any column
    """Compare the first pairs only, and then all pairs. Each array has the shape (sizes, runs)."""
    look = compare(*make_pairs(*first, **said), Policy(), everything=False)
    rows = changed_rows(look)
    old, new = (only_rows(side, rows, ()) for side in make_pairs(*again, **{"session": "session-2", **said}))
    return look, confirmed(look, compare(old, new, Policy(), everything=False) if rows else None, again[0].shape[1])


def level(log_values: Floats) -> Floats:
    return np.asarray(10_000 * np.exp(log_values))


def noise(seed: int, rows: int = 1, deviation: float = 0.01) -> Floats:
    """Return random logarithms, shape (2, sides, rows, pairs).

    Index 0 has the first pairs. Index 1 has the new pairs, which confirm the result of the first pairs.
    """
    return deviation * np.random.default_rng(seed).standard_normal((2, 2, rows, PAIRS))


def only(report: Comparison) -> ComparisonRow:
    (row,) = report.rows
    return row


class Shares(NamedTuple):
    """Shares of simulated reports. Only the first row was changed.

    Attributes:
        first: the share of reports that call the first row worse, after the first pairs.
        confirmed: the same share after the new pairs.
        first_false: the share of reports that call an unchanged row worse or better, after the first pairs.
        confirmed_false: the same share after the new pairs.
    """

    first: float
    confirmed: float
    first_false: float
    confirmed_false: float


def simulated(change: float, deviation: float) -> Shares:
    """Simulate reports, and return how many of them call a row better or worse.

    In each report, the first row is slower on the new side, by the logarithm ``change``.
    """
    reports: list[list[bool]] = []
    for seed in range(REPORTS):
        values = noise(seed, ROWS, deviation)
        values[:, 1, 0] += change
        both = two_looks(*((level(old), level(new)) for old, new in values))
        called = [{row.key.payload_bytes: row.verdict for row in report.rows if row.verdict in ("worse", "better")} for report in both]
        reports.append([*(verdicts.get(16) == "worse" for verdicts in called), *(bool(verdicts.keys() - {16}) for verdicts in called)])
    return Shares(*(float(np.mean(column)) for column in zip(*reports, strict=True)))


@pytest.mark.parametrize("deviation", tries([0.1], [0.02, 0.05, 0.1]))
def test_confirmation_reduces_the_share_of_reports_that_call_an_unchanged_row_worse_or_better(deviation: float, figure: Figure) -> None:
    shares = simulated(0.0, deviation)

    figure(
        f"A/A, {deviation:.0%} noise, 12 pairs, confirmed in 12 more",
        f"worse or better in {shares.first_false:.1%} of {REPORTS} first looks, {shares.confirmed_false:.1%} of confirmed reports",
    )
    assert shares.confirmed_false <= tries(0.01, 0.01)
    assert deviation < 0.1 or shares.first_false > shares.confirmed_false


def test_row_that_is_ten_percent_slower_is_still_worse_after_confirmation(figure: Figure) -> None:
    shares = simulated(float(np.log(1.1)), 0.02)

    figure("+10 % in 1 of 40 rows, 2 % noise, 12 pairs", f"worse in {shares.first:.1%} of {REPORTS} first looks, {shares.confirmed:.1%} confirmed")
    assert shares.confirmed >= tries(at_least(0.95, REPORTS), 0.95)


def test_confirmed_row_has_the_verdict_and_the_figures_of_the_new_pairs_only() -> None:
    first, again = noise(1)
    first[1] += np.log(1.3)
    again[1] += np.log(1.1)

    _, report = two_looks((level(first[0]), level(first[1])), (level(again[0]), level(again[1])))

    row = only(report)
    assert row.verdict == "worse"
    assert row.ratio == pytest.approx(1.1, abs=0.02)
    assert row.old
    assert row.old.values == pytest.approx(level(again[0])[0])
    assert row.first_look
    assert (row.first_look.verdict, row.first_look.confirmed, row.first_look.pairs) == ("worse", True, PAIRS)
    assert row.first_look.ratio == pytest.approx(1.3, abs=0.02)
    assert exit_code(report, ("worse",)) == 3


@pytest.mark.parametrize(("change", "verdict"), [(0.0, "no_change"), (np.log(0.9), "better")])
def test_row_that_is_not_worse_in_the_new_pairs_is_not_confirmed(change: float, verdict: str) -> None:
    first, again = noise(2)
    first[1] += np.log(1.2)
    again[1] += change

    look, report = two_looks((level(first[0]), level(first[1])), (level(again[0]), level(again[1])))

    row = only(report)
    assert (only(look).verdict, row.verdict) == ("worse", verdict)
    assert row.first_look
    assert not row.first_look.confirmed
    assert (report.counts["worse"], report.counts[verdict]) == (0, 1)
    assert (exit_code(look, ("worse",)), exit_code(report, ("worse",))) == (3, 0)


def test_swapped_sides_give_the_opposite_verdicts() -> None:
    first, again = noise(3, rows=3)
    first[1, :2] += np.log([[1.2], [0.8]])
    again[1, :2] += np.log([[1.2], [0.8]])
    looks = [[(level(old), level(new)) for old, new in (first, again)], [(level(new), level(old)) for old, new in (first, again)]]

    verdicts = [{row.key.payload_bytes: row.verdict for row in two_looks(*both)[1].rows} for both in looks]

    assert verdicts == [{16: "worse", 32: "better", 48: "no_change"}, {16: "better", 32: "worse", 48: "no_change"}]


def test_only_changed_rows_are_tested_in_the_new_pairs_and_other_rows_keep_their_first_pairs() -> None:
    first, again = noise(4, rows=5)
    first[1, 2] += np.log(1.2)
    again[1] += np.log(1.2)

    look, report = two_looks((level(first[0]), level(first[1])), (level(again[0]), level(again[1])))

    assert {row.key.payload_bytes: row.verdict for row in report.rows} == {48: "worse"} | dict.fromkeys((16, 32, 64, 80), "no_change")
    before = {row.key: row for row in look.rows}
    assert [row for row in report.rows if row.first_look is None] == [before[row.key] for row in report.rows if row.key.payload_bytes != 48]
    chosen = next(row for row in report.rows if row.first_look)
    # Only rows with new pairs count for the adjustment of p-values: at most two of the five rows. So p at most doubles.
    assert chosen.p == chosen.p_adjusted or (chosen.p or 0) < (chosen.p_adjusted or 0) <= 2 * (chosen.p or 0)


def test_report_equals_the_report_of_the_first_pairs_if_no_row_changed() -> None:
    values = noise(5)

    look, report = two_looks(*((level(old), level(new)) for old, new in values))

    assert (report.rows, report.counts) == (look.rows, look.counts)
    assert all("First look: no row is worse or better, so nothing was measured again." in show(report) for show in SHOWN)


def test_each_output_format_shows_the_results_before_and_after_the_confirmation() -> None:
    first, again = noise(6, rows=2)
    first[1] += np.log(1.2)
    again[1, 0] += np.log(1.2)

    _, report = two_looks((level(first[0]), level(first[1])), (level(again[0]), level(again[1])))

    sentence = "First look: 2 worse. Their verdicts come from 12 new pairs alone: 1 confirmed, 1 not confirmed (latency p50, shm"
    assert all(sentence in show(report) for show in SHOWN)
    for show in (text, markdown, html):
        assert "12 new pairs, adjusted p" in show(report).replace("&nbsp;", " ")
        assert "not confirmed: 20 % worse in the first 12 pairs" in show(report)
    document = json.loads(to_json(report))
    looks = {row["key"]["payload_bytes"]: row["first_look"] for row in document["rows"]}
    assert {size: (first["verdict"], first["confirmed"], first["pairs"]) for size, first in looks.items()} == {
        16: ("worse", True, 12),
        32: ("worse", False, 12),
    }
    assert document["warnings"] == ["first_look:2:12"]


def test_row_without_a_value_in_the_new_pairs_is_not_confirmed() -> None:
    first, again = noise(7)
    first[1] += np.log(1.2)
    look = compare(*make_pairs(level(first[0]), level(first[1])), Policy())
    elsewhere = make_pairs(level(again[0]), level(again[1]), transport="udp")
    old, new = (only_rows(side, changed_rows(look), ()) for side in elsewhere)

    report = confirmed(look, compare(old, new, Policy()), PAIRS)

    assert (only(report).verdict, only(report).reasons) == ("insufficient", ("few_runs",))
    assert "not confirmed" in text(report)
    assert "0 and 0 runs, 6 a side are needed" in text(report)


@pytest.mark.parametrize("again", [0.02, 0.0])
def test_increase_of_loss_is_confirmed_only_if_the_new_pairs_show_it_too(again: float) -> None:
    generator = np.random.default_rng(8)
    old, new = 0.001 * generator.random((1, PAIRS)), 0.02 + 0.001 * generator.random((1, PAIRS))

    look, report = two_looks((old, new), (np.zeros((1, PAIRS)), again * np.ones((1, PAIRS))), **LOSS)

    assert [loss.verdict for loss in (*look.losses, *report.losses)] == ["worse", "worse" if again else "no_change"]
    assert ("not confirmed: +2" if not again else "confirmed: +2") in text(report)
    assert exit_code(report, ("worse",)) == (3 if again else 0)


def test_runs_of_a_row_are_selected_by_the_conditions_and_labels_of_the_row() -> None:
    values = level(noise(9, rows=2)[0])
    plugins = ['{"plugin": "a"}', '{"plugin": "b"}'] * (PAIRS // 2)
    sides = make_pairs(*values, labels=plugins)
    report = compare(*sides, Policy())
    key = next(row.key for row in report.rows if row.key.payload_bytes == 32 and ("label.plugin", "b") in row.key.apart)

    assert runs_with(sides[0], [key], ()) == {f"run-{number}" for number in range(1, PAIRS, 2)}
    part = only_rows(sides[0], [key], ())
    assert set(part.results["payload_bytes"]) == {32}
    assert len(part.results) == PAIRS // 2
