"""The summary of a diff: its result in one sentence, and the two sides in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from tacholog.compare.policy import band_of
from tacholog.compare.result import OPEN, Curve, DiffRow, Input, Report, Verdict
from tacholog.render.diff import words
from tacholog.render.diff.meanings import loss_counts
from tacholog.render.diff.notes import SAME_RUNS
from tacholog.render.diff.sections import sides_of
from tacholog.render.diff.words import percent
from tacholog.schema.metrics import METRICS
from tacholog.view.numerals import quantity
from tacholog.view.refusals import condition_title, title_of
from tacholog.view.row_names import row_name

MEDIAN = "Old and new are each the value of one run: the median of the runs that were compared, or the worse one if two are in the middle."
ESTIMATE = (
    "The estimated ratio is the Hodges-Lehmann estimate: the median of the averages (on a logarithmic scale) of every two pairs' ratios, or of all "
    "ratios of a new session to an old one. It uses all runs, so it may differ from new divided by old."
)
_NAMED = 4
_BY_VALUE = ("unreplicated_diff", "unreplicated_same", "not_comparable")


def conclusion(report: Report) -> str:
    """The result in a sentence: what got better and worse, what stayed the same, and what has no verdict."""
    if "same_runs" in report.warnings:
        return SAME_RUNS
    clauses = "; ".join(_clauses(report))
    return f"{clauses[:1].upper()}{clauses[1:]}." if clauses else "There is nothing to compare."


def shown_part(report: Report, only: Sequence[str]) -> Report:
    """The part of a report that is shown: all of it; of a comparison of runs with themselves only the rows that were asked for."""
    if "same_runs" not in report.warnings:
        return report
    return replace(report, rows=report.rows if only else (), counts=dict.fromkeys(report.counts, 0), losses=(), curves=())


def _clauses(report: Report) -> Iterator[str]:
    counts = report.counts
    if any(counts[verdict] for verdict in ("worse", "better", "no_change", *OPEN)):
        changed: tuple[Verdict, ...] = ("worse", "better") if counts["worse"] or not counts["better"] else ("better", "worse")
        yield from (f"{verdict} in {_found(report, verdict)}" for verdict in changed)
        yield f"no change in {counts['no_change'] or 'none'}"
    elif not (counts["unreplicated_diff"] or counts["unreplicated_same"]) and len(report.rows) > _without_partner(counts):
        yield "no row could be tested"
    yield from _untold(counts, _reprints(report))
    yield from _apart(report)


def _without_partner(counts: Mapping[str, int]) -> int:
    """How many rows are on one side only, or not comparable."""
    return counts["removed"] + counts["added"] + counts["not_comparable"]


def _found(report: Report, verdict: Verdict) -> str:
    """How many rows are better or worse, and which."""
    total = len(report.rows)
    return f"{report.counts[verdict]} of {total} row{'s' if total > 1 else ''}{_which(report, verdict)}" if report.counts[verdict] else "none"


def _reprints(report: Report) -> int:
    """How many rows are of series that are identical on both sides, and not because both sides are the same runs."""
    return sum("same_measurement" in row.reasons and "same_runs" not in row.flags for row in report.rows)


def _untold(counts: Mapping[str, int], reprints: int) -> Iterator[str]:
    """The rows without a result of a test: one value on each side, or too few data."""
    if counts["unreplicated_diff"] or counts["unreplicated_same"]:
        again = f" ({reprints} the same measurement, published again)" if reprints else ""
        differ, alike = (counts[verdict] or "none" for verdict in ("unreplicated_diff", "unreplicated_same"))
        yield f"compared without a test, by one value on each side (of several runs, their median): {differ} differ, {alike} are alike{again}"
    rows = [
        (counts["insufficient"], "too few runs or samples"),
        (counts["inconclusive"], "too noisy"),
        (counts["too_few_pairs"], "too few pairs for so many rows"),
        (counts["invalid"], "failed"),
        (counts["lossy"], "too much lost"),
    ]
    if total := sum(count for count, _ in rows):
        yield f"no verdict in {total} ({', '.join(f'{count} {why}' for count, why in rows if count)})"


def _apart(report: Report) -> Iterator[str]:
    """The rows that are not comparable or on one side only, and those with loss."""
    counts = report.counts
    if counts["not_comparable"]:
        yield f"{counts['not_comparable']} {'is' if counts['not_comparable'] == 1 else 'are'} not comparable ({_conditions(report.rows)})"
    if counts["removed"] or counts["added"]:
        yield f"{counts['removed'] or 'none'} only in old, {counts['added'] or 'none'} only in new"
    if report.losses:
        yield f"something was lost in {len(report.losses)} row{'s' if len(report.losses) > 1 else ''} ({loss_counts(report)})"


def _which(report: Report, verdict: Verdict) -> str:
    """The metrics of these rows, and how much they changed: by medians or means if there are any, because tails are the weakest evidence."""
    every = [row for row in report.rows if row.verdict == verdict]
    rows = [row for row in every if band_of(row.key.statistic) == "centre"] or every
    amount = _amount(rows, named=len(rows) < len(every))
    over: dict[str, dict[str, None]] = {}
    for row in rows:
        over.setdefault(METRICS[row.key.metric].words.lower(), {})[row.key.transport or ""] = None
    metrics = ", ".join(f"{metric}{_over(sorted(filter(None, names)))}" for metric, names in over.items())
    return f" ({metrics}: {amount})" if amount else ""


def _amount(rows: Sequence[DiffRow], *, named: bool) -> str:
    """The range of the changes; ``named``: with the statistics that they belong to."""
    amounts = sorted(abs(row.ratio - 1) for row in rows if row.ratio is not None)
    if not amounts:
        return ""
    least, most = percent(amounts[0]), percent(amounts[-1])
    kind = "medians" if all(row.key.statistic == "p50" for row in rows) else "medians and means"
    return f"{kind + ' ' if named else ''}by {least if least == most else f'{least} to {most}'}"


def _over(transports: Sequence[str]) -> str:
    more = f" and {len(transports) - _NAMED} more" if len(transports) > _NAMED else ""
    return f" over {', '.join(transports[:_NAMED])}{more}" if transports else ""


def _conditions(rows: Iterable[DiffRow]) -> str:
    """The conditions that differ besides the release, over all rows that are not comparable."""
    named = ", ".join(dict.fromkeys(condition_title(one) for row in rows if row.verdict == "not_comparable" for one in row.differences))
    return f"different or not stated: {named}" if named else "several configurations on a side"


def across_words(report: Report) -> str:
    """The fields that the diff goes across, with both sides' values if these are the same in all rows."""
    sides = dict.fromkeys(row.across for row in report.rows if row.across and row.old and row.new)
    fields = ", ".join(report.settings.across)
    return f"{fields} ({sides_of(next(iter(sides)))})" if len(sides) == 1 else fields


