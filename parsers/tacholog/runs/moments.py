"""Times in manifests and logs: which texts are valid times, and how times are compared."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache

# Python accepts more forms, such as 20260901 and 2026-W36-2. Pages sort and show the first ten characters, so these characters must be a day.
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:\d{2})?)?", re.ASCII)
_ZONE = re.compile(r"(?:Z|[+-]\d{2}:\d{2})\Z", re.ASCII)
_DIRECTIVES = {
    "%Y": r"(?P<year>[0-9]{4})",
    "%m": r"(?P<month>[0-9]{2})",
    "%d": r"(?P<day>[0-9]{2})",
    "%H": r"(?P<hour>[0-9]{2})",
    "%M": r"(?P<minute>[0-9]{2})",
    "%S": r"(?P<second>[0-9]{2})",
    "%z": r"(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})",
    "%s": r"(?P<epoch>[0-9]{10})",
}


def is_moment(text: str) -> bool:
    """Whether a text is a day, or a day and a time, in a form of ISO 8601 that pages can sort and show."""
    return _MOMENT.fullmatch(text) is not None and in_utc(text) is not None


def has_zone(text: str) -> bool:
    """Whether a time states its time zone; also true for a day without a time, which needs no zone."""
    return "T" not in text.replace(" ", "T") or _ZONE.search(text) is not None


def form_pattern(form: str) -> re.Pattern[str]:
    """Return the regular expression for a time in this form. Each directive stands for a fixed number of digits.

    Args:
        form: a form as for ``strptime``, such as ``%d-%m-%Y_%H-%M-%S``; also ``%s`` for seconds since 1970.

    Raises:
        ValueError: the form has another directive, or does not state a day.
    """
    parts = re.split(r"(%.?)", form)
    if wrong := [part for part in parts[1::2] if part not in _DIRECTIVES]:
        raise ValueError(f"{wrong[0]} is not one of {', '.join(_DIRECTIVES)}")
    if len(set(parts[1::2])) < len(parts[1::2]) or not ({"%s"} <= set(parts) or {"%Y", "%m", "%d"} <= set(parts)):
        raise ValueError("the form must contain %Y, %m and %d (or %s instead of these three), and no directive twice")
    return re.compile("".join(_DIRECTIVES[part] if part.startswith("%") else re.escape(part) for part in parts), re.ASCII)


def in_form(text: str, form: str) -> str | None:
    """Convert a time in another form to ISO 8601; ``None`` if the text does not have this form. If the form has no zone, the result has no zone."""
    match = form_pattern(form).fullmatch(text)
    if match is None:
        return None
    part = match.groupdict()
    if part.get("epoch"):
        return datetime.fromtimestamp(int(part["epoch"]), UTC).isoformat().replace("+00:00", "Z")
    clock = ":".join(part.get(name) or "00" for name in ("hour", "minute", "second")) if part.get("hour") else ""
    zone = part.get("zone") or ""
    zone = f"{zone[:3]}:{zone[-2:]}" if len(zone) > 1 else zone
    moment = f"{part['year']}-{part['month']}-{part['day']}" + (f"T{clock}{zone}" if clock else "")
    return moment if is_moment(moment) else None


def in_utc(text: str) -> datetime | None:
    """Parse a time, and convert it to UTC. A time without a zone is UTC.

    ``None`` if the text is no time, or out of range (``0001-01-01T00:00+14:00``).
    """
    try:
        when = datetime.fromisoformat(text)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


@lru_cache(maxsize=1 << 15)
def instant(text: str | None) -> float | None:
    """Return a time in seconds since 1970, so that times in different zones can be compared; ``None`` if there is no time."""
    when = None if text is None else in_utc(text)
    return None if when is None else when.timestamp()


def latest_instant(texts: Iterable[str | None]) -> float:
    """Return the latest of these times, in seconds since 1970; minus infinity if there is no time."""
    return max((-math.inf if when is None else when for when in map(instant, texts)), default=-math.inf)


def last_day(texts: Iterable[str | None]) -> str:
    """Return the day that the latest of these times states; an empty text if there is no time."""
    dated = [(when, text) for text in texts if text is not None and (when := instant(text)) is not None]
    return max(dated, default=(0.0, ""))[1][:10]
