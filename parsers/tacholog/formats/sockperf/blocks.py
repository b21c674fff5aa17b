"""What sockperf prints at the end of a test, line after line: the statistics of each server, or the rates of a throughput test.

Source: the printing functions of sockperf 2.5 to 3.10, logs recorded with 3.7, and a published log from before 3.6.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from tacholog.formats.kit import MICROSECOND, Basis, Broken, Conditions, Found, Line, LoadMode, Number, Record, counted, found_on

MIB = 1 << 20
_LAST_PLACE_NS = 1.0  # of microseconds with three decimals
_US = r"[0-9]{1,12}\.[0-9]{3}"
_COUNT = r"[0-9]{1,18}"


class TestParameters(msgspec.Struct, frozen=True):
    """What was said before the results: by the line of the socket, or by the parameters in a full log."""

    transport: str | None = None
    payload_bytes: int | None = None
    planned_duration_s: float | None = None
    load_mode: LoadMode | None = None
    offered_rate_per_s: float | None = None
    settings: str | None = None


class Step(NamedTuple):
    """A line of a block: how it begins, all of it, and which steps may follow."""

    starts: re.Pattern[str]
    whole: re.Pattern[str]
    then: frozenset[str]


Said = dict[str, list[re.Match[str]]]


class StepReader:
    """A block of lines in a fixed order. Any other line of the block ends it, and what was said so far is broken."""

    def __init__(self, steps: Mapping[str, Step], read: Callable[[Said, TestParameters], Record | Broken]) -> None:
        """Wait for the first step."""
        self._steps = steps
        self._first, *_, self._last = steps
        self._read = read
        self._lines: list[Line] = []
        self._said: Said = {}
        self._at = ""

    @property
    def is_open(self) -> bool:
        """Whether the block has begun."""
        return bool(self._lines)

    def take(self, line: Line, text: str, context: TestParameters) -> list[Found] | None:
        """Use a line whose colours and prefix are taken off; ``None`` if it is not of this block."""
        name = next((name for name, step in self._steps.items() if step.starts.match(text)), None)
        if name is None:
            return None
        found = self.close() if name == self._first else []
        expected = name in self._steps[self._at].then if self._at else name == self._first
        match = self._steps[name].whole.fullmatch(text)
        if not expected or match is None or not line.whole:
            is_alone = match is not None and line.whole and not self.is_open
            why = "whose first lines are missing" if is_alone else "that is cut, garbled or out of its place"
            return [*found, *self.close(), Found(line, Broken(f"a line of a result {why}"))]
        self._lines.append(line)
        self._said.setdefault(name, []).append(match)
        self._at = name
        if name != self._last:
            return found
        found.append(found_on(self._lines, self._read(self._said, context)))
        self._reset()
        return found

    def close(self) -> list[Found]:
        """Give up what was begun."""
        found = [found_on(self._lines, Broken("a result that does not go on to its end"))] if self._lines else []
        self._reset()
        return found

    def _reset(self) -> None:
        self._lines, self._said, self._at = [], {}, ""


def _step(starts: str, rest: str, *then: str) -> Step:
    return Step(re.compile(starts), re.compile(starts + rest), frozenset(then))


_EXTRA = rf"(?:, mean-ad=(?P<mean_ad>{_US}), median-ad=(?P<median_ad>{_US}), siqr=(?P<siqr>{_US}), cv={_US}, std-error=(?P<std_error>{_US})"
_EXTRA += rf", [0-9]{{1,3}}\.[0-9]% ci=\[-?{_US}, {_US}\])?"
_ERRORS = rf" = (?P<lost>{_COUNT}); # duplicated messages = (?P<duplicated>{_COUNT}); # out-of-order messages = (?P<reordered>{_COUNT})"
STATISTICS: Mapping[str, Step] = {
    "server": _step("========= Printing statistics for Server No: ", r"(?P<server>[0-9]{1,4})", "valid"),
    "valid": _step(
        r"\[Valid Duration\] ", rf"RunTime=(?P<s>{_US}) sec; SentMessages=(?P<sent>{_COUNT}); ReceivedMessages=(?P<received>{_COUNT})", "average"
    ),
    "average": _step("====> avg-", rf"(?P<of>latency|lat|rtt)= *(?P<mean>{_US}) \(std-dev=(?P<std>{_US}){_EXTRA}\)", "errors"),
    "errors": _step("# dropped messages", _ERRORS, "summary", "total"),
    "summary": _step("Summary: (?:Latency|Round trip) ", rf"(?:of burst of (?P<burst>[0-9]{{1,9}}) messages )?is (?P<mean>{_US}) usec", "total"),
    "total": _step(rf"Total {_COUNT} observations", r"; each percentile contains (?P<hundredth>[0-9]{1,18}\.[0-9][0-9]) observations", "max"),
    "max": _step("---> (?:<MAX>|MAX) observation", rf" = +(?P<us>{_US})", "percentile", "min"),
    "percentile": _step("---> percentile", rf" {{1,2}}(?P<percent>[0-9][0-9]\.[0-9]{{2,3}}) = +(?P<us>{_US})", "percentile", "min"),
    "min": _step("---> (?:<MIN>|MIN) observation", rf" = +(?P<us>{_US})"),
}
_PERCENTILES = {
    "99.999": ("p99.999", 0.99999),
    "99.990": ("p99.99", 0.9999),
    "99.900": ("p99.9", 0.999),
    "99.000": ("p99", 0.99),
    "90.000": ("p90", 0.90),
    "75.000": ("p75", 0.75),
    "50.000": ("p50", 0.50),
    "25.000": ("p25", 0.25),
}
_PERCENTILES_BEFORE_2_8 = {
    "99.99": ("p99.99", 0.9999),
    "99.90": ("p99.9", 0.999),
    "99.50": ("p99.5", 0.995),
    "99.00": ("p99", 0.99),
    "95.00": ("p95", 0.95),
    "90.00": ("p90", 0.90),
    "75.00": ("p75", 0.75),
    "50.00": ("p50", 0.50),
    "25.00": ("p25", 0.25),
}


def read_statistics(said: Said, context: TestParameters) -> Record | Broken:
    """The record of a server's statistics."""
    valid, average, errors = said["valid"][0], said["average"][0], said["errors"][0]
    samples = int(valid["received"])
    if trouble := _contradiction(said, samples):
        return Broken(trouble)
    us = {"mean": average["mean"], "std": average["std"], "min": said["min"][0]["us"]}
    us |= {_percentiles(said)[found["percent"]][0]: found["us"] for found in reversed(said.get("percentile", []))}
    us |= {"max": said["max"][0]["us"]}
    us |= {name.replace("_", "-"): average[name] for name in ("mean_ad", "median_ad", "siqr", "std_error") if average[name]}
    basis: Basis = "rtt" if average["of"] == "rtt" else "rtt/2"
    burst = any(found["burst"] for found in said.get("summary", []))
    server = int(said["server"][0]["server"])
    return Record(
        test="latency",
        payload_bytes=context.payload_bytes,
        numbers=(
            *(_latency(name, text) for name, text in us.items()),
            counted("messages_sent", int(valid["sent"])),
            counted("messages_received", int(valid["received"])),
            *(counted(f"messages_{name}", int(errors[name])) for name in ("lost", "duplicated", "reordered")),
            _duration(valid["s"]),
        ),
        samples=samples,
        side="publisher",
        participant=f"server {server}" if server else None,
        conditions=Conditions(
            transport=context.transport,
            load_mode=context.load_mode,
            offered_rate_per_s=context.offered_rate_per_s,
            settings=context.settings,
            basis=basis,
            definition=("sockperf-burst-" if burst else "sockperf-") + ("rtt" if basis == "rtt" else "latency"),
            planned_duration_s=context.planned_duration_s,
        ),
    )


