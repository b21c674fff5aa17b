"""The rule that chooses questions if the owner of a site states none (docs/questions.md explains it to users).

The *crossing* of a subject and an axis has one cell for each value of the subject and each point of the axis.

1. A subject is a field with at least two text values; an axis is a field of numbers. `SUBJECTS` and `AXES` state which fields are preferred.
2. For each subject and axis, only runs that differ in no other field are compared. The group with the highest score counts (`Crossing.score`).
   The system is the preferred subject if at least half of the measurements are in such groups. Without this rule, a label with many values, such as
   the type of message, would have the higher score.
3. Up to two other fields divide the answer into panels. A field does so only if at least two of its values each have enough cells for a crossing.
4. If no text field varies, a field of numbers is the subject, and the axis is the field with the most values. If only one field varies, it is the
   axis, and the subject is the system. If no field varies, there is no axis, and the subject is the system.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacholog.runs.labels import CONTROL, is_label
from tacholog.runs.questions import Question
from tacholog.view.factors import Factor, Observation, varying
from tacholog.view.questions import NEVER_CHOSEN, default_metric

#: Fields that may be a subject, in order of preference. ``label.`` stands for all labels of the user.
SUBJECTS = (
    *(
        "system",
        "transport",
        "label.",
        "type",
        "data_path",
        "reliability",
        "acks",
        "durability",
        "keyed",
        "waiting",
        "tuning",
        "placement",
        "payload_touched",
        "release",
    ),
)
#: Fields of numbers that may be an axis, in order of preference.
AXES = (
    *("network_loss_percent", "network_delay_ns", "network_jitter_ns", "network_bandwidth_bit_per_s", "link_bit_per_s", "label."),
    *("offered_rate_per_s", "subscribers", "publishers", "payload_bytes", "partitions", "topics", "consumer_groups", "replication_factor"),
    *("instances", "batch_bytes", "demand", "recovery_time_ns"),
)
_LATENCY, _RATES = ("latency",), ("goodput", "message_rate", "acknowledged_rate", "sustained_rate", "transfer_rate")
_SIZE = "payload_bytes"
_MOST_SUBJECTS = 40
_MOST_PANELS = 8  # the largest number of values of a field that divides an answer into panels
_MOST_DIVISIONS = 2
_MOST_COMBINATIONS = 2**62  # so that codes fit into integers of 64 bits
_LEAST = 2
Rows = NDArray[np.intp]


class Crossing(NamedTuple):
    """The crossing of a subject and an axis: the number of cells with numbers, the number of all cells, and the fewest runs of a cell."""

    filled: int
    cases: int
    least_runs: int

    @property
    def score(self) -> float:
        """The number of filled cells, multiplied by the share of filled cells. Repetitions add 20 %."""
        return self.filled * (self.filled / self.cases) * (1.2 if self.least_runs >= _LEAST else 1.0)


def questions_for(numbers: Iterable[Observation]) -> list[Question]:
    """Return at most two questions that these numbers can answer, the better one first: one on latency, and one on rates.

    Each number is of a whole measurement.
    """
    numbers = [each for each in numbers if CONTROL not in each.fields and each.result.value is not None]
    scored = [_scored_question([each for each in numbers if each.result.metric in metrics]) for metrics in (_LATENCY, _RATES)]
    latency, rate = scored
    is_latency_first = latency is None or rate is None or latency[0] * _LEAST >= rate[0]  # first, unless its score is below half that of rates
    return [each[1] for each in (scored if is_latency_first else reversed(scored)) if each]


class _MeasuredWays:
    """The combinations of field values that were measured. If several numbers have the same combination, the combination is listed once.

    Each combination is a row. For each field, ``codes`` has an array of shape (rows,) with the codes of the values.
    """

    def __init__(self, numbers: Sequence[Observation], fields: Sequence[Factor]) -> None:
        self.fields = [field for field in fields if field.name not in NEVER_CHOSEN]
        codes = [{value: code for code, value in enumerate(field.values)} for field in self.fields]
        runs: dict[tuple[int, ...], set[str]] = defaultdict(set)
        # Thousands of numbers share one mapping of fields.
        for each in {(id(each.fields), each.result.run.run): each for each in numbers}.values():
            runs[tuple(code[each.fields.get(field.name)] for field, code in zip(self.fields, codes, strict=True))].add(each.result.run.run)
        self.codes = {field.name: np.array([row[index] for row in runs]) for index, field in enumerate(self.fields)}
        self.runs = np.array([len(of_row) for of_row in runs.values()])

    def following(self, subject: Factor, axis: Factor | None) -> set[str]:
        """Return the fields whose value is certain once the values of the subject, the axis and the message size are known.

        For example, the version follows from the system if each system has only one version. The message size itself is returned only if it follows
        from the subject alone.
        """
        leaders = {subject.name, *([axis.name] if axis else []), *({_SIZE} & self.codes.keys())}
        combination, combination_without_axis = self._combination(leaders), self._combination([subject.name])
        return {name for name, codes in self.codes.items() if _is_one_for_each(combination_without_axis if name == _SIZE else combination, codes)}

    def _combination(self, names: Iterable[str]) -> Rows:
        """Return a code for each row. Rows with equal values in these fields have equal codes, from 0 to the number of combinations - 1."""
        combination, count = np.zeros_like(self.runs), 1
        for name in names:
            values = int(self.codes[name].max()) + 1
            if count * values > _MOST_COMBINATIONS:
                combination = np.unique(combination, return_inverse=True)[1]
                count = len(combination)
            combination = combination * values + self.codes[name]
            count *= values
        return np.unique(combination, return_inverse=True)[1]

    def groups(self, names: Sequence[str]) -> Iterator[Rows]:
        """Yield the rows that have equal values in these fields, as arrays of indices."""
        if not names:
            yield np.arange(len(self.runs))
            return
        which = self._combination(names)
        order = np.argsort(which, kind="stable")
        yield from np.split(order, np.flatnonzero(np.diff(which[order])) + 1)

    def crossing(self, rows: Rows, subject: Factor, axis: Factor | None) -> Crossing | None:
        """Return the crossing of a subject and an axis in some rows. Only points that at least two subjects have are used.

        ``None`` if fewer than two subjects or fewer than two points remain.
        """
        if len(rows) < _LEAST * (_LEAST if axis else 1):
            return None
        first = self.codes[subject.name][rows]
        second = self.codes[axis.name][rows] if axis else np.zeros_like(first)
        is_stated = np.array([value is not None for value in subject.values])[first]
        if axis:
            is_stated &= np.array([value is not None for value in axis.values])[second]
        points_in_all = int(second.max()) + 1
        cases, of_row = np.unique((first * points_in_all + second)[is_stated], return_inverse=True)
        runs = np.bincount(of_row, weights=self.runs[rows][is_stated])
        is_shared = (np.bincount(cases % points_in_all) >= _LEAST)[cases % points_in_all]
        subjects, points = len(np.unique(cases[is_shared] // points_in_all)), len(np.unique(cases[is_shared] % points_in_all))
        if subjects < _LEAST or (axis and points < _LEAST):
            return None
        return Crossing(int(is_shared.sum()), subjects * points, int(runs[is_shared].min()))


def _is_one_for_each(combination: Rows, codes: Rows) -> bool:
    """Whether all rows with the same combination have the same code."""
    code_of_combination = np.zeros_like(combination)
    code_of_combination[combination] = codes
    return bool((code_of_combination[combination] == codes).all())


def _scored_question(numbers: Sequence[Observation]) -> tuple[float, Question] | None:
    if not numbers:
        return None
    rows = _MeasuredWays(numbers, varying(numbers))
    subjects = [field for field in rows.fields if _rank(field, SUBJECTS) is not None and field.kind == "text" and len(field.values) <= _MOST_SUBJECTS]
    axes = [field for field in rows.fields if _rank(field, AXES) is not None and field.kind == "number"]
    best: tuple[bool, float, int, int] | None = None
    chosen: tuple[Factor, Factor | None] | None = None
    for subject in subjects:
        for axis in (*axes, None):
            names = [subject.name, *([axis.name] if axis else [])]
            following = rows.following(subject, axis)
            groups = rows.groups([name for name in rows.codes if name not in names and name not in following])
            crossings = [(crossing, len(group)) for group in groups if (crossing := rows.crossing(group, subject, axis))]
            score = max((crossing.score for crossing, _ in crossings), default=0.0)
            is_of_systems = subject.name == "system" and axis is not None and sum(size for _, size in crossings) * 2 >= len(rows.runs)
            rank = (not is_of_systems, -score, _rank(subject, SUBJECTS) or 0, len(AXES) if axis is None else _rank(axis, AXES) or 0)
            if score and (best is None or rank < best):
                best, chosen = rank, (subject, axis)
    if best is None or chosen is None:
        return _question_without_texts(numbers, axes)
    subject, axis = chosen
    names = [subject.name, *([axis.name] if axis else [])]
    by = tuple(_divisions(rows, subject, axis))
    metric, statistic = default_metric(numbers, (*names, *by))
    return -best[1], Question(subject=subject.name, over=axis.name if axis else "", by=by, metric=f"{metric}:{statistic}")


def _question_without_texts(numbers: Sequence[Observation], axes: Sequence[Factor]) -> tuple[float, Question]:
    """Return a question and its score for numbers without a suitable field of words.

    The field with the most values is the axis. The subject is the preferred one of all other fields that could be an axis, or else the system.
    """
    if not axes:
        metric, statistic = default_metric(numbers, ("system",))
        return 0.0, Question(subject="system", metric=f"{metric}:{statistic}")
    preferred = sorted(axes, key=lambda axis: _rank(axis, AXES) or 0)
    over = max(axes, key=lambda axis: (len(axis.values), axis.name == _SIZE, -preferred.index(axis)))
    subject = next((axis.name for axis in preferred if axis is not over and len(axis.values) <= _MOST_PANELS), "system")
    metric, statistic = default_metric(numbers, (subject, over.name))
    return len(over.values) / 2, Question(subject=subject, over=over.name, metric=f"{metric}:{statistic}")


def _rank(field: Factor, order: Sequence[str]) -> int | None:
    name = "label." if is_label(field.name) else field.name
    return order.index(name) if name in order else None


def _divisions(rows: _MeasuredWays, subject: Factor, axis: Factor | None) -> Iterator[str]:
    """Yield the fields that divide the answer into panels. At least two values of such a field have enough cells for a panel."""
    names = [subject.name, *([axis.name] if axis else [])]
    left_out = {*names, *rows.following(subject, axis)}
    divisions = (field for field in rows.fields if field.name not in left_out and _may_divide(field))
    crossed = (field for field in divisions if _number_of_panels(rows, field, subject, axis) >= _LEAST)
    for field in islice(crossed, _MOST_DIVISIONS):
        yield field.name


def _may_divide(field: Factor) -> bool:
    takes_part = _rank(field, SUBJECTS) is not None or _rank(field, AXES) is not None
    return takes_part and field.name != "release" and len(field.values) <= _MOST_PANELS


def _number_of_panels(rows: _MeasuredWays, field: Factor, subject: Factor, axis: Factor | None) -> int:
    return sum(rows.crossing(part, subject, axis) is not None for part in rows.groups([field.name]))
