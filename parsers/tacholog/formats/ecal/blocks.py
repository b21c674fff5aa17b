"""The blocks that eCAL's measuring samples print, and the lines of perftool.

There are blocks for latency (sender and receiver, in C++ from 5.3 on, and in Python), performance, throughput in one process, service calls and many
topics.

Source: the printers of ``latency_snd`` and ``latency_rec`` in eCAL 5.3.4 to 6.2, and of ``performance_snd``, ``performance_rec``,
``pubsub_throughput``, ``latency_client``, ``multiple_snd``, ``multiple_rec`` and ``perftool``, see tacholog.formats.ecal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from tacholog.formats.ecal.rows import BlockForm, BlockValues, RowForm
from tacholog.formats.kit import (
    MICROSECOND,
    Broken,
    Cells,
    Check,
    Conditions,
    Facts,
    Field,
    Finding,
    Line,
    LineRule,
    Number,
    Record,
    counted,
    impossible,
    settings_text,
    unit_of_last_place,
)

KILOBYTE = 1024
MOST_WARM_UPS = 100
COUNT = re.compile(r"[0-9]{1,18}")
_KILOBYTES = re.compile(r"[0-9]{1,15} kB")
_SIZE = re.compile(r"[0-9]{1,15} k?B")
TIME = re.compile(r"-?[0-9]{1,15} us")
PLACED_TIME = re.compile(r"-?[0-9]{1,15} us @ [0-9]{1,18}")
_RATE_CELL = re.compile(r"-?[0-9]{1,15}(?:\.[0-9][0-9])? ([kMG]B/s|k?[Mm]sg/s)")
_RATE_BEGUN = re.compile(r"-?(?:[0-9]{1,15}(?:\.[0-9]{0,2})?(?: [kMmsg/]{1,6})?)?")
_RATE_BYTES = {"kB/s": 1 << 10, "MB/s": 1 << 20}
_RATE_UNITS = (["kB/s", "MB/s", "Msg/s"], ["MB/s", "GB/s", "kMsg/s"])
_PYTHON_UNITS = ["kB/s", "MB/s", "msg/s"]
_RATE_KEYS = ("rate", "rate2", "rate3")


def latency(cells: BlockValues, statistic: str) -> Number:
    """Return a latency in whole microseconds. ``statistic`` is also the key of its row in the block."""
    return cells.printed("latency", statistic, statistic, MICROSECOND)


def _received_only(cells: BlockValues) -> Record | Broken:
    """Read a block that has only a count. The tool prints no latency if it received few messages after the warm-up."""
    if cells.integer("received") > MOST_WARM_UPS:
        return Broken("the block ends before its last row")
    numbers = (cells.counted("messages_received", "received"),)
    return Record(test="latency", payload_bytes=None, numbers=numbers, side="subscriber", conditions=Conditions(definition="ecal-few-received"))


def _received(cells: BlockValues) -> Record | Broken:
    received, size, mean, smallest, largest = (cells.integer(key) for key in ("received", "size", "mean", "min", "max"))
    placed = all(int(cells.word(key, 1)) < received for key in ("min", "max"))
    units = next((units for units in _RATE_UNITS if _has_units(cells, units)), None)
    if not placed or not smallest <= mean <= largest or units is None:
        return Broken("the rows of this block contradict each other")
    if (rate := _size_over_latency(cells, size, mean)) is None:
        return Broken("the throughput of this block is not its size divided by its latency")
    definition = "ecal-5.10-one-way" if units == _RATE_UNITS[0] else "ecal-5.12-one-way"
    return Record(
        test="latency",
        payload_bytes=size * KILOBYTE or None,
        numbers=(
            *(latency(cells, statistic) for statistic in ("mean", "min", "max")),
            rate,
            cells.counted("messages_received", "received"),
        ),
        samples=received,
        side="subscriber",
        conditions=Conditions(basis="one-way", definition=definition),
    )


def _reflected(cells: BlockValues) -> Record | Broken:
    """Read a block of the C++ receiver of 5.3 to 5.9, or of the Python receiver. Both receivers send each message back."""
    python = "messages" in cells
    counted_in = next((key for key in ("messages", "packages") if key in cells), None)
    received = cells.integer(counted_in) if counted_in else None
    size = next((cells.integer(key) for key in ("size", "old_size") if key in cells), 0)
    # The oldest receiver, which printed the row ``old_size``, printed no count. All later receivers print a count.
    is_counted = received is None if "old_size" in cells else bool(received)
    if not _has_units(cells, _PYTHON_UNITS if python else _RATE_UNITS[0]) or not is_counted:
        return Broken("the rows of this block contradict each other")
    if (rate := _size_over_latency(cells, size, cells.integer("mean"))) is None:
        return Broken("the throughput of this block is not its size divided by its latency")
    return Record(
        test="latency",
        payload_bytes=size * KILOBYTE or None,
        numbers=(latency(cells, "mean"), rate, *([cells.counted("messages_received", counted_in)] if counted_in else [])),
        samples=received,
        side="subscriber",
        conditions=Conditions(basis="one-way", definition="ecal-python-one-way" if python else "ecal-5.3-one-way"),
    )


def _has_units(cells: BlockValues, units: list[str]) -> bool:
    own_units = [cells[key].partition(" ")[2] for key in _RATE_KEYS if key in cells]
    # The last row may be missing.
    return own_units == units[: len(own_units)]


def _size_over_latency(cells: BlockValues, size: int, mean: int) -> Number | None:
    """Return the number that eCAL calls throughput; ``None`` if the rows of the block contradict each other.

    The number is read from the row with the finest unit.
    """
    text, unit = cells["rate"].split(" ")
    rate, unit_bytes = float(text), _RATE_BYTES[unit]
    resolution = unit_bytes * 8 * (0.01 if "." in text else 1.0)
    number = cells.printed("size_over_latency", "mean", "rate", unit_bytes * 8, resolution=resolution, decimals=3, marks=("derived",))
    if rate < 0 or mean < 0:
        return number
    lowest = max(size - 1, 0) * KILOBYTE / unit_bytes * 1e6 / (mean + 1)
    highest = (size + 1) * KILOBYTE / unit_bytes * 1e6 / mean if mean else float("inf")
    coarser = float(cells.word("rate2"))
    same = lowest - 1 <= rate <= highest + 1 and abs(coarser - rate / KILOBYTE) <= 1
    return number if same else None


def _round_trip(cells: BlockValues) -> Record | Broken:
    lost = int("lost" in cells)
    sent = cells.integer("lost" if lost else "runs")
    if not 0 < sent <= cells.integer("runs"):
        return Broken("more messages than were requested")
    all_made = Number(metric="messages_sent", statistic="total", value=float(sent), marks=("derived",))  # The tool does not print this number.
    return Record(
        test="latency",
        payload_bytes=cells.integer("size") * KILOBYTE or None,
        numbers=(
            impossible("latency", "mean") if sent == lost else latency(cells, "mean"),
            *([cells.counted("messages_sent", "lost"), counted("messages_lost", lost)] if lost else [all_made]),
        ),
        samples=sent - lost,
        side="publisher",
        conditions=Conditions(basis="rtt", load_mode="closed", definition="ecal-5.3-rtt-cut-short" if lost else "ecal-5.3-rtt"),
    )


RECEIVER = BlockForm(
    rows=(
        RowForm("received", ("Messages received",), COUNT),
        RowForm("size", ("Message size received",), _KILOBYTES),
        RowForm("mean", ("Message average latency",), TIME),
        RowForm("min", ("Message min latency",), PLACED_TIME),
        RowForm("max", ("Message max latency",), PLACED_TIME),
        RowForm("rate", ("Throughput",), _RATE_CELL),
        RowForm("rate2", ("",), _RATE_CELL),
        RowForm("rate3", ("",), _RATE_CELL, begun=_RATE_BEGUN),
    ),
    read=_received,
    ruled=1,
    short=_received_only,
)
REFLECTOR = BlockForm(
    rows=(
        RowForm("size", ("Received buffer size",), _KILOBYTES, optional=True),
        RowForm("old_size", ("Rec buffer size",), _KILOBYTES, optional=True),
        RowForm("packages", ("Received packages",), COUNT, optional=True),
        RowForm("messages", ("Received messages",), COUNT, optional=True),
        RowForm("mean", ("Message average receive time",), TIME),
        RowForm("rate", ("Throughput",), _RATE_CELL),
        RowForm("rate2", ("", "Throughput"), _RATE_CELL),
        RowForm("rate3", ("", "Throughput"), _RATE_CELL, begun=_RATE_BEGUN),
    ),
    read=_reflected,
)
PING_PONG = BlockForm(
    rows=(
        RowForm("runs", ("RUNS",), COUNT),
        RowForm("size", ("SIZE",), _KILOBYTES),
        RowForm("lost", ("Packages lost after message",), re.compile(r"[0-9]{1,18} -> stop\."), optional=True),
        RowForm("mean", ("Message average roundtrip time",), TIME),
    ),
    read=_round_trip,
    ruled=2,
    spaced=3,
)


class Senders:
    """The blocks of one-way senders. Conditions that are the same in all blocks become conditions of the run."""

    def __init__(self) -> None:
        self._conditions: set[Conditions] = set()
        self._environments: dict[str, set[str]] = {}
        self.block = BlockForm(
            rows=(
                RowForm("runs", ("Runs",), COUNT),
                RowForm("size", ("Message size",), _SIZE),
                RowForm("delay", ("Message delay",), re.compile(r"[0-9]{1,15} ms"), optional=True),
                RowForm("zero_copy", ("Zero copy",), re.compile(r"ON|OFF"), optional=True),
                RowForm("buffers", ("Memory buffer",), COUNT, optional=True),
                RowForm("frequency", ("Frequency",), re.compile(r"as fast as possible|[0-9]{1,9}(?:\.[0-9]{1,9})? Hz"), optional=True),
                RowForm("zero_copy", ("Zero copy",), re.compile(r"ON|OFF"), optional=True),
                RowForm("sent", ("Messages sent",), COUNT),
            ),
            read=self._read,
        )

    def _read(self, cells: BlockValues) -> Record | Broken:
        if cells.integer("sent") > cells.integer("runs"):
            return Broken("more messages than were requested")
        if _needed(cells) - cells.keys():
            return Broken("a row of this block is missing or out of place")
        size_bytes = cells.integer("size") * (KILOBYTE if cells["size"].endswith("kB") else 1)
        frequency = cells.get("frequency", "as")
        conditions = Conditions(
            data_path={"ON": "zero-copy", "OFF": "copy"}.get(cells.get("zero_copy", "")),  # type: ignore[arg-type]
            offered_rate_per_s=None if frequency.startswith("as") else float(cells.word("frequency")) or None,
            settings=_settings(cells),
        )
        self._conditions.add(conditions)
        for key in ("frequency", "runs"):
            self._environments.setdefault(f"ecal_{key}", set()).add(str(cells.get(key, "")))
        return Record(
            test="latency",
            payload_bytes=size_bytes or None,
            numbers=(cells.counted("messages_sent", "sent"),),
            side="publisher",
            conditions=Conditions(definition="ecal-sent").over(conditions),
        )

    def common(self) -> Iterator[Facts]:
        """Yield the conditions and environment that all blocks of the log share."""
        if not self._conditions:
            return
        first, *others = self._conditions
        alike = {name: getattr(first, name) for name in ("data_path", "offered_rate_per_s", "settings")}
        alike = {name: value for name, value in alike.items() if all(getattr(other, name) == value for other in others)}
        environment = {key: value for key, values in self._environments.items() if len(values) == 1 for value in values if value}
        yield Facts(conditions=Conditions(**alike), environment=environment)


def _settings(cells: BlockValues) -> str | None:
    return settings_text({key: cells[key] for key in ("buffers", "delay") if key in cells})


def _needed(cells: BlockValues) -> set[str]:
    """Return the keys that a sender's block must have, in addition to runs and size."""
    if cells["size"].endswith(" B"):
        return {"buffers", "frequency", "zero_copy"}
    # The first versions printed the row for zero copy only if zero copy was on.
    return {"buffers", "zero_copy"} if "delay" not in cells or "buffers" in cells else set()


