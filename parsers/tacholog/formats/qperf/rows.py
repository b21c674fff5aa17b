"""The rows of a qperf block: names, units, and whether a block is whole.

Source: the printing functions of qperf 0.4.11.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from tacholog.formats.kit import Cell, Line

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
    f"{prefix}{way}_{what}": (f"{metric}_{past}", statistic, quantity)
    for prefix, statistic in (("", "total"), ("loc_", "local"), ("rem_", "remote"))
    for way, past in (("send", "sent"), ("recv", "received"))
    for what, metric, quantity in (("bytes", "bytes", "size"), ("msgs", "messages", "count"))
}
FIGURES: Mapping[str, tuple[str, str, str]] = {
    **_HEADLINES,
    **{f"{side}_{name}": ("cpu", f"{words}{which}", "cpu") for side, words in _SIDES.items() for name, which in _TIMES.items()},
    **{f"{side}_real_time": ("duration", words, "time") for side, words in _SIDES.items()},
    **{f"{side}_cpu_time": ("cpu_time", words, "time") for side, words in _SIDES.items()},
    **_TRAFFIC,
}
"""Metric, statistic and quantity of each row that is a figure."""

_PARAMETERS = (
    *("access_recv", "affinity", "alt_port", "cq_poll", "flip", "id", "msg_size", "mtu_size", "no_msgs", "poll_mode", "port", "rate", "rd_atomic"),
    *("service_level", "sl", "sock_buf_size", "src_path_bits", "static_rate", "time", "timeout", "use_cm"),
)
#: Parameters that change how messages are sent. The others name what is known otherwise, or only how the two sides find each other.
SETTINGS = frozenset(
    f"{side}{name}" for name in {*_PARAMETERS} - {"msg_size", "time", "timeout", "id", "port", "alt_port", "use_cm"} for side in ("", "loc_", "rem_")
)
_QUANTITIES = {"msg_size": "size", "mtu_size": "size", "sock_buf_size": "size", "time": "time", "timeout": "time"}
_COUNTED = tuple(f"{way}{what}" for what in ("errors", "bytes", "msgs") for way in ("", "send_", "recv_"))
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
"""Where rows stand in their block; only parameters may be in any order among themselves."""

KNOWN = frozenset(_ORDER)
_ANY_ORDER = frozenset(f"{prefix}{name}" for name in _PARAMETERS for prefix in ("", "loc_", "rem_"))
_MAY_BE_ZERO = frozenset({"cpus_user", "cpus_intr", "cpus_kernel", "cpus_iowait", "send_errors", "recv_errors", "errors", "max_cqe"})

_ROW = re.compile(r"(?: {4}|\t *+)(?P<name>[a-z][a-z_]{0,30}+)(?P<gap>[ \t]{1,32}+)=(?P<behind> {2}| ?\t)(?P<value>[ \t]{0,40}+\S.{0,200})")
_SCALED = 4  # No figure with a unit has so many digits, or commas, before its point.
_LIKE_ROW = re.compile(r"(?: {4}|\t).*?(?:(?: {2}|\t)=[ \t]|[ \t]=(?: [ \t]|\t))")  # "x = y", with a blank on each side, is of others.
_VALUE = re.compile(
    r"[ \t]*+(?P<number>(?:[0-9]{1,3}(?:,[0-9]{3}){1,5}|[0-9]{1,18})(?:\.[0-9]{1,15})?)(?:[ \t](?P<unit>|[A-Za-z/]{1,9}|% cpus))?"
    r"(?: \((?P<exact>[0-9]{1,3}(?:,[0-9]{3}){0,5})\))?"
)


class FigureRow(NamedTuple):
    """A row: what is left of its ``=``, and behind it a number with its unit, or only a text.

    ``equals`` is how far behind the start of the name the sign stands, and ``digits`` where the number ends; both are -1 in rows with tabs, which
    have no columns. ``cell`` is what is printed of the number.
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
        """The number in the unit of the schema."""
        return float((self.number or Decimal(0)) * self.factor)


