"""The numbers for other tools."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from hdrh.histogram import HdrHistogram

from tacholog.commands.export import export
from tacholog.dataset.export import results_table
from tacholog.dataset.load import load
from tacholog.schema.tables import OFFERED


def run(*words: str) -> str:
    done = CliRunner().invoke(export, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_csv_and_json_hold_every_number_with_its_id(data: Path) -> None:
    rows = list(csv.reader(io.StringIO(run("--data", str(data)))))
    objects = [json.loads(line) for line in run("--data", str(data), "--format", "json").splitlines()]

    assert len(rows) == len(objects) + 1
    found = next(row for row in objects if row["id"] == "rti/copy/sub.log#L2:message_rate.mean")
    assert (found["value"], found["unit"], found["payload_bytes"]) == (2386046.0, "messages_per_s", 64)
    assert found["host"] is None
    assert len({row["id"] for row in objects}) == len(objects)


def test_parquet_goes_to_a_file(data: Path, tmp_path: Path) -> None:
    run("--data", str(data), "--format", "parquet", "--output", str(tmp_path / "x/results.parquet"))

    assert "2386046" in set(pd.read_parquet(tmp_path / "x/results.parquet")["value"].dropna().map("{:.0f}".format))


def test_a_histogram_read_back_has_the_median_that_the_log_states(data: Path, tmp_path: Path) -> None:
    said = run("--data", str(data), "--format", "hdr", "--output", str(tmp_path / "hdr"))

    lines = (tmp_path / "hdr/own/latency/sub.log.hlog").read_text().splitlines()
    tag, _start, _length, _max, payload = next(line for line in lines if line.startswith("Tag=bytes-64")).split(",")
    histogram = HdrHistogram.decode(payload.encode())
    assert said.startswith("4 histograms in ")
    assert tag.startswith("Tag=bytes-64-line-")
    assert histogram.get_total_count() == 737
    assert histogram.get_value_at_percentile(50) == pytest.approx(3851, rel=0.001)


def test_every_column_of_the_tables_is_explained(data: Path) -> None:
    results = results_table(load([data]))

    assert list(OFFERED) == list(results.columns)
    kinds = {"Int64": "integer", "Float64": "number", "boolean": "true or false", "string": "text"}
    wrong = {name: str(results[name].dtype) for name, column in OFFERED.items() if kinds.get(str(results[name].dtype), "text") != column.kind}
    assert wrong == {}
