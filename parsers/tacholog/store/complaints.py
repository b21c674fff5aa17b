"""The problems of a dataset as lines of text for the user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tacholog.runs.manifest import RUN_FILE
from tacholog.runs.problems import ALTERED, FORGOTTEN, LOST, UNREADABLE

if TYPE_CHECKING:
    from tacholog.store.frames import Dataset

FILE = "complaints.json"


class Complaints(msgspec.Struct, frozen=True):
    """The problems of a dataset, one line of text each.

    Attributes:
        unread: runs, logs, hosts and folders that could not be read, or are not those that their manifest names.
        others: single lines, and files that no manifest lists.
        altered: how many of ``unread`` are logs that were read, but are not those that their manifest names.
    """

    unread: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    altered: int = 0

    def save(self, folder: Path) -> None:
        """Write them beside a dataset. The dataset may hide names; the person who builds the site needs the true ones."""
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
    places = {run: Path(root) for run, root in roots.items()}
    altered = _unique([row for row in rows if row["kind"] == ALTERED], places, unread=True)
    return Complaints(_unique(rows, places, unread=True), _unique(rows, places, unread=False), len(altered))


def saved_complaints(folder: Path) -> Complaints:
    """Return what `Complaints.save` wrote; nothing if it wrote nothing."""
    path = folder / FILE
    return msgspec.json.decode(path.read_bytes(), type=Complaints) if path.is_file() else Complaints()


def _unique(rows: Iterable[Mapping[Any, Any]], places: Mapping[str, Path], *, unread: bool) -> tuple[str, ...]:
    return tuple(dict.fromkeys(complaint(row, places) for row in rows if (row["kind"] in LOST) == unread))


def complaint(row: Mapping[Any, Any], places: Mapping[str, Path] | None = None) -> str:
    """Return one problem as a line of text: where it is, its kind, the reason, and the text of the line if it is about one.

    Args:
        row: a row of ``problems``.
        places: the folder of each run.
    """
    if not row["run"] or row["kind"] == FORGOTTEN or (row["kind"] == UNREADABLE and row["log"] in ("", RUN_FILE)):
        return str(row["reason"])  # The reason itself names the file or folder, and the key in it.
    place = (places or {}).get(row["run"], Path(row["run"])) / row["log"]
    line = f":{row['line']}" if row["line"] else ""
    text = f": {row['text']!r}" if row["text"] else ""
    return f"{place}{line}: {row['kind']}: {row['reason']}{text}"
