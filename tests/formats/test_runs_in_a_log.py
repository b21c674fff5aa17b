"""One log has several runs, because a shell appended them with `>>`. A statement of one run does not apply to the other runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.formats.reading import read
from tacholog.schema.conditions import Conditions
from tacholog.store.load import load_logs

LOGS = Path(__file__).parent


def conditions_by_line(path: Path) -> dict[int, tuple[str, ...]]:
    """Return the conditions of each record in a log. The key is the line of the record."""
    results = load_logs([path]).results
    rows = results[["line", *Conditions.__struct_fields__]].drop_duplicates("line")
    return {int(line): tuple(map(str, conditions)) for line, *conditions in rows.itertuples(index=False)}


@pytest.mark.parametrize(
    ("first", "second"),
    [("rti/3.0.1-latency-pub.log", "rti/3.0.1-throughput-sub.log"), ("native/latency-udp.log", "native/throughput-udp.log")],
)
def test_each_record_has_the_conditions_of_the_run_that_printed_it(tmp_path: Path, first: str, second: str) -> None:
    both = tmp_path / "both.log"
    both.write_bytes((LOGS / first).read_bytes() + (LOGS / second).read_bytes())
    behind = len((LOGS / first).read_bytes().splitlines())

    alone = conditions_by_line(LOGS / first) | {line + behind: conditions for line, conditions in conditions_by_line(LOGS / second).items()}

    assert conditions_by_line(both) == alone


def test_condition_that_only_one_of_two_runs_states_is_not_a_condition_of_the_whole_log(tmp_path: Path) -> None:
    both = tmp_path / "both.log"
    both.write_bytes((LOGS / "native/latency-udp.log").read_bytes() + (LOGS / "native/throughput-udp.log").read_bytes())

    account = read(both).account

    assert len(account.runs) == 2
    assert account.runs[0].conditions.load_mode == "closed"
    assert account.facts.conditions.transport == "udp"
    assert account.facts.conditions.load_mode is None
