"""How often Python searches for unreachable objects."""

from __future__ import annotations

import gc
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
