"""The table "which transport for which message" of a machine."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from tacholog.render.html import NOTHING, Html, esc, join, tag
from tacholog.render.links import Links
from tacholog.render.marks import UsedMarks, add_marks, in_order, mark_link
from tacholog.render.table import Table, TableCell, TableColumn, TableRow, count_of, empty, head, scroller
from tacholog.render.tables.results import linked_number
from tacholog.schema.metrics import METRICS
from tacholog.view.comparison import version_of
from tacholog.view.home import CRITERIA, SLEEPS, Choice, Choices, Criterion, Doubt, ReachColumn, differing_labels_of, how, polls, waits
from tacholog.view.names import BASIS_WORDS
from tacholog.view.numerals import NOT_STATED, grouped, size
from tacholog.view.ranking_groups import SystemSeries

_REACH_WORDS = {
    "process": "Within one process",
    "host": "Between processes",
    "network": "Over a network",
}
_LOOPBACK = "Over loopback"
_CRITERIA: dict[Criterion, tuple[str, str]] = {
    "fastest": ("fastest", "lowest median"),
    "steadiest": ("steadiest", "lowest 99\u00a0%, runs in one group"),
    "cheapest": ("cheapest", "least CPU per message, at full rate"),
}
_NUMBERS: dict[Criterion, Html] = {
    "fastest": esc("a median in all runs"),
    "steadiest": join(["a ", tag("span", "99\u00a0%", class_="stat-percentile"), " in all runs"]),
    "cheapest": esc("a CPU per message in all runs, and few lost"),
}
_DOUBTS: dict[Doubt, str] = {"two_groups": "runs in two groups", "undersampled": "too few samples"}
_AT_LOW_RATES = "; at low rates a side that polls still takes a whole processor"
_MOST_OVERLAPPING = 3


def choices_table(choices: Choices, links: Links, anchor: str, used_marks: UsedMarks, machine: str, *, loopback: bool) -> Html:
    """Return the table.

    Args:
        choices: the leading transports for each use.
        links: the addresses of the logs.
        anchor: the start of the ids of the notes on marks.
        used_marks: collects the marks of all numbers.
        machine: the machine of all measurements.
        loopback: whether the network is the loopback interface of one machine.
    """
    words = {**_REACH_WORDS, "network": _LOOPBACK} if loopback else _REACH_WORDS
    heads = [words[column.reach] for column in choices.columns]
    chosen = {
        (column.reach, name, payload): column.answers(name, payload) for column in choices.columns for payload, _ in choices.rows for name in CRITERIA
    }
    measured_sizes = {payload for (_, _, payload), answers in chosen.items() if answers}
    rows = [(payload, use) for payload, use in choices.rows if payload in measured_sizes]
    runs = {choice.cell.run_count for answers in chosen.values() for choice in answers}
    labels = differing_labels_of(member for column in choices.columns for member in column.members)
    write = _Writer(links, anchor, used_marks, labels, same_runs=len(runs) == 1)
    two = [any(len(chosen[column.reach, name, payload]) > 1 for name in CRITERIA for payload, _ in choices.rows) for column in choices.columns]
    columns = [
        TableColumn("criterion", class_="tl-text", width="tl-names"),
        *(_head(column, words, "tl-two" if answers else "") for column, words, answers in zip(choices.columns, heads, two, strict=True)),
    ]
    tables = []
    for index, (payload, use) in enumerate(rows):
        body = [
            TableRow(
                [
                    _criterion(criterion, is_first=index == 0),
                    *(
                        write.cell(chosen[column.reach, criterion, payload], criterion, words)
                        for column, words in zip(choices.columns, heads, strict=True)
                    ),
                ]
            )
            for criterion in _CRITERIA
        ]
        table = Table(f"{use}, {size(payload)}, {machine}", columns, [body], "tl-table tl-words tl-choices")
        tables.append(_of_use(f"{use}, {size(payload)}", table, is_first=index == 0))
    all_choices = [choice for answers in chosen.values() for choice in answers]
    unmeasured = [f"{use}, {size(payload)}" for payload, use in choices.rows if (payload, use) not in rows]
    not_here = tag("p", f"Not measured on this machine: {'; '.join(unmeasured)}.", class_="tl-note") if unmeasured else NOTHING
    return join([*tables, not_here, _notes(choices, all_choices, runs.pop() if len(runs) == 1 else None, loopback=loopback)])


def _of_use(words: str, table: Table, *, is_first: bool) -> Html:
    """Return the table of a use under its name. On phones, a script folds all but the first, because each is longer than the screen."""
    content = scroller(table, tools=False)
    return tag("details", tag("summary", words, class_="stat-size"), content, class_="tl-use" if is_first else "tl-use tl-folds-on-phone", open=True)


def _criterion(criterion: Criterion, *, is_first: bool) -> TableCell:
    name, how_found = _CRITERIA[criterion]
    more = _AT_LOW_RATES if criterion == "cheapest" and is_first else ""
    return head(join([name, tag("span", how_found, more, class_="tl-how")]))


class _Writer:
    """Writes the cells, and collects their marks."""

    def __init__(self, links: Links, anchor: str, used_marks: UsedMarks, labels: Collection[str], *, same_runs: bool) -> None:
        self._links, self._anchor, self._used_marks, self._labels, self._same_runs = links, anchor, used_marks, labels, same_runs

    def cell(self, answers: Sequence[Choice], criterion: Criterion, words: str) -> TableCell:
        """Return a cell with the leading transport, or with two answers if a transport that polls and one that sleeps lead."""
        if not answers:
            return empty("not measured")._replace(head=words)
        parts = [part for choice in answers for part in self._answer(choice, criterion, alone=len(answers) == 1)]
        return TableCell(join(parts), class_="tl-text", head=words)

    def _answer(self, choice: Choice, criterion: Criterion, *, alone: bool) -> Iterator[Html]:
        """Yield the transport and its number, with overlapping ranges, runs and samples, and the floor; before it the reason if nothing leads."""
        member, unit = choice.member, METRICS[choice.cell.result.metric].unit
        add_marks(self._used_marks, choice.cell)
        marks = [mark_link(mark, self._anchor) for mark in in_order(choice.cell.marks)]
        number = join([linked_number(choice.cell, unit, self._links, brief=True), tag("sup", *marks) if marks else NOTHING])
        name = tag("span" if choice.doubts else "strong", member.transport, class_=None if member.document else "stat-label")
        named = tag("a", name, href=f"doc:{member.document}") if member.document else name
        about = join(filter(None, [_overlaps(choice), self._evidence(choice, criterion, alone=alone), self._floor(choice, unit)]), "; ")
        none = tag("span", _doubt_words(choice, alone=alone), class_="tl-null tl-none") if choice.doubts else NOTHING
        yield tag("div", none, join([named, tag("span", how(member, self._labels), class_="tl-how stat-label")], " "), class_="tl-wraps")
        yield tag("div", join([number, tag("span", about, class_="tl-rests-on")], " "), class_="tl-wraps")

    def _evidence(self, choice: Choice, criterion: Criterion, *, alone: bool) -> Html:
        """Return the number of runs and samples behind a number. If all numbers have as many runs, the note below the table states it instead."""
        samples = [result.samples for result in choice.cell.results if result.samples is not None]
        few = "too few runs to name a winner" if choice.candidates > 1 and not choice.is_firm and not choice.doubts else ""
        count = choice.cell.run_count
        runs = NOTHING if self._same_runs else join([count_of(count), f" run{'s' if count > 1 else ''}"])
        least = join([tag("span", f"\u2265\u202f{grouped(min(samples))}", class_="stat-count"), " samples"]) if samples else NOTHING
        only = _only_words(choice, criterion) if choice.candidates == 1 and alone else NOTHING
        return join(filter(None, [runs, least, few, only]), ", ")

    def _floor(self, choice: Choice, unit: str) -> Html:
        if choice.floor is None:
            return NOTHING
        member, cell = choice.floor
        name = tag("span", f"{member.transport}, {how(member)}", class_="stat-label")
        floor = join(["floor ", linked_number(cell, unit, self._links, brief=True), " ", name, _below_floor(choice, member, unit)])
        if choice.newer is None:
            return floor
        newer, lower = choice.newer
        return join([floor, tag("span", f", {version_of(newer)}: ", class_="stat-label"), linked_number(lower, unit, self._links, brief=True)])


def _doubt_words(choice: Choice, *, alone: bool) -> str:
    """Return why nothing leads. The number below is not reliable, but a reader wants to know its magnitude."""
    kind = "" if alone else " that polls" if polls(choice.member) else " that sleeps"
    why = " or ".join(words for doubt, words in _DOUBTS.items() if doubt in choice.doubts)
    return f"none{kind}: {why}{'' if choice.candidates == 1 else '; the lowest is'}"


def _only_words(choice: Choice, criterion: Criterion) -> Html:
    """Return why there is only one candidate: nothing else was measured, or nothing else has such a number."""
    return esc("the only one measured") if choice.measured == 1 else join(["the only one with ", _NUMBERS[criterion]])


def _below_floor(choice: Choice, floor: SystemSeries, unit: str) -> str:
    """Return why the floor is worse than the number, as far as its way of waiting explains it. Without a reason, it looks like a mistake."""
    if choice.beside_floor == "level":
        return ", about the same: their ranges overlap"
    if choice.beside_floor == "above":
        return ""
    if unit != METRICS["latency"].unit or choice.cell.result.metric != "latency":
        return ", which takes more: it sends each message alone"
    return ", which is slower: it waits until the kernel wakes it" if waits(floor) == SLEEPS else ", which is slower"


def _head(column: ReachColumn, words: str, width: str) -> TableColumn:
    """Return the head of a column, with the campaign and the releases of its numbers."""
    bare = [member for member in column.members if id(member) in column.bare]
    release_names = ", ".join(dict.fromkeys(_release(member) for member in bare or column.members))
    several = len({member.system for member in bare or column.members}) > 1
    campaign = next((str(ranked.group["campaign"]) for ranked in column.ranked.values() if ranked.group["campaign"]), "")
    named = f"campaign {campaign}" if campaign else ""
    about = "; ".join(filter(None, (named, "" if several else f"floor: {release_names}" if bare else release_names)))
    return TableColumn(join([words, tag("span", about, class_="tl-how stat-label") if about else NOTHING]), width=width)


def _release(member: SystemSeries) -> str:
    return " ".join(filter(None, (member.system, "" if version_of(member) == NOT_STATED else version_of(member))))


def _overlaps(choice: Choice) -> Html:
    others = [name for name in dict.fromkeys(member.transport for member in choice.overlapping) if name != choice.member.transport]
    if not others:
        return NOTHING
    more = join([" and ", count_of(len(others) - _MOST_OVERLAPPING), " more"]) if len(others) > _MOST_OVERLAPPING else NOTHING
    return join([tag("span", f"range overlaps with {', '.join(others[:_MOST_OVERLAPPING])}", class_="stat-label"), more])


def _notes(choices: Choices, chosen: Collection[Choice], runs: int | None, *, loopback: bool) -> Html:
    """Return a note that applies to all cells: the number of runs, the kind of latency, and the meaning of words."""
    bases = {column.latency["basis"] for column in choices.columns if column.latency}
    basis = BASIS_WORDS.get(str(bases.pop()), "") if len(bases) == 1 else ""
    sentences = [
        join(["Each number is the median of ", count_of(runs), " runs" if runs > 1 else " run"]) if runs else NOTHING,
        "; if they form two groups, the median of each, and the worse one decides" if runs and _has_groups(chosen) else "",
        ". " if runs else "",
        "Two numbers: the runs form two groups, and the worse one decides. " if not runs and _has_groups(chosen) else "",
        f"Latency is that of a {basis}. " if basis else "",
        "Two answers: one of transports that poll, one of those that sleep. " if _has_two(choices) else "",
        "Processor time is that of both sides (and a broker). " if _has_cost(choices) else "",
        "Nothing leads with too few samples. " if any("undersampled" in choice.doubts for choice in chosen) else "",
        "Overlapping ranges: repeated runs do not tell the transports apart. " if any(choice.overlapping for choice in chosen) else "",
        _floor_words(choices),
        _reach_words(choices) if loopback else "",
    ]
    return tag("p", *sentences, class_="tl-note")


def _reach_words(choices: Choices) -> str:
    """Return how the columns differ: in the reach of a transport. A transport that stays on one machine may use its network stack, too."""
    local = "Between processes: transports that stay on one machine, some of them through its network stack. "
    network = "Over loopback: those that reach other machines, too, here without a network card. "
    return local + network if any(column.reach == "host" and column.members for column in choices.columns) else network


def _has_groups(chosen: Iterable[Choice]) -> bool:
    return any(cell.groups for choice in chosen for cell in (choice.cell, *(choice.floor[1:] if choice.floor else ())))


def _has_cost(choices: Choices) -> bool:
    return any("cheapest" in column.ranked for column in choices.columns)


def _has_two(choices: Choices) -> bool:
    return any(len(column.answers(name, payload)) > 1 for column in choices.columns for payload, _ in choices.rows for name in CRITERIA)


def _floor_words(choices: Choices) -> Html:
    """Return what a floor is, and its release. It is of the same campaign, so that both were measured in the same way."""
    releases = dict.fromkeys(_release(member) for column in choices.columns for member in column.members if id(member) in column.bare)
    if not releases:
        return NOTHING
    named = tag("span", ", ".join(releases), class_="stat-label")
    words = " itself, without a library, of the same campaign. A library is below it where it looks for messages before the kernel wakes it, "
    return join(["Floor: the best transport of ", named, words, "or sends several together. "])
