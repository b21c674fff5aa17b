"""The statistics of Fast RTPS's tables, in the order in which they stand there. A group of a pattern is called so too: it has no dots.

Source: the printers of LatencyTest and VideoTest, see tacholog.formats.fastrtps.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

STATISTICS = ("std", "mean", "min", "p50", "p90", "p99", "p99_99", "max")
ORDERED = ("min", "p50", "p90", "p99", "p99_99", "max")


def known_in_order(cells: Mapping[str, str]) -> list[float]:
    """Return minimum, percentiles and maximum as far as a row has them."""
    return [float(cells[name]) for name in ORDERED if name in cells and not cells[name].endswith("nan")]


def is_ascending(cells: Mapping[str, str]) -> bool:
    """Whether minimum, percentiles and maximum are in order."""
    return all(low <= high for low, high in pairwise(known_in_order(cells)))
