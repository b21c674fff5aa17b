"""Requirements and controls: a limit applies to measured runs and not to controls. A change of the host is not attributed to the release."""

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
    """Return interleaved pairs of a row and of controls. The new row is slower, and the host slows the whole new side."""
    values = iid(np.random.default_rng(seed), (2, 1 + CONTROLS, PAIRS)) / 2
    values[1] += np.log1p(host)
    values[1, 0] += np.log1p(slower)
    return [with_controls(level[:1], level[1:], places) for level, places in zip(4_000 * np.exp(values), turns(PAIRS), strict=True)]


def test_limit_does_not_apply_to_controls(tmp_path: Path) -> None:
    runs = sides(0.0, 0.0)[0]
    runs.results.loc[runs.results["run"].str.startswith("control/"), "value"] *= 10

    (result,) = judged(tmp_path, f'{P50}max = 5\nunit = "us"\n', runs).results

    assert (result.verdict, [row.key.transport for row in result.rows]) == ("passed", ["shm"])


def test_requirement_with_the_label_of_controls_applies_to_controls(tmp_path: Path) -> None:
    (result,) = judged(tmp_path, f'{P50}label.control = "yes"\nmax = 5\nunit = "us"\n', sides(0.0, 0.0)[0]).results

    assert (result.verdict, {row.key.transport for row in result.rows}, len(result.rows)) == ("passed", {"inter-thread"}, CONTROLS)


@pytest.mark.parametrize(
    ("slower", "host", "verdict", "reasons"),
    [
        (0.2, 0.0, "failed", ()),
        (0.0, 0.2, "undecided", ("host_changed",)),
        (0.5, 0.1, "failed", ()),  # More than the host explains.
        (0.0, 0.0, "passed", ()),
        (0.1, -0.2, "undecided", ("host_changed",)),  # The row looks faster, like all controls.
        (-0.5, -0.1, "passed", ()),
    ],
)
def test_relative_requirement_neither_fails_nor_passes_by_a_change_that_the_host_explains(
    slower: float, host: float, verdict: str, reasons: tuple[str, ...], tmp_path: Path
) -> None:
    old, new = sides(slower, host)

    report = judged(tmp_path, RELATIVE, new, lambda _: old, "main")

    (row,) = report.results[0].rows
    assert (row.verdict, row.reasons) == (verdict, reasons)
    assert ("the host changed, and that may explain it" in rendered("text", report)) == (verdict == "undecided")


def test_gate_considers_the_host_too(tmp_path: Path) -> None:
    old, new = sides(0.0, 0.2)

    report = judged(tmp_path, '[[gate]]\ntransport = "shm"\nstatistic = "p50"\n', new, lambda _: old, "main")

    assert [(row.verdict, row.reasons) for row in report.results[0].rows] == [("undecided", ("host_changed",))]
