"""The fastest transports by message size, for each machine."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.report.conftest import LOSSY, add_run, rti
from tests.samples import FORMATS

from tacholog.render.html import Html
from tacholog.render.links import Links
from tacholog.render.tables.rankings import overview
from tacholog.render.tables.side_by_side import side_by_side
from tacholog.render.tables.summary import latency_summary, throughput_summary
from tacholog.schema.conditions import Conditions
from tacholog.store.load import load
from tacholog.view.comparison import comparison
from tacholog.view.history import news
from tacholog.view.page_index import PageIndex, page_index
from tacholog.view.ranking_groups import Group, SystemSeries, best_of, group_of, groups, leaders, ordered, system_series
from tacholog.view.rankings import main_campaigns, newest_release, of_last_releases, unranked
from tacholog.view.results import ResultRow, RunRow
from tacholog.view.series import series_of
from tacholog.view.side_by_side import side_by_side_of
from tacholog.view.views import View, view_of

WHOLE = "    Length:    32  Packets:   951260  Packets/s(ave):   31708  Mbps(ave):     8.1  Lost:           0 (0.00%)\n"

# Ignore warnings about old parts of Sphinx: MyST and the theme still use these parts.
pytestmark = [pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]


def one(
    transport: str, *values_ns: float, host: str = "desk", bound: str = "=", marks: tuple[str, ...] = (), batch_bytes: int | None = None
) -> SystemSeries:
    """Return a series of median latencies of 64 bytes, one run for each value."""
    conditions = Conditions(transport=transport, basis="rtt", definition="ours", load_mode="closed", batch_bytes=batch_bytes)
    results = [
        ResultRow(
            run=RunRow(run=f"{transport}/{number}", system="X", host=host),
            log="a",
            test="latency",
            payload_bytes=64,
            metric="latency",
            statistic="p50",
            value=value,
            bound=bound,
            marks=marks,
            conditions=conditions,
        )
        for number, value in enumerate(values_ns)
    ]
    (series,) = series_of(results)
    return SystemSeries("X", transport, series)


def best(*members: SystemSeries) -> list[str]:
    ((group, found),) = groups(members).items()
    return [found[index].transport for index in sorted(leaders({at: group.cells(each)[64] for at, each in enumerate(found)}))]


def set_off(*members: SystemSeries) -> list[str]:
    """Return the names of the transports whose value at 64 bytes is highlighted as the best."""
    ((group, found),) = groups(members).items()
    return [found[index].transport for index in sorted(best_of({at: group.cells(each)[64] for at, each in enumerate(found)}))]


def test_transport_with_the_lowest_latency_is_the_best() -> None:
    assert best(one("a", 900.0), one("b", 800.0), one("c", 850.0)) == ["b"]


def test_transports_whose_runs_overlap_with_the_runs_of_the_best_transport_are_also_best() -> None:
    assert best(one("a", 790.0, 810.0), one("b", 700.0, 800.0), one("c", 801.0, 900.0)) == ["a", "b"]


SIX = (700.0, 701.0, 702.0, 703.0, 704.0, 705.0)


def test_best_value_is_highlighted_only_if_all_best_transports_have_six_runs() -> None:
    slow = one("c", 900.0)

    assert set_off(one("a", *SIX), slow) == ["a"]
    assert set_off(one("a", *SIX[:5]), slow) == []
    assert set_off(one("a", *SIX), one("b", 690.0, 720.0), slow) == []


def under(member: SystemSeries, **conditions: Any) -> SystemSeries:  # noqa: ANN401 - any condition
    stated = msgspec.structs.replace(member.series.results[0].conditions, **conditions)
    (series,) = series_of([msgspec.structs.replace(result, conditions=stated) for result in member.series.results])
    return msgspec.structs.replace(member, series=series)


@pytest.mark.parametrize("load", [{"offered_rate_per_s": 1000.0}, {"publishers": 2}, {"subscribers": 4}, {"recovery_time_ns": 5000}])
def test_transport_under_a_smaller_load_is_not_ranked_as_the_fastest(load: dict[str, Any]) -> None:
    heavy, light = under(one("a", *SIX), publishers=1, subscribers=1), one("b", *(value / 2 for value in SIX))

    assert groups([heavy, under(light, **{"publishers": 1, "subscribers": 1, **load})]) == {}
    assert best(under(heavy, **load), under(light, **{"publishers": 1, "subscribers": 1, **load})) == ["b"]


def test_transports_with_equal_load_shares_are_in_one_table_and_each_row_states_its_rate() -> None:
    half = {"load_mode": "open", "load_share": 0.5}
    members = (under(one("a", *SIX), offered_rate_per_s=27_000.0, **half), under(one("b", 900.0), offered_rate_per_s=930.0, **half))

    assert rows(shown(*members)) == [["a", "b"]]
    assert re.findall(r"\S+ (?:k )?msg/s offered", text_of(shown(*members))) == ["27 k msg/s offered", "930 msg/s offered"]
    assert "At 50 % of the highest rate of each" in text_of(shown(*members, one("c", 700.0), one("d", 800.0)))
    assert groups([members[0], under(members[1], load_share=0.25)]) == {}


def test_groups_under_load_follow_the_group_without_load() -> None:
    share = {"load_mode": "open", "load_share": 0.5}
    loaded = [under(one(name, 700.0), load_mode="open", offered_rate_per_s=1000.0) for name in "abc"]
    half = [under(one(name, 700.0), offered_rate_per_s=930.0, **share) for name in "abcd"]

    assert rows(shown(*half, *loaded, one("a", *SIX), one("b", *SIX))) == [["a", "b", *"abc", *"abcd"]]


def test_latency_from_the_moment_of_sending_is_not_ranked_with_latency_from_the_scheduled_time() -> None:
    def with_lateness(member: SystemSeries) -> SystemSeries:
        late = [msgspec.structs.replace(result, metric="send_lateness", statistic="mean") for result in member.series.results]
        (series,) = series_of([*member.series.results, *late])
        return SystemSeries("X", member.transport, series)

    scheduled = [under(one(name, *SIX), load_mode="open", definition="scheduled") for name in "ab"]
    sent = [with_lateness(under(one(name, 50.0), load_mode="open", definition="sent")) for name in "ab"]

    assert rows(shown(*scheduled, *sent)) == [["a", "b"]]
    assert "measured from the scheduled time (the system is loaded)" in text_of(shown(*scheduled, *sent))


def test_percentile_with_too_few_samples_is_not_highlighted() -> None:
    few, enough = one("few", *(value / 2 for value in SIX), marks=("undersampled",)), one("enough", *SIX)
    others = one("others", *(value / 2 for value in SIX), marks=("undersampled",))

    assert set_off(few, enough) == ["enough"]
    assert set_off(few, others) == []


def test_each_statistic_has_a_page_whose_order_follows_this_statistic() -> None:
    def with_tail(member: SystemSeries, *values: float) -> SystemSeries:
        tails = [msgspec.structs.replace(result, statistic="p99", value=value) for result, value in zip(member.series.results, values, strict=True)]
        (series,) = series_of([*member.series.results, *tails])
        return SystemSeries("X", member.transport, series)

    series = with_tail(one("fast", 700.0), 9000.0), with_tail(one("steady", 800.0), 900.0)

    assert rows(shown(*series)) == [["fast", "steady"]]
    assert rows(shown(*series, document="rankings--latency-p99")) == [["steady", "fast"]]


def test_runs_in_two_groups_are_sorted_by_the_worse_group_on_every_page() -> None:
    split, steady = one("split", 100.0, 101.0, 102.0, 103.0, 900.0, 901.0), one("steady", *SIX)

    assert rows(shown(split, steady)) == [["steady", "split"]]
    assert rows(shown(split, steady, document="side-by-side")) == [["steady", "split"]]
    assert re.findall(r'<td[^>]*class="tl-bar[^>]*data-v="(\d+)"', shown(split, steady)) == ["703", "901"]


def test_best_polling_transport_and_best_sleeping_transport_are_highlighted_separately() -> None:
    def waiting(member: SystemSeries, how: str) -> SystemSeries:
        stated = msgspec.structs.replace(member.series.results[0].conditions, waiting=how)
        (series,) = series_of([msgspec.structs.replace(result, conditions=stated) for result in member.series.results])
        return msgspec.structs.replace(member, series=series)

    html = shown(*(waiting(one(name, *(value * slow for value in SIX)), how) for how, slow in (("busy-poll", 1), ("block", 60)) for name in "ab"))

    assert re.findall('scope="rowgroup"[^>]*>([A-Z][a-z]+)', html) == ["Polls", "Sleeps"]
    assert html.count('class="tl-best"') == 4


def test_rows_beyond_the_limit_of_a_page_are_on_another_page_without_a_highlighted_best(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacholog.render.tables.side_by_side._MOST_CELLS", 2)
    folded: list[tuple[str, str]] = []

    def overflow(words: str, content: Html) -> Html:
        folded.append((words, str(content)))
        return Html()

    members = [one(name, *(value * factor for value in SIX)) for name, factor in (("a", 1), ("b", 2), ("c", 3))]
    html = shown(*members, overflow=overflow)

    assert rows(html) == [["a", "b"]]
    assert [(words, rows(content)) for words, content in folded] == [("1 more rows", [["c"]])]
    assert 'class="tl-best"' not in folded[0][1]


def the_group(member: SystemSeries) -> Group:
    found = group_of(member)
    assert found
    return found


def campaign(name: str, transport: str, *values_ns: float, build: str = "abc", began: str = "2026-01-01") -> SystemSeries:
    """Return a series of a campaign with messages of 64 bytes. Each of ``values_ns`` is the result of a run of its own."""
    made = one(transport, *values_ns)
    changes = {"release": "1", "system_version": "1", "start_time": began, "campaign": name, "build": build}
    results = [
        msgspec.structs.replace(result, run=msgspec.structs.replace(result.run, run=f"{name}/{build}/{result.run.run}", **changes))
        for result in made.series.results
    ]
    (series,) = series_of(results)
    return SystemSeries("X", transport, series)


def shown(*members: SystemSeries, document: str = "rankings", overflow: Callable[[str, Html], Html] | None = None) -> str:
    """Return the HTML text of a page that shows these series side by side.

    ``document`` is the name of the page. By default, this is the page of medians by size.
    """
    results = [result for each in members for result in each.series.results]
    runs = {result.run.run: result.run for result in results}
    view = View({run: [result for result in results if result.run.run == run] for run in runs}, runs, [], [], {})
    compared = side_by_side_of(view, PageIndex())
    page = next(each for each in compared.slices if each.document == document)
    return str(side_by_side(compared, page, {}, Links(), "x", overflow=overflow))


def text_of(html: str) -> str:
    return " ".join(re.sub("<[^>]*>", " ", html).split())


def rows(html: str) -> list[list[str]]:
    return [re.findall(r'<th scope="row"[^>]*><strong>X, ([^<]+)', table) for table in html.split("<thead>")[1:]]


def test_winner_is_named_only_among_runs_of_one_campaign() -> None:
    quick = [campaign("quick", "shm", 445.0, 446.0), campaign("quick", "threads", 445.0, 447.0), campaign("quick", "tcp", 5000.0, 5001.0)]
    pairs = [campaign("pairs", "shm", *(value - 342.0 for value in SIX)), campaign("pairs", "tcp", *(value + 4000.0 for value in SIX))]

    html = shown(*quick, *pairs)

    assert rows(html) == [["shm", "threads", "tcp"]]  # The other campaign is not shown, because it measured fewer transports.
    assert "Campaign quick. A number is the median of 2 runs. X: built from abc." in html
    assert "No best is highlighted: fewer than 6 runs." in html
    assert 'class="tl-best"' not in html


def control(member: SystemSeries) -> SystemSeries:
    results = [
        msgspec.structs.replace(result, run=msgspec.structs.replace(result.run, run=f"control/{result.run.run}", labels='{"control": "yes"}'))
        for result in member.series.results
    ]
    (series,) = series_of(results)
    return msgspec.structs.replace(member, series=series)


def test_control_is_not_ranked_but_listed_as_a_control() -> None:
    html = shown(campaign("quick", "shm", 700.0), campaign("quick", "udp", 800.0), control(campaign("quick", "tcp", 100.0)))

    assert rows(html) == [["shm", "udp"]]
    assert "X 1 (tcp): a control, which no release changes" in html[html.index("Not ranked") :]
    assert "control not stated" not in html


def test_single_transport_with_controls_is_shown_as_a_single_transport() -> None:
    html = shown(campaign("quick", "shm", 700.0), control(campaign("quick", "tcp", 100.0)), control(campaign("quick", "uds", 90.0)))

    assert rows(html) == [["shm"]]
    assert "Only one transport was measured" in html


def test_control_run_counts_neither_for_ratios_nor_for_the_best_result() -> None:
    real, other = released("1", "2026-01-01", 700.0), control(released("1", "2026-01-01", 100.0))
    results = [*real.series.results, *other.series.results]
    view = View({result.run.run: [result] for result in results}, {result.run.run: result.run for result in results}, [], [], {})

    assert [one.system_series.series.results for one in comparison(view, PageIndex()).series] == [real.series.results]
    assert ">700\u00a0ns</" in overview_of([real, other])
    assert "100" not in overview_of([real, other])
    assert "1, control" in overview_of([other])


def test_messages_in_batches_are_ranked_separately() -> None:
    found = groups([one("a", 1.0), one("b", 2.0), one("c", 3.0, batch_bytes=61440), one("d", 4.0, batch_bytes=61440)])

    assert {group.words: [each.transport for each in members] for group, members in found.items()} == {
        "Latency, median, round trip": ["a", "b"],
        "Latency, median, round trip, in batches": ["c", "d"],
    }


def test_no_transport_is_ranked_if_each_campaign_measured_only_one_transport() -> None:
    assert "Nothing can be ranked" in shown(campaign("quick", "shm", 700.0), campaign("pairs", "tcp", 800.0))


def test_numbers_of_a_single_transport_are_shown_without_a_ranking_and_with_a_reason() -> None:
    html = shown(campaign("quick", "shm", *SIX))

    assert rows(html) == [["shm"]]
    assert "Only one transport was measured: there is nothing to rank it against." in html
    assert "Nothing can be ranked" not in html
    assert 'class="tl-best"' not in html
    assert "No best is highlighted" not in html


def test_reason_for_each_transport_is_listed_if_no_transport_can_be_ranked() -> None:
    html = shown(campaign("quick", "shm", 700.0), campaign("pairs", "tcp", 800.0))

    assert "in the same campaign" in html[html.index("Not ranked") :]


def test_series_without_a_rate_gets_no_sentence_about_rates() -> None:
    (latency_result,) = one("tcp", 7.0).series.results

    def rate(metric: str, **changes: object) -> ResultRow:
        return msgspec.structs.replace(latency_result, test="throughput", metric=metric, statistic="mean", value=7e9, **changes)

    found = series_of([rate("goodput", side="subscriber"), rate("offered_goodput", side="publisher")])

    html = re.sub("<[^>]*>", "", str(throughput_summary(found, Links())))

    assert "at the subscriber The payload received peaks" in html
    assert "at the publisher" not in html


def test_unranked_results_are_listed_with_a_reason() -> None:
    unknown = one("udp", 900.0, host="desk")
    (result,) = unknown.series.results
    (unknown_series,) = series_of([msgspec.structs.replace(result, run=msgspec.structs.replace(result.run, host=None))])
    alone = campaign("pairs", "uds", 800.0)

    html = shown(one("shm", 700.0), one("tcp", 800.0), SystemSeries("X", "udp", unknown_series), alone)

    assert "X (udp): not stated: machine." in html
    assert "X 1 (uds): no other transport was measured on the same machine, in the same way and in the same campaign. " in html
    assert "Not measured in the same way as X (shm) (there -&gt; here): campaign: not stated -&gt; pairs." in html
    assert "tcp" not in html[html.index("Not ranked") :]


def test_sentence_says_that_a_percentile_has_too_few_samples() -> None:
    (result,) = one("udp", 900.0).series.results
    marks = ((), ("undersampled",))
    said = [
        re.sub("<[^>]*>", "", str(latency_summary(series_of([result, msgspec.structs.replace(result, statistic="p99", marks=mark)]), Links())))
        for mark in marks
    ]

    assert ["(too few samples for this percentile)." in sentence for sentence in said] == [False, True]


@pytest.mark.parametrize(
    ("runs_of_64", "runs_of_1400", "words"),
    [(3, 3, "(medians of 3 runs)"), (3, 2, "(medians of 3 and 2 runs)"), (1, 3, "(medians of 1 and 3 runs)"), (1, 1, None)],
)
def test_sentence_about_a_size_counts_only_the_runs_that_measured_this_size(runs_of_64: int, runs_of_1400: int, words: str | None) -> None:
    small, large = one("udp", *SIX[:runs_of_64]).series.results, one("udp", *SIX[:runs_of_1400]).series.results
    others = [
        msgspec.structs.replace(result, payload_bytes=1400, run=msgspec.structs.replace(result.run, run=f"large/{result.run.run}"))
        for result in large
    ]
    (series,) = series_of([*small, *others])

    html = re.sub("<[^>]*>", "", str(latency_summary([series], Links())))

    assert words in html if words else "median" not in html.replace("Median", "")


def test_sentence_about_two_runs_that_differ_shows_both_numbers() -> None:
    series = [one("udp", *values).series for values in ((5220.0, 143e3), (700.0, 700.0))]

    differing, alike = (re.sub("<[^>]*>", "", str(latency_summary([member], Links()))) for member in series)

    assert "143\u00a0µs (the other run: 5.22\u00a0µs) at 64\u00a0B (median of 2 runs)" in differing
    assert "the other run" not in alike


def test_two_builds_of_one_release_are_not_ranked_together() -> None:
    old = [campaign("quick", name, 500.0, build="0ld") for name in ("shm", "tcp")]
    new = [campaign("quick", name, 700.0, build="768d353abc-dirty", began="2026-02-01") for name in ("shm", "tcp", "udp")]

    html = shown(*old, *new)

    assert rows(html) == [["shm", "tcp", "udp"]]
    assert "X: built from 768d353 with uncommitted changes." in html


def test_transports_that_pass_references_and_transports_that_copy_messages_are_ranked_separately() -> None:
    found = groups([one("a", 3.0, marks=("reference_only",)), one("b", 5.0, marks=("reference_only",)), one("c", 900.0), one("d", 800.0)])

    assert sorted([member.transport for member in members] for members in found.values()) == [["a", "b"], ["c", "d"]]


def test_best_value_is_neither_an_upper_bound_nor_from_a_run_with_loss() -> None:
    assert best(one("a", 100.0, bound="<"), one("b", 200.0, marks=("loss",)), one("c", 300.0)) == ["c"]


def test_latency_of_a_reference_is_the_best_only_among_latencies_of_references() -> None:
    reference = ("reference_only",)

    assert best(one("a", 5.0, marks=reference), one("b", 900.0), one("c", 800.0)) == ["c"]
    assert best(one("a", 5.0, marks=reference), one("b", 9.0, marks=reference)) == ["a"]


def test_each_machine_has_its_own_groups() -> None:
    found = groups([one("a", 900.0), one("b", 800.0), one("c", 10.0, host="server"), one("d", 20.0, host="server")])

    assert {group.host: [each.transport for each in members] for group, members in found.items()} == {"desk": ["a", "b"], "server": ["c", "d"]}


def test_transports_are_sorted_by_their_values_and_transports_without_a_value_come_last() -> None:
    members = [one("a", 900.0), one("b", 800.0)]
    group = the_group(one("a", 900.0))

    assert [each.transport for each in ordered(group, members, [64])] == ["b", "a"]
    assert [each.transport for each in ordered(group, members, [128])] == ["a", "b"]


def test_ranking_page_shows_one_statistic_for_each_size_and_links_to_the_other_ranking_pages(site: Path) -> None:
    html = (site / "rankings.html").read_text()
    glance = html[html.index('class="tl-glance"') : html.index("</section>", html.index('class="tl-glance"'))]

    assert 'id="fastest-by-size-one-machine-after-the-other"' in html
    assert re.search(r'<a href="side-by-side\.html"[^>]*>', html[html.index('class="tl-switches"') :])
    assert re.search(r'aria-current="page">[^<]+</a>', html)
    assert 'class="tl-best"' not in glance
    assert "No best is highlighted: fewer than 6 runs." in glance
    assert re.search(r'class="tl-range" href="rti-connext-dds/udpv4\.html#tl-throughput-[^"]*-each"', glance)
    assert "RTI Connext DDS" in glance


def test_newest_runs_are_listed_first_and_runs_without_a_date_are_not_listed() -> None:
    runs = {
        run.run: run
        for run in (
            RunRow(run="a", system="X", system_version="1", start_time="2026-01-02T03:04:05Z", host="desk"),
            RunRow(run="b", system="X", system_version="2", start_time="2026-02-03T04:05:06Z", host="desk"),
            RunRow(run="c", system="Y", published=True),
        )
    }

    assert [(item["day"], item["words"], item["hosts"]) for item in news(View({}, runs, [], [], {}))] == [
        ("2026-02-03", "X 2", "desk"),
        ("2026-01-02", "X 1", "desk"),
    ]


def test_overview_shows_only_the_newest_release_of_a_transport() -> None:
    old, new, other = one("a", 700.0), one("a", 800.0), one("b", 900.0)
    at = {"old": "2026-01-01", "new": "2026-02-01"}
    dated = [
        msgspec.structs.replace(
            each, series=series_of([msgspec.structs.replace(result, run=run(result, name, at[name])) for result in each.series.results])[0]
        )
        for each, name in ((old, "old"), (new, "new"))
    ]

    assert of_last_releases([*dated, other]) == [dated[1], other]


def run(result: ResultRow, version: str, start_time: str) -> RunRow:
    return msgspec.structs.replace(result.run, system_version=version, start_time=start_time)


def released(release: str, began: str | None, value_ns: float, table: str = "") -> SystemSeries:
    """Return a series with one run of a release. ``began`` is the start time of the run. If the start time is None, the run is a published run."""
    (result,) = one("a", value_ns).series.results
    changes = {"run": f"{release}/{began}{table}", "release": release, "system_version": release, "start_time": began, "published": began is None}
    run = msgspec.structs.replace(result.run, **changes)
    (series,) = series_of([msgspec.structs.replace(result, run=run)])
    return SystemSeries("X", "a", series)


def test_old_release_that_was_measured_again_is_not_the_newest_release() -> None:
    old, new, again = released("0.1", "2026-01-01", 700.0), released("0.2", "2026-02-01", 800.0), released("0.1", "2026-02-02", 600.0)

    assert newest_release([old, new, again]) == [new]
    assert newest_release([old, again]) == [old, again]


def test_later_campaign_with_fewer_sizes_does_not_hide_the_earlier_campaign() -> None:
    full, later = released("0.1", "2026-01-01", 700.0), released("0.1", "2026-02-01", 600.0)
    (result,) = full.series.results
    (series,) = series_of([result, msgspec.structs.replace(result, payload_bytes=1024)])
    full = msgspec.structs.replace(full, series=series)
    (result,) = later.series.results
    (series,) = series_of([msgspec.structs.replace(result, run=msgspec.structs.replace(result.run, campaign="pairs"))])
    later = msgspec.structs.replace(later, series=series)

    assert newest_release([full, later]) == [full, later]
    assert ">600\u00a0ns</" in overview_of([full, later])


def test_system_with_high_loss_at_every_size_has_a_mark_in_the_overview(tmp_path: Path) -> None:
    add_run(tmp_path, "lossy", LOSSY, rti("UDPv4", published=False))
    table = str(overview(view_of(load([tmp_path])), page_index([["RTI Connext DDS", "UDPv4", "rti/udpv4"]]), Links("logs")))

    assert '<th scope="col" class="tl-text">highest rate with at most 1\u202f% lost (else marked), newest release</th>' in table
    assert "32\u00a0B, more than 1\u202f% lost at every size" in table


def test_overview_and_summary_state_that_nothing_arrived(tmp_path: Path) -> None:
    add_run(tmp_path, "none", (FORMATS / "iperf3/udp-total-loss.log").read_text(), rti("UDP", published=False))
    view = view_of(load([tmp_path]))

    assert "size not stated, nothing arrived" in str(overview(view, page_index([["RTI Connext DDS", "UDP", "rti/udp"]]), Links("logs")))
    assert ": nothing arrived. " in re.sub("<[^>]*>", "", str(throughput_summary(series_of(view.by_run["none"]), Links("logs"))))


def test_rate_with_high_loss_is_not_the_highest_if_another_series_has_low_loss(tmp_path: Path) -> None:
    add_run(tmp_path, "lossy", LOSSY, rti("UDPv4", published=False, reliability="best-effort"))
    add_run(tmp_path, "whole", WHOLE, rti("UDPv4", published=False, reliability="reliable"))
    table = str(overview(view_of(load([tmp_path])), page_index([["RTI Connext DDS", "UDPv4", "rti/udpv4"]]), Links("logs")))

    assert ">8.1\u00a0Mbit/s<" in table
    assert "16.2" not in table


@pytest.mark.parametrize(
    ("release", "named"),
    [("5.2", "5.2 (version 6.0.0)"), ("6.0.0", "6.0.0"), ("connext-6.0.0", "connext-6.0.0"), ("6.0.0.1", "6.0.0.1 (version 6.0.0)")],
)
def test_best_number_states_its_release_and_also_its_version_if_the_release_does_not_contain_the_version(
    tmp_path: Path, release: str, named: str
) -> None:
    log = (FORMATS / "rti/3.0.1-throughput-sub.log").read_text(encoding="utf-8")  # This log states Connext 6.0.0.
    add_run(tmp_path, "own", log, msgspec.structs.replace(rti("UDPv4 & SHMEM", published=False), release=release))
    table = str(overview(view_of(load([tmp_path])), page_index([["RTI Connext DDS", "UDPv4 & SHMEM", "rti/udpv4"]]), Links("logs")))

    assert f"64\u00a0B, {named}<" in table


def overview_of(members: Sequence[SystemSeries]) -> str:
    results = [msgspec.structs.replace(result, line=1) for one in members for result in one.series.results]
    runs = {result.run.run: result.run for result in results}
    view = View({name: [result for result in results if result.run.run == name] for name in runs}, runs, [], [], {})
    return str(overview(view, page_index([["X", "a", "x/a"]]), Links("logs")))


def test_lowest_latency_is_taken_from_all_campaigns_and_machines_of_the_newest_release_only() -> None:
    old, new, elsewhere = released("0.1", "2026-01-01", 316.0), released("0.2", "2026-02-01", 355.0), released("0.2", "2026-02-01", 342.0)
    (result,) = elsewhere.series.results
    run = msgspec.structs.replace(result.run, run="lab", host="lab")
    (series,) = series_of([msgspec.structs.replace(result, run=run)])

    shown = overview_of([old, new, SystemSeries("X", "a", series)])

    assert "lowest latency, newest release" in shown
    assert ">342\u00a0ns</a>" in shown
    assert "316" not in shown


def test_lowest_latency_is_not_taken_from_the_better_of_two_groups_of_runs() -> None:
    two_groups = one("a", 131.0, 140.0, 141.0, 139.0, 571.0, 591.0)
    polled = [
        msgspec.structs.replace(
            result,
            run=msgspec.structs.replace(result.run, run=f"polled/{result.run.run}"),
            conditions=msgspec.structs.replace(result.conditions, waiting="busy-poll"),
        )
        for result in one("a", *(value / 2 for value in SIX)).series.results
    ]
    (series,) = series_of(polled)

    # The six polled runs took 350 to 352.5 ns; the worse of the two middle values is shown.
    assert ">352\u00a0ns</a>" in overview_of([two_groups, SystemSeries("X", "a", series)])


def test_goodput_of_a_receiver_is_used_if_the_sender_states_no_goodput() -> None:
    results = [
        ResultRow(
            run=RunRow(run="iperf3/tcp", system="iperf3", host="desk"),
            log="iperf_tcp.json",
            line=1,
            test="throughput",
            side=side,
            conditions=Conditions(transport="TCP", definition=definition, load_mode="max-rate"),
            payload_bytes=131072,
            metric=metric,
            statistic="mean",
            value=value,
        )
        # From iperf3 3.16, shortened: the summary of the sender, of the receiver and of both processors.
        for side, definition, metric, value in (
            ("publisher", "iperf3-sent", "offered_goodput", 18888858226.59),
            ("subscriber", "iperf3-received", "goodput", 18885712211.31),
            ("both", "iperf3-cpu", "cpu", 27.85),
        )
    ]
    view = View({"iperf3/tcp": results}, {"iperf3/tcp": results[0].run}, [], [], {})
    everything = system_series(view, PageIndex())

    listed = str(unranked(everything, everything, []))

    assert "no other transport was measured on the same machine" in listed
    assert "no median latency, mean latency or goodput" not in listed
    assert "18.9\u00a0Gbit/s" in str(throughput_summary([one.series for one in everything], Links()))


def test_release_that_copied_bytes_is_not_ranked_if_the_newest_release_hands_over_references() -> None:
    copied, handed_over, copies = zero_copy("5.11", 9000.0), zero_copy("5.12", 5.0, "reference_only"), one("copies", 8.0)
    results = [*copied, *handed_over, *copies.series.results]
    view = View({result.run.run: [result] for result in results}, {result.run.run: result.run for result in results}, [], [], {})

    html = shown(*system_series(view, PageIndex()))

    assert "Nothing can be ranked" in html  # Release 5.11 (9 µs) copied bytes, but release 5.12 replaces it.


def zero_copy(release: str, value_ns: float, *marks: str) -> list[ResultRow]:
    """Return a list with the only result of a published run of a release.

    ``marks`` are the quality marks of the result. One mark states, for example, that only a reference was handed over.
    """
    (result,) = one("a", value_ns, marks=marks).series.results
    run = msgspec.structs.replace(result.run, run=release, release=release, system_version=release, published=True)
    return [msgspec.structs.replace(result, run=run)]


def test_newer_release_replaces_only_published_tables_of_older_releases() -> None:
    old, first, second = released("5.9", None, 700.0), released("5.12", None, 800.0), released("5.12", None, 600.0, "b")

    assert newest_release([old, first, second]) == [first, second]


def test_campaign_with_enough_runs_represents_a_release_even_if_a_quick_campaign_is_later() -> None:
    careful, quick = campaign("release", "a", *range(6)), campaign("quick", "a", 7.0, 8.0, began="2026-02-01")

    assert main_campaigns([careful, quick]) == {careful.id}
    assert {one.id for one in of_last_releases([careful, quick])} == {careful.id, quick.id}


def test_campaign_with_the_most_transports_is_used_even_if_another_campaign_has_more_runs() -> None:
    often = campaign("pairs", "a", *range(12), began="2026-02-01")
    broad = [campaign("quick", transport, 7.0, 8.0) for transport in "ab"]

    assert main_campaigns([often, *broad]) == {each.id for each in broad}