def _percentiles(said: Said) -> Mapping[str, tuple[str, float]]:
    """The percentiles of the version that printed these lines: up to 2.7 with two decimals."""
    first = said["percentile"][0]["percent"] if "percentile" in said else ""
    return _PERCENTILES_BEFORE_2_8 if first in _PERCENTILES_BEFORE_2_8 else _PERCENTILES


def _duration(seconds: str) -> Number:
    """Seconds with three decimals, so milliseconds; a printed 0 is less than one."""
    value = float(round(float(seconds) * 1e9))
    return Number(metric="duration", statistic="total", value=value or 1e6, resolution=1e6, bound="=" if value else "<")


def _contradiction(said: Said, samples: int) -> str | None:
    """Why these lines cannot be of one result: all of them are made from one sorted list of samples."""
    average = said["average"][0]
    total = said["total"][0]
    if int(total[0].split()[1]) != samples or total["hundredth"] != f"{samples / 100:.2f}" or samples == 0:
        return "the counts of samples differ"
    percents = [found["percent"] for found in said.get("percentile", [])]
    if percents != [name for name, (_, share) in _percentiles(said).items() if int(0.5 + share * samples) >= 1]:
        return "percentiles are missing, or not those of the tool"
    ordered = [float(found["us"]) for name in ("max", "percentile", "min") for found in said.get(name, [])]
    if ordered != sorted(ordered, reverse=True) or not ordered[-1] - 2e-3 <= float(average["mean"]) <= ordered[0] + 2e-3:
        return "minimum, percentiles, mean and maximum are out of order"
    for found in said.get("summary", []):
        if found["mean"] != average["mean"] or ("Round" in found[0]) != (average["of"] == "rtt"):
            return "the summary is another's"
    return None


