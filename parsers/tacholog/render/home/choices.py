"""The table "which transport for which message" of a machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tacholog.compare.policy import MIN_RUNS
from tacholog.render.html import NOTHING, Html, join, tag
from tacholog.render.links import Links
from tacholog.render.marks import UsedMarks, add_marks, in_order, mark_by_title, mark_link
from tacholog.render.table import Table, TableCell, TableColumn, TableRow, count_of, empty, head, scroller
from tacholog.render.tables.results import linked_number
from tacholog.schema.metrics import METRICS
from tacholog.view.comparison import version_of
from tacholog.view.home import CRITERIA, Choice, ChoiceColumn, Choices, Criterion, Doubt, differing_labels_of, how, waits
from tacholog.view.names import BASIS_WORDS, NOT_LOADED, load_words
from tacholog.view.numerals import NOT_STATED, size
from tacholog.view.ranking_groups import SystemSeries

_REACH_WORDS = {"process": "Within one process", "host": "Between processes", "network": "Over a network"}
_LOOPBACK = "Over loopback"
_POLLS = "polls"
_CRITERIA: dict[Criterion | None, tuple[str, str]] = {
    "fastest": ("fastest", "lowest median"),
    "steadiest": ("steadiest", "lowest 99th percentile, if all runs agree"),
    "cheapest": ("cheapest", "least CPU per message, at full rate"),
    None: ("without a library", "lowest median"),
}
# What a row shows if none of its cells compares anything.
_UNCOMPARED: dict[Criterion, str] = {"fastest": "median", "steadiest": "99th percentile", "cheapest": "CPU per message, at full rate"}
_ONLY: dict[Criterion, str] = {
    "fastest": "the only one measured in all runs",
    "steadiest": "the only one with this percentile in all runs",
    "cheapest": "the only one: the others lost more than 1\u00a0%, or their CPU is not stated",
}
_DOUBTS: dict[Doubt, str] = {"two_groups": "the runs form two groups", "undersampled": "too few samples"}
_MOST_LEVEL = 3
_PAIR = 2  # the median of two runs is the worse one


def choices_table(choices: Choices, links: Links, anchor: str, used_marks: UsedMarks, machine: str, *, loopback: bool) -> Html:
    """Return the table, with a sentence above it on the certainty of its numbers, and with notes below it.

    Args:
        choices: the leading transports for each use.
        links: the addresses of the logs.
        anchor: the start of the ids of the notes on marks.
        used_marks: collects the marks of all numbers.
        machine: the machine of all measurements.
        loopback: whether the network is the loopback interface of one machine.
    """
    writer = _Writer(choices, links, anchor, used_marks, loopback=loopback)
    rows = [(payload, use) for payload, use in choices.rows if writer.has_size(payload)]
    columns = [TableColumn("message", class_="tl-text", width="tl-names"), *map(writer.head, choices.columns)]
    bodies = [list(writer.rows(payload, f"{use}, {size(payload)}")) for payload, use in rows]
    table = scroller(Table(f"Which transport for which message, {machine}", columns, bodies, "tl-table tl-words tl-choices"), tools=False)
    unmeasured = [f"{use}, {size(payload)}" for payload, use in choices.rows if (payload, use) not in rows]
    not_here = tag("p", f"Not measured on this machine: {'; '.join(unmeasured)}.", class_="tl-note") if unmeasured else NOTHING
    switch = _size_switch([payload for payload, _ in rows], machine)
    return join([tag("p", *writer.lead()), switch, table, not_here, tag("p", *writer.notes(), class_="tl-note")])


def _size_switch(sizes: Sequence[int], machine: str) -> Html:
    """Return the switch for the message size; nothing if there is only one size.

    Only phones show the switch, because the table of all sizes would be eight screens high on a phone.
    """
    if len(sizes) == 1:
        return NOTHING
    buttons = (
        tag(
            "label",
            tag("input", type="radio", name=f"size-{machine}", value=index, checked=index == 0),
            tag("span", size(payload), class_="stat-size"),
        )
        for index, payload in enumerate(sizes)
    )
    return tag("fieldset", tag("legend", "Message size"), *buttons, class_="tl-boxes tl-size-switch")


class _Writer:
    def __init__(self, choices: Choices, links: Links, anchor: str, used_marks: UsedMarks, *, loopback: bool) -> None:
        self._choices, self._links, self._anchor, self._used_marks, self._loopback = choices, links, anchor, used_marks, loopback
        self._labels = differing_labels_of(member for column in choices.columns for member in column.members)
        self._chosen = dict(self._choose())
        cells = [choice.cell for choice in self._chosen.values()]
        counts = Counter(mark for cell in cells for mark in cell.marks if mark not in _DOUBTS)
        self._usual_marks = [mark for mark in in_order(counts) if 2 * counts[mark] > len(cells)]
        self._runs = sorted({cell.run_count for cell in cells})

    def _choose(self) -> Iterator[tuple[tuple[int, int, Criterion | None], Choice]]:
        for index, column in enumerate(self._choices.columns):
            for payload, _ in self._choices.rows:
                for criterion in CRITERIA:
                    if choice := column.choice(criterion, payload):
                        yield (index, payload, criterion), choice
                if column.bare and (choice := column.choice("fastest", payload, is_bare=True)):
                    yield (index, payload, None), choice

    def has_size(self, payload: int) -> bool:
        return any(of_size == payload and criterion for _, of_size, criterion in self._chosen)

    def head(self, column: ChoiceColumn) -> TableColumn:
        return TableColumn(join([self._reach(column), tag("span", _waiting_words(column), class_="tl-how")]))

    def _reach(self, column: ChoiceColumn) -> str:
        return _LOOPBACK if self._loopback and column.reach == "network" else _REACH_WORDS[column.reach]

    def rows(self, payload: int, use: str) -> Iterator[TableRow]:
        yield TableRow([TableCell(use, scope="rowgroup", span=len(self._choices.columns) + 1, class_="tl-use stat-size")])
        measured = {criterion for _, of_size, criterion in self._chosen if of_size == payload}
        compared = {criterion for (_, of_size, criterion), choice in self._chosen.items() if of_size == payload and choice.candidates > 1}
        for criterion in (*CRITERIA, None):
            if criterion in measured:
                name, more = (
                    _CRITERIA[criterion] if criterion is None or criterion in compared else (_UNCOMPARED[criterion], "nothing to compare with")
                )
                cells = [self._cell(index, payload, criterion) for index in range(len(self._choices.columns))]
                yield TableRow([head(join([name, tag("span", more, class_="tl-how")])), *cells])

    def _cell(self, index: int, payload: int, criterion: Criterion | None) -> TableCell:
        column = self._choices.columns[index]
        column_words = f"{self._reach(column)}, {_waiting_words(column)}"
        choice = self._chosen.get((index, payload, criterion))
        if choice is None:
            return empty("not measured")._replace(head=column_words)
        member = choice.member
        add_marks(self._used_marks, choice.cell)
        marks = [mark_link(mark, self._anchor) for mark in in_order(choice.cell.marks) if mark not in self._usual_marks and mark not in _DOUBTS]
        number = linked_number(choice.cell, METRICS[choice.cell.result.metric].unit, self._links, brief=True)
        is_leading = criterion and choice.candidates > 1 and not choice.doubts and choice.is_firm
        name = tag("strong" if is_leading else "span", member.transport, class_=None if member.document else "stat-label")
        linked = tag("a", name, href=f"doc:{member.document}") if member.document else name
        manner = how(member, self._labels if criterion else (), _waiting_words(column))
        more = tag("span", manner, class_="stat-label") if manner else NOTHING
        number = join([number, tag("sup", *marks) if marks else NOTHING])
        about = join(filter(None, [more, self._sureness(choice, criterion, is_beside_bare=bool(column.bare)) if criterion else NOTHING]), "; ")
        parts = [tag("div", linked, tag("span", number), class_="tl-leading"), tag("div", about, class_="tl-wraps tl-sure") if about else NOTHING]
        return TableCell(join(parts), class_="tl-text", head=column_words)

    def _sureness(self, choice: Choice, criterion: Criterion, *, is_beside_bare: bool) -> Html | str:
        """Return words on how sure the choice in a cell is, such as "no winner" or "the only one measured".

        Facts that apply to all cells are left out, because these facts are stated above the table.
        """
        if choice.doubts:
            return f"no winner: {' or '.join(words for doubt, words in _DOUBTS.items() if doubt in choice.doubts)}"
        plural = "s" if choice.cell.run_count > 1 else ""
        runs = "" if len(self._runs) == 1 or choice.is_firm else join(["no winner: ", count_of(choice.cell.run_count), f" run{plural}"])
        if choice.candidates == 1:
            return "the only one measured" if choice.measured == 1 else _ONLY[criterion]
        names = [name for name in dict.fromkeys(member.transport for member in choice.overlapping) if name != choice.member.transport]
        if not names:
            return runs or (f"ahead of all other{' libraries' if is_beside_bare else 's'}" if choice.is_firm else "")
        more = join([" and ", count_of(len(names) - _MOST_LEVEL), " more"]) if len(names) > _MOST_LEVEL else NOTHING
        level = join(["about the same: ", tag("span", ", ".join(names[:_MOST_LEVEL]), class_="stat-label"), more])
        return join(filter(None, [runs, level]), "; ")

    def lead(self) -> Iterator[Html | str]:
        """Yield the sentences above the table, which apply to all its numbers."""
        if not self._runs:
            return
        few, many = self._runs[0], self._runs[-1]
        if few == many:
            rule = "the worse of" if many == _PAIR else "the value of" if many == 1 else "the median of"
            winner = ": no winner is named" if many < MIN_RUNS else ""
            runs = join([count_of(many), f" run{'s' if many > 1 else ''}"])
            yield join([runs, winner, ". "]) if winner else NOTHING
            yield join(["Each number is ", rule, " ", runs, ". "])
        else:
            winner = join(["; with fewer than ", count_of(MIN_RUNS), ", no winner is named"]) if few < MIN_RUNS else NOTHING
            yield join(["Each number is the median of ", count_of(few), " to ", count_of(many), " runs", winner, ". "])
        groups = [numbers.group for column in self._choices.columns for name, numbers in column.ranked.items() if name == "fastest"]
        if groups:
            loaded = "Latencies under load are on the page \u201cSide by side\u201d." if self._choices.has_loaded else NOT_LOADED
            yield load_words((group["load_mode"] for group in groups), loaded=loaded)

    def notes(self) -> Iterator[Html | str]:
        """Yield the sentences below the table: what was measured, and the meaning of terms."""
        columns, chosen = self._choices.columns, self._chosen.values()
        bases = {numbers.group["basis"] for column in columns for name, numbers in column.ranked.items() if name == "fastest"}
        if len(bases) == 1 and (basis := BASIS_WORDS.get(str(bases.pop()))):
            yield f"Latency is that of a {basis}. "
        if any(choice.overlapping for choice in chosen):
            yield "About the same: the ranges of their runs overlap, so take the transports as equally good. "
        if any(choice.cell.groups for choice in chosen):
            yield "Two numbers: the runs form two groups, and the worse one counts. "
        if any("undersampled" in choice.doubts for choice in chosen):
            yield "A value from too few samples is never called the best. "
        if any(column.is_polling for column in columns):
            yield "A side that polls keeps a processor busy, messages or not. "
        if any("cheapest" in column.ranked for column in columns):
            yield "Processor time is that of both sides (and a broker). "
        bare = dict.fromkeys(_release(member) for column in columns for member in column.members if id(member) in column.bare)
        if bare:
            yield join(["Without a library: ", tag("span", ", ".join(bare), class_="stat-label"), " itself. A library can beat it: "])
            yield "by looking before it sleeps, or by sending several messages at once. "
        if self._loopback:
            if any(column.reach == "host" for column in columns):
                yield "Between processes: both sides on one machine; some transports pass through the kernel\u2019s network code. "
            yield "Over loopback: network transports, measured here within one machine. "
        groups = [(self._reach(column), numbers.group["campaign"]) for column in columns for numbers in column.ranked.values()]
        campaigns = dict.fromkeys((reach, str(campaign)) for reach, campaign in groups if campaign)
        if campaigns:
            several = len({campaign for _, campaign in campaigns}) > 1
            named = [f"{campaign} ({reach[:1].lower()}{reach[1:]})" if several else campaign for reach, campaign in campaigns]
            yield join(["Campaign: ", tag("span", ", ".join(dict.fromkeys(named)), class_="stat-label"), ". "])
        if self._usual_marks:
            marks = join([mark_by_title(mark, self._anchor) for mark in self._usual_marks], ", ")
            yield join(["Most of these numbers have a mark: ", marks, "."])


def _waiting_words(column: ChoiceColumn) -> str:
    return _POLLS if column.is_polling else ", ".join(dict.fromkeys(filter(None, map(waits, column.members)))) or "waiting not stated"


def _release(member: SystemSeries) -> str:
    return " ".join(filter(None, (member.system, "" if version_of(member) == NOT_STATED else version_of(member))))
