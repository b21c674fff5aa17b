"""qperf: a block for each test, with its name and a row for each figure: one row by default, about thirty rows with -vv.

As printed with -v, with values right-aligned to the widest name and value of their block::

    tcp_lat:
        latency        =  2.31 us
        msg_rate       =   432 K/sec
        msg_size       =   100 bytes
        time           =     2 sec
        loc_cpus_used  =   199 % cpus
        rem_cpus_used  =   199 % cpus

Units scale by 1000, up to a largest unit; with -uu, nothing is scaled. Sizes that are multiples of 1024 are printed in units of 1024, followed by the
number of bytes. Other sizes above 999 are rounded like all figures. Such a size is used as the requested size only if it is a round number. Rows with
the value 0 are not printed. The tool does not mark the end of a block. A block is complete if its columns are as narrow as its rows allow, and both
sides report the same kinds of figures.

Conditions are the kind of operation, from the name of the test (as part of the transport for operations other than sending, as in ``RDMA RC read``,
and as part of the definition for both directions at once), the size, the time, and as settings the parameters that change how messages are sent:
``affinity``, ``cq_poll``, ``sock_buf_size`` and so on, where -vv prints them. Parameters that only connect the two sides (ports, kind of connection,
timeout) are no conditions and are ignored. The machines that ``conf`` names are environment.
Source: the printing functions of qperf 0.4.11, and logs recorded with it; samples in tests/formats/qperf/.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from tacholog.formats.kit import (
    Basis,
    Broken,
    Cell,
    Conditions,
    Detected,
    Dialect,
    Facts,
    Finding,
    Line,
    LoadMode,
    Number,
    Record,
    States,
    impossible,
    settings_text,
)

SYSTEM = "Sockets"
TOOL = "qperf"
DIALECTS = (Dialect("0.4", "0.4", "real logs of 0.4.11"),)
DEFINITIONS = {
    "qperf-latency": "Time of the test, divided by the messages that both sides received in a ping-pong with one message outstanding: the mean of "
    "half a round trip. No other statistic of the latency is measured. The message rate is its reciprocal.",
    "qperf-one-sided": "Time of the test, divided by its operations. The remote side takes no part in them.",
    "qperf-bandwidth": "Received message bytes, divided by the time of the test. If the tool says 'send', sent message bytes are counted instead.",
    "qperf-both-ways": "Message bytes of both directions together, divided by the time of the test.",
}
STATES = {
    "latency": States(always="transport load_mode basis definition", sometimes="settings planned_duration_s payload_bytes tool_version"),
    "throughput": States(always="transport load_mode definition", sometimes="settings planned_duration_s payload_bytes tool_version"),
}

_TEST = re.compile(
    r"[ \t]{0,40}+(?P<test>conf|quit|(?:tcp|udp|sctp|sdp|rds)_(?:bw|lat)|(?:rc|uc|ud|xrc)_(?:bi_)?(?:bw|lat)|"
    r"(?:rc|uc)_rdma_(?:read|write|write_poll)_(?:bw|lat)|rc_(?:compare_swap|fetch_add)_mr|ver_rc_(?:compare_swap|fetch_add)):"
)
_LIKE_TEST = re.compile(r"[^ \t]{1,40}")  # A line that matches may be a damaged name of a test. All other unknown lines are ignored.
_ERROR = re.compile(
    r"server: ?.{0,200}|(?:[\w.:-]{1,64}: )?(?:failed to|unable to|cannot|could not) .{1,200}|"
    r"[\w ]{1,40} failed(?:: .{1,200})?|.{0,40}timed out.{0,80}|\w{1,40}: bad test; try: qperf --help tests"
)
_TRANSPORTS = {"tcp": "TCP", "udp": "UDP", "sctp": "SCTP", "sdp": "SDP", "rds": "RDS"}
_VERBS = (
    *(("rdma_read", "read"), ("rdma_write_poll", "write, polled"), ("rdma_write", "write")),
    *(("compare_swap", "compare and swap"), ("fetch_add", "fetch and add")),
)
_HEADLINE_ROWS = {"lat": {"latency"}, "bw": {"bw", "send_bw"}}
_RDMA = {"rc": "RDMA RC", "uc": "RDMA UC", "ud": "RDMA UD", "xrc": "RDMA XRC", "ver": "RDMA RC"}
_ROWS = 100
_LAST_MESSAGES = 2  # The number of messages that may be on their way when the test ends.
_LATE_SHARE = 0.001
_TICK_NS = 1e7  # the length of a clock tick of times(2), with which qperf measures times


def detect(head: str) -> Detected:
    """Return whether the head has a line that is the name of a test and a colon."""
    named = any(_TEST.fullmatch(line.rstrip("\r")) for line in head.split("\n", 2000)[:2000])
    return Detected(named, wants="a line that is the name of a test and a colon, as in 'tcp_lat:'")


def parse(lines: Iterable[Line]) -> Iterator[Finding]:
    """Yield a record for each test. The machines of ``conf`` are facts about the run; if a test has no rows, the run has failed."""
    block = _FigureBlock()
    for line in lines:
        if _TEST.fullmatch(line.text):
            yield from block.close()
            block.open(line)
        elif _LIKE_ROW.match(line.text):
            yield from block.take(line)
        elif _ERROR.fullmatch(line.text):
            yield from block.close()
            yield Finding(line, Facts(status="failed", reason=line.text.removeprefix("server:").strip() or None))
        elif not line.text.strip():
            yield Finding(line, None)
        elif _LIKE_TEST.fullmatch(line.text):
            yield from block.close()
    yield from block.close()


class _FigureBlock:
    """A test and the rows of this test that have been read so far. Rows with unknown names are not used for the result."""

    def __init__(self) -> None:
        self._header: Line | None = None
        self._rows: list[FigureRow] = []
        self._lines: list[Line] = []
        self._garbled = False

    def open(self, line: Line) -> None:
        self._header, self._rows, self._lines, self._garbled = line, [], [], False

    def take(self, line: Line) -> Iterator[Finding]:
        if self._header is None:
            yield Finding(line, Broken("a row without its test"))
            return
        self._lines.append(line)
        if row := read_row(line):
            self._rows.append(row)
        else:
            self._garbled = True
        if len(self._lines) > _ROWS:
            self._garbled = True
            yield from self.close()

    def close(self) -> Iterator[Finding]:
        header, self._header = self._header, None
        if header is None:
            return
        test = header.text.strip(" \t:")
        if not self._lines:
            yield Finding(header, None if test == "quit" else Facts(status="failed", reason=f"{test} gave no figures"))
        elif self._garbled or not is_whole(self._rows):
            yield Finding(header, Broken("rows of this test are missing or garbled, or belong to another test"), tuple(self._lines))
        elif test == "conf":
            yield Finding(header, None)
            for row in self._rows:
                yield Finding(row.line, _machine(row))
        else:
            known_rows = [row for row in self._rows if row.name in KNOWN]
            yield Finding(header, _record(test, known_rows), tuple(row.line for row in known_rows))


def _machine(row: FigureRow) -> Facts:
    version = row.text.strip() if row.name == "loc_qperf" else None
    return Facts(tool_version=version, system_version=version, environment={row.name: row.text.strip()})


def _record(test: str, rows: list[FigureRow]) -> Record | Broken:
    by_name = {row.name: row for row in rows}
    headlines = {row.name for row in rows[:1]} & _HEADLINE_ROWS.get(test.rpartition("_")[2], {"msg_rate"})
    if test == "quit" or not headlines or not in_order(rows):
        return Broken("a test without its headline, or with rows out of order")
    checks = (sides_agree, _is_complete, _are_rates_consistent, _counts_agree, _ways_agree)
    if test.split("_", maxsplit=1)[0] in _TRANSPORTS and not all(check(by_name) for check in checks):
        return Broken("the rows of this test contradict each other, or some are missing")
    digits = precision(rows)
    size = by_name.get("msg_size")
    if size and size.number == 0:
        return Broken("a message size of 0, which qperf does not print")
    is_latency = "latency" in by_name
    return Record(
        test="latency" if is_latency else "throughput",
        payload_bytes=as_bytes(size) if size else None,
        numbers=tuple(_number(row, digits) for row in rows if row.name in FIGURES and row.number is not None),
        samples=_samples(by_name),
        side="both",
        conditions=_conditions(test, by_name, is_latency=is_latency),
    )


def _number(row: FigureRow, digits: int) -> Number:
    metric, statistic, _ = FIGURES[row.name]
    if not row.number:
        return impossible(metric, statistic, cell=row.cell)
    return Number(
        metric=metric,
        statistic=statistic,
        value=row.value,
        resolution=resolution(row, digits),
        line=row.line.number,
        value_start=row.cell.start,
        value_end=row.cell.end,
    )


def _conditions(test: str, rows: dict[str, FigureRow], *, is_latency: bool) -> Conditions:
    kind, *_ = test.split("_")
    one_sided = kind not in _TRANSPORTS and re.fullmatch(r"(?:rc|uc|ud|xrc)_(?:bi_)?(?:bw|lat)", test) is None
    latency = "qperf-one-sided" if one_sided else "qperf-latency"
    basis: Basis | None = "rtt/2" if is_latency and not one_sided else None
    load_mode: LoadMode = "closed" if is_latency else "max-rate"
    time = rows.get("time")
    return Conditions(
        transport=_TRANSPORTS.get(kind) or _verb(test),
        settings=_settings(rows),
        load_mode=load_mode,
        basis=basis,
        definition=latency if is_latency else "qperf-both-ways" if "_bi_" in test else "qperf-bandwidth",
        planned_duration_s=time.value / 1e9 if time and time.quantity == "time" and time.value else None,
    )


def _verb(test: str) -> str:
    kind = test.partition("_")[0]
    verb = next((f" {words}" for name, words in _VERBS if name in test), "")
    return f"{_RDMA[kind]}{verb}{', verified' if kind == 'ver' else ''}"


def _settings(rows: dict[str, FigureRow]) -> str | None:
    return settings_text({name: " ".join(row.text.split()) for name, row in rows.items() if name in SETTINGS})


def _samples(rows: dict[str, FigureRow]) -> int | None:
    """Return the number of messages that both sides received. The tool computes the figures from these messages.

    ``None`` is returned if a count is missing, or is not printed with all its digits.
    """
    names = ("loc_recv_msgs", "rem_recv_msgs") if "latency" in rows else ("recv_msgs",) if "recv_msgs" in rows else ("rem_recv_msgs",)
    counts = [row for name in names if (row := rows.get(name)) and row.factor == 1 and row.number is not None]
    return sum(int(row.number or 0) for row in counts) if len(counts) == len(names) else None


def _is_complete(rows: dict[str, FigureRow]) -> bool:
    """Whether the block has all rows that the tool always prints together."""
    defaults = "timeout" not in rows or {"msg_size", "time"} <= rows.keys()
    counted = any(name.endswith("_msgs") for name in rows)
    return defaults and (not counted or "msg_rate" in rows)


def _are_rates_consistent(rows: dict[str, FigureRow]) -> bool:
    rate, latency = rows.get("msg_rate"), rows.get("latency")
    if rate and latency and latency.number and rate.number:
        return _close(rate.value * latency.value, 1e9, _difference_of_times(rows), rate, latency)
    band, size = rows.get("bw") or rows.get("recv_bw"), rows.get("msg_size")
    if rate and band and size and rate.number and size.number:
        return _close(rate.value * size.value * 8, band.value, _difference_of_times(rows), rate, band, size)
    return True


def _durations_of_sides(rows: dict[str, FigureRow]) -> list[FigureRow]:
    names = ("loc_real_time", "rem_real_time", "send_real_time", "recv_real_time")
    return [row for name in names if (row := rows.get(name)) and row.number]


def _difference_of_times(rows: dict[str, FigureRow]) -> float:
    """Return the largest possible difference between the times that the two sides measured, as a share of the shorter time.

    If the block does not state these times, the result is two clock ticks divided by the planned time, because each side may be wrong by one tick.
    0 is returned if the planned time is not stated either.
    """
    values = [row.value for row in _durations_of_sides(rows)]
    if values:
        return max(values) / min(values) - 1
    planned = rows.get("time")
    return 2 * _TICK_NS / planned.value if planned and planned.quantity == "time" and planned.value else 0.0


def _counts_agree(rows: dict[str, FigureRow]) -> bool:
    """Whether the number of messages equals the rate multiplied by the time, within rounding.

    The client and the server measure different times, so the number may also be between the products for these times.
    """
    samples, rate = _samples(rows), rows.get("msg_rate")
    times = _durations_of_sides(rows)
    if samples is None or not rate or not rate.number or not times:
        return True
    digits = max(_digits(row) for row in rows.values() if row.number and row.quantity in {"rate", "time", "band", "cost", "cpu"})
    counts = [(rate.value * time.value / 1e9, _rounding_error_of_count(rate, time, digits)) for time in times]
    return min(count - step for count, step in counts) <= samples <= max(count + step for count, step in counts)


def _rounding_error_of_count(rate: FigureRow, time: FigureRow, digits: int) -> float:
    return ((resolution(rate, digits) or 0.0) * time.value + (resolution(time, digits) or 0.0) * rate.value) / 1e9


def _ways_agree(rows: dict[str, FigureRow]) -> bool:
    """Whether each side of a ping-pong received the messages of the other side. The last messages may still be on their way."""
    if "latency" not in rows:
        return True
    counts = {name: row.value for name, row in rows.items() if name.endswith("_msgs") and row.factor == 1 and row.number is not None}
    pairs = [(counts.get(f"{side}_send_msgs"), counts.get(f"{other}_recv_msgs")) for side, other in (("loc", "rem"), ("rem", "loc"))]
    return all(sent is None or got is None or abs(sent - got) <= _LAST_MESSAGES + _LATE_SHARE * sent for sent, got in pairs)


def _digits(row: FigureRow) -> int:
    return len(str(row.number).replace(".", "").lstrip("0"))


def _close(value: float, expected: float, slack: float, *rows: FigureRow) -> bool:
    """Whether two values are equal within the rounding of ``rows``. They may also differ by the share ``slack``."""
    digits_of_figures = [_digits(row) for row in rows if row.exact is None]
    allowed = sum(10.0 ** (1 - digits) for digits in digits_of_figures) + slack
    return abs(value - expected) <= allowed * max(value, expected)


_UNITS: Mapping[str, tuple[str, int]] = {
    **{unit: ("time", factor) for unit, factor in (("ns", 1), ("us", 10**3), ("ms", 10**6), ("sec", 10**9))},
    **{f"{prefix}/sec": ("rate", factor) for prefix, factor in (("", 1), ("K", 10**3), ("M", 10**6), ("G", 10**9), ("T", 10**12))},
    **{f"{unit}/sec": ("band", 8 * n) for unit, n in (("bytes", 1), ("KB", 10**3), ("MB", 10**6), ("GB", 10**9), ("TB", 10**12))},
    **{f"{unit}/sec": ("band", n) for unit, n in (("bits", 1), ("Kb", 10**3), ("Mb", 10**6), ("Gb", 10**9), ("Tb", 10**12))},
    **{unit: ("size", n) for unit, n in (("bytes", 1), ("KB", 10**3), ("MB", 10**6), ("GB", 10**9), ("TB", 10**12))},
    **{unit: ("size", n) for unit, n in (("KiB", 2**10), ("MiB", 2**20), ("GiB", 2**30), ("TiB", 2**40))},
    **{f"{unit}/GB": ("cost", n) for unit, n in (("ns", 1), ("us", 10**3), ("ms", 10**6), ("sec", 10**9))},
    **{unit: ("count", n) for unit, n in (("", 1), ("thousand", 10**3), ("million", 10**6), ("billion", 10**9), ("trillion", 10**12))},
    "% cpus": ("cpu", 1),
}
_SIDES = {"send": "publisher", "recv": "subscriber", "loc": "local", "rem": "remote"}
_TIMES = {"cpus_used": "", "cpus_user": "-user", "cpus_intr": "-interrupts", "cpus_kernel": "-kernel", "cpus_iowait": "-iowait"}
_HEADLINES = {
    "latency": ("latency", "mean", "time"),
    "bw": ("goodput", "mean", "band"),
    "recv_bw": ("goodput", "mean", "band"),
    "send_bw": ("offered_goodput", "mean", "band"),
    "msg_rate": ("message_rate", "mean", "rate"),
    "send_cost": ("cpu_cost", "publisher", "cost"),
    "recv_cost": ("cpu_cost", "subscriber", "cost"),
}
_TRAFFIC = {
    f"{prefix}{direction}_{what}": (f"{metric}_{past}", statistic, quantity)
    for prefix, statistic in (("", "total"), ("loc_", "local"), ("rem_", "remote"))
    for direction, past in (("send", "sent"), ("recv", "received"))
    for what, metric, quantity in (("bytes", "bytes", "size"), ("msgs", "messages", "count"))
}
FIGURES: Mapping[str, tuple[str, str, str]] = {
    **_HEADLINES,
    **{f"{side}_{name}": ("cpu", f"{words}{which}", "cpu") for side, words in _SIDES.items() for name, which in _TIMES.items()},
    **{f"{side}_real_time": ("duration", words, "time") for side, words in _SIDES.items()},
    **{f"{side}_cpu_time": ("cpu_time", words, "time") for side, words in _SIDES.items()},
    **_TRAFFIC,
}
"""The metric, the statistic and the quantity of each row that is a figure."""

_PARAMETERS = (
    *("access_recv", "affinity", "alt_port", "cq_poll", "flip", "id", "msg_size", "mtu_size", "no_msgs", "poll_mode", "port", "rate", "rd_atomic"),
    *("service_level", "sl", "sock_buf_size", "src_path_bits", "static_rate", "time", "timeout", "use_cm"),
)
#: Parameters that change how messages are sent. The values of other parameters are known from other rows, or only connect the two sides.
SETTINGS = frozenset(
    f"{side}{name}" for name in {*_PARAMETERS} - {"msg_size", "time", "timeout", "id", "port", "alt_port", "use_cm"} for side in ("", "loc_", "rem_")
)
_QUANTITIES = {"msg_size": "size", "mtu_size": "size", "sock_buf_size": "size", "time": "time", "timeout": "time"}
_COUNTED = tuple(f"{direction}{what}" for what in ("errors", "bytes", "msgs") for direction in ("", "send_", "recv_"))
_SIDE_ROWS = ("cost", *_TIMES, "real_time", "cpu_time", *_COUNTED, "max_cqe")
_ORDER: Mapping[str, int] = {
    name: rank
    for rank, name in enumerate(
        [
            *("latency", "bw", "send_bw", "recv_bw", "msg_rate"),
            *(f"{prefix}{name}" for name in _PARAMETERS for prefix in ("", "loc_", "rem_")),
            *("send_cost", "recv_cost"),
            *(f"{side}_{name}" for side in _SIDES for name in _SIDE_ROWS[1:]),
        ]
    )
}
"""The position of each row in its block. Only the parameters may be in any order."""

KNOWN = frozenset(_ORDER)
_ANY_ORDER = frozenset(f"{prefix}{name}" for name in _PARAMETERS for prefix in ("", "loc_", "rem_"))
_MAY_BE_ZERO = frozenset({"cpus_user", "cpus_intr", "cpus_kernel", "cpus_iowait", "send_errors", "recv_errors", "errors", "max_cqe"})

_ROW = re.compile(r"(?: {4}|\t *+)(?P<name>[a-z][a-z_]{0,30}+)(?P<gap>[ \t]{1,32}+)=(?P<behind> {2}| ?\t)(?P<value>[ \t]{0,40}+\S.{0,200})")
_SCALED = 4  # The tool scales each figure that has a unit. Then it has no comma, and fewer digits than this before the point.
_LIKE_ROW = re.compile(r"(?: {4}|\t).*?(?:(?: {2}|\t)=[ \t]|[ \t]=(?: [ \t]|\t))")  # Other programs print "x = y" with single blanks.
_VALUE = re.compile(
    r"[ \t]*+(?P<number>(?:[0-9]{1,3}(?:,[0-9]{3}){1,5}|[0-9]{1,18})(?:\.[0-9]{1,15})?)(?:[ \t](?P<unit>|[A-Za-z/]{1,9}|% cpus))?"
    r"(?: \((?P<exact>[0-9]{1,3}(?:,[0-9]{3}){0,5})\))?"
)


class FigureRow(NamedTuple):
    """A row: a name, and after the equals sign a number with its unit, or only a text.

    ``equals`` is the offset of the equals sign from the start of the name. ``digits`` is the end of the number within the value. Rows with tabs have
    no columns: in these rows, both are -1. ``cell`` is the printed number.
    """

    line: Line
    name: str
    equals: int
    text: str
    number: Decimal | None = None
    digits: int = 0
    quantity: str = ""
    factor: int = 1
    exact: int | None = None
    cell: Cell = Cell("", 0)

    @property
    def value(self) -> float:
        """The number in the unit of its metric."""
        return float((self.number or Decimal(0)) * self.factor)


def read_row(line: Line) -> FigureRow | None:
    """Read a row; ``None`` if it is garbled or cut."""
    match = _ROW.fullmatch(line.text)
    if match is None or not line.whole:
        return None
    is_aligned = "\t" not in match["gap"] + match["behind"] + match["value"]
    row = FigureRow(line, match["name"], match.start("behind") - 1 - match.start("name") if is_aligned else -1, match["value"])
    value = _VALUE.fullmatch(match["value"])
    if value is None:
        return None if row.name in FIGURES or row.name in _QUANTITIES else row
    integer, *_ = value["number"].split(".")
    # The line may be cut after the number: "123" instead of "123 thousand".
    if value["unit"] is None and (len(integer) < _SCALED or integer != value["number"]):
        is_count = FIGURES[row.name][2] == "count" if row.name in FIGURES else row.name not in _QUANTITIES
        return row if is_count else None
    quantity, factor = _UNITS.get(value["unit"] or "", ("", 1))
    number = Decimal(value["number"].replace(",", ""))
    exact = int(value["exact"].replace(",", "")) if value["exact"] else None
    wanted = FIGURES[row.name][2] if row.name in FIGURES else _QUANTITIES.get(row.name, quantity)
    if quantity != wanted:
        return None
    if exact is not None and exact != number * factor:
        return None
    cell = Cell(value["number"], match.start("value") + value.start("number"), line.number)
    digits = value.end("number") if is_aligned else -1
    return row._replace(number=number, digits=digits, quantity=quantity, factor=factor, exact=exact, cell=cell)


def is_whole(rows: Sequence[FigureRow]) -> bool:
    """Whether the block still has its widest row. The tool pads all rows of a block to the widest name and the widest value."""
    names = {row.name for row in rows}
    if len(names) < len(rows):
        return False
    if -1 in {row.equals for row in rows}:
        return True
    if {row.equals for row in rows} != {2 + max(map(len, names))}:
        return False
    numbers = [row for row in rows if row.number is not None]
    if len({row.digits for row in numbers}) > 1:
        return False
    return not numbers or min(len(row.text) - len(row.text.lstrip()) for row in numbers) == 0


def in_order(rows: Sequence[FigureRow]) -> bool:
    """Whether the known rows are in the order in which qperf prints them."""
    ranks = [_ORDER["alt_port" if row.name in _ANY_ORDER else row.name] for row in rows]
    return ranks == sorted(ranks)


def sides_agree(rows: Mapping[str, FigureRow]) -> bool:
    """Whether both sides report the same kinds of figures, and the processor times of each side add up to ``cpus_used``."""
    sides = {side: {name.removeprefix(f"{side}_") for name in rows if name.startswith(f"{side}_") and name in FIGURES} for side in _SIDES}
    for side, other in (("send", "recv"), ("loc", "rem")):
        if _never_zero_names(sides[side]) != _never_zero_names(sides[other]):
            return False
    return all(_adds_up(rows, side) for side in _SIDES)


def _never_zero_names(names: set[str]) -> list[str]:
    """Return the names of the figures that are never 0. The tool always prints these figures."""
    never_zero = names - _MAY_BE_ZERO
    directions = {direction for direction in ("send_", "recv_") if any(name.startswith(direction) for name in never_zero)}
    # If all names have the same direction, this part of the names is removed.
    return sorted(never_zero if len(directions) > 1 else (name.removeprefix("send_").removeprefix("recv_") for name in never_zero))


def _adds_up(rows: Mapping[str, FigureRow], side: str) -> bool:
    used = rows.get(f"{side}_cpus_used")
    parts = [row.value for name in _TIMES if name != "cpus_used" and (row := rows.get(f"{side}_{name}"))]
    return used is None or not parts or abs(used.value - sum(parts)) <= len(_TIMES) / 2


def precision(rows: Sequence[FigureRow]) -> int:
    """Return the number of digits to which the tool rounds figures: 3, or more with the option -e."""
    digit_counts = [len(row.number.as_tuple().digits) for row in rows if row.number is not None and "." in row.text]
    return max([3, *digit_counts])


def resolution(row: FigureRow, digits: int) -> float | None:
    """Return the unit of the last rounded digit, in the unit of the metric; ``None`` for an exact number.

    The log may lack this digit, because the tool removes trailing zeros.
    """
    number = row.number or Decimal(0)
    if row.exact is not None or (row.quantity in {"count", "size"} and row.factor == 1):
        return None
    decimals = max(0, digits - len(str(int(number)))) if number < 1000 else 0  # noqa: PLR2004
    return float(Decimal(row.factor).scaleb(-decimals))


def as_bytes(row: FigureRow) -> int | None:
    """Return a size in bytes; ``None`` if only its first three digits are known.

    The tool may have rounded the size. If the printed size is a round number, it is used as the requested size.
    """
    if row.number is None or row.quantity != "size":
        return None
    size = row.exact if row.exact is not None else int(row.number * row.factor)
    round_number = len(row.number.normalize().as_tuple().digits) < 3  # noqa: PLR2004
    return size if row.exact is not None or row.factor == 1 or round_number else None
