"""The floor runs: short runs of perftest that are added to a campaign as controls.

No release of the measured system changes these runs. So if their results change, the host has changed. They use no network and take little time. They
measure four local transports, which depend on the speed of the processor (inter-thread, shm) and of the kernel (uds, tcp), and ``null``, which shows
the overhead of perftest itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from tacholog.campaign.campaign_file import Campaign, Process, RunBlock
from tacholog.runs.manifest import FLOOR

_COMMAND = (
    *(FLOOR, "--test", "latency", "--transport", "{transport}", "--role", "both", "--sizes", "{sizes_bytes}"),
    *("--duration", "{duration_s}", "--warmup", "{warmup_s}", "--touch", "write+read", "--output", "-"),
)
_BLOCK = RunBlock(
    name="control-{transport}",
    processes=(Process(name="floor", role="both", command=_COMMAND, format="native"),),
    control=True,
    vary={"transport": ["inter-thread", "null", "shm", "uds", "tcp"]},
    options={"sizes_bytes": [64, 4096, 65536], "duration_s": 0.1, "warmup_s": 0.05},
    conditions={
        "transport": "{transport}",
        "load_mode": "closed",
        "payload_touched": "write+read",
        "publishers": 1,
        "subscribers": 1,
        "planned_duration_s": "{duration_s}",
    },
)


def has_floor(campaign: Campaign) -> bool:
    """Whether the campaign needs floor runs: it has no controls, and all its processes run on this machine."""
    return not campaign.hosts and not any(block.control for block in campaign.runs)


def with_floor(campaign: Campaign, tools: Mapping[str, Path]) -> Campaign:
    """Return the campaign, with floor runs if it needs them.

    If ``tools`` does not contain the program for floor runs, none are added.
    """
    return msgspec.structs.replace(campaign, runs=(*campaign.runs, _BLOCK)) if FLOOR in tools and has_floor(campaign) else campaign


def floor_tools(tools: Mapping[str, Path], floor: Path | None) -> dict[str, Path]:
    """Return the tools, and add the program of the floor runs if there is one."""
    return {**tools, FLOOR: floor} if floor else dict(tools)


def without_floor(tools: Mapping[str, Path]) -> dict[str, Path]:
    """Return the tools without the program of the floor runs."""
    return {name: path for name, path in tools.items() if name != FLOOR}


def is_floor(processes: Sequence[Process]) -> bool:
    """Whether these are the processes of a floor run."""
    return any(process.command[0] == FLOOR for process in processes)
