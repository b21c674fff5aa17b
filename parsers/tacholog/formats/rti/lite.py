"""Perftest Lite, RTI's small C program of 2026 beside its Perftest: results as a table or as CSV, whichever it was built for.

Configuration, progress and single latencies share the stream with the results. Its sizes hold 28 bytes of its own header, its latencies are halves of
round trips in whole microseconds; builds without a history print 0 for every percentile.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import pairwise

import msgspec

from tacholog.formats.kit import Broken, Conditions, Facts, Found, Line, Number, Record, printed
from tacholog.formats.rti.figures import CUT, OUT_OF_PLACE, too_large

_COUNT = r"[0-9]{1,18}"
_HEADS = {
    "size_bytes,total_samples,avg_latency_us,min_latency_us,max_latency_us,p50_latency_us,p90_latency_us,p99_latency_us,elapsed_us": "latency csv",
    "size_bytes,total_samples,lost_samples,avg_throughput_mbps,elapsed_us": "throughput csv",
    "size(B) samples avgLat(us) min(us) max(us) p50(us) p90(us) p99(us)": "latency table",
    "size(B) samples lost thr(Mbps)": "throughput table",
    "t(s) size(B) totalSamples avgLat(us) min/max(us)": "running latency",
    "t(s) size(B) samples/s Mbps lost": "running throughput",
}
_ROWS = {
    "latency csv": re.compile(",".join([f"({_COUNT})"] * 9)),
    "throughput csv": re.compile(rf"({_COUNT}),({_COUNT}),({_COUNT}),([0-9]{{1,15}}\.[0-9]{{6}}),({_COUNT})"),
    "latency table": re.compile(" +".join([f"({_COUNT})"] * 8)),
    "throughput table": re.compile(rf"({_COUNT}) +({_COUNT}) +({_COUNT}) +([0-9]{{1,15}}\.[0-9][0-9])"),
    "running latency": re.compile(rf"({_COUNT}) +({_COUNT}) +({_COUNT}) +({_COUNT}) +({_COUNT})/({_COUNT})"),
    "running throughput": re.compile(rf"({_COUNT}) +({_COUNT}) +([0-9]{{1,15}}\.[0-9]) +([0-9]{{1,15}}\.[0-9]) +({_COUNT})"),
}
_TITLE = re.compile(r"=== Perftest Lite (?:Final Results|Configuration|Round Final) ===")
_LATENCY = re.compile(r"\[LAT\] [0-9]{1,18},(?P<value>[0-9]{1,15})")
_START = re.compile(r"\[pub\] starting size=(?P<size>[0-9]{1,18}) bytes for (?P<seconds>[0-9]{1,9}) s")
_DONE = re.compile(r"\[(?:pub|sub)\] size=[0-9]{1,18} done:")
_CHATTER = re.compile(r"\[(?:pub|sub)\] (?:waiting for a perftest|matched\.)|--- Resource limits|={35}$")
_PUBLISHERS = ("Exec time", "Pubrate", "Latency test")  # Both sides print them; the subscriber's are defaults that mean nothing.
_KEY = re.compile(r"  (?P<key>[A-Z][A-Za-z ]{1,16}?) *: (?P<value>.*)")


class Lite:
    """The head that the text is under, and the size that runs."""

    def __init__(self) -> None:
        self.conditions = Conditions()
        self._head: str | None = None
        self._configuring = self._publishing = False
        self._rate: Conditions | None = None
        self._size: str | None = None

    def take(self, line: Line) -> list[Found] | None:
        """Use a line of Perftest Lite; ``None`` for anything else."""
        text = line.text.strip()
        if _TITLE.fullmatch(text):
            self._head, self._configuring = None, "Configuration" in text
            return [Found(line, None)]
        if head := _HEADS.get(re.sub(" +", " ", text)):
            self._head, self._configuring = head, False
            return [Found(line, None)]
        if self._configuring and (key := _KEY.fullmatch(line.text)):
            return [Found(line, self._configured(key["key"].strip(), key["value"].strip()))]
        if text.startswith(("[LAT]", "[pub] ", "[sub] ", "---", "===")):
            return self._progress(line, text)
        if self._head and text[:1].isdigit():
            return [Found(line, self._row(self._head, line, text))]
        return None

    def _progress(self, line: Line, text: str) -> list[Found] | None:
        if start := _START.fullmatch(text):
            self._size = start["size"] if too_large(start["size"]) is None else None
            return [Found(line, Facts(conditions=Conditions(planned_duration_s=float(start["seconds"]) or None)))]
        if _DONE.match(text):
            self._size = None
            return [Found(line, None)]
        if text.startswith("[LAT]") and text != "[LAT] elapsed_us,latency_us":
            return [Found(line, self._sample(line, text))]
        return [Found(line, None)] if _CHATTER.match(text) or text.startswith("[LAT]") else None

    def _sample(self, line: Line, text: str) -> Record | Broken:
        found = _LATENCY.fullmatch(text)
        if found is None or not line.whole:
            return CUT if found else Broken("a sample that is garbled")
        if self._size is None:
            return Broken("no line says of which size this sample is")
        return Record(
            test="latency",
            payload_bytes=int(self._size),
            numbers=(printed("latency", "last", int(found["value"]) * 1000.0, 1000.0),),
            samples=1,
            scope="interval",
            side="publisher",
            conditions=Conditions(basis="rtt/2", definition="lite-one-way-running"),
        )

    def _configured(self, key: str, value: str) -> Facts | None:
        self._publishing = value == "Publisher" if key == "Role" else self._publishing
        read = None if not self._publishing and key in _PUBLISHERS else _CONDITIONS.get(key)
        conditions = read(value) if read else Conditions()
        if key == "Pubrate" and read:
            self._rate = conditions
            conditions = msgspec.structs.replace(conditions, load_mode=None)  # A ping-pong stays one, whatever rate was asked for.
        elif key == "Latency test" and value.partition(" ")[0] == "no" and self._rate:
            conditions = Conditions(load_mode=self._rate.load_mode)
        self.conditions = conditions.over(self.conditions)
        environment = {f"lite_{key.lower()}": value} if key in ("Domain", "NIC", "Datalen") else {}
        return Facts(conditions=conditions, environment=environment) if read or environment else None

    def _row(self, head: str, line: Line, text: str) -> Record | Broken | None:
        found = _ROWS[head].fullmatch(text)
        if found is None:
            return OUT_OF_PLACE
        cells = found.groups()
        sent, running = cells[1 if head.startswith("running") else 0], head.startswith("running")
        if running and int(sent) == 0:
            return None  # Before its first message the subscriber does not know the size.
        if trouble := too_large(sent) or (None if line.whole else CUT):
            return trouble
        return _READERS[head](*cells)


def _latency_row(size: str, sent: str, mean: str, low: str, high: str, *rest: str) -> Record | Broken:
    percentiles, elapsed = rest[:3], rest[3:]
    known = ("p50", "p90", "p99") if any(map(int, percentiles)) else ()
    ordered = [int(cell) for cell in (low, *percentiles[: len(known)], high)]
    if any(a > b for a, b in pairwise(ordered)) or not int(low) <= int(mean) <= int(high):
        return Broken("the statistics contradict each other")
    if int(high) == 0:
        return Broken("no latency was measured")
    cells = {"mean": mean, "min": low, "max": high, **dict(zip(known, percentiles, strict=False))}
    numbers = [printed("latency", name, int(cell) * 1000.0, 1000.0) for name, cell in cells.items()]
    numbers.append(Number(metric="messages_sent", statistic="total", value=float(sent)))
    return Record(
        test="latency",
        payload_bytes=int(size),
        numbers=(*numbers, *_duration(elapsed)),
        side="publisher",
        conditions=Conditions(basis="rtt/2", definition="lite-one-way"),
    )


def _throughput_row(size: str, received: str, lost: str, mbit: str, *elapsed: str) -> Record | Broken:
    bits = 8.0 * int(received) * int(size)
    if elapsed and abs(float(mbit) * int(elapsed[0]) - bits) > 1e-6 * int(elapsed[0]) + 1e-9 * bits:
        return Broken("size, samples, time and Mbps contradict each other")
    place = 10.0 ** (6 - len(mbit.partition(".")[2]))
    messages = int(received) + int(lost)
    shares = (Number(metric="loss", statistic="total", value=int(lost) / messages, marks=("derived",)),) if messages else ()
    return Record(
        test="throughput",
        payload_bytes=int(size),
        numbers=(
            Number(metric="messages_received", statistic="total", value=float(received)),
            Number(metric="messages_lost", statistic="total", value=float(lost)),
            printed("goodput", "mean", round(float(mbit) * 1e6), place),
            *shares,
            *_duration(elapsed),
        ),
        samples=int(received),
        side="subscriber",
        conditions=Conditions(definition="lite-throughput"),
    )


def _running_latency_row(_: str, size: str, sent: str, mean: str, low: str, high: str) -> Record | Broken:
    if not int(low) <= int(mean) <= int(high):
        return Broken("the statistics contradict each other")
    cells = {"mean": mean, "min": low, "max": high}
    sent_so_far = Number(metric="messages_sent", statistic="total", value=float(sent))
    return Record(
        test="latency",
        payload_bytes=int(size),
        numbers=(*(printed("latency", name, int(cell) * 1000.0, 1000.0) for name, cell in cells.items()), sent_so_far),
        scope="interval",
        side="publisher",
        conditions=Conditions(basis="rtt/2", definition="lite-one-way-running"),
    )


def _running_throughput_row(_: str, size: str, rate: str, mbit: str, lost: str) -> Record | Broken:
    if abs(float(mbit) * 1e6 - float(rate) * 8 * int(size)) > 0.06e6 + 0.06 * 8 * int(size):
        return Broken("rate, size and Mbps contradict each other")
    return Record(
        test="throughput",
        payload_bytes=int(size),
        numbers=(
            printed("message_rate", "last", float(rate), 0.1),
            printed("goodput", "last", round(float(mbit) * 1e6), 1e5),
            Number(metric="messages_lost", statistic="total", value=float(lost)),
        ),
        scope="interval",
        side="subscriber",
        conditions=Conditions(definition="lite-throughput-running"),
    )


def _duration(elapsed: tuple[str, ...]) -> tuple[Number, ...]:
    return tuple(printed("duration", "total", int(cell) * 1000.0, 1000.0) for cell in elapsed)


def _test(value: str) -> Conditions:
    return Conditions(load_mode="closed" if value.startswith("yes") else None)


def _rate(value: str) -> Conditions:
    if re.fullmatch("[1-9][0-9]{0,9}", value):
        return Conditions(load_mode="paced", offered_rate_per_s=float(value))
    return Conditions(load_mode="max-rate")


_READERS: Mapping[str, Callable[..., Record | Broken]] = {
    "latency csv": _latency_row,
    "throughput csv": _throughput_row,
    "latency table": _latency_row,
    "throughput table": _throughput_row,
    "running latency": _running_latency_row,
    "running throughput": _running_throughput_row,
}
_CONDITIONS: Mapping[str, Callable[[str], Conditions]] = {
    "Transport": lambda value: Conditions(transport=value or None, data_path="zero-copy" if value == "ZeroCopy" else None),
    "Reliability": lambda value: Conditions(reliability="reliable" if value == "Reliable" else "best-effort" if value == "Best Effort" else None),
    "Exec time": lambda value: Conditions(planned_duration_s=float(value[:-2]) or None if re.fullmatch(r"[0-9]{1,9} s", value) else None),
    "Pubrate": _rate,
    "Latency test": _test,
}
