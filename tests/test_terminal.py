"""No command lets a terminal execute text from outside. The text is shown, on standard output and on standard error."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tacholog.cli import main
from tacholog.runs.manifest import LogFile, Manifest, write
from tacholog.schema.conditions import StatedConditions

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "docs/example/data"
LOG = EXAMPLES / "latency-udp/perftest.log"
LOGS = LOG, EXAMPLES / "throughput-udp/perftest.log"
# Sets the title of a window, rings the bell, returns to the start of the line, starts a sequence with a C1 character, and reverses the line.
NAME = "a\x1b]0;PWNED\x07b\rc\x9b31md\u202ee"
OBEYED = ("\x1b", "\x07", "\r", "\x9b", "\u202e")
DRAWN = "a\u241b]0;PWNED\u2407b\u240dc\\u{9b}31md\\u{202e}e"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Runs that contain `NAME` in many places: folder, log, system, release, host and reason. One run has failed, and one log is unreadable."""
    text = LOG.read_bytes() + f"{NAME}\n".encode()
    for release in ("1", "2", "failed"):
        folder = tmp_path / "runs" / f"{NAME} {release}"
        folder.mkdir(parents=True)
        (folder / "a.log").write_bytes(text)
        log = LogFile(file="a.log", sha256=hashlib.sha256(text if release != "1" else b"").hexdigest())
        reason = f"{NAME}\nall is well" if release == "failed" else None
        said = Manifest(system=NAME, release=f"{NAME}{release}", host=NAME, reason=reason, conditions=StatedConditions(transport=NAME), logs=(log,))
        write(folder / "run.toml", msgspec.structs.replace(said, status="failed" if reason else "ok"))
    (tmp_path / "runs" / f"{NAME}.txt").write_text(f"{NAME}\n")
    return tmp_path / "runs"


