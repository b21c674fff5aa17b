"""Checks of a format: how it reads changed sample logs, and whether its constants ``DEFINITIONS`` and ``STATES`` match its sample logs."""

from __future__ import annotations

import io
import os
import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import asdict

from tacholog.formats.kit.findings import Finding
from tacholog.formats.kit.lines import Line, States
from tacholog.formats.reading import Event, Scan, read
from tacholog.formats.registry import format_named, states_of
from tacholog.formats.source import LogText, compression_of, why_no_text
from tacholog.formats.testing import changes
from tacholog.formats.testing.claims import (
    FLIPPED_BYTES,
    Allowances,
    ChangedLog,
    Claim,
    claim_of,
    claims_of,
    explain,
    invented,
    is_derived,
    misplaced,
    name_distance,
    out_of_range,
    unknown_numbers,
)
from tacholog.formats.testing.fuzzing import lines_in
from tacholog.formats.validity import defect_of
from tacholog.schema.records import Record


class Result(NamedTuple):
    """The statements of a result in a sample.

    Attributes:
        log_line: its log and line.
        test: its test; ``None`` if it is not the result of a complete measurement. Then `States` does not apply to it.
        conditions: the names of its known conditions.
        definition: the name of its definition.
    """

    log_line: str
    test: str | None
    conditions: frozenset[str]
    definition: str | None


def results_of(name: str, logs: Iterable[Path]) -> list[Result]:
    """Read sample logs in the format of this name."""
    return [result for path in logs for result in _stated_results(path, name)]


def _stated_results(path: Path, name: str) -> Iterator[Result]:
    log = read(path, name)
    for event in log.events:
        record = event.what
        if isinstance(record, Record):
            facts = log.account.runs[event.run]
            values = asdict(record.conditions.over(facts.conditions))
            values |= {"payload_bytes": record.payload_bytes, "tool_version": facts.tool_version}
            names = frozenset(condition for condition, value in values.items() if value is not None)
            yield Result(f"{path.name}:{event.line}", record.test if record.scope == "summary" else None, names, values["definition"])


def check_definitions(name: str, logs: Sequence[Path]) -> None:
    """Check that each result of the samples names one of the format's definitions. A definition explains the meaning of numbers."""
    _expect_no_fault(f"results of {name} without a definition", faults_of_definitions(format_named(name).DEFINITIONS, results_of(name, logs)))


def check_states(name: str, logs: Sequence[Path]) -> None:
    """Check that ``STATES``, which is optional, matches the results of the samples exactly, because the plan of a campaign relies on it."""
    if not hasattr(format_named(name), "STATES"):
        return
    if (declared := states_of(name)) is None:
        raise AssertionError('STATES is no mapping from tests to States, such as {"latency": States(always="basis definition")}')
    _expect_no_fault(f"STATES of {name} does not match the results of its samples", faults_of_states(declared, results_of(name, logs)))


def _expect_no_fault(what_is_wrong: str, faults: Sequence[str]) -> None:
    if faults:
        raise AssertionError("\n  ".join((f"{what_is_wrong}:", *faults)))


def faults_of_definitions(definitions: Collection[str], results: Iterable[Result]) -> list[str]:
    """Return a sentence for each definition that the results name, but the format does not declare.

    The sentence names the first result with this definition.
    """
    first = {result.definition: result.log_line for result in reversed([*results]) if result.definition not in definitions}
    declared = f"DEFINITIONS ({', '.join(definitions) or 'which is empty'})"
    return [
        f"{log_line}: {f'{definition!r} is none' if definition else 'no definition is stated: name one'} of {declared}"
        for definition, log_line in first.items()
    ]


def faults_of_states(declared: Mapping[str, States], results: Iterable[Result]) -> list[str]:
    """Return the errors in ``STATES``, each with a remedy."""
    by_test: dict[str, list[Result]] = {}
    for result in results:
        if result.test is not None:
            by_test.setdefault(result.test, []).append(result)
    faults = [f"no sample has a result of the test {test}: add one, or leave {test} out" for test in declared if test not in by_test]
    for test, of_test in by_test.items():
        if test in declared:
            faults += [f"{test}: {fault}" for fault in _faults_of_test(declared[test], of_test)]
        else:
            faults.append(f"{test} is not declared: add '{test}': {_declaration_for(of_test)}".replace("'", '"'))
    return faults


