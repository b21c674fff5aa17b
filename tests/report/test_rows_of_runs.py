"""A table has one row for each measurement, with all numbers that the log states for it. Each reason for a missing number has a fixed term."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.report.conftest import add_run

from tacholog.render.figures.figures import words_of
from tacholog.render.html import Html
from tacholog.render.links import Links
from tacholog.render.tables.rankings import group_table
from tacholog.render.tables.results import numbers_tables
from tacholog.render.tables.sizes import side_by_side, sizes_table
from tacholog.runs.manifest import Manifest
from tacholog.schema.conditions import Conditions
from tacholog.store.load import load
from tacholog.view.ranking_groups import SystemSeries, groups
from tacholog.view.results import ResultRow, RunRow
from tacholog.view.series import Series, newest_first, series_of
from tacholog.view.views import view_of

LOGS = Path(__file__).parent.parent / "formats" / "native"
NATS = (LOGS / "throughput-nats.log").read_text()  # The processor time of each size is on a separate line.
UDP = (LOGS / "throughput-udp.log").read_text()  # The loss is 24.3 % at 16 bytes, and 80.9 % at 64 KiB.
LATENCY = (LOGS / "latency-udp.log").read_text()  # Its latencies have 737 and 813 samples, too few for a percentile above 98.6 %.


def add(root: Path, name: str, log: str, system: str = "Tacholog perftest") -> None:
    add_run(root, name, log, Manifest(system=system, tool="perftest", host="desk", session="one campaign", logs=()))


def series_in(root: Path) -> list[Series]:
    return view_of(load([root])).series()


def table_in(html: Html | str, label: str) -> list[list[str]]:
    """Return the text of each table cell, row by row. Hidden digits for alignment are left out."""
    text = str(html)
    start = text.index(f'aria-label="{label}')
    rows = re.findall(r"<tr>.*?</tr>", text[start : text.index("</table>", start)], re.DOTALL)
    bare = [re.sub(r'<span class="tl-pad".*?</span>|<sup>.*?</sup>', "", row) for row in rows]
    return [[re.sub("<[^>]*>", " ", cell).strip() for cell in re.findall(r"<t[hd].*?</t[hd]>", row)] for row in bare]


def test_run_is_counted_once_and_its_row_contains_its_processor_time(tmp_path: Path) -> None:
    for name in ("1", "2"):
        add(tmp_path, name, NATS)
    (series,) = series_in(tmp_path)

    shown = numbers_tables([series], Links("logs"), "t")

    heads, *medians = table_in(shown, "Throughput numbers")
    assert [(row[0], row[heads.index("runs")]) for row in medians] == [("64\u00a0B", "2"), ("64\u00a0KiB", "2")]
    heads, *each = table_in(shown, "Each run&#x27;s throughput numbers")
    # (Processor time of the sides + of the broker) / messages: (176977000 + 120000000) / 298946 ns, and (41084000 + 130000000) / 710 ns.
    received, spent = heads.index("received"), next(at for at, head in enumerate(heads) if head.startswith("processor time"))
    assert [(row[0], row[1], row[received], row[spent]) for row in each] == [
        ("64\u00a0B", "1", "184\u202f577", "0.993"),
        ("64\u00a0B", "2", "184\u202f577", "0.993"),
        ("64\u00a0KiB", "1", "538", "241"),
        ("64\u00a0KiB", "2", "538", "241"),
    ]
    assert "not stated" not in shown


def test_run_that_measured_a_size_twice_is_one_run_with_two_rows(tmp_path: Path) -> None:
    add(tmp_path, "1", NATS.replace("payload_bytes=65536", "payload_bytes=64"))
    (series,) = series_in(tmp_path)

    shown = numbers_tables([series], Links("logs"), "t")

    heads, (_, *cells) = table_in(shown, "Throughput numbers")
    assert cells[heads.index("runs") - 1] == "1"
    heads, *each = table_in(shown, "Each run&#x27;s throughput numbers")
    received, spent = heads.index("received"), next(at for at, head in enumerate(heads) if head.startswith("processor time"))
    assert [(row[1], row[received], row[spent]) for row in each] == [("1", "184\u202f577", "0.993"), ("1", "538", "241")]
    rate = series.cells("messages_received", "total")[64]
    assert words_of(rate, "messages") == "538 (median of 2 values of 1 run: 538 and 184\u202f577)"


def test_two_records_of_one_line_have_separate_rows() -> None:
    told = {"log": "a", "line": 7, "test": "latency", "payload_bytes": 64, "metric": "latency"}
    results = [
        ResultRow(run=RunRow(run="1"), statistic=statistic, value=value, **told)  # type: ignore[arg-type]
        for statistic, value in (("p50", 362.0), ("max", 4100.0), ("p50", 351.0), ("max", 4200.0))
    ]
    (series,) = series_of(results)

    found = [[(name, result.value) for (_, name), result in by_name.items()] for _, by_name in series.measured.measurements(64)]

    assert found == [[("p50", 362.0), ("max", 4100.0)], [("p50", 351.0), ("max", 4200.0)]]


def test_measurement_without_processor_time_does_not_use_the_processor_time_of_the_next_measurement(tmp_path: Path) -> None:
    first_cost = next(line for line in NATS.splitlines(keepends=True) if line.startswith("cost"))
    add(tmp_path, "1", NATS.replace(first_cost, "").replace("payload_bytes=65536", "payload_bytes=64"))
    (series,) = series_in(tmp_path)

    found = [("cpu_per_message", "mean") in by_name for _, by_name in series.measured.measurements(64)]

    assert found == [False, True]


def test_metric_with_many_statistics_has_a_short_name_in_the_heads_of_its_columns(tmp_path: Path) -> None:
    add(tmp_path, "1", (LOGS / "latency-one-way-shm.log").read_text())

    tables = str(numbers_tables(series_in(tmp_path), Links(), "n"))

    full = "Delay between the scheduled and the real send time, 99 %"
    assert f'<th scope="col" title="{full}">send delay, 99 %<' in tables


def test_missing_percentile_with_too_few_samples_has_the_same_words_in_all_tables(tmp_path: Path) -> None:
    add(tmp_path, "1", LATENCY.replace(" p99_ns=270591", ""))
    series = series_in(tmp_path)

    assert table_in(sizes_table(series, Links(), "s"), "Latency by message size")[2][2] == "too few samples"
    heads, *rows = table_in(numbers_tables(series, Links(), "n"), "Latency numbers")
    at = next(at for at, head in enumerate(heads) if head.startswith("99 %"))
    assert [row[at] for row in rows] == ["913", "too few samples"]


@pytest.mark.parametrize(("sizes", "words"), [((64,), "not measured"), ((64, 1024), "not stated")])
def test_cell_without_a_number_says_why_the_number_is_missing(sizes: tuple[int, ...], words: str) -> None:
    def of(transport: str, numbers_: list[tuple[int, str]]) -> list[ResultRow]:
        conditions = Conditions(basis="rtt", transport=transport, definition="ours", load_mode="closed")
        return [
            ResultRow(
                RunRow(run=transport, system="X", host="desk"),
                "a",
                "latency",
                statistic,
                line=at,
                test="latency",
                conditions=conditions,
                payload_bytes=at,
                value=362.0,
            )
            for at, statistic in numbers_
        ]

    whole = of("tcp", [(64, "p50"), (1024, "p50")])
    part = of("udp", [(64, "p50"), *((at, "max") for at in sizes[1:])])
    series = series_of([*whole, *part])
    members = [SystemSeries("X", str(dict(one.key)["transport"]), one) for one in series]
    ((group, found),) = groups(members).items()

    grouped = group_table(group, found, [64, 1024], Links(), "g", {})

    assert table_in(grouped, group.words_of(found))[2] == ["udp", "0.362", words]
    assert table_in(side_by_side(series, Links(), "s"), "Median latency of every series")[2][2] == words
    assert table_in(sizes_table(series, Links(), "z"), "Latency by message size")[2][-1 if len(sizes) == 1 else -2] == words


def test_table_of_medians_states_once_that_its_columns_may_come_from_different_runs(tmp_path: Path) -> None:
    for name, log in (("1", UDP), ("2", UDP), ("3", NATS), ("4", NATS)):
        add(tmp_path / "repeated", name, log)
    add(tmp_path / "alone", "1", UDP)

    words = "Columns may come from different runs, so "
    assert str(numbers_tables(series_in(tmp_path / "repeated"), Links(), "t")).count(words) == 1
    assert words not in numbers_tables(series_in(tmp_path / "alone"), Links(), "t")


def test_release_counts_as_newer_than_its_release_candidate(tmp_path: Path) -> None:
    for version in ("5.12-rc1", "5.9", "5.12"):
        add_run(tmp_path, version, LATENCY, Manifest(system="S", system_version=version, tool="perftest", host="desk", logs=()))

    assert [dict(one.key)["system_version"] for one in newest_first(series_in(tmp_path))] == ["5.12", "5.12-rc1", "5.9"]
