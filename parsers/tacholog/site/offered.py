"""The file that a site offers for each raw log: the log itself, or its redacted copy."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from tacholog.evidence import is_there
from tacholog.privacy.logs import line_classes_file, saved_line_classes, sha256_of, withheld_words
from tacholog.render.tables.logs import OfferedLog
from tacholog.view.results import LogRow, RunRow

_State = tuple[int, ...]


def offered_log(run: RunRow, log: LogRow) -> OfferedLog:
    """Return what a page says of the file that is offered for a log."""
    if run.root is None:
        return OfferedLog(log.sha256 or "", is_readable=False)
    return _offered(run.root, log.log, log.sha256, (_state(f"{run.root}/{log.log}"), _state(line_classes_file(run.root, log.log))))


@lru_cache(maxsize=1 << 14)  # several pages name a log, and it is read once for all of them
def _offered(folder: str, log: str, sha256: str | None, _states: tuple[_State, _State]) -> OfferedLog:
    root = Path(folder)
    shown = saved_line_classes(root, log)
    offered = sha256_of(root, log) or sha256
    return OfferedLog(offered or "", is_there(root, log), withheld_words(shown.withheld) if shown and shown.withheld else "")


def _state(path: str) -> _State:
    """Return what changes when somebody writes to a file; nothing if there is no file that can be asked."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
