"""The shell script that repeats a run of several processes: it starts them in order, waits until each is ready, and stops those that serve others."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePath

from tacholog.runs.manifest import Command, Readiness

Words = Callable[[Sequence[str]], str]  # quotes a command line for a shell

_HEAD = """\
# Standard output and standard error of each process go into files in the folder LOGS, a new one if it is not set.
LOGS=${LOGS:-$(mktemp -d)}
echo "logs: $LOGS"
pids=
end_all() {
  for pid in $pids; do kill "$pid" 2>/dev/null || :; done
  for pid in $pids; do wait "$pid" 2>/dev/null || :; done
}
trap end_all EXIT
trap 'exit 130' INT TERM
wait_until() {
  tries=$1
  shift
  until "$@"; do
    tries=$((tries - 1))
    if [ "$tries" -le 0 ]; then echo "not ready: $*" >&2; exit 1; fi
    sleep 1
  done
}"""
_PRINTS = """\
prints() {
  grep -qsF -e "$1" "$2" "$3"
}"""
_LISTENS = """\
listens() {
  port=$(printf '%04X' "$1")
  shift
  "$@" cat /proc/net/tcp /proc/net/tcp6 /proc/net/udp /proc/net/udp6 2>/dev/null |
    grep -qE "^ *[0-9]+: [0-9A-F]+:$port [0-9A-F]+:[0-9A-F]{4} (0A|07) "
}"""


def needs_order(commands: Sequence[Command]) -> bool:
    """Whether these are processes of one run of a campaign that somebody must start in order, elsewhere, or end.

    A single process that runs here and ends by itself is a command like any other.
    """
    alone = len(commands) == 1 and not commands[0].host and not commands[0].prefix and commands[0].ends == "itself"
    return bool(commands) and all(command.name for command in commands) and not alone


def processes_script(
    commands: Sequence[Command], words: Words, comment: Callable[[str], str], warning: Callable[[Sequence[str]], list[str]]
) -> Iterator[str]:
    """Yield the lines of the script, without its first comments.

    Args:
        commands: in the order in which they are started.
        words: quotes a command line.
        comment: makes a comment of a text from a manifest.
        warning: makes comments that stand above a command, of its words.
    """
    hosts = {host: f"HOST_{number}" for number, host in enumerate(dict.fromkeys(command.host for command in commands if command.host), 1)}
    yield "set -eu"
    for host, variable in hosts.items():
        yield comment(f"Set {variable} to what ssh connects to for the machine {host}.")
        yield f": ${{{variable}:?}}"
    yield _HEAD
    ready = [command.ready for command in commands if command.ready]
    yield from ([_PRINTS] if any(one.output is not None for one in ready) else [])
    yield from ([_LISTENS] if any(one.port is not None for one in ready) else [])
    for number, command in enumerate(commands, 1):
        yield ""
        yield comment(f"{command.name} ({command.role}){f' on {command.host}' if command.host else ''}")
        yield from warning([*command.prefix, *command.argv])
        yield from _start(number, command, hosts, words)
    yield ""
    yield "# What has to end by itself. At the end of the script, or if one of these fails, all others are ended."
    yield from (f"wait {_pid(number)}" for number, command in enumerate(commands, 1) if command.ends == "itself")


def _start(number: int, command: Command, hosts: Mapping[str, str], words: Words) -> Iterator[str]:
    log, errors = (_file(name) for name in (_log(command), f"{PurePath(_log(command)).stem}.stderr.txt"))
    place = _place(command, hosts)
    line = words([*command.prefix, *command.argv])
    if command.host:
        # The terminal (-tt) makes the process end when the connection does. A shell reads the words there, so they are quoted once more.
        line = f'ssh -tt "${hosts[command.host]}" {shlex.quote(line)}'
    yield f"{line} </dev/null >{log} 2>{errors} &"
    yield f"pid_{number}=$!"
    yield 'pids="$! $pids"'
    if command.ready:
        yield _wait(command.ready, log, errors, place)


def _wait(ready: Readiness, log: str, errors: str, place: str) -> str:
    if ready.output is not None:
        return f"wait_until 30 prints {shlex.quote(ready.output)} {log} {errors}"
    if ready.port is not None:
        return f"wait_until 30 listens {ready.port}{place}"
    return f"sleep {ready.seconds or 0:g}"


def _place(command: Command, hosts: Mapping[str, str]) -> str:
    """Return the words before a command that runs where the process runs, with a blank before them."""
    ssh = f' ssh "${hosts[command.host]}"' if command.host else ""
    return "".join([ssh, *(f" {shlex.quote(word)}" for word in command.prefix)]) or " env"


def _log(command: Command) -> str:
    return command.log or f"{command.name}.log".replace("/", "-")  # A name must not lead out of the folder.


def _file(name: str) -> str:
    return f'"$LOGS"/{shlex.quote(name)}'


def _pid(number: int) -> str:
    return f'"$pid_{number}"'
