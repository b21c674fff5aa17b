"""The single rule for the median of several runs."""

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
        ),  # Six runs of inter-thread in two groups: no run measured 356, the mean of the two middle values.
        ([9.0, 1.0, 4.0, 7.0], "goodput", 4.0),
        ([9.0, 1.0, 4.0, 7.0], "messages_sent", 4.0),  # More messages are neither better nor worse. The smaller middle value is taken.
        ([9.0, 1.0, 4.0, 7.0], "interval_per_message", 7.0),  # A longer interval is neither better nor worse. The larger middle value is taken.
        ([3.0, 1.0, 2.0], "latency", 2.0),
        ([5.0], "goodput", 5.0),
    ],
)
def test_median_is_the_value_of_a_run_and_the_worse_of_two_middle_values(values: list[float], metric: str, median: float) -> None:
    assert median_run(values, metric) == median


def test_goodput_and_received_bytes_have_their_median_in_the_same_run() -> None:
    goodput, received = [12.6e9, 13.8e9], [1.575e9, 1.725e9]
    assert median_place(goodput, "goodput") == median_place(received, "bytes_received") == 0


def test_first_run_is_used_if_values_are_equal() -> None:
    assert median_place([2.0, 1.0, 2.0, 2.0], "latency") == 0
