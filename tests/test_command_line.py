"""The command line as a whole."""

from __future__ import annotations

import bz2
import hashlib
import importlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.command import run_tacholog_text
from tests.long_logs import LONG_LOGS

from tacholog import cli
from tacholog.commands.shared.output import whole_file
from tacholog.formats.registry import formats
from tacholog.runs.manifest import LogFile, Manifest, write

ENDS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
EXAMPLE = Path(__file__).parent.parent / "docs" / "example" / "data"


def test_help_lists_each_command_with_the_first_line_of_its_own_help() -> None:
    for name, words in cli.COMMANDS.items():
        module = importlib.import_module(f"tacholog.commands.{cli.module_name(name)}")
        assert (module.__doc__ or "").split("\n")[0] == words


@pytest.mark.parametrize(("typed", "said"), [("prse", "No such command 'prse'. Did you mean 'parse'?\n"), ("xyzzy", "No such command 'xyzzy'.\n")])
def test_unknown_command_is_refused_with_the_most_similar_command(typed: str, said: str) -> None:
    done = run_tacholog_text(typed, "a.log")

    assert done.returncode == 2
    assert done.stderr.endswith(f"Error: {said}")


def test_help_imports_no_command_and_no_pandas() -> None:
    script = "import sys; from tacholog.cli import main\ntry: main(['--help'])\nexcept SystemExit: print(*sys.modules, file=sys.stderr)"

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert "Print the records in raw logs." in done.stdout
    assert not {"pandas", "numpy", "msgspec", "tacholog.commands.parse", "rich"} & set(done.stderr.split())


@pytest.mark.parametrize(("command", "given", "threads"), [("diff", None, "1"), ("diff", "3", "3"), ("bench", None, "None")])
def test_command_that_calculates_uses_one_thread_unless_the_environment_states_a_number(command: str, given: str | None, threads: str) -> None:
    script = f"import os, sys; from tacholog.cli import main\ntry: main([{command!r}, '--help'])\n"
    script += "except SystemExit: print(os.environ.get('OPENBLAS_NUM_THREADS'), file=sys.stderr)"
    others = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    environment = others | ({"OPENBLAS_NUM_THREADS": given} if given else {})

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)

    assert done.stderr.strip() == threads


@pytest.mark.parametrize("module", ["def (", "raise ValueError('no licence')", "import nothing_here", "SYSTEM = 'half a format'"])
def test_plugin_that_cannot_be_imported_affects_only_its_own_format(tmp_path: Path, module: str) -> None:
    (tmp_path / "somebodys.py").write_text(module)
    info = tmp_path / "somebodys-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: somebodys\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[tacholog.formats]\nsomebodys = somebodys\n")

    done = subprocess.run(
        [sys.executable, "-m", "tacholog", "formats"], capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(tmp_path)}
    )

    assert done.returncode == 0, done.stderr
    assert "cannot be loaded" in done.stdout or "is no format: it lacks TOOL" in done.stdout
    assert "sockperf" in done.stdout


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (bytes(range(256)) * 400, "binary data, not the text of a log"),
        (bz2.compress(b"Length: 32"), "packed by bzip2, which is not read"),
        (bytes(5000), "binary data, not the text of a log"),
    ],
    ids=["every byte", "bzip2", "NULs"],
)
def test_binary_file_is_refused_with_a_short_message(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "some.log"
    path.write_bytes(data)

    done = subprocess.run([sys.executable, "-m", "tacholog", "parse", str(path)], capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr) < 300


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "hello world\n",
            f"no format fits: none of the {len(formats())} is similar ('tacholog formats' lists them; 'tacholog scaffold NAME' begins a new one)",
        ),
        (
            "Client of iperf 2.1, TCP port 5001\n",
            f"no format fits: none of the {len(formats())} is similar ('tacholog formats' lists them; 'tacholog scaffold NAME' begins a new one)",
        ),
        ("[ ID] Interval       Transfer     Bandwidth\n", "no format fits: iperf3 wants '[ ID] Interval "),
        ("[ ID] Interval       Transfer     Bandwidth\n", " (the log has 'Interval       Transfer')\n"),
    ],
    ids=["nothing", "a name", "words in a row", "why"],
)
def test_message_for_text_of_no_format_names_only_the_most_similar_formats(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "some.log"
    path.write_text(text)

    done = subprocess.run([sys.executable, "-m", "tacholog", "parse", str(path)], capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert words in done.stderr
    assert "rti wants" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["report", "--cluster", "", "data"], "--cluster"),
        (["report", "--cluster=", "data"], "--cluster"),
        (["report", ""], "[DIR]..."),
        (["report", "data", "--data", ""], "--data"),
        (["export", "--output", "", "--data", "data"], "--output"),
        (["check", "data", "--cluster", ""], "--cluster"),
        (["diff", "1", "2", "--transport", "udp", "--transport", ""], "--transport"),
        (["diff", "1", ""], "[NEW]"),
        (["require", "runs", "--release", ""], "--release"),
    ],
)
def test_empty_option_or_argument_is_refused_and_not_treated_as_missing(arguments: list[str], name: str) -> None:
    done = run_tacholog_text(*arguments)

    assert done.returncode == 2
    assert f"Invalid value for '{name}': it is empty" in done.stderr


