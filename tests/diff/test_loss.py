"""The verdict of what was lost: the same test as for all else, on differences of shares, and honest where it cannot tell."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from tacholog.commands.diff import diff
from tacholog.compare.diff.compare import compare, exit_code
from tacholog.compare.policy import Policy
from tacholog.compare.result import Loss, Report
from tacholog.render.diff.loss import loss_lines
from tacholog.render.diff.meanings import headline
from tacholog.render.diff.summary import conclusion
from tacholog.render.diff.text import text, workflow_commands
from tacholog.runs.manifest import Host

Compared = Callable[..., Report]
Values = NDArray[np.float64]
SEEDS, ROWS, PAIRS = 200, 20, 12
STEADY = 0.02 + 0.0005 * np.sin(np.arange(PAIRS))
OLD_TURNS = [2 * pair + pair % 2 for pair in range(12)]  # each side goes first in every other pair
NEW_TURNS = [2 * pair + 1 - pair % 2 for pair in range(12)]


@pytest.fixture
def lost(compared: Compared) -> Callable[..., Report]:
    """Compare shares lost in interleaved pairs."""

    def made(old: Values, new: Values, policy: Policy | None = None, **said: object) -> Report:
        return compared(old, new, policy, **{"metric": "loss", "statistic": "total", "test": "throughput", **said})

    return made


def only(report: Report) -> Loss:
    (loss,) = report.losses
    return loss


def test_loss_that_begins_in_every_pair_is_worse_by_so_many_points(lost: Callable[..., Report]) -> None:
    report = lost(np.zeros(PAIRS), STEADY)

    loss = only(report)
    assert (loss.verdict, loss.design, loss.reasons) == ("worse", "paired", ())
    assert (loss.p, loss.p_adjusted) == (2 / 2**12, 2 * 2 / 2**12)
    assert loss.difference == pytest.approx(0.02, abs=0.0002)
    assert loss.interval is not None
    assert 0.019 < (loss.interval[0] or 0) < 0.02 < (loss.interval[1] or 0) < 0.021
    assert report.loss_counts["worse"] == 1
    assert (report.counts["worse"], exit_code(report, ("worse",)), exit_code(report, ())) == (0, 3, 0)


def test_swapped_sides_are_better_by_as_much(lost: Callable[..., Report]) -> None:
    forth, back = only(lost(STEADY, STEADY / 2)), only(lost(STEADY / 2, STEADY))

    assert (forth.verdict, back.verdict) == ("better", "worse")
    assert forth.difference == pytest.approx(-(back.difference or 0))
    assert forth.p == back.p


def test_as_much_lost_on_either_side_is_no_change(lost: Callable[..., Report]) -> None:
    assert only(lost(STEADY, STEADY[::-1])).verdict == "no_change"


def test_one_run_of_twelve_that_lost_much_is_neither_worse_nor_no_change(lost: Callable[..., Report]) -> None:
    new = np.zeros(PAIRS)
    new[3] = 0.05

    assert only(lost(np.zeros(PAIRS), new)).verdict == "inconclusive"


def test_a_change_smaller_than_the_threshold_is_none_and_the_threshold_can_be_stated(lost: Callable[..., Report]) -> None:
    old, new = STEADY, STEADY + 0.0005

    assert only(lost(old, new)).verdict == "no_change"
    assert only(lost(old, new, Policy(loss_threshold_points=0.02))).verdict == "worse"


@pytest.mark.parametrize(("new", "verdict"), [(0.004, "unreplicated_same"), (0.03, "unreplicated_diff")])
def test_one_run_a_side_is_never_worse(lost: Callable[..., Report], new: float, verdict: str) -> None:
    loss = only(lost(np.zeros(1), np.array([new])))

    assert (loss.verdict, loss.reasons, loss.p) == (verdict, ("single_run",), None)


def test_five_pairs_are_not_enough(lost: Callable[..., Report]) -> None:
    loss = only(lost(np.zeros(5), STEADY[:5]))

    assert (loss.verdict, loss.reasons) == ("insufficient", ("few_runs",))


def test_another_machine_and_an_unstated_condition_are_no_verdict_and_said(
    side: Callable[..., object], other_host: Host, lost: Callable[..., Report]
) -> None:
    said = {"metric": "loss", "statistic": "total", "test": "throughput"}
    old, new = side(np.zeros((1, PAIRS)), OLD_TURNS, **said), side(STEADY[None], NEW_TURNS, host=other_host, **said)

    loss = only(compare(old, new, Policy()))  # type: ignore[arg-type]

    assert (loss.verdict, loss.reasons) == ("not_comparable", ("cpu_model",))
    unstated = only(lost(np.zeros(PAIRS), STEADY, reliability=None))
    assert (unstated.verdict, unstated.reasons) == ("unreplicated_diff", ("unverified",))


def test_a_failed_run_has_no_verdict(lost: Callable[..., Report]) -> None:
    loss = only(lost(np.zeros(PAIRS), STEADY, marks=("run_failed",)))

    assert (loss.verdict, loss.reasons) == ("invalid", ("run_failed",))


def test_blocks_of_runs_are_order_confounded(side: Callable[..., object]) -> None:
    said = {"metric": "loss", "statistic": "total", "test": "throughput"}
    old, new = side(np.zeros((1, PAIRS)), range(PAIRS), **said), side(STEADY[None], range(PAIRS, 2 * PAIRS), **said)

    loss = only(compare(old, new, Policy()))  # type: ignore[arg-type]

    assert (loss.verdict, loss.reasons) == ("unreplicated_diff", ("order_confounded",))


def test_every_output_says_the_verdict_and_worse_comes_first(lost: Callable[..., Report]) -> None:
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


def test_loss_can_be_asked_for_alone_and_is_not_called_a_failure(checkout: object) -> None:
    words = ["--metric", "loss", "--across", "host", "--format", "json", "--fail-on", "implausible"]
    found = CliRunner().invoke(diff, [f"{checkout}/data/perftest/0.2.0", f"{checkout}/data/perftest/0.3.0", *words])

    report = json.loads(found.stdout)
    assert (report["rows"], found.exit_code) == ([], 0)
    assert {loss["verdict"] for loss in report["losses"]} == {"insufficient", "added"}


def test_nothing_lost_on_either_side_is_a_comparison_if_loss_is_what_was_asked_for(lost: Callable[..., Report]) -> None:
    report = lost(np.zeros(PAIRS), np.zeros(PAIRS), Policy(metrics=("loss",)))

    assert (report.losses, report.lossless, exit_code(report, ("worse",))) == ((), 1, 0)


def simulated(new_share: float) -> Iterator[tuple[Values, Values]]:
    """Shares of one build that scatter far wider than a binomial share, most of them zero: a run loses nothing or a burst; and a new one's."""
    for seed in range(SEEDS):
        generator = np.random.default_rng(seed)
        bursts = generator.gamma(0.5, 0.02, (2, ROWS, PAIRS)) * (generator.random((2, ROWS, PAIRS)) < 0.4)
        bursts[1, 0] += new_share * generator.gamma(4, 0.25, PAIRS)
        yield bursts[0], bursts[1]


def test_bursts_of_loss_of_one_build_are_a_false_alarm_in_at_most_5_percent_of_reports(
    lost: Callable[..., Report], figure: Callable[[str, str], None]
) -> None:
    reports = [lost(*sides) for sides in simulated(0.0)]

    share = np.mean([report.loss_counts["worse"] + report.loss_counts["better"] > 0 for report in reports])
    figure("loss of one build in bursts, 20 rows, 12 pairs: reports with a false verdict", f"{share:.1%}")
    assert share <= 0.05


def test_a_row_that_loses_10_percent_more_in_every_run_is_found(lost: Callable[..., Report], figure: Callable[[str, str], None]) -> None:
    found = np.mean([any(loss.verdict == "worse" and loss.key.payload_bytes == 16 for loss in lost(*sides).losses) for sides in simulated(0.1)])

    figure("loss of 10 points more in one row of 20 with bursts, 12 pairs: found", f"{found:.1%}")
    assert found >= 0.9
