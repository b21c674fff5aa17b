"""What a process on a host behind ssh used, as far as a shell can know it.

- Processor time: what the shell's ``times`` counts for the process and its descendants, once it has ended. Most shells count in steps of 10 ms.
- Peak memory and context switches: the kernel's own counters (``VmHWM``, ``voluntary_ctxt_switches``), read after one second, then every
  `tacholog.campaign.machines.ssh.PERIOD_S` seconds, and directly before the harness stops a process. What a process used after that is not in
  them, so they are lower bounds. A process that ends by itself within its first second has none.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from tacholog.campaign.machines.machine import Resources
from tacholog.campaign.machines.ssh import whole_number

_TICK_NS = 10_000_000  # in which dash and busybox count processor time; bash counts in finer ones, but one resolution fits all hosts of a run
_SECONDS = re.compile(r"([0-9]{1,9})m([0-9]{1,9}(?:[.,][0-9]{1,9})?)s")
_COUNTER = re.compile(r"/proc/(\d+)/task/(\d+)/status:(\w+):")


def resources_from(words: Sequence[str], duration_ns: int | None) -> Resources:
    """Return what a process used, from the answer of the host: the lines of ``/proc`` as words, the word ``times``, and the output of ``times``."""
    split = words.index("times") if "times" in words else len(words)
    peak_kib: dict[str, int] = {}
    switches: dict[tuple[str, str], int] = {}
    for counter, value in itertools.pairwise(words[:split]):
        found = _COUNTER.fullmatch(counter)
        number = whole_number(value)
        if found is None or number is None:
            continue
        if found[3] == "VmHWM":
            peak_kib[found[1]] = number
        else:
            switches[found[3], found[2]] = number
    times = [found for found in map(_SECONDS.fullmatch, words[split + 1 :][:4]) if found]
    seconds = [int(found[1]) * 60 + float(found[2].replace(",", ".")) for found in times]
    children = seconds[2:] if len(seconds) == 4 else []  # noqa: PLR2004 - user and system time of the shell, then of its children
    voluntary = [value for (kind, _), value in switches.items() if kind == "voluntary_ctxt_switches"]
    involuntary = [value for (kind, _), value in switches.items() if kind == "nonvoluntary_ctxt_switches"]
    return Resources(
        duration_ns=duration_ns,
        user_cpu_ns=round(children[0] * 1e9) if children else None,
        system_cpu_ns=round(children[1] * 1e9) if children else None,
        max_rss_bytes=max(peak_kib.values()) * 1024 if peak_kib else None,
        voluntary=sum(voluntary) if voluntary else None,
        involuntary=sum(involuntary) if involuntary else None,
        cpu_resolution_ns=_TICK_NS,
    )
