"""What sockperf prints at the end of a test, line after line: the statistics of each server, or the rates of a throughput test.

Source: the printing functions of sockperf 2.5 to 3.10, logs recorded with 3.7, and a published log from before 3.6.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from tacholog.formats.kit import MICROSECOND, Basis, Broken, Cell, Conditions, Finding, Line, LoadMode, Number, Record, counted, finding_on, printed

_MIB = 1 << 20
_SECOND, _MILLISECOND = 1e9, 1e6
_US = r"[0-9]{1,12}\.[0-9]{3}"
_COUNT = r"[0-9]{1,18}"


class TestParameters(NamedTuple):
    """What was said before the results: by the line of the socket, or by the parameters in a full log."""

    payload_bytes: int | None = None
    conditions: Conditions = Conditions()


class Step(NamedTuple):
    """A line of a block: how it begins, all of it, and which steps may follow."""

    starts: re.Pattern[str]
    whole: re.Pattern[str]
    then: frozenset[str]


Row = Mapping[str, Cell]  # What the named groups of a line hold.
Said = dict[str, list[Row]]


class Block(NamedTuple):
    """The lines of a result in their order, and what reads them."""

    steps: Mapping[str, Step]
    read: Callable[[Said, TestParameters], Record | Broken]


class BlockReader:
    """The block of lines that the log is in. A line that does not come next in it ends it, and what was said so far is broken."""

    def __init__(self) -> None:
        """Wait for the first line of a block."""
        self._reset()

    def _reset(self) -> None:
        self._block: Block | None = None
        self._lines: list[Line] = []
        self._said: Said = {}
        self._at = ""

    @property
    def is_open(self) -> bool:
        """Whether a block has begun."""
        return self._block is not None

    def take(self, line: Line, text: str, context: TestParameters) -> list[Finding] | None:
        """Use a line whose prefix is taken off; ``None`` if it is of no block."""
        steps = [(block, name) for block in _BLOCKS for name, step in block.steps.items() if step.starts.match(text)]
        if not steps:
            return None
        block, name = steps[0]
        first, *_, last = block.steps
        found = [] if block is self._block and name != first else self.close()
        expected = name in block.steps[self._at].then if self._block else name == first
        match = block.steps[name].whole.fullmatch(text)
        if not expected or match is None or not line.whole:
            is_alone = match is not None and line.whole and not self._block
            why = "whose first lines are missing" if is_alone else "that is cut, garbled or out of its place"
            return [*found, *self.close(), Finding(line, Broken(f"a line of a result {why}"))]
        self._block, self._at = block, name
        self._lines.append(line)
        shift = len(line.text) - len(text)
        self._said.setdefault(name, []).append(
            {name: Cell(match[name], shift + match.start(name), line.number) for name in match.re.groupindex if match[name]}
        )
        if name == last:
            found.append(finding_on(self._lines, block.read(self._said, context)))
            self._reset()
        return found

    def close(self) -> list[Finding]:
        """Give up what was begun."""
        found = [finding_on(self._lines, Broken("a result that does not go on to its end"))] if self._lines else []
        self._reset()
        return found


def _step(starts: str, rest: str, *then: str) -> Step:
    return Step(re.compile(starts), re.compile(starts + rest), frozenset(then))


_EXTRA = rf"(?:, mean-ad=(?P<mean_ad>{_US}), median-ad=(?P<median_ad>{_US}), siqr=(?P<siqr>{_US}), cv={_US}, std-error=(?P<std_error>{_US})"
_EXTRA += rf", [0-9]{{1,3}}\.[0-9]% ci=\[-?{_US}, {_US}\])?"
_ERRORS = rf" = (?P<lost>{_COUNT}); # duplicated messages = (?P<duplicated>{_COUNT}); # out-of-order messages = (?P<reordered>{_COUNT})"
_STATISTICS: Mapping[str, Step] = {
    "server": _step("========= Printing statistics for Server No: ", r"(?P<server>[0-9]{1,4})", "valid"),
    "valid": _step(
        r"\[Valid Duration\] ", rf"RunTime=(?P<s>{_US}) sec; SentMessages=(?P<sent>{_COUNT}); ReceivedMessages=(?P<received>{_COUNT})", "average"
    ),
    "average": _step("====> avg-", rf"(?P<of>latency|lat|rtt)= *(?P<mean>{_US}) \(std-dev=(?P<std>{_US}){_EXTRA}\)", "errors"),
    "errors": _step("# dropped messages", _ERRORS, "summary", "total"),
    "summary": _step("Summary: (?P<of>Latency|Round trip) ", rf"(?:of burst of (?P<burst>[0-9]{{1,9}}) messages )?is (?P<mean>{_US}) usec", "total"),
    "total": _step(
        rf"Total (?P<samples>{_COUNT}) observations", r"; each percentile contains (?P<hundredth>[0-9]{1,18}\.[0-9][0-9]) observations", "max"
    ),
    "max": _step("---> (?:<MAX>|MAX) observation", rf" = +(?P<us>{_US})", "percentile", "min"),
    "percentile": _step("---> percentile", rf" {{1,2}}(?P<percent>[0-9][0-9]\.[0-9]{{2,3}}) = +(?P<us>{_US})", "percentile", "min"),
    "min": _step("---> (?:<MIN>|MIN) observation", rf" = +(?P<us>{_US})"),
}
# Up to 2.7 percentiles have two decimals.
_PERCENTILES = ("99.999", "99.990", "99.900", "99.000", "90.000", "75.000", "50.000", "25.000")
_PERCENTILES_BEFORE_2_8 = ("99.99", "99.90", "99.50", "99.00", "95.00", "90.00", "75.00", "50.00", "25.00")
_DEVIATIONS = {"std": "std", "mean_ad": "mean-ad", "median_ad": "median-ad", "siqr": "siqr", "std_error": "std-error"}


def _counted(metric: str, cell: Cell) -> Number:
    return counted(metric, int(cell), cell=cell)


def _printed(metric: str, statistic: str, cell: Cell, unit: float, resolution: float) -> Number:
    """A number of which a whole multiple of the resolution is printed. No deviation at all is exact."""
    return printed(metric, statistic, float(round(float(cell) * unit)), resolution, zero_is_exact=statistic in _DEVIATIONS.values(), cell=cell)


def _read_statistics(said: Said, context: TestParameters) -> Record | Broken:
    """The record of a server's statistics."""
    valid, average, errors = said["valid"][0], said["average"][0], said["errors"][0]
    if trouble := _contradiction(said):
        return Broken(trouble)
    percentiles = [(f"p{float(row['percent']):g}", row, "us") for row in reversed(said.get("percentile", []))]
    latencies = [("mean", average, "mean"), ("std", average, "std"), ("min", said["min"][0], "us"), *percentiles, ("max", said["max"][0], "us")]
    latencies += [(statistic, average, name) for name, statistic in _DEVIATIONS.items() if name != "std" and name in average]
    basis: Basis = "rtt" if average["of"] == "rtt" else "rtt/2"
    burst = any("burst" in row for row in said.get("summary", []))
    server = int(said["server"][0]["server"])
    return Record(
        test="latency",
        payload_bytes=context.payload_bytes,
        numbers=(
            *(_printed("latency", statistic, row[name], MICROSECOND, 1.0) for statistic, row, name in latencies),
            *(_counted(f"messages_{name}", valid[name]) for name in ("sent", "received")),
            *(_counted(f"messages_{name}", errors[name]) for name in ("lost", "duplicated", "reordered")),
            _printed("duration", "total", valid["s"], _SECOND, _MILLISECOND),
        ),
        samples=int(valid["received"]),
        side="publisher",
        participant=f"server {server}" if server else None,
        conditions=Conditions(basis=basis, definition=("sockperf-burst-" if burst else "sockperf-") + ("rtt" if basis == "rtt" else "latency")).over(
            context.conditions
        ),
    )


