"""The programs of a campaign: find their files, versions and checksums, and the measured program of a command.

A command may begin with a wrapper, such as ``env``, ``taskset`` or ``ip netns exec``. Each wrapper has a grammar: its options, which of them take a
value, and the number of words before the program. It is not enough to search for the first word that names a program: in ``env -u perf tool``,
``perf`` is a variable. If a command does not match the grammar of its wrapper, or if the wrapper is a shell, the measured program is unknown, and the
reason is returned.

Source: the help texts of coreutils 9.1, util-linux 2.38, iproute2 6.1 and strace 6.1; the manuals of numactl, sudo, perf, valgrind and systemd.
``tacholog sustain`` is a wrapper too: it runs a tool repeatedly.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tacholog.errors import TachologError

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_NUMBER = re.compile(r"-?\d+")


class MeasuredProgram(NamedTuple):
    """The measured program of a command.

    Attributes:
        position: its position in the command; 0 if the program is unknown.
        wrappers: the names of the wrappers before it, in order.
        doubt: the reason why the program is unknown; ``None`` if it is known.
    """

    position: int
    wrappers: tuple[str, ...] = ()
    doubt: str | None = None


class Wrapper(NamedTuple):
    """The command line of a wrapper.

    Attributes:
        short: its options of one letter, as for getopt: an option with a value is followed by a colon.
        long: its long options, separated by blanks. An option with a value ends with ``=``; the value may be the next word.
        words: the number of words between the options and the program.
        number: whether a number may precede the program.
        assignments: whether words such as ``NAME=VALUE`` may precede the program.
        first: the pattern of an additional word that may be the first word.
        stops: options that make the measured program unknown. With them, the wrapper runs no program of the command line, or it runs a shell.
    """

    short: str = ""
    long: str = ""
    words: int = 0
    number: bool = False
    assignments: bool = False
    first: re.Pattern[str] | None = None
    stops: Sequence[str] = ()


_SETARCH = Wrapper(
    "BFILRSTXZ3v",
    "32bit fdpic-funcptrs short-inode addr-compat-layout addr-no-randomize whole-seconds sticky-timeouts "
    "read-implies-exec mmap-page-zero 3gb 4gb uname-2.6 verbose",
)
_WRAPPERS: Mapping[str, Wrapper] = {
    "chrt": Wrapper(
        "bdfiorRT:P:D:av",
        "batch deadline fifo idle other rr reset-on-fork sched-runtime= sched-period= sched-deadline= all-tasks verbose",
        number=True,
        stops=("-p", "--pid", "-m", "--max"),
    ),
    "doas": Wrapper("nu:C:a:L", stops=("-s", "-C", "-L")),
    "env": Wrapper(
        "i0u:C:v",
        "ignore-environment null unset= chdir= block-signal default-signal ignore-signal list-signal-handling debug",
        assignments=True,
        first=re.compile("-"),
        stops=("-S", "--split-string"),
    ),
    "ionice": Wrapper("c:n:t", "class= classdata= ignore", stops=("-p", "-P", "-u", "--pid", "--pgid", "--uid")),
    "linux32": _SETARCH,
    "linux64": _SETARCH,
    "ltrace": Wrapper("a:A:bcCD:e:fF:il:L:n:o:p:rs:StTu:Vw:x:X:", "align= demangle output= library="),
    "nice": Wrapper("n:0123456789", "adjustment="),
    "nohup": Wrapper(),
    "nsenter": Wrapper(
        "at:muinpCUTS:G:rwW:FZ",
        "all target= mount uts ipc net pid cgroup user time setuid= setgid= preserve-credentials root wd wdns= no-fork follow-context",
    ),
    "numactl": Wrapper(
        "ai:p:P:w:m:N:C:lb",
        "all interleave= preferred= preferred-many= weighted-interleave= membind= cpunodebind= physcpubind= localalloc balancing",
        stops=("-s", "-H", "-S", "-f", "--show", "--hardware", "--shm", "--file"),
    ),
    "runuser": Wrapper(
        "u:g:G:pmw:", "user= group= supp-group= preserve-environment whitelist-environment=", stops=("-c", "--command", "-", "-l", "-s")
    ),
    "setarch": _SETARCH._replace(
        first=re.compile(r"(?:x86_64|i[3-6]86|linux(?:32|64)|uname26|aarch64\w*|arm\w*|ppc\w*|s390x?|sparc\w*|mips\w*|riscv\w*)")
    ),
    "setpriv": Wrapper(
        "",
        "nnp no-new-privs ambient-caps= inh-caps= bounding-set= ruid= euid= rgid= egid= reuid= regid= clear-groups keep-groups "
        "init-groups groups= securebits= pdeathsig= selinux-label= apparmor-profile= reset-env",
    ),
    "setsid": Wrapper("cfw", "ctty fork wait"),
    "stdbuf": Wrapper("i:o:e:", "input= output= error="),
    "strace": Wrapper(
        "a:b:CcdDe:E:fFhiI:nko:O:p:P:qrs:S:tTu:U:vwxX:yYzZ",
        "columns= summary summary-only trace= signal= status= env= "
        "follow-forks instruction-pointer output= string-limit= user= decode-fds relative-timestamps syscall-times",
    ),
    "sudo": Wrapper(
        "AbBC:D:EHg:h:knNPp:R:r:ST:t:U:u:",
        "askpass background close-from= chdir= preserve-env set-home group= host= non-interactive "
        "preserve-groups prompt= chroot= role= stdin command-timeout= type= user=",
        assignments=True,
        stops=("-i", "-s", "-e", "-l", "-v", "-K", "--login", "--shell", "--edit", "--list", "--validate"),
    ),
    "systemd-run": Wrapper(
        "H:M:u:p:dE:PtqrGS",
        "scope user system unit= property= description= slice= slice-inherit remain-after-exit send-sighup "
        "service-type= uid= gid= nice= working-directory= same-dir setenv= pty pipe quiet collect wait no-block no-ask-password host= machine= "
        "on-active= on-boot= on-startup= on-unit-active= on-unit-inactive= on-calendar= timer-property=",
        stops=("-S", "--shell"),
    ),
    "tacholog": Wrapper(
        "",
        "latency-goal= loss-goal= rate-range= duration= trial-duration= goal-width= trials= exceed-ratio= format= keep=",
        first=re.compile("sustain"),
    ),
    "taskset": Wrapper("ac", "all-tasks cpu-list", words=1, stops=("-p", "--pid")),
    "time": Wrapper("af:o:pqv", "append format= output= portability quiet verbose"),
    "timeout": Wrapper("k:s:vfp", "kill-after= signal= verbose foreground preserve-status", words=1),
    "unbuffer": Wrapper("p"),
    "unshare": Wrapper(
        "muinpUCTfrcR:w:S:G:",
        "mount uts ipc net pid user cgroup time fork map-user= map-group= map-root-user map-current-user map-auto "
        "map-users= map-groups= kill-child mount-proc propagation= setgroups= keep-caps root= wd= setuid= setgid= monotonic= boottime=",
    ),
}
_PERF_STAT = Wrapper(
    "aABcdD:e:G:gI:iM:nNo:p:r:st:vx:C:",
    "all-cpus event= cpu= output= field-separator= repeat= interval-print= delay= detailed no-aggr "
    "per-core per-socket per-thread append big-num no-inherit null pid= tid= metrics= json-output",
)
_PERF_RECORD = Wrapper(
    "ab:BC:c:de:F:gG:iIj:k:m:nNo:p:qr:sSt:Tu:vWz",
    "all-cpus event= cpu= output= count= freq= call-graph= pid= tid= mmap-pages= realtime= no-inherit no-buildid quiet raw-samples timestamp delay=",
)
_VALGRIND = re.compile(r"-(?:-[\w-]+(?:=.*)?|[vqhd])", re.DOTALL)  # an option and its value are one word, joined by "="
_IP_WITH_VALUE = {"-n", "-netns", "-f", "-family", "-b", "-batch", "-rc", "-rcvbuf", "-l", "-loops"}
_SHELLS = {"ash", "bash", "busybox", "csh", "dash", "eval", "fish", "ksh", "mksh", "sh", "tcsh", "zsh"}
# Programs that start another program in a container, on another machine, or through a daemon.
_REMOTE_STARTERS = {"chroot", "docker", "kubectl", "machinectl", "mpiexec", "mpirun", "podman", "ros2", "rsh", "srun", "ssh", "su", "xargs"}


def behind_wrappers(command: Sequence[str]) -> MeasuredProgram:
    """Return the measured program of a command: the program behind all wrappers.

    Args:
        command: the words of the command; no shell interprets them.
    """
    wrappers: list[str] = []
    position = 0
    while True:
        name = Path(command[position]).name
        if name in _SHELLS:
            return MeasuredProgram(0, tuple(wrappers), f"{name} reads its commands from a text or a file")
        if name in _REMOTE_STARTERS:
            return MeasuredProgram(0, tuple(wrappers), f"{name} starts a program elsewhere, so its file cannot be read")
        step = _words_before_program(name, command[position + 1 :])
        if step is None:
            return MeasuredProgram(position, tuple(wrappers))
        wrappers.append(name)
        if isinstance(step, str):
            return MeasuredProgram(0, tuple(wrappers), step)
        position += 1 + step
        if position >= len(command):
            return MeasuredProgram(0, tuple(wrappers), f"no program follows {name} and its options")


def _words_before_program(name: str, words: Sequence[str]) -> int | str | None:
    """Return the number of words before the program, or the reason why it is unknown; ``None`` if ``name`` is not a wrapper."""
    special: Mapping[str, Callable[[Sequence[str]], int | str]] = {"ip": _after_ip, "perf": _after_perf, "valgrind": _after_valgrind}
    if name in special:
        return special[name](words)
    wrapper = _WRAPPERS.get(name)
    return None if wrapper is None else _arguments(name, wrapper, words)


def _arguments(name: str, wrapper: Wrapper, words: Sequence[str]) -> int | str:
    position = int(bool(words) and wrapper.first is not None and wrapper.first.fullmatch(words[0]) is not None)
    while position < len(words) and words[position].startswith("-") and words[position] != "--":
        word = words[position]
        if word.partition("=")[0] in wrapper.stops:
            return f"with {word}, {name} runs no program that this command line names"
        count = _words_of_option(wrapper, word)
        if count is None:
            return f"the option {word} of {name} is not known here, so it may take a value or not"
        position += count
    position += position < len(words) and words[position] == "--"
    while wrapper.assignments and position < len(words) and _ASSIGNMENT.match(words[position]):
        position += 1
    position += wrapper.number and position < len(words) and _NUMBER.fullmatch(words[position]) is not None
    return position + wrapper.words


def _words_of_option(wrapper: Wrapper, word: str) -> int | None:
    """Return the number of words of an option and its value; ``None`` if the option is not known."""
    if word.startswith("--"):
        name, is_attached, _ = word[2:].partition("=")
        options = wrapper.long.split()
        if name not in options and f"{name}=" not in options:
            return None
        return 1 if is_attached or name in options else 2
    letters = word[1:]
    for index, letter in enumerate(letters):
        offset = wrapper.short.find(letter)
        if offset < 0 or letter == ":":
            # This letter is not a known option. It may begin the value that is attached to an option, as in `unshare -n/run/netns/a`.
            return None
        if wrapper.short[offset + 1 : offset + 2] == ":":
            return 1 if index + 1 < len(letters) else 2
    return 1


def _after_ip(words: Sequence[str]) -> int | str:
    """Return the number of words before the program in ``[OPTIONS] netns exec NAME PROGRAM``; a text with the reason if no program is run.

    ``vrf`` may replace ``netns``. Each word may be abbreviated, as in ``ip net e``, because ``ip`` accepts abbreviations.
    """
    position, is_in_all = 0, False
    while position < len(words) and words[position].startswith("-"):
        is_in_all = is_in_all or words[position] in ("-a", "-all", "--all")
        position += 2 if words[position].replace("--", "-", 1) in _IP_WITH_VALUE else 1
    kind, action = (*words[position : position + 2], "", "")[:2]
    is_run = len(kind) > 1 and any(name.startswith(kind) for name in ("netns", "vrf")) and action and "exec".startswith(action)
    return position + (2 if is_in_all else 3) if is_run else "only 'ip netns exec' and 'ip vrf exec' run a program"


def _after_perf(words: Sequence[str]) -> int | str:
    grammar = {"stat": _PERF_STAT, "record": _PERF_RECORD}.get(words[0] if words else "")
    if grammar is None:
        return "only 'perf stat' and 'perf record' are known to run a program"
    count = _arguments("perf", grammar, words[1:])
    return count if isinstance(count, str) else count + 1


def _after_valgrind(words: Sequence[str]) -> int:
    return next((index for index, word in enumerate(words) if not _VALGRIND.fullmatch(word)), len(words))


def find_programs(perftest: Path | None, checkout: Path | None) -> dict[str, Path]:
    """Return a dictionary with the path of perftest; the key is ``perftest``.

    It is the first existing file of: ``perftest`` (from the command line), ``$TACHOLOG_PERFTEST``, the build in the checkout, the build in the
    current folder. If none of these files exists, the dictionary is empty, and `find_program` searches the PATH.

    Raises:
        TachologError: ``perftest`` or ``$TACHOLOG_PERFTEST`` is not an executable file.
    """
    path = perftest or (Path(os.environ["TACHOLOG_PERFTEST"]) if "TACHOLOG_PERFTEST" in os.environ else None)
    if path is not None:
        if not os.access(path, os.X_OK) or path.is_dir():
            raise TachologError(f"{path}: not an executable file")
        return {"perftest": path.resolve()}
    built = [root / "build/bench/release/perftest" for root in (checkout, Path.cwd()) if root]
    return next(({"perftest": path.resolve()} for path in built if os.access(path, os.X_OK)), {})


def find_program(word: str, tools: Mapping[str, Path]) -> Path:
    """Return the program with this name: from ``tools``, or else from the PATH.

    Raises:
        TachologError: there is no such program.
    """
    path = tools.get(word) or shutil.which(word)
    if path is None:
        raise TachologError(f"{word}: no such program; {how_to_get(word)}")
    return Path(path)


def how_to_get(word: str) -> str:
    """Return advice on how to get a missing program."""
    if word == "perftest":
        return "build it with `nox -s core`, or give its path with --perftest or in TACHOLOG_PERFTEST"
    return "install it, or put it on the PATH"


def measured_program(command: Sequence[str]) -> str:
    """Return the word of a command that names the measured program, after wrappers such as ``env``. If it is unknown, return the first word."""
    return command[behind_wrappers(command).position]


def tool_version(command: Sequence[str] | None, tools: Mapping[str, Path]) -> str | None:
    """Return the first version number in the output of the command; None if there is none."""
    if command is None:
        return None
    words = [str(find_program(command[0], tools)), *command[1:]]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=20, check=False)
    except subprocess.TimeoutExpired:  # a tool that does not know this option may start to measure
        return None
    match = re.search(r"\d+(?:\.\d+)+\S*", done.stdout)
    return match[0] if match else None


class ListedNames(NamedTuple):
    """The names that a program lists, and the other words in its output.

    A line that does not begin with a blank lists a name: its first word. ``others`` contains each word of the other lines, with its line.
    """

    names: frozenset[str]
    others: Mapping[str, str]


def list_names(command: Sequence[str], tools: Mapping[str, Path]) -> ListedNames:
    """Return the names that a program lists, such as the transports of perftest.

    Raises:
        TachologError: the program is missing or fails.
    """
    words = [str(find_program(command[0], tools)), *command[1:]]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=20, check=False)
    except subprocess.TimeoutExpired:
        raise TachologError(f"`{' '.join(command)}` did not end within 20 s, so the names that this command lists are not known") from None
    if done.returncode != 0:
        raise TachologError(f"`{' '.join(command)}` ended with exit code {done.returncode}, so the names that this command lists are not known")
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    others = {word: line.strip() for line in lines if line[0].isspace() for word in line.split()}
    return ListedNames(frozenset(line.split()[0] for line in lines if not line[0].isspace()), others)


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