_MEGABYTE = KILOBYTE * KILOBYTE
_STREAMED = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,12})?(?:e[+-][0-9][0-9])?")
_WHOLE_MEGABYTES = re.compile(r"[0-9]{1,18} MB")
_LOST = re.compile(rf"[0-9]{{1,20}} bytes \([0-9]{{1,20}} MB, {_STREAMED.pattern} %\)")


def _performance(cells: BlockValues) -> Record | Broken:
    size, kilobytes, megabytes, messages = (cells.integer(key) for key in ("size", "kbyte", "mbyte", "messages"))
    interval_us = float(cells["interval"])
    inverse = interval_us > 0 and abs(messages - 1e6 / interval_us) <= 1 + 1e-4 * messages
    of_the_size = size * messages <= kilobytes + 1 <= (size + 1) * (messages + 1) + 1
    if not inverse or not of_the_size or megabytes != kilobytes // KILOBYTE:
        return Broken("the rates of this block do not match its size and interval")
    receiver = "topic" in cells or "message" in cells
    received = [cells.printed("message_rate", "mean", "messages", 1.0), cells.printed("goodput", "mean", "kbyte", KILOBYTE * 8.0)]
    last_place = unit_of_last_place(interval_us * MICROSECOND)
    interval = cells.printed("interval_per_message", "mean", "interval", MICROSECOND, resolution=last_place, marks=("derived",))
    return Record(
        test="throughput",
        payload_bytes=size * KILOBYTE or None,
        numbers=(interval, *(received if receiver else ())),
        scope="interval",
        side="subscriber" if receiver else None,
        participant=str(cells["topic"]) if "topic" in cells else None,
        conditions=Conditions(definition="ecal-performance"),
    )


