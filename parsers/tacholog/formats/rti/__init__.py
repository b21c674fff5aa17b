"""RTI Perftest: the output of its programs, from version 5.1 of 2016 (which is older than 2.0) to 4.3; results that RTI publishes; and Perftest Lite.

The subscriber prints throughput, and the publisher prints latency. Both print a summary for each message size, with intervals before the summary. Up
to 3.0.1, the summaries are text::

    Length:    32  Packets: 77849677  Packets/s(ave): 2594706  Mbps(ave):   664.2  Lost:     0 (0.00%)
    Length:    32  Latency: Ave     20 us  Std    1.5 us  Min     18 us  Max    130 us  50%     20 us  90%     21 us ... 99.9999%    130 us

From 3.1 on, the output is CSV. If an option asks for it, the output is JSON or the old text. Results are on stdout, and the banner and the progress
are on stderr. So a log may lack the results, or the banner and the progress.

``Length`` is the size of a sample as the tool counts this size: 28 bytes are RTI's own header. "Mbps" is 10**6 bit/s of this size. "Lost" counts the
gaps in the sequence numbers at this subscriber. A latency is half of a round trip; the tool halves by integer division.

Conditions are read from the banner: reliability, keys, batching, rate, time, listeners or waitsets, type, FlatData, zero copy and the transport.
The condition ``settings`` contains other requested features of the middleware: asynchronous publishing, flow controller, multicast, turbo mode,
throttling, and the mode of TCP. Some values of the banner are environment, because they name a run or a machine, or repeat conditions: identifiers,
the domain, the network card, the file of QoS profiles, and how often a latency is measured.
Source: the RTI Perftest manual, "Test Results", and the printers of its releases 5.1 to 4.3 and of Perftest Lite; samples in tests/formats/rti/.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from tacholog.formats.kit import BulkFinding, BulkStep, Detected, Dialect, Finding, Line, Lines, LineStart, Record, States, read_in_bulk
from tacholog.formats.rti import rules
from tacholog.formats.rti.banner import Banner, begins_run, without_skew_notices
from tacholog.formats.rti.csv import CsvTable, is_row
from tacholog.formats.rti.json import JsonOutput
from tacholog.formats.rti.legacy import LegacyText
from tacholog.formats.rti.lite import LiteOutput
from tacholog.formats.rti.pages import WebPage
from tacholog.formats.rti.samples import SAMPLES, LatencyFile

SYSTEM = "RTI Connext DDS"
TOOL = "RTI Perftest"
DIALECTS = (
    Dialect("legacy-5.1", "5.1.0 (no p99.9999)", "from source only"),
    Dialect("legacy-2", "5.2.0 to 5.2.4, then 2.0 to 2.3.2 (no loss in percent)", "logs in the manual"),
    Dialect("legacy-2.4", "2.4 to 3.0.1", "real logs, published results, logs in the manual"),
    Dialect("legacy-3.1", "3.1 to 3.3 with -outputFormat legacy", "the printers, compiled"),
    Dialect("legacy-4", "4.0 to 4.3 with -outputFormat legacy", "the printers, compiled"),
    Dialect("csv-3", "3.1 to 3.3", "real logs (C++); Java and C# from source only"),
    Dialect("csv-4", "4.0 to 4.3", "the printers, compiled; Java and C# from source only"),
    Dialect("json", "3.1 to 4.3 with -outputFormat json", "the printers, compiled; Java and C# from source only"),
    Dialect("latency-file", "4.1 and later, -latencyFile", "from source only"),
    Dialect("page", "published benchmark pages, saved as text", "published pages; those with several subscribers from a description only"),
    Dialect("page-micro", "published benchmark pages of Connext Micro (no p99.9999)", "published pages of Micro 2.4.14 and 3.0.3"),
    Dialect("lite", "Perftest Lite of 2026", "from source only"),
)
BULK = (*rules.BULK, SAMPLES)
DEFINITIONS = {
    "rti-one-way": "Half of a round trip, in whole microseconds (in special builds whole nanoseconds), halved by integer division. RTI Perftest "
    "calls it one-way latency. The tool has a fixed list of percentiles, and does not print of how many samples they are. In a throughput test, "
    "only one message in a fixed number is measured ('Latency count'). This limits the number of samples of a run.",
    "rti-one-way-running": "As rti-one-way. 'last' is the latency of one answer. The other statistics are over all answers of the current size so "
    "far.",
    "rti-low-resolution": "The time of a whole run, divided by twice its messages, for runs whose clock is too coarse for single latencies.",
    "rti-sample": "As rti-one-way, with statistics that were computed here from the single latencies in the log.",
    "rti-serialization": "Time to serialise and to deserialise one message, which the publisher measured outside of the run.",
    "rti-throughput": "Samples that the subscriber received in the time of the test. 'Mbps' is 10^6 bit/s of the length that the tool prints, which "
    "includes 28 bytes of its own header. Rates of zero-copy runs are logical: the bytes are not moved.",
    "rti-throughput-running": "As rti-throughput. 'last' is over the last second, 'mean' is the mean of all seconds of the current size so far, and "
    "counts are totals of this size so far.",
    "rti-over-subscribers": "As rti-throughput, over all subscribers of one publisher.",
    "lite-one-way": "Half of a round trip, in whole microseconds, as Perftest Lite prints it. Sizes include 28 bytes of its own header.",
    "lite-one-way-running": "As lite-one-way. 'last' is the latency of one answer. The other statistics are over all answers of the current size so "
    "far.",
    "lite-throughput": "Samples that Perftest Lite's subscriber received, times their size, divided by the time since the first sample. Lost "
    "samples are counted by sequence number.",
    "lite-throughput-running": "As lite-throughput, over the last second.",
}
STATES = {
    "latency": States(
        always="definition",
        sometimes="transport data_path reliability keyed offered_rate_per_s batch_bytes subscribers load_mode waiting settings "
        "basis planned_duration_s payload_bytes tool_version",
    ),
    "throughput": States(
        always="definition", sometimes="transport data_path reliability keyed publishers subscribers waiting settings payload_bytes tool_version"
    ),
}

_SIGNS = (
    *("Packets/s(ave):", "99.9999% (", "99.9999%% (", '"latency_ave"', '"packets/sAve"', '"packets/s_ave"', "Sample Number, Value"),
    *("=== Perftest Lite ", "size_bytes,total_samples,", "Batching cannot be used in a Latency test", "_MessagingImpl was null"),
)
# Each pattern begins with fixed letters, so Python finds it much faster than one pattern with several alternatives.
_WITHIN = (
    re.compile(r"Length: +[0-9]+ +Latency: +Ave"),
    re.compile(r"One[ -][wW]ay Latency: +[0-9]+ [un\u03bc\u00b5]s"),
    re.compile(r"Length \(Bytes\), (?:Ave|Latency|Total Samples)"),
    re.compile(r"Sample Size \(Bytes\), (?:Ave|Latency|Total Samples)"),
)
_STARTS = LineStart(
    r"RTI Perftest (?:Master|Develop|[0-9])|"
    r"Subscribers\s+(?:Min|Sample Size \(Bytes\))\b|Total Samples(?: \|)?\s+A(?:ve|vg) Samples/s(?: \|)?$|"
    r"(?:\| {0,20})?(?:Length|Bytes|Size \(Bytes\))[\s|]{1,20}(?:A(?:ve|vg) \([u\u03bc\u00b5]s\)[\s|]{1,20}Std\b|Packets[\s|]{1,20}Packets/s\b|"
    r"Total Samples[\s|]{1,20}A(?:ve|vg) Samples/s\b)"
)


def detect(head: str) -> Detected:
    """Return whether the log has RTI's summary columns, its banner, rows of its CSV, or the header of a published table."""
    first = next((line for line in head[:4096].split("\n") if line.strip()), "")  # If column heads are switched off, a log begins with a row of CSV.
    fits = any(sign in head for sign in _SIGNS) or _STARTS.is_in(head) or any(sign.search(head) for sign in _WITHIN) or is_row(first)
    return Detected(
        fits, wants="'Packets/s(ave):', 'Length: N Latency: Ave', a 'RTI Perftest' banner, rows of its CSV or JSON, or a page's '99.9999%' column"
    )


