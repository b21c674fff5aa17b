"""The statements of a report about its rows: values, ratios, the result in a sentence, losses, and the sides."""

from __future__ import annotations

import html as html_module
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from tests.diff.conftest import NEW_TURNS, OLD_TURNS

from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy
from tacholog.compare.result import Comparison, ComparisonRow, Difference, to_json
from tacholog.compare.sides import find, of_release
from tacholog.render.diff.document import line_of, loss_lines, sections
from tacholog.render.diff.notes import changed_words
from tacholog.render.diff.page import brief, html
from tacholog.render.diff.summary import by_transport, conclusion, figures_words, headline, loss_sentence, moved_most, short_conclusion, side_words
from tacholog.render.diff.text import comment, markdown, text
from tacholog.runs.manifest import Host
from tacholog.store.frames import Dataset
from tacholog.store.load import load
from tacholog.view.names import words

Side = Callable[..., Dataset]
Compared = Callable[..., Comparison]
SHOWN = (text, markdown, html)
KIND = '{"kind": "a"}'


def test_values_old_and_new_are_the_medians_of_the_compared_pairs(side: Side) -> None:
    lone, pairs = np.full(8, 99_000.0), np.full(7, 10_000.0)
    again = [*range(1, 9), *range(1, 8)]
    before = {"session": ["first"] * 8 + ["session-1"] * 7, "repetition": again}
    after = {"session": ["third"] * 8 + ["session-1"] * 7, "repetition": again}
    old = side(np.array([[*lone, *pairs]]), [*range(8), *(10 + place for place in OLD_TURNS[:7])], **before)
    new = side(np.array([[*lone, *pairs * 1.2]]), [*range(30, 38), *(10 + place for place in NEW_TURNS[:7])], **after)

    report = compare(old, new, Policy())

    (row,) = msgspec.convert(msgspec.to_builtins(report)["rows"], list[ComparisonRow])
    assert row.old
    assert row.new
    assert [(side.runs, len(side.values)) for side in (row.old, row.new)] == [(15, 7)] * 2
    assert [side.median for side in (row.old, row.new)] == pytest.approx([10_000, 12_000])
    line = line_of(row)
    assert (line.old, line.new, line.ratio) == ("10\u00a0µs", "12\u00a0µs", "x1.200")
    assert "7 pairs (of 15 and 15 runs)" in line.remark
    assert all("7 pairs (of 15 and 15 runs)" in show(report) for show in SHOWN)
    assert all("If a row has more runs than pairs" in show(report) for show in SHOWN)


def test_values_of_an_untested_row_are_the_medians_of_all_runs(side: Side) -> None:
    again = [*range(1, 9), *range(1, 8)]
    values = np.array([[*np.full(8, 99_000.0), *np.full(7, 10_000.0)]])
    said = {"repetition": again, "samples": 50_000, "statistic": "p99.9"}
    old = side(values, [*range(8), *(10 + place for place in OLD_TURNS[:7])], session=["first"] * 8 + ["session-1"] * 7, **said)
    new = side(values, [*range(30, 38), *(10 + place for place in NEW_TURNS[:7])], session=["third"] * 8 + ["session-1"] * 7, **said)

    (row,) = compare(old, new, Policy()).rows

    assert (row.verdict, row.ratio) == ("insufficient", 1)
    assert row.old
    assert row.new
    assert [(side.median, len(side.values)) for side in (row.old, row.new)] == [(99_000, 15)] * 2


def test_sentence_names_the_medians_before_the_high_percentiles(checkout: Path) -> None:
    data = load([checkout / "data"])

    report = compare(of_release(data, "0.1.0"), of_release(data, "0.2.0"), Policy())

    assert conclusion(report).startswith(
        "12 rows better (latency over tcp and udp: p50 by 5.8 to 35 %, p99 by 9.4 to 23 %; over uds: p50 by 20 to 26 %, p99 by 18 to 23 %, "
        "p99.9 by 41 %), none worse; no change in 11. "
    )


