"""Detection of the format. Prose has no format, and a log that only resembles a known format has none. A message names the most similar format."""

from __future__ import annotations

import pytest

from tacholog.errors import UnreadableInput
from tacholog.formats.registry import detect, formats

# The example programs of Cyclone DDS print these texts. They are from the source code, and from eclipse-cyclonedds/cyclonedds issues 125 and 1632.
CYCLONE_PUBLISHER = """payloadSize: 4096 bytes burstInterval: 0 ms burstSize: 1 timeOut: 0 seconds partitionName: Throughput example

=== [Publisher]  Waiting for a reader ...
=== [Publisher]  Starting throughput test
=== [Publisher]  Writing samples...
=== [Publisher]  Terminated, 24528944 samples written.
"""
CYCLONE_SUBSCRIBER = """Cycles: 0 | PollingDelay: 0 | Partition: Throughput example
=== [Subscriber] Waiting for samples...
=== [Subscriber] 1.099 Payload size: 1024 | Total received: 706635 samples, 729247320 bytes | Out of order: 0 samples Transfer rate: 300.23 samples/s
"""
CYCLONE_ROUND_TRIP = """# Latency measurements (in us)
#             Latency [us]                                   Write-access time [us]       Read-access time [us]
# Seconds     Count   median      min      99%      max      Count   median      min      Count   median      min
    1     28065       17       16       23       87      28065        8        6      28065        1        0
"""
GOOGLE_BENCHMARK = """2024-05-14T10:12:13+02:00
Running ./iceoryx2_bench
Run on (16 X 4800 MHz CPU s)
Benchmark                             Time             CPU   Iterations
-----------------------------------------------------------------------
iceoryx2/latency/64                4321 ns         4300 ns       160000
BM_eCAL_Send/1024/real_time       12345 ns        12000 ns        56000
"""
IPERF_2 = """------------------------------------------------------------
Client connecting to 127.0.0.1, TCP port 5001
------------------------------------------------------------
[  3] local 127.0.0.1 port 41562 connected with 127.0.0.1 port 5001
[ ID] Interval       Transfer     Bandwidth
[  3]  0.0-10.0 sec  48.6 GBytes  41.7 Gbits/sec
"""
WEB_SERVER = "Server listening on 8080\nGET / 200\n"
PROSE = """We ran RTI Perftest and sockperf, and the performance of hmbdc on a sample. Starting throughput test after test, we found
iperf3: a tool for networks. With iceoryx2 its service is quick. Fast RTPS has a ThroughputTest.
Starting throughput test of three machines took a day.
"""
QUOTES = """Its page begins with HMBDC PERFORMANCE SAMPLE, its manual with RTI Perftest 4.
iperf3: errors are short.
"""


@pytest.mark.parametrize("text", [CYCLONE_PUBLISHER, CYCLONE_SUBSCRIBER, CYCLONE_ROUND_TRIP, GOOGLE_BENCHMARK, WEB_SERVER, PROSE])
def test_log_that_only_looks_like_a_log_of_a_known_tool_has_no_format(text: str) -> None:
    with pytest.raises(UnreadableInput) as refused:
        detect(text)

    hint = "('tacholog formats' lists them; 'tacholog scaffold NAME' begins a new one)"
    assert str(refused.value) == f"no format fits: none of the {len(formats())} is similar {hint}"


def test_prose_that_quotes_a_tool_has_no_format() -> None:
    with pytest.raises(UnreadableInput, match=r"^no format fits: hmbdc wants .* \(the log has 'HMBDC PERFORMANCE'\)$"):
        detect(QUOTES)


def test_message_names_a_format_if_the_log_contains_several_consecutive_words_of_this_format() -> None:
    with pytest.raises(UnreadableInput) as refused:
        detect(IPERF_2)

    assert str(refused.value).startswith("no format fits: iperf3 wants '[ ID] Interval           Transfer     Bitrate'")
    assert str(refused.value).endswith(" (the log has 'Interval       Transfer')")


@pytest.mark.parametrize(("between", "quoted"), [("\t@ ", r"'Interval\t@ Transfer'"), (" " * 1000, "'Interval ... Transfer'")])
def test_message_shortens_only_long_sequences_of_blanks_between_quoted_words(between: str, quoted: str) -> None:
    with pytest.raises(UnreadableInput) as refused:
        detect(f"[ ID] Interval{between}Transfer     Bandwidth\n")

    assert str(refused.value).endswith(f" (the log has {quoted})")


@pytest.mark.parametrize(
    "quoted",
    [
        "no format fits: hmbdc wants 'Started Pinger', 'Started Ponger', 'round trip time (sec):(' (the log has 'Started Pinger')",
        "Length:    64  Latency: Ave    519 us  Std  192.8 us  Min    356 us",
        "[ Bytes, Demand][Sent Samples,Send Time(us), Packs/sec, MBits/sec]",
    ],
)
def test_format_named_in_the_first_line_is_detected_even_if_the_log_quotes_another_format(quoted: str) -> None:
    assert detect(f'search log=search/1 version=0.4.0\nerror text="{quoted}"\n') == "native"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Starting throughput test publisher agent\n", "fastrtps"),
        ("Performing test with this payloads/demands:\n", "fastrtps"),
        ("RTI Perftest 3.0.1 a7a8334 (RTI Connext DDS 6.0.0)\n", "rti"),
        ("  HMBDC PERFORMANCE SAMPLE (updated with release 12-41*)\n", "hmbdc"),
        ("iperf3: error - unable to connect to server: Connection refused\r\n", "iperf3"),
        ("Server listening on 5201\n-----------------------------------------------------------\n", "iperf3"),
        ("Server listening on 5201 (test #2)\r\n-----------------------------------------------------------\r\n", "iperf3"),
    ],
)
def test_one_or_two_complete_lines_of_a_tool_are_enough_to_detect_its_format(text: str, name: str) -> None:
    assert detect(text) == name
