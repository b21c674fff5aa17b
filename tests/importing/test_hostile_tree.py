"""Hostile folders, full disks and killed imports: an error affects only the log that causes it, and no run is incomplete."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command import run_tacholog_text
from tests.importing.conftest import PATTERN, files_of, import_logs, lines_with, log_of, manifests

from tacholog.runs.importing.plan import plan_import
from tacholog.runs.importing.rules import read_rules
from tacholog.runs.importing.writing import staging, write_run

MakeTree = Callable[..., Path]
NAME = "throughput-test/hostnetwork-udp/test-{}/rtiperftest-sub0.log"


def test_links_pipes_and_devices_are_reported_and_never_opened(cluster: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.log").write_text(log_of("sub", 66))
    for number in range(5, 9):
        (cluster / NAME.format(number)).parent.mkdir()
    (cluster / NAME.format(5)).symlink_to(tmp_path / "secret.log")
    os.mkfifo(cluster / NAME.format(6))
    (cluster / NAME.format(7)).mkdir()
    (cluster / "elsewhere").symlink_to(tmp_path)
    (cluster / NAME.format(8)).symlink_to("/dev/zero")

    said = import_logs(cluster, "--to", tmp_path / "data", "--map", PATTERN, status=2)

    assert lines_with(said, ["3 files: not a file but a link, which is not followed: elsewhere", "test-5", "test-8"])
    assert lines_with(said, ["not imported:", "test-6", "not a file but a named pipe"])
    assert len(manifests(tmp_path / "data")) == 4
    assert not any(b"11899" in content for content in files_of(tmp_path / "data").values())


def test_output_does_not_mention_files_that_the_user_ignores(cluster: Path, tmp_path: Path) -> None:
    (cluster / "latest").symlink_to("throughput-test")
    (cluster / "old").mkdir()
    (cluster / "old/sub.log").write_text(log_of("sub", 66))

    said = import_logs(cluster, "--to", tmp_path / "data", "--map", PATTERN, "--ignore", "latest", "--ignore", "old/*")

    assert "not imported" not in said


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (b"rtiperftest-sub1.\xff.log", r"rtiperftest-sub1.\udcff.log: the name is not valid UTF-8, so it cannot name a page; rename it"),
        (b"rtiperftest-\x1b[31msub1.log", "rtiperftest-␛[31msub1.log: the path holds characters that cannot be shown"),
        (b"rtiperftest-\nsub1.log", "rtiperftest-␊sub1.log: the path holds characters that cannot be shown"),
    ],
)
def test_files_with_invisible_characters_in_their_names_are_listed_and_not_imported(cluster: Path, tmp_path: Path, name: bytes, words: str) -> None:
    folder = os.fsencode(cluster / "throughput-test/hostnetwork-udp/test-0")
    with open(os.path.join(folder, name), "wb") as file:  # noqa: PTH118, PTH123 - pathlib has no names in bytes
        file.write(log_of("sub", 66).encode())

    said = import_logs(cluster, "--to", tmp_path / "data", "--map", PATTERN, status=2)

    assert words in said
    assert len(manifests(tmp_path / "data")) == 4


def test_folder_with_invisible_characters_in_its_name_gives_no_label(cluster: Path, tmp_path: Path) -> None:
    (cluster / "throughput-test/hostnetwork-udp").rename(cluster / "throughput-test/host\u202enetwork")

    said = import_logs(cluster, "--to", tmp_path / "data", "--map", PATTERN, status=2)

    assert "not imported: 4 files: the path holds characters that cannot be shown" in said
    assert {run.labels["plugin"] for run in manifests(tmp_path / "data").values()} == {"flannel-hostgw-dds-secure-tcp"}


def test_binary_and_empty_files_in_place_of_logs_are_reported(cluster: Path, tmp_path: Path) -> None:
    (cluster / NAME.format(0)).write_bytes(bytes(range(256)) * 40)
    (cluster / NAME.format(1)).write_bytes(b"")

    said = import_logs(cluster, "--to", tmp_path / "data", "--map", PATTERN, status=2)

    assert f"not imported: {NAME.format(0)}: binary data, not the text of a log" in said
    assert f"not imported: {NAME.format(1)}: the file is empty" in said
    assert {run: len(manifest.logs) for run, manifest in manifests(tmp_path / "data").items() if "hostnetwork" in run} == {
        "throughput-test/hostnetwork-udp/00": 1,
        "throughput-test/hostnetwork-udp/01": 1,
    }


def test_deeply_nested_folders_are_searched(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    here = os.open(tmp_path / "logs", os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    (tmp_path / "logs/a.log").write_text(log_of("sub"))

    import_logs(tmp_path / "logs", "--to", tmp_path / "data", "--map", "{label.x}.log")
    subprocess.run(["rm", "-rf", tmp_path / "logs"], check=True)  # pytest cannot delete a tree of this depth.

    assert list(manifests(tmp_path / "data")) == ["a/01"]


def test_read_only_source_can_be_imported(cluster: Path, tmp_path: Path) -> None:
    folders = [cluster, *(path for path in cluster.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    # Root may write everywhere, unless it drops this capability.
    prefix = ("setpriv", "--bounding-set", "-dac_override", "--inh-caps", "-dac_override") if os.geteuid() == 0 else ()
    done = run_tacholog_text("import", cluster, "--to", tmp_path / "data", "--map", PATTERN, prefix=prefix)
    for folder in folders:
        folder.chmod(0o755)

    assert done.returncode == 0, done.stderr
    assert len(manifests(tmp_path / "data")) == 4


def test_folder_that_cannot_be_listed_is_reported(cluster: Path, tmp_path: Path) -> None:
    closed = cluster / "throughput-test/hostnetwork-udp"
    closed.chmod(0)
    prefix = (
        ("setpriv", "--bounding-set", "-dac_override,-dac_read_search", "--inh-caps", "-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
    )
    done = run_tacholog_text("import", cluster, "--to", tmp_path / "data", "--map", PATTERN, prefix=prefix)
    closed.chmod(0o755)

    assert done.returncode == 2
    assert "not imported: throughput-test/hostnetwork-udp: the folder cannot be listed: Permission denied; what is in it was not read" in done.stderr
    assert len(manifests(tmp_path / "data")) == 2


def test_existing_folder_without_a_run_is_not_overwritten_by_an_imported_run(cluster: Path, tmp_path: Path) -> None:
    place = tmp_path / "data/throughput-test/hostnetwork-udp/00"
    place.mkdir(parents=True)
    (place / "notes.txt").write_text("mine")

    said = import_logs(cluster, "--to", tmp_path / "data", "--map", PATTERN, status=2)

    assert "hostnetwork-udp/00 is already there, and holds no run" in said
    assert files_of(place) == {"notes.txt": b"mine"}
    assert len(manifests(tmp_path / "data")) == 3


def test_log_that_changes_after_reading_is_not_imported(cluster: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    plan = plan_import(cluster, data, read_rules([PATTERN], None, []))
    (cluster / NAME.format(1)).write_text(log_of("sub", 88))

    with staging(data) as stage:
        problems = [write_run(cluster, data, stage, run, link=False) for run in plan.decisions.new]

    assert [str(problem) for problem in problems if problem] == [f"{NAME.format(1)}: the log was changed while it was read; import again"]
    assert len(manifests(data)) == 3


KILL_AT_EVERY_STEP = """
import os, pathlib, sys
import tacholog.commands.import_
import tacholog.commands._import_listing
from tacholog.cli import main
logs, data, pattern = sys.argv[1:]
steps = {"os.mkdir", "os.rename", "open", "os.utime", "shutil.rmtree", "os.link"}
def run(limit):
    left = limit
    def audit(event, details):
        nonlocal left
        if event in steps and any(str(detail).startswith(data) or "run" == str(detail) for detail in details[:1]):
            left -= 1
            if left < 0:
                os._exit(9)
    sys.addaudithook(audit)
    sys.stdout = sys.stderr = open(os.devnull, "w")
    try:
        main(["import", logs, "--to", data, "--map", pattern])
    except SystemExit as ended:
        os._exit(ended.code or 0)
    os._exit(0)
