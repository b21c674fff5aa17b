"""The reasons why two sides are not compared, in words. A diff, a ranking, a table of several series and the comparison page use the same words.

`tacholog.compare.comparable` decides what is comparable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from tacholog.compare.comparable import Judgement, settings_of
from tacholog.compare.result import Difference
from tacholog.runs.labels import is_label, label_name
from tacholog.schema.marks import MARKS
from tacholog.view.names import BASIS_WORDS, participant_title
from tacholog.view.numerals import NOT_STATED

PUBLISHED_AGAIN = MARKS["republished"].title.lower()
TITLES: Mapping[str, str] = MappingProxyType(
    {
        "metric_def": "definition of the metric",
        "data_path": "data path",
        "load_mode": "load mode",
        "qos": "reliability",
        "batching": "batching",
        "batched": "batching",
        "bytes_moved": "bytes that the rate counts",
        "payload_touched": "whether the payload was touched",
        "latency_of": "contents (bytes, or a reference to them)",
        "offered_rate": "offered rate",
        "recovery_time": "recovery time",
        "cpu_model": "CPU model",
        "cores_smt": "cores and threads",
        "nic": "network card",
        "mtu": "MTU",
        "harness_major": "major version of the tool",
        "participant": "participant",
        "host": "machine",
    }
)


def refusals(judgement: Judgement) -> list[str]:
    """Return the reasons why a ratio of two sides would be meaningless, one for each condition; an empty list if the ratio may be shown."""
    return [*map(difference_words, judgement.different), *(not_stated([code]) for code in judgement.unverified)]


def difference_words(difference: Difference) -> str:
    """Return a condition with its values on both sides: ``load mode: closed -> open``."""
    if difference.field == "keyed":
        old, new = ({None: NOT_STATED, "True": "keyed", "False": "unkeyed"}[value] for value in (difference.old, difference.new))
        return old if old == new else f"{old} -> {new}"
    old, new = (_value(difference.field, value) for value in (difference.old, difference.new))
    if difference.field == "latency_of":
        return f"the latency of {old} against that of {new}"
    return f"{condition_title(difference)}: {old if old == new else f'{old} -> {new}'}"


def _value(code: str, value: str | None) -> str:
    if value is None:
        return NOT_STATED
    if code == "settings":
        return ", ".join(f"{name}={text}" for name, text in settings_of(value).items()) or "none"
    return BASIS_WORDS.get(value, value) if code == "basis" else value


def condition_title(difference: Difference) -> str:
    """Return the name of a condition in words."""
    return participant_title(difference.old or difference.new) if difference.field == "participant" else title_of(difference.field)


def title_of(code: str) -> str:
    """Return the name of the condition with this code."""
    return label_name(code) if is_label(code) else TITLES.get(code, code.replace("_", " "))


def not_stated(codes: Iterable[str]) -> str:
    """Return the conditions that are not stated, in words: ``not stated: basis, machine``."""
    return f"{NOT_STATED}: {', '.join(map(title_of, codes))}"
