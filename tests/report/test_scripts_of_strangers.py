"""A script on a page is made from a manifest that may come from a stranger: an unknown program is marked."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tacholog.runs.manifest import Command, LogFile, Manifest, read_manifest
from tacholog.site.script import shell_script

LOGS = (LogFile(file="a.log", sha256="0" * 64),)


def script_of(*commands: Command) -> str:
    return shell_script(Manifest(system="S", commands=commands, logs=LOGS), "one", []) or ""


@pytest.mark.parametrize(
    ("argv", "what"),
    [
        (("curl", "https://evil.test"), "Tacholog does not know the program curl"),
        (("/opt/evil/x", "a"), "Tacholog does not know the program x"),
        (("perftest\u202e", "a"), "Tacholog does not know the program perftest"),
        (("perftest-evil", "a"), "Tacholog does not know the program perftest-evil"),
        (("taskset", "-c", "1", "rm", "-rf", "/"), "Tacholog does not know the program rm"),
        (("env", "LD_PRELOAD=x", "sh", "-c", "perftest"), "Tacholog does not know which program this runs: sh reads its commands"),
        (("sh", "-c", "perftest"), "Tacholog does not know which program this runs: sh reads its commands"),
        (("if", "perftest"), "Tacholog does not know the program if"),
        (("x\n; perftest", "a"), "Tacholog does not know the program x ; perftest"),
    ],
)
@pytest.mark.parametrize("several", [False, True])
def test_unknown_program_is_marked_above_its_line(argv: tuple[str, ...], what: str, *, several: bool) -> None:
    first = Command(role="pub", argv=argv, name="first", ends="itself") if several else Command(role="both", argv=argv)
    others = (Command(role="sub", argv=("perftest", "--x"), name="second", ends="itself"),) if several else ()

    script = script_of(first, *others)

    marked = [line for line in script.splitlines() if line.startswith("# CAUTION: ")]
    assert len(marked) == 1
    assert marked[0].startswith(f"# CAUTION: {what}")
    assert marked[0].endswith("Read the whole command before you run it.")
    after = script.splitlines()[script.splitlines().index(marked[0]) + 1]
    assert argv[0].split("\n")[0] in after
    assert subprocess.run(["sh", "-n"], input=script.encode(), check=False).returncode == 0


@pytest.mark.parametrize(
    "argv",
    [
        ("perftest", "--test", "latency"),
        ("taskset", "-c", "1", "perftest_cpp", "-pub"),
        ("env", "A=1", "iperf3", "--client", "b"),
        *(("sockperf", "server"), ("qperf",), ("ddsperf", "sub"), ("ecal_sample_latency_snd", "-r", "1"), ("ThroughputTest", "publisher")),
    ],
)
def test_known_program_is_not_marked_even_behind_a_wrapper(argv: tuple[str, ...]) -> None:
    assert "CAUTION" not in script_of(Command(role="both", argv=argv))


def test_script_of_a_run_in_this_project_is_marked_only_if_it_runs_java(checkout: Path) -> None:
    for path in sorted((checkout / "data").glob("**/run.toml")):
        script = shell_script(read_manifest(path), "run", []) or ""
        assert ("CAUTION" in script) == ("\njava " in script), path