def test_page_begins_with_what_is_proven_and_has_the_command_for_pairs_below(checkout: Path) -> None:
    data = load([checkout / "data"])
    report = compare(of_release(data, "0.3.0"), of_release(data, "0.4.0"), Policy())

    begin = conclusion(report, with_reasons=False)

    assert re.match(r"7 rows better \([^)]*\), none worse\. 15 of 215 rows differ: 15 measured better\. Whether the release or the day ", begin)
    page = html(report)
    assert page.index(begin[:20]) < page.index("Pairs of runs can tell the release from the day: tacholog ab")


def test_table_of_transports_has_no_column_without_a_number_and_names_the_column_of_each_count(checkout: Path) -> None:
    data = load([checkout / "data"])
    page = html(compare(of_release(data, "0.3.0"), of_release(data, "0.4.0"), Policy()))
    table = page[page.index('<table class="transports"') :].partition("</table>")[0]

    heads = re.findall(r'<th scope="col" class="([^"]*)"', table)

    assert "n worse" not in heads
    assert '<td class="n stat-count better" data-head="Better">4 <span class="which">' in table
    assert '<td class="n stat-count better zero" data-head="Better">0</td>' in table
    assert 'data-head="Do not compare">56</td>' in table


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ([10, 10, 10, 30, 30, 30, 30], [10, 10, 10, 10, 10, 30, 30], "equal pair by pair, though the new median is 67 % lower; 7 pairs"),
        ([10, 10, 10, 30, 30, 30, 10], [9, 9, 9, 27, 27, 27, 27], "10 % lower pair by pair, though the new median is 170 % higher; 7 pairs"),
        ([10, 10, 10, 30, 30, 30, 30], [9, 9, 9, 27, 27, 27, 27], "10 % better; 7 pairs"),
    ],
)
def test_row_has_a_note_if_its_ratio_contradicts_the_ratio_of_its_medians(compared: Compared, old: list[int], new: list[int], said: str) -> None:
    report = compared(np.array(old) * 1000.0, np.array(new) * 1000.0)

    assert line_of(report.rows[0]).remark.startswith(said)
    assert all(said in show(report) for show in SHOWN)


@pytest.mark.parametrize("show", SHOWN)
def test_p_value_in_a_row_with_an_interval_is_called_adjusted(
    compared: Compared, noise: NDArray[np.float64], show: Callable[[Comparison], str]
) -> None:
    lost = np.array([0.0, 0.001, 0, 0, 0.005, 0])
    reports = [compared(noise[0], noise[1] * 1.2), compared(lost * 0, lost, metric="loss", statistic="total", test="throughput")]

    assert all(re.search("pairs, adjusted p[\u00a0 ]", show(report)) for report in reports)
    assert not any(re.search("pairs, p[\u00a0 ]", show(report)) for report in reports)


def test_row_states_whether_its_values_are_medians_of_several_runs(compared: Compared, side: Side) -> None:
    values = np.array([[10_000.0, 10_100, 10_200, 10_050, 10_020, 10_080]])
    few, blocks = (
        compare(side(values, range(6), reliability=known), side(values * 1.01, range(6, 12), session="second", reliability=known), Policy())
        for known in (None, "reliable")
    )

    assert "1.0 % higher; medians of 6 and 6 runs" in line_of(few.rows[0]).remark
    assert "1.0 % higher; 6 and 6 runs" in line_of(blocks.rows[0]).remark
    assert "medians" not in line_of(compared(values[:, :1], values[:, 1:2]).rows[0]).remark


@pytest.mark.parametrize("show", SHOWN)
def test_rows_of_different_or_unknown_machines_have_no_ratio(side: Side, other_host: Host, show: Callable[[Comparison], str]) -> None:
    values = np.array([[10_000.0, 10_100]])
    report = compare(side(values), side(values * 2, host=other_host), Policy())
    unknown = compare(side(values, host=None, basis="rtt"), side(values), Policy())

    assert [row.ratio for row in (*report.rows, *unknown.rows)] == [None, None]
    assert "CPU model: Made-up CPU" in show(report)
    assert "machine: not stated" in show(unknown)
    assert "1 row does not compare: 1 on a machine that is not stated" in show(unknown)


