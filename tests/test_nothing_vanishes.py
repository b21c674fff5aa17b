"""An unreadable file is reported, affects only itself, and is counted: by each command, and on the site."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.command import run_tacholog_text
from tests.left_out import leave_out

from tacholog.site.stamp import write_stamp

DATA = Path(__file__).parent.parent / "data"
RUN = DATA / "rti/default-type/shmem-zero-copy"
READERS = ("export", "report", "diff")


def tacholog(*arguments: str | Path, cwd: Path, prefix: tuple[str, ...] = (), path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run Tacholog in the folder ``cwd``, without downloading Plotly."""
    environment = {"TACHOLOG_PLOTLY": "full"} | ({"PYTHONPATH": str(path)} if path else {})
    return run_tacholog_text(*arguments, cwd=cwd, environment=environment, prefix=prefix)


def reading(command: str, folder: Path, prefix: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    words = {"export": ["--data", "data"], "report": ["--data", "data", "--output", "site"], "diff": ["data", "data"]}[command]
    return tacholog(command, *words, cwd=folder, prefix=prefix)


@pytest.fixture
def two(tmp_path: Path) -> Path:
    for name in ("bad", "good"):
        shutil.copytree(RUN, tmp_path / "data" / name)
    (tmp_path / "data/hosts").mkdir()
    shutil.copy(DATA / "hosts/rti-benchmark-lab.toml", tmp_path / "data/hosts")
    return tmp_path


@pytest.fixture
def unprivileged(tmp_path: Path) -> Iterator[tuple[str, ...]]:
    """Yield a prefix for commands, so that access rights are effective even if root runs the tests.

    Tests take away access rights. So all access rights to the folder of the test are given back at the end.
    """
    words: tuple[str, ...] = ()
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            leave_out("ACCESS RIGHTS ARE NOT TESTED: this is root, and there is no setpriv (util-linux)")
        words = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")
    yield words
    subprocess.run(["chmod", "-R", "u+rwX", str(tmp_path)], check=True)


def not_toml(path: Path) -> str:
    path.write_text("system = ")
    return "Invalid value"


def unknown_key(path: Path) -> str:
    path.write_text("nonsense = 3\n" + path.read_text())
    return "Object contains unknown field `nonsense`"


def locked(path: Path) -> str:
    path.chmod(0)
    return "Permission denied"


@pytest.mark.parametrize("spoil", [not_toml, unknown_key, locked])
@pytest.mark.parametrize("command", READERS)
def test_run_with_an_unreadable_manifest_is_reported(two: Path, unprivileged: tuple[str, ...], command: str, spoil: Callable[[Path], str]) -> None:
    reason = spoil(two / "data/bad/run.toml")

    done = reading(command, two, prefix=unprivileged)

    assert done.returncode in {2, 4}  # Exit code 4: only one published number per side remains for the comparison.
    assert f"tacholog: data/bad/run.toml: {reason}" in done.stderr
    assert done.stderr.count("run.toml") == 1


def test_site_lists_an_unreadable_run_and_does_not_claim_that_all_runs_and_lines_are_good(two: Path) -> None:
    unknown_key(two / "data/bad/run.toml")

    first, second = reading("report", two), reading("report", two)

    assert (first.returncode, second.returncode) == (2, 2)
    assert "data/bad/run.toml" in second.stderr  # The second build has no changes, and the run is still unreadable.
    quality, home = (re.sub(r"</?span[^>]*>", "", (two / "site" / name).read_text()) for name in ("quality.html", "index.html"))
    assert "No run is known to have failed" not in quality
    assert "All lines of all logs were recognised" not in quality
    assert re.search(r"<code>bad</code>.*?not read.*?unknown field `\[…\]`", quality, re.DOTALL)
    assert "1 run, host, file or folder could not be read. This site shows nothing of it." in quality
    assert "1 run, host, file or folder could not be read. This site shows nothing of it." in home
    assert "None of 1 runs that could be read is known to have failed" in home


def test_report_names_the_only_run_and_builds_no_site_if_this_run_is_unreadable(two: Path) -> None:
    shutil.rmtree(two / "data/good")
    unknown_key(two / "data/bad/run.toml")

    done = reading("report", two)

    assert done.returncode == 2
    assert done.stderr.startswith("tacholog: no run could be read below data: data/bad/run.toml: ")
    assert "unknown field" in done.stderr
    assert "needs a run.toml" not in done.stderr  # The folder has a run.toml.
    assert [path.name for path in two.iterdir()] == ["data"]


def test_verify_names_the_only_run_if_it_is_unreadable(two: Path) -> None:
    shutil.rmtree(two / "data/good")
    unknown_key(two / "data/bad/run.toml")

    done = tacholog("verify", "data", cwd=two)

    assert done.returncode == 2
    assert re.search(r"data: no log could be read: .*data/bad/run\.toml: .*unknown field", done.stderr)


def test_repaired_run_is_shown_again(two: Path, unprivileged: tuple[str, ...]) -> None:
    locked(two / "data/bad/run.toml")
    reading("report", two, prefix=unprivileged)
    (two / "data/bad/run.toml").chmod(0o644)

    done = reading("report", two, prefix=unprivileged)

    assert (done.returncode, done.stderr) == (0, "")
    assert "No run is known to have failed" in (two / "site/quality.html").read_text()


@pytest.mark.parametrize("command", READERS)
def test_folder_that_cannot_be_listed_is_reported(two: Path, unprivileged: tuple[str, ...], command: str) -> None:
    (two / "data/bad").chmod(0)

    done = reading(command, two, prefix=unprivileged)

    assert done.returncode in {2, 4}
    assert "tacholog: data/bad: the folder cannot be listed: Permission denied; what is in it was not read\n" in done.stderr


def test_folder_that_cannot_be_listed_is_reported_if_logs_are_checked_or_parsed(two: Path, unprivileged: tuple[str, ...]) -> None:
    (two / "data/bad").chmod(0)

    check, parent, alone = (tacholog(*words, cwd=two, prefix=unprivileged) for words in (("check", "data"), ("parse", "data"), ("parse", "data/bad")))

    assert (check.returncode, parent.returncode, alone.returncode) == (1, 2, 2)
    assert "data/bad: the folder cannot be listed: Permission denied" in check.stdout
    assert ", 1 problem\n" in check.stderr
    assert "tacholog: data/bad: the folder cannot be listed: Permission denied\n" in parent.stderr
    assert "tacholog: data/bad: the folder cannot be listed: Permission denied\n" in alone.stderr
    assert "1 log: 18 records" in parent.stderr


@pytest.mark.parametrize("command", [*READERS, "check"])
def test_pipe_or_socket_is_reported_in_each_kind_of_folder(two: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(two / "data")  # The path of a socket has at most 108 bytes.
    for folder in ("same-build", "none"):
        Path(folder).mkdir()
    for pipe in ("bad/pipe.log", "hosts/pipe.toml", "same-build/pipe.csv", "none/run.toml"):
        os.mkfifo(pipe)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("none/some.socket")

        done = tacholog("check", "data", cwd=two) if command == "check" else reading(command, two)

    said = (done.stdout if command == "check" else done.stderr).replace("tacholog: ", "").splitlines()
    places = {"hosts/pipe.toml": "named pipe", "same-build/pipe.csv": "named pipe", "none/run.toml": "named pipe", "none/some.socket": "socket"}
    assert {f"data/{place}: not a file but a {kind}, and was not read" for place, kind in places.items()} <= set(said)
    assert f"{'' if command == 'check' else 'data/'}bad/pipe.log: manifest: not a file but a named pipe, and was not read" in said
    assert sum("not a file" in line for line in said) == 5
    assert done.returncode == {"check": 1, "diff": 4}.get(command, 2)  # A single run cannot be tested. Its exit code 4 has precedence over 2.


@pytest.mark.parametrize("command", READERS)
def test_log_that_cannot_be_opened_is_reported_and_affects_only_itself(two: Path, unprivileged: tuple[str, ...], command: str) -> None:
    (two / "data/bad/throughput-sub.log").chmod(0)

    done = reading(command, two, prefix=unprivileged)

    assert done.returncode in {2, 4}
    assert "tacholog: data/bad/throughput-sub.log: unreadable: cannot open: Permission denied\n" in done.stderr
    if command == "export":
        assert len(done.stdout.splitlines()) > 18
    if command == "report":
        assert "cannot open: Permission denied" in (two / "site/quality.html").read_text()


def test_export_reports_broken_lines_on_the_terminal(two: Path) -> None:
    log, manifest = two / "data/bad/throughput-sub.log", two / "data/bad/run.toml"
    as_it_was = hashlib.sha256(log.read_bytes()).hexdigest()
    log.write_text(log.read_text() + "Length:  7  Packets: \n")

    altered = reading("export", two)
    manifest.write_text(manifest.read_text().replace(as_it_was, hashlib.sha256(log.read_bytes()).hexdigest()))
    broken = reading("export", two)

    assert (altered.returncode, broken.returncode) == (2, 0)
    assert "tacholog: data/bad/throughput-sub.log: altered: the log's SHA-256 is " in altered.stderr
    assert "tacholog: data/bad/throughput-sub.log:19: broken: " in broken.stderr


def test_empty_folder_gives_the_same_result_for_all_commands(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()

    codes = {command: reading(command, tmp_path).returncode for command in READERS}

    assert codes == dict.fromkeys(READERS, 2)
    assert tacholog("parse", "data", cwd=tmp_path).returncode == 2
    assert tacholog("check", "data", cwd=tmp_path).returncode == 1


def test_missing_histograms_are_reported(two: Path) -> None:
    done = tacholog("export", "--data", "data", "--format", "hdr", "--output", "hdr", cwd=two)

    assert (done.returncode, done.stderr) == (2, "tacholog: no log has a distribution: nothing to write\n")


def test_report_uses_and_names_the_newest_folder_of_own_runs_that_contains_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tacholog.commands import report

    monkeypatch.chdir(tmp_path)
    for age, name in ((300, "a"), (200, "b"), (100, "empty")):
        (tmp_path / "build/runs" / name).mkdir(parents=True)
        if name != "empty":
            shutil.copytree(RUN, tmp_path / "build/runs" / name / "run")
        os.utime(tmp_path / "build/runs" / name, (1e9 - age, 1e9 - age))

    assert report.default_roots() == (tmp_path / "build/runs/b",)
    assert capsys.readouterr().err == f"own runs: {tmp_path}/build/runs/b\n"


def test_default_folders_are_in_the_root_of_the_checkout_or_else_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tacholog.commands.shared.arguments import home

    root = Path(__file__).parent.parent
    for here, expected in ((tmp_path, tmp_path), (root, root), (root / "docs", root)):
        monkeypatch.chdir(here)

        assert home() == expected


def test_report_refuses_a_file_in_place_of_a_folder_and_gives_advice(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("x\n")

    done = tacholog("report", "a.log", cwd=tmp_path)

    assert done.returncode == 2
    assert done.stderr.startswith(
        "tacholog: a.log is a file, and a site is built from folders: name its folder, or make a run from a log with tacholog import"
    )


def test_log_that_is_listed_twice_counts_once(two: Path) -> None:
    manifest = two / "data/bad/run.toml"
    listed = re.search(r"\[\[logs\]\].*?(?=\n\[|\Z)", manifest.read_text(), re.DOTALL)
    assert listed
    manifest.write_text(f"{manifest.read_text()}\n{listed[0]}\n")

    done = tacholog("check", "data", cwd=two)

    assert done.returncode == 1
    assert "run.toml: the log throughput-sub.log is listed twice; its numbers would count twice\n" in done.stdout


def test_same_bytes_in_two_logs_of_a_run_are_reported(two: Path) -> None:
    folder = two / "data/bad"
    shutil.copy(folder / "throughput-sub.log", folder / "again.log")
    digest = hashlib.sha256((folder / "again.log").read_bytes()).hexdigest()
    with (folder / "run.toml").open("a") as file:
        file.write(f'\n[[logs]]\nfile = "again.log"\nsha256 = "{digest}"\n')

    assert "bad: again.log and throughput-sub.log hold the same bytes\n" in tacholog("check", "data", cwd=two).stdout


def test_same_text_in_two_logs_of_a_run_is_reported(two: Path) -> None:
    folder = two / "data/bad"
    content = gzip.compress((folder / "throughput-sub.log").read_bytes())
    (folder / "again.log.gz").write_bytes(content)
    with (folder / "run.toml").open("a") as file:
        file.write(f'\n[[logs]]\nfile = "again.log.gz"\nsha256 = "{hashlib.sha256(content).hexdigest()}"\n')

    assert "bad: again.log.gz and throughput-sub.log hold the same text\n" in tacholog("check", "data", cwd=two).stdout


PLUGIN = '''
"""A format that does what it should not."""
from tacholog.formats.kit import Conditions, Detected, Finding, Number, Record

SYSTEM = TOOL = "Odd"
DIALECTS = ()
DEFINITIONS = {{"odd-rtt": "There and back."}}


def detect(head):
    return Detected(head.startswith("odd"), "a line 'odd'")


def parse(lines):
    for line in lines:
        if line.text == "odd":
            yield Finding(line, None)
            continue
        number = Number(metric="{metric}", statistic="p50", value={value})
        conditions = Conditions(basis="rtt", definition="{definition}")
        yield Finding(line, Record(test="latency", payload_bytes=64, numbers=(number,), conditions=conditions))
        {then}
'''


def odd(folder: Path, metric: str = "latency", value: str = "5.0", definition: str = "odd-rtt", then: str = "") -> tuple[str, Path]:
    """Install a format into a folder, and write a log in this format. Return the path of the log, and the folder with the installed format."""
    information = folder / "plugin/tacholog_odd-1.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: tacholog-odd\nVersion: 1\n")
    (information / "entry_points.txt").write_text("[tacholog.formats]\nodd = tacholog_odd\n")
    (folder / "plugin/tacholog_odd.py").write_text(PLUGIN.format(metric=metric, value=value, definition=definition, then=then))
    (folder / "data/odd").mkdir(parents=True)
    (folder / "data/odd/odd.log").write_text("odd\n64 5\n")
    digest = hashlib.sha256(b"odd\n64 5\n").hexdigest()
    (folder / "data/odd/run.toml").write_text(f'system = "Odd"\n[[logs]]\nfile = "odd.log"\nsha256 = "{digest}"\n')
    return "data/odd/odd.log", folder / "plugin"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"value": 'float("nan")'}, "the format odd of tacholog-odd 1 says that latency p50 is nan, which is impossible"),
        ({"value": "-1.0"}, "the format odd of tacholog-odd 1 says that latency p50 is -1, which is impossible"),
    ],
    ids=["no number", "negative"],
)
def test_impossible_record_of_a_format_is_a_broken_line(tmp_path: Path, wrong: dict[str, str], said: str) -> None:
    log, plugin = odd(tmp_path, **wrong)

    check, parse = tacholog("check", "data", cwd=tmp_path, path=plugin), tacholog("parse", "--strict", log, cwd=tmp_path, path=plugin)

    assert (check.returncode, parse.returncode) == (1, 1)
    assert f"odd/odd.log:2: broken: {said}" in check.stdout
    assert f"data/odd/odd.log:2: broken: {said}" in parse.stderr


