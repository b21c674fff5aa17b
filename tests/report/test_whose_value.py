"""A value of a history links to a run of the same row, even if a run of another row has an equal value."""

from __future__ import annotations

from pathlib import Path

from tacholog.compare.result import RowKey
from tacholog.render.links import Links
from tacholog.render.tables.history import link_finder
from tacholog.store.load import load
from tacholog.view.views import View, view_of

KEY = RowKey(system="Tacholog perftest", test="latency", transport="shm", data_path="copy", payload_bytes=64, metric="latency", statistic="p50")


def shared_memory(checkout: Path, release: str) -> View:
    own = (release, "shm")
    return view_of(load([checkout / "data"], wanted=lambda one: (one.release, one.options.get("transport")) == own))


def test_median_links_to_a_run_of_its_own_campaign_and_not_to_a_control(checkout: Path) -> None:
    find = link_finder(shared_memory(checkout, "0.4.0"), Links("logs"))

    # The values are p50_ns of 64 B of the runs 01 to 06 in perftest/0.4.0/latency-shm. The fourth control also has the value 170, and precedes these
    # runs in the list.
    link = find("Tacholog perftest", "0.4.0", KEY, 170, (161, 591, 170, 161, 170, 170))

    assert link == "doc:logs/perftest/0.4.0/latency-shm/03/perftest.log#L33:latency.p50"


def test_link_leads_to_a_measured_run_and_not_to_a_control_if_no_values_are_given(checkout: Path) -> None:
    find = link_finder(shared_memory(checkout, "0.4.0"), Links("logs"))

    link = find("Tacholog perftest", "0.4.0", KEY, 170)

    assert link is not None
    assert "control" not in link