def on(machine: str, side: Dataset) -> Dataset:
    """Return a side as if it had been measured on a different machine. Only the id of this machine differs."""
    (host,) = side.hosts.values()
    return msgspec.structs.replace(side, runs=side.runs.assign(host=machine), hosts={machine: host})


@pytest.mark.parametrize("show", [*SHOWN, comment])
def test_each_output_warns_if_the_sides_ran_on_two_machines_of_one_kind(side: Side, show: Callable[[Comparison], str]) -> None:
    old, new = np.full((2, 6), 10_000.0), np.array([[20_000.0] * 6, [10_000.0] * 6])
    blocks = on("host-1", side(old, range(6))), on("host-2", side(new, range(6, 12), session="second"))
    shown = show(compare(*blocks, Policy()))

    said = "Not the same machine: 2 of the 2 rows with values on both sides compare Machine (host-1) (old) with Machine (host-2) (new)."
    assert plainly(shown).index(said) < plainly(shown).index("latency p50, ")
    assert "another machine, which may explain it (machine: Machine (host-1) -> Machine (host-2))" in plainly(shown)


def plainly(shown: str) -> str:
    return html_module.unescape(shown).replace("\\", "")


def test_single_machine_is_named_once_without_a_warning(side: Side) -> None:
    values = np.full((1, 6), 10_000.0)
    report = compare(on("host-1", side(values, range(6))), on("host-1", side(values * 2, range(6, 12), session="second")), Policy())

    assert (report.old.hosts, report.new.hosts) == (("Machine",), ("Machine",))
    assert "Not the same machine" not in text(report)
    assert "another machine" not in text(report)


def test_json_distinguishes_two_machines_of_the_same_kind(side: Side) -> None:
    values = np.full((1, 6), 10_000.0)
    report = compare(on("host-1", side(values, range(6))), on("host-2", side(values * 2, range(6, 12), session="second")), Policy())
    found = msgspec.json.decode(to_json(report))

    assert found["rows"][0]["differences"] == [{"field": "host", "old": "Machine (host-1)", "new": "Machine (host-2)"}]
    assert (found["old"]["hosts"], found["new"]["hosts"]) == (["Machine (host-1)"], ["Machine (host-2)"])


def test_report_states_that_rows_on_two_machines_are_neither_better_nor_worse(side: Side, noise: NDArray[np.float64]) -> None:
    pairs = [on("host-1", side(noise[0] * 2, OLD_TURNS, labels=KIND)), on("host-1", side(noise[1], NEW_TURNS, labels=KIND))]
    blocks = [on("host-2", side(noise[0], range(12))), on("host-1", side(noise[1], range(24, 36), session="second"))]
    report = compare(both(pairs[0], blocks[0]), both(pairs[1], blocks[1]), Policy())

    assert report.counts["better"] == 4
    assert "None of the rows that are better or worse is among them." in text(report)


def test_row_name_does_not_contain_a_version_that_only_one_side_has(side: Side) -> None:
    """If the measured system is the measuring tool itself, its version is different on each side."""
    values, options = np.full((1, 12), 10_000.0) + 10.0 * np.arange(12), {"paired": '{"warmup_s": 0.2}', "alone": '{"warmup_s": 0.4}'}
    old = side(values, OLD_TURNS, tool_version="0.3.0")
    new = side(values * 0.8, NEW_TURNS, tool_version="0.4.0")
    later = side(values, range(24, 36), tool_version="0.4.0", session="second")
    sides = [with_options(old, options["paired"]), both(with_options(new, options["paired"]), with_options(later, options["alone"]))]

    names = {row.verdict: dict(row.key.apart) for row in compare(sides[0], sides[1], Policy()).rows}

    assert names == {"better": {"options": '{"warmup_s": 0.2}'}, "added": {"options": '{"warmup_s": 0.4}'}}


def with_options(side: Dataset, options: str) -> Dataset:
    return msgspec.structs.replace(side, runs=side.runs.assign(options=pd.Series([options] * len(side.runs), dtype="string")))


