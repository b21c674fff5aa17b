"""Memory of this process: how often Python searches for unreachable objects, and when freed memory goes back to the system."""

from __future__ import annotations

import atexit
import ctypes
import gc

# Python's default is 700, which the rows of a few runs, or one page, reach at once. A report of 387 runs keeps 460,000 objects; a third are of
# modules.
_OBJECTS_BETWEEN_COLLECTIONS = 500_000
# From `malloc.h` of glibc: the heap keeps freed blocks below the first size, and free memory at its end up to the second.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_KEPT_BLOCK_BYTES, _KEPT_BYTES = 32 << 20, 256 << 20  # glibc accepts no larger value for the first parameter.


def collect_rarely() -> None:
    """Let Python search for unreachable objects less often until the process ends: a command keeps nearly all objects that it makes."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, *gc.get_threshold()[1:])


def spare_existing() -> None:
    """Exempt all existing objects, such as modules, from the search, because they stay to the end. Count only objects made from now on."""
    gc.freeze()


def exit_without_search() -> None:
    """Skip the search for unreachable objects when Python ends: the system takes back the memory of a process as a whole.

    Python calls `atexit` handlers before that search, so nothing that must happen at the end is lost.
    """
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)


def keep_freed_memory() -> None:
    """Let glibc keep freed memory for the next objects. `return_freed_memory` gives it back. Other C libraries are left alone.

    By default, glibc gives large arrays back at once, and the system must clear each memory page of the next array.
    """
    if adjust := getattr(ctypes.CDLL(None), "mallopt", None):
        adjust(_M_MMAP_THRESHOLD, _KEPT_BLOCK_BYTES)
        adjust(_M_TRIM_THRESHOLD, _KEPT_BYTES)


def return_freed_memory() -> None:
    """Give freed memory back to the system, if the C library is glibc.

    glibc keeps freed memory for later objects, but those of the next step often do not fit into the gaps between the objects that stay.
    """
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)
