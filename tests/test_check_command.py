"""``tacholog check`` reports each problem of a contributed folder."""

from __future__ import annotations

import gzip
import hashlib
import html
import re
import shutil
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from tests.command import run_tacholog_text
from tests.report.conftest import FIRST, add_run, rti
from tests.samples import FORMATS

from tacholog.commands.check import check
from tacholog.runs.manifest import Manifest
from tacholog.schema.conditions import StatedConditions
from tacholog.store.complaints import with_copies
from tacholog.store.load import load

DATA = Path(__file__).parent.parent / "data"


def published(tmp_path: Path) -> Path:
    shutil.copytree(DATA / "rti/udpv4-wan/keyed-reliable", tmp_path / "keyed-reliable")
    shutil.copytree(DATA / "hosts", tmp_path / "hosts")
    return tmp_path


def test_published_data_has_no_problem() -> None:
    done = CliRunner().invoke(check, [str(DATA)])

    assert done.exit_code == 0, done.output


def test_missing_host_and_changed_log_and_broken_line_are_each_reported_in_one_line(tmp_path: Path) -> None:
    folder = published(tmp_path)
    (folder / "hosts/rti-benchmark-lab.toml").unlink()
    log = folder / "keyed-reliable/latency-pub.txt"
    log.write_text(log.read_text().replace("1.3\n", "", 1))

    done = CliRunner().invoke(check, [str(folder)])

    assert done.exit_code == 1
    assert "keyed-reliable/latency-pub.txt: altered: the log's SHA-256 is " + hashlib.sha256(log.read_bytes()).hexdigest() in done.output
    assert "latency-pub.txt:23: broken: " in done.output
    assert "hosts/rti-benchmark-lab.toml: missing, although a run names this host" in done.output


def test_unreadable_host_file_is_not_also_called_missing(tmp_path: Path) -> None:
    folder = published(tmp_path)
    file = folder / "hosts/rti-benchmark-lab.toml"
    file.write_text("".join(line for line in file.read_text().splitlines(keepends=True) if not line.startswith("source")))

    done = CliRunner().invoke(check, [str(folder)])

    assert done.exit_code == 1
    assert f"{file}: Object missing required field `source`" in done.output
    assert "missing, although" not in done.output


def test_truncated_log_is_named_by_its_path(tmp_path: Path) -> None:
    add_run(tmp_path, "bomb", "", rti())
    bomb = gzip.compress(FIRST.encode()) + gzip.compress(bytes(2_000_000)) * 100
    (tmp_path / "bomb/sub.log").write_bytes(bomb)

    done = CliRunner().invoke(check, [str(tmp_path)])

    assert done.exit_code == 1
    assert "bomb/sub.log: truncated: the gzip stream was expanded only to 7 MiB, from 8 KiB: the stream is taken for a" in done.output


def test_folder_without_a_run_and_log_without_a_manifest_are_problems(tmp_path: Path) -> None:
    (tmp_path / "forgotten").mkdir()
    shutil.copy(DATA / "rti/udpv4-wan/keyed-reliable/latency-pub.txt", tmp_path / "forgotten")

    done = CliRunner().invoke(check, [str(tmp_path)])

    assert done.exit_code == 1
    assert f"{tmp_path}: no run: there is no run.toml in this folder or its subfolders\n" in done.output
    assert "forgotten/latency-pub.txt: not read: there is no run.toml beside it\n" in done.output


def test_unknown_line_is_shown(tmp_path: Path) -> None:
    log = published(tmp_path) / "keyed-reliable/latency-pub.txt"
    log.write_text(log.read_text() + "$ exit\n")

    assert "latency-pub.txt:262: unknown: the format does not recognise this line: '$ exit'\n" in CliRunner().invoke(check, [str(tmp_path)]).output


@pytest.mark.parametrize("written", ["yesterday", "01.09.2026 10:01", "2026-13-45T10:00:00Z", "0001-01-01T00:00:00+14:00", ""])
def test_invalid_start_time_is_named_with_its_file_and_key_and_is_not_used(tmp_path: Path, written: str) -> None:
    add_run(tmp_path, "a", FIRST, msgspec.structs.replace(rti("UDPv4", published=False), start_time=written))

    done = run_tacholog_text("check", tmp_path)

    assert done.returncode == 1
    assert f"a/run.toml: manifest: start_time = '{written}' is not a time such as \"2026-01-31T12:00:00Z\", and was not used\n" in done.stdout
    assert load([tmp_path]).runs["start_time"].isna().all()