def _in_one_process(cells: BlockValues) -> Record | Broken:
    elapsed, sent, rate = float(cells.word("elapsed")), cells.integer("sent"), cells.integer("rate")
    if elapsed <= 0 or abs(rate - sent / elapsed) > 2 + rate * 1e-4 or cells.integer("rate2") != rate // KILOBYTE:
        return Broken("the rows of this block contradict each other")
    return Record(
        test="throughput",
        payload_bytes=None,
        numbers=(
            cells.printed("duration", "total", "elapsed", 1e9, resolution=unit_of_last_place(elapsed) * 1e9, decimals=0),
            cells.printed("bytes_sent", "total", "sent", _MEGABYTE),
            cells.printed("bytes_received", "total", "received", _MEGABYTE),
            *_lost(cells),
            cells.printed("offered_goodput", "mean", "rate", _MEGABYTE * 8),
        ),
        side="both",
        conditions=Conditions(
            transport=str(cells["layer"]).partition(" ")[0],
            data_path="zero-copy" if cells["layer"].endswith(" ZERO-COPY") else "copy",
            definition="ecal-pubsub-throughput",
        ),
    )


def _lost(cells: BlockValues) -> Iterator[Number]:
    lost, percent = cells.word("lost"), cells.word("lost", 2)
    # If more bytes were received than sent, the tool prints a negative number as a huge number.
    if int(lost) // _MEGABYTE > cells.integer("sent"):
        yield impossible("bytes_lost", cell=lost)
        yield impossible("loss", cell=percent)
    else:
        yield counted("bytes_lost", int(lost), cell=lost)
        share = round(float(percent) / 100, 8)
        yield Number(metric="loss", statistic="total", value=share, line=percent.line, value_start=percent.start, value_end=percent.end)


