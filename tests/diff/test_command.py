"""`tacholog diff` as a user meets it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from numpy.typing import NDArray

from tacholog.cli import main
from tacholog.commands.diff import diff, rendered, say
from tacholog.dataset import Dataset, load
from tacholog.diff.compare import compare
from tacholog.diff.policy import Policy
from tacholog.diff.result import Report
from tacholog.report import diff_text, diff_words
from tacholog.report.diff_page import html

HMBDC = Path(__file__).parent.parent / "formats" / "hmbdc"
Side = Callable[..., Dataset]
Compared = Callable[..., Report]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(diff, [str(word) for word in arguments], catch_exceptions=False)


def test_worse_comes_first_with_both_values_the_ratio_and_its_interval(compared: Compared) -> None:
    old = np.full((2, 12), 10_000.0)
    new = old * np.array([[1.1], [0.8]]) + 10.0 * np.arange(-5, 7)

    text = diff_text.text(compared(old, new))

    worse, better = text.index("WORSE (1)"), text.index("BETTER (1)")
    assert worse < better
    line = next(line for line in text.splitlines() if "16 B" in line)
    assert line.split() == [
        *("latency", "p50,", "shm,", "copy,", "16", "B", "10", "µs", "11.01", "µs"),
        *("x1.100", "x1.098", "to", "x1.103", "10", "%", "worse;", "12", "pairs,", "p", "0.00049"),
    ]


def test_markdown_shows_what_changed_and_folds_the_rest(compared: Compared, noise: NDArray[np.float64]) -> None:
    text = diff_text.markdown(compared(noise[0], noise[1] * np.array([[1.1], [1.0], [1.0], [1.0]])))

    assert text.startswith("### old → new: 1 worse, 3 no change")
    assert text.count("<details>") == 1
    assert "| latency p50, shm, copy, 16\u00a0B |" in text


def test_names_out_of_manifests_cannot_become_markup(compared: Compared, noise: NDArray[np.float64]) -> None:
    text = diff_text.markdown(compared(noise[0], noise[1] * 1.1, transport="<script>|`x`"))

    assert "<script>" not in text
    assert "&lt;script&gt;\\|\\`x\\`" in text


def test_runs_that_did_not_end_well_are_named_on_either_side(side: Side, noise: NDArray[np.float64]) -> None:
    ends = ["ok"] * 9 + ["truncated", "empty", "failed"]
    why = [*[None] * 9, "the log has no end", None, "exit code `7`"]
    old, new = side(noise[0], range(0, 24, 2)), side(noise[1], range(1, 24, 2), status=ends, reason=why)

    report = compare(old, new, Policy())

    said = (
        "Not every run of the new side ended well (1 failed, 1 truncated, 1 empty, of 12): "
        "run-9 (truncated: the log has no end); run-10 (empty); run-11 (failed: exit code `7`). "
    )
    text = diff_text.text(report)
    assert f"! {said}" in text
    assert "of the old side" not in text
    assert "exit code \\`7\\`" in diff_text.markdown(report)
    assert "run-11 (failed)" in html(report)
    assert "ended well" in diff_text.text(compare(new, old, Policy())).partition("old side")[2][:20]


def test_a_significant_change_that_may_be_too_small_is_told_from_one_that_only_looks_so_among_many_rows(compared: Compared) -> None:
    old = np.full((40, 12), 10_000.0)
    new = old * (1 + 0.03 * np.resize([1, -1], (40, 12)) * np.linspace(1, 2, 12))
    new[0] = old[0] * (1.02 + 0.004 * np.linspace(-1, 1, 12) * np.resize([1, -1], 12))
    new[1] = old[1] * (1 + np.array([-0.003, -0.002, -0.001, *np.linspace(0.03, 0.045, 9)]))

    rows = {row.key.payload_bytes: row for row in compared(old, new).rows}

    assert rows[16].flags == ("significant",)
    assert "significant" not in rows[32].flags
    assert rows[32].interval is not None
    assert (rows[32].interval[0] or 0) > 1
    assert "would have been found" in diff_words.remark(rows[32])


def test_json_has_rows_with_verdict_and_reasons(checkout: Path) -> None:
    result = run(checkout / "data/rti/default-type", checkout / "data/rti/custom-type", "--across", "type", "--format", "json")

    found = json.loads(result.output)
    assert found["schema"] == "perfdiff/1"
    assert {row["verdict"] for row in found["rows"]} == {"unreplicated_diff", "unreplicated_same", "invalid", "removed", "added"}
    assert found["rows"][0]["reasons"] == ["single_run"]
    assert len(found["untested"]) > 100


def test_the_schema_of_the_json_can_be_had() -> None:
    assert "Report" in json.loads(run("--schema").output)["$defs"]


def test_raw_logs_need_no_manifest_and_a_folder_of_them_is_a_set_of_runs(tmp_path: Path) -> None:
    for name in ("perf-sample-14-2.txt", "perf-sample-15.17-1.txt"):
        shutil.copy2(HMBDC / name, tmp_path)

    result = run(tmp_path, HMBDC / "perf-sample-14-2.txt")

    assert result.exit_code == 0
    assert "2 runs, 24 numbers" in result.output


def test_a_saved_dataset_is_a_side(tmp_path: Path, checkout: Path) -> None:
    load([checkout / "data/rti/custom-type"]).save(tmp_path / "saved")

    result = run(tmp_path / "saved", checkout / "data/rti/custom-type", "--only", "unreplicated_same")

    assert result.exit_code == 0
    assert "the same measurement, published again" in result.output


def test_a_release_is_looked_up_in_the_data(tmp_path: Path, checkout: Path) -> None:
    for release, source in (("6.0", "default-type"), ("6.1", "custom-type")):
        shutil.copytree(checkout / "data/rti" / source / "shmem-regular", tmp_path / release)
        manifest = tmp_path / release / "run.toml"
        manifest.write_text(f'release = "{release}"\n{manifest.read_text()}')

    result = run("6.0", "6.1", "--data", tmp_path, "--across", "type")

    assert result.exit_code == 0
    assert "OLD  6.0: RTI Connext DDS" in result.output
    assert "18 sizes" in result.output


def test_a_name_that_is_nothing_says_which_releases_there_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["diff", "1.0", "2.0", "--data", str(tmp_path)])

    assert stopped.value.code == 2
    assert "1.0: no such file or folder, and no release of that name" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--across", "moon"], "--across moon: choose from system, host"),
        (["--metric", "moon"], "--metric moon: choose from latency"),
        (["--transport", "moon"], "--transport moon: neither side has it; there are: TCP (qperf), loopback; TCP (qperf), network; inter-process"),
    ],
)
def test_a_wrong_option_is_one_line_and_exit_code_2(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["diff", str(HMBDC / "perf-sample-14-2.txt"), str(HMBDC / "perf-sample-14-2.txt"), *arguments])

    assert stopped.value.code == 2
    assert said in capsys.readouterr().err


def test_a_thresholds_file_with_a_mistake_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thresholds.toml").write_text("[[row]]\nmetric = 'latency'\n")

    with pytest.raises(SystemExit):
        main(["diff", "a", "b", "--thresholds", str(tmp_path / "thresholds.toml")])

    assert "thresholds.toml: Object missing required field `threshold_percent` - at `$.row[0]`" in capsys.readouterr().err


def test_nothing_comparable_is_exit_code_4_and_implausible_figures_5_on_request(checkout: Path) -> None:
    old, new = checkout / "data/rti/default-type", checkout / "data/rti/custom-type"

    codes = [run(old, new, *options).exit_code for options in ([], ["--across", "type"], ["--across", "type", "--fail-on", "implausible"])]

    assert codes == [4, 0, 5]


def test_the_output_may_go_into_a_file(tmp_path: Path) -> None:
    result = run(HMBDC / "perf-sample-14-2.txt", HMBDC / "perf-sample-15.17-1.txt", "--format", "markdown", "--output", tmp_path / "new" / "diff.md")

    assert result.output == ""
    assert (tmp_path / "new" / "diff.md").read_text().startswith("### ")


def test_a_job_on_github_gets_a_summary_and_its_worse_rows_beside_the_change(
    compared: Compared, noise: NDArray[np.float64], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report = compared(noise[0], noise[1] * np.array([[1.1], [1.0], [1.0], [1.0]]), transport="a::b\n::error::")
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))

    say("github", report, rendered("github", report), None)

    assert summary.read_text().startswith(
        "before\n### old → new: 1 worse, 3 no change\n\n| verdict | rows |\n|---|--:|\n| Worse | 1 |\n| No change | 3 |\n"
    )
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("::warning title=Worse than old::latency p50%2C a%3A%3Ab %3A%3Aerror%3A%3A%2C copy%2C 16 B%3A x1.")


def test_without_a_job_the_summary_is_printed(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)

    result = run("ecal-5.11", "ecal-5.12", "--data", checkout / "data", "--format", "github")

    assert result.output.startswith("### ecal-5.11 → ecal-5.12: 32 differ, not replicated, 32 alike, not replicated\n\n| verdict | rows |")