def _faults_of_test(declared: States, results: Sequence[Result]) -> Iterator[str]:
    always, sometimes = set(declared.always.split()), set(declared.sometimes.split())
    by_all, by_any = _names_stated(results)
    for name in sorted(always | sometimes | by_any):
        if name in always & sometimes:
            yield f"{name} is declared twice: declare it always or sometimes"
        elif name not in by_any:
            yield f"no sample states {name}: add one that does, or do not declare it"
        elif name in always - by_all:
            lacking = next(result.log_line for result in results if name not in result.conditions)
            yield f"{lacking} does not state {name}: declare it sometimes"
        elif name in sometimes & by_all:
            yield f"no sample lacks {name}: add one that does, or declare it always"
        elif name not in always | sometimes:
            yield f"{'all' if name in by_all else 'some'} results state {name}: declare it {'always' if name in by_all else 'sometimes'}"


def _declaration_for(results: Sequence[Result]) -> str:
    by_all, by_any = _names_stated(results)
    words = {"always": " ".join(sorted(by_all)), "sometimes": " ".join(sorted(by_any - by_all))}
    return f"States({', '.join([f'{when}={names!r}' for when, names in words.items() if names])})"


def _names_stated(results: Iterable[Result]) -> tuple[set[str], set[str]]:
    names = [result.conditions for result in results]
    return set(frozenset.intersection(*names)), set(frozenset.union(*names))


_SMALL_BYTES = 20_000  # Only smaller logs are changed and read many times.
_SHOWN_LINES = 60
_SHORTEST_RUN = 2
# To search for faults, this variable may be a number. It multiplies the number of random examples. Without it, the examples are always the same.
_RANDOM = int(os.environ.get("TACHOLOG_RANDOM") or 0)
_WORDS = ["Length:", "Packets:", "Latency: Ave", "us", "Mbps(ave):", "Lost:", "99.9999% (\u03bcs)", "Sample Size (Bytes)", "\u2022 Reliable"]
_WORDS += ["latency", "payload_bytes=64", "histogram", "bins=1:2:3", "end", "status=ok", 'text="', "\\", "(0.00%)", "{", "}", '"latency":', ","]
_WORDS += ["1", "0", "3.5", "-1", "\x00", "\x1b[0m", "\n", "\r\n", " "]
_STRANGE_LOG = b'Starting test\nsize 64 time 12.5 us\n[INFO] 12:00:01 connected\n\nresult: 100 messages, 0 lost\n{\n  "latency": 1.5\n}\n'


