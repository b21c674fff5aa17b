"""The quality marks: what a reader should know before trusting a number. A mark never changes a number."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec


class Mark(msgspec.Struct, frozen=True):
    """A quality mark.

    Attributes:
        sign: the footnote sign that stands at the number.
        title: what was found, in a few words.
        sentence: what it means for a reader.
        by_formats: whether a format may set it, because only the log shows it. All other marks are set by the rules of `tacholog.dataset.quality`.
    """

    sign: str
    title: str
    sentence: str
    by_formats: bool = False


MARKS: Mapping[str, Mark] = MappingProxyType(
    {
        "undersampled": Mark(
            "\u2020",
            "Too few samples for this percentile",
            "Fewer than ten samples lie beyond this percentile, so it is little more than the largest value seen, and mostly too good. "
            "Where the log states no number of samples, it is estimated: no more than fit into the planned time one after another.",
        ),
        "timeout_artefact": Mark(
            "\u2021",
            "A time-out, not a latency",
            "About 100 ms is half of the 200 ms that the tool waits for an answer that was lost: a loss that was counted as a latency, "
            "which also spoils the mean and the standard deviation.",
        ),
        "no_bytes_moved": Mark(
            "\u00a7",
            "No payload was moved",
            "Zero copy hands over a reference. Whether anybody touched the payload is not stated, so this rate counts bytes that did not move: "
            "read it as messages handed over, not as bandwidth. Where a log does not say how the bytes went, more than 1 Tbit/s at any size says it.",
        ),
        "reference_only": Mark(
            "r",
            "The latency of a reference",
            "Zero copy hands over a reference, and whether anybody touched the payload is not stated: this is the latency of the reference at any "
            "size, not of the bytes. Compare it with other references, not with copies.",
        ),
        "grows_with_size": Mark(
            "g",
            "Zero copy in name",
            "Called zero copy, but the latency grows with the size: within the time that was measured somebody writes, reads or copies the payload, "
            "and who is not stated. Read it as the latency of the bytes.",
        ),
        "loss": Mark(
            "\u25bd",
            "More than 1 % lost",
            "The subscriber lost more than 1 % of the messages: the rate is what was left, not what the path carries.",
        ),
        "offered_above_delivered": Mark(
            "\u25b3",
            "Offered load beyond the link",
            "Received and lost messages together are more than this transport delivered at any size of the run: the publisher was not held "
            "back and wrote more than the link can carry, so samples were overwritten before they were sent.",
        ),
        "warmup_fixed": Mark("w", "Shortened warm-up", "The warm-up had a fixed length and did not wait until the figures were steady."),
        "not_steady": Mark("n", "Never steady", "The warm-up gave up: three intervals in a row never agreed within 5 %."),
        "clock_coarse": Mark(
            "c",
            "Near the clock's own cost",
            "The median is less than 20 times what one reading of the clock cost in its run; of several runs one is enough.",
        ),
        "out_of_order": Mark(
            "!",
            "Statistics contradict each other",
            "Minimum, percentiles and maximum are not in ascending order, which no distribution allows.",
        ),
        "impossible": Mark(
            "?",
            "The log prints something impossible",
            "The log holds a value here that cannot be, such as a counter below zero read as a huge number. It is shown as unknown.",
            by_formats=True,
        ),
        "derived": Mark("d", "Derived, not measured", "The tool computed this figure from another one that it had measured.", by_formats=True),
        "partial": Mark(
            "p",
            "From part of the rows",
            "Some rows or cells of the log are broken or cannot be, and are not in this figure, which was computed from the others.",
            by_formats=True,
        ),
        "intervals_only": Mark(
            "i",
            "Known for intervals only",
            "The tool prints this percentile for each interval. That of the whole run cannot be computed from those of its parts: it is not known.",
            by_formats=True,
        ),
        "clock_skew": Mark(
            "k",
            "The clock went backwards",
            "Answers came before their questions by the publisher's clock, and were left out: the others may be off too.",
            by_formats=True,
        ),
        "extra_answers": Mark(
            "a",
            "More answers than the tool keeps",
            "More answers came than the tool had kept room for, as with a second publisher or subscriber of the same number. The rest was left out.",
            by_formats=True,
        ),
        "low_resolution_clock": Mark(
            "l",
            "Too coarse a clock",
            "The run used a clock too coarse for single latencies: only its overall average is worth reading.",
            by_formats=True,
        ),
        "unit_assumed": Mark(
            "u",
            "The unit is not in the log",
            "The log does not say which unit of time it uses. Read as the microsecond, which all but special builds print.",
            by_formats=True,
        ),
        "busy_machine": Mark(
            "b",
            "The machine was busy",
            "When the run began, more programs wanted processors than the run's own two and a quarter of the processors: what it measured is "
            "the machine's other work too.",
        ),
        "republished": Mark(
            "=",
            "The same measurement, published again",
            "Another release of this system is published with the same figures to the last digit, over the whole series: it is one measurement, "
            "not two, and says nothing of what changed between these releases.",
        ),
        "size_from_manifest": Mark(
            "m",
            "The size is not in the log",
            "The log does not print the size of the messages. It is the one that the campaign or the run's manifest states.",
        ),
        "contradicted": Mark(
            "\u2260",
            "The log and the manifest disagree",
            "The run's manifest states a condition otherwise than its log. The log's word is used; the data quality page names both.",
        ),
        "two_groups": Mark(
            "\u2225",
            "Runs fall into two groups",
            "The values of these runs lie in two groups with a wide gap between them, as when some runs had their threads on other processors. "
            "Both groups are shown, each by the median of its runs and with their number. A median of all of them would say nothing of either.",
        ),
        "run_failed": Mark("x", "The run failed", "The run did not end well: its figures stand as they were logged, and carry no verdict."),
    }
)

#: The marks that a format may set on a number.
FORMAT_MARKS = frozenset(name for name, mark in MARKS.items() if mark.by_formats)
