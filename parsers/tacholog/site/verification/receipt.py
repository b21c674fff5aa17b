"""Receipts: the findings of `tacholog verify`, and the check of a folder of runs, where each log must have the digest in its manifest."""

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
_REASONS = 3  # the most reasons in one line; `tacholog check` lists all of them


class Mismatch(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A difference between the site and its logs: the position, the value on the site, and the value in the log."""

    place: str
    reason: str
    shown: str | None = None
    log: str | None = None


class Receipt(msgspec.Struct, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """The result of a verification. ``readers`` has the number of logs by format. ``shown`` is the number of compared numbers on ``pages``.

    ``notes`` state what could not be checked.
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


def verify_data(root: Path, progress: Progress = lambda _log, _count: None) -> Receipt:
    """Read every log of a folder of runs again, and return a receipt.

    The receipt lists the logs whose SHA-256 is not the one in the manifest. It also lists files that cannot be read, and contradictions between a log
    and its manifest.

    Args:
        root: the folder.
        progress: a function that is called with the log and the number of bytes that are read next.

    Raises:
        UnreadableInput: there is no such folder.
    """
    data = with_hosts_above(load([root], work=Work(cache=Cache(None), text_read=progress)), root)  # The cache is not used.
    wrong = data.problems[data.problems["kind"].isin(_WRONG)].to_dict("records")
    findings = [Mismatch(place="/".join(filter(None, (str(row["run"]), str(row["log"])))), reason=str(row["reason"])) for row in wrong]
    return Receipt(
        kind="data", path=str(root), logs=len(data.logs), readers=readers_of(data), numbers=len(data.results), findings=tuple(findings), notes=()
    )


def readers_of(data: Dataset) -> dict[str, int]:
    """Return the number of logs that were read in each format."""
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
    """Return the reasons of the first findings in one line. The reason for an unreadable run contains the name of its file."""
    unlisted = len(receipt.findings) - _REASONS
    return "; ".join(finding.reason for finding in receipt.findings[:_REASONS]) + (f"; and {unlisted} more" if unlisted > 0 else "")


def _finding(finding: Mismatch) -> str:
    parts: Iterable[str | None] = (finding.shown and f"shown {finding.shown}", finding.log and f"log {finding.log}")
    values = ", ".join(part for part in parts if part)
    return f"{finding.place}: {finding.reason}{f' ({values})' if values else ''}"
