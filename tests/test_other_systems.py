"""Logs are read and runs are compared on Windows and macOS too.

The tests hide the modules, flags and signals that only POSIX has, and use paths of Windows.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.waiting import LIMIT_S

from tacholog import evidence
from tacholog.cli import tacholog
from tacholog.errors import TachologError, UnreadableInput
from tacholog.evidence import open_evidence, read_evidence

ONLY_POSIX = ("fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty")
#: A program with the same arguments as `tacholog`. Our package cannot use the modules, functions, flags and signals that only POSIX has.
LIKE_WINDOWS = f"""
import builtins, importlib.util, multiprocessing, os, signal, sys
os.supports_dir_fd.clear()
for name in ("O_CLOEXEC", "O_DIRECTORY", "O_NOCTTY", "O_NOFOLLOW", "O_NONBLOCK", "geteuid", "getuid", "sched_getaffinity", "statvfs"):
    delattr(os, name)
for name in ("SIGHUP", "SIGALRM", "alarm"):
    delattr(signal, name)
multiprocessing.get_all_start_methods = lambda: ["spawn"]
find_spec, imported = importlib.util.find_spec, builtins.__import__

def guarded(name, globals=None, *words, **keywords):
    importer = (globals or {{}}).get("__name__", "")
    if name.partition(".")[0] in {ONLY_POSIX} and importer.startswith("tacholog"):
        raise ModuleNotFoundError(f"{{importer}} imports {{name}}, which only POSIX has", name=name)
    return imported(name, globals, *words, **keywords)

importlib.util.find_spec = lambda name, *words: None if name in {ONLY_POSIX} else find_spec(name, *words)
builtins.__import__ = guarded
from tacholog.cli import main
main()
"""


def run(folder: Path, *command: str) -> tuple[int, str, str, list[str]]:
    """Python runs in a new folder with a new cache. Return the exit code, the output without the path of the folder, and the names of the files."""
    folder.mkdir()
    environment = os.environ | {"XDG_CACHE_HOME": str(folder / ".cache")}
    done = subprocess.run([sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    out, err = (text.replace(str(folder), "FOLDER") for text in (done.stdout, done.stderr))
    return done.returncode, out, err, sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    "words",
    [
        ("parse", "{data}"),
        ("import", "{data}", "--to", "new", "--map", "{{label.test}}/{{label.name}}.log"),
        ("check", "{data}"),
        ("diff", "{data}/latency-udp", "{data}/throughput-udp"),
        ("export", "{data}"),
        ("export", "{data}", "--output", "numbers.csv"),
        ("verify", "{data}"),
        pytest.param(("report", "{data}", "--output", "site"), marks=pytest.mark.site),
    ],
    ids=" ".join,
)
def test_command_gives_the_same_result_without_the_modules_and_functions_that_only_posix_has(
    words: tuple[str, ...], checkout: Path, tmp_path: Path
) -> None:
    words = tuple(word.format(data=checkout / "docs/example/data") for word in words)

    usual = run(tmp_path / "usual", "-m", "tacholog", *words)

    assert run(tmp_path / "like-windows", "-c", LIKE_WINDOWS, *words) == usual


@pytest.mark.parametrize("command", ["bench", "ab", "noise", "host", "publish"])
def test_command_that_needs_linux_states_this_on_other_systems(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")

    done = CliRunner().invoke(tacholog, [command, "some", "words"])

    assert isinstance(done.exception, TachologError)
    assert str(done.exception) == f"tacholog {command} needs Linux, and this system is darwin; logs and runs can be read here"


@pytest.mark.parametrize("name", ["..\\run.toml", "folder\\some.log", "C:some.log", "some.log:hidden"])
def test_name_that_is_a_path_to_another_folder_on_windows_is_refused_on_windows(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / name).write_text("content")
    assert read_evidence(tmp_path, name) == b"content"

    monkeypatch.setattr(evidence, "_NOT_IN_NAMES", "\x00\\:")

    with pytest.raises(UnreadableInput, match="is not the name of a file in this folder"):
        read_evidence(tmp_path, name)


@pytest.fixture
def without_open_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate Windows, which cannot look up a name in an open folder."""
    monkeypatch.setattr(evidence, "_HAS_OPEN_FOLDERS", False)


@pytest.mark.usefixtures("without_open_folders")
def test_file_is_opened_by_its_path_on_windows(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/some.log").write_bytes(b"a\r\n")

    with open_evidence(tmp_path, "folder/some.log") as stream:
        assert stream.read() == b"a\r\n"


@pytest.mark.usefixtures("without_open_folders")
@pytest.mark.parametrize("name", ["link/some.log", "link.log", "../outside/some.log"])
def test_link_or_path_to_another_folder_is_refused_on_windows(name: str, tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    folder.mkdir()
    (outside / "some.log").write_text("content")
    (folder / "link").symlink_to(outside)
    (folder / "link.log").symlink_to(outside / "some.log")

    with pytest.raises(UnreadableInput, match=r"a link|not the name of a file"):
        open_evidence(folder, name)


def test_run_that_was_written_on_windows_is_read(checkout: Path, tmp_path: Path) -> None:
    windows = tmp_path / "windows"
    windows.mkdir()
    (log,) = (checkout / "docs/example/data/latency-udp").glob("*.log")
    text = log.read_bytes()
    content = text.replace(b"\n", b"\r\n")
    (windows / log.name).write_bytes(content)
    manifest = (log.parent / "run.toml").read_bytes().replace(hashlib.sha256(text).hexdigest().encode(), hashlib.sha256(content).hexdigest().encode())
    (windows / "run.toml").write_bytes(manifest.replace(b"\n", b"\r\n"))

    there, here = (run(tmp_path / name, "-m", "tacholog", "export", str(folder)) for name, folder in (("there", windows), ("here", log.parent)))

    assert there[:3:2] == (0, "")
    assert without_ids(there[1]) == without_ids(here[1])


def without_ids(table: str) -> list[str]:
    """Return the rows of a table without the ids, because the ids depend on the bytes of the logs."""
    return [row.rpartition(",")[0] for row in table.splitlines()]
