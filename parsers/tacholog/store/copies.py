"""Logs of own runs that are copies of each other: one measurement counts as two, and makes intervals over runs too narrow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tacholog.runs.problems import COPIED, problem
from tacholog.store.frames import Dataset, frame
from tacholog.store.results import COINCIDENCE

if TYPE_CHECKING:
    from tacholog.store.frames import Row


def with_copies(data: Dataset) -> Dataset:
    """Return the dataset with a problem for each log of an own run whose text is that of a log of a run before it.

    The problem names that run, so the dataset should have only those that may be named. Logs with a number or two may be equal by chance.
    """
    found = _copies(data)
    if not found:
        return data
    rows = [{str(name): value for name, value in row.items()} for row in data.problems.to_dict("records")]
    return msgspec.structs.replace(data, problems=frame("problems", [*rows, *found]))


def _copies(data: Dataset) -> list[Row]:
    own = data.runs.loc[~data.runs["published"].astype(bool), "run"]
    texts = data.logs["text_sha256"].fillna(data.logs["sha256"])  # A dataset that an older version saved has only the latter.
    logs = data.logs.assign(text_sha256=texts)[data.logs["run"].isin(own) & texts.notna()]
    logs = logs[logs.duplicated("text_sha256", keep=False)]
    if logs.empty:
        return []
    numbers = data.results.loc[data.results["run"].isin(logs["run"]), ["run", "log"]].value_counts().to_dict()
    roots = dict(data.runs[["run", "root"]].astype(str).to_numpy().tolist())
    first: dict[str, tuple[str, str, str]] = {}
    found: list[Row] = []
    for run, log, text, stored in logs[["run", "log", "text_sha256", "sha256"]].astype(str).to_numpy().tolist():
        if numbers.get((run, log), 0) < COINCIDENCE:
            continue
        other, file, stored_there = first.setdefault(text, (run, log, stored))
        if other != run:
            name = other if Path(roots[other], file) == Path(other) else f"{other}/{file}"  # a log without run.toml is a run of its own name
            what = "bytes" if stored == stored_there else "text"  # one may be compressed
            reason = f"the same {what} as {name}: a copy is no second measurement, and makes intervals over runs too narrow"
            found.append(problem(run, log, 0, COPIED, "", reason))
    return found
