"""HdrHistogram: percentile tables and logs of intervals.

Expected values were copied by hand from the samples in ``hdrhistogram/`` (see its README).
"""

from __future__ import annotations

import base64
import struct
import zlib
from pathlib import Path

import pytest
from tests.command import run_tacholog_text
from tests.depth import tries

from tacholog.errors import UnreadableInput
from tacholog.formats.reading import Log, read, read_text
from tacholog.formats.registry import format_named, package_of, states_of
from tacholog.formats.testing import Allowances, Distance, format_tests
from tacholog.store.load import load

LOGS = Path(__file__).parent / "hdrhistogram"
TABLE = (LOGS / "layout-java.hgrm").read_text()
HINT = (
    'the log does not state the unit of its values: read it with --as hdrhistogram:us (or ns, ms, s), or write format = "hdrhistogram:us" for '
    "this log into run.toml"
)

# The line "#[Mean    =       15.750, StdDeviation   =        8.649]" of one log may stand below the table of another log.
Test_hdrhistogram_in_microseconds = format_tests(
    "hdrhistogram:us",
    sorted(path for path in LOGS.iterdir() if path.name != "README.md"),
    allow=Allowances(may_lack_size=True, moved=Distance.LINES, mixed=Distance.LINES),
    examples=tries(15, 60),
)


def numbers(log: Log) -> dict[str, tuple[float | None, float | None]]:
    """Return the value and the resolution of each statistic. The log has only one summary."""
    (record,) = (record for record in log.records if record.scope == "summary")
    return {number.statistic: (number.value, number.resolution) for number in record.numbers}


@pytest.mark.parametrize("path", sorted(path for path in LOGS.iterdir() if path.name != "README.md"), ids=lambda path: path.name)
def test_log_without_a_stated_unit_gives_a_hint_and_no_records(path: Path) -> None:
    log = read(path)

    assert log.records == []
    assert log.problems[0].reason == HINT
    assert log.unknown == []


@pytest.mark.parametrize(("unit", "nanoseconds"), [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)])
def test_unit_after_the_name_of_the_format_is_the_unit_of_the_values(unit: str, nanoseconds: float) -> None:
    assert numbers(read_text(TABLE, f"hdrhistogram:{unit}"))["p50"][0] == 15 * nanoseconds


def test_percentile_is_read_from_its_row_if_the_table_has_such_a_row() -> None:
    # The row is "15.000 0.500000000000 10". The resolution is the largest width of a bucket: 1/1024 of its value.
    assert numbers(read_text(TABLE, "hdrhistogram:us"))["p50"] == (15000.0, round(15000 / 1024, 6))


def test_resolution_of_a_percentile_between_two_rows_is_the_difference_of_the_two_values() -> None:
    # The median of 11 values is the 6th value. The rows are 2.000 with 1 value, and 4.000 with 11 values.
    assert numbers(read(LOGS / "layout-c.hgrm", "hdrhistogram:us"))["p50"] == (4000.0, 2000.0)


def test_table_has_mean_deviation_minimum_and_maximum() -> None:
    stated = numbers(read_text(TABLE, "hdrhistogram:us"))

    assert [stated[name][0] for name in ("mean", "std", "min", "p90", "p95", "max")] == [15750.0, 8649.0, 1500.0, 27000.0, 28500.0, 30000.0]
    assert "p99" not in stated  # None of the 20 values lies beyond the 99th percentile.


def test_number_of_samples_is_read_from_the_total_count_below_the_table() -> None:
    (record,) = read_text(TABLE, "hdrhistogram:us").records

    assert (record.samples, record.payload_bytes, record.conditions.basis) == (20, None, None)


def test_table_with_a_missing_row_is_broken() -> None:
    lines = TABLE.splitlines(keepends=True)

    for missing in range(2, len(lines) - 3):
        log = read_text("".join(line for number, line in enumerate(lines) if number != missing), "hdrhistogram:us")
        assert log.records == [], lines[missing]
        assert "missing" in log.problems[0].reason


def test_unknown_unit_is_refused_and_the_message_lists_the_known_units() -> None:
    with pytest.raises(UnreadableInput, match="write one of hdrhistogram:ns, hdrhistogram:us, hdrhistogram:ms, hdrhistogram:s"):
        format_named("hdrhistogram:min")
    with pytest.raises(UnreadableInput, match="write iperf3 without a unit"):
        format_named("iperf3:us")


