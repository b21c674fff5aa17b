"""The search for the highest rate that keeps a goal: the procedure of ``perftest --test sustain``, for tools that only have an option for a rate.

It is MLRsearch (RFC 9971) with one goal. ``bench/rig/sustain.hpp`` explains the procedure and its error; both searches ask for the same
trials (this one in whole messages per second), and their tests hold them to the same lists.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

Bound = Literal["undecided", "lower", "upper"]
Outcome = Literal["found", "above_range", "below_range"]
_COARSE_STEP = 4.0
_LARGEST_STEP = 1e6


class SearchPlan(NamedTuple):
    """Where to search, and how: rates in messages per second, lengths of trials in seconds, shares of 1.

    ``hidden_ratio`` is how far above the capacity a short trial may pass, because a queue grows only slowly.
    """

    least_per_s: float = 1000.0
    most_per_s: float = 10_000_000.0
    short_s: float = 1.0
    full_s: float = 5.0
    width_ratio: float = 0.01
    trials: int = 3
    exceed_ratio: float = 0.5
    hidden_ratio: float = 0.0


class TrialOrder(NamedTuple):
    """The trial that comes next."""

    rate_per_s: float
    duration_s: float
    is_full_length: bool


class Tried(NamedTuple):
    """How long a rate was tried, and with what outcome, in seconds."""

    full_passed_s: float = 0.0
    full_missed_s: float = 0.0
    short_passed_s: float = 0.0
    short_missed_s: float = 0.0


class Sustained(NamedTuple):
    """What was found: the relevant lower bound and the relevant upper bound, and how many rates well above the latter kept the goal."""

    outcome: Outcome
    rate_per_s: float | None
    upper_per_s: float | None
    trials: int
    at_rate: Tried
    passed_above: int


def classify(tried: Tried, duration_sum_s: float, exceed_ratio: float) -> Bound:
    """Return what these trials make of a rate, where trials have to add up to ``duration_sum_s`` (the load classification of RFC 9971)."""
    outweighed_s = tried.short_passed_s * exceed_ratio / (1 - exceed_ratio) if exceed_ratio < 1 else 0.0
    missed_s = tried.full_missed_s + max(0.0, tried.short_missed_s - outweighed_s)
    whole_s = max(tried.full_passed_s + missed_s, duration_sum_s)
    may_miss_s = whole_s * exceed_ratio * (1 + 1e-9)  # sums of durations are not exact
    if whole_s - tried.full_passed_s <= may_miss_s:
        return "lower"  # even if all that is to come misses it
    return "undecided" if missed_s <= may_miss_s else "upper"


def rounded(rate_per_s: float) -> float:
    """Return the rate as a whole number of at most five digits that count: what is printed is what was tried, and tools take whole rates."""
    return float(round(rate_per_s, min(0, 4 - math.floor(math.log10(rate_per_s)))))


class SustainSearch:
    """Asks for one trial after the other."""

    def __init__(self, plan: SearchPlan) -> None:
        """Take what to search for."""
        self._plan = plan
        self._rates: dict[float, Tried] = {}
        self._trials = 0

    def next(self) -> TrialOrder | None:
        """Return the next trial; ``None``: the search is over."""
        plan, found = self._plan, self._bounds(is_full_length=False)
        if found == (None, None):
            return TrialOrder(plan.least_per_s, plan.short_s, is_full_length=False)
        if not any(_is_confirmed(tried) for tried in self._rates.values()):
            rate = self._coarse(*found)
            if rate is not None:
                return TrialOrder(rate, plan.short_s, is_full_length=False)
        for rate, tried in sorted(self._rates.items()):
            if _is_confirmed(tried) and self._bound_of(tried, is_full_length=True) == "undecided":
                return TrialOrder(rate, plan.full_s, is_full_length=True)
        confirming = self._confirming(*found)
        return None if confirming is None else TrialOrder(confirming, plan.full_s, is_full_length=True)

    def add(self, trial: TrialOrder, *, passed: bool) -> None:
        """Take what the trial that was asked for last has shown."""
        tried = self._rates.get(trial.rate_per_s, Tried())
        name = f"{'full' if trial.is_full_length else 'short'}_{'passed' if passed else 'missed'}_s"
        self._rates[trial.rate_per_s] = tried._replace(**{name: getattr(tried, name) + trial.duration_s})
        self._trials += 1

    def result(self) -> Sustained:
        """Return what was found."""
        lower, upper = self._bounds(is_full_length=True)
        above = (tried for rate, tried in self._rates.items() if upper is not None and rate > upper * (1 + self._plan.hidden_ratio))
        passed_above = sum(self._bound_of(tried, is_full_length=False) == "lower" for tried in above)
        outcome: Outcome = "below_range" if lower is None else "above_range" if upper is None else "found"
        at_rate = self._rates[lower] if lower is not None else Tried()
        return Sustained(outcome, lower, upper, self._trials, at_rate, passed_above)

    def _bound_of(self, tried: Tried, *, is_full_length: bool) -> Bound:
        """What a rate is. One short trial decides where the interval is narrowed down; full-length ones count as such there."""
        plan = self._plan
        if is_full_length:
            return classify(tried, plan.full_s * plan.trials, plan.exceed_ratio)
        both = Tried(tried.full_passed_s + tried.short_passed_s, tried.full_missed_s + tried.short_missed_s)
        return classify(both, plan.short_s, plan.exceed_ratio)

    def _bounds(self, *, is_full_length: bool) -> tuple[float | None, float | None]:
        """The highest lower bound below the lowest upper bound, and that upper bound."""
        lower: float | None = None
        for rate, tried in sorted(self._rates.items()):
            bound = self._bound_of(tried, is_full_length=is_full_length)
            if bound == "upper":
                return lower, rate
            if bound == "lower":
                lower = rate
        return lower, None

    def _coarse(self, lower: float | None, upper: float | None) -> float | None:
        most = self._plan.most_per_s
        if lower is not None and upper is None:
            return min(rounded(lower * _COARSE_STEP), most) if lower < most else None
        return self._narrower(lower, upper)

    def _narrower(self, lower: float | None, upper: float | None) -> float | None:
        """The rate that narrows the interval; ``None`` if it is narrow enough."""
        if lower is None or upper is None or upper - lower <= upper * self._plan.width_ratio:
            return None
        middle = rounded(math.sqrt(lower * upper))
        return middle if lower < middle < upper else None

    def _confirming(self, short_lower: float | None, short_upper: float | None) -> float | None:
        """The rate to be tried next by full-length trials, given the interval that short ones have found."""
        plan, (lower, upper) = self._plan, self._bounds(is_full_length=True)
        if lower is not None and upper is not None:
            return self._narrower(lower, upper)
        if lower is not None:
            if lower >= plan.most_per_s:
                return None
            outwards = min(rounded(lower * self._step("lower")), plan.most_per_s)
            return min(short_upper, outwards) if short_upper is not None and short_upper > lower else outwards
        if upper is not None:
            return None if upper <= plan.least_per_s else max(rounded(upper / self._step("upper")), plan.least_per_s)
        return plan.least_per_s if short_lower is None else short_lower

    def _step(self, bound: Bound) -> float:
        """How far the search moves outwards: by a goal width, then by two, four and so on."""
        step = 1 / (1 - self._plan.width_ratio)
        for _ in range(sum(self._bound_of(tried, is_full_length=True) == bound for tried in self._rates.values()) - 1):
            step = min(step * step, _LARGEST_STEP)
        return step


def _is_confirmed(tried: Tried) -> bool:
    return tried.full_passed_s + tried.full_missed_s > 0
