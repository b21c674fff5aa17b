"""The rows of the tables ``runs`` and ``logs``, from a manifest and what its logs give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tacholog.runs.labels import labels_text
from tacholog.runs.manifest import LogFile, Manifest
from tacholog.runs.moments import is_moment
from tacholog.schema.records import SEVERITY, Facts, Status
from tacholog.store.frames import Row
from tacholog.store.logs import LogHead


class ReadLog(NamedTuple):
    """A log as its manifest lists it, and what it gave."""

    entry: LogFile
    head: LogHead


def run_ending(manifest: Manifest, logs: Sequence[ReadLog], *, has_results: bool) -> tuple[Status | None, str | None]:
    """Return how a run ended and why: the worst ending that its manifest or one of its logs states; ``None`` if none of them states any.

    A log without results does not make a run empty whose other logs have some: often only one side prints them.
    """
    in_logs = [(log.head.status, log.head.reason) for log in logs] or [("empty", "the run has no log")]
    if has_results:
        in_logs = [ending for ending in in_logs if ending[0] != "empty"]
    endings = [(manifest.status, manifest.reason), *in_logs]
    return max((ending for ending in endings if ending[0]), key=lambda ending: SEVERITY[ending[0]], default=(None, None))


def run_row(manifest: Manifest, facts: Sequence[Facts], ending: tuple[Status | None, str | None], options: str | None) -> Row:
    """Return a run's row without its place and its manifest. What the manifest leaves open, the first log fills that states it.

    A log that names what it measured, as that of perftest names the library of a middleware, knows it better than the campaign, which measures many.
    """
    measured = next((f for f in facts if f.system), None)
    stated_version = next((f.system_version for f in facts if f.system_version), None)
    return {
        "system": measured.system if measured else manifest.system,
        "system_version": measured.system_version if measured else manifest.system_version or stated_version,
        "tool": manifest.tool,
        "tool_version": manifest.tool_version or next((f.tool_version for f in facts if f.tool_version), None),
        "release": manifest.release,
        "host": manifest.host,
        "published": manifest.published,
        "status": ending[0],
        "reason": ending[1],
        "start_time": next((when for when in (manifest.start_time, *(f.start_time for f in facts)) if when and is_moment(when)), None),
        "order_index": manifest.order_index,
        "session": manifest.session,
        "repetition": manifest.repetition,
        "campaign": manifest.campaign,
        "options": options,
        "labels": labels_text(manifest.labels),
        "build": next((f.build for f in facts if f.build), None),
    }


def log_row(log: ReadLog) -> Row:
    """Return a log's row without its run."""
    head = log.head
    return {
        "log": log.entry.file,
        "sha256": head.sha256,
        "text_sha256": head.text_sha256,
        "bytes": head.size_bytes,
        "format": head.format,
        "side": log.entry.side,
        "lines": None if head.is_lost else sum(head.lines.values()),
        "records": head.lines.get("record", 0),
        "chatter": head.lines.get("chatter", 0),
        "broken": head.lines.get("broken", 0),
        "unknown": head.lines.get("unknown", 0),
        "status": head.status,
    }
