"""What the verdicts of a diff mean, why a row has its verdict, and how many rows have which."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from tacholog.compare.policy import MIN_RUNS
from tacholog.compare.result import VERDICTS, Report, Verdict
from tacholog.view.refusals import PUBLISHED_AGAIN


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
        "unreplicated_diff": Meaning(
            "Differ, not replicated",
            "The values differ by more than the band, but one value on each side cannot show that the change would occur again.",
        ),
        "unreplicated_same": Meaning("Alike, not replicated", "The values differ by no more than the band. One value on each side cannot show more."),
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
        "order_confounded": "the sides did not take turns, so time may explain the change",
        "sessions_confounded": "the sessions of the sides did not take turns, so time may explain the change",
        "order_unknown": "the order of the runs is not known, so time may explain the change",
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


def counts(report: Report) -> list[tuple[str, int]]:
    """How many rows got each verdict that any row got, worst first."""
    return [(MEANINGS[verdict].title, report.counts[verdict]) for verdict in VERDICTS if report.counts[verdict]]


def headline(report: Report) -> str:
    """The result in one line."""
    if "same_runs" in report.warnings:
        return "the same runs"
    counted = ", ".join(f"{count} {title[0].lower()}{title[1:]}" for title, count in counts(report)) or "nothing to compare"
    return f"{counted}; loss: {loss_counts(report)}" if report.losses else counted


def loss_counts(report: Report) -> str:
    """How many rows in which something was lost got each verdict that any got, worst first."""
    found = ((MEANINGS[verdict].title.lower(), report.loss_counts.get(verdict, 0)) for verdict in VERDICTS)
    return ", ".join(f"{count} {title}" for title, count in found if count)
