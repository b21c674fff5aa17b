"""The named statistics: what a number on a page is that is no value of a run, and so has no line of a log to lead to.

Every number of a result has a link to its line or stands in an element of one of these classes. The page of definitions says what each is; a test
walks through the numbers of a site.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec


class Statistic(msgspec.Struct, frozen=True):
    """A statistic: its name, and what its number says."""

    name: str
    sentence: str


# By the class of the element that holds the number.
STATISTICS: Mapping[str, Statistic] = MappingProxyType(
    {
        "tl-range": Statistic(
            "range", "The lowest and the highest value among the runs, or of what a number is made of. It leads to the numbers of each run."
        ),
        "stat-count": Statistic("count", "How many there are: runs, numbers, messages, lines, rows."),
        "tl-runs": Statistic("runs", "How many runs a number rests on, and how long each was meant to take. It leads to the numbers of each run."),
        "tl-of": Statistic("runs of a group", "Where runs fall into two groups: how many of them are in this one."),
        "stat-median": Statistic(
            "median of a comparison", "The median of the runs that a comparison of two releases rests on: in pairs, of those that are in pairs."
        ),
        "tl-ratio": Statistic(
            "ratio to the baseline", "A number divided by that of the baseline at the same size, or how many sizes a mean ratio is of."
        ),
        "stat-mean-ratio": Statistic("mean ratio", "The geometric mean of the ratios to the baseline over the sizes."),
        "stat-ratio": Statistic(
            "ratio", "New over old; estimated pair by pair where runs are pairs, so that it need not be that of the medians beside it."
        ),
        "stat-interval": Statistic("interval", "Where the true ratio lies: with 95 % confidence, or as far as rounding allows."),
        "stat-evidence": Statistic(
            "evidence",
            "What a verdict rests on: the change in percent, pairs and runs, p-value, threshold, detectable change, and conditions that differ.",
        ),
        "stat-percentile": Statistic("percentile", "Which percentile a number is: 99 % of the messages took at most so long."),
        "stat-limit": Statistic("limit", "A fixed limit of a rule, such as the loss up to which a rate is a headline."),
        "stat-size": Statistic("size", "The size of a message that a number was measured at."),
        "stat-label": Statistic("conditions", "A name or conditions under which something was measured: version, machine, offered rate."),
        "tl-label": Statistic("name of a series", "The conditions that set a series apart from the others of its page."),
        "tl-legend": Statistic("legend", "The names of the lines of a figure, or of the kinds of lines of a log."),
        "tl-caption": Statistic("name of a table", "What a table shows, and under which conditions."),
        "tl-ranked": Statistic("head of a ranking", "What is ranked, and the conditions and the number of runs that all rows have in common."),
        "tl-facts": Statistic("facts", "The conditions that all numbers of a page share, or what is known of a log."),
        "tl-host": Statistic("facts of a machine", "What somebody stated of a machine, or a program read there."),
        "tl-remarks": Statistic("remark of a manifest", "What whoever measured or published something says of it, in their own words."),
        "tl-note": Statistic("note", "What a table or figure leaves out or draws, and the limits of its rules."),
        "tl-notes": Statistic("what a mark means", "The rule behind a mark, with its limits."),
        "tl-unlisted": Statistic("what is not listed", "Systems with their versions and transports that no ranking holds, and why."),
        "tl-pad": Statistic("filling", "Zeros that nobody sees and no screen reader says: they put decimal points under each other."),
    }
)
