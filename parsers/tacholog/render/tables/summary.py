"""The summary of a page in sentences. Each number links to its log line."""

from __future__ import annotations

from collections.abc import Sequence

from tacholog.compare.comparable import ACKNOWLEDGED
from tacholog.render.figures.svg import swatch
from tacholog.render.html import NOTHING, Html, esc, join, tag
from tacholog.render.links import Links
from tacholog.render.tables.results import linked_number, linked_value, worst_run
from tacholog.schema.marks import MARKS
from tacholog.view.names import BASIS_WORDS, condition_name, words
from tacholog.view.numerals import size
from tacholog.view.ranking_groups import headline, headline_statistic
from tacholog.view.series import LOGICAL, LOSS, Cell, Series, newest_first

_RANGE = ("range-low", "range-high")
_BASES = {
    **BASIS_WORDS,
    "rtt/2": f"{BASIS_WORDS['rtt/2']} (RTT/2)",
    "one-way": "one-way latency",
    ACKNOWLEDGED: "time from publish to acknowledgement",
}
_OF_ACKNOWLEDGEMENTS = ("acks", "durability", "replication_factor")
_STATISTICS = {"p50": "Median", "mean": "Mean", "min": "Minimum", "max": "Maximum", "typical": "Typical", "range-low": ""}


def latency_summary(series: Sequence[Series], links: Links) -> Html:
    """Return a sentence for each series: the median, or a substitute that the tool prints, at the smallest and the largest size."""
    return _list([(member, _latency(member, links)) for member in newest_first(series)])


def throughput_summary(series: Sequence[Series], links: Links) -> Html:
    """Return a few sentences for each series: the highest goodput, the highest message rate, and the loss."""
    able = [member for member in series if _has_rate(member)] or [member for member in series if _with_value(member, "loss", "total")]
    return _list([(member, _throughput(member, links) if member in able else NOTHING) for member in newest_first(series)])


def sustain_summary(series: Sequence[Series], links: Links) -> Html:
    """Return a sentence for each series: the highest rate that kept the goal, at the smallest and the largest size."""
    return _list([(member, _sustained(member, links)) for member in newest_first(series)])


def acknowledgements(series: Sequence[Series]) -> Html:
    """Return a paragraph for each meaning that an acknowledgement has in these series. Pages use it if there are too many series for a summary."""
    members = [member for member in series if dict(member.key).get("basis") == ACKNOWLEDGED or _with_value(member, "acknowledged_rate", "mean")]
    return join([tag("p", meaning) for meaning in dict.fromkeys(map(_acknowledgement, members))])


SUMMARIES = {"latency": latency_summary, "throughput": throughput_summary, "demand": throughput_summary, "sustain": sustain_summary}


def _has_rate(series: Series) -> bool:
    """Publishers often state no rate, and sentences that only say so would hide the other sentences."""
    has_count = any(_with_value(series, metric, "mean") for metric in ("message_rate", "acknowledged_rate"))
    return bool(has_count or (headline(series, "goodput") and not series.has_mark(LOGICAL)))


def _list(sentences: Sequence[tuple[Series, Html]]) -> Html:
    with_sentence = [(member, sentence) for member, sentence in sentences if sentence]
    if len(sentences) == 1 and with_sentence:
        return tag("p", with_sentence[0][1], class_="tl-answer")
    items = [
        tag("li", swatch(member.slot, hollow=member.published), tag("div", tag("span", member.label, class_="tl-label"), " ", sentence))
        for member, sentence in with_sentence
    ]
    return tag("ul", *items, class_="tl-answers") if items else NOTHING


def _latency(series: Series, links: Links) -> Html:
    statistic, cells = headline_statistic(series, "latency"), headline(series, "latency")
    if statistic is None or not cells:
        return NOTHING
    meaning = _acknowledgement(series) if dict(series.key).get("basis") == ACKNOWLEDGED else NOTHING
    basis = _BASES.get(str(dict(series.key).get("basis")), "latency (whether one-way or round trip is not stated)")
    named = _STATISTICS.get(statistic, statistic)
    ends = list(dict.fromkeys((min(cells, key=_order), max(cells, key=_order))))
    is_range = statistic in _RANGE
    numbers = [_ranged(series, cells[end], end, links) if is_range else _number_at(cells[end], end, "ns", links) for end in ends]
    start = f"{named} {basis} is " if named else f"{basis[0].upper()}{basis[1:]} is "
    return join(
        [start, join(numbers, " and "), _runs_of_medians(series, [cells[end] for end in ends], links), ".", _tail(series, ends[0], links), meaning]
    )


def _sustained(series: Series, links: Links) -> Html:
    rates = _with_value(series, "sustained_rate", "lower-bound")
    if not rates:
        return NOTHING
    ends = list(dict.fromkeys((min(rates, key=_order), max(rates, key=_order))))
    numbers = join([_number_at(rates[payload], payload, "messages_per_s", links) for payload in ends], " and ")
    goal = dict(series.key).get("goal")
    words = join(["The goal (", tag("span", goal, class_="stat-label"), ")"]) if goal else "The goal"
    return join([words, " is kept up to ", numbers, _runs_of_medians(series, [rates[payload] for payload in ends], links), "."])


def _ranged(series: Series, low: Cell, payload: int | None, links: Links) -> Html:
    """Some sources state only a range of values, and the sizes to which it applies."""
    high = series.cells("latency", "range-high").get(payload)
    end = [" ", linked_number(high, "ns", links, strong=True)] if high else []
    return join([linked_number(low, "ns", links, strong=True), *end, " for ", _size(low.size_words)])


