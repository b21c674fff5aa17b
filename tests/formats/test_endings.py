"""How a run ended, where its log says so, and that nothing is claimed where it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.formats.reading import read, read_text

LOGS = Path(__file__).parent

#: Logs that say that their run ended, with the words that do.
CLOSING = {
    "rti/3.0.1-latency-pub.log": "Test ended.",
    "iperf3/tcp.log": "iperf Done.",
    "iperf3/tcp.json": "}",
    "fastrtps/latency-1.1.log": "EVERYTHING STOPPED FINE",
    "fastrtps/latency-2.9.1.log": "EVERYTHING STOPPED FINE",
    "performance_test/layout.log": "Maximum runtime reached. Exiting.",
    "native/latency-udp.log": "end status=ok",
}
SILENT = (
    "rti/printer-3.1-legacy-sub.log",
    "hmbdc/17-6-ipc-0cpy-ping.log",
    "ecal/latency-6.2-receiver.log",
    "qperf/tcp-lat-plain.log",
    "ddsperf/pub-killed.log",
)


@pytest.mark.parametrize("name", CLOSING)
def test_closing_words_say_that_the_run_ended_well_and_without_them_nothing_does(name: str) -> None:
    text = (LOGS / name).read_text()
    before, words, behind = text.rpartition(CLOSING[name])
    assert words

    assert read_text(text).account.status == "ok"
    assert read_text(before + behind.partition("\n")[2]).account.status in ("truncated", None)


@pytest.mark.parametrize("name", SILENT)
def test_the_log_of_a_tool_without_closing_words_does_not_say_how_its_run_ended(name: str) -> None:
    account = read(LOGS / name).account

    assert account.records
    assert (account.status, account.reason) == (None, None)


def test_the_closing_words_of_one_run_are_not_those_of_the_next() -> None:
    text = (LOGS / "rti/3.0.1-latency-pub.log").read_text()
    stopped = text[: text.index("Finishing test")]

    assert read_text(text + stopped).account.status == "truncated"
    assert read_text(stopped + text).account.status == "truncated"


def test_a_tool_stopped_by_its_user_was_cut_off() -> None:
    account = read_text((LOGS / "performance_test/layout.log").read_text().replace("Maximum runtime reached.", "Caught signal.")).account

    assert (account.status, account.reason) == ("truncated", "Caught signal. Exiting.")