def test_unknown_definition_of_a_format_is_reported(tmp_path: Path) -> None:
    _, plugin = odd(tmp_path, definition="no-such")

    done = tacholog("check", "data", cwd=tmp_path, path=plugin)

    assert done.returncode == 1
    assert "odd/odd.log: the definition 'no-such' is none of the format odd (odd-rtt)\n" in done.stdout


def test_record_without_a_line_number_is_reported(tmp_path: Path) -> None:
    record = "Record(test='latency', payload_bytes=64, numbers=(number,), conditions=conditions)"
    _, plugin = odd(tmp_path, then=f"yield Finding(None, {record})")

    done = tacholog("check", "data", cwd=tmp_path, path=plugin)

    assert done.returncode == 1
    assert "results: line 0 is less than 1, in odd/odd.log\n" in done.stdout


def test_exception_in_a_format_affects_only_the_log_that_the_format_reads(two: Path) -> None:
    log, plugin = odd(two, then='{}["banana"]')
    said = f"{log}: the format odd of tacholog-odd 1 failed at line 2: KeyError: 'banana'\n"

    parse, export = tacholog("parse", "data", cwd=two, path=plugin), tacholog("export", "--data", "data", cwd=two, path=plugin)

    assert (parse.returncode, export.returncode) == (2, 2)
    assert f"tacholog: {said}" in parse.stderr
    assert "2 logs: 36 records" in parse.stderr
    assert "unreadable: the format odd of tacholog-odd 1 failed at line 2: KeyError: 'banana'\n" in export.stderr
    assert "Traceback" not in parse.stderr + export.stderr
    assert {row.split(",")[1] for row in export.stdout.splitlines()[1:]} == {"bad", "good"}


