"""Factors: the fields that vary in a dataset (conditions, labels, the system, the release, the machine, the size), with their values.

A question (`tacholog.view.questions`) names factors: its subject, its axis, and the factors that divide its answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from tacholog.errors import TachologError
from tacholog.runs.labels import CONTROL, PREFIX, is_label, labels_of
from tacholog.schema.conditions import CONDITIONS
from tacholog.view import results as results_of
from tacholog.view.names import condition_name, words
from tacholog.view.numerals import NOT_STATED, by_version, natural, quantity, size
from tacholog.view.results import ResultRow, RunRow

if TYPE_CHECKING:
    from tacholog.store.frames import Dataset

#: A value of a field: text, a number or a truth value, as in the schema; a label as text; ``None``: not stated.
Value = str | int | float | bool | None

_RUN_FIELDS = ("system", "system_version", "tool", "tool_version", "release", "host", "campaign", "build", "options", "published")
_RESULT_FIELDS = ("test", "payload_bytes", "side", "participant")
FIELDS = (*_RUN_FIELDS, *_RESULT_FIELDS, *CONDITIONS)
_NUMBER = re.compile(r"([-+]?[0-9]{1,15}(?:\.[0-9]{1,15})?(?:[eE][-+]?[0-9]{1,2})?)\s*([^\W\d_][^\s\d]{0,15}|%|)")
_STEPPED = ("ns", "bit_per_s", "messages_per_s", "bytes")  # units that are shown with the most readable prefix
_NAMED_BY_HEADING = ("release", "system_version", "tool_version", "campaign")
_TITLES = {
    "payload_bytes": "message size",
    "subscribers": "number of subscribers",
    "publishers": "number of publishers",
    "instances": "number of instances",
    "topics": "number of topics",
    "partitions": "number of partitions",
    "consumer_groups": "number of consumer groups",
}
_COUNTED = ("instances", "messages", "publishers", "subscribers")


class Factor(msgspec.Struct, frozen=True):
    """A field, and the values that it has in a dataset.

    Attributes:
        name: the field: ``system``, ``payload_bytes``, ``label.plugin``.
        title: the name of the field in running text.
        kind: whether its values are numbers, which may be an axis.
        unit: the unit of its numbers: from the schema, or the word after the numbers of a label.
        values: the sorted values; "not stated" comes last. Numbers ascend; releases and texts are in their natural order.
    """

    name: str
    title: str
    kind: Literal["number", "text"]
    unit: str
    values: tuple[Value, ...]

    def number(self, value: Value) -> float | None:
        """Return a value as a number, in the factor's unit; ``None`` if it is not stated."""
        return None if value is None or self.kind == "text" else _number_of(value)[0]

    def words(self, value: Value) -> str:
        """Return a value in words that are clear without a heading: ``network loss 10 %``."""
        if value is None:
            return f"{self.title} {NOT_STATED}"
        if self.kind == "number" or is_label(self.name):
            return f"{self.title} {self.short(value)}"
        return words(self.name, value)

    def short(self, value: Value) -> str:
        """Return a value in words, for places where a heading already states the name of the factor."""
        if value is None:
            return "all together" if self.name == "participant" else NOT_STATED
        if self.name == "payload_bytes":
            return size(float(str(value)))
        if self.kind == "number":
            number = _number_of(value)[0]
            return quantity(number, self.unit) if self.unit in _STEPPED and not is_label(self.name) else f"{number:g}{_sign(self.unit)}"
        return str(value) if is_label(self.name) or self.name in _NAMED_BY_HEADING else words(self.name, value) or NOT_STATED

    def named(self, value: Value) -> str:
        """Return a value as the subject of a sentence. If the value begins with a digit, the name of its field stands before it."""
        short = self.short(value)
        return f"{self.title} {short}" if value is None or short[:1].isdigit() else short


class Observation(NamedTuple):
    """A number, and the values of all fields with which it was measured."""

    result: ResultRow
    fields: Mapping[str, Value]


def fields_of_run(run: RunRow) -> Mapping[str, Value]:
    """Return the values of the fields of a run, as the manifest of the run states them. This function is for runs without numbers."""
    return {name: getattr(run, name) for name in _RUN_FIELDS} | _manifest_of(run).conditions | _labels_of(run)


class _Manifest(msgspec.Struct, frozen=True):
    conditions: dict[str, Value] = msgspec.field(default_factory=dict)
    labels: dict[str, Value] = msgspec.field(default_factory=dict)


_read_manifest = msgspec.json.Decoder(_Manifest).decode


def _manifest_of(run: RunRow) -> _Manifest:
    return _read_manifest(run.manifest) if run.manifest else _Manifest()


def _labels_of(run: RunRow) -> dict[str, Value]:
    """Return the labels in the order of the manifest, which usually begins with the most general label."""
    labels = labels_of(run.labels)
    in_order = (f"{PREFIX}{name}" for name in _manifest_of(run).labels)
    return {name: labels[name] for name in dict.fromkeys((*in_order, *labels)) if name in labels}


def observations(results: Iterable[ResultRow]) -> list[Observation]:
    """Return the numbers with the values of their fields. Numbers with equal fields share one mapping."""
    made: dict[tuple[object, ...], Mapping[str, Value]] = {}
    return [Observation(result, _fields_of(result, made)) for result in results]


