"""The lines of the native log: a kind, pairs of key and value, and the results in them.

Each kind of line that holds a result is declared once: which number stands under which key, and what else its record says.

Source: docs/native-log.md of this project.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, get_args

from tacholog.formats.kit import COUNT_LIMIT, Basis, Bound, Conditions, Field, LineRule, Number, Order, Record, Scope, Side, Test

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


def pairs_of(text: str, position: int) -> Fields | None:
    """The pairs of a line from this place on, or ``None`` if anything is left over between or behind them."""
    fields = Fields()
    while (pair := _PAIR.match(text, position)) and pair[1] not in fields:
        if pair[2] is None:
            fields[pair[1]], fields.starts[pair[1]] = pair[3], pair.start(3)
        else:
            fields[pair[1]] = _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[0], escape[0]), pair[2])
        position = pair.end()
    return fields if position == len(text) else None


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


def one_of(words: tuple[Word, ...], fields: Fields, key: str) -> Word:
    """The word under a key, if it is a known one; it raises what `count` does."""
    for word in words:
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


def conditions_under(fields: Fields, keys: str) -> dict[str, Any]:
    """The conditions under these keys, which are separated by blanks, as far as the line has them; it raises what `one_of` does."""
    entries = [(key, *_CONDITIONS[key]) for key in keys.split() if key in fields]
    return {condition: read(fields, key) for key, condition, read in entries}


Under = tuple[str, str, str]
Computed = Callable[[Fields], Iterator[Number]]


class ResultKind(NamedTuple):
    """A kind of line that is a record.

    Attributes:
        test: what kind of test it is of.
        definition: what its numbers mean.
        numbers: metric, statistic and key of each number, or a function for those that take more than one key.
        samples: the keys that may hold their number.
        side: who measured.
        rate: the key of the rate that was asked for.
        scope: of the record.
        participant: whose line it is, where the line does not say it.
        behind: what is there when (always; if anything was counted; with a key), and what must follow: else the line was cut behind a whole pair.
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
            ValueError: what stands under a key cannot be.
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
        """Whether a line lacks a key that always comes behind one it has."""
        counted = fields.get("samples", fields.get("messages", "0")) != "0"
        behind = (*self.behind, ("demand", "recovery_time_ns"))
        return any((has in fields or (has == "counted" and counted) or has == "always") and needs not in fields for has, needs in behind)

    def _has(self, fields: Fields, key: str) -> bool:
        return key not in self.optional or key in fields

    def _conditions(self, fields: Fields) -> Conditions:
        values: dict[str, Any] = conditions_under(fields, "transport basis demand recovery_time_ns publishers subscribers")
        values["definition"] = self.definition(fields) if callable(self.definition) else self.definition
        if values["definition"].startswith("perftest-rtt"):
            values.setdefault("basis", "rtt")  # Interval lines of round trips do not name it.
        if self.rate:
            values["offered_rate_per_s"] = decimal(fields, self.rate)
        if "exceed_ratio" in fields:
            values["goal"] = _goal(fields)
        if "batch_messages" in fields and count(fields, "batch_messages") == 1:
            values["batch_bytes"] = 0  # Each message of this size went alone, whatever the run was told.
        return Conditions(**values)


_TESTS: tuple[Test, ...] = get_args(Test)
_STATISTICS = ("mean", "std", "min", "p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "p99.9999", "max")
_UNITS_OF_TIME = ((10**9, "s"), (10**6, "ms"), (10**3, "us"), (1, "ns"))
_DEFINITION = re.compile(r"[a-z0-9]++(?:[-.][a-z0-9]++)*")
_LATENCY_OF_TOOL = re.compile(r"(max|p[1-9][0-9](?:\.[0-9]{0,5}[1-9])?)_ns")

# What stands before the first number of a result says what it is of, and how it was measured.
_OF = {"payload_bytes", "demand", "recovery_time_ns", "basis", "from", "probe_every", "test", "role", "participant", "publishers", "subscribers"}
_OF |= {"goal_statistic", "goal_latency_ns", "goal_loss_ratio", "exceed_ratio", "outcome", "definition", "transport"}
_FIRST_NUMBERS = {"samples", "messages", "planned", "sent", "received", "index", "duration_ns", "target_rate_per_s", "trials"}


def unknown_kind_of_result(fields: Fields) -> str | None:
    """The first key before a result's numbers that this reader does not know.

    A key among the numbers adds one and may be skipped. One before them makes the result another than it would be without: of probes, of a schedule.
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
    """The goal of a search in words: what is not the same in two goals is not the same in their words."""
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


def _instances(fields: Fields, statistic: str = "total") -> Iterator[Number]:
    """Of keyed data, of how many instances something came."""
    if "instances_heard" in fields and count(fields, "instances_heard") > count(fields, "instances"):
        raise ValueError(f"{fields['instances_heard']} of {fields['instances']} instances were heard")
    return number("instances_heard", statistic, "instances_heard", fields)


def _least_instances(fields: Fields) -> Iterator[Number]:
    return _instances(fields, "min")


def _peak_memory(fields: Fields) -> Iterator[Number]:
    """Without a word on where it was read it is getrusage's, which is at least what the program had that started this one: Python, of a campaign."""
    return number("peak_memory", "max", "peak_memory_bytes", fields, "=" if "peak_memory_from" in fields else "<")


def _cost(fields: Fields) -> Iterator[Number]:
    """The processor time of the sides and of the broker for each message that arrived. It belongs to the row of the throughput."""
    messages, used_ns = count(fields, "messages"), count(fields, "sides_ns") + (count(fields, "companion_ns") if "companion_ns" in fields else 0)
    if messages == 0:
        raise ValueError("the cost of no messages")
    yield Number(metric="cpu_per_message", statistic="mean", value=used_ns / messages)


def _passed(fields: Fields) -> Iterator[Number]:
    """Whether a trial kept the goal, as a count: 1 or 0."""
    yield Number(metric="trials_passed", statistic="total", value=1.0 if one_of(("yes", "no"), fields, "passed") == "yes" else 0.0)


def _sustained(fields: Fields) -> Iterator[Number]:
    """The rates that a search has found. One that ends at a limit of its range knows on which side of it the rate lies."""
    bounds: Mapping[str, Bound] = {"found": "=", "above_range": ">", "below_range": "<"}
    outcome = one_of(tuple(bounds), fields, "outcome")
    rates = {"lower-bound": "upper_rate_per_s" if outcome == "below_range" else "rate_per_s"}
    if outcome == "found":
        rates["upper-bound"] = "upper_rate_per_s"
    for statistic, key in rates.items():
        decimal(fields, key)  # It has to be there.
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
            _least_instances,
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
# Latency and loss are what the tool itself prints, so that its definition is part of the goal.
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
    """Interval lines of one size, of which a long run prints most. Behind its warm-up another size may have other conditions."""
    names = ("payload_bytes", "index", "duration_ns", *keys)
    return LineRule(
        "interval" + "".join(f" {key}=(?P<{key}>[0-9]{{1,15}}+)" for key in names),
        fields=[Field(*under, is_exact=True) for under in _OF_INTERVALS],
        record=Record(test=test, payload_bytes=None, numbers=(), scope="interval"),
        order=(Order("another size has begun", lambda now, before: now["payload_bytes"] == before["payload_bytes"]),),
        size="payload_bytes",
        samples=keys[0],
    )


BULK = (*_intervals("throughput", "received", "lost").bulk, *_intervals("latency", "messages", "p50_ns", "p99_ns", "max_ns").bulk)
