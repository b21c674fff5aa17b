"""Each number in the samples states its position in the log, and the position is right. Only numbers that a tool does not print have no position."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from tacholog.formats.reading import Scan
from tacholog.formats.source import LogText
from tacholog.schema.records import Facts, Record

HERE = Path(__file__).parent
FORMATS = ("ddsperf", "ecal", "fastrtps", "hmbdc", "iceoryx2", "iceperf", "native", "performance_test", "qperf", "sockperf")
#: Metrics whose numbers have no position, because the tool does not print them as numbers. They are not marked as derived.
NOT_PRINTED = {
    "ecal": {"messages_lost"},  # "Packages lost after message 12 -> stop." means that one message was lost.
    "hmbdc": {"latency"},  # The tool prints the text "hundreds of nano seconds".
    "native": {"loss", "cpu_per_message", "trials_passed"},
}
SAMPLES = [path for name in FORMATS for path in sorted((HERE / name).iterdir()) if path.name != "README.md"]


def is_one_line_of_json(path: Path) -> bool:
    """Return whether a sample is a single line of JSON. The format parses this line as a whole, so no position of a number is known."""
    return path.parent.name == "performance_test" and path.suffix == ".json"


@pytest.mark.parametrize("path", [path for path in SAMPLES if not is_one_line_of_json(path)], ids=lambda path: f"{path.parent.name}-{path.name}")
def test_each_printed_number_has_a_position(path: Path) -> None:
    name = path.parent.name
    with path.open("rb") as file:
        lines = {line.number: line.shown for line in LogText(file).lines()}
    with path.open("rb") as file:
        numbers = [(event.line, number) for event in Scan(LogText(file), name) if isinstance(event.what, Record) for number in event.what.numbers]

    printed = [(lines[number.line or line], number) for line, number in numbers if number.value_start is not None]
    nowhere = {number.metric for _, number in numbers if number.value_start is None and "derived" not in number.marks}
    assert nowhere <= NOT_PRINTED.get(name, set())
    for line, number in printed:
        assert re.fullmatch(r"-?[0-9][0-9.,]*(?:e[-+][0-9]+)?|-?nan|-?inf", line[number.value_start : number.value_end]), (line, number)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_findings_contain_only_plain_texts(path: Path) -> None:
    """Formats read texts that know their position in the log. Findings must not contain such texts, because they cannot be written as JSON."""
    with path.open("rb") as file:
        scan = Scan(LogText(file), path.parent.name)
        contents = [event.what for event in scan if isinstance(event.what, Record | Facts)]

    for what in (*contents, scan.account.facts):
        msgspec.json.encode(what)
