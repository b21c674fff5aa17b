"""A connection to a host by the program ``ssh``. A shell on the host executes the requests of the harness.

Nothing is installed on the host. ``ssh`` starts ``sh`` on the host, which reads the text of ``watchdog.sh`` from the connection. Ports, keys, jump
hosts and host keys are those of the user's ssh configuration. ssh never asks questions, because a campaign may run unattended.

While processes run, the harness sends a short line (a beat) every `PERIOD_S` seconds, and the host answers it. If the host receives nothing for
`_REMOTE_LIMIT_S` seconds, it ends all processes. If the harness receives nothing for `_LIMIT_S` seconds, it regards the connection as lost.
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import secrets
import select
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, cast

from tacholog.errors import TachologError, UnreadableInput
from tacholog.visible import drawn_in_line

PERIOD_S = 4
# The host checks this limit every PERIOD_S seconds, and then ends all processes within 3 seconds. So they end after at most 23 seconds.
_REMOTE_LIMIT_S = 16
_LIMIT_S = 20.0
_FIRST_BEAT_S = 1.0  # if a process runs longer than this, its resources are sampled at least once
_CONNECT_TIMEOUT_S = 10
_OPEN_TIMEOUT_S = 40.0  # long enough for the login, and for a slow start of the login shell
_CLOSE_TIMEOUT_S = 6.0
_STREAM_END_TIMEOUT_S = 3.0  # how long the harness waits for the rest of ssh's output after ssh has ended
_LONGEST_LINE = 2**20  # the largest length of a line of an answer, in bytes; a broken or hostile host must not fill the memory
_READ_BYTES = 2**13
_ANSWER_LIMIT_S = 60.0  # the wait for the answer to a request, or for the next part of a chunk, if the host still answers beats
_MOST_ANSWERS = 16  # the longest queue of answers; only one request is pending at a time, so a host that sends more is broken or hostile
_LAST_ERROR_BYTES = 4096
_WATCHDOG = Path(__file__).with_name("watchdog.sh")
# Destinations for ssh. The user's configuration may insert them into a shell command (ProxyCommand), so special characters of a shell are forbidden.
_DESTINATION = re.compile(r"(?:ssh://)?[A-Za-z0-9_][A-Za-z0-9_.@:%+/\[\]-]{0,252}", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,15}")  # with at most 15 digits, a number of KiB fits into 64 bits after its conversion to bytes
_OPTIONS = (
    *("-T", "-x", "-a"),
    *("-o", "BatchMode=yes", "-o", f"ConnectTimeout={_CONNECT_TIMEOUT_S}"),
    # ssh itself also ends a dead connection, because the harness may have been killed. While the host answers, this sends nothing.
    *("-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=2"),
    # If the user's configuration forwards a port, a second connection could not use the same port. So nothing is forwarded.
    *("-o", "ClearAllForwardings=yes", "-o", "RemoteCommand=none"),
)


class ConnectionLost(TachologError):
    """A connection broke, or a host no longer answers. The message quotes ssh."""


def check_destination(name: str, destination: str) -> None:
    """Refuse the value of ``ssh = ...`` in a campaign if it is not the name of a host.

    Args:
        name: the name of the host in the campaign.
        destination: the destination for ssh.
    """
    if not _DESTINATION.fullmatch(destination):
        raise UnreadableInput(
            f"hosts.{name}: ssh = {destination!r} is not the name of a host: use user@host or a name from the ssh configuration; "
            "put options into that configuration"
        )


def whole_number(word: str) -> int | None:
    """Return the number in an answer; ``None`` if the answer is no number.

    ``str.isdigit`` is not used, because it accepts other digits too, such as a superscript 2.
    """
    return int(word) if _NUMBER.fullmatch(word) else None


def quoted(words: Sequence[str]) -> str:
    """Return words as one line that a POSIX shell splits into the same words."""
    return " ".join("'" + word.replace("'", "'\\''").replace("\n", "'\"$nl\"'") + "'" for word in words)


class Connection:
    """A connection. One thread sends the requests, a second thread reads the answers, and a third thread sends the beats and checks the timeouts."""

    def __init__(self, name: str, destination: str, on_event: Callable[[list[str]], object]) -> None:
        """Connect, and start the watchdog.

        Args:
            name: the name of the host in the campaign, for messages.
            destination: the destination for ssh.
            on_event: called for each line of the host that is about a process or a check. The argument is the list of the words of this line. At the
                end, the argument is only the word ``lost``. The calls come from another thread.

        Raises:
            ConnectionLost: there is no connection, or the host has no temporary folder.
        """
        check_destination(name, destination)
        self._name, self._on_event = name, on_event
        self._mark = f"tacholog-{secrets.token_hex(8)}"
        self._answers: queue.Queue[list[str] | bytes | None] = queue.Queue()
        self._errors = b""
        self._writing = threading.Lock()
        self._expected_bytes = 0  # the size of the next chunk
        self._is_waiting = False  # whether a thread is waiting for an answer
        self._progress = 0.0  # the time of the request, or of the last part of its answer
        self._reason: str | None = None
        self._is_closing = False
        self._has_ended = threading.Event()
        self._beats_at = 0.0
        self._last_answer = time.monotonic()
        try:
            self._ssh = self._start(destination)
        except OSError as error:
            raise ConnectionLost(f"host {name}: ssh cannot be started: {error.strerror}") from error
        self._stdin, self._stdout, self._stderr = (cast("IO[bytes]", stream) for stream in (self._ssh.stdin, self._ssh.stdout, self._ssh.stderr))
        os.set_blocking(self._stdin.fileno(), False)  # a beat must never wait for the host
        self._error_reader = self._thread(self._read_errors)
        self._reader = self._thread(self._read_answers)  # started last: at its end, this thread waits for the other thread
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _thread(self, work: Callable[[], object]) -> threading.Thread:
        thread = threading.Thread(target=work, name=f"ssh {self._name}", daemon=True)
        thread.start()
        return thread

    def _start(self, destination: str) -> subprocess.Popen[bytes]:
        # The user's login shell may be any shell, even csh or fish. All of them understand this command, because its quoted text contains no single
        # quotation mark, exclamation mark, backslash or newline.
        script = self._script()
        command = f"sh -c 'echo {self._mark} connected; eval \"$(dd bs=1 count={len(script)} 2>/dev/null)\"'"
        return subprocess.Popen(
            ["ssh", *_OPTIONS, "--", destination, command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # so that Ctrl-C reaches only the harness, which then ends the processes in order; and ssh cannot ask questions
        )

    def _script(self) -> bytes:
        return f"mark={self._mark}\nperiod={PERIOD_S}\nlimit={_REMOTE_LIMIT_S}\n{_WATCHDOG.read_text(encoding='utf-8')}".encode()

    def _open(self) -> None:
        self._expect("connected")
        self._write(self._script())  # not sent before "connected" arrives, because a start file of the login shell might read a part of it
        self._expect("watching")
        self.beat_soon()
        self._thread(self._send_beats_and_check_timeouts)

    def beat_soon(self) -> None:
        """Send the next beat in about a second.

        The host samples the resources of its processes at each beat, and a process has just started.
        """
        self._beats_at = time.monotonic() + _FIRST_BEAT_S

    def send(self, *words: str) -> None:
        """Send a request that has no answer, or whose answer is an event."""
        self._write(quoted(words).encode() + b"\n")

    def request(self, *words: str) -> list[str]:
        """Send a request, and return the words of its answer.

        Raises:
            ConnectionLost: no answer arrived.
        """
        answer = self._answer_to(*words)
        return answer if isinstance(answer, list) else []

    def chunk(self, file: str, block: int, block_bytes: int, expected_bytes: int) -> bytes:
        """Return one block of a file in the folder on the host.

        Raises:
            ConnectionLost: the block did not arrive.
        """
        self._expected_bytes = expected_bytes
        content = self._answer_to("chunk", file, str(block), str(block_bytes))
        return content if isinstance(content, bytes) else b""

    def _answer_to(self, *words: str) -> list[str] | bytes:
        self._progress, self._is_waiting = time.monotonic(), True
        self.send(*words)
        return self._next_answer(None)

    def _expect(self, word: str) -> None:
        words = self._next_answer(_OPEN_TIMEOUT_S)
        if words == [word]:
            return
        reason = " ".join(words[1:]) if isinstance(words, list) and words[:1] == ["refused"] else "it sent an unexpected answer"
        raise ConnectionLost(f"host {self._name}: {drawn_in_line(reason)[:300]}")

    def _next_answer(self, timeout_s: float | None) -> list[str] | bytes:
        try:
            answer = self._answers.get(timeout=timeout_s)
        except queue.Empty:
            answer = None
            self._lose(f"no answer within {timeout_s:g} s")
        self._is_waiting = False
        if answer is None:
            self._answers.put(None)  # wakes the next thread that waits for an answer; its request fails too
            raise ConnectionLost(self.reason)
        return answer

    @property
    def reason(self) -> str:
        """Return the reason why the connection is lost, for a message."""
        return f"host {self._name}: {self._reason or 'the connection is closed'}"

    def close(self) -> None:
        """Close the connection. The host then ends its processes, removes its folder, and ends the connection."""
        self._is_closing = True
        self._close_stdin()
        self._reader.join(_CLOSE_TIMEOUT_S)
        if self._ssh.poll() is None:
            self._ssh.kill()
        self._ssh.wait()
        self._reader.join(_STREAM_END_TIMEOUT_S)
        for thread, stream in ((self._reader, self._stdout), (self._error_reader, self._stderr)):
            # If the thread still runs, the stream stays open, because another program uses it, such as an ssh process that shares its connection.
            if not thread.is_alive():
                stream.close()

    def _close_stdin(self) -> None:
        with self._writing, contextlib.suppress(OSError):
            self._stdin.close()

    def _write(self, text: bytes) -> None:
        with self._writing, contextlib.suppress(BrokenPipeError):  # ssh has ended; its error output states the reason
            while text and not self._stdin.closed:
                select.select([], [self._stdin], [])
                text = text[os.write(self._stdin.fileno(), text) :]

    # The methods below run in the threads that this object has started.

    def _send_beats_and_check_timeouts(self) -> None:
        while not self._has_ended.wait(min(max(0.0, self._beats_at - time.monotonic()), 1.0)):
            now = time.monotonic()
            if now >= self._beats_at and not self._is_closing:
                self._beats_at = now + PERIOD_S
                self._beat()
            if now - self._last_answer > _LIMIT_S:
                self._lose(f"it has not answered for {_LIMIT_S:g} s")
            elif self._is_waiting and now - self._progress > _ANSWER_LIMIT_S:
                self._lose(f"it has not answered a request for {_ANSWER_LIMIT_S:g} s")

    def _beat(self) -> None:
        """Send a beat to the host, which shows that this side still runs.

        No beat is sent while a request is being written or while the pipe is full, because this thread must never wait for the host.
        """
        if self._writing.acquire(blocking=False):
            try:
                if not self._stdin.closed:
                    os.write(self._stdin.fileno(), b"beat\n")
            except (BlockingIOError, BrokenPipeError):
                pass
            finally:
                self._writing.release()

    def _read_answers(self) -> None:
        while self._reason is None and (line := self._stdout.readline(_LONGEST_LINE)):
            if len(line) == _LONGEST_LINE and not line.endswith(b"\n"):
                self._lose("it sent a line without an end")
            mark, _, text = line.decode("utf-8", "replace").rstrip("\n").partition(" ")
            if mark == self._mark:  # other lines do not count as answers, because any program may print them
                self._last_answer = time.monotonic()
                self._dispatch(text.split())
            if self._answers.qsize() > _MOST_ANSWERS:
                self._lose("it sent answers without a request")
        self._lose(self._end_reason())
        self._close_stdin()

    def _dispatch(self, words: list[str]) -> None:
        match words:
            case ["alive"] | []:
                pass
            case ["ended" | "checked", *_]:
                self._on_event(words)
            case ["started", *_]:
                self._on_event(words)
                self._answers.put(words)
            case ["data"]:
                self._read_chunk()
            case _:
                self._answers.put(words)

    def _read_chunk(self) -> None:
        chunk = b""
        while len(chunk) < self._expected_bytes and (part := self._stdout.read(min(_READ_BYTES, self._expected_bytes - len(chunk)))):
            chunk += part
            # Each part of the chunk shows that the host still answers, even over a slow network.
            self._last_answer = self._progress = time.monotonic()
        if len(chunk) == self._expected_bytes:  # otherwise the connection has ended before the chunk was complete
            self._expected_bytes = 0
            self._answers.put(chunk)

    def _read_errors(self) -> None:
        while part := os.read(self._stderr.fileno(), _READ_BYTES):
            self._errors = (self._errors + part)[-_LAST_ERROR_BYTES:]

    def _end_reason(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._ssh.wait(1.0)
        self._error_reader.join(1.0)
        lines = [line.strip() for line in self._errors.decode("utf-8", "replace").splitlines() if line.strip()]
        if lines:
            return drawn_in_line(lines[-1])[:300]
        return f"ssh ended with exit code {self._ssh.returncode} and without a message"

    def _lose(self, reason: str) -> None:
        """Store the first reason why the connection ended, end ssh, and wake the thread that waits for an answer."""
        if self._reason is None:
            self._reason = reason
            self._has_ended.set()
            if not self._is_closing and self._ssh.poll() is None:
                self._ssh.kill()
            self._answers.put(None)
            self._on_event(["lost"])
