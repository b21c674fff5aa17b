"""The processor time that other programs and the host took from a run, and whether the campaign allows this.

The kernel counts the time of all processors in ``/proc/stat``. If time is neither idle nor used by the run's own processes, other programs used it.
In contrast to a load average, this figure covers exactly the time of the run, and excludes the run's own processes. The time of interrupts is not
counted for any program, because the run's own network traffic causes most of them. Steal is the time that the host of a virtual machine gave to other
virtual machines.

Steal and the load of other programs are recorded before the run, when no process of the campaign runs, and during the run. They are
also recorded after the last run of a campaign.

Source: proc_stat(5): user, nice, system, idle, iowait, irq, softirq and steal, in ticks; user includes the time of guests (virtual machines).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, NamedTuple

import msgspec

TICKS_PER_S = 100  # USER_HZ is 100 on all known machines
MOMENTS = ("before", "during", "after")
STEAL, OTHERS = "steal_percent", "other_load"
_OWN_LOAD = 2  # The load average may still include the publisher and the subscriber of the previous run, which may both have used a whole CPU.
_ALL = re.compile(r"^cpu +(\d+(?: \d+){7,})$", re.MULTILINE)
_EACH = re.compile(r"^cpu\d+ ", re.MULTILINE)
Share = Annotated[float, msgspec.Meta(ge=0)]


class Limits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How much other programs and the host may disturb a run, before it, during it and after it.

    Attributes:
        steal_percent: the share of all processor time that the host may take, in percent.
        other_load: how many processors all other programs may keep busy, on average.
    """

    steal_percent: Share | None = None
    other_load: Share | None = None


class ProcessorTime(NamedTuple):
    """The processor time that the kernel has counted since the machine started, in ticks, and the number of processors.

    Attributes:
        processors: how many processors there are.
        programs: time of programs, and of the kernel on their behalf.
        interrupts: time of interrupts.
        idle: time in which nothing ran, also while waiting for a disk.
        steal: time in which the host ran other virtual machines.
    """

    processors: int
    programs: int
    interrupts: int
    idle: int
    steal: int


class Disturbance(NamedTuple):
    """The processor time that others took between two readings. If the processor time of the run itself is not known, ``other_load`` is ``None``."""

    steal_percent: float
    other_load: float | None


def processor_time(text: str) -> ProcessorTime | None:
    """Return the times in the text of ``/proc/stat``; ``None`` if the text has no times."""
    total, processors = _ALL.search(text), len(_EACH.findall(text))
    if total is None or not processors:
        return None
    user, nice, system, idle, waiting, hard, soft, steal = (int(word) for word in total[1].split()[:8])
    return ProcessorTime(processors, user + nice + system, hard + soft, idle + waiting, steal)


def disturbance(before: ProcessorTime, after: ProcessorTime, own_s: float | None) -> Disturbance | None:
    """Return the processor time that others took between two readings. Return ``None`` if no time passed, or if the number of processors changed.

    Args:
        before: the first reading.
        after: the second reading.
        own_s: the processor time of the run's own processes, in seconds.
    """
    programs, interrupts, idle, steal = (late - early for early, late in zip(before[1:], after[1:], strict=True))
    total = programs + interrupts + idle + steal
    if total <= 0 or before.processors != after.processors:
        return None
    seconds = total / TICKS_PER_S / before.processors
    # The kernel samples and counts whole ticks, so the sum can be slightly below the run's own time. Then the load of others is 0.
    others = None if own_s is None else max(0.0, programs / TICKS_PER_S - own_s) / seconds
    return Disturbance(100 * max(0, steal) / total, others)


def as_environment(disturbed: Disturbance | None, moment: str) -> dict[str, str]:
    """Return the disturbance as facts about the environment of a run, such as ``steal_percent_before``."""
    if disturbed is None:
        return {}
    texts = {STEAL: f"{disturbed.steal_percent:.2f}", OTHERS: None if disturbed.other_load is None else f"{disturbed.other_load:.2f}"}
    return {f"{name}_{moment}": text for name, text in texts.items() if text is not None}


def is_busy(other_load: float | None, load: float | None, processors: float | None) -> bool:
    """Whether other programs used more than a quarter of the processors of the machine before a run.

    Args:
        other_load: the number of processors that other programs kept busy; ``None`` if it was not measured.
        load: the load average, which is used if ``other_load`` is ``None``.
        processors: the number of processors of the machine.
    """
    if processors is None:
        return False
    if other_load is not None:
        return other_load > processors / 4
    return load is not None and load > _OWN_LOAD + processors / 4


def exceeded(environment: Mapping[str, str], limits: Limits | None) -> Iterator[str]:
    """Yield a text for each limit that a run exceeded on any of its machines. An unknown value exceeds no limit."""
    if limits is None:
        return
    for name, text in environment.items():
        fact = name.rpartition(".")[2]
        for moment in MOMENTS:
            for kind, limit, words in _kinds(limits):
                value = _number(text) if fact == f"{kind}_{moment}" else None
                if value is not None and limit is not None and value > limit:
                    yield f"{words.format(value)} {moment} the run" + (f" ({name.rpartition('.')[0]})" if "." in name else "")


def _kinds(limits: Limits | None) -> tuple[tuple[str, float | None, str], ...]:
    if limits is None:
        return ()
    return ((STEAL, limits.steal_percent, "steal {:g} %"), (OTHERS, limits.other_load, "load of others {:g}"))


def limit_words(limits: Limits) -> str:
    """Return the limits as text, such as ``steal 2 %, load of others 0.5``."""
    return ", ".join(words.format(limit) for _, limit, words in _kinds(limits) if limit is not None)


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"[0-9]{1,9}(?:\.[0-9]{1,9})?", text) else None
