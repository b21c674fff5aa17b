"""Names of series in a group contain only the fields that differ. Common fields are stated once."""

from __future__ import annotations

import msgspec

from tacholog.schema.conditions import Conditions
from tacholog.view.ranking_groups import SystemSeries, common_conditions
from tacholog.view.results import ResultRow, RunRow
from tacholog.view.series import Series, labels_among, series_of


def results(version: str, **conditions: object) -> list[ResultRow]:
    run = RunRow(run=f"{version}/{conditions}", system="X", system_version=version, host="desk", release=version)
    stated = Conditions(basis="rtt", definition="ours", load_mode="closed", **conditions)  # type: ignore[arg-type]
    return [ResultRow(run=run, log="a", test="latency", payload_bytes=64, metric="latency", statistic="p50", value=1.0, conditions=stated)]


def series(*each: list[ResultRow]) -> list[tuple[str, Series]]:
    return [("X", one) for found in each for one in series_of(found)]


def test_row_labels_show_only_the_fields_that_differ_and_not_the_transport() -> None:
    shm = results("0.3", transport="shm", reliability="reliable", waiting="busy-poll")
    udp = results("0.3", transport="udp", reliability="best-effort", waiting="busy-poll")
    zero = results("0.3", transport="shm-zero-copy", reliability="reliable", waiting="busy-poll")

    assert labels_among(series(shm, udp, zero)) == ["reliable", "best-effort", "reliable"]


def test_row_labels_show_differing_versions_even_if_transports_differ_too() -> None:
    assert labels_among(series(results("0.2", transport="shm"), results("0.3", transport="udp"))) == ["version 0.2", "version 0.3"]


def test_published_tables_are_told_apart_by_run_names_if_no_stated_field_differs() -> None:
    (result,) = results("0.3", transport="shm")
    tables = [
        [msgspec.structs.replace(result, run=msgspec.structs.replace(result.run, run=name, published=True))]
        for name in ("page/table-1", "page/table-2")
    ]

    assert labels_among(series(*tables)) == ["(page/table-1)", "(page/table-2)"]


def test_list_of_common_conditions_omits_conditions_in_the_heading_of_the_table() -> None:
    one = results("0.3", transport="shm", waiting="busy-poll", subscribers=1)
    other = results("0.3", transport="udp", waiting="busy-poll", subscribers=2)

    assert common_conditions([SystemSeries("X", "", each) for _, each in series(one, other)]) == "busy-poll, version 0.3"
