"""What holds for every format, our own and those that other packages add: a new one is held to it by being there."""

from __future__ import annotations

import functools
import io
import os
import random
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacholog.formats._expand import packing_of
from tacholog.formats.reading import Event, Scan
from tacholog.formats.registry import formats
from tacholog.formats.source import LogText
from tacholog.records import METRICS, Number, Record

NAMES = sorted(formats())
SAMPLES = {name: sorted(path for path in (Path(__file__).parent / name).iterdir() if path.name != "README.md") for name in NAMES}
SMALL = {
    name: [path for path in paths if path.stat().st_size < 20_000] or paths[:1] for name, paths in SAMPLES.items()
}  # Quick enough to read often.
EXAMPLES = 60
SHARE = 0.4  # of the lines that a mutation touches
NUMERALS = {bytes([byte]) for byte in b"0123456789.,eE+-"}
NO_NUMERALS = [byte for byte in range(256) if bytes([byte]) not in NUMERALS]
NUMBER = re.compile(rb".?[-+.0-9]*[0-9][-+.,0-9eE]*[ \[(]?[A-Za-z%/\xc2\xb5\xce\xbc]{0,5}")  # with one byte before it, and its unit
ROLE = re.compile(rb"\b[ps]ub\b")  # One byte makes the one the other, and nobody can tell.
REMARK = re.compile(rb"(?<! ) {2,40}(?P<words>\([a-z]{1,20}\)) *\n?$")
Sizes = tuple[int | None, int | None]
Figures = tuple[object, Sizes, frozenset[object]]
RANDOM = bool(os.environ.get("TACHOLOG_RANDOM"))  # Other examples each time, to look for faults; otherwise the same, so that no luck decides.
WORDS = ["Length:", "Packets:", "Latency: Ave", "us", "Mbps(ave):", "Lost:", "99.9999% (\u03bcs)", "Sample Size (Bytes)", "\u2022 Reliable"]
WORDS += ["latency", "payload_bytes=64", "histogram", "bins=1:2:3", "end", "status=ok", 'text="', "\\", "(0.00%)"]
WORDS += ["1", "0", "3.5", "-1", "\x00", "\x1b[0m", "\n", "\r\n", " "]


def tried(examples: int) -> settings:
    """How often a property is tried: a fixed number of examples, or ten times as many at random."""
    return settings(max_examples=examples * 10 if RANDOM else examples, derandomize=not RANDOM, database=None, deadline=None)


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


def records_of(name: str, data: bytes) -> list[Record]:
    """The records of a log, each of its lines being in one class."""
    return [event.what for event in events_of(name, data) if isinstance(event.what, Record)]


def derived(record: Record) -> bool:
    """Whether the parser made the record from others: from another log it makes another."""
    return record.scope == "summary" and all("derived" in number.marks for number in record.numbers)


def figures(record: Record) -> Figures:
    """What a record says in numbers: its kind, its sizes, and the numbers themselves but for those that the parser made from others.

    Which section of a log it stands in is not among it: when lines are out of order nobody can tell.
    """
    printed = frozenset((n.metric, n.statistic, n.value, n.bound) for n in record.numbers if "derived" not in n.marks)
    return (record.test, record.scope), (record.payload_bytes, record.payload_bytes_high), printed


@functools.cache
def lines_of(path: Path) -> tuple[bytes, ...]:
    """The lines of a sample, each with an end."""
    return tuple(line + b"\n" for line in path.read_bytes().removesuffix(b"\n").split(b"\n"))


@functools.cache
def original(name: str, path: Path) -> frozenset[Figures]:
    """The figures of a sample as it is, read in the format of that name."""
    return frozenset(figures(record) for record in records_of(name, b"".join(lines_of(path))) if not derived(record))