class FormatUnderTest:
    """A format, its sample logs, and its allowances for changed logs."""

    def __init__(self, name: str, logs: Sequence[bytes], others: Sequence[bytes], allow: Allowances, not_moved: Collection[bytes]) -> None:
        self.name, self.logs, self.others, self.allow, self.not_moved = name, logs, others, allow, not_moved
        self.small = [log for log in logs if len(log) < _SMALL_BYTES] or logs[:1]
        self._true: dict[bytes, frozenset[Claim]] = {}
        self._results: dict[bytes, list[tuple[Event, Record]]] = {}

    def true(self, log: bytes) -> frozenset[Claim]:
        """Return the contents of the records of an unchanged sample."""
        if log not in self._true:
            self._true[log] = claims_of(self.records(b"".join(_lines(log))))
        return self._true[log]

    def events(self, log: bytes) -> list[Event]:
        """Read a log. Check that each line is in exactly one class, and that all findings are valid."""
        text = LogText(io.BytesIO(log))
        format_named(self.name).detect(text.head)
        scan = Scan(text, self.name)
        events = list(scan)
        if hasattr(scan.format, "BULK"):
            check_bulk(self.name, log)
        numbers = sorted(number for event in events for number in event.lines)
        if numbers != list(range(1, scan.account.total + 1)):
            raise AssertionError("a line is in no class, or in two")
        line = Line(1, "")
        _expect_none("is not valid", [defect for event in events if (defect := defect_of(Finding(line, event.what), 1))])
        return events

    @contextmanager
    def _read(self, log: bytes, change: str, *samples: bytes) -> Iterator[ChangedLog]:
        with _log_in_message(log, change):
            yield ChangedLog(log, self.events(log), frozenset[Claim]().union(*map(self.true, samples)))

    def records(self, log: bytes) -> list[Record]:
        """Return the records of a log, read and checked by `events`."""
        return _records(self.events(log))

    def results(self, log: bytes) -> list[tuple[Event, Record]]:
        """Return the results of an unchanged sample."""
        if log not in self._results:
            self._results[log] = _results(self.events(log))
        return self._results[log]

    def check_any_bytes(self, log: bytes) -> None:
        """Check that each line is in exactly one class, for any bytes."""
        if compression_of(log) or why_no_text(log):
            return  # UTF-16 and archives are refused with a message. A compressed log has other lines after it is expanded.
        with _log_in_message(log, "any bytes"):
            counted = sum(len(event.lines) for event in self.events(log))
            if counted != lines_in(log):
                raise AssertionError(f"{counted} lines got a class, but the log has {lines_in(log)}: each line must get exactly one class")

    def check_cut_anywhere(self, seed: int) -> None:
        """Cut a log at any position. Check that it has only records that the complete log has."""
        chance = random.Random(seed)  # noqa: S311
        log = chance.choice(self.logs)
        all_results = self.results(log)
        cut = log[: chance.randint(0, len(log))]
        with self._read(cut, f"cut after {len(cut)} of {len(log)} bytes, seed {seed}", log) as changed:
            last = cut.count(b"\n") + 1  # The number of the cut line. Its complete cells may be a record.
            results = _results(changed.events)
            records = [record for _, record in all_results]
            same = [record for event, record in results if event.last_line != last or record in records]
            last_records = [record for _, record in results][len(same) :]
            true = frozenset(claim_of(record) for event, record in all_results if event.last_line == last)
            _expect_none(
                "is missing in the uncut log", [record for record, expected in zip(same, records, strict=False) if record != expected], changed
            )
            _expect_none("is missing in the uncut log", invented(last_records, true, "cut", self.allow), changed)

    def check_damaged(self, change: str, seed: int) -> None:
        """Check that no record is invented if lines are cut, lost, repeated, or mixed with lines of another tool."""
        chance = random.Random(seed)  # noqa: S311
        log, other = chance.choice(self.small), chance.choice(self.others)
        damaged = b"".join(changes.DAMAGES[change](_lines(log), _lines(other), chance))
        with self._read(damaged, f"lines {change}, seed {seed}", log) as changed:
            records = _records(changed.events)
            _expect_none("states a value that no record of the sample states", invented(records, changed.true, change, self.allow), changed)
            _expect_none("is outside of the range of all its intervals", out_of_range(records))

    def check_moved(self, change: str, seed: int) -> None:
        """Check that each number still belongs to its line if lines are moved to other positions."""
        chance = random.Random(seed)  # noqa: S311
        telling = [log for log in self.small if self.true(log) and log not in self.not_moved]  # A log without records shows nothing.
        if not telling:
            return
        log, other = chance.choice(telling), chance.choice(telling)
        moved_log = b"".join(changes.MOVES[change](_lines(log), _lines(other), chance))
        with self._read(moved_log, f"lines {change}, seed {seed}", log, *([other] if change == "interleaved" else ())) as changed:
            faults = misplaced(changed.events, changed.true, change, self.allow)
            _expect_none("mixes values of different records of the sample", faults, changed, lambda: name_distance(changed, change, self.allow))
            _expect_none("is outside of the range of all its intervals", out_of_range(_records(changed.events)))

    def check_garbled(self, change: str, seed: int) -> None:
        """Check that garbage in some lines does not change the numbers of records on other lines."""
        chance = random.Random(seed)  # noqa: S311
        log = chance.choice(self.small)
        lines = _lines(log)
        garbled = changes.GARBAGE[change](lines, lines, chance)
        with self._read(b"".join(garbled), f"{change} in some lines, seed {seed}", log) as changed:
            same = {number for number, (old, new) in enumerate(zip(lines, garbled, strict=True), start=1) if old == new}
            untouched = [record for event, record in _results(changed.events) if event.lines and same.issuperset(event.lines)]
            _expect_none("has numbers that are not on its lines", unknown_numbers(untouched, changed.true, self.allow), changed)

    def check_foreign_digits(self, seed: int) -> None:
        """Check that digits of other scripts are not read as numbers: no tool prints such digits, and reading in bulk does not recognise them."""
        chance = random.Random(seed)  # noqa: S311
        log = chance.choice(self.small)
        foreign = b"".join(changes.foreign_digits(_lines(log), chance))
        with self._read(foreign, f"digits of another script in some lines, seed {seed}", log) as changed:
            faults = unknown_numbers([record for _, record in _results(changed.events)], changed.true, self.allow)
            _expect_none("takes digits of another script for a number (write [0-9] for \\d)", faults, changed)

    def check_flipped(self, seed: int) -> None:
        """Check that no record is invented if bytes outside of numbers flip."""
        chance = random.Random(seed)  # noqa: S311
        log = chance.choice(self.small)
        flipped = bytearray(b"".join(_lines(log)))
        flips = changes.may_flip(bytes(flipped))
        for offset in chance.sample(sorted(flips), min(chance.randint(1, FLIPPED_BYTES), len(flips))):
            flipped[offset] = chance.choice(flips[offset])
        with self._read(bytes(flipped), f"bytes flipped outside of numbers, seed {seed}", log) as changed:
            faults = invented(_records(changed.events), changed.true, "flipped", self.allow)
            _expect_none("states a value that no record of the sample states", faults, changed)

    def check_flipped_anywhere(self, seed: int) -> None:
        """Check that flipped bytes at any position cause no exception."""
        chance = random.Random(seed)  # noqa: S311
        flipped = bytearray(b"".join(_lines(chance.choice(self.small))))
        for _ in range(chance.randint(1, 20)):
            flipped[chance.randrange(len(flipped))] = chance.randrange(256)
        if not why_no_text(bytes(flipped)):
            with _log_in_message(bytes(flipped), f"bytes flipped, seed {seed}"):
                self.events(bytes(flipped))


