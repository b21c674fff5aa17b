"""How a run ended, according to its log. If the log does not state how the run ended, the status is unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.formats.reading import read, read_text

LOGS = Path(__file__).parent

#: Each of these logs states how its run ended. The value is the text in the log that states this.
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
def test_run_is_ok_only_if_its_log_has_the_closing_text(name: str) -> None:
    text = (LOGS / name).read_text()
    before, words, behind = text.rpartition(CLOSING[name])
    assert words

    assert read_text(text).account.status == "ok"
    assert read_text(before + behind.partition("\n")[2]).account.status in ("truncated", None)


@pytest.mark.parametrize("name", SILENT)
def test_log_of_a_tool_without_closing_text_does_not_state_how_its_run_ended(name: str) -> None:
    account = read(LOGS / name).account

    assert account.records
    assert (account.status, account.reason) == (None, None)


def test_closing_text_of_one_run_does_not_apply_to_the_next_run() -> None:
    text = (LOGS / "rti/3.0.1-latency-pub.log").read_text()
    stopped = text[: text.index("Finishing test")]

    assert read_text(text + stopped).account.status == "truncated"
    assert read_text(stopped + text).account.status == "truncated"


def test_run_is_truncated_if_the_user_stopped_the_tool() -> None:
    account = read_text((LOGS / "performance_test/layout.log").read_text().replace("Maximum runtime reached.", "Caught signal.")).account

    assert (account.status, account.reason) == ("truncated", "Caught signal. Exiting.")
