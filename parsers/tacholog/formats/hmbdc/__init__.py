"""hmbdc: what ``tips-ping-pong`` prints, and the performance sample that comes with the library.

A pinger prints one character a second's worth of attempts, then its size and its result; a ponger one result for all that it answered::

    Ping0cpy : msgSize=1000 msgPerSec=500
    round trip time (sec):(1998/1992):mean=0.001055589 std_dev=0.00198932 min=0.000000968 max=0.009193595 sampleSize=1998

    if clock is synced, one way latency (sec):
    mean=0.033357561 std_dev=0.0632374 min=0.000005181 max=0.346393959 sampleSize=697

Neither names version, transport or machine. Of ``(a/b)``, a are the replies counted and b the pings sent after the first reply: a may be the larger
one. Conditions are the size, the rate, and the kind of ping (the data path); on the sample page also the transport and the reliability, whose
machines, notes and commands are environment. Options of the program (transport, threads, cores) are printed nowhere and must be stated by the
manifest.
Source: logs of releases 15-29 and 17-6 and the program's text from 12-41 to 17-6; perf-sample.txt of
12-41 to 15.17-1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal

import msgspec

from tacholog.formats.hmbdc.sample import TITLE, SamplePage
from tacholog.formats.kit import (
    Broken,
    Cell,
    Conditions,
    DataPath,
    Detected,
    Dialect,
    Facts,
    Finding,
    Line,
    LineStart,
    Number,
    Record,
    States,
    counted,
    impossible,
    printed,
)

SYSTEM = "hmbdc"
TOOL = "tips-ping-pong"
EXPANDS_TABS = True
DIALECTS = (
    Dialect("ping-pong", "12-41 and later", "real logs of 15-29 and 17-6"),
    Dialect("sample-12-41", "perf-sample.txt of 12-41", "the published page"),
    Dialect("sample", "perf-sample.txt of 14-2 to 17-6", "the published pages"),
)
DEFINITIONS = {
    "hmbdc-rtt": "Round trip from the pinger's send until it has the ponger's answer, on the pinger's clock. Pings leave on a schedule that does not "
    "wait for answers, so time spent queueing counts. Replies to pings from before the count began are in it: more may be received than were sent.",
    "hmbdc-one-way": "From the pinger's send until the ponger's receipt, by the system clocks of both, which the tool does not check. "
    "One figure for all pings of all clients and sizes that the ponger answered.",
    "hmbdc-sample": "'1-way latency' as the performance sample states it: rounded figures over a range of message sizes. "
    "Which statistic they are, and how they follow from the round trips that the tool prints, is not stated.",
    "hmbdc-sample-12-41": "'Latency performance' as the oldest performance sample states it: rounded figures over a range of message sizes. "
    "It does not say whether they are one-way.",
    "hmbdc-sample-reference": "TCP's latency as qperf measures it, which is the mean of half a round trip, rounded: "
    "the sample gives it for comparison, and it is not hmbdc's.",
}
STATES = {
    "latency": States(always="definition", sometimes="transport data_path reliability offered_rate_per_s load_mode basis payload_bytes"),
}

_PIECE = (
    r"Started Ponger, press ctrl-c to stop|Started Pinger with the first ?|"
    r"[0-9]{1,9} values ignored\(x\)(?:, good\(\.\), congested\(C\))?, press ctrl-c to get results"
)
_STARTED = re.compile(rf"(?:{_PIECE}){{1,8}}")
_PROGRESS = re.compile(r"[x.C]+")
_LOGGED = re.compile(r"[0-9]{14}\.[0-9]{9} [A-Z]{1,12} *: .*")
_NOTHING = "Nothing comes back - multicast might be disabled (need to disable firewall)"
_ONE_WAY = "if clock is synced, one way latency (sec):"
_CRASH = re.compile(r"terminate called .*|  what\(\):  .*")

_PINGS = re.compile(r"(?P<kind>Ping|PingGT1K|Ping0cpy) : msgSize=(?P<size>[0-9]{1,18}) msgPerSec=(?P<rate>[0-9]{1,10})")
_PINGS_MARK = re.compile(r"Ping\w{0,4} : msgSize=")
_TIME = r"-?[0-9]{1,9}\.[0-9]{9}"
_SPREAD = r"-?nan|[0-9]{1,18}(?:\.[0-9]{1,12})?(?:e[-+][0-9]{2})?"
_MEASURED = rf"mean=(?P<mean>{_TIME}) std_dev=(?P<std>{_SPREAD}) min=(?P<min>{_TIME}) max=(?P<max>{_TIME}) sampleSize=(?P<samples>[0-9]{{1,18}})"
_STATISTICS = rf"(?:NA sampleSize=0|{_MEASURED})"
_ROUND_TRIP = re.compile(rf"round trip time \(sec\):\((?P<received>[0-9]{{1,18}})/(?P<sent>[0-9]{{1,18}})\):{_STATISTICS}")
_ONE_WAY_RESULT = re.compile(_STATISTICS)
_DATA_PATHS: dict[str, DataPath] = {"Ping": "copy", "PingGT1K": "copy", "Ping0cpy": "zero-copy"}
_LOGGED_BETWEEN = 100  # Lines of the logger that may come between a size and its result.


_SAMPLE = LineStart(rf" *{TITLE} \(updated with release ")


def detect(head: str) -> Detected:
    """Say whether the log has a line of the pinger or the ponger, or the sample's title."""
    marks = ("round trip time (sec):(", "Started Pinger with the first", "Started Ponger, press ctrl-c", _ONE_WAY)
    fits = any(mark in head for mark in marks) or _SAMPLE.is_in(head)
    return Detected(fits, wants=f"'Started Pinger', 'Started Ponger', 'round trip time (sec):(' or '{TITLE}'")


