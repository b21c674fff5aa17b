"""Campaigns over ssh, on two hosts with an sshd each (`tests.campaign.two_hosts`): what comes back, and what is left after each kind of failure."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.campaign.two_hosts import TwoHosts, missing, run, two_hosts, until
from tests.left_out import leave_out

from tacholog.campaign.machines import CannotStart, Ended, HostEntry, Job, Ready
from tacholog.campaign.processes import check_hosts
from tacholog.campaign.remote import RemoteMachine
from tacholog.dataset.load import load
from tacholog.errors import TachologError, UnreadableInput
from tacholog.runs import host
from tacholog.runs.manifest import Manifest, read_manifest

WORDS = ("a b", "it's", "$HOME", "line\nline", "; touch pwned", "\u00fcn\u00efcode \u2028", "", "*", "\\n", "!!", "`id`", '"', "%s", "-n", "#")
HEAD = """
system = "coreutils"
tool = "seq"
repetitions = 1
hosts.a = { ssh = "host-a", address = "10.88.0.2" }
hosts.b = { ssh = "host-b", address = "10.88.0.3" }

[[runs]]
name = "pair"
deadline_s = 100
"""
SERVER = """
[[runs.processes]]
name = "server"
role = "sub"
host = "b"
command = ["sh", "-c", "echo listening; sleep 1000 & sleep 1000"]
ready = { output = "listening", deadline_s = 60 }
ends = "stopped"
results = false
"""
CLIENT = """
[[runs.processes]]
name = "client"
role = "pub"
host = "a"
command = COMMAND
"""


@cache
def lacking() -> str:
    return missing()


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., TwoHosts]]:
    """Make two hosts; the function takes what is to be prepared before they start, and which of them start."""
    if lacking():
        leave_out(f"needs {lacking()}")
    made = []
    (tmp_path / "lab").mkdir()

    def make(prepare: Callable[[TwoHosts], object] = lambda _: None, start: tuple[str, ...] = ("a", "b")) -> TwoHosts:
        made.append(two_hosts(tmp_path / "lab", prepare, start))
        hosts = made[-1].__enter__()
        monkeypatch.setenv("PATH", f"{hosts.bin}{os.pathsep}{os.environ['PATH']}")
        return hosts

    yield make
    for hosts in made:
        hosts.__exit__(None, None, None)


def campaign(tmp_path: Path, command: str, server: str = SERVER) -> Path:
    path = tmp_path / "pairs.toml"
    path.write_text(HEAD + server + CLIENT.replace("COMMAND", command))
    return path


def start_bench(path: Path, tmp_path: Path) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "tacholog", "bench", str(path), "--output", str(tmp_path / "out")]
    return subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def bench(path: Path, tmp_path: Path) -> tuple[int, str]:
    """Run a campaign and return its exit code and all that it printed."""
    with start_bench(path, tmp_path) as process:
        out, errors = process.communicate(timeout=200)
    return process.returncode, out + errors


def manifest(tmp_path: Path) -> Manifest:
    [path] = (tmp_path / "out").rglob("run.toml")
    return read_manifest(path)


def run_folder(tmp_path: Path) -> Path:
    [path] = (tmp_path / "out").rglob("run.toml")
    return path.parent


def left(hosts: TwoHosts) -> dict[int, str]:
    """What is left of a campaign on both hosts, and of its connections here."""
    return hosts.processes("a") | hosts.processes("b") | hosts.local_processes()


def folders(prefix: str) -> set[str]:
    return {path.name for path in Path("/tmp").glob(f"{prefix}*")}  # noqa: S108 - where the hosts of these tests have their temporary folders


def in_own_folder(name: str) -> Callable[[TwoHosts], object]:
    """Give a host a temporary folder of its own, so that a test sees what is left in it."""

    def prepare(hosts: TwoHosts) -> None:
        for host_name in "ab":
            folder = hosts.folder / f"{name}-{host_name}"
            folder.mkdir()
            hosts.environment[host_name]["TMPDIR"] = str(folder)

    return prepare


def job(folder: Path, *argv: str) -> Job:
    return Job(name="job", argv=argv, program=argv[0], folder=folder, log="job.log", errors="job.err")


def test_a_campaign_over_two_hosts_brings_everything_back_and_leaves_nothing(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    hosts = lab(in_own_folder("temporary"))

    code, said = bench(campaign(tmp_path, '["sh", "-c", "seq 200000; echo done >&2"]'), tmp_path)

    assert (code, "1 of 1 runs are good" in said) == (0, True), said
    kept = manifest(tmp_path)
    assert (kept.status, kept.reason) == ("ok", None)
    assert [(command.name, command.exit_status, command.log) for command in kept.commands] == [
        ("server", -15, "server.log"),
        ("client", 0, "client.log"),
    ]
    assert (run_folder(tmp_path) / "client.log").read_text() == "".join(f"{number}\n" for number in range(1, 200001))
    assert (run_folder(tmp_path) / "client.stderr.txt").read_text() == "done\n"
    assert (kept.environment["link_mtu"], kept.environment["link_nic"], kept.clocks) == ("1500", "virtual interface", None)
    assert "load1_before" in kept.environment
    assert "load1_after" in kept.environment
    until(lambda: not left(hosts), "nothing is left", 30)
    assert [*(tmp_path / "lab/temporary-a").iterdir(), *(tmp_path / "lab/temporary-b").iterdir()] == []


def test_no_id_of_a_boot_and_no_address_gets_into_what_is_kept_of_a_run(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    lab()

    bench(campaign(tmp_path, '["seq", "3"]'), tmp_path)

    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    kept = "".join(path.read_text() for path in (tmp_path / "out").rglob("*") if path.is_file() and path.name != "plan.toml")
    assert (boot in kept, "10.88.0" in kept) == (False, False)


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox"])
def test_each_shell_passes_every_argument_on_unchanged(tmp_path: Path, lab: Callable[..., TwoHosts], shell: str) -> None:
    path = shutil.which(shell)
    if path is None:
        leave_out(f"needs {shell}")
    lab(lambda hosts: hosts.mounts["a"].update({"/bin/sh": Path(path)}), ("a",))
    machine = RemoteMachine("a", HostEntry(ssh="host-a"))

    try:
        running = machine.start(job(tmp_path, "/usr/bin/printf", "[%s]", *WORDS))
        ended = running.collect()
    finally:
        machine.close()

    assert (tmp_path / "job.log").read_text() == "".join(f"[{word}]" for word in WORDS)
    assert ended.exit_status == 0


@pytest.mark.parametrize("shell", ["fish", "tcsh", "bash"])
def test_the_login_shell_does_not_matter(lab: Callable[..., TwoHosts], shell: str) -> None:
    path = shutil.which(shell)
    if path is None and shell == "fish":
        pytest.skip("needs fish, which is large, so that CI does not install it")
    if path is None:
        leave_out(f"needs {shell}")
    lab(lambda hosts: set_login_shell(hosts, path), ("a",))
    machine = RemoteMachine("a", HostEntry(ssh="host-a"))

    try:
        assert machine.ask(["printf", "[%s]", *WORDS]) == "".join(f"[{word}]" for word in WORDS)
    finally:
        machine.close()


def set_login_shell(hosts: TwoHosts, shell: str) -> None:
    users = Path("/etc/passwd").read_text().splitlines()
    changed = [f"{user.rpartition(':')[0]}:{shell}" if user.startswith("root:") else user for user in users]
    (hosts.folder / "passwd").write_text("\n".join(changed) + "\n")
    hosts.mounts["a"]["/etc/passwd"] = hosts.folder / "passwd"


def test_a_login_shell_that_prints_a_banner_disturbs_nothing(lab: Callable[..., TwoHosts]) -> None:
    def prepare(hosts: TwoHosts) -> None:
        shell = hosts.folder / "shell"
        shell.write_text('#!/bin/sh\necho "Welcome! No mail."\necho "Please be nice." >&2\nexec /bin/sh "$@"\n')
        shell.chmod(0o755)
        set_login_shell(hosts, str(shell))

    lab(prepare, ("a",))
    machine = RemoteMachine("a", HostEntry(ssh="host-a"))

    try:
        assert machine.ask(["seq", "3"]) == "1\n2\n3\n"
    finally:
        machine.close()


def test_a_host_is_described_as_it_describes_itself(lab: Callable[..., TwoHosts]) -> None:
    lab(start=("a",))
    machine = RemoteMachine("a", HostEntry(ssh="host-a"))

    try:
        described, here = machine.describe(), host.this_host()
        assert (described.cpu, described.memory, described.system) == (here.cpu, here.memory, here.system)
        assert machine.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        assert machine.environment().keys() >= {"harness_affinity"}
    finally:
        machine.close()


def test_programs_are_found_on_the_path_of_the_host(lab: Callable[..., TwoHosts]) -> None:
    lab(start=("a",))
    machine = RemoteMachine("a", HostEntry(ssh="host-a"))

    try:
        found = machine.find("seq")
        assert (found.path, found.sha256) == ("/usr/bin/seq", run("sha256sum", "/usr/bin/seq").split()[0])
        with pytest.raises(TachologError, match="no-such-tool: no such program on host a"):
            machine.find("no-such-tool")
    finally:
        machine.close()


def test_readiness_is_seen_by_output_and_by_port(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    lab(start=("a",))
    machine = RemoteMachine("a", HostEntry(ssh="host-a"))
    listen = "import socket, time; s = socket.socket(); s.bind(('0.0.0.0', 4711)); s.listen(); print('on [port]', flush=True); time.sleep(1000)"

    try:
        assert (machine.is_listening(2222), machine.is_listening(4711)) == (True, False)
        running = machine.start(job(tmp_path, sys.executable, "-c", listen))
        until(lambda: running.is_ready(Ready(output="on [port]")), "the text is there")
        until(lambda: running.is_ready(Ready(port=4711)), "the port is there")
        assert machine.is_listening(4711)
        running.stop()
        assert running.collect().exit_status == -signal.SIGTERM
    finally:
        machine.close()


def test_what_a_process_used_comes_from_its_host(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    lab(start=("a",))
    machine = RemoteMachine("a", HostEntry(ssh="host-a"))
    spin = "x = bytearray(50_000_000); import time; begin = time.process_time()\nwhile time.process_time() - begin < 0.5: pass\n"
    work = spin + "print('done', flush=True); time.sleep(1000)"

    try:
        running = machine.start(job(tmp_path, sys.executable, "-c", work))
        until(lambda: running.is_ready(Ready(output="done")), "the work is done")
        running.stop()
        used = running.collect().resources
    finally:
        machine.close()

    assert used is not None
    assert used.user_cpu_ns is not None
    assert used.system_cpu_ns is not None
    assert used.max_rss_bytes is not None
    assert used.user_cpu_ns + used.system_cpu_ns >= 500_000_000
    assert used.max_rss_bytes > 50_000_000
    assert used.voluntary is not None


def test_a_process_that_ignores_the_request_to_end_is_killed_with_its_children(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    hosts = lab(start=("a",))
    machine = RemoteMachine("a", HostEntry(ssh="host-a"))

    try:
        running = machine.start(job(tmp_path, "/bin/sh", "-c", "trap '' TERM; echo begun; sleep 1000 & while :; do sleep 1; done"))
        until(lambda: running.is_ready(Ready(output="begun")), "it has begun")
        running.stop()
        ended = running.collect()
        assert (ended.exit_status, ended.by) == (-signal.SIGKILL, "harness")
        until(lambda: not any("sleep 1000" in words for words in hosts.processes("a").values()), "its child has ended")
    finally:
        machine.close()


def test_a_daemon_that_left_the_group_of_its_process_is_ended_with_it(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    hosts = lab(start=("a",))
    machine = RemoteMachine("a", HostEntry(ssh="host-a"))

    try:
        running = machine.start(job(tmp_path, "/bin/sh", "-c", "setsid sh -c 'trap : TERM; while :; do sleep 1000; done' & sleep 1"))
        assert running.wait(60)
        running.collect()
        until(lambda: not any("trap" in words or "sleep" in words for words in hosts.processes("a").values()), "the daemon is ended")
    finally:
        machine.close()


def test_a_program_that_cannot_be_executed_fails_the_run_with_its_reason(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    lab()

    code, said = bench(campaign(tmp_path, '["sh", "-c", "echo no such device >&2; exit 3"]'), tmp_path)

    assert (code, manifest(tmp_path).reason) == (1, "client: exit code 3: no such device"), said


def test_a_dropped_link_fails_the_run_with_one_line_and_leaves_nothing_on_either_side(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    hosts = lab(in_own_folder("temporary"))

    with start_bench(campaign(tmp_path, '["sleep", "1000"]'), tmp_path) as process:
        until(lambda: any("sleep 1000" in words for words in hosts.processes("a").values()), "the client runs")
        hosts.unplug("b")
        until(lambda: not hosts.processes("b"), "nothing is left on the host that was cut off", 30)
        assert list((tmp_path / "lab/temporary-b").iterdir()) == []
        process.communicate(timeout=100)

    kept = manifest(tmp_path)
    assert kept.status == "failed"
    assert kept.reason is not None
    assert kept.reason.startswith("server: host b: ")
    assert "\n" not in kept.reason
    until(lambda: not left(hosts), "nothing is left", 30)
    assert list((tmp_path / "lab/temporary-a").iterdir()) == []


def test_nothing_is_left_after_the_harness_was_killed(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    hosts = lab(in_own_folder("temporary"))

    with start_bench(campaign(tmp_path, '["sleep", "1000"]'), tmp_path) as process:
        until(lambda: any("sleep 1000" in words for words in hosts.processes("a").values()), "the client runs")
        process.kill()

    until(lambda: not left(hosts), "nothing is left", 30)
    assert [*(tmp_path / "lab/temporary-a").iterdir(), *(tmp_path / "lab/temporary-b").iterdir()] == []


def test_a_side_that_is_killed_fails_the_run_and_the_other_side_is_ended(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    hosts = lab()

    with start_bench(campaign(tmp_path, '["sleep", "1000"]'), tmp_path) as process:
        until(lambda: any("sleep 1000" in words for words in hosts.processes("a").values()), "the client runs")
        [client] = [pid for pid, words in hosts.processes("a").items() if words.endswith("sleep 1000") and "sh" not in words.split()[0]]
        os.kill(client, signal.SIGKILL)
        process.communicate(timeout=100)

    assert (manifest(tmp_path).status, manifest(tmp_path).reason) == ("failed", "client: killed by SIGKILL")
    until(lambda: not left(hosts), "nothing is left", 30)


def test_a_killed_watchdog_does_not_leave_its_process(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    hosts = lab(in_own_folder("temporary"), ("a",))
    machine = RemoteMachine("a", HostEntry(ssh="host-a"))

    try:
        running = machine.start(job(tmp_path, "/bin/sleep", "1000"))
        watchdog = min(pid for pid, words in hosts.processes("a").items() if "connected" in words)
        os.kill(watchdog, signal.SIGKILL)
        until(running.poll, "the harness sees it")
        assert (running.poll() or Ended(exit_status=0)).exit_status != 0
        until(lambda: not hosts.processes("a"), "nothing is left on the host", 30)
    finally:
        machine.close()
    assert list((tmp_path / "lab/temporary-a").iterdir()) == []


def test_a_full_disk_on_a_host_fails_the_run_and_what_was_printed_is_kept(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    def prepare(hosts: TwoHosts) -> None:
        full = hosts.folder / "full"
        full.mkdir()
        hosts.prepare["a"] = f"mount -t tmpfs -o size=256k none {full}"
        hosts.environment["a"]["TMPDIR"] = str(full)

    hosts = lab(prepare)

    # `true` after it: a program that does not notice, as many do not.
    code, said = bench(campaign(tmp_path, '["sh", "-c", "seq 1000000 2>/dev/null; true"]'), tmp_path)

    kept = manifest(tmp_path)
    assert (code, kept.status) == (1, "failed"), said
    assert kept.reason == "client: host a: the disk of its temporary folder is full, so the log may be cut off"
    assert (run_folder(tmp_path) / "client.log").read_text().startswith("1\n2\n3\n")
    until(lambda: not left(hosts), "nothing is left", 30)


def test_a_host_without_a_temporary_folder_is_named(lab: Callable[..., TwoHosts]) -> None:
    def prepare(hosts: TwoHosts) -> None:
        hosts.environment["a"]["TMPDIR"] = str(hosts.folder / "nothing-here")

    lab(prepare, ("a",))

    with pytest.raises(TachologError, match=r"host a: no temporary folder: .*nothing-here"):
        RemoteMachine("a", HostEntry(ssh="host-a"))


def test_logs_come_back_whole_over_a_network_that_becomes_slow(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    hosts = lab()

    with start_bench(
        campaign(tmp_path, f'["sh", "-c", "seq 300000; echo written >&2; until test -e {tmp_path}/slow; do sleep 0.1; done"]'), tmp_path
    ) as process:
        until(lambda: any("until test" in words for words in hosts.processes("a").values()), "the client runs")
        hosts.slow_down("a", "1mbit")
        (tmp_path / "slow").touch()
        process.communicate(timeout=200)

    assert (manifest(tmp_path).status, manifest(tmp_path).reason) == ("ok", None)
    assert (run_folder(tmp_path) / "client.log").read_text() == "".join(f"{number}\n" for number in range(1, 300001))


def test_a_link_that_drops_while_logs_come_back_fails_the_run_and_leaves_nothing(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    hosts = lab(in_own_folder("temporary"))

    with start_bench(
        campaign(tmp_path, f'["sh", "-c", "seq 1000000; echo written >&2; until test -e {tmp_path}/slow; do sleep 0.1; done"]'), tmp_path
    ) as process:
        until(lambda: any("until test" in words for words in hosts.processes("a").values()), "the client runs")
        hosts.slow_down("a", "1mbit")
        (tmp_path / "slow").touch()
        until(lambda: any(path.stat().st_size for path in (tmp_path / "out").rglob("client.log")), "a part of the log is here")
        hosts.unplug("a")
        process.communicate(timeout=200)

    kept = manifest(tmp_path)
    assert (kept.status, (kept.reason or "").startswith("client: host a: ")) == ("failed", True), kept.reason
    until(lambda: not left(hosts), "nothing is left", 30)
    assert [*(tmp_path / "lab/temporary-a").iterdir(), *(tmp_path / "lab/temporary-b").iterdir()] == []


def test_a_host_whose_key_changed_is_refused_with_the_words_of_ssh(lab: Callable[..., TwoHosts]) -> None:
    hosts = lab(start=("a",))
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", hosts.folder / "other")
    other = " ".join((hosts.folder / "other.pub").read_text().split()[:2])
    (hosts.folder / "known_hosts").write_text(f"[10.88.0.2]:2222 {other}\n")

    with pytest.raises(TachologError, match=r"^host a: Host key verification failed\.$"):
        RemoteMachine("a", HostEntry(ssh="host-a"))


def test_a_host_whose_key_is_unknown_is_refused_without_a_question(lab: Callable[..., TwoHosts]) -> None:
    hosts = lab(start=("a",))
    (hosts.folder / "known_hosts").write_text("")
    settings = hosts.folder / "ssh_config"
    settings.write_text(settings.read_text().replace("StrictHostKeyChecking yes", "StrictHostKeyChecking ask"))

    with pytest.raises(TachologError, match=r"^host a: Host key verification failed\.$"):
        RemoteMachine("a", HostEntry(ssh="host-a"))


def test_an_unreachable_host_is_one_line_that_quotes_ssh(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    lab(start=("a",))

    code, said = bench(campaign(tmp_path, '["seq", "3"]'), tmp_path)

    assert code == 2
    assert "tacholog: host b: ssh: connect to host 10.88.0.3 port 2222: Connection refused\n" in said


@pytest.mark.parametrize("place", ["-oProxyCommand=touch pwned", "--", "", "a b", "a;touch pwned", "$(touch pwned)", "a\nb", "user@-host\t", "`id`"])
def test_the_name_of_a_host_cannot_become_an_option_or_a_command(place: str) -> None:
    with pytest.raises(UnreadableInput, match=r"hosts\.a: ssh = "):
        check_hosts({"a": HostEntry(ssh=place)})


@pytest.mark.parametrize("place", ["lab-a", "user@lab-a.example.org", "ssh://user@10.0.0.2:2222", "user@fe80::1%eth0", "ssh://user@[::1]:22"])
def test_usual_names_of_hosts_are_taken(place: str) -> None:
    check_hosts({"a": HostEntry(ssh=place)})


def test_a_host_without_ssh_on_this_machine_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(TachologError, match=r"^host a: ssh cannot be started: No such file or directory$"):
        RemoteMachine("a", HostEntry(ssh="host-a"))


def test_a_process_on_a_lost_host_cannot_be_started(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    hosts = lab(start=("a",))
    machine = RemoteMachine("a", HostEntry(ssh="host-a"))

    try:
        for pid in hosts.local_processes():
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(CannotStart, match=r"^host a: "):
            machine.start(job(tmp_path, "/bin/sleep", "1000"))
    finally:
        machine.close()


def test_a_campaign_over_ssh_is_loaded_with_what_its_processes_used(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    log = Path(__file__).parents[2] / "docs/example/data/latency-udp/perftest.log"
    lab()

    code, said = bench(campaign(tmp_path, f'["sh", "-c", "sleep 2; cat {log}"]'), tmp_path)

    assert code == 0, said
    data = load([tmp_path / "out"])
    used = data.results[data.results["definition"] == "process-resources-by-shell"]
    assert set(used["participant"]) == {"server", "client"}
    assert set(used["metric"]) == {"duration", "cpu_time", "context_switches", "peak_memory"}
    assert set(used[used["metric"] == "peak_memory"]["bound"]) == {">"}


PERFTEST = """
system = "Tacholog perftest"
tool = "perftest"
version_command = ["perftest", "--version"]
format = "native"
repetitions = 1
hosts.a = { ssh = "host-a", address = "10.88.0.2" }
hosts.b = { ssh = "host-b", address = "10.88.0.3" }

