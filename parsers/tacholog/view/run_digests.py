"""Digests of runs: what is made of a run is made again only if its digest changed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from tacholog.view.results import HistogramRow, LogRow, ProblemRow
from tacholog.view.views import View


def run_digests(view: View) -> Mapping[str, str]:
    """Return the digest of all that is known of each run: its row, its numbers, logs, problems and distributions. The view is of everything."""
    return view.once("run digests", partial(_run_digests, view))


def _run_digests(view: View) -> dict[str, str]:
    rest: dict[str, list[object]] = {}
    others: Sequence[LogRow | ProblemRow | HistogramRow] = [*view.logs, *view.problems, *view.histograms]
    for row in others:
        rest.setdefault(row.run, []).append(row)
    numbers = {name: view.number_digests[name] for name in view.by_run}
    return {name: digest([run, numbers.get(name), rest.get(name)]) for name, run in view.runs.items()}


def digest(value: object) -> str:
    """Return the SHA-256 of anything that msgspec can write."""
    return hashlib.sha256(msgspec.msgpack.encode(value, order="deterministic")).hexdigest()
