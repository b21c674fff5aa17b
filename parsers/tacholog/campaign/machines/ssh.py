"""One connection to a host, by the program ``ssh``, with a shell at its other end that does what the harness asks.

Nothing is installed there. ``ssh`` starts ``sh`` on the host, which reads the text of `watchdog.sh` from the connection. The user's ssh
configuration holds for ports, keys, jump hosts and host keys; ssh never asks anything, because nobody may be there to answer.

While processes run, one short line goes to the host every `PERIOD_S` seconds, and one comes back. If the host hears nothing for `_REMOTE_LIMIT_S`
seconds, it ends everything. If the harness hears nothing for `_LIMIT_S` seconds, the connection counts as lost.
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
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from tacholog.errors import TachologError, UnreadableInput
from tacholog.visible import drawn_in_line

PERIOD_S = 4
_REMOTE_LIMIT_S = 16  # The host looks every PERIOD_S seconds, and takes up to 3 seconds to end everything: all is gone after 23 seconds.
_LIMIT_S = 20.0
_FIRST_BEAT_S = 1.0  # Short processes are sampled at least once, if they last longer than this.
_CONNECT_TIMEOUT_S = 10
_OPEN_TIMEOUT_S = 40.0  # logging in, and a login shell that does much before it starts a command
_CLOSE_TIMEOUT_S = 6.0
_LONGEST_LINE = 2**20  # of what a host answers; a broken or hostile one must not fill the memory
_READ_BYTES = 2**16
_ANSWER_LIMIT_S = 60.0  # to a request, while the host answers beats; a part of a chunk is an answer
_MOST_WAITING = 16  # answers that nobody has taken yet. There is one request at a time, so a host that sends more is broken or hostile.
_KEPT_ERRORS = 4096
_WATCHDOG = Path(__file__).with_name("watchdog.sh")
# Names for ssh. The user's configuration may put them into a shell command (ProxyCommand), so no sign of a shell is allowed.
_PLACE = re.compile(r"(?:ssh://)?[A-Za-z0-9_][A-Za-z0-9_.@:%+/\[\]-]{0,252}", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,15}")  # even a number of KiB then fits into 64 bits as bytes
_OPTIONS = (
    *("-T", "-x", "-a"),
    *("-o", "BatchMode=yes", "-o", f"ConnectTimeout={_CONNECT_TIMEOUT_S}"),
    # A dead connection ends ssh itself too, in case the harness was killed. While answers come, these cause no traffic.
    *("-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=2"),
    # Forwarded ports of the user's configuration would be in use already for the second connection.
    *("-o", "ClearAllForwardings=yes", "-o", "RemoteCommand=none"),
)


class ConnectionLost(TachologError):
    """A connection that broke, or a host that no longer answers. The message says what ssh said."""


def check_place(name: str, place: str) -> None:
    """Refuse an ``ssh = ...`` of a campaign that is no name of a host.

    Args:
        name: the host's name in the campaign.
        place: what ssh is to connect to.
    """
    if not _PLACE.fullmatch(place):
        raise UnreadableInput(
            f"hosts.{name}: ssh = {place!r} is no name of a host: use user@host or a name from the ssh configuration; options belong into the latter"
        )


def whole_number(word: str) -> int | None:
    """Return a number that a host answered; ``None`` if it is none. ``isdigit`` would also take signs that ``int`` refuses, such as a raised 2."""
    return int(word) if _NUMBER.fullmatch(word) else None


def quoted(words: Sequence[str]) -> str:
    """Return words as one line that a POSIX shell splits into the same words again."""
    return " ".join("'" + word.replace("'", "'\\''").replace("\n", "'\"$nl\"'") + "'" for word in words)


class Connection:
    """A connection. Requests are made by one thread; a second thread sends the beats and reads the answers."""

    def __init__(self, name: str, place: str, on_event: Callable[[list[str]], object]) -> None:
        """Connect, and start the watchdog.

        Args:
            name: the host's name in the campaign, for messages.
            place: what ssh connects to.
            on_event: is called, by the second thread, with the words of each line about a process or a check, and with ``lost`` at the end.

        Raises:
            ConnectionLost: there is no connection, or the host has no temporary folder.
        """
        check_place(name, place)
        self._name, self._on_event = name, on_event
        self._mark = f"tacholog-{secrets.token_hex(8)}"
        self._answers: queue.Queue[list[str] | bytes | None] = queue.Queue()
        self._received, self._errors = bytearray(), bytearray()
        self._outgoing: deque[bytes] = deque()
        self._expected_bytes = 0  # of a chunk that the next answer brings
        self._in_chunk = False
        self._is_asked = False  # by a request whose answer has not come
        self._progress = 0.0  # when that request was made, or its last part came
        self._reason: str | None = None
        self._is_closing = False
        self._beats_at: float | None = None
        self._heard = time.monotonic()
        self._wake_reader, self._wake_writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            self._ssh = self._start(place)
        except OSError as error:
            os.close(self._wake_reader)
            os.close(self._wake_writer)
            raise ConnectionLost(f"host {name}: ssh cannot be started: {error.strerror}") from error
        self._thread = threading.Thread(target=self._exchange, name=f"ssh {name}", daemon=True)
        self._thread.start()
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _start(self, place: str) -> subprocess.Popen[bytes]:
        # Each login shell understands this, csh and fish too: no quotation mark, exclamation mark, backslash or line end within the quotation marks.
        script = self._script()
        command = f"sh -c 'echo {self._mark} connected; eval \"$(dd bs=1 count={len(script)} 2>/dev/null)\"'"
        ssh = subprocess.Popen(
            ["ssh", *_OPTIONS, "--", place, command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C reaches the harness alone, which then ends the processes in order; and ssh finds no terminal to ask on
        )
        for stream in (ssh.stdin, ssh.stdout, ssh.stderr):
            if stream:
                os.set_blocking(stream.fileno(), False)
        return ssh

    def _script(self) -> bytes:
        return f"mark={self._mark}\nperiod={PERIOD_S}\nlimit={_REMOTE_LIMIT_S}\n{_WATCHDOG.read_text(encoding='utf-8')}".encode()

    def _open(self) -> None:
        self._expect("connected")
        self._write(self._script())  # only now, so that no file that the login shell reads at its start takes a part of it
        self._expect("watching")
        self._beats_at = time.monotonic() + _FIRST_BEAT_S
        self._wake()

    def beat_soon(self) -> None:
        """Send the next beat in about a second, because a process has just started: with it, the host samples what its processes use."""
        self._beats_at = time.monotonic() + _FIRST_BEAT_S
        self._wake()

    def send(self, *words: str) -> None:
        """Ask the host to do something that has no answer, or whose answer is an event."""
        self._write(quoted(words).encode() + b"\n")

    def request(self, *words: str) -> list[str]:
        """Ask the host to do something, and return the words of its answer.

        Raises:
            ConnectionLost: no answer came.
        """
        self._begin_waiting()
        self.send(*words)
        answer = self._next_answer(None)
        return answer if isinstance(answer, list) else []

    def chunk(self, file: str, block: int, block_bytes: int, wanted_bytes: int) -> bytes:
        """Return one block of a file in the folder on the host.

        Raises:
            ConnectionLost: it did not come.
        """
        self._expected_bytes = wanted_bytes
        self.request("chunk", file, str(block), str(block_bytes))
        self._begin_waiting()
        content = self._next_answer(None)
        return content if isinstance(content, bytes) else b""

    def _begin_waiting(self) -> None:
        self._progress, self._is_asked = time.monotonic(), True

    def _expect(self, word: str) -> None:
        """Wait for an answer while the connection is made. Later, beats tell whether the host is still there."""
        words = self._next_answer(_OPEN_TIMEOUT_S)
        if words == [word]:
            return
        told = " ".join(words[1:]) if isinstance(words, list) and words[:1] == ["refused"] else "it gave an answer that makes no sense"
        raise ConnectionLost(f"host {self._name}: {drawn_in_line(told)[:300]}")

    def _next_answer(self, timeout_s: float | None) -> list[str] | bytes:
        try:
            answer = self._answers.get(timeout=timeout_s)
        except queue.Empty:
            answer = None
            self._lose(f"no answer within {timeout_s:g} s")
        self._is_asked = False
        if answer is None:
            self._answers.put(None)  # for whoever asks next
            raise ConnectionLost(self.reason)
        return answer

    @property
    def reason(self) -> str:
        """Why the connection is lost, for a message."""
        return f"host {self._name}: {self._reason or 'the connection is closed'}"

    @property
    def is_lost(self) -> bool:
        """Whether the connection is lost or closed."""
        return self._reason is not None or self._is_closing

    def close(self) -> None:
        """Close the connection. The host then ends what still runs, removes its folder, and the connection ends."""
        if not self._is_closing:
            self._is_closing = True
            self._wake()
        self._thread.join(_CLOSE_TIMEOUT_S)
        if self._ssh.poll() is None:
            self._ssh.kill()
        self._thread.join()
        self._ssh.wait()
        for stream in (self._ssh.stdin, self._ssh.stdout, self._ssh.stderr):
            if stream and not stream.closed:
                with contextlib.suppress(OSError):
                    stream.close()

    def _write(self, text: bytes) -> None:
        self._outgoing.append(text)
        self._wake()

    def _wake(self) -> None:
        with contextlib.suppress(OSError):  # full: it is awake; closed: there is nobody to wake
            os.write(self._wake_writer, b"x")

    # What follows runs in the second thread.

    def _exchange(self) -> None:
        """Send what is to be sent, and read what comes, until the connection ends."""
        try:
            while self._exchange_once():
                pass
        except OSError as error:
            self._lose(f"the connection to it broke: {error.strerror}")
        finally:
            self._lose(self._last_words())
            with contextlib.suppress(OSError):
                if self._ssh.stdin:
                    self._ssh.stdin.close()
            os.close(self._wake_reader)
            os.close(self._wake_writer)

    def _exchange_once(self) -> bool:
        stdin, stdout, stderr = self._ssh.stdin, self._ssh.stdout, self._ssh.stderr
        if stdin is None or stdout is None or stderr is None:
            return False
        if self._is_closing and not self._outgoing and not stdin.closed:
            stdin.close()
        now = time.monotonic()
        self._beat(now)
        reading: list[int | IO[bytes]] = [self._wake_reader, stdout, *([stderr] if not stderr.closed else [])]
        writing = [stdin] if self._outgoing and not stdin.closed else []
        readable, writable, _ = select.select(reading, writing, [], min(max(0.0, (self._beats_at or now + 1) - now), 1.0))
        if self._wake_reader in readable:
            os.read(self._wake_reader, _READ_BYTES)
        if stderr in readable:
            self._read_errors()
        if writable:
            self._write_some(stdin.fileno())
        if stdout in readable:
            part = os.read(stdout.fileno(), _READ_BYTES)
            if not part:
                return False
            self._received += part
            if self._in_chunk:
                self._heard = self._progress = time.monotonic()
            self._take_lines()
        if self._beats_at is not None and time.monotonic() - self._heard > _LIMIT_S:
            self._lose(f"it has not answered for {_LIMIT_S:g} s")
        elif self._is_asked and self._beats_at is not None and time.monotonic() - self._progress > _ANSWER_LIMIT_S:
            self._lose(f"it has not answered a request for {_ANSWER_LIMIT_S:g} s")
        elif self._answers.qsize() > _MOST_WAITING:
            self._lose("it sent answers to nothing that it was asked")
        return self._reason is None

    def _beat(self, now: float) -> None:
        if self._beats_at is not None and now >= self._beats_at and not self._is_closing:
            self._outgoing.append(b"beat\n")
            self._beats_at = now + PERIOD_S

    def _write_some(self, stdin: int) -> None:
        """Write what is waiting. If the pipe takes only a part, the rest stays first."""
        text = self._outgoing.popleft()
        try:
            written = os.write(stdin, text)
        except BlockingIOError:
            written = 0
        except BrokenPipeError:  # ssh has ended: it will say why
            self._outgoing.clear()
            return
        if written < len(text):
            self._outgoing.appendleft(text[written:])

    def _read_errors(self) -> None:
        stderr = self._ssh.stderr
        if stderr is None:
            return
        part = os.read(stderr.fileno(), _READ_BYTES)
        if not part:
            stderr.close()
        self._errors = (self._errors + part)[-_KEPT_ERRORS:]

    def _take_lines(self) -> None:
        """Take the whole lines and chunks that were received. Lines without the mark are not ours, such as the banner of a login shell."""
        while self._received:
            if self._expected_bytes and self._in_chunk:
                if len(self._received) < self._expected_bytes:
                    return
                chunk, self._received = bytes(self._received[: self._expected_bytes]), self._received[self._expected_bytes :]
                self._in_chunk, self._expected_bytes = False, 0
                self._answers.put(chunk)
                continue
            line, end, rest = self._received.partition(b"\n")
            if not end:
                if len(line) > _LONGEST_LINE:
                    self._lose("it sent a line without an end")
                return
            self._received = rest
            mark, _, text = line.decode("utf-8", "replace").partition(" ")
            if mark == self._mark:  # other lines are no sign of life: anything may print them
                self._heard = time.monotonic()
                self._take(text.split())

    def _take(self, words: list[str]) -> None:
        match words:
            case ["alive"] | []:
                pass
            case ["ended" | "checked", *_]:
                self._on_event(words)
            case ["started", *_]:
                self._on_event(words)
                self._answers.put(words)
            case ["data"]:
                self._in_chunk = True
                self._answers.put(words)
            case _:
                self._answers.put(words)

    def _last_words(self) -> str:
        """Return what ssh wrote last, or how it ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._ssh.wait(1.0)
        with contextlib.suppress(OSError, ValueError):
            self._read_errors()
        lines = [line.strip() for line in self._errors.decode("utf-8", "replace").splitlines() if line.strip()]
        if lines:
            return drawn_in_line(lines[-1])[:300]
        return f"ssh ended with exit code {self._ssh.returncode} and without a message"

    def _lose(self, reason: str) -> None:
        """Note why the connection ended, once; end ssh, and let all who wait for answers know."""
        if self._reason is None:
            self._reason = reason
            if not self._is_closing and self._ssh.poll() is None:
                self._ssh.kill()
            self._answers.put(None)
            self._on_event(["lost"])
