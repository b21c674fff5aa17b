"""The choice of sample logs for tests that run after each change. The nightly run reads all sample logs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def some_of_each(samples: Sequence[Path]) -> list[Path]:
    of_format: dict[Path, list[Path]] = {}
    for path in samples:
        of_format.setdefault(path.parent, []).append(path)
    return [path for paths in of_format.values() for path in paths[::4]]