def measured(data: Dataset) -> tuple[list[Observation], list[RunRow]]:
    """Return the numbers of whole measurements of a dataset, with their fields, and the runs of the dataset."""
    runs = results_of.runs(data)
    summaries = msgspec.structs.replace(data, results=data.results[data.results["scope"] == "summary"])
    return observations(results_of.results(summaries, runs)), list(runs.values())


def _fields_of(result: ResultRow, made: dict[tuple[object, ...], Mapping[str, Value]]) -> Mapping[str, Value]:
    key = (result.run.run, id(result.conditions), result.test, result.payload_bytes, result.side, result.participant)
    if key not in made:
        fields: dict[str, Value] = {name: getattr(result.run, name) for name in _RUN_FIELDS}
        fields |= {name: getattr(result, name) for name in _RESULT_FIELDS}
        fields |= {name: getattr(result.conditions, name) for name in CONDITIONS}
        made[key] = fields | _labels_of(result.run)
    return made[key]


def factor(name: str, numbers: Sequence[Observation]) -> Factor:
    """Return a field with the values that it has in these numbers.

    Raises:
        TachologError: no number has this field.
    """
    check_field(name, numbers)
    return _factor(name, _distinct_fields(numbers))


def _factor(name: str, different: Iterable[Mapping[str, Value]]) -> Factor:
    values = {fields.get(name) for fields in different}
    order = [value for value in values if value is not None]
    unit = _unit(name, order)
    order.sort(key=(lambda value: _by_text(name, value)) if unit is None else _by_number)
    return Factor(
        name=name,
        title=_TITLES.get(name) or condition_name(name),
        kind="text" if unit is None else "number",
        unit=unit or "",
        values=(*order, *([None] if None in values else [])),
    )


def varying(numbers: Sequence[Observation]) -> list[Factor]:
    """Return the fields that have at least two values in these numbers; "not stated" counts as a value. The label of controls is left out."""
    different = _distinct_fields(numbers)
    names = [name for name in (*FIELDS, *_labels_in(different)) if len({fields.get(name) for fields in different}) > 1]
    return [_factor(name, different) for name in names]


def _distinct_fields(numbers: Iterable[Observation]) -> list[Mapping[str, Value]]:
    """Return the different mappings of fields. Mappings are compared by identity, because numbers with equal fields share one mapping."""
    return list({id(observation.fields): observation.fields for observation in numbers}.values())


def _labels_in(different: Iterable[Mapping[str, Value]]) -> list[str]:
    return [name for name in dict.fromkeys(name for fields in different for name in fields) if is_label(name) and name != CONTROL]


_CLOSE = 0.7  # The usual 0.6 offers `tuning` for `nothing`.


def check_field(name: str, numbers: Sequence[Observation]) -> None:
    """Check that a field exists in these numbers.

    Raises:
        TachologError: no number has this field; the message names the existing fields.
    """
    labels = _labels_in(_distinct_fields(numbers))
    if name in FIELDS or name in labels:
        return
    near = f"{PREFIX}{name}" if f"{PREFIX}{name}" in labels else next(iter(get_close_matches(name, (*FIELDS, *labels), 1, _CLOSE)), "")
    hint = f" (is {near} meant?)" if near else ""
    fields_stated = [field for field in FIELDS if any(fields.get(field) is not None for fields in _distinct_fields(numbers))]
    raise TachologError(f"no field {name!r}{hint}; these runs state {', '.join((*labels, *fields_stated))}")


def _unit(name: str, values: Sequence[Value]) -> str | None:
    """Return the unit that all values of a field have in common. Return ``None`` if any value is not a number, or if the units differ."""
    if not is_label(name):
        numbers = bool(values) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
        return ("bytes" if name == "payload_bytes" else CONDITIONS[name].unit or "") if numbers else None
    units = {_number_of(value)[1] for value in values}
    return units.pop() if len(units) == 1 else None  # numbers with different units, or texts among the numbers, cannot form an axis


@lru_cache(maxsize=1 << 12)
def _parsed(text: str) -> tuple[float, str | None] | None:
    match = _NUMBER.fullmatch(text.strip())
    return (float(match[1]), match[2]) if match else None


def _number_of(value: Value) -> tuple[float, str | None]:
    """Return a number and its unit. For text that is not a number, the unit is ``None``."""
    if isinstance(value, int | float):
        return float(value), ""
    return _parsed(str(value)) or (0.0, None)


def _by_number(value: Value) -> float:
    return _number_of(value)[0]


def _by_text(name: str, value: Value) -> list[tuple[int, int, str]]:
    return by_version(str(value)) if name in ("release", "system_version", "tool_version") else natural(str(value))


def _sign(unit: str) -> str:
    """Return what is written after a value with this unit: a blank and the sign of the unit, such as ``%``.

    The text is empty for a count, such as the number of subscribers, because the heading states what is counted.
    """
    sign = "%" if unit == "percent" else "" if unit in _COUNTED else unit
    return f"\N{NO-BREAK SPACE}{sign}" if sign else ""
