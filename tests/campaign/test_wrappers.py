"""The measured program of a command that starts with env, taskset, ip netns exec or a similar program."""

from __future__ import annotations

import hashlib
import shlex
import shutil
from pathlib import Path

import pytest
from tests.command import run_tacholog_text

from tacholog.campaign.programs import behind_wrappers
from tacholog.runs.manifest import read_manifest


@pytest.mark.parametrize(
    ("command", "program", "wrappers"),
    [
        ("perftest --test latency", "perftest", ()),
        ("/opt/tool/bin/ping -q", "/opt/tool/bin/ping", ()),
        ("env MODE=fast ./ping -q", "./ping", ("env",)),
        ("env -u perf tool", "tool", ("env",)),  # Here, perf is the name of a variable, although there is also a program perf.
        ("env -uperf -i A=b C= tool", "tool", ("env",)),
        ("env - PATH=/bin tool", "tool", ("env",)),
        ("env --unset perf --chdir=/tmp tool", "tool", ("env",)),
        ("taskset -c 0 tool", "tool", ("taskset",)),
        ("taskset -ac 0,1 tool -p", "tool", ("taskset",)),
        ("taskset 0x3 tool", "tool", ("taskset",)),
        ("ip netns exec b prog -c 1", "prog", ("ip",)),
        ("ip -n b netns exec time prog", "prog", ("ip",)),  # A namespace can have the name of a program.
        ("ip net e b prog", "prog", ("ip",)),
        ("ip -all netns exec prog", "prog", ("ip",)),
        ("ip vrf exec blue prog", "prog", ("ip",)),
        ("nice -n 5 prog", "prog", ("nice",)),
        ("nice -5 prog", "prog", ("nice",)),
        ("nice --adjustment 5 prog", "prog", ("nice",)),
        ("timeout 10 prog", "prog", ("timeout",)),
        ("timeout -k 1 -s KILL 10s prog", "prog", ("timeout",)),
        ("numactl --cpunodebind=0 prog", "prog", ("numactl",)),
        ("numactl --membind 0 -C 1 -- prog", "prog", ("numactl",)),
        ("chrt -f 50 prog", "prog", ("chrt",)),
        ("chrt --batch prog", "prog", ("chrt",)),
        ("setarch x86_64 -R prog", "prog", ("setarch",)),
        ("setarch -R prog", "prog", ("setarch",)),
        ("unshare -rn prog", "prog", ("unshare",)),
        ("nsenter -t 1 -n prog", "prog", ("nsenter",)),
        ("nsenter --net=/run/netns/a prog", "prog", ("nsenter",)),
        ("stdbuf -oL prog", "prog", ("stdbuf",)),
        ("strace -f -e trace=network -o out.txt prog", "prog", ("strace",)),
        ("perf stat -e cycles -- prog", "prog", ("perf",)),
        ("valgrind --tool=callgrind -v prog", "prog", ("valgrind",)),
        ("sudo -u bench HOME=/tmp prog", "prog", ("sudo",)),
        ("systemd-run --scope -p CPUQuota=50% prog", "prog", ("systemd-run",)),
        ("ip netns exec a taskset -c 1 env -u time nice prog 9", "prog", ("ip", "taskset", "env", "nice")),
    ],
)
def test_measured_program_is_found_behind_wrappers_such_as_env_and_taskset(command: str, program: str, wrappers: tuple[str, ...]) -> None:
    words = shlex.split(command)
    found = behind_wrappers(words)

    assert (words[found.position], found.wrappers, found.doubt) == (program, wrappers, None)


@pytest.mark.parametrize(
    ("command", "doubt"),
    [
        ("sh -c 'prog 1 | tee x'", "sh reads its commands from a text or a file"),
        ("env A=b bash run.sh", "bash reads its commands from a text or a file"),
        ("ssh host prog", "ssh starts a program elsewhere, so its file cannot be read"),
        ("env -S 'A=b prog'", "with -S, env runs no program that this command line names"),
        ("ip link show", "only 'ip netns exec' and 'ip vrf exec' run a program"),
        ("perf bench sched pipe", "only 'perf stat' and 'perf record' are known to run a program"),
        ("taskset --new-option 3 prog", "the option --new-option of taskset is not known here, so it may take a value or not"),
        ("taskset -p 1234", "with -p, taskset runs no program that this command line names"),
        ("timeout 10", "no program follows timeout and its options"),
        ("env A=b", "no program follows env and its options"),
        ("ip netns exec b", "no program follows ip and its options"),
    ],
)
def test_reason_is_given_if_the_measured_program_cannot_be_determined(command: str, doubt: str) -> None:
    found = behind_wrappers(shlex.split(command))

    assert (found.position, found.doubt) == (0, doubt)


def test_run_records_the_measured_program_of_its_command(tmp_path: Path) -> None:
    text = 'system = "S"\ntool = "seq"\nrepetitions = 1\n[[runs]]\nname = "s"\ncommand = ["env", "-u", "sort", "nice", "-n", "5", "seq", "3"]\n'
    (tmp_path / "small.toml").write_text(text)

    run_tacholog_text("bench", "--no-control", "small.toml", "--output", "out", cwd=tmp_path)

    (manifest,) = (read_manifest(path) for path in tmp_path.rglob("run.toml"))
    seq = Path(shutil.which("seq") or "")
    assert manifest.commands[0].program == "seq"
    assert manifest.environment["program_sha256"] == hashlib.sha256(seq.read_bytes()).hexdigest()


def test_run_notes_that_the_program_behind_a_shell_is_unknown(tmp_path: Path) -> None:
    text = 'system = "S"\ntool = "seq"\nrepetitions = 1\n[[runs]]\nname = "s"\ncommand = ["sh", "-c", "seq 3"]\n'
    (tmp_path / "small.toml").write_text(text)

    run_tacholog_text("bench", "--no-control", "small.toml", "--output", "out", cwd=tmp_path)

    (manifest,) = (read_manifest(path) for path in tmp_path.rglob("run.toml"))
    assert manifest.commands[0].program is None
    assert manifest.notes == (
        "The measured program is not known, because sh reads its commands from a text or a file. The recorded SHA-256 is that of sh.",
    )
