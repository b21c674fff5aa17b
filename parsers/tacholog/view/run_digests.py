"""Digests of runs: what is made of a run is made again only if its digest changed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from operator import attrgetter

import msgspec

from tacholog.view.results import HistogramRow, LogRow, ProblemRow, ResultRow
from tacholog.view.views import View

# The run holds the manifest, which is hashed once; conditions are hashed once too.
_fields = attrgetter(*(name for name in ResultRow.__struct_fields__ if name not in ("run", "conditions")))


def run_digests(view: View) -> Mapping[str, str]:
    """Return the digest of all that is known of each run: its row, its numbers, logs, problems and distributions."""
    return view.once("run digests", partial(_run_digests, view))


def _run_digests(view: View) -> dict[str, str]:
    rest: dict[str, list[object]] = {}
    others: Sequence[LogRow | ProblemRow | HistogramRow] = [*view.logs, *view.problems, *view.histograms]
    for row in others:
        rest.setdefault(row.run, []).append(row)
    conditions: dict[int, str] = {}  # by the identity of those that many numbers share
    return {name: digest([run, _values(view.by_run.get(name, ()), conditions), rest.get(name)]) for name, run in view.runs.items()}


def _values(results: Sequence[ResultRow], conditions: dict[int, str]) -> list[list[object]]:
    for result in results:
        if id(result.conditions) not in conditions:
            conditions[id(result.conditions)] = digest(result.conditions)
    return [[conditions[id(result.conditions)], *_fields(result)] for result in results]


def digest(value: object) -> str:
    """Return the SHA-256 of anything that msgspec can write."""
    return hashlib.sha256(msgspec.msgpack.encode(value, order="deterministic")).hexdigest()
