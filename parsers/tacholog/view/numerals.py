"""Numbers and sizes in readable form. Input is in the schema's units (ns, bit/s, messages/s, bytes); output contains its unit."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from typing import NamedTuple

from tacholog.runs import labels

NOT_STATED = labels.NOT_STATED
_THIN = "\u202f"  # narrow no-break space between groups of digits, so that no line breaks within a number
_NBSP = "\u00a0"  # no-break space between a number and its unit
_DIGITS = 3
_ALL_DIGITS = 12  # significant digits: enough for all logs; more digits would show the errors of binary fractions
_REMEMBERED = 1 << 15  # the number of cached texts; they are used again, because tables and figures of a page show the same numbers
_BOUNDS = {"=": "", "~": "~", "<": "<" + _THIN, ">": ">" + _THIN, "range-low": "from ", "range-high": "to "}


class Unit(NamedTuple):
    """A unit on pages: its sign, and its size in the schema's unit."""

    sign: str
    size: float


# The unit of columns and axes, by the unit of the schema.
_SHOWN: dict[str, Unit] = {
    "ns": Unit("µs", 1e3),
    "bit_per_s": Unit("Mbit/s", 1e6),
    "messages_per_s": Unit("msg/s", 1.0),
    "messages": Unit("", 1.0),
    "ratio": Unit("%", 0.01),
    "percent": Unit("%", 1.0),
    "bytes": Unit("B", 1.0),
    "instances": Unit("", 1.0),
    "switches": Unit("", 1.0),
    "trials": Unit("", 1.0),
    "ns_per_gigabyte": Unit("s/GB", 1e9),
}
SECONDS = Unit("s", 1e9)
_STEPS = {
    "ns": (Unit("s", 1e9), Unit("ms", 1e6), Unit("µs", 1e3), Unit("ns", 1.0)),
    "bit_per_s": (Unit("Tbit/s", 1e12), Unit("Gbit/s", 1e9), Unit("Mbit/s", 1e6), Unit("kbit/s", 1e3), Unit("bit/s", 1.0)),
    "messages_per_s": (Unit("M\u202fmsg/s", 1e6), Unit("k\u202fmsg/s", 1e3), Unit("msg/s", 1.0)),
    "ratio": (Unit("%", 0.01),),
    "messages": (Unit("", 1.0),),
}


# The script of the comparison page (tacholog-numerals.js) rounds in the same steps as this module. A test checks that the script and this module
# return the same text.
_AS_PRINTED = Context(prec=_ALL_DIGITS, rounding=ROUND_HALF_UP)
_ANY = Context(prec=700)  # enough for all digits of any float


def unit_shown(unit: str) -> Unit:
    """Return the unit that pages show in place of a unit of the schema. A unit without a sign of its own keeps its name (calls/s)."""
    return _SHOWN.get(unit) or Unit(unit.replace("_per_", "/").replace("_", " "), 1.0)


def grouped(number: float, decimals: int = 0) -> str:
    """Return a number with exactly ``decimals`` decimals, and with its digits in groups of three."""
    return f"{number:,.{decimals}f}".replace(",", _THIN)


@lru_cache(maxsize=_REMEMBERED)
def rounded(number: float, digits: int = _DIGITS) -> str:
    """Return a number as all pages show it: three significant digits, halves rounded away from zero, no trailing zeros.

    Digits before the decimal point are never dropped. The tooltip of the number and the downloads have all digits of the log.
    """
    text = f"{_rounded(number, digits):,f}".replace(",", _THIN)
    return text.rstrip("0").rstrip(".") if "." in text else text


def _rounded(number: float, digits: int) -> Decimal:
    exact = _AS_PRINTED.create_decimal_from_float(number)
    decimals = max(0, digits - 1 - exact.adjusted()) if exact else 0
    return exact.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP, _ANY) if exact else Decimal(0)


def size(payload_bytes: float | None) -> str:
    """Return a payload size in MiB or KiB if it is a multiple of them, otherwise in bytes."""
    if payload_bytes is None:
        return NOT_STATED
    for sign, step in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if payload_bytes >= step and payload_bytes % step == 0:
            return f"{grouped(payload_bytes / step)}{_NBSP}{sign}"
    return f"{grouped(payload_bytes)}{_NBSP}B"


@lru_cache(maxsize=_REMEMBERED)
def quantity(value: float, unit: str, digits: int = _DIGITS) -> str:
    """Return ``value``, which is in the schema's ``unit``, in the most readable unit (ns, µs, ms, s; Mbit/s, Gbit/s, ...)."""
    steps = _STEPS.get(unit, (Unit(unit, 1.0),))
    near = abs(float(Context(prec=digits, rounding=ROUND_HALF_UP).plus(_AS_PRINTED.create_decimal_from_float(value))))  # 999.6 ns are 1 µs
    step = next((s for s in steps if near >= s.size), steps[-1])
    return f"{rounded(value / step.size, digits)}{_NBSP}{step.sign}".rstrip()


def steps_of(unit: str) -> list[list[object]]:
    """Return the units from which `quantity` chooses, the largest first, each with its sign and its size. The script of the page uses them."""
    return [[step.sign, step.size] for step in _STEPS.get(unit, (Unit(unit, 1.0),))]


def bound_signs() -> dict[str, str]:
    """Return the signs that `with_bound` puts before a number. The script of the page uses them."""
    return dict(_BOUNDS)


def in_full(value: float, unit: str) -> str:
    """Return what `quantity` returns, but with all digits of the log."""
    return quantity(value, unit, _ALL_DIGITS)


def decimals(text: str) -> int:
    """Return the number of decimals in a number's text."""
    return len(text.partition(".")[2])


def with_bound(text: str, bound: str) -> str:
    """Put the sign of a bound before the text of a number, such as ``<`` or ``~``."""
    return _BOUNDS.get(bound, f"{bound} ") + text


_BEFORE = re.compile(r"(?<=\d)[-._~]?([ab](?=\d)|(?:alpha|beta|dev|milestone|pre|preview|rc|snapshot)(?![a-z]))", re.IGNORECASE)


def by_version(label: str) -> list[tuple[int, int, str]]:
    """Return the sort key of releases: 5.9 before 5.12, and 5.12-rc1 before 5.12."""
    match = _BEFORE.search(label)
    if match is None:
        return [*natural(label), (-1, 0, "")]
    return [*natural(label[: match.start()]), (-2, 0, match[1].lower()), *natural(label[match.end() :]), (-1, 0, "")]


def alphabetical(*names: str) -> list[tuple[str, str]]:
    """Return the sort key of names, such as a system and its transport: eCAL before Fast DDS."""
    return [(name.casefold(), name) for name in names]


def natural(label: str) -> list[tuple[int, int, str]]:
    """Return the sort key of labels: 5.9 before 5.12."""
    return [_number_key(part) if part.isdecimal() else (0, 0, part) for part in re.findall(r"\d+|\D+", label)]


def _number_key(digits: str) -> tuple[int, int, str]:
    """Return a sort key that sorts texts of digits by the numbers that they denote. The digits may be of any script.

    The key contains the count of digits and the digits themselves. The digits are not converted to one number, because for thousands of digits this
    would take quadratic time.
    """
    plain = digits if digits.isascii() else "".join(str(int(digit)) for digit in digits)
    plain = plain.lstrip("0")
    return (1, len(plain), plain)
