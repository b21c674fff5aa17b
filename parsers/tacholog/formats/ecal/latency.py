"""The blocks of eCAL's latency samples: sender and receiver, C++ from 5.3 on, and Python.

Source: the printers of ``latency_snd`` and ``latency_rec`` in eCAL 5.3.4 to 6.2, see tacholog.formats.ecal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tacholog.formats.ecal.rows import BlockForm, Cells, RowForm
from tacholog.formats.kit import MICROSECOND, Broken, Conditions, Facts, Number, Record, counted, impossible, printed, settings_text

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


def first_number(cell: str) -> int:
    """The whole number that a cell starts with."""
    return int(cell.split(" ", 1)[0])


def _received_only(cells: Cells) -> Record | Broken:
    """A block of which only the count was printed, because hardly more messages than the warm-up's came."""
    if int(cells["received"]) > MOST_WARM_UPS:
        return Broken("the block ends before its last row")
    numbers = (counted("messages_received", int(cells["received"])),)
    return Record(test="latency", payload_bytes=None, numbers=numbers, side="subscriber", conditions=Conditions(definition="ecal-few-received"))


def _received(cells: Cells) -> Record | Broken:
    received, size = int(cells["received"]), first_number(cells["size"])
    mean, smallest, largest = (first_number(cells[key]) for key in ("mean", "min", "max"))
    placed = all(int(cells[key].rpartition(" ")[2]) < received for key in ("min", "max"))
    units = next((units for units in _RATE_UNITS if _has_units(cells, units)), None)
    if not placed or not smallest <= mean <= largest or units is None:
        return Broken("the rows of this block contradict each other")
    if (rate := _size_over_latency(cells, size, mean)) is None:
        return Broken("the throughput of this block is not its size over its latency")
    times = (("mean", mean), ("min", smallest), ("max", largest))
    definition = "ecal-5.10-one-way" if units == _RATE_UNITS[0] else "ecal-5.12-one-way"
    return Record(
        test="latency",
        payload_bytes=size * KILOBYTE or None,
        numbers=(
            *(printed("latency", name, value * MICROSECOND, MICROSECOND) for name, value in times),
            rate,
            counted("messages_received", received),
        ),
        samples=received,
        side="subscriber",
        conditions=Conditions(basis="one-way", definition=definition),
    )


def _reflected(cells: Cells) -> Record | Broken:
    """The receiver of 5.3 to 5.9, and the one in Python, which sent each message back."""
    python = "messages" in cells
    received = next((int(cells[key]) for key in ("messages", "packages") if key in cells), None)
    size, mean = first_number(cells.get("size") or cells.get("old_size", "0")), first_number(cells["mean"])
    if not _has_units(cells, _PYTHON_UNITS if python else _RATE_UNITS[0]) or not _counted_as_it_should(cells, received):
        return Broken("the rows of this block contradict each other")
    if (rate := _size_over_latency(cells, size, mean)) is None:
        return Broken("the throughput of this block is not its size over its latency")
    return Record(
        test="latency",
        payload_bytes=size * KILOBYTE or None,
        numbers=(printed("latency", "mean", mean * MICROSECOND, MICROSECOND), rate, *_counts(received)),
        samples=received,
        side="subscriber",
        conditions=Conditions(basis="one-way", definition="ecal-python-one-way" if python else "ecal-5.3-one-way"),
    )


def _counted_as_it_should(cells: Cells, received: int | None) -> bool:
    """The oldest receiver printed no count, all others do."""
    return received is None if "old_size" in cells else bool(received)


def _counts(received: int | None) -> Iterator[Number]:
    if received is not None:
        yield counted("messages_received", received)


def _has_units(cells: Cells, units: list[str]) -> bool:
    """Whether the rows of the throughput have these units; the last row may have been cut off."""
    found = [cells[key].partition(" ")[2] for key in _RATE_KEYS if key in cells]
    return found == units[: len(found)]


def _size_over_latency(cells: Cells, size: int, mean: int) -> Number | None:
    """What eCAL calls throughput, from its finest row; ``None`` if the rows do not belong together."""
    text, unit = cells["rate"].split(" ")
    rate, unit_bytes = float(text), _RATE_BYTES[unit]
    resolution = unit_bytes * 8 * (0.01 if "." in text else 1.0)
    number = printed("size_over_latency", "mean", round(rate * unit_bytes * 8, 3), resolution, ("derived",))
    if rate < 0 or mean < 0:
        return number
    lowest = max(size - 1, 0) * KILOBYTE / unit_bytes * 1e6 / (mean + 1)
    highest = (size + 1) * KILOBYTE / unit_bytes * 1e6 / mean if mean else float("inf")
    coarser = float(cells["rate2"].split(" ")[0])
    same = lowest - 1 <= rate <= highest + 1 and abs(coarser - rate / KILOBYTE) <= 1
    return number if same else None


def _round_trip(cells: Cells) -> Record | Broken:
    runs, size, mean = int(cells["runs"]), first_number(cells["size"]), first_number(cells["mean"])
    lost_after = first_number(cells["lost"]) if "lost" in cells else None  # Without that row, all runs asked for were made: that is not printed.
    sent = runs if lost_after is None else lost_after
    if not 0 < sent <= runs:
        return Broken("more messages than were asked for")
    lost = 0 if lost_after is None else 1
    only_the_lost = sent == lost
    time = printed("latency", "mean", mean * MICROSECOND, MICROSECOND)
    return Record(
        test="latency",
        payload_bytes=size * KILOBYTE or None,
        numbers=(
            impossible("latency", "mean") if only_the_lost else time,
            counted("messages_sent", sent) if lost else Number(metric="messages_sent", statistic="total", value=float(sent), marks=("derived",)),
            *([counted("messages_lost", lost)] if lost else []),
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

    def _read(self, cells: Cells) -> Record | Broken:
        runs, sent, size = int(cells["runs"]), int(cells["sent"]), first_number(cells["size"])
        if sent > runs:
            return Broken("more messages than were asked for")
        if _needed(cells) - cells.keys():
            return Broken("a row of this block is missing or out of place")
        size_bytes = size * (KILOBYTE if cells["size"].endswith("kB") else 1)
        frequency = cells.get("frequency", "as")
        stated = Conditions(
            data_path={"ON": "zero-copy", "OFF": "copy"}.get(cells.get("zero_copy", "")),  # type: ignore[arg-type]
            offered_rate_per_s=None if frequency.startswith("as") else float(frequency.split(" ")[0]) or None,
            settings=_settings(cells),
        )
        self._conditions.add(stated)
        for key in ("frequency", "runs"):
            self._environments.setdefault(f"ecal_{key}", set()).add(cells.get(key, ""))
        return Record(
            test="latency",
            payload_bytes=size_bytes or None,
            numbers=(counted("messages_sent", sent),),
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


def _settings(cells: Cells) -> str | None:
    """The pause between messages, and how many memory buffers a publisher has."""
    return settings_text({key: cells[key] for key in ("buffers", "delay") if key in cells})


def _needed(cells: Cells) -> set[str]:
    """The rows that a sender's block has besides runs and size: the first of them printed zero copy only where it was on."""
    if cells["size"].endswith(" B"):
        return {"buffers", "frequency", "zero_copy"}
    return {"buffers", "zero_copy"} if "delay" not in cells or "buffers" in cells else set()
