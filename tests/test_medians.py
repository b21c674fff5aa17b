"""The one rule for the median of several runs."""

from __future__ import annotations

import pytest

from tacholog.schema.metrics import median_place, median_run


@pytest.mark.parametrize(
    ("values", "metric", "median"),
    [
        (
            [131.0, 140.0, 141.0, 571.0, 581.0, 591.0],
            "latency",
            571.0,
        ),  # six runs of inter-thread that fall into two groups: 356 was measured by nobody
        ([9.0, 1.0, 4.0, 7.0], "goodput", 4.0),
        ([9.0, 1.0, 4.0, 7.0], "messages_sent", 4.0),  # neither direction is better: an amount goes with the lower goodput
        ([9.0, 1.0, 4.0, 7.0], "interval_per_message", 7.0),  # nor here: a time goes with the higher latency
        ([3.0, 1.0, 2.0], "latency", 2.0),
        ([5.0], "goodput", 5.0),
    ],
)
def test_a_median_is_the_value_of_a_run_and_of_two_in_the_middle_the_worse(values: list[float], metric: str, median: float) -> None:
    assert median_run(values, metric) == median


def test_goodput_and_bytes_of_two_runs_of_one_duration_are_those_of_the_same_run() -> None:
    goodput, received = [12.6e9, 13.8e9], [1.575e9, 1.725e9]
    assert median_place(goodput, "goodput") == median_place(received, "bytes_received") == 0


def test_of_equal_values_the_first_run_is_taken() -> None:
    assert median_place([2.0, 1.0, 2.0, 2.0], "latency") == 0
