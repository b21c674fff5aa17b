"""An answer to a question as words, as a table and as figures, for pages, the command line and notebooks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

import msgspec

from tacholog.compare.policy import MIN_RUNS
from tacholog.render.figures.axes import Axis, number_axis, share_axis, size_axis
from tacholog.render.figures.figures import Figure, PlotPoint, Trace
from tacholog.render.html import Html, join, linked
from tacholog.render.links import Links
from tacholog.render.number_spans import number_anchor
from tacholog.render.table import Table, TableCell, TableColumn, TableRow, empty, exact, head, words_table
from tacholog.runs.questions import Question
from tacholog.schema.metrics import METRICS
from tacholog.view.factors import Factor, Value
from tacholog.view.names import BASIS_WORDS
from tacholog.view.names import words as name_words
from tacholog.view.numerals import in_full, quantity, rounded, size, with_bound
from tacholog.view.questions import Answer, AnswerCell, Case, ChosenValue
from tacholog.view.results import ResultRow

_STATISTICS = {"p50": "median", "mean": "mean", "min": "lowest", "max": "largest"}
_MEAN_OF_A_RUN = ("mean", "total", "lower-bound")  # for metrics other than latency, the names of these statistics are left out
_CLEAR_RISE = 2.0  # an answer mentions two neighbouring points of the axis if a subject changes by at least this factor between them
_LOG_FROM = 20  # if the largest value of an axis is at least this many times the smallest, the axis is logarithmic
_NO_CLEAR_LEAD = 1.05  # without a test, medians with a smaller ratio count as equal
_CLOSE = 1.05  # a ratio of two values is stated only if it is at least this large
_SEVERAL = 2
_MOST_CASES = 8  # the number of items that a sentence lists
_SPREAD = 0.5  # the width of a panel, from its first to its last subject, as a share of the distance between two panels
_SMALL_P = 0.0001
_LABEL_ROOM = 0.07  # the smallest distance between two labels, as a share of the length of the axis
_SHORT_REASONS = ("not measured", "nothing arrived")


class LinkedNumber(NamedTuple):
    """A number of a sentence: its words, and the result that it is."""

    text: str
    result: ResultRow


class Sentence:
    """A sentence of an answer, as texts and numbers.

    ``is_sure`` states whether tests prove it; ``None`` means that tests do not apply to it, or that they prove only a part of the cases.
    """

    def __init__(self, *parts: str | LinkedNumber, is_sure: bool | None = None) -> None:
        self.parts, self.is_sure = parts, is_sure

    @property
    def text(self) -> str:
        """The sentence without links."""
        return "".join(part if isinstance(part, str) else part.text for part in self.parts)

    def html(self, links: Links) -> Html:
        """Return the sentence with each number linked to its log line."""
        return join(part if isinstance(part, str) else linked(part.text, line_of(part.result, links)) for part in self.parts)


def line_of(result: ResultRow, links: Links | None) -> str | None:
    """Return the address of the log line of a number; ``None`` if there is none."""
    return links.to_line(result) if links and number_anchor(result) else None


def metric_words(metric: str, statistic: str) -> str:
    """Return the metric of a question in running text: ``median latency``, ``p99 latency``, ``payload received per second``."""
    words = {"goodput": "payload received per second", "message_rate": "messages received per second", "loss": "share of messages lost"}
    name = words.get(metric, METRICS[metric].words[:1].lower() + METRICS[metric].words[1:])
    return name if statistic in _MEAN_OF_A_RUN and metric != "latency" else f"{_STATISTICS.get(statistic, statistic)} {name}"


def question_title(question: Question, answer: Answer) -> str:
    """Return the question in words: the title by its author, or a title made from its fields."""
    if question.title:
        return question.title
    over = f" over {answer.over.title}" if answer.over else ""
    by = f", by {_listed([field.title for field in answer.by])}" if answer.by else ""
    name = metric_words(answer.metric, answer.statistic)
    if len(answer.subject.values) < _SEVERAL:
        return f"{name[:1].upper()}{name[1:]}{over}{by}"
    return f"{name[:1].upper()}{name[1:]} of each {answer.subject.title}{over}{by}"


def sentences(answer: Answer) -> list[Sentence]:
    """Return the answer in a few sentences: which subject is best in each case, by how much, how sure this is, and for which chosen values."""
    return [*_ranking(answer), *_scope(answer)]


def _scope(answer: Answer) -> Iterator[Sentence]:
    values = [choice.field.words(choice.value) for choice in answer.choices if choice.value is not None]
    if len(answer.cells) == 1:
        values = [*dict.fromkeys([*values, *_way_of_measuring(answer)])]
    if values:
        yield Sentence(f"This is about {_listed(values)} only.")


def _way_of_measuring(answer: Answer) -> Iterator[str]:
    """Yield what the only number of an answer is, because nothing else on the page of the question states it."""
    (cell,) = answer.cells.values()
    result, named = cell.median, {answer.subject.name, *(field.name for field in answer.by)}
    fields = {"basis": result.conditions.basis, "payload_bytes": result.payload_bytes, "transport": result.conditions.transport}
    for name, value in (*fields.items(), ("release", result.run.release)):
        if name not in named and value is not None:
            yield size(float(str(value))) if name == "payload_bytes" else name_words(name, value)


def _ranking(answer: Answer) -> list[Sentence]:
    if len(answer.subject.values) < _SEVERAL:
        return [*_of_one_subject(answer)]
    name = metric_words(answer.metric, answer.statistic)
    if answer.lower_is_better is None:
        return [Sentence(f"Neither a higher nor a lower {name} is better, so nothing is ranked.")]
    cases = [case for case in _cases(answer) if len(answer.ranked(*case)) >= _SEVERAL]
    wins = {case: answer.ranked(*case)[0] for case in cases if not answer.is_tie(*case)}
    if cases and not wins:
        return [Sentence(f"In {'the only case' if len(cases) == 1 else f'all {len(cases)} cases'}, the best two have the same {name}.")]
    if cases and not answer.shown_best and (largest := max(_ratios_of_best_two(answer, wins))) <= _NO_CLEAR_LEAD:
        share = f"{rounded(100 * (largest - 1), 2)}\N{NO-BREAK SPACE}%"
        return [Sentence(f"There is no clear difference: the best is at most {share} ahead of the next."), _how_sure(answer, wins)]
    if not wins:
        bounds = " The logs print bounds, and a bound is no measured value." if any(cell.is_bound for cell in answer.cells.values()) else ""
        return [Sentence(f"No two values of {answer.subject.title} were measured in the same case, so nothing is ranked.{bounds}")]
    proven = {(test.panel, test.point): test.first for test in answer.tests if test.is_shown}
    words = _winners(answer, wins) if len(proven) in (0, len(wins)) else _shown_winners(answer, proven, len(wins))
    first = _sentence(words, answer) if proven else f"In these runs, {words}"
    return [Sentence(first), *_by_how_much(answer, proven or wins), _how_sure(answer, wins), *_warning_about_order(answer)]


def _warning_about_order(answer: Answer) -> Iterator[Sentence]:
    in_a_row = [test for test in answer.tests if test.is_shown and test.took_turns is False]
    unknown = [test for test in answer.tests if test.is_shown and test.took_turns is None]
    if in_a_row:
        yield Sentence(
            "The runs of the best and of the next did not take turns. So anything else that changed meanwhile is part of the difference.",
            is_sure=False,
        )
    elif unknown:
        yield Sentence("The runs do not state when they were made, so their order may be part of the difference.", is_sure=False)


def _ratios_of_best_two(answer: Answer, wins: dict[tuple[tuple[Value, ...], Value], Value]) -> list[float]:
    pairs = [[answer.cells[Case(panel, subject, point)].value for subject in answer.ranked(panel, point)[:2]] for panel, point in wins]
    return [max(pair) / min(pair) if min(pair) > 0 else math.inf for pair in pairs]


def _cases(answer: Answer) -> list[tuple[tuple[Value, ...], Value]]:
    return [(panel, point) for panel in answer.panels for point in answer.points]


def _winners(answer: Answer, wins: dict[tuple[tuple[Value, ...], Value], Value]) -> str:
    best = f"the {'lowest' if answer.lower_is_better else 'highest'} {metric_words(answer.metric, answer.statistic)}"
    counts = Counter(wins.values())
    if len(counts) == 1:
        return f"{answer.subject.named(next(iter(counts)))} has {best}{_everywhere(answer, len(wins))}."
    stretches = _stretches(answer, wins)
    if stretches is not None:
        return f"{_joined_stretches(stretches, best)}."
    tested = {(test.panel, test.point) for test in answer.tests if test.is_shown}
    clear = Counter(wins[case] for case, lead in zip(wins, _ratios_of_best_two(answer, wins), strict=True) if lead > _NO_CLEAR_LEAD or case in tested)
    parts = [f"{answer.subject.named(subject)} in {count}" for subject, count in clear.most_common()]
    total = sum(len(answer.ranked(*case)) >= _SEVERAL for case in _cases(answer))
    alike = f"; in {total - clear.total()} the best two are at most 5\N{NO-BREAK SPACE}% apart" if total > clear.total() else ""
    return f"of {total} cases, {best} is that of {_listed(parts)}{alike}."


def _shown_winners(answer: Answer, proven: dict[tuple[tuple[Value, ...], Value], Value], total: int) -> str:
    """Return the best subjects of the cases in which a test shows the best one. Nothing is claimed of the other cases."""
    best = f"the {'lowest' if answer.lower_is_better else 'highest'} {metric_words(answer.metric, answer.statistic)}"
    if stretches := _stretches(answer, proven):
        return f"{_joined_stretches(stretches, best)}."
    counts = Counter(proven.values()).most_common()
    of_each = [f"that of {answer.subject.named(subject)}{f' in {count}' if len(counts) > 1 else ''}" for subject, count in counts]
    return f"tests show {best} in {len(proven)} of {total} cases: {_listed(of_each)}."


def _sentence(text: str, answer: Answer) -> str:
    """Begin the sentence with a capital letter, unless its first word is a name from the data, such as ``cilium``."""
    is_name = text.startswith(tuple(f"{answer.subject.short(value)} " for value in answer.subject.values))
    return text if is_name else f"{text[:1].upper()}{text[1:]}"


def _everywhere(answer: Answer, cases: int) -> str:
    if cases == 1:
        return ""
    if answer.over and not answer.by:
        return f" at every {answer.over.title} that was measured"
    return f" in all {cases} cases"


def _stretches(answer: Answer, wins: dict[tuple[tuple[Value, ...], Value], Value]) -> list[tuple[str, str]] | None:
    """Return ranges of the axis with the best subject of each; ``None`` if panels have different best subjects, or if there are many ranges.

    A point is left out unless ``wins`` has all its cases.
    """
    if answer.over is None:
        return None
    by_point: list[tuple[Value, tuple[Value, ...]]] = []
    for point in answer.points:
        cases = [(panel, point) for panel in answer.panels if len(answer.ranked(panel, point)) >= _SEVERAL]
        best = {wins[case] for case in cases if case in wins}
        if len(best) > 1:
            return None
        if cases:
            by_point.append((point, tuple(best) if all(case in wins for case in cases) else ()))
    stretches = [(best, [point for point, _ in run]) for best, run in groupby(by_point, key=lambda pair: pair[1]) if best]
    if not stretches or len(stretches) > 3:  # noqa: PLR2004 - more are no sentence
        return None
    last = by_point[-1][0]
    return [(_stretch(answer.over, points, is_last=points[-1] == last), answer.subject.named(best[0])) for best, points in stretches]


def _stretch(axis: Factor, points: Sequence[Value], *, is_last: bool) -> str:
    first, final = axis.short(points[0]), axis.short(points[-1])
    title = "" if axis.name == "payload_bytes" else f" {axis.title}"
    if first == final:
        return f"at {first}{title}"
    return f"from {first}{title} on" if is_last else f"from {first} to {final}{title}"


def _joined_stretches(stretches: Sequence[tuple[str, str]], best: str) -> str:
    (where, subject), *others = stretches
    return "; ".join([f"{where}, {subject} has {best}", *(f"{stretch}, {name} has it" for stretch, name in others)])


def _by_how_much(answer: Answer, wins: dict[tuple[tuple[Value, ...], Value], Value]) -> Iterator[Sentence]:
    """Yield a sentence that compares the two best subjects: at the last point of the first panel that has one of these cases."""
    for case in ((panel, point) for panel in answer.panels for point in reversed(answer.points) if (panel, point) in wins):
        ranked = answer.ranked(*case)[:2]
        first, second = (answer.cells[Case(case[0], subject, case[1])] for subject in ranked)
        where = _listed([*([answer.over.words(case[1])] if answer.over else []), *_panel_words(answer, case[0])])
        low, high = sorted((first.value, second.value))
        ratio = high / low if low > 0 else math.inf
        factor = f" ({rounded(ratio)} times)" if _CLOSE <= ratio < math.inf else ""
        winner = f" of {answer.subject.named(ranked[0])}" if len({*wins.values()}) > 1 else ""
        yield Sentence(
            f"With {where}, it is " if where else "It is ",
            _number(first, answer.unit),
            f"{winner} against ",
            _number(second, answer.unit),
            f" of {answer.subject.named(ranked[1])}{factor}.",
        )
        return


def _number(cell: AnswerCell, unit: str) -> LinkedNumber:
    return LinkedNumber(_median_words(cell, unit), cell.median)


def _how_sure(answer: Answer, wins: dict[tuple[tuple[Value, ...], Value], Value]) -> Sentence:
    runs = [cell.run_count for cell in answer.cells.values()]
    each = f"{min(runs)} runs of each" if min(runs) == max(runs) else f"{min(runs)} to {max(runs)} runs of each"
    if not answer.tests:
        return Sentence(
            f"No test: there {'is one run of each' if max(runs) == 1 else f'are {each}'}, and a test takes {MIN_RUNS}. So the order may be chance.",
            is_sure=False,
        )
    sure = sum(test.is_shown for test in answer.tests)
    total = len(wins)
    if sure == total:
        words = "This is shown" if total == 1 else "Each of these is shown"
        return Sentence(f"{words} by tests ({each}; the risk that any of this is chance is at most 5 %).", is_sure=True)
    if not sure:
        return Sentence(f"No test shows it: the runs of the best and of the next overlap ({each}).", is_sure=False)
    others = "the other case" if total - sure == 1 else f"the other {total - sure} cases"
    return Sentence(f"The risk that any of this is chance is at most 5 % ({each}). In {others}, no test shows which is best.")


def _of_one_subject(answer: Answer) -> Iterator[Sentence]:
    (subject,) = answer.subject.values
    for panel in answer.panels:
        cells = [(point, cell) for point in answer.points if (cell := answer.cells.get(Case(panel, subject, point)))]
        where = f" ({_listed(_panel_words(answer, panel))})" if answer.by else ""
        name = f"The {metric_words(answer.metric, answer.statistic)} of {answer.subject.named(subject)}{where}"
        if answer.over is None or len(cells) < _SEVERAL:
            yield Sentence(f"{name} is ", _number(cells[0][1], answer.unit), ".")
            yield _of_runs(cells[0][1], answer.unit)
            continue
        (first, low), (last, high) = cells[0], cells[-1]
        steps = [(after.value / before.value, start, end) for (start, before), (end, after) in pairwise(cells) if before.value > 0]
        ratio, start, end = max(steps, key=lambda step: abs(math.log(step[0])) if step[0] > 0 else 0.0, default=(1.0, first, last))
        change = ""
        if ratio >= _CLEAR_RISE or ratio <= 1 / _CLEAR_RISE:
            times = f"{rounded(max(ratio, 1 / ratio))} times"
            change = (
                f" The largest step is from {answer.over.short(start)} to {answer.over.short(end)}: {times} {'as much' if ratio > 1 else 'less'}."
            )
        ends = (_number(low, answer.unit), f" at {answer.over.words(first)}, and ", _number(high, answer.unit), f" at {answer.over.words(last)}")
        yield Sentence(f"{name} is ", *ends, f".{change}")


def _of_runs(cell: AnswerCell, unit: str) -> Sentence:
    if cell.run_count == 1:
        return Sentence("This is one run. How much the number varies from run to run is not known.", is_sure=False)
    if cell.groups:
        return Sentence(f"The runs form two groups: {_groups_words(cell, unit)}. This is the worse one.", is_sure=False)
    return Sentence(f"This is the median of {cell.run_count} runs, from {quantity(cell.low, unit)} to {quantity(cell.high, unit)}.")


def _panel_words(answer: Answer, panel: tuple[Value, ...]) -> list[str]:
    return [field.words(value) for field, value in zip(answer.by, panel, strict=True)]


def panel_title(answer: Answer, panel: tuple[Value, ...]) -> str:
    """Return, in words, the conditions in which a panel differs from the others; an empty text if there is only one panel."""
    return ", ".join(_panel_words(answer, panel))


def choice_words(choice: ChosenValue) -> str:
    """Return sentences that name the shown value of a field, and the values of this field that the answer does not show."""
    others = [f"{choice.field.short(value)} ({_runs(runs)})" for value, runs in choice.runs.items() if value != choice.value]
    choice_text = f"{choice.field.short(choice.value)} ({_runs(choice.runs[choice.value])})"
    return f"These runs differ in {choice.field.title}. Shown: {choice_text}. Not shown: {_listed(others)}."


def choice_sentences(answer: Answer) -> list[str]:
    """Return a text for each field of which the answer shows only one value. The text also says how a reader can see the other values."""
    axis = {"number": "put it on the axis, divide by it", "text": "divide by it"}
    return [f"{choice_words(choice)} To see them, {axis[choice.field.kind]}, or choose another value." for choice in answer.choices]


def _runs(count: int) -> str:
    return f"{count} run{'s' if count != 1 else ''}"


def partial_words(answer: Answer) -> str:
    """Return, in words, the cases in which only some runs have the number; an empty text if there are none."""
    parts = []
    for partial in answer.partial:
        case = partial.case
        others = [*([answer.over.words(case.point)] if answer.over else []), *_panel_words(answer, case.panel)]
        where = f" at {', '.join(others)}" if others else ""
        parts.append(f"{answer.subject.short(case.subject)}{where} ({partial.without} of {partial.runs + partial.without})")
    return f"Runs without this number: {_shortened(parts)}." if parts else ""


def off_axis_words(answer: Answer) -> str:
    """Return, in words, how many runs are left out because they do not state the field of the axis; an empty text if there are none."""
    if not answer.off_axis_count or answer.over is None:
        return ""
    return f"{_runs(answer.off_axis_count)} of the same metric {'does' if answer.off_axis_count == 1 else 'do'} not state the {answer.over.title}."


def following_words(answer: Answer) -> str:
    """Return, in words, the fields that differ although the question does not name them; an empty text if there are none."""
    names = [field.title for field in answer.follows]
    return f"The question does not name these fields, but they differ from case to case too: {_listed(names)}." if names else ""


def missing_sentences(answer: Answer) -> list[str]:
    """Return one sentence for each reason why numbers are missing. A subject without any number is mentioned only once."""
    measured = {case.subject for case in answer.cells}
    reasons: dict[str, dict[str, None]] = {}
    for missing in answer.missing:
        case = missing.case
        others = [*([answer.over.words(case.point)] if answer.over else []), *_panel_words(answer, case.panel)]
        where = f" at {', '.join(others)}" if others and case.subject in measured else ""
        reasons.setdefault(missing.reason, {})[f"{answer.subject.short(case.subject)}{where}"] = None
    return [f"{reason[:1].upper()}{reason[1:]}: {_shortened([*cases])}." for reason, cases in reasons.items()]


def _shortened(cases: Sequence[str]) -> str:
    """Return the list of cases as text. The end of a long list is replaced by a count, because the table shows all cases."""
    more = f"; and {len(cases) - _MOST_CASES} more" if len(cases) > _MOST_CASES + 1 else ""
    return f"{'; '.join(cases[: _MOST_CASES if more else None])}{more}"


def answer_table(answer: Answer, links: Links | None = None, *, ranges_in_text: bool = False) -> Table:
    """Return the numbers, with a row for each subject and a column for each point of the axis. Without an axis, each panel has a column.

    A cell contains the median over the runs (of two groups of runs: both medians), with the range of the runs. Its
    link leads to the log line of the median run. With ``ranges_in_text``,
    the cell contains median and range as one text, for terminals, Markdown and notebooks.
    """
    columns_are_panels = answer.over is None and len(answer.by) == 1
    divisions = () if columns_are_panels else answer.by
    points = [(panel, None) for panel in answer.panels] if columns_are_panels else [(None, point) for point in answer.points]
    headings = (
        [answer.by[0].words(panel[0]) for panel in answer.panels]
        if columns_are_panels
        else [answer.over.words(point) for point in answer.points]
        if answer.over
        else [metric_words(answer.metric, answer.statistic)]
    )
    rows = []
    for panel in [()] if columns_are_panels else answer.panels:
        for subject in answer.subject.values:
            cases = [Case(panel if of_panel is None else of_panel, subject, point) for of_panel, point in points]
            if any(case in answer.cells for case in cases):
                names = [head(field.short(value), "tl-text stat-label") for field, value in zip(divisions, panel, strict=True)]
                cells = [_with_range(cell) if ranges_in_text else cell for cell in (_table_cell(answer, case, links) for case in cases)]
                rows.append(TableRow([*names, head(answer.subject.short(subject), "tl-text stat-label"), *cells]))
    heads = [TableColumn(field.title, class_="tl-text") for field in (*divisions, answer.subject)]
    label = metric_words(answer.metric, answer.statistic)
    numbers = [TableColumn(heading, class_="stat-label", align="right") for heading in headings]
    return Table(label, [*heads, *numbers], [rows], "tl-table tl-answer")


def _table_cell(answer: Answer, case: Case, links: Links | None) -> TableCell:
    cell = answer.cells.get(case)
    if cell is None:
        reason = next((missing.reason for missing in answer.missing if missing.case == case), "not measured")
        return empty(reason if reason in _SHORT_REASONS else "no result", title=reason)
    link = line_of(cell.median, links)
    return TableCell(
        _linked_groups(cell, answer.unit, links if link else None) if cell.groups else _median_words(cell, answer.unit),
        exact(cell.value),
        None if cell.groups else link,
        _range_words(cell, answer.unit),
        best=case in answer.shown_best,
        title=f"{with_bound(in_full(cell.value, answer.unit), cell.median.bound)}: {_runs_words(cell, answer.unit)}",
    )


def _linked_groups(cell: AnswerCell, unit: str, links: Links | None) -> str | Html:
    if links is None:
        return _groups_words(cell, unit)
    return (
        join((join([linked(quantity(group.value, unit), links.to_line(group.result)), f" in {group.runs}"]) for group in cell.groups), " and ")
        + " runs"
    )


def _groups_words(cell: AnswerCell, unit: str) -> str:
    return " and ".join(f"{quantity(group.value, unit)} in {group.runs}" for group in cell.groups) + " runs"


def _median_words(cell: AnswerCell, unit: str) -> str:
    return with_bound(quantity(cell.value, unit), cell.median.bound)


def _with_range(cell: TableCell) -> TableCell:
    return cell._replace(text=f"{cell.plain} ({cell.range})", range="") if cell.range else cell


def _range_words(cell: AnswerCell, unit: str) -> str:
    if cell.run_count == 1:
        return "one run"
    low, high = quantity(cell.low, unit), quantity(cell.high, unit)
    return f"{low}\N{EN DASH}{high}" if low != high else f"{cell.run_count} runs, all alike"


def _runs_words(cell: AnswerCell, unit: str) -> str:
    if cell.run_count == 1:
        return "one run"
    if cell.groups:
        return f"two groups of runs: {_groups_words(cell, unit)} ({quantity(cell.low, unit)} to {quantity(cell.high, unit)} in all)"
    return f"median of {cell.run_count} runs, {quantity(cell.low, unit)} to {quantity(cell.high, unit)}"


def figures(answer: Answer) -> list[Figure]:
    """Return a figure for each panel: a line for each subject, a dot for each run. Without an axis, return one figure with all panels."""
    if answer.over is None:
        return [_without_axis(answer)]
    return [figure for panel in answer.panels if (figure := _over_axis(answer, panel, answer.over))]


def _over_axis(answer: Answer, panel: tuple[Value, ...], axis: Factor) -> Figure | None:
    traces: list[Trace] = []
    numbers = {point: axis.number(point) for point in axis.values}
    for slot, subject in enumerate(answer.subject.values):
        cells = [(number, point, answer.cells.get(Case(panel, subject, point))) for point, number in numbers.items() if number is not None]
        traces += _traces(answer, subject, slot, [(number, axis.words(point), cell) for number, point, cell in cells if cell], "line")
    if not traces:
        return None
    measured = [(number, axis.short(point)) for point, number in numbers.items() if number is not None]
    x = size_axis([number for number, _ in measured]) if axis.name == "payload_bytes" else _measured_axis(measured, axis)
    return _figure(panel_title(answer, panel), answer, traces, x)


def _without_axis(answer: Answer) -> Figure:
    """Return the figure of an answer that has no axis.

    The panels stand side by side. If there is only one panel, the subjects stand side by side.
    """
    traces: list[Trace] = []
    is_divided = len(answer.panels) > 1
    for slot, subject in enumerate(answer.subject.values):
        shift = _SPREAD * (slot / max(len(answer.subject.values) - 1, 1) - 0.5)
        positions = [(number + 1 + shift if is_divided else slot + 1.0, panel) for number, panel in enumerate(answer.panels)]
        cells = [(position, panel_title(answer, panel), answer.cells.get(Case(panel, subject, None))) for position, panel in positions]
        traces += _traces(answer, subject, slot, [(position, words, cell) for position, words, cell in cells if cell], "points")
    labels = [answer.subject.short(value) for value in answer.subject.values]
    if is_divided:
        labels = [answer.by[0].short(panel[0]) if len(panel) == 1 else panel_title(answer, panel) for panel in answer.panels]
    ticks = tuple(float(number) for number in range(1, len(labels) + 1))
    title = _listed([field.title for field in answer.by]) if is_divided else answer.subject.title
    return _figure("", answer, traces, Axis(title, "linear", 0.5, len(labels) + 0.5, ticks, tuple(labels), is_of_names=True))


def _traces(answer: Answer, subject: Value, slot: int, cells: Sequence[tuple[float, str, AnswerCell]], shape: str) -> Iterator[Trace]:
    name, unit = answer.subject.short(subject), answer.unit
    least = -1.0 if unit == "ratio" else 0.0  # a logarithmic axis cannot show zero
    points = tuple(
        PlotPoint(x, cell.value, _point_words(words, _median_words(cell, unit)), more=(_runs_words(cell, unit),), result=cell.median)
        for x, words, cell in cells
        if cell.value > least
    )
    dots = tuple(
        PlotPoint(
            x, result.value, _point_words(words, f"{quantity(result.value, unit)}, one run"), more=(f"{result.run.run}/{result.log}",), result=result
        )
        for x, words, cell in cells
        if cell.run_count > 1
        for result in cell.results
        if result.value is not None and result.value > least
    )
    if dots:
        yield Trace(name, slot, answer.statistic, "solid", hollow=False, points=dots, shape="runs")
    if points:
        yield Trace(name, slot, answer.statistic, "solid", hollow=False, points=points, shape="line" if shape == "line" else "points")


def _point_words(case: str, number: str) -> str:
    return f"{case}: {number}" if case else number


def _figure(title: str, answer: Answer, traces: Sequence[Trace], x: Axis) -> Figure:
    name = metric_words(answer.metric, answer.statistic)
    words = f"{name[:1].upper()}{name[1:]}"
    lines = [f"{trace.name}: {'; '.join(point.words for point in trace.points)}." for trace in traces if trace.shape != "runs"]
    has_dots = any(trace.shape == "runs" for trace in traces)
    joined = "; lines join the medians" if any(trace.shape == "line" for trace in traces) else ""
    note = f"Each small dot is a run{joined}." if has_dots else ""
    return Figure(title or words, " ".join(lines), x, _values_axis(answer, words), tuple(traces), note)


def _values_axis(answer: Answer, words: str) -> Axis:
    """All panels have the same axis, so that readers can compare them."""
    least = -1.0 if answer.unit == "ratio" else 0.0  # a logarithmic axis cannot show zero
    values = [result.value for cell in answer.cells.values() for result in cell.results if result.value is not None and result.value > least]
    bases = {cell.median.conditions.basis for cell in answer.cells.values()}
    basis = BASIS_WORDS.get(str(next(iter(bases)))) if len(bases) == 1 and answer.metric == "latency" else None
    title = f"{words}, {basis}" if basis else words
    return share_axis(values or [0.0], title) if answer.unit == "ratio" else number_axis(values or [1.0], title, answer.unit)


def _measured_axis(measured: Sequence[tuple[float, str]], axis: Factor) -> Axis:
    values = [value for value, _ in measured]
    low, high = min(values), max(values)
    title = axis.title[:1].upper() + axis.title[1:]
    is_log = low > 0 and high / low >= _LOG_FROM
    width = math.log(high / low) if is_log else high - low
    positions = [(math.log(value / low) if is_log else value - low) / (width or 1.0) for value in values]
    ticked = [len(values) - 1]  # from the end, choose labels that do not overlap with the previous label
    for index in reversed(range(len(values) - 1)):
        if positions[ticked[-1]] - positions[index] >= _LABEL_ROOM:
            ticked.append(index)
    ticks, labels = tuple(values[index] for index in ticked[::-1]), tuple(measured[index][1] for index in ticked[::-1])
    if is_log:
        room = (high / low) ** 0.04
        return Axis(title, "log", low / room, high * room, ticks, labels, axis.unit)
    room = (high - low) * 0.04 or 1.0
    return Axis(title, "linear", low - room, high + room, ticks, labels, axis.unit)


def as_json(answer: Answer) -> str:
    """Return an answer as JSON: the question, the sentences, and each number with its fields, range and log line, in the schema's units."""
    fields = [*answer.by, answer.subject, *([answer.over] if answer.over else [])]

    def values(case: Case) -> dict[str, Value]:
        return dict(zip((field.name for field in fields), (*case.panel, case.subject, case.point), strict=False))

    document = {
        "schema": "answer/1",
        "question": {"title": question_title(answer.question, answer), **msgspec.structs.asdict(answer.question)},
        "unit": answer.unit,
        "answer": [sentence.text for sentence in sentences(answer)],
        "chosen": {choice.field.name: choice.value for choice in answer.choices},
        "cells": [
            {
                **values(case),
                "value": cell.value,
                "bound": cell.median.bound,
                "low": cell.low,
                "high": cell.high,
                "runs": cell.run_count,
                "groups": [{"value": group.value, "runs": group.runs} for group in cell.groups],
                "shown_best": case in answer.shown_best,
                "log": f"{cell.median.run.run}/{cell.median.log}",
                "line": cell.median.number_line,
            }
            for case, cell in answer.cells.items()
        ],
        "missing": [{**values(missing.case), "reason": missing.reason} for missing in answer.missing],
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n"


def tests_table(answer: Answer) -> Table:
    """Return the significance tests: for each case, the best subject, the second best, their ratio with its interval, and the adjusted p-value."""
    rows = []
    for test in answer.tests:
        case = [*_panel_words(answer, test.panel), *([answer.over.words(test.point)] if answer.over else [])]
        ratio = f"x{rounded(test.ratio)} ({rounded(test.low)} to {rounded(test.high)})"
        p = "p < 0.0001" if test.p < _SMALL_P else f"p = {rounded(test.p)}"
        words = (", ".join(case) or "all runs", answer.subject.short(test.first), answer.subject.short(test.second), ratio, p)
        rows.append((*words, "shown" if test.is_shown else "not shown"))
    heads = ("case", "best", "next", "ratio, with its 95 % interval", "p-value, adjusted", "the best one is")
    return words_table("Tests of the best against the next", heads, rows, "tl-tests")


def _listed(words: Sequence[str]) -> str:
    """Return ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
