"""The summary of a comparison: the counts of verdicts, the reasons of incomparable rows, the result in sentences, and the two sides in words."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from tacholog.compare.comparable import CODES, MACHINE
from tacholog.compare.policy import band_of, percentile
from tacholog.compare.result import (
    DIFFERS,
    OPEN,
    OUT_OF_TURN,
    VERDICTS,
    Comparison,
    ComparisonRow,
    Curve,
    Difference,
    Input,
    Loss,
    RowKey,
    UntestedRow,
    Verdict,
)
from tacholog.render.diff import words
from tacholog.render.diff.notes import SAME_RUNS
from tacholog.render.diff.words import MEANINGS, REASONS, UNTESTED, direction_of, has_one_value, percent, share, sides_of, toward, untested_words
from tacholog.runs.labels import CONTROL, PREFIX
from tacholog.schema.metrics import METRICS
from tacholog.view import names
from tacholog.view.names import row_name, with_system
from tacholog.view.numerals import NOT_STATED, quantity, size
from tacholog.view.refusals import condition_title, title_of

APART: tuple[Verdict, ...] = ("not_comparable", "removed", "added")
_OF_MACHINE = frozenset({"host", *(CODES[name] for name in MACHINE)})
_MOST_REASONS = 4
_OTHER = "for other reasons"
# Fields of a key, with their names in sentences.
_ONLY = (("transport", "transport"), ("metric", "metric"), ("payload_bytes", "size"), ("participant", "participant"))

# Names of conditions that fit after the word "different". Other conditions are called by their titles.
_NOUNS = {
    "payload_touched": "use of the payload",
    "keyed": "keys",
    "bytes_moved": "counting of bytes",
}


def apart_words(comparison: Comparison) -> str:
    """Return how many rows do not compare, and why: ``132 rows do not compare: 96 on another machine, 36 with a size that only 0.2.0 has``.

    Each row counts once. If the machine differs, the machine is the reason, because other conditions differ as a consequence. The text is empty if
    all rows compare.
    """
    total = sum(comparison.counts[verdict] for verdict in APART)
    if not total:
        return ""
    sides = _Sides(comparison)
    counted = Counter(sides.reason(row) for row in comparison.rows if row.verdict in APART)
    first = counted.most_common(_MOST_REASONS)
    others = total - sum(count for _, count in first)
    named = [f"{count} {reason}" for reason, count in first] + ([f"{others} {_OTHER}"] if others else [])
    return f"{total} row{'s do' if total > 1 else ' does'} not compare: {', '.join(named)}"


class _Sides:
    """What each side measured: the values of each field, and the rows without the message size.

    Rows that are never tested and rows of loss are included, because a transport that lost all messages has no other row.
    """

    def __init__(self, comparison: Comparison) -> None:
        self.names = {"removed": comparison.old.name, "added": comparison.new.name}
        others: list[Loss | UntestedRow] = [*comparison.losses, *comparison.untested]
        there = {
            "removed": [*(row.new_key or row.key for row in comparison.rows if row.new), *(row.key for row in others if row.new is not None)],
            "added": [*(row.key for row in comparison.rows if row.old), *(row.key for row in others if row.old is not None)],
        }
        self.values = {verdict: {field: {getattr(key, field) for key in keys} for field, _ in _ONLY} for verdict, keys in there.items()}
        self.unsized = {verdict: {_without_size(key) for key in keys} for verdict, keys in there.items()}

    def reason(self, row: ComparisonRow) -> str:
        """Return why a row is not compared, in words that fit after a count, such as "36 with a size that only 0.2.0 has"."""
        if row.verdict == "not_comparable":
            return _condition_words(row.differences) or REASONS.get(next(iter(row.reasons), ""), _OTHER)
        if row.differences:
            return _condition_words(row.differences)
        for field, word in _ONLY:
            value = getattr(row.key, field)
            if value is not None and (value not in self.values[row.verdict][field] or (field == "payload_bytes" and self._is_only_size(row))):
                return f"with a {word} that only {self.names[row.verdict]} has"
        return f"that only {self.names[row.verdict]} has"

    def _is_only_size(self, row: ComparisonRow) -> bool:
        return _without_size(row.key) in self.unsized[row.verdict]


def _without_size(key: RowKey) -> RowKey:
    return replace(key, payload_bytes=None, payload_bytes_high=None)


def _condition_words(differences: Iterable[Difference]) -> str:
    """Return the conditions that differ, in words such as ``with different transport``. The text is empty if no condition differs.

    Rows are compared even if the sides used two machines with the same hardware. Therefore two such machines are named only if nothing else differs.
    """
    differences = list(differences)
    alike = [difference for difference in differences if difference.field == "host" and None not in (difference.old, difference.new)]
    others = [difference for difference in differences if difference not in alike]
    machine = [difference for difference in others if difference.field in _OF_MACHINE] or ([] if others else alike)
    if machine:
        return "on a machine that is not stated" if all(None in (difference.old, difference.new) for difference in machine) else "on another machine"
    names = [(_NOUNS.get(difference.field) or condition_title(difference), None in (difference.old, difference.new)) for difference in others]
    if len(others) == 1 and others[0].field == "latency_of" and None not in (others[0].old, others[0].new):
        return f"that measured {others[0].old} in the old release and {others[0].new} in the new one"
    words = " and ".join(dict.fromkeys(f"{name} not stated" if unknown else f"different {name}" for name, unknown in names))
    return f"with {words}" if words else ""


_JUDGED: tuple[Verdict, ...] = ("worse", "better", "no_change", *OPEN)
_SAID: tuple[Verdict, ...] = (*_JUDGED, *OUT_OF_TURN)  # the verdicts that are based on an interval
_UNPROVEN: tuple[Verdict, ...] = (*UNTESTED, "insufficient")


class VerdictCount(msgspec.Struct, frozen=True):
    """The number of rows with a verdict. ``directions`` states how many of them point to worse and to better, or how many are acknowledged.

    ``anchor`` is the verdict, or ``loss``. On a page, it is also the id of the list of these rows.
    """

    anchor: str
    number: int
    title: str
    directions: str = ""

    @property
    def style(self) -> str:
        """The CSS class of the count on a page. If the count is 0, this class gives no alarming colour."""
        return self.anchor if self.number else f"{self.anchor} none"

    @property
    def words(self) -> str:
        """The title with the directions: ``Differ, not proven: 4 toward worse, 60 toward better``."""
        return f"{self.title}: {self.directions}" if self.directions else self.title


def has_tests(counts: Mapping[str, int]) -> bool:
    """Whether any row was decided by a test."""
    return any(counts[verdict] for verdict in _JUDGED)


def counts(comparison: Comparison) -> list[VerdictCount]:
    """Return the number of rows with each verdict, the worst first. If there were tests, a count of 0 worse rows is included too."""
    is_tested = has_tests(comparison.counts)
    verdicts = [verdict for verdict in VERDICTS if comparison.counts[verdict] or (verdict == "worse" and is_tested)]
    return [
        VerdictCount(
            verdict,
            comparison.counts[verdict],
            MEANINGS[verdict].title,
            directions(comparison) if verdict == UNTESTED[0] else acknowledged_count(comparison.rows, verdict),
        )
        for verdict in verdicts
    ]


def acknowledged_count(rows: Iterable[ComparisonRow], verdict: Verdict) -> str:
    """Return how many rows with this verdict are acknowledged; an empty text if none is."""
    count = sum(row.verdict == verdict and row.is_acknowledged for row in rows)
    return f"{count} known" if count else ""


def buttons(comparison: Comparison) -> list[VerdictCount]:
    """Return the number of comparable rows with each verdict. If any row with loss is comparable, also return the number of rows with loss."""
    comparable_counts = [count for count in counts(comparison) if count.anchor not in APART]
    is_compared = any(loss.verdict not in APART for loss in comparison.losses)
    return [*comparable_counts, VerdictCount("loss", len(comparison.losses), "Loss", loss_counts(comparison))] if is_compared else comparable_counts


def directions(comparison: Comparison) -> str:
    """Return a text with the directions of the rows that *differ, not proven*, such as ``4 toward worse, 60 toward better``."""
    toward_words = [toward(row) for row in comparison.rows if row.verdict == UNTESTED[0]]
    return ", ".join(f"{toward_words.count(direction)} {direction}" for direction in ("toward worse", "toward better") if direction in toward_words)


def headline(comparison: Comparison) -> str:
    """Return the result in one line."""
    if comparison.warns("same_runs"):
        return "the same runs"
    parts = [
        f"{count.number} {count.title[0].lower()}{count.title[1:]}{f' ({count.directions})' if count.directions else ''}"
        for count in counts(comparison)
    ]
    lost = f"loss: {loss_counts(comparison)}" if comparison.losses else ""
    return "; ".join(part for part in (", ".join(parts), lost) if part) or "nothing to compare"


def loss_counts(comparison: Comparison) -> str:
    """Return, in words, how many rows with loss have each verdict. For rows without proof, state how many lost more now, less, or the same."""
    parts = [_verdict_counts(loss.verdict for loss in comparison.losses if loss.verdict not in _UNPROVEN)]
    unproven = [loss for loss in comparison.losses if loss.verdict in _UNPROVEN]
    if unproven:
        counted = ((len(members), direction) for direction, members in _by_direction(unproven).items())
        parts.append(f"{', '.join(f'{count} {direction}' for count, direction in counted if count)}, not proven")
    return ", ".join(part for part in parts if part)


def _verdict_counts(verdicts: Iterable[Verdict]) -> str:
    listed = list(verdicts)
    return ", ".join(f"{listed.count(verdict)} {MEANINGS[verdict].words}" for verdict in VERDICTS if verdict in listed)


def loss_words(comparison: Comparison) -> str:
    """Return a part of a sentence on the rows with lost messages.

    If there were tests, this part counts the verdicts. Otherwise, this part counts the rows in which the loss changed.
    """
    total = len(comparison.losses)
    unproven = [loss for loss in comparison.losses if loss.verdict in _UNPROVEN]
    lost = f"messages were lost in {_count_of_rows(total)}"
    if any(loss.verdict in _SAID for loss in comparison.losses):
        return f"{lost} ({loss_counts(comparison)})"
    if not unproven:
        not_comparable = sum(loss.verdict in APART for loss in comparison.losses)
        return f"{lost}, which {'does' if total == 1 else 'do'} not compare" if not_comparable == total else lost
    by_direction = _by_direction(unproven)
    of_rows = f" of {_count_of_rows(len(unproven))}"
    parts = [
        f"{_LOSS[direction]}{'' if index else ' loss'} in {len(members)}{'' if index else of_rows}"
        for index, (direction, members) in enumerate((direction, members) for direction, members in by_direction.items() if members)
    ]
    if by_direction["higher"]:
        worst = max(by_direction["higher"], key=lambda loss: loss.new.most if loss.new else 0.0)
        most = f"up to {share(worst.new)} in a run, was {share(worst.old)}"
        # The medians show that the new side lost more, but one run of the old side may have lost more than any run of the new side. The largest
        # shares alone would then show the opposite, so the medians are stated too.
        is_less = worst.old is not None and worst.new is not None and worst.new.most < worst.old.most
        medians = f"{share(worst.new, median=True)} in the median run, was {share(worst.old, median=True)}; " if is_less else ""
        which = row_name(worst.key).partition(", ")[2] if len(unproven) > 1 else ""  # both shares are those of this row
        parts[0] += f" ({f'{which}: ' if which else ''}{medians}{most})"
    others = total - len(unproven)
    too = f"; in {others} more, which do not compare, messages were lost too" if others else ""
    return f"{', '.join(parts)}; the runs do not prove it{too}"


_LOSS = {"higher": "more", "lower": "less", "alike": "as much"}


def _by_direction(losses: Iterable[Loss]) -> dict[str, list[Loss]]:
    by_direction: dict[str, list[Loss]] = {"higher": [], "lower": [], "alike": []}
    for loss in losses:
        by_direction[direction_of(loss)].append(loss)
    return by_direction


def _count_of_rows(count: int) -> str:
    return f"{count} row{'' if count == 1 else 's'}"


MEDIAN = "Old and new are each the value of one run: the median of the runs that were compared, or the worse one if two are in the middle."
ESTIMATE = (
    "The estimated ratio is the Hodges-Lehmann estimate: the median of the averages (on a logarithmic scale) of every two pairs' ratios, or of all "
    "ratios of a new session to an old one. It uses all runs, so it may differ from new divided by old. The interval is that of this ratio: it is "
    "not the range from the lowest to the highest run, which tables show below a number."
)
BAND = (
    "The band is how much two results of one build may differ although nothing changed. Within it, a row is called alike, beyond it, different; "
    "neither is proven."
)
BAND_SOURCES = {
    "assumed": "Assumed: this row was not measured with one build on this machine in at least three sessions (by tacholog ab of a build with "
    "itself), so the band is a default.",
    "same_build": "As measured with one build: the band comes from such a measurement, or from same_build_percent in a file of thresholds.",
}
_NAMED = 4
_BY_VALUE = ("unreplicated_diff", "unreplicated_same", "not_comparable")
_NO_PROOF: tuple[Verdict, ...] = ("insufficient", "inconclusive", "too_few_pairs", "invalid", "lossy")


def conclusion(comparison: Comparison, *, with_reasons: bool = True) -> str:
    """Return the result in short sentences: the better and worse rows, the number of incomparable rows, and the number of unproven rows.

    Args:
        comparison: the comparison.
        with_reasons: whether to state why rows do not compare, and where rows were measured better or worse. A page has sections for both, so its
            conclusion states them only if no test was possible.
    """
    if comparison.warns("same_runs"):
        return SAME_RUNS
    compared = "; ".join([*_changes(comparison), *_untested(comparison)])
    not_compared = "; ".join(
        [*_not_comparable_words(comparison, with_reasons=with_reasons or not has_tests(comparison.counts)), *_unproven(comparison)]
    )
    measured = _measured_differences(comparison, with_places=with_reasons or not has_tests(comparison.counts))
    sentences = [compared, *measured, not_compared, loss_words(comparison) if comparison.losses else ""]
    but = " but loss" if comparison.lossless or comparison.lossy_counts else ""
    return " ".join(f"{sentence[:1].upper()}{sentence[1:]}." for sentence in sentences if sentence) or f"There is nothing to compare{but}."


def short_conclusion(comparison: Comparison) -> str:
    """Return the result without the names of rows: how many are better or worse, and whether the machine changed."""
    counts, total = comparison.counts, len(comparison.rows)
    if not has_tests(counts) or comparison.warns("same_runs"):
        return conclusion(comparison, with_reasons=False)
    numbers = [(counts[verdict], MEANINGS[verdict].words) for verdict in ("better", "worse", *DIFFERS, "no_change", "differs_not")]
    not_comparable = _count_apart(counts)
    unproven_count = total - not_comparable - sum(count for count, _ in numbers)
    numbers += [(unproven_count, "unproven"), (not_comparable, MEANINGS["not_comparable"].words)]
    parts = ", ".join(f"{count or 'none'} {word}" for count, word in numbers if count or word in ("better", "worse"))
    unproven = [row for row in comparison.rows if row.verdict == UNTESTED[0] and toward(row)]
    on_two_machines = [row for row in unproven if any(difference.field == "host" for difference in row.differences)]
    apparent = [f"{count} {word}" for word in ("better", "worse") if (count := sum(toward(row) == f"toward {word}" for row in on_two_machines))]
    machine = f"{' and '.join(apparent)} only appear so: they were measured on another machine" if on_two_machines else ""
    measured = sum(counts[verdict] for verdict in DIFFERS)
    cause = f"the release may not be the cause of the {measured} measured difference{'s' if measured > 1 else ''}" if measured else ""
    sentences = [f"of {total} results: {parts}", cause, machine, loss_words(comparison) if comparison.losses else ""]
    return " ".join(f"{sentence[:1].upper()}{sentence[1:]}." for sentence in sentences if sentence)


def _measured_differences(comparison: Comparison, *, with_places: bool) -> Iterator[str]:
    counts, losses = comparison.counts, [loss.verdict for loss in comparison.losses]
    differing = sum(counts[verdict] for verdict in DIFFERS)
    total = len(comparison.rows) - _count_apart(counts)
    parts = [
        _verdict_words(comparison, verdict, is_first=False) if with_places else f"{counts[verdict]} {MEANINGS[verdict].words}"
        for verdict in DIFFERS
        if counts[verdict]
    ]
    lost = [f"{losses.count(verdict)} with {word} loss" for verdict, word in zip(DIFFERS, ("more", "less"), strict=True) if verdict in losses]
    if named := ", ".join([*parts, *lost]):
        yield f"{differing} of {total} {_noun(total)} differ{'s' if differing == 1 else ''}: {named}"
        yield "whether the release or the day is the cause cannot be told from these runs"
    if counts["differs_not"]:
        yield f"no difference was seen in {counts['differs_not']} {_noun(counts['differs_not'])}"


def pairs_words(comparison: Comparison) -> list[str]:
    """Return a sentence with the command that tells a change of the release from one of the day, if runs that did not take turns differ."""
    verdicts = {*(row.verdict for row in comparison.rows), *(loss.verdict for loss in comparison.losses)}
    differs = not verdicts.isdisjoint(DIFFERS)
    return [f"Pairs of runs can tell the release from the day: {ab_command(comparison)}"] if differs else []


def ab_command(comparison: Comparison) -> str:
    """Return the command that measures both sides in turns. Its releases are filled in if they are known; OLD, NEW and CAMPAIGN are placeholders."""
    releases = [side.releases[0] if len(side.releases) == 1 else "" for side in (comparison.old, comparison.new)]
    return " ".join(["tacholog ab OLD NEW CAMPAIGN", *(["--release", *map(shlex.quote, releases)] if all(releases) else [])])


def shown_part(comparison: Comparison, only: Sequence[str]) -> Comparison:
    """Return the part of a comparison to show, which usually is the whole comparison.

    If runs are compared with themselves, rows are shown only if the user asked for rows (``only``).
    """
    if not comparison.warns("same_runs"):
        return comparison
    return replace(comparison, rows=comparison.rows if only else (), counts=dict.fromkeys(comparison.counts, 0), losses=(), curves=())


def _changes(comparison: Comparison) -> Iterator[str]:
    """Yield phrases that count the rows with a change and the rows without a change.

    Without any test, yield at most the phrase that no row could be tested. Yield nothing if other sentences already say how rows were compared.
    """
    counts = comparison.counts
    if has_tests(counts):
        if counts["worse"] or counts["better"]:
            order: tuple[Verdict, ...] = ("worse", "better") if counts["worse"] else ("better", "worse")
            yield ", ".join(_verdict_words(comparison, verdict, is_first=verdict == order[0]) for verdict in order)
        else:
            yield "no row is worse or better"
        if counts["no_change"]:
            yield f"no change in {counts['no_change']}"
    elif not any(counts[verdict] for verdict in (*UNTESTED, *OUT_OF_TURN)) and len(comparison.rows) > _count_apart(counts):
        yield "no row could be tested"


def _count_apart(counts: Mapping[str, int]) -> int:
    return sum(counts[verdict] for verdict in APART)


def _verdict_words(comparison: Comparison, verdict: Verdict, *, is_first: bool) -> str:
    rows = [row for row in comparison.rows if row.verdict == verdict]
    noun = f" {_noun(len(rows))}" if is_first else ""
    word = MEANINGS[verdict].words
    return f"{len(rows)}{noun} {word} ({where_and_how_much(rows)})" if rows else f"none {word}"


def _noun(count: int) -> str:
    return "row" if count == 1 else "rows"


def _untested(comparison: Comparison) -> Iterator[str]:
    """Yield a phrase on the untested rows: how many there are, and how many differ by more than the band.

    Yield nothing if any row was tested, because untested rows are then counted as unproven.
    """
    rows = [] if has_tests(comparison.counts) else [row for row in comparison.rows if row.verdict in UNTESTED]
    if not rows:
        return
    again = sum("same_measurement" in row.reasons and "same_runs" not in row.flags for row in rows)
    if again == len(rows) and not any(comparison.counts[verdict] for verdict in _NO_PROOF):
        yield f"nothing measured changed: {again} {_noun(again)} {'is' if again == 1 else 'are'} the same measurement, published again"
        return
    differ, alike = (comparison.counts[verdict] for verdict in UNTESTED)
    pointing = f" ({directions(comparison)})" if differ else ""
    others = "other " if any(comparison.counts[verdict] for verdict in OUT_OF_TURN) else ""
    beyond = f"{differ or 'no'} {others}row{'s differ' if differ > 1 else ' differs'} by more than the band{pointing}"
    reprints = f" ({again} the same measurement, published again)" if again else ""
    yield f"{untested_words(rows)}: {beyond}, {alike or 'none'} {'is' if alike == 1 else 'are'} alike{reprints}"


def _not_comparable_words(comparison: Comparison, *, with_reasons: bool) -> Iterator[str]:
    count, total = _count_apart(comparison.counts), len(comparison.rows)
    if count:
        yield apart_words(comparison) if with_reasons else f"{count} of {total} rows {'does' if count == 1 else 'do'} not compare"


def _unproven(comparison: Comparison) -> Iterator[str]:
    counts = comparison.counts
    open_counts = {MEANINGS[verdict].words: counts[verdict] for verdict in _NO_PROOF if counts[verdict]}
    untested = sum(counts[verdict] for verdict in UNTESTED) if has_tests(counts) else 0
    if total := sum(open_counts.values()) + untested:
        why = f" ({next(iter(open_counts))})" if len(open_counts) == 1 and not untested else ""
        differ = counts["unreplicated_diff"] if untested else 0
        why = f" ({differ} of them {'differ' if differ > 1 else 'differs'}: {directions(comparison)})" if differ else why
        yield f"{total} {_noun(total)} {'is' if total == 1 else 'are'} unproven{why}"


def across_words(comparison: Comparison) -> str:
    """Return the ``across`` fields in words. If all rows have the same values in these fields, the values of both sides follow."""
    sides = dict.fromkeys(row.across for row in comparison.rows if row.across and row.old and row.new)
    fields = ", ".join(comparison.settings.across)
    return f"{fields} ({sides_of(next(iter(sides)))})" if len(sides) == 1 else fields


def curve_words(curve: Curve) -> str:
    """Return, in words, the mean ratio of a series, and how many of its sizes are higher or lower."""
    ends = f"{words.ratio(curve.least)} to {words.ratio(curve.most)}"
    directions = (f"{curve.lower} lower", f"{curve.equal} equal" if curve.equal else "", f"{curve.higher} higher")
    counted = f"{words.ratio(curve.mean_ratio)} on average of {curve.rows} sizes ({ends}; {', '.join(part for part in directions if part)})"
    return "; ".join([f"{row_name(curve.key)}: {counted}", *_flat_latencies(curve)])


def _flat_latencies(curve: Curve) -> list[str]:
    """Return a remark for each side whose latency is the same at all sizes.

    Such a latency is impossible if the bytes of the messages are moved.
    """
    unit = METRICS[curve.key.metric].unit
    means = "at every size, as when a reference is handed over and no payload moves"
    levels = (("old", curve.old_flat), ("new", curve.new_flat))
    return [f"{side}: {quantity(level, unit)} {means}" for side, level in levels if level is not None]


def figures_words(comparison: Comparison) -> list[str]:
    """Return sentences on how numbers were computed: how the median was chosen, how ratios were estimated, and where bands come from."""
    there = any(row.old and row.new and max(row.old.runs, row.new.runs) > 1 for row in comparison.rows)
    estimated = any(words.is_estimate(row) for row in comparison.rows)
    by_runs = any(row.ratio_kind == "hodges_lehmann_runs" for row in comparison.rows)
    how = ESTIMATE.replace("a new session to", "a new session or run to") if by_runs else ESTIMATE
    sources = {row.threshold_source for row in comparison.rows if row.verdict in UNTESTED and row.reasons != ("same_measurement",)}
    band = " ".join([BAND, *(sentence for source, sentence in BAND_SOURCES.items() if source in sources)])
    return [*([MEDIAN] if there else []), *([how] if estimated else []), *([band] if sources - {None} else [])]


def side_words(side: Input) -> str:
    """Return one side, in words."""
    parts = [
        " and ".join(side.systems),
        ", ".join(side.versions),
        f"{side.runs} run{'s' if side.runs != 1 else ''}, {side.numbers} numbers",
        ", ".join(_label_words(f"{PREFIX}{name}", values) for name, values in side.labels.items()),
        ", ".join(side.hosts) or "machine not stated",
        _when(side),
        "published figures" if side.published else "",
        f"{side.problems} {'lines or files' if side.problems > 1 else 'line or file'} could not be used" if side.problems else "",
    ]
    return f"{side.name}: " + "; ".join(part for part in parts if part)


def _label_words(field: str, values: Sequence[str]) -> str:
    return "with control runs" if field == CONTROL else names.words(field, " and ".join(_first_values(values)))


def _first_values(values: Sequence[str]) -> list[str]:
    return [*values[:_NAMED], *([f"{len(values) - _NAMED} more"] if len(values) > _NAMED else [])]


def _when(side: Input) -> str:
    if side.first is None:
        return ""
    return side.first if side.first == side.last else f"{side.first} to {side.last}"


def unstated_words(comparison: Comparison) -> str:
    """Return the conditions that are not stated in rows without a verdict. They must be stated for a verdict."""
    fields = dict.fromkeys(field for row in comparison.rows if row.verdict in _BY_VALUE for field in row.unverified)
    return ", ".join(title_of(field) for field in fields)


_UNTESTED: Verdict = "unreplicated_diff"
_MOST_STATISTICS = 3  # a text names at most this number of statistics; if more changed, all tail percentiles are combined as "tails"


class TransportCounts(msgspec.Struct, frozen=True):
    """The result of a comparison for one transport: how many of its rows have each verdict, and how many are not comparable.

    ``name`` is the name of system and transport in texts.
    """

    system: str | None
    transport: str | None
    name: str
    counts: tuple[tuple[Verdict, int, str], ...]
    not_comparable: int


class LargestChange(msgspec.Struct, frozen=True):
    """A row with one of the largest changes: its verdict, its name, and the change in words."""

    verdict: Verdict
    name: str
    words: str


def moved_most(comparison: Comparison, most: int = 3) -> list[LargestChange]:
    """Return the rows with the largest changes, the largest first.

    If a test found rows worse or better, only these are returned. Otherwise, rows that were measured worse or better are returned. If there are none,
    rows without a test are returned. Medians and means come before tail percentiles, which are the weakest evidence.
    """
    several = len({row.key.system for row in comparison.rows}) > 1
    kinds: tuple[tuple[Verdict, ...], ...] = (("worse", "better"), DIFFERS, (_UNTESTED,))
    rows = next((rows for kind in kinds if (rows := [row for row in comparison.rows if row.verdict in kind])), [])
    return [LargestChange(row.verdict, row_name(row.key, with_system=several), _amount(row)) for row in _largest(rows)[:most]]


def _largest(rows: Sequence[ComparisonRow]) -> list[ComparisonRow]:
    return sorted((row for row in rows if row.change is not None), key=lambda row: (band_of(row.key.statistic) != "centre", -abs(row.change or 0)))


def _amount(row: ComparisonRow) -> str:
    ratio = row.ratio or 1.0
    if row.verdict == _UNTESTED:
        return f"{percent(abs(ratio - 1))} {'higher' if ratio > 1 else 'lower'}, {'one value on each side' if has_one_value(row) else 'not proven'}"
    if row.verdict in DIFFERS:
        return f"{words.measured_change(row)}, release or day"
    return f"{percent(abs(ratio - 1))} {row.verdict}"


def by_transport(comparison: Comparison) -> list[TransportCounts]:
    """Return the counts of each transport, which add up to the counts of the sections.

    Return nothing if there are fewer than two transports, or if no row can be compared, because one sentence is enough in these cases.
    """
    if not any(comparison.counts[verdict] for verdict in VERDICTS if verdict not in APART):
        return []
    several = len({row.key.system for row in comparison.rows}) > 1
    rows_of: dict[str, list[ComparisonRow]] = {}
    for row in comparison.rows:
        transport = row.key.transport or f"transport {NOT_STATED}"
        rows_of.setdefault(with_system(row.key.system, transport) if several and row.key.system else transport, []).append(row)
    verdicts = [verdict for verdict in VERDICTS if verdict not in APART and comparison.counts[verdict]]
    return [_counted(name, rows_of[name], verdicts) for name in sorted(rows_of, key=str.lower)] if len(rows_of) > 1 else []


def _counted(name: str, rows: Sequence[ComparisonRow], verdicts: Sequence[Verdict]) -> TransportCounts:
    counted = Counter(row.verdict for row in rows)
    counts = ((verdict, counted[verdict], _which([row for row in rows if row.verdict == verdict])) for verdict in verdicts)
    first = rows[0].key
    return TransportCounts(first.system, first.transport, name, tuple(counts), sum(counted[verdict] for verdict in APART))


def _which(rows: Sequence[ComparisonRow]) -> str:
    """Return a text such as ``p99, 1 KiB, 6.3 %``."""
    if not rows or rows[0].verdict not in ("worse", "better", *DIFFERS):
        return ""
    if len(rows) > 1:
        return how_much(rows, with_metric=True)
    (row,) = rows
    payload = size(row.key.payload_bytes) if row.key.payload_bytes is not None else ""
    parts = (_statistic_or_metric(row), payload, percent(abs(row.ratio - 1)) if row.ratio is not None else "")
    return ", ".join(part for part in parts if part)


def _statistic_or_metric(row: ComparisonRow) -> str:
    return row.key.statistic if row.key.metric == "latency" else METRICS[row.key.metric].words.lower()


def where_and_how_much(rows: Sequence[ComparisonRow]) -> str:
    """Return, in words, where and by how much better or worse rows changed: ``latency over udp: p50 by 6 %; over shm: ...``.

    Transports are named together only if the same statistics changed. Otherwise a reader would think that each statistic changed for each transport.
    """
    metrics: dict[str, list[ComparisonRow]] = {}
    for row in rows:
        metrics.setdefault(METRICS[row.key.metric].words.lower(), []).append(row)
    return "; ".join(f"{metric}{_changes_by_transport(members)}" for metric, members in metrics.items())


def _changes_by_transport(rows: Sequence[ComparisonRow]) -> str:
    """Return the changes of rows in words, grouped by transport. Transports whose medians or means changed come first."""
    over: dict[str | None, list[ComparisonRow]] = {}
    for row in sorted(rows, key=lambda row: row.key.transport or ""):
        over.setdefault(row.key.transport, []).append(row)
    alike: dict[frozenset[str], list[str | None]] = {}
    for transport, members in sorted(over.items(), key=lambda item: not any(band_of(row.key.statistic) == "centre" for row in item[1])):
        alike.setdefault(frozenset(row.key.statistic for row in members), []).append(transport)
    parts = (f"{_over(transports)}: {how_much([row for transport in transports for row in over[transport]])}" for transports in alike.values())
    return ";".join(parts)


def _over(transports: Sequence[str | None]) -> str:
    *names, last = (transport or f"transport {NOT_STATED}" for transport in transports)
    return f" over {', '.join(names)}{' and ' if names else ''}{last}" if transports != [None] else ""


def how_much(rows: Sequence[ComparisonRow], *, with_metric: bool = False) -> str:
    """Return by how much rows changed, medians and means before tail percentiles: ``p50 by 6.3 to 12 %, p99 by 14 %``."""
    named: dict[str, list[ComparisonRow]] = {}
    for row in sorted(rows, key=lambda row: (band_of(row.key.statistic) != "centre", percentile(row.key.statistic) or 0.0)):
        named.setdefault(_statistic_or_metric(row) if with_metric else row.key.statistic, []).append(row)
    if len(named) > _MOST_STATISTICS:
        centre = {name: members for name, members in named.items() if band_of(members[0].key.statistic) == "centre"}
        named = {**centre, "tails": [row for name, members in named.items() if name not in centre for row in members]}
    return ", ".join(_range(name, members) for name, members in named.items() if members)


def _range(name: str, rows: Sequence[ComparisonRow]) -> str:
    amounts = sorted(abs(row.ratio - 1) for row in rows if row.ratio is not None)
    if not amounts:
        return name
    least, most = percent(amounts[0]), percent(amounts[-1])
    lower = "" if least == most else f"{least.removesuffix('%').rstrip()} to "
    return f"{name} by {lower}{most}"


def loss_sentence(comparison: Comparison) -> str:
    """Return sentences on the rows that lost no message, and on those with an unknown share of loss. The text is empty if loss is not shown."""
    if comparison.warns("same_runs") or not comparison.loss_asked:
        return ""
    if not comparison.losses and not comparison.lossless and not comparison.lossy_counts:
        return "Neither side states its loss."
    return " ".join(sentence for sentence in (_lossless(comparison), _lossy_without_share(comparison)) if sentence)


def _lossy_without_share(comparison: Comparison) -> str:
    count = comparison.lossy_counts
    if not count:
        return ""
    return f"In {count} row{'s' if count > 1 else ''} messages were lost, but no log states how many there were, so there is no share to compare."


def _lossless(comparison: Comparison) -> str:
    if not comparison.losses and comparison.lossless:
        return f"No run lost anything ({comparison.lossless} row{'s state' if comparison.lossless != 1 else ' states'} it)."
    return (
        f"In the other {comparison.lossless} row{'s that state' if comparison.lossless != 1 else ' that states'} loss, no run lost anything."
        if comparison.lossless
        else ""
    )
