"""Named statistics: the kinds of numbers on a page that are not values of a run and so do not link to a log line.

Every number on a page either links to its line or stands in an element of one of these classes. The definitions page explains the classes, and a test
checks all numbers of a site.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec


class Statistic(msgspec.Struct, frozen=True):
    """A statistic: its name, and the meaning of its number."""

    name: str
    sentence: str


# By the class of the element that contains the number.
STATISTICS: Mapping[str, Statistic] = MappingProxyType(
    {
        "tl-range": Statistic("range", "The lowest and the highest value of the runs behind a number. It links to the values of each run."),
        "stat-count": Statistic("count", "A count of runs, numbers, messages, lines or rows."),
        "tl-runs": Statistic("runs", "The number of runs behind a value, and the planned duration of each. It links to the values of each run."),
        "tl-of": Statistic("runs of a group", "If the runs fall into two groups, the number of runs in this one."),
        "stat-cost": Statistic(
            "cost of a message",
            "Processor time, context switches and memory, computed from what the kernel counted for both sides of each run: the median over runs.",
        ),
        "stat-median": Statistic("median of a comparison", "The median of the runs that were compared. If runs are paired, only paired runs count."),
        "tl-ratio": Statistic(
            "ratio to the baseline", "A number divided by that of the baseline at the same size; or the number of sizes behind a mean ratio."
        ),
        "stat-mean-ratio": Statistic("mean ratio", "The geometric mean of the ratios to the baseline over the sizes."),
        "stat-ratio": Statistic(
            "ratio", "New divided by old. If runs are paired, it is estimated from the pairs, and may differ from the ratio of the medians beside it."
        ),
        "stat-interval": Statistic("interval", "The range of the true ratio: with 95 % confidence, or as far as rounded values allow."),
        "stat-evidence": Statistic(
            "evidence",
            "The basis of a verdict: change in percent, pairs and runs, p-value, threshold, smallest detectable change, and conditions that differ.",
        ),
        "stat-percentile": Statistic("percentile", "Which percentile a number is: 99 % of the messages took at most this long."),
        "tl-answer": Statistic("answer", "The answer to a question in words. Its numbers are those of the table below it, or follow from them."),
        "tl-answer-notes": Statistic("what an answer leaves out", "Values of conditions that an answer does not show, and how many runs have them."),
        "tl-tests": Statistic(
            "test of an answer",
            "The best of a case against the next one: the ratio of their medians with its 95 % interval, and the p-value, adjusted over the answer.",
        ),
        "stat-limit": Statistic("limit", "A fixed limit in a rule, such as the highest loss at which a rate still counts."),
        "stat-size": Statistic("size", "The message size of a measurement."),
        "stat-label": Statistic("conditions", "A name or a condition of a measurement: version, machine, offered rate."),
        "tl-label": Statistic("name of a series", "The conditions in which a series differs from the others on its page."),
        "tl-legend": Statistic("legend", "The names of the lines of a figure, or of the kinds of lines of a log."),
        "tl-caption": Statistic("name of a table", "The content of a table, and the conditions of its numbers."),
        "tl-ranked": Statistic("head of a ranking", "What is ranked, with the conditions and the number of runs that all rows share."),
        "tl-facts": Statistic("facts", "The conditions that all numbers of a page share, or the facts of a log."),
        "tl-host": Statistic("properties of a machine", "The description of a machine, written by somebody or read by a program."),
        "tl-remarks": Statistic("remark of a manifest", "A comment by those who measured or published the numbers."),
        "tl-note": Statistic("note", "What a table or figure shows or leaves out, and the limits of its rules."),
        "tl-notes": Statistic("what a mark means", "The rule behind a mark, with its limits."),
        "tl-unlisted": Statistic("what is not listed", "Systems, versions and transports that are in no ranking, with the reason."),
        "tl-pad": Statistic("filling", "Invisible zeros that align decimal points. Screen readers skip them."),
    }
)
