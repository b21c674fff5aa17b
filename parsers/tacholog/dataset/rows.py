"""The rows of the tables ``runs`` and ``results``, from a manifest and the records of its logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from tacholog.dataset.frames import Row
from tacholog.dataset.logs import LoadedLog
from tacholog.formats.reading import Event
from tacholog.runs.labels import labels_text
from tacholog.runs.manifest import Manifest
from tacholog.schema.conditions import Conditions
from tacholog.schema.metrics import METRICS
from tacholog.schema.records import SEVERITY, Record, Status


def run_ending(manifest: Manifest, logs: Sequence[LoadedLog]) -> tuple[Status | None, str | None]:
    """Return how a run ended and why: the worst ending that its manifest or one of its logs states; ``None`` if none of them states any.

    A log without results does not make a run empty whose other logs have some: often only one side prints them.
    """
    in_logs = [log.status for log in logs] or [("empty", "the run has no log")]
    if any(record.scope != "resources" for log in logs for _, record in log.records):
        in_logs = [ending for ending in in_logs if ending[0] != "empty"]
    endings = [(manifest.status, manifest.reason), *in_logs]
    return max((ending for ending in endings if ending[0]), key=lambda ending: SEVERITY[ending[0]], default=(None, None))


def run_row(run: str, folder: Path, manifest: Manifest, logs: Sequence[LoadedLog], options: str | None) -> Row:
    """Return a run's row. What the manifest leaves open, the first log fills that states it.

    A log that names what it measured, as that of perftest names the library of a middleware, knows it better than the campaign, which measures many.
    """
    facts = [log.facts for log in logs]
    status, reason = run_ending(manifest, logs)
    measured = next((f for f in facts if f.system), None)
    stated_version = next((f.system_version for f in facts if f.system_version), None)
    return {
        "run": run,
        "system": measured.system if measured else manifest.system,
        "system_version": measured.system_version if measured else manifest.system_version or stated_version,
        "tool": manifest.tool,
        "tool_version": manifest.tool_version or next((f.tool_version for f in facts if f.tool_version), None),
        "release": manifest.release,
        "host": manifest.host,
        "published": manifest.published,
        "status": status,
        "reason": reason,
        "start_time": manifest.start_time or next((f.start_time for f in facts if f.start_time), None),
        "order_index": manifest.order_index,
        "session": manifest.session,
        "repetition": manifest.repetition,
        "campaign": manifest.campaign,
        "options": options,
        "labels": labels_text(manifest.labels),
        "build": next((f.build for f in facts if f.build), None),
        "root": str(folder),
        "manifest": msgspec.json.encode(manifest).decode(),
    }


def result_rows(run: str, log: str, event: Event, record: Record, conditions: Conditions) -> Iterator[Row]:
    """Yield a row for each number of a record."""
    shared: Row = {
        "run": run,
        "log": log,
        "line": event.line,
        "last_line": event.last_line,
        "scope": record.scope,
        "test": record.test,
        "side": record.side,
        "participant": record.participant,
        **msgspec.structs.asdict(conditions),
        "payload_bytes": record.payload_bytes,
        "payload_bytes_high": record.payload_bytes_high,
        "samples": record.samples,
    }
    for number in record.numbers:
        yield shared | {
            "value_line": number.line,
            "metric": number.metric,
            "statistic": number.statistic,
            "value": number.value,
            "unit": METRICS[number.metric].unit,
            "bound": number.bound,
            "resolution": number.resolution,
            "marks": list(number.marks),
        }
