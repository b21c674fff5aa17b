"""The quality marks: what a reader should know before trusting a number. A mark never changes a number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import msgspec

SAMPLES_BEYOND = 10  # If fewer samples lie beyond a percentile, its printed value is usually too good.


class Mark(msgspec.Struct, frozen=True):
    """A quality mark.

    Attributes:
        sign: the footnote sign after the number.
        title: the mark in a few words.
        sentence: what the mark means for a reader.
        by_formats: whether a format may set it, because only the log shows it. All other marks are set by the rules in `tacholog.store.quality`.
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
            "Fewer than ten samples lie beyond this percentile. A high percentile is then little more than the largest value seen, and mostly too "
            "good. A median is then rough: the true one may be well above or below it. If the log does not count the samples, the largest "
            "possible number is assumed.",
        ),
        "timeout_artefact": Mark(
            "\u2021",
            "A time-out, not a latency",
            "The tool waits 200 ms for an answer. About 100 ms, half of that, is a lost answer that was counted as a latency. It spoils the "
            "mean and the standard deviation too.",
        ),
        "no_bytes_moved": Mark(
            "\u00a7",
            "No payload was moved",
            "Zero copy hands over a reference. According to the log, nobody touched the payload, so this rate counts bytes that did not "
            "move: read it as messages handed over, not as bandwidth. If a log does not state the data path, more than 1 Tbit/s at any size "
            "counts as zero copy.",
        ),
        "reference_only": Mark(
            "r",
            "The latency of a reference",
            "Zero copy hands over a reference. According to the log, nobody touched the payload, so this is the latency of the reference, not "
            "of the bytes, and the size does not matter. Compare it with other references, not with copies.",
        ),
        "grows_with_size": Mark(
            "g",
            "Zero copy in name",
            "This is called zero copy, but its latency grows with the size: within the measured time, something writes, reads or copies the "
            "payload. The log does not say what. Read it as the latency of the bytes.",
        ),
        "loss": Mark(
            "\u25bd",
            "More than 1 % lost",
            "The subscriber lost more than 1 % of the messages: the rate counts only the messages that arrived, and is 0 if none did.",
        ),
        "offered_above_delivered": Mark(
            "\u25b3",
            "Offered load beyond the link",
            "Received and lost messages together are more than this transport delivered at any size of the run: the publisher had no flow control "
            "and wrote more than the link can carry, so messages were overwritten before they were sent.",
        ),
        "warmup_fixed": Mark(
            "w",
            "Shortened warm-up",
            "The warm-up had a fixed length. It did not wait until the results were steady.",
        ),
        "not_steady": Mark(
            "n",
            "Never steady",
            "The warm-up gave up: three intervals in a row never agreed within 5 %.",
        ),
        "other_way": Mark(
            "f",
            "The data took another way",
            "According to the kernel's counters, the data took another way than the transport expects: a library may use the network instead, "
            "without a message about it, or another program used the network at the same time. The log has both figures.",
        ),
        "clock_coarse": Mark(
            "\u25f7",
            "Near the clock's own cost",
            "According to the log, one reading of the clock takes more than 5 % of the median of this run.",
        ),
        "near_resolution": Mark(
            "\u2248",
            "Near the tool's resolution",
            "This latency is less than ten steps of the clock that measured it, or of the rounding of its tool. One step is then more than 10 %.",
        ),
        "out_of_order": Mark(
            "!",
            "Statistics contradict each other",
            "Minimum, percentiles and maximum must be in ascending order. This number and another one are not, and the difference is larger than "
            "their rounding. No distribution allows that.",
        ),
        "impossible": Mark(
            "?",
            "The log prints something impossible",
            "The log holds an impossible value here, such as a counter below zero that was read as a huge number. It is shown as unknown.",
            by_formats=True,
        ),
        "derived": Mark(
            "d",
            "Derived, not measured",
            "The tool computed this figure from another one that it had measured.",
            by_formats=True,
        ),
        "partial": Mark(
            "p",
            "From part of the rows",
            "Some rows or cells of the log are broken or impossible. This figure was computed from the others.",
            by_formats=True,
        ),
        "intervals_only": Mark(
            "i",
            "Known for intervals only",
            "The tool prints this percentile for each interval only. The percentile of the whole run cannot be computed from them, so it is "
            "not known.",
            by_formats=True,
        ),
        "clock_skew": Mark(
            "k",
            "The clock went backwards",
            "According to the publisher's clock, some answers came before their messages were sent. They were left out; the others may be wrong too.",
            by_formats=True,
        ),
        "clock_error": Mark(
            "e",
            "The clocks may be further apart than a tenth of this",
            "Publisher and subscriber ran on two machines. According to the reports of their clocks, this one-way latency may be wrong by more than "
            "a tenth. The error of the clocks is shown next to it.",
        ),
        "two_clocks": Mark(
            "2",
            "Two clocks without a witness",
            "Publisher and subscriber ran on two machines, and nothing reports how far their clocks were apart. So nobody knows this one-way "
            "latency, and it is not shown. Let chrony or ptp4l run on both machines, and measure again.",
        ),
        "extra_answers": Mark(
            "a",
            "More answers than the tool keeps",
            "More answers came than the tool had room for, as happens with a second publisher or subscriber of the same number. The "
            "additional ones were left out.",
            by_formats=True,
        ),
        "low_resolution_clock": Mark(
            "l",
            "Too coarse a clock",
            "The clock of this run was too coarse for single latencies. Only the overall average is worth reading.",
            by_formats=True,
        ),
        "drops_samples": Mark(
            "s",
            "The tool drops samples",
            "The tool leaves some latencies out, such as those of zero and below, and does not count them. The statistics are those of the rest, so "
            "the true ones may be far lower.",
            by_formats=True,
        ),
        "not_sustained": Mark(
            "\u2191",
            "The rate was not sustained",
            "The subscribers fell behind: the messages that were published and not yet received grew by more than one second of publishing. This "
            "rate could not have gone on, and the latency of delivery depends on how long the test took.",
            by_formats=True,
        ),
        "unit_assumed": Mark(
            "u",
            "The unit is not in the log",
            "The log does not state its unit of time. It is read as microseconds, which all but special builds print.",
            by_formats=True,
        ),
        "busy_machine": Mark(
            "b",
            "The machine was busy",
            "When the run began, other programs kept more than a quarter of the processors busy. If nobody measured it: the load average "
            "was above 2 plus a quarter of the processors. The numbers measure that other work too.",
        ),
        "disturbed": Mark(
            "o",
            "Others took more of the machine than allowed",
            "Before, during or after the run, other programs or the host of the virtual machine took more processor time than the limits of the "
            "campaign allow. The campaign has to be run again before it is published.",
        ),
        "republished": Mark(
            "=",
            "The same measurement, published again",
            "Another release of this system is published with the same figures, to the last digit, over the whole series. It is one "
            "measurement and not two, and says nothing about what changed between these releases.",
        ),
        "size_from_manifest": Mark(
            "m",
            "The size is not in the log",
            "The log does not print the size of the messages. It was taken from the campaign or from the manifest of the run.",
        ),
        "contradicted": Mark(
            "\u2260",
            "The log and the manifest disagree",
            "The manifest of the run and its log state a condition differently. The value of the log is used; the page on data quality names both.",
        ),
        "altered": Mark(
            "#",
            "Not the log that was recorded",
            "The SHA-256 of the log is not the one in the manifest of its run: the log was cut or changed since it was recorded, or the manifest "
            "was. This is what the log says now, and it gets no verdict. The page on data quality names both checksums.",
        ),
        "two_groups": Mark(
            "\u2225",
            "Runs fall into two groups",
            "The values of these runs form two groups with a wide gap between them. This happens, for example, if some runs had their threads on "
            "other processors. Both groups are shown, each with the median of its runs and their number. A median of all runs would describe "
            "neither.",
        ),
        "run_failed": Mark(
            "x",
            "The run failed",
            "The run did not end well. Its figures are shown as they were logged, and get no verdict.",
        ),
    }
)

#: The marks that a format may set on a number.
FORMAT_MARKS = frozenset(name for name, mark in MARKS.items() if mark.by_formats)

#: The bit of each mark, for code that holds the marks of a number as one integer.
MARK_BITS: Mapping[str, int] = MappingProxyType({name: 1 << position for position, name in enumerate(sorted(MARKS))})


def mark_bits(marks: Iterable[str]) -> int:
    """Return the marks as the bits of one integer."""
    bits = 0
    for mark in marks:
        bits |= MARK_BITS[mark]
    return bits


def marks_of(bits: int) -> tuple[str, ...]:
    """Return the names of the marks whose bits are set, sorted."""
    return tuple(name for name, bit in MARK_BITS.items() if bits & bit)
