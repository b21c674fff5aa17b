"""Views and selections: the parts of a dataset that a page or a directive shows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from itertools import chain, groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from tacholog.compare.sizes import SizeRange, size_ranges
from tacholog.runs.labels import has_labels, label_fields, label_name, labels_of
from tacholog.runs.manifest import Host, Manifest
from tacholog.runs.problems import CONTRADICTED
from tacholog.slugs import path_slug
from tacholog.view import results as rows
from tacholog.view.numerals import NOT_STATED
from tacholog.view.results import HistogramRow, LogRow, ProblemRow, ResultRow, RunRow
from tacholog.view.series import Series, SeriesKey, SeriesNumbers, labelled, measured_alike, measured_in, series_of

if TYPE_CHECKING:
    from tacholog.store.frames import Dataset
from collections import Counter

_OF_RUN = ("system", "host", "run", "release")  # fields of a selection that belong to runs, not to numbers
TESTS = ("latency", "throughput", "demand", "sustain")
_Made = TypeVar("_Made")
_Kind = tuple[str | None, str]  # a transport and a test


class Selection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The selected values of fields; ``None`` selects all values. A transport or host of ``not stated`` selects runs that state none.

    ``size`` is a payload size or a range of sizes, such as ``64B..4KiB``, or several of these, separated by commas.
    ``labels`` holds pairs such as ``("label.plugin", "flannel")``; the value ``not stated`` selects runs without that label.
    """

    system: str | None = None
    transport: str | None = None
    test: str | None = None
    host: str | None = None
    run: str | None = None
    release: str | None = None
    size: str | None = None
    labels: tuple[tuple[str, str], ...] = ()

    def values(self) -> list[str]:
        """Return the selected values for titles and anchors: the values of fields, and labels as ``plugin=flannel``."""
        fields = (self.system, self.transport, self.test, self.host, self.run, self.release, self.size)
        return [*(value for value in fields if value), *(f"{label_name(name)}={value}" for name, value in self.labels)]

    def size_ranges(self) -> tuple[SizeRange, ...]:
        """Return the selected ranges of sizes; an empty result selects all sizes.

        Raises:
            TachologError: ``size`` is neither a size nor a range of sizes.
        """
        return size_ranges(self.size.split(","), ":size:") if self.size is not None else ()

    def of_run(self, results: list[ResultRow], kinds: frozenset[_Kind]) -> list[ResultRow]:
        """Return the selected numbers of a run. The fields of the run must already match (`wants_run`).

        If all numbers are selected, return the same list.

        Args:
            results: the numbers of the run.
            kinds: the transports and tests of these numbers. If a run has only one of each, its numbers need not be examined.
        """
        if ranges := self.size_ranges():
            results = [result for result in results if _is_within(ranges, result)]
        wanted = {kind for kind in kinds if _is(self.transport, kind[0]) and self.test in (None, kind[1])}
        if len(wanted) == len(kinds):
            return results
        return [result for result in results if (result.conditions.transport, result.test) in wanted] if wanted else []

    def runs_among(self, runs: Iterable[RunRow]) -> list[RunRow]:
        """Return the selected runs. Only the selected fields are examined, because a site has many selections, most of them with one field."""
        selected = list(runs)
        for name in _OF_RUN:
            wanted = getattr(self, name)
            if wanted is not None:
                selected = [run for run in selected if _is(wanted, getattr(run, name))]
        return [run for run in selected if has_labels(run.labels, self.labels)] if self.labels else selected

    def wants_run(self, run: RunRow) -> bool:
        """Whether the fields and the labels of a run match the selection."""
        return bool(self.runs_among([run]))


