"""What holds for every format, whatever became of a log: a new one is held to it by being there. Of whole logs, see test_samples.py."""

from __future__ import annotations

import enum
import functools
import io
import os
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacholog.formats.expand import packing_of
from tacholog.formats.reading import Event, Scan
from tacholog.formats.registry import formats
from tacholog.formats.source import LogText
from tacholog.schema.metrics import METRICS
from tacholog.schema.records import Number, Record

HERE = Path(__file__).parent
NAMES = [name for name in sorted(formats()) if (HERE / name).is_dir()]  # Other people's packages have their logs elsewhere.
SAMPLES = {name: sorted(path for path in (HERE / name).iterdir() if path.name != "README.md") for name in NAMES}
# Quick enough to read often.
SMALL = {name: [path for path in paths if path.stat().st_size < 20_000] or paths[:1] for name, paths in SAMPLES.items()}
EXAMPLES = 60
FLIPS = 4  # bytes at most
SHARE = 0.4  # of the lines that a mutation touches
NUMERALS = {bytes([byte]) for byte in b"0123456789.,eE+-"}
NO_NUMERALS = [byte for byte in range(256) if bytes([byte]) not in NUMERALS]
NO_LETTERS = [byte for byte in NO_NUMERALS if not chr(byte).isalpha() and byte not in b"%/"]
NUMBER = re.compile(rb"[-+.0-9]*[0-9][-+.,0-9eE]*[ \[(]?(?P<unit>[A-Za-z%/\xc2\xb5\xce\xbc]{1,5})?")
ROLE = re.compile(rb"\b[ps]ub\b")  # One byte makes the one the other, and nobody can tell.
# What is a whole line with these words and without them: iperf3's rows before it counts, eCAL's name of a layer.
REMARK = re.compile(rb"(?:(?<! ) {2,40}(?P<words>\([a-z]{1,20}\)) *|LAYER: SHM(?P<more> ZERO-COPY))\n?$")
# How the definitions of tools begin that print a size apart from its numbers.
SIZE_ELSEWHERE = ("ecal-", "hmbdc-", "iceoryx2-", "iperf3-", "performance_test-", "qperf-", "sockperf-")
FREE_TEXT = ("participant", "transport", "type")
Printed = tuple[str, str, float | None, str, float | None]  # metric, statistic, value, bound, resolution
# Other examples each time, so many times as many, to look for faults; otherwise always the same, so that no luck decides.
RANDOM = int(os.environ.get("TACHOLOG_RANDOM") or 0)
WORDS = ["Length:", "Packets:", "Latency: Ave", "us", "Mbps(ave):", "Lost:", "99.9999% (\u03bcs)", "Sample Size (Bytes)", "\u2022 Reliable"]
WORDS += ["latency", "payload_bytes=64", "histogram", "bins=1:2:3", "end", "status=ok", 'text="', "\\", "(0.00%)"]
WORDS += ["1", "0", "3.5", "-1", "\x00", "\x1b[0m", "\n", "\r\n", " "]


def tried(examples: int) -> settings:
    """How often a property is tried: a fixed number of examples, or at random."""
    return settings(max_examples=examples * (RANDOM or 1), derandomize=not RANDOM, database=None, deadline=None)


def scanned(data: bytes, name: str) -> tuple[Scan, list[Event]]:
    """A log read in the format of that name."""
    scan = Scan(LogText(io.BytesIO(data)), name)
    return scan, list(scan)


def events_of(name: str, data: bytes) -> list[Event]:
    """What a log holds, after a check that each of its lines is in one class."""
    scan, events = scanned(data, name)
    numbers = sorted(number for event in events for number in event.lines)
    assert numbers == list(range(1, scan.account.total + 1))
    return events


@functools.cache
def results_of(name: str, path: Path) -> list[Event]:
    """The results that a sample log prints, read once for all tests."""
    return [event for event in events_of(name, path.read_bytes()) if isinstance(event.what, Record) and not derived(event.what)]


def records_of(name: str, data: bytes) -> list[Record]:
    """The records of a log, each of its lines being in one class."""
    return [event.what for event in events_of(name, data) if isinstance(event.what, Record)]


