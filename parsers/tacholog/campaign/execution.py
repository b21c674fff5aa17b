"""Do one run: start its processes in order, wait for those that end by themselves, and stop the others.

A process is started when the previous process is ready.

At the end, no process of the run is left, not even after a failure or after Ctrl-C. If the harness itself is killed, the launcher or the remote shell
on each machine ends the processes.
"""

from __future__ import annotations

import contextlib
import re
import select
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from tacholog.campaign.campaign_file import Process
from tacholog.campaign.machines import Machine, RunningProcess
from tacholog.campaign.machines.machine import Job, ProcessEnd, Program, ReadyCondition, StartError
from tacholog.errors import TachologError

_POLL_S = 0.05  # how often the harness checks whether a process is ready; it sleeps during the measurement
_SETTLE_S = 0.5  # the wait after a failure: if a server crashes, its client fails too, and the message must name the server
_EARLY_S = 5.0  # a server has failed if it ends by itself and its clients still run this long after its end
_QUOTED_CHARACTERS = 1000
_TAIL_BYTES = 64 * 1024
_ERROR = re.compile(
    r"\b(error|cannot|can['`]?t|unable|fail|failed|failure|invalid|unrecogni[sz]ed|unknown|refused|denied|illegal|no such|in use)\b",
    re.IGNORECASE,
)


class ProcessStep(NamedTuple):
    """A process of a run, its machine, its program on the machine, and the files for its output."""

    process: Process
    machine: Machine
    program: Program
    log: str
    errors: str


class Outcome(NamedTuple):
    """The result of a run, and how each started process ended; the key is the name of the process."""

    status: Literal["ok", "failed", "empty"]
    reason: str | None
    ended: Mapping[str, ProcessEnd]


class _Failure(Exception):
    """The run has failed.

    Attributes:
        name: the process that caused the failure.
        reason: the description of the failure.
        quote: the words before the output line that the message quotes; empty if it quotes no line.
    """

    def __init__(self, name: str, reason: str, quote: str = "") -> None:
        super().__init__(reason)
        self.name, self.reason, self.quote = name, reason, quote


def run_steps(steps: Sequence[ProcessStep], folder: Path, deadline_s: float) -> Outcome:
    """Run all processes of a run.

    Args:
        steps: the processes, in the order of starting. A single process may have an empty name; messages then do not name it.
        folder: the folder for the logs.
        deadline_s: the longest duration of the whole run.
    """
    execution = _Execution(steps, folder, deadline_s)
    try:
        failure = execution.measure()
    except BaseException:  # no process may continue to run, not even after Ctrl-C
        execution.stop_all()
        execution.collect_all()
        raise
    return execution.outcome(failure)


