"""What our own perftest says beside a log that it writes in another tool's words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.formats.reading import Log, read

RESULT = "Length:    32  Packets: 77849677  Packets/s(ave): 2594706  Mbps(ave):   664.2  Lost:     0 (0.00%)\n"


def parsed(tmp_path: Path, text: str) -> Log:
    """The text as a log that was read."""
    path = tmp_path / "some.log"
    path.write_text(text, encoding="utf-8")
    return read(path)


@pytest.mark.parametrize("before", ["", "x", "x..C"])
def test_why_a_run_failed_is_how_it_ended(tmp_path: Path, before: str) -> None:
    log = parsed(tmp_path, RESULT + before + "perftest: connect 127.0.0.1:7420: Connection refused\n")

    assert (log.account.status, log.account.reason) == ("failed", "connect 127.0.0.1:7420: Connection refused")
    assert len(log.records) == 1
    assert not log.unknown


def test_a_note_is_chatter_and_the_run_ended_well(tmp_path: Path) -> None:
    log = parsed(tmp_path, RESULT + "perftest: note: coordinated omission: 64 bytes: 4 % of the time\n")

    assert log.account.status == "ok"
    assert not log.unknown


@pytest.mark.parametrize("line", ["my perftest: it failed", "perftest:", "perftest: "])
def test_what_others_say_stays_unknown(tmp_path: Path, line: str) -> None:
    log = parsed(tmp_path, RESULT + line + "\n")

    assert log.account.status == "ok"
    assert log.unknown == [2]
