"""Payload sizes as people write them (``1 KiB``), and ranges of them (``64B..4KiB``)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from tacholog.errors import TachologError

#: The units of payload sizes and of other amounts of bytes.
SIZES: Mapping[str, float] = MappingProxyType(
    {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1024.0, "MiB": float(1 << 20), "GiB": float(1 << 30)}
)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]+)")
_LARGEST = 2**63 - 1


class SizeRange(NamedTuple):
    """The sizes from ``low`` to ``high``, in bytes."""

    low: int
    high: int

    def holds(self, low: int, high: int | None = None) -> bool:
        """Whether the range contains all sizes from ``low`` to ``high``. Without ``high``, whether it contains the size ``low``."""
        return self.low <= low and (low if high is None else high) <= self.high


def size_bytes(text: str | int) -> int | None:
    """Return a size in bytes; ``None`` if the text is not a size, or not a whole number of bytes."""
    if isinstance(text, int):
        return text if text > 0 else None
    match = _SIZE.fullmatch(text.strip())
    if match is None or match[2] not in SIZES:
        return None
    count = float(match[1]) * SIZES[match[2]]
    return int(count) if 1 <= count <= _LARGEST and count == int(count) else None


def size_ranges(words: Sequence[str], option: str) -> tuple[SizeRange, ...]:
    """Return the ranges of sizes in the values of an option: ``1KiB``, ``1024``, ``64B..4KiB``, ``64B..`` or ``..4KiB``.

    Raises:
        TachologError: a value is neither a size nor a range; the message begins with the option.
    """
    return tuple(_size_range(word, option) for word in words)


def _size_range(word: str, option: str) -> SizeRange:
    first, dots, last = (part.strip() for part in word.partition(".."))
    low = 0 if dots and not first and last else _of_option(first)
    high = low if not dots else _LARGEST if first and not last else _of_option(last)
    if low is None or high is None:
        raise TachologError(f"{option} {word}: write a size such as 1KiB or 1024, or a range such as 64B..4KiB (the units are {', '.join(SIZES)})")
    if low > high:
        raise TachologError(f"{option} {word}: the range ends below its beginning")
    return SizeRange(low, high)


def _of_option(text: str) -> int | None:
    return size_bytes(int(text) if text.isascii() and text.isdecimal() else text)
