"""The division of a page of results into portions: the best evidence, which the page shows immediately, and the other results.

Runs that one campaign made of one release on one machine form a set. Runs of two campaigns or of two machines are not repetitions of each other, and
confuse readers if they stand side by side. So a page begins with one set of each system, chosen by these criteria (docs/site.md explains them to
users):

1. the newest release;
2. sets with enough runs for a comparison; sets with fewer runs are a quick look;
3. sets that kept the limits of their campaign for disturbances, then sets without limits, then sets that exceeded them;
4. the set that measured more tests and sizes; if these are equal, the set with more runs; then the set with longer runs; then the later set.

Other campaigns and machines, older releases, and series that do not fit on a page are further portions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from statistics import median_low
from typing import Literal, NamedTuple

import msgspec

from tacholog.compare.policy import MIN_RUNS
from tacholog.view.history import in_order_of_time
from tacholog.view.names import joined_or_unstated, made_different, told_apart
from tacholog.view.numerals import NOT_STATED
from tacholog.view.results import RunRow
from tacholog.view.series import Series, labelled_among
from tacholog.view.views import TESTS, Selection, View, manifest_of

MOST_SERIES = 12  # the largest number of series of a test in a portion
# The limit for the tables with all numbers of a page, in HTML elements. A number takes about five elements (with its link, range and marks), and a
# series also has headings and lines.
MOST_ELEMENTS = 2400
_OF_NUMBER, _OF_SERIES = 5, 100
SeriesName = tuple[str, int]  # test and slot


class Portion(msgspec.Struct, frozen=True):
    """A portion of the numbers of a selection.

    Attributes:
        title: its release, or its campaign and machine, in words; empty for the portion that the page shows immediately.
        runs: the names of its runs.
        series: its sorted series.
        evidence: its sets of runs, the best first.
        is_first: whether it is the first portion of its runs. Runs without numbers belong to the first portion.
        is_release: whether its title names an older release.
    """

    title: str
    runs: frozenset[str]
    series: tuple[SeriesName, ...]
    evidence: tuple[Evidence, ...] = ()
    is_first: bool = True
    is_release: bool = False

    def has(self, test: str, series: Series) -> bool:
        """Whether the portion has a series of a test."""
        return (test, series.slot) in self.series

    def series_of(self, test: str, series: Iterable[Series]) -> list[Series]:
        """Return the series of a test that belong to the portion. Their labels state only the differences between these series."""
        return labelled_among([member for member in series if self.has(test, member)])

    @property
    def tests(self) -> int:
        """The number of tests in the portion."""
        return len({test for test, _ in self.series})

    def has_run(self, run: RunRow) -> bool:
        """Whether a run belongs to the portion."""
        return run.run in self.runs

    def only(self, view: View) -> View:
        """Return the part of a view with the runs of the portion. Its series have slots of their own, which differ from those of the view."""
        return view.only_runs(name for name in view.runs if name in self.runs)


def portions(view: View) -> Sequence[Portion]:
    """Return the portions of a selection.

    The page shows the first portion immediately. It is the best evidence of each system. The other campaigns and machines of the newest release
    follow, and then the older releases, the newest first.
    """
    return view.once("portions", partial(_portions, view))


def _portions(view: View) -> list[Portion]:
    weighed = _weighed(view)
    sets: dict[str | None, list[Evidence]] = {}
    for run_set in evidence(view):
        sets.setdefault(run_set.system, []).append(run_set)
    best = tuple(of_system[0] for of_system in sets.values())
    same_age = [run_set for of_system in sets.values() for run_set in of_system[1:] if run_set.age == of_system[0].age]
    older = [run_set for of_system in sets.values() for run_set in of_system if run_set.age != of_system[0].age]
    releases: dict[tuple[int, str | None], list[Evidence]] = {}
    for run_set in sorted(older, key=lambda run_set: (run_set.age, str(run_set.system))):
        releases.setdefault((run_set.age, run_set.system), []).append(run_set)
    # A page shows the whole first portion, but the ends of its tables are in separate files.
    result = _portions_that_fit("", best, weighed, most=None)
    for run_set in same_age:
        result += _portions_that_fit(_title(run_set), (run_set,), weighed)
    for of_release in releases.values():
        result += _portions_that_fit(_release(of_release[0], len(sets) > 1), tuple(of_release), weighed, is_release=True)
    return result


class _Weighed(NamedTuple):
    """``run`` is the first run of the series. ``elements`` is the approximate number of HTML elements that the series takes on a page."""

    name: SeriesName
    run: str
    elements: int


def _weighed(view: View) -> list[_Weighed]:
    return [
        _Weighed((test, member.slot), member.results[0].run.run, _elements(member))
        for test in TESTS
        for member in view.only(Selection(test=test)).series()
    ]


def at_once(series: Sequence[Series], tests: int) -> int:
    """Return how many of these series fit into the tables of one test; at least 1.

    A page has room for `MOST_ELEMENTS` HTML elements. The tests of the page share this room equally.
    """
    elements = 0
    for count, member in enumerate(series):
        elements += _elements(member)
        if count and elements > MOST_ELEMENTS // tests:
            return count
    return len(series)


def _elements(series: Series) -> int:
    numbers = {(result.payload_bytes, result.metric, result.statistic) for result in series.results}
    return _OF_SERIES + _OF_NUMBER * len(numbers)


def _title(run_set: Evidence) -> str:
    quick = "quick look, " if run_set.is_quick else ""
    return f"{quick}{run_set.name}"


def _release(run_set: Evidence, several: bool) -> str:
    name = run_set.release or run_set.version or NOT_STATED
    return f"{run_set.system} {name}" if several else name


def _portions_that_fit(
    title: str, sets: tuple[Evidence, ...], weighed: Sequence[_Weighed], *, is_release: bool = False, most: int | None = MOST_ELEMENTS
) -> list[Portion]:
    """Return portions with at most ``most`` elements for these sets of runs. In each portion, every test may have the same number of elements."""
    runs = frozenset(run for member in sets for run in member.runs)
    series = [member for member in weighed if member.run in runs]
    chunks: dict[int, list[SeriesName]] = {0: []}
    tests = {member.name[0] for member in series}
    for test in sorted(tests, key=TESTS.index):
        chunk = count = elements = 0
        for member in sorted(member for member in series if member.name[0] == test):
            if count and (count == MOST_SERIES or (most is not None and elements + member.elements > most // len(tests))):
                chunk, count, elements = chunk + 1, 0, 0
            count, elements = count + 1, elements + member.elements
            chunks.setdefault(chunk, []).append(member.name)
    return [
        Portion(_named(title, number), runs, tuple(names), sets, is_first=not number, is_release=is_release)
        for number, names in sorted(chunks.items())
    ]


def _named(title: str, number: int) -> str:
    if not number:
        return title
    more = f"more series{f' ({number})' if number > 1 else ''}"
    return f"{title}, {more}" if title else more


_TOLD_BY = ("campaign", "published", "host", "system")
_DAY = len("2026-11-23")
_DISTURBED = "disturbed"  # the mark of a number whose run exceeded the limits of its campaign
Limits = Literal["kept", "not stated", "exceeded"]
_ORDER: tuple[Limits, ...] = ("kept", "not stated", "exceeded")


class _RunSetKey(NamedTuple):
    system: str | None
    release: str | None
    version: str | None
    campaign: str | None
    host: str | None
    published: bool


class Evidence(msgspec.Struct, frozen=True):
    """A set of runs that one campaign made of one release on one machine.

    Attributes:
        age: the number of newer releases of the system.
        name: the difference from other sets of the same release, in words; empty if there are no other sets.
        runs: the names of its runs, including runs without numbers.
        runs_each: the typical number of runs from which a number was computed.
        fewest_runs_each, most_runs_each: the smallest and the largest number of runs from which a number was computed.
        limits: whether all runs kept the limits of their campaign.
        breadth: the number of its pairs of test and message size.
        duration_s: the planned duration of a measurement in a run.
        first_day, last_day: the days of its first and last run, as YYYY-MM-DD.
    """

    system: str | None
    release: str | None
    version: str | None
    campaign: str | None
    host: str | None
    published: bool
    age: int
    name: str
    runs: frozenset[str]
    runs_each: int
    fewest_runs_each: int
    most_runs_each: int
    limits: Limits
    breadth: int
    duration_s: float | None
    first_day: str | None
    last_day: str | None

    @property
    def is_quick(self) -> bool:
        """Whether the set has own runs, but too few for a comparison."""
        return not self.published and self.runs_each < MIN_RUNS


def evidence(view: View) -> list[Evidence]:
    """Return the sets of runs of a view, the best evidence first."""
    sets: dict[_RunSetKey, list[RunRow]] = {}
    for run in view.runs.values():
        key = _RunSetKey(run.system, run.release, run.system_version, run.campaign, run.host, run.published)
        sets.setdefault(key, []).append(run)
    ages, measured = _ages(sets), _runs_at_sizes(view)
    run_sets = [_evidence(view, key, runs, ages[key], measured) for key, runs in sets.items()]
    run_sets.sort(key=lambda run_set: run_set.last_day or "", reverse=True)
    return _with_distinguishing_names(_with_failed(sorted(run_sets, key=_rank)))


def _rank(run_set: Evidence) -> tuple[object, ...]:
    size = (-run_set.breadth, -run_set.runs_each, -(run_set.duration_s or 0.0))
    return (run_set.breadth == 0, run_set.age, run_set.is_quick, _ORDER.index(run_set.limits), *size)


def _with_failed(run_sets: Sequence[Evidence]) -> list[Evidence]:
    """Add runs without numbers to the best set of the same release, or else of the same system, so that a page lists them."""
    measured = [run_set for run_set in run_sets if run_set.breadth]
    for lost in (run_set for run_set in run_sets if not run_set.breadth):
        indices = [index for index, run_set in enumerate(measured) if run_set.system == lost.system]
        index = next((index for index in indices if measured[index].age == lost.age), indices[0] if indices else None)
        if index is None:
            measured.append(lost)
        else:
            measured[index] = msgspec.structs.replace(measured[index], runs=measured[index].runs | lost.runs)
    return measured


def _ages(sets: Mapping[_RunSetKey, Sequence[RunRow]]) -> dict[_RunSetKey, int]:
    """Return the number of newer releases for each set.

    If a set has no release, its version is used instead. If a set has neither a release nor a version, the set counts as the newest.
    """
    released: dict[tuple[str | None, str | None], str] = {(key.system, key.version): key.release for key in sets if key.release and key.version}
    named = {key: key.release or released.get((key.system, key.version)) or key.version for key in sets}
    order = in_order_of_time((run.system, named[key], run.start_time) for key, runs in sets.items() for run in runs)
    ages: dict[tuple[str | None, str | None], int] = {
        (system, name): len(names) - 1 - index for system, names in order.items() for index, name in enumerate(names)
    }
    return {key: ages.get((key.system, name), 0) for key, name in named.items()}


def _evidence(view: View, key: _RunSetKey, runs: Sequence[RunRow], age: int, measured: Sequence[frozenset[str]]) -> Evidence:
    """Return the description of a set of runs, by which sets are ranked.

    ``measured`` has one element for each series at each message size: the names of all runs that have a number there.
    """
    numbers = [result for run in runs for result in view.by_run.get(run.run, ()) if result.scope == "summary"]
    names = frozenset(run.run for run in runs)
    counts = [count for behind in measured if (count := len(behind & names))]
    durations = {result.conditions.planned_duration_s for result in numbers}
    days = sorted(run.start_time[:_DAY] for run in runs if run.start_time)
    return Evidence(
        **key._asdict(),
        age=age,
        name="",
        runs=names,
        runs_each=median_low(counts) if counts else 0,
        fewest_runs_each=min(counts, default=0),
        most_runs_each=max(counts, default=0),
        limits=_limits(runs, disturbed=any(_DISTURBED in result.marks for result in numbers)),
        breadth=len({(result.test, result.payload_bytes) for result in numbers}),
        duration_s=durations.pop() if len(durations) == 1 else None,
        first_day=days[0] if days else None,
        last_day=days[-1] if days else None,
    )


def _runs_at_sizes(view: View) -> list[frozenset[str]]:
    """Return a set of runs for each series and each size. The number at this size is computed from these runs."""
    series = [member for test in TESTS for member in view.only(Selection(test=test)).series()]
    return [frozenset(result.run.run for result in results) for member in series for results in member.measured.of_size.values()]


def _limits(runs: Iterable[RunRow], *, disturbed: bool) -> Limits:
    if disturbed:
        return "exceeded"
    manifests = [manifest_of(run) for run in runs]
    return "kept" if all(manifest is not None and manifest.limits is not None for manifest in manifests) else "not stated"


def _with_distinguishing_names(run_sets: Sequence[Evidence]) -> list[Evidence]:
    names: dict[frozenset[str], str] = {}
    for age in {run_set.age for run_set in run_sets}:
        alike = [run_set for run_set in run_sets if run_set.age == age]
        rows = [{name: getattr(run_set, name) for name in _TOLD_BY} | {"system_version": run_set.version} for run_set in alike]
        distinctions = [sorted(parts, key=lambda part: part[0] != _TOLD_BY[0]) for parts in told_apart(rows)] if len(alike) > 1 else []
        called = made_different([joined_or_unstated(parts) for parts in distinctions], rows) if distinctions else []
        names |= {run_set.runs: name for run_set, name in zip(alike, called, strict=False)}
    return [msgspec.structs.replace(run_set, name=names.get(run_set.runs, "")) for run_set in run_sets]
