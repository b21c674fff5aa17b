"""The page with several systems side by side has one visible table. Other sizes and further rows are folded tables and separate pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.report.conftest import NATIVE, Page, add_run
from tests.report.test_label_pages import dead_links
from tests.unpacked import pieces_of

from tacholog.render.html import Html
from tacholog.render.links import Links
from tacholog.render.tables.sizes import ROWS_AT_ONCE, SizeTable, systems_side_by_side
from tacholog.runs.manifest import Manifest
from tacholog.runs.moments import last_day
from tacholog.site.build import build_site
from tacholog.site.verification.site import verify_site
from tacholog.store.load import load
from tacholog.view.page_index import page_index
from tacholog.view.side_by_side import session_of_several
from tacholog.view.views import view_of

pytestmark = [  # Warnings about old parts of Sphinx that MyST and the theme still use.
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def add_systems(root: Path, count: int, log: str = NATIVE.read_text()) -> None:
    """Add one run of each of ``count`` systems to one session, with messages of 64 and of 1024 bytes."""
    for number in range(count):
        manifest = Manifest(system=f"System {number:03d}", tool="perftest", host="desk", session="one campaign", logs=())
        add_run(root, f"run-{number:03d}", log, manifest)


def shown_and_folded(root: Path) -> tuple[str, list[tuple[SizeTable, str]]]:
    """The HTML of the page, and the HTML of each folded table."""
    folded: list[tuple[SizeTable, str]] = []

    def fold(of: SizeTable, content: Html) -> Html:
        folded.append((of, str(content)))
        return Html()

    return str(systems_side_by_side(view_of(load([root])), page_index([]), Links("logs"), "beside", fold)), folded


def test_page_shows_the_first_rows_of_the_smallest_size_and_folds_the_others(tmp_path: Path) -> None:
    add_systems(tmp_path, ROWS_AT_ONCE + 5)

    page, folded = shown_and_folded(tmp_path)

    assert page.count("<tr") == 1 + 60
    assert [(of.title, html.count("<tr")) for of, html in folded] == [
        ("Messages of 64\u00a0B, rows 61 to 65", 1 + 5),
        ("Messages of 1\u00a0KiB, rows 1 to 60", 1 + 60),
        ("Messages of 1\u00a0KiB, rows 61 to 65", 1 + 5),
    ]


def test_folded_table_explains_the_marks_of_its_numbers(tmp_path: Path) -> None:
    add_systems(tmp_path, 2)

    [(_, html)] = shown_and_folded(tmp_path)[1]

    linked = set(re.findall(r'href="#([^"]+)"', html))
    assert linked
    assert linked <= set(re.findall(r' id="([^"]+)"', html))


def test_page_shows_the_latest_campaign_also_if_time_zones_differ(tmp_path: Path) -> None:
    times = {"the later one": "2026-01-01T23:30:00-05:00", "the earlier one": "2026-01-02T01:00:00Z"}
    for session, start in times.items():
        for system in ("One", "Other"):
            manifest = Manifest(system=system, tool="perftest", host="desk", session=session, start_time=start, logs=())
            add_run(tmp_path, f"{session}-{system}".replace(" ", "-"), NATIVE.read_text(), manifest)

    assert session_of_several(view_of(load([tmp_path]))) == "the later one"


def test_last_day_is_the_day_of_the_latest_instant_in_its_own_time_zone() -> None:
    assert last_day(["2026-01-01T23:30:00-05:00", None, "2026-01-02T01:00:00Z", "no time"]) == "2026-01-01"
    assert last_day([None]) == ""


def test_page_states_that_no_usual_size_was_measured(tmp_path: Path) -> None:
    log = NATIVE.read_text().replace("payload_bytes=64 ", "payload_bytes=65 ").replace("payload_bytes=1024 ", "payload_bytes=1025 ")
    add_systems(tmp_path, 2, log)

    page, folded = shown_and_folded(tmp_path)

    assert "measured none of 64\u00a0B, 1\u00a0KiB, 64\u00a0KiB, 1\u00a0MiB" in page
    assert folded == []


@pytest.mark.site
def test_folded_size_has_a_script_and_a_page(tmp_path: Path) -> None:
    add_systems(tmp_path / "data", 2)

    site = build_site([tmp_path / "data"], tmp_path / "site", tmp_path / "work").parent

    shown, other = Page(site / "side-by-side.html"), Page(site / "side-by-side--1024.html")
    [anchor] = [found for found in shown.ids if found.endswith("-1024")]
    assert sum(tag == "table" for tag, _ in shown.tags) == 1
    assert "side-by-side--1024.html" in shown.links
    assert anchor in other.ids  # Old links to this size open the page.
    assert "Side by side: Messages of 1\u00a0KiB" in other.text
    assert "System 001" in other.text
    assert "System 001" in pieces_of(site / "side-by-side--1024.js")[""]
    pages = {path.relative_to(site).as_posix(): Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}
    assert dead_links(site, pages) == []
    assert verify_site(site).findings == ()


@pytest.mark.nightly
@pytest.mark.site
def test_tables_stay_unchanged_until_a_run_of_their_session_changes(tmp_path: Path) -> None:
    data, work = tmp_path / "data", tmp_path / "work"
    add_systems(data, 2)
    page = build_site([data], tmp_path / "site", work).parent / "side-by-side.html"
    before = page.read_bytes()

    # Last in the order: all runs have the same log, and each copy is reported as a copy of the first of them.
    add_run(data, "unlike", NATIVE.read_text(), Manifest(system="System 000", tool="perftest", host="desk", logs=()))
    build_site([data], tmp_path / "site", work)
    assert page.read_bytes() == before

    add_run(data, "run-002", NATIVE.read_text(), Manifest(system="System 002", tool="perftest", host="desk", session="one campaign", logs=()))
    build_site([data], tmp_path / "site", work)
    assert "System 002" in Page(page).text
    assert "System 002" in pieces_of(tmp_path / "site/side-by-side--1024.js")[""]
