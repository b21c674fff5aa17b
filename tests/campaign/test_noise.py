"""`tacholog noise` with the real perftest: the form of its output, and its calculations. No test checks how quiet the machine is."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

import pytest
from tests.campaign.test_ab import CAMPAIGN
from tests.command import run_tacholog_text

from tacholog.campaign.campaign_file import read_campaign
from tacholog.campaign.campaign_folder import default_cpus
from tacholog.campaign.plan import schedule_runs
from tacholog.commands.noise import CAMPAIGN as OWN


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(CAMPAIGN)
    return path


def written(tmp_path: Path) -> Path:
    path = tmp_path / "noise.toml"
    path.write_text(OWN)
    return path


def test_six_pairs_of_the_default_campaign_take_less_than_a_minute(tmp_path: Path) -> None:
    runs = schedule_runs(read_campaign(written(tmp_path)), 1, default_cpus())

    assert 6 * 2 * sum(run.expected_s for run in runs) < 60


@pytest.mark.core
def test_each_run_of_the_default_campaign_succeeds(tmp_path: Path, perftest: Path) -> None:
    done = run_tacholog_text("bench", written(tmp_path), "--no-control", "--perftest", perftest, cwd=tmp_path)

    assert "4 of 4 runs are good" in done.stdout, done.stderr


@pytest.mark.core
def test_first_line_states_the_smallest_detectable_change_and_no_run_is_stored(
    tmp_path: Path, perftest: Path, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    tempfile.tempdir = None

    done = run_tacholog_text("noise", small, "--perftest", perftest, "--minutes", "0.01", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    first, advice, *lines = done.stdout.splitlines()
    assert re.fullmatch(r"On this machine, 10 pairs show a change of [\d.]+ % in the mean payload received of uds\.", first)
    assert re.match(
        r"(To see a change of 5\.0 % in each median and rate, make \d+ pairs|Even 100 pairs do not show a change of 5\.0 % in ).*\.$", advice
    )
    assert "Smallest change of one row that a comparison of these 2 rows finds, in four cases of five:" in lines
    assert [line.strip().split(",")[0] for line in lines if "uds" in line] == ["payload received mean"] * 2
    assert any(line.startswith("  load of other programs: ") for line in lines)
    assert "6 pairs of one build with itself: 12 runs, about " in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


@pytest.mark.core
def test_json_output_has_all_parts_of_the_report(tmp_path: Path, perftest: Path, small: Path) -> None:
    done = run_tacholog_text("noise", small, "--perftest", perftest, "--minutes", "0.01", "--format", "json", "-q", cwd=tmp_path)

    document = json.loads(done.stdout)
    assert (document["schema"], done.stderr) == ("noise/1", "")
    assert {row["key"]["payload_bytes"] for row in document["rows"]} == {64, 1024}
    for row in document["rows"]:
        assert row["pairs"] == 6
        assert list(row["detectable"]) == ["6", "10", "20", "40"]
        assert row["detectable"]["40"] >= row["threshold"] == pytest.approx(0.03)
    assert document["machine"]["processors"] >= 1
    assert document["answer"].startswith("On this machine, 10 pairs show")


def test_campaign_without_results_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "nothing.toml"
    path.write_text('system = "X"\ntool = "true"\nrepetitions = 1\n[[runs]]\nname = "s"\ncommand = ["true"]\nexpected_s = 0.1\n')

    done = run_tacholog_text("noise", path, "--minutes", "0.01", "-q", cwd=tmp_path)

    assert done.returncode == 2
    assert "no row of nothing.toml could be judged (the program printed nothing)" in done.stderr
