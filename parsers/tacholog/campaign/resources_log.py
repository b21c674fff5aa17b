"""The log of what the processes of a run used, as the kernel counted it. `tacholog.formats.resources` reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tacholog.campaign.machines.machine import Resources
from tacholog.errors import UnreadableInput
from tacholog.formats.reading import Event, Scan
from tacholog.formats.source import open_log_in
from tacholog.runs.conditions import stated_conditions
from tacholog.runs.manifest import Manifest
from tacholog.schema.records import Record, Side, Test

HEAD = "process resources log=resources/1"


class LoggedTest(NamedTuple):
    """What the logs of a run say was logged.

    Attributes:
        test: the test of the first result; ``None`` without results.
        payload_bytes: the size, if all results have the same.
        has_resources: whether the logs themselves state what the processes used.
    """

    test: Test | None
    payload_bytes: int | None
    has_resources: bool


class UsedResources(NamedTuple):
    """A process that used resources."""

    name: str
    side: Side | None
    resources: Resources


def read_logged_test(folder: Path, manifest: Manifest) -> LoggedTest:
    """Read from the logs of a run what was logged. Logs that cannot be read say nothing. A size that no log prints is that of the manifest."""
    tests: list[Test] = []
    sizes: set[int | None] = set()
    has_resources = False
    for entry in manifest.logs:
        if not entry.results:
            continue
        try:
            with open_log_in(folder, entry.file) as text:
                for event in Scan(text, entry.format).batches():
                    record = event.what if isinstance(event, Event) else event.like
                    if not isinstance(record, Record):
                        continue
                    if record.scope == "resources":
                        has_resources = True
                    else:
                        tests.append(record.test)
                        sizes.add(record.payload_bytes)
        except UnreadableInput:
            continue
    size = sizes.pop() if len(sizes) == 1 else None
    return LoggedTest(tests[0] if tests else None, size or (None if sizes else stated_conditions(manifest).payload_bytes), has_resources)


def resources_log(users: Sequence[UsedResources], logged: LoggedTest) -> str:
    """Return the text of the log."""
    lines = [HEAD, *(f"used {_pairs(_fields(user, logged))} ." for user in users), f"end processes={len(users)}"]
    return "\n".join(lines) + "\n"


def _fields(user: UsedResources, logged: LoggedTest) -> Mapping[str, object]:
    used = user.resources
    by_shell = used.cpu_resolution_ns is not None
    above = "_above" if by_shell else ""
    peak = "peak_memory_above_bytes" if by_shell else "peak_memory_below_bytes" if used.max_rss_is_bound else "peak_memory_bytes"
    return {
        "process": user.name,
        "side": user.side,
        "test": logged.test,
        "payload_bytes": logged.payload_bytes,
        "duration_ns": used.duration_ns,
        "cpu_resolution_ns": used.cpu_resolution_ns,
        "user_ns": used.user_cpu_ns,
        "system_ns": used.system_cpu_ns,
        f"voluntary_switches{above}": used.voluntary,
        f"involuntary_switches{above}": used.involuntary,
        peak: used.max_rss_bytes,
    }


def _pairs(fields: Mapping[str, object]) -> str:
    return " ".join(f"{name}={value}" for name, value in fields.items() if value is not None)