def _contradiction(said: Said) -> str | None:
    """Why these lines cannot be of one result: all of them are made from one sorted list of samples."""
    average, total = said["average"][0], said["total"][0]
    samples = int(said["valid"][0]["received"])
    if int(total["samples"]) != samples or total["hundredth"] != f"{samples / 100:.2f}" or samples == 0:
        return "the counts of samples differ"
    percents = [str(row["percent"]) for row in said.get("percentile", [])]
    known = _PERCENTILES_BEFORE_2_8 if percents[:1] and percents[0] in _PERCENTILES_BEFORE_2_8 else _PERCENTILES
    if percents != [name for name in known if int(0.5 + float(f"0.{name.replace('.', '')}") * samples) >= 1]:
        return "percentiles are missing, or not those of the tool"
    ordered = [float(row["us"]) for name in ("max", "percentile", "min") for row in said.get(name, [])]
    if ordered != sorted(ordered, reverse=True) or not ordered[-1] - 2e-3 <= float(average["mean"]) <= ordered[0] + 2e-3:
        return "minimum, percentiles, mean and maximum are out of order"
    for row in said.get("summary", []):
        if row["mean"] != average["mean"] or (row["of"] == "Round trip") != (average["of"] == "rtt"):
            return "the summary is another's"
    return None