@pytest.mark.parametrize("written", ["2026-09-01", "2026-09-01T10:01Z", "2026-09-01 10:01:00.123456+02:00"])
def test_start_time_can_be_any_iso_time(tmp_path: Path, written: str) -> None:
    add_run(tmp_path, "a", FIRST, msgspec.structs.replace(rti("UDPv4", published=False), start_time=written))

    data = load([tmp_path])

    assert data.problems.empty
    assert list(data.runs["start_time"]) == [written]


def test_missing_key_of_a_manifest_is_reported_once_with_a_readable_message(tmp_path: Path) -> None:
    manifest = published(tmp_path) / "keyed-reliable/run.toml"
    for wrong, said in (
        ('system = "x"\n', "run.toml: Object missing required field `logs`"),
        ('system = "x"\nspeed = 3\nlogs = []\n', "run.toml: Object contains unknown field `speed`"),
        (
            'system = "x"\n[[logs]]\nfile = "a.log"\nsha256 = "?"\n',
            "run.toml: Expected 64 hexadecimal digits, as sha256sum prints them, - at `$.logs[0].sha256`",
        ),
        (
            'system = "x"\n[[logs]]\nfile = "../a.log"\n',
            "Expected the name of a file beside run.toml, without a folder or control characters, - at `$.logs[0].file`",
        ),
    ):
        manifest.write_text(wrong)

        output = CliRunner().invoke(check, [str(tmp_path)]).output

        assert said in output
        assert output.count("run.toml") == 1 + ("beside run.toml" in said)


def test_message_size_of_0_in_a_manifest_is_reported_with_the_line_of_the_first_result(tmp_path: Path) -> None:
    log = (FORMATS / "sockperf/ping-pong-udp.log").read_text()
    add_run(tmp_path, "a", log, Manifest(system="sockets", conditions=StatedConditions(payload_bytes=0), logs=()))

    done = CliRunner().invoke(check, [str(tmp_path)])

    assert done.output.splitlines() == ["results: payload_bytes 0 is less than 1, in a/sub.log:10", "1 run, 25 lines, 18 numbers, 1 problem"]


def test_each_contradiction_is_reported_once_with_its_first_line(tmp_path: Path) -> None:
    add_run(tmp_path, "a", FIRST, rti(payload_bytes=64))

    done = CliRunner().invoke(check, [str(tmp_path)])

    assert done.output.splitlines()[:-1] == [
        "a/sub.log:1: contradicted: run.toml says payload_bytes = 64, the log says 32",
        "a/sub.log:3: contradicted: run.toml says payload_bytes = 64, the log says 1024",
    ]


def test_options_of_earlier_versions_are_accepted_and_a_message_says_to_leave_them_out(tmp_path: Path) -> None:
    add_run(tmp_path, "a", FIRST, rti())

    done = run_tacholog_text("check", tmp_path, "--jobs", "2")

    assert done.returncode == 0
    assert "tacholog: check reads all logs in one process: leave out --jobs and --cluster" in done.stderr


def test_impossible_value_of_a_manifest_is_named_with_its_file(tmp_path: Path) -> None:
    add_run(tmp_path, "one", FIRST, rti())
    add_run(tmp_path, "two", FIRST, msgspec.structs.replace(rti(), repetition=-1))

    done = CliRunner().invoke(check, [str(tmp_path)])

    assert done.output.splitlines()[0] == "runs: repetition -1 is less than 0, in two/run.toml"


@pytest.mark.parametrize("condition", ["planned_duration_s", "network_loss_percent"])
def test_infinite_condition_of_a_manifest_is_refused(tmp_path: Path, condition: str) -> None:
    (tmp_path / "run.toml").write_text(f'system = "A"\ntool = "rti"\nlogs = []\n[conditions]\n{condition} = inf\n')

    done = CliRunner().invoke(check, [str(tmp_path)])

    assert done.output.splitlines()[0] == f"{tmp_path}/run.toml: conditions.{condition} is infinite: JSON cannot represent it"


