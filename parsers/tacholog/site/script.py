"""The shell script that repeats a measurement, made from the commands in its manifest."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath

from tacholog.campaign.programs import behind_wrappers
from tacholog.privacy.settings import NUMBERED_PSEUDONYM
from tacholog.runs.manifest import FLOOR, Command, Manifest, Readiness

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
# If a command begins with one of these words, the word is not a program: reserved words of the shell, and assignments.
_NO_PROGRAM = re.compile(r"case|coproc|do|done|elif|else|esac|fi|for|function|if|in|select|then|time|until|while|[A-Za-z_]\w*\+?=.*", re.DOTALL)
_PLACEHOLDER = "{payload_bytes}"
_PERFTEST = ("# perftest must be on the PATH: in a checkout of Tacholog, nox -s core builds build/bench/release/perftest.",)
# Only the duration is a variable of the script, so that a reader can try the script for a shorter time first.
_SHORTER = ("# Set DURATION_S to another time per size, in seconds, for a first try. The measurement of this page took the time below.",)
# Programs whose output has a format in Tacholog, and the servers of some of them. Other programs get a warning, because they may do anything.
_KNOWN = re.compile(
    r"perftest(?:-floor|_cpp|_java|_cs)?|(?:Throughput|Latency|Video)Test|ecal_(?:sample_)?latency_\w+|tips-ping-pong|perf_test|ddsperf|iperf3|qperf|sockperf"
    r"|iceperf-[a-z-]+|benchmark-[a-z-]+|nats(?:-server)?|redis-(?:server|benchmark)"
)
_ROLES = {"pub": "Publisher", "sub": "Subscriber", "both": "Publisher and subscriber"}


def shell_script(manifest: Manifest, run: str, sizes: Iterable[int | None]) -> str | None:
    """Return a POSIX shell script; ``None`` if the manifest contains no commands.

    Args:
        manifest: the run's manifest.
        run: the id of the run.
        sizes: the payload sizes of its results, in bytes; each command with a placeholder for the size loops over them.
    """
    if not manifest.commands:
        return None
    perftest_commands = [command.argv for command in manifest.commands if is_perftest(command.argv)]
    head = [
        "#!/bin/sh",
        *_comments(manifest, run),
        *(_PERFTEST if perftest_commands else ()),
        *(_SHORTER if any(map(_index_of_duration, perftest_commands)) else ()),
    ]
    if needs_order(manifest.commands):
        return "\n".join([*head, *processes_script(manifest.commands, words_of, _comment, _warning)]) + "\n"
    wanted = sorted({size for size in sizes if size is not None})
    lines = [*head, "set -eu"]
    several = len({command.role for command in manifest.commands}) > 1
    for command in sorted(manifest.commands, key=lambda command: (command.result or "", command.role != "sub")):
        lines += ["", *_section(command, wanted, several=several)]
    return "\n".join(lines) + "\n"


def words_of(argv: Sequence[str]) -> str:
    """Return the command line with quotes for a shell.

    ``{payload_bytes}`` becomes a variable of the script. The duration becomes a variable if the command runs perftest.
    """
    is_ours = is_perftest(argv)
    duration = _index_of_duration(argv) if is_ours else None
    words = ["perftest", *argv[1:]] if is_ours and argv[0] == FLOOR else argv
    quoted = [f'"${{DURATION_S:-{word}}}"' if index == duration else _word(word) for index, word in enumerate(words)]
    # The shell does not recognise a reserved word or an assignment after two quotes ('').
    return ("''" if words and _NO_PROGRAM.fullmatch(words[0]) else "") + " ".join(quoted)


def is_perftest(argv: Sequence[str]) -> bool:
    """Whether a command runs our own perftest. This includes the build of perftest that is measured as a control."""
    return bool(argv) and PurePath(argv[0]).name in {"perftest", FLOOR}


def _warning(words: Sequence[str]) -> list[str]:
    """Return a comment that warns of a command with an unknown program; nothing if the program is known.

    Readers need this warning, because they execute commands from the manifests of strangers.
    """
    command = behind_wrappers(words)
    name = PurePath(words[command.position]).name
    if command.doubt is None and _KNOWN.fullmatch(name):
        return []
    what = (
        f"Tacholog does not know the program {name}" if command.doubt is None else f"Tacholog does not know which program this runs: {command.doubt}"
    )
    return [_comment(f"CAUTION: {what}. Read the whole command before you run it.")]


def _index_of_duration(argv: Sequence[str]) -> int | None:
    indices = [index for index, word in enumerate(argv) if index and argv[index - 1] == "--duration" and _NUMBER.fullmatch(word)]
    return indices[0] if len(indices) == 1 else None


def _section(command: Command, sizes: Sequence[int], *, several: bool) -> list[str]:
    role = _ROLES.get(command.role, command.role)
    where = " (in a second terminal; start the subscriber first)" if several else ""
    result_words = f" of result {command.result}" if command.result else ""
    machine = f" on machine {command.machine}" if command.machine else ""
    head = _comment(f"{role}{result_words}{machine}{where}")
    warned = _warning(command.argv)
    if command.each:
        return [head, *warned, *(words_of([_with_values(word, values) for word in command.argv]) for values in command.each)]
    line = words_of(command.argv)
    if not any(_PLACEHOLDER in word for word in command.argv):
        return [head, *warned, line]
    loop = " ".join(str(size) for size in sizes) or "32"
    unknown = () if sizes else ("# The sizes are not stated.",)
    return [head, *warned, *unknown, f"for payload_bytes in {loop}; do", f"  {line}", "done"]


def _with_values(word: str, values: Mapping[str, int]) -> str:
    for name, value in values.items():
        word = word.replace(f"{{{name}}}", str(value))
    return word


def _word(word: str) -> str:
    return '"$payload_bytes"'.join(shlex.quote(part) if part else "" for part in word.split(_PLACEHOLDER)) or "''"


def _comments(manifest: Manifest, run: str) -> list[str]:
    version = f" {manifest.tool_version}" if manifest.tool_version else ""
    lines = [f"Measures {run} again: {manifest.system}, {manifest.tool or 'tool not stated'}{version}."]
    if manifest.published:
        lines.append("The commands are quoted from the publisher; paths are those of their machine.")
    if any(NUMBERED_PSEUDONYM.search(word) for command in manifest.commands for word in command.argv):
        lines.append("Replace path-1, address-1 and the like by your own; the owner of the site does not show theirs.")
    lines += [f"{name}: {value}" for name, value in sorted(manifest.environment.items()) if name in ("cpu_pub", "cpu_sub", "governor")]
    return [_comment(text) for text in lines]


def _comment(text: str) -> str:
    # A line end in the text must not end the comment. Otherwise the shell would run the rest of the text.
    return "# " + " ".join("".join(c if c.isprintable() else " " for c in text).split())


Words = Callable[[Sequence[str]], str]  # quotes a command line for a shell

_HEAD = """\
# Standard output and standard error of each process go into files in the folder LOGS. If LOGS is not set, a new folder is made.
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
    """Whether the processes of a run must be started in order, be started on another machine, or be stopped.

    A single process that runs here and ends by itself needs no order.
    """
    alone = len(commands) == 1 and not commands[0].host and not commands[0].prefix and commands[0].ends == "itself"
    return bool(commands) and all(command.name for command in commands) and not alone