_SIZE = r"(?:msg-size=(?P<size>[0-9]{1,9})|average msg-size=(?P<middle>[0-9]{1,9}) \(\+/-(?P<range>[0-9]{1,9})\))"
_PACKETS = r"(?:, Packet Rate is about -?[0-9]{1,10} \[pkt/sec\] \([0-9]{1,9} ip frags / msg\))?"
_BANDWIDTH = r"(?P<bytes>[0-9]{1,12}\.(?:[0-9]{3}|[0-9]{9})) (?P<unit>[MG])Bps \((?P<bits>[0-9]{1,12}\.(?:[0-9]{3}|[0-9]{9})) (?P=unit)bps\)"
_THROUGHPUT: Mapping[str, Step] = {
    "total": _step(rf"Total of (?P<sent>{_COUNT}) messages sent", rf" in (?P<s>{_US}) sec(?: \({_COUNT} messages skipped\))?", "note", "rate"),
    "note": _step("NOTE: test was performed, using ", rf"{_SIZE}(?:, mps=(?P<mps>[0-9]{{1,9}}))?\. .{{0,150}}", "rate"),
    "rate": _step("Summary: Message Rate ", rf"is (?P<rate>[0-9]{{1,10}}) \[msg/sec\]{_PACKETS}", "bandwidth"),
    "bandwidth": _step("Summary: BandWidth ", rf"is {_BANDWIDTH}"),
}
_SIZE_WITHOUT_NOTE = "1472"  # The note on how to send faster is left out at the size that it recommends.


def _read_throughput(said: Said, context: TestParameters) -> Record | Broken:
    """The record of a throughput test: what the client sent, whether or not it arrived."""
    total, rate, band = said["total"][0], said["rate"][0], said["bandwidth"][0]
    note = said["note"][0] if "note" in said else {"size": _SIZE_WITHOUT_NOTE}
    middle, spread = int(note.get("size") or note["middle"]), int(note.get("range", "0"))
    sent, per_second = int(total["sent"]), int(rate["rate"])
    decimals = len(band["bytes"].partition(".")[2])
    # The unit is MiB, and a thousand of them with --giga-size. With nine decimals 3.7 prints "GBps" for MiB.
    unit = 1000 * _MIB if band["unit"] == "G" and decimals == len("000") else _MIB
    bits, resolution = float(band["bits"]) * unit, float(unit * 10**-decimals)
    if trouble := _contradictory_rates(float(band["bytes"]) * unit, bits, resolution, per_second * middle):
        return Broken(trouble)
    if not _is_over_time(sent, float(total["s"]), per_second):
        return Broken("rate is not messages over time")
    load_mode: LoadMode = "paced" if "mps" in note else "max-rate"
    return Record(
        test="throughput",
        payload_bytes=middle - spread,
        payload_bytes_high=middle + spread if spread else None,
        numbers=(
            printed("offered_goodput", "mean", bits, resolution, cell=band["bits"]),
            _printed("offered_rate", "mean", rate["rate"], 1.0, 1.0),
            _counted("messages_sent", total["sent"]),
            _printed("duration", "total", total["s"], _SECOND, _MILLISECOND),
        ),
        samples=sent,
        side="publisher",
        conditions=Conditions(
            transport=context.conditions.transport,
            load_mode=load_mode,
            offered_rate_per_s=float(note["mps"]) if "mps" in note else None,
            definition="sockperf-throughput",
            planned_duration_s=context.conditions.planned_duration_s,
        ),
    )


def _contradictory_rates(bytes_per_s: float, bits_per_s: float, resolution: float, expected_bytes_per_s: int) -> str | None:
    if abs(bytes_per_s - expected_bytes_per_s) > resolution + 1e-9 * expected_bytes_per_s:
        return "bandwidth is not rate times size"
    if abs(bits_per_s - 8 * bytes_per_s) > 10 * resolution + 8e-9 * bytes_per_s:
        return "bits are not eight times the bytes"
    return None


def _is_over_time(sent: int, seconds: float, per_second: int) -> bool:
    """Whether this is the rate of so many messages. Time is rounded to the millisecond, so the rate may be a little higher or lower."""
    return sent / (seconds + 1e-3) - 1 <= per_second and per_second * (seconds - 1e-3) <= sent + 1


_BLOCKS = (Block(_STATISTICS, _read_statistics), Block(_THROUGHPUT, _read_throughput))
