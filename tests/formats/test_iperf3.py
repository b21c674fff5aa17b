"""iperf3: what its text and JSON say. Expected values are typed from the logs in ``iperf3/`` (see its README)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tacholog.formats.reading import Log, read, read_text
from tacholog.records import Conditions, Number, Record

LOGS = Path(__file__).parent / "iperf3"
Changed = Callable[[str, str, str], Log]  # see conftest.py
GIB, MIB = 2**30, 2**20


def logged(name: str) -> Log:
    """A sample log."""
    return read(LOGS / name, "iperf3")


def summaries(log: Log) -> list[Record]:
    """The records of the whole test."""
    return [record for record in log.records if record.scope == "summary"]


def shown(record: Record) -> dict[tuple[str, str], float | None]:
    """The numbers of a record by metric and statistic."""
    return {(number.metric, number.statistic): number.value for number in record.numbers}


def test_what_was_sent_and_what_was_received_are_two_records() -> None:
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
        conditions=Conditions(transport="TCP", definition="iperf3-sent"),
    )
    assert (received.side, received.conditions.definition) == ("subscriber", "iperf3-received")
    assert shown(received) == {
        ("goodput", "mean"): 16.7e9,
        ("bytes_received", "total"): round(5.84 * GIB, 2),
        ("duration", "total"): 3e9,
    }


def test_rows_of_a_second_are_intervals() -> None:
    log = logged("tcp.log")

    intervals = [(event.line, event.what) for event in log.events if isinstance(event.what, Record) and event.what.scope == "interval"]
    assert [(line, shown(record)["offered_goodput", "mean"], shown(record)["retransmissions", "total"]) for line, record in intervals] == [
        (4, 18.7e9, 47),
        (5, 15.8e9, 3),
        (6, 15.7e9, 8),
    ]
    assert (log.unknown, log.broken) == ([], [])


def test_streams_have_names_and_their_sum_has_none_and_the_warm_up_is_left_out() -> None:
    log = logged("tcp-three-streams-omit.log")

    assert [record.participant for record in log.records[:4]] == ["stream 5", "stream 7", "stream 9", None]
    total = [record for record in summaries(log) if record.participant is None]
    assert [shown(record)[metric] for record, metric in zip(total, (("offered_goodput", "mean"), ("goodput", "mean")), strict=True)] == [
        52.1e9,
        52.1e9,
    ]
    assert shown(total[0])["retransmissions", "total"] == 7
    assert len(log.records) == 16


@pytest.mark.parametrize(("old", "new"), [("Reverse mode", "Reverse mode"), ("Reverse mode, remote", "Reverse mode remote")])
def test_an_interval_that_does_not_say_whose_it_is_has_no_side_whatever_stands_above(changed: Changed, old: str, new: str) -> None:
    log = changed("iperf3/tcp-reverse.log", old, new)

    assert log.records[0].numbers[0] == Number(metric="transfer_rate", statistic="mean", value=46.6e9, resolution=1e8)
    assert [(record.scope, record.side) for record in log.records] == [
        ("interval", None),
        ("interval", None),
        ("summary", "publisher"),
        ("summary", "subscriber"),
    ]


@pytest.mark.parametrize("name", ["tcp-both-ways.log", "server-both-ways.log"])
def test_both_ways_at_once_are_told_apart(name: str) -> None:
    directions = {(record.side, record.participant): shown(record) for record in summaries(logged(name))}

    rates = {key: numbers.get(("offered_goodput", "mean")) or numbers.get(("goodput", "mean")) for key, numbers in directions.items()}
    assert rates["subscriber", None] == 21.4e9
    assert rates["publisher", "server to client"] == 28.8e9


def test_a_receivers_datagrams_have_jitter_and_losses_and_a_senders_do_not() -> None:
    sent, received = summaries(logged("udp.log"))

    assert shown(sent) == {
        ("offered_goodput", "mean"): 300e6,
        ("bytes_sent", "total"): 71.5 * MIB,
        ("duration", "total"): 2e9,
        ("messages_sent", "total"): 53549,
    }
    assert received.number("jitter", "mean") == Number(metric="jitter", statistic="mean", value=2000, resolution=1000)
    assert received.number("messages_lost", "total") == Number(metric="messages_lost", statistic="total", value=0)
    assert (received.samples, received.conditions.transport) == (53549, "UDP")


def test_a_jitter_that_rounds_to_nothing_is_less_than_a_microsecond(changed: Changed) -> None:
    log = changed("iperf3/udp.log", "0.002 ms  0/53549 (0%)  receiver", "0.000 ms  27/53549 (0.05%)  receiver")

    received = log.records[-1]
    assert received.number("jitter", "mean") == Number(metric="jitter", statistic="mean", value=1000, resolution=1000, bound="<")
    assert received.number("loss", "total") == Number(metric="loss", statistic="total", value=27 / 53549)
    assert received.samples == 53522


def test_verbose_output_says_what_was_run_and_what_it_cost() -> None:
    log = logged("tcp-verbose.log")

    sent, received, cpu, server = summaries(log)
    assert (sent.payload_bytes, sent.conditions.publishers, sent.conditions.planned_duration_s) == (131072, 1, 2)
    assert shown(received)["goodput", "mean"] == 46354e6
    assert shown(cpu) == {
        ("cpu", "local"): 26.3,
        ("cpu", "local-user"): 1.4,
        ("cpu", "local-system"): 24.9,
        ("cpu", "remote"): 68.7,
        ("cpu", "remote-user"): 3.5,
        ("cpu", "remote-system"): 65.2,
    }
    assert (server.participant, shown(server)["goodput", "mean"]) == ("server output", 46.4e9)
    assert log.account.facts.tool_version == "3.12"
    assert (log.unknown, log.broken) == ([], [])


def test_json_has_its_figures_in_full() -> None:
    log = logged("tcp.json")

    sent, received, cpu = summaries(log)
    assert shown(sent) == {
        ("offered_goodput", "mean"): 18888858226.590515,
        ("bytes_sent", "total"): 7086931968,
        ("duration", "total"): 3.001529e9,
        ("retransmissions", "total"): 45,
    }
    assert shown(received)["goodput", "mean"] == 18885712211.307755
    assert shown(cpu)["cpu", "remote-system"] == 26.845940734162482
    assert received.payload_bytes == 131072
    assert received.conditions == Conditions(transport="TCP", load_mode="max-rate", publishers=1, definition="iperf3-received", planned_duration_s=3)
    assert (log.account.facts.tool_version, log.account.facts.start_time) == ("3.12", "Sat, 21 Nov 2026 01:53:10 GMT")
    assert (log.unknown, log.broken) == ([], [])


def test_a_result_in_json_keeps_the_lines_of_its_members() -> None:
    events = [event for event in logged("tcp.json").events if isinstance(event.what, Record)]

    assert [(event.line, event.last_line) for event in events] == [(57, 64), (84, 91), (111, 118), (149, 155), (158, 163), (166, 171)]


def test_in_json_bytes_of_the_sender_are_not_the_receivers() -> None:
    both, sent, received = summaries(logged("udp.json"))[:3]

    assert both.conditions.definition == "iperf3-udp"
    assert shown(both)["bytes_sent", "total"] == 187448800
    assert shown(both)["messages_lost", "total"] == 7970
    assert shown(sent)["messages_sent", "total"] == 133892
    assert ("jitter", "mean") not in shown(sent)
    assert shown(received) == {
        ("goodput", "mean"): 469726311.85981941,
        ("bytes_received", "total"): 176155000,
        ("duration", "total"): 3.00013e9,
        ("jitter", "mean"): pytest.approx(7982.97501574815),
        ("messages_lost", "total"): 7970,
        ("loss", "total"): pytest.approx(0.05952558778717175),
    }
    assert (received.samples, received.conditions.load_mode) == (133795 - 7970, "paced")


def test_streams_in_json_have_names_and_omitted_intervals_are_left_out() -> None:
    log = logged("tcp-two-streams-omit.json")

    assert [(record.scope, record.participant) for record in log.records] == [
        *[("interval", "stream 5"), ("interval", "stream 7"), ("interval", None)] * 2,
        *[("summary", "stream 5")] * 2,
        *[("summary", "stream 7")] * 2,
        *[("summary", None)] * 3,
    ]


def test_a_summary_without_its_header_or_its_dashes_is_never_an_interval(tmp_path: Path) -> None:
    text = (LOGS / "server-three-streams.log").read_text().replace("receiver", "        ")
    headers = [line for line in text.splitlines(keepends=True) if line.startswith("[ ID]")]
    for lost in ("- " * 25 + "\n", headers[-1]):
        before, _, after = text.rpartition(lost)
        (tmp_path / "some.log").write_text(before + "damaged\n" + after)

        log = read(tmp_path / "some.log", "iperf3")

        assert {record.numbers[2].value for record in log.records if record.number("duration", "total")} <= {1e9, 1e7}


def test_what_is_said_of_a_test_is_not_said_of_the_servers_output(changed: Changed) -> None:
    server = changed("iperf3/tcp-verbose.log", "Server output:\nAccepted connection from", "Server\nAccepted").records[-1]

    assert (server.side, server.payload_bytes) == ("subscriber", None)


def test_both_ways_in_json_are_told_apart() -> None:
    rates = [(record.side, record.participant, shown(record).get(("goodput", "mean"))) for record in summaries(logged("tcp-both-ways.json"))]

    assert rates[1] == ("subscriber", None, 35142594208.121483)
    assert rates[3] == ("subscriber", "server to client", 14026366945.422491)


def test_what_never_arrived_from_the_other_side_is_impossible_and_not_zero() -> None:
    for record in (summaries(logged("tcp-interrupted.log"))[1], summaries(logged("server-udp-reverse.json"))[-2]):
        assert record.numbers == (
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
def test_a_run_that_did_not_end_well_says_why(name: str, status: str, reason: str) -> None:
    account = logged(name).account

    assert (account.status, account.reason) == (status, reason)


def test_a_client_without_its_last_line_is_truncated(changed: Changed) -> None:
    assert changed("iperf3/tcp.log", "iperf Done.\n", "").account.reason == "the log ends before 'iperf Done.'"


@pytest.mark.parametrize(
    ("name", "old", "new", "broken"),
    [
        ("tcp.log", "18.7 Gbits", "28.7 Gbits", "4: the rate is not bytes over time"),
        ("tcp.log", "18.7 Gbits", "18.7 Mbits", "4: the rate is not bytes over time"),
        ("tcp.log", "   47    895 KBytes", "", "4: a row that does not fit its header"),
        ("tcp.log", "18.7 Gbits/sec", "18.7 Gbi", "4: a row that is cut short or garbled"),
        ("tcp.log", "[  5]   0.00-1.00", "[  6]   0.00-1.00", "4: a row that does not fit its header"),
        ("tcp.log", "   58             sender", "   58             ", "9: a row that does not fit its header"),
        ("udp-two-streams-reverse.log", "(0%)  sender", "(0%)  ", "15: a row that does not fit its header"),
        ("tcp-reverse.log", "                  \n", "   \n", "5: a row that does not fit its header"),
        ("tcp.json", '"bytes":\t2770731008', '"bytes":\t2770731', "57: members of this result are missing, out of place, or contradict each other"),
        ("tcp.json", '\t\t\t\t"bytes":\t2770731008,\n', "", "57: members of this result are missing, out of place, or contradict each other"),
        ("tcp.json", '\t\t\t\t"bytes":\t2770731008,', '\t\t\t\t"bytes"\t2770731008,', "57: a member of this result is damaged or missing"),
        ("tcp.json", '\t\t\t\t"bytes":\t2770731008,', '\t\t\t\t"bytes":\t27707x1008,', "57: a member of this result is damaged or missing"),
    ],
)
def test_a_damaged_result_costs_only_itself(changed: Changed, name: str, old: str, new: str, broken: str) -> None:
    whole = logged(name)

    log = changed(f"iperf3/{name}", old, new) if name.endswith(".log") else sum_changed(name, old, new)

    assert log.broken[0] == f"text:{broken}"
    assert len(log.records) == len(whole.records) - len(log.broken)


def test_bytes_that_are_not_those_of_the_datagrams_are_of_another_result(changed: Changed) -> None:
    log = changed("iperf3/udp-two-streams-reverse.json", '"packets":\t764', '"packets":\t381')

    assert [why.partition(": ")[2] for why in log.broken] == ["members of this result are missing, out of place, or contradict each other"]


def test_what_was_received_is_not_what_was_sent_though_its_name_says_so() -> None:
    text = (LOGS / "server-udp-reverse.json").read_text().replace('"sum_sent":', '"sum_lost":').replace('"sum_received":', '"sum_sent":')
    log = read_text(text, "iperf3")

    assert [why.partition(": ")[2] for why in log.broken] == ["members of this result are missing, out of place, or contradict each other"]


def sum_changed(name: str, old: str, new: str) -> Log:
    """A sample with a change to the sum of its first interval, which has the same bytes as its stream."""
    before, mark, after = (LOGS / name).read_text().partition('"sum":')
    assert old in after
    return read_text(before + mark + after.replace(old, new, 1), "iperf3")


def test_json_whose_brackets_are_damaged_gives_what_stood_before_and_is_truncated(changed: Changed) -> None:
    log = changed("iperf3/tcp.json", '\t"end":\t{\n', "")

    assert [record.scope for record in log.records] == ["interval"] * 3
    assert (log.account.status, log.account.reason) == ("truncated", "the JSON has no 'end'")


def test_json_on_one_line_cannot_be_quoted_by_line_and_is_refused(tmp_path: Path) -> None:
    text = "".join(line.strip() for line in (LOGS / "tcp.json").read_text().splitlines())
    (tmp_path / "some.log").write_text("{\n" + text[1:] + "\n")

    log = read(tmp_path / "some.log", "iperf3")

    assert log.records == []
    assert log.broken == ["some.log:2: several results on one line: print the JSON with a member a line"]


def test_json_that_just_ends_is_truncated(tmp_path: Path) -> None:
    text = (LOGS / "tcp.json").read_text()
    (tmp_path / "some.log").write_text(text[: text.index('"sum_received"')])

    log = read(tmp_path / "some.log")

    assert [record.side for record in summaries(log)] == ["publisher"]
    assert (log.account.status, log.account.reason) == ("truncated", "the JSON ends before its last brace")


def test_one_udp_row_for_both_sides_is_of_the_oldest_versions_only(tmp_path: Path) -> None:
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
    assert shown(both)["messages_lost", "total"] == 5

    (tmp_path / "some.log").write_text(text.replace("Bandwidth", "Bitrate  "))
    assert len(read(tmp_path / "some.log").broken) == 1


def test_an_interval_whose_last_blanks_are_lost_may_have_lost_a_count_too(tmp_path: Path) -> None:
    stripped = "".join(line.rstrip() + "\n" for line in (LOGS / "tcp-reverse.log").read_text().splitlines())
    (tmp_path / "some.log").write_text(stripped)

    log = read(tmp_path / "some.log")

    assert log.broken == [f"some.log:{line}: a row that does not fit its header" for line in (5, 6)]
    assert log.records == summaries(logged("tcp-reverse.log"))
