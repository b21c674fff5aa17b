"""Tests for a log format, the same ones that Tacholog's own formats are held to. For test code alone: needs ``pip install pytest hypothesis``.

In a test file of your package, two lines are enough::

    from tacholog.formats.testing import format_tests
    TestPingbench = format_tests("pingbench", [Path(__file__).parent / "pingbench-2.1.log"])

They change your sample logs in many ways: lines are cut, lost, repeated, shuffled, torn out, or mixed with those of another log; bytes flip; some
lines get control characters, numbers that no tool prints, or bytes that are not UTF-8. Whatever the log, your format must not raise an exception,
each line must be in exactly one class, what it yields must be valid, and no record may say anything that no record of the unchanged sample says.
Of the samples as they are, each result must name one of ``DEFINITIONS``, and ``STATES``, if it is there, must be what they state.

`Allowances` say what your format may do beyond that, where nobody could tell from the changed log. `fuzz` is a target for coverage-guided fuzzing::

    from tacholog.formats.testing import fuzz
    fuzz("pingbench")    # needs pip install atheris
"""

from tacholog.formats.testing.claims import Allowances, Claim, Distance
from tacholog.formats.testing.fuzzing import fuzz
from tacholog.formats.testing.properties import format_tests

__all__ = ["Allowances", "Claim", "Distance", "format_tests", "fuzz"]
