"""What a build found out about the series of a site, kept for the next one: one run more makes only the cells of its own series again."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tacholog.site.output.memory import keep_value, kept_value
from tacholog.view.known_series import KeptSeries, KnownSeries, remember
from tacholog.view.views import View


class _Kept(msgspec.Struct, frozen=True):
    """What is known of series, and the digest of the code that found it out."""

    code: str
    series: dict[str, KeptSeries]


class SeriesMemory:
    """The file with what is known of series."""

    def __init__(self, memory: Path, code: str, view: View) -> None:
        """Note what is known of the series of a view. ``memory`` is the file, ``code`` the digest of the code: another code knows nothing."""
        kept = kept_value(memory, _Kept)
        self._memory, self._code = memory, code
        self._before = kept.series if kept and kept.code == code else {}
        self._known = KnownSeries(self._before)
        remember(view, self._known)

    def save(self) -> None:
        """Keep what is known now, and no longer hold it in memory."""
        now = self._known.now()
        if now is not self._before:
            keep_value(self._memory, _Kept(self._code, dict(now)))
        self._before = {}
        self._known.forget()
