"""The summary of a page in sentences. Each number in them links to its log line."""

from __future__ import annotations

from collections.abc import Sequence

from tacholog.render.figures.svg import swatch
from tacholog.render.html import NOTHING, Html, esc, join, tag
from tacholog.render.links import Links
from tacholog.render.tables.results import linked_number, linked_value, worst_run
from tacholog.view.names import BASIS_WORDS
from tacholog.view.numerals import size
from tacholog.view.ranking_groups import headline, headline_statistic
from tacholog.view.series import LOGICAL, LOSS, Cell, Series, newest_first

_RANGE = ("range-low", "range-high")
_BASES = {**BASIS_WORDS, "rtt/2": f"{BASIS_WORDS['rtt/2']} (RTT/2)", "one-way": "one-way latency"}
_STATISTICS = {"p50": "Median", "mean": "Mean", "min": "Minimum", "max": "Maximum", "typical": "Typical", "range-low": ""}


def latency_summary(series: Sequence[Series], links: Links) -> Html:
    """Return one sentence for each series: the median (or what the tool prints instead) at the smallest and the largest size."""
    return _list([(member, _latency(member, links)) for member in newest_first(series)])


def throughput_summary(series: Sequence[Series], links: Links) -> Html:
    """Return one or two sentences for each series: the highest goodput, the highest message rate, the loss."""
    able = [member for member in series if _has_rate(member)] or [member for member in series if _known(member, "loss", "total")]
    return _list([(member, _throughput(member, links) if member in able else NOTHING) for member in newest_first(series)])


def sustain_summary(series: Sequence[Series], links: Links) -> Html:
    """Return one sentence for each series: the highest rate that kept the goal, at the size where it is highest and where it is lowest."""
    return _list([(member, _sustained(member, links)) for member in newest_first(series)])


SUMMARIES = {"latency": latency_summary, "throughput": throughput_summary, "demand": throughput_summary, "sustain": sustain_summary}


def _has_rate(series: Series) -> bool:
    """Whether a series states a rate. A publisher often states none: a sentence that only says so would hide the others."""
    return bool(_known(series, "message_rate", "mean") or (headline(series, "goodput") and not series.has_mark(LOGICAL)))


def _list(sentences: Sequence[tuple[Series, Html]]) -> Html:
    """Return the sentences, each with the name of its series; a series that is alone on its page needs no name."""
    found = [(member, sentence) for member, sentence in sentences if sentence]
    if len(sentences) == 1 and found:
        return tag("p", found[0][1], class_="tl-answer")
    items = [
        tag("li", swatch(member.slot, hollow=member.published), tag("div", tag("span", member.label, class_="tl-label"), " ", sentence))
        for member, sentence in found
    ]
    return tag("ul", *items, class_="tl-answers") if items else NOTHING


def _latency(series: Series, links: Links) -> Html:
    statistic, cells = headline_statistic(series, "latency"), headline(series, "latency")
    if statistic is None or not cells:
        return NOTHING
    basis = _BASES.get(str(dict(series.key).get("basis")), "latency (whether one-way or round trip is not stated)")
    named = _STATISTICS.get(statistic, statistic)
    ends = list(dict.fromkeys((min(cells, key=_order), max(cells, key=_order))))
    numbers = join([_ranged(series, cells[at], at, links) if statistic in _RANGE else _at(cells[at], at, "ns", links) for at in ends], " and ")
    start = f"{named} {basis} is " if named else f"{basis[0].upper()}{basis[1:]} is "
    return join([start, numbers, _runs(series, [cells[at] for at in ends], links), ".", _tail(series, ends[0], links)])


def _sustained(series: Series, links: Links) -> Html:
    rates = _known(series, "sustained_rate", "lower-bound")
    if not rates:
        return NOTHING
    ends = list(dict.fromkeys((min(rates, key=_order), max(rates, key=_order))))
    numbers = join([_at(rates[at], at, "messages_per_s", links) for at in ends], " and ")
    goal = dict(series.key).get("goal")
    words = join(["The goal (", tag("span", goal, class_="stat-label"), ")"]) if goal else "The goal"
    return join([words, " is kept up to ", numbers, _runs(series, [rates[at] for at in ends], links), "."])


