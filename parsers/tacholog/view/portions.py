"""What a page of results shows at once: its best evidence. Other campaigns and machines, older releases, and what a page cannot hold are portions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from tacholog.view.evidence import Evidence, evidence
from tacholog.view.numerals import NOT_STATED
from tacholog.view.results import RunRow
from tacholog.view.series import Series, labelled_among
from tacholog.view.views import TESTS, Selection, View

MOST_SERIES = 12  # of a test in a portion
# What the tables with all numbers of a page hold at most, in elements. A number has about five (with its link, range and marks), and a series has
# heads and lines too.
MOST_ELEMENTS = 2400
_OF_NUMBER, _OF_SERIES = 5, 100
SeriesName = tuple[str, int]  # test and slot


class Portion(msgspec.Struct, frozen=True):
    """A part of what a selection shows.

    Attributes:
        title: its release, or its campaign and machine, in words; empty for what the page shows at once.
        runs: the names of its runs.
        series: the series in it, in order.
        evidence: what it consists of, the best first.
        is_first: whether it is the first portion of its runs, to which those without numbers belong.
        is_release: whether its title is that of an older release.
    """

    title: str
    runs: frozenset[str]
    series: tuple[SeriesName, ...]
    evidence: tuple[Evidence, ...] = ()
    is_first: bool = True
    is_release: bool = False

    def has(self, test: str, series: Series) -> bool:
        """Whether a series of a test is in it."""
        return (test, series.slot) in self.series

    def series_of(self, test: str, series: Iterable[Series]) -> list[Series]:
        """Return those series of a test that are in it. Their labels tell them apart; what they share is said of the evidence."""
        return labelled_among([member for member in series if self.has(test, member)])

    @property
    def tests(self) -> int:
        """How many tests it has series of."""
        return len({test for test, _ in self.series})

    def has_run(self, run: RunRow) -> bool:
        """Whether a run belongs to it."""
        return run.run in self.runs

    def only(self, view: View) -> View:
        """Return the part of a view with its runs. The series of that part have other slots than those of the view."""
        return view.only_runs(name for name in view.runs if name in self.runs)


def portions(view: View) -> Sequence[Portion]:
    """Return the portions of a selection.

    The first is what a page shows at once: the best evidence of each system. Then follow the other campaigns and machines of the newest release, and
    then the older releases, the newest first.
    """
    return view.once("portions", partial(_portions, view))


def _portions(view: View) -> list[Portion]:
    weighed = _weighed(view)
    sets: dict[str | None, list[Evidence]] = {}
    for one in evidence(view):
        sets.setdefault(one.system, []).append(one)
    best = tuple(found[0] for found in sets.values())
    beside = [one for found in sets.values() for one in found[1:] if one.age == found[0].age]
    older: dict[tuple[int, str | None], list[Evidence]] = {}
    for one in sorted((one for found in sets.values() for one in found if one.age != found[0].age), key=lambda one: (one.age, str(one.system))):
        older.setdefault((one.age, one.system), []).append(one)
    found = _split("", best, weighed, most=None)  # a page takes the end of its tables out
    found += [part for one in beside for part in _split(_title(one), (one,), weighed)]
    return found + [part for of_age in older.values() for part in _split(_release(of_age[0], len(sets) > 1), tuple(of_age), weighed, is_release=True)]


class _Weighed(NamedTuple):
    """A series, the run that it begins with, and about how many elements it has on a page."""

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
    """Return how many of these series a page holds in its tables with all numbers, if it has so many tests: at least one."""
    elements = 0
    for count, one in enumerate(series):
        elements += _elements(one)
        if count and elements > MOST_ELEMENTS // tests:
            return count
    return len(series)


def _elements(series: Series) -> int:
    numbers = {(result.payload_bytes, result.metric, result.statistic) for result in series.results}
    return _OF_SERIES + _OF_NUMBER * len(numbers)


def _title(one: Evidence) -> str:
    quick = "quick look, " if one.is_quick else ""
    return f"{quick}{one.name}"


def _release(one: Evidence, several: bool) -> str:
    name = one.release or one.version or NOT_STATED
    return f"{one.system} {name}" if several else name


def _split(
    title: str, sets: tuple[Evidence, ...], weighed: Sequence[_Weighed], *, is_release: bool = False, most: int | None = MOST_ELEMENTS
) -> list[Portion]:
    """Return the series of these runs in portions that a page can hold. Each test has the same share of a portion."""
    runs = frozenset(run for one in sets for run in one.runs)
    series = [one for one in weighed if one.run in runs]
    chunks: dict[int, list[SeriesName]] = {0: []}
    tests = {one.name[0] for one in series}
    for test in sorted(tests, key=TESTS.index):
        place = count = elements = 0
        for one in sorted(one for one in series if one.name[0] == test):
            if count and (count == MOST_SERIES or (most is not None and elements + one.elements > most // len(tests))):
                place, count, elements = place + 1, 0, 0
            count, elements = count + 1, elements + one.elements
            chunks.setdefault(place, []).append(one.name)
    return [
        Portion(_named(title, number), runs, tuple(names), sets, is_first=not number, is_release=is_release)
        for number, names in sorted(chunks.items())
    ]


def _named(title: str, number: int) -> str:
    if not number:
        return title
    more = f"more series{f' ({number})' if number > 1 else ''}"
    return f"{title}, {more}" if title else more