@functools.cache
def words(path: Path) -> Sequence[int]:
    """The places in a sample that are in no number, nor in what stands beside one and may be its unit, nor in a role."""
    log = b"".join(lines_of(path))
    numbers = {at for pattern in (NUMBER, ROLE) for found in pattern.finditer(log) for at in range(found.start(), found.end())}
    return [at for at in range(len(log)) if at not in numbers]


def invented(records: Iterable[Record], true: Iterable[Figures], *, in_order: bool = True) -> list[Record]:
    """The records whose numbers do not all stand in one true record. One that has lost some of its numbers, or its size, is not invented.

    Where lines are not in order, a size that stands on another line than its numbers may be the size of others.
    """
    known: dict[object, list[tuple[Sizes, frozenset[object]]]] = {}
    for kind, sizes, numbers in true:
        known.setdefault(kind, []).append((sizes, numbers))

    def true_in_part(record: Record) -> bool:
        kind, sizes, numbers = figures(record)
        there = known.get(kind, [])
        possible = {of for of, _ in there} if not in_order else set()
        return any(numbers <= more and sizes in (of, (None, None), *possible) for of, more in there)

    return [record for record in records if not derived(record) and not true_in_part(record)]


def recomposed(events: Iterable[Event], true: Iterable[Figures]) -> list[Record]:
    """The records of which only known rows of known blocks stand together, but for a ruler or empty line: rows that changed places none can tell."""
    known: dict[object, set[object]] = {}
    for kind, _, numbers in true:
        known.setdefault(kind, set()).update(numbers)
    blocks = (event for event in events if len(event.lines) > 1 and max(event.lines) - min(event.lines) <= len(event.lines) + 1)
    records = [event.what for event in blocks if isinstance(event.what, Record)]
    return [record for record in records if figures(record)[2] <= known.get(figures(record)[0], set())]


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
    """Some lines end early, though neither within a number, which would be another number, nor before a remark as "(omitted)": nobody can tell."""

    def ends(line: bytes) -> list[int]:
        remark = REMARK.search(line)
        kept = range(remark.start(), remark.start("words") + 1) if remark else ()
        return [at for at in range(len(line)) if at not in kept and not (line[at - 1 : at] in NUMERALS and line[at : at + 1] in NUMERALS)]

    return [line[: chance.choice(ends(line) or [0])] + b"\n" if chance.random() < SHARE else line for line in lines]


def lost(lines: Lines, _: Lines, chance: random.Random) -> Lines:
    """Some lines are not there, never more than two in a row: a longer gap can leave what looks whole, which nobody can tell."""
    found: list[bytes] = []
    gap = 0
    for line in lines:
        gap = gap + 1 if chance.random() < SHARE and gap < 2 else 0
        found += [] if gap else [line]
    return found


def repeated(lines: Lines, _: Lines, chance: random.Random) -> Lines:
    """Some lines are there several times."""
    return [line for line in lines for _ in range(chance.choice((1, 1, 1, 2, 3)))]


def shuffled(lines: Lines, _: Lines, chance: random.Random) -> Lines:
    """Some stretch of lines is in another order."""
    start, end = sorted(chance.randrange(len(lines) + 1) for _ in "ab")
    return [*lines[:start], *chance.sample(lines[start:end], end - start), *lines[end:]]


def interleaved(lines: Lines, others: Lines, chance: random.Random) -> Lines:
    """The lines of another log stand between these, each log in its order."""
    found, logs = [], [list(reversed(lines)), list(reversed(others))]
    while all(logs):
        log = chance.choice(logs)
        found += [log.pop() for _ in range(min(len(log), chance.choice((1, 1, 2, 5, 20))))]
    return [*found, *(line for log in logs for line in reversed(log))]


Mutation = Callable[[Lines, Lines, random.Random], Lines]
MUTATIONS: dict[str, Mutation] = {function.__name__: function for function in (cut, lost, repeated, shuffled, interleaved)}