def test_versions_of_a_side_do_not_include_the_version_of_its_controls(side: Side) -> None:
    values = np.full((1, 6), 10_000.0)
    control = side(values, range(6), labels='{"control": "yes"}', system_version="0.4.0", transport="inter-thread")
    old, new = (both(side(values, range(6), system_version=version), control) for version in ("0.3.0", "0.4.0"))

    report = compare(old, new, Policy())

    assert (report.old.versions, report.new.versions) == (("0.3.0",), ("0.4.0",))
    assert "; with control runs; " in side_words(report.old)


def both(*sides: Dataset) -> Dataset:
    runs, results = (
        pd.concat([getattr(side, table).assign(run=[f"{place}-{run}" for run in getattr(side, table)["run"]]) for place, side in enumerate(sides)])
        for table in ("runs", "results")
    )
    hosts = {name: host for side in sides for name, host in side.hosts.items()}
    types = {"run": "string"}
    return msgspec.structs.replace(sides[0], runs=runs.astype(types), results=results.astype(types), hosts=hosts)


def test_conclusion_states_the_result_in_a_sentence(compared: Compared, noise: NDArray[np.float64]) -> None:
    report = compared(noise[0], noise[1] * np.array([[1.2], [0.7], [1.0], [1.0]]))

    assert conclusion(report) == ("1 row worse (latency over shm: p50 by 20 %), 1 better (latency over shm: p50 by 30 %); no change in 2.")
    assert conclusion(compared(noise[0][:, :1], noise[1][:, :1])) == (
        "One value on each side, so no test is possible: no row differs by more than the band, 4 are alike."
    )
    assert all("no change in 2" in show(report) for show in SHOWN)


def test_changes_are_stated_separately_for_each_transport(side: Side) -> None:
    values = np.full((4, 12), 10_000.0) + 10.0 * np.arange(12)

    def measured(places: list[int], shm: float, udp: float) -> Dataset:
        small = np.array([[1.0], [shm], [1.0], [1.0]])
        tails = side(values * small, places, transport="shm", statistic="p99", samples=50_000)
        centres = side(values * np.array([[udp], [udp], [1.0], [1.0]]), places, transport="udp")
        return msgspec.structs.replace(tails, results=pd.concat([tails.results, centres.results], ignore_index=True))

    report = compare(measured(OLD_TURNS, 1.0, 1.0), measured(NEW_TURNS, 0.9, 0.8), Policy())

    assert conclusion(report) == "3 rows better (latency over udp: p50 by 20 %; over shm: p99 by 10 %), none worse; no change in 5."
    assert [(line.name, *(cell for cell in line.counts), line.not_comparable) for line in by_transport(report)] == [
        ("shm", ("better", 1, "p99, 32\u00a0B, 10 %"), ("no_change", 3, ""), 0),
        ("udp", ("better", 2, "p50 by 20 %"), ("no_change", 2, ""), 0),
    ]
    assert '<td class="n stat-count better" data-head="Better">1 <span class="which">(p99, 32\u00a0B, 10 %)</span></td>' in html(report)
    assert "Better in" not in str(brief(report, None))
    assert "Made-up middleware: old \u2192 new" in str(brief(report, None))


def test_empty_comparison_states_that_there_is_nothing_to_compare(compared: Compared) -> None:
    assert conclusion(compared(np.empty((0, 6)), np.empty((0, 6)))) == "There is nothing to compare."


def test_row_of_loss_states_the_number_of_runs_with_loss_and_the_largest_loss(compared: Compared) -> None:
    old = np.zeros((2, 6))
    new = np.array([[0.0, 0.001, 0, 0, 0.005, 0], [0.0] * 6])
    report = compared(old, new, metric="loss", statistic="total", test="throughput")

    (line,) = loss_lines(report)
    assert line.name == "share of messages lost, shm, copy, 1:1, 16\u00a0B".replace("1:1, ", "")
    assert (line.old, line.new) == ("nothing in 6 runs", "in 2 of 6 runs, at most 0.5\u00a0%, median 0\u00a0%")
    assert line.remark == "too noisy to tell: +0.05 points (+0 to +0.5), 6 pairs, adjusted p\u00a00.5"
    assert loss_sentence(report) == "In the other 1 row that states loss, no run lost anything."
    assert all("in 2 of 6 runs, at most 0.5" in show(report) for show in SHOWN)


