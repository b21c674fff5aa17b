"""``ab.toml``: the plan of interleaved pairs and its changes, so that a comparison can state how its pairs were made.

The file is in the folder that contains ``old/`` and ``new/``, and is copied together with them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import tomli_w

from tacholog.compare.result import ComparisonWarning
from tacholog.errors import UnreadableInput
from tacholog.evidence import is_there
from tacholog.runs.manifest import RUN_FILE, read_evidence_toml

RECORD_FILE = "ab.toml"
_SIDES = ("old", "new")
_ABOVE_NOTHING = (".", "/")
_LEVELS = 3  # the number of folders between a run and the record: for the repetition, the variant and the side


class PairSide(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One side: its name, the commit from which it was built, and the template of its commands."""

    name: str
    revision: str | None = None
    template: tuple[str, ...] = ()


class PlanEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A change of the plan: its time, the number of runs done before it, and the number of pairs that are planned since then."""

    what: Literal["interrupted", "resumed", "extended"]
    time: str
    runs_done: int
    pairs: int


class PairRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """``ab.toml``. ``planned_pairs`` is the plan before the first run; ``pairs`` is the current plan."""

    schema: int = 1
    campaign: str
    campaign_sha256: str
    seed: int
    planned_pairs: Annotated[int, msgspec.Meta(ge=1)]
    pairs: Annotated[int, msgspec.Meta(ge=1)]
    runs: int
    old: PairSide
    new: PairSide
    events: tuple[PlanEvent, ...] = ()


def read_record(folder: Path) -> PairRecord:
    """Read the ``ab.toml`` of a folder.

    Raises:
        UnreadableInput: the file is missing, is not TOML, or does not match the schema; the message names file and key.
    """
    path = folder / RECORD_FILE
    record = read_evidence_toml(path, PairRecord)
    if record.schema != 1:
        raise UnreadableInput(f"{path}: schema {record.schema} is not known; this version reads schema 1")
    return record


def write_record(folder: Path, record: PairRecord) -> None:
    """Write ``ab.toml`` atomically."""
    part = folder / f".{RECORD_FILE}.part"
    part.write_text(tomli_w.dumps({"schema": record.schema, **msgspec.to_builtins(record)}), encoding="utf-8")
    part.replace(folder / RECORD_FILE)


def plan_warnings(roots: Iterable[str | None]) -> tuple[ComparisonWarning, ...]:
    """Return warnings about the plan of compared runs: ``ab_unfinished``, ``ab_extended``, ``ab_resumed``. Each record is considered once.

    Args:
        roots: the folders of the runs of both sides.

    Raises:
        UnreadableInput: an ``ab.toml`` does not match the schema. Only an ``ab.toml`` next to the folders of the two sides is read.
    """
    named = list(dict.fromkeys(root for root in roots if root and root not in _ABOVE_NOTHING))
    # The search for a record starts once at each folder of runs, because hundreds of runs are in a few folders.
    parents = map(Path, dict.fromkeys(map(os.path.dirname, named)))
    candidates = dict.fromkeys(above for parent in parents for above in [parent, *parent.parents][:_LEVELS])
    folders = [above for above in candidates if is_there(above, RECORD_FILE)]
    if not folders:
        return ()
    runs = list(dict.fromkeys(map(Path, named)))
    of_pairs = {folder: [run for run in runs if {folder / side for side in _SIDES} & {*run.parents}] for folder in folders}
    return tuple(warning for folder, compared in of_pairs.items() if compared for warning in _warnings(read_record(folder), compared))


def _warnings(record: PairRecord, compared: Sequence[Path]) -> Iterator[ComparisonWarning]:
    planned = sum(_planned_runs(record, side, compared) for side in {run.parent.parent for run in compared})
    if len(compared) < planned:
        yield ComparisonWarning("ab_unfinished", len(compared), planned)
    happened = {event.what for event in record.events}
    if "extended" in happened:
        yield ComparisonWarning("ab_extended", record.planned_pairs, record.pairs)
    elif "resumed" in happened:
        yield ComparisonWarning("ab_resumed")


def _planned_runs(record: PairRecord, side: Path, compared: Sequence[Path]) -> int:
    """Return how many runs one side of the pairs should have. Only runs of the compared variants are counted."""
    picked = {run.parent for run in compared if run.parent.parent == side}
    there = {file.parent.parent for file in side.glob(f"*/*/{RUN_FILE}")}
    return record.runs // 2 if picked >= there else record.pairs * len(picked)