@pytest.mark.parametrize("name", NAMES)
def test_it_says_what_it_reads(name: str) -> None:
    module = formats()[name]

    assert (module.__doc__ or "").strip().endswith(".")
    assert "Source:" in (module.__doc__ or "")
    assert all(dialect.name and dialect.versions and dialect.evidence for dialect in module.DIALECTS)


@pytest.mark.parametrize("name", NAMES)
def test_it_has_sample_logs_and_knows_its_own(name: str) -> None:
    assert SAMPLES[name]
    for path in SAMPLES[name]:
        assert formats()[name].detect(path.read_text(errors="replace")).fits, path


@pytest.mark.parametrize("name", NAMES)
def test_nobody_elses_log_is_taken_for_its_own(name: str) -> None:
    for other in set(NAMES) - {name}:
        assert not any(formats()[name].detect(path.read_text(errors="replace")).fits for path in SAMPLES[other])


@pytest.mark.parametrize("name", NAMES)
def test_every_line_of_a_sample_is_in_one_class(name: str) -> None:
    for path in SAMPLES[name]:
        scan, events = scanned(path.read_bytes(), name)

        numbers = sorted(number for event in events for number in event.lines)
        assert numbers == list(range(1, scan.account.total + 1))


@pytest.mark.parametrize("name", NAMES)
def test_every_number_is_of_a_known_metric_and_every_definition_is_defined(name: str) -> None:
    for path in SAMPLES[name]:
        for event in scanned(path.read_bytes(), name)[1]:
            if isinstance(event.what, Record):
                assert {number.metric for number in event.what.numbers} <= METRICS.keys()
                assert event.what.conditions.definition in formats()[name].DEFINITIONS


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
        data = path.read_bytes()
        whole = [record for record in records_of(name, data) if not derived(record)]

        cut = [record for record in records_of(name, data[: int(where * len(data))]) if not derived(record)]

        assert cut == whole[: len(cut)]


@pytest.mark.parametrize("kind", MUTATIONS)
@pytest.mark.parametrize("name", NAMES)
@tried(EXAMPLES)
@given(data=st.data())
def test_lines_lost_cut_repeated_or_out_of_order_and_other_logs_between_them_invent_nothing(kind: str, name: str, data: st.DataObject) -> None:
    sample = data.draw(st.sampled_from(SMALL[name]))
    other = data.draw(st.sampled_from([path for paths in SMALL.values() for path in paths]))
    chance = random.Random(data.draw(st.integers(0, 2**32)))  # noqa: S311

    events = events_of(name, b"".join(MUTATIONS[kind](lines_of(sample), lines_of(other), chance)))

    true = original(name, sample) | original(name, other)
    records = [event.what for event in events if isinstance(event.what, Record)]
    found = invented(records, true, in_order=kind not in ("shuffled", "interleaved"))
    assert [record for record in found if kind != "shuffled" or record not in recomposed(events, true)] == []
    assert out_of_range(records) == []


@pytest.mark.parametrize("name", NAMES)
@tried(EXAMPLES)
@given(data=st.data())
def test_bytes_that_flip_outside_of_numbers_and_their_units_invent_nothing(name: str, data: st.DataObject) -> None:
    sample = data.draw(st.sampled_from(SMALL[name]))
    log = bytearray(b"".join(lines_of(sample)))
    places = words(sample)
    for _ in range(data.draw(st.integers(1, 4))):
        log[data.draw(st.sampled_from(places))] = data.draw(st.sampled_from(NO_NUMERALS))

    assert invented(records_of(name, bytes(log)), original(name, sample)) == []


@pytest.mark.parametrize("name", NAMES)
@tried(EXAMPLES)
@given(data=st.data())
def test_bytes_that_flip_anywhere_are_survived(name: str, data: st.DataObject) -> None:
    log = bytearray(b"".join(lines_of(data.draw(st.sampled_from(SMALL[name])))))
    for _ in range(data.draw(st.integers(1, 20))):
        log[data.draw(st.integers(0, len(log) - 1))] = data.draw(st.integers(0, 255))

    records_of(name, bytes(log))
