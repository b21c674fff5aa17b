"""How much a test tries: the amount of the gate, or of the nightly (``TACHOLOG_TESTS=nightly``), which finds rare failures."""

from __future__ import annotations

import os
from typing import TypeVar

NIGHTLY = os.environ.get("TACHOLOG_TESTS") == "nightly"
T = TypeVar("T")


def tries(gate: T, nightly: T) -> T:
    """Return how many examples, seeds or rounds a test tries, or which ones."""
    return nightly if NIGHTLY else gate
