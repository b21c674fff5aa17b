"""iperf3: the meaning of its text and JSON. Expected values were copied by hand from the logs in ``iperf3/`` (see its README)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.anywhere import anywhere

from tacholog.formats.reading import Log, read, read_text
from tacholog.schema.conditions import Conditions
from tacholog.schema.records import Number, Record

LOGS = Path(__file__).parent / "iperf3"
Changed = Callable[[str, str, str], Log]  # see conftest.py
GIB, MIB = 2**30, 2**20
DASHES = "- " * 24 + "-\n"


def logged(name: str) -> Log:
    return read(LOGS / name, "iperf3")


def summaries(log: Log) -> list[Record]:
    return [record for record in log.records if record.scope == "summary"]


def values_of(record: Record) -> dict[tuple[str, str], float | None]:
    """The key is the metric and the statistic."""
    return {(number.metric, number.statistic): number.value for number in record.numbers}


def test_sent_and_received_data_become_two_records() -> None:
    sent, received = summaries(logged("tcp.log"))

    assert sent == Record(
        test="throughput",
        payload_bytes=None,
        numbers=(
            Number(metric="offered_goodput", statistic="mean", value=16.7e9, resolution=1e8),
            Number(metric="bytes_sent", statistic="total", value=round(5.84 * GIB, 2), resolution=round(0.01 * GIB, 2)),
            Number(metric="duration", statistic="total", value=3e9, resolution=1e7),
            Number(metric="retransmissions", statistic="total", value=58),
        ),
        side="publisher",
        conditions=Conditions(transport="TCP", publishers=1, definition="iperf3-sent"),
    )
    assert (received.side, received.conditions.definition) == ("subscriber", "iperf3-received")
    assert values_of(received) == {
        ("goodput", "mean"): 16.7e9,
        ("bytes_received", "total"): round(5.84 * GIB, 2),
        ("duration", "total"): 3e9,
    }


def test_rows_of_one_second_are_intervals() -> None:
    log = logged("tcp.log")

    intervals = [(event.line, event.what) for event in log.events if isinstance(event.what, Record) and event.what.scope == "interval"]
    assert [(line, values_of(record)["offered_goodput", "mean"], values_of(record)["retransmissions", "total"]) for line, record in intervals] == [
        (4, 18.7e9, 47),
        (5, 15.8e9, 3),
        (6, 15.7e9, 8),
    ]
    assert (log.unknown, log.broken) == ([], [])


def test_record_of_a_stream_has_a_name_and_warm_up_rows_give_no_records() -> None:
    log = logged("tcp-three-streams-omit.log")

    assert [record.participant for record in log.records[:4]] == ["stream 5", "stream 7", "stream 9", None]
    total = [record for record in summaries(log) if record.participant is None]
    assert [values_of(record)[metric] for record, metric in zip(total, (("offered_goodput", "mean"), ("goodput", "mean")), strict=True)] == [
        52.1e9,
        52.1e9,
    ]
    assert values_of(total[0])["retransmissions", "total"] == 7
    assert len(log.records) == 16


@pytest.mark.parametrize(("old", "new"), [("Reverse mode", "Reverse mode"), ("Reverse mode, remote", "Reverse mode remote")])
def test_side_of_an_interval_is_unknown_if_its_row_does_not_state_the_side(changed: Changed, old: str, new: str) -> None:
    """Lines before the row, such as "Reverse mode", do not decide the side."""
    log = changed("iperf3/tcp-reverse.log", old, new)

    assert log.records[0].numbers[0] == Number(metric="transfer_rate", statistic="mean", value=46.6e9, resolution=1e8)
    assert [(record.scope, record.side) for record in log.records] == [
        ("interval", None),
        ("interval", None),
        ("summary", "publisher"),
        ("summary", "subscriber"),
    ]


@pytest.mark.parametrize("name", ["tcp-both-ways.log", "server-both-ways.log"])
def test_two_directions_measured_at_the_same_time_become_separate_records(name: str) -> None:
    directions = {(record.side, record.participant): values_of(record) for record in summaries(logged(name))}

    rates = {key: numbers.get(("offered_goodput", "mean")) or numbers.get(("goodput", "mean")) for key, numbers in directions.items()}
    assert rates["subscriber", None] == 21.4e9
    assert rates["publisher", "server to client"] == 28.8e9


@pytest.mark.parametrize(
    ("name", "streams", "participants"),
    [
        ("tcp.log", 1, {None}),
        ("tcp.json", 1, {None}),
        ("tcp-three-streams-omit.log", 3, {None, "stream 5", "stream 7", "stream 9"}),
        ("tcp-two-streams-omit.json", 2, {None, "stream 5", "stream 7"}),
        ("server-three-streams.log", 3, {None, "stream 5", "stream 8", "stream 11"}),
        ("tcp-both-ways.log", 1, {None, "server to client"}),
        ("tcp-both-ways.json", 1, {None, "server to client"}),
        ("tcp-reverse.log", 1, {"server to client"}),
        ("server-udp-reverse.json", 2, {"server to client", "server to client, stream 5", "server to client, stream 6"}),
        *(
            (f"udp-two-streams-reverse.{kind}", 2, {"server to client", "server to client, stream 5", "server to client, stream 7"})
            for kind in ("log", "json")
        ),
    ],
)
def test_text_and_json_state_the_number_of_streams_and_whether_the_server_sends(name: str, streams: int, participants: set[str | None]) -> None:
    log = logged(name)

    assert {record.conditions.publishers for record in log.records} == {streams}
    assert {record.participant for record in log.records} == participants


def test_two_streams_in_each_direction_are_two_publishers() -> None:
    assert {record.conditions.publishers for record in logged("server-udp-two-streams-both-ways.log").records} == {2}


def test_server_is_the_sender_if_its_rows_have_the_columns_of_a_sender(changed: Changed) -> None:
    """In a reverse test, the server sends. The log of such a server is ``tcp.log`` with another first line. Only its columns show who sends."""
    log = changed("iperf3/tcp.log", "Connecting to host 127.0.0.1, port 5299", "Accepted connection from 127.0.0.1, port 45260")

    assert {record.participant for record in log.records} == {"server to client"}
    assert {record.participant for record in logged("server-three-streams.log").records} == {None, "stream 5", "stream 8", "stream 11"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # The log starts after the first announcements: the number of streams is unknown.
        ("Connecting to host 127.0.0.1, port 5299\n[  5] local 127.0.0.1 port 47150 connected to 127.0.0.1 port 5299\n", ""),
        # An announcement is damaged: the line may have announced a fourth stream.
        ("[  5] local 127.0.0.1 port 47150 conn", "[  5] local 127.0.0.1 po"),
        # An announcement is lost, but rows of its stream exist.
        ("[  5] local 127.0.0.1 port 47150 connected to 127.0.0.1 port 5299\n", ""),
        # Two announcements are lost, but a row with the sum of the streams exists.
        (
            "[  7] local 127.0.0.1 port 47164 connected to 127.0.0.1 port 5299\n[  9] local 127.0.0.1 port 47168 connected to 127.0.0.1 port 5299\n",
            "",
        ),
    ],
)
def test_number_of_streams_is_unknown_if_the_announcement_of_a_stream_may_be_missing(changed: Changed, old: str, new: str) -> None:
    log = changed("iperf3/tcp-three-streams-omit.log", old, new)

    assert {record.conditions.publishers for record in log.records} == {None}


def test_only_the_receiver_of_datagrams_has_jitter_and_loss() -> None:
    sent, received = summaries(logged("udp.log"))

    assert values_of(sent) == {
        ("offered_goodput", "mean"): 300e6,
        ("bytes_sent", "total"): 71.5 * MIB,
        ("duration", "total"): 2e9,
        ("messages_sent", "total"): 53549,
    }
    assert received.number("jitter", "mean") == Number(metric="jitter", statistic="mean", value=2000, resolution=1000)
    assert received.number("messages_lost", "total") == Number(metric="messages_lost", statistic="total", value=0)
    assert (received.samples, received.conditions.transport) == (53549, "UDP")
    assert (sent.conditions.basis, received.conditions.basis) == (None, "one-way")  # Jitter is computed from one-way transit times.


def test_jitter_rounded_to_zero_is_below_one_microsecond(changed: Changed) -> None:
    log = changed("iperf3/udp.log", "0.002 ms  0/53549 (0%)  receiver", "0.000 ms  27/53549 (0.05%)  receiver")

    received = log.records[-1]
    assert received.number("jitter", "mean") == Number(metric="jitter", statistic="mean", value=1000, resolution=1000, bound="<")
    assert received.number("loss", "total") == Number(metric="loss", statistic="total", value=27 / 53549)
    assert received.samples == 53522


def test_processor_time_and_options_of_the_test_are_read_from_verbose_output() -> None:
    log = logged("tcp-verbose.log")

    sent, received, cpu, server = summaries(log)
    assert (sent.payload_bytes, sent.conditions.publishers, sent.conditions.planned_duration_s) == (131072, 1, 2)
    assert values_of(received)["goodput", "mean"] == 46354e6
    assert values_of(cpu) == {
        ("cpu", "local"): 26.3,
        ("cpu", "local-user"): 1.4,
        ("cpu", "local-system"): 24.9,
        ("cpu", "remote"): 68.7,
        ("cpu", "remote-user"): 3.5,
        ("cpu", "remote-system"): 65.2,
    }
    assert (server.participant, values_of(server)["goodput", "mean"]) == ("server output", 46.4e9)
    assert log.account.facts.tool_version == "3.12"
    assert (log.unknown, log.broken) == ([], [])


def test_numbers_in_json_are_read_with_all_digits() -> None:
    log = logged("tcp.json")

    sent, received, cpu = summaries(log)
    assert values_of(sent) == {
        ("offered_goodput", "mean"): 18888858226.590515,
        ("bytes_sent", "total"): 7086931968,
        ("duration", "total"): 3.001529e9,
        ("retransmissions", "total"): 45,
    }
    assert values_of(received)["goodput", "mean"] == 18885712211.307755
    assert values_of(cpu)["cpu", "remote-system"] == 26.845940734162482
    assert received.payload_bytes == 131072
    assert received.conditions == Conditions(transport="TCP", load_mode="max-rate", publishers=1, definition="iperf3-received", planned_duration_s=3)
    assert (log.account.facts.tool_version, log.account.facts.start_time) == ("3.12", "2026-11-21T01:53:10Z")
    assert (log.unknown, log.broken) == ([], [])


def test_result_in_json_states_the_lines_of_its_members() -> None:
    events = [event for event in logged("tcp.json").events if isinstance(event.what, Record)]

    assert [(event.line, event.last_line) for event in events] == [(57, 64), (84, 91), (111, 118), (149, 155), (158, 163), (166, 171)]


def test_bytes_of_the_sender_and_bytes_of_the_receiver_are_separate_numbers_in_json() -> None:
    sent, received = summaries(logged("udp.json"))[:2]

    assert values_of(sent)["bytes_sent", "total"] == 187448800
    assert values_of(received)["messages_lost", "total"] == 7970
    assert values_of(sent)["messages_sent", "total"] == 133892
    assert ("jitter", "mean") not in values_of(sent)
    assert values_of(received) == {
        ("goodput", "mean"): 469726311.85981941,
        ("bytes_received", "total"): 176155000,
        ("duration", "total"): 3.00013e9,
        ("jitter", "mean"): pytest.approx(7982.97501574815),
        ("messages_lost", "total"): 7970,
        ("loss", "total"): pytest.approx(0.05952558778717175),
    }
    assert (received.samples, received.conditions.load_mode) == (133795 - 7970, "paced")
    assert received.conditions.offered_rate_per_s == 500e6 / 8 / 1400  # 500 Mbit/s, sent in datagrams of 1400 bytes.


def test_streams_in_json_have_names_and_omitted_intervals_are_not_read() -> None:
    log = logged("tcp-two-streams-omit.json")

    assert [(record.scope, record.participant) for record in log.records] == [
        *[("interval", "stream 5"), ("interval", "stream 7"), ("interval", None)] * 2,
        *[("summary", "stream 5")] * 2,
        *[("summary", "stream 7")] * 2,
        *[("summary", None)] * 3,
    ]


def test_duration_of_a_receiver_is_its_end_time_if_the_stated_seconds_belong_to_the_sender() -> None:
    log = logged("tcp-eight-streams-late-receiver.json")

    assert not log.broken
    received = [record for record in log.records if record.scope == "summary" and record.conditions.definition == "iperf3-received"]
    assert [record.participant for record in received] == [*(f"stream {socket}" for socket in (5, 7, 9, 12, 14, 16, 18, 20)), None]
    assert {record.numbers[2].value for record in received} == {1.105129e9}
    assert received[0].numbers[0].value == 115638264.85414824


def test_result_of_a_receiver_is_broken_if_its_rate_matches_none_of_its_durations() -> None:
    text = (LOGS / "tcp-eight-streams-late-receiver.json").read_text()
    before, receiver, after = text.partition('"receiver":')
    late = read_text(before + receiver + after.replace('"end":\t1.105129', '"end":\t1.205129', 1), "iperf3")
    sender = read_text(text.replace('"end":\t1.105129', '"end":\t1.010055').replace('"sum_received"', '"sum_lost"'), "iperf3")

    assert {why.partition(": ")[2] for why in late.broken} == {"members of this result are missing, out of place, or contradict each other"}
    assert (
        len({record.participant for record in late.records if record.conditions.definition == "iperf3-received"}) == 8
    )  # The result of one stream is broken: 7 streams and the sum remain.
    assert not [record for record in sender.records if record.conditions.definition == "iperf3-received"]


def test_summary_without_its_header_or_its_separator_line_is_never_read_as_an_interval(tmp_path: Path) -> None:
    text = (LOGS / "server-three-streams.log").read_text().replace("receiver", "        ")
    headers = [line for line in text.splitlines(keepends=True) if line.startswith("[ ID]")]
    for lost in ("- " * 25 + "\n", headers[-1]):
        before, _, after = text.rpartition(lost)
        (tmp_path / "some.log").write_text(before + "damaged\n" + after)

        log = read(tmp_path / "some.log", "iperf3")

        assert {record.numbers[2].value for record in log.records if record.number("duration", "total")} <= {1e9, 1e7}


def test_conditions_that_the_client_states_do_not_apply_to_the_output_of_the_server(changed: Changed) -> None:
    server = changed("iperf3/tcp-verbose.log", "Server output:\nAccepted connection from", "Server\nAccepted").records[-1]

    assert (server.side, server.payload_bytes) == ("subscriber", None)


def test_two_directions_in_one_json_document_become_separate_records() -> None:
    rates = [(record.side, record.participant, values_of(record).get(("goodput", "mean"))) for record in summaries(logged("tcp-both-ways.json"))]

    assert rates[1] == ("subscriber", None, 35142594208.121483)
    assert rates[3] == ("subscriber", "server to client", 14026366945.422491)


def test_numbers_of_the_other_side_are_impossible_and_not_zero_if_they_never_arrived() -> None:
    for record in (summaries(logged("tcp-interrupted.log"))[1], summaries(logged("server-udp-reverse.json"))[-2]):
        assert anywhere([record])[0].numbers == (
            Number(metric="goodput", statistic="mean", value=None, marks=("impossible",)),
            Number(metric="bytes_received", statistic="total", value=None, marks=("impossible",)),
        )


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("refused.log", "failed", "unable to connect to server: Connection refused"),
        ("refused.json", "failed", "unable to connect to server: Connection refused"),
        ("tcp-interrupted.log", "truncated", "interrupt - the client has terminated"),
        ("server-interrupted.log", "truncated", "the client has terminated"),
    ],
)
def test_run_that_failed_or_was_interrupted_states_the_reason(name: str, status: str, reason: str) -> None:
    account = logged(name).account

    assert (account.status, account.reason) == (status, reason)


def test_rows_are_broken_if_the_outputs_of_a_client_and_of_a_server_are_interleaved() -> None:
    client, server = ((LOGS / name).read_text().splitlines(keepends=True) for name in ("tcp-interrupted.log", "server-udp-two-streams-both-ways.log"))
    opening = next(index for index, line in enumerate(server) if line.startswith("Accepted"))

    log = read_text("".join([*client[:4], *server[: opening + 3], *client[4:], *server[opening + 3 :]]))

    assert [record.scope for record in log.records] == ["interval"]
    assert {problem.reason.partition(":")[0] for problem in log.problems} == {"the lines of a client and of a server are mixed"}


def test_client_log_without_its_last_line_is_truncated(changed: Changed) -> None:
    assert changed("iperf3/tcp.log", "iperf Done.\n", "").account.reason == "the log ends before 'iperf Done.'"


@pytest.mark.parametrize(
    ("name", "old", "new", "broken"),
    [
        ("tcp.log", "18.7 Gbits", "28.7 Gbits", "4: the rate is not the bytes divided by the time"),
        ("tcp.log", "18.7 Gbits", "18.7 Mbits", "4: the rate is not the bytes divided by the time"),
        ("tcp.log", "   47    895 KBytes", "", "4: a row that does not fit its header"),
        ("tcp.log", "18.7 Gbits/sec", "18.7 Gbi", "4: a row that is cut short or garbled"),
        ("tcp.log", "[  5]   0.00-1.00", "[  6]   0.00-1.00", "4: a row that does not fit its header"),
        ("tcp.log", "   58             sender", "   58             ", "9: a row that does not fit its header"),
        ("udp-two-streams-reverse.log", "(0%)  sender", "(0%)  ", "15: a row that does not fit its header"),
        ("tcp.json", '"bytes":\t2770731008', '"bytes":\t2770731', "57: members of this result are missing, out of place, or contradict each other"),
        ("tcp.json", '\t\t\t\t"bytes":\t2770731008,\n', "", "57: members of this result are missing, out of place, or contradict each other"),
        ("tcp.json", '\t\t\t\t"bytes":\t2770731008,', '\t\t\t\t"bytes"\t2770731008,', "60: a member of this result is damaged or missing"),
        ("tcp.json", '\t\t\t\t"bytes":\t2770731008,', '\t\t\t\t"bytes":\t27707x1008,', "60: a member of this result is damaged or missing"),
    ],
)
def test_damaged_result_is_broken_and_affects_no_other_result(changed: Changed, name: str, old: str, new: str, broken: str) -> None:
    original = logged(name)

    log = changed(f"iperf3/{name}", old, new) if name.endswith(".log") else sum_changed(name, old, new)

    assert log.broken[0] == f"text:{broken}"
    assert len(log.records) == len(original.records) - len(log.broken)


def test_result_is_broken_if_its_bytes_do_not_match_its_datagrams(changed: Changed) -> None:
    log = changed("iperf3/udp-two-streams-reverse.json", '"packets":\t764', '"packets":\t381')

    assert [why.partition(": ")[2] for why in log.broken] == ["members of this result are missing, out of place, or contradict each other"]


def test_json_member_sum_sent_with_received_data_is_broken() -> None:
    text = (LOGS / "server-udp-reverse.json").read_text().replace('"sum_sent":', '"sum_lost":').replace('"sum_received":', '"sum_sent":')
    log = read_text(text, "iperf3")

    assert [why.partition(": ")[2] for why in log.broken] == ["members of this result are missing, out of place, or contradict each other"]


def sum_changed(name: str, old: str, new: str) -> Log:
    """The stream of the same interval still states the old number of bytes."""
    before, mark, after = (LOGS / name).read_text().partition('"sum":')
    assert old in after
    return read_text(before + mark + after.replace(old, new, 1), "iperf3")


def test_json_with_a_damaged_bracket_keeps_the_results_before_the_damage_and_its_run_is_truncated(changed: Changed) -> None:
    log = changed("iperf3/tcp.json", '\t"end":\t{\n', "")

    assert [record.scope for record in log.records] == ["interval"] * 3
    assert (log.account.status, log.account.reason) == ("truncated", "the JSON has no 'end'")


def test_several_results_on_one_line_of_json_are_refused(tmp_path: Path) -> None:
    text = "".join(line.strip() for line in (LOGS / "tcp.json").read_text().splitlines())
    (tmp_path / "some.log").write_text("{\n" + text[1:] + "\n")

    log = read(tmp_path / "some.log", "iperf3")

    assert log.records == []
    assert log.broken == ["some.log:2: several results on one line: print the JSON with one member on each line"]


def test_json_without_its_end_is_truncated(tmp_path: Path) -> None:
    text = (LOGS / "tcp.json").read_text()
    (tmp_path / "some.log").write_text(text[: text.index('"sum_received"')])

    log = read(tmp_path / "some.log")

    assert [record.side for record in summaries(log)] == ["publisher"]
    assert (log.account.status, log.account.reason) == ("truncated", "the JSON ends before its last brace")


def test_udp_summary_with_one_row_for_both_sides_is_read_only_in_the_oldest_logs(tmp_path: Path) -> None:
    text = (
        "Connecting to host 127.0.0.1, port 5299\n"
        "[  4] local 127.0.0.1 port 47605 connected to 127.0.0.1 port 5299\n"
        "[ ID] Interval           Transfer     Bandwidth       Total Datagrams\n"
        "[  4]   0.00-1.00   sec  35.7 MBytes   300 Mbits/sec  26763  \n"
        "- - - - - - - - - - - - - - - - - - - - - - - - -\n"
        "[ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams\n"
        "[  4]   0.00-1.00   sec  35.7 MBytes   300 Mbits/sec  0.002 ms  5/26763 (0.019%)  \n"
        "[  4] Sent 26763 datagrams\n"
        "\n"
        "iperf Done.\n"
    )
    (tmp_path / "some.log").write_text(text)

    log = read(tmp_path / "some.log")

    assert (log.unknown, log.broken) == ([], [])
    (both,) = summaries(log)
    assert (both.side, both.conditions.definition) == ("both", "iperf3-udp")
    assert values_of(both)["messages_lost", "total"] == 5

    (tmp_path / "some.log").write_text(text.replace("Bandwidth", "Bitrate  "))
    assert len(read(tmp_path / "some.log").broken) == 1


def test_side_in_json_of_versions_before_3_7_is_known_although_the_json_does_not_state_the_side() -> None:
    log = logged("tcp-3.6.json")

    sent, received, cpu = summaries(log)
    assert values_of(sent) == {
        ("offered_goodput", "mean"): 144151851.40019661,
        ("bytes_sent", "total"): 210312704,
        ("duration", "total"): pytest.approx(11.671730995178223e9),
        ("retransmissions", "total"): 0,
    }
    assert values_of(received) == {
        ("goodput", "mean"): 142238119.17342892,
        ("bytes_received", "total"): 210311680,
        ("duration", "total"): pytest.approx(11.828709840774536e9),
    }
    assert values_of(cpu)["cpu", "remote"] == 1.4590422545102182
    intervals = [record for record in log.records if record.scope == "interval"]
    assert [record.side for record in intervals] == ["publisher"] * 12
    assert values_of(intervals[1])["offered_goodput", "mean"] == 108236912.57318234
    assert (log.broken, log.unknown, log.account.facts.tool_version) == ([], [], "3.6")


def test_numbers_in_json_of_version_3_0_have_six_digits_and_a_matching_resolution() -> None:
    log = logged("tcp-3.0.11.json")

    sent, received, _ = anywhere(summaries(log))
    assert sent.numbers[:3] == (
        Number(metric="offered_goodput", statistic="mean", value=935992000.0, resolution=1000.0),
        Number(metric="bytes_sent", statistic="total", value=1520994808.0),
        Number(metric="duration", statistic="total", value=13000100000.0, resolution=100000.0),
    )
    assert received.number("goodput", "mean") == Number(metric="goodput", statistic="mean", value=934268000.0, resolution=1000.0)
    intervals = [record for record in anywhere(log.records) if record.scope == "interval"]
    assert (len(intervals), {record.side for record in intervals}) == (13, {"publisher"})
    # "bits_per_second": 930484800 is an integer, and has all its digits.
    assert intervals[3].number("offered_goodput", "mean") == Number(metric="offered_goodput", statistic="mean", value=930484800.0)
    assert (log.broken, log.unknown) == ([], [])


@pytest.mark.parametrize("name", ["udp.json", "udp-both-ways.json", "server-udp-reverse.json", "udp-two-streams-reverse-stream.json"])
def test_udp_json_states_each_number_once_although_it_has_results_of_both_sides_and_of_each_side(name: str) -> None:
    log = logged(name)
    numbers = [(record.participant, n.metric, n.statistic) for record in summaries(log) for n in record.numbers if n.metric != "duration"]

    assert ("loss", "total") in {number[1:] for number in numbers}
    assert len(numbers) == len(set(numbers))
    assert (log.broken, log.unknown) == ([], [])


def test_old_udp_json_has_the_bytes_of_the_sender_and_the_datagram_count_of_the_receiver() -> None:
    log = logged("udp-3.1.3.json")

    interval, both, _ = log.records
    assert (interval.side, values_of(interval)["messages_sent", "total"]) == ("publisher", 10000)
    assert (both.scope, both.side, both.conditions.definition) == ("summary", "both", "iperf3-udp")
    # 10,000 datagrams of 8192 bytes were sent. "packets": 9996 is the number of the last datagram that arrived.
    assert values_of(both) == {
        ("offered_goodput", "mean"): 834711189.017002,
        ("bytes_sent", "total"): 81920000,
        ("duration", "total"): pytest.approx(785134000),
        ("jitter", "mean"): pytest.approx(92000),
        ("messages_lost", "total"): 69,
        ("loss", "total"): pytest.approx(0.00690276),
    }
    assert (log.broken, log.unknown) == ([], [])


@pytest.mark.parametrize(
    ("old", "new", "sides"),
    [
        ('"reverse":\t0', '"reverse":\t1', {None}),  # Only a sender has "retransmits", but "reverse" states a receiver.
        ('\t\t\t"reverse":\t0', '\t\t\t"revers":\t0', {"publisher"}),  # The member "retransmits" alone states the side.
        ('"connecting_to"', '"accepted_connection"', {None}),
    ],
)
def test_side_of_an_interval_is_unknown_if_old_json_states_two_sides(changed: Changed, old: str, new: str, sides: set[str | None]) -> None:
    log = changed("iperf3/tcp-3.6.json", old, new)

    assert {record.side for record in log.records if record.scope == "interval"} == sides - {None}
    assert len(log.broken) == (12 if None in sides else 0)


def test_side_is_read_from_the_start_of_old_json_if_an_interval_lacks_retransmissions() -> None:
    text = "".join(line for line in (LOGS / "tcp-3.6.json").read_text().splitlines(keepends=True) if "retransmits" not in line and "cwnd" not in line)

    def sides(text: str) -> set[str | None]:
        return {record.side for record in read_text(text, "iperf3").records if record.scope == "interval"}

    assert sides(text) == {"publisher"}
    assert sides(text.replace('"reverse":\t0', '"reverse":\t1')) == {"subscriber"}
    assert sides(text.replace('"connecting_to"', '"accepted_connection"')) == {"subscriber"}
    assert sides(text.replace('"connecting_to"', '"connecting"')) == {None}


def test_interval_without_a_stated_side_is_broken_in_json_from_version_3_7_on(changed: Changed) -> None:
    log = changed("iperf3/tcp-3.6.json", "iperf 3.6", "iperf 3.7")

    assert {record.scope for record in log.records} == {"summary"}
    assert len(log.broken) == 14


def test_duration_of_a_stream_is_its_end_time_if_only_this_time_matches_the_rate() -> None:
    text = (LOGS / "tcp-3.6.json").read_text().replace('"num_streams":\t1', '"num_streams":\t2')

    received = next(record for record in read_text(text, "iperf3").records if record.participant == "stream 5" and record.side == "subscriber")

    # The stream states "end": 11.8287 and "seconds": 11.6717. 210311680 bytes at 142.238 Mbit/s take 11.8287 s.
    assert values_of(received)["goodput", "mean"] == 142238119.17342892
    assert values_of(received)["duration", "total"] == pytest.approx(11.828709840774536e9)


def test_udp_row_below_the_heading_summary_results_is_a_summary_even_without_a_separator_line() -> None:
    log = logged("udp-3.0-summary.log")

    (both,) = log.records
    assert (both.scope, both.side, both.conditions.definition) == ("summary", "both", "iperf3-udp")
    assert both.number("offered_goodput", "mean") == Number(metric="offered_goodput", statistic="mean", value=1.06e9, resolution=1e7)
    assert values_of(both)["messages_lost", "total"] == 135795
    assert ("messages_sent", "total") not in values_of(both)
    assert values_of(both)["loss", "total"] == pytest.approx(135795 / 162217)
    assert (log.broken, log.unknown) == ([], [])


def test_old_udp_row_is_broken_if_no_line_states_whether_the_row_is_an_interval_or_a_summary(changed: Changed) -> None:
    log = changed("iperf3/udp-3.0-summary.log", "Test Complete. Summary Results:\n", "")

    assert log.records == []
    assert log.broken == ["text:2: it is unknown whether this row is an interval or a summary"]


def test_number_of_sent_datagrams_is_not_read_from_an_old_summary() -> None:
    log = logged("udp-3.1.log")

    *intervals, both = log.records
    assert [values_of(record)["messages_sent", "total"] for record in intervals] == [81, 90, 90, 90, 89, 90, 90, 90, 90, 89]
    # "Sent 889 datagrams" is not used: the number is right in this log, but other logs state "Sent 1" for 10 datagrams (esnet/iperf issue 698).
    assert values_of(both) == {
        ("offered_goodput", "mean"): 1.04e6,
        ("bytes_sent", "total"): round(1.24 * MIB, 2),
        ("duration", "total"): 10e9,
        ("jitter", "mean"): 228000,
        ("messages_lost", "total"): 166,
        ("loss", "total"): 166 / 889,
    }
    assert (log.broken, log.unknown, log.account.status) == ([], [], "ok")


def test_old_udp_summary_of_a_server_has_no_sent_bytes() -> None:
    """The log has the rows of esnet/iperf issue 314 and, after these rows, the summary of issue 560."""
    summary = DASHES + "[ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams\n"
    summary += "[  5]   0.00-6.91   sec  0.00 Bytes  0.00 bits/sec  7.998 ms  2304/3014 (76%)\n"
    log = read_text((LOGS / "server-udp-3.1.log").read_text() + summary, "iperf3")

    intervals = [record for record in log.records if record.scope == "interval"]
    assert [record.samples for record in intervals] == [138, 153, 152, 153, 152, 153, 153, 152, 153, 152, None]
    (both,) = summaries(log)
    assert both.numbers[:2] == (
        Number(metric="offered_goodput", statistic="mean", value=None, marks=("impossible",)),
        Number(metric="bytes_sent", statistic="total", value=None, marks=("impossible",)),
    )
    assert values_of(both)["messages_lost", "total"] == 2304
    assert ("messages_sent", "total") not in values_of(both)
    assert (log.broken, log.unknown) == ([], [])


def test_old_udp_row_that_begins_before_the_last_interval_ended_is_broken() -> None:
    text = (LOGS / "server-udp-3.1.log").read_text()

    log = read_text(text + "[  5]   0.00-10.04  sec  11.8 MBytes  9.89 Mbits/sec  0.060 ms  0/1515 (0%)\n", "iperf3")

    assert log.broken == ["text:17: an interval that begins before the last one ended"]
    assert summaries(log) == []


def test_warm_up_rows_in_old_logs_are_not_read_even_if_later_rows_restart_at_time_zero() -> None:
    log = logged("udp-3.1.3-reverse-omit.log")

    assert [(record.scope, record.side, values_of(record)["duration", "total"]) for record in log.records] == [("interval", "subscriber", 1e9)] * 3
    assert (log.broken, log.unknown) == ([], [])


def test_absurdly_large_jitter_is_impossible_and_affects_no_other_number() -> None:
    summary = DASHES + "[ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams\n"
    summary += "[  4]   0.00-30.00  sec  3.94 MBytes  1.10 Mbits/sec  53142390297.363 ms  4/15 (27%)\n[  4] Sent 15 datagrams\niperf Done.\n"
    *intervals, both = read_text((LOGS / "udp-3.1.3-jitter-overflow.log").read_text() + summary, "iperf3").records

    for record in (*intervals, both):
        assert record.number("jitter", "mean") == Number(metric="jitter", statistic="mean", value=None, marks=("impossible",))
    assert [values_of(record)["messages_lost", "total"] for record in intervals] == [0, 0, 4]
    assert values_of(both)["offered_goodput", "mean"] == 1.10e6


def test_numbers_of_the_sender_are_impossible_and_not_zero_if_the_server_never_received_them() -> None:
    log = logged("server-output-3.1.4.log")

    by_server = [record for record in log.records if record.participant == "server output, stream 5"]
    sent, received = by_server[:2]
    assert sent.numbers == (
        Number(metric="offered_goodput", statistic="mean", value=None, marks=("impossible",)),
        Number(metric="bytes_sent", statistic="total", value=None, marks=("impossible",)),
    )
    assert received.number("goodput", "mean") == Number(metric="goodput", statistic="mean", value=3768e3, resolution=1e3)
    assert (log.broken, log.unknown) == ([], [])


def test_udp_rows_in_both_directions_give_separate_records_for_each_side() -> None:
    log = logged("udp-both-ways.log")

    intervals = [record for record in log.records if record.scope == "interval"]
    assert [(record.side, values_of(record).get(("messages_sent", "total")), record.samples) for record in intervals] == [
        ("publisher", 77, 77),
        ("subscriber", None, 77),
        ("publisher", 76, 76),
        ("subscriber", None, 76),
    ]
    assert (log.broken, log.unknown) == ([], [])
    assert len([record for record in log.records if record.scope == "summary"]) == 4


def test_each_row_of_several_streams_in_both_directions_is_read() -> None:
    log = logged("server-udp-two-streams-both-ways.log")

    assert (log.broken, log.unknown) == ([], [])
    assert [record.participant for record in log.records[:6]] == [
        *("stream 5", "stream 6", None),
        *("server to client, stream 9", "server to client, stream 12", "server to client"),
    ]
    assert values_of(log.records[5])["messages_sent", "total"] == 78


def test_only_numbers_of_the_sender_are_impossible_if_its_count_of_datagrams_is_negative() -> None:
    log = logged("server-udp-omit.json")

    _, interval, sent, received, _ = anywhere(log.records)
    assert (interval.scope, interval.samples) == ("interval", 3)
    # "packets": 18446744073709551612 with 0 bytes: the server did not know how much the client had sent.
    assert [number.metric for number in sent.numbers] == ["offered_goodput", "bytes_sent"]
    assert sent.number("bytes_sent", "total") == Number(metric="bytes_sent", statistic="total", value=None, marks=("impossible",))
    assert values_of(received)["bytes_received", "total"] == 262144
    assert values_of(received)["goodput", "mean"] == 1048521.4768832021
    assert (log.broken, log.unknown) == ([], [])


def test_output_of_the_server_within_the_json_of_the_client_is_not_a_result_of_the_client() -> None:
    log = logged("udp-two-streams-server-output.json")

    assert [(record.scope, record.participant) for record in log.records if record.scope == "summary"] == [
        ("summary", "stream 5"),
        ("summary", "stream 7"),
        *[("summary", None)] * 3,
    ]
    assert (log.broken, log.unknown, log.account.status) == ([], [], "ok")


def test_summary_of_a_stream_is_broken_if_its_intervals_have_the_other_direction(changed: Changed) -> None:
    log = changed("iperf3/server-both-ways.log", "[  5][RX-S]   0.00-2.00", "[  5][TX-S]   0.00-2.00")

    assert [why.partition(": ")[2] for why in log.broken] == ["a row that does not fit its header"]
    assert len(log.records) == len(logged("server-both-ways.log").records) - 1


def test_old_udp_summary_of_a_sender_is_broken_and_not_read_as_an_interval_of_a_receiver() -> None:
    """In this log, the first header, the intervals and the separator line are missing."""
    text = (LOGS / "udp-3.1.log").read_text()

    log = read_text(text[: text.index("[ ID]")] + text[text.rindex("[ ID]") :], "iperf3")

    assert log.records == []
    assert log.broken == ["text:4: it is unknown whether this row is an interval or a summary"]


def test_json_from_version_3_17_on_is_read_although_both_sums_state_the_side_of_the_sender() -> None:
    """In esnet/iperf issue 1784, ``sum_received`` states the side of the sender, like ``sum_sent``."""
    text = (LOGS / "udp.json").read_text()
    before, name, after = text.rpartition('"sum_received"')
    newer = before.replace("iperf 3.12", "iperf 3.18") + name + after.replace('"sender":\tfalse', '"sender":\ttrue', 1)

    assert [values_of(record) for record in summaries(read_text(newer, "iperf3"))] == [values_of(record) for record in summaries(logged("udp.json"))]
    assert len(read_text(newer.replace("iperf 3.18", "iperf 3.12"), "iperf3").broken) == 1


@pytest.mark.parametrize(
    ("name", "time"),
    [
        ("tcp-stream.json", "2026-11-21T01:53:10Z"),
        ("tcp-verbose.log", "2026-11-21T04:25:17Z"),
        ("tcp-timestamps.log", "2026-11-23T01:37:45"),
        ("server-timestamps.log", "2026-11-23T01:37:45"),
        ("tcp.log", None),
    ],
)
def test_start_time_is_an_iso_time_and_has_no_zone_if_the_log_states_no_zone(name: str, time: str | None) -> None:
    assert logged(name).account.facts.start_time == time


@pytest.mark.parametrize("date", ["Sun, 21 Nov 2026 01:53:10 GMT", "yesterday", "Sat, 41 Nov 2026 01:53:10 GMT", "Sat, 21 Nov 99999 01:53:10 GMT"])
def test_impossible_date_gives_no_start_time(changed: Changed, date: str) -> None:
    assert changed("iperf3/tcp-verbose.log", "Sat, 21 Nov 2026 04:25:17 GMT", date).account.facts.start_time is None


def test_start_time_is_read_from_the_seconds_in_json_if_the_date_is_unreadable(changed: Changed) -> None:
    assert changed("iperf3/tcp.json", "Sat, 21 Nov 2026 01:53:10 GMT", "samedi").account.facts.start_time == "2026-11-21T01:53:10Z"


def test_lines_that_begin_with_a_time_are_read_and_shown_unchanged() -> None:
    log = logged("tcp-timestamps.log")

    assert (log.unknown, log.broken) == ([], [])
    assert [values_of(record)["goodput", "mean"] for record in summaries(log) if record.side == "subscriber"] == [10.3e9]
    assert next(event.text for event in log.events) == "Mon Nov 23 01:37:45 2026 Connecting to host 127.0.0.1, port 5977"


@pytest.mark.parametrize(("stamp", "time"), [("2026-11-23T01:37:45+0000", "2026-11-23T01:37:45+00:00"), ("2026-99-23T01:37:45Z", None)])
def test_start_time_is_read_from_the_prefix_of_lines_only_in_iso_form(stamp: str, time: str | None, tmp_path: Path) -> None:
    path = tmp_path / "own.log"
    path.write_text(re.sub(r"Mon Nov 23 01:37:4[0-9] 2026", stamp, (LOGS / "tcp-timestamps.log").read_text()))
    log = read(path)

    assert (log.account.facts.start_time, len(log.records)) == (time, 4)


def test_single_interval_of_a_reverse_test_is_read_although_its_header_is_of_a_sender() -> None:
    log = logged("tcp-reverse-one-second.log")

    assert (log.unknown, log.broken) == ([], [])
    assert [(record.scope, record.side) for record in log.records] == [("interval", None), ("summary", "publisher"), ("summary", "subscriber")]


def rate(record: Record) -> float | None:
    return record.numbers[0].value


@pytest.mark.parametrize(
    ("name", "sender", "receiver", "broken"),
    [
        ("server-verbose-3.6.log", None, 22.0e9, []),
        ("server-udp-verbose.log", None, 14.5e6, []),
        ("udp-verbose-no-receiver.log", 923e6, None, []),
        ("udp-reverse-out-of-order.log", 200e6, 200e6, []),
        ("udp-negative-loss.log", 1.05e6, 1.05e6, []),
        ("tcp-darwin-rtt.log", 1.99e9, 1.99e9, []),
        ("udp-3.7.log", 1.09e6, 1.09e6, []),
        ("udp-3.7-warning.log", 1.09e6, 1.09e6, []),
    ],
)
def test_notes_and_warnings_between_results_affect_no_result(name: str, sender: float | None, receiver: float | None, broken: list[str]) -> None:
    log = logged(name)

    rates = {record.side: rate(record) for record in summaries(log) if record.conditions.definition != "iperf3-cpu"}
    assert (rates.get("publisher"), rates.get("subscriber"), log.broken) == (sender, receiver, broken)
    assert log.unknown in ([], [1])  # Line 1 is the command of the user.


def test_summary_of_a_server_has_the_figures_of_the_receiver() -> None:
    receiver, _ = summaries(logged("server-udp-verbose.log"))

    assert values_of(receiver) == {
        ("goodput", "mean"): 14.5e6,
        ("bytes_received", "total"): 54.5 * MIB,
        ("duration", "total"): 31.44e9,
        ("jitter", "mean"): 90_000,
        ("messages_lost", "total"): 1429719,
        ("loss", "total"): 1429719 / 1471481,
    }


def test_negative_loss_is_impossible_and_the_other_cells_of_its_row_are_read() -> None:
    receiver = summaries(logged("udp-negative-loss.log"))[-1]

    assert values_of(receiver) == {
        ("goodput", "mean"): 1.05e6,
        ("bytes_received", "total"): 128 * 1024,
        ("duration", "total"): 1e9,
        ("jitter", "mean"): 19_000,
        ("messages_lost", "total"): None,
        ("loss", "total"): None,
    }
    assert receiver.samples is None


def test_line_with_a_warning_changes_no_record() -> None:
    assert logged("udp-3.7-warning.log").records == logged("udp-3.7.log").records
    assert {record.conditions.publishers for record in logged("udp-3.7-warning.log").records} == {1}


def test_column_of_round_trips_does_not_affect_intervals() -> None:
    rates = [rate(record) for record in logged("tcp-darwin-rtt.log").records if record.scope == "interval"]

    assert rates == [1.99e9, 1.99e9, 2.00e9]


def test_summary_row_without_the_word_sender_or_receiver_is_broken_and_not_read_as_an_interval() -> None:
    log = read(LOGS.parent / "iperf3_samples" / "udp-summary-without-word.log", "iperf3")

    assert log.broken == ["udp-summary-without-word.log:15: a summary that does not state its side, or is cut short"]
    assert {values_of(record)["duration", "total"] for record in log.records if record.scope == "interval"} == {1.1e9}
    assert [rate(record) for record in summaries(log)] == [2.79e9]


def test_problem_of_a_damaged_member_states_the_line_of_this_member() -> None:
    log = read(LOGS.parent / "iperf3_samples" / "udp-3.0.11-nan.json", "iperf3")

    shown_at = [(problem.line, problem.text.strip()) for problem in log.problems]
    assert shown_at == [(69, '"lost_percent":\t-nan,'), (81, '"lost_percent":\t-nan,')]
    assert [(record.scope, rate(record)) for record in log.records[:2]] == [("interval", 1_048_576), ("summary", 931_968)]


def test_run_in_which_no_message_arrived_has_lost_all_messages() -> None:
    sent, received = summaries(logged("udp-total-loss.log"))

    assert values_of(sent)["messages_sent", "total"] == 301955
    assert values_of(received) == {
        ("goodput", "mean"): 0,
        ("bytes_received", "total"): 0,
        ("duration", "total"): 10.01e9,
        ("messages_lost", "total"): 301955,
        ("loss", "total"): 1,
    }
    assert {number.metric for number in received.numbers if number.marks == ("derived",)} == {"messages_lost", "loss"}


def test_loss_is_unknown_if_no_message_arrived_and_the_log_lacks_the_end_of_the_test(changed: Changed) -> None:
    for end in ("", "iperf3: interrupt - the client has terminated\n"):
        log = changed("iperf3/udp-total-loss.log", "iperf Done.\n", end)

        assert [record.side for record in summaries(log)] == ["publisher"]
        assert log.broken == ["text:10: nothing received, and the end of the test is missing: the receiver's figures may never have arrived"]


def test_all_datagrams_are_lost_if_the_summary_for_both_sides_states_no_received_datagrams() -> None:
    text = (LOGS / "udp-3.1.log").read_text(encoding="utf-8")
    row = next(line for line in text.splitlines() if "%)" in line)
    nothing = f"{row[: row.index(' ms')].rpartition('  ')[0]}  0.000 ms  0/0 (0%)"

    both = summaries(read_text(text.replace(row, nothing)))[-1]

    assert (both.conditions.definition, values_of(both)["loss", "total"]) == ("iperf3-udp", 1)


def without_arrivals(text: str) -> str:
    """Change the JSON of a UDP test so that no datagram arrived."""
    document = json.loads(text)
    end = document["end"]
    nothing = {"packets": 0, "lost_packets": 0, "lost_percent": 0, "jitter_ms": 0}
    for members in (end["sum"], *(stream["udp"] for stream in end["streams"])):
        members.update(nothing)
    end["sum_received"] |= nothing | {"bytes": 0, "bits_per_second": 0}
    return json.dumps(document, indent="\t")


def test_all_messages_are_lost_in_the_json_of_a_run_if_no_message_arrived() -> None:
    text = without_arrivals((LOGS / "udp.json").read_text(encoding="utf-8"))
    by_definition = {record.conditions.definition: values_of(record) for record in summaries(read_text(text))}
    assert by_definition["iperf3-sent"]["messages_sent", "total"] == 133892
    assert by_definition["iperf3-received"]["loss", "total"] == 1
    assert by_definition["iperf3-received"]["messages_lost", "total"] == 133892
    assert by_definition["iperf3-received"]["goodput", "mean"] == 0


@pytest.mark.parametrize("name", ["tcp-sorted-keys.json", "tcp-wrapped.json", "tcp-one-line.json"])
def test_sorted_or_nested_or_single_line_json_gives_the_same_records(name: str) -> None:
    log = logged(name)

    assert sorted(anywhere(log.records), key=repr) == sorted(anywhere(logged("tcp.json").records), key=repr)
    assert (log.broken, log.unknown, log.account.status) == ([], [], "ok")
    assert (log.account.facts.tool_version, log.account.facts.start_time) == ("3.12", "2026-11-21T01:53:10Z")


@pytest.mark.parametrize("name", sorted(path.name for path in LOGS.glob("*.json") if "stream" not in path.name and "overflow" not in path.name))
@pytest.mark.parametrize("layout", ["sorted", "reversed", "wrapped", "list", "one line", "list on one line"])
def test_each_document_gives_the_same_records_in_each_layout(name: str, layout: str) -> None:
    text = (LOGS / name).read_text(encoding="utf-8")
    document = json.loads(text)
    changed = {
        "sorted": lambda: json.dumps(document, sort_keys=True, indent=4),
        "reversed": lambda: json.dumps(turned(document), indent="\t"),
        "wrapped": lambda: json.dumps({"host": "a", "start": {"by": "me"}, "end": [1, {"a": 2}], "iperf": document}, indent=2),
        "list": lambda: json.dumps([document, document], indent=2),
        "one line": lambda: json.dumps(document),
        "list on one line": lambda: json.dumps([document, {"iperf": document}]),
    }[layout]()
    original, log = logged(name), read_text(changed, "iperf3")

    times = 2 if "list" in layout else 1
    assert sorted(map(repr, anywhere(log.records))) == sorted(list(map(repr, anywhere(original.records))) * times)
    assert len(log.broken) == len(original.broken) * times
    assert (log.unknown, log.account.status) == ([], original.account.status)


def turned(value: object) -> object:
    """Reverse the order of the members of objects."""
    if isinstance(value, dict):
        return {name: turned(member) for name, member in reversed(value.items())}
    return [turned(member) for member in value] if isinstance(value, list) else value


def test_long_document_with_sorted_members_keeps_all_its_results() -> None:
    document = json.loads((LOGS / "tcp.json").read_text(encoding="utf-8"))
    document["intervals"] *= 400
    log = read_text(json.dumps(document, sort_keys=True, indent=4), "iperf3")

    assert len(log.records) == 1203
    assert {record.payload_bytes for record in log.records} == {131072}
    assert (log.broken, log.unknown) == ([], [])


@pytest.mark.parametrize("where", range(1, 12))
def test_unknown_line_changes_no_record(where: int) -> None:
    lines = (LOGS / "tcp-three-streams-omit.log").read_text(encoding="utf-8").splitlines(keepends=True)
    changed = [*lines[:where], "nothing that iperf3 prints\n", *lines[where:]]

    assert read_text("".join(changed), "iperf3").records == logged("tcp-three-streams-omit.log").records


def test_line_that_describes_the_test_is_read_even_if_it_lacks_the_type_of_service(changed: Changed) -> None:
    log = changed("iperf3/tcp-verbose.log", "2 second test, tos 0", "2 second test")

    assert log.records == logged("tcp-verbose.log").records
    assert log.unknown == []


def test_debug_output_is_recognised_as_chatter_and_does_not_change_the_status_of_the_run() -> None:
    log = logged("tcp-debug.log")

    sent, received = summaries(log)
    assert (values_of(sent)["offered_goodput", "mean"], values_of(received)["goodput", "mean"]) == (976e3, 956e3)
    assert (log.account.facts.status, log.broken, log.unknown) == ("ok", [], [])


def test_line_about_the_udp_block_size_is_chatter() -> None:
    text = "Setting UDP block size to 32768\n" + (LOGS / "udp.log").read_text(encoding="utf-8")

    log = read_text(text, "iperf3")

    assert (log.records, log.unknown) == (logged("udp.log").records, [])


def test_more_lost_datagrams_than_sent_datagrams_are_impossible(changed: Changed) -> None:
    log = changed("iperf3/udp.log", "0.002 ms  0/53549 (0%)", "0.002 ms  17179869184/0 (-2.5e-39%)")  # Such a log is in esnet/iperf issue 1554.

    received = summaries(log)[1]
    number = received.number("messages_lost", "total")
    assert number is not None
    assert (number.value, number.marks) == (None, ("impossible",))
    assert values_of(received)["goodput", "mean"] == 300e6


def test_message_states_that_rows_have_no_header(changed: Changed) -> None:
    log = changed("iperf3/tcp.log", "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n", "")

    assert log.broken == [f"text:{line}: a row without the header of its columns" for line in (3, 4, 5)]
    assert summaries(log)[0] == summaries(logged("tcp.log"))[0]


def test_blank_before_a_separator_line_changes_nothing(changed: Changed) -> None:
    log = changed("iperf3/server-udp.log", "-----", " -----")

    assert (log.records, log.unknown) == (logged("server-udp.log").records, [])


@pytest.mark.parametrize(("lost", "value"), [("0", 0), ("17179869184", None)])
def test_receiver_with_received_bytes_but_zero_datagrams_has_not_lost_all_datagrams(changed: Changed, lost: str, value: float | None) -> None:
    text = changed("iperf3/udp.log", "0.002 ms  0/53549 (0%)", f"0.002 ms  {lost}/0 (0%)")
    received = summaries(text)[1]
    assert (received.conditions.definition, values_of(received)["messages_lost", "total"]) == ("iperf3-received", value)
    assert ("loss", "total") not in values_of(received)
    assert values_of(received)["goodput", "mean"] == 300e6


def test_json_of_a_receiver_with_received_bytes_but_zero_datagrams_has_an_unknown_loss(changed: Changed) -> None:
    log = changed("iperf3/udp.json", '"packets":\t133795', '"packets":\t0')

    received = summaries(log)[-2]
    assert (received.conditions.definition, values_of(received)["messages_lost", "total"]) == (
        "iperf3-received",
        None,
    )  # The JSON states 7970 lost datagrams of 0 datagrams.


def test_several_documents_on_one_line_give_the_same_records_as_on_separate_lines() -> None:
    document = json.dumps(json.loads((LOGS / "tcp.json").read_text()))

    on_lines, together = read_text(f"{document}\n" * 3), read_text(f"{document}{document} {document}\n")

    assert [values_of(record) for record in together.records] == [values_of(record) for record in on_lines.records]
    assert [values_of(record) for record in together.records][:6] == [values_of(record) for record in together.records][6:12]
    assert (len(together.records), together.unknown, together.broken) == (18, [], [])
