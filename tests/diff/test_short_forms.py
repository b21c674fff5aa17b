"""A diff as a comment on a pull request, and values of rows for benchmark services."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray
from tests.diff.test_controls import with_controls

from tacholog.commands.diff import rendered
from tacholog.commands.export import export
from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy
from tacholog.compare.result import Comparison
from tacholog.compare.row_values import row_values
from tacholog.errors import UnreadableInput
from tacholog.render import requirements
from tacholog.render.diff.text import MOST_LINES
from tacholog.render.exports import bencher, github_action_benchmark
from tacholog.runs.manifest import Host
from tacholog.store.frames import Dataset

Side = Callable[..., Dataset]
Compared = Callable[..., Comparison]
VALUES = np.array([[4100.0, 4300.0, 4200.0, 4600.0, 4000.0, 4400.0]])
GOODPUT: dict[str, Any] = {"metric": "goodput", "statistic": "mean", "unit": "bit_per_s", "test": "throughput", "basis": None}


# --- The comment


@pytest.mark.parametrize("change", [1.0, 1.2, 0.8, 1.02])
def test_comment_is_short_for_any_number_of_rows(change: float, side: Side) -> None:
    generator = np.random.default_rng(7)
    old, new = (10_000 * np.exp(0.01 * generator.standard_normal((200, 12))) for _ in range(2))
    pairs = np.arange(12)
    sides = side(old, list(2 * pairs + pairs % 2)), side(new * change, list(2 * pairs + 1 - pairs % 2))

    text = rendered("comment", compare(*sides, Policy()))

    assert len(text.splitlines()) <= MOST_LINES
    assert MOST_LINES + requirements.MOST_LINES < 60


def test_comment_with_rows_of_each_verdict_is_short_and_states_that_the_host_changed() -> None:
    generator = np.random.default_rng(8)
    pairs = np.arange(12)
    places = list(2 * pairs + pairs % 2), list(2 * pairs + 1 - pairs % 2)
    change = np.repeat([3.0, 0.3, 1.0], 20)[:, None] * np.exp(np.repeat([0.0, 0.3], [40, 20])[:, None] * generator.standard_normal((60, 12)))
    sides = [
        with_controls(values[:60], values[60:], when)
        for values, when in zip(10_000 * np.exp(0.01 * generator.standard_normal((2, 72, 12))), places, strict=True)
    ]
    new = sides[1].results
    new["value"] = np.concatenate([(new["value"].to_numpy(float)[: 60 * 12].reshape(12, 60) * change.T).ravel(), 1.05 * new["value"][60 * 12 :]])

    text = rendered("comment", compare(sides[0], sides[1], Policy()))

    lines = text.splitlines()
    assert len(lines) <= MOST_LINES
    above = lines[: lines.index(next(line for line in lines if line.startswith("<details>")))]
    assert [line for line in above if "Host changed: 5" in line]
    assert len([line for line in above if line.startswith("| latency")]) == 10
    assert lines[-1] == "</details>"
    assert not [line for line in lines[len(above) :] if "Host changed" in line and not line.startswith("|")]


def test_comment_shows_the_worst_row_first_and_counts_the_rows_of_each_verdict(compared: Compared, noise: NDArray[np.float64]) -> None:
    text = rendered("comment", compared(noise[0], noise[1] * np.array([[1.1], [1.5], [0.7], [1.0]])))

    lines = text.splitlines()
    rows = [line for line in lines if line.startswith("| latency")]
    assert [row.split(" | ")[0].rpartition(", ")[2].replace("\u00a0", " ") for row in rows[:3]] == ["32 B", "16 B", "48 B"]
    assert "Worse: 2, Better: 1, No change: 1" in lines
    assert lines[0] == "### old → new: 2 worse, 1 better, 1 no change"


def test_comment_states_the_number_of_worse_rows_even_if_no_row_changed(compared: Compared, noise: NDArray[np.float64]) -> None:
    text = rendered("comment", compared(noise[0], noise[1]))

    assert text.startswith("### old → new: 0 worse, 4 no change")
    assert text.count("| latency") == 4
    assert text.count("| no change; ") == 4


def test_comment_lists_the_largest_changes_even_if_no_row_has_a_verdict(side: Side) -> None:
    changes = np.array([1.1, 352.0, 0.5, *[1.0] * 9])[:, None]
    old = np.full((12, 3), 10_000.0)

    text = rendered("comment", compare(side(old, release="1.0"), side(old * changes, release="1.1"), Policy(), ("build/a", "build/b")))

    lines = text.splitlines()
    rows = [line.replace("\u00a0", " ").split(" | ") for line in lines if line.startswith("| latency")]
    assert lines[0].startswith("### 1.0 → 1.1: 12 not enough runs")
    assert [(row[0].rpartition(", ")[2], *row[1:4]) for row in rows[:3]] == [
        ("32 B", "10 µs", "3.52 ms", "x352"),
        ("48 B", "10 µs", "5 µs", "x0.500"),
        ("16 B", "10 µs", "11 µs", "x1.100"),
    ]
    assert len(rows) == 10
    assert rows[0][-1].startswith("not enough runs or samples; ")


def test_title_has_the_names_of_the_sides_if_both_sides_have_the_same_release(side: Side) -> None:
    values = np.full((1, 3), 10_000.0)
    both = side(values, release="1.0"), side(values, release=["1.0", "1.0", "1.1"])

    assert rendered("comment", compare(both[0], both[0], Policy(), ("a", "b"))).startswith("### a → b: ")
    assert rendered("comment", compare(both[0], both[1], Policy(), ("a", "b"))).startswith("### 1.0 → b: ")


def test_comment_with_nothing_to_fold_has_no_folded_section(compared: Compared, noise: NDArray[np.float64]) -> None:
    text = rendered("comment", compared(noise[0], noise[1]))

    assert text.endswith("\n\nWorse: 0, No change: 4\n")
    assert "<details>" not in text


# --- Files for other services


def test_value_of_a_row_is_the_median_of_the_runs_and_has_an_interval(side: Side) -> None:
    (row,) = row_values(side(VALUES))

    assert (row.value, row.low, row.high, row.confidence, row.runs, row.unit) == (4300.0, 4000.0, 4600.0, 1 - 2 / 64, 6, "ns")


def test_value_of_a_row_with_few_runs_has_no_interval(side: Side) -> None:
    (row,) = row_values(side(VALUES[:, :5]))

    assert (row.value, row.low, row.high, row.confidence, row.runs) == (4200.0, None, None, None, 5)


def test_controls_are_not_exported_and_do_not_change_the_names_of_rows() -> None:
    values = np.vstack([VALUES, 2 * VALUES])

    (row,) = row_values(with_controls(values[:1], values[1:], list(range(6)), transport="shm"))

    assert (row.value, row.key.transport, row.key.apart) == (4300.0, "shm", ())


def test_bencher_metric_format_matches_its_schema(side: Side) -> None:
    found = json.loads(bencher(row_values(side(np.vstack([VALUES, 2 * VALUES])))))

    assert found == {
        "Made-up middleware, shm, copy, 16 B": {"latency-p50": {"value": 4300.0, "lower_value": 4000.0, "upper_value": 4600.0}},
        "Made-up middleware, shm, copy, 32 B": {"latency-p50": {"value": 8600.0, "lower_value": 8000.0, "upper_value": 9200.0}},
    }


def test_rows_of_two_machines_are_two_benchmarks(side: Side, other_host: Host) -> None:
    one, two = side(VALUES), side(VALUES * 2, host=other_host)
    both = msgspec.structs.replace(
        one,
        runs=pd.concat([one.runs, two.runs.assign(run=two.runs["run"] + "-b", host="other")], ignore_index=True),
        results=pd.concat([one.results, two.results.assign(run=two.results["run"] + "-b")], ignore_index=True),
        hosts={**one.hosts, "other": other_host},
    )

    found = json.loads(bencher(row_values(both)))

    assert sorted(values["latency-p50"]["value"] for values in found.values()) == [4300.0, 8600.0]


def test_github_action_benchmark_gets_separate_files_for_latencies_and_for_rates(side: Side) -> None:
    files = {
        name: json.loads(content)
        for rows in (side(VALUES), side(VALUES * 1e6, **GOODPUT))
        for name, content in github_action_benchmark(row_values(rows)).items()
        if json.loads(content)
    }

    assert files["smaller-is-better.json"] == [
        {
            "name": "latency p50, Made-up middleware, shm, copy, 16 B",
            "unit": "ns",
            "value": 4300.0,
            "range": "4000 to 4600",
            "extra": "median of 6 runs",
        }
    ]
    (rate,) = files["bigger-is-better.json"]
    assert (rate["unit"], rate["value"]) == ("bit/s", 4.2e9)


def test_export_of_an_empty_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()

    with pytest.raises(UnreadableInput, match="nothing to export"):
        CliRunner().invoke(export, ["--data", str(tmp_path / "data"), "--format", "bencher"], catch_exceptions=False)
