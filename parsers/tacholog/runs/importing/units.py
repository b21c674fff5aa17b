"""Units of rates, times and shares, after a number: ``100M``, ``54 Mbit/s``, ``10ms``, ``2%``. For the units of sizes, see `fields`.

In rates, a prefix is a power of 1000: a kilobit per second is never 1024 bit/s.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

_PREFIXES = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_OF_TC = {"kbit": 10**3, "mbit": 10**6, "gbit": 10**9, "tbit": 10**12}  # the units of ``tc qdisc``, in lower case
_BIT_RATES = {prefix + unit: factor for prefix, factor in _PREFIXES.items() for unit in ("", "bit", "bits", "bit/s", "bits/s", "b/s", "bps")} | _OF_TC
_RATES = {prefix + unit: factor for prefix, factor in _PREFIXES.items() for unit in ("", "Hz", "/s")} | {"hz": 1}
_TIMES = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9}  # the micro sign and the Greek letter
_SHARES = {"%": 1}
#: For each condition, the units that may follow its number. Each unit has a factor.
UNITS: Mapping[str, Mapping[str, int]] = {
    "network_bandwidth_bit_per_s": _BIT_RATES,
    "link_bit_per_s": _BIT_RATES,
    "network_delay_ns": _TIMES,
    "network_jitter_ns": _TIMES,
    "network_loss_percent": _SHARES,
    "offered_rate_per_s": _RATES,
}
#: For each of these conditions, examples of its allowed forms, for messages.
FORMS = {
    "network_bandwidth_bit_per_s": "54000000, 54M or 54Mbit/s",
    "link_bit_per_s": "1000000000, 1G or 1Gbit/s",
    "network_delay_ns": "10000000, 10ms or 250us",
    "network_jitter_ns": "10000000, 10ms or 250us",
    "network_loss_percent": "2 or 2%",
    "offered_rate_per_s": "10000, 10k or 10kHz",
}
_NUMBER_AND_UNIT = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,12})?) ?([^0-9 .].*)")


def without_unit(name: str, text: str) -> str:
    """Convert a number with a unit to the unit of its condition. If the text is not such a number, return it unchanged.

    Args:
        name: the name of the condition.
        text: a text from a path, a setting or a file.
    """
    match = _NUMBER_AND_UNIT.fullmatch(text)
    factor = UNITS.get(name, {}).get(match[2]) if match else None
    if match is None or factor is None:
        return text
    number = Fraction(match[1]) * factor
    return str(number.numerator if number.denominator == 1 else float(number))


def unit_at_start(name: str, text: str) -> str | None:
    """Return the unit at the beginning of a text.

    Return ``None`` if there is no unit, or if the unit does not change the value of the number before it.

    Args:
        name: the name of the condition, with or without ``conditions.``.
        text: the text that follows the number.
    """
    units = UNITS.get(name.removeprefix("conditions."), {})
    unit = max((unit for unit in units if unit and re.match(rf"{re.escape(unit)}(?![A-Za-z])", text)), key=len, default=None)
    return unit if unit and units[unit] != 1 else None
