"""The text of a point in a figure states the number of samples of all its runs."""

from __future__ import annotations

import pytest

from tacholog.render.figures.figures import point_details
from tacholog.view.results import ResultRow, RunRow
from tacholog.view.series import Cell


def point(*samples: int | None) -> str:
    results = tuple(
        ResultRow(run=RunRow(run=f"r{place}"), log="a", metric="latency", statistic="p50", samples=count) for place, count in enumerate(samples)
    )
    return point_details(Cell(value=1.0, low=1.0, high=1.0, results=results, result=results[0]))[0].replace("\u202f", " ")


@pytest.mark.parametrize(
    ("samples", "words"),
    [
        ((5676, 3282, 6044), "3 runs, 3 282 to 6 044 samples"),
        ((12_000, 1_000_000), "2 runs, 12 000 to 1 000 000 samples"),
        ((5676, 5676), "2 runs, 5 676 samples each"),
        ((5676,), "1 run, 5 676 samples"),
        ((None, 5676, 3282), "3 runs, 3 282 to 5 676 samples, in 1 of them not stated"),
        ((None, 5676), "2 runs, 5 676 samples, in 1 of them not stated"),
        ((None, None), "2 runs, samples not stated"),
    ],
)
def test_text_of_a_point_states_the_range_of_the_sample_counts_of_its_runs(samples: tuple[int | None, ...], words: str) -> None:
    assert point(*samples) == words
