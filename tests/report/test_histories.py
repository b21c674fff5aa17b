"""After any edit of a folder of runs, the updated site equals a site built from nothing (``tests/fuzz/histories.py`` tests more edits)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.depth import tries
from tests.fuzz.histories import CHECKED, CHECKED_BUILDS, run_history

pytestmark = pytest.mark.site


@pytest.mark.parametrize("seed", [CHECKED[0], *(pytest.param(seed, marks=pytest.mark.nightly) for seed in CHECKED[1:])])
def test_updated_site_equals_a_site_built_from_nothing_after_each_edit(seed: int, tmp_path: Path) -> None:
    history = run_history(seed, tries(3, CHECKED_BUILDS), tmp_path / "history")

    assert history.differences == [], "\n".join(history.events)
    assert history.compared  # At least one build succeeded. Their number depends on the available sample logs.
