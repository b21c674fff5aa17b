"""What Tacholog does about memory."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Blocks of 64 KiB are small enough that the C library takes them from its own heap; the last one stays, so the heap cannot shrink by itself.
FREED = """
import ctypes
from pathlib import Path
from tacholog.garbage import give_back

def resident_mb():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6

blocks = [b"x" * 65536 for _ in range(4000)]
del blocks[:-1]
kept_mb = resident_mb()
give_back()
print(hasattr(ctypes.CDLL(None), "malloc_trim"), kept_mb - resident_mb())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the memory of a process")
def test_freed_memory_goes_back_to_the_system() -> None:
    can, given_mb = subprocess.run([sys.executable, "-c", FREED], check=True, capture_output=True, text=True).stdout.split()

    assert can == "False" or float(given_mb) > 200  # 4000 blocks of 64 KiB are 262 MB.