def check_bulk(name: str, log: bytes) -> None:
    """Check that reading many lines together has the same result as reading them one by one."""
    at_once, one_by_one = (Scan(LogText(io.BytesIO(log)), name, run_lines) for run_lines in (_SHORTEST_RUN, len(log) + 1))
    events, expected = (sorted(scan, key=lambda event: (event.line, event.kind)) for scan in (at_once, one_by_one))
    for event, expected_event in zip(events, expected, strict=False):
        if event._replace(lines=tuple(event.lines)) != expected_event._replace(lines=tuple(expected_event.lines)):
            raise AssertionError(f"read in bulk, the log yields\n{event}\nbut read line by line\n{expected_event}")
        if _positions(event) != _positions(expected_event):
            raise AssertionError(
                f"read in bulk, the numbers of\n{event}\nare at\n{_positions(event)}\nbut read line by line at\n{_positions(expected_event)}"
            )
    if len(events) != len(expected) or at_once.account != one_by_one.account:
        raise AssertionError(f"read in bulk, the log has the account\n{at_once.account}\nbut read line by line\n{one_by_one.account}")


def _positions(event: Event) -> list[tuple[int | None, int | None]]:
    return [(number.value_start, number.value_end) for number in event.what.numbers] if isinstance(event.what, Record) else []


@contextmanager
def _log_in_message(log: bytes, change: str) -> Iterator[None]:
    """Add the change and the log to the message of any exception. The library Hypothesis shows only the random number that made them."""
    try:
        yield
    except Exception as error:
        lines = log.split(b"\n")
        more = f"\n... and {len(lines) - _SHOWN_LINES} more lines" if len(lines) > _SHOWN_LINES else ""
        error.add_note(f"The change: {change}\nThe log was:\n" + "\n".join(repr(line)[1:] for line in lines[:_SHOWN_LINES]) + more)
        raise


def _expect_none(words: str, faults: Sequence[object], changed: ChangedLog | None = None, advise: Callable[[], str] | None = None) -> None:
    if not faults:
        return
    advice = f"{advise()}\n" if advise else ""
    why = f"{explain(faults[0], changed)}\n{advice}The record:" if changed and isinstance(faults[0], Record) else ""
    raise AssertionError(f"a result of the format {words} (found {len(faults)} times):{chr(10) if why else ''}{why} {faults[0]!r}")


def _records(events: Iterable[Event]) -> list[Record]:
    return [event.what for event in events if isinstance(event.what, Record)]


