"""The pages that compare all transports. Each size and each statistic has a page, and the pages link to each other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.report.conftest import NATIVE, Page, add_run
from tests.report.test_label_pages import dead_links

from tacholog.render.links import Links
from tacholog.render.tables.side_by_side import side_by_side
from tacholog.runs.manifest import Manifest
from tacholog.runs.moments import last_day
from tacholog.schema.conditions import StatedConditions
from tacholog.site.build import build_site
from tacholog.site.verification.site import verify_site
from tacholog.store.load import load
from tacholog.view.page_index import page_index
from tacholog.view.side_by_side import SideBySide, side_by_side_of
from tacholog.view.views import view_of

pytestmark = [  # Ignore warnings about old parts of Sphinx: MyST and the theme still use these parts.
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def add_systems(root: Path, count: int, log: str = NATIVE.read_text()) -> None:
    """Add one run of each system to one session, with messages of 64 and of 1024 bytes."""
    for number in range(count):
        manifest = Manifest(system=f"System {number:03d}", tool="perftest", host="desk", session="one campaign", logs=())
        add_run(root, f"run-{number:03d}", log, manifest)


def compared(root: Path) -> SideBySide:
    return side_by_side_of(view_of(load([root])), page_index([]))


def test_each_size_and_each_statistic_has_a_page_with_notes_on_its_marks(tmp_path: Path) -> None:
    add_systems(tmp_path, 2)
    tables = compared(tmp_path)

    documents = [each.document for each in tables.slices]
    pages = [str(side_by_side(tables, each, {}, Links("logs"), "x")) for each in tables.slices]

    assert documents == ["side-by-side", "side-by-side--1024", "rankings", "rankings--latency-p99"]
    assert [re.findall(r'<th scope="col">([^<]*)', page) for page in pages] == [
        *[["latency, median", "latency, 99\u00a0%"]] * 2,
        *[["64\u00a0B", "1\u00a0KiB"]] * 2,
    ]
    for page in pages:
        linked = set(re.findall(r'href="#([^"]+)"', page))
        assert linked <= set(re.findall(r' id="([^"]+)"', page))


def test_measured_sizes_have_pages_if_no_usual_size_was_measured(tmp_path: Path) -> None:
    log = NATIVE.read_text().replace("payload_bytes=64 ", "payload_bytes=65 ").replace("payload_bytes=1024 ", "payload_bytes=1025 ")
    add_systems(tmp_path, 2, log)

    assert [each.size for each in compared(tmp_path).slices] == [65, 1025, None, None]


def test_each_group_of_a_table_with_several_campaigns_names_its_campaign(tmp_path: Path) -> None:
    for campaign, copies in (("one", 1), ("two", 2)):
        for system in ("A", "B"):
            conditions = StatedConditions(replication_factor=copies)
            manifest = Manifest(system=f"{system} of {campaign}", tool="perftest", host="desk", campaign=campaign, conditions=conditions, logs=())
            add_run(tmp_path, f"{campaign}-{system}", NATIVE.read_text(), manifest)

    [table] = compared(tmp_path).tables

    assert [group.words.partition(",")[0] for group in table.groups] == ["Campaign one", "Campaign two"]


def test_last_day_is_the_local_date_of_the_latest_start_time() -> None:
    assert last_day(["2026-01-01T23:30:00-05:00", None, "2026-01-02T01:00:00Z", "no time"]) == "2026-01-01"
    assert last_day([None]) == ""


@pytest.mark.site
def test_pages_of_sizes_link_to_each_other_and_old_addresses_still_work(tmp_path: Path) -> None:
    add_systems(tmp_path / "data", 2)

    site = build_site([tmp_path / "data"], tmp_path / "site", tmp_path / "work").parent

    first, other = Page(site / "side-by-side.html"), Page(site / "side-by-side--1024.html")
    assert {"side-by-side--1024.html", "rankings.html", "rankings--latency-p99.html"} <= {*first.links}
    assert "beside-1024" in first.ids or any(found.endswith("-1024") for found in first.ids)
    assert "System 001" in first.text
    assert "System 001" in other.text
    assert "Side by side: 1\u00a0KiB" in other.text
    pages = {path.relative_to(site).as_posix(): Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}
    assert dead_links(site, pages) == []
    assert verify_site(site).findings == ()
