"""The fastest by size, one machine after the other."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from tacholog.records import Conditions
from tacholog.report.comparable import Compared, Group, best_of, groups, ordered
from tacholog.report.facts import Fact, Run
from tacholog.report.glance import newest
from tacholog.report.news import news
from tacholog.report.series import series_of
from tacholog.report.views import View

# What MyST and the theme still use of Sphinx is their business.
pytestmark = [pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]


def one(transport: str, *values_ns: float, host: str = "desk", bound: str = "=", marks: tuple[str, ...] = ()) -> Compared:
    """A series of median latencies of 64 bytes, a run a value."""
    conditions = Conditions(transport=transport, basis="rtt", definition="ours", load_mode="closed")
    facts = [
        Fact(
            run=Run(run=f"{transport}/{number}", system="X", host=host),
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
    (series,) = series_of(facts)
    return Compared("X", transport, series)


def best(*members: Compared) -> list[str]:
    """The transports that are set off at 64 bytes."""
    ((group, found),) = groups(members).items()
    return [found[index].transport for index in sorted(best_of(group, {at: group.cells(each)[64] for at, each in enumerate(found)}))]


def test_the_lowest_latency_is_the_best() -> None:
    assert best(one("a", 900.0), one("b", 800.0), one("c", 850.0)) == ["b"]


def test_those_whose_repeated_runs_meet_the_best_are_the_best_too() -> None:
    assert best(one("a", 790.0, 810.0), one("b", 700.0, 800.0), one("c", 801.0, 900.0)) == ["a", "b"]


def test_a_reference_handed_over_is_not_ranked_with_copies() -> None:
    found = groups([one("a", 3.0, marks=("reference_only",)), one("b", 5.0, marks=("reference_only",)), one("c", 900.0), one("d", 800.0)])

    assert sorted([member.transport for member in members] for members in found.values()) == [["a", "b"], ["c", "d"]]


def test_a_bound_and_a_rate_with_losses_win_nothing() -> None:
    assert best(one("a", 100.0, bound="<"), one("b", 200.0, marks=("loss",)), one("c", 300.0)) == ["c"]


def test_the_latency_of_a_reference_wins_only_among_its_like() -> None:
    reference = ("reference_only",)

    assert best(one("a", 5.0, marks=reference), one("b", 900.0), one("c", 800.0)) == ["c"]
    assert best(one("a", 5.0, marks=reference), one("b", 9.0, marks=reference)) == ["a"]


def test_machines_are_never_in_one_group() -> None:
    found = groups([one("a", 900.0), one("b", 800.0), one("c", 10.0, host="server"), one("d", 20.0, host="server")])

    assert {group.host: [each.transport for each in members] for group, members in found.items()} == {"desk": ["a", "b"], "server": ["c", "d"]}


def test_the_best_over_all_sizes_stands_first_and_what_was_not_measured_last() -> None:
    members = [one("a", 900.0), one("b", 800.0)]
    group = Group("latency", "p50", "latency", "desk", "ours", "closed", "rtt")

    assert [each.transport for each in ordered(group, members, [64])] == ["b", "a"]
    assert [each.transport for each in ordered(group, members, [128])] == ["a", "b"]


def test_the_home_page_ranks_within_a_machine_and_leads_to_the_page_that_compares(site: Path) -> None:
    html = (site / "index.html").read_text()
    glance = html[html.index('class="tl-glance"') : html.index("</section>", html.index('class="tl-glance"'))]

    assert 'class="tl-best"' in glance
    assert re.search(r'href="compare\.html\?metric=goodput\.mean&amp;host=host-[0-9a-f]{6}"', glance)
    assert "RTI Connext DDS" in glance


def test_the_newest_runs_are_named_first_and_those_without_a_day_are_no_news() -> None:
    runs = {
        run.run: run
        for run in (
            Run(run="a", system="X", system_version="1", start_time="2026-01-02T03:04:05Z", host="desk"),
            Run(run="b", system="X", system_version="2", start_time="2026-02-03T04:05:06Z", host="desk"),
            Run(run="c", system="Y", published=True),
        )
    }

    assert [(item["day"], item["words"], item["hosts"]) for item in news(View({}, runs, [], [], {}))] == [
        ("2026-02-03", "X 2", "desk"),
        ("2026-01-02", "X 1", "desk"),
    ]


def test_of_a_transport_only_the_newest_release_is_shown_at_a_glance() -> None:
    old, new, other = one("a", 700.0), one("a", 800.0), one("b", 900.0)
    at = {"old": "2026-01-01", "new": "2026-02-01"}
    dated = [
        msgspec.structs.replace(
            each, series=series_of([msgspec.structs.replace(fact, run=run(fact, name, at[name])) for fact in each.series.facts])[0]
        )
        for each, name in ((old, "old"), (new, "new"))
    ]

    assert newest([*dated, other]) == [dated[1], other]


def run(fact: Fact, version: str, start_time: str) -> Run:
    """The fact's run, of another version and time."""
    return msgspec.structs.replace(fact.run, system_version=version, start_time=start_time)


def released(release: str, began: str | None, value_ns: float, table: str = "") -> Compared:
    """A series of a release whose one run began then; it is published if nobody says when."""
    (fact,) = one("a", value_ns).series.facts
    changes = {"run": f"{release}/{began}{table}", "release": release, "system_version": release, "start_time": began, "published": began is None}
    run = msgspec.structs.replace(fact.run, **changes)
    (series,) = series_of([msgspec.structs.replace(fact, run=run)])
    return Compared("X", "a", series)


def test_an_old_release_that_was_measured_again_is_not_the_newest() -> None:
    old, new, again = released("0.1", "2026-01-01", 700.0), released("0.2", "2026-02-01", 800.0), released("0.1", "2026-02-02", 600.0)

    assert newest([old, new, again]) == [new]
    assert newest([old, again]) == [again]


def test_a_later_campaign_of_fewer_sizes_hides_nothing() -> None:
    full, later = released("0.1", "2026-01-01", 700.0), released("0.1", "2026-02-01", 600.0)
    (fact,) = full.series.facts
    (series,) = series_of([fact, msgspec.structs.replace(fact, payload_bytes=1024)])
    full = msgspec.structs.replace(full, series=series)

    assert newest([full, later]) == [full]


def test_a_published_table_gives_way_to_that_of_the_next_release_and_to_no_other_of_its_own() -> None:
    old, first, second = released("5.9", None, 700.0), released("5.12", None, 800.0), released("5.12", None, 600.0, "b")

    assert newest([old, first, second]) == [first, second]