def _service(cells: BlockValues) -> Record | Broken:
    rate, mean, smallest, largest = (cells.integer(key) for key in ("rate", "mean", "min", "max"))
    if not smallest <= mean <= largest or (mean > 0 and not 1e6 / (mean + 1) - 1 <= rate <= 1e6 / mean + 1):
        return Broken("the rows of this block contradict each other")
    return Record(
        test="latency",
        payload_bytes=None,
        numbers=(
            *(latency(cells, statistic) for statistic in ("mean", "min", "max")),
            cells.printed("call_rate", "mean", "rate", 1.0, marks=("derived",)),
        ),
        samples=cells.integer("calls"),
        side="publisher",
        conditions=Conditions(basis="rtt", load_mode="closed", definition="ecal-service-rtt"),
    )


_OF_TOPICS = Record(test="throughput", payload_bytes=None, numbers=(), scope="interval", conditions=Conditions(definition="ecal-multiple"))


def _sum(cells: BlockValues) -> Record | Broken:
    if cells.integer("sum2") != cells.integer("sum") // 1000 or cells.integer("sum3") != cells.integer("sum") // 1_000_000:
        return Broken("the three sums contradict each other")
    return msgspec.structs.replace(_OF_TOPICS, participant="all topics", numbers=(cells.printed("message_rate", "mean", "sum", 1.0),))


