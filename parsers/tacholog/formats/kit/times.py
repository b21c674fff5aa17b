"""The times that tools and collectors of logs print, as ISO 8601. A time has no zone if the text states none."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_SECONDS = re.compile(r"[0-9]{10}(?:[.,][0-9]{1,9}|[0-9]{3})?")
_OF_C = re.compile(r"[A-Z][a-z]{2} (?P<month>[A-Z][a-z]{2}) (?P<day>[ 0-9][0-9]) (?P<clock>[0-9:]{8})(?P<zone> (?:UTC|GMT))? (?P<year>[0-9]{4})")
_ISO = re.compile(r"(?P<day>[0-9]{4}[-/][0-9]{2}[-/][0-9]{2})[T ](?P<clock>[0-9:]{8}(?:[.,][0-9]{1,9})?) ?(?P<zone>Z|UTC|[+-][0-9]{2}:?[0-9]{2})?")
# By strptime the names would depend on the locale of whoever reads the log.
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_LATEST = 2**34


def of_seconds(seconds: object) -> str | None:
    """Return whole seconds since 1970 as ISO 8601; ``None`` for anything else."""
    if not isinstance(seconds, int) or isinstance(seconds, bool) or not 0 < seconds < _LATEST:
        return None
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}Z"


def as_iso(text: str) -> str | None:
    """Return a time as ISO 8601: one of ISO 8601, of C's ``ctime``, or seconds or milliseconds since 1970.

    ``None`` for any other, such as one that lacks the year: that is not guessed.
    """
    if _SECONDS.fullmatch(text):
        return of_seconds(int(text[:10]))
    try:
        if found := _ISO.fullmatch(text):
            zone = {"UTC": "Z", None: ""}.get(found["zone"], found["zone"])
            return datetime.fromisoformat(f"{found['day'].replace('/', '-')}T{found['clock']}{zone}").isoformat()
        if found := _OF_C.fullmatch(text):
            day = f"{found['year']}-{MONTHS.index(found['month']) + 1:02}-{int(found['day']):02}"
            return datetime.fromisoformat(f"{day}T{found['clock']}{'Z' if found['zone'] else ''}").isoformat()
    except ValueError:
        pass
    return None
