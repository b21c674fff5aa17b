"""The memory of this process: how often Python searches for unreachable objects, and when freed memory is returned to the system."""

from __future__ import annotations

import atexit
import ctypes
import gc
import os
from collections.abc import Callable

# By default, Python searches after 700 new objects. The rows of a few runs, or a single page, have more objects.
# A report of 387 runs keeps 460,000 objects; a third of these objects belong to modules.
_OBJECTS_BETWEEN_COLLECTIONS = 500_000
# The parameters of `mallopt`, from `malloc.h` of glibc. Freed blocks below _KEPT_BLOCK_BYTES stay in the heap. At the end of the heap, up to
# _KEPT_BYTES of free memory are kept.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_KEPT_BLOCK_BYTES, _KEPT_BYTES = 32 << 20, 256 << 20  # glibc accepts no larger block size.


def collect_rarely() -> None:
    """Let Python search for unreachable objects less often. Such a search finds little, because a command keeps nearly all its objects."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, *gc.get_threshold()[1:])


def spare_existing() -> None:
    """Exclude all existing objects, such as modules, from the search for unreachable objects, because they are needed until the process ends.

    Only objects that are created later are searched.
    """
    gc.freeze()


def exit_without_search() -> None:
    """Skip the search for unreachable objects when Python ends: the system releases all memory of a process together.

    Python calls `atexit` handlers before that search, so nothing that must happen at the end is lost.
    """
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)


def keep_freed_memory() -> None:
    """Let glibc keep freed memory for the next objects. `return_freed_memory` gives it back. Other C libraries are left alone.

    By default, glibc returns large arrays immediately, and the system must clear each memory page of the next array.
    """
    if adjust := _of_c_library("mallopt"):
        adjust(_M_MMAP_THRESHOLD, _KEPT_BLOCK_BYTES)
        adjust(_M_TRIM_THRESHOLD, _KEPT_BYTES)


def return_freed_memory() -> None:
    """Return freed memory to the system, if the C library is glibc.

    glibc keeps freed memory for later objects. But the objects of the next step often do not fit into the gaps between the remaining objects.
    """
    if trim := _of_c_library("malloc_trim"):
        trim(0)


def _of_c_library(name: str) -> Callable[..., int] | None:
    """Return ``None`` if the library has no function with this name, or if Python cannot open the library (Windows)."""
    return None if os.name == "nt" else getattr(ctypes.CDLL(None), name, None)
