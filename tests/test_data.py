"""The data in ``data/``: complete, unchanged, and read without loss."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from pathlib import Path

import pytest

from tacholog.formats.reading import read
from tacholog.runs.manifest import Manifest, read_host, read_manifest
from tacholog.schema.records import Record
from tacholog.store.frames import Dataset
from tacholog.store.load import load

DATA = Path(__file__).parent.parent / "data"
MANIFESTS = sorted(DATA.glob("**/run.toml"))
RTI = sorted(path for path in MANIFESTS if path.is_relative_to(DATA / "rti"))


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load([DATA / "rti"])


@pytest.mark.nightly  # At each change, test_check_command.py runs `tacholog check` on all published runs.
def test_each_log_matches_the_sha256_in_the_manifest_and_has_no_unknown_line() -> None:
    for path in MANIFESTS:
        for entry in read_manifest(path).logs:
            if not entry.results:
                continue
            log = path.parent / entry.file
            read_log = read(log)
            has_its_bytes = hashlib.sha256(log.read_bytes()).hexdigest() == entry.sha256
            found = (has_its_bytes, read_log.broken, read_log.unknown, bool(read_log.records))
            assert (log, *found) == (log, True, [], [], True)


def test_there_are_177_throughput_and_54_latency_rows() -> None:
    records = [record for path in RTI for entry in read_manifest(path).logs for record in read(path.parent / entry.file).records]

    assert Counter(record.test for record in records) == {"throughput": 177, "latency": 54}


def test_each_throughput_value_equals_the_value_in_its_line() -> None:
    for path in RTI:
        log = path.parent / read_manifest(path).logs[0].file
        texts = log.read_text().splitlines()
        for event in read(log).events:
            record = event.what
            if not isinstance(record, Record) or record.test != "throughput":
                continue
            size, received, rate, mbit, lost, percent = re.findall(r"[\d.]+", texts[event.line - 1])
            values = {number.metric: number.value for number in record.numbers}
            assert record.payload_bytes == int(size)
            assert values["messages_received"] == int(received)
            assert values["message_rate"] == int(rate)
            assert values["goodput"] == pytest.approx(float(mbit) * 1e6, abs=1)
            assert values["messages_lost"] == int(lost)
            assert values["loss"] == pytest.approx(float(percent) / 100)


def test_each_latency_value_equals_the_value_in_its_cell() -> None:
    order = ("mean", "std", "min", "max", "p50", "p90", "p99", "p99.99", "p99.9999")
    for path in RTI:
        log = path.parent / read_manifest(path).logs[0].file
        texts = log.read_text().splitlines()
        for event in read(log).events:
            record = event.what
            if not isinstance(record, Record) or record.test != "latency":
                continue
            size, *cells = [texts[line - 1] for line in event.lines]
            assert record.payload_bytes == int(size)
            assert [(number.statistic, number.value) for number in record.numbers] == [
                (name, round(float(cell) * 1000)) for name, cell in zip(order, cells, strict=True)
            ]


@pytest.mark.parametrize("path", RTI, ids=lambda path: path.parent.name)
def test_extract_names_its_document_and_has_the_stated_number_of_lines(path: Path) -> None:
    manifest: Manifest = read_manifest(path)

    assert manifest.published
    assert manifest.source is not None
    first, last = map(int, manifest.source.lines.split("-"))
    assert last - first + 1 == len((path.parent / manifest.logs[0].file).read_text().splitlines())


def test_values_that_the_throughput_document_does_not_state_are_unknown(dataset: Dataset) -> None:
    runs = dataset.runs.set_index("run")
    rows = dataset.results[dataset.results["run"] == "default-type/shmem-regular"]

    assert runs.loc["default-type/shmem-regular", ["host", "start_time", "tool_version"]].isna().all()
    assert rows[["reliability", "keyed", "batch_bytes", "link_bit_per_s", "payload_touched"]].isna().all(axis=None)


def test_host_has_the_properties_that_the_document_states() -> None:
    host = read_host(DATA / "hosts" / "rti-benchmark-lab.toml")

    assert host.published
    assert host.cpu["model"] == "Intel Xeon E-2278G"
    assert host.network["nic"] == "Intel 710, dual port, 10 Gbit/s, SFP"


def test_known_peculiarities_of_the_published_figures_are_marked(dataset: Dataset) -> None:
    results = dataset.results.explode("marks")
    marked = Counter(zip(results["marks"], results["metric"], results["statistic"], strict=True))

    assert marked["undersampled", "latency", "p99.9999"] == 54
    assert marked["undersampled", "latency", "p99.99"] == 14
    assert marked["timeout_artefact", "latency", "max"] == 4
    assert marked["no_bytes_moved", "goodput", "mean"] == 36
    assert marked["offered_above_delivered", "messages_lost", "total"] == 17
    assert marked["loss", "loss", "total"] == 21
