"""The comparison page: its data for the script, and its content without scripts."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.report.conftest import FIRST, add_run, rti

from tacholog.render.links import Links
from tacholog.render.tables.comparison import compare
from tacholog.store.load import load
from tacholog.view.page_index import PageIndex
from tacholog.view.views import view_of

# Ignore warnings about old parts of Sphinx: MyST and the theme still use these parts.
pytestmark = [pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]

Reader = Callable[[str], Any]


@pytest.fixture(scope="session")
def offered(site: Path) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" class="tl-compare">(.*?)</script>', (site / "compare.html").read_text(), re.DOTALL)
    assert found
    return dict(json.loads(found[1]))


def test_each_series_has_its_machine_and_the_address_of_its_verdicts(offered: dict[str, Any]) -> None:
    by_name = {(one["system"], one["transport"], one["label"]): one for one in offered["series"]}
    rates = next(metric for metric in offered["metrics"] if metric["id"] == "goodput.mean")
    place = offered["series"].index(by_name["RTI Connext DDS", "SHMEM", "zero-copy"])

    own = by_name["Tacholog perftest", "udp", "copy, best-effort"]

    assert re.fullmatch("host-[0-9a-f]{6}", own["host"])
    assert own["basis"] == "rtt"
    assert any(verdicts[places[place]][places[place]] == "not stated: machine" for places, verdicts in rates["verdicts"])
    assert by_name["RTI Connext DDS", "SHMEM", "zero-copy"]["host"] is None


def test_cell_has_the_link_to_its_line_and_the_range_of_its_runs(site: Path, offered: dict[str, Any]) -> None:
    reliable = next(one for one in offered["series"] if one["label"] == "reliable")
    links = re.findall(r'<a href="([^"]*)" tabindex="-1">', (site / "compare.html").read_text())

    size, value, low, high, runs, bound, (link, line), _marks, _groups, _use = reliable["cells"]["goodput.mean"][0]

    # The run with the lower rate represents both runs: 472.8e6.
    assert (size, value, low, high, runs, bound, line) == (32, 472.8e6, 472.8e6, 664.2e6, 2, "=", 1)
    assert links[link].startswith("logs/rti/own-")
    assert (site / links[link]).is_file()


def test_version_is_stated_once_and_the_newest_series_of_each_transport_is_marked(tmp_path: Path, checkout: Path) -> None:
    for version in ("0.1.0", "0.2.0"):
        shutil.copytree(checkout / "data" / "perftest" / version / "latency-uds", tmp_path / version)
    found = re.search(r'class="tl-compare">(.*?)</script>', compare(view_of(load([tmp_path])), PageIndex(), Links(), "a"), re.DOTALL)
    assert found
    entries = json.loads(found[1])["series"]

    assert {entry["version"]: entry["newest"] for entry in entries} == {"0.1.0": False, "0.2.0": True}
    assert [entry["conditions"]["version"] for entry in entries] == ["0.1.0", "0.2.0"]
    assert not any({"release", "tool version"} & set(entry["conditions"]) for entry in entries)


def test_ids_of_series_are_unique_and_are_not_ordinal_numbers(offered: dict[str, Any]) -> None:
    ids = [one["id"] for one in offered["series"]]

    assert sorted(set(ids)) == sorted(ids)
    assert all(re.fullmatch("[0-9a-f]{8}", name) for name in ids)


def test_page_without_scripts_has_one_table_for_each_machine_and_each_definition(page: Reader, site: Path) -> None:
    html = (site / "compare.html").read_text()
    static = html[html.index('class="tl-static"') :]

    assert re.search("on host-[0-9a-f]{6}, throughput", page("compare").text)
    assert re.search("UDPv4</a><span[^>]*> reliable ", static)
    assert "zero-copy" not in static


def test_page_without_scripts_shows_ten_rows_and_the_number_of_hidden_rows(tmp_path: Path) -> None:
    for number in range(14):
        host = msgspec.structs.replace(rti("UDPv4", published=False, batch_bytes=1000 * (number + 1)), host="desk")
        add_run(tmp_path, f"run-{number}", FIRST, host)
    html = compare(view_of(load([tmp_path])), PageIndex(), Links(), "a")

    assert html.count('<th scope="row"') == 10
    assert "4</span> more series are shown only with JavaScript" in html
