"""What perftest up to 0.4 said beside a log that it wrote in another tool's words."""

from __future__ import annotations

import pytest

from tacholog.formats.reading import read_text

RESULT = "Length:    32  Packets: 77849677  Packets/s(ave): 2594706  Mbps(ave):   664.2  Lost:     0 (0.00%)\n"


@pytest.mark.parametrize("before", ["", "x", "x..C"])
def test_why_a_run_failed_is_how_it_ended(before: str) -> None:
    log = read_text(RESULT + before + "perftest: connect 127.0.0.1:7420: Connection refused\n")

    assert (log.account.status, log.account.reason) == ("failed", "connect 127.0.0.1:7420: Connection refused")
    assert len(log.records) == 1
    assert not log.unknown


def test_a_note_is_chatter_and_says_nothing_of_the_end() -> None:
    log = read_text(RESULT + "perftest: note: coordinated omission: 64 bytes: 4 % of the time\n")

    assert log.account.status is None
    assert not log.unknown


@pytest.mark.parametrize("line", ["my perftest: it failed", "perftest:", "perftest: "])
def test_what_others_say_stays_unknown(line: str) -> None:
    log = read_text(RESULT + line + "\n")

    assert log.account.status is None
    assert log.unknown == [2]
