"""PerfTestMulti of RabbitMQ PerfTest: the JSON from which its HTML pages draw their charts, with a sample for each second of each scenario.

As in ``html/examples/various-result.js``::

    "no-ack":{
      "samples":[{
        "elapsed":1000,
        "min-latency":372, "avg-latency":60881, "max-latency":183302,
        "recv-bytes-rate":0.0, "send-bytes-rate":0.0, "recv-msg-rate":20796.0, "send-msg-rate":24175.0
      },{

Latencies are whole microseconds, cut off. Latencies of zero and below are dropped. The rate of bytes is the rate of messages times the size. So the
size can be computed, unless both rates are 0. A scenario with a varied value has an object ``data`` with the results for each value.

A summary is computed without the first three samples, which the tool leaves out of its totals, too. The totals that the file states for each scenario
are not read: newer versions divide by nanoseconds instead of milliseconds, so their rates are a millionth of the true rates.

Conditions are the size, and the setting ``scenario``: the name of the scenario and its varied value. The file does not describe the scenario, so the
manifest or ``--set`` must state producers, consumers, confirms and the kind of queue.
Source: SimpleScenarioStats.java of rabbitmq/rabbitmq-perf-test, and its html/; samples in tests/formats/rabbitmq_multi/.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec.structs import replace

from tacholog.formats.kit import (
    COUNT_LIMIT,
    MICROSECOND,
    Broken,
    Conditions,
    Detected,
    Dialect,
    Finding,
    JsonObject,
    JsonResult,
    Line,
    Number,
    Record,
    States,
    Tally,
    json_findings,
    settings_text,
)

SYSTEM = "RabbitMQ"
TOOL = "RabbitMQ PerfTestMulti"
LINE_BYTES = 1 << 22
DIALECTS = (Dialect("json", "1.x and 2.x", "published files"),)
DEFINITIONS = {
    "rabbitmq-published": "Messages that the producers handed to their channels, in each second or over the whole test.",
    "rabbitmq-received": "Messages that the consumers received, in each second or over the whole test.",
    "rabbitmq-multi-latency": "From the time that the producer wrote into the message until the consumer handled the message, cut off to "
    "microseconds. Latencies of zero and below are dropped.",
}
STATES = {
    "latency": States(always="basis definition settings", sometimes="payload_bytes"),
    "throughput": States(always="definition settings", sometimes="payload_bytes"),
}
_PLACE = re.compile(r"(?P<scenario>[^\[\]]{1,300})/samples/\[\]")
_RATES = (("send", "offered_rate", "rabbitmq-published"), ("recv", "message_rate", "rabbitmq-received"))
_LEFT_OUT = 3  # samples at the start, which the tool leaves out of its own totals
_ROUNDING = 1e-9


def detect(head: str) -> Detected:
    """Return whether this is JSON of PerfTestMulti."""
    fits = '"send-msg-rate"' in head and '"recv-msg-rate"' in head and '"elapsed"' in head
    return Detected(fits, wants='JSON with "samples", "elapsed" and "send-msg-rate"')


def parse(lines: Iterable[Line]) -> Iterator[Finding]:
    """Yield interval records for each sample, and summaries for each scenario."""
    scenarios = _Scenarios()
    for finding in json_findings(lines, results=scenarios):
        yield finding
        yield from scenarios.ended()
    scenarios.end()
    yield from scenarios.ended()


class _Scenarios(Mapping[str, Callable[[JsonObject], Iterable[JsonResult]]]):
    """Maps the path of a sample to the function that reads the sample. The name of a scenario in the path may be any text."""

    def __init__(self) -> None:
        self._path = ""
        self._count = 0
        self._elapsed = 0
        self._tallies: dict[str | None, Tally] = {}
        self._summaries: list[Finding] = []

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and _PLACE.fullmatch(path) is not None

    def __getitem__(self, path: str) -> Callable[[JsonObject], Iterable[JsonResult]]:
        return self._sample

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def ended(self) -> list[Finding]:
        summaries, self._summaries = self._summaries, []
        return summaries

    def end(self) -> None:
        self._summaries += [summary for tally in self._tallies.values() if tally.numbers() and (summary := tally.found())]
        self._path, self._count, self._elapsed, self._tallies = "", 0, 0, {}

    def _sample(self, item: JsonObject) -> Iterator[JsonResult]:
        elapsed = item.whole("elapsed")
        if item.path != self._path or elapsed is None or elapsed <= self._elapsed:
            self.end()
            self._path = item.path
        numbers = {name: item.number(f"{name}-msg-rate", metric, "mean") for name, metric, _ in _RATES}
        if elapsed is None or elapsed <= 0 or None in numbers.values():
            yield Broken("elapsed, send-msg-rate or recv-msg-rate of the sample is missing")
            return
        records = list(_records(item, numbers))
        if any(isinstance(record, Broken) for record in records):
            yield Broken("latencies that do not ascend")
            return
        lasted, self._elapsed, self._count = (elapsed - self._elapsed) / 1000, elapsed, self._count + 1
        for record in records:
            yield record
            if self._count > _LEFT_OUT and isinstance(record, Record):
                received = round((item.real("recv-msg-rate") or 0) * lasted)
                weighted = replace(record, samples=received) if record.test == "latency" else record
                tally = self._tallies.setdefault(record.conditions.definition, Tally(item.lines[0], weighted))
                tally.add(item.lines[-1], weighted, stamp=float(elapsed), whole=True, lasted=lasted)


def _records(item: JsonObject, rates: Mapping[str, Number | None]) -> Iterator[Record | Broken]:
    size = _size(item)
    match = _PLACE.fullmatch(item.path)
    parts = [part for part in (match["scenario"] if match else "").split("/") if part != "data" and not (size and part in (f"{size}", f"{size}.0"))]
    like = Record(
        test="throughput",
        payload_bytes=size,
        numbers=(),
        scope="interval",
        conditions=Conditions(settings=settings_text({"scenario": "/".join(parts)})),
    )
    for name, _, definition in _RATES:
        if rate := rates[name]:
            side = "publisher" if name == "send" else "subscriber"
            yield replace(like, numbers=(rate,), side=side, conditions=replace(like.conditions, definition=definition))
    names = (("min-latency", "min"), ("avg-latency", "mean"), ("max-latency", "max"))
    latencies = [number for name, statistic in names if (number := item.number(name, "latency", statistic, MICROSECOND))]
    values = [number.value for number in latencies if number.value is not None]
    if values != sorted(values):
        yield Broken("latencies that do not ascend")
    elif latencies:
        conditions = replace(like.conditions, basis="one-way", definition="rabbitmq-multi-latency")
        numbers = tuple(replace(number, marks=(*number.marks, "drops_samples")) for number in latencies)
        yield replace(like, test="latency", numbers=numbers, side="subscriber", conditions=conditions)


def _size(item: JsonObject) -> int | None:
    rates = [(item.real(f"{name}-msg-rate"), item.real(f"{name}-bytes-rate")) for name in ("send", "recv")]
    ratios = [of_bytes / messages for messages, of_bytes in rates if messages and of_bytes]
    size = round(ratios[0]) if ratios and 0 < ratios[0] < COUNT_LIMIT else 0
    return size if size and all(abs(ratio / size - 1) < _ROUNDING for ratio in ratios) else None