def test_package_of_a_format_is_found_even_if_a_unit_follows_the_name_of_the_format() -> None:
    states = states_of("hdrhistogram:us")

    assert package_of("hdrhistogram:us") == package_of("hdrhistogram")
    assert states is not None
    assert states["latency"].always == "definition"


def test_percentile_of_a_summary_is_the_nearest_rank_among_the_values_of_all_intervals() -> None:
    log = read(LOGS / "python-1.2.hlog", "hdrhistogram:ns")
    stated = {name: value for name, (value, _) in numbers(log).items()}

    assert [record.samples for record in log.records] == [600, 600, 600, 1800]
    assert {name: stated[name] for name in ("p50", "p90", "p99", "p99.9", "min", "max")} == {
        "p50": 26991,
        "p90": 44863,
        "p99": 64543,
        "p99.9": 100031,  # The library rounds the rank 1798.2 down to 1798, and returns 96575. The nearest rank is 1799.
        "min": 7675,  # The bucket contains the four values from 7672 to 7675.
        "max": 116415,
    }
    assert stated["mean"] == pytest.approx(28864.65, rel=1e-3)
    assert stated["std"] == pytest.approx(12096.34, rel=1e-3)
    assert log.problems == []


def test_truncated_histogram_is_broken_and_the_summary_is_marked_as_partial() -> None:
    lines = (LOGS / "python-1.2.hlog").read_text().splitlines(keepends=True)

    log = read_text("".join((*lines[:4], lines[4][:-40] + "\n", *lines[5:])), "hdrhistogram:ns")
    assert len(log.problems) == 1
    summary = log.records[-1]
    assert (summary.scope, summary.samples) == ("summary", 1200)
    assert all("partial" in number.marks for number in summary.numbers)


def test_standard_deviation_printed_by_the_python_library_is_not_read() -> None:
    stated = numbers(read(LOGS / "python-us.hgrm", "hdrhistogram:us"))

    assert stated["mean"][0] == 28831  # The library divided the mean by 1000, but not the deviation 11967.267.
    assert "std" not in stated


def test_histogram_with_a_million_different_values_is_broken() -> None:
    payload = b"\x02" * (1 << 20)  # Each of a million buckets has a count of one.
    inner = struct.pack(">iiiiqqd", 0x1C849313, len(payload), 0, 5, 1, 1 << 62, 1.0) + payload
    packed = zlib.compress(inner)
    text = base64.b64encode(struct.pack(">ii", 0x1C849314, len(packed)) + packed).decode()

    log = read_text(f"#[Histogram log format version 1.3]\n0.1,1.0,2.0,{text}\n", "hdrhistogram:ns")
    assert [problem.reason for problem in log.problems] == ["the histogram cannot be decoded: it has too many different values"]


def test_rule_of_an_import_can_state_the_unit_of_the_values(tmp_path: Path) -> None:
    (tmp_path / "logs/1.0").mkdir(parents=True)
    (tmp_path / "logs/1.0/report.hgrm").write_text(TABLE)
    (tmp_path / "rules.toml").write_text(
        '[[rule]]\npath = "{release}/report.hgrm"\nformat = "hdrhistogram:us"\nset = { system = "Aeron", basis = "rtt", payload_bytes = 32 }\n'
    )

    done = run_tacholog_text("import", tmp_path / "logs", "--to", tmp_path / "data", "--rules", tmp_path / "rules.toml")
    assert done.returncode == 0, done.stdout + done.stderr
    results = load([tmp_path / "data"]).results
    row = results[results["statistic"] == "p50"].iloc[0]
    assert (row["value"], row["basis"], row["payload_bytes"]) == (15000.0, "rtt", 32)


def test_table_is_read_if_it_is_indented_and_a_row_ends_with_a_blank() -> None:
    # In the README of wrk2, the table is indented, and the first row ends with a blank.
    table = (LOGS / "layout-c.hgrm").read_text()
    indented = "".join(f"    {line}\n" if line else "\n" for line in table.replace(" 1.00\n", " 1.00 \n").splitlines())

    assert numbers(read_text(indented, "hdrhistogram:us")) == numbers(read_text(table, "hdrhistogram:us"))
