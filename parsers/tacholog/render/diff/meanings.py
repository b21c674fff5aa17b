"""What the verdicts of a diff mean, why a row has its verdict, and how many rows have which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import msgspec

from tacholog.compare.policy import MIN_RUNS
from tacholog.compare.result import VERDICTS, DiffRow, Report, Verdict
from tacholog.view.refusals import PUBLISHED_AGAIN

UNTESTED: tuple[Verdict, ...] = ("unreplicated_diff", "unreplicated_same")


class Meaning(msgspec.Struct, frozen=True):
    """A verdict's title, and the sentence that says when a row gets it."""

    title: str
    sentence: str


MEANINGS: Mapping[Verdict, Meaning] = MappingProxyType(
    {
        "worse": Meaning("Worse", "The change is significant in this report as a whole, and larger than the threshold."),
        "better": Meaning("Better", "The change is significant in this report as a whole, and larger than the threshold."),
        "no_change": Meaning("No change", "The true change is within the threshold, with 95 % confidence on each side."),
        "inconclusive": Meaning(
            "Too noisy to tell",
            "The runs show neither a change nor that there is none. Smallest detectable change: if only this row changed by so much, the report "
            "would find it in four cases of five.",
        ),
        "too_few_pairs": Meaning(
            "Too few pairs for so many rows",
            "No change of a single row could become significant among so many rows, however large. Each row says how many pairs or sessions are "
            "needed.",
        ),
        "insufficient": Meaning(
            "Not enough runs",
            f"A verdict needs at least {MIN_RUNS} runs on each side that take turns, and enough samples beyond the percentile. "
            "`tacholog ab` makes 12 pairs.",
        ),
        "unreplicated_diff": Meaning("Differ, not proven", "The values differ by more than the band, but no test was possible: each row says why."),
        "unreplicated_same": Meaning("Alike, not proven", "The values differ by no more than the band. No test was possible: each row says why."),
        "not_comparable": Meaning("Not comparable", "Something other than the release is different."),
        "removed": Meaning("Only in old", "The new side has no such row, or only under other conditions."),
        "added": Meaning("Only in new", "The old side has no such row, or only under other conditions."),
        "invalid": Meaning("Failed", "A run failed or gave no value, or its figures contradict each other."),
        "lossy": Meaning("Too much lost", "One side lost more than 1 % of the messages: its figures describe only those that arrived."),
    }
)
REASONS: Mapping[str, str] = MappingProxyType(
    {
        "single_run": "one run on a side",
        "unverified": "a condition is not stated",
        "order_confounded": "the sides did not take turns, so the time or the machine of the measurement may explain it",
        "sessions_confounded": "the sessions of the sides did not take turns, so the time or the machine of the measurement may explain it",
        "order_unknown": "the order of the runs is not known, so the time or the machine of the measurement may explain it",
        "pairs_unnamed": "the runs took turns, but do not state the session and repetition that make them pairs",
        "few_pairs": f"fewer than {MIN_RUNS} pairs of runs were made next to each other",
        "same_first": "one side ran first in nearly every pair or session, so its place may explain the change",
        "host_changed": "the host changed, and that may explain it",
        "bound": "the log prints a bound, not a value",
        "same_measurement": f"every value of the series is identical: {PUBLISHED_AGAIN}",
        "no_value": "no run gave a value",
        "not_positive": "a run measured zero",
        "mixed": "one side holds several configurations",
    }
)
THRESHOLD_SOURCES: Mapping[str, str] = MappingProxyType(
    {
        "policy": "by default",
        "override": "from the thresholds file",
        "rounding": "what rounding hides",
        "same_build": "as measured with one build",
        "assumed": "assumed",
    }
)

_ONE_VALUE = "one_value"  # on each side: the only reason that is not one of `REASONS`


def sentence_of(verdict: Verdict, rows: Iterable[DiffRow]) -> str:
    """Return when a row gets the verdict; of rows without a test why none was possible, if that is the same for all of them."""
    kind = why_untested(rows) if verdict in UNTESTED else None
    if kind is None:
        return MEANINGS[verdict].sentence
    if verdict == "unreplicated_diff":
        why = "one value on each side cannot show that the change would occur again" if kind == _ONE_VALUE else REASONS.get(kind, kind)
        return f"The values differ by more than the band, but this is not proven: {why}."
    if kind == "same_measurement":
        return "The values are identical."
    why = "one value on each side cannot show more" if kind == _ONE_VALUE else REASONS.get(kind, kind)
    return f"The values differ by no more than the band. {why[:1].upper()}{why[1:]}."


def why_untested(rows: Iterable[DiffRow]) -> str | None:
    """Return the reason why no test decided any of these rows: `has_one_value`, or one of `REASONS`; none if they have several."""
    kinds = {_ONE_VALUE if has_one_value(row) else next(iter(row.reasons), "") for row in rows}
    (kind,) = kinds if len(kinds) == 1 else ("",)
    return kind if kind in (_ONE_VALUE, *REASONS) else None


def told_by_sentence(verdict: Verdict, rows: Iterable[DiffRow]) -> str:
    """Return the part of these rows' remarks that `sentence_of` says of all of them; nothing if it says none."""
    kind = why_untested(rows) if verdict in UNTESTED else None
    return "" if kind in (None, "same_measurement") else REASONS["single_run" if kind == _ONE_VALUE else str(kind)]


def has_one_value(row: DiffRow) -> bool:
    """Return whether a row has no test because there is one value on each side."""
    return row.reasons[:1] == ("single_run",) and all(side is not None and side.runs == 1 for side in (row.old, row.new))


def untested_words(rows: Iterable[DiffRow]) -> str:
    """Return how rows without a test were compared, as the beginning of a sentence on them."""
    kind = why_untested(rows)
    if kind == _ONE_VALUE:
        return "one value on each side, so no test is possible"
    if kind in ("order_confounded", "sessions_confounded"):
        return "no test was possible, because the sides did not take turns"
    return "compared without a test, by the median of each side"


def counts(report: Report) -> list[tuple[str, int]]:
    """How many rows got each verdict that any row got, worst first."""
    return [(MEANINGS[verdict].title, report.counts[verdict]) for verdict in VERDICTS if report.counts[verdict]]


def headline(report: Report) -> str:
    """The result in one line."""
    if "same_runs" in report.warnings:
        return "the same runs"
    counted = ", ".join(f"{count} {title[0].lower()}{title[1:]}" for title, count in counts(report))
    lost = f"loss: {loss_counts(report)}" if report.losses else ""
    return "; ".join(part for part in (counted, lost) if part) or "nothing to compare"


def loss_counts(report: Report) -> str:
    """How many rows in which something was lost got each verdict that any got, worst first."""
    found = ((MEANINGS[verdict].title.lower(), report.loss_counts.get(verdict, 0)) for verdict in VERDICTS)
    return ", ".join(f"{count} {title}" for title, count in found if count)
