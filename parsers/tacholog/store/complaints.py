"""Write the problems of a dataset as lines of text, and find copied logs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tacholog.runs.problems import ALTERED, COINCIDENCE, LOST, LogIdentity, complaint, copies
from tacholog.store.frames import Dataset, Row, frame

FILE = "complaints.json"


class Complaints(msgspec.Struct, frozen=True):
    """The problems of a dataset. Each problem is one line of text.

    Attributes:
        unread: problems of runs, logs, hosts and folders that could not be read, or that differ from their manifest.
        others: problems of single lines, and of files that no manifest lists.
        altered: the number of problems in ``unread`` that are about logs that differ from their manifest.
    """

    unread: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    altered: int = 0

    def save(self, folder: Path) -> None:
        """Write the complaints to the folder of a dataset. They contain the true names, which the user who builds the site needs.

        The dataset itself may hide these names.
        """
        folder.mkdir(parents=True, exist_ok=True)
        (folder / FILE).write_bytes(msgspec.json.encode(self))


def complaints(data: Dataset) -> Complaints:
    """Return the problems of a dataset that was read from logs."""
    rows = data.problems.to_dict("records")
    return complaints_of(rows, dict(zip(data.runs["run"], data.runs["root"], strict=True))) if rows else Complaints()


def complaints_of(rows: Sequence[Mapping[Any, Any]], roots: Mapping[str, str]) -> Complaints:
    """Return problems of runs that were read from logs.

    Args:
        rows: rows of ``problems``.
        roots: the folder of each run.
    """
    folders = {run: Path(root) for run, root in roots.items()}
    altered = _unique([row for row in rows if row["kind"] == ALTERED], folders, unread=True)
    return Complaints(_unique(rows, folders, unread=True), _unique(rows, folders, unread=False), len(altered))


def saved_complaints(folder: Path) -> Complaints:
    """Return the complaints that `Complaints.save` wrote; no complaints if there is no such file."""
    path = folder / FILE
    return msgspec.json.decode(path.read_bytes(), type=Complaints) if path.is_file() else Complaints()


def _unique(rows: Iterable[Mapping[Any, Any]], folders: Mapping[str, Path], *, unread: bool) -> tuple[str, ...]:
    return tuple(dict.fromkeys(complaint(row, folders) for row in rows if (row["kind"] in LOST) == unread))


def with_copies(data: Dataset) -> Dataset:
    """Return the dataset with a problem for each copied log. A log of an own run is a copy if an earlier run has a log with the same text.

    The problem names the earlier run, so the dataset must contain only runs whose names may be shown. Logs with one or two numbers are ignored,
    because they may be equal by chance.
    """
    additional = _copies(data)
    if not additional:
        return data
    rows = [{str(name): value for name, value in row.items()} for row in data.problems.to_dict("records")]
    return msgspec.structs.replace(data, problems=frame("problems", [*rows, *additional]))


def _copies(data: Dataset) -> list[Row]:
    own_runs = data.runs.loc[~data.runs["published"].astype(bool), "run"]
    texts = data.logs["text_sha256"].fillna(data.logs["sha256"])  # Datasets of older versions have only `sha256`.
    logs = data.logs.assign(text_sha256=texts)[data.logs["run"].isin(own_runs) & texts.notna()]
    logs = logs[logs.duplicated("text_sha256", keep=False)]
    if logs.empty:
        return []
    numbers = data.results.loc[data.results["run"].isin(logs["run"]), ["run", "log"]].value_counts().to_dict()
    roots = dict(data.runs[["run", "root"]].astype(str).to_numpy().tolist())
    rows = logs[["run", "log", "sha256", "text_sha256"]].astype(str).to_numpy().tolist()
    return [*copies(LogIdentity(run, roots[run], log, *digests) for run, log, *digests in rows if numbers.get((run, log), 0) >= COINCIDENCE)]