def processes_script(
    commands: Sequence[Command], words: Words, comment: Callable[[str], str], warning: Callable[[Sequence[str]], list[str]]
) -> Iterator[str]:
    """Yield the lines of the script, without its first comments.

    Args:
        commands: the commands, in the order in which they are started.
        words: a function that quotes a command line.
        comment: a function that makes a comment of a text from a manifest.
        warning: a function that returns the comments above a command, from the words of the command.
    """
    hosts = {host: f"HOST_{number}" for number, host in enumerate(dict.fromkeys(command.host for command in commands if command.host), 1)}
    yield "set -eu"
    for host, variable in hosts.items():
        yield comment(f"Set {variable} to the address of the machine {host} for ssh.")
        yield f": ${{{variable}:?}}"
    yield _HEAD
    ready = [command.ready for command in commands if command.ready]
    yield from ([_PRINTS] if any(readiness.output is not None for readiness in ready) else [])
    yield from ([_LISTENS] if any(readiness.port is not None for readiness in ready) else [])
    for number, command in enumerate(commands, 1):
        yield ""
        yield comment(f"{command.name} ({command.role}){f' on {command.host}' if command.host else ''}")
        yield from warning([*command.prefix, *command.argv])
        yield from _start(number, command, hosts, words)
    yield ""
    yield "# Wait for the processes that end by themselves. After that, or if one of them fails, all other processes are ended."
    yield from (f"wait {_pid(number)}" for number, command in enumerate(commands, 1) if command.ends == "itself")


def _start(number: int, command: Command, hosts: Mapping[str, str], words: Words) -> Iterator[str]:
    log, errors = (_file(name) for name in (_log(command), f"{PurePath(_log(command)).stem}.stderr.txt"))
    remote = _remote_prefix(command, hosts)
    line = words([*command.prefix, *command.argv])
    if command.host:
        # With `-tt`, the process ends when the connection ends. On the other machine, a shell reads the words again, so they are quoted a second
        # time.
        line = f'ssh -tt "${hosts[command.host]}" {shlex.quote(line)}'
    yield f"{line} </dev/null >{log} 2>{errors} &"
    yield f"pid_{number}=$!"
    yield 'pids="$! $pids"'
    if command.ready:
        yield _wait(command.ready, log, errors, remote)


def _wait(ready: Readiness, log: str, errors: str, remote: str) -> str:
    if ready.output is not None:
        return f"wait_until 30 prints {shlex.quote(ready.output)} {log} {errors}"
    if ready.port is not None:
        return f"wait_until 30 listens {ready.port}{remote}"
    return f"sleep {ready.seconds or 0:g}"


def _remote_prefix(command: Command, hosts: Mapping[str, str]) -> str:
    """Return words such as ``ssh host``, with a blank before them."""
    ssh = f' ssh "${hosts[command.host]}"' if command.host else ""
    return "".join([ssh, *(f" {shlex.quote(word)}" for word in command.prefix)]) or " env"


def _log(command: Command) -> str:
    return command.log or f"{command.name}.log".replace("/", "-")  # A name must not lead out of the folder.


def _file(name: str) -> str:
    return f'"$LOGS"/{shlex.quote(name)}'


def _pid(number: int) -> str:
    return f'"$pid_{number}"'
