"""Run a campaign on two hosts, with a server and a client. Find the processes that remain on the hosts afterwards."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

from tests.campaign.two_hosts import TwoHosts, missing
from tests.waiting import LIMIT_S

from tacholog.campaign.machines.machine import Job
from tacholog.runs.manifest import Manifest, read_manifest

HEAD = """
system = "coreutils"
tool = "seq"
repetitions = 1
hosts.a = { ssh = "host-a", address = "10.88.0.2" }
hosts.b = { ssh = "host-b", address = "10.88.0.3" }

[[runs]]
name = "pair"
deadline_s = 500
"""
SERVER = """
[[runs.processes]]
name = "server"
role = "sub"
host = "b"
command = ["sh", "-c", "echo listening; sleep 1000 & sleep 1000"]
ready = { output = "listening", deadline_s = 500 }
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
def missing_requirement() -> str:
    return missing()


def campaign(tmp_path: Path, command: str, server: str = SERVER) -> Path:
    path = tmp_path / "pairs.toml"
    path.write_text(HEAD + server + CLIENT.replace("COMMAND", command))
    return path


def start_bench(path: Path, tmp_path: Path) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "tacholog", "bench", str(path), "--output", str(tmp_path / "out")]
    return subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def bench(path: Path, tmp_path: Path) -> tuple[int, str]:
    with start_bench(path, tmp_path) as process:
        out, errors = process.communicate(timeout=LIMIT_S)
    return process.returncode, out + errors


def manifest(tmp_path: Path) -> Manifest:
    [path] = (tmp_path / "out").rglob("run.toml")
    return read_manifest(path)


def run_folder(tmp_path: Path) -> Path:
    [path] = (tmp_path / "out").rglob("run.toml")
    return path.parent


def processes_left(hosts: TwoHosts) -> dict[int, str]:
    """The processes on both hosts, and the ssh connections of the campaign on this machine."""
    return hosts.processes("a") | hosts.processes("b") | hosts.local_processes()


def in_own_folder(name: str) -> Callable[[TwoHosts], object]:
    """Return a function that gives each host a separate temporary folder, so that a test sees which files remain in this folder."""

    def prepare(hosts: TwoHosts) -> None:
        for host_name in "ab":
            folder = hosts.folder / f"{name}-{host_name}"
            folder.mkdir()
            hosts.environment[host_name]["TMPDIR"] = str(folder)

    return prepare


def job(folder: Path, *argv: str) -> Job:
    return Job(name="job", argv=argv, program=argv[0], folder=folder, log="job.log", errors="job.err")


def set_login_shell(hosts: TwoHosts, shell: str) -> None:
    users = Path("/etc/passwd").read_text().splitlines()
    changed = [f"{user.rpartition(':')[0]}:{shell}" if user.startswith("root:") else user for user in users]
    (hosts.folder / "passwd").write_text("\n".join(changed) + "\n")
    hosts.mounts["a"]["/etc/passwd"] = hosts.folder / "passwd"
