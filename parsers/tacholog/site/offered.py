"""The file that a site offers for each raw log: the log itself, or its redacted copy."""

from __future__ import annotations

from pathlib import Path

from tacholog.evidence import is_there
from tacholog.privacy.logs import saved_shown, sha256_of, withheld_words
from tacholog.render.tables.logs import OfferedLog
from tacholog.view.results import LogRow, RunRow


def offered_log(run: RunRow, log: LogRow) -> OfferedLog:
    """Return what a page says of the file that is offered for a log."""
    if run.root is None:
        return OfferedLog(log.sha256 or "", is_readable=False)
    root = Path(run.root)
    shown = saved_shown(root, log.log)
    sha256 = sha256_of(root, log.log) or log.sha256
    return OfferedLog(sha256 or "", is_there(root, log.log), withheld_words(shown.withheld) if shown and shown.withheld else "")
