"""Labels: the user's own words that distinguish runs, such as the name of the network plugin or the kernel.

A manifest holds labels in a table (``[labels]``), a dataset holds them in one JSON object for each run (the column ``labels`` of ``runs``).
Everywhere else a label is a field ``label.NAME``, as in ``--across label.plugin``. A run without a label differs from every run that has it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType

from tacholog.errors import TachologError
from tacholog.visible import one_form

#: The value that selects runs without a label.
NOT_STATED = "not stated"
#: The prefix of a label's name if the label is a field among others.
PREFIX = "label."
#: The label of control runs, which no release changes. Its value does not matter.
CONTROL = f"{PREFIX}control"
_FIELD = re.compile(rf"{re.escape(PREFIX)}[A-Za-z][A-Za-z0-9_-]{{0,63}}")
_NONE: Mapping[str, str] = MappingProxyType({})


def is_label(field: str) -> bool:
    """Return whether a field is a label: ``label.plugin``."""
    return _FIELD.fullmatch(field) is not None


def label_name(field: str) -> str:
    """Return the name of a label without the prefix."""
    return field.removeprefix(PREFIX)


def labels_text(labels: Mapping[str, str]) -> str | None:
    """Return labels as the JSON object in the column ``labels``, with sorted keys; ``None`` if there are none. Equal labels give equal texts."""
    return json.dumps(dict(labels), ensure_ascii=False, sort_keys=True) if labels else None


@lru_cache(maxsize=1 << 12)
def labels_of(text: str | None) -> Mapping[str, str]:
    """Return the labels in a JSON object of `labels_text`, by their fields (``label.plugin``)."""
    return MappingProxyType({f"{PREFIX}{name}": str(value) for name, value in json.loads(text).items()}) if text else _NONE


def label_fields(texts: Iterable[str | None]) -> tuple[str, ...]:
    """Return the fields of all labels in these JSON objects, sorted."""
    return tuple(sorted({field for text in set(texts) for field in labels_of(text)}))


def labels_asked(words: Iterable[str], option: str) -> tuple[tuple[str, str], ...]:
    """Parse the labels that select runs. Return pairs of field and value, sorted.

    Args:
        words: ``plugin=flannel``, or ``label.plugin=flannel``.
        option: the option that contains the words, for the message.

    Raises:
        TachologError: a word does not have the form NAME=VALUE.
    """
    labels = []
    for word in words:
        name, equals, value = word.partition("=")
        field = f"{PREFIX}{name.removeprefix(PREFIX)}"
        if not equals or not is_label(field):
            raise TachologError(f"{option} {word}: write NAME=VALUE, as in plugin=flannel")
        labels.append((field, one_form(value)))
    return tuple(sorted(labels))


def has_labels(text: str | None, asked: Iterable[tuple[str, str]]) -> bool:
    """Whether a run (its text in the column ``labels``) has the requested labels. ``not stated`` requests runs without the label."""
    labels = labels_of(text)
    return all(labels.get(field, NOT_STATED) == value for field, value in asked)
