"""When a run was made: the times that people and logs write."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache

# Python reads more, such as 20260901 and 2026-W36-2. Pages show and order the beginning of the text, so that it has to be a day.
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:\d{2})?)?", re.ASCII)


def is_moment(text: str) -> bool:
    """Return whether a text is a day, or a day and a time, as ISO 8601 writes it. Anything else would be sorted and shown as a time."""
    return _MOMENT.fullmatch(text) is not None and in_utc(text) is not None


def in_utc(text: str) -> datetime | None:
    """Return a time in UTC, which one without a zone is in; ``None`` if it is no time, or has none there (``0001-01-01T00:00+14:00``)."""
    try:
        when = datetime.fromisoformat(text)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


@lru_cache(maxsize=1 << 15)
def instant(text: str | None) -> float | None:
    """Return the instant of a time in seconds since 1970, by which times of several zones can be ordered; ``None`` if there is none."""
    when = None if text is None else in_utc(text)
    return None if when is None else when.timestamp()


def latest_instant(texts: Iterable[str | None]) -> float:
    """Return the instant of the latest of these times; minus infinity if there is none."""
    return max((-math.inf if when is None else when for when in map(instant, texts)), default=-math.inf)


def last_day(texts: Iterable[str | None]) -> str:
    """Return the day of the latest of these times, as it is stated; nothing if there is none."""
    stated = [(when, text) for text in texts if text is not None and (when := instant(text)) is not None]
    return max(stated, default=(0.0, ""))[1][:10]
