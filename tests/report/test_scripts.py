"""A page offers a script that measures its results again. The tests run these scripts with a shorter duration."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from tests.depth import NIGHTLY, tries
from tests.waiting import LIMIT_S

from tacholog.formats.reading import read
from tacholog.runs.manifest import Command, LogFile, Manifest, read_manifest
from tacholog.schema.records import Record
from tacholog.site.script import shell_script

DATA = Path(__file__).parent.parent.parent / "data"
SHORT_S = "0.02"


def own_runs() -> dict[Path, Manifest]:
    runs = {path: read_manifest(path) for path in sorted(DATA.glob("**/run.toml"))}
    return {path: manifest for path, manifest in runs.items() if not manifest.published and manifest.tool == "perftest"}


def own_scripts() -> dict[str, Path]:
    """Each script of an own run, with the first run that has it. Scripts that differ only in numbers, such as the order of sizes, count as one."""
    found: dict[str, Path] = {}
    for path, manifest in own_runs().items():
        found.setdefault(re.sub(r"\d[\d.]*", "N", body(manifest, "")), path)
    return found


def body(manifest: Manifest, run: str) -> str:
    """Return the commands of a script, which follow ``set -eu``.

    No list of sizes is given to `shell_script`, because the commands of perftest state their sizes.
    """
    return (shell_script(manifest, run, []) or "").partition("set -eu")[2]


def results(log: Path) -> set[tuple[str, int | None, str | None]]:
    """The tests, sizes and transports of the results in a log."""
    conditions = read(log).account.facts.conditions
    return {
        (event.what.test, event.what.payload_bytes, event.what.conditions.over(conditions).transport)
        for event in read(log).events
        if isinstance(event.what, Record) and event.what.scope == "summary"
    }


def test_each_run_that_our_own_tool_measured_has_a_script() -> None:
    assert own_scripts()
    assert "" not in own_scripts()


def test_script_of_an_own_run_measures_what_the_log_of_this_run_contains() -> None:
    runs = own_runs()
    for path in tries([*own_scripts().values()], [*runs]):
        manifest = runs[path]
        script = shell_script(manifest, path.parent.name, []) or ""
        (test,), (transport,), (sizes,) = (set(re.findall(rf"--{option} (\S+)", script)) for option in ("test", "transport", "sizes"))
        asked = {(test, int(payload_bytes), transport) for payload_bytes in sizes.split(",")}

        assert results(path.parent / manifest.logs[0].file) == asked, path
    assert len(runs) > 700


def of_own_transports() -> list[Path]:
    """Return the runs whose scripts work with any build of perftest.

    Runs of middleware are left out, because a build may lack its libraries. The nightly tests use all of these scripts. Other tests use a script only
    if it has an option or a value that no earlier script has.
    """
    paths = [path for path in own_scripts().values() if not {"middleware", "brokers"} & {*path.parts}]
    words = [{*re.findall(r"--\S+ [a-z+-]+|--\S+", body(read_manifest(path), ""))} for path in paths]
    return [path for place, path in enumerate(paths) if NIGHTLY or words[place] - set().union(*words[:place])]


@pytest.mark.core
@pytest.mark.parametrize("path", of_own_transports(), ids=lambda path: path.parent.relative_to(DATA).as_posix())
def test_script_of_an_own_run_measures_the_same_results(path: Path, perftest: Path, tmp_path: Path) -> None:
    manifest = read_manifest(path)
    script = shell_script(manifest, path.parent.name, [])
    assert script
    (tmp_path / "again.sh").write_text(re.sub(r"--warmup \S+", f"--warmup {SHORT_S}", script))
    environment = os.environ | {"PATH": f"{perftest.parent}{os.pathsep}{os.environ['PATH']}", "DURATION_S": SHORT_S}

    with (tmp_path / "again.log").open("wb") as log:
        done = subprocess.run(["sh", "again.sh"], cwd=tmp_path, env=environment, stdout=log, check=False, timeout=LIMIT_S)

    account = read(tmp_path / "again.log").account
    may_lose = any(word in script for word in ("--transport udp ", "--transport udp-multicast "))
    if may_lose and done.returncode:  # A busy machine can lose messages in such a short run.
        assert re.search(r": none of \d+ messages (arrived|was answered)$", account.reason or "")
    else:
        assert (done.returncode, account.status) == (0, "ok")
    assert results(tmp_path / "again.log") == results(path.parent / manifest.logs[0].file)


def ran(folder: Path, *commands: Command) -> subprocess.CompletedProcess[str]:
    """Run the shell script that Tacholog makes for these commands, and return the finished process.

    The PATH contains programs with odd names. Each of these programs prints its own name and its arguments.
    """
    for name in ("if", "done", "a=b", "a=64"):
        (folder / name).write_text('#!/bin/sh\nprintf "<%s>" "${0##*/}" "$@"\n')
        (folder / name).chmod(0o755)
    script = shell_script(Manifest(system="S", commands=commands, logs=(LogFile(file="a.log", sha256="0" * 64),)), "one", [])
    assert script is not None
    environment = os.environ | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "LOGS": str(folder / "logs")}
    (folder / "logs").mkdir()
    return subprocess.run(["sh", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["if", "done", "a=b"])
def test_program_with_the_name_of_a_shell_keyword_is_run(name: str, tmp_path: Path) -> None:
    done = ran(tmp_path, Command(role="x", argv=(name, "$(touch here)", "\n")))

    assert (done.returncode, done.stdout, done.stderr) == (0, f"<{name}><$(touch here)><\n>", "")
    assert not (tmp_path / "here").exists()


def test_placeholder_for_the_size_becomes_32_if_no_size_is_stated(tmp_path: Path) -> None:
    done = ran(tmp_path, Command(role="x", argv=("echo", "{payload_bytes}")))

    assert (done.returncode, done.stdout, done.stderr) == (0, "32\n", "")


def test_log_stays_in_the_log_folder_if_the_name_of_its_process_is_a_path(tmp_path: Path) -> None:
    ran(tmp_path, Command(role="x", name="../out", argv=("echo", "1")), Command(role="x", name="b", argv=("if", "2")))

    assert sorted(path.name for path in (tmp_path / "logs").iterdir()) == ["..-out.log", "..-out.stderr.txt", "b.log", "b.stderr.txt"]
    assert (tmp_path / "logs" / "b.log").read_text() == "<if><2>"
