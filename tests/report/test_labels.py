"""Names of series in a group contain only the fields that differ. Common fields are stated once."""

from __future__ import annotations

import re

import msgspec

from tacholog.render.links import Links
from tacholog.render.tables.sizes import sizes_table
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


KEEPS = {"reliability": "reliable", "durability": "memory", "replication_factor": 1, "acks": "quorum", "subscribers": 0}
LOSES = {"reliability": "best-effort", "subscribers": 1, "topics": 1}


def broker_series(*each: tuple[dict[str, object], str]) -> list[Series]:
    found = [
        result
        for number, (conditions, options) in enumerate(each)
        for result in results("7.0", **conditions)
        for result in [msgspec.structs.replace(result, run=msgspec.structs.replace(result.run, run=str(number), options=options))]
    ]
    return series_of(found)


PIPELINED = broker_series(
    ({**KEEPS, "demand": 1, "batch_bytes": 0}, '{"command": "get", "requests": 40000, "threads": 1}'),
    ({**LOSES, "demand": 1, "batch_bytes": 0}, '{"requests": 40000, "threads": 1}'),
    ({**KEEPS, "demand": 1, "batch_bytes": 0}, '{"command": "set", "requests": 40000, "threads": 1}'),
    ({**KEEPS, "demand": 16}, '{"requests": 400000, "threads": 1}'),
)
SHORT = ["reliable, demand 1, command get", "best-effort, demand 1", "reliable, demand 1, command set", "reliable, demand 16"]


def test_heads_of_columns_state_one_of_the_conditions_that_differ_together() -> None:
    table = str(sizes_table(PIPELINED, Links(), "a"))

    assert [name.strip() for name in re.findall(r'<th scope="col"[^>]*><div>.*?</svg>([^<]*)</div>', table)] == SHORT
    assert "acks quorum, copies in memory" in PIPELINED[0].label


def test_head_of_a_column_with_a_short_name_states_all_conditions_to_screen_readers_and_copies() -> None:
    titles = re.findall(r'<th scope="col" title="([^"]*)"', str(sizes_table(PIPELINED, Links(), "a")))

    assert titles == [f"{member.label}, median" for member in PIPELINED]


def test_table_below_columns_with_short_names_states_each_condition() -> None:
    table = str(sizes_table(PIPELINED, Links(), "a"))
    (details,) = re.findall(r"<details.*?</details>", table)
    heads, *rows = [
        [re.sub("<[^>]*>", "", cell).strip() for cell in re.findall(r"<t[hd].*?</t[hd]>", row)] for row in re.findall(r"<tr>.*?</tr>", details)
    ]
    columns = {head: [row[index] for row in rows] for index, head in enumerate(heads)}
    shared = dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", details))

    assert columns["series"] == SHORT
    assert columns["durability"] == ["copies in memory", "not stated", "copies in memory", "copies in memory"]
    assert columns["batching"] == ["no batches", "no batches", "no batches", "not stated"]
    assert columns["options"][1] == "requests 40000, threads 1"
    assert shared["version"] == "7.0"
    assert "durability" not in shared


def test_heads_of_columns_state_all_conditions_if_there_is_room() -> None:
    reliable, unreliable = broker_series(
        ({"reliability": "reliable", "waiting": "block"}, "{}"), ({"reliability": "best-effort", "waiting": "busy-poll"}, "{}")
    )
    table = str(sizes_table([reliable, unreliable], Links(), "a"))

    assert re.findall(r'<th scope="col"><div>.*?</svg>([^<]*?) ?</div>', table) == ["reliable, block", "best-effort, busy-poll"]
    assert "<details" not in table


def test_short_head_of_an_acknowledgement_or_a_control_says_so() -> None:
    stored = results("1", **KEEPS, type="a type with a name that is too long for a column")
    delivered = results("1", **LOSES)
    acknowledged = [msgspec.structs.replace(one, conditions=msgspec.structs.replace(one.conditions, basis="pub-to-ack")) for one in stored]
    control = [msgspec.structs.replace(one, run=msgspec.structs.replace(one.run, labels='{"control": "yes"}')) for one in stored]

    assert short_heads(series_of([*acknowledged, *delivered])) == ["reliable, publish to acknowledgement", "best-effort, round trip"]
    assert short_heads(series_of([*delivered, *control])) == ["best-effort", "control run, reliable"]


def short_heads(members: list[Series]) -> list[str]:
    return re.findall(r'title="[^"]*"><div>.*?</svg>([^<]*?) ?</div>', str(sizes_table(members, Links(), "a")))
