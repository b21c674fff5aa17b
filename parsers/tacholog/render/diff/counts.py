"""How many rows of a diff have which verdict, and why others do not compare: for the headline, the buttons of a page and the tables of releases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec
from msgspec.structs import replace

from tacholog.compare.comparable import CODES, MACHINE
from tacholog.compare.result import OPEN, VERDICTS, Difference, DiffRow, Loss, Report, RowKey, Untested, Verdict
from tacholog.render.diff.meanings import MEANINGS, REASONS, UNTESTED
from tacholog.render.diff.words import share, toward, way_of
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


_JUDGED: tuple[Verdict, ...] = ("worse", "better", "no_change", *OPEN)
_UNPROVEN: tuple[Verdict, ...] = (*UNTESTED, "insufficient")


class Count(msgspec.Struct, frozen=True):
    """How many rows have a verdict, and which way they point. ``place`` is where a page lists them: the verdict, or ``loss``."""

    place: str
    number: int
    title: str
    ways: str = ""

    @property
    def style(self) -> str:
        """The class on a page: a count of none has no colour that alarms."""
        return self.place if self.number else f"{self.place} none"

    @property
    def words(self) -> str:
        """The title with the ways: ``Differ, not proven: 4 toward worse, 60 toward better``."""
        return f"{self.title}: {self.ways}" if self.ways else self.title


def has_tests(counts: Mapping[str, int]) -> bool:
    """Whether a test decided any row."""
    return any(counts[verdict] for verdict in _JUDGED)


def counts(report: Report) -> list[Count]:
    """How many rows got each verdict, worst first. That no row is worse is said where tests looked for it: otherwise nobody knows that they did."""
    looked = has_tests(report.counts)
    shown = [verdict for verdict in VERDICTS if report.counts[verdict] or (verdict == "worse" and looked)]
    return [Count(verdict, report.counts[verdict], MEANINGS[verdict].title, ways(report) if verdict == UNTESTED[0] else "") for verdict in shown]


def buttons(report: Report) -> list[Count]:
    """The counts of the rows that compare, and of those in which messages were lost, if any of them compares."""
    found = [count for count in counts(report) if count.place not in APART]
    is_compared = any(loss.verdict not in APART for loss in report.losses)
    return [*found, Count("loss", len(report.losses), "Loss", loss_counts(report))] if is_compared else found


def ways(report: Report) -> str:
    """How many of the rows that differ without proof point to worse, and how many to better."""
    found = [toward(row) for row in report.rows if row.verdict == UNTESTED[0]]
    return ", ".join(f"{found.count(way)} {way}" for way in ("toward worse", "toward better") if way in found)


def headline(report: Report) -> str:
    """The result in one line."""
    if report.warns("same_runs"):
        return "the same runs"
    found = [f"{one.number} {one.title[0].lower()}{one.title[1:]}{f' ({one.ways})' if one.ways else ''}" for one in counts(report)]
    lost = f"loss: {loss_counts(report)}" if report.losses else ""
    return "; ".join(part for part in (", ".join(found), lost) if part) or "nothing to compare"


def loss_counts(report: Report) -> str:
    """How many rows in which something was lost got each verdict, worst first; of those without a test, how many lost more now and how many less."""
    found = [_counted(loss.verdict for loss in report.losses if loss.verdict not in _UNPROVEN)]
    unproven = [loss for loss in report.losses if loss.verdict in _UNPROVEN]
    if unproven:
        counted = ((len(members), way) for way, members in _by_way(unproven).items())
        found.append(f"{', '.join(f'{count} {way}' for count, way in counted if count)}, not proven")
    return ", ".join(part for part in found if part)


def _counted(verdicts: Iterable[Verdict]) -> str:
    given = list(verdicts)
    return ", ".join(f"{given.count(verdict)} {MEANINGS[verdict].title.lower()}" for verdict in VERDICTS if verdict in given)


def loss_words(report: Report) -> str:
    """The rows in which messages were lost, as a part of a sentence: how many lost more now and how much, or the verdicts that tests gave."""
    total = len(report.losses)
    unproven = [loss for loss in report.losses if loss.verdict in _UNPROVEN]
    lost = f"messages were lost in {_rows(total)}"
    if any(loss.verdict in _JUDGED for loss in report.losses):
        return f"{lost} ({loss_counts(report)})"
    if not unproven:
        apart = sum(loss.verdict in APART for loss in report.losses)
        return f"{lost}, which {'does' if total == 1 else 'do'} not compare" if apart == total else lost
    found = _by_way(unproven)
    of = f" of {_rows(len(unproven))}"
    parts = [f"{way} in {len(members)}{'' if place else of}" for place, (way, members) in enumerate((way, one) for way, one in found.items() if one)]
    if found["higher"]:
        worst = max(found["higher"], key=lambda loss: loss.new.most if loss.new else 0.0)
        most = f"up to {share(worst.new)} in a run, was {share(worst.old)}"
        # The medians decide. Where one run of the old side lost more than any of the new one, its share alone would say the opposite.
        is_less = worst.old is not None and worst.new is not None and worst.new.most < worst.old.most
        medians = f"{share(worst.new, median=True)} in the median run, was {share(worst.old, median=True)}; " if is_less else ""
        parts[0] += f" ({medians}{most})"
    rest = total - len(unproven)
    return f"loss was {', '.join(parts)}, not proven{f'; in {rest} more, which do not compare, messages were lost too' if rest else ''}"


def _by_way(losses: Iterable[Loss]) -> dict[str, list[Loss]]:
    """The rows whose loss is higher now, lower, and the same."""
    found: dict[str, list[Loss]] = {"higher": [], "lower": [], "alike": []}
    for loss in losses:
        found[way_of(loss)].append(loss)
    return found


def _rows(count: int) -> str:
    return f"{count} row{'' if count == 1 else 's'}"
