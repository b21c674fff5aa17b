"""What holds for every format and each of its sample logs: a new one is held to it by being there."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from msgspec.structs import asdict

from tacholog.formats.bulk import RunCutter
from tacholog.formats.kit.lines import Line
from tacholog.formats.reading import read
from tacholog.formats.registry import formats, states_of
from tacholog.formats.source import LINE_BYTES, open_log
from tacholog.formats.validity import defect_of
from tacholog.schema.metrics import METRICS
from tacholog.schema.records import Record

HERE = Path(__file__).parent
#: Other people's packages have their logs elsewhere.
LOGS = [(name, path) for name in sorted(formats()) for path in sorted(HERE.glob(f"{name}/*")) if path.name != "README.md"]
NAMES = sorted({name for name, _ in LOGS})


@pytest.mark.parametrize("name", formats())
def test_a_format_says_what_it_reads(name: str) -> None:
    module = formats()[name]

    assert (module.__doc__ or "").strip().endswith(".")
    assert "Source:" in (module.__doc__ or "")
    assert all(dialect.name and dialect.versions and dialect.evidence for dialect in module.DIALECTS)


def test_every_format_of_this_project_has_sample_logs_and_says_where_they_are_from() -> None:
    ours = tomllib.loads((HERE.parent.parent / "pyproject.toml").read_text())["project"]["entry-points"]["tacholog.formats"]

    assert [name for name in ours if name not in NAMES or not (HERE / name / "README.md").is_file()] == []


@pytest.mark.parametrize(("name", "path"), LOGS)
def test_a_log_is_known_by_its_content_to_its_own_format_alone(name: str, path: Path) -> None:
    head = path.read_text(errors="replace")

    assert [other for other, module in formats().items() if module.detect(head).fits] == [name]


@pytest.mark.parametrize(("name", "path"), LOGS)
def test_every_line_of_a_log_is_in_one_class(name: str, path: Path) -> None:
    log = read(path, name)

    assert sorted(number for event in log.events for number in event.lines) == list(range(1, log.account.total + 1))


@pytest.mark.parametrize(("name", "path"), LOGS)
def test_a_start_time_is_an_iso_time_or_unknown(name: str, path: Path) -> None:
    account = read(path, name).account

    for stated in filter(None, (facts.start_time for facts in (*account.runs, account.facts))):
        datetime.fromisoformat(stated)  # It raises ValueError for anything else.


@pytest.mark.parametrize(("name", "path"), LOGS)
def test_every_number_is_of_a_known_metric_and_every_definition_is_defined(name: str, path: Path) -> None:
    for record in (event.what for event in read(path, name).events):
        if isinstance(record, Record):
            assert {number.metric for number in record.numbers} <= METRICS.keys()
            assert record.conditions.definition in formats()[name].DEFINITIONS


@pytest.mark.parametrize(("name", "path"), LOGS)
def test_what_a_format_yields_is_what_is_asked_of_those_that_nobody_knows(name: str, path: Path) -> None:
    with open_log(path) as text:
        lines = list(text.pieces(RunCutter((), 1), getattr(formats()[name], "LINE_BYTES", LINE_BYTES)))
        for found in formats()[name].parse(iter(line for line in lines if isinstance(line, Line))):
            assert defect_of(found, len(lines)) is None


@pytest.mark.parametrize("name", NAMES)
def test_a_format_declares_which_conditions_its_logs_state_always_and_sometimes(name: str) -> None:
    stated: dict[str, list[set[str]]] = {}
    for path in (path for other, path in LOGS if other == name):
        for test, conditions in conditions_in(path, name):
            stated.setdefault(test, []).append(conditions)
    always = {test: set.intersection(*found) for test, found in stated.items()}
    sometimes = {test: set.union(*found) - always[test] for test, found in stated.items()}

    declared = states_of(name) or {}
    assert {test: set(states.always.split()) for test, states in declared.items()} == always
    assert {test: set(states.sometimes.split()) for test, states in declared.items()} == sometimes


def conditions_in(path: Path, name: str) -> Iterator[tuple[str, set[str]]]:
    """Yield for each result of a log its test and the conditions that it states."""
    log = read(path, name)
    for record in (event.what for event in log.events):
        if isinstance(record, Record) and record.scope == "summary":
            known = asdict(record.conditions.over(log.facts.conditions))
            known |= {"payload_bytes": record.payload_bytes, "tool_version": log.facts.tool_version}
            yield record.test, {condition for condition, value in known.items() if value is not None}