def parse(lines: Iterable[Line]) -> Iterator[Finding]:
    """Yield what is found; a log in which no ping was answered is one of a run that failed."""
    page, pings = SamplePage(), _Pings()
    for line in lines:
        found = page.take(line)
        yield from pings.take(line) if found is None else found
    yield from page.close()
    yield from pings.close()
    if pings.unanswered and not pings.answered:
        yield Finding(None, Facts(status="failed", reason="no ping was answered"))


class _Pings:
    """The results of pingers and pongers, each on two lines: the first waits here for its second.

    Where programs share a terminal, a first line may be followed by a stranger's second. Then another of the four lines follows without its
    partner, so a record waits for one line more, and what stands beside a line without partner is broken.
    """

    def __init__(self) -> None:
        self._first: Line | None = None
        self._record: Finding | None = None
        self._logged = 0
        self._doubted = False
        self.answered = self.unanswered = False

    def take(self, line: Line) -> Iterator[Finding]:
        """Use one line."""
        text = line.text
        if "round trip time (sec)" in text or text.startswith(("mean=", "NA sampleSize=")):
            yield from self._result(line)
        elif _PINGS_MARK.search(text) or text.startswith(_ONE_WAY[:24]):
            doubted = self._first is not None
            yield from self.close()
            self._first, self._doubted = line, doubted
        elif _LOGGED.fullmatch(text) and self._logged < _LOGGED_BETWEEN:
            self._logged += 1
            yield Finding(line, None)
        else:
            known = list(_about_the_run(line))
            if known or self._first is None:  # A line of others does not part a first line from its second.
                yield from self.close()
            yield from known

    def close(self) -> Iterator[Finding]:
        """Let the record go, and give up a first line that is not followed by its second."""
        if self._record:
            what = self._record.what
            self.answered |= isinstance(what, Record) and bool(what.samples)
            self.unanswered |= isinstance(what, Record) and not what.samples
            yield self._record
        if self._first:
            yield Finding(self._first, Broken("a line without the result that belongs to it"))
        self._record, self._first, self._logged, self._doubted = None, None, 0, False

    def _result(self, line: Line) -> Iterator[Finding]:
        first, self._first = self._first, None
        if first is None:
            if self._record:
                self._record = self._record._replace(what=Broken("two results for one line that says what they are of"))
            yield from self.close()
            yield Finding(line, Broken("a result without the line before it that says what it is of"))
            return
        what = _one_way(first, line) if first.text.startswith(_ONE_WAY[:24]) else _round_trip(first, line)
        doubtful = Broken("a result behind two lines that each wait for one")
        self._record = Finding(first, doubtful if self._doubted else what, (line,))


