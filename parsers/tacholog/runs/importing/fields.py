"""The fields that a pattern, a rule or ``--set`` may state for a log; and the conversion of texts to the values of these fields in a manifest."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.runs.importing.patterns import DIGITS, ROLE, START
from tacholog.runs.importing.units import FORMS, without_unit
from tacholog.runs.manifest import LabelName, LabelValue, Manifest, in_words
from tacholog.runs.moments import is_moment
from tacholog.schema.conditions import STATED_CONDITIONS, StatedConditions
from tacholog.visible import is_blank, one_form

#: Fields of the manifest that hold a text.
TEXTS = ("system", "system_version", "tool", "tool_version", "release", "host", "session", "campaign", "start_time")
#: These fields distinguish the logs within one run. Two runs never differ only in these fields.
OF_LOG = (ROLE, "participant")
REPETITION = "repetition"
#: Fields that distinguish the repetitions of a run.
OF_REPETITION = (REPETITION, START)
LABEL, CONDITION, OPTION = "label.", "conditions.", "options."
_PLAIN = (*TEXTS, "published", REPETITION, *OF_LOG)
_OPTION_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_LONGEST_TEXT = 200
_SIZE = re.compile(r"(?P<number>[0-9]{1,15})(?P<unit>[A-Za-z]*)")
_SIZE_UNITS = {"": 1, "B": 1, "KiB": 2**10, "MiB": 2**20}
_AMBIGUOUS = re.compile(r"[kKmMgG][bB]?")
_PADDED = re.compile(r"\A0+(?=[0-9])")
_NUMBERS = ((re.compile(r"-?(?:0|[1-9][0-9]{0,17})"), int), (re.compile(r"-?[0-9]{1,15}\.[0-9]{1,15}"), float))

#: The values of a log's fields, by their full names: ``label.plugin``, ``conditions.transport``.
Values = Mapping[str, Any]


def full_name(name: str, where: str) -> str:
    """Return the full name of a field: ``conditions.`` may be left out before the name of a condition.

    Args:
        name: the name as the user typed it.
        where: the source of the name, for messages.

    Raises:
        UnreadableInput: there is no such field; the message names similar fields.
    """
    if name in STATED_CONDITIONS:
        return CONDITION + name
    if name in _PLAIN or (name.startswith(CONDITION) and name.removeprefix(CONDITION) in STATED_CONDITIONS):
        return name
    if name.startswith(LABEL):
        try:
            msgspec.convert(name.removeprefix(LABEL), LabelName)
        except msgspec.ValidationError as error:
            raise UnreadableInput(f"{where}: {name!r} is not the name of a label: {in_words(error, Manifest)}") from None
        return name
    if name.startswith(OPTION) and _OPTION_NAME.fullmatch(name.removeprefix(OPTION)):
        return name
    raise UnreadableInput(f"{where}: there is no field {name!r}{_similar_fields(name)}")


def _similar_fields(name: str) -> str:
    names = [*_PLAIN, *STATED_CONDITIONS, *(CONDITION + condition for condition in STATED_CONDITIONS)]
    near = ["payload_bytes"] if "size" in name.lower() else difflib.get_close_matches(name, names, 3)
    own_word = f"; for a label of your own, write {LABEL}{name}" if re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name) else ""
    return (f" (is {' or '.join(near)} meant?)" if near else f" (there are {', '.join(_PLAIN)}, label.NAME, options.NAME and conditions)") + own_word


def typed(name: str, value: object) -> Any:  # noqa: ANN401 - whatever the field holds
    """Return the value of a field as the manifest holds it.

    Args:
        name: the field's full name.
        value: a text from a path or the command line, or a value of a rules file.

    Raises:
        ValueError: the field cannot hold the value; the message says what it can hold.
    """
    result = _typed(name, one_form(value) if isinstance(value, str) else value)
    if isinstance(result, int) and not -(2**63) <= result < 2**63:
        raise ValueError(f"{name} = {str(value)[:20]}... does not fit into 64 bits")  # no program could read a run.toml with a larger number
    if name == REPETITION and result < 0:
        raise ValueError(f"{name} = {result} is negative")
    return result


def _typed(name: str, value: object) -> Any:  # noqa: ANN401
    """Return the value with the type that it has in the manifest. The size of a number is not checked."""
    if name in DIGITS or name == "published":
        kind = bool if name == "published" else int
        value = _without_leading_zeros(value) if kind is int else value
        try:
            number = msgspec.convert(value, kind, strict=not isinstance(value, str))
        except msgspec.ValidationError:
            raise ValueError(f"{name} = {value!r} is not {'true or false' if kind is bool else 'a whole number'}") from None
        return str(number) if name == "participant" else number
    if name.startswith(CONDITION):
        return _condition(name.removeprefix(CONDITION), value)
    if name.startswith(OPTION):
        return _scalar(value) if isinstance(value, str) else _option(name, value)
    if not isinstance(value, str):
        raise ValueError(f"{name} = {value!r} is not a text; put it in quotes")  # noqa: TRY004 - the caller reports all of them alike
    if name.startswith(LABEL):
        try:
            msgspec.convert(value, LabelValue)
        except msgspec.ValidationError:
            raise ValueError(f"{name} = {value!r} is blank or longer than {_LONGEST_TEXT} characters") from None
    if is_blank(value) or len(value) > _LONGEST_TEXT:
        raise ValueError(f"{name} = {value!r} is blank or longer than {_LONGEST_TEXT} characters")
    if name == START and not is_moment(value):
        other = f"a pattern can state another form, as in {{{START}:%d-%m-%Y_%H-%M-%S}}"
        raise ValueError(f'{name} = {value!r} is not a time such as "2026-01-31T12:00:00Z"; {other}')
    if name == "host" and ("/" in value or value.startswith(".") or len(value.encode()) > _LONGEST_TEXT or not value.isprintable()):
        raise ValueError(f"host = {value!r} cannot be the name of a file in hosts/")
    return value


def _without_leading_zeros(value: object) -> object:
    return _PADDED.sub("", value) if isinstance(value, str) else value


def _condition(name: str, value: object) -> Any:  # noqa: ANN401
    column, text = STATED_CONDITIONS[name], value
    if isinstance(value, str) and name == "payload_bytes":
        value = _size(value)
    elif isinstance(value, str):
        value = without_unit(name, value)
    if column.kind in ("integer", "number"):
        value = _without_leading_zeros(value)
    if isinstance(value, str) and column.allowed:
        value = next((word for word in column.allowed if word.casefold() == value.casefold()), value)
    try:
        condition = getattr(msgspec.convert({name: value}, StatedConditions, strict=not isinstance(value, str)), name)
    except msgspec.ValidationError:
        raise ValueError(f"{name} = {text!r} is not {_wanted(name)}") from None
    if isinstance(condition, str) and (is_blank(condition) or len(condition) > _LONGEST_TEXT):
        raise ValueError(f"{name} = {value!r} is blank or longer than {_LONGEST_TEXT} characters")
    return condition


def _size(text: str) -> str:
    """Return a size in bytes. A text that is no size is returned unchanged."""
    match = _SIZE.fullmatch(text)
    if not match:
        return text
    if _AMBIGUOUS.fullmatch(match["unit"]):
        bytes_of_1024 = int(match["number"]) * 1024 ** ("KMG".index(match["unit"][0].upper()) + 1)
        raise ValueError(
            f"payload_bytes = {text!r} may use units of 1000 or of 1024. State the size in bytes: "
            f"if 1024 is meant, write set = {{ payload_bytes = {bytes_of_1024} }} into a rule for this path"
        )
    return str(int(match["number"]) * _SIZE_UNITS[match["unit"]]) if match["unit"] in _SIZE_UNITS else text


def _wanted(name: str) -> str:
    column = STATED_CONDITIONS[name]
    if column.allowed:
        return f"one of {', '.join(column.allowed)}"
    if name == "payload_bytes":
        return "a size in bytes, such as 65536, 64KiB or 1MiB"
    kinds = {"integer": "a whole number", "number": "a number", "true or false": "true or false"}
    limit = " that is not negative" if column.at_least == 0 else f" above {column.above:g}" if column.above is not None else ""
    return kinds.get(column.kind, "a text") + limit + (f", such as {FORMS[name]}" if name in FORMS else "")


def _option(name: str, value: object) -> object:
    for part in value if isinstance(value, list) else [value]:
        if not isinstance(part, str | int | float) or (isinstance(part, float) and not math.isfinite(part)):
            raise ValueError(f"{name} = {value!r} is not a text, number, truth value or list of these")
    return value


def _scalar(text: str) -> object:
    """Return a number or a truth value if the text looks like one, because options are compared with values in logs."""
    if text in ("true", "false"):
        return text == "true"
    return next((kind(text) for pattern, kind in _NUMBERS if pattern.fullmatch(text)), text)


def manifest_fields(values: Values) -> dict[str, Any]:
    """Return the values of the fields of a run as arguments of `Manifest`. System and logs are not included."""
    fields: dict[str, Any] = {name: value for name, value in values.items() if name in (*TEXTS, "published", REPETITION)}
    for argument, prefix in (("labels", LABEL), ("options", OPTION)):
        fields[argument] = {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}
    if conditions := {name.removeprefix(CONDITION): value for name, value in values.items() if name.startswith(CONDITION)}:
        fields["conditions"] = StatedConditions(**conditions)
    return fields