def derived(record: Record) -> bool:
    """Whether the parser made the record from others: from another log it makes another."""
    return record.scope == "summary" and all("derived" in number.marks for number in record.numbers)


class Said(NamedTuple):
    """What a record says: its kind, its sizes, what it is of and how it was measured, and the numbers that the parser did not make from others.

    Quality marks are not among it: they are cautions, which the lines around may add or take.
    """

    kind: tuple[str, str]
    sizes: tuple[int | None, int | None]
    words: frozenset[tuple[str, object]]
    numbers: frozenset[Printed]


def said(record: Record) -> Said:
    """What a record says. Of samples that the parser counted itself it makes others when lines are missing."""
    conditions = {name: getattr(record.conditions, name) for name in record.conditions.__struct_fields__}
    counted = not any("derived" in n.marks for n in record.numbers if n.metric == "messages_received") and record.numbers
    samples = record.samples if counted and not all("derived" in n.marks for n in record.numbers) else None
    words = {**conditions, "side": record.side, "participant": record.participant, "samples": samples}
    return Said(
        (record.test, record.scope),
        (record.payload_bytes, record.payload_bytes_high),
        frozenset((name, value) for name, value in words.items() if value is not None),
        frozenset((n.metric, n.statistic, n.value, n.bound, n.resolution) for n in record.numbers if "derived" not in n.marks),
    )


@functools.cache
def lines_of(path: Path) -> tuple[bytes, ...]:
    """The lines of a sample, each with an end."""
    return tuple(line + b"\n" for line in path.read_bytes().removesuffix(b"\n").split(b"\n"))


@functools.cache
def original(name: str, path: Path) -> frozenset[Said]:
    """What the records of a sample say as it is, read in the format of that name."""
    return frozenset(said(record) for record in records_of(name, b"".join(lines_of(path))) if not derived(record))


@functools.cache
def places(path: Path) -> Mapping[int, Sequence[int]]:
    """The bytes of a sample that may flip, each with what to: those of no number and no role; in what may be a unit no letter to another.

    "10 us" and "10 ms" differ by one byte, and nobody can tell.
    """
    log = b"".join(lines_of(path))
    found = dict.fromkeys(range(len(log)), NO_NUMERALS)
    for number in NUMBER.finditer(log):
        found |= dict.fromkeys(range(*number.span("unit")), NO_LETTERS)
        for at in range(number.start(), number.start("unit") if number["unit"] else number.end()):
            found.pop(at, None)
    for role in ROLE.finditer(log):
        for at in range(*role.span()):
            found.pop(at, None)
    return found


def same_word(name: str, value: object, there: Mapping[str, object], mutation: str) -> bool:
    """Whether a record may say this of itself where the true one says ``there``, with the smallest example of each thing that nobody can tell."""
    true = there.get(name)
    if value == true:
        return True
    if name == "participant" and {*str(value).split(", ")} - {*str(true).split(", ")} <= {
        word for word in str(value).split(", ") if "stream" in word
    }:
        return True  # "[  5] 0.00-1.00 sec ..." of iperf3 names its stream, unless lines before it say that it is the only one.
    if name == "definition" and value == "iperf3-either-side":
        return True  # The same row, without the head that says whether its bytes were sent or received.
    if name in FREE_TEXT:  # "Kind: UDPv4 & SHMEM" cut to "Kind: UDPv4", "Topic Name: Perfor#ance": the text is whatever somebody chose.
        return (mutation == "flipped" and alike(str(value), str(true))) or (mutation == "cut" and str(true).startswith(str(value)))
    # eCAL 5.3 says "Packages lost after message 12 -> stop." on a line of its own, and the rest as ever.
    return mutation in ("cut", "lost") and there.get("definition") == "ecal-5.3-rtt-cut-short" and name in ("definition", "samples")


def alike(one: str, other: str) -> bool:
    """Whether a text may be another in which bytes flipped: one of them may have been made a blank that ends it, or the blank that did."""
    return other in one or one in other or (len(one) == len(other) and sum(a != b for a, b in zip(one, other, strict=True)) <= FLIPS)