def test_arguments_for_another_program_can_be_empty(tmp_path: Path) -> None:
    done = run_tacholog_text("sustain", "--keep", str(tmp_path), "--rate-range", "10,20", "--", "/bin/false", "", "{rate}")

    assert "it is empty" not in done.stderr


def interrupted(where: str, number: signal.Signals, arguments: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run tacholog with these arguments in a new process, and return the ended process.

    The process gets the signal ``number`` when it calls a certain function. The parameter ``where`` is the name of this function.
    """
    module, _, name = where.rpartition(".")
    script = f"""
import os, {module.partition(":")[0]}
owner = {module.replace(":", ".")}
real = owner.{name}
def at_that_moment(*args, **named):
    os.kill(os.getpid(), {int(number)})
    return real(*args, **named)
owner.{name} = at_that_moment
from tacholog.cli import main
main({arguments!r})
"""
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=cwd)


@pytest.mark.parametrize(("number", "code"), ENDS)
def test_interrupted_export_leaves_no_partial_file(tmp_path: Path, number: signal.Signals, code: int) -> None:
    done = interrupted("tacholog.store.results:StoredNumbers.write", number, ["export", "--data", str(EXAMPLE), "--output", "all.csv"], tmp_path)

    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert not [*tmp_path.iterdir()]


def test_export_with_a_closed_terminal_leaves_no_partial_file(tmp_path: Path) -> None:
    at_work = tmp_path / "at work"
    command = f"""
import pathlib, time
from tacholog.store.results import StoredNumbers
def begun(*arguments):
    pathlib.Path({str(at_work)!r}).touch()
    time.sleep(300)
StoredNumbers.write = begun
from tacholog.cli import main
main(["export", "--data", {str(EXAMPLE)!r}, "--output", "all.csv"])
"""
    script = f"""
import os, pathlib, pty, sys, time
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.executable, [sys.executable, "-c", {command!r}])
while not pathlib.Path({str(at_work)!r}).exists() and not os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
    time.sleep(0.01)
os.close(terminal)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path)

    assert done.returncode == 129, done.stderr
    assert [*tmp_path.iterdir()] == [at_work]


def test_command_without_enough_memory_reports_this_and_leaves_no_partial_file(tmp_path: Path) -> None:
    log = LONG_LOGS["RTI summaries"].text(200_000)  # A long log: memory must run out while it is read, before DuckDB starts its threads.
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "sub.log").write_text(log)
    entry = LogFile(file="sub.log", sha256=hashlib.sha256(log.encode()).hexdigest())
    write(tmp_path / "data" / "run.toml", Manifest(system="rti", logs=(entry,)))
    script = f"""
import resource, pathlib, pandas, duckdb, tacholog.commands.export, tacholog.store.results, tacholog.store.load, tacholog.store.logs
from tacholog.cli import main
pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 80_000_000, resource.RLIM_INFINITY))
main(["export", "--data", {str(tmp_path / "data")!r}, "--output", {str(tmp_path / "out" / "all.csv")!r}, "--jobs", "1"])
"""

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (2, "tacholog: there is not enough memory for this\n"), done.stderr
    assert not [*(tmp_path / "out").iterdir()]


def test_two_exports_at_the_same_time_do_not_write_into_one_file(tmp_path: Path) -> None:
    path = tmp_path / "all.csv"

    with whole_file(path) as stream:  # This open file stands for another process that is writing the file.
        stream.write(b"of the first")
        second = run_tacholog_text("export", "--data", EXAMPLE, "--output", path)
        stream.write(b", whole")

    assert second.returncode == 2
    assert second.stderr == f"tacholog: {path}: another process is writing this file; wait until it has finished\n"
    assert path.read_bytes() == b"of the first, whole"
    assert [*tmp_path.iterdir()] == [path]


def test_temporary_file_of_a_killed_export_is_replaced(tmp_path: Path) -> None:
    (tmp_path / ".all.csv.part").write_bytes(b"half" * 1_000_000)

    done = run_tacholog_text("export", "--data", EXAMPLE, "--output", tmp_path / "all.csv")

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "all.csv").read_bytes() == run_tacholog_text("export", "--data", EXAMPLE, "--format", "csv").stdout.encode()
    assert [*tmp_path.iterdir()] == [tmp_path / "all.csv"]


@pytest.mark.parametrize(("number", "code"), ENDS)
def test_report_interrupted_in_sphinx_reports_the_interruption(tmp_path: Path, number: signal.Signals, code: int) -> None:
    done = interrupted("sphinx.application:Sphinx.build", number, ["report", str(EXAMPLE), "--output", "site"], tmp_path)

    assert done.returncode == code
    assert "Sphinx found problems" not in done.stderr
    assert "Traceback" not in done.stderr
    assert f"{tmp_path / 'site'} is not finished: run the same command again" in done.stderr


@pytest.mark.parametrize("name", ["complaints.json"])
def test_folder_in_place_of_a_file_of_the_report_is_named_with_advice(tmp_path: Path, name: str) -> None:
    place = tmp_path / ".site-build" / name
    (place / "of somebody else").mkdir(parents=True)

    done = run_tacholog_text("report", EXAMPLE, "--output", tmp_path / "site")

    assert done.returncode == 2
    assert f"tacholog: {place}: Is a directory. This must be a file, so move the directory away\n" in done.stderr
