"""How much a test tries: a little in the gate, and more in the nightly tests (``TACHOLOG_TESTS=nightly``), which find rare failures."""

from __future__ import annotations

import os
from typing import TypeVar

NIGHTLY = os.environ.get("TACHOLOG_TESTS") == "nightly"
T = TypeVar("T")


def tries(gate: T, nightly: T) -> T:
    """Return ``nightly`` in the nightly tests, and ``gate`` in all other tests. The values are, for example, numbers of examples."""
    return nightly if NIGHTLY else gate
