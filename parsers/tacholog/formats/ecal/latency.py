"""The blocks of eCAL's latency samples: sender and receiver, C++ from 5.3 on, and Python.

Source: the printers of ``latency_snd`` and ``latency_rec`` in eCAL 5.3.4 to 6.2, see tacholog.formats.ecal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tacholog.formats.ecal.rows import BlockForm, BlockValues, RowForm
from tacholog.formats.kit import MICROSECOND, Broken, Conditions, Facts, Number, Record, counted, impossible, settings_text

KILOBYTE = 1024
MOST_WARM_UPS = 100
COUNT = re.compile(r"[0-9]{1,18}")
_KILOBYTES = re.compile(r"[0-9]{1,15} kB")
_SIZE = re.compile(r"[0-9]{1,15} k?B")
TIME = re.compile(r"-?[0-9]{1,15} us")
PLACED_TIME = re.compile(r"-?[0-9]{1,15} us @ [0-9]{1,18}")
_RATE = re.compile(r"-?[0-9]{1,15}(?:\.[0-9][0-9])? ([kMG]B/s|k?[Mm]sg/s)")
_RATE_BEGUN = re.compile(r"-?(?:[0-9]{1,15}(?:\.[0-9]{0,2})?(?: [kMmsg/]{1,6})?)?")
_RATE_BYTES = {"kB/s": 1 << 10, "MB/s": 1 << 20}
_RATE_UNITS = (["kB/s", "MB/s", "Msg/s"], ["MB/s", "GB/s", "kMsg/s"])
_PYTHON_UNITS = ["kB/s", "MB/s", "msg/s"]
_RATE_KEYS = ("rate", "rate2", "rate3")


def latency(cells: BlockValues, statistic: str) -> Number:
    """The latency under the key of its statistic, in whole microseconds."""
    return cells.printed("latency", statistic, statistic, MICROSECOND)


def _received_only(cells: BlockValues) -> Record | Broken:
    """A block of which only the count was printed, because hardly more messages than the warm-up's came."""
    if cells.whole("received") > MOST_WARM_UPS:
        return Broken("the block ends before its last row")
    numbers = (cells.counted("messages_received", "received"),)
    return Record(test="latency", payload_bytes=None, numbers=numbers, side="subscriber", conditions=Conditions(definition="ecal-few-received"))


def _received(cells: BlockValues) -> Record | Broken:
    received, size, mean, smallest, largest = (cells.whole(key) for key in ("received", "size", "mean", "min", "max"))
    placed = all(int(cells.word(key, 1)) < received for key in ("min", "max"))
    units = next((units for units in _RATE_UNITS if _has_units(cells, units)), None)
    if not placed or not smallest <= mean <= largest or units is None:
        return Broken("the rows of this block contradict each other")
    if (rate := _size_over_latency(cells, size, mean)) is None:
        return Broken("the throughput of this block is not its size over its latency")
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
    """The receiver of 5.3 to 5.9, and the one in Python, which sent each message back."""
    python = "messages" in cells
    counted_in = next((key for key in ("messages", "packages") if key in cells), None)
    received = cells.whole(counted_in) if counted_in else None
    size = next((cells.whole(key) for key in ("size", "old_size") if key in cells), 0)
    is_counted = received is None if "old_size" in cells else bool(received)  # The oldest receiver printed no count, all others do.
    if not _has_units(cells, _PYTHON_UNITS if python else _RATE_UNITS[0]) or not is_counted:
        return Broken("the rows of this block contradict each other")
    if (rate := _size_over_latency(cells, size, cells.whole("mean"))) is None:
        return Broken("the throughput of this block is not its size over its latency")
    return Record(
        test="latency",
        payload_bytes=size * KILOBYTE or None,
        numbers=(latency(cells, "mean"), rate, *([cells.counted("messages_received", counted_in)] if counted_in else [])),
        samples=received,
        side="subscriber",
        conditions=Conditions(basis="one-way", definition="ecal-python-one-way" if python else "ecal-5.3-one-way"),
    )


def _has_units(cells: BlockValues, units: list[str]) -> bool:
    """Whether the rows of the throughput have these units; the last row may have been cut off."""
    found = [cells[key].partition(" ")[2] for key in _RATE_KEYS if key in cells]
    return found == units[: len(found)]


