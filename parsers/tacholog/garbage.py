"""How often Python searches for unreachable objects, and when freed memory goes back to the system."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_OBJECTS_BETWEEN_COLLECTIONS = 50_000  # Usually 700, which the rows of a few runs, or a page, reach at once.


@contextmanager
def rare_collections() -> Iterator[None]:
    """Let Python search less often: a command keeps nearly all that it makes, and spent up to a tenth of its time on that search."""
    usual = gc.get_threshold()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def give_back() -> None:
    """Give freed memory back to the system, where the C library is glibc.

    It keeps what was freed for the next objects, and those of the next step often do not fit between the objects that stay.
    """
    if arrow := sys.modules.get("pyarrow"):
        arrow.default_memory_pool().release_unused()
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)