def weaker(true: Said) -> frozenset[Printed]:
    """The numbers, and what iperf3's rows are called where nothing says whether they were sent or received."""
    numbers = true.numbers
    if not str(dict(true.words).get("definition")).startswith("iperf3-"):
        return numbers
    unsaid = {"bit_per_s": "transfer_rate", "bytes": "bytes_transferred"}
    return numbers | {(unsaid[METRICS[number[0]].unit], *number[1:]) for number in numbers if METRICS[number[0]].unit in unsaid}


def in_part(found: Said, true: Said, mutation: str) -> bool:
    """Whether a record says nothing that the true one does not. It may have lost some of its numbers, or how it was measured."""
    there = dict(true.words)
    definition = str(there.get("definition"))
    return (
        found.kind == true.kind
        and (found.numbers == true.numbers or (mutation != "repeated" and found.numbers <= weaker(true)))
        and (found.sizes == true.sizes or (found.sizes == (None, None) and definition.startswith(SIZE_ELSEWHERE)))
        and all(same_word(name, value, there, mutation) for name, value in found.words)
    )


def invented(records: Iterable[Record], true: frozenset[Said], mutation: str) -> list[Record]:
    """The records that say what no true record says."""
    claims = [(record, said(record)) for record in records if not derived(record)]
    return [record for record, claim in claims if claim not in true and not any(in_part(claim, one, mutation) for one in true)]


class Excused(enum.IntEnum):
    """How far a record may be from every true one where lines stand in for others of their kind, and nobody can tell."""

    NOTHING = 0
    CONTEXT = 1  # All numbers are of one true record, and its size; the conditions are of any.
    SIZE = 2  # All numbers are of one true record; the size too is of any.
    LINES = 3  # Each number is of a true record, and those on one line of the same.


#: What is excused of a format when lines of one log move, and when those of two of its logs are mixed, where the banner of one run is all runs'.
EXCUSED = {
    # "Message min latency : 7 us @ 1" of one block, "Message max latency : 76 us @ 286" of the next.
    "ecal": (Excused.LINES, Excused.LINES),
    # "Ping : msgSize=16 msgPerSec=500" on one line, "round trip time (sec):..." on the next.
    "hmbdc": (Excused.SIZE, Excused.SIZE),
    # "****** ICEORYX ********" says over what all rows were that come behind it.
    "iceperf": (Excused.CONTEXT, Excused.CONTEXT),
    # "Starting Test: protocol: TCP, ... 131072 byte blocks" of the client stands above the server's rows, where "Server output:" is lost.
    "iperf3": (Excused.SIZE, Excused.SIZE),
    # "latency = 2.3 us" of one block, "loc_cpus_used = 200 % cpus" of the next: a row is a name and a number, and blocks are alike.
    "qperf": (Excused.LINES, Excused.LINES),
    # Likewise the members of its JSON: '"latency_max": 61,' of one interval, '"cpu": 12.88' of another.
    "rti": (Excused.LINES, Excused.LINES),
    # "---> percentile 75.000 = 4.094" of one run among the lines of another.
    "sockperf": (Excused.NOTHING, Excused.LINES),
}


def distance(event: Event, claim: Said, true: frozenset[Said], kind: str) -> float:
    """How far the record on these lines is from every true one, as `Excused` has it; infinite if it is further than that."""
    if claim in true or any(in_part(claim, one, kind) for one in true):
        return Excused.NOTHING
    if not known_conditions(claim, true):
        return inf
    if same := [one for one in true if one.kind == claim.kind and claim.numbers <= weaker(one)]:
        return Excused.CONTEXT if claim.sizes in {(None, None), *(one.sizes for one in same)} else Excused.SIZE
    of_any = plain(number for one in true for number in weaker(one))
    return Excused.LINES if len(event.lines) > 1 and plain(claim.numbers) <= of_any else inf


def known_conditions(claim: Said, true: frozenset[Said]) -> bool:
    """Whether each condition and size is one of a true record."""
    words = {word for one in true for word in one.words} | {("definition", "iperf3-either-side")}
    sizes = {size for one in true for size in one.sizes} | {None}
    return {word for word in claim.words if word[0] != "participant"} <= words and sizes.issuperset(claim.sizes)


def plain(numbers: Iterable[Printed]) -> set[tuple[str, float | None, str]]:
    """Without the statistic: the CPU of RTI's JSON is the last or the mean by its place; nor the resolution: qperf's is that of its whole block."""
    return {(metric, value, bound) for metric, _, value, bound, _ in numbers}


