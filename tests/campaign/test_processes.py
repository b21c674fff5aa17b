"""Runs of several processes, with real programs: the files of a run, failures and their reasons, and no remaining process."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.command import CLOCK_FILE, run_tacholog_text
from tests.left_out import leave_out
from tests.waiting import LIMIT_S, gone, until

from tacholog.campaign.machines.local import LocalMachine
from tacholog.campaign.machines.machine import HostEntry, Job
from tacholog.privacy.redact import redacted
from tacholog.privacy.settings import Privacy
from tacholog.runs.manifest import LogFile, Manifest, read_manifest, write
from tacholog.site.script import shell_script
from tacholog.store.load import load

HEAD = 'system = "pipes"\ntool = "sh"\nrepetitions = 1\n'
# A server that prints that it listens, and ends only when it is stopped.
SERVER = 'sh -c "echo listening; exec sleep 300"'
# Shell commands that advance the clock of the harness by 1000 seconds. They start in the folder of the run, out/small-*/only/01.
LATER = "echo 1000 > ../../../../clock"
# A server that never becomes ready, and prints one more line when it is stopped.
LOADS = f"sh -c \"trap 'echo terminated; exit 1' TERM; echo loading; {LATER}; sleep 300 & wait\""
# A server that never ends. It advances the clock only after the launcher of the client has ended. So the harness notices the end of the client before
# the deadline passes.
GOES_ON = f'''sh -c "echo listening; until test -s client; do sleep 0.05; done
until grep -qs ') Z ' /proc/$(cat client)/stat || ! test -e /proc/$(cat client); do sleep 0.05; done; {LATER}; exec sleep 300"'''
CLIENT = "echo done"
LAUNCHED = 'sh -c "echo done; echo $PPID > client"'
FORMATS = Path(__file__).parent.parent / "formats"
# A network in which no other process uses a port.
OWN_NETWORK = ("unshare", *(("--user", "--map-root-user") if os.geteuid() else ()), "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")


def process(name: str, command: str, *more: str) -> str:
    return "\n".join(["[[runs.processes]]", f'name = "{name}"', f'role = "{name}"', f"command = {shlex.split(command)}", *more, ""])


def server(command: str = SERVER, *more: str) -> str:
    return process("server", command, 'ready = { output = "listening" }', 'ends = "stopped"', "results = false", *more)


def campaign(folder: Path, *processes: str, block: str = f"deadline_s = {LIMIT_S - 100}", head: str = "") -> Path:
    path = folder / "small.toml"
    path.write_text(f'{HEAD}{head}\n[[runs]]\nname = "only"\n{block}\n' + "\n".join(processes))
    return path


def bench(path: Path) -> subprocess.CompletedProcess[str]:
    return run_tacholog_text("bench", "--no-control", path, "--output", "out", cwd=path.parent)


def bench_by_hand(path: Path) -> Manifest:
    """Run a campaign, and return the manifest of its run.

    The clock of the campaign advances only if a process of the run writes to the file ``clock``.
    """
    run_tacholog_text("bench", "--no-control", path, "--output", "out", cwd=path.parent, environment={CLOCK_FILE: str(path.parent / "clock")})
    return read_manifest(run_folder(path.parent) / "run.toml")


def run_folder(folder: Path) -> Path:
    [found] = folder.glob("out/small-*/only/01")
    return found


def measured(folder: Path, *processes: str, block: str = f"deadline_s = {LIMIT_S - 100}", head: str = "") -> Manifest:
    bench(campaign(folder, *processes, block=block, head=head))
    return read_manifest(run_folder(folder) / "run.toml")


def number_in(path: Path) -> int:
    until(lambda: path.is_file() and path.read_text().endswith("\n"), f"{path} is written")
    return int(path.read_text())


@pytest.fixture
def port() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_each_process_has_a_log_and_an_entry_in_the_manifest(tmp_path: Path) -> None:
    run = measured(tmp_path, server(), process("client", CLIENT, 'log = "c.txt"'))

    assert (run.status, run.reason) == ("ok", None)
    assert [(command.name, command.role, command.argv[0], command.exit_status, command.log, command.ends) for command in run.commands] == [
        ("server", "server", "sh", -signal.SIGTERM, "server.log", "stopped"),
        ("client", "client", "echo", 0, "c.txt", "itself"),
    ]
    assert [(log.file, log.process, log.results) for log in run.logs] == [
        ("server.log", "server", False),
        ("c.txt", "client", True),
        ("resources.log", None, True),
    ]
    assert (run_folder(tmp_path) / "c.txt").read_text() == "done\n"
    assert len({command.program_sha256 for command in run.commands} - {None}) == 2


def test_process_starts_when_the_process_before_it_is_ready(tmp_path: Path) -> None:
    slow = 'sh -c "sleep 0.4; touch prepared; echo listening; exec sleep 300"'

    run = measured(tmp_path, server(slow), process("client", "cat prepared", 'log = "c.txt"'), process("last", CLIENT))

    assert {command.name: command.exit_status for command in run.commands}["client"] == 0


def test_exit_status_of_a_stopped_process_is_not_a_failure(tmp_path: Path) -> None:
    run = measured(tmp_path, server("sh -c \"trap 'exit 7' TERM; echo listening; sleep 300 & wait\""), process("client", CLIENT))

    assert (run.status, run.commands[0].exit_status) == ("ok", 7)


@pytest.mark.parametrize(
    ("processes", "reason"),
    [
        ([server(), process("client", 'sh -c "echo no route >&2; exit 3"')], "client: exit code 3; its last line: no route"),
        ([server('sh -c "echo listening; kill -SEGV $$"'), process("client", "sleep 300")], "server: killed by SIGSEGV; its last line: listening"),
        (
            [process("server", 'sh -c "echo bye"', 'ready = { output = "to block" }'), process("client", CLIENT)],
            "server: ended before it was ready: it did not print 'to block'; its last line: bye",
        ),
        (
            [server('sh -c "echo listening"'), process("client", "sleep 300")],
            "server: ended by itself, with exit code 0, long before the processes that it serves",
        ),
        ([server(), process("client", "true")], "client: the program printed nothing"),
        (
            [server(), process("client", 'sh -c "echo no such option >&2"')],
            "client: the program printed nothing to standard output; it printed: no such option",
        ),
    ],
    ids=["early death", "server crash", "ended unready", "server ends early", "silence", "silence but for an error"],
)
def test_failed_run_is_kept_with_its_reason_and_all_logs(tmp_path: Path, processes: list[str], reason: str) -> None:
    run = measured(tmp_path, *processes)

    assert run.status == ("empty" if "nothing" in reason else "failed")
    assert run.reason == reason
    assert {log.file for log in run.logs} >= {command.log for command in run.commands if command.log}


@pytest.mark.parametrize(
    ("processes", "reason"),
    [
        (
            [
                process("server", LOADS, 'ready = { output = "to block", deadline_s = 5 }', 'ends = "stopped"'),
                process("client", CLIENT),
            ],
            "server: not ready within 5 s: it did not print 'to block'; its last line: loading",
        ),
        (
            [server(), process("client", f'sh -c "{LATER}; exec sleep 300"', "deadline_s = 0.3")],
            "client: stopped by the harness: not done within its deadline of 0.3 s",
        ),
        (
            [process("server", GOES_ON, 'ready = { output = "listening" }', "results = false", "deadline_s = 5"), process("client", LAUNCHED)],
            (
                "server: stopped by the harness: not done within its deadline of 5 s, although all others had ended; "
                'if it serves them, add ends = "stopped" to its process'
            ),
        ),
    ],
    ids=["never ready", "deadline", "server that nobody stops"],
)
def test_run_that_takes_too_long_is_kept_with_its_reason_and_all_logs(tmp_path: Path, processes: list[str], reason: str) -> None:
    run = bench_by_hand(campaign(tmp_path, *processes, block="deadline_s = 60"))

    assert (run.status, run.reason) == ("failed", reason)
    assert {log.file for log in run.logs} >= {command.log for command in run.commands if command.log}


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("sh -c 'echo listening; exec sleep 300'", "server: its log cannot be read: no format fits (tacholog parse shows more); "),
        ("sh -c 'echo listening >&2; exec sleep 300'", "server: the program printed nothing to standard output; its last line: listening; "),
    ],
    ids=["no format", "nothing"],
)
def test_user_is_told_how_to_declare_that_a_server_log_has_no_results(tmp_path: Path, command: str, reason: str) -> None:
    chatty = process("server", command, 'ready = { output = "listening" }', 'ends = "stopped"')
    done = bench(campaign(tmp_path, chatty, process("client", f"cat {FORMATS / 'sockperf/throughput-tcp.log'}")))

    assert f"({reason}if server.log should have no results, add results = false to its process)" in done.stderr


def test_last_line_of_a_program_without_a_result_is_quoted(tmp_path: Path) -> None:
    text = FORMATS / "sockperf/throughput-tcp.log"
    done = bench(campaign(tmp_path, server(), process("client", f'sh -c "head -n 3 {text}; echo usage: client ADDRESS"'), head='format = "sockperf"'))

    assert "only/01: not good, " in done.stderr
    assert "(client: client.log holds no results; its last line: usage: client ADDRESS)" in done.stderr


@pytest.mark.parametrize(
    ("printed", "quoted"),
    [
        ("bind: ERROR: Address already in use\\nbye", "it printed: bind: ERROR: Address already in use"),
        ("tool: unrecognized option --x\\nUsage: tool\\n  -a  all of it", "it printed: tool: unrecognized option --x"),
        ("Usage: tool\\n  -a  all of it", "it printed its help, so it may not know one of its options"),
    ],
    ids=["an error", "an error before the help", "its help alone"],
)
def test_message_quotes_the_line_that_names_the_error_instead_of_the_last_line_of_the_help_text(tmp_path: Path, printed: str, quoted: str) -> None:
    text = FORMATS / "sockperf/throughput-tcp.log"
    client = process("client", f"sh -c 'head -n 3 {text}; printf \"{printed}\"'")
    done = bench(campaign(tmp_path, server(), client, head='format = "sockperf"'))

    assert f"(client: client.log holds no results; {quoted})" in done.stderr


def test_deadline_of_the_run_ends_all_processes(tmp_path: Path) -> None:
    lasts = server('sh -c "echo $$ > pid; echo listening; exec sleep 300"')

    run = bench_by_hand(campaign(tmp_path, lasts, process("client", f'sh -c "{LATER}; exec sleep 300"'), block="deadline_s = 1"))

    assert run.reason == "client: stopped by the harness: not done within its deadline of 1 s"
    assert gone(number_in(run_folder(tmp_path) / "pid"))


def test_port_that_is_already_in_use_is_reported_before_the_server_starts(tmp_path: Path, port: int) -> None:
    run = measured(tmp_path, process("server", SERVER, f"ready = {{ port = {port} }}", 'ends = "stopped"'), process("client", CLIENT))

    assert run.reason == f"server: port {port} is in use already, by another program (ss -tulpn names it)"
    assert run.logs == ()


def test_server_is_ready_when_it_listens_on_its_port(tmp_path: Path) -> None:
    shared = "s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)"
    with socket.socket() as held:  # This socket reserves the port, but does not listen.
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind(("127.0.0.1", 0))
        free = held.getsockname()[1]
        listen = f"import socket, time; {shared}; time.sleep(0.3); s.bind(('127.0.0.1', {free})); s.listen(); time.sleep(300)"
        connect = f"import socket; socket.create_connection(('127.0.0.1', {free})); print('connected')"
        commands = [shlex.join([sys.executable, "-c", text]) for text in (listen, connect)]

        run = measured(
            tmp_path,
            process("server", commands[0], 'ready = { port = "{port}" }', 'ends = "stopped"', "results = false"),
            process("client", commands[1]),
            block=f"options = {{ port = {free} }}",
        )

    assert (run.status, run.reason) == ("ok", None)


def test_missing_program_is_reported_before_any_run(tmp_path: Path) -> None:
    done = bench(campaign(tmp_path, server(), process("client", "no-such-program")))

    assert (done.returncode, done.stderr) == (2, "tacholog: no-such-program: no such program; install it, or put it on the PATH\n")
    assert not (tmp_path / "out").exists()


LEAVES = 'sh -c "setsid sleep 300 & echo $! > child; echo $$ > self; echo listening; wait"'


def test_process_that_left_its_process_group_is_ended_with_the_run(tmp_path: Path) -> None:
    run = measured(tmp_path, server(LEAVES), process("client", 'sh -c "setsid sleep 300 & echo $! > other; echo done"'))

    assert run.status == "ok"
    assert [gone(number_in(run_folder(tmp_path) / name)) for name in ("child", "self", "other")] == [True, True, True]


@pytest.mark.parametrize("with_signal", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_no_process_of_a_run_remains_after_the_harness_was_killed(tmp_path: Path, with_signal: signal.Signals) -> None:
    path = campaign(tmp_path, server(LEAVES), process("client", 'sh -c "echo $$ > client; exec sleep 300"'))
    harness = subprocess.Popen(
        [sys.executable, "-m", "tacholog", "bench", "--no-control", path, "--output", "out"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until(lambda: list(tmp_path.glob("out/small-*/only/01")), "a run begins")
    pids = [number_in(run_folder(tmp_path) / name) for name in ("client", "child", "self")]

    harness.send_signal(with_signal)
    harness.wait()

    for pid in pids:
        until(lambda pid=pid: gone(pid), f"{pid} has ended")  # type: ignore[misc]


def test_process_is_ended_and_the_run_fails_if_its_launcher_is_killed(tmp_path: Path) -> None:
    kill_parent = 'sh -c "sleep 300 & echo $! > child; echo $$ > self; kill -9 $PPID; wait"'

    run = measured(tmp_path, server(), process("client", kill_parent))

    assert run.reason == "client: it was lost: its launcher was killed, or the connection to its host broke"
    pids = [number_in(run_folder(tmp_path) / name) for name in ("child", "self")]
    until(lambda: all(map(gone, pids)), f"all of {pids} have ended")


def started(folder: Path, *argv: str) -> Job:
    program = LocalMachine("", HostEntry(), {}).find(argv[0]).path
    return Job(name="x", argv=argv, program=program, folder=folder, log="x.log", errors="x.stderr.txt")


def test_memory_of_a_small_program_excludes_the_memory_of_the_harness(tmp_path: Path) -> None:
    ballast = b"x" * (300 << 20)

    used = LocalMachine("", HostEntry(), {}).start(started(tmp_path, "true")).collect().resources

    assert len(ballast) == 300 << 20
    assert used is not None
    assert used.max_rss_bytes is not None
    assert used.max_rss_bytes < 10_000_000
    assert used.max_rss_is_bound  # The value is an upper limit: the true peak may be smaller.


def test_memory_of_a_larger_program_is_exact(tmp_path: Path) -> None:
    job = started(tmp_path, sys.executable, "-c", "x = b'x' * (50 << 20)")

    used = LocalMachine("", HostEntry(), {}).start(job).collect().resources

    assert used is not None
    assert used.max_rss_bytes is not None
    assert 50 << 20 < used.max_rss_bytes < 100 << 20
    assert not used.max_rss_is_bound


def test_run_records_the_version_of_a_broker_separately_from_the_version_of_the_tool(tmp_path: Path) -> None:
    head = 'version_command = ["echo", "tool 1.2"]\nsystem_version_command = ["echo", "broker 3.10.8"]'
    path = campaign(tmp_path, server(), process("client", CLIENT), head=head)

    plan = run_tacholog_text("bench", "--no-control", "--plan", path).stdout
    bench(path)

    assert [line for line in plan.splitlines() if line.startswith("Version of ")][1:] == [
        "Version of pipes: what `echo 'broker 3.10.8'` prints at the start."
    ]
    run = read_manifest(run_folder(tmp_path) / "run.toml")
    assert (run.system_version, run.tool_version) == ("3.10.8", "1.2")


def test_results_contain_the_resources_of_each_process_of_sockperf(tmp_path: Path) -> None:
    if shutil.which("sockperf") is None:
        leave_out("needs sockperf")
    if subprocess.run([*OWN_NETWORK, "true"], check=False, capture_output=True).returncode:
        leave_out("network namespaces cannot be made")
    head = 'format = "sockperf"\nversion_command = ["sockperf", "--version"]\nlabels = { plugin = "{kind}" }\n'
    head += 'hosts.b = { prefix = ["env", "A=1"], address = "127.0.0.1" }'
    block = 'vary.payload_bytes = [64]\noptions = { port = 11111, kind = "none" }'
    place = "-i {b.address} -p {port}"

    path = campaign(
        tmp_path,
        process("server", f"sockperf server {place}", 'host = "b"', 'ready = { port = "{port}" }', 'ends = "stopped"', "results = false"),
        process("client", f"sockperf ping-pong {place} -m {{payload_bytes}} -t 1"),
        block=block,
        head=head,
    )
    done = run_tacholog_text("bench", "--no-control", path, "--output", "out", cwd=tmp_path, prefix=OWN_NETWORK)

    assert done.returncode == 0, done.stderr
    run = read_manifest(run_folder(tmp_path) / "run.toml")
    assert (run.labels, run.tool_version) == ({"plugin": "none"}, "3.7-no.git")
    assert [command.prefix for command in run.commands] == [("env", "A=1"), ()]
    assert [command.host for command in run.commands] == [None, None]
    data = load([tmp_path / "out"])
    rows = data.results[data.results["scope"] == "resources"]
    assert sorted(set(zip(rows["participant"], rows["line"], strict=True))) == [("client", 3), ("server", 2)]
    assert set(rows["payload_bytes"]) == {64}
    assert set(rows["transport"]) == {"UDP"}
    assert {"user", "system"} <= set(rows[rows["metric"] == "cpu_time"]["statistic"])
    assert {"voluntary", "involuntary"} == set(rows[rows["metric"] == "context_switches"]["statistic"])
    checked = run_tacholog_text("check", "out", cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout


def test_script_of_a_run_starts_all_processes_and_ends_the_servers(tmp_path: Path) -> None:
    run = measured(
        tmp_path, server('sh -c "echo $$ > self; echo listening; exec sleep 300"'), process("client", 'echo "it\'s $HOME; ok"', 'log = "it\'s"')
    )
    text = shell_script(run, "only/01", [])
    assert text is not None
    folder = tmp_path / "again"
    folder.mkdir()

    done = subprocess.run(["dash", "-c", text], cwd=folder, env=os.environ | {"LOGS": str(folder)}, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, f"logs: {folder}\n"), done.stderr
    assert (folder / "it's").read_text() == "it's $HOME; ok\n"
    assert gone(number_in(folder / "self"))


def test_unknown_lines_are_no_problem_in_a_log_that_is_declared_to_have_no_results(tmp_path: Path) -> None:
    client, noise = (FORMATS / "sockperf/ping-pong-udp.log").read_bytes(), b"what no format knows\nMessage min latency : 7 us @ 1\n"
    logs = (
        LogFile(file="client.log", sha256=hashlib.sha256(client).hexdigest(), process="client"),
        LogFile(file="server.log", sha256=hashlib.sha256(noise).hexdigest(), process="server", results=False),
    )
    run = tmp_path / "data" / "one"
    run.mkdir(parents=True)
    (run / "client.log").write_bytes(client)
    (run / "server.log").write_bytes(noise)
    write(run / "run.toml", Manifest(system="sockets", logs=logs))

    done = run_tacholog_text("check", "data", cwd=tmp_path)

    assert (done.returncode, done.stdout) == (0, "")
    data = load([tmp_path / "data"])
    [row] = data.logs[data.logs["log"] == "server.log"].to_dict("records")
    assert (row["lines"], row["records"], row["unknown"], row["broken"]) == (2, 0, 0, 0)
    shown = redacted(data, Privacy(), tmp_path / "shown")
    assert shown.problems.to_dict("records") == []


def test_log_that_is_declared_to_have_no_results_is_reported_if_its_content_was_changed(tmp_path: Path) -> None:
    run = tmp_path / "data" / "one"
    run.mkdir(parents=True)
    (run / "server.log").write_bytes(b"listening\n")
    write(run / "run.toml", Manifest(system="sockets", logs=(LogFile(file="server.log", sha256="0" * 64, results=False),)))

    assert run_tacholog_text("check", "data", cwd=tmp_path).stdout.startswith("one/server.log: altered: ")


def test_run_of_a_single_command_stores_the_resources_of_the_tool_in_a_separate_log(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(f'{HEAD}\n[[runs]]\nname = "only"\ncommand = ["cat", "{FORMATS}/sockperf/ping-pong-udp.log"]\n')
    bench(path)

    run = read_manifest(run_folder(tmp_path) / "run.toml")

    assert [(command.role, command.name, command.exit_status) for command in run.commands] == [("both", None, None)]
    assert [log.file for log in run.logs] == ["perftest.log", "resources.log"]
    rows = load([tmp_path / "out"]).results
    assert set(rows[rows["scope"] == "resources"]["participant"]) == {"cat"}


@pytest.mark.core
def test_run_of_a_single_perftest_command_has_no_separate_log_of_resources(tmp_path: Path, perftest: Path) -> None:
    path = tmp_path / "small.toml"
    words = ["perftest", "--test", "throughput", "--transport", "mock", "--sizes", "64", "--duration", "0.05", "--warmup", "0.01", "--output", "-"]
    path.write_text(f'{HEAD}\n[[runs]]\nname = "only"\ncommand = {words}\n')

    done = run_tacholog_text("bench", "--no-control", path, "--output", "out", "--perftest", perftest, cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert [log.file for log in read_manifest(run_folder(tmp_path) / "run.toml").logs] == ["perftest.log"]


def test_script_of_a_run_ends_its_processes_if_one_of_them_fails(tmp_path: Path) -> None:
    run = measured(tmp_path, server('sh -c "echo $$ > self; echo listening; exec sleep 300"'), process("client", "false"))
    text = shell_script(run, "only/01", [])
    assert text is not None

    done = subprocess.run(["dash", "-c", text], cwd=tmp_path, env=os.environ | {"LOGS": str(tmp_path)}, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert gone(number_in(tmp_path / "self"))
