"""The page that shows a log."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from tacholog.render.number_spans import printed_at, spans_of, with_anchors
from tacholog.site.log_pages import labels_of, log_page
from tacholog.store.load import load_logs
from tacholog.view.results import ResultRow, RunRow
from tacholog.view.views import view_of


def test_log_page_states_that_control_sequences_are_not_shown(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("plain\n\x1b[32mgreen\x1b[0m\n\x1b[2Kgone\n")

    shown = log_page(tmp_path / "a.log", None, [])

    assert "2 lines are shown without their control sequences (colours, cursor movements); the raw file contains them." in shown
    assert "<code>green</code>" in shown


def test_log_page_without_control_sequences_has_no_note_about_control_sequences(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("plain\nbell \x07\n")

    assert "control sequences" not in log_page(tmp_path / "a.log", None, [])


def test_single_number_of_a_line_is_described_beside_the_line(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("32\n21\n1.3\n")
    told = {"metric": "latency", "statistic": "mean", "value": 21e3, "resolution": 1e3}
    record = msgspec.convert(
        {"run": {"run": "r"}, "log": "a.log", "line": 1, "last_line": 3, "value_line": 2, "payload_bytes": 32, **told}, ResultRow
    )
    whole = msgspec.structs.replace(record, last_line=1, value_line=None)

    shown = log_page(tmp_path / "a.log", None, [], [record])

    assert '<code><b id="L1:latency.mean">21</b></code><span class="tl-what">32\u00a0B: Latency, mean</span>' in shown
    assert shown.count("tl-what") == 1
    assert labels_of([whole]) == {}


def test_line_of_a_histogram_is_shortened_and_a_line_with_linked_numbers_is_shown_completely(tmp_path: Path) -> None:
    log = "perftest version=0.3.0 log=native/1\n"
    log += (
        "latency payload_bytes=64 basis=rtt samples=4 lost=0 p50_ns=7243 max_ns=9000 " + "".join(f"later{number}=1 " for number in range(12)) + "\n"
    )
    log += "histogram payload_bytes=64 basis=rtt part=0 parts=1 bins=" + ",".join(f"{at}:{at + 3}:1" for at in range(5000, 5200, 4)) + "\n"
    (tmp_path / "a.log").write_text(log)
    number = {"run": {"run": "r"}, "log": "a.log", "line": 2, "metric": "latency", "statistic": "p50", "value": 7243.0}

    shown = log_page(tmp_path / "a.log", "native", [2], [msgspec.convert(number, ResultRow)])

    assert "later11=1" in shown
    histogram = log.splitlines()[2]
    assert f"<code>{histogram[:160]}<span" in shown
    assert f" … {len(histogram) - 160} more characters" in shown


def test_lines_are_marked_by_their_class_except_for_chatter(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("perftest version=0.3.0 log=native/1\nhistogram payload_bytes=64 basis=rtt part=0 parts=1 bins=1:2:4\nwhat?\n")

    shown = log_page(tmp_path / "a.log", "native", [])

    assert '<li id="L1"><a href="#L1">1</a>' in shown
    assert '<li id="L2" class="tl-record"><a href="#L2" aria-label="Line 2, result">2</a>' in shown
    assert '<li id="L3" class="tl-unknown"><a href="#L3" aria-label="Line 3, unknown">3</a>' in shown


NATIVE = "latency payload_bytes=239 samples=90 lost=0 reordered=0 mean_ns=461.4 min_ns=239 p50_ns=407 p99_ns=794 p99.9_ns=794"


@pytest.mark.parametrize(
    ("text", "metric", "statistic", "value", "resolution", "printed"),
    [
        (NATIVE, "latency", "mean", 461.4, None, "mean_ns=461.4"),
        (NATIVE, "latency", "min", 239.0, None, "min_ns=239"),
        (NATIVE, "latency", "p99", 794.0, None, "p99_ns=794"),
        (NATIVE, "latency", "p99.9", 794.0, None, "p99.9_ns=794"),
        (NATIVE, "messages_lost", "total", 0.0, None, "lost=0"),
        ("  1 kB || 11 || 9.0 us || 1", "latency", "mean", 9000.0, 100.0, "|| 9.0"),
        ("Length: 32  Mbps(ave):  664.2  Lost:  0 (0.00%)", "goodput", "mean", 664.2e6, 1e5, "(ave):  664.2"),
        ("Length: 32  Mbps(ave):  664.2  Lost:  5 (1.25%)", "loss", "total", 0.0125, 1e-4, "(1.25"),
        ("7738 MB/s", "goodput", "mean", 7738 * 8 * 2.0**20, 8 * 2.0**20, "7738"),
    ],
)
def test_number_is_found_in_its_line_by_value_and_resolution_and_preceding_word(
    text: str, metric: str, statistic: str, value: float, resolution: float | None, printed: str
) -> None:
    span = printed_at(text, ResultRow(run=RunRow(run="r"), log="a", line=1, metric=metric, statistic=statistic, value=value, resolution=resolution))

    assert span is not None
    assert text[: span[1]].endswith(printed)


@pytest.mark.parametrize(
    ("text", "value", "resolution"),
    [
        ("|| 9 || 9 ||", 9000.0, 1000.0),  # Both numbers of the line have this value.
        ("|| 9.4 ||", 9000.0, 1000.0),  # The line prints a different number.
        ("took 1000 ms", 1000.0, 100.0),  # The line prints a number with another resolution.
        ("on host9000", 9000.0, None),  # The digits are a part of a name.
        ("|| 9 ||", None, None),
    ],
)
def test_number_without_a_unique_match_is_not_marked(text: str, value: float | None, resolution: float | None) -> None:
    fact = ResultRow(run=RunRow(run="r"), log="a", line=1, metric="latency", statistic="mean", value=value, resolution=resolution)

    assert printed_at(text, fact) is None
    assert with_anchors(text, spans_of(text, {"L1:latency.mean": fact})) == f'<b id="L1:latency.mean"></b>{text}'


def test_text_beside_linked_numbers_is_escaped_and_equal_numbers_are_linked_to_the_same_position() -> None:
    p50, mean = (ResultRow(run=RunRow(run="r"), log="a", line=1, metric="latency", statistic=name, value=5.0) for name in ("p50", "mean"))

    text = "<b> 5 & 6"

    assert with_anchors(text, spans_of(text, {"a": p50, "b": mean})) == '&lt;b&gt; <b id="b"><b id="a">5</b></b> &amp; 6'


@pytest.mark.parametrize("before", ["", "2026-11-27T10:00:00.5 "])
def test_number_is_marked_at_the_position_from_its_format_even_if_its_value_is_printed_twice(tmp_path: Path, before: str) -> None:
    line = "Length:    32  Packets:      100  Packets/s(ave):     100  Mbps(ave):     0.0  Lost:     0 (0.00%)"
    (tmp_path / "a.log").write_text(f"{before}{line}\n" * 9)
    results = view_of(load_logs([tmp_path / "a.log"])).results

    shown = str(log_page(tmp_path / "a.log", "rti", [], results))

    packets, rate = (f'<b id="L4:{name}">100</b>' for name in ("messages_received.total", "message_rate.mean"))
    assert f"Packets:      {packets}  Packets/s(ave):     {rate}  Mbps" in shown


LOGS = Path(__file__).parent.parent / "formats" / "native"


def test_number_that_the_line_does_not_print_is_shown_with_its_formula() -> None:
    def notes(log: str) -> dict[int, str]:
        results = view_of(load_logs([LOGS / log])).results
        shown = str(log_page(LOGS / log, "native", [], results))
        lines = [re.search(r'id="L(\d+)".*<span class="tl-what">(.*?)</span></li>|$', line) for line in shown.split("<li ")]
        return {int(found[1]): found[2] for found in lines if found and found[1]}

    # The formula gives (176977000 + 120000000) / 298946 = 993 ns, and (41084000 + 130000000) / 710 ns = 241 us.
    assert notes("throughput-nats.log") == {
        19: "Processor time for each message that arrived: 993\u00a0ns = (sides_ns + companion_ns) / messages",
        24: "Processor time for each message that arrived: 241\u00a0µs = (sides_ns + companion_ns) / messages",
    }
    # 24.3 % is 71639 / 294592, and 80.9 % is 39656 / 49042.
    assert list(notes("throughput-udp.log").values()) == [
        "Share of messages lost: 24.3\u00a0% = lost / (received + lost)",
        "Share of messages lost: 80.9\u00a0% = lost / (received + lost)",
    ]


def test_log_page_shows_no_formula_at_a_line_that_lacks_a_field_of_the_formula(tmp_path: Path) -> None:
    cost = "cost payload_bytes=64 test=throughput messages=3149506 sides_ns=936680000"
    told = {"run": {"run": "r"}, "log": "a.log", "line": 1, "metric": "cpu_per_message", "statistic": "mean", "value": 936680000 / 3149506}
    result = msgspec.convert(told, ResultRow)

    def shown(text: str) -> str:
        (tmp_path / "a.log").write_text(f"{text}\n")
        return str(log_page(tmp_path / "a.log", "native", [], [result]))

    assert "297\u00a0ns = sides_ns / messages</span>" in shown(cost)
    assert "tl-what" not in shown(cost.replace("messages=3149506", "withheld"))