def misplaced(events: Iterable[Event], true: frozenset[Said], name: str, kind: str) -> list[Record]:
    """The records that are further from every true one than is excused of this format when its lines move so."""
    excused = EXCUSED.get(name, (Excused.NOTHING, Excused.CONTEXT))[kind == "interleaved"]
    found = [(event, event.what) for event in events if isinstance(event.what, Record) and not derived(event.what)]
    return [record for event, record in found if distance(event, said(record), true, kind) > excused]


def out_of_range(records: Sequence[Record]) -> list[Record]:
    """The derived records with a minimum, mean or maximum beyond those of all intervals."""
    seen: dict[tuple[str, str], list[float]] = {}
    for number in (number for record in records if record.scope == "interval" for number in record.numbers):
        seen.setdefault((number.metric, number.statistic), []).extend(() if number.value is None else (number.value,))

    def beyond(number: Number) -> bool:
        values = seen.get((number.metric, number.statistic), [])
        known = number.statistic in ("min", "mean", "max") and number.value is not None
        return known and not (values and min(values) * 0.999999 <= (number.value or 0) <= max(values) * 1.000001)

    return [record for record in records if derived(record) and any(beyond(number) for number in record.numbers)]


Lines = Sequence[bytes]


def cut(lines: Lines, _: Lines, chance: random.Random) -> Lines:
    """Some lines end early, though neither within a number, which would be another number, nor before a `REMARK`."""

    def ends(line: bytes) -> list[int]:
        remark = REMARK.search(line)
        kept = () if remark is None else range(remark.start(), remark.start("words") + 1) or (remark.start("more"),)
        return [at for at in range(len(line)) if at not in kept and not (line[at - 1 : at] in NUMERALS and line[at : at + 1] in NUMERALS)]

    return [line[: chance.choice(ends(line) or [0])] + b"\n" if chance.random() < SHARE else line for line in lines]


def lost(lines: Lines, _: Lines, chance: random.Random) -> Lines:
    """Some lines are not there, never more than two in a row."""
    found: list[bytes] = []
    gap = 0
    for line in lines:
        gap = gap + 1 if chance.random() < SHARE and gap < 2 else 0
        found += [] if gap else [line]
    return found


def repeated(lines: Lines, _: Lines, chance: random.Random) -> Lines:
    """Some lines are there several times."""
    return [line for line in lines for _ in range(chance.choice((1, 1, 1, 2, 3)))]


def interleaved(lines: Lines, others: Lines, chance: random.Random) -> Lines:
    """The lines of another log stand between these, each log in its order."""
    found, logs = [], [list(reversed(lines)), list(reversed(others))]
    while all(logs):
        log = chance.choice(logs)
        found += [log.pop() for _ in range(min(len(log), chance.choice((1, 1, 2, 5, 20))))]
    return [*found, *(line for log in logs for line in reversed(log))]


def torn(lines: Lines, _: Lines, chance: random.Random) -> Lines:
    """A stretch of any length is not there, so that one block goes on as another: the latency of one test of qperf, then the CPU of the next."""
    start, end = sorted(chance.randrange(len(lines) + 1) for _ in "ab")
    return [*lines[:start], *lines[end:]]


def shuffled(lines: Lines, _: Lines, chance: random.Random) -> Lines:
    """Some stretch of lines is in another order."""
    start, end = sorted(chance.randrange(len(lines) + 1) for _ in "ab")
    return [*lines[:start], *chance.sample(lines[start:end], end - start), *lines[end:]]


Mutation = Callable[[Lines, Lines, random.Random], Lines]
MUTATIONS: dict[str, Mutation] = {function.__name__: function for function in (cut, lost, repeated, interleaved)}
MOVES: dict[str, Mutation] = {function.__name__: function for function in (torn, shuffled, interleaved)}


@pytest.mark.parametrize("name", NAMES)
@tried(300)
@given(data=st.one_of(st.binary(max_size=2000), st.lists(st.sampled_from(WORDS), max_size=80).map(lambda words: " ".join(words).encode())))
def test_any_bytes_are_accounted_for(name: str, data: bytes) -> None:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or packing_of(data):
        return  # UTF-16 is refused with a message, and what is packed has other lines: see test_source.py
    scan, events = scanned(data, name)

    text = data.removeprefix(b"\xef\xbb\xbf")
    expected = text.count(b"\n") + bool(text.rsplit(b"\n", 1)[-1])
    assert scan.account.total == expected
    assert sum(len(event.lines) for event in events) == expected


