"""The verdict on loss. Loss is tested like other rows, but by the difference of the shares and not by their ratio. No test means no verdict."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray
from tests.depth import tries
from tests.diff.bounds import at_least, at_most
from tests.diff.conftest import NEW_TURNS, OLD_TURNS

from tacholog.commands.diff import diff
from tacholog.compare.diff.compare import compare, exit_code
from tacholog.compare.policy import Policy
from tacholog.compare.result import Comparison, Loss
from tacholog.compare.sides import of_release
from tacholog.render.diff.document import loss_lines
from tacholog.render.diff.page import brief, html
from tacholog.render.diff.summary import conclusion, headline
from tacholog.render.diff.text import comment, markdown, text, workflow_commands
from tacholog.runs.manifest import Host
from tacholog.store.load import load

Compared = Callable[..., Comparison]
Values = NDArray[np.float64]
SEEDS, ROWS, PAIRS = tries(25, 200), 20, 12
STEADY = 0.02 + 0.0005 * np.sin(np.arange(PAIRS))


@pytest.fixture
def lost(compared: Compared) -> Callable[..., Comparison]:
    """A function that compares the shares of lost messages in interleaved pairs."""

    def made(old: Values, new: Values, policy: Policy | None = None, **said: object) -> Comparison:
        return compared(old, new, policy, **{"metric": "loss", "statistic": "total", "test": "throughput", **said})

    return made


def only(report: Comparison) -> Loss:
    (loss,) = report.losses
    return loss


def test_loss_that_only_the_new_side_has_is_worse_by_a_number_of_points(lost: Callable[..., Comparison]) -> None:
    report = lost(np.zeros(PAIRS), STEADY)

    loss = only(report)
    assert (loss.verdict, loss.design, loss.reasons) == ("worse", "paired", ())
    assert (loss.p, loss.p_adjusted) == (2 / 2**12, 2 * 2 / 2**12)
    assert loss.difference == pytest.approx(0.02, abs=0.0002)
    assert loss.interval is not None
    assert 0.019 < (loss.interval[0] or 0) < 0.02 < (loss.interval[1] or 0) < 0.021
    assert report.loss_counts["worse"] == 1
    assert (report.counts["worse"], exit_code(report, ("worse",)), exit_code(report, ())) == (0, 3, 0)


def test_swapped_sides_give_the_opposite_verdict_on_loss_with_the_same_number_of_points(lost: Callable[..., Comparison]) -> None:
    forth, back = only(lost(STEADY, STEADY / 2)), only(lost(STEADY / 2, STEADY))

    assert (forth.verdict, back.verdict) == ("better", "worse")
    assert forth.difference == pytest.approx(-(back.difference or 0))
    assert forth.p == back.p


def test_equal_loss_on_both_sides_is_no_change(lost: Callable[..., Comparison]) -> None:
    assert only(lost(STEADY, STEADY[::-1])).verdict == "no_change"


def test_loss_in_only_one_of_twelve_runs_is_inconclusive(lost: Callable[..., Comparison]) -> None:
    new = np.zeros(PAIRS)
    new[3] = 0.05

    assert only(lost(np.zeros(PAIRS), new)).verdict == "inconclusive"


def test_change_of_loss_below_the_threshold_is_no_change_and_the_threshold_can_be_set(lost: Callable[..., Comparison]) -> None:
    old, new = STEADY, STEADY + 0.0005

    assert only(lost(old, new)).verdict == "no_change"
    assert only(lost(old, new, Policy(loss_threshold_points=0.02))).verdict == "worse"


@pytest.mark.parametrize(("new", "verdict"), [(0.004, "unreplicated_same"), (0.03, "unreplicated_diff")])
def test_loss_in_one_run_per_side_never_has_the_verdict_worse(lost: Callable[..., Comparison], new: float, verdict: str) -> None:
    loss = only(lost(np.zeros(1), np.array([new])))

    assert (loss.verdict, loss.reasons, loss.p) == (verdict, ("single_run",), None)


def test_five_pairs_are_not_enough_for_a_verdict_on_loss(lost: Callable[..., Comparison]) -> None:
    loss = only(lost(np.zeros(5), STEADY[:5]))

    assert (loss.verdict, loss.reasons) == ("insufficient", ("few_runs",))


def test_loss_on_another_machine_or_with_an_unstated_condition_has_no_verdict(
    side: Callable[..., object], other_host: Host, lost: Callable[..., Comparison]
) -> None:
    said = {"metric": "loss", "statistic": "total", "test": "throughput"}
    old, new = side(np.zeros((1, PAIRS)), OLD_TURNS, **said), side(STEADY[None], NEW_TURNS, host=other_host, **said)

    loss = only(compare(old, new, Policy()))  # type: ignore[arg-type]

    assert (loss.verdict, loss.reasons) == ("not_comparable", ("cpu_model",))
    unstated = only(lost(np.zeros(PAIRS), STEADY, reliability=None))
    assert (unstated.verdict, unstated.reasons) == ("unreplicated_diff", ("unverified",))


def test_loss_of_failed_runs_has_no_verdict(lost: Callable[..., Comparison]) -> None:
    loss = only(lost(np.zeros(PAIRS), STEADY, marks=("run_failed",)))

    assert (loss.verdict, loss.reasons) == ("invalid", ("run_failed",))


def test_loss_is_confounded_by_the_order_if_the_runs_are_in_blocks(side: Callable[..., object]) -> None:
    said = {"metric": "loss", "statistic": "total", "test": "throughput"}
    old, new = side(np.zeros((1, PAIRS)), range(PAIRS), **said), side(STEADY[None], range(PAIRS, 2 * PAIRS), **said)

    loss = only(compare(old, new, Policy()))  # type: ignore[arg-type]

    assert (loss.verdict, loss.reasons) == ("differs_worse", ("order_confounded",))


def in_blocks(side: Callable[..., object], old: Values, new: Values) -> Comparison:
    """Return a comparison in which all old runs precede all new runs, so no test is possible."""
    said = {"metric": "loss", "statistic": "total", "test": "throughput"}
    runs = old.shape[1]
    return compare(side(old, range(runs), **said), side(new, range(runs, 2 * runs), **said), Policy())  # type: ignore[arg-type]


NOTHING, BURSTS = [0.0] * 6, [0.0, 0.0, 0.0, 0.001, 0.02, 0.33]


def test_each_output_states_the_size_of_an_unproven_increase_of_loss(side: Callable[..., object]) -> None:
    report = in_blocks(side, np.array([NOTHING, [0.0] * 5 + [0.006]]), np.array([BURSTS, NOTHING]))

    said = "More loss in 1 of 2 rows (shm, copy, 16\u00a0B: up to 33\u00a0% in a run, was 0\u00a0%), less in 1; the runs do not prove it."
    assert conclusion(report) == said
    assert headline(report) == "loss: 1 higher, 1 lower, not proven"
    assert all(said.replace("\u00a0", " ") in show(report).replace("\u00a0", " ") for show in (text, html, comment, markdown))
    assert said in brief(report, None)
    assert "<b>2</b> loss: 1 higher, 1 lower, not proven" in brief(report, None)
    assert '<a href="#loss"><b>2</b> Loss: 1 higher, 1 lower, not proven</a>' in html(report)


def test_increase_of_the_median_loss_is_distinguished_from_an_increase_of_the_largest_loss(side: Callable[..., object]) -> None:
    report = in_blocks(side, np.array([[0.0, 0.0, 0.00699]]), np.array([[0.000875, 0.00175, 0.0]]))

    said = "More loss in 1 of 1 row (0.0875 % in the median run, was 0 %; up to 0.175 % in a run, was 0.699 %); the runs do not prove it."
    assert conclusion(report).endswith(said.replace(" %", "\u00a0%"))


def test_rows_with_an_increase_of_loss_come_first_if_the_medians_hardly_differ(side: Callable[..., object]) -> None:
    report = in_blocks(side, np.array([[0.0] * 5 + [0.006], NOTHING, NOTHING]), np.array([NOTHING, [0.0] * 5 + [0.013], BURSTS]))

    assert {loss.verdict for loss in report.losses} == {"unreplicated_same"}
    lines = loss_lines(report)
    assert [line.name.rpartition(", ")[2] for line in lines] == ["48\u00a0B", "32\u00a0B", "16\u00a0B"]
    assert [line.remark.partition(";")[0] for line in lines] == [
        "higher, not proven: the medians differ by no more than 1 point",
        "higher, not proven: the medians differ by no more than 1 point",
        "lower, not proven: the medians differ by no more than 1 point",
    ]


def test_section_of_loss_is_open_if_loss_increased_and_folded_if_it_decreased(side: Callable[..., object]) -> None:
    more, less = (in_blocks(side, *(np.array([one]) for one in sides)) for sides in ((NOTHING, BURSTS), (BURSTS, NOTHING)))

    assert '<section id="loss">\n<details open>' in html(more)
    assert '<section id="loss">\n<details>' in html(less)


def test_loss_in_rows_that_are_not_comparable_is_not_called_an_increase_or_a_decrease(side: Callable[..., object], other_host: Host) -> None:
    said = {"metric": "loss", "statistic": "total", "test": "throughput"}
    old, new = side(np.array([NOTHING]), range(6), **said), side(np.array([BURSTS]), range(6, 12), host=other_host, **said)

    assert conclusion(compare(old, new, Policy())) == "Messages were lost in 1 row, which does not compare."  # type: ignore[arg-type]


def test_comparison_of_perftest_releases_states_the_larger_loss(checkout: Path) -> None:
    data = load([checkout / "data/perftest"])

    report = compare(of_release(data, "0.3.0"), of_release(data, "0.4.0"), Policy())

    assert conclusion(report).endswith(
        " More loss in 6 of 7 rows (udp, copy, 64\u00a0KiB: up to 33.1\u00a0% in a run, was 0\u00a0%), less in 1; the runs do not prove it."
    )


def test_each_output_states_the_verdict_and_worse_rows_come_first(lost: Callable[..., Comparison]) -> None:
    report = lost(np.stack([STEADY, np.zeros(PAIRS), np.zeros(PAIRS)]), np.stack([STEADY[::-1], STEADY, np.zeros(PAIRS)]))

    lines = loss_lines(report)
    assert [line.remark for line in lines] == [
        "worse: +2 points (+1.98 to +2.03), 12 pairs, adjusted p\u00a00.00098",
        "no change: +0 points (-0.0424 to +0.0424), 12 pairs, adjusted p\u00a01",
    ]
    assert headline(report) == "loss: 1 worse, 1 no change"
    assert conclusion(report) == "Messages were lost in 2 rows (1 worse, 1 no change)."
    assert "worse: +2 points" in text(report)
    assert workflow_commands(report).startswith("::warning title=Worse than old::share of messages lost%2C shm%2C copy%2C 32 B%3A worse%3A +2 points")


def test_diff_reports_only_rows_of_loss_if_the_requested_metric_is_loss(checkout: object) -> None:
    words = ["--metric", "loss", "--across", "host", "--format", "json", "--fail-on", "implausible"]
    found = CliRunner().invoke(diff, [f"{checkout}/data/perftest/0.2.0", f"{checkout}/data/perftest/0.3.0", *words])

    report = json.loads(found.stdout)
    assert (report["rows"], found.exit_code) == ([], 0)
    assert {loss["verdict"] for loss in report["losses"]} == {"insufficient", "added"}


def test_comparison_of_loss_succeeds_if_neither_side_lost_messages(lost: Callable[..., Comparison]) -> None:
    report = lost(np.zeros(PAIRS), np.zeros(PAIRS), Policy(metrics=("loss",)))

    assert (report.losses, report.lossless, exit_code(report, ("worse",))) == ((), 1, 0)


def simulated(new_share: float) -> Iterator[tuple[Values, Values]]:
    """Yield the shares of lost messages of the old and the new side, once for each seed. Messages are lost in bursts: many runs lose nothing."""
    for seed in range(SEEDS):
        generator = np.random.default_rng(seed)
        bursts = generator.gamma(0.5, 0.02, (2, ROWS, PAIRS)) * (generator.random((2, ROWS, PAIRS)) < 0.4)
        bursts[1, 0] += new_share * generator.gamma(4, 0.25, PAIRS)
        yield bursts[0], bursts[1]


def test_bursts_of_loss_cause_false_verdicts_in_at_most_5_percent_of_reports(
    lost: Callable[..., Comparison], figure: Callable[[str, str], None]
) -> None:
    reports = [lost(*sides) for sides in simulated(0.0)]

    share = np.mean([report.loss_counts["worse"] + report.loss_counts["better"] > 0 for report in reports])
    figure("loss of one build in bursts, 20 rows, 12 pairs: reports with a false verdict", f"{share:.1%}")
    assert share <= tries(at_most(0.05, SEEDS), 0.05)


def test_row_that_loses_about_10_points_more_in_each_run_is_detected(lost: Callable[..., Comparison], figure: Callable[[str, str], None]) -> None:
    found = np.mean([any(loss.verdict == "worse" and loss.key.payload_bytes == 16 for loss in lost(*sides).losses) for sides in simulated(0.1)])

    figure("loss of 10 points more in one row of 20 with bursts, 12 pairs: found", f"{found:.1%}")
    assert found >= tries(at_least(0.9, SEEDS), 0.9)
