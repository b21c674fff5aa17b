"""Tacholog's control of its memory."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Blocks of 64 KiB are so small that the C library takes them from its heap. The script keeps the last block, so the heap cannot shrink by itself.
FREED = """
import ctypes
from pathlib import Path
from tacholog.memory import return_freed_memory

def resident_mb():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6

blocks = [b"x" * 65536 for _ in range(4000)]
del blocks[:-1]
kept_mb = resident_mb()
return_freed_memory()
print(hasattr(ctypes.CDLL(None), "malloc_trim"), kept_mb - resident_mb())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the memory of a process")
def test_freed_memory_is_returned_to_the_system() -> None:
    can, given_mb = subprocess.run([sys.executable, "-c", FREED], check=True, capture_output=True, text=True).stdout.split()

    assert can == "False" or float(given_mb) > 200  # 4000 blocks of 64 KiB are 262 MB.


# This script makes four arrays in each round, and frees their memory at the end of the round. The arrays are as large as the arrays for a long log.
# Without ``keep_freed_memory``, the C library would keep at most the memory of two arrays for the next round.
MADE_AGAIN = """
import ctypes
import resource
from tacholog.memory import keep_freed_memory

keep_freed_memory()
for _ in range(10):
    arrays = [bytearray(30_000_000) for _ in range(4)]
    del arrays
faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
print(hasattr(ctypes.CDLL(None), "mallopt"), faults * resource.getpagesize() / 1e6)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the faults of a process")
def test_freed_memory_is_used_again() -> None:
    can, made_mb = subprocess.run([sys.executable, "-c", MADE_AGAIN], check=True, capture_output=True, text=True).stdout.split()

    assert (
        can == "False" or float(made_mb) < 300
    )  # Python needs some memory. Arrays of 120 MB are made ten times: 1200 MB if freed memory were not used again.


SEARCHES = """
import gc
from tacholog.memory import collect_rarely, spare_existing

found = []
gc.callbacks.append(lambda phase, about: found.append(phase) if phase == "stop" else None)
collect_rarely()
modules = [[] for _ in range(300_000)]
{between}
rows = [[] for _ in range(300_000)]
print(len(found))
"""


@pytest.mark.parametrize(("between", "searches"), [("spare_existing()", 0), ("", 1)])
def test_garbage_collector_does_not_search_older_objects_again(between: str, searches: int) -> None:
    done = subprocess.run([sys.executable, "-c", SEARCHES.format(between=between)], check=True, capture_output=True, text=True)

    assert int(done.stdout) == searches


# At the end of a command, this script counts the objects that the garbage collector would search. Frozen objects are not searched.
AT_THE_END = """
import atexit
import gc
from tacholog.cli import main

# Called last. A frozen object is not searched.
atexit.register(lambda: print("others:", len([found for found in gc.get_objects() if isinstance(found, dict)])))
main(["formats"])
"""


def test_garbage_collector_does_not_search_objects_when_a_command_ends() -> None:
    done = subprocess.run([sys.executable, "-c", AT_THE_END], check=True, capture_output=True, text=True)

    assert int(done.stdout.rpartition("others: ")[2]) < 100  # Without `gc.freeze`, thousands of objects are searched.