@pytest.mark.parametrize("show", SHOWN)
def test_row_across_configurations_states_the_configuration_of_each_side(checkout: Path, show: Callable[[Comparison], str]) -> None:
    folder = checkout / "data/rti/udpv4-wan"
    sides = [find(str(folder / name), []) for name in ("keyed-reliable", "unkeyed-reliable")]

    shown = show(compare(sides[0], sides[1], Policy(across=("keyed", "instances")))).replace("&gt;", ">")

    assert "UDPv4_WAN, 32 B (keyed -> unkeyed; instances: 100000 -> not stated)" in shown.replace("\u00a0", " ").replace("\\", "")
    assert "UDPv4_WAN, 500 000 B (unkeyed)" in shown.replace("\u202f", " ").replace("\u00a0", " ").replace("\\", "")


def test_rows_beyond_the_limit_are_folded_on_the_page(compared: Compared, noise: NDArray[np.float64]) -> None:
    page = html(compared(noise[0], noise[1] * 1.2), limit=1)

    assert ">3 more rows</summary>" in page
    assert page.count('<th scope="row">') == 4


def test_remark_is_written_only_once_if_all_rows_of_a_verdict_have_the_remark(side: Side, noise: NDArray[np.float64], other_host: Host) -> None:
    report = compare(side(noise[0], OLD_TURNS), side(noise[1], NEW_TURNS, host=other_host), Policy())

    for said in (text(report), markdown(report)):
        assert said.count("Another CPU") == 1
        assert "In all of these rows: medians of 12 and 12 runs; CPU model: Made-up CPU" in said
    rows = [line for line in text(report).splitlines() if line.startswith("  latency")]
    assert [len(line.split()) for line in rows] == [10] * 4  # Ten words: the name and two values, and no remark.


def test_row_of_one_side_names_the_conditions_that_are_different_on_the_other_side(side: Side, noise: NDArray[np.float64]) -> None:
    waits = [*["busy-poll"] * 6, *["blocking"] * 6]
    old = side(noise[0][:1], OLD_TURNS)
    old.results["waiting"] = waits
    new = side(noise[1][:1], NEW_TURNS, waiting="yield")

    report = compare(old, new, Policy())

    rows = {(row.verdict, row.differences[0].old, row.differences[0].new) for row in report.rows}
    assert rows == {("removed", "busy-poll", "yield"), ("removed", "blocking", "yield"), ("added", "busy-poll", "yield")}
    assert "In all of these rows: the new side has this row under other conditions than the old one." in text(report)
    assert "waiting: blocking -> yield" in text(report)
    assert all(row.unverified == () for row in report.rows)


def test_removed_row_states_no_conditions_if_the_new_side_lacks_the_measurement(side: Side, noise: NDArray[np.float64]) -> None:
    report = compare(side(noise[0], OLD_TURNS), side(noise[1][:3], NEW_TURNS), Policy())

    (row,) = (row for row in report.rows if row.verdict == "removed")
    assert row.differences == ()
    assert "under other conditions than" not in text(report)


def test_each_row_states_the_size_of_its_change_even_if_all_rows_changed_equally(compared: Compared) -> None:
    old = np.full((3, 12), 10_000.0) + 10.0 * np.arange(12)

    said = text(compared(old, old * 1.1))

    assert [line.split("  ")[-1] for line in said.splitlines() if line.startswith("  latency")] == ["10 % worse"] * 3


def test_report_does_not_mention_single_values_if_each_side_has_several_runs(side: Side, noise: NDArray[np.float64]) -> None:
    blocks = compare(side(noise[0], range(12)), side(noise[1] * 2, range(12, 24), session="second"), Policy())

    for show in SHOWN:
        shown = show(blocks)
        assert "measured worse" in shown.lower()
        assert "the sides did not take turns, so the time or the machine of the measurement may explain it" in shown
        assert "one value on each side" not in shown.lower()
    assert all(one.words.endswith(" % slower, release or day") for one in moved_most(blocks, most=4))


