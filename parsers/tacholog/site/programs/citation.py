"""How to cite a site, for programs: ``CITATION.cff``, and a Schema.org Dataset in JSON-LD.

Source:
    https://github.com/citation-file-format/citation-file-format, version 1.2.0; https://schema.org/Dataset.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from tacholog.site.downloads import ALL
from tacholog.site.programs.latest import LATEST
from tacholog.site.settings import SiteSettings
from tacholog.view.results import RunRow
from tacholog.visible import drawn

CITATION, DESCRIPTION = "CITATION.cff", "dataset.jsonld"
_FILES = ((ALL, "application/vnd.apache.parquet"), (LATEST, "application/json"))


def citation_files(runs: Iterable[RunRow], settings: SiteSettings) -> dict[str, str]:
    """Return both files by their names."""
    there = list(runs)
    described = json.dumps(description(there, settings), ensure_ascii=False, indent=1)
    return {CITATION: _citation(_last_day(there), _systems(there), settings), DESCRIPTION: f"{described}\n"}


def _last_day(runs: Iterable[RunRow]) -> str | None:
    return max((run.start_time[:10] for run in runs if run.start_time and _is_day(run.start_time[:10])), default=None)


def _systems(runs: Iterable[RunRow]) -> list[str]:
    return sorted({run.system for run in runs if run.system})


def _is_day(text: str) -> bool:
    from datetime import date

    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _citation(released: str | None, systems: list[str], settings: SiteSettings) -> str:
    """Return a citation file. A JSON string is a YAML string too, so no name can become YAML of its own."""
    entries: list[tuple[str, object]] = [
        ("cff-version", "1.2.0"),
        ("message", "If you use these measurements, please cite them as below. Each number has an id of its own: see the page about the figures."),
        ("type", "dataset"),
        ("title", drawn(settings.title)),
        ("authors", [{"name": drawn(settings.name)}]),
        *([("date-released", released)] if released else []),
        *([("url", drawn(settings.url))] if settings.url else []),
        ("keywords", [drawn(word) for word in ("publish/subscribe", "latency", "throughput", "benchmark", *systems)]),
    ]
    return "".join(f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in entries)


def description(runs: Iterable[RunRow], settings: SiteSettings) -> dict[str, object]:
    """Return what search engines for datasets ask for. It stands in the home page too, because they do not follow links to it."""
    there = list(runs)
    released, systems = _last_day(there), _systems(there)
    base = f"{drawn(settings.url).rstrip('/')}/" if settings.url else ""
    what = ", ".join(systems) or "publish/subscribe systems"
    said: dict[str, object] = {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "name": drawn(settings.title),
        "description": drawn(settings.intro or f"Latency and throughput of {what}, each number with its log."),
        "keywords": ["publish/subscribe", "latency", "throughput", "benchmark", *map(drawn, systems)],
        "creator": {"@type": "Organization", "name": drawn(settings.name)},
        "isAccessibleForFree": True,
        "variableMeasured": ["latency", "goodput", "message rate", "loss"],
        "distribution": [{"@type": "DataDownload", "contentUrl": f"{base}{name}", "encodingFormat": kind} for name, kind in _FILES],
    }
    if base:
        said["url"] = base
    if released:
        said["dateModified"] = released
    return said