class View(msgspec.Struct, frozen=True, dict=True):
    """Runs with their logs, problems and numbers."""

    by_run: dict[str, list[ResultRow]]  # Each of hundreds of pages needs only the numbers of a few runs.
    runs: dict[str, RunRow]
    logs: Sequence[LogRow]
    problems: Sequence[ProblemRow]
    hosts: dict[str, Host]
    histograms: Sequence[HistogramRow] = ()

    def once(self, what: Hashable, make: Callable[[], _Made]) -> _Made:
        """Return the result of ``make`` for this view. It is computed only once, because the pages of a site need the same values many times.

        Args:
            what: the key of the result. It contains everything on which the result depends, except for the view.
            make: the function that computes the result.
        """
        if what not in self._made:
            self._made[what] = make()
        made: _Made = self._made[what]
        return made

    @cached_property
    def _made(self) -> dict[Hashable, Any]:
        return {}

    def only(self, selection: Selection) -> View:
        """Return the selected part of the view: the numbers with their runs, and selected runs without numbers."""
        return self.once(selection, partial(self._by_steps, selection))

    def _by_steps(self, selection: Selection) -> View:
        """Select by system first and by test last, so that similar selections share intermediate views."""
        if selection.test is not None and selection != Selection(test=selection.test):
            return self.only(msgspec.structs.replace(selection, test=None)).only(Selection(test=selection.test))
        of_system = Selection(system=selection.system)
        if of_system not in (selection, Selection()) and (part := self.only(of_system)) is not self:
            return part.only(selection)
        return self._only(selection)

    def _only(self, selection: Selection) -> View:
        wanted = [name for name in self._wanted(selection) if name in self.by_run]
        numbers = {name: results for name in wanted if (results := selection.of_run(self.by_run[name], self.kinds[name]))}
        names = set(numbers) | self._selected_without_numbers(selection)
        is_whole = names == self.runs.keys() and all(numbers.get(name) is results for name, results in self.by_run.items())
        if is_whole and (selection == Selection() or not self.unread):
            return self
        runs = {name: run for name, run in self.runs.items() if name in names}
        logs = [log for log in self.logs if log.run in names]
        problems = [problem for problem in self.problems if problem.run in names]
        # The fields of unreadable runs are not known, so these runs belong only to the selection of everything.
        problems += self.unread if selection == Selection() else []
        histograms = [histogram for histogram in self.histograms if histogram.run in names]
        if ranges := selection.size_ranges():
            histograms = [histogram for histogram in histograms if _is_within(ranges, histogram)]
        part = View(numbers, runs, logs, problems, self.hosts, histograms)
        # For most runs, all numbers are selected. Their transports and tests are known already.
        kinds = {name: self.kinds[name] if results is self.by_run[name] else _kinds_of(results) for name, results in numbers.items()}
        part.__dict__["kinds"] = kinds  # `cached_property` stores its value in this dictionary.
        if selection.test is not None and selection == Selection(test=selection.test):
            part.__dict__["_all_tests"] = self
        return part

    @cached_property
    def _all_tests(self) -> View | None:
        """The view of all tests from which this view of one test was made; ``None`` for any other view."""
        return None

    @cached_property
    def kinds(self) -> Mapping[str, frozenset[_Kind]]:
        """The pairs of a transport and a test that occur in the numbers of each run, by the name of the run."""
        return {name: _kinds_of(results) for name, results in self.by_run.items()}

    @cached_property
    def logs_of(self) -> Mapping[str, Sequence[LogRow]]:
        """The logs of each run."""
        by_run: dict[str, list[LogRow]] = {}
        for log in self.logs:
            by_run.setdefault(log.run, []).append(log)
        return by_run

    def only_runs(self, names: Iterable[str]) -> View:
        """Return the part of the view with these runs."""
        wanted = set(names)
        logs = [log for log in self.logs if log.run in wanted]
        problems = [problem for problem in self.problems if problem.run in wanted]
        histograms = [histogram for histogram in self.histograms if histogram.run in wanted]
        by_run = {name: results for name, results in self.by_run.items() if name in wanted}
        return View(by_run, {name: run for name, run in self.runs.items() if name in wanted}, logs, problems, self.hosts, histograms)

    def _wanted(self, selection: Selection) -> list[str]:
        named = self.runs if selection.run is None else {selection.run} & self.runs.keys()
        return [run.run for run in selection.runs_among(self.runs[name] for name in named)]

    def _selected_without_numbers(self, selection: Selection) -> set[str]:
        """Return the names of the selected runs that have no numbers.

        A run without numbers belongs to the transport in its manifest. It belongs to no test and no size, so it is not selected by test or size.
        """
        if selection.test is not None or selection.size is not None:
            return set()
        empty = set(self.runs) - set(self.by_run)
        wanted = selection.runs_among(self.runs[name] for name in empty)
        return {run.run for run in wanted if _is(selection.transport, transport_of(run))}

    @property
    def unread(self) -> list[ProblemRow]:
        """The problems of runs, hosts, files and folders that could not be read at all."""
        return [problem for problem in self.problems if problem.run not in self.runs and problem.kind != CONTRADICTED]

    @property
    def results(self) -> list[ResultRow]:
        """All numbers, in the order of runs. The list is made again for each call, because stored lists of all pages would take much memory."""
        return list(chain.from_iterable(self.by_run.values()))

    def summaries(self) -> list[ResultRow]:
        """Return the numbers of whole measurements, without those of single intervals."""
        return [result for results in self.by_run.values() for result in results if result.scope == "summary"]

    def intervals(self) -> list[ResultRow]:
        """Return the numbers of single intervals, which are parts of one measurement. Trials of a search are not intervals: their rates differ."""
        return [result for result in self.results if result.scope == "interval" and result.test != "sustain"]

    def interval_series(self) -> list[Series]:
        """Return the series of single intervals. They are computed only once for all portions of a page."""
        return self.once("interval series", lambda: series_of(self.intervals()))

    def trials(self) -> list[ResultRow]:
        """Return the numbers of the trials of searches. They are computed only once for all portions of a page."""
        return self.once("trials", lambda: [result for result in self.results if result.scope == "interval" and result.test == "sustain"])

    def series(self, named: Sequence[str] = ()) -> list[Series]:
        """Return the series of whole measurements. The labels ``named`` are part of each name, even if all series have the same values."""
        return self.once(("series", *named), partial(labelled, self.measured, named))

    @cached_property
    def measured(self) -> Mapping[SeriesKey, SeriesNumbers]:
        """The numbers of whole measurements, grouped by the way in which they were measured."""
        all_tests = self._all_tests
        shared = None if all_tests is None else measured_in(all_tests.measured, all_tests.kinds, self.by_run.keys())
        return measured_alike(self.summaries()) if shared is None else shared