def test_report_does_not_mention_single_values_if_repeated_runs_print_bounds(side: Side) -> None:
    report = compare(side(np.full((1, 12), 1.0), OLD_TURNS, bound="<"), side(np.full((1, 12), 1.0), NEW_TURNS, bound="<"), Policy())

    assert all("the log prints a bound, not a value" in show(report).lower() for show in SHOWN)
    assert all("one value on each side" not in show(report).lower() for show in SHOWN)


def test_short_and_long_conclusion_count_the_same_rows_as_unproven(side: Side, noise: NDArray[np.float64]) -> None:
    names = [f"block-{index}" for index in range(12)]

    def measured(number: int, turns: list[int], factor: float) -> Dataset:
        alternating = side(noise[number], turns)
        day = side(noise[number][:3] * factor, range(100 * number, 100 * number + 12), session=f"day-{number}", transport="tcp", run=names)
        runs, results = (pd.concat([getattr(each, name) for each in (alternating, day)], ignore_index=True) for name in ("runs", "results"))
        few_runs = (results["payload_bytes"] == 16) & (results["transport"] == "shm") & (results["run"] != "run-0")
        return msgspec.structs.replace(alternating, runs=runs, results=results[~few_runs])

    report = compare(measured(0, OLD_TURNS, 1.0), measured(1, NEW_TURNS, 0.5), Policy())

    counts = report.counts
    assert counts["differs_better"] == 3
    assert counts["better"] + counts["worse"] == 0
    assert "1 row is unproven" in conclusion(report)
    said = f"none better, none worse, 3 measured better, {counts['no_change']} no change, 1 unproven."
    assert short_conclusion(report).endswith(f"{said} The release may not be the cause of the 3 measured differences.")


def test_rows_with_one_value_on_each_side_state_that_one_value_is_not_enough(compared: Compared) -> None:
    single = compared(np.array([[10_000.0], [10_000.0]]), np.array([[20_000.0], [20_000.0]]))

    assert all("one value on each side cannot show that the change would occur again" in show(single) for show in SHOWN)


def test_conditions_common_to_all_rows_are_stated_once_in_words(side: Side) -> None:
    values = np.full((2, 12), 10_000.0) + 10.0 * np.arange(12)

    def measured(places: list[int], factor: float) -> Dataset:
        tuned, plain = (side(values * change, places, settings=stated) for change, stated in ((factor, '{"nagle": "off"}'), (1.0, '{"nagle": "on"}')))
        return msgspec.structs.replace(tuned, results=pd.concat([tuned.results, plain.results], ignore_index=True))

    report = compare(measured(OLD_TURNS, 1.0), measured(NEW_TURNS, 0.8), Policy())

    better = next(section for section in sections(report) if section.verdict == "better")
    assert [line.name for line in better.lines] == ["latency p50, shm, copy, 16\u00a0B", "latency p50, shm, copy, 32\u00a0B"]
    assert all("In all of these rows: nagle off" in show(report) for show in SHOWN)
    assert not any("{" in show(report) for show in (text, markdown))


# --- the direction of unproven differences, and the limits of a band


