"""eCAL's other measuring samples: performance, throughput in one process, service calls, many topics, and perftool.

Source: the printers of ``performance_snd``, ``performance_rec``, ``pubsub_throughput``, ``latency_client``, ``multiple_snd``, ``multiple_rec`` and
``perftool``, see tacholog.formats.ecal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tacholog.formats.ecal.latency import COUNT, KILOBYTE, PLACED_TIME, TIME, first_number
from tacholog.formats.ecal.rows import BlockForm, Cells, RowForm
from tacholog.formats.kit import MICROSECOND, Broken, Conditions, Found, Line, Number, Record, Side, counted, printed, unit_of_last_place

_MEGABYTE = KILOBYTE * KILOBYTE
_STREAMED = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,12})?(?:e[+-][0-9][0-9])?")
_WHOLE_MEGABYTES = re.compile(r"[0-9]{1,18} MB")
_LOST = re.compile(rf"[0-9]{{1,20}} bytes \([0-9]{{1,20}} MB, {_STREAMED.pattern} %\)")
_MILLISECOND = 1e6


def _performance(cells: Cells) -> Record | Broken:
    size, kilobytes, megabytes, messages = (int(cells[key]) for key in ("size", "kbyte", "mbyte", "messages"))
    interval_us = float(cells["interval"])
    inverse = interval_us > 0 and abs(messages - 1e6 / interval_us) <= 1 + 1e-4 * messages
    of_the_size = size * messages <= kilobytes + 1 <= (size + 1) * (messages + 1) + 1
    if not inverse or not of_the_size or megabytes != kilobytes // KILOBYTE:
        return Broken("the rates of this block do not belong to its size and interval")
    receiver = "topic" in cells or "message" in cells
    return Record(
        test="throughput",
        payload_bytes=size * KILOBYTE or None,
        numbers=(
            printed("interval_per_message", "mean", round(interval_us * MICROSECOND, 6), unit_of_last_place(interval_us * MICROSECOND), ("derived",)),
            *(_received_rates(kilobytes, messages) if receiver else ()),
        ),
        scope="interval",
        side="subscriber" if receiver else None,
        participant=cells.get("topic"),
        conditions=Conditions(definition="ecal-performance"),
    )


def _received_rates(kilobytes: int, messages: int) -> Iterator[Number]:
    yield printed("message_rate", "mean", float(messages), 1.0)
    yield printed("goodput", "mean", kilobytes * KILOBYTE * 8.0, KILOBYTE * 8.0)


def _in_one_process(cells: Cells) -> Record | Broken:
    elapsed, sent, received, rate = float(cells["elapsed"][:-2]), *(first_number(cells[key]) for key in ("sent", "received", "rate"))
    if elapsed <= 0 or abs(rate - sent / elapsed) > 2 + rate * 1e-4 or first_number(cells["rate2"]) != rate // KILOBYTE:
        return Broken("the rows of this block contradict each other")
    return Record(
        test="throughput",
        payload_bytes=None,
        numbers=(
            printed("duration", "total", round(elapsed * 1e9), unit_of_last_place(elapsed) * 1e9),
            printed("bytes_sent", "total", float(sent * _MEGABYTE), float(_MEGABYTE)),
            printed("bytes_received", "total", float(received * _MEGABYTE), float(_MEGABYTE)),
            *_lost(cells["lost"], sent),
            printed("offered_goodput", "mean", float(rate * _MEGABYTE * 8), float(_MEGABYTE * 8)),
        ),
        side="both",
        conditions=Conditions(
            transport=cells["layer"].removesuffix(" ZERO-COPY"),
            data_path="zero-copy" if cells["layer"].endswith(" ZERO-COPY") else "copy",
            definition="ecal-pubsub-throughput",
        ),
    )


def _lost(cell: str, sent: int) -> Iterator[Number]:
    """Bytes lost and their share: where more came than was counted as sent, the tool prints a count below zero as a huge one."""
    words = cell.replace("(", "").replace("%)", "").split()
    lost_bytes, percent = int(words[0]), float(words[4])
    impossible = lost_bytes // _MEGABYTE > sent
    marks = ("impossible",) if impossible else ()
    yield Number(metric="bytes_lost", statistic="total", value=None if impossible else float(lost_bytes), marks=marks)
    yield Number(metric="loss", statistic="total", value=None if impossible else round(percent / 100, 8), marks=marks)


def _service(cells: Cells) -> Record | Broken:
    calls, rate = int(cells["calls"]), first_number(cells["rate"])
    mean, smallest, largest = (first_number(cells[key]) for key in ("mean", "min", "max"))
    if not smallest <= mean <= largest or (mean > 0 and not 1e6 / (mean + 1) - 1 <= rate <= 1e6 / mean + 1):
        return Broken("the rows of this block contradict each other")
    return Record(
        test="latency",
        payload_bytes=None,
        numbers=(
            *(printed("latency", name, value * MICROSECOND, MICROSECOND) for name, value in (("mean", mean), ("min", smallest), ("max", largest))),
            printed("call_rate", "mean", float(rate), 1.0, ("derived",)),
        ),
        samples=calls,
        side="publisher",
        conditions=Conditions(basis="rtt", load_mode="closed", definition="ecal-service-rtt"),
    )


def _sum(cells: Cells) -> Record | Broken:
    rate, thousands, millions = (first_number(cells[key]) for key in ("sum", "sum2", "sum3"))
    if thousands != rate // 1000 or millions != rate // 1_000_000:
        return Broken("the three sums are not of one second")
    return _topics_rate("all topics", rate, None)


def _topics_rate(participant: str, rate: int, side: Side | None) -> Record:
    metric = "offered_rate" if side == "publisher" else "message_rate"
    return Record(
        test="throughput",
        payload_bytes=None,
        numbers=(printed(metric, "mean", float(rate), 1.0),),
        scope="interval",
        side=side,
        participant=participant,
        conditions=Conditions(definition="ecal-multiple"),
    )


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

_TIME = r"[0-9]{1,9}\.[0-9]{3}"
_STATISTICS = rf" mean: *({_TIME}) \[ *({_TIME}), *({_TIME})\]"
_TOPIC = re.compile(r"(pub|sub) {1,4}([0-9]{1,9}): {1,10}([0-9]{1,15}) Msg/s")
_PERFTOOL = re.compile(r"\[ *[0-9]{1,12}\.[0-9]{3}\] \| cnt:")
_PUBLISHED = re.compile(
    rf"\[[ 0-9.]+\] \| cnt: *([0-9]{{1,15}}) \| loop_dt\(ms\){_STATISTICS} \| loop_freq\(Hz\): *([0-9]{{1,12}}\.[0-9]) \| snd_dt\(ms\){_STATISTICS}"
)
_SUBSCRIBED = re.compile(
    rf"\[[ 0-9.]+\] \| cnt: *([0-9]{{1,15}}) \| lost: *([0-9]{{1,18}}|\?\?\?) \| msg_dt\(ms\){_STATISTICS} \| msg_freq\(Hz\): *([0-9]{{1,12}}\.[0-9])"
)
_EARLY = re.compile(
    rf"\[[ 0-9.]+\] \| cnt: *([0-9]{{1,15}}) \| mean_loop_dt \(ms\): *({_TIME}) \| loop_freq \(Hz\): *([0-9]{{1,12}}\.[0-9])"
    rf" \| mean_snd_dt \(ms\): *({_TIME})"
)


def one_liner(line: Line) -> Found | None:
    """The record of a line that stands for itself, if it is one."""
    if topic := _TOPIC.fullmatch(line.text):
        what = _topics_rate(f"{topic[1]} {topic[2]}", int(topic[3]), "publisher" if topic[1] == "pub" else "subscriber")
        return Found(line, what if line.whole else Broken("the log ends within this line"))
    if _PERFTOOL.match(line.text):
        return Found(line, _second(line))
    return None


def _second(line: Line) -> Record | Broken:
    if not line.whole:
        return Broken("the log ends within this line")
    if found := _SUBSCRIBED.fullmatch(line.text):
        count, lost, *times, rate = found.groups()
        losses = [] if lost == "???" else [counted("messages_lost", int(lost))]
        numbers = (counted("messages_received", int(count)), *losses, *_intervals(times), printed("message_rate", "mean", float(rate), 0.1))
        return _perftool("subscriber", numbers, times[0], rate)
    if found := _PUBLISHED.fullmatch(line.text):
        count, *times, rate, mean, smallest, largest = found.groups()
        sending = _times("send_call", (mean, smallest, largest))
        numbers = (counted("messages_sent", int(count)), *_intervals(times), printed("offered_rate", "mean", float(rate), 0.1), *sending)
        return _perftool("publisher", numbers, times[0], rate)
    if found := _EARLY.fullmatch(line.text):
        count, interval, rate, sending_time = found.groups()
        numbers = (
            counted("messages_sent", int(count)),
            *_intervals([interval]),
            printed("offered_rate", "mean", float(rate), 0.1),
            *_times("send_call", (sending_time,)),
        )
        return _perftool("publisher", numbers, interval, rate)
    return Broken("a line of perftool that is cut short or garbled")


def _intervals(times: Sequence[str]) -> Iterator[Number]:
    return _times("interval_per_message", times)


def _times(metric: str, times: Sequence[str]) -> Iterator[Number]:
    for statistic, time in zip(("mean", "min", "max"), times, strict=False):
        yield printed(metric, statistic, float(round(float(time) * _MILLISECOND)), MICROSECOND)


def _perftool(side: Side, numbers: tuple[Number, ...], interval: str, rate: str) -> Record | Broken:
    interval_ms, per_s = float(interval), float(rate)
    if abs(interval_ms * per_s / 1000 - 1) > 0.001 * per_s / 1000 + 0.1 * interval_ms / 1000 + 1e-9:
        return Broken("the rate of this line is not the inverse of its interval")
    return Record(
        test="throughput",
        payload_bytes=None,
        numbers=numbers,
        scope="interval",
        side=side,
        conditions=Conditions(definition="ecal-perftool"),
    )
