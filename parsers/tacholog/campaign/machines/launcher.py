"""Start one process of a run, wait for it, and report its resources. `tacholog.campaign.machines.local` runs this file as a separate program.

It exists because the kernel initialises the peak memory of a child process with that of its parent: if a harness of 300 MB started ``true``, the peak
of ``true`` would be 300 MB. So this file imports as little as possible, and nothing from Tacholog.

Arguments: the number of the file descriptor for reports, the seconds between SIGTERM and SIGKILL, the path of the program, and its argv.
The process inherits the standard output, standard error, folder and environment of this program. Its standard input is empty.
Nothing is written to the standard input of this program. When it closes, the process and its children are ended. The harness closes it to end the
process, and the kernel closes it if the harness is killed.

Reports are lines:
    started PID                         the process itself writes this line before it executes the program, so that the harness always knows its PID
    running                             the program is executed
    failed ERRNO                        the program could not be executed; this is the last line
    ended STATUS DURATION_NS USER_NS SYSTEM_NS PEAK_KIB FLOOR_KIB VOLUNTARY INVOLUNTARY LEFT
STATUS is the exit status, or the negative number of a signal, or ``-`` if even SIGKILL did not end the process. FLOOR_KIB is the peak memory of a
process that failed to execute its program: a peak of about this size may be that of this launcher. LEFT is the number of processes that could not be
ended.
"""

import _signal  # type: ignore[import-not-found] # the module signal costs memory
import ctypes
import os
import resource
import select
import sys
import time

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_RESTORED = (_signal.SIGPIPE, _signal.SIGXFSZ)  # Python ignores these signals, and child processes would inherit this. So they are reset.
_POLL_S = 0.005
_KILL_S = 5.0


class _Usage:
    def __init__(self) -> None:
        self.user_s = self.system_s = 0.0
        self.peak_kib = self.voluntary = self.involuntary = 0

    def add(self, usage: resource.struct_rusage) -> None:
        self.user_s += usage.ru_utime
        self.system_s += usage.ru_stime
        self.peak_kib = max(self.peak_kib, usage.ru_maxrss)
        self.voluntary += usage.ru_nvcsw
        self.involuntary += usage.ru_nivcsw


def _fork(libc: ctypes.CDLL, program: str, argv: list[str], report: int = -1) -> tuple[int, int]:
    """Start the program in a new session. Return its process id, and 0 or the error number if it could not be executed."""
    reader, writer = os.pipe()  # The child closes the pipe when it executes the program.
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            libc.prctl(_PR_SET_PDEATHSIG, _signal.SIGKILL, 0, 0, 0)  # The kernel kills the process if the launcher is killed.
            if os.getppid() != parent:
                os._exit(1)
            for number in _RESTORED:
                _signal.signal(number, _signal.SIG_DFL)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            if report >= 0:
                os.write(report, f"started {os.getpid()}\n".encode())
            os.execv(program, argv)  # noqa: S606 - no shell is wanted
        except OSError as error:
            os.write(writer, str(error.errno).encode())
        finally:
            os._exit(127)
    os.close(writer)
    refused = os.read(reader, 16)
    os.close(reader)
    return pid, int(refused or 0)


def _children() -> list[int]:
    """Return the child processes and the orphans. This process is a subreaper, so orphans become its children."""
    children, own_pid = [], os.getpid()
    for name in os.listdir("/proc"):  # noqa: PTH208 - as below
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - pathlib costs memory
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == own_pid:
                children.append(int(name))
    return children


def _send(pids: list[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:  # the process has ended, or it belongs to another user
            continue


def _send_to_group(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except OSError:
        return


def _has_ended(pid: int) -> bool:
    """Return whether a process has ended. The process is not reaped, so that the kernel cannot give its number to another process group."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _sleep_until_ended(pid: int, give_up: float) -> bool:
    while not _has_ended(pid):
        if time.monotonic() > give_up:
            return False
        time.sleep(_POLL_S)
    return True


def _wait(pid: int, stdin: int) -> bool:
    """Sleep until the process has ended or standard input closes. Return whether the process ended by itself."""
    reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    _signal.set_wakeup_fd(writer)
    _signal.signal(_signal.SIGCHLD, lambda _number, _frame: None)  # without this handler, Python would write nothing into the pipe when a child ends
    watched = select.poll()
    watched.register(reader, select.POLLIN)
    watched.register(stdin, select.POLLIN | select.POLLHUP)
    while not _has_ended(pid):
        if any(descriptor == stdin for descriptor, _ in watched.poll()) and not os.read(stdin, 1):
            return _has_ended(pid)
        try:
            os.read(reader, 512)
        except BlockingIOError:
            continue
    return True


def _end_children(used: _Usage, give_up: float) -> int:
    """End the remaining child processes, and return how many could not be ended."""
    asked: set[int] = set()
    killed_until = max(give_up, time.monotonic()) + _KILL_S
    while True:
        try:
            pid, _, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return 0
        if pid:
            used.add(usage)
            continue
        left = _children()
        now = time.monotonic()
        if now > killed_until:
            return len(left)
        _send([pid for pid in left if pid not in asked] if now < give_up else left, _signal.SIGTERM if now < give_up else _signal.SIGKILL)
        asked.update(left)
        time.sleep(_POLL_S)


def main() -> None:
    """Start the process, wait for its end, and report it."""
    report, grace_s, program, argv = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3], sys.argv[4:]
    os.set_inheritable(report, False)
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    nothing, _ = _fork(libc, "", argv)
    floor = os.wait4(nothing, 0)[2]
    pid, refused = _fork(libc, program, argv, report)
    if refused:
        os.write(report, f"failed {refused}\n".encode())
        return
    for number in (_signal.SIGINT, _signal.SIGHUP, _signal.SIGTERM):
        _signal.signal(number, _signal.SIG_IGN)  # these signals do not stop the launcher; only the end of its standard input does
    os.write(report, b"running\n")
    start_ns = time.monotonic_ns()
    is_over = _wait(pid, 0)
    give_up = time.monotonic() + (grace_s if is_over else 0)
    if not is_over:
        _send_to_group(pid, _signal.SIGTERM)
        if not _sleep_until_ended(pid, time.monotonic() + grace_s):
            _send_to_group(pid, _signal.SIGKILL)
            _sleep_until_ended(pid, time.monotonic() + _KILL_S)
    duration_ns = time.monotonic_ns() - start_ns
    used, status = _Usage(), "-"
    if _has_ended(pid):
        _send_to_group(pid, _signal.SIGTERM)
        _, code, usage = os.wait4(pid, 0)
        used.add(usage)
        status = str(os.waitstatus_to_exitcode(code))
    left = _end_children(used, give_up)
    times = f"{duration_ns} {round(used.user_s * 1e9)} {round(used.system_s * 1e9)}"
    os.write(report, f"ended {status} {times} {used.peak_kib} {floor.ru_maxrss} {used.voluntary} {used.involuntary} {left}\n".encode())


if __name__ == "__main__":
    main()