def looks_like_row(text: str) -> bool:
    """Whether a line is a row, whole or not."""
    return _LIKE_ROW.match(text) is not None


def read_row(line: Line) -> FigureRow | None:
    """Read a row; ``None`` if it is garbled or cut."""
    found = _ROW.fullmatch(line.text)
    if found is None or not line.whole:
        return None
    is_aligned = "\t" not in found["gap"] + found["behind"] + found["value"]
    row = FigureRow(line, found["name"], found.start("behind") - 1 - found.start("name") if is_aligned else -1, found["value"])
    value = _VALUE.fullmatch(found["value"])
    if value is None:
        return None if row.name in FIGURES or row.name in _QUANTITIES else row
    whole, *_ = value["number"].split(".")
    if value["unit"] is None and (len(whole) < _SCALED or whole != value["number"]):  # "123 thousand" may have been cut to this.
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
    cell = Cell(value["number"], found.start("value") + value.start("number"), line.number)
    digits = value.end("number") if is_aligned else -1
    return row._replace(number=number, digits=digits, quantity=quantity, factor=factor, exact=exact, cell=cell)


def is_whole(rows: Sequence[FigureRow]) -> bool:
    """Whether no row is missing, as far as columns tell: as wide as the widest name and value, one width for all."""
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
    """Whether known rows stand in the order in which they are printed."""
    ranks = [_ORDER["alt_port" if row.name in _ANY_ORDER else row.name] for row in rows]
    return ranks == sorted(ranks)


def sides_agree(rows: Mapping[str, FigureRow]) -> bool:
    """Whether the two sides report the same figures, as they do where both are busy, and their processor times add up."""
    sides = {side: {name.removeprefix(f"{side}_") for name in rows if name.startswith(f"{side}_") and name in FIGURES} for side in _SIDES}
    for one, other in (("send", "recv"), ("loc", "rem")):
        if _lasting(sides[one]) != _lasting(sides[other]):
            return False
    return all(_adds_up(rows, side) for side in _SIDES)


def _lasting(names: set[str]) -> list[str]:
    """The figures that are never 0 and so are always printed, without their direction where there is but one."""
    shown = names - _MAY_BE_ZERO
    ways = {way for way in ("send_", "recv_") if any(name.startswith(way) for name in shown)}
    return sorted(shown if len(ways) > 1 else (name.removeprefix("send_").removeprefix("recv_") for name in shown))


def _adds_up(rows: Mapping[str, FigureRow], side: str) -> bool:
    used = rows.get(f"{side}_cpus_used")
    parts = [row.value for name in _TIMES if name != "cpus_used" and (row := rows.get(f"{side}_{name}"))]
    return used is None or not parts or abs(used.value - sum(parts)) <= len(_TIMES) / 2


def precision(rows: Sequence[FigureRow]) -> int:
    """How many digits figures are rounded to: 3, or what was asked for with -e."""
    shown = [len(row.number.as_tuple().digits) for row in rows if row.number is not None and "." in row.text]
    return max([3, *shown])


def resolution(row: FigureRow, digits: int) -> float | None:
    """The unit of the last place before zeros were dropped, in the unit of the schema; ``None`` for what is exact."""
    number = row.number or Decimal(0)
    if row.exact is not None or (row.quantity in {"count", "size"} and row.factor == 1):
        return None
    decimals = max(0, digits - len(str(int(number)))) if number < 1000 else 0  # noqa: PLR2004
    return float(Decimal(row.factor).scaleb(-decimals))


def as_bytes(row: FigureRow) -> int | None:
    """A size that is exact, or so round that it was asked for; else it is only known to three digits, and ``None``."""
    if row.number is None or row.quantity != "size":
        return None
    size = row.exact if row.exact is not None else int(row.number * row.factor)
    round_number = len(row.number.normalize().as_tuple().digits) < 3  # noqa: PLR2004
    return size if row.exact is not None or row.factor == 1 or round_number else None
