"""Requirements and controls: a limit is for what was measured, not for controls, and a host that changed is not blamed on the release."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.diff.test_controls import CONTROLS, turns, with_controls
from tests.diff.test_requirements import P50, judged
from tests.diff.test_simulations import iid

from tacholog.commands.require import rendered
from tacholog.store.frames import Dataset

PAIRS = 12
RELATIVE = f"{P50}max_worse_percent = 5\n"


def sides(slower: float, host: float, seed: int = 1) -> list[Dataset]:
    """Interleaved pairs of a row and of controls; the new row is slower, and the host makes all of the new side slower."""
    values = iid(np.random.default_rng(seed), (2, 1 + CONTROLS, PAIRS)) / 2
    values[1] += np.log1p(host)
    values[1, 0] += np.log1p(slower)
    return [with_controls(level[:1], level[1:], places) for level, places in zip(4_000 * np.exp(values), turns(PAIRS), strict=True)]


def test_a_limit_does_not_hold_for_controls(tmp_path: Path) -> None:
    runs = sides(0.0, 0.0)[0]
    runs.results.loc[runs.results["run"].str.startswith("control/"), "value"] *= 10

    (result,) = judged(tmp_path, f'{P50}max = 5\nunit = "us"\n', runs).results

    assert (result.verdict, [row.key.transport for row in result.rows]) == ("passed", ["shm"])


def test_a_requirement_that_names_the_label_of_controls_is_for_them(tmp_path: Path) -> None:
    (result,) = judged(tmp_path, f'{P50}label.control = "yes"\nmax = 5\nunit = "us"\n', sides(0.0, 0.0)[0]).results

    assert (result.verdict, {row.key.transport for row in result.rows}, len(result.rows)) == ("passed", {"inter-thread"}, CONTROLS)


@pytest.mark.parametrize(
    ("slower", "host", "verdict", "reasons"),
    [
        (0.2, 0.0, "failed", ()),
        (0.0, 0.2, "undecided", ("host_changed",)),
        (0.5, 0.1, "failed", ()),  # more than the host explains
        (0.0, 0.0, "passed", ()),
        (0.1, -0.2, "undecided", ("host_changed",)),  # it looks faster, as all controls do
        (-0.5, -0.1, "passed", ()),
    ],
)
def test_what_the_host_explains_neither_fails_nor_passes_a_relative_requirement(
    slower: float, host: float, verdict: str, reasons: tuple[str, ...], tmp_path: Path
) -> None:
    old, new = sides(slower, host)

    report = judged(tmp_path, RELATIVE, new, lambda _: old, "main")

    (row,) = report.results[0].rows
    assert (row.verdict, row.reasons) == (verdict, reasons)
    assert ("the host changed, and that may explain it" in rendered("text", report)) == (verdict == "undecided")


def test_a_gate_knows_of_the_host_too(tmp_path: Path) -> None:
    old, new = sides(0.0, 0.2)

    report = judged(tmp_path, '[[gate]]\ntransport = "shm"\nstatistic = "p50"\n', new, lambda _: old, "main")

    assert [(row.verdict, row.reasons) for row in report.results[0].rows] == [("undecided", ("host_changed",))]
