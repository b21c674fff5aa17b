"""Campaigns over ssh, on two hosts with an sshd each (`tests.campaign.two_hosts`): processes start there, and all files are copied back."""

from __future__ import annotations

import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.campaign.ssh_campaigns import bench, campaign, in_own_folder, job, manifest, processes_left, run_folder, set_login_shell
from tests.campaign.two_hosts import TwoHosts, run
from tests.left_out import leave_out
from tests.waiting import LIMIT_S, until

from tacholog.campaign.machines.machine import HostEntry, ReadyCondition
from tacholog.campaign.machines.remote import RemoteMachine
from tacholog.errors import TachologError
from tacholog.runs import host
from tacholog.store.load import load

WORDS = ("a b", "it's", "$HOME", "line\nline", "; touch pwned", "\u00fcn\u00efcode \u2028", "", "*", "\\n", "!!", "`id`", '"', "%s", "-n", "#")


def test_campaign_over_two_hosts_copies_all_files_back_and_leaves_no_files_on_the_hosts(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
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
    until(lambda: not processes_left(hosts), "nothing is left")
    assert [*(tmp_path / "lab/temporary-a").iterdir(), *(tmp_path / "lab/temporary-b").iterdir()] == []


@pytest.mark.nightly
def test_stored_files_of_a_run_contain_no_boot_id_and_no_address(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    lab()

    bench(campaign(tmp_path, '["seq", "3"]'), tmp_path)

    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    kept = "".join(path.read_text() for path in (tmp_path / "out").rglob("*") if path.is_file() and path.name != "plan.toml")
    assert (boot in kept, "10.88.0" in kept) == (False, False)


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox"])
def test_each_shell_passes_all_arguments_unchanged(tmp_path: Path, lab: Callable[..., TwoHosts], shell: str) -> None:
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
def test_commands_on_a_host_work_with_any_login_shell(lab: Callable[..., TwoHosts], shell: str) -> None:
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


def test_banner_of_a_login_shell_is_ignored(lab: Callable[..., TwoHosts]) -> None:
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


def test_description_of_a_host_read_over_ssh_equals_the_description_made_on_this_host(lab: Callable[..., TwoHosts]) -> None:
    lab(start=("a",))
    machine = RemoteMachine("a", HostEntry(ssh="host-a"))

    try:
        described, here = machine.describe(), host.this_host()
        assert (described.cpu, described.memory, described.system) == (here.cpu, here.memory, here.system)
        assert machine.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        assert machine.environment().keys() >= {"harness_affinity"}
    finally:
        machine.close()


def test_program_on_a_remote_host_is_found_in_the_search_path_of_the_remote_host(lab: Callable[..., TwoHosts]) -> None:
    lab(start=("a",))
    machine = RemoteMachine("a", HostEntry(ssh="host-a"))

    try:
        found = machine.find("seq")
        assert (found.path, found.sha256) == ("/usr/bin/seq", run("sha256sum", "/usr/bin/seq").split()[0])
        with pytest.raises(TachologError, match="no-such-tool: no such program on host a"):
            machine.find("no-such-tool")
    finally:
        machine.close()


def test_server_is_ready_when_its_output_contains_a_text_or_its_port_is_open(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    lab(start=("a",))
    machine = RemoteMachine("a", HostEntry(ssh="host-a"))
    listen = "import socket, time; s = socket.socket(); s.bind(('0.0.0.0', 4711)); s.listen(); print('on [port]', flush=True); time.sleep(1000)"

    try:
        assert (machine.is_listening(2222), machine.is_listening(4711)) == (True, False)
        running = machine.start(job(tmp_path, sys.executable, "-c", listen))
        until(lambda: running.is_ready(ReadyCondition(output="on [port]")), "the text is there")
        until(lambda: running.is_ready(ReadyCondition(port=4711)), "the port is there")
        assert machine.is_listening(4711)
        running.stop()
        assert running.collect().exit_status == -signal.SIGTERM
    finally:
        machine.close()


def test_resources_of_a_process_are_read_on_its_host(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    lab(start=("a",))
    machine = RemoteMachine("a", HostEntry(ssh="host-a"))
    spin = "x = bytearray(50_000_000); import time; begin = time.process_time()\nwhile time.process_time() - begin < 0.5: pass\n"
    work = spin + "print('done', flush=True); time.sleep(1000)"

    try:
        running = machine.start(job(tmp_path, sys.executable, "-c", work))
        until(lambda: running.is_ready(ReadyCondition(output="done")), "the work is done")
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


def test_process_that_ignores_the_request_to_end_is_killed_with_its_children(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    hosts = lab(start=("a",))
    machine = RemoteMachine("a", HostEntry(ssh="host-a"))

    try:
        running = machine.start(job(tmp_path, "/bin/sh", "-c", "trap '' TERM; echo begun; sleep 1000 & while :; do sleep 1; done"))
        until(lambda: running.is_ready(ReadyCondition(output="begun")), "it has begun")
        running.stop()
        ended = running.collect()
        assert (ended.exit_status, ended.by) == (-signal.SIGKILL, "harness")
        until(lambda: not any("sleep 1000" in words for words in hosts.processes("a").values()), "its child has ended")
    finally:
        machine.close()


def test_daemon_outside_of_the_process_group_is_ended_with_its_process(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    hosts = lab(start=("a",))
    machine = RemoteMachine("a", HostEntry(ssh="host-a"))

    try:
        running = machine.start(job(tmp_path, "/bin/sh", "-c", "setsid sh -c 'trap : TERM; while :; do sleep 1000; done' & sleep 1"))
        assert running.wait(LIMIT_S)
        running.collect()
        until(lambda: not any("trap" in words or "sleep 1000" in words for words in hosts.processes("a").values()), "the daemon is ended")
    finally:
        machine.close()


@pytest.mark.nightly
def test_dataset_of_a_campaign_over_ssh_has_the_resources_of_its_processes(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
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
deadline_s = 500

[[runs.processes]]
name = "publisher"
role = "pub"
host = "a"
command = ["perftest", "--test", "latency", "--transport", "{transport}", "--role", "pub", "--address", "{a.address}", "--sizes", "{sizes_bytes}",
           "--duration", "{duration_s}", "--warmup", "{warmup_s}", "--timeout", "500", "--output", "-"]

[[runs.processes]]
name = "subscriber"
role = "sub"
host = "b"
command = ["perftest", "--test", "latency", "--transport", "{transport}", "--role", "sub", "--address", "{a.address}", "--sizes", "{sizes_bytes}",
           "--duration", "{duration_s}", "--warmup", "{warmup_s}", "--timeout", "500", "--output", "-"]
"""


@pytest.mark.nightly
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