def _results(events: Iterable[Event]) -> list[tuple[Event, Record]]:
    return [(event, event.what) for event in events if isinstance(event.what, Record) and not is_derived(event.what)]


def format_tests(
    name: str,
    logs: Iterable[Path],
    *,
    allow: Allowances | None = None,
    others: Iterable[Path] = (),
    not_moved: Collection[Path] = (),
    examples: int = 60,
) -> type:
    """Return a class with the tests that every format must pass. Pytest finds the class if its name begins with ``Test``.

    Args:
        name: the name of the format, as ``tacholog formats`` shows it.
        logs: sample logs of the format, real logs if possible.
        allow: what the format may do with a changed log, in addition to losing numbers.
        others: logs of other tools, which are mixed with ``logs``.
        not_moved: those of ``logs`` whose lines the tests do not move. Use it for a log with a result that is broken at its position, but valid at
            another position. If its lines were moved, the format would find a record that the sample does not have.
        examples: the number of changed logs that most of the tests read. Some tests read up to five times as many logs.

    Raises:
        ImportError: hypothesis is not installed.
    """
    try:
        from hypothesis import given, settings
        from hypothesis import strategies as st
    except ImportError as error:
        raise ImportError("tacholog.formats.testing needs hypothesis: pip install pytest hypothesis") from error
    paths = list(logs)
    own_logs, other_logs = [path.read_bytes() for path in paths], [path.read_bytes() for path in others] or [_STRANGE_LOG]
    subject = FormatUnderTest(name, own_logs, other_logs, allow or Allowances(), {path.read_bytes() for path in not_moved})
    seeds = st.integers(0, 2**32)
    words = st.lists(st.sampled_from(_WORDS), max_size=80).map(lambda chosen: " ".join(chosen).encode())

    def test(check: Callable[[Any], None], example: Any, times: int = 1) -> Callable[[object], None]:  # noqa: ANN401
        @settings(max_examples=times * examples * (_RANDOM or 1), derandomize=not _RANDOM, database=None, deadline=None)
        @given(example=example)
        def run(_: object, example: Any) -> None:  # noqa: ANN401
            check(example)

        run.__doc__ = check.__doc__
        return run

    def changed(check: Callable[[str, int], None], change: str) -> Callable[[int], None]:
        return lambda seed: check(change, seed)

    def declared(check: Callable[[str, Sequence[Path]], None]) -> Callable[[object], None]:
        def run(_: object) -> None:
            check(name, paths)

        run.__doc__ = check.__doc__
        return run

    tests: dict[str, Callable[[object], None]] = {
        "test_each_result_names_a_definition_of_the_format": declared(check_definitions),
        "test_the_samples_state_what_the_format_declares": declared(check_states),
        "test_any_bytes_are_accounted_for": test(subject.check_any_bytes, st.one_of(st.binary(max_size=2000), words), 5),
        "test_a_log_cut_anywhere_yields_no_record_that_the_whole_log_does_not_hold": test(subject.check_cut_anywhere, seeds, 4),
        "test_digits_of_another_script_are_no_number": test(subject.check_foreign_digits, seeds, 2),
        "test_bytes_that_flip_outside_of_numbers_invent_nothing": test(subject.check_flipped, seeds),
        "test_bytes_that_flip_anywhere_are_survived": test(subject.check_flipped_anywhere, seeds),
    }
    kinds: Sequence[tuple[str, Mapping[str, Any], Callable[[str, int], None]]] = (
        ("test_lines_{}_invent_nothing", changes.DAMAGES, subject.check_damaged),
        ("test_where_lines_are_{}_numbers_stay_those_of_their_lines", changes.MOVES, subject.check_moved),
        ("test_{}_in_some_lines_leave_the_numbers_of_the_others", changes.GARBAGE, subject.check_garbled),
    )
    for words_of_test, kind, check in kinds:
        tests |= {words_of_test.format(change): test(changed(check, change), seeds) for change in kind}
    return type(f"TestsOf_{name}", (), {"__doc__": f"The tests that every format must pass, for {name}.", **tests})


def _lines(log: bytes) -> tuple[bytes, ...]:
    return tuple(line + b"\n" for line in log.removesuffix(b"\n").split(b"\n"))
