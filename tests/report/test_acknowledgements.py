"""The time to an acknowledgement is not the latency of a delivery. Pages show the two separately, and state what an acknowledgement means."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.small_runs import add_run

from tacholog.compare.comparable import judge
from tacholog.compare.requirements.file import read_requirements
from tacholog.compare.requirements.judge import matching_numbers
from tacholog.render.links import Links
from tacholog.render.tables.rankings import best_number
from tacholog.render.tables.summary import acknowledgements, latency_summary, throughput_summary
from tacholog.store.load import load
from tacholog.view.page_index import PageIndex
from tacholog.view.ranking_groups import conditions_of, group_of, system_series
from tacholog.view.views import View, view_of

LOGS = Path(__file__).parent.parent / "formats"
OMB = (LOGS / "openmessaging/kafka-2026.json").read_text()


def view_in(folder: Path, **conditions: object) -> View:
    add_run(folder / "run", OMB, release="1", host="m", conditions={"transport": "TCP", **conditions})
    return view_of(load([folder]))


def words_of(markup: object) -> str:
    return re.sub("<[^>]*>", "", str(markup)).replace("\u00a0", " ").replace("\u202f", " ")


def test_lowest_latency_belongs_to_a_delivery_even_if_an_acknowledgement_is_faster(tmp_path: Path) -> None:
    members = system_series(view_in(tmp_path, acks="all"), PageIndex())

    assert "1 ms 200 B, median, one way" in words_of(best_number(members, "latency", "ns", Links("logs")))


def test_lowest_latency_is_the_time_to_an_acknowledgement_if_no_delivery_was_measured(tmp_path: Path) -> None:
    add_run(tmp_path / "run", (LOGS / "kafka/producer-1.0.log").read_text(), release="1", host="m")

    members = system_series(view_of(load([tmp_path])), PageIndex())

    assert "320 ms 100 B, median, publish to acknowledgement" in words_of(best_number(members, "latency", "ns", Links("logs")))


def test_name_of_a_series_states_whether_its_latency_is_the_time_to_an_acknowledgement(tmp_path: Path) -> None:
    labels = [series.label for series in view_in(tmp_path).series() if series.results[0].test == "latency"]

    assert labels == ["at the publisher, publish to acknowledgement", "at the subscriber, one way"]


def test_summary_states_what_an_acknowledgement_means(tmp_path: Path) -> None:
    series = view_in(tmp_path, acks="all", durability="disk", replication_factor=3).series()
    latency, rates = ([member for member in series if member.results[0].test == test] for test in ("latency", "throughput"))

    meaning = "An acknowledgement means: acks all, copies on disk, replication 3."
    assert f"Median time from publish to acknowledgement is 474 µs at 200 B. 99 % of them at 200 B take at most 3.5 ms. {meaning}" in words_of(
        latency_summary(latency, Links("logs"))
    )
    assert f"The broker acknowledged at most 501 msg/s at 200 B. {meaning}" in words_of(throughput_summary(rates, Links("logs")))


def test_summary_states_that_the_meaning_of_an_acknowledgement_is_unknown_if_no_condition_states_the_meaning(tmp_path: Path) -> None:
    latency = [member for member in view_in(tmp_path).series() if member.results[0].test == "latency"]

    assert "What an acknowledgement means is not stated (acks, durability, replication)." in words_of(latency_summary(latency, Links("logs")))


def test_page_with_many_series_states_each_meaning_of_an_acknowledgement_once(tmp_path: Path) -> None:
    for size in (1, 2):
        add_run(
            tmp_path / f"disk-{size}",
            OMB,
            release="1",
            host="m",
            conditions={"transport": "TCP", "acks": "all", "durability": "disk", "topics": size},
        )
    add_run(tmp_path / "memory", OMB, release="1", host="m", conditions={"transport": "TCP", "acks": "1", "durability": "memory"})

    series = view_of(load([tmp_path])).series()

    sentences = re.findall("An acknowledgement means: .*?[.]", words_of(acknowledgements(series)))
    assert sorted(sentences) == [
        "An acknowledgement means: acks 1, copies in memory (not stated: replication).",
        "An acknowledgement means: acks all, copies on disk (not stated: replication).",
    ]


@pytest.mark.parametrize(("conditions", "count"), [({}, 1), ({"acks": "all"}, 2)])
def test_time_to_an_acknowledgement_is_ranked_only_if_the_acks_setting_is_stated(tmp_path: Path, conditions: dict[str, object], count: int) -> None:
    groups = {
        group_of(member) for member in system_series(view_in(tmp_path, **conditions), PageIndex()) if member.series.results[0].test == "latency"
    }

    assert len(groups - {None}) == count


def test_time_to_an_acknowledgement_and_latency_of_a_delivery_are_never_compared(tmp_path: Path) -> None:
    members = system_series(view_in(tmp_path, acks="all"), PageIndex())
    acknowledged, delivered = [conditions_of(member.series, "latency") for member in members if member.series.results[0].test == "latency"]

    assert "basis" in {difference.field for difference in judge(acknowledged, delivered, comparison="ratio").different}


def test_requirement_can_limit_the_time_to_an_acknowledgement(tmp_path: Path) -> None:
    view_in(tmp_path / "data", acks="all")
    (tmp_path / "requirements.toml").write_text('[[require]]\nmetric = "latency"\nstatistic = "p50"\nbasis = "pub-to-ack"\nmax = 0.5\nunit = "ms"\n')

    (entry,) = read_requirements(tmp_path / "requirements.toml").requirements
    numbers, _ = matching_numbers(load([tmp_path / "data"]), entry.requirement)

    assert numbers.results["value"].to_list() == [474_000]
