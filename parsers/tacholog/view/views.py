"""A view: the part of a dataset that one page or directive shows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from itertools import chain, groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from tacholog.runs.labels import has_labels, label_fields, label_name, labels_of
from tacholog.runs.manifest import Host, Manifest
from tacholog.slugs import path_slug
from tacholog.view import results as rows
from tacholog.view.numerals import NOT_STATED
from tacholog.view.results import HistogramRow, LogRow, ProblemRow, ResultRow, RunRow
from tacholog.view.series import Series, SeriesKey, SeriesNumbers, labelled, measured_alike, measured_in, series_of

if TYPE_CHECKING:
    from tacholog.store.frames import Dataset
from collections import Counter

_OF_RUN = ("system", "host", "run", "release")  # what a selection asks of a run itself, beside its labels
TESTS = ("latency", "throughput", "demand", "sustain")
_Made = TypeVar("_Made")
_Kind = tuple[str | None, str]  # a transport and a test


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

    def of_run(self, results: list[ResultRow], kinds: frozenset[_Kind]) -> list[ResultRow]:
        """Return the selected numbers of a run that `wants_run` accepts; the same list if these are all.

        Args:
            results: the numbers of the run.
            kinds: the transports and tests that are among them: most runs have one of each, and no number is looked at.
        """
        wanted = {kind for kind in kinds if _is(self.transport, kind[0]) and self.test in (None, kind[1])}
        if len(wanted) == len(kinds):
            return results
        return [result for result in results if (result.conditions.transport, result.test) in wanted] if wanted else []

    def runs_among(self, runs: Iterable[RunRow]) -> list[RunRow]:
        """Return the runs that are selected. Only what is asked for is looked at: most selections ask for one field, and a site asks for many."""
        found = list(runs)
        for name in _OF_RUN:
            wanted = getattr(self, name)
            if wanted is not None:
                found = [run for run in found if _is(wanted, getattr(run, name))]
        return [run for run in found if has_labels(run.labels, self.labels)] if self.labels else found

    def wants_run(self, run: RunRow) -> bool:
        """Whether a run is selected, by what is known of the run itself."""
        return bool(self.runs_among([run]))


class View(msgspec.Struct, frozen=True, dict=True):
    """Runs, logs, problems and numbers; all of them belong together."""

    by_run: dict[str, list[ResultRow]]  # hundreds of pages each ask for a few runs, and must not search the numbers of all others
    runs: dict[str, RunRow]
    logs: Sequence[LogRow]
    problems: Sequence[ProblemRow]
    hosts: dict[str, Host]
    histograms: Sequence[HistogramRow] = ()

    def once(self, what: Hashable, make: Callable[[], _Made]) -> _Made:
        """Return what ``make`` makes of this view, and make it once: pages of a site ask for the same again and again.

        Args:
            what: a name for it, with everything that it depends on besides the view.
            make: makes it.
        """
        if what not in self._made:
            self._made[what] = make()
        made: _Made = self._made[what]
        return made

    @cached_property
    def _made(self) -> dict[Hashable, Any]:
        return {}

    def only(self, selection: Selection) -> View:
        """Return the selected part: its numbers and their runs, and selected runs without numbers."""
        return self.once(selection, partial(self._by_steps, selection))

    def _by_steps(self, selection: Selection) -> View:
        """Select by system first and by test last, so that selections that begin alike share what was selected."""
        if selection.test is not None and selection != Selection(test=selection.test):
            return self.only(msgspec.structs.replace(selection, test=None)).only(Selection(test=selection.test))
        of_system = Selection(system=selection.system)
        if of_system not in (selection, Selection()) and (part := self.only(of_system)) is not self:
            return part.only(selection)
        return self._only(selection)

    def _only(self, selection: Selection) -> View:
        wanted = [name for name in self._wanted(selection) if name in self.by_run]
        found = {name: results for name in wanted if (results := selection.of_run(self.by_run[name], self.kinds[name]))}
        kept = set(found) | self._without_numbers(selection)
        is_whole = kept == self.runs.keys() and all(found.get(name) is results for name, results in self.by_run.items())
        if is_whole and (selection == Selection() or not self.unread):
            return self
        runs = {name: run for name, run in self.runs.items() if name in kept}
        logs = [log for log in self.logs if log.run in kept]
        problems = [problem for problem in self.problems if problem.run in kept]
        # Nothing is known about runs that could not be read: they are listed where everything is selected.
        problems += self.unread if selection == Selection() else []
        part = View(found, runs, logs, problems, self.hosts, [one for one in self.histograms if one.run in kept])
        # Most runs are selected with all their numbers, which need not be looked at again.
        kinds = {name: self.kinds[name] if results is self.by_run[name] else _kinds_of(results) for name, results in found.items()}
        part.__dict__["kinds"] = kinds  # where `cached_property` looks
        if selection.test is not None and selection == Selection(test=selection.test):
            part.__dict__["_all_tests"] = self
        return part

    @cached_property
    def _all_tests(self) -> View | None:
        """The view that this one is the part of one test of, if it is one."""
        return None

    @cached_property
    def kinds(self) -> Mapping[str, frozenset[_Kind]]:
        """The transports and tests of each run with numbers: each pair that is among them."""
        return {name: _kinds_of(results) for name, results in self.by_run.items()}

    @cached_property
    def logs_of(self) -> Mapping[str, Sequence[LogRow]]:
        """The logs of each run."""
        found: dict[str, list[LogRow]] = {}
        for log in self.logs:
            found.setdefault(log.run, []).append(log)
        return found

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
        return [run.run for run in selection.runs_among(self.runs[name] for name in named)]

    def _without_numbers(self, selection: Selection) -> set[str]:
        """Return failed and empty runs: they belong to the transport that their manifest names, and to no test."""
        if selection.test is not None:
            return set()
        empty = set(self.runs) - set(self.by_run)
        wanted = selection.runs_among(self.runs[name] for name in empty)
        return {run.run for run in wanted if _is(selection.transport, transport_of(run))}

    @property
    def unread(self) -> list[ProblemRow]:
        """The runs, hosts, files and folders that could not be read at all."""
        return [problem for problem in self.problems if problem.run not in self.runs]

    @property
    def results(self) -> list[ResultRow]:
        """Every number, in the order of runs. It is put together each time: kept for each page, these lists take memory."""
        return list(chain.from_iterable(self.by_run.values()))

    def summaries(self) -> list[ResultRow]:
        """Return the numbers of whole measurements; those of single intervals are left out."""
        return [result for results in self.by_run.values() for result in results if result.scope == "summary"]

    def intervals(self) -> list[ResultRow]:
        """Return the numbers of single intervals: parts of one measurement over time. Trials of a search, each at a rate of its own, are none."""
        return [result for result in self.results if result.scope == "interval" and result.test != "sustain"]

    def interval_series(self) -> list[Series]:
        """Return the series of single intervals. Each portion of a page asks for them."""
        return self.once("interval series", lambda: series_of(self.intervals()))

    def trials(self) -> list[ResultRow]:
        """Return the numbers of the trials of searches. Each portion of a page asks for them."""
        return self.once("trials", lambda: [result for result in self.results if result.scope == "interval" and result.test == "sustain"])

    def series(self, named: Sequence[str] = ()) -> list[Series]:
        """Return the series of whole measurements. The labels ``named`` stand in each name, also where all series share them."""
        return self.once(("series", *named), partial(labelled, self.measured, named))

    @cached_property
    def measured(self) -> Mapping[SeriesKey, SeriesNumbers]:
        """The numbers of whole measurements, in groups that were measured the same way."""
        whole = self._all_tests
        found = None if whole is None else measured_in(whole.measured, whole.kinds, self.by_run.keys())
        return measured_alike(self.summaries()) if found is None else found


def differing_labels(runs: Iterable[RunRow]) -> list[str]:
    """Return the labels in which any two runs differ (``label.plugin``)."""
    texts = list(dict.fromkeys(run.labels for run in runs))
    return [field for field in label_fields(texts) if len({labels_of(text).get(field) for text in texts}) > 1]


def view_of(data: Dataset) -> View:
    """Return everything in a dataset."""
    runs = rows.runs(data)
    found: dict[str, list[ResultRow]] = {}
    for name, results in groupby(rows.results(data, runs), attrgetter("run.run")):
        found.setdefault(name, []).extend(results)
    by_run = {name: found[name] for name in runs if name in found}
    # What could not be read at all comes last, as in `View.only`.
    problems = sorted(rows.problems(data), key=lambda problem: problem.run not in runs)
    return View(by_run, runs, rows.logs(data), problems, data.hosts, rows.histograms(data))


def summaries_of(data: Dataset) -> tuple[list[ResultRow], list[RunRow]]:
    """Return the numbers of whole measurements of a dataset, and its runs."""
    runs = rows.runs(data)
    whole = msgspec.structs.replace(data, results=data.results[data.results["scope"] == "summary"])
    return rows.results(whole, runs), list(runs.values())


def manifest_of(run: RunRow) -> Manifest | None:
    """Return a run's manifest."""
    return _manifest_in(run.manifest) if run.manifest else None


