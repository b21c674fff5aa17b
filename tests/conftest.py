"""What all tests share: where the checkout is, and perftest if it has been built."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# A shell's background job ignores Ctrl-C, and so would all programs that the tests start and interrupt.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The root of the source tree."""
    return ROOT


@pytest.fixture(scope="session")
def perftest() -> Path:
    """The built C++ core; tests that ask for it carry the marker ``core``."""
    built = ROOT / "build/bench/release/perftest"
    if not built.is_file():
        pytest.skip("perftest is not built (nox -s core; needs a C++ compiler)")
    return built
