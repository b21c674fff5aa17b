"""The command `tacholog diff` from a user's view."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from numpy.typing import NDArray
from tests.command import run_tacholog_text
from tests.diff.conftest import NEW_TURNS, OLD_TURNS

from tacholog.cli import main
from tacholog.commands.diff import diff, rendered, write_report
from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import BANDS, Policy, read_policy
from tacholog.compare.result import Comparison
from tacholog.errors import UnreadableInput
from tacholog.render.diff import text as diff_text
from tacholog.render.diff.page import html
from tacholog.store.frames import Dataset
from tacholog.store.load import load

SOCKPERF = Path(__file__).parent.parent / "formats" / "sockperf"
HMBDC = Path(__file__).parent.parent / "formats" / "hmbdc"
Side = Callable[..., Dataset]
Compared = Callable[..., Comparison]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(diff, [str(word) for word in arguments], catch_exceptions=False)


def test_text_lists_worse_rows_first_and_states_all_numbers_of_a_row(compared: Compared) -> None:
    old = np.full((2, 12), 10_000.0)
    new = old * np.array([[1.1], [0.8]]) + 10.0 * np.arange(-5, 7)

    text = diff_text.text(compared(old, new))

    worse, better = text.index("WORSE (1)"), text.index("BETTER (1)")
    assert worse < better
    assert "estimated ratio  95 % interval, row alone\n" in text
    line = next(line for line in text.splitlines() if "16 B" in line)
    assert line.split() == [
        *("latency", "p50,", "shm,", "copy,", "16", "B", "10", "µs", "11", "µs"),
        *("x1.100", "x1.098", "to", "x1.103", "10", "%", "worse;", "12", "pairs,", "adjusted", "p", "0.00098"),
    ]


def test_markdown_shows_changes_and_folds_other_rows(compared: Compared, noise: NDArray[np.float64]) -> None:
    text = diff_text.markdown(compared(noise[0], noise[1] * np.array([[1.1], [1.0], [1.0], [1.0]])))

    assert text.startswith("### old → new: 1 worse, 3 no change")
    assert text.count("<details>") == 1
    assert "| latency p50, shm, copy, 16\u00a0B |" in text


def test_names_from_manifests_cannot_become_markup(compared: Compared, noise: NDArray[np.float64]) -> None:
    text = diff_text.markdown(compared(noise[0], noise[1] * 1.1, transport="<script>|`x`"))

    assert "<script>" not in text
    assert "&lt;script&gt;\\|\\`x\\`" in text


def test_failed_truncated_and_empty_runs_are_named_for_each_side(side: Side, noise: NDArray[np.float64]) -> None:
    ends = ["ok"] * 9 + ["truncated", "empty", "failed"]
    why = [*[None] * 9, "the log has no end", None, "exit code `7`"]
    old, new = side(noise[0], OLD_TURNS), side(noise[1], NEW_TURNS, status=ends, reason=why)

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


def test_json_has_rows_with_verdict_and_reasons(checkout: Path) -> None:
    result = run(checkout / "data/rti/default-type", checkout / "data/rti/custom-type", "--across", "type", "--format", "json")

    found = json.loads(result.output)
    assert found["schema"] == "perfdiff/1"
    assert {row["verdict"] for row in found["rows"]} == {"unreplicated_diff", "unreplicated_same", "lossy", "removed", "added"}
    assert found["rows"][0]["reasons"] == ["single_run"]
    assert len(found["untested"]) > 100


def test_option_schema_prints_the_schema_of_the_json() -> None:
    assert "Report" in json.loads(run("--schema").output)["$defs"]


def test_raw_logs_need_no_manifest_and_a_folder_of_raw_logs_can_be_a_side(tmp_path: Path) -> None:
    for name in ("perf-sample-14-2.txt", "perf-sample-15.17-1.txt"):
        shutil.copy2(HMBDC / name, tmp_path)

    result = run(tmp_path, HMBDC / "perf-sample-14-2.txt")

    assert result.exit_code == 0
    assert "2 runs, 24 numbers" in result.output


def test_diff_reads_logs_in_subfolders_like_the_command_parse(tmp_path: Path) -> None:
    for side, name in (("old", "perf-sample-14-2.txt"), ("new", "perf-sample-15.17-1.txt")):
        (tmp_path / side / "monday" / "first").mkdir(parents=True)
        shutil.copy(HMBDC / name, tmp_path / side / "monday" / "first")

    result = run(tmp_path / "old", tmp_path / "new")

    assert (result.exit_code, result.output.count("1 run, 12 numbers")) == (0, 2)


def test_saved_dataset_can_be_a_side(tmp_path: Path, checkout: Path) -> None:
    load([checkout / "data/rti/custom-type"]).save(tmp_path / "saved")

    result = run(tmp_path / "saved", checkout / "data/rti/custom-type", "--only", "unreplicated_same")

    assert result.exit_code == 4
    assert "the same runs on both sides" in result.output


@pytest.mark.parametrize("saved", [("old", "new"), ("old",)])
def test_saved_datasets_give_the_same_comparison_as_their_folders(recorded: Path, tmp_path: Path, saved: tuple[str, ...]) -> None:
    (tmp_path / "renames.toml").write_text('[transport]\nuds = "domain socket"\n')
    for name in saved:
        load([recorded / name]).save(tmp_path / "saved" / name)
    sides = [tmp_path / "saved" / name if name in saved else recorded / name for name in ("old", "new")]

    words = ["--format", "json", "--renames", tmp_path / "renames.toml"]
    found, expected = (json.loads(run(*one, *words).stdout) for one in (sides, (recorded / "old", recorded / "new")))

    assert {row["key"]["transport"] for row in found["rows"]} == {"domain socket"}
    for part in ("rows", "untested", "losses", "changed"):
        assert found[part] == expected[part]


def test_name_of_a_release_selects_its_runs_in_the_data_folder(tmp_path: Path, checkout: Path) -> None:
    for release, source in (("6.0", "default-type"), ("6.1", "custom-type")):
        shutil.copytree(checkout / "data/rti" / source / "shmem-regular", tmp_path / release)
        manifest = tmp_path / release / "run.toml"
        manifest.write_text(f'release = "{release}"\n{manifest.read_text()}')

    result = run("6.0", "6.1", "--data", tmp_path, "--across", "type")

    assert result.exit_code == 0
    assert "OLD  6.0: RTI Connext DDS" in result.output
    assert "18 sizes" in result.output


def test_name_that_is_neither_a_path_nor_a_release_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["diff", "1.0", "2.0", "--data", str(tmp_path)])

    assert stopped.value.code == 2
    assert "1.0: no such file or folder, and no release with this name" in capsys.readouterr().err


def test_named_pipe_is_refused_even_if_raw_logs_are_in_the_same_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "logs").mkdir()
    pipe, beside = tmp_path / "pipe", tmp_path / "logs" / "pipe.log"
    os.mkfifo(pipe)
    os.mkfifo(beside)

    with pytest.raises(SystemExit) as direct:
        main(["diff", str(pipe), str(HMBDC / "perf-sample-14-2.txt")])
    with pytest.raises(SystemExit) as alone:
        main(["diff", str(HMBDC / "perf-sample-14-2.txt"), str(beside.parent)])
    shutil.copy(HMBDC / "perf-sample-14-2.txt", beside.parent)
    said = capsys.readouterr().err.splitlines()
    with pytest.raises(SystemExit) as together:
        main(["diff", str(HMBDC / "perf-sample-14-2.txt"), str(beside.parent)])

    assert (direct.value.code, alone.value.code) == (2, 2)
    assert together.value.code == 4  # Exit code 4 means that no row could be tested: there is only one run. This code is more important than 2.
    nothing = f"tacholog: {beside.parent}: no run.toml, no saved dataset and no log below it"
    left_out = f"{beside}: not a file but a named pipe, and was not read"
    assert said == [f"tacholog: {pipe}: not a file but a named pipe, and is not read", f"{nothing}; {left_out}"]
    assert capsys.readouterr().err.splitlines() == [f"tacholog: {left_out}"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--across", "moon"], "--across moon: choose from system, host"),
        (["--metric", "moon"], "--metric moon: choose from latency"),
        (["--metric", "latancy"], " (is latency meant?)"),
        (["--size", "3 KiB"], "--size 3 KiB: neither side has it; there are, in bytes: "),
        (["--size", "big"], "--size big: write a size such as 1KiB or 1024, or a range such as 64B..4KiB (the units are B, kB, MB, "),
        (["--size", "4KiB..64B"], "--size 4KiB..64B: the range ends below its beginning"),
        (["--only", "alike"], "'alike' is not one of 'worse', 'better', 'measured worse', "),
        (["--metric", "goodput"], "--metric goodput: neither side has it; there are: latency"),
        (["--metric", "p42"], "--metric latency:p42: neither side has this statistic; latency has: range-high, range-low, typical"),
        (["--metric", "latency:p42"], "--metric latency:p42: neither side has this statistic; latency has: range-high, range-low, typical"),
        (["--transport", "moon"], "--transport moon: neither side has it; there are: TCP (qperf), loopback; TCP (qperf), network; inter-process"),
    ],
)
def test_invalid_option_gives_an_error_in_one_line_and_exit_code_2(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["diff", str(HMBDC / "perf-sample-14-2.txt"), str(HMBDC / "perf-sample-14-2.txt"), *arguments])

    assert stopped.value.code == 2
    assert said in capsys.readouterr().err


def test_error_in_a_thresholds_file_is_reported_with_its_position(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thresholds.toml").write_text("[[row]]\nmetric = 'latency'\n")

    with pytest.raises(SystemExit):
        main(["diff", "a", "b", "--thresholds", str(tmp_path / "thresholds.toml")])

    assert "thresholds.toml: Object missing required field `threshold_percent` - at `$.row[0]`" in capsys.readouterr().err


@pytest.fixture
def recorded(tmp_path: Path, checkout: Path) -> Path:
    """A copy of recorded pairs, which a test may damage."""
    for side in ("old", "new"):
        shutil.copytree(checkout / "data/perftest/0.1.0-to-0.2.0" / side / "latency-uds", tmp_path / side / "latency-uds")
    return tmp_path


def told(folder: Path, output: str, *words: str) -> tuple[int, str]:
    result = run(folder / "old", folder / "new", "--format", output, *words)
    return result.exit_code, result.stdout


def test_log_truncated_after_its_run_gives_exit_code_2_and_is_named_in_each_output(recorded: Path) -> None:
    log = recorded / "new/latency-uds/03/perftest.log"
    log.write_bytes(log.read_bytes()[: log.stat().st_size // 2])

    said = {output: told(recorded, output) for output in ("text", "markdown", "json", "html", "github")}

    assert {code for code, _ in said.values()} == {2}
    [problem] = [one for one in json.loads(said.pop("json")[1])["problems"] if one["kind"] == "altered"]
    assert all("latency-uds/03/perftest.log: altered: the log" in text for _, text in said.values())
    assert (problem["side"], problem["run"], problem["log"]) == ("new", "latency-uds/03", "perftest.log")


def test_rows_with_an_altered_log_get_no_verdict(recorded: Path) -> None:
    """Each number links to a line of the log. If the log was altered, nobody knows whether the line had the same number when it was recorded."""
    before = json.loads(run(recorded / "old", recorded / "new", "--format", "json").stdout)
    log = recorded / "new/latency-uds/03/perftest.log"
    log.write_text(log.read_text() + "# a word more\n")

    after = json.loads(run(recorded / "old", recorded / "new", "--format", "json").stdout)

    assert "invalid" not in {row["verdict"] for row in before["rows"]}
    judged = [row for row in after["rows"] if row["verdict"] == "invalid"]
    assert {(row["key"]["transport"], *row["reasons"]) for row in judged} == {("uds", "altered")}
    assert {row["verdict"] for row in after["rows"] if row["key"]["transport"] == "uds"} == {"invalid"}
    assert "not the log that was recorded" in run(recorded / "old", recorded / "new").stdout


def test_truncated_raw_log_gives_exit_code_2_and_is_named(recorded: Path, tmp_path: Path) -> None:
    whole, cut = recorded / "old/latency-uds/01/perftest.log", tmp_path / "cut.log"
    cut.write_bytes(b"".join(whole.read_bytes().splitlines(keepends=True)[:-1]))

    result = run(whole, cut)

    assert result.exit_code == 2
    assert "Not every run of the new side ended well (1 truncated, of 1): " in result.output
    assert "cut.log (truncated: " in result.output


def test_folder_without_a_manifest_next_to_runs_gives_exit_code_2_and_is_named(recorded: Path) -> None:
    (recorded / "old/latency-uds/05/run.toml").unlink()

    said = {output: told(recorded, output) for output in ("text", "json")}

    assert {code for code, _ in said.values()} == {2}
    assert all("latency-uds/05: no run.toml in this folder, so that perftest.log was not read" in text for _, text in said.values())


def test_runs_compared_with_themselves_are_the_same_measurement_with_exit_code_4(recorded: Path) -> None:
    result = run(recorded / "old", recorded / "old", "--format", "json", "--fail-on", "worse")

    report = json.loads(result.stdout)
    assert (result.exit_code, report["warnings"]) == (4, ["same_runs"])
    assert {(row["verdict"], *row["reasons"]) for row in report["rows"]} == {("unreplicated_same", "same_measurement")}


@pytest.mark.parametrize(("output", "lines"), [("text", 3), ("markdown", 4), ("github", 4), ("html", None)])
def test_report_states_only_once_that_both_sides_are_the_same_runs_if_runs_are_compared_with_themselves(
    recorded: Path, output: str, lines: int | None
) -> None:
    said = re.sub(r"<style>.*?</style>", "", run(recorded / "old", recorded / "old", "--format", output).stdout, flags=re.DOTALL)

    assert said.count("Both sides are the same runs, by the SHA-256 of their logs and by when they were made: nothing was compared.") == 1
    assert not any(word in said.lower() for word in ("alike", "no row", "is shown to be", "lost", "differ", "medians"))
    assert lines in (None, len([line for line in said.splitlines() if line]))


def test_runs_that_are_on_both_sides_are_counted(recorded: Path) -> None:
    assert "! 12 runs are on both sides: for these, a side is compared with itself.\n" in run(recorded / "old", recorded).stdout


@pytest.mark.parametrize("output", ["text", "markdown", "json", "html", "github"])
def test_each_output_lists_only_the_requested_verdicts(checkout: Path, output: str) -> None:
    words = ["--only", "removed", "--only", "added", "--format", output]

    said = run(checkout / "data/rti/default-type", checkout / "data/rti/custom-type", "--across", "type", *words).stdout

    if output == "json":
        assert [row["verdict"] for row in json.loads(said)["rows"]] == ["removed"] * 13 + ["added"] * 4
        return
    assert all(title in said.lower() for title in ("only in old (13)", "only in new (4)"))
    assert not re.search(r"(not proven|lost) \(\d+\)", said.lower())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("thresholds_percent.center = 4", "Object contains unknown field `center` (is centre meant?) - at `$.thresholds_percent`"),
        ("[[gate]]\ntransports = 'x'", "Object contains unknown field `transports` (is transport meant?) - at `$.gate[0]`"),
        ("[thresholds]\ncentre = 3", "Object contains unknown field `thresholds` (is thresholds_percent meant?)"),
        ("single_value_percent.xyz = 3", "Object contains unknown field `xyz` (there are centre, high, tail) - at `$.single_value_percent`"),
    ],
)
def test_message_suggests_the_most_similar_key_if_a_thresholds_file_has_an_unknown_key(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "thresholds.toml"
    file.write_text(text)

    with pytest.raises(UnreadableInput, match=re.escape(f"thresholds.toml: {said}")):
        read_policy(file)


def test_values_missing_in_a_thresholds_file_keep_their_defaults(tmp_path: Path) -> None:
    file = tmp_path / "thresholds.toml"
    file.write_text("thresholds_percent.high = 8\nsingle_value_percent.tail = 60\n")

    found = read_policy(file)

    assert [getattr(found.thresholds_percent, band) for band in BANDS] == [3, 8, 10]
    assert [getattr(found.single_value_percent, band) for band in BANDS] == [10, 25, 60]


HEAD = (
    "session,start,build,pairs,system,test,transport,data_path,type,keyed,publishers,subscribers,participant,payload_bytes,payload_bytes_high,"
    "demand,metric,statistic,runs,median,deviation,shift,shift_low,shift_high\n"
)
LINE = "monday,2026-11-02T10:00:00Z,5e1f,12,Tacholog perftest,latency,uds,copy,,,1,1,,64,,,latency,p50,24,3000,{deviation},0.01,-0.02,{shift_high}\n"


@pytest.mark.parametrize("place", [".", "data"])
def test_later_comparison_on_a_host_uses_the_band_that_was_measured_on_this_host(recorded: Path, tmp_path: Path, place: str) -> None:
    band = tmp_path / place / "same-build" / "host-087119.csv"
    band.parent.mkdir(parents=True)
    band.write_text(HEAD + LINE.format(deviation=0.02, shift_high=0.5))

    report = json.loads(told(recorded, "json", "--data", str(tmp_path / "data"))[1])

    found = {(row["key"]["payload_bytes"], row["key"]["statistic"]): row for row in report["rows"]}
    assert report["settings"]["same_build_sessions"] == ["monday"]
    assert (found[64, "p50"]["threshold_source"], found[1024, "p50"]["threshold_source"]) == ("same_build", "policy")
    assert found[64, "p50"]["threshold"] == pytest.approx(2.718281828**0.5 - 1)
    assert (found[64, "p50"]["verdict"], found[1024, "p50"]["verdict"]) == ("no_change", "better")


def test_exit_code_is_4_if_no_row_is_comparable_and_5_if_fail_on_implausible_is_set(checkout: Path) -> None:
    old, new = checkout / "data/rti/default-type", checkout / "data/rti/custom-type"

    codes = [run(old, new, *options).exit_code for options in ([], ["--across", "type"], ["--across", "type", "--fail-on", "implausible"])]

    assert codes == [4, 0, 5]


def test_output_can_be_written_to_a_file(tmp_path: Path) -> None:
    result = run(HMBDC / "perf-sample-14-2.txt", HMBDC / "perf-sample-15.17-1.txt", "--format", "markdown", "--output", tmp_path / "new" / "diff.md")

    assert result.output == ""
    assert (tmp_path / "new" / "diff.md").read_text().startswith("### ")


def test_job_on_github_gets_a_summary_and_annotations_for_its_worse_rows(
    compared: Compared, noise: NDArray[np.float64], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report = compared(noise[0], noise[1] * np.array([[1.1], [1.0], [1.0], [1.0]]), transport="a::b\n::error::")
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))

    write_report("github", report, rendered("github", report), None)

    assert summary.read_text().startswith(
        "before\n### old → new: 1 worse, 3 no change\n\n| verdict | rows |\n|---|--:|\n| Worse | 1 |\n| No change | 3 |\n"
    )
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("::warning title=Worse than old::latency p50%2C a%3A%3Ab %3A%3Aerror%3A%3A%2C copy%2C 16 B%3A x1.")


def test_summary_is_printed_outside_of_a_github_job(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)

    result = run("ecal-5.11", "ecal-5.12", "--data", checkout / "data", "--format", "github")

    assert result.output.startswith("### ecal-5.11 → ecal-5.12: 32 not comparable, 32 alike, not proven\n\n| verdict | rows |")


def test_problem_in_a_raw_log_is_located_by_the_path_of_the_log_and_the_line(tmp_path: Path) -> None:
    log = tmp_path / "sample.txt"
    log.write_text(f"what is this\n{(HMBDC / 'perf-sample-14-2.txt').read_text()}")

    said = run(log, HMBDC / "perf-sample-15.17-1.txt").stdout

    assert f"the first: {log}:1: unknown: the format does not recognise this line" in said


def bare(folder: Path, *more: str) -> Path:
    """Make three raw logs without a run.toml. Each text of ``more`` is added at the end of one log."""
    folder.mkdir()
    log = (SOCKPERF / "ping-pong-udp.log").read_text()
    for name, text in zip("abc", (*more, "", "", ""), strict=False):
        (folder / f"{name}.log").write_text(log + text)
    return folder


def test_diff_recommends_tacholog_parse_if_logs_have_many_problems(tmp_path: Path) -> None:
    old, new = (bare(tmp_path / name, "strange\n" * 22) for name in ("old", "new"))

    done = run_tacholog_text("diff", old, new)
    named = run_tacholog_text("parse", old)

    assert "tacholog: 38 more problems with lines and files; 'tacholog parse' names those of each log\n" in done.stderr
    assert named.stderr.count("unknown: 'strange'") == 20  # Of 22 lines, 20 are shown and 2 are only counted.
    assert "2 more" in named.stderr


def test_message_about_a_copied_raw_log_names_the_path_of_the_first_log(tmp_path: Path) -> None:
    old, new = bare(tmp_path / "old"), bare(tmp_path / "new")

    done = run_tacholog_text("diff", old, new)

    assert f"{old}/b.log: copied: the same bytes as {old}/a.log: a copy is no second measurement" in done.stderr


def test_compressed_log_with_the_same_text_as_another_log_is_called_a_copy(tmp_path: Path) -> None:
    old, new = bare(tmp_path / "old"), bare(tmp_path / "new")
    (old / "b.log").unlink()
    (old / "b.log.gz").write_bytes(gzip.compress((old / "a.log").read_bytes()))
    (new / "b.log").unlink()
    (new / "b.log.xz").write_bytes(lzma.compress((new / "a.log").read_bytes()))

    said = run_tacholog_text("diff", old, new).stderr

    assert f"{old}/b.log.gz: copied: the same text as {old}/a.log: a copy is no second measurement" in said
    assert f"{new}/b.log.xz: copied: the same text as {new}/a.log: a copy is no second measurement" in said


def test_option_metric_accepts_the_words_with_which_reports_show_a_metric(checkout: Path) -> None:
    words = [checkout / "data/perftest/0.2.0", checkout / "data/perftest/0.3.0", "--limit", "1"]

    by_name, by_words = run(*words, "--metric", "goodput:mean"), run(*words, "--metric", "payload received:mean")

    assert by_words.stdout == by_name.stdout
    assert "payload received" in by_words.stdout.lower()


def test_report_states_why_nothing_is_compared_if_logs_have_only_sent_messages(checkout: Path) -> None:
    logs = checkout / "tests/formats/sockperf"
    why = "a figure that could be better or worse, so nothing is compared. There is only: Payload offered by the publisher; Messages offered by the"

    both = run(logs / "throughput-udp.log", logs / "throughput-nine-decimals.log").stdout
    one = run(logs / "throughput-udp.log", logs / "under-load.log").stdout
    none = run(logs / "under-load.log", logs / "under-load.log").stdout

    assert f"! No side has {why}" in both
    assert f"! The old side does not have {why}" in one
    assert "better or worse, so nothing" not in none


def test_report_states_once_that_only_loss_is_compared(checkout: Path) -> None:
    said = run(checkout / "data/perftest/0.2.0", checkout / "data/perftest/0.3.0", "--metric", "loss", "--transport", "tcp").stdout

    assert said.lower().count("nothing to compare") == 1
    assert "There is nothing to compare but loss." in said
    assert "LOSS. No run lost anything (" in said


def test_only_the_requested_transport_is_compared(checkout: Path) -> None:
    words = ["--transport", "tcp", "--metric", "latency:p50", "--format", "json"]

    report = json.loads(run(checkout / "data/perftest/0.2.0", checkout / "data/perftest/0.3.0", *words).stdout)

    assert {row["key"]["transport"] for row in report["rows"]} == {"tcp"}


SIZED = ["--metric", "p99", "--format", "json"]


@pytest.mark.parametrize(
    ("asked", "sizes"),
    [
        (["--size", "1KiB"], {1024}),
        (["--size", "1024"], {1024}),
        (["--size", "64B..1 KiB"], {64, 1024}),
        (["--size", "64B", "--size", "4KiB.."], {64, 4096, 16384, 65536, 1048576}),
    ],
)
def test_only_the_requested_sizes_are_compared(checkout: Path, asked: list[str], sizes: set[int]) -> None:
    sides = checkout / "data/perftest/0.2.0", checkout / "data/perftest/0.3.0"

    report = json.loads(run(*sides, "--transport", "tcp", *SIZED, *asked).stdout)

    assert {row["key"]["payload_bytes"] for row in report["rows"]} == sizes
    assert {(row["key"]["metric"], row["key"]["statistic"]) for row in report["rows"]} == {("latency", "p99")}


def test_unchanged_rows_are_listed_if_the_report_has_few_rows(checkout: Path) -> None:
    """A short report needs no option to list unchanged rows."""
    sides = checkout / "data/rti/default-type", checkout / "data/rti/custom-type"

    answer = run(*sides, "--across", "type", "--only", "Alike, not proven", "--metric", "goodput", "--size", "256B").stdout
    usual = run(*sides, "--across", "type", "--metric", "goodput", "--size", "256B").stdout

    assert "ALIKE, NOT PROVEN" in answer
    assert "ALIKE, NOT PROVEN" in usual
    assert "Only counted here" not in usual


def test_unchanged_rows_are_counted_and_listed_only_on_request(checkout: Path) -> None:
    words = [checkout / "data/rti/default-type", checkout / "data/rti/custom-type", "--across", "type"]

    counted, listed, named = (run(*words, *more).stdout for more in ([], ["--all"], ["--only", "Alike, not proven"]))

    assert "Only counted here: 47 alike, not proven (--all lists them)." in counted
    assert "ALIKE, NOT PROVEN (47)" not in counted
    assert "ALIKE, NOT PROVEN (47)" in listed
    assert "DIFFER, NOT PROVEN" in listed
    assert named.count("NOT PROVEN (") == 1
    assert "ALIKE, NOT PROVEN (47)" in named
    assert "Only counted here" not in listed + named
    assert "--limit 0" not in listed