limit = 0
while True:
    pid = os.fork()
    if pid == 0:
        run(limit)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    root = pathlib.Path(data)
    for folder in {path.parent for path in root.rglob("*.log")}:
        if not any(part.startswith(".") for part in folder.relative_to(root).parts):
            names = sorted(path.name for path in folder.iterdir())
            assert names == ["rtiperftest-pub0.log", "rtiperftest-sub0.log", "run.toml"], (limit, names)
    if code == 0:
        break
    assert code == 9, code
    limit += 1
assert len(list(root.rglob("run.toml"))) == 4
assert not [path for path in root.rglob(".*")], list(root.rglob(".*"))
print(limit)
"""


def test_killed_import_leaves_only_complete_runs_and_the_next_import_cleans_up(cluster: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-c", KILL_AT_EVERY_STEP, str(cluster), str(tmp_path / "data"), PATTERN]
    done = subprocess.run(words, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10


FULL = """
import pathlib, subprocess, sys
from tacholog.cli import main
logs, small, pattern = sys.argv[1:]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48k", "tmpfs", small], check=True)
try:
    main(["import", logs, "--to", f"{small}/data", "--map", pattern])
except SystemExit as ended:
    print("exit", ended.code)
root = pathlib.Path(small) / "data"
print("hidden", [path.name for path in root.rglob(".*")])
print("whole", {len(list(path.parent.iterdir())) for path in root.rglob("*.log")})
subprocess.run(["mount", "-o", "remount,size=4m", small], check=True)
try:
    main(["import", logs, "--to", f"{small}/data", "--map", pattern])
except SystemExit as ended:
    print("exit", ended.code)
print("runs", len(list(root.rglob("run.toml"))))
"""


def test_full_disk_is_reported_in_one_line_and_the_next_import_continues(tree: MakeTree, tmp_path: Path) -> None:
    logs = tree({f"x/{number}/{side}.log": log_of(side, number) for number in range(10) for side in ("pub", "sub")})
    (tmp_path / "small").mkdir()
    words = [sys.executable, "-c", FULL, str(logs), str(tmp_path / "small"), "{label.x}/{repetition}/{role}.log"]
    done = subprocess.run(
        ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), *words], capture_output=True, text=True, check=False
    )

    told = [line for line in done.stdout.splitlines() if line.startswith(("exit ", "hidden ", "whole ", "runs 1"))]
    assert told == ["exit 2", "hidden []", "whole {3}", "exit 0", "runs 10"]
    assert "No space left on device; " in done.stderr
    assert " of 10 imported, each of them completely" in done.stderr
    assert len(done.stderr.splitlines()) == 1
