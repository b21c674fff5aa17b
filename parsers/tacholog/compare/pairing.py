"""``ab.toml``: the plan of interleaved pairs and its changes, so that a comparison can state how its pairs were made.

The file is in the folder that holds ``old/`` and ``new/``, and is copied with them.
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
_LEVELS = 3  # folders between a run and the record: the repetition, the variant, the side


class PairSide(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One side: its name, the commit that it was built from, the template of its commands."""

    name: str
    revision: str | None = None
    template: tuple[str, ...] = ()


class PlanEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A change of the plan: when, after how many runs, and how many pairs were planned from then on."""

    what: Literal["interrupted", "resumed", "extended"]
    time: str
    runs_done: int
    pairs: int


class PairRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """``ab.toml``. ``planned_pairs`` was fixed before the first run; ``pairs`` is what is planned now."""

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
        UnreadableInput: it is missing, no TOML, or not of this schema; the message names file and key.
    """
    path = folder / RECORD_FILE
    record = read_evidence_toml(path, PairRecord)
    if record.schema != 1:
        raise UnreadableInput(f"{path}: schema {record.schema} is not known; this version reads schema 1")
    return record


def write_record(folder: Path, record: PairRecord) -> None:
    """Write ``ab.toml``, whole or not at all."""
    part = folder / f".{RECORD_FILE}.part"
    part.write_text(tomli_w.dumps({"schema": record.schema, **msgspec.to_builtins(record)}), encoding="utf-8")
    part.replace(folder / RECORD_FILE)


def plan_warnings(roots: Iterable[str | None]) -> tuple[ComparisonWarning, ...]:
    """The warnings that a comparison of runs in these folders has about their plan: ``ab_unfinished``, ``ab_extended``, ``ab_resumed``.

    Args:
        roots: the folders of both sides' runs; each record counts once.

    Raises:
        UnreadableInput: a record is not of this schema. Files of this name elsewhere than beside the two sides are ignored.
    """
    named = list(dict.fromkeys(root for root in roots if root and root not in _ABOVE_NOTHING))
    # Hundreds of runs are in a few folders, so look for a record above each folder once, not above each run.
    parents = map(Path, dict.fromkeys(map(os.path.dirname, named)))
    candidates = dict.fromkeys(above for parent in parents for above in [parent, *parent.parents][:_LEVELS])
    folders = [above for above in candidates if is_there(above, RECORD_FILE)]
    if not folders:
        return ()
    runs = list(dict.fromkeys(map(Path, named)))
    of_pairs = {folder: [run for run in runs if {folder / side for side in _SIDES} & {*run.parents}] for folder in folders}
    return tuple(warning for folder, compared in of_pairs.items() if compared for warning in _warnings(read_record(folder), compared))


def _warnings(record: PairRecord, compared: Sequence[Path]) -> Iterator[ComparisonWarning]:
    planned = sum(_planned(record, side, compared) for side in {run.parent.parent for run in compared})
    if len(compared) < planned:
        yield ComparisonWarning("ab_unfinished", len(compared), planned)
    happened = {event.what for event in record.events}
    if "extended" in happened:
        yield ComparisonWarning("ab_extended", record.planned_pairs, record.pairs)
    elif "resumed" in happened:
        yield ComparisonWarning("ab_resumed")


def _planned(record: PairRecord, side: Path, compared: Sequence[Path]) -> int:
    """How many runs of a side were planned: all of them, or those of the selected variants."""
    picked = {run.parent for run in compared if run.parent.parent == side}
    there = {file.parent.parent for file in side.glob(f"*/*/{RUN_FILE}")}
    return record.runs // 2 if picked >= there else record.pairs * len(picked)
