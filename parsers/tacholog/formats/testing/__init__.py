"""Tests for a log format: Tacholog's own formats must pass the same tests. Only for test code: needs ``pip install pytest hypothesis``.

In a test file of your package, two lines are enough::

    from tacholog.formats.testing import format_tests
    TestPingbench = format_tests("pingbench", [Path(__file__).parent / "pingbench-2.1.log"])

The tests change your sample logs in many ways: lines are cut, lost, repeated, shuffled, or mixed with lines of another log; a part of the log is left
out; bytes flip; some lines get control characters, numbers that no tool prints, or bytes that are not UTF-8. For every log, your format must not
raise an exception, each line must be in exactly one class, the findings must be valid, and no record may state a value that no record of the
unchanged sample states. In the unchanged samples, each result must name one of ``DEFINITIONS``, and ``STATES``, if it exists, must match the
conditions that the results state. `Allowances` define what else your format may do if nobody can recognise a change in the changed log. `fuzz` is a
target for coverage-guided fuzzing::

    from tacholog.formats.testing import fuzz
    fuzz("pingbench")    # needs pip install atheris
"""

from tacholog.formats.testing.claims import Allowances, Claim, Distance
from tacholog.formats.testing.fuzzing import fuzz
from tacholog.formats.testing.properties import format_tests

__all__ = ["Allowances", "Claim", "Distance", "format_tests", "fuzz"]
