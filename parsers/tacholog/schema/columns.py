"""The properties of one column of a table."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Literal, get_args, get_origin

import msgspec

Kind = Literal["text", "integer", "number", "true or false", "list"]

#: What may happen to a value when a dataset is published. `tacholog.privacy.classes` explains how each class is treated.
PrivacyClass = Literal["public", "name", "address", "path", "free text", "never", "nested", "open"]

#: The pandas dtype of each kind. Every dtype can hold ``<NA>``, so that "not stated" is never 0 or "".
DTYPES: dict[Kind, str] = {"text": "string", "integer": "Int64", "number": "Float64", "true or false": "boolean", "list": "object"}


class SchemaColumn(msgspec.Struct, frozen=True, kw_only=True):
    """One column of a table.

    Attributes:
        kind: the type of a value.
        meaning: one or two sentences for the docs and the site; words between backticks are code.
        privacy: what may happen to a value when a dataset is published.
        unit: the unit of every value in this column, as in `tacholog.schema.metrics.METRICS`; ``None`` if it has none, or if another column holds the
            unit.
        title: the name of the column in running text; ``None``: its name, with blanks for underscores.
        allowed: the only allowed words; empty if any word is allowed.
        required: whether every row has a value. Otherwise ``<NA>`` stands for "not stated".
        unique: whether no two rows have the same value.
        at_least: the smallest possible value.
        above: a lower limit that every value exceeds.
        offered: for columns of the table ``runs``: whether the files for other tools (CSV, JSON, Parquet) join it to the results.
    """

    kind: Kind
    meaning: str
    privacy: PrivacyClass
    unit: str | None = None
    title: str | None = None
    allowed: tuple[str, ...] = ()
    required: bool = False
    unique: bool = False
    at_least: int | None = None
    above: float | None = None
    offered: bool = False

    @property
    def dtype(self) -> str:
        """The dtype of the column in a frame."""
        return DTYPES[self.kind]


def kind_of(annotation: object) -> Kind:
    """Return the kind of column for a field with this annotation, for example ``integer`` for ``int``."""
    plain = {*plain_types(annotation)}
    kinds: tuple[tuple[type, Kind], ...] = ((bool, "true or false"), (int, "integer"), (float, "number"))
    return next((kind for type_, kind in kinds if type_ in plain), "text")


def words_of(annotation: object) -> tuple[str, ...]:
    """Return the words of the ``Literal`` in an annotation; an empty tuple if there is no ``Literal``."""
    if get_origin(annotation) is Literal:
        return tuple(map(str, get_args(annotation)))
    return next((words for inner in _inner(annotation) if (words := words_of(inner))), ())


def plain_types(annotation: object) -> Iterator[object]:
    """Yield the plain types inside unions and annotations."""
    yield annotation
    for inner in _inner(annotation):
        yield from plain_types(inner)


def _inner(annotation: object) -> Collection[Any]:
    return () if get_origin(annotation) is Literal else get_args(annotation)
