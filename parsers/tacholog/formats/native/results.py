"""The lines of the native log, each with its kind and its pairs of key and value; and the results on these lines.

Each kind of line with a result is declared once, with the key of each number and the other content of the record.

Source: docs/native-log.md of this project.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, get_args

from tacholog.formats.kit import COUNT_LIMIT, Basis, Bound, Conditions, Field, LineRule, Number, Order, Record, Scope, Side, Test

Word = TypeVar("Word", bound=str)

# "[!#-~]*+" does not change what matches. It makes matching several times as fast, because a class of ASCII characters is faster than one with "\s".
_PAIR = re.compile(r' ([a-z][a-z0-9_.]*)=("(?:[^"\\]|\\.)*"|[^\s"][!#-~]*+[^\s"]*+)')
_ESCAPE = re.compile(r"\\.")
# Other escapes are not decoded: \xHH stands for a byte that must not appear in any output, such as a control character.
_ESCAPED = {r"\n": "\n", r"\t": "\t", r"\"": '"', r"\\": "\\"}
_DECIMAL = re.compile(r"[0-9]{1,19}(\.[0-9]+)?")
_BASES: tuple[Basis, ...] = get_args(Basis)


class Fields(dict[str, str]):
    """The pairs of key and value on a line, and the offset of each value that is not quoted."""

    def __init__(self) -> None:
        super().__init__()
        self.starts: dict[str, int] = {}


def pairs_of(text: str, position: int) -> Fields | None:
    """Return the pairs of key and value after this offset; ``None`` if there is other text between or after the pairs."""
    fields, pairs = Fields(), _PAIR.findall(text, position)
    for key, value in pairs:
        start = position + len(key) + 2
        position = start + len(value)
        if value[0] == '"':
            fields[key] = _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[0], escape[0]), value[1:-1])
        else:
            fields[key], fields.starts[key] = value, start
    return fields if position == len(text) and len(fields) == len(pairs) else None


def count(fields: Fields, key: str) -> int:
    """Return the count under a key.

    Raises:
        KeyError: there is no such key.
        ValueError: the value is no count.
    """
    text = fields[key]
    if not (text.isascii() and text.isdigit()) or int(text) >= COUNT_LIMIT:
        raise ValueError(f"{key}={text} is no count")
    return int(text)


def decimal(fields: Fields, key: str) -> float:
    """Return the number under a key. Raises the same errors as `count`."""
    text = fields[key]
    if _DECIMAL.fullmatch(text) is None:
        raise ValueError(f"{key}={text} is no number")
    if (value := float(text)) >= COUNT_LIMIT:
        raise ValueError(f"{key}={text} is too large")
    return value


def number(metric: str, statistic: str, key: str, fields: Fields, bound: Bound = "=") -> tuple[Number, ...]:
    """Return the number under a key; empty if there is none."""
    if key not in fields:
        return ()
    start = fields.starts.get(key)
    end = None if start is None else start + len(fields[key])
    return (Number(metric=metric, statistic=statistic, value=decimal(fields, key), bound=bound, value_start=start, value_end=end),)


def payload_bytes(fields: Fields) -> int:
    """Return the size of a result. Raises the same errors as `count`, and ValueError for 0."""
    size = count(fields, "payload_bytes")
    if size == 0:
        raise ValueError("a payload of 0 bytes")
    return size


def one_of(words: tuple[Word, ...], fields: Fields, key: str) -> Word:
    """Return the word under a key, which must be one of these words. Raises the same errors as `count`."""
    for word in words:
        if fields[key] == word:
            return word
    raise ValueError(f"{key}={fields[key]} is not known")


def basis_of(fields: Fields, key: str = "basis") -> Basis:
    """Return the basis of the latencies of a line. Raises the same errors as `one_of`."""
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


def conditions_under(fields: Fields, keys: str) -> dict[str, Any]:
    """Return the conditions that a line states under some keys. Keys that are not on the line are skipped.

    ``keys`` lists the keys, separated by blanks. The errors are the same as those of `one_of`.
    """
    entries = [(key, *_CONDITIONS[key]) for key in keys.split() if key in fields]
    return {condition: read(fields, key) for key, condition, read in entries}


Under = tuple[str, str, str]
Computed = Callable[[Fields], Iterable[Number]]


class ResultKind(NamedTuple):
    """A kind of line that is a record.

    Attributes:
        test: the kind of test.
        definition: the meaning of its numbers.
        numbers: metric, statistic and key of each number, or a function for numbers that are computed from several keys.
        samples: the possible keys of the number of samples.
        side: the side that measured.
        rate: the key of the requested rate.
        scope: the scope of the record.
        participant: the participant, if the line does not state it.
        behind: keys that a complete line has, so that a cut line is recognised. Each key is the second element of a pair. The first element states
            which lines have the key: "always": all lines; "counted": lines whose count is not 0; any other word: lines that have this word as a key.
        optional: keys of size and samples that may be missing.
    """

    test: Test | Callable[[Fields], Test]
    definition: str | Callable[[Fields], str]
    numbers: Sequence[Under | Computed]
    samples: Sequence[str] = ()
    side: Side | Callable[[Fields], Side] | None = None
    rate: str | None = None
    scope: Scope = "summary"
    participant: str | None = None
    behind: Sequence[tuple[str, str]] = ()
    optional: frozenset[str] = frozenset()

    def record(self, fields: Fields) -> Record:
        """Return the record of a line.

        Raises:
            KeyError: a key is missing.
            ValueError: the value under a key is impossible.
        """
        numbers = tuple(
            itertools.chain.from_iterable(numbers_of(fields) if callable(numbers_of) else number(*numbers_of, fields) for numbers_of in self.numbers)
        )
        samples = next((key for key in self.samples if key in fields), self.samples[0] if self.samples else None)
        return Record(
            test=self.test(fields) if callable(self.test) else self.test,
            payload_bytes=payload_bytes(fields) if self._has(fields, "payload_bytes") else None,
            numbers=numbers,
            samples=count(fields, samples) if samples and self._has(fields, samples) else None,
            scope=self.scope,
            side=self.side(fields) if callable(self.side) else self.side,
            participant=self.participant or fields.get("participant"),
            conditions=self._conditions(fields),
        )

    def lacks(self, fields: Fields) -> bool:
        """Whether a line lacks a key that must be at its end, because the line was cut."""
        counted = fields.get("samples", fields.get("messages", "0")) != "0"
        behind = (*self.behind, ("demand", "recovery_time_ns"))
        return any((has in fields or (has == "counted" and counted) or has == "always") and needs not in fields for has, needs in behind)

    def _has(self, fields: Fields, key: str) -> bool:
        return key not in self.optional or key in fields

    def _conditions(self, fields: Fields) -> Conditions:
        values: dict[str, Any] = conditions_under(fields, "transport basis demand recovery_time_ns publishers subscribers")
        values["definition"] = self.definition(fields) if callable(self.definition) else self.definition
        if values["definition"].startswith("perftest-rtt"):
            values.setdefault("basis", "rtt")  # Interval lines of a round-trip test do not state the basis.
        if self.rate:
            values["offered_rate_per_s"] = decimal(fields, self.rate)
        if "exceed_ratio" in fields:
            values["goal"] = _goal(fields)
        if "batch_messages" in fields and count(fields, "batch_messages") == 1:
            values["batch_bytes"] = 0  # Each message of this size was sent alone, even if batches were requested.
        return Conditions(**values)


_TESTS: tuple[Test, ...] = get_args(Test)
_STATISTICS = ("mean", "std", "min", "p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "p99.9999", "max")
_UNITS_OF_TIME = ((10**9, "s"), (10**6, "ms"), (10**3, "us"), (1, "ns"))
_DEFINITION = re.compile(r"[a-z0-9]++(?:[-.][a-z0-9]++)*")
_LATENCY_OF_TOOL = re.compile(r"(max|p[1-9][0-9](?:\.[0-9]{0,5}[1-9])?)_ns")

# The keys that a result has before its first number. They state its conditions, and how it was measured.
_OF = {"payload_bytes", "demand", "recovery_time_ns", "basis", "from", "probe_every", "test", "role", "participant", "publishers", "subscribers"}
_OF |= {"goal_statistic", "goal_latency_ns", "goal_loss_ratio", "exceed_ratio", "outcome", "definition", "transport"}
_FIRST_NUMBERS = {"samples", "messages", "planned", "sent", "received", "index", "duration_ns", "target_rate_per_s", "trials"}


def unknown_kind_of_result(fields: Fields) -> str | None:
    """Return the first unknown key before the numbers of a result; ``None`` if all these keys are known.

    An unknown key among the numbers adds a number and may be skipped. An unknown key before the numbers changes the meaning of the result: for
    example, it may be a result of probes.
    """
    before = itertools.takewhile(lambda key: key not in _FIRST_NUMBERS, fields)
    return next((key for key in before if key not in _OF), None)


def _of_latency(fields: Fields) -> str:
    if "probe_every" in fields:
        return "perftest-rtt-probe"
    if "from" not in fields:
        return "perftest-rtt"
    one_of(("schedule",), fields, "from")
    return "perftest-one-way" if fields.get("basis") == "one-way" else "perftest-rtt-open"


def _of_round_trips(definition: str) -> Callable[[Fields], str]:
    return lambda fields: definition if one_of(("rtt",), fields, "basis") else ""


def _of_throughput(fields: Fields) -> str:
    return "perftest-demand" if "demand" in fields else "perftest-throughput"


def _test_of_interval(fields: Fields) -> Test:
    return "demand" if "demand" in fields else "latency" if "messages" in fields else "throughput"


def _stated_test(fields: Fields) -> Test:
    return one_of(_TESTS, fields, "test")


def _goal(fields: Fields) -> str:
    """Return the goal of a search as a text. Different goals have different texts."""
    loss, exceed, by = decimal(fields, "goal_loss_ratio"), decimal(fields, "exceed_ratio"), fields.get("definition")
    words = [f"loss at most {loss}" if loss else "no loss", f"exceed ratio {exceed}"]
    if "goal_statistic" in fields:
        latency_ns = count(fields, "goal_latency_ns")
        factor, unit = next((factor, unit) for factor, unit in _UNITS_OF_TIME if latency_ns % factor == 0)
        words.insert(0, f"{one_of(_STATISTICS, fields, 'goal_statistic')} at most {latency_ns // factor} {unit}")
    if by is not None and _DEFINITION.fullmatch(by) is None:
        raise ValueError(f"definition={by} is no definition")
    return ", ".join([*words, f"by {by}"] if by else words)


def _loss(fields: Fields) -> Iterator[Number]:
    received, lost = count(fields, "received"), count(fields, "lost")
    if received + lost:
        yield Number(metric="loss", statistic="total", value=lost / (received + lost))


def _instances(fields: Fields, statistic: str = "total") -> tuple[Number, ...]:
    if "instances_heard" in fields and count(fields, "instances_heard") > count(fields, "instances"):
        raise ValueError(f"messages of {fields['instances_heard']} of {fields['instances']} instances were received")
    return number("instances_heard", statistic, "instances_heard", fields)


def _peak_memory(fields: Fields) -> tuple[Number, ...]:
    """Return the peak memory. It comes from getrusage, unless the line states another source.

    A peak from getrusage is an upper bound, because it can be the memory of the program that started perftest.
    """
    return number("peak_memory", "max", "peak_memory_bytes", fields, "=" if "peak_memory_from" in fields else "<")


def _cost(fields: Fields) -> Iterator[Number]:
    """Yield the processor time of the sides and the broker for each message that arrived. It belongs to the throughput result."""
    messages, used_ns = count(fields, "messages"), count(fields, "sides_ns") + (count(fields, "companion_ns") if "companion_ns" in fields else 0)
    if messages == 0:
        raise ValueError("the number of messages is 0")
    yield Number(metric="cpu_per_message", statistic="mean", value=used_ns / messages)


def _passed(fields: Fields) -> Iterator[Number]:
    yield Number(metric="trials_passed", statistic="total", value=1.0 if one_of(("yes", "no"), fields, "passed") == "yes" else 0.0)


def _sustained(fields: Fields) -> Iterator[Number]:
    """Yield the rates that a search found. If the search ends at a limit of its range, this limit is a bound of the rate."""
    bounds: Mapping[str, Bound] = {"found": "=", "above_range": ">", "below_range": "<"}
    outcome = one_of(tuple(bounds), fields, "outcome")
    rates = {"lower-bound": "upper_rate_per_s" if outcome == "below_range" else "rate_per_s"}
    if outcome == "found":
        rates["upper-bound"] = "upper_rate_per_s"
    for statistic, key in rates.items():
        decimal(fields, key)  # Raises KeyError if the key is missing.
        yield from number("sustained_rate", statistic, key, fields, bounds[outcome])


def _latencies_of_tool(fields: Fields) -> Iterator[Number]:
    for name in fields:
        if key := _LATENCY_OF_TOOL.fullmatch(name):
            yield from number("latency", key[1], name, fields)


def _times(metric: str, before: str = "") -> tuple[Under, ...]:
    return tuple((metric, name, f"{before}{name}_ns") for name in _STATISTICS)


_COUNTS = tuple((f"messages_{name}", "total", name) for name in ("sent", "received", "lost", "duplicated", "reordered", "corrupted", "dropped"))
_SENT, _LOST = _COUNTS[0], _COUNTS[2]
_OF_MESSAGES: tuple[Under | Computed, ...] = (*_COUNTS, _loss)
_DURATION, _LOSS_RATIO = ("duration", "total", "duration_ns"), ("loss", "total", "loss_ratio")
_SEND_DURATION, _RECEIVE_DURATION = ("send_duration", "total", "send_duration_ns"), ("duration", "total", "receive_duration_ns")
_OFFERED_RATE, _RATE = ("offered_rate", "mean", "offered_rate_per_s"), ("message_rate", "mean", "rate_per_s")
_OFFERED_GOODPUT, _GOODPUT = ("offered_goodput", "mean", "offered_goodput_bit_per_s"), ("goodput", "mean", "goodput_bit_per_s")
_OF_INTERVALS: tuple[Under, ...] = (
    *(("latency", name, f"{name}_ns") for name in ("p50", "p99", "max")),
    ("messages_received", "total", "messages"),
    ("messages_received", "total", "received"),
    _LOST,
    _DURATION,
)
_RECEIVED = ResultKind("throughput", _of_throughput, (), samples=("received",), side="subscriber")
_SEARCH = ResultKind("sustain", _of_round_trips("perftest-sustain"), (_sustained, _DURATION), side="publisher", behind=(("always", "duration_ns"),))

RESULTS: Mapping[str, ResultKind] = {
    "interval": ResultKind(
        _test_of_interval,
        lambda fields: _of_latency(fields) if _test_of_interval(fields) == "latency" else _of_throughput(fields),
        _OF_INTERVALS,
        samples=("messages", "received"),
        scope="interval",
        behind=(("counted", "max_ns"), ("received", "lost")),
    ),
    "latency": ResultKind(
        "latency",
        _of_latency,
        (*_times("latency"), *_COUNTS, ("messages_late", "total", "late"), _instances, ("histogram_overflow", "total", "overflow"), _DURATION),
        samples=("samples",),
        side=lambda fields: "subscriber" if fields["basis"] == "one-way" else "publisher",
        behind=(("always", "basis"), ("always", "duration_ns"), ("counted", "max_ns")),
    ),
    "sending": ResultKind(
        "latency",
        "perftest-sending",
        (*_times("latency", "from_send_"), *_times("send_lateness", "lateness_"), _SENT, _OFFERED_RATE),
        samples=("sent",),
        side="publisher",
        rate="target_rate_per_s",
        behind=(("always", "basis"), ("lateness_mean_ns", "lateness_max_ns"), ("from_send_mean_ns", "from_send_max_ns")),
    ),
    "throughput": _RECEIVED._replace(
        numbers=(*_OF_MESSAGES, _instances, _RATE, _GOODPUT, _OFFERED_RATE, _DURATION),
        behind=(("always", "duration_ns"), ("rate_per_s", "goodput_bit_per_s")),
    ),
    "demand": _RECEIVED._replace(
        test="demand",
        numbers=(*_OF_MESSAGES, _instances, _SEND_DURATION, _RECEIVE_DURATION, _OFFERED_RATE, _OFFERED_GOODPUT, _RATE, _GOODPUT),
        side=lambda fields: "both" if "send_duration_ns" in fields else "subscriber",
        behind=(
            *(("always", "demand"), ("always", "receive_duration_ns"), ("sent", "send_duration_ns")),
            *(("offered_rate_per_s", "offered_goodput_bit_per_s"), ("rate_per_s", "goodput_bit_per_s")),
        ),
    ),
    "aggregate": _RECEIVED._replace(
        test=_stated_test,
        definition="perftest-aggregate",
        numbers=(
            *_OF_MESSAGES,
            lambda fields: _instances(fields, "min"),
            *(("message_rate", "min", "rate_min_per_s"), ("goodput", "min", "goodput_min_bit_per_s")),
            *(("message_rate", "sum", "rate_sum_per_s"), ("goodput", "sum", "goodput_sum_bit_per_s")),
            _OFFERED_RATE,
        ),
        participant="all",
        behind=(
            *(("always", "subscribers"), ("always", "duplicated")),
            *(("rate_min_per_s", "goodput_min_bit_per_s"), ("rate_sum_per_s", "goodput_sum_bit_per_s")),
        ),
    ),
    "resources": ResultKind(
        _stated_test,
        "perftest-resources",
        (
            *(("cpu_time", name, f"{name}_ns") for name in ("user", "system")),
            *(("context_switches", name, f"{name}_switches") for name in ("voluntary", "involuntary")),
            *(_peak_memory, _DURATION),
        ),
        side=lambda fields: "publisher" if one_of(("pub", "sub"), fields, "role") == "pub" else "subscriber",
        scope="resources",
        behind=(("always", "peak_memory_bytes"),),
    ),
    "cost": ResultKind(
        _stated_test,
        _of_throughput,
        (_cost,),
        samples=("messages",),
        side=lambda fields: "both" if "demand" in fields else "subscriber",
        behind=(("always", "sides_ns"),),
    ),
    "trial": ResultKind(
        "sustain",
        _of_round_trips("perftest-rtt-open"),
        (*_times("latency"), _SENT, _LOST, _LOSS_RATIO, _OFFERED_RATE, ("send_lateness", "p99", "lateness_p99_ns"), _DURATION, _passed),
        samples=("samples",),
        side="publisher",
        rate="rate_per_s",
        scope="interval",
        behind=(("always", "sent"), ("always", "passed")),
    ),
    "sustain": _SEARCH,
}
# The search uses the latency and the loss as the tool defines them, so the tool's definition is part of the goal.
RESULTS_OF_TOOLS: Mapping[str, ResultKind] = {
    "trial": RESULTS["trial"]._replace(
        definition="trial-of-tool",
        numbers=(_latencies_of_tool, _LOSS_RATIO, ("offered_rate", "mean", "sent_rate_per_s"), _passed),
        behind=(("always", "loss_ratio"), ("always", "passed")),
        optional=frozenset({"payload_bytes", "samples"}),
    ),
    "sustain": _SEARCH._replace(definition="sustain-of-tool", optional=frozenset({"payload_bytes"})),
}


def _intervals(test: Test, *keys: str) -> LineRule:
    """Return the rule for the interval lines of a test. Most lines of a long run are interval lines, so they are read in bulk."""
    names = ("payload_bytes", "index", "duration_ns", *keys)
    return LineRule(
        "interval" + "".join(f" {key}=(?P<{key}>[0-9]{{1,15}}+)" for key in names),
        fields=[Field(*under, is_exact=True) for under in _OF_INTERVALS],
        record=Record(test=test, payload_bytes=None, numbers=(), scope="interval"),
        # A bulk of lines ends at another message size, because that size may have different conditions.
        order=(Order("another size has begun", lambda now, before: now["payload_bytes"] == before["payload_bytes"]),),
        size="payload_bytes",
        samples=keys[0],
    )


BULK = (*_intervals("throughput", "received", "lost").bulk, *_intervals("latency", "messages", "p50_ns", "p99_ns", "max_ns").bulk)
