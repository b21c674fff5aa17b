"""How much a test tries: a little in the gate, and more in the nightly tests (``TACHOLOG_TESTS=nightly``), which find rare failures."""

from __future__ import annotations

import os
from typing import TypeVar

NIGHTLY = os.environ.get("TACHOLOG_TESTS") == "nightly"
T = TypeVar("T")


def tries(gate: T, nightly: T) -> T:
    """Return the value for the gate or the value for the nightly: a number of examples, seeds or rounds, or a list of them."""
    return nightly if NIGHTLY else gate
