"""Perftest Lite, RTI's small C program of 2026: results as a table or as CSV, depending on the build.

Configuration, progress and single latencies are in the same stream as the results. Sizes include 28 bytes of the tool's header. Latencies are half of
a round trip, in whole microseconds. Builds that store no history of latencies print 0 for every percentile.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import msgspec

from tacholog.formats.kit import MICROSECOND, Broken, Cell, Cells, Check, Conditions, Facts, Field, Finding, Line, LineRule, Record, ascending
from tacholog.formats.rti import rules
from tacholog.formats.rti.rules import CUT, OUT_OF_PLACE, publisher, subscriber, too_large

_PERCENTILES = ("p50", "p90", "p99")


def _are_percentiles_measured(cells: Cells) -> bool:
    # A build of the tool that stores no history prints 0 for each percentile.
    return any(cells[name] for name in _PERCENTILES)


def _is_ordered(cells: Cells) -> bool:
    levels = [
        cells[name] for name in ("min", *_PERCENTILES, "max") if name not in _PERCENTILES or (name in cells and _are_percentiles_measured(cells))
    ]
    return bool(ascending(levels) and cells["min"] <= cells["mean"] <= cells["max"])


def _rate_follows(cells: Cells) -> bool:
    bits = 8.0 * cells["received"] * cells["size"]
    return "elapsed" not in cells or bool(abs(cells["mbit"] * cells["elapsed"] - bits) <= 1e-6 * cells["elapsed"] + 1e-9 * bits)


def _rates_agree(cells: Cells) -> bool:
    bits = 8 * cells["size"]
    return bool(abs(cells["mbit"] * 1e6 - cells["rate"] * bits) <= 0.06e6 + 0.06 * bits)


def _all(cells: Cells) -> int:
    return int(cells["received"] + cells["lost"])


def _latency(statistic: str) -> Field:
    return Field("latency", statistic, statistic, unit=MICROSECOND, where=_are_percentiles_measured if statistic in _PERCENTILES else None)


_ORDERED = Check("the statistics contradict each other", _is_ordered)
_TIMES = tuple(map(_latency, ("mean", "min", "max")))
_SENT, _LOST = Field.counted("messages_sent", "sent"), Field.counted("messages_lost", "lost")
_ELAPSED = Field("duration", "total", "elapsed", unit=MICROSECOND)
_RUNNING = publisher("lite-one-way-running", "interval")
_LATENCIES = LineRule(
    fields=(*_TIMES, *map(_latency, _PERCENTILES), _SENT, _ELAPSED),
    record=publisher("lite-one-way"),
    checks=(_ORDERED, Check("no latency was measured", lambda cells: cells["max"] > 0)),
)
_THROUGHPUT = LineRule(
    fields=(
        Field.counted("messages_received", "received"),
        _LOST,
        Field("goodput", "mean", "mbit", unit=1e6, places=0),
        Field("loss", "total", lambda cells: cells["lost"] / _all(cells), where=lambda cells: _all(cells) > 0, marks=("derived",)),
        _ELAPSED,
    ),
    record=subscriber("lite-throughput"),
    checks=(Check("size, samples, time and Mbps contradict each other", _rate_follows),),
    samples="received",
)
_RUNNING_LATENCY = LineRule(fields=(*_TIMES, _SENT), record=_RUNNING, checks=(_ORDERED,))
_RUNNING_THROUGHPUT = LineRule(
    fields=(Field("message_rate", "last", "rate"), Field("goodput", "last", "mbit", unit=1e6, places=0), _LOST),
    record=subscriber("lite-throughput-running", "interval"),
    checks=(Check("rate, size and Mbps contradict each other", _rates_agree),),
)
_SAMPLE = LineRule(fields=(_latency("last"),), record=_RUNNING)


def _row(text: str, separator: str = " +") -> re.Pattern[str]:
    """Return the pattern of a row. In ``text``, a name stands for a count, and ``name.2`` for a number with two decimals."""
    cells = []
    for cell in text.split():
        name, _, decimals = cell.partition(".")
        cells.append(rf"(?P<{name}>[0-9]{{1,15}}\.[0-9]{{{decimals}}})" if decimals else rf"(?P<{name}>[0-9]{{1,18}})")
    return re.compile(separator.join(cells))


# For each head, the pattern of the rows below it, and the rule of these rows.
_HEADS = {
    "size_bytes,total_samples,avg_latency_us,min_latency_us,max_latency_us,p50_latency_us,p90_latency_us,p99_latency_us,elapsed_us": (
        _row("size sent mean min max p50 p90 p99 elapsed", ","),
        _LATENCIES,
    ),
    "size_bytes,total_samples,lost_samples,avg_throughput_mbps,elapsed_us": (_row("size received lost mbit.6 elapsed", ","), _THROUGHPUT),
    "size(B) samples avgLat(us) min(us) max(us) p50(us) p90(us) p99(us)": (_row("size sent mean min max p50 p90 p99"), _LATENCIES),
    "size(B) samples lost thr(Mbps)": (_row("size received lost mbit.2"), _THROUGHPUT),
    "t(s) size(B) totalSamples avgLat(us) min/max(us)": (
        re.compile(_row("time size sent mean min").pattern + "/(?P<max>[0-9]{1,18})"),
        _RUNNING_LATENCY,
    ),
    "t(s) size(B) samples/s Mbps lost": (_row("time size rate.1 mbit.1 lost"), _RUNNING_THROUGHPUT),
}
_TITLE = re.compile(r"=== Perftest Lite (?:Final Results|Configuration|Round Final) ===")
_LATENCY = re.compile(r"\[LAT\] [0-9]{1,18},(?P<last>[0-9]{1,15})")
_START = re.compile(r"\[pub\] starting size=(?P<size>[0-9]{1,18}) bytes for (?P<seconds>[0-9]{1,9}) s")
_DONE = re.compile(r"\[(?:pub|sub)\] size=[0-9]{1,18} done:")
_CHATTER = re.compile(r"\[(?:pub|sub)\] (?:waiting for a perftest|matched\.)|--- Resource limits|={35}$")
_PUBLISHERS = ("Exec time", "Pubrate", "Latency test")  # Both sides print these options, but they have no effect on a subscriber.
_KEY = re.compile(r"  (?P<key>[A-Z][A-Za-z ]{1,16}?) *: (?P<value>.*)")


class LiteOutput:
    """Reads the output of Perftest Lite. It stores the latest head and the current size."""

    def __init__(self) -> None:
        self.conditions = Conditions()
        self._head: tuple[re.Pattern[str], LineRule] | None = None
        self._configuring = self._publishing = False
        self._rate: Conditions | None = None
        self._size: str | None = None

    def take(self, line: Line) -> list[Finding] | None:
        """Read a line of Perftest Lite; ``None`` for any other line."""
        text = line.text.strip()
        if _TITLE.fullmatch(text):
            self._head, self._configuring = None, "Configuration" in text
            return [Finding(line, None)]
        if head := _HEADS.get(re.sub(" +", " ", text)):
            self._head, self._configuring = head, False
            return [Finding(line, None)]
        if self._configuring and (key := _KEY.fullmatch(line.text)):
            return [Finding(line, self._take_configuration(key["key"].strip(), key["value"].strip()))]
        if text.startswith(("[LAT]", "[pub] ", "[sub] ", "---", "===")):
            return self._progress(line, text)
        if self._head and text[:1].isdigit():
            return [Finding(line, self._row(*self._head, line, text))]
        return None

    def _progress(self, line: Line, text: str) -> list[Finding] | None:
        if start := _START.fullmatch(text):
            self._size = start["size"] if too_large(size=start["size"]) is None else None
            return [Finding(line, Facts(conditions=Conditions(planned_duration_s=float(start["seconds"]) or None)))]
        if _DONE.match(text):
            self._size = None
            return [Finding(line, None)]
        if text.startswith("[LAT]") and text != "[LAT] elapsed_us,latency_us":
            return [Finding(line, self._sample(line, text))]
        return [Finding(line, None)] if _CHATTER.match(text) or text.startswith("[LAT]") else None

    def _sample(self, line: Line, text: str) -> Record | Broken:
        match = _LATENCY.fullmatch(text)
        if match is None or not line.whole:
            return CUT if match else Broken("a sample that is garbled")
        if self._size is None:
            return Broken("no line states the size of this sample")
        cells = Cell.named(match, line.text.find(text))
        record = rules.record(_SAMPLE, {**cells, "size": self._size})
        return record if isinstance(record, Broken) else msgspec.structs.replace(record, samples=1)

    def _take_configuration(self, key: str, value: str) -> Facts | None:
        self._publishing = value == "Publisher" if key == "Role" else self._publishing
        read = None if not self._publishing and key in _PUBLISHERS else _CONDITIONS.get(key)
        conditions = read(value) if read else Conditions()
        if key == "Pubrate" and read:
            self._rate = conditions
            # A ping-pong is always a closed loop, even if a rate is requested.
            conditions = msgspec.structs.replace(conditions, load_mode=None)
        elif key == "Latency test" and value.partition(" ")[0] == "no" and self._rate:
            conditions = Conditions(load_mode=self._rate.load_mode)
        self.conditions = conditions.over(self.conditions)
        environment = {f"lite_{key.lower()}": value} if key in ("Domain", "NIC", "Datalen") else {}
        return Facts(conditions=conditions, environment=environment) if read or environment else None

    def _row(self, pattern: re.Pattern[str], rule: LineRule, line: Line, text: str) -> Record | Broken | None:
        match = pattern.fullmatch(text)
        if match is None:
            return OUT_OF_PLACE
        if "time" in match.re.groupindex and int(match["size"]) == 0:
            return None  # Before its first message, the subscriber does not know the message size.
        return rules.record(rule, Cell.named(match, line.text.find(text))) if line.whole else CUT


def _rate(value: str) -> Conditions:
    if re.fullmatch("[1-9][0-9]{0,9}", value):
        return Conditions(load_mode="paced", offered_rate_per_s=float(value))
    return Conditions(load_mode="max-rate")


_CONDITIONS: Mapping[str, Callable[[str], Conditions]] = {
    "Transport": lambda value: Conditions(transport=value or None, data_path="zero-copy" if value == "ZeroCopy" else None),
    "Reliability": lambda value: Conditions(reliability="reliable" if value == "Reliable" else "best-effort" if value == "Best Effort" else None),
    "Exec time": lambda value: Conditions(planned_duration_s=float(value[:-2]) or None if re.fullmatch(r"[0-9]{1,9} s", value) else None),
    "Pubrate": _rate,
    "Latency test": lambda value: Conditions(load_mode="closed" if value.startswith("yes") else None),
}
