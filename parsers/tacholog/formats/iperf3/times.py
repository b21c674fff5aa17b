"""The times that iperf3 prints, as ISO 8601.

``Sat, 21 Nov 2026 01:53:10 GMT`` in JSON and behind ``Time:`` is in UTC. With ``--timestamps`` a time stands before each line: see `Line.time`.
"""

from __future__ import annotations

from datetime import UTC
from email.utils import format_datetime, parsedate_to_datetime

from tacholog.formats.kit import of_seconds


def of_date(text: str) -> str | None:
    """Return a date of RFC 1123 as ISO 8601; ``None`` if it is none, or if its day of the week is of another date."""
    try:
        moment = parsedate_to_datetime(text)
        is_whole = moment.tzinfo is not None and format_datetime(moment.astimezone(UTC), usegmt=True) == text.replace("UTC", "GMT")
    except (ValueError, OverflowError, IndexError, TypeError):
        return None
    return of_seconds(int(moment.timestamp())) if is_whole else None
