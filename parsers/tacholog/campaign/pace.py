"""How long the rest of a campaign takes, corrected by the runs that are done."""

from __future__ import annotations

from collections.abc import Hashable, Iterable


class Pace:
    """How much longer runs take than expected. Each kind of run has a ratio of its own, because tools differ in how long they take to start."""

    def __init__(self) -> None:
        """No run is done yet."""
        self._done: dict[Hashable, tuple[float, float]] = {}

    def add(self, kind: Hashable, expected_s: float, took_s: float) -> None:
        """Take note of a run that is done."""
        expected, took = self._done.get(kind, (0.0, 0.0))
        self._done[kind] = expected + expected_s, took + took_s

    def seconds(self, runs: Iterable[tuple[Hashable, float]]) -> float:
        """Return how long these runs will take.

        Args:
            runs: the kind of each run, and its expected duration in seconds. A kind of which no run is done yet gets the ratio of all runs.
        """
        all_runs = tuple(map(sum, zip(*self._done.values(), strict=True))) or (0.0, 0.0)
        return sum(expected_s * _ratio(self._done.get(kind, all_runs)) for kind, expected_s in runs)


def _ratio(done: tuple[float, ...]) -> float:
    expected, took = done
    return took / expected if expected > 0 else 1.0