def _size_over_latency(cells: BlockValues, size: int, mean: int) -> Number | None:
    """What eCAL calls throughput, from its finest row; ``None`` if the rows do not belong together."""
    text, unit = cells["rate"].split(" ")
    rate, unit_bytes = float(text), _RATE_BYTES[unit]
    resolution = unit_bytes * 8 * (0.01 if "." in text else 1.0)
    number = cells.printed("size_over_latency", "mean", "rate", unit_bytes * 8, resolution=resolution, places=3, marks=("derived",))
    if rate < 0 or mean < 0:
        return number
    lowest = max(size - 1, 0) * KILOBYTE / unit_bytes * 1e6 / (mean + 1)
    highest = (size + 1) * KILOBYTE / unit_bytes * 1e6 / mean if mean else float("inf")
    coarser = float(cells.word("rate2"))
    same = lowest - 1 <= rate <= highest + 1 and abs(coarser - rate / KILOBYTE) <= 1
    return number if same else None


def _round_trip(cells: BlockValues) -> Record | Broken:
    lost = int("lost" in cells)
    sent = cells.whole("lost" if lost else "runs")
    if not 0 < sent <= cells.whole("runs"):
        return Broken("more messages than were asked for")
    all_made = Number(metric="messages_sent", statistic="total", value=float(sent), marks=("derived",))  # Of which no row says so.
    return Record(
        test="latency",
        payload_bytes=cells.whole("size") * KILOBYTE or None,
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
        RowForm("rate", ("Throughput",), _RATE),
        RowForm("rate2", ("",), _RATE),
        RowForm("rate3", ("",), _RATE, begun=_RATE_BEGUN),
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
        RowForm("rate", ("Throughput",), _RATE),
        RowForm("rate2", ("", "Throughput"), _RATE),
        RowForm("rate3", ("", "Throughput"), _RATE, begun=_RATE_BEGUN),
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
    """The blocks of one-way senders, and what all of them have in common: that is what the log says of its run."""

    def __init__(self) -> None:
        """Start without a sender."""
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
        if cells.whole("sent") > cells.whole("runs"):
            return Broken("more messages than were asked for")
        if _needed(cells) - cells.keys():
            return Broken("a row of this block is missing or out of place")
        size_bytes = cells.whole("size") * (KILOBYTE if cells["size"].endswith("kB") else 1)
        frequency = cells.get("frequency", "as")
        stated = Conditions(
            data_path={"ON": "zero-copy", "OFF": "copy"}.get(cells.get("zero_copy", "")),  # type: ignore[arg-type]
            offered_rate_per_s=None if frequency.startswith("as") else float(cells.word("frequency")) or None,
            settings=_settings(cells),
        )
        self._conditions.add(stated)
        for key in ("frequency", "runs"):
            self._environments.setdefault(f"ecal_{key}", set()).add(str(cells.get(key, "")))
        return Record(
            test="latency",
            payload_bytes=size_bytes or None,
            numbers=(cells.counted("messages_sent", "sent"),),
            side="publisher",
            conditions=Conditions(definition="ecal-sent").over(stated),
        )

    def common(self) -> Iterator[Facts]:
        """What every block of the log says alike."""
        if not self._conditions:
            return
        first, *others = self._conditions
        alike = {name: getattr(first, name) for name in ("data_path", "offered_rate_per_s", "settings")}
        alike = {name: value for name, value in alike.items() if all(getattr(other, name) == value for other in others)}
        environment = {key: value for key, values in self._environments.items() if len(values) == 1 for value in values if value}
        yield Facts(conditions=Conditions(**alike), environment=environment)


def _settings(cells: BlockValues) -> str | None:
    """The pause between messages, and how many memory buffers a publisher has."""
    return settings_text({key: cells[key] for key in ("buffers", "delay") if key in cells})


def _needed(cells: BlockValues) -> set[str]:
    """The rows that a sender's block has besides runs and size: the first of them printed zero copy only where it was on."""
    if cells["size"].endswith(" B"):
        return {"buffers", "frequency", "zero_copy"}
    return {"buffers", "zero_copy"} if "delay" not in cells or "buffers" in cells else set()
