"""How many rows of a diff have which verdict. The headline, the first sentence, the buttons of a page and the tables of releases say it from here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from tacholog.compare.result import OPEN, VERDICTS, Loss, LossSide, Report, Verdict
from tacholog.render.diff.apart import APART
from tacholog.render.diff.meanings import MEANINGS, UNTESTED
from tacholog.render.diff.words import toward
from tacholog.schema.metrics import METRICS
from tacholog.view.numerals import quantity

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
    if "same_runs" in report.warnings:
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


def share(side: LossSide | None, *, median: bool = False) -> str:
    """The largest share that a run of a side lost, or that of the median run, written as tables write it."""
    return quantity((side.median if median else side.most) if side else 0.0, METRICS["loss"].unit)


def _by_way(losses: Iterable[Loss]) -> dict[str, list[Loss]]:
    """The rows whose loss is higher now, lower, and the same."""
    found: dict[str, list[Loss]] = {"higher": [], "lower": [], "alike": []}
    for loss in losses:
        found[way_of(loss)].append(loss)
    return found


def way_of(loss: Loss) -> str:
    """Whether the loss of a row is higher now, lower, or alike."""
    return "alike" if not loss.change else "higher" if loss.change > 0 else "lower"


def _rows(count: int) -> str:
    return f"{count} row{'' if count == 1 else 's'}"
