"""Eclipse Cyclone DDS ddsperf: a few lines a second while it runs, and no summary at its end.

A line begins with the process and the seconds since its start::

    [31312] 2.002  size 1024 total 468199 lost 0 delta 200968 lost 0 rate 200.60 kS/s 1643.31 Mb/s (46.73 kS/s 382.84 Mb/s)
    [31348] 1.000  vm:31347 size 2048 mean 69.317us min 54.987us 50% 66.887us 90% 87.044us 99% 92.123us max 92.123us cnt 99
    [31313] 1.000  270k/s   0n |@____..__.....................|   0% 100m
    [31312] 2.002  rss:7.2MB vcsw:6034 ivcsw:1113 tev:0%+1% recvUC:14%+5%

Each line becomes an interval record. When a process starts again or the log ends, a summary for each size and peer is computed. Percentiles of the
whole run cannot be computed from the percentiles of single seconds, so the summary marks them as unknown. Peers are named ``peer 1`` and so on, in
the order in which the process names them, because their hosts and process numbers differ in each repetition. The rates in parentheses are not read:
the tool divides by ten seconds even if fewer than ten seconds have passed. A subscriber prints no line for a second in which it received nothing. If
such seconds are between two lines, they are intervals without messages. A late report covers all the time since the previous report.

Conditions are the size and, in the definition, whether a latency is that of pings or of data. ddsperf prints none of its options (topic, reliability,
history, rate, burst, listeners or waitsets): the manifest must state them. Lines of Cyclone DDS itself (``SECONDS.MICROS [DOMAIN] ddsperf: ...``) and
of iceoryx, such as the chosen network interface, are recognised and ignored.
Source: src/tools/ddsperf of Cyclone DDS; samples in tests/formats/ddsperf/, recorded with 0.10.2.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from math import floor, log10
from typing import Literal

from msgspec.structs import replace

from tacholog.formats.kit import (
    COUNT_LIMIT,
    MICROSECOND,
    Broken,
    Cell,
    Conditions,
    Detected,
    Dialect,
    Facts,
    Finding,
    Line,
    LineStart,
    Number,
    Record,
    States,
    Tally,
    counted,
    printed,
)

SYSTEM = "Cyclone DDS"
TOOL = "ddsperf"
EXPANDS_TABS = True
DIALECTS = (
    Dialect("0.7", "0.7 and later", "logs recorded with 0.10.2"),
    Dialect("0.5", "0.5 and 0.6, without rates of ten seconds", "from source only"),
    Dialect("2019", "before 0.5: neither rates of ten seconds nor context switches", "published logs of July 2019"),
)
DEFINITIONS = {
    "ddsperf-ping": "Half of a round trip to one peer, on the clock of the side that sends the ping. Percentiles are of the first 20000 samples of "
    "a second. A ping may wait behind data.",
    "ddsperf-one-way": "From the source timestamp of a sample to its receipt, on two clocks. It is valid only if the clocks are synchronised, or "
    "are the same clock.",
    "ddsperf-subscriber": "Samples that a subscriber received from all publishers in one second. Bytes include the topic's fixed part (12 bytes or "
    "more). Lost samples are counted by sequence number. A summary is the mean of whole seconds, including seconds without any sample between "
    "them.",
    "ddsperf-publisher": "Samples that a publisher wrote in one second, received or not. The size is not printed.",
    "ddsperf-process": "Processor time in user and system mode of all threads that the tool lists, each rounded to one percent; and the largest "
    "resident set so far.",
}
STATES = {
    "latency": States(always="basis definition payload_bytes"),
    "throughput": States(always="definition", sometimes="payload_bytes"),
}

_STAMP = re.compile(r"\[(?P<pid>[0-9]{1,10})\] (?P<time>-?[0-9]{1,10}\.[0-9]{3}) (?P<rest>.*)")
_COUNT, _DECIMAL = "[0-9]{1,20}", r"[0-9]{1,12}\.[0-9][0-9]"
_SUBSCRIBER = re.compile(
    rf" size (?P<size>[0-9]{{1,10}}) total (?P<total>{_COUNT}) lost (?P<total_lost>{_COUNT}) delta (?P<delta>{_COUNT}) lost (?P<lost>{_COUNT})"
    rf" rate (?P<rate>{_DECIMAL}) kS/s (?P<goodput>{_DECIMAL}) Mb/s(?: \({_DECIMAL} kS/s {_DECIMAL} Mb/s\))?"
)
_TIME = r"(?P<{}>-?[0-9]{{1,12}}\.[0-9]{{3}})us"
_LATENCY = re.compile(
    rf" (?P<one_way>sublat )?(?P<peer>\S{{1,150}}) size (?P<size>[0-9]{{1,10}})"
    rf" mean {_TIME.format('mean')} min {_TIME.format('min')} 50% {_TIME.format('p50')} 90% {_TIME.format('p90')} 99% {_TIME.format('p99')}"
    rf" max {_TIME.format('max')}"
    r" cnt (?P<samples>[0-9]{1,10})"
)
_PUBLISHER = re.compile(
    r" *(?P<rate>[0-9]{1,4}(?:\.[0-9]{1,9})?(?:e[+-]0[0-9])?)(?P<unit>[kM]?)/s +"
    r"(?:inf|[0-9]{1,20}[nums]) +\|[ ._=xX@-]{30}\| +[0-9]{1,12}% +[0-9]{1,20}[nums]"
)
_PROCESS = re.compile(
    r" (?:@ *(?P<peer>\S{1,120}) )?(?:rss:(?:(?P<mega>[0-9]{1,8}\.[0-9])MB|(?P<kilo>[0-9]{1,8})kB))?(?: ?vcsw:[0-9]{1,10} ivcsw:[0-9]{1,10})?"
    r"(?P<threads>(?: [^\s:%]{1,40}:[0-9]{1,5}%\+[0-9]{1,5}%){1,100})"
)
_SHARE = re.compile(r"([0-9]{1,5})%")
_PROCESS_MARK = re.compile(r"(?: \(stale\))?(?: @\S+| @ +\S+)? (?:rss:|vcsw:)")
_CHATTER = re.compile(
    r"(?> \(stale\) .{0,300}? vcsw:[0-9]{1,10} ivcsw:[0-9]{1,10} ).{1,500}%"
    r"| \S+: (?:xmit [0-9]{1,12}% recv [0-9]{1,12}% \[[0-9]+ [0-9]+\]|xmit [0-9]+(?:\.[0-9]+)? Mb/s recv [0-9]+(?:\.[0-9]+)? Mb/s \[[0-9]+ [0-9]+\])"
    r"| discarded [0-9]+ rexmit [0-9]+ Trexmit [0-9]+ Tthrottle [0-9]+ Nthrottle [0-9]+"
)
_PARTICIPANT = re.compile(r"\[(?P<pid>[0-9]{1,10})\] participant \S{1,150}:[0-9]{1,10}: (?P<event>new \(self\)|new|gone)")
_TROUBLE = re.compile(
    r"\[[0-9]{1,10}\] (participant \S{1,150}:[0-9]{1,10}: failed to match in [0-9]{1,9}\.[0-9]{1,3}s)"
    r"|\[[0-9]{1,10}\] error: (\S.{0,300})"
    r"|((?:send_new_ping: )?dds_\w{1,40}(?: ?\(.{0,200}\))?(?: failed)?: (?:error )?-[0-9]{1,4})"
    r"|(write error: -(?!10$)[0-9]{1,4}|participant \w{1,20} \(self\) not found)"
)
_REMARK = re.compile(
    r"\[[0-9]{1,10}\] (?:ping timed out \(total [0-9]+ times\) \.\.\. sending new ping"
    r"|endpoint [0-9a-f]+ not found|participant [0-9a-f]+ no longer exists"
    r"|note: .{0,200})|[0-9]{1,10}\.[0-9]{6} \[[0-9]{1,10}\] {1,20}\S{1,40}: .{1,2000}"
    r"|write error: -10|get_pong_writer: \w+ handle [0-9a-f]+ not found|file size limit reached"
)
_HEAD = LineStart(
    r"\[[0-9]{1,10}\] (?:participant \S{1,150}:[0-9]{1,10}: (?:new|gone)"
    r"|-?[0-9]{1,10}\.[0-9]{3}  (?:size [0-9]+ total|\S{1,160} size [0-9]+ mean|sublat |rss:[0-9]|vcsw:[0-9])"
    r"|-?[0-9]{1,10}\.[0-9]{3} +[0-9.e+]{1,12}[kM]?/s +\w{1,40}+ [^|\n]{0,8}\|)"
)
_MEBIBYTE, _KIBIBYTE = 1048576, 1024
_PROCESSES, _SERIES = 16, 64  # More processes and series than in any real log. Without a limit, a hostile log could fill the memory.
_REASONS = 5
_LATE = 1.5  # Reports are about one second apart. A longer gap means that a report was late, or that nothing was received for a while.
_RATE_ROUNDING = 5.0  # Messages per second: rates are printed in thousands with two decimals.
_COUNTED = (("message_rate", "mean"), ("messages_received", "total"))
_PERCENTILES = frozenset({"p50", "p90", "p99"})


def detect(head: str) -> Detected:
    """Return whether the log has lines of ddsperf: a process in brackets, then a report or an event."""
    return Detected(_HEAD.is_in(head), wants="a line '[PID] SECONDS  size N total ...', '... mean Nus min', 'rss:', or '[PID] participant'")


def parse(lines: Iterable[Line]) -> Iterator[Finding]:
    """Yield an interval record for each result line, and the summaries of each process after its last line."""
    processes: dict[str, _Process] = {}
    reasons: list[str] = []
    for line in lines:
        if stamp := _STAMP.fullmatch(line.text):
            yield from _reported(line, stamp, processes)
        elif event := _PARTICIPANT.fullmatch(line.text):
            yield from _event(event, processes)
            yield Finding(line, None)
        elif trouble := _TROUBLE.fullmatch(line.text):
            if len(reasons) < _REASONS:
                reasons.append(next(reason for reason in trouble.groups() if reason))
            yield Finding(line, Facts(status="failed", reason="; ".join(reasons)))
        elif _REMARK.fullmatch(line.text) or not line.text.strip():
            yield Finding(line, None)
    for process in processes.values():
        yield from process.summaries()


def _event(event: re.Match[str], processes: dict[str, _Process]) -> Iterator[Finding]:
    """Yield the summaries of an earlier process if a new process has the same process number."""
    pid = event["pid"]
    if event["event"] == "new (self)" and pid in processes:
        yield from processes.pop(pid).summaries()
    elif pid in processes:
        processes[pid].note_change()


def _reported(line: Line, stamp: re.Match[str], processes: dict[str, _Process]) -> Iterator[Finding]:
    report = stamp["rest"]
    if _CHATTER.fullmatch(report):
        yield Finding(line, None)
        return
    result = _result(line, report)
    if result is None:
        return
    pid = stamp["pid"]
    if isinstance(result, Broken) and pid in processes:
        processes[pid].note_damage()
    if not isinstance(result, Record):
        yield Finding(line, result if isinstance(result, Broken) else None)
        return
    if pid not in processes and len(processes) >= _PROCESSES:
        yield from processes.pop(next(iter(processes))).summaries()
    process = processes.setdefault(pid, _Process())
    record = replace(result, participant=process.role(result.participant))
    yield Finding(line, record)
    yield from process.add(line, float(stamp["time"]), record, _subscriber_totals(report))


def _result(line: Line, report: str) -> Record | Broken | Literal["nothing yet"] | None:
    for mark, pattern, read in _KINDS:
        if mark.match(report):
            match = pattern.fullmatch(report)
            if match is None:
                return Broken("the line is cut short or garbled")
            if not line.whole and read in (_latency, _process):
                return Broken("the log ends within this line")
            return read(Cell.named(match, len(line.text) - len(report)))
    return None


_INTERVAL = Record(test="throughput", payload_bytes=None, numbers=(), scope="interval")
_RECEIVED = replace(_INTERVAL, side="subscriber", conditions=Conditions(definition="ddsperf-subscriber"))
_SENT = replace(_INTERVAL, side="publisher", conditions=Conditions(definition="ddsperf-publisher"))
_USED = replace(_INTERVAL, conditions=Conditions(definition="ddsperf-process"))


def _subscriber(cells: Mapping[str, Cell]) -> Record | Broken | Literal["nothing yet"]:
    size, total, total_lost, delta, lost = (int(cells[name]) for name in ("size", "total", "total_lost", "delta", "lost"))
    if size == 0 and total == 0 and delta == 0:
        return "nothing yet"
    if size == 0 or delta > total or lost > total_lost:
        return Broken("the counts contradict each other, or the size is impossible")
    rate, goodput = float(round(float(cells["rate"]) * 1e3)), float(round(float(cells["goodput"]) * 1e6))
    numbers = (
        printed("message_rate", "mean", rate, 10.0, zero_is_exact=delta == 0, cell=cells["rate"]),
        printed("goodput", "mean", goodput, 1e4, zero_is_exact=delta == 0, cell=cells["goodput"]),
        counted("messages_received", delta, cell=cells["delta"]),
        counted("messages_lost", lost, cell=cells["lost"]),
    )
    return replace(_RECEIVED, payload_bytes=size, numbers=numbers, samples=delta if delta < COUNT_LIMIT else None)


def _subscriber_totals(report: str) -> tuple[Number, ...]:
    match = _SUBSCRIBER.fullmatch(report)
    return (counted("messages_received", int(match["total"])), counted("messages_lost", int(match["total_lost"]))) if match else ()


def _latency(cells: Mapping[str, Cell]) -> Record | Broken:
    size, samples, is_one_way = int(cells["size"]), int(cells["samples"]), "one_way" in cells
    values = {name: float(round(float(cells[name]) * MICROSECOND)) for name in ("mean", "min", "p50", "p90", "p99", "max")}
    mean, *ordered = values.values()
    if size == 0 or samples == 0 or any(low > high for low, high in pairwise(ordered)) or not ordered[0] <= mean <= ordered[-1]:
        return Broken("the statistics contradict each other")
    return replace(
        _INTERVAL,
        test="latency",
        payload_bytes=size,
        # If clocks are not synchronised, a one-way latency can be negative. `printed` marks it as impossible.
        numbers=tuple(printed("latency", name, value, 1.0, cell=cells[name]) for name, value in values.items()),
        samples=samples,
        side="subscriber" if is_one_way else "publisher",
        participant=cells["peer"],
        conditions=Conditions(basis="one-way" if is_one_way else "rtt/2", definition="ddsperf-one-way" if is_one_way else "ddsperf-ping"),
    )


def _publisher(cells: Mapping[str, Cell]) -> Record | Broken:
    rate, unit = float(cells["rate"]), {"": 1, "k": 1000, "M": 1_000_000}[cells["unit"]]
    number = printed(
        "offered_rate", "mean", round(rate * unit, 9), 10.0 ** (floor(log10(rate or 1)) - 2) * unit, zero_is_exact=True, cell=cells["rate"]
    )
    return replace(_SENT, numbers=(number if rate else replace(number, resolution=None),))


def _process(cells: Mapping[str, Cell]) -> Record | Broken:
    cpu = sum(int(share) for share in _SHARE.findall(cells["threads"]))
    numbers = [Number(metric="cpu", statistic="mean", value=float(cpu), resolution=1.0, marks=("derived",))]
    if "mega" in cells:
        numbers.append(printed("peak_memory", "max", float(round(float(cells["mega"]) * _MEBIBYTE)), _MEBIBYTE / 10, cell=cells["mega"]))
    elif "kilo" in cells:
        numbers.append(printed("peak_memory", "max", float(int(cells["kilo"]) * _KIBIBYTE), float(_KIBIBYTE), cell=cells["kilo"]))
    return replace(_USED, numbers=tuple(numbers), participant=cells.get("peer"))


_Reader = Callable[[Mapping[str, Cell]], "Record | Broken | Literal['nothing yet']"]
_KINDS: tuple[tuple[re.Pattern[str], re.Pattern[str], _Reader], ...] = (
    (re.compile(" size "), _SUBSCRIBER, _subscriber),
    (re.compile(r" (?:sublat )?\S{1,150} size "), _LATENCY, _latency),
    (_PROCESS_MARK, _PROCESS, _process),
    (re.compile(r" *[0-9.e+-]{1,12}[kM]?/s "), _PUBLISHER, _publisher),
)


class _Process:
    def __init__(self) -> None:
        self._time = -1e12
        self._is_whole = False
        self._quiet = False  # Whether no participant has joined or left since the latest interval; false before the first interval.
        self._totals: tuple[Number, ...] = ()
        self._series: dict[tuple[str | None, ...], Tally] = {}
        self._intervals: Counter[tuple[str | None, ...]] = Counter()
        #: A series is in this set if nobody joined or left, and no line was broken, since the latest interval of the series.
        self._undisturbed: set[tuple[str | None, ...]] = set()
        self._roles: dict[str, str] = {}
        self.partial = False  #: whether a line of the process was broken, so that totals are incomplete

    def role(self, peer: str | None) -> str | None:
        """Return a name for a peer, without host and process number; ``None`` for the process itself."""
        if peer is None or len(self._roles) >= _SERIES:
            return peer and self._roles.get(peer, "another peer")
        return self._roles.setdefault(peer, f"peer {len(self._roles) + 1}")

    def note_change(self) -> None:
        """Note that a participant joined or left. The next interval is then incomplete."""
        self._quiet = False
        self._undisturbed.clear()

    def note_damage(self) -> None:
        """Note a broken line. The numbers of this second are then unknown."""
        self.partial = True
        self._undisturbed.clear()

    def add(self, line: Line, time: float, record: Record, totals: tuple[Number, ...]) -> Iterator[Finding]:
        """Add an interval. An interval before the latest interval is ignored, because its line is repeated or out of order."""
        if time < self._time:
            return
        key = (record.conditions.definition, record.participant, str(record.payload_bytes))
        if time > self._time:
            self._time, self._is_whole, self._quiet = time, self._quiet, True
        elif key in self._series and self._series[key].stamp == time:
            return
        if key not in self._series:
            if len(self._series) >= _SERIES:
                yield from self.summaries()
            self._series[key] = Tally(line, record)
        lasted, silent = self._times(record, time - self._series[key].stamp, totals) if key in self._undisturbed else (1.0, 0.0)
        self._series[key].add(line, record, stamp=time, whole=self._is_whole, lasted=lasted, silent=silent)
        self._undisturbed.add(key)
        self._intervals[key] += 1
        self._totals = totals or self._totals

    def _times(self, record: Record, since: float, totals: tuple[Number, ...]) -> tuple[float, float]:
        """Return two times in seconds: the length of an interval, and the length of the gap before the interval.

        ``since`` is the time since the end of the previous interval. A publisher has no gap, because its interval begins when the previous interval
        ended. A subscriber has a gap if it received nothing for a while. The length of a subscriber's interval is its number of samples divided by
        its rate. This is one second, or more if the report was late. The rest of ``since`` is the gap.

        Return 1 and 0 if the report is not late, or if lines are missing. Lines are missing if the total counter did not grow by exactly the samples
        of the interval.
        """
        if since < _LATE or record.side is None:
            return 1.0, 0.0
        if record.side == "publisher":
            return since, 0.0
        rate, received = (number.value if number else None for number in (record.number(*name) for name in _COUNTED))
        all_received, before = (counts[0].value if counts else None for counts in (totals, self._totals))
        if not rate or not received or all_received is None or before is None or all_received - before != received:
            return 1.0, 0.0
        shortest, longest = received / (rate + _RATE_ROUNDING), received / max(rate - _RATE_ROUNDING, 1e-9)
        lasted = 1.0 if shortest <= 1 <= longest else min(received / rate, since)
        return lasted, since - lasted

    def summaries(self) -> Iterator[Finding]:
        """Yield the summary of each size and peer, with the resources of the process itself. Resources of its peers are left out."""
        own_tally = self._series.pop(("ddsperf-process", None, "None"), None)
        used = own_tally.numbers() if own_tally else ()
        # The counters do not restart at a new size. If there are several sizes, the totals of a size are the sums of its intervals.
        alone = sum(definition == "ddsperf-subscriber" for definition, *_ in self._series) == 1
        for key, tally in self._series.items():
            if key[0] == "ddsperf-process":
                continue
            totals = self._totals if alone and key[0] == "ddsperf-subscriber" else ()
            if summary := tally.found((*used, *totals, *self._percentiles(key, tally.first)), partial=self.partial):
                yield summary
        self._series.clear()
        self._undisturbed.clear()
        self._intervals.clear()

    def _percentiles(self, key: tuple[str | None, ...], first: Record) -> Iterator[Number]:
        """Yield the percentiles. They are unknown if the run has several intervals, because they cannot be computed from intervals."""
        for number in first.numbers:
            if number.statistic in _PERCENTILES and self._intervals[key] == 1:
                yield number
            elif number.statistic in _PERCENTILES:
                yield Number(metric=number.metric, statistic=number.statistic, value=None, marks=("intervals_only",))