def _ranged(series: Series, low: Cell, at: int | None, links: Links) -> Html:
    """Return both ends of a range, for a source that states only these."""
    high = series.cells("latency", "range-high").get(at)
    end = [" ", linked_number(high, "ns", links, strong=True)] if high else []
    return join([linked_number(low, "ns", links, strong=True), *end, " for ", _size(low.size_words)])


def _known(series: Series, metric: str, statistic: str) -> dict[int | None, Cell]:
    return {at: cell for at, cell in series.cells(metric, statistic).items() if cell.value is not None}


def _order(at: int | None) -> int:
    return at or 0


def _tail(series: Series, at: int | None, links: Links) -> Html:
    cell = series.cells("latency", "p99").get(at)
    if cell is None or cell.value is None:
        return NOTHING
    return join(
        [
            " ",
            tag("span", "99\u202f%", class_="stat-percentile"),
            " of them at ",
            _size(size(at)),
            " take at most ",
            linked_number(cell, "ns", links),
            ".",
        ]
    )


def _throughput(series: Series, links: Links) -> Html:
    logical = series.has_mark(LOGICAL)
    parts = [] if logical else [_peak(series, links)]
    rates = _known(series, "message_rate", "mean")
    if rates:
        at = max(rates, key=lambda payload: rates[payload].value or 0.0)
        words = "References were handed over, and no payload moved: at most " if logical else "At most "
        parts.append(join([words, _at(rates[at], at, "messages_per_s", links), ". "]))
    return join([*parts, _loss(series, links)])


def _peak(series: Series, links: Links) -> Html:
    """Return the highest goodput of the sizes without notable loss: a rate at which most messages were lost says little."""
    cells = headline(series, "goodput")
    if not cells:
        return NOTHING
    whole = {at: cell for at, cell in cells.items() if LOSS not in cell.marks}
    found = whole or cells
    at = max(found, key=lambda payload: found[payload].value or 0.0)
    one = tag("span", "1\u202f%", class_="stat-limit")
    some, all_ = [" where at most ", one, " is lost"], [", with more than ", one, " lost at every size"]
    nothing = [": nothing arrived"] if not whole and found[at].value == 0 else None
    limit = join([] if len(whole) == len(cells) else some if whole else nothing or all_)
    return join(["Goodput peaks at ", _at(found[at], at, "bit_per_s", links), limit, _runs(series, [found[at]], links), ". "])


def _loss(series: Series, links: Links) -> Html:
    """Return how much the run lost that lost most: a median of 0 % says nothing of one run that lost messages among others that did not."""
    losses = _known(series, "loss", "total")
    if not losses:
        return esc("Loss is not stated.")
    most, worst, at, cell = max(((*worst_run(cell), at, cell) for at, cell in losses.items()), key=lambda found: found[0])
    if not most:
        return esc("No message was lost.")
    share = join(["Up to ", tag("strong", linked_value(most, worst, "ratio", links)), " of the messages were lost"])
    if cell.run_count == 1 or most == cell.value:
        return join([share, " (", _size(size(at)), ")."])
    return join([share, " in a run (", _size(size(at)), ", median ", linked_number(cell, "ratio", links), ")."])


def _runs(series: Series, cells: Sequence[Cell], links: Links) -> Html:
    """Return how many runs are behind the numbers of a sentence: other sizes of the series may have more runs or fewer."""
    counts, each = [cell.run_count for cell in cells], links.to_each_run(series)
    if max(counts) == 1:
        return NOTHING
    shown_counts = " and ".join(str(count) for count in (counts if len(set(counts)) > 1 else counts[:1]))
    words = f"median{'s' if len(cells) > 1 else ''} of {shown_counts} runs"
    linked = each is not None and links.logs is not None
    shown = tag("a", words, href=each, title="The numbers of each run", class_="stat-count") if linked else tag("span", words, class_="stat-count")
    return join([" (", shown, ")"])


def _at(cell: Cell, at: int | None, unit: str, links: Links) -> Html:
    where = join([" ", _preposition(cell), " ", _size(cell.size_words)]) if at is not None else " (size not stated)"
    return join([linked_number(cell, unit, links, strong=True), where])


def _size(words: str) -> Html:
    return tag("span", words, class_="stat-size")


def _preposition(cell: Cell) -> str:
    return "at" if cell.sizes_high is None else "for"
