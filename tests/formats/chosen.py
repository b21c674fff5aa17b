"""The samples that are enough for a test of every change, where the nightly takes all of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T", Path, tuple[str, Path])


def some_of_each(samples: Sequence[T]) -> list[T]:
    """Return the first sample of each format and every fourth behind it. A sample is a path, or a format and a path."""
    of_format: dict[Path, list[T]] = {}
    for sample in samples:
        path = sample if isinstance(sample, Path) else sample[1]
        of_format.setdefault(path.parent, []).append(sample)
    return [sample for found in of_format.values() for sample in found[::4]]
