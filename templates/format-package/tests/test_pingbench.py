"""What Tacholog reads in logs of pingbench: every expected value was typed from the log."""

from pathlib import Path

from tacholog.formats.reading import read
from tacholog.formats.testing import format_tests

LOG = Path(__file__).parent / "pingbench-2.1.log"
TestWhateverBecomesOfALog = format_tests("pingbench", [LOG])


def test_a_log_is_known_by_its_content_and_every_line_of_it_is_understood() -> None:
    log = read(LOG)

    assert log.format == "pingbench"
    assert log.account.facts.tool_version == "2.1"
    assert log.broken == []
    assert log.unknown == []


def test_a_result_line_becomes_a_record_in_nanoseconds() -> None:
    first, second = read(LOG).records

    assert (first.payload_bytes, first.samples, first.conditions.basis) == (64, 5000, "rtt")
    assert [(number.key, number.value) for number in first.numbers] == [
        ("latency_p50_ns", 10250.0),
        ("latency_p99_ns", 31000.0),
    ]
    assert (second.payload_bytes, second.numbers[0].value) == (1024, 11750.0)


def test_a_garbled_line_is_broken_and_costs_only_itself(tmp_path: Path) -> None:
    garbled = tmp_path / "garbled.log"
    garbled.write_text(LOG.read_text().replace("10.25 us", "10,25 us"))

    log = read(garbled)

    assert log.broken == ["garbled.log:2: result line is cut short or garbled"]
    assert [record.payload_bytes for record in log.records] == [1024]


def test_a_median_above_the_99th_percentile_is_broken(tmp_path: Path) -> None:
    log = tmp_path / "swapped.log"
    log.write_text(LOG.read_text().replace("p50 10.25", "p50 99.25"))

    assert read(log).broken == ["swapped.log:2: p50 is above p99"]
