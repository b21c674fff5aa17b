"""Names that changed since an older release: ``renames.toml`` beside the runs, so that a row keeps its history under its new name.

::

    [transport]
    "shmem" = "shm"            # old name = the name that it has today

Each table is one of `FIELDS`. Numbers, logs and pages keep the names that they were measured under; only comparisons see the new ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.evidence import is_there
from tacholog.runs.manifest import RENAMES_FILE, read_evidence_toml, read_toml
from tacholog.schema.metrics import METRICS
from tacholog.store.frames import Dataset

if TYPE_CHECKING:
    import pandas as pd

FILE = RENAMES_FILE
FIELDS = ("system", "transport", "type", "participant", "metric", "statistic")
Renames = Mapping[str, Mapping[str, str]]


def read_renames(path: Path) -> Renames:
    """Read a file of renames.

    Raises:
        UnreadableInput: it is missing, no TOML, renames something else, or into a metric that there is not; the message names file and key.
    """
    return _checked(path, read_toml(path, dict[str, dict[str, str]]))


def _checked(path: Path, found: dict[str, dict[str, str]]) -> Renames:
    if unknown := sorted(found.keys() - set(FIELDS)):
        raise UnreadableInput(f"{path}: [{unknown[0]}]: only {', '.join(FIELDS)} can be renamed")
    if unknown := sorted(set(found.get("metric", {}).values()) - METRICS.keys()):
        raise UnreadableInput(f"{path}: [metric]: there is no metric {unknown[0]!r}")
    return found


def folder_of_renames(roots: Sequence[Path]) -> Path | None:
    """The first of these folders that has a file of renames; nothing if none has."""
    return next((root for root in roots if is_there(root, FILE)), None)


def find_renames(roots: Sequence[Path]) -> Renames:
    """The renames of the first of these folders that has some; none if none has.

    Raises:
        UnreadableInput: the file cannot be used, see `read_renames`.
    """
    root = folder_of_renames(roots)
    return {} if root is None else _checked(root / FILE, read_evidence_toml(root / FILE, dict[str, dict[str, str]]))


def renamed(dataset: Dataset, renames: Renames) -> Dataset:
    """The dataset with today's names."""
    if not renames:
        return dataset
    runs, results = dataset.runs, dataset.results
    for field, names in renames.items():
        if field == "system":
            runs = _replaced(runs, field, names)
        else:
            results = _replaced(results, field, names)
    return msgspec.structs.replace(dataset, runs=runs, results=results)


def _replaced(frame: pd.DataFrame, field: str, names: Mapping[str, str]) -> pd.DataFrame:
    column = frame[field].astype("string")  # categories would take no new name
    return frame.assign(**{field: column.replace(dict(names)).astype(column.dtype)})