class _Execution:
    def __init__(self, steps: Sequence[ProcessStep], folder: Path, deadline_s: float) -> None:
        self._steps = {step.process.name: step for step in steps}
        self._folder = folder
        self._deadline_s = deadline_s
        self._begin = time.monotonic()
        self._running: dict[str, RunningProcess] = {}
        # How each process ended; ``None`` if it still ran at the last `_poll`. Only `_poll` changes this. So if a process ends after a `_poll`, the
        # next `_sleep` returns immediately.
        self._ends: dict[str, ProcessEnd | None] = {}
        self._started: dict[str, float] = {}
        self._ended: dict[str, ProcessEnd] = {}
        self._early: dict[str, float] = {}  # when the harness noticed that the process had ended by itself

    def measure(self) -> _Failure | None:
        """Start all processes, and wait for the processes that end by themselves. Return the failure, if there is one."""
        try:
            for step in self._steps.values():
                self._start(step)
                self._wait_until_ready(step)
            self._check_ends()
            while self._unfinished():
                self._sleep()
                self._check_ends()
        except _Failure as failure:
            return failure
        return None

    def outcome(self, failure: _Failure | None) -> Outcome:
        """Stop the processes that still run, collect all logs, and return the result of the run."""
        line = ""
        if failure is not None:
            line = self._line_to_quote(failure)  # the line is read first, because many programs print another line when they are stopped
            self.stop_all()
        later_failure = self.collect_all() or self._late_end() or self._left_behind()
        failure = failure or later_failure
        if failure is not None:
            return Outcome("failed", self._message(failure, line or self._line_to_quote(failure)), self._ended)
        for step in self._steps.values():
            if step.process.results and not (self._folder / step.log).stat().st_size:
                failure = _Failure(step.process.name, "the program printed nothing", quote=" to standard output; ")
                return Outcome("empty", self._message(failure, self._line_to_quote(failure)), self._ended)
        return Outcome("ok", None, self._ended)

    def _start(self, step: ProcessStep) -> None:
        name, ready = step.process.name, step.process.ready
        if ready and isinstance(ready.port, int) and step.machine.is_listening(ready.port):
            raise _Failure(name, f"port {ready.port} is in use already, by another program (ss -tulpn names it)")
        job = Job(name=name, argv=step.process.command, program=step.program.path, folder=self._folder, log=step.log, errors=step.errors)
        try:
            self._running[name] = step.machine.start(job)
        except StartError as error:
            raise _Failure(name, f"cannot be started: {error}") from error
        self._started[name] = time.monotonic()
        self._poll()

    def _poll(self) -> None:
        self._ends = {name: running.poll() for name, running in self._running.items()}

    def _left(self) -> list[RunningProcess]:
        return [self._running[name] for name, end in self._ends.items() if end is None]

    def _wait_until_ready(self, step: ProcessStep) -> None:
        name, ready = step.process.name, step.process.ready
        if ready is None:
            return
        begin = self._started[name]
        give_up = min(begin + (ready.deadline_s if ready.seconds is None else ready.seconds), self._begin + self._deadline_s)
        while True:
            if ready.seconds is None and self._running[name].is_ready(ready):
                return
            self._check_ends()
            if ready.seconds is None and self._ends[name] and not self._running[name].is_ready(ready):
                raise _Failure(name, f"ended before it was ready: {_missing(ready)}", quote="; ")
            if time.monotonic() >= give_up:
                break
            self._sleep(min(_POLL_S, max(0.0, give_up - time.monotonic())))
        if ready.seconds is None:
            raise _Failure(name, f"not ready within {min(ready.deadline_s, self._deadline_s):g} s: {_missing(ready)}", quote="; ")

    def _unfinished(self) -> list[str]:
        return [name for name, end in self._ends.items() if self._steps[name].process.ends == "itself" and not end]

    def _check_ends(self) -> None:
        """A process has failed if it ended with an error, took too long, or is a server that ended long before its clients."""
        self._poll()
        if self._first_failed():
            self._sleep_until_all_ended(_SETTLE_S)
        bad = self._first_failed()
        if bad is not None:
            raise _Failure(bad, _end_words(self._ends[bad]), quote="; ")
        now = time.monotonic()
        for name, (limit, reason) in self._limits().items():
            if now >= limit:
                raise _Failure(name, reason)

    def _first_failed(self) -> str | None:
        return next((name for name, end in self._ends.items() if end and (end.exit_status != 0 or end.by == "lost")), None)

    def _limits(self) -> dict[str, tuple[float, str]]:
        """Return the time limit of each process that may still fail, with the reason to report if the limit is reached."""
        limits = {}
        last_end = self._begin + self._deadline_s
        for name, end in self._ends.items():
            process = self._steps[name].process
            if process.ends == "itself" and not end:
                own_end = self._started[name] + process.deadline_s if process.deadline_s else last_end
                seconds = process.deadline_s if process.deadline_s and own_end < last_end else self._deadline_s
                limits[name] = (
                    min(own_end, last_end),
                    f"stopped by the harness: not done within its deadline of {seconds:g} s{self._hint(name)}",
                )
            elif process.ends == "stopped" and end:
                end_s = self._early.setdefault(name, time.monotonic())
                limits[name] = (end_s + _EARLY_S, "ended by itself, with exit code 0, long before the processes that it serves")
        return limits

    def _hint(self, name: str) -> str:
        """Return a hint for the message on a process that did not end within its deadline; an empty text if there is none.

        The hint explains how to declare a server. A process seems to be a server if it still runs after all other processes have ended, and if it is
        not the process that was started last.
        """
        is_last = next(reversed(self._running)) == name
        if is_last or not all(end for other, end in self._ends.items() if other != name):
            return ""
        return ', although all others had ended; if it serves them, add ends = "stopped" to its process'

    def _sleep(self, timeout_s: float | None = None) -> None:
        """Sleep until the state of a process changes or a limit is reached, because polling would disturb the measurement."""
        limits = [limit for limit, _ in self._limits().values()]
        left_s = max(0.0, min(limits, default=time.monotonic() + _POLL_S) - time.monotonic())
        select.select(self._left(), [], [], left_s if timeout_s is None else min(timeout_s, left_s))

    def _sleep_until_all_ended(self, seconds: float) -> None:
        give_up = time.monotonic() + seconds
        while (left := self._left()) and (left_s := give_up - time.monotonic()) > 0:
            select.select(left, [], [], left_s)
            self._poll()

    def stop_all(self) -> None:
        """Ask all processes to end, in the reverse order of starting."""
        for running in reversed(self._running.values()):
            running.stop()

    def collect_all(self) -> _Failure | None:
        """Stop all processes and collect their logs, in the reverse order of starting.

        Return the failure to report, if there is one. If several processes failed, it is the failure of the process that was started first.
        """
        failure = None
        for name, running in reversed(self._running.items()):
            running.stop()
            try:
                self._ended[name] = running.collect()
            except TachologError as error:
                self._ended[name] = running.poll() or ProcessEnd(exit_status=None, by="lost")
                failure = _Failure(name, str(error))
        return failure

    def _late_end(self) -> _Failure | None:
        """Return a failure if a process ended by itself, with an error, directly before the harness stopped it."""
        bad = next((name for name in self._running if self._ended[name].by == "itself" and self._ended[name].exit_status != 0), None)
        return _Failure(bad, _end_words(self._ended[bad]), quote="; ") if bad is not None else None

    def _left_behind(self) -> _Failure | None:
        left = ((name, end.left) for name, end in self._ended.items() if end.left)
        return next((_Failure(name, f"{count} of the processes that it started could not be ended") for name, count in left), None)

    def _line_to_quote(self, failure: _Failure) -> str:
        step = self._steps[failure.name]
        return quoted_line(self._folder, [step.errors, step.log] if failure.name else [step.errors]) if failure.quote else ""

    def _message(self, failure: _Failure, line: str = "") -> str:
        return "".join((f"{failure.name}: " if failure.name else "", failure.reason, f"{failure.quote}{line}" if line else ""))


