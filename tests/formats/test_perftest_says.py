"""Up to version 0.4, perftest wrote logs in the format of another tool. These tests read its own messages between the lines of such logs."""

from __future__ import annotations

import pytest

from tacholog.formats.reading import read_text

RESULT = "Length:    32  Packets: 77849677  Packets/s(ave): 2594706  Mbps(ave):   664.2  Lost:     0 (0.00%)\n"


@pytest.mark.parametrize("before", ["", "x", "x..C"])
def test_error_message_of_perftest_makes_the_run_failed_and_is_the_reason(before: str) -> None:
    log = read_text(RESULT + before + "perftest: connect 127.0.0.1:7420: Connection refused\n")

    assert (log.account.status, log.account.reason) == ("failed", "connect 127.0.0.1:7420: Connection refused")
    assert len(log.records) == 1
    assert not log.unknown


def test_note_of_perftest_is_chatter_and_does_not_state_how_the_run_ended() -> None:
    log = read_text(RESULT + "perftest: note: coordinated omission: 64 bytes: 4 % of the time\n")

    assert log.account.status is None
    assert not log.unknown


@pytest.mark.parametrize("line", ["my perftest: it failed", "perftest:", "perftest: "])
def test_messages_of_other_programs_are_unknown(line: str) -> None:
    log = read_text(RESULT + line + "\n")

    assert log.account.status is None
    assert log.unknown == [2]
