"""What a diff comes to: its result in a sentence, and what each side is where configurations are compared."""

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
    """The result in a sentence: what got better and worse, what stayed, and what cannot be told."""
    if "same_runs" in report.warnings:
        return SAME_RUNS
    said = "; ".join(_clauses(report))
    return f"{said[:1].upper()}{said[1:]}." if said else "There is nothing to compare."


def told(report: Report, only: Sequence[str]) -> Report:
    """What there is to tell of a report: all of it, but of runs with themselves no more than the rows that were asked for."""
    if "same_runs" not in report.warnings:
        return report
    return replace(report, rows=report.rows if only else (), counts=dict.fromkeys(report.counts, 0), losses=(), curves=())


def _clauses(report: Report) -> Iterator[str]:
    counts = report.counts
    if any(counts[verdict] for verdict in ("worse", "better", "no_change", *OPEN)):
        changed: tuple[Verdict, ...] = ("worse", "better") if counts["worse"] or not counts["better"] else ("better", "worse")
        yield from (f"{verdict} in {_found(report, verdict)}" for verdict in changed)
        yield f"no change in {counts['no_change'] or 'none'}"
    elif len(report.rows) > counts["removed"] + counts["added"] + counts["not_comparable"]:
        yield "nothing is shown to be better or worse"
    yield from _untold(counts, _reprints(report))
    yield from _apart(report)


def _found(report: Report, verdict: Verdict) -> str:
    """How many rows are better or worse, and which."""
    total = len(report.rows)
    return f"{report.counts[verdict]} of {total} row{'s' if total > 1 else ''}{_which(report, verdict)}" if report.counts[verdict] else "none"


def _reprints(report: Report) -> int:
    """How many rows are of series that are identical on both sides, and not because both sides are the same runs."""
    return sum("same_measurement" in row.reasons and "same_runs" not in row.flags for row in report.rows)


def _untold(counts: Mapping[str, int], reprints: int) -> Iterator[str]:
    """The rows of which a test says nothing: one value a side, or too little to tell."""
    if counts["unreplicated_diff"] or counts["unreplicated_same"]:
        again = f" ({reprints} the same measurement, published again)" if reprints else ""
        yield f"by one value a side, {counts['unreplicated_diff'] or 'none'} differ and {counts['unreplicated_same'] or 'none'} are alike{again}"
    rows = [
        (counts["insufficient"], "too few runs or samples"),
        (counts["inconclusive"], "too noisy"),
        (counts["too_few_pairs"], "too few pairs for so many rows"),
        (counts["invalid"], "failed"),
        (counts["lossy"], "too much lost"),
    ]
    if total := sum(count for count, _ in rows):
        yield f"it cannot be told in {total} ({', '.join(f'{count} {why}' for count, why in rows if count)})"


def _apart(report: Report) -> Iterator[str]:
    """The rows that do not stand against one another, and those in which something was lost."""
    counts = report.counts
    if counts["not_comparable"]:
        yield f"{counts['not_comparable']} {'is' if counts['not_comparable'] == 1 else 'are'} not comparable ({_conditions(report.rows)})"
    if counts["removed"] or counts["added"]:
        yield f"{counts['removed'] or 'none'} only in old, {counts['added'] or 'none'} only in new"
    if report.losses:
        yield f"something was lost in {len(report.losses)} row{'s' if len(report.losses) > 1 else ''} ({loss_counts(report)})"


def _which(report: Report, verdict: Verdict) -> str:
    """What these rows are about, and how much they changed: by their medians or means if there are any, because a tail is the weakest of evidence."""
    every = [row for row in report.rows if row.verdict == verdict]
    rows = [row for row in every if band_of(row.key.statistic) == "centre"] or every
    amount = _amount(rows, named=len(rows) < len(every))
    over: dict[str, dict[str, None]] = {}
    for row in rows:
        over.setdefault(METRICS[row.key.metric].words.lower(), {})[row.key.transport or ""] = None
    metrics = ", ".join(f"{metric}{_over(sorted(filter(None, names)))}" for metric, names in over.items())
    return f" ({metrics}: {amount})" if amount else ""


def _amount(rows: Sequence[DiffRow], *, named: bool) -> str:
    """From the least change to the most; ``named``: with the statistics that changed so."""
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
    """What differs beside the release, over all rows that do not compare."""
    named = ", ".join(dict.fromkeys(condition_title(one) for row in rows if row.verdict == "not_comparable" for one in row.differences))
    return f"different or not stated: {named}" if named else "several configurations on a side"


def across_words(report: Report) -> str:
    """What each side is, where all rows say the same of what the diff goes across."""
    said = dict.fromkeys(row.across for row in report.rows if row.across and row.old and row.new)
    fields = ", ".join(report.settings.across)
    return f"{fields} ({sides_of(next(iter(said)))})" if len(said) == 1 else fields


def curve_words(found: Curve) -> str:
    """A series of single values in words."""
    ends = f"{words.ratio(found.least)} to {words.ratio(found.most)}"
    ways = (f"{found.lower} lower", f"{found.equal} equal" if found.equal else "", f"{found.higher} higher")
    counted = f"{words.ratio(found.mean_ratio)} on average of {found.rows} sizes ({ends}; {', '.join(way for way in ways if way)})"
    return "; ".join([f"{row_name(found.key)}: {counted}", *_flat(found)])


def _flat(found: Curve) -> list[str]:
    """The sides whose latency is the same at all sizes, which bytes that move do not have."""
    unit = METRICS[found.key.metric].unit
    means = "at every size, as when a reference is handed over and no payload moves"
    levels = (("old", found.old_flat), ("new", found.new_flat))
    return [f"{side}: {quantity(level, unit)} {means}" for side, level in levels if level is not None]


def figures_words(report: Report) -> list[str]:
    """What the figures of the rows are: of an estimate a reader cannot know it, and of a median of an even number of runs neither."""
    there = any(row.old and row.new and max(row.old.runs, row.new.runs) > 1 for row in report.rows)
    estimated = any(words.is_estimate(row) for row in report.rows)
    return [*([MEDIAN] if there else []), *([ESTIMATE] if estimated else [])]


def side_words(found: Input) -> str:
    """What one side is, in words."""
    parts = [
        " and ".join(found.systems),
        ", ".join(found.versions),
        f"{found.runs} run{'s' if found.runs != 1 else ''}, {found.numbers} numbers",
        ", ".join(found.hosts) or "machine not stated",
        _when(found),
        "published figures" if found.published else "",
        f"{found.problems} {'lines or files' if found.problems > 1 else 'line or file'} could not be used" if found.problems else "",
    ]
    return f"{found.name}: " + "; ".join(part for part in parts if part)


def _when(found: Input) -> str:
    if found.first is None:
        return ""
    return found.first if found.first == found.last else f"{found.first} to {found.last}"


def unstated_words(report: Report) -> str:
    """The conditions that would have to be known for a verdict, over all rows that lack one."""
    fields = dict.fromkeys(field for row in report.rows if row.verdict in _BY_VALUE for field in row.unverified)
    return ", ".join(title_of(field) for field in fields)