def test_unproven_differences_state_their_direction_and_worse_values_come_first(checkout: Path) -> None:
    data = load([checkout / "data/perftest"])

    report = compare(of_release(data, "0.3.0"), of_release(data, "0.4.0"), Policy())

    differ = next(section for section in sections(report) if section.verdict == "unreplicated_diff")
    lines = [(line.name.replace("\u00a0", " "), line.remark.partition(";")[0]) for line in differ.lines[:5]]
    assert lines == [
        ("payload received mean, udp-multicast, copy, 64 KiB", "26 % lower, toward worse"),
        ("latency p99, tcp, copy, 4 KiB", "27 % higher, toward worse"),
        ("payload received mean, udp-wan, copy, 64 KiB", "9.8 % lower, toward worse"),
        ("latency p50, shm, copy, 1 MiB", "11 % higher, toward worse"),
        ("latency p99.9, shm-zero-copy, zero-copy, 16 B", "94 % lower, toward better"),
    ]
    assert "208 rows are unproven (64 of them differ: 4 toward worse, 60 toward better)." in conclusion(report)
    assert headline(report).startswith("0 worse, 7 better, 64 differ, not proven (4 toward worse, 60 toward better), 15 too noisy to tell")
    short = "Of 405 results: 7 better, none worse, 208 unproven, 190 not comparable. "
    assert short_conclusion(report).startswith(f"{short}60 better and 4 worse only appear so: they were measured on another machine. ")
    page = html(report)
    assert re.search(r'<li class="worse none"><span><svg.*?</svg><b>0</b> Worse</span></li>', page)
    assert "<b>64</b> Differ, not proven: 4 toward worse, 60 toward better</a>" in page


def test_rows_that_look_worse_are_counted_if_no_row_could_be_tested(compared: Compared) -> None:
    single = compared(np.array([[10_000.0], [10_000.0]]), np.array([[20_000.0], [8_000.0]]))

    assert headline(single) == "2 differ, not proven (1 toward worse, 1 toward better)"
    assert "2 rows differ by more than the band (1 toward worse, 1 toward better)" in conclusion(single)


@pytest.mark.parametrize(
    ("statistic", "said"),
    [("p50", "9.1 % lower to 10 % higher"), ("p99", "20 % lower to 25 % higher"), ("p99.9", "33 % lower to 50 % higher")],
)
def test_both_limits_of_a_band_are_stated(compared: Compared, statistic: str, said: str) -> None:
    report = compared(np.array([[10_000.0]]), np.array([[20_000.0]]), statistic=statistic)

    assert f"; band: {said}, assumed" in line_of(report.rows[0]).remark


def test_note_states_what_the_band_is_and_whether_it_was_measured(compared: Compared) -> None:
    values = np.array([[10_000.0]]), np.array([[20_000.0]])
    (assumed,) = figures_words(compared(*values))
    (measured,) = figures_words(compared(*values, Policy(same_build_percent=25)))

    assert assumed.startswith("The band is how much two results of one build may differ although nothing changed.")
    assert "Assumed: this row was not measured with one build" in assumed
    assert "As measured with one build:" in measured
    assert "Assumed:" not in measured


def test_change_of_9_5_percent_is_outside_of_a_band_that_ends_at_9_1_percent(compared: Compared) -> None:
    (row,) = compared(np.array([[10_000.0]]), np.array([[9_050.0]])).rows

    assert row.verdict == "unreplicated_diff"
    assert line_of(row).remark.startswith("9.5 % lower, toward better; band: 9.1 % lower to 10 % higher, assumed")


def test_options_and_other_changes_have_readable_names_and_units() -> None:
    assert words("options", '{"warmup_s": 0.2, "mode": "a"}') == "warm-up 0.2 s, mode a"
    assert changed_words(Difference("planned_duration_s", "0.4, 0.5", "0.1")) == "planned duration: 0.4, 0.5 -> 0.1 s"
    assert changed_words(Difference("planned_duration_s", "0.4", None)) == "planned duration: 0.4 s -> not stated"
    assert changed_words(Difference("planned_duration_s", None, "0.1")) == "planned duration: not stated -> 0.1 s"


def test_report_without_comparable_rows_has_no_table_of_counts(side: Side, noise: NDArray[np.float64], other_host: Host) -> None:
    one, other = side(noise[0]), side(noise[1], host=other_host)
    old, new = (msgspec.structs.replace(found, results=found.results.assign(transport=["shm", "shm", "shm", "udp"] * 12)) for found in (one, other))

    report = compare(old, new, Policy())

    assert {(row.key.transport, row.verdict) for row in report.rows} == {("shm", "not_comparable"), ("udp", "not_comparable")}
    assert by_transport(report) == []
    assert 'class="transports"' not in html(report)
