"""Receipts: what `tacholog verify` found, and the checks of a folder of runs, where each log has the digest that its manifest states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from tacholog.store.cache import Cache
from tacholog.store.frames import Dataset
from tacholog.store.load import load, with_hosts_above
from tacholog.store.logs import Progress
from tacholog.store.pool import Work

_WRONG = ("altered", "unreadable", "contradicted")
_REASONS = 3  # in one line; check lists them all


class Mismatch(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A difference between the site and its logs: the position, what is shown there, and what the log says."""

    place: str
    reason: str
    shown: str | None = None
    log: str | None = None


class Receipt(msgspec.Struct, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """The result of a verification. ``readers`` counts the logs by the format that they were read in. ``shown`` counts numbers on ``pages``.

    ``notes`` say what could not be checked.
    """

    schema_: str = "receipt/1"
    kind: str
    path: str
    logs: int
    readers: dict[str, int]
    numbers: int
    pages: int = 0
    shown: int = 0
    findings: tuple[Mismatch, ...] = ()
    notes: tuple[str, ...] = ()


def verify_data(root: Path, progress: Progress | None = None) -> Receipt:
    """Read every log of a folder of runs again, and compare its SHA-256 with its manifest.

    Args:
        root: the folder.
        progress: called with the log that is being read, and the number of bytes that are read next.

    Raises:
        UnreadableInput: there is no such folder.
    """
    data = with_hosts_above(load([root], None, progress, work=Work(cache=Cache(None))), root)  # Nothing that was read before counts.
    wrong = data.problems[data.problems["kind"].isin(_WRONG)].to_dict("records")
    findings = [Mismatch(place="/".join(filter(None, (str(row["run"]), str(row["log"])))), reason=str(row["reason"])) for row in wrong]
    return Receipt(
        kind="data", path=str(root), logs=len(data.logs), readers=readers_of(data), numbers=len(data.results), findings=tuple(findings), notes=()
    )


def readers_of(data: Dataset) -> dict[str, int]:
    """How many logs each format has read."""
    return dict(sorted(Counter(str(name) for name in data.logs["format"].dropna()).items()))


def sentence(receipt: Receipt) -> str:
    """Return the result in one line."""
    readers = ", ".join(f"{name} {count}" for name, count in receipt.readers.items())
    what = f"{receipt.numbers} numbers of {receipt.logs} logs were read again ({readers or 'no reader'})"
    if receipt.kind == "site":
        what += f", and {receipt.shown} numbers on {receipt.pages} pages compared with them"
    count = len(receipt.findings)
    return f"{receipt.path}: {what}: {'all agree' if not count else f'{count} do not agree'}"


def text(receipt: Receipt, limit: int) -> str:
    """Return the receipt as text: the result, what could not be checked, and at most ``limit`` findings; 0: all."""
    lines = [sentence(receipt), *(f"! {note}" for note in receipt.notes)]
    listed: Sequence[Mismatch] = receipt.findings[: limit or None]
    lines += [f"  {_finding(finding)}" for finding in listed]
    unlisted = len(receipt.findings) - len(listed)
    return "\n".join([*lines, *([f"  ... and {unlisted} more (--limit 0 lists all)"] if unlisted else [])]) + "\n"


def reasons(receipt: Receipt) -> str:
    """Return the reasons of the first findings in one line. That of a run that could not be read names its file."""
    unlisted = len(receipt.findings) - _REASONS
    return "; ".join(finding.reason for finding in receipt.findings[:_REASONS]) + (f"; and {unlisted} more" if unlisted > 0 else "")


def _finding(finding: Mismatch) -> str:
    parts: Iterable[str | None] = (finding.shown and f"shown {finding.shown}", finding.log and f"log {finding.log}")
    values = ", ".join(part for part in parts if part)
    return f"{finding.place}: {finding.reason}{f' ({values})' if values else ''}"
