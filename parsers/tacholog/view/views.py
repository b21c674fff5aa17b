"""A view: the part of a dataset that one page or directive shows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from tacholog.runs.labels import has_labels, label_fields, label_name, labels_of
from tacholog.runs.manifest import Host, Manifest
from tacholog.slugs import path_slug
from tacholog.view import results as rows
from tacholog.view.numerals import NOT_STATED
from tacholog.view.results import HistogramRow, LogRow, ProblemRow, ResultRow, RunRow
from tacholog.view.series import Series, series_of

if TYPE_CHECKING:
    from tacholog.dataset.frames import Dataset

TESTS = ("latency", "throughput", "demand")


class Selection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to show; ``None`` selects everything. A transport or host of ``not stated`` selects runs that state none.

    ``labels`` holds pairs such as ``("label.plugin", "flannel")``; the value ``not stated`` selects runs without that label.
    """

    system: str | None = None
    transport: str | None = None
    test: str | None = None
    host: str | None = None
    run: str | None = None
    release: str | None = None
    labels: tuple[tuple[str, str], ...] = ()

    def values(self) -> list[str]:
        """Return what is asked for, for titles and anchors: the values of the fields, and labels as ``plugin=flannel``."""
        fields = (self.system, self.transport, self.test, self.host, self.run, self.release)
        return [*(value for value in fields if value), *(f"{label_name(name)}={value}" for name, value in self.labels)]

    def of_run(self, results: Sequence[ResultRow]) -> list[ResultRow]:
        """Return the selected numbers of a run that `wants_run` accepts."""
        if self.transport is None and self.test is None:
            return list(results)
        return [result for result in results if _is(self.transport, result.conditions.transport) and _is(self.test, result.test)]

    def wants_run(self, run: RunRow) -> bool:
        """Whether a run is selected, by what is known of the run itself."""
        pairs = ((self.system, run.system), (self.host, run.host), (self.run, run.run), (self.release, run.release))
        return all(_is(wanted, given) for wanted, given in pairs) and has_labels(run.labels, self.labels)


class View(msgspec.Struct, frozen=True):
    """Runs, logs, problems and numbers; all of them belong together."""

    by_run: dict[str, list[ResultRow]]  # hundreds of pages each ask for a few runs, and must not search the numbers of all others
    runs: dict[str, RunRow]
    logs: Sequence[LogRow]
    problems: Sequence[ProblemRow]
    hosts: dict[str, Host]
    histograms: Sequence[HistogramRow] = ()

    def only(self, selection: Selection) -> View:
        """Return the selected part: its numbers and their runs, and selected runs without numbers."""
        found = {name: results for name in self._wanted(selection) if (results := selection.of_run(self.by_run.get(name, ())))}
        kept = set(found) | self._without_numbers(selection)
        runs = {name: run for name, run in self.runs.items() if name in kept}
        logs = [log for log in self.logs if log.run in kept]
        problems = [problem for problem in self.problems if problem.run in kept]
        # Nothing is known about runs that could not be read: they are listed where everything is selected.
        problems += self.unread if selection == Selection() else []
        return View(found, runs, logs, problems, self.hosts, [one for one in self.histograms if one.run in kept])

    def only_runs(self, names: Iterable[str]) -> View:
        """Return the part with these runs."""
        kept = set(names)
        logs = [log for log in self.logs if log.run in kept]
        problems = [problem for problem in self.problems if problem.run in kept]
        histograms = [histogram for histogram in self.histograms if histogram.run in kept]
        by_run = {name: results for name, results in self.by_run.items() if name in kept}
        return View(by_run, {name: run for name, run in self.runs.items() if name in kept}, logs, problems, self.hosts, histograms)

    def _wanted(self, selection: Selection) -> list[str]:
        named = self.runs if selection.run is None else {selection.run} & self.runs.keys()
        return [name for name in named if selection.wants_run(self.runs[name])]

    def _without_numbers(self, selection: Selection) -> set[str]:
        """Return failed and empty runs: they belong to the transport that their manifest names, and to no test."""
        if selection.test is not None:
            return set()
        empty = set(self.runs) - set(self.by_run)
        wanted = [self.runs[name] for name in empty if selection.wants_run(self.runs[name])]
        return {run.run for run in wanted if _is(selection.transport, transport_of(run))}

    @property
    def unread(self) -> list[ProblemRow]:
        """The runs, hosts and folders that could not be read at all."""
        return [problem for problem in self.problems if problem.run not in self.runs]

    @property
    def results(self) -> list[ResultRow]:
        """Every number, in the order of runs."""
        return [result for results in self.by_run.values() for result in results]

    def summaries(self) -> list[ResultRow]:
        """Return the numbers of whole measurements; those of single intervals are left out."""
        return [result for result in self.results if result.scope == "summary"]

    def intervals(self) -> list[ResultRow]:
        """Return the numbers of single intervals."""
        return [result for result in self.results if result.scope == "interval"]

    def series(self, named: Sequence[str] = ()) -> list[Series]:
        """Return the series of whole measurements. The labels ``named`` stand in each name, also where all series share them."""
        return series_of(self.summaries(), named)


def differing_labels(runs: Iterable[RunRow]) -> list[str]:
    """Return the labels in which any two runs differ (``label.plugin``)."""
    texts = list(dict.fromkeys(run.labels for run in runs))
    return [field for field in label_fields(texts) if len({labels_of(text).get(field) for text in texts}) > 1]


def view_of(data: Dataset) -> View:
    """Return everything in a dataset."""
    runs = rows.runs(data)
    by_run: dict[str, list[ResultRow]] = {}
    for result in rows.results(data, runs):
        by_run.setdefault(result.run.run, []).append(result)
    return View(by_run, runs, rows.logs(data), rows.problems(data), data.hosts, rows.histograms(data))


def manifest_of(run: RunRow) -> Manifest | None:
    """Return a run's manifest."""
    return msgspec.json.decode(run.manifest, type=Manifest) if run.manifest else None


def transport_of(run: RunRow) -> str | None:
    """Return the transport that a run's manifest names, for runs whose logs hold no number."""
    conditions = json.loads(run.manifest or "{}").get("conditions", {})
    transport = conditions.get("transport")
    return None if transport is None else str(transport)


def log_document(folder: str, run: str, log: str) -> str:
    """Return the document name of a log's page."""
    return f"{folder}/{path_slug(f'{run}/{log}')}"


def _is(wanted: str | None, given: str | None) -> bool:
    return wanted is None or wanted == (NOT_STATED if given is None else given)
