"""eCAL's other measuring samples: performance, throughput in one process, service calls, many topics, and perftool.

Source: the printers of ``performance_snd``, ``performance_rec``, ``pubsub_throughput``, ``latency_client``, ``multiple_snd``, ``multiple_rec`` and
``perftool``, see tacholog.formats.ecal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from tacholog.formats.ecal.latency import COUNT, KILOBYTE, PLACED_TIME, TIME, latency
from tacholog.formats.ecal.rows import BlockForm, BlockValues, RowForm
from tacholog.formats.kit import (
    MICROSECOND,
    Broken,
    Cells,
    Check,
    Conditions,
    Field,
    Finding,
    Line,
    LineRule,
    Number,
    Record,
    counted,
    impossible,
    unit_of_last_place,
)

_MEGABYTE = KILOBYTE * KILOBYTE
_STREAMED = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,12})?(?:e[+-][0-9][0-9])?")
_WHOLE_MEGABYTES = re.compile(r"[0-9]{1,18} MB")
_LOST = re.compile(rf"[0-9]{{1,20}} bytes \([0-9]{{1,20}} MB, {_STREAMED.pattern} %\)")


def _performance(cells: BlockValues) -> Record | Broken:
    size, kilobytes, megabytes, messages = (cells.whole(key) for key in ("size", "kbyte", "mbyte", "messages"))
    interval_us = float(cells["interval"])
    inverse = interval_us > 0 and abs(messages - 1e6 / interval_us) <= 1 + 1e-4 * messages
    of_the_size = size * messages <= kilobytes + 1 <= (size + 1) * (messages + 1) + 1
    if not inverse or not of_the_size or megabytes != kilobytes // KILOBYTE:
        return Broken("the rates of this block do not belong to its size and interval")
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
    elapsed, sent, rate = float(cells.word("elapsed")), cells.whole("sent"), cells.whole("rate")
    if elapsed <= 0 or abs(rate - sent / elapsed) > 2 + rate * 1e-4 or cells.whole("rate2") != rate // KILOBYTE:
        return Broken("the rows of this block contradict each other")
    return Record(
        test="throughput",
        payload_bytes=None,
        numbers=(
            cells.printed("duration", "total", "elapsed", 1e9, resolution=unit_of_last_place(elapsed) * 1e9, places=0),
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
    """Bytes lost and their share: where more came than was counted as sent, the tool prints a count below zero as a huge one."""
    lost, percent = cells.word("lost"), cells.word("lost", 2)
    if int(lost) // _MEGABYTE > cells.whole("sent"):
        yield impossible("bytes_lost", cell=lost)
        yield impossible("loss", cell=percent)
    else:
        yield counted("bytes_lost", int(lost), cell=lost)
        share = round(float(percent) / 100, 8)
        yield Number(metric="loss", statistic="total", value=share, line=percent.line, value_start=percent.start, value_end=percent.end)


def _service(cells: BlockValues) -> Record | Broken:
    rate, mean, smallest, largest = (cells.whole(key) for key in ("rate", "mean", "min", "max"))
    if not smallest <= mean <= largest or (mean > 0 and not 1e6 / (mean + 1) - 1 <= rate <= 1e6 / mean + 1):
        return Broken("the rows of this block contradict each other")
    return Record(
        test="latency",
        payload_bytes=None,
        numbers=(
            *(latency(cells, statistic) for statistic in ("mean", "min", "max")),
            cells.printed("call_rate", "mean", "rate", 1.0, marks=("derived",)),
        ),
        samples=cells.whole("calls"),
        side="publisher",
        conditions=Conditions(basis="rtt", load_mode="closed", definition="ecal-service-rtt"),
    )


_OF_TOPICS = Record(test="throughput", payload_bytes=None, numbers=(), scope="interval", conditions=Conditions(definition="ecal-multiple"))


def _sum(cells: BlockValues) -> Record | Broken:
    if cells.whole("sum2") != cells.whole("sum") // 1000 or cells.whole("sum3") != cells.whole("sum") // 1_000_000:
        return Broken("the three sums are not of one second")
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


def _is_inverse(cells: Cells) -> bool:
    """Whether the rate is one over the interval, but for their rounding."""
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
    checks=(Check("the rate of this line is not the inverse of its interval", _is_inverse),),
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
        re.compile(  # as in 2023
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
    """The record of a line that stands for itself, if it is one."""
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
