"""Tests that need tools of the system: left out where there are none, but not in CI, which installs them."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

#: Set by .ci/run: a test that leaves itself out for want of a tool has failed.
NOTHING_LEFT_OUT = "TACHOLOG_NOTHING_LEFT_OUT"


def leave_out(reason: str) -> NoReturn:
    """Skip the running test, or fail it where everything has to be there."""
    if os.environ.get(NOTHING_LEFT_OUT):
        pytest.fail(f"left out, although {NOTHING_LEFT_OUT} is set: {reason}")
    pytest.skip(reason)