BLOCKS: Sequence[BlockForm] = (
    BlockForm(
        rows=(
            RowForm("topic", ("Topic Name",), re.compile(r"[^\s].{0,199}"), optional=True),
            RowForm("message", ("Message [0 - 15]",), re.compile(r".*"), optional=True),
            RowForm("size", ("Message size (kByte)",), COUNT),
            RowForm("kbyte", ("kByte/s",), COUNT),
            RowForm("mbyte", ("MByte/s",), COUNT),
            RowForm("gbyte", ("GByte/s",), COUNT, optional=True),
            RowForm("messages", ("Messages/s",), COUNT),
            RowForm("interval", ("Latency (us)",), _STREAMED),
        ),
        read=_performance,
    ),
    BlockForm(
        rows=(
            RowForm("layer", ("LAYER",), re.compile(r"SHM|SHM ZERO-COPY|UDP|TCP")),
            RowForm("elapsed", ("Elapsed time",), re.compile(_STREAMED.pattern + " s")),
            RowForm("sent", ("Sent",), _WHOLE_MEGABYTES),
            RowForm("received", ("Received",), _WHOLE_MEGABYTES),
            RowForm("lost", ("Lost",), _LOST),
            RowForm("rate", ("Throughput",), re.compile(r"[0-9]{1,15} MB/s")),
            RowForm("rate2", ("Throughput",), re.compile(r"[0-9]{1,15} GB/s")),
        ),
        read=_in_one_process,
        ruled=1,
    ),
    BlockForm(
        rows=(
            RowForm("calls", ("Service calls",), COUNT),
            RowForm("mean", ("Service call average latency",), TIME),
            RowForm("min", ("Service call min latency",), PLACED_TIME),
            RowForm("max", ("Service call max latency",), PLACED_TIME),
            RowForm("rate", ("Service throughput",), re.compile(r"[0-9]{1,15} calls/s")),
        ),
        read=_service,
    ),
    BlockForm(
        rows=(
            RowForm("sum", ("Sum",), re.compile(r"[0-9]{1,15} {1,2}Msg/s")),
            RowForm("sum2", ("Sum",), re.compile(r"[0-9]{1,15} kMsg/s")),
            RowForm("sum3", ("Sum",), re.compile(r"[0-9]{1,15} MMsg/s")),
        ),
        read=_sum,
    ),
)