def _latency(statistic: str, us: str) -> Number:
    """Microseconds with three decimals, so nanoseconds; a printed 0 is less than one."""
    value = float(round(float(us) * MICROSECOND))
    if value == 0 and statistic not in {"std", "mean-ad", "median-ad", "siqr", "std-error"}:
        return Number(metric="latency", statistic=statistic, value=_LAST_PLACE_NS, resolution=_LAST_PLACE_NS, bound="<")
    return Number(metric="latency", statistic=statistic, value=value, resolution=_LAST_PLACE_NS)


_SIZE = r"(?:msg-size=(?P<size>[0-9]{1,9})|average msg-size=(?P<middle>[0-9]{1,9}) \(\+/-(?P<range>[0-9]{1,9})\))"
_PACKETS = r"(?:, Packet Rate is about -?[0-9]{1,10} \[pkt/sec\] \([0-9]{1,9} ip frags / msg\))?"
_BANDWIDTH = r"(?P<bytes>[0-9]{1,12}\.(?:[0-9]{3}|[0-9]{9})) (?P<unit>[MG])Bps \((?P<bits>[0-9]{1,12}\.(?:[0-9]{3}|[0-9]{9})) (?P=unit)bps\)"
THROUGHPUT: Mapping[str, Step] = {
    "total": _step(rf"Total of {_COUNT} messages sent", rf" in (?P<s>{_US}) sec(?: \({_COUNT} messages skipped\))?", "note", "rate"),
    "note": _step(
        "NOTE: test was performed, using ",
        rf"{_SIZE}(?:, mps=(?P<mps>[0-9]{{1,9}}))?\. .{{0,150}}",
        "rate",
    ),
    "rate": _step("Summary: Message Rate ", rf"is (?P<rate>[0-9]{{1,10}}) \[msg/sec\]{_PACKETS}", "bandwidth"),
    "bandwidth": _step("Summary: BandWidth ", rf"is {_BANDWIDTH}"),
}
_SIZE_WITHOUT_NOTE = 1472  # The note on how to send faster is left out at the size that it recommends.


def read_throughput(said: Said, context: TestParameters) -> Record | Broken:
    """The record of a throughput test: what the client sent, whether or not it arrived."""
    total, rate, band = said["total"][0], said["rate"][0], said["bandwidth"][0]
    note = said["note"][0] if "note" in said else None
    middle = int(note["size"] or note["middle"]) if note else _SIZE_WITHOUT_NOTE
    spread = int(note["range"] or 0) if note else 0
    sent, per_second = int(total[0].split()[2]), int(rate["rate"])
    if trouble := _rates_contradict(band, per_second * middle) or _not_over_time(sent, float(total["s"]), per_second):
        return Broken(trouble)
    load_mode: LoadMode = "paced" if note and note["mps"] else "max-rate"
    return Record(
        test="throughput",
        payload_bytes=middle - spread,
        payload_bytes_high=middle + spread if spread else None,
        numbers=(
            Number(metric="offered_goodput", statistic="mean", value=float(band["bits"]) * _mib(band), resolution=_resolution(band)),
            Number(metric="offered_rate", statistic="mean", value=float(per_second), resolution=1.0),
            counted("messages_sent", sent),
            Number(metric="duration", statistic="total", value=round(float(total["s"]) * 1e9), resolution=1e6),
        ),
        samples=sent,
        side="publisher",
        conditions=Conditions(
            transport=context.transport,
            load_mode=load_mode,
            offered_rate_per_s=float(note["mps"]) if note and note["mps"] else None,
            definition="sockperf-throughput",
            planned_duration_s=context.planned_duration_s,
        ),
    )


def _rates_contradict(band: re.Match[str], bytes_per_s: int) -> str | None:
    if not _near(float(band["bytes"]) * _mib(band), bytes_per_s, _resolution(band)):
        return "bandwidth is not rate times size"
    if not _near(float(band["bits"]) * _mib(band), 8 * float(band["bytes"]) * _mib(band), 10 * _resolution(band)):
        return "bits are not eight times the bytes"
    return None


def _not_over_time(sent: int, seconds: float, per_second: int) -> str | None:
    """Time is rounded to the millisecond, so the rate may be a little higher or lower."""
    if sent / (seconds + 1e-3) - 1 <= per_second and per_second * (seconds - 1e-3) <= sent + 1:
        return None
    return "rate is not messages over time"


def _decimals(band: re.Match[str]) -> int:
    return len(band["bytes"].partition(".")[2])


def _mib(band: re.Match[str]) -> int:
    """What the unit stands for: MiB, and a thousand of them with --giga-size. With nine decimals 3.7 prints 'GBps' for MiB."""
    return 1000 * MIB if band["unit"] == "G" and _decimals(band) == 3 else MIB  # noqa: PLR2004


def _resolution(band: re.Match[str]) -> float:
    return float(_mib(band) * 10 ** -_decimals(band))


def _near(printed: float, computed: float, resolution: float) -> bool:
    return abs(printed - computed) <= resolution + 1e-9 * computed
