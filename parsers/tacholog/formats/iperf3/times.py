"""The times that iperf3 prints, as ISO 8601.

``Sat, 21 Nov 2026 01:53:10 GMT`` in JSON and behind ``Time:`` is in UTC. With ``--timestamps`` each line of the text begins with a time of the local
clock, ``Sat Nov 21 01:53:10 2026``, or with what the user's format for strftime makes of it. Only times in ISO 8601 are read of the latter.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime

from tacholog.formats.kit import Line

_TWO = "[0-9]{2}"
STAMP = (
    rf"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{{2}} [ 0-9][0-9] {_TWO}:{_TWO}:{_TWO} [0-9]{{4}}"
    rf"|[0-9]{{4}}-{_TWO}-{_TWO}[T ]{_TWO}:{_TWO}:{_TWO}(?:Z|[+-]{_TWO}:?{_TWO})?) "
)
_STAMP = re.compile(STAMP)
_ISO = re.compile(r"[0-9]{4}-")
# By strptime the names would depend on the locale of whoever reads the log.
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LATEST = 2**34


def of_date(text: str) -> str | None:
    """Return a date of RFC 1123 as ISO 8601; ``None`` if it is none, or if its day of the week is of another date."""
    try:
        moment = parsedate_to_datetime(text)
        is_whole = moment.tzinfo is not None and format_datetime(moment.astimezone(UTC), usegmt=True) == text.replace("UTC", "GMT")
    except (ValueError, OverflowError, IndexError, TypeError):
        return None
    return of_seconds(int(moment.timestamp())) if is_whole else None


def of_seconds(seconds: object) -> str | None:
    """Return whole seconds since 1970 as ISO 8601; ``None`` for anything else."""
    if not isinstance(seconds, int) or isinstance(seconds, bool) or not 0 < seconds < _LATEST:
        return None
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}Z"


def without_time(line: Line) -> tuple[Line, str | None]:
    """Return a line without the time before it, and that time as ISO 8601. It has no zone if the line states none."""
    found = _STAMP.match(f"{line.text} ")  # Before an empty line, a time is the end of its line.
    if not found:
        return line, None
    return line._replace(text=line.text[found.end() :]), _iso(found[0].strip())


def _iso(stamp: str) -> str | None:
    try:
        if _ISO.match(stamp):
            return datetime.fromisoformat(stamp).isoformat()
        _, month, day, clock, year = stamp.split()
        return datetime.fromisoformat(f"{year}-{_MONTHS.index(month) + 1:02}-{int(day):02}T{clock}").isoformat()
    except ValueError:
        return None