def _about_the_run(line: Line) -> Iterator[Finding]:
    text = line.text
    if not text.strip() or text == _NOTHING or _PROGRESS.fullmatch(text) or _STARTED.fullmatch(text) or _LOGGED.fullmatch(text):
        yield Finding(line, None)
    elif _CRASH.fullmatch(text):
        yield Finding(line, Facts(status="failed", reason=text.strip()))


def _round_trip(first: Line, line: Line) -> Record | Broken:
    """A result is whole by itself; where the line before it is garbled, its size, rate and data path are not known."""
    pings, found = _PINGS.fullmatch(first.text), _ROUND_TRIP.fullmatch(line.text)
    if found is None or not line.whole:
        return Broken("a round trip that is cut short or garbled")
    if pings and (int(pings["size"]) == 0 or int(pings["rate"]) == 0):
        return Broken("a message size or rate that cannot be")
    cells = _cells(found, line)
    numbers = _numbers(cells)
    if numbers is None or int(found["received"]) != int(found["samples"] or 0):
        return Broken("the result contradicts itself")
    numbers += [counted(f"messages_{name}", int(cells[name]), cell=cells[name]) for name in ("received", "sent")]
    return Record(
        test="latency",
        payload_bytes=int(pings["size"]) if pings else None,
        numbers=tuple(numbers),
        samples=int(found["received"]),
        side="publisher",
        conditions=Conditions(
            data_path=_DATA_PATHS[pings["kind"]] if pings else None,
            offered_rate_per_s=float(pings["rate"]) if pings else None,
            load_mode="open",
            basis="rtt",
            definition="hmbdc-rtt",
        ),
    )


def _one_way(first: Line, line: Line) -> Record | Broken:
    found = _ONE_WAY_RESULT.fullmatch(line.text)
    if first.text != _ONE_WAY or found is None or not line.whole:
        return Broken("a one-way latency that is cut short or garbled")
    numbers = _numbers(_cells(found, line))
    if numbers is None:
        return Broken("the result contradicts itself")
    return Record(
        test="latency",
        payload_bytes=None,
        numbers=tuple(numbers),
        samples=int(found["samples"] or 0),
        side="subscriber",
        conditions=Conditions(load_mode="open", basis="one-way", definition="hmbdc-one-way"),
    )


def _cells(found: re.Match[str], line: Line) -> dict[str, Cell]:
    return {name: Cell(text, found.start(name), line.number) for name, text in found.groupdict().items() if text is not None}


def _numbers(cells: Mapping[str, Cell]) -> list[Number] | None:
    """The four statistics, none for a result without samples, ``None`` where no samples could give them."""
    if "samples" not in cells:
        return []
    mean, least, most = (Decimal(cells[name]) for name in ("mean", "min", "max"))
    spread = Decimal(0) if "nan" in cells["std"] else Decimal(cells["std"])
    if not least <= mean <= most or spread > most - least + Decimal("1e-8") or int(cells["samples"]) == 0:
        return None
    return [_seconds("mean", cells["mean"]), _deviation(cells["std"]), _seconds("min", cells["min"]), _seconds("max", cells["max"])]


def _seconds(statistic: str, cell: Cell) -> Number:
    """A time printed to the nanosecond. Below zero, the two clocks were not one: the value is no latency."""
    number = printed("latency", statistic, float(Decimal(cell).scaleb(9)), 1.0, cell=cell)
    return msgspec.structs.replace(number, resolution=1.0)


def _deviation(cell: Cell) -> Number:
    """A deviation printed with six significant digits; it is the root of a difference, which rounding may put below zero."""
    if "nan" in cell:
        return impossible("latency", "std", cell=cell)
    value = Decimal(cell)
    found = printed("latency", "std", float(value.scaleb(9)), float(Decimal(1).scaleb(value.adjusted() + 4)), zero_is_exact=True, cell=cell)
    return found if value else msgspec.structs.replace(found, resolution=None)