def _acknowledgement(series: Series) -> Html:
    """Return a sentence on the copies that exist when the broker acknowledges a message. The sentence names the conditions that are not stated."""
    key = dict(series.key)
    phrases = ", ".join(words(name, key[name]) for name in _OF_ACKNOWLEDGEMENTS if key[name] is not None)
    missing = ", ".join(condition_name(name) for name in _OF_ACKNOWLEDGEMENTS if key[name] is None)
    if not phrases:
        return esc(f" What an acknowledgement means is not stated ({missing}).")
    return join([" An acknowledgement means: ", tag("span", phrases, class_="stat-label"), f" (not stated: {missing})." if missing else "."])


def _with_value(series: Series, metric: str, statistic: str) -> dict[int | None, Cell]:
    return {payload: cell for payload, cell in series.cells(metric, statistic).items() if cell.value is not None}


def _order(payload: int | None) -> int:
    return payload or 0


def _tail(series: Series, payload: int | None, links: Links) -> Html:
    cell = series.cells("latency", "p99").get(payload)
    if cell is None or cell.value is None:
        return NOTHING
    return join(
        [
            " ",
            tag("span", "99\u202f%", class_="stat-percentile"),
            " of them at ",
            _size(size(payload)),
            " take at most ",
            linked_number(cell, "ns", links),
            f" ({MARKS['undersampled'].title.lower()})" if "undersampled" in cell.marks else "",
            ".",
        ]
    )


def _throughput(series: Series, links: Links) -> Html:
    logical = series.has_mark(LOGICAL)
    parts = [] if logical else [_peak(series, links)]
    rates = _with_value(series, "message_rate", "mean")
    if rates:
        payload = max(rates, key=lambda payload: rates[payload].value or 0.0)
        words = "References were handed over, and no payload moved: at most " if logical else "At most "
        parts.append(join([words, _number_at(rates[payload], payload, "messages_per_s", links), ". "]))
    acknowledged = _with_value(series, "acknowledged_rate", "mean")
    if acknowledged:
        payload = max(acknowledged, key=lambda payload: acknowledged[payload].value or 0.0)
        parts.append(join(["The broker acknowledged at most ", _number_at(acknowledged[payload], payload, "messages_per_s", links), "."]))
        parts.append(join([_acknowledgement(series), " "]))
    return join([*parts, _loss(series, links)])


def _peak(series: Series, links: Links) -> Html:
    """Return a sentence on the highest goodput; an empty result if there is no goodput.

    Sizes with notable loss count only if all sizes have it, because a rate at which most messages were lost says little.
    """
    cells = headline(series, "goodput")
    if not cells:
        return NOTHING
    lossless = {payload: cell for payload, cell in cells.items() if LOSS not in cell.marks}
    candidates = lossless or cells
    payload = max(candidates, key=lambda payload: candidates[payload].value or 0.0)
    limit_html = tag("span", "1\u202f%", class_="stat-limit")
    some, all_ = [" where at most ", limit_html, " is lost"], [", with more than ", limit_html, " lost at every size"]
    nothing = [": nothing arrived"] if not lossless and candidates[payload].value == 0 else None
    limit = join([] if len(lossless) == len(cells) else some if lossless else nothing or all_)
    peak = candidates[payload]
    return join(
        ["The payload received peaks at ", _number_at(peak, payload, "bit_per_s", links), limit, _runs_of_medians(series, [peak], links), ". "]
    )


def _loss(series: Series, links: Links) -> Html:
    """Return a sentence on the largest loss of any run. The median is not enough: it hides a single run that lost messages."""
    losses = _with_value(series, "loss", "total")
    if not losses:
        return esc("Loss is not stated.")
    most, worst, payload, cell = max(((*worst_run(cell), payload, cell) for payload, cell in losses.items()), key=lambda candidate: candidate[0])
    if not most:
        return esc("No message was lost.")
    share = join(["Up to ", tag("strong", linked_value(most, worst, "ratio", links)), " of the messages were lost"])
    if cell.run_count == 1 or most == cell.value:
        return join([share, " (", _size(size(payload)), ")."])
    return join([share, " in a run (", _size(size(payload)), ", median ", linked_number(cell, "ratio", links), ")."])


def _runs_of_medians(series: Series, cells: Sequence[Cell], links: Links) -> Html:
    counts, each = [cell.run_count for cell in cells], links.to_each_run(series)
    if max(counts) == 1:
        return NOTHING
    shown_counts = " and ".join(str(count) for count in (counts if len(set(counts)) > 1 else counts[:1]))
    words = f"median{'s' if len(cells) > 1 else ''} of {shown_counts} runs"
    if each is None or links.logs is None:
        return join([" (", tag("span", words, class_="stat-count"), ")"])
    return join([" (", tag("a", words, href=each, title="The numbers of each run", class_="stat-count"), ")"])


def _number_at(cell: Cell, payload: int | None, unit: str, links: Links) -> Html:
    where = join([" ", _preposition(cell), " ", _size(cell.size_words)]) if payload is not None else " (size not stated)"
    return join([linked_number(cell, unit, links, strong=True), where])


def _size(words: str) -> Html:
    return tag("span", words, class_="stat-size")


def _preposition(cell: Cell) -> str:
    return "at" if cell.sizes_high is None else "for"
