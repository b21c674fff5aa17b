"""Whether what a format declares of its results, in its constants ``DEFINITIONS`` and ``STATES``, is what its sample logs show."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import asdict

from tacholog.formats.kit.lines import States
from tacholog.formats.reading import read
from tacholog.formats.registry import format_named, states_of
from tacholog.schema.records import Record


class Result(NamedTuple):
    """What a result of a sample states.

    Attributes:
        place: its log and line.
        test: its test; ``None`` if it is no result of a whole measurement, for which `States` says nothing.
        stated: the names of the conditions that are known of it.
        definition: the name of its definition.
    """

    place: str
    test: str | None
    stated: frozenset[str]
    definition: str | None


def results_of(name: str, logs: Iterable[Path]) -> list[Result]:
    """Read sample logs in the format of that name."""
    return [result for path in logs for result in _results(path, name)]


def _results(path: Path, name: str) -> Iterator[Result]:
    log = read(path, name)
    for event in log.events:
        record = event.what
        if isinstance(record, Record):
            facts = log.account.runs[event.run]
            known = asdict(record.conditions.over(facts.conditions))
            known |= {"payload_bytes": record.payload_bytes, "tool_version": facts.tool_version}
            stated = frozenset(condition for condition, value in known.items() if value is not None)
            yield Result(f"{path.name}:{event.line}", record.test if record.scope == "summary" else None, stated, known["definition"])


def check_definitions(name: str, logs: Sequence[Path]) -> None:
    """Check that each result of the samples names one of the format's definitions: without it, nobody could know what its numbers are."""
    _expect_none(f"results of {name} without a definition", faults_of_definitions(format_named(name).DEFINITIONS, results_of(name, logs)))


def check_states(name: str, logs: Sequence[Path]) -> None:
    """Check that ``STATES``, which a format may leave out, is exactly what the results of the samples state: a plan of a campaign trusts it."""
    if not hasattr(format_named(name), "STATES"):
        return
    if (declared := states_of(name)) is None:
        raise AssertionError('STATES is no mapping from tests to States, such as {"latency": States(always="basis definition")}')
    _expect_none(f"STATES of {name} is not what the results of its samples state", faults_of_states(declared, results_of(name, logs)))


def _expect_none(what_is_wrong: str, faults: Sequence[str]) -> None:
    if faults:
        raise AssertionError("\n  ".join((f"{what_is_wrong}:", *faults)))


def faults_of_definitions(definitions: Collection[str], results: Iterable[Result]) -> list[str]:
    """Return, for each definition that is not declared, the first result that names it."""
    first = {result.definition: result.place for result in reversed([*results]) if result.definition not in definitions}
    known = f"DEFINITIONS ({', '.join(definitions) or 'which is empty'})"
    return [f"{place}: {f'{one!r} is none' if one else 'none is stated: name one'} of {known}" for one, place in first.items()]


def faults_of_states(declared: Mapping[str, States], results: Iterable[Result]) -> list[str]:
    """Return what is wrong with ``STATES``, each with what to do about it."""
    found: dict[str, list[Result]] = {}
    for result in results:
        if result.test is not None:
            found.setdefault(result.test, []).append(result)
    faults = [f"no sample has a result of the test {test}: add one, or leave {test} out" for test in declared if test not in found]
    for test, of_test in found.items():
        if test in declared:
            faults += [f"{test}: {fault}" for fault in _faults_of_test(declared[test], of_test)]
        else:
            faults.append(f"{test} is not declared: add '{test}': {_states_like(of_test)}".replace("'", '"'))
    return faults


def _faults_of_test(declared: States, results: Sequence[Result]) -> Iterator[str]:
    always, sometimes = set(declared.always.split()), set(declared.sometimes.split())
    by_all, by_any = _stated(results)
    for name in sorted(always | sometimes | by_any):
        if name in always & sometimes:
            yield f"{name} is declared twice: declare it always or sometimes"
        elif name not in by_any:
            yield f"no sample states {name}: add one that does, or do not declare it"
        elif name in always - by_all:
            lacking = next(result.place for result in results if name not in result.stated)
            yield f"{lacking} does not state {name}: declare it sometimes"
        elif name in sometimes & by_all:
            yield f"no sample lacks {name}: add one that does, or declare it always"
        elif name not in always | sometimes:
            yield f"{'all' if name in by_all else 'some'} results state {name}: declare it {'always' if name in by_all else 'sometimes'}"


def _states_like(results: Sequence[Result]) -> str:
    """Return the declaration that fits these results, as it is written in Python."""
    by_all, by_any = _stated(results)
    words = {"always": " ".join(sorted(by_all)), "sometimes": " ".join(sorted(by_any - by_all))}
    return f"States({', '.join([f'{when}={names!r}' for when, names in words.items() if names])})"


def _stated(results: Iterable[Result]) -> tuple[set[str], set[str]]:
    """Return which conditions all of the results state, and which any does."""
    stated = [result.stated for result in results]
    return set(frozenset.intersection(*stated)), set(frozenset.union(*stated))
