"""The statistics: what a number is of the values that were measured, such as their mean or a percentile.

The list is closed: a number with any other statistic is refused (`tacholog.schema.records.Number`).
"""

from __future__ import annotations

import re

_PARTS_OF_TIME = {"": "in all", "user": "in user mode", "system": "in system mode", "kernel": "in the kernel"}
_PARTS_OF_TIME |= {"interrupts": "in interrupts", "iowait": "waiting for a disk"}
_SIDES = {"local": "the side that the log is of", "remote": "the other side", "publisher": "the publisher", "subscriber": "the subscriber"}

#: The statistics and what each of them is. Percentiles such as ``p99.9`` are statistics too: see `is_statistic`.
STATISTICS: dict[str, str] = {
    "total": "a count, a sum or a share of all that was measured",
    "mean": "the arithmetic mean",
    "std": "the standard deviation",
    "std-error": "the standard error of the mean",
    "mean-ad": "the mean absolute deviation",
    "median-ad": "the median absolute deviation",
    "siqr": "half of the distance between the quartiles",
    "min": "the smallest value",
    "max": "the largest value",
    "last": "the value of the latest interval, if a line also has the mean so far",
    "sum": "the sum over all subscribers",
    "typical": "what a document calls typical, without saying which statistic that is",
    "range-low": "the lower end of a printed range",
    "range-high": "the upper end of a printed range",
    "lower-bound": "the highest value at which a search found its goal kept (the relevant lower bound of RFC 9971)",
    "upper-bound": "the lowest value at which a search found its goal missed (the relevant upper bound of RFC 9971)",
    "user": "processor time in user mode",
    "system": "processor time in system mode",
    "voluntary": "voluntary context switches: the process waited",
    "involuntary": "involuntary context switches: the scheduler stopped the process",
    **{
        "-".join(word for word in (side, part) if word): f"processor time of {whose}, {words}"
        for side, whose in _SIDES.items()
        for part, words in _PARTS_OF_TIME.items()
    },
}
_PERCENTILE = re.compile(r"p(?!0\d|0\Z)\d{1,2}(?:\.\d{0,8}[1-9])?")  # As people write them: not p05, not p99.90. p0 and p100 are called min and max.


def is_statistic(name: object) -> bool:
    """Return whether this is a statistic: one of `STATISTICS`, or a percentile between 0 and 100 such as ``p99.9``."""
    return isinstance(name, str) and (name in STATISTICS or _PERCENTILE.fullmatch(name) is not None)
