"""Campaigns over ssh that fail: the run states the reason, and no process remains on either side."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.campaign.ssh_campaigns import bench, campaign, in_own_folder, job, manifest, processes_left, run_folder, start_bench
from tests.campaign.two_hosts import TwoHosts, run
from tests.waiting import LIMIT_S, until

from tacholog.campaign.campaign_file import check_hosts
from tacholog.campaign.machines.machine import HostEntry, ProcessEnd, StartError
from tacholog.campaign.machines.remote import RemoteMachine
from tacholog.errors import TachologError, UnreadableInput


@pytest.mark.nightly
def test_run_fails_with_a_stated_reason_if_its_program_fails(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    lab()

    code, said = bench(campaign(tmp_path, '["sh", "-c", "echo no such device >&2; exit 3"]'), tmp_path)

    assert (code, manifest(tmp_path).reason) == (1, "client: exit code 3; it printed: no such device"), said


def test_run_fails_and_leaves_no_process_on_either_host_if_the_link_breaks(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    hosts = lab(in_own_folder("temporary"))

    with start_bench(campaign(tmp_path, '["sleep", "1000"]'), tmp_path) as process:
        until(lambda: any("sleep 1000" in words for words in hosts.processes("a").values()), "the client runs")
        hosts.unplug("b")
        until(lambda: not hosts.processes("b"), "nothing is left on the host that was cut off")
        assert list((tmp_path / "lab/temporary-b").iterdir()) == []
        process.communicate(timeout=LIMIT_S)

    kept = manifest(tmp_path)
    assert kept.status == "failed"
    assert kept.reason is not None
    assert kept.reason.startswith("server: host b: ")
    assert "\n" not in kept.reason
    until(lambda: not processes_left(hosts), "nothing is left")
    assert list((tmp_path / "lab/temporary-a").iterdir()) == []


@pytest.mark.nightly
def test_no_process_remains_after_the_harness_was_killed(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    hosts = lab(in_own_folder("temporary"))

    with start_bench(campaign(tmp_path, '["sleep", "1000"]'), tmp_path) as process:
        until(lambda: any("sleep 1000" in words for words in hosts.processes("a").values()), "the client runs")
        process.kill()

    until(lambda: not processes_left(hosts), "nothing is left")
    assert [*(tmp_path / "lab/temporary-a").iterdir(), *(tmp_path / "lab/temporary-b").iterdir()] == []


@pytest.mark.nightly
def test_run_fails_and_the_server_is_ended_if_the_client_is_killed(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    hosts = lab()

    with start_bench(campaign(tmp_path, '["sleep", "1000"]'), tmp_path) as process:
        until(lambda: any("sleep 1000" in words for words in hosts.processes("a").values()), "the client runs")
        [client] = [pid for pid, words in hosts.processes("a").items() if words.endswith("sleep 1000") and "sh" not in words.split()[0]]
        os.kill(client, signal.SIGKILL)
        process.communicate(timeout=LIMIT_S)

    assert (manifest(tmp_path).status, manifest(tmp_path).reason) == ("failed", "client: killed by SIGKILL")
    until(lambda: not processes_left(hosts), "nothing is left")


def test_process_on_a_host_is_ended_if_its_watchdog_there_is_killed(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    hosts = lab(in_own_folder("temporary"), ("a",))
    machine = RemoteMachine("a", HostEntry(ssh="host-a"))

    try:
        running = machine.start(job(tmp_path, "/bin/sleep", "1000"))
        watchdog = min(pid for pid, words in hosts.processes("a").items() if "connected" in words)
        os.kill(watchdog, signal.SIGKILL)
        until(running.poll, "the harness sees it")
        assert (running.poll() or ProcessEnd(exit_status=0)).exit_status != 0
        until(lambda: not hosts.processes("a"), "nothing is left on the host")
    finally:
        machine.close()
    assert list((tmp_path / "lab/temporary-a").iterdir()) == []


@pytest.mark.nightly
def test_full_disk_on_a_host_makes_the_run_fail_and_its_output_is_kept(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    def prepare(hosts: TwoHosts) -> None:
        full = hosts.folder / "full"
        full.mkdir()
        hosts.prepare["a"] = f"mount -t tmpfs -o size=256k none {full}"
        hosts.environment["a"]["TMPDIR"] = str(full)

    hosts = lab(prepare)

    # Many programs do not notice a write error and end without an error, as this command does because of `true`.
    code, said = bench(campaign(tmp_path, '["sh", "-c", "seq 1000000 2>/dev/null; true"]'), tmp_path)

    kept = manifest(tmp_path)
    assert (code, kept.status) == (1, "failed"), said
    assert kept.reason == "client: host a: the disk of its temporary folder is full, so the log may be cut off"
    assert (run_folder(tmp_path) / "client.log").read_text().startswith("1\n2\n3\n")
    until(lambda: not processes_left(hosts), "nothing is left")


def test_message_names_a_host_without_a_temporary_folder(lab: Callable[..., TwoHosts]) -> None:
    def prepare(hosts: TwoHosts) -> None:
        hosts.environment["a"]["TMPDIR"] = str(hosts.folder / "nothing-here")

    lab(prepare, ("a",))

    with pytest.raises(TachologError, match=r"host a: no temporary folder: .*nothing-here"):
        RemoteMachine("a", HostEntry(ssh="host-a"))


@pytest.mark.nightly
def test_logs_are_copied_completely_over_a_network_that_becomes_slow(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    hosts = lab()

    with start_bench(
        campaign(tmp_path, f'["sh", "-c", "seq 300000; echo written >&2; until test -e {tmp_path}/slow; do sleep 0.1; done"]'), tmp_path
    ) as process:
        until(lambda: any("until test" in words for words in hosts.processes("a").values()), "the client runs")
        hosts.slow_down("a", "1mbit")
        (tmp_path / "slow").touch()
        process.communicate(timeout=LIMIT_S)

    assert (manifest(tmp_path).status, manifest(tmp_path).reason) == ("ok", None)
    assert (run_folder(tmp_path) / "client.log").read_text() == "".join(f"{number}\n" for number in range(1, 300001))


@pytest.mark.nightly
def test_run_fails_and_leaves_no_process_if_the_link_breaks_during_the_copy_of_logs(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    hosts = lab(in_own_folder("temporary"))

    with start_bench(
        campaign(tmp_path, f'["sh", "-c", "seq 1000000; echo written >&2; until test -e {tmp_path}/slow; do sleep 0.1; done"]'), tmp_path
    ) as process:
        until(lambda: any("until test" in words for words in hosts.processes("a").values()), "the client runs")
        hosts.slow_down("a", "1mbit")
        (tmp_path / "slow").touch()
        until(lambda: any(path.stat().st_size for path in (tmp_path / "out").rglob("client.log")), "a part of the log is here")
        hosts.unplug("a")
        process.communicate(timeout=LIMIT_S)

    kept = manifest(tmp_path)
    assert (kept.status, (kept.reason or "").startswith("client: host a: ")) == ("failed", True), kept.reason
    until(lambda: not processes_left(hosts), "nothing is left")
    assert [*(tmp_path / "lab/temporary-a").iterdir(), *(tmp_path / "lab/temporary-b").iterdir()] == []


def test_host_with_a_changed_key_is_refused_with_the_message_of_ssh(lab: Callable[..., TwoHosts]) -> None:
    hosts = lab(start=("a",))
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", hosts.folder / "other")
    other = " ".join((hosts.folder / "other.pub").read_text().split()[:2])
    (hosts.folder / "known_hosts").write_text(f"[10.88.0.2]:2222 {other}\n")

    with pytest.raises(TachologError, match=r"^host a: Host key verification failed\.$"):
        RemoteMachine("a", HostEntry(ssh="host-a"))


def test_host_with_an_unknown_key_is_refused_without_a_question(lab: Callable[..., TwoHosts]) -> None:
    hosts = lab(start=("a",))
    (hosts.folder / "known_hosts").write_text("")
    settings = hosts.folder / "ssh_config"
    settings.write_text(settings.read_text().replace("StrictHostKeyChecking yes", "StrictHostKeyChecking ask"))

    with pytest.raises(TachologError, match=r"^host a: Host key verification failed\.$"):
        RemoteMachine("a", HostEntry(ssh="host-a"))


def test_unreachable_host_is_reported_in_one_line_that_quotes_ssh(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    lab(start=("a",))

    code, said = bench(campaign(tmp_path, '["seq", "3"]'), tmp_path)

    assert code == 2
    assert "tacholog: host b: ssh: connect to host 10.88.0.3 port 2222: Connection refused\n" in said


@pytest.mark.parametrize("place", ["-oProxyCommand=touch pwned", "--", "", "a b", "a;touch pwned", "$(touch pwned)", "a\nb", "user@-host\t", "`id`"])
def test_name_of_a_host_cannot_become_an_option_or_a_command(place: str) -> None:
    with pytest.raises(UnreadableInput, match=r"hosts\.a: ssh = "):
        check_hosts({"a": HostEntry(ssh=place)})


@pytest.mark.parametrize("place", ["lab-a", "user@lab-a.example.org", "ssh://user@10.0.0.2:2222", "user@fe80::1%eth0", "ssh://user@[::1]:22"])
def test_usual_names_of_hosts_are_accepted(place: str) -> None:
    check_hosts({"a": HostEntry(ssh=place)})


def test_missing_ssh_on_this_machine_is_reported_for_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(TachologError, match=r"^host a: ssh cannot be started: No such file or directory$"):
        RemoteMachine("a", HostEntry(ssh="host-a"))


def test_process_cannot_be_started_on_a_host_whose_connection_is_lost(tmp_path: Path, lab: Callable[..., TwoHosts]) -> None:
    hosts = lab(start=("a",))
    machine = RemoteMachine("a", HostEntry(ssh="host-a"))

    try:
        for pid in hosts.local_processes():
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(StartError, match=r"^host a: "):
            machine.start(job(tmp_path, "/bin/sleep", "1000"))
    finally:
        machine.close()
