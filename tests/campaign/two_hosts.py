"""Two hosts for tests, ``a`` and ``b``, each with an sshd, and a switch between them and the harness.

Hosts and switch are network namespaces, which are removed at the end. Their names contain the process id, so several tests can run at the same time.
Each host also has a mount namespace with its own ``/run``. A test can request another boot id, login shell or ``/bin/sh`` for a host.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.waiting import LIMIT_S, until

#: The required programs (Debian: openssh-server, openssh-client, iproute2, util-linux).
PROGRAMS = ("ip", "ssh", "sshd", "ssh-keygen", "unshare", "mount", "tc")
ADDRESSES = {"a": "10.88.0.2", "b": "10.88.0.3"}
PORT = 2222
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_numbers = itertools.count(1)


def missing() -> str:
    """Return the program or right that this machine lacks, or an empty text if it lacks none."""
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    lacking = [program for program in PROGRAMS if shutil.which(program, path=path) is None]
    if lacking:
        return f"the program {lacking[0]}"
    if os.geteuid() != 0:
        return "root, to make network namespaces"
    name = f"tacho{os.getpid()}try"
    done = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if done.returncode:
        return f"the right to make network namespaces ({done.stderr.strip()})"
    run("ip", "netns", "del", name)
    return ""


def run(*words: str | Path) -> str:
    """Run a command, and return what it prints. Check that the command succeeds."""
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


class TwoHosts:
    """The two hosts. ``mounts`` names files that replace others on a host: ``{"a": {"/etc/passwd": path}}``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._name = f"tacho{os.getpid()}n{next(_numbers)}"
        self.lab = f"{self._name}lab"
        self.environment: dict[str, dict[str, str]] = {"a": {}, "b": {}}
        self.mounts: dict[str, dict[str, Path]] = {"a": {}, "b": {}}
        self.prepare: dict[str, str] = {"a": "", "b": ""}
        self._started: list[subprocess.Popen[bytes]] = []
        for place in (self.lab, *map(self.space, ADDRESSES)):
            run("ip", "netns", "add", place)
            run("ip", "-n", place, "link", "set", "lo", "up")
        run("ip", "-n", self.lab, "link", "add", "switch", "type", "bridge")
        run("ip", "-n", self.lab, "addr", "add", "10.88.0.1/24", "dev", "switch")
        run("ip", "-n", self.lab, "link", "set", "switch", "up")
        for host, address in ADDRESSES.items():
            run("ip", "link", "add", "eth0", "netns", self.space(host), "type", "veth", "peer", "name", f"port-{host}", "netns", self.lab)
            run("ip", "-n", self.space(host), "addr", "add", f"{address}/24", "dev", "eth0")
            run("ip", "-n", self.space(host), "link", "set", "eth0", "up")
            run("ip", "-n", self.lab, "link", "set", f"port-{host}", "master", "switch", "up")
        for key in ("user", "host"):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key)
        known = " ".join((folder / "host.pub").read_text().split()[:2])
        (folder / "known_hosts").write_text("".join(f"[{address}]:{PORT} {known}\n" for address in ADDRESSES.values()))
        self.bin = folder / "bin"
        self.bin.mkdir()
        self._write_client()

    def space(self, host: str) -> str:
        return f"{self._name}{host}"

    def _write_client(self) -> None:
        """Write the program ``ssh`` that the harness calls, and the configuration of ssh.

        The program starts the real ssh in the network of the harness, with this configuration.
        """
        names = "".join(f"Host host-{host}\n  HostName {address}\n" for host, address in ADDRESSES.items())
        general = f"Host *\n  Port {PORT}\n  User root\n  IdentityFile {self.folder / 'user'}\n  IdentitiesOnly yes\n  IdentityAgent none\n"
        known = f"  UserKnownHostsFile {self.folder / 'known_hosts'}\n  GlobalKnownHostsFile none\n  StrictHostKeyChecking yes\n"
        (self.folder / "ssh_config").write_text(names + general + known)
        client = self.bin / "ssh"
        client.write_text(f'#!/bin/sh\nexec ip netns exec {self.lab} {shutil.which("ssh")} -F {self.folder / "ssh_config"} "$@"\n')
        client.chmod(0o755)

    def start(self, *hosts: str) -> None:
        """Start these hosts, or both hosts if none is named. Wait until the sshd of each host answers."""
        for host in hosts or ADDRESSES:
            self._start_sshd(host)
        for host in hosts or ADDRESSES:
            until(lambda host=host: self._listens(host), f"the sshd of {host} listens")  # type: ignore[misc]

    def _listens(self, host: str) -> bool:
        return any(f":{PORT:04X} 00000000:0000 0A" in _read(f"/proc/{pid}/net/tcp").decode() for pid in _within(self.space(host)))

    def _start_sshd(self, host: str) -> None:
        home = self.folder / f"home-{host}"  # A separate home, because some login shells write into it.
        home.mkdir(exist_ok=True)
        variables = {"PATH": _PATH, "HOME": str(home), **self.environment[host]}
        (self.folder / f"sshd_config-{host}").write_text(
            f"Port {PORT}\nListenAddress {ADDRESSES[host]}\nHostKey {self.folder / 'host'}\nPidFile none\n"
            f"AuthorizedKeysFile {self.folder / 'user.pub'}\n"
            "StrictModes no\nUsePAM no\nPermitRootLogin prohibit-password\nPasswordAuthentication no\nMaxStartups 100\n"
            f"SetEnv {' '.join(f'{name}={value}' for name, value in variables.items())}\n"
        )
        # /run is hidden: sshd needs a folder in it, and a chronyd of this machine must not answer for the hosts.
        steps = ["mount -t tmpfs none /run", "mkdir -m 755 /run/sshd", self.prepare[host]]
        steps += [f"mount --bind {source} {target}" for target, source in self.mounts[host].items()]
        steps.append(f"exec {shutil.which('sshd', path=_PATH)} -D -e -f {self.folder / f'sshd_config-{host}'}")
        script = " && ".join(step for step in steps if step)
        words = ["ip", "netns", "exec", self.space(host), "unshare", "-m", "sh", "-c", script]
        with (self.folder / f"sshd-{host}.txt").open("ab") as log:
            self._started.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True))

    def processes(self, host: str) -> dict[int, str]:
        """Return the command line of each process, without sshd."""
        return {pid: words for pid, words in _commands(self.space(host)).items() if words and "sshd" not in words.split()[0]}

    def local_processes(self) -> dict[int, str]:
        return _commands(self.lab)

    def unplug(self, host: str) -> None:
        run("ip", "-n", self.lab, "link", "set", f"port-{host}", "down")

    def plug(self, host: str) -> None:
        run("ip", "-n", self.lab, "link", "set", f"port-{host}", "up")

    def slow_down(self, host: str, rate: str) -> None:
        run("tc", "-n", self.space(host), "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", rate, "burst", "16kb", "latency", "50ms")

    def start_clock(self, host: str, *settings: str) -> None:
        """Start a chronyd with these settings on a host. This chronyd measures the clock, but does not adjust it."""
        chronyd = shutil.which("chronyd", path=_PATH)
        assert chronyd is not None
        file = self.folder / f"chrony-{host}.conf"
        # The command port of this chronyd is open only in the network of the host. It has no socket in /run, because /run belongs to the machine.
        file.write_text("\n".join((*settings, "bindcmdaddress 127.0.0.1", "bindcmdaddress /", f"pidfile {self.folder}/chrony-{host}.pid", "")))
        words = self.within(host, chronyd, "-x", "-d", "-u", "root", "-f", file)
        with (self.folder / f"chrony-{host}.txt").open("wb") as log:
            self._started.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True))

    def clock(self, host: str) -> str:
        return subprocess.run(self.within(host, "chronyc", "-h", "127.0.0.1", "-c", "tracking"), capture_output=True, text=True, check=False).stdout

    def within(self, host: str, *words: str | Path) -> list[str]:
        return ["ip", "netns", "exec", self.space(host), *map(str, words)]

    def close(self) -> None:
        spaces = (self.lab, *map(self.space, ADDRESSES))
        for space in spaces:
            for pid in _within(space):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for process in self._started:
            process.wait(LIMIT_S)
        for space in spaces:
            run("ip", "netns", "del", space)


def _within(space: str) -> list[int]:
    """Return the ids of the processes in a network namespace. Unlike ``ip netns pids``, this function starts no process."""
    wanted, found = Path(f"/run/netns/{space}").stat().st_ino, []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # The process ended.
            if (folder / "ns/net").stat().st_ino == wanted:
                found.append(int(folder.name))
    return found


def _commands(space: str) -> dict[int, str]:
    return {pid: _read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").decode(errors="replace").strip() for pid in _within(space)}


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:  # The process ended.
        return b""


@contextlib.contextmanager
def two_hosts(folder: Path, prepare: Callable[[TwoHosts], object] = lambda _: None, start: Sequence[str] = ("a", "b")) -> Iterator[TwoHosts]:
    """Yield two hosts, and remove them at the end. ``prepare`` is called before the hosts in ``start`` are started."""
    hosts = TwoHosts(folder)
    try:
        prepare(hosts)
        if start:
            hosts.start(*start)
        yield hosts
    finally:
        hosts.close()
