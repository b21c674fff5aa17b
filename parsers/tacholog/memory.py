"""Memory of this process: how often Python searches for unreachable objects, and when freed memory goes back to the system."""

from __future__ import annotations

import atexit
import ctypes
import gc

# Usually 700, which the rows of a few runs, or a page, reach at once. A report of 387 runs makes 460,000 that stay, of which modules are a third.
_OBJECTS_BETWEEN_COLLECTIONS = 500_000
# From `malloc.h` of glibc: below which size of a block, and up to how much at its end, the heap keeps what is freed.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_KEPT_BLOCK_BYTES, _KEPT_BYTES = 32 << 20, 256 << 20  # The first is the most that glibc takes.


def collect_rarely() -> None:
    """Let Python search less often, to the end of the process: a command keeps nearly all that it makes.

    It spent a sixteenth of a report of 387 runs on that search. What nobody can reach grows to some 40 MB in a report of 500 runs.
    """
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, *gc.get_threshold()[1:])


def spare_existing() -> None:
    """Let Python never search what is there by now, such as modules, which stay to the end; and count what is made from here on."""
    gc.freeze()


def exit_without_search() -> None:
    """Let Python not search all objects for unreachable ones when it ends: the system takes the memory of a process back as a whole.

    The search took a tenth of a report. What must happen at the end is done by then: Python calls `atexit` before, and the other handlers first.
    """
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)


def keep_freed_memory() -> None:
    """Let the C library keep freed memory for what is made next, where it is glibc. `return_freed_memory` gives it back.

    By itself it gives large arrays back at once, and the system clears each page of the next ones: a seventh of the time of an export.
    """
    if adjust := getattr(ctypes.CDLL(None), "mallopt", None):
        adjust(_M_MMAP_THRESHOLD, _KEPT_BLOCK_BYTES)
        adjust(_M_TRIM_THRESHOLD, _KEPT_BYTES)


def return_freed_memory() -> None:
    """Give freed memory back to the system, where the C library is glibc.

    It keeps what was freed for the next objects, and those of the next step often do not fit between the objects that stay.
    """
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)