_COUNT = "[0-9]{1,15}"
_TIME = r"[0-9]{1,9}\.[0-9]{3}"
_RATE = r"[0-9]{1,12}\.[0-9]"
_BEGIN = r"\[[ 0-9.]+\] \| cnt: *"
_PERFTOOL = re.compile(r"\[ *[0-9]{1,12}\.[0-9]{3}\] \| cnt:")


def _spread(name: str) -> str:
    return rf" mean: *(?P<{name}_mean>{_TIME}) \[ *(?P<{name}_min>{_TIME}), *(?P<{name}_max>{_TIME})\]"


def _milliseconds(metric: str, name: str) -> list[Field]:
    return [Field(metric, statistic, f"{name}_{statistic}", unit=1e6, places=0) for statistic in ("mean", "min", "max")]


def _is_rate_inverse_of_interval(cells: Cells) -> bool:
    interval_ms, per_s = cells["interval_mean"], cells["offered" if "offered" in cells else "rate"]
    return bool(abs(interval_ms * per_s / 1000 - 1) <= 0.001 * per_s / 1000 + 0.1 * interval_ms / 1000 + 1e-9)


_SECONDS = LineRule(
    fields=(
        Field.counted("messages_sent", "sent"),
        Field.counted("messages_received", "received"),
        Field.counted("messages_lost", "lost"),
        *_milliseconds("interval_per_message", "interval"),
        Field("offered_rate", "mean", "offered"),
        Field("message_rate", "mean", "rate"),
        *_milliseconds("send_call", "sending"),
    ),
    record=Record(test="throughput", payload_bytes=None, numbers=(), scope="interval", conditions=Conditions(definition="ecal-perftool")),
    checks=(Check("the rate of this line is not the inverse of its interval", _is_rate_inverse_of_interval),),
    size=None,
    other=(
        re.compile(
            rf"{_BEGIN}(?P<received>{_COUNT}) \| lost: *(?:(?P<lost>[0-9]{{1,18}})|\?\?\?) \| msg_dt\(ms\){_spread('interval')}"
            rf" \| msg_freq\(Hz\): *(?P<rate>{_RATE})"
        ),
        re.compile(
            rf"{_BEGIN}(?P<sent>{_COUNT}) \| loop_dt\(ms\){_spread('interval')} \| loop_freq\(Hz\): *(?P<offered>{_RATE})"
            rf" \| snd_dt\(ms\){_spread('sending')}"
        ),
        re.compile(  # the form that versions of 2023 print
            rf"{_BEGIN}(?P<sent>{_COUNT}) \| mean_loop_dt \(ms\): *(?P<interval_mean>{_TIME}) \| loop_freq \(Hz\): *(?P<offered>{_RATE})"
            rf" \| mean_snd_dt \(ms\): *(?P<sending_mean>{_TIME})"
        ),
    ),
)
_TOPICS = LineRule(
    fields=(Field("offered_rate", "mean", "offered"), Field("message_rate", "mean", "rate")),
    record=_OF_TOPICS,
    size=None,
    other=(
        re.compile(rf"pub {{1,4}}[0-9]{{1,9}}: {{1,10}}(?P<offered>{_COUNT}) Msg/s"),
        re.compile(rf"sub {{1,4}}[0-9]{{1,9}}: {{1,10}}(?P<rate>{_COUNT}) Msg/s"),
    ),
)


def one_liner(line: Line) -> Finding | None:
    """Return the record of a line that is a complete result; ``None`` for other lines."""
    topic = _TOPICS.match(line.text)
    if topic is None and not _PERFTOOL.match(line.text):
        return None
    if not line.whole:
        return Finding(line, Broken("the log ends within this line"))
    what = _TOPICS.read(line.text) if topic else _SECONDS.read(line.text)
    if isinstance(what, Record):
        what = msgspec.structs.replace(
            what,
            side="publisher" if what.number("offered_rate", "mean") else "subscriber",
            participant=" ".join(line.text.partition(":")[0].split()) if topic else None,
        )
    return Finding(line, what or Broken("a line of perftool that is cut short or garbled"))