def commands(runs: Path) -> dict[str, list[str]]:
    """Return one call of each command that prints values from the runs or from its arguments."""
    folder, log = str(runs), str(runs / f"{NAME} 1" / "a.log")
    return {
        "parse": ["parse", folder],
        "parse --explain": ["parse", "--explain", folder],
        "parse --summary": ["parse", "--summary", folder],
        "parse --format jsonl": ["parse", "--format", "jsonl", log],
        "check": ["check", folder],
        "report": ["report", "--data", folder, "--output", str(runs.parent / f"{NAME} site")],
        "export": ["export", "--data", folder, "--format", "hdr", "--output", str(runs.parent / f"{NAME} hdr")],
        "diff": ["diff", f"{NAME}1", f"{NAME}2", "--data", folder],
        "diff --format markdown": ["diff", f"{NAME}1", f"{NAME}2", "--data", folder, "--format", "markdown"],
        "publish": ["publish", f"{folder}/{NAME}", "--release", NAME, "--output", f"{folder}/{NAME} public"],
        "bench": ["bench", f"{folder}/{NAME}.toml"],
        "ab": ["ab", NAME, NAME, f"{folder}/{NAME}.toml"],
        "scaffold": ["scaffold", NAME],
        "formats": ["formats", NAME],
        "host": ["host", "--id", f"{NAME}/"],
        "an unknown command": [NAME],
        "an unknown option": ["check", f"--{NAME}"],
    }


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("command", commands(Path()))
def test_no_command_lets_a_name_control_the_terminal(
    command: str, runs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TACHOLOG_PLOTLY", "full")
    with pytest.raises(SystemExit):
        main(commands(runs)[command])

    said = "".join(capsys.readouterr())

    assert [sign for sign in OBEYED if sign in said] == []
    if "jsonl" in command:
        assert json.loads(said.splitlines()[0])["system"] == NAME
    elif command != "report":  # The pages of the command report contain the names, but the command prints only paths.
        assert DRAWN.replace("\\u", "\\\\u") in said.replace("\\u", "\\\\u") or "a\\x1b]0;PWNED" in said, said


def test_line_end_in_a_name_starts_no_new_line(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["check", str(runs)])

    assert f"failed: failed: {DRAWN}\u240aall is well\n" in capsys.readouterr().out


def test_data_for_programs_is_printed_unchanged_if_the_output_is_not_a_terminal(runs: Path) -> None:
    call = [sys.executable, "-m", "tacholog", "parse", "--format", "csv", str(runs / f"{NAME} 1" / "a.log")]

    done = subprocess.run(call, capture_output=True, check=True, env={**os.environ, "PYTHONIOENCODING": "ascii"})

    assert f"{runs}/{NAME} 1/a.log".encode() in done.stdout.replace(b'"', b"")
    assert not [sign for sign in OBEYED if sign in done.stderr.decode()]


def test_terminal_that_shows_only_ascii_is_not_controlled_by_a_name(runs: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tacholog", "check", str(runs)],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )

    assert done.returncode == 1
    assert b"PWNED" in done.stdout
    assert b"\x1b" not in done.stdout + done.stderr


class Terminal(io.TextIOWrapper):
    """A terminal that stores its input."""

    def __init__(self) -> None:
        self.kept = io.BytesIO()
        super().__init__(self.kept, encoding="utf-8")

    def isatty(self) -> bool:
        return True

    def sent(self) -> str:
        self.flush()
        return self.kept.getvalue().decode()


@pytest.mark.parametrize("form", ["csv", "table"])
def test_control_characters_in_data_are_shown_as_text_and_only_our_own_style_is_executed(
    runs: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)

    with pytest.raises(SystemExit):
        main(["parse", "--format", form, str(runs / f"{NAME} 1" / "a.log")])

    said = terminal.sent().replace("\x1b[1m", "").replace("\x1b[2m", "").replace("\x1b[0m", "")
    assert ("\x1b[1m" in terminal.sent()) == (form == "table")
    assert DRAWN in said
    assert [sign for sign in OBEYED if sign in said] == []


def test_no_value_of_a_log_controls_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The values are control characters and escapes of the native log. Commands print them in reports, and as data for programs."""
    escaped = "".join("".join(f"\\x{byte:02X}" for byte in letter.encode()) if letter in OBEYED else letter for letter in NAME)
    for release, value in (("1", NAME.replace("\r", "")), ("2", escaped)):
        folder = tmp_path / release
        folder.mkdir()
        text = LOG.read_text().replace("transport=udp", f'transport="{value}"').replace(" kernel=", f' banana="{value}" kernel=')
        text = text.replace("start time=", f'settings key="{value}"\nerror text="{value}"\nlatency payload_bytes="{value}"\nstart time=')
        (folder / "a.log").write_text(text)
        log = LogFile(file="a.log", sha256=hashlib.sha256(text.encode()).hexdigest())
        write(folder / "run.toml", Manifest(system="s", release=release, host="h", status="ok", logs=(log,)))
    data = ["--data", str(tmp_path)]
    calls = [["parse", "--format", "csv", str(tmp_path)], ["parse", "--explain", str(tmp_path)], ["check", str(tmp_path)], ["export", *data]]
    calls += [["diff", "1", "2", *data, "--format", form] for form in ("text", "json")]
    said = ""
    for call in calls:
        terminal = Terminal()
        monkeypatch.setattr(sys, "stdout", terminal)
        with pytest.raises(SystemExit):
            main(call)
        said += terminal.sent().replace("\x1b[1m", "").replace("\x1b[2m", "").replace("\x1b[0m", "") + capsys.readouterr().err

    assert [sign for sign in OBEYED if sign in said] == []
    assert "c\\u{9b}31md\\u{202e}e" in said
    assert r"a\x1B]0;PWNED\x07b\x0Dc\xC2\x9B31md\xE2\x80\xAEe" in said


def test_no_output_bypasses_the_guard_of_the_terminal() -> None:
    """List the outputs that use neither click nor `tacholog.terminal`: there must be none."""
    found = [
        f"{path.name}:{node.lineno}"
        for path in sorted((ROOT / "parsers/tacholog").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if path.name != "terminal.py"
        and isinstance(node, ast.Attribute)
        and (ast.unparse(node) in ("sys.__stdout__", "sys.__stderr__", "sys.stdout.buffer", "sys.stderr.buffer", "click.secho", "click.style"))
    ]

    assert found == []


def on_a_terminal(*arguments: str | Path, **variables: str) -> tuple[int, str]:
    """Return the exit code, and the text sent to the terminal."""
    terminal, stream = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", **variables}
    command = [sys.executable, "-m", "tacholog", *map(str, arguments)]
    with subprocess.Popen(command, stdin=stream, stdout=stream, stderr=stream, env=environment) as process:
        os.close(stream)
        sent = bytearray()
        with contextlib.suppress(OSError):  # A terminal whose other end was closed ends with an error.
            while part := os.read(terminal, 65536):
                sent += part
    os.close(terminal)
    return process.returncode, sent.decode()


def as_left(sent: str) -> list[str]:
    return [line.rpartition("\r\x1b[K")[2] for line in sent.replace("\r\n", "\n").split("\n")]


@pytest.mark.site
def test_report_shows_its_steps_on_a_terminal_and_only_the_result_remains_at_the_end(tmp_path: Path) -> None:
    code, sent = on_a_terminal("report", EXAMPLES, "--output", tmp_path / "site")

    assert code == 0
    steps = [f"\r\x1b[K{words}" for words in ("looking for runs", "reading: ", "writing the files for download", "page 1 of ", "log 1 of ")]
    assert [step for step in steps if step not in sent] == []
    assert [line.partition(" ")[0] for line in as_left(sent)] == ["results", "The", "Open", ""]


@pytest.mark.parametrize(("options", "variables"), [(["--quiet"], {}), ([], {"TERM": "dumb"})])
def test_progress_is_not_drawn_if_an_option_forbids_it_or_the_terminal_cannot_move_its_cursor(options: list[str], variables: dict[str, str]) -> None:
    for command in (["check", EXAMPLES], ["formats", "native"], ["parse", "--summary", EXAMPLES], ["diff", *LOGS]):
        code, sent = on_a_terminal(*command, *options, **variables)

        assert code in (0, 4)
        assert sent.count("\x1b") == (2 if command[0] == "formats" and not variables else 0)  # These two escapes start and end the bold title.


def test_progress_is_not_printed_without_a_terminal(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tacholog", "export", str(EXAMPLES), "--output", str(tmp_path / "all.csv")], capture_output=True, text=True, check=True
    )

    assert (done.stdout, done.stderr) == ("", "")
