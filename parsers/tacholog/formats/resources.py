"""Resource usage of the processes of a run, as the kernel counted it: ``resources.log``, which ``tacholog bench`` writes beside the logs of a run.

It has one line for each process. If a value is unknown, its key is left out::

    process resources log=resources/1
    used process=server side=subscriber test=latency payload_bytes=64 duration_ns=8123456789 user_ns=120000000 system_ns=90000000
        voluntary_switches=2042 involuntary_switches=17 peak_memory_bytes=7340032 .
    end processes=1

In the log, the second and third lines are one line. Its dot shows that it is complete. Resources are of the whole process, of the children that it
waited for, and of orphans that it left. If the line has ``peak_memory_below_bytes``, the peak is at most this value, because the kernel also counted
the process that started the measured process. If the line has ``cpu_resolution_ns``, the process ran on a host that is reached by ssh, and a shell on
this host measured. It measured the processor time with this resolution. It sampled the context switches and the memory for the last time before the
end, so ``voluntary_switches_above``, ``involuntary_switches_above`` and ``peak_memory_above_bytes`` are lower bounds.

Conditions are those of the run to which the log belongs: no line of this log states a condition.

Source: campaign/measure.py of this project; samples in tests/formats/resources/, written by `tacholog bench`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import get_args

from tacholog.formats.kit import (
    Bound,
    Broken,
    Cell,
    Conditions,
    Detected,
    Dialect,
    Facts,
    Finding,
    Line,
    Number,
    Record,
    Side,
    Test,
    is_size,
    printed,
)

SYSTEM = "Processes of a campaign"
TOOL = "tacholog bench"
DIALECTS = (Dialect("resources/1", "0.4.0 and later", "real logs"),)
DEFINITIONS = {
    "process-resources": "What the kernel counted (wait4) for one process of a run and the children that it waited for, from its start to its end, "
    "including the warm-up: processor time, context switches, and the largest resident set of any of these processes. The process may belong to "
    "any tool.",
    "process-resources-by-shell": "What a shell on the host of the process read, from the start to the end of the process, including the warm-up. "
    "Processor time is that of the process and of the children that it waited for, in the steps in which the shell counts. Context switches and "
    "the largest resident set were read every 4 seconds. Their last values before the end are lower bounds.",
}

_HEAD = "process resources log=resources/1"
_PAIR = re.compile(r" ([a-z_]+)=(\S+)")
_COUNT = re.compile(r"[0-9]{1,18}")
_NUMBERS: Mapping[str, tuple[str, str]] = {
    "duration_ns": ("duration", "total"),
    "user_ns": ("cpu_time", "user"),
    "system_ns": ("cpu_time", "system"),
    "voluntary_switches": ("context_switches", "voluntary"),
    "involuntary_switches": ("context_switches", "involuntary"),
    "peak_memory_bytes": ("peak_memory", "max"),
    "peak_memory_below_bytes": ("peak_memory", "max"),
    "voluntary_switches_above": ("context_switches", "voluntary"),
    "involuntary_switches_above": ("context_switches", "involuntary"),
    "peak_memory_above_bytes": ("peak_memory", "max"),
}
_COUNTS = ("payload_bytes", "cpu_resolution_ns")
_WORDS = ("process", "side", "test", *_COUNTS)
_CPU_RESOLUTION_NS = 1000.0  # the kernel states processor time in microseconds


def detect(head: str) -> Detected:
    """Return whether the first line of the log names this dialect."""
    return Detected(fits := head.startswith(_HEAD), wants=f"a first line '{_HEAD}'", names_itself=fits)


def parse(lines: Iterable[Line]) -> Iterator[Finding]:
    """Yield one record for each process."""
    ended = False
    for line in lines:
        kind = line.text.partition(" ")[0]
        if line.text == _HEAD or not line.text.strip():
            yield Finding(line, None)
        elif kind == "used":
            yield Finding(line, _record(line))
        elif kind == "end" and line.whole and re.fullmatch(r"end processes=[0-9]{1,6}", line.text):
            ended = True
            yield Finding(line, None)
    if not ended:
        yield Finding(None, Facts(status="truncated", reason="the log has no end line"))


def _record(line: Line) -> Record | Broken | None:
    """Read the line of a process. A line without a test is no record, because it belongs to a run without results."""
    pairs = [(pair[1], Cell(pair[2], pair.start(2))) for pair in _PAIR.finditer(line.text)]
    fields = dict(pairs)
    if line.text != "used" + "".join(f" {name}={value}" for name, value in pairs) + " ." or len(fields) < len(pairs):
        return Broken("the line of a process is cut short or garbled")
    unknown = next((name for name in fields if name not in _WORDS and name not in _NUMBERS), None)
    if unknown or "process" not in fields:
        return Broken(f"a process with {unknown}, which this version does not know" if unknown else "the line of a process does not name the process")
    wrong = next((name for name in fields if (name in _NUMBERS or name in _COUNTS) and not _COUNT.fullmatch(fields[name])), None)
    if wrong:
        return Broken(f"{wrong}={fields[wrong][:40]} is no number")
    if fields.get("test", "latency") not in get_args(Test) or fields.get("side", "both") not in get_args(Side):
        return Broken("the line of a process names a test or a side that this version does not know")
    if "payload_bytes" in fields and not is_size(int(fields["payload_bytes"])):
        return Broken("a message size of 0")
    return _result(fields) if "test" in fields else None


def _result(fields: Mapping[str, Cell]) -> Record:
    tests: Mapping[str, Test] = {test: test for test in get_args(Test)}
    sides: Mapping[str, Side] = {side: side for side in get_args(Side)}
    resolution = fields.get("cpu_resolution_ns")
    return Record(
        test=tests[fields["test"]],
        payload_bytes=int(fields["payload_bytes"]) if "payload_bytes" in fields else None,
        numbers=tuple(_number(name, text, float(resolution or _CPU_RESOLUTION_NS)) for name, text in fields.items() if name in _NUMBERS),
        scope="resources",
        side=sides.get(fields.get("side", "")),
        participant=str(fields["process"]),
        conditions=Conditions(definition="process-resources" if resolution is None else "process-resources-by-shell"),
    )


def _number(name: str, text: Cell, cpu_resolution_ns: float) -> Number:
    metric, statistic = _NUMBERS[name]
    if metric == "cpu_time":
        return printed(metric, statistic, int(text), cpu_resolution_ns, cell=text)
    bound: Bound = "<" if "below" in name else ">" if "above" in name else "="
    return Number(metric=metric, statistic=statistic, value=float(text), bound=bound, value_start=text.start, value_end=text.end)
