"""How much a test tries: the gate's amount for each change, or the nightly's (``TACHOLOG_TESTS=nightly``), which finds what is rare."""

from __future__ import annotations

import os
from typing import TypeVar

NIGHTLY = os.environ.get("TACHOLOG_TESTS") == "nightly"
T = TypeVar("T")


def tries(gate: T, nightly: T) -> T:
    """Return how many examples, seeds or rounds a test tries, or which of them."""
    return nightly if NIGHTLY else gate
