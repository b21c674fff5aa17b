"""Tests for a log format: the same tests that Tacholog's own formats must pass. Only for test code: needs ``pip install pytest hypothesis``.

In a test file of your package, two lines are enough::

    from tacholog.formats.testing import format_tests
    TestPingbench = format_tests("pingbench", [Path(__file__).parent / "pingbench-2.1.log"])

They change your sample logs in many ways: lines are cut, lost, repeated, shuffled, torn out, or mixed with lines of another log; bytes flip; some
lines get control characters, numbers that no tool prints, or bytes that are not UTF-8. For every log, your format must not raise an exception, each
line must be in exactly one class, the findings must be valid, and no record may state a value that no record of the unchanged sample states. In the
unchanged samples, each result must name one of ``DEFINITIONS``, and ``STATES``, if it exists, must match the conditions that they state. `Allowances`
define what else your format may do if the change cannot be recognised in the changed log. `fuzz` is a target for coverage-guided fuzzing::

    from tacholog.formats.testing import fuzz
    fuzz("pingbench")    # needs pip install atheris
"""

from tacholog.formats.testing.claims import Allowances, Claim, Distance
from tacholog.formats.testing.fuzzing import fuzz
from tacholog.formats.testing.properties import format_tests

__all__ = ["Allowances", "Claim", "Distance", "format_tests", "fuzz"]