@pytest.mark.parametrize("command", ["report", "publish"])
def test_folder_of_somebody_else_stays_unchanged(two: Path, command: str) -> None:
    (two / "mine").mkdir()
    (two / "mine/index.html").write_text("my home page")
    (two / "built").mkdir()
    (two / "built/index.html").write_text("a site")
    write_stamp(two / "built", "0" * 64, (), problems=0)
    words = {"report": ["--data", "data", "--output", "mine"], "publish": ["built", "--release", "1", "--output", "mine"]}[command]

    done = tacholog(command, *words, cwd=two)

    assert done.returncode == 2
    assert re.fullmatch(r"tacholog: .*mine: Tacholog did not create everything in it \(index.html\): name a new or an empty folder\n", done.stderr)
    assert (two / "mine/index.html").read_text() == "my home page"
    assert [path.name for path in (two / "mine").iterdir()] == ["index.html"]


def test_pages_of_another_sphinx_project_stay_unchanged_even_if_they_show_our_tables(two: Path) -> None:
    (two / "mine/_static").mkdir(parents=True)
    mine = {name: two / "mine" / name for name in (".buildinfo", "_static/tacholog.css", "index.html", "notes.txt")}
    for path in mine.values():
        path.write_text("mine")

    done = tacholog("report", "--data", "data", "--output", "mine", cwd=two)

    assert done.returncode == 2
    assert "mine: Tacholog did not create everything in it (.buildinfo): name a new or an empty folder" in done.stderr
    assert {name: path.read_text() for name, path in mine.items()} == dict.fromkeys(mine, "mine")


