"""The rows of a diff that do not compare, in one sentence: how many there are, and how many for which reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec.structs import replace

from tacholog.compare.comparable import CODES, MACHINE
from tacholog.compare.result import Difference, DiffRow, Loss, Report, RowKey, Untested, Verdict
from tacholog.render.diff.meanings import REASONS
from tacholog.view.refusals import condition_title

APART: tuple[Verdict, ...] = ("not_comparable", "removed", "added")
_OF_MACHINE = frozenset({"host", *(CODES[name] for name in MACHINE)})
_MOST_REASONS = 4
_OTHER = "for other reasons"
# A field of a key, and what it is called.
_ONLY = (("transport", "transport"), ("metric", "metric"), ("payload_bytes", "size"), ("participant", "participant"))

# What a condition is called after "different", where its title does not read well there.
_NOUNS = {
    "latency_of": "contents (bytes, or a reference to them)",
    "payload_touched": "use of the payload",
    "keyed": "keys",
    "bytes_moved": "counting of bytes",
}


def apart_words(report: Report) -> str:
    """Return how many rows do not compare and why: ``132 rows do not compare: 96 on another machine, 36 with a size that only 0.2.0 has``.

    Each row counts once. If the machine differs, that is its reason: other conditions differ because of it. Return nothing if all rows compare.
    """
    total = sum(report.counts[verdict] for verdict in APART)
    if not total:
        return ""
    sides = _Sides(report)
    counted = Counter(sides.reason(row) for row in report.rows if row.verdict in APART)
    first = counted.most_common(_MOST_REASONS)
    others = total - sum(count for _, count in first)
    named = [f"{count} {reason}" for reason, count in first] + ([f"{others} {_OTHER}"] if others else [])
    return f"{total} row{'s do' if total > 1 else ' does'} not compare: {', '.join(named)}"


class _Sides:
    """What each side has of a report: its transports, metrics, and rows without their sizes.

    What is only shown, or compared as loss, is there too: a transport that lost everything has no row that could be tested.
    """

    def __init__(self, report: Report) -> None:
        self.names = {"removed": report.old.name, "added": report.new.name}
        others: list[Loss | Untested] = [*report.losses, *report.untested]
        there = {
            "removed": [*(row.new_key or row.key for row in report.rows if row.new), *(one.key for one in others if one.new is not None)],
            "added": [*(row.key for row in report.rows if row.old), *(one.key for one in others if one.old is not None)],
        }
        self.values = {verdict: {field: {getattr(key, field) for key in keys} for field, _ in _ONLY} for verdict, keys in there.items()}
        self.unsized = {verdict: {_without_size(key) for key in keys} for verdict, keys in there.items()}

    def reason(self, row: DiffRow) -> str:
        """Return why a row does not compare, so that it reads well after a count."""
        if row.verdict == "not_comparable":
            return _conditions(row.differences) or REASONS.get(next(iter(row.reasons), ""), _OTHER)
        if row.differences:
            return _conditions(row.differences)
        for field, word in _ONLY:
            value = getattr(row.key, field)
            if value is not None and (value not in self.values[row.verdict][field] or (field == "payload_bytes" and self._is_only_size(row))):
                return f"with a {word} that only {self.names[row.verdict]} has"
        return f"that only {self.names[row.verdict]} has"

    def _is_only_size(self, row: DiffRow) -> bool:
        return _without_size(row.key) in self.unsized[row.verdict]


def _without_size(key: RowKey) -> RowKey:
    return replace(key, payload_bytes=None, payload_bytes_high=None)


def _conditions(differences: Iterable[Difference]) -> str:
    """Return in words which conditions differ, or are not stated on a side.

    Two machines that are known to have the same hardware are a reason only where nothing else differs: other rows are compared across them.
    """
    differences = list(differences)
    alike = [one for one in differences if one.field == "host" and None not in (one.old, one.new)]
    rest = [one for one in differences if one not in alike]
    machine = [one for one in rest if one.field in _OF_MACHINE] or ([] if rest else alike)
    if machine:
        return "on a machine that is not stated" if all(None in (one.old, one.new) for one in machine) else "on another machine"
    names = [(_NOUNS.get(one.field) or condition_title(one), None in (one.old, one.new)) for one in rest]
    words = " and ".join(dict.fromkeys(f"{name} not stated" if unknown else f"different {name}" for name, unknown in names))
    return f"with {words}" if words else ""