[[runs]]
name = "latency-{transport}"
vary.transport = ["udp", "tcp"]
options = { sizes_bytes = [64], duration_s = 0.2, warmup_s = 0.05 }
deadline_s = 100

[[runs.processes]]
name = "publisher"
role = "pub"
host = "a"
command = ["perftest", "--test", "latency", "--transport", "{transport}", "--role", "pub", "--address", "{a.address}", "--sizes", "{sizes_bytes}",
           "--duration", "{duration_s}", "--warmup", "{warmup_s}", "--timeout", "60", "--output", "-"]

[[runs.processes]]
name = "subscriber"
role = "sub"
host = "b"
command = ["perftest", "--test", "latency", "--transport", "{transport}", "--role", "sub", "--address", "{a.address}", "--sizes", "{sizes_bytes}",
           "--duration", "{duration_s}", "--warmup", "{warmup_s}", "--timeout", "60", "--output", "-"]
"""


@pytest.mark.core
def test_perftest_measures_between_two_hosts_with_its_control_connection(tmp_path: Path, lab: Callable[..., TwoHosts], perftest: Path) -> None:
    def prepare(hosts: TwoHosts) -> None:
        for name in "ab":
            hosts.environment[name]["PATH"] = f"{perftest.parent}:/usr/bin:/bin:/usr/sbin"

    lab(prepare)
    path = tmp_path / "perftest.toml"
    path.write_text(PERFTEST)

    code, said = bench(path, tmp_path)

    assert (code, "2 of 2 runs are good" in said) == (0, True), said
    data = load([tmp_path / "out"])
    assert data.problems.empty, data.problems.to_string()
    medians = data.results[(data.results["metric"] == "latency") & (data.results["statistic"] == "p50") & (data.results["scope"] == "summary")]
    assert sorted(medians["transport"]) == ["tcp", "udp"]
    assert (medians["value"] > 0).all()
    assert set(medians["reach"]) == {"network"}