@pytest.mark.parametrize("output", ["data", "."])
def test_site_is_not_built_into_the_folder_with_the_data(two: Path, output: str) -> None:
    before = sorted(two.rglob("*"))

    done = tacholog("report", "--data", "data", "--output", output, cwd=two)

    assert done.returncode == 2
    assert "the data (data) is in this folder; a site needs a folder of its own\n" in done.stderr
    assert sorted(two.rglob("*")) == before


def test_full_disk_is_reported_in_one_line(two: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tacholog", "export", "--data", "data"], cwd=two, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )

    assert (done.returncode, done.stderr) == (2, "tacholog: cannot write: No space left on device\n")


@pytest.mark.parametrize(
    ("words", "closed", "said"),
    [
        (("export", "--data", "data"), ">&-", "tacholog: cannot write: Bad file descriptor\n"),
        (("formats",), ">&-", "tacholog: cannot write: Bad file descriptor\n"),
        (("parse", "-"), "<&-", "tacholog: -: cannot be read: Bad file descriptor\n"),
        (("export", "--data", "data"), ">&- 2>&-", ""),
    ],
)
def test_closed_stream_is_reported_without_a_traceback(two: Path, words: tuple[str, ...], closed: str, said: str) -> None:
    command = ["sh", "-c", f'"$@" {closed}', "sh", sys.executable, "-m", "tacholog", *words]
    done = subprocess.run(command, cwd=two, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, check=False)

    assert (done.returncode, done.stderr) == (2, said)


def test_written_file_is_the_same_if_the_output_streams_are_closed(two: Path) -> None:
    words = [sys.executable, "-m", "tacholog", "export", "--data", "data", "--output", "results.csv"]
    usual = subprocess.run(words, cwd=two, capture_output=True, check=False).returncode
    before = (two / "results.csv").read_bytes()
    closed = subprocess.run(["sh", "-c", '"$@" <&- >&- 2>&-', "sh", *words], cwd=two, check=False).returncode

    assert (closed, (two / "results.csv").read_bytes()) == (usual, before)


def test_deleted_current_folder_is_reported(two: Path) -> None:
    command = ["sh", "-c", 'mkdir gone && cd gone && rmdir ../gone && "$@"', "sh", sys.executable, "-m", "tacholog", "export", "--data", "."]
    done = subprocess.run(command, cwd=two, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (2, "tacholog: the current folder: No such file or directory\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("host", "--output", "/proc/h.toml"), "tacholog: /proc/h.toml: No such file or directory\n"),
        (("export", "--data", "data", "--output", "/dev/full"), "tacholog: /dev/full: No space left on device\n"),
        (("host", "--id", "../x"), "'../x': the name becomes the file hosts/NAME.toml, so it cannot contain / or start with a dot\n"),
        (("check", "data/bad/run.toml"), "data/bad/run.toml is a file, not a folder\n"),
    ],
    ids=lambda words: words[0] if isinstance(words, tuple) else "",
)
def test_message_names_the_path_that_the_user_typed(two: Path, words: tuple[str, ...], said: str) -> None:
    done = tacholog(*words, cwd=two)

    assert done.returncode == 2
    assert done.stderr.endswith(said)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('[conditions]\ndata_path = "bogus"\n', "conditions.data_path: 'bogus' is not one of copy, flat-data, zero-copy, pointer"),
        ("tool = 3\n", "Expected text, got a whole number - at `$.tool`"),
        ('[[logs]]\nfile = "a.log"\nsha256 = "' + 64 * "0" + '"\nside = "left"\n', "logs[0].side: 'left' is not one of publisher, subscriber, both"),
    ],
    ids=["a choice", "a type", "a choice in a list"],
)
def test_invalid_value_in_a_manifest_is_answered_with_the_valid_values(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/run.toml").write_text(f'system = "x"\n{line}' + ("" if "logs" in line else "" if "conditions" in line else "logs = []\n"))

    assert f"run.toml: {said}\n" in tacholog("check", tmp_path, cwd=tmp_path).stdout
