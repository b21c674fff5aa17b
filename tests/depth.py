"""How many examples a test tries: few in the gate, and many in the nightly tests (``TACHOLOG_TESTS=nightly``), which search for rare failures."""

from __future__ import annotations

import os
from typing import TypeVar

NIGHTLY = os.environ.get("TACHOLOG_TESTS") == "nightly"
T = TypeVar("T")


def tries(gate: T, nightly: T) -> T:
    """Return ``nightly`` in the nightly tests, and ``gate`` in all other tests."""
    return nightly if NIGHTLY else gate
