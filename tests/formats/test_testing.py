"""The tests that formats are held to say clearly what is wrong with a format."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.formats.testing.claims import Allowances, Distance
from tacholog.formats.testing.messages import ChangedLog, name_distance
from tacholog.formats.testing.properties import FormatUnderTest

HERE = Path(__file__).parent
LOG = HERE / "rti/cell-missing.txt"
SEED = 19  # Moves the line with the reliability of one table to another. The format cannot tell, and needs an allowance for it.


def test_a_failure_says_what_is_wrong_with_which_lines_and_by_which_change_before_it_shows_the_log() -> None:
    subject = FormatUnderTest("rti", [LOG.read_bytes()], [b"another log\n"], Allowances(), ())

    with pytest.raises(AssertionError) as failed:
        subject.check_moved("torn", SEED)

    first, nearest, difference, _, line, *_ = str(failed.value).splitlines()
    assert first == "1 times what the format yields mixes what different records of the sample say:"
    assert nearest == "Compared with the nearest record of the sample:"
    assert difference == "  reliability: 'best-effort' here, 'reliable' there"
    assert line == "  29: b'32'"
    assert failed.value.__notes__[0].startswith(f"The change: lines torn, seed {SEED}\nThe log was:\n")


def test_a_failure_names_the_smallest_distance_with_which_its_log_would_pass() -> None:
    log, seed = (HERE / "ecal/latency-5.3.log").read_bytes(), 8  # "Rec buffer size" of one block, the times of the next.

    def check(distance: Distance) -> None:
        FormatUnderTest("ecal", [log], [], Allowances(may_lack_size=True, moved=distance), ()).check_moved("torn", seed)

    with pytest.raises(AssertionError) as failed:
        check(Distance.NONE)

    words = "\nIf nobody could tell from this log, allow=Allowances(moved=Distance.SIZE) is the least that lets it pass.\nThe record: Record("
    assert words in str(failed.value)
    with pytest.raises(AssertionError):
        check(Distance.CONTEXT)
    check(Distance.SIZE)


def test_a_failure_says_so_where_no_distance_would_do() -> None:
    sample, other = ((HERE / f"qperf/{name}.log").read_bytes() for name in ("tcp-lat-plain", "tcp-lat-v-100"))
    subject = FormatUnderTest("qperf", [sample], [], Allowances(), ())
    changed = ChangedLog(other, subject.events(other), subject.true(sample))

    assert name_distance(changed, "torn", Allowances()) == "No Distance lets this log pass: the record says what no record of the sample says."
