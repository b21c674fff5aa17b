"""Run ``tacholog`` in a separate process, as a user does, but without waiting for the imports of pandas and Sphinx.

A helper process imports these libraries once and forks for each call. The forked process runs ``python -m tacholog`` with the arguments, folder,
environment and streams of the call, and ends like any program. If a call sets ``PYTHONPATH``, its paths are searched first. If a call sets another
variable that Python reads only at its start, a new Python is started instead. Tests of imports, signals and streams also start their own processes.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

if __name__ != "__main__":  # This file is also a program, which cannot import the other files of the tests.
    from tests.waiting import LIMIT_S

#: Modules that the commands import in addition to those of the package, if installed.
IMPORTED = (
    *("pandas", "duckdb", "hypothesis", "scipy.stats"),
    *("sphinx.cmd.build", "sphinx.builders.html", "sphinx.ext.doctest", "myst_parser.sphinx_ext.main", "pydata_sphinx_theme", "a11y_pygments"),
    *("sphinx_copybutton", "plotly.graph_objects"),
)
# Python and libraries read these variables only at their start. Each entry is the beginning of a name.
READ_AT_THE_START = ("PYTHON", "OPENBLAS_", "OMP_")
ANSWER_BYTES = 64
STREAMS = 3
#: Name of an environment variable of a call. The clock of the command is ahead by this number of seconds, so that new files look old.
CLOCK_AHEAD_S = "TACHOLOG_TESTS_CLOCK_AHEAD_S"
#: Name of an environment variable of a call. Its value is the name of a file with a number of seconds. The command uses this number as its clock for
#: time-outs. It reads the file again only if it waits for an event and no event happens.
CLOCK_FILE = "TACHOLOG_TESTS_CLOCK_FILE"
LOOK_S = 0.02


def run_tacholog(
    *arguments: str | Path,
    cwd: Path | None = None,
    environment: dict[str, str] | None = None,
    prefix: tuple[str, ...] = (),
    stdin: bytes = b"",
) -> subprocess.CompletedProcess[bytes]:
    """Run the command line and return its exit code (negative: the signal that killed it) and its streams as bytes.

    Args:
        arguments: the arguments after ``tacholog``.
        cwd: the working folder; by default the current folder of the test, which is never the checkout.
        environment: variables to change; all other variables have the values of this process.
        prefix: words before the command, such as ``setpriv --bounding-set -dac_override``.
        stdin: the standard input of the command.

    Raises:
        subprocess.TimeoutExpired: the command hung, and was killed.
    """
    words = [sys.executable, "-m", "tacholog", *map(str, arguments)]
    folder = str(cwd or Path.cwd())
    changed = environment or {}
    is_alone = not hasattr(os, "fork") or any(name.startswith(READ_AT_THE_START) for name in changed if name != "PYTHONPATH")
    if is_alone:
        return subprocess.run([*prefix, *words], cwd=folder, env=os.environ | changed, input=stdin, capture_output=True, timeout=LIMIT_S, check=False)
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(STREAMS)]
        files[0].write(stdin)
        files[0].seek(0)
        request: dict[str, object] = {"arguments": words[3:], "cwd": folder, "environment": {**os.environ, **changed}}
        code = _call(_server(prefix), request, [file.fileno() for file in files])
        for file in files[1:]:
            file.seek(0)
        return subprocess.CompletedProcess(words, code, files[1].read(), files[2].read())


def run_tacholog_text(
    *arguments: str | Path,
    cwd: Path | None = None,
    environment: dict[str, str] | None = None,
    prefix: tuple[str, ...] = (),
) -> subprocess.CompletedProcess[str]:
    done = run_tacholog(*arguments, cwd=cwd, environment=environment, prefix=prefix)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def _call(server: socket.socket, request: dict[str, object], streams: list[int]) -> int:
    with tempfile.TemporaryFile() as file:  # The request is in a file, because messages between processes are limited in size.
        file.write(json.dumps(request).encode())
        file.flush()
        socket.send_fds(server, [b"r"], [file.fileno(), *streams])
    pid = int(server.recv(ANSWER_BYTES))
    server.settimeout(LIMIT_S)
    try:
        return os.waitstatus_to_exitcode(int(server.recv(ANSWER_BYTES)))
    except TimeoutError:
        os.kill(pid, signal.SIGKILL)
        server.settimeout(None)
        server.recv(ANSWER_BYTES)
        raise subprocess.TimeoutExpired(str(request["arguments"]), LIMIT_S) from None
    finally:
        server.settimeout(None)


@functools.cache
def _server(prefix: tuple[str, ...]) -> socket.socket:
    """The server ends when its connection is closed, at the latest at the end of this process."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        words = [*prefix, sys.executable, __file__, str(theirs.fileno())]
        process = subprocess.Popen(words, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


def _requests(connection: socket.socket) -> Iterator[tuple[dict[str, object], list[int]]]:
    while True:
        message, descriptors, _flags, _address = socket.recv_fds(connection, 1, 1 + STREAMS)
        if not message:
            return
        with os.fdopen(descriptors[0], "rb") as file:
            file.seek(0)
            yield json.load(file), descriptors[1:]


def _serve(connection: socket.socket) -> None:
    """Fork for each request until the connection is closed. The forked process runs the command and never returns."""
    del sys.path[0]  # The folder of this file.
    # Libraries must not start threads when they are imported, because a forked process would not have these threads.
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ[name] = "1"
    package = importlib.import_module("tacholog")
    own = [found.name for found in pkgutil.walk_packages(package.__path__, "tacholog.") if not found.name.endswith(("__main__", ".preloaded"))]
    for module in (*IMPORTED, *own):
        with contextlib.suppress(Exception):  # The library is missing or broken: the command that needs it reports this.
            importlib.import_module(module)
    gc.freeze()  # Otherwise, the garbage collector would make a forked process copy all imported objects.
    for request, streams in _requests(connection):
        pid = os.fork()
        if pid == 0:
            connection.close()
            _run(request, streams)
        connection.send(str(pid).encode())
        for stream in streams:
            os.close(stream)
        connection.send(str(os.waitpid(pid, 0)[1]).encode())


def _stand_still(file: Path) -> None:
    """Replace the clock of this process by one that reads its time from a file. It reads the file only if no event is waiting."""
    begin, wait = time.monotonic(), select.select
    now = begin

    def waited(reading: list[int], writing: list[int], failing: list[int], timeout: float = LOOK_S) -> tuple[list[int], ...]:
        nonlocal now
        moved = begin + float(file.read_text().strip() or 0) if file.exists() else begin
        found = wait(reading, writing, failing, min(timeout, LOOK_S))
        if not any(found):
            now = moved
        return found

    select.select = waited  # type: ignore[assignment]
    time.monotonic = lambda: now


def _run(request: dict[str, object], streams: list[int]) -> NoReturn:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(str(request["cwd"]))
    os.environ.clear()
    os.environ.update(request["environment"])  # type: ignore[call-overload]
    added = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and path not in sys.path]
    sys.path[:0] = ["", *added]  # Like `python -m`.
    sys.argv[1:] = request["arguments"]  # type: ignore[call-overload]
    if ahead_s := os.environ.pop(CLOCK_AHEAD_S, None):
        now = time.time_ns
        time.time_ns = lambda: now() + int(ahead_s) * 10**9
    if clock := os.environ.pop(CLOCK_FILE, None):
        _stand_still(Path(clock))
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    code: object = 0
    try:
        runpy.run_module("tacholog", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        code = ended.code
    except BaseException:  # noqa: BLE001 - as Python ends a program
        traceback.print_exc()
        code = 1
    with contextlib.suppress(OSError, ValueError):
        atexit._run_exitfuncs()  # noqa: SLF001 - without taking every imported module apart, which takes longer than most commands
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
