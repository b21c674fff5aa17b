"""Tests that need tools of the system: they are skipped if a tool is missing, except in CI, which installs all of them."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

#: Set by .ci/run: a test that is skipped because a tool is missing fails instead.
NOTHING_LEFT_OUT = "TACHOLOG_NOTHING_LEFT_OUT"


def leave_out(reason: str) -> NoReturn:
    """Skip the running test, or fail it if no test may be skipped."""
    if os.environ.get(NOTHING_LEFT_OUT):
        pytest.fail(f"left out, although {NOTHING_LEFT_OUT} is set: {reason}")
    pytest.skip(reason)
