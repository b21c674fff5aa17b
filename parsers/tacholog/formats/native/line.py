"""The lines of the native log: a kind, pairs, and the values in them.

Source: docs/native-log.md of this project.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, get_args

from tacholog.formats.kit import COUNT_LIMIT, Basis, Bound, Number

Word = TypeVar("Word", bound=str)

_PAIR = re.compile(r' ([a-z][a-z0-9_.]*)=(?:"((?:[^"\\]|\\.)*)"|([^\s"]+))')
_ESCAPE = re.compile(r"\\.")
# All others stay as they are: \xHH is a byte that may not be shown, such as that of a control character, and must get no farther than the log.
_ESCAPED = {r"\n": "\n", r"\t": "\t", r"\"": '"', r"\\": "\\"}
_BASES: tuple[Basis, ...] = get_args(Basis)


class Fields(dict[str, str]):
    """The pairs of a line, and where on it each value begins that is not quoted."""

    def __init__(self) -> None:
        """Begin without any."""
        super().__init__()
        self.starts: dict[str, int] = {}


def pairs_of(text: str, at: int) -> Fields | None:
    """The pairs of a line from this place on, or ``None`` if anything is left over between or behind them."""
    fields = Fields()
    while (pair := _PAIR.match(text, at)) and pair[1] not in fields:
        if pair[2] is None:
            fields[pair[1]], fields.starts[pair[1]] = pair[3], pair.start(3)
        else:
            fields[pair[1]] = _ESCAPE.sub(lambda found: _ESCAPED.get(found[0], found[0]), pair[2])
        at = pair.end()
    return fields if at == len(text) else None


def count(fields: Fields, key: str) -> int:
    """The count under a key.

    Raises:
        KeyError: there is no such key.
        ValueError: it is no count.
    """
    text = fields[key]
    if not (text.isascii() and text.isdigit()) or int(text) >= COUNT_LIMIT:
        raise ValueError(f"{key}={text} is no count")
    return int(text)


def decimal(fields: Fields, key: str) -> float:
    """The number under a key; it raises what `count` does."""
    text = fields[key]
    if re.fullmatch(r"[0-9]{1,19}(\.[0-9]+)?", text) is None:
        raise ValueError(f"{key}={text} is no number")
    if (value := float(text)) >= COUNT_LIMIT:
        raise ValueError(f"{key}={text} is too large")
    return value


def number(metric: str, statistic: str, key: str, fields: Fields, bound: Bound = "=") -> Iterator[Number]:
    """Yield the number under a key, if there is one."""
    if key in fields:
        start = fields.starts.get(key)
        end = None if start is None else start + len(fields[key])
        yield Number(metric=metric, statistic=statistic, value=decimal(fields, key), bound=bound, value_start=start, value_end=end)


def payload_bytes(fields: Fields) -> int:
    """The size that a result is of; it raises what `count` does, and refuses 0."""
    size = count(fields, "payload_bytes")
    if size == 0:
        raise ValueError("a payload of 0 bytes")
    return size


def one_of(known: tuple[Word, ...], fields: Fields, key: str) -> Word:
    """The word under a key, if it is a known one; it raises what `count` does."""
    for word in known:
        if fields[key] == word:
            return word
    raise ValueError(f"{key}={fields[key]} is not known")


def basis_of(fields: Fields, key: str = "basis") -> Basis:
    """What the latencies of a line span; it raises what `one_of` does."""
    return one_of(_BASES, fields, key)


def _burst(fields: Fields, key: str) -> int:
    if not (messages := count(fields, key)):
        raise ValueError("bursts of no messages")
    return messages


_CONDITIONS: Mapping[str, tuple[str, Callable[[Fields, str], Any]]] = {
    **{key: (key, dict.__getitem__) for key in ("transport", "reach", "data_path", "reliability", "load_mode", "waiting", "tuning", "warmup")},
    **{key: (key, count) for key in ("publishers", "subscribers", "instances", "batch_bytes", "recovery_time_ns")},
    "touch": ("payload_touched", dict.__getitem__),
    "demand": ("demand", _burst),
    "basis": ("basis", basis_of),
    "rate_per_s": ("offered_rate_per_s", decimal),
    "duration_s": ("planned_duration_s", decimal),
}


def stated(fields: Fields, keys: str) -> dict[str, Any]:
    """The conditions under these keys, which are separated by blanks, as far as the line has them; it raises what `one_of` does."""
    known = [(key, *_CONDITIONS[key]) for key in keys.split() if key in fields]
    return {condition: read(fields, key) for key, condition, read in known}
