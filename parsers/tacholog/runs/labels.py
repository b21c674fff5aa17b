"""Labels: the user's own words, which distinguish runs, such as the name of the network plugin or the kernel.

A manifest has labels in a table (``[labels]``). A dataset has one JSON object with all labels of a run (the column ``labels`` of ``runs``). In all
other places, a label is a field ``label.NAME``, as in ``--across label.plugin``. If a run does not have a label, it differs from every run that has
this label.
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
#: The prefix that a label's name has if it is used as the name of a field.
PREFIX = "label."
#: The label of control runs, whose results no release changes. The value of the label does not matter.
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
    """Return labels as the JSON object for the column ``labels``, with sorted keys; ``None`` if there are no labels.

    Equal labels result in equal texts.
    """
    return json.dumps(dict(labels), ensure_ascii=False, sort_keys=True) if labels else None


@lru_cache(maxsize=1 << 12)
def labels_of(text: str | None) -> Mapping[str, str]:
    """Return the labels in a JSON object that `labels_text` made, by their fields (``label.plugin``)."""
    return MappingProxyType({f"{PREFIX}{name}": str(value) for name, value in json.loads(text).items()}) if text else _NONE


def label_fields(texts: Iterable[str | None]) -> tuple[str, ...]:
    """Return the fields of all labels in these JSON objects, sorted."""
    return tuple(sorted({field for text in set(texts) for field in labels_of(text)}))


def labels_asked(words: Iterable[str], option: str) -> tuple[tuple[str, str], ...]:
    """Parse the labels with which a user selects runs. Return sorted pairs of field and value.

    Args:
        words: ``plugin=flannel``, or ``label.plugin=flannel``.
        option: the command-line option that contains the words, for the message.

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
    """Whether a run has the labels that the user asked for. ``text`` is the run's text in the column ``labels``.

    The value ``not stated`` asks for runs without this label.
    """
    labels = labels_of(text)
    return all(labels.get(field, NOT_STATED) == value for field, value in asked)