def parse(lines: Iterable[Line | Lines]) -> Iterator[Finding | BulkFinding]:
    """Yield the findings: records, broken result lines, facts, and chatter that the tool is known to print."""
    run = _PerftestRun()

    def read_line(line: Line) -> Iterator[Finding]:
        nonlocal run
        if begins_run(line.text):
            yield from run.close("another run begins within this one")
            run = _PerftestRun()
        yield from run.take(line)

    def read_lines(rows: Lines) -> BulkStep:
        return run.take_many(rows)

    yield from read_in_bulk(lines, read_line, read_lines)
    yield from run.close()


class _PerftestRun:
    def __init__(self) -> None:
        self.banner = Banner()
        self._results = False
        self._legacy = LegacyText()
        self._json = JsonOutput(self.banner)
        self._lite = LiteOutput()
        self._page = WebPage()
        self._samples = LatencyFile()
        self._readers = (self._samples, self._json, self._legacy, self._lite, CsvTable(), self._page)

    def take(self, line: Line) -> Iterator[Finding]:
        cut, skewed = without_skew_notices(line)
        if skewed and not cut.text.strip():
            yield Finding(line, None)
            return
        for reader in self._readers:
            findings = reader.take(cut)
            if findings is not None:
                yield from findings if reader is self._page else map(self._with_conditions, findings)
                return
        around = self.banner.take(cut)
        if around:
            yield around
        yield from self._json.noise(line)

    def take_many(self, lines: Lines) -> BulkStep:
        """Read many rows of a file of samples. No other reader gets the lines of such a file."""
        step = self._samples.take_many(lines)
        return step._replace(found=[self._with_conditions(finding) if isinstance(finding, Finding) else finding for finding in step.found])

    def close(self, reason: str | None = None) -> Iterator[Finding]:
        """End the run. Yield the open results as broken. Also yield how the run ended, if its progress lines state this."""
        yield from self._json.close(reason or "the log ends within this object")
        yield from self._page.close(*([reason] if reason else []))
        yield from self._samples.close(reason or "the log ends within these samples")
        yield from self.banner.close(results=self._results)

    def _with_conditions(self, finding: Finding) -> Finding:
        record = finding.what
        if not isinstance(record, Record):
            return finding
        self._results = True
        conditions = self._lite.conditions if (record.conditions.definition or "").startswith("lite") else self.banner.conditions
        numbers = record.numbers
        if record.conditions.definition in {"rti-one-way", "rti-low-resolution"}:
            numbers = tuple(msgspec.structs.replace(n, marks=(*n.marks, *sorted(self.banner.marks))) for n in numbers)
            self.banner.marks.clear()
            if record.conditions.definition == "rti-low-resolution":
                self.banner.marks.add("low_resolution_clock")
        return finding._replace(what=msgspec.structs.replace(record, numbers=numbers, conditions=record.conditions.over(conditions)))
