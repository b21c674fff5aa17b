"""The lines of the native log: a kind, pairs, and the values in them. Lines that are cut or garbled are recognised.

Source: docs/native-log.md of this project.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from tacholog.formats.kit import COUNT_LIMIT, Number

Fields = Mapping[str, str]
Word = TypeVar("Word", bound=str)

LATENCY_STATISTICS = ("mean", "std", "min", "p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "p99.9999", "max")

_PAIR = re.compile(r' ([a-z][a-z0-9_.]*)=(?:"((?:[^"\\]|\\.)*)"|([^\s"]+))')
_ESCAPE = re.compile(r"\\.")
# All others stay as they are: \xHH is a byte that may not be shown, such as that of a control character, and must get no farther than the log.
_ESCAPED = {r"\n": "\n", r"\t": "\t", r"\"": '"', r"\\": "\\"}
# By kind of line: what is there when (always; if anything was counted; with a key), and what must follow.
_BEHIND: Mapping[str, Sequence[tuple[str, str]]] = {
    "latency": (("always", "duration_ns"), ("counted", "max_ns")),
    "sending": (("always", "target_rate_per_s"), ("lateness_mean_ns", "lateness_max_ns"), ("from_send_mean_ns", "from_send_max_ns")),
    "throughput": (("always", "duration_ns"), ("rate_per_s", "goodput_bit_per_s")),
    "demand": (
        *(("always", "receive_duration_ns"), ("sent", "send_duration_ns")),
        *(("offered_rate_per_s", "offered_goodput_bit_per_s"), ("rate_per_s", "goodput_bit_per_s")),
    ),
    "aggregate": (("always", "duplicated"), ("rate_min_per_s", "goodput_min_bit_per_s"), ("rate_sum_per_s", "goodput_sum_bit_per_s")),
    "interval": (("counted", "max_ns"), ("received", "lost")),
    "resources": (("always", "peak_memory_bytes"),),
    "cost": (("always", "sides_ns"),),
    "trial": (("always", "passed"),),
    "sustain": (("always", "duration_ns"),),
}
# What stands before the first number of a result says what it is of, and how it was measured.
_OF = {"payload_bytes", "demand", "recovery_time_ns", "basis", "from", "probe_every", "test", "role", "participant", "publishers", "subscribers"}
_OF |= {"goal_statistic", "goal_latency_ns", "goal_loss_ratio", "exceed_ratio", "outcome", "definition", "transport"}
_FIRST_NUMBERS = {"samples", "messages", "planned", "sent", "received", "index", "duration_ns", "target_rate_per_s", "trials"}


class Pairs(dict[str, str]):
    """The pairs of a line, and where on it each value begins that is not quoted."""

    def __init__(self) -> None:
        """Begin without any."""
        super().__init__()
        self.starts: dict[str, int] = {}


def pairs_of(text: str, at: int) -> Pairs | None:
    """The pairs of a line from this place on, or ``None`` if anything is left over between or behind them."""
    fields = Pairs()
    while (pair := _PAIR.match(text, at)) and pair[1] not in fields:
        if pair[2] is None:
            fields[pair[1]], fields.starts[pair[1]] = pair[3], pair.start(3)
        else:
            fields[pair[1]] = _ESCAPE.sub(lambda found: _ESCAPED.get(found[0], found[0]), pair[2])
        at = pair.end()
    return fields if at == len(text) else None


def lacks(kind: str, fields: Fields) -> bool:
    """Whether a result lacks a key that always comes behind one it has: the line was cut off behind a whole pair."""
    counted = fields.get("samples", fields.get("messages", "0")) != "0"
    return any((has in fields or (has == "counted" and counted) or has == "always") and needs not in fields for has, needs in _BEHIND.get(kind, ()))


def unknown_kind_of_result(kind: str, fields: Fields) -> str | None:
    """The first key before a result's numbers that this reader does not know.

    A key among the numbers adds one and may be skipped. One before them makes the result another than it would be without: of probes, of a schedule.
    """
    before = itertools.takewhile(lambda key: key not in _FIRST_NUMBERS, fields)
    return next((key for key in before if key not in _OF), None) if kind in _BEHIND else None


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


def number(metric: str, statistic: str, fields: Fields, key: str) -> Iterator[Number]:
    """Yield the number under a key, if there is one."""
    if key in fields:
        start = fields.starts.get(key) if isinstance(fields, Pairs) else None
        end = None if start is None else start + len(fields[key])
        yield Number(metric=metric, statistic=statistic, value=decimal(fields, key), value_start=start, value_end=end)


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