def curve_words(found: Curve) -> str:
    """A series of single values in words."""
    ends = f"{words.ratio(found.least)} to {words.ratio(found.most)}"
    ways = (f"{found.lower} lower", f"{found.equal} equal" if found.equal else "", f"{found.higher} higher")
    counted = f"{words.ratio(found.mean_ratio)} on average of {found.rows} sizes ({ends}; {', '.join(way for way in ways if way)})"
    return "; ".join([f"{row_name(found.key)}: {counted}", *_flat(found)])


def _flat(found: Curve) -> list[str]:
    """The sides whose latency is the same at all sizes, which does not happen if the bytes move."""
    unit = METRICS[found.key.metric].unit
    means = "at every size, as when a reference is handed over and no payload moves"
    levels = (("old", found.old_flat), ("new", found.new_flat))
    return [f"{side}: {quantity(level, unit)} {means}" for side, level in levels if level is not None]


def figures_words(report: Report) -> list[str]:
    """How the figures of the rows were computed: the choice of the median, and the estimated ratio."""
    there = any(row.old and row.new and max(row.old.runs, row.new.runs) > 1 for row in report.rows)
    estimated = any(words.is_estimate(row) for row in report.rows)
    return [*([MEDIAN] if there else []), *([ESTIMATE] if estimated else [])]


def side_words(found: Input) -> str:
    """One side in words."""
    parts = [
        " and ".join(found.systems),
        ", ".join(found.versions),
        f"{found.runs} run{'s' if found.runs != 1 else ''}, {found.numbers} numbers",
        ", ".join(f"{name} {' and '.join(_few(values))}" for name, values in found.labels.items()),
        ", ".join(found.hosts) or "machine not stated",
        _when(found),
        "published figures" if found.published else "",
        f"{found.problems} {'lines or files' if found.problems > 1 else 'line or file'} could not be used" if found.problems else "",
    ]
    return f"{found.name}: " + "; ".join(part for part in parts if part)


def _few(values: Sequence[str]) -> list[str]:
    """The values of a label, and of many only the first ones and how many more there are."""
    return [*values[:_NAMED], *([f"{len(values) - _NAMED} more"] if len(values) > _NAMED else [])]


def _when(found: Input) -> str:
    if found.first is None:
        return ""
    return found.first if found.first == found.last else f"{found.first} to {found.last}"


def unstated_words(report: Report) -> str:
    """The conditions that are needed for a verdict and not stated, over all rows without a verdict."""
    fields = dict.fromkeys(field for row in report.rows if row.verdict in _BY_VALUE for field in row.unverified)
    return ", ".join(title_of(field) for field in fields)
