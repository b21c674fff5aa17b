"""The iceoryx2 benchmarks: the meaning of their lines. Expected values were copied by hand from the logs in ``iceoryx2/`` (see its README)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.formats.reading import read, read_text
from tacholog.schema.conditions import Conditions
from tacholog.schema.records import Number, Record

LOGS = Path(__file__).parent / "iceoryx2"


def test_each_line_is_read_as_a_mean_half_round_trip() -> None:
    first = read(LOGS / "0.9.3-publish-subscribe.log").records[0]

    assert first == Record(
        test="latency",
        payload_bytes=8192,
        numbers=(
            Number(metric="latency", statistic="mean", value=23397, resolution=1),
            Number(metric="duration", statistic="total", value=935897869),
        ),
        samples=20000,
        side="both",
        conditions=Conditions(transport="ipc", load_mode="closed", basis="rtt/2", definition="iceoryx2-publish-subscribe"),
    )


def test_each_kind_of_service_is_a_transport() -> None:
    log = read(LOGS / "0.9.3-publish-subscribe.log")

    latencies = [(record.conditions.transport, record.numbers[0].value) for record in log.records]
    assert latencies == [("ipc", 23397), ("ipc_threadsafe", 16361), ("local", 7897), ("local_threadsafe", 2998)]
    assert (log.broken, log.unknown) == ([], [])


def test_requests_and_messages_have_different_definitions_and_requests_have_no_size() -> None:
    log = read(LOGS / "0.9-posted.log")

    assert [record.conditions.definition for record in log.records] == ["iceoryx2-publish-subscribe"] * 4 + ["iceoryx2-request"] * 2
    assert [(record.payload_bytes, record.numbers[0].value) for record in log.records[3:]] == [(8192, 245), (None, 328), (None, 379)]


def test_lines_printed_by_cargo_are_chatter_but_a_line_typed_by_the_user_is_unknown() -> None:
    log = read(LOGS / "0.9-posted.log")

    assert log.unknown == [7]
    assert log.broken == ["0.9-posted.log:13: result line is cut short or garbled"]


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("iceoryx2::service::ipc::Service ::: MaxEventId: 128, Iterations: 10, ", " ns", ("iceoryx2-event", "ipc", None, 10)),
        ("[RESPONSE_STREAM] iceoryx2::service::local::Service ::: Iterations: 10, ", " ns", ("iceoryx2-response-stream", "local", None, 10)),
        ("iceoryx2_bb_lock_free::spsc::queue::Queue<usize, 16> ::: Iterations: 10, ", " ns", ("iceoryx2-queue", "Queue<usize, 16>", None, 10)),
        ("iceoryx2::service::zero_copy::Service ::: Iterations: 10, ", " ns, Sample Size: 64", ("iceoryx2-publish-subscribe", "zero_copy", 64, 10)),
    ],
)
@pytest.mark.parametrize("time", ["Time: 0.0001 s, Latency: 5000", "Time: 0.0001, Latency: 5000"])
def test_lines_that_are_known_only_from_the_source_code_are_read(start: str, time: str, end: str, expected: tuple[object, ...]) -> None:
    (record,) = read_text(f"{start}{time}{end}\n", "iceoryx2").records

    assert (record.conditions.definition, record.conditions.transport, record.payload_bytes, record.samples) == expected


def test_line_of_the_first_versions_is_read_although_it_lacks_iterations_and_size() -> None:
    log = read_text("iceoryx2::service::process_local::Service ::: Time: 3.1, Latency: 155 ns\n", "iceoryx2")

    assert [(record.conditions.transport, record.payload_bytes, record.samples) for record in log.records] == [("process_local", None, None)]


def test_line_is_broken_if_its_latency_contradicts_its_time_and_its_iterations() -> None:
    line = (LOGS / "0.9.3-publish-subscribe.log").read_text(encoding="utf-8").splitlines()[0]

    assert read_text(f"{line}\n", "iceoryx2").broken == []
    for old, new in (("23397", "23398"), ("20000,", "2000,"), ("20000,", "0,"), ("0.935897869", "0.835897869")):
        assert read_text(f"{line.replace(old, new)}\n", "iceoryx2").broken == ["text:1: the latency is not the time divided by twice the iterations"]


def test_last_line_without_a_line_end_is_broken_because_digits_of_its_size_may_be_missing() -> None:
    line = "iceoryx2::service::ipc::Service ::: Iterations: 10, Time: 0.0001 s, Latency: 5000 ns, Sample Size: 81"

    assert read_text(line, "iceoryx2").broken == ["text:1: the log ends within this line"]


def test_line_without_its_sample_size_is_broken() -> None:
    line = "iceoryx2::service::ipc::Service ::: Iterations: 10, Time: 0.0001 s, Latency: 5000 ns\n"

    assert read_text(line, "iceoryx2").broken == ["text:1: a line without its sample size: it is cut short"]


@pytest.mark.parametrize("garbled", ["iceoryx2::service::ipcA:Service", "iceoryx2::servicA::ipc::Service", "iceoryx2::service::ipc::ServicA"])
def test_line_with_a_garbled_service_is_broken_because_its_transport_is_unknown(garbled: str) -> None:
    line = f"{garbled} ::: Iterations: 10, Time: 0.0001 s, Latency: 5000 ns, Sample Size: 64\n"

    assert read_text(line, "iceoryx2").broken == ["text:1: result line is cut short or garbled"]


def test_output_of_the_logger_in_debug_mode_is_chatter() -> None:
    text = (
        '12 \x1b[0;90m[T] \x1b[1;90m[\x1b[0;90mpid=\x1b[0;92m7\x1b[1;90m] "ipc::Service::create"\x1b[0m\n| dynamic config created\n'
        "iceoryx2::service::ipc::Service ::: Iterations: 10, Time: 0.0001 s, Latency: 5000 ns, Sample Size: 64\n"
    )

    log = read_text(text, "iceoryx2")

    assert (len(log.records), log.unknown) == (1, [])