def _end_words(end: ProcessEnd | None) -> str:
    if end is not None and end.why is not None:
        return end.why
    if end is None or end.exit_status is None:
        return "it was lost: its launcher was killed, or the connection to its host broke"
    if end.exit_status < 0:
        return f"killed by {_signal_name(-end.exit_status)}"
    return f"exit code {end.exit_status}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # Python has no names for the realtime signals between the first and the last
        return f"signal {number}"


def _missing(ready: ReadyCondition) -> str:
    return f"nothing listens on port {ready.port}" if ready.port is not None else f"it did not print {ready.output!r}"


def quoted_line(folder: Path, files: Sequence[str]) -> str:
    """Return the output line that best explains a failure, after an introduction such as "it printed:".

    The line is taken from the first file that is not empty. It is the first line that names an error. If there is none, it is the last line. If the
    output is a help text, no line is quoted, because its last line only describes an option.
    """
    for name in files:
        with contextlib.suppress(OSError):
            with (folder / name).open("rb") as file:
                file.seek(max(0, (folder / name).stat().st_size - _TAIL_BYTES))
                lines = file.read().decode(errors="replace").strip().splitlines()
            if not lines:
                continue
            if error := next((line.strip() for line in lines if _ERROR.search(line)), None):
                return f"it printed: {error[:_QUOTED_CHARACTERS]}"
            if any(line.lower().startswith("usage:") for line in lines[:-1]):
                return "it printed its help, so it may not know one of its options"
            return f"its last line: {lines[-1][:_QUOTED_CHARACTERS]}"
    return ""