@lru_cache(maxsize=512)  # those of a page: one takes some ten kB
def _manifest_in(text: str) -> Manifest:
    return msgspec.json.decode(text, type=Manifest)


def _kinds_of(results: Sequence[ResultRow]) -> frozenset[_Kind]:
    return frozenset((result.conditions.transport, result.test) for result in results)


def transport_of(run: RunRow) -> str | None:
    """Return the transport that a run's manifest names, for runs whose logs hold no number."""
    transport = _decode_transport(run.manifest).conditions.transport if run.manifest else None
    return None if transport is None else str(transport)


class _ConditionsOnly(msgspec.Struct, frozen=True):
    transport: Any = None


class _TransportOnly(msgspec.Struct, frozen=True):
    """Only this of a manifest: all runs of a site are asked for it, and the rest takes four times as long to read."""

    conditions: _ConditionsOnly = _ConditionsOnly()


_decode_transport = msgspec.json.Decoder(_TransportOnly).decode


@lru_cache(maxsize=1 << 14)  # each number links to its log
def log_document(folder: str, run: str, log: str) -> str:
    """Return the document name of a log's page."""
    return f"{folder}/{path_slug(f'{run}/{log}')}"


def _is(wanted: str | None, given: str | None) -> bool:
    return wanted is None or wanted == (NOT_STATED if given is None else given)


_Marked = Counter[tuple[str | None, tuple[str, ...]]]


def marked_of(view: View) -> Mapping[str, _Marked]:
    """Return for each run how many of its numbers have which marks, by transport. Numbers without marks are not counted."""
    return view.once("marked", partial(_marked_of, view))


def _marked_of(view: View) -> dict[str, _Marked]:
    return {name: Counter((result.conditions.transport, result.marks) for result in results if result.marks) for name, results in view.by_run.items()}
