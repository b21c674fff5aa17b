"""The export of numbers for other tools."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import msgspec
import pandas as pd
import pytest
from click.testing import CliRunner
from hdrh.histogram import HdrHistogram
from pyarrow import parquet
from tests.command import run_tacholog_text
from tests.report.conftest import FIRST, SECOND, add_run, rti

from tacholog.commands.export import export
from tacholog.commands.require import require
from tacholog.schema.tables import OFFERED
from tacholog.store.export import as_file, results_table
from tacholog.store.load import load


def run(*words: str) -> str:
    done = CliRunner().invoke(export, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_csv_and_json_have_each_number_with_its_id(data: Path) -> None:
    rows = list(csv.reader(io.StringIO(run("--data", str(data)))))
    objects = [json.loads(line) for line in run("--data", str(data), "--format", "json").splitlines()]

    assert len(rows) == len(objects) + 1
    found = next(row for row in objects if row["id"] == "rti/copy/sub.log#L2:message_rate.mean")
    assert (found["value"], found["unit"], found["payload_bytes"]) == (2386046.0, "messages_per_s", 64)
    assert found["host"] is None
    assert len({row["id"] for row in objects}) == len(objects)


def test_folders_are_accepted_with_and_without_the_option_data(data: Path) -> None:
    assert run(str(data)) == run("--data", str(data))
    assert run(str(data), "--format", "bencher") == run("--data", str(data), "--format", "bencher")


def rows_of(table: pd.DataFrame) -> list[list[str]]:
    return list(csv.reader(io.StringIO(as_file(table, "csv").decode(), newline="")))


def objects_of(table: pd.DataFrame) -> list[dict[str, object]]:
    return [json.loads(line) for line in as_file(table, "json").splitlines()]


@pytest.mark.parametrize("dtype", ["str", "category", "object"])
def test_text_that_looks_like_a_formula_gets_an_apostrophe_but_a_number_does_not(dtype: str) -> None:
    texts = ["@SUM(1)", "+1", "=1+1", "-2+3", "\t=1", "=", "-1.5", "1.2-rc", "a@b"]
    table = pd.DataFrame({"release": pd.Series(texts, dtype=dtype), "value": [-1.5] * 9, "count": [-1] * 9})

    assert [row[0] for row in rows_of(table)[1:]] == ["'@SUM(1)", "'+1", "'=1+1", "'-2+3", "'\t=1", "=", "-1.5", "1.2-rc", "a@b"]
    assert as_file(table, "csv").splitlines()[1] == b"'@SUM(1),-1.5,-1"
    assert objects_of(table)[0] == {"release": "@SUM(1)", "value": -1.5, "count": -1}


@pytest.mark.parametrize("dtype", ["str", "category", "object"])
def test_rows_stay_complete_if_texts_contain_line_ends_and_quotes(dtype: str) -> None:
    texts = ['a "b"\nc', "d", 'e\n"', "f\rg", "h,\u00e9", 'a/"b', "c\x01\\", None]
    table = pd.DataFrame({"run": pd.Series(texts, dtype=dtype), "value": range(1, 9)})

    assert rows_of(table) == [["run", "value"], *([text or "", str(number)] for number, text in enumerate(texts, 1))]
    assert objects_of(table) == [{"run": text, "value": number} for number, text in enumerate(texts, 1)]


def test_numbers_are_written_with_all_digits_and_unknown_values_are_empty() -> None:
    table = pd.DataFrame(
        {
            "value": pd.array([0.1, 2386046.0, None, 1e300], dtype="Float64"),
            "samples": pd.array([2**53 + 1, None, 0, -1], dtype="Int64"),
            "published": pd.array([True, False, None, True], dtype="boolean"),
        }
    )

    assert as_file(table, "csv") == (b"value,samples,published\n0.1,9007199254740993,True\n2386046.0,,False\n,0,\n1e+300,-1,True\n")
    assert objects_of(table) == [
        {"value": 0.1, "samples": 9007199254740993, "published": True},
        {"value": 2386046.0, "samples": None, "published": False},
        {"value": None, "samples": 0, "published": None},
        {"value": 1e300, "samples": -1, "published": True},
    ]


def test_tiny_number_stays_the_same_after_writing_and_reading() -> None:
    values = [0.010586363427559625, 0.0001407002319484706, 4e-11, 1e-300, -0.0]  # The first two values are losses of perftest and iceoryx in data/.
    table = pd.DataFrame({"value": pd.array([*values, None], dtype="Float64")})

    assert [row["value"] for row in objects_of(table)] == [*values, None]
    assert [float(row[0]) for row in rows_of(table)[1:-1]] == values


def test_parquet_is_written_to_a_file(data: Path, tmp_path: Path) -> None:
    run("--data", str(data), "--format", "parquet", "--output", str(tmp_path / "x/results.parquet"))

    assert "2386046" in set(pd.read_parquet(tmp_path / "x/results.parquet")["value"].dropna().map("{:.0f}".format))


def test_row_groups_of_a_parquet_file_state_their_minimum_and_maximum(data: Path, tmp_path: Path) -> None:
    run("--data", str(data), "--format", "parquet", "--output", str(tmp_path / "results.parquet"))

    part = parquet.ParquetFile(tmp_path / "results.parquet").metadata.row_group(0)
    columns = {part.column(place).path_in_schema: part.column(place).statistics for place in range(part.num_columns)}
    assert (columns["payload_bytes"].min, columns["payload_bytes"].max) == (32, 1024)
    assert all(columns[name].has_min_max for name in ("run", "system", "value", "line"))


def test_parquet_has_the_same_values_as_csv_and_null_for_empty_values(data: Path, tmp_path: Path) -> None:
    run("--data", str(data), "--format", "parquet", "--output", str(tmp_path / "results.parquet"))

    rows = parquet.read_table(tmp_path / "results.parquet").to_pylist()
    stated = [{name: "" if value is None else str(value) for name, value in row.items()} for row in rows]
    expected = list(csv.DictReader(io.StringIO(run("--data", str(data)))))
    assert stated == expected
    assert {row["side"] for row in rows} == {None, "publisher", "subscriber"}
    assert {row["reliability"] for row in rows} > {None}
    assert {row["load_mode"] for row in rows} > {None}


def test_exported_histogram_has_the_median_that_the_log_states(data: Path, tmp_path: Path) -> None:
    said = run("--data", str(data), "--format", "hdr", "--output", str(tmp_path / "hdr"))

    lines = (tmp_path / "hdr/own/latency/sub.log.hlog").read_text().splitlines()
    tag, _start, _length, _max, payload = next(line for line in lines if line.startswith("Tag=bytes-64")).split(",")
    histogram = HdrHistogram.decode(payload.encode())
    assert said.startswith("4 histograms in ")
    assert tag.startswith("Tag=bytes-64-line-")
    assert histogram.get_total_count() == 737
    assert histogram.get_value_at_percentile(50) == pytest.approx(3851, rel=0.001)


def test_each_number_has_its_own_id_and_marks(data: Path) -> None:
    loaded = load([data])
    results = results_table(loaded)

    rows = zip(*(results[name] for name in ("run", "log", "line", "metric", "statistic")), strict=True)
    assert results["id"].tolist() == [f"{run}/{log}#L{line}:{metric}.{statistic}" for run, log, line, metric, statistic in rows]
    assert results["marks"].tolist() == [" ".join(marks) for marks in loaded.results["marks"]]
    assert len(set(results["marks"])) > 2


def test_table_without_numbers_has_no_ids(data: Path) -> None:
    loaded = load([data])

    assert results_table(msgspec.structs.replace(loaded, results=loaded.results.iloc[:0]))["id"].tolist() == []


def test_each_column_of_the_tables_has_a_description(data: Path) -> None:
    results = results_table(load([data]))

    assert list(OFFERED) == list(results.columns)
    kinds = {"Int64": "integer", "Float64": "number", "boolean": "true or false", "string": "text"}
    wrong = {name: str(results[name].dtype) for name, column in OFFERED.items() if kinds.get(str(results[name].dtype), "text") != column.kind}
    assert wrong == {}


@pytest.mark.parametrize("has_time", [False, True])
def test_command_states_that_the_newest_release_was_found_by_name_if_there_is_no_start_time(tmp_path: Path, *, has_time: bool) -> None:
    for release, log in (("r9", FIRST), ("r10", SECOND)):
        start = f"2026-01-{release[1:]:0>2}T12:00:00Z" if has_time or release == "r9" else None
        add_run(tmp_path / "data", release, log, msgspec.structs.replace(rti(published=False), release=release, start_time=start))
    (tmp_path / "requirements.toml").write_text('[[require]]\nname = "fast"\nmetric = "message_rate"\nstatistic = "mean"\nunit = "msg/s"\nmin = 1\n')

    exported = CliRunner().invoke(export, [str(tmp_path / "data"), "--format", "bencher"], catch_exceptions=False)
    judged = CliRunner().invoke(require, [str(tmp_path / "data"), "--requirements", str(tmp_path / "requirements.toml")], catch_exceptions=False)

    said = (
        "r10 counts as the newest release of RTI Connext DDS by its name, because no run of r10 has a start time; to state one, write start_time = "
    )
    assert (said in exported.stderr, said in judged.stderr) == (not has_time, not has_time), judged.output


def test_output_that_is_a_link_stays_a_link(checkout: Path, tmp_path: Path) -> None:
    """Regression: as root, ``--output /dev/stdout > FILE`` replaced the link /dev/stdout by a file."""
    (tmp_path / "numbers.csv").touch()
    (tmp_path / "link").symlink_to("numbers.csv")

    done = run_tacholog_text("export", checkout / "docs/example/data", "--output", "link")

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "link").readlink() == Path("numbers.csv")
    assert (tmp_path / "numbers.csv").read_bytes().count(b"\n") > 10
