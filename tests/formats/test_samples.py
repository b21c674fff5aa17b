"""Properties of each format and each of its sample logs: a new format is tested automatically.

These tests are only for formats of this project. The tests in `tacholog.formats.testing` and test_every_format.py are for all formats.
"""

from __future__ import annotations

import tomllib
from datetime import datetime
from pathlib import Path

import pytest

from tacholog.formats.blocks import RunCutter
from tacholog.formats.kit.lines import Line
from tacholog.formats.reading import read
from tacholog.formats.registry import formats, states_of
from tacholog.formats.source import LINE_BYTES, open_log
from tacholog.formats.testing.properties import results_of
from tacholog.formats.validity import defect_of
from tacholog.schema.metrics import METRICS
from tacholog.schema.records import Record

HERE = Path(__file__).parent
#: The logs of formats of other packages are not in this folder.
LOGS = [(name, path) for name in sorted(formats()) for path in sorted(HERE.glob(f"{name}/*")) if path.name != "README.md"]
NAMES = sorted({name for name, _ in LOGS})


@pytest.mark.parametrize("name", formats())
def test_format_names_its_source_and_describes_its_dialects(name: str) -> None:
    module = formats()[name]

    assert (module.__doc__ or "").strip().endswith(".")
    assert "Source:" in (module.__doc__ or "")
    assert all(dialect.name and dialect.versions and dialect.evidence for dialect in module.DIALECTS)


def test_each_format_of_this_project_has_sample_logs_and_states_their_source() -> None:
    ours = tomllib.loads((HERE.parent.parent / "pyproject.toml").read_text())["project"]["entry-points"]["tacholog.formats"]

    assert [name for name in ours if name not in NAMES or not (HERE / name / "README.md").is_file()] == []


@pytest.mark.parametrize(("name", "path"), LOGS)
def test_content_of_each_sample_log_is_detected_as_exactly_one_format(name: str, path: Path) -> None:
    with open_log(path) as text:
        head = text.head

    assert [other for other, module in formats().items() if module.detect(head).fits] == [name]


@pytest.mark.parametrize(("name", "path"), LOGS)
def test_each_line_of_a_sample_log_is_counted_in_exactly_one_class_of_lines(name: str, path: Path) -> None:
    log = read(path, name)

    assert sorted(number for event in log.events for number in event.lines) == list(range(1, log.account.total + 1))


@pytest.mark.parametrize(("name", "path"), LOGS)
def test_start_time_is_an_iso_time_or_unknown(name: str, path: Path) -> None:
    account = read(path, name).account

    for time in filter(None, (facts.start_time for facts in (*account.runs, account.facts))):
        datetime.fromisoformat(time)  # Raises ValueError if the text is no ISO time.


@pytest.mark.parametrize(("name", "path"), LOGS)
def test_each_number_has_a_known_metric(name: str, path: Path) -> None:
    for record in (event.what for event in read(path, name).events):
        if isinstance(record, Record):
            assert {number.metric for number in record.numbers} <= METRICS.keys()


@pytest.mark.parametrize(("name", "path"), LOGS)
def test_each_finding_of_our_formats_is_valid(name: str, path: Path) -> None:
    with open_log(path) as text:
        lines = list(text.pieces(RunCutter((), 1), getattr(formats()[name], "LINE_BYTES", LINE_BYTES)))
        for finding in formats()[name].parse(iter(line for line in lines if isinstance(line, Line))):
            assert defect_of(finding, len(lines)) is None


def test_each_format_that_has_results_declares_which_conditions_its_results_state() -> None:
    undeclared = [name for name in NAMES if states_of(name) is None]

    assert [result for name in undeclared for result in results_of(name, (path for other, path in LOGS if other == name)) if result.test] == []
