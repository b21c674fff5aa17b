"""The warnings of a comparison of recorded pairs about their plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.compare.pairing import PairRecord, PairSide, plan_warnings, write_record


@pytest.mark.parametrize(
    ("missing", "compared", "said"),
    [
        ("", ["old", "new"], ()),
        ("new/b/02", ["old", "new"], ("ab_unfinished:7:8",)),
        ("new/b/02", ["old"], ()),
        ("new/b/02", ["old/a", "new/a"], ()),
        ("new/b/02", ["old/b", "new/b"], ("ab_unfinished:3:4",)),
        ("new/b", ["old", "new"], ("ab_unfinished:6:8",)),
    ],
)
def test_comparison_is_called_interrupted_only_if_the_compared_runs_are(
    tmp_path: Path, missing: str, compared: list[str], said: tuple[str, ...]
) -> None:
    side = PairSide(name="x")
    record = PairRecord(campaign="c", campaign_sha256="", seed=1, planned_pairs=2, pairs=2, runs=8, old=side, new=side)
    write_record(tmp_path, record)
    runs = [tmp_path / side / variant / f"{number:02d}" for side in ("old", "new") for variant in "ab" for number in (1, 2)]
    for run in runs:
        if not missing or tmp_path / missing not in (run, *run.parents):
            run.mkdir(parents=True)
            (run / "run.toml").touch()

    found = [run for place in compared for run in runs if tmp_path / place in run.parents and run.exists()]

    assert tuple(one.text for one in plan_warnings([*map(str, found), str(found[0]), None])) == said


def test_plan_file_in_another_folder_is_ignored(tmp_path: Path) -> None:
    """For example, the campaign file of a user in the folder above the data folder."""
    (tmp_path / "ab.toml").write_text('system = "Some Middleware"\n')
    run = tmp_path / "data/1.0/01"
    run.mkdir(parents=True)

    assert plan_warnings([str(run)]) == ()
