"""Answers to questions: values of the subject are compared over the axis, in panels.

"Which middleware keeps its latency when messages get lost?" has the system as its subject and the loss of the network as its axis. An `Answer`
contains the numbers by subject, axis and panel, as medians of runs with their ranges; the significance tests between subjects; and the cases and runs
that were left out, with the reasons.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import exp
from typing import NamedTuple

import msgspec
import numpy as np

from tacholog.compare.comparable import CONDITIONS as COMPARED
from tacholog.compare.comparable import asked
from tacholog.compare.policy import MIN_RUNS
from tacholog.compare.statistics import Floats, adjusted_each, unpaired_shift
from tacholog.errors import TachologError
from tacholog.runs.labels import CONTROL, is_label
from tacholog.runs.moments import instant
from tacholog.runs.questions import Question
from tacholog.schema.marks import MARKS
from tacholog.schema.metrics import METRICS, median_place
from tacholog.view.factors import Factor, Observation, Value, check_field, factor, fields_of_run, varying
from tacholog.view.results import ResultRow, RunRow
from tacholog.view.series import RunGroup, two_groups, worse_of

LEVEL = 0.05
_LEAST_TURNS = 3
_MOST_HAVE = 0.75  # A metric can be that of a question if at least this share of the cases has it.
_METRIC = re.compile(r"(?P<metric>[a-z_]+)(?::(?P<statistic>[A-Za-z0-9.-]+))?")
_PREFERRED = ("p50", "mean", "typical", "lower-bound", "total", "p99")  # the preferred statistics, if the question names none
# The metrics for a question that names none, in the order of preference. The first metric that most cases have is used.
_METRICS = ("latency", "goodput", "message_rate", "acknowledged_rate", "sustained_rate", "transfer_rate", "loss")
# Fields that may differ between the numbers from which one median is computed: they state the side and the duration, but not the way of measuring.
NEVER_CHOSEN = frozenset({"published", "side", "tool_version", "warmup", "planned_duration_s"})
# If a question does not state the values of these fields, one value of each is chosen, in this order.
_CHOSEN_FIRST = ("test", "host", "campaign", "participant", "definition", "basis", "load_mode", "release")


class Case(NamedTuple):
    """The values that identify a cell of an answer.

    Attributes:
        panel: the values of the fields that distinguish panels.
        subject: the value of the subject.
        point: the value on the axis.
    """

    panel: tuple[Value, ...]
    subject: Value
    point: Value


class AnswerCell(msgspec.Struct, frozen=True):
    """One number of an answer: the median over the runs of a case, in the schema's unit. It is always the value of one of the runs.

    If the runs form two groups, it is the median of the worse group, as in the tables of results (`tacholog.view.series.Cell`).

    Attributes:
        value: the median.
        low, high: the lowest and the highest value of a run.
        results: one number for each run, in the order of the runs.
        median: the number of the run that is the median.
        groups: the two groups of runs; empty if the runs do not form two groups.
    """

    value: float
    low: float
    high: float
    results: tuple[ResultRow, ...]
    median: ResultRow
    groups: tuple[RunGroup, ...] = ()

    @property
    def run_count(self) -> int:
        """The number of runs from which the number was computed."""
        return len(self.results)

    @property
    def is_bound(self) -> bool:
        """Whether a run states only a bound, such as less than 1 ns. Nobody knows which of two numbers is better if one of them is a bound."""
        return any(result.bound not in {"=", "~"} for result in self.results)


class ChosenValue(NamedTuple):
    """A field that differs between the numbers of a case: the value used in the answer, and all values with their number of runs."""

    field: Factor
    value: Value
    runs: Mapping[Value, int]


class Test(NamedTuple):
    """The significance test of the best subject of a case against the second best.

    ``ratio`` is the value of ``first`` divided by the value of ``second``, with its 95 % confidence interval. ``p`` is adjusted for the number of
    tests in the answer. ``took_turns``: whether the runs of both alternated, so that the time of the measurement does not explain the difference;
    ``None`` if runs do not state their start times.
    """

    panel: tuple[Value, ...]
    point: Value
    first: Value
    second: Value
    ratio: float
    low: float
    high: float
    p: float
    took_turns: bool | None

    @property
    def is_shown(self) -> bool:
        """Whether the test shows that the subject ``first`` is better. At most 5 % of answers contain a test that shows a difference by chance."""
        return self.p <= LEVEL


class Missing(NamedTuple):
    """A case that has no number, with the reason. ``runs`` states to how many runs the reason applies."""

    case: Case
    reason: str
    runs: int


class Partial(NamedTuple):
    """A case in which only some runs have the number: how many runs have it, and how many do not."""

    case: Case
    runs: int
    without: int


class Answer(msgspec.Struct, frozen=True):
    """The answer to a question.

    Attributes:
        question: the question, with its metric.
        metric, statistic, unit: the metric, the statistic and the unit of the numbers.
        subject: the factor that is compared, with the values that have numbers.
        over: the factor of the axis, if there is one.
        by: the factors that divide the answer into panels.
        panels: the values of these factors, one tuple for each panel, in order.
        cells: the numbers.
        choices: the fields for which one of several values in the data was chosen.
        follows: the remaining fields that have several values. The subject, the point or the panel decides the value of such a field.
        tests: one test for each case, which compares the best subject with the second best. There is no test if one of them has too few runs.
        missing: cases without a number.
        run_count: the number of runs from which the numbers were computed.
        off_axis_count: the number of runs that are left out because they do not state the field of the axis.
        partial: cases in which only some runs have the number.
    """

    question: Question
    metric: str
    statistic: str
    unit: str
    subject: Factor
    over: Factor | None
    by: tuple[Factor, ...]
    panels: tuple[tuple[Value, ...], ...]
    cells: Mapping[Case, AnswerCell]
    choices: tuple[ChosenValue, ...]
    follows: tuple[Factor, ...]
    tests: tuple[Test, ...]
    missing: tuple[Missing, ...]
    run_count: int
    off_axis_count: int = 0
    partial: tuple[Partial, ...] = ()

    def is_tie(self, panel: tuple[Value, ...], point: Value) -> bool:
        """Whether the two best subjects of a case have the same median."""
        best = self.ranked(panel, point)[:2]
        return len({self.cells[Case(panel, subject, point)].value for subject in best}) == 1

    @property
    def points(self) -> tuple[Value, ...]:
        """The points of the axis; only the point ``None`` if the answer has no axis."""
        return self.over.values if self.over else (None,)

    @property
    def shown_best(self) -> frozenset[Case]:
        """The cases whose subject is the best one, if a test shows this."""
        return frozenset(Case(test.panel, test.first, test.point) for test in self.tests if test.is_shown)

    @property
    def lower_is_better(self) -> bool | None:
        """Whether lower numbers are better; ``None`` if the metric has no better direction."""
        better = METRICS[self.metric].better
        return None if better is None else better == "lower"

    def ranked(self, panel: tuple[Value, ...], point: Value) -> list[Value]:
        """Return the subjects with a number at this point, the best median first; nothing if neither lower nor higher numbers are better.

        Bounds are left out.
        """
        if self.lower_is_better is None:
            return []
        cells = {subject: self.cells.get(Case(panel, subject, point)) for subject in self.subject.values}
        values = {subject: cell.value for subject, cell in cells.items() if cell is not None and not cell.is_bound}
        return sorted(values, key=lambda subject: values[subject], reverse=not self.lower_is_better)


def answer(question: Question, numbers: Sequence[Observation], runs: Sequence[RunRow] = ()) -> Answer:
    """Answer a question from the numbers of whole measurements.

    Args:
        question: the question.
        numbers: the numbers of all metrics.
        runs: all runs. Runs without a number are the reason for missing cases.

    Raises:
        TachologError: a field, metric or value does not exist, or no number is left.
    """
    everything = [each for each in numbers if CONTROL not in each.fields]
    names = (question.subject, *([question.over] if question.over else []), *question.by)
    for name in (*names, *question.where):
        check_field(name, everything)
    for name in names:
        if all(each.fields.get(name) is None for each in everything):
            raise TachologError(f"no run states {name}")
    if len({*names}) < len(names):
        raise TachologError(f"a field occurs twice in this question: {', '.join(names)}")
    wanted = _chosen_values(everything, question.where)
    selected = [each for each in everything if _matches(each.fields, wanted)]
    left_out = {each.result.run.run for each in everything} - {each.result.run.run for each in selected}
    runs = [run for run in runs if run.run not in left_out and _matches(fields_of_run(run), wanted, or_none=True)]
    metric, statistic = _metric_of(question.metric, selected, names)
    numbers = [each for each in selected if (each.result.metric, each.result.statistic) == (metric, statistic) and each.result.value is not None]
    if not numbers:
        raise TachologError(f"no run states {metric}:{statistic}; there are {', '.join(_metrics_in(selected)) or 'no numbers'}")
    everywhere = {each.result.run.run for each in numbers}
    if question.over and any(each.fields.get(question.over) is not None for each in numbers):
        numbers = [each for each in numbers if each.fields.get(question.over) is not None]  # other values have no position on the axis
    off_axis = everywhere - {each.result.run.run for each in numbers}
    numbers, choices = _comparable_numbers(numbers, names, question.where)
    if question.over and factor(question.over, numbers).kind != "number":
        axis = factor(question.over, numbers)
        raise TachologError(
            f"{question.over} cannot be the axis: its values are not numbers with one unit ({', '.join(map(axis.short, axis.values[:5]))})"
        )
    cells = _cells(numbers, question)
    subject, by = factor(question.subject, numbers), tuple(factor(name, numbers) for name in question.by)
    panels = sorted({case.panel for case in cells}, key=lambda panel: [each.values.index(value) for each, value in zip(by, panel, strict=True)])
    result = Answer(
        question=msgspec.structs.replace(question, metric=f"{metric}:{statistic}"),
        metric=metric,
        statistic=statistic,
        unit=METRICS[metric].unit,
        subject=subject,
        over=factor(question.over, numbers) if question.over else None,
        by=by,
        panels=tuple(panels),
        cells=cells,
        choices=choices,
        follows=tuple(_following(numbers, names)),
        tests=(),
        missing=(),
        run_count=len({each.result.run.run for each in numbers}),
        off_axis_count=len(off_axis),
    )
    result = msgspec.structs.replace(result, tests=tuple(_tests(result)))
    return msgspec.structs.replace(result, missing=tuple(_missing(result, selected, runs)), partial=tuple(_partial(result, selected, runs)))


def default_metric(numbers: Sequence[Observation], names: Sequence[str]) -> tuple[str, str]:
    """Return the metric and the statistic that answer a question if the question names none.

    A case is a combination of values of the fields ``names``. Only metrics and statistics that most cases have are candidates. The preferred
    candidate is returned.

    Raises:
        TachologError: the numbers have none of the metrics that are allowed here.
    """
    cases: dict[tuple[str, str], set[tuple[Value, ...]]] = defaultdict(set)
    for each in numbers:
        if each.result.metric in _METRICS and each.result.value is not None:
            cases[each.result.metric, each.result.statistic].add(tuple(each.fields.get(name) for name in names))
    if not cases:
        raise TachologError(f"none of {', '.join(_METRICS)} is stated; name a metric: there are {', '.join(_metrics_in(numbers)) or 'no numbers'}")

    def rank(pair: tuple[str, str]) -> tuple[int, int, int]:
        metric, statistic = pair
        return _METRICS.index(metric), _PREFERRED.index(statistic) if statistic in _PREFERRED else len(_PREFERRED), -len(cases[pair])

    most = max(map(len, cases.values()))
    return min((pair for pair in cases if len(cases[pair]) >= _MOST_HAVE * most), key=rank)


def _metric_of(text: str, numbers: Sequence[Observation], names: Sequence[str]) -> tuple[str, str]:
    if not text:
        return default_metric(numbers, names)
    match = _METRIC.fullmatch(text)
    metric = match["metric"] if match else ""
    if match is None or metric not in METRICS:
        there = _metrics_in(numbers)
        raise TachologError(f"no metric {text!r}: write METRIC:STATISTIC, as in latency:p50; there are {', '.join(there)}")
    if match["statistic"]:
        return metric, match["statistic"]
    statistics = Counter(each.result.statistic for each in numbers if each.result.metric == metric)
    preferred = next((statistic for statistic in _PREFERRED if statistic in statistics), None)
    return metric, preferred or next(iter(statistics), "mean")


def _metrics_in(numbers: Sequence[Observation]) -> list[str]:
    counts = Counter(f"{each.result.metric}:{each.result.statistic}" for each in numbers)
    return [name for name, _ in counts.most_common()]


def _chosen_values(numbers: Sequence[Observation], where: Mapping[str, str]) -> dict[str, set[Value]]:
    wanted: dict[str, set[Value]] = {}
    for name, text in where.items():
        field = factor(name, [each for each in numbers if _matches(each.fields, wanted)])
        typed = "".join(text.split()).casefold()
        wanted[name] = {value for value in field.values if typed in ("".join(words.split()).casefold() for words in _names_to_type(field, value))}
        if not wanted[name]:
            raise TachologError(f"nothing has {name} = {text}; there is {', '.join(plain(field.short(value)) for value in field.values)}")
    return wanted


def _matches(fields: Mapping[str, Value], wanted: Mapping[str, set[Value]], *, or_none: bool = False) -> bool:
    """Return whether each field in ``wanted`` has one of the wanted values.

    With ``or_none``, a field without a value is accepted too, because the manifest of a failed run may not state the field.
    """
    return all(fields.get(name) in values or (or_none and fields.get(name) is None) for name, values in wanted.items())


def _names_to_type(field: Factor, value: Value) -> list[str]:
    """Return the texts that people may type for a value: as on pages, as in logs, and as a number without a unit."""
    number = field.number(value)
    return [plain(field.short(value)), str(value), *([f"{number:.15g}"] if number is not None else [])]


def plain(text: str) -> str:
    """Return words with ordinary spaces, as people type them."""
    return text.replace("\N{NO-BREAK SPACE}", " ").replace("\N{NARROW NO-BREAK SPACE}", "")


def _comparable_numbers(
    numbers: Sequence[Observation], names: Sequence[str], where: Mapping[str, str]
) -> tuple[list[Observation], tuple[ChosenValue, ...]]:
    """Return the numbers that may be compared, and the values that were chosen for this.

    If the numbers of one case differ in a field, one value of this field is chosen. One value is also chosen if subjects differ in a field that must
    be equal (`comparable`). The chosen value is the one with the most cases. If several values have the most cases, it is the one with the most
    runs.
    """
    left, choices = list(numbers), []
    metric = numbers[0].result.metric
    while open_field := _next_field_to_choose(left, names, where, metric):
        field = factor(open_field, left)
        runs = {value: len({each.result.run.run for each in left if each.fields.get(open_field) == value}) for value in field.values}
        cases = {
            value: len({tuple(each.fields.get(name) for name in names) for each in left if each.fields.get(open_field) == value})
            for value in field.values
        }
        chosen = max(field.values, key=lambda value: (_is_together(open_field, value), cases[value], runs[value], value is not None))
        choices.append(ChosenValue(field, chosen, runs))
        left = [each for each in left if each.fields.get(open_field) == chosen]
    return left, tuple(choices)


def _is_together(name: str, value: Value) -> bool:
    """Return whether a value stands for all participants of a run together. If there is such a value, answers use only its numbers."""
    return name == "participant" and value in (None, "all")


def _next_field_to_choose(numbers: Sequence[Observation], names: Sequence[str], where: Mapping[str, str], metric: str) -> str | None:
    """Return the next field of which one value must be chosen, so that each case has comparable numbers; ``None`` if there is no such field."""
    fields = [field.name for field in varying(numbers) if field.name not in (*names, *where, *NEVER_CHOSEN)]
    must_agree = {name for name in asked("ratio", metric) if name in COMPARED} - {"host"}
    rows = {id(each.fields): each.fields for each in numbers}.values()
    for name in sorted(fields, key=lambda name: (_CHOSEN_FIRST.index(name) if name in _CHOSEN_FIRST else len(_CHOSEN_FIRST), name)):
        by_case: dict[tuple[Value, ...], set[Value]] = defaultdict(set)
        for fields_of in rows:
            by_case[tuple(fields_of.get(each) for each in names)].add(fields_of.get(name))
        if any(len(values) > 1 for values in by_case.values()):
            return name
        if (name in must_agree or name == "host") and not is_label(name):
            return name
    return None


def _following(numbers: Sequence[Observation], names: Sequence[str]) -> Iterator[Factor]:
    """Yield the fields that differ between the numbers, except ``names`` and the run.

    The value of each of these fields follows from the subject, point or panel.
    """
    for field in varying(numbers):
        if field.name not in (*names, "run"):
            yield field


def _cells(numbers: Sequence[Observation], question: Question) -> dict[Case, AnswerCell]:
    by_case: dict[Case, dict[str, list[ResultRow]]] = defaultdict(lambda: defaultdict(list))
    for each in numbers:
        by_case[_case_of(each.fields, question)][each.result.run.run].append(each.result)
    return {case: _cell([_median_of(results) for results in by_run.values()]) for case, by_run in by_case.items()}


def _median_of(results: Sequence[ResultRow]) -> ResultRow:
    values = [result.value for result in results if result.value is not None]
    return results[median_place(values, results[0].metric)]


def _cell(results: Sequence[ResultRow]) -> AnswerCell:
    values = [result.value for result in results if result.value is not None]
    groups = two_groups(results)
    median = worse_of(groups).result if groups else _median_of(results)
    assert median.value is not None  # noqa: S101 - numbers without a value were left out
    return AnswerCell(median.value, min(values), max(values), tuple(results), median, groups)


def _tests(answer: Answer) -> Iterator[Test]:
    """Test the best subject of each case against the second best. The results are adjusted over all cases (Holm).

    The best subject is chosen by the same numbers. The two-sided test against the second best is valid nevertheless.

    Source:
        Hung & Fithian (2019), "Rank verification for exponential families", Annals of Statistics 47(2).
    """
    if answer.lower_is_better is None:
        return
    tested: list[tuple[tuple[Value, ...], Value, Value, Value]] = []
    for panel in answer.panels:
        for point in answer.points:
            first, second, *_ = (*answer.ranked(panel, point), None, None)
            if _is_testable(answer.cells.get(Case(panel, first, point))) and _is_testable(answer.cells.get(Case(panel, second, point))):
                tested.append((panel, point, first, second))
    if not tested:
        return
    shifts = [
        unpaired_shift(_logarithms(answer.cells[Case(panel, second, point)]), _logarithms(answer.cells[Case(panel, first, point)]))
        for panel, point, first, second in tested
    ]
    p = adjusted_each(np.array([shift.p[0] for shift in shifts]))
    for case, shift, adjusted in zip(tested, shifts, p, strict=True):
        panel, point, first, second = case
        turns = _took_turns(answer.cells[Case(panel, first, point)], answer.cells[Case(panel, second, point)])
        yield Test(*case, exp(shift.estimate[0]), exp(shift.low[0]), exp(shift.high[0]), float(adjusted), turns)


def _took_turns(first: AnswerCell, second: AnswerCell) -> bool | None:
    """Whether the runs, sorted by time, change from one cell to the other at least three times. Return ``None`` if a start time is unknown."""
    starts = [(instant(result.run.start_time), side) for side, cell in enumerate((first, second)) for result in cell.results]
    if any(start is None for start, _ in starts):
        return None
    order = [side for _, side in sorted((start, side) for start, side in starts if start is not None)]
    return sum(before != after for before, after in pairwise(order)) >= _LEAST_TURNS


def _logarithms(cell: AnswerCell) -> Floats:
    """Return the logarithms of the values of all runs, shape (1, runs)."""
    logarithms: Floats = np.log(np.array([[result.value for result in cell.results]], float))
    return logarithms


def _is_testable(cell: AnswerCell | None) -> bool:
    return cell is not None and cell.run_count >= MIN_RUNS and cell.low > 0


def _missing(answer: Answer, selected: Sequence[Observation], runs: Sequence[RunRow]) -> Iterator[Missing]:
    """Yield the cases without a number. Points that were planned for no subject are left out."""
    by_case: dict[Case, list[Observation]] = defaultdict(list)
    for each in selected:
        by_case[_case_of(each.fields, answer.question)].append(each)
    measured = {each.result.run.run for each in selected}
    without_number: dict[Case, list[RunRow]] = defaultdict(list)
    for run in runs:
        if run.run not in measured:
            without_number[_case_of(fields_of_run(run), answer.question)].append(run)
    planned = {(case.panel, case.point) for case in (*answer.cells, *by_case, *without_number)}
    without_any = sorted({case.subject for case in (*by_case, *without_number)} - {*answer.subject.values, None}, key=str)
    for panel in answer.panels:
        for subject in (*answer.subject.values, *without_any):
            for point in answer.points:
                case = Case(panel, subject, point)
                is_planned = (panel, point) in planned if subject in answer.subject.values else case in by_case or case in without_number
                if is_planned and case not in answer.cells:
                    yield Missing(case, *_reason_for_missing(answer, by_case.get(case, []), without_number.get(case, [])))


def _partial(answer: Answer, selected: Sequence[Observation], runs: Sequence[RunRow]) -> Iterator[Partial]:
    """Yield each case in which some runs have the number of the answer, and other runs of the same test do not have this number."""
    chosen = {choice.field.name: choice.value for choice in answer.choices if choice.field.name != "participant"}
    tests = {cell.median.test for cell in answer.cells.values()}
    of_case: dict[Case, set[str]] = defaultdict(set)
    for each in selected:
        if each.result.test in tests and all(each.fields.get(name) == value for name, value in chosen.items()):
            of_case[_case_of(each.fields, answer.question)].add(each.result.run.run)
    measured = {each.result.run.run for each in selected}
    for run in runs:
        fields = fields_of_run(run)
        if run.run not in measured and all(fields.get(name) == value for name, value in chosen.items()):
            of_case[_case_of(fields, answer.question)].add(run.run)
    for case, cell in answer.cells.items():
        without = of_case[case] - {result.run.run for result in cell.results}
        if without:
            yield Partial(case, cell.run_count, len(without))


def _case_of(fields: Mapping[str, Value], question: Question) -> Case:
    panel = tuple(fields.get(name) for name in question.by)
    return Case(panel, fields.get(question.subject), fields.get(question.over) if question.over else None)


def _reason_for_missing(answer: Answer, numbers: Sequence[Observation], runs: Sequence[RunRow]) -> tuple[str, int]:
    """Return the reason, and the number of runs with this reason."""
    lost = {each.result.run.run for each in numbers if (each.result.metric, each.result.value) in (("loss", 1), ("messages_received", 0))}
    if lost:
        return "nothing arrived", len(lost)
    of_metric = [each.result for each in numbers if (each.result.metric, each.result.statistic) == (answer.metric, answer.statistic)]
    if marks := Counter(mark for result in of_metric if result.value is None for mark in result.marks):
        return MARKS[marks.most_common(1)[0][0]].title, len({result.run.run for result in of_metric})
    if numbers:
        return "measured under other conditions" if of_metric else "not stated by the logs", len({each.result.run.run for each in numbers})
    if runs:
        return Counter(run.reason or run.status or "no result" for run in runs).most_common(1)[0][0], len(runs)
    return "not measured", 0
