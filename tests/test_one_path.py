"""If a log states a fact about its run, at any position, the fact applies to all records of the log: in ``parse`` and on the site."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.command import run_tacholog_text
from tests.samples import FORMATS, SAMPLE_LOGS

from tacholog.formats.reading import HeldRecords, read
from tacholog.schema.conditions import Conditions
from tacholog.schema.records import Record
from tacholog.store.load import load_logs


def parsed(*paths: Path) -> list[dict[str, Any]]:
    done = run_tacholog_text("parse", "--format", "jsonl", *paths)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_conditions_after_the_results_apply_to_the_results() -> None:
    names = Conditions.__struct_fields__
    shown = Counter((one["log"], one["line"], *(one.get(name) for name in names)) for one in parsed(*SAMPLE_LOGS))

    results = load_logs(SAMPLE_LOGS).results
    firsts = results.drop_duplicates(["log", "line", "last_line", "scope", "test", "side", "participant", "payload_bytes", *names])
    known = firsts.astype(object).where(firsts.notna(), None)
    loaded = {(run, line, *conditions) for run, line, *conditions in known[["run", "line", *names]].to_numpy().tolist()}

    assert len(shown) > 1000
    places = {(log, line) for log, line, *_ in loaded}  # Records of hmbdc without a result have no number, so they are not in the table of results.
    assert {one for one in shown if one[:2] in places} - loaded == set()
    assert len(places) > 900


def test_condition_stated_after_the_start_of_a_record_is_in_the_output_of_parse() -> None:
    record = next(one for one in parsed(FORMATS / "ecal/latency-5.10.log") if one["line"] == 10)  # Line 6 is "Zero copy : ON".

    assert (record["line"], record["last_line"], record["data_path"]) == (10, 17, "zero-copy")


def test_metadata_after_the_results_applies_to_the_results(tmp_path: Path) -> None:
    results = "Length:    32  Packets: 77849677  Packets/s(ave): 2594706  Mbps(ave):   664.2  Lost:     0 (0.00%)\n"
    head = "\tReliability: Best Effort\n"
    log = tmp_path / "some.log"
    log.write_text(f"{results}{'RTI Perftest 3.0.1 (RTI Connext DDS 6.0.1)'}\n\nPerftest Configuration:\n{head}")

    (record,) = parsed(log)

    loaded = load_logs([log]).results
    assert [record["reliability"]] == loaded["reliability"].unique().tolist()


def test_records_that_wait_in_a_temporary_file_are_returned_unchanged() -> None:
    events = [event for event in read(FORMATS / "native/latency-udp.log").events if isinstance(event.what, Record)]
    held = HeldRecords(in_memory=3)
    for event in events:
        held.add(event)

    assert [(event.line, event.last_line, event.run, event.what) for event in held] == [
        (event.line, event.last_line, event.run, event.what) for event in events
    ]
    assert len(events) > 3


@pytest.mark.parametrize(("output", "column"), [("table", 1), ("csv", 7)])
def test_records_are_in_the_order_of_the_log(output: str, column: int) -> None:
    said = run_tacholog_text("parse", "--format", output, FORMATS / "rti/manual-throughput.log").stdout

    cells = [line.replace(",", " , ").split(" , ") if output == "csv" else line.split() for line in said.splitlines()]
    sizes = [row[column].strip() for row in cells]
    assert list(dict.fromkeys(size for size in sizes if size.isdigit())) == ["32", "64", "256", "1024", "8192", "32768", "63000"]