@pytest.mark.parametrize("name", NAMES)
@tried(60)
@given(where=st.floats(0, 1))
def test_a_log_cut_anywhere_yields_no_record_that_the_whole_log_does_not_hold(name: str, where: float) -> None:
    for path in SAMPLES[name]:
        data, whole = path.read_bytes(), results_of(name, path)
        end = data[: int(where * len(data))].count(b"\n") + 1  # The line that is cut: its closed cells may be a record without the last.

        found = [event for event in events_of(name, data[: int(where * len(data))]) if isinstance(event.what, Record) and not derived(event.what)]

        cut = [event.what for event in found if event.last_line != end or event.what in [true.what for true in whole]]
        rest = [said(event.what) for event in found if isinstance(event.what, Record)][len(cut) :]
        true = [said(event.what) for event in whole if event.last_line == end and isinstance(event.what, Record)]
        assert cut == [event.what for event in whole][: len(cut)]
        assert [claim for claim in rest if not any(in_part(claim, one, "cut") for one in true)] == []


@pytest.mark.parametrize("kind", MUTATIONS)
@pytest.mark.parametrize("name", NAMES)
@tried(EXAMPLES)
@given(data=st.data())
def test_lines_lost_cut_repeated_or_between_those_of_another_tool_invent_nothing(kind: str, name: str, data: st.DataObject) -> None:
    sample = data.draw(st.sampled_from(SMALL[name]))
    other = data.draw(st.sampled_from([path for of, paths in SMALL.items() if of != name for path in paths]))
    chance = random.Random(data.draw(st.integers(0, 2**32)))  # noqa: S311

    records = records_of(name, b"".join(MUTATIONS[kind](lines_of(sample), lines_of(other), chance)))

    assert invented(records, original(name, sample), kind) == []
    assert out_of_range(records) == []


@pytest.mark.parametrize("kind", MOVES)
@pytest.mark.parametrize("name", NAMES)
@tried(EXAMPLES)
@given(data=st.data())
def test_where_a_line_stands_in_for_another_its_numbers_stay_its_own(kind: str, name: str, data: st.DataObject) -> None:
    telling = st.sampled_from([path for path in SMALL[name] if original(name, path)])  # Of a log without records it is not known what it says.
    sample, other = data.draw(telling), data.draw(telling)
    chance = random.Random(data.draw(st.integers(0, 2**32)))  # noqa: S311

    events = events_of(name, b"".join(MOVES[kind](lines_of(sample), lines_of(other), chance)))

    true = original(name, sample) | (original(name, other) if kind == "interleaved" else frozenset())
    assert misplaced(events, true, name, kind) == []
    assert out_of_range([event.what for event in events if isinstance(event.what, Record)]) == []


@pytest.mark.parametrize("name", NAMES)
@tried(EXAMPLES)
@given(data=st.data())
def test_bytes_that_flip_outside_of_numbers_invent_nothing(name: str, data: st.DataObject) -> None:
    sample = data.draw(st.sampled_from(SMALL[name]))
    log = bytearray(b"".join(lines_of(sample)))
    may_flip = places(sample)
    for _ in range(data.draw(st.integers(1, FLIPS))):
        at = data.draw(st.sampled_from([*may_flip]))
        log[at] = data.draw(st.sampled_from(may_flip[at]))

    assert invented(records_of(name, bytes(log)), original(name, sample), "flipped") == []


@pytest.mark.parametrize("name", NAMES)
@tried(EXAMPLES)
@given(data=st.data())
def test_bytes_that_flip_anywhere_are_survived(name: str, data: st.DataObject) -> None:
    log = bytearray(b"".join(lines_of(data.draw(st.sampled_from(SMALL[name])))))
    for _ in range(data.draw(st.integers(1, 20))):
        log[data.draw(st.integers(0, len(log) - 1))] = data.draw(st.integers(0, 255))

    records_of(name, bytes(log))
