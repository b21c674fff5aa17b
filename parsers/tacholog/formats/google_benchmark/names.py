"""The names of benchmarks, as Google Benchmark composes them: ``BM_Send/size:4096/threads:2_mean``.

Source: google/benchmark, src/benchmark_name.cc and src/statistics.cc.
"""

from __future__ import annotations

import re

from tacholog.formats.kit import settings_text

#: The name of an aggregate: the name of the benchmark, then the name of the statistic.
AGGREGATE = re.compile(r"(?P<run>.+)_(?P<aggregate>mean|median|stddev|cv|BigO|RMS)", re.DOTALL)
# An argument whose name means a size in bytes. Other arguments may be anything.
_SIZE = re.compile(
    r"/(?:(?:payload|message|msg|data)_?)?(?:size|bytes|payload|size_bytes)(?:_bytes)?:(?P<bytes>[1-9][0-9]{0,11})(?=/|$)", re.IGNORECASE
)
_NAMELESS = re.compile(r"/([1-9][0-9]{0,11})(?=/|$)")
_MOST_NAMES = 10_000
_ROUNDING = 1e-9  # the relative error of two rates that are printed with 16 digits


def payload_in(name: str, bytes_per_item: float | None = None) -> int | None:
    """Return the message size that an argument of a benchmark states; ``None`` if not exactly one argument can be the size.

    An argument can be the size if its name means a size, such as ``size:64``. Arguments without a name are considered only if no argument has such a
    name. An argument without a name can be the size if it equals ``bytes_per_item``.
    """
    sizes = _SIZE.findall(name)
    if not sizes and bytes_per_item is not None:
        sizes = [size for size in _NAMELESS.findall(name) if abs(bytes_per_item / int(size) - 1) < _ROUNDING]
    return int(sizes[0]) if len(sizes) == 1 else None


def benchmark_settings(name: str, label: str | None = None, bytes_per_item: float | None = None) -> str | None:
    """Return the value of the condition ``settings`` for a benchmark.

    It contains the label of the benchmark, if there is one, and the name of the benchmark. The message size is removed from the name.
    """
    size = payload_in(name, bytes_per_item)
    plain = name if size is None else _SIZE.sub("", name) if _SIZE.search(name) else re.sub(rf"/{size}(?=/|$)", "", name)
    return settings_text({"benchmark": plain, **({"label": label} if label else {})})


class BoundedNames:
    """A set that stores a limited number of names, because a hostile log may contain millions."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def add(self, name: str) -> None:
        """Add a name, unless there are too many."""
        if len(self._names) < _MOST_NAMES:
            self._names.add(name)

    def __contains__(self, name: str) -> bool:
        """Whether the name was added."""
        return name in self._names
