"""Digests of runs: what is made of a run is made again only if its digest changed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from tacholog.view.results import HistogramRow, LogRow, ProblemRow, ResultRow
from tacholog.view.views import View

_RESULT_FIELDS = tuple(name for name in ResultRow.__struct_fields__ if name != "run")  # the run holds the manifest, which is hashed once


def run_digests(view: View) -> dict[str, str]:
    """Return the digest of all that is known of each run: its row, its numbers, logs, problems and distributions."""
    rest: dict[str, list[object]] = {}
    others: Sequence[LogRow | ProblemRow | HistogramRow] = [*view.logs, *view.problems, *view.histograms]
    for row in others:
        rest.setdefault(row.run, []).append(row)
    return {name: digest([run, _values(view.by_run.get(name, ())), rest.get(name)]) for name, run in view.runs.items()}


def _values(results: Sequence[ResultRow]) -> list[list[object]]:
    return [[getattr(result, field) for field in _RESULT_FIELDS] for result in results]


def digest(value: object) -> str:
    """Return the SHA-256 of anything that msgspec can write."""
    return hashlib.sha256(msgspec.msgpack.encode(value, order="deterministic")).hexdigest()
