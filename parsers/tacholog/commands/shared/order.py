"""Say by what releases are ordered, where it is not by time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacholog import terminal

if TYPE_CHECKING:
    import pandas as pd


def mention_order(runs: pd.DataFrame) -> None:
    """Name the newest release of each system whose own releases are ordered by their names: the user may know a newer one."""
    from tacholog.view.history import newest_by_name

    own = runs.loc[~runs["published"].astype(bool), ["system", "release", "start_time"]].astype(object)
    for system, (newest, undated) in newest_by_name(own.where(own.notna(), None).itertuples(index=False, name=None)).items():
        words = f"{newest} counts as the newest release of {system} by its name, because no run of {undated} has a start time"
        terminal.line(f'{words}: start_time = "2026-01-31T12:00:00Z" in run.toml states one', err=True)
