"""The tests that formats are held to say clearly what is wrong with a format."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.formats.testing.claims import Allowances
from tacholog.formats.testing.properties import FormatUnderTest

LOG = Path(__file__).parent / "rti/cell-missing.txt"
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