def differing_labels(runs: Iterable[RunRow]) -> list[str]:
    """Return the labels that differ between any two runs (``label.plugin``)."""
    texts = list(dict.fromkeys(run.labels for run in runs))
    return [field for field in label_fields(texts) if len({labels_of(text).get(field) for text in texts}) > 1]


def view_of(data: Dataset) -> View:
    """Return the view of a whole dataset."""
    runs = rows.runs(data)
    by_run: dict[str, list[ResultRow]] = {}
    for name, results in groupby(rows.results(data, runs), attrgetter("run.run")):
        by_run.setdefault(name, []).extend(results)
    by_run = {name: by_run[name] for name in runs if name in by_run}
    # Problems without a run come last, as in `View.only`.
    problems = sorted(rows.problems(data), key=lambda problem: problem.run not in runs)
    return View(by_run, runs, rows.logs(data), problems, data.hosts, rows.histograms(data))


def rig_series(view: View, runs: Iterable[RunRow]) -> list[Series]:
    """Return the series of perftest's transport ``null`` from the sessions of these runs. They show what perftest itself costs."""
    sessions = {(run.host, run.session) for run in runs if run.session is not None}
    rig = view.only(Selection(transport="null", test="latency"))
    return rig.only_runs(run.run for run in rig.runs.values() if (run.host, run.session) in sessions).series()


def manifest_of(run: RunRow) -> Manifest | None:
    """Return a run's manifest."""
    return _manifest_in(run.manifest) if run.manifest else None


@lru_cache(maxsize=512)  # enough for the runs of one page; a manifest takes some ten kB
def _manifest_in(text: str) -> Manifest:
    return msgspec.json.decode(text, type=Manifest)


def _kinds_of(results: Sequence[ResultRow]) -> frozenset[_Kind]:
    return frozenset((result.conditions.transport, result.test) for result in results)


def transport_of(run: RunRow) -> str | None:
    """Return the transport in a run's manifest, for runs whose logs contain no number."""
    transport = _decode_transport(run.manifest).conditions.transport if run.manifest else None
    return None if transport is None else str(transport)


class _ConditionsOnly(msgspec.Struct, frozen=True):
    transport: Any = None


class _TransportOnly(msgspec.Struct, frozen=True):
    """The part of a manifest that states the transport.

    The transports of all runs of a site are needed. Only this part is decoded, because decoding whole manifests takes much longer.
    """

    conditions: _ConditionsOnly = _ConditionsOnly()


_decode_transport = msgspec.json.Decoder(_TransportOnly).decode


@lru_cache(maxsize=1 << 14)  # cached, because it is called for each number: each has a link to its log
def log_document(folder: str, run: str, log: str) -> str:
    """Return the name of the document for a log's page."""
    return f"{folder}/{path_slug(f'{run}/{log}')}"


def _is(wanted: str | None, value: str | None) -> bool:
    return wanted is None or wanted == (NOT_STATED if value is None else value)


def _is_within(ranges: Sequence[SizeRange], result: ResultRow | HistogramRow) -> bool:
    high = result.payload_bytes_high if isinstance(result, ResultRow) else None
    return result.payload_bytes is not None and any(wanted.holds(result.payload_bytes, high) for wanted in ranges)


_Marked = Counter[tuple[str | None, tuple[str, ...]]]


def marked_of(view: View) -> Mapping[str, _Marked]:
    """Return counts of marked numbers, by the name of the run: how many numbers each combination of transport and marks has."""
    return view.once("marked", partial(_marked_of, view))


def _marked_of(view: View) -> dict[str, _Marked]:
    return {name: Counter((result.conditions.transport, result.marks) for result in results if result.marks) for name, results in view.by_run.items()}
