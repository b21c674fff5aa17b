"""A page shows its newest release; what it does not show at once is named, counted, and a page of its own."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.report.conftest import FIRST, SECOND, Page, add_run, rti
from tests.report.test_label_pages import dead_links
from tests.unpacked import pieces_of

from tacholog.dataset.load import load
from tacholog.site.build import build_site
from tacholog.view.portions import MOST_SERIES, portions
from tacholog.view.views import view_of

pytestmark = [  # what MyST and the theme still use of Sphinx is their business
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def add(root: Path, run: str, release: str | None, log: str = FIRST, **conditions: object) -> None:
    add_run(root, run, log, msgspec.structs.replace(rti("UDPv4", published=False, **conditions), release=release))


def test_the_newest_release_comes_first_and_older_ones_after_it(tmp_path: Path) -> None:
    for release in ("5.9", "5.12", "5.10"):
        add(tmp_path, f"run-{release}", release)

    found = portions(view_of(load([tmp_path])))

    assert [portion.title for portion in found] == ["", "5.10", "5.9"]
    assert [len(portion.series) for portion in found] == [1, 1, 1]


def test_runs_without_a_release_are_shown_at_once(tmp_path: Path) -> None:
    for release in (None, "1", "2"):
        add(tmp_path, f"run-{release}", release)

    first, *rest = portions(view_of(load([tmp_path])))

    assert len(first.series) == 2
    assert [portion.title for portion in rest] == ["1"]


def test_more_series_than_a_page_can_hold_are_a_portion_of_their_own(tmp_path: Path) -> None:
    for number in range(MOST_SERIES + 1):
        add(tmp_path, f"run-{number}", "1", publishers=number + 1)

    first, more = portions(view_of(load([tmp_path])))

    assert (len(first.series), len(more.series), more.title) == (MOST_SERIES, 1, "more series")


@pytest.mark.site
def test_an_older_release_has_a_page_a_script_and_the_ids_that_it_always_had(tmp_path: Path) -> None:
    add(tmp_path / "data", "old", "1", FIRST)
    add(tmp_path / "data", "new", "2", SECOND)

    site = build_site([tmp_path / "data"], tmp_path / "site", tmp_path / "work").parent

    name = "rti-connext-dds/udpv4"
    shown, older = Page(site / f"{name}.html"), Page(site / f"{name}-release-1.html")
    series = "tl-throughput-rti-connext-dds-udpv4-"
    assert "This page shows release 2." in shown.text
    assert "1\u202f847\u202f052" not in older.text.replace("2\u202f594\u202f706", "")
    assert "2\u202f594\u202f706" in older.text
    assert "2\u202f594\u202f706" not in shown.text
    assert {f"{series}0", f"{series}1"} <= set(shown.ids)  # old links lead to the release
    assert f"{series}1" in older.ids
    assert "2\u202f594\u202f706" in pieces_of(site / f"{name}-release-1.js")[""]
    pages = {path.relative_to(site).as_posix(): Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}
    assert dead_links(site, pages) == []


@pytest.mark.site
def test_the_page_of_a_release_that_is_gone_goes_too(tmp_path: Path) -> None:
    add(tmp_path / "data", "old", "1", FIRST)
    add(tmp_path / "data", "new", "2", SECOND)
    site = build_site([tmp_path / "data"], tmp_path / "site", tmp_path / "work").parent
    assert (site / "rti-connext-dds/udpv4-release-1.js").is_file()
    for file in (tmp_path / "data/old").iterdir():
        file.unlink()
    (tmp_path / "data/old").rmdir()

    build_site([tmp_path / "data"], tmp_path / "site", tmp_path / "work")

    assert [path.name for path in (site / "rti-connext-dds").glob("udpv4-*")] == []
