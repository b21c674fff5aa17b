"""What a page of results shows at once: the newest release. Older ones, and series beyond what a page can hold, are portions of their own."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tacholog.view.history import releases_of
from tacholog.view.results import RunRow
from tacholog.view.series import Series
from tacholog.view.views import TESTS, Selection, View

MOST_SERIES = 12  # of a test in a portion
SeriesName = tuple[str, int]  # test and slot
_Release = tuple[str | None, str | None]  # of a system


class Portion(msgspec.Struct, frozen=True):
    """A part of what a selection shows.

    Attributes:
        title: its release, in words; empty for what the page shows at once.
        systems: the systems that it is of, each with its release. Runs without a release belong to what is shown at once.
        series: the series in it, in order.
        is_first: whether it is the first portion of its release, to which the runs without numbers belong.
    """

    title: str
    systems: frozenset[_Release]
    series: tuple[SeriesName, ...]
    is_first: bool = True

    @property
    def has_release(self) -> bool:
        """Whether its title is that of a release."""
        return any(release is not None and self.title.endswith(release) for _, release in self.systems)

    def has(self, test: str, series: Series) -> bool:
        """Whether a series of a test is in it."""
        return (test, series.slot) in self.series

    def has_run(self, run: RunRow) -> bool:
        """Whether a run is of its release."""
        return (run.system, run.release) in self.systems

    def only(self, view: View) -> View:
        """Return the part of a view with its runs. The series of that part have other slots than those of the view."""
        return view.only_runs(name for name, run in view.runs.items() if self.has_run(run))


def portions(view: View) -> list[Portion]:
    """Return the portions of a selection: first what a page shows at once, then the older releases, the newest first."""
    by_release: dict[_Release, list[SeriesName]] = {(run.system, run.release): [] for run in view.runs.values()}
    for test in TESTS:
        for member in view.only(Selection(test=test)).series():
            run = member.results[0].run
            by_release[run.system, run.release].append((test, member.slot))
    order: dict[_Release, int] = {}
    for system, releases in releases_of(view.runs.values()).items():
        order |= {(system, release): place for place, release in enumerate(reversed(releases))}
    shown = frozenset(key for key in by_release if not order.get(key))
    first = _split("", shown, [name for key in by_release if key in shown for name in by_release[key]])
    several = len({system for system, _ in by_release}) > 1
    older = [key for key in sorted(order, key=lambda key: (order[key], str(key[0]))) if key not in shown]
    rest = [part for key in older for part in _split(f"{key[0]} {key[1]}" if several else str(key[1]), frozenset([key]), by_release[key])]
    return [*first, *rest]


def _split(title: str, systems: frozenset[_Release], series: Sequence[SeriesName]) -> list[Portion]:
    """Return the series in portions that a page can hold."""
    chunks: dict[int, list[SeriesName]] = {0: []}
    counts: dict[str, int] = {}
    for test, slot in sorted(series, key=lambda name: (TESTS.index(name[0]), name[1])):
        place = counts[test] = counts.get(test, 0) + 1
        chunks.setdefault((place - 1) // MOST_SERIES, []).append((test, slot))
    return [Portion(_named(title, number), systems, tuple(names), is_first=not number) for number, names in sorted(chunks.items())]


def _named(title: str, number: int) -> str:
    if not number:
        return title
    more = f"more series{f' ({number})' if number > 1 else ''}"
    return f"{title}, {more}" if title else more
