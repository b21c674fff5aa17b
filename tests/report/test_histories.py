"""Whatever happens to a folder of runs between builds, its site is the one that is built from nothing (``tests/fuzz/histories.py`` runs more)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.depth import tries
from tests.fuzz.histories import CHECKED, CHECKED_BUILDS, run_history

pytestmark = pytest.mark.site


@pytest.mark.parametrize("seed", [CHECKED[0], *(pytest.param(seed, marks=pytest.mark.nightly) for seed in CHECKED[1:])])
def test_a_site_is_the_one_that_is_built_from_nothing_after_each_edit_of_its_history(seed: int, tmp_path: Path) -> None:
    history = run_history(seed, tries(3, CHECKED_BUILDS), tmp_path / "history")

    assert history.differences == [], "\n".join(history.events)
    assert history.compared  # Which of the builds give a site depends on the sample logs that there are.