def test_check_reports_only_the_unreadable_run_if_there_is_no_other_run(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text("repetition = 'one'\n")

    done = CliRunner().invoke(check, [str(tmp_path)])

    assert done.output.splitlines() == [
        f"{tmp_path}/run.toml: Expected a whole number, got text - at `$.repetition`",
        "0 runs, 0 lines, 0 numbers, 1 problem",
    ]


def test_error_in_a_file_of_bands_is_reported_with_the_line(tmp_path: Path) -> None:
    folder = published(tmp_path)
    (table,) = re.findall(r"^```csv\n(.+?)^```", (DATA.parent / "docs/significance.md").read_text(), re.MULTILINE | re.DOTALL)
    (folder / "same-build").mkdir()
    (folder / "same-build/host-000000.csv").write_text(table)

    whole = CliRunner().invoke(check, [str(folder)])
    (folder / "same-build/host-000000.csv").write_text(table.replace("0.006", "much"))
    spoilt = CliRunner().invoke(check, [str(folder)])

    assert (whole.exit_code, spoilt.exit_code) == (0, 1)
    assert "same-build/host-000000.csv:2: " in spoilt.output


def test_log_that_was_copied_into_a_second_run_is_reported(tmp_path: Path) -> None:
    example = Path(__file__).parent.parent / "docs" / "example" / "data"
    shutil.copytree(example, tmp_path / "data")
    shutil.copytree(tmp_path / "data" / "latency-udp", tmp_path / "data" / "second-run")
    (log,) = (tmp_path / "data" / "second-run").glob("*.log")
    words = f"the same bytes as latency-udp/{log.name}: a copy is no second measurement"

    checked = run_tacholog_text("check", "data", cwd=tmp_path)
    run_tacholog_text("report", "data", "--output", "site", cwd=tmp_path)
    compared = run_tacholog_text("diff", "data", "data", cwd=tmp_path)

    assert checked.returncode == 1
    assert f"second-run/{log.name}: copied: {words}" in checked.stdout
    assert words in compared.stderr
    assert words in html.unescape((tmp_path / "site" / "quality.html").read_text())


def test_copied_log_is_reported_even_in_a_saved_dataset_of_an_older_version(tmp_path: Path) -> None:
    example = Path(__file__).parent.parent / "docs" / "example" / "data"
    for run in ("first", "second"):
        shutil.copytree(example / "latency-udp", tmp_path / run)
    loaded = load([tmp_path])
    saved = msgspec.structs.replace(loaded, logs=loaded.logs.assign(text_sha256=None))

    for data in (loaded, saved):
        assert list(with_copies(data).problems["kind"]) == ["copied"]


def test_equal_logs_are_not_called_copies_if_they_are_published_or_have_few_numbers(tmp_path: Path) -> None:
    for run in ("first", "again"):
        add_run(tmp_path, f"published-{run}", FIRST, rti())
        add_run(tmp_path, f"own-{run}", "", rti(published=False))

    assert "copied" not in set(with_copies(load([tmp_path])).problems["kind"])


def test_quality_page_does_not_name_a_run_that_the_site_leaves_out(tmp_path: Path) -> None:
    example = Path(__file__).parent.parent / "docs" / "example" / "data"
    shutil.copytree(example, tmp_path / "data")
    shutil.copytree(tmp_path / "data" / "latency-udp", tmp_path / "data" / "a-secret-name")
    manifest = tmp_path / "data" / "a-secret-name" / "run.toml"
    manifest.write_text(f'campaign = "hidden"\n{manifest.read_text()}')
    (tmp_path / "site.toml").write_text('campaigns_left_out = ["hidden"]\n')

    done = run_tacholog_text("report", "data", "--site", "site.toml", "--output", "site", cwd=tmp_path)

    assert "the same bytes as a-secret-name/" in done.stderr
    assert "a-secret-name" not in (tmp_path / "site" / "quality.html").read_text()


def test_empty_log_is_a_problem_for_check_and_an_error_for_commands_that_need_its_numbers(tmp_path: Path) -> None:
    shutil.copytree(Path(__file__).parent.parent / "docs" / "example" / "data", tmp_path / "data")
    (tmp_path / "data" / "latency-udp" / "perftest.log").write_bytes(b"")
    (tmp_path / "empty.log").touch()
    commands = (["check", "data"], ["parse", "empty.log"], ["export", "--data", "data"], ["report", "data", "--output", "site"])

    assert [run_tacholog_text(*arguments, cwd=tmp_path).returncode for arguments in commands] == [1, 2, 2, 2]
