"""The newest releases, by the day on which their runs were made."""

from __future__ import annotations

from tacholog.runs.moments import last_day
from tacholog.view.numerals import NOT_STATED
from tacholog.view.results import RunRow
from tacholog.view.views import View

_MOST = 5


def news(view: View) -> list[dict[str, object]]:
    """Return the newest groups of runs: of one system, version and kind, the last first. Runs without a date are left out."""
    groups: dict[tuple[str, str, bool], list[RunRow]] = {}
    for run in view.runs.values():
        if run.start_time:
            version = run.system_version or run.release or ""
            groups.setdefault((run.system or NOT_STATED, version, run.published), []).append(run)
    items = [_item(f"{system} {version}".strip(), published, runs) for (system, version, published), runs in groups.items()]
    return sorted(items, key=lambda item: (str(item["day"]), str(item["words"])), reverse=True)[:_MOST]


def _item(words: str, published: bool, runs: list[RunRow]) -> dict[str, object]:
    hosts = ", ".join(sorted({run.host for run in runs if run.host}))
    day = last_day(run.start_time for run in runs)
    return {"day": day, "words": words, "kind": "published" if published else "own", "runs": len(runs), "hosts": hosts}
