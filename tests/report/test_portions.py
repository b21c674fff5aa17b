"""A page starts with its best evidence. The other portions of its results are named and counted on the page, and have separate pages."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.report.conftest import FIRST, SECOND, Page, add_run, rti
from tests.report.test_label_pages import dead_links
from tests.unpacked import pieces_of

from tacholog.render.tables.logs import RUNS_AT_ONCE
from tacholog.runs.manifest import Command, Host, write
from tacholog.site.build import build_site
from tacholog.store.load import load
from tacholog.view.portions import MOST_SERIES, at_once, portions
from tacholog.view.views import view_of

pytestmark = [  # Ignore warnings about old parts of Sphinx: MyST and the theme still use these parts.
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def add(root: Path, run: str, release: str | None, log: str = FIRST, **conditions: object) -> None:
    add_run(root, run, log, msgspec.structs.replace(rti("UDPv4", published=False, **conditions), release=release))


def test_newest_release_comes_first_and_older_releases_follow(tmp_path: Path) -> None:
    for release in ("5.9", "5.12", "5.10"):
        add(tmp_path, f"run-{release}", release)

    found = portions(view_of(load([tmp_path])))

    assert [portion.title for portion in found] == ["", "5.10", "5.9"]
    assert [len(portion.series) for portion in found] == [1, 1, 1]


def test_runs_without_a_release_come_after_the_newest_release_and_before_older_releases(tmp_path: Path) -> None:
    for release in (None, "1", "2"):
        add(tmp_path, f"run-{release}", release)

    first, *rest = portions(view_of(load([tmp_path])))

    assert [len(portion.series) for portion in (first, *rest)] == [1, 1, 1]
    assert sorted(portion.is_release for portion in rest) == [False, True]
    assert rest[-1].title == "1"


def test_series_above_the_limit_of_a_page_are_a_separate_portion(tmp_path: Path) -> None:
    for number in range(MOST_SERIES + 1):
        add(tmp_path, f"run-{number}", "1", publishers=number + 1)

    first, more = portions(view_of(load([tmp_path])))

    assert (len(first.series), len(more.series), more.title) == (MOST_SERIES, 1, "more series")


def test_portion_has_fewer_series_if_the_series_are_large_but_the_first_portion_keeps_all_series(tmp_path: Path) -> None:
    one = FIRST.splitlines()[0]
    sizes = [(f"{size:6d}", f"{2594706 * size * 8 / 1e6:7.1f}") for size in range(32, 92)]
    log = "".join(one.replace("    32", size).replace("  664.2", rate) + "\n" for size, rate in sizes)
    for number in range(4):
        add(tmp_path, f"old-{number}", "1", log, publishers=number + 1)
        add(tmp_path, f"new-{number}", "2", log, publishers=number + 1)

    view = view_of(load([tmp_path]))
    first, *found = portions(view)

    # Each portion has one series, because these series are large. With small series, a portion would have twelve series.
    assert [len(portion.series) for portion in found] == [1, 1, 1, 1]
    assert len(first.series) == 4
    assert at_once(first.series_of("throughput", view.series()), first.tests) == 1


def add_many(root: Path, count: int) -> None:
    """Add ``count`` runs of one series. Each has a different command."""
    for number in range(count):
        manifest = rti("UDPv4", published=False)
        commands = (Command(role="sub", argv=("perftest_cpp", "-sub", "-domain", str(number))),)
        add_run(root, f"run-{number:02d}", FIRST, msgspec.structs.replace(manifest, commands=commands))


@pytest.mark.site
def test_page_lists_the_first_of_many_runs_and_links_to_a_page_and_a_script_with_the_others(tmp_path: Path) -> None:
    add_many(tmp_path / "data", RUNS_AT_ONCE + 7)

    site = build_site([tmp_path / "data"], tmp_path / "site", tmp_path / "work").parent

    name = "rti-connext-dds/udpv4"
    shown, others, scripts = (Page(site / f"{name}{end}.html") for end in ("", "--more-runs", "--more-scripts"))
    assert sum(link.endswith("/run.toml.txt") for link in shown.links) == RUNS_AT_ONCE
    assert sum(link.endswith("/run.toml.txt") for link in others.links) == 7
    assert "7 more runs" in shown.text
    assert {"udpv4--more-runs.html", "udpv4--more-scripts.html"} <= set(shown.links)
    assert "run-26/run.toml" in pieces_of(site / f"{name}--more-runs.js")[""]
    assert shown.text.count("#!/bin/sh") == 10
    assert "Scripts of 17 more runs" in shown.text
    assert scripts.text.count("#!/bin/sh") == 17
    pages = {path.relative_to(site).as_posix(): Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}
    assert dead_links(site, pages) == []


@pytest.mark.site
def test_page_describes_the_first_of_many_machines(tmp_path: Path) -> None:
    for number in range(6):
        manifest = msgspec.structs.replace(rti("UDPv4", published=False), host=f"desk-{number}")
        add_run(tmp_path / "data", f"run-{number}", FIRST, manifest)
        (tmp_path / "data/hosts").mkdir(exist_ok=True)
        write(tmp_path / f"data/hosts/desk-{number}.toml", Host(name=f"Desk {number}", source="a test"))

    site = build_site([tmp_path / "data"], tmp_path / "site", tmp_path / "work").parent

    shown = Page(site / "rti-connext-dds/udpv4.html")
    assert sum(found.get("class") == "tl-host" for _, found in shown.tags) == 4
    assert "2 more machines took part" in shown.text


def build_two_releases(folder: Path) -> Path:
    add(folder / "data", "old", "1", FIRST)
    add(folder / "data", "new", "2", SECOND)
    return build_site([folder / "data"], folder / "site", folder / "work").parent


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_two_releases(tmp_path_factory.mktemp("portions"))


def test_older_release_has_a_page_and_a_script_and_its_old_ids_still_exist(site: Path) -> None:
    name = "rti-connext-dds/udpv4"
    shown, older = Page(site / f"{name}.html"), Page(site / f"{name}--release-1.html")
    series = "tl-throughput-rti-connext-dds-udpv4-"
    assert "Release 2" in shown.text
    assert "1\u202f847\u202f052" not in older.text.replace("2\u202f594\u202f706", "")
    assert "2\u202f594\u202f706" in older.text
    assert "2\u202f594\u202f706" not in shown.text
    assert {f"{series}0", f"{series}1"} <= set(shown.ids)  # Old links lead to the release.
    assert f"{series}1" in older.ids
    assert "releases.html" in "".join(older.links)  # The page of a release has the menus of the site.
    assert "2\u202f594\u202f706" in pieces_of(site / f"{name}--release-1.js")[""]
    pages = {path.relative_to(site).as_posix(): Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}
    assert dead_links(site, pages) == []


def test_figures_of_an_older_release_read_data_from_the_script_of_this_release(site: Path) -> None:
    name = "rti-connext-dds/udpv4--release-1"
    page, script = (site / f"{name}.html").read_text(), pieces_of(site / f"{name}.js")[""]
    figure = "tl-goodput-rti-connext-dds-udpv4-throughput-1"
    assert f'<figure data-part="udpv4--release-1.js" class="tl-figure" id="{figure}">' in page
    assert "<svg" in page.partition(f'id="{figure}"')[2].partition("</figure>")[0]
    assert "tl-spec" not in page
    assert "tl-spec" in script.partition(f'id="{figure}"')[2].partition("</figure>")[0]


@pytest.mark.nightly
@pytest.mark.site
def test_page_of_a_removed_release_is_removed(tmp_path: Path) -> None:
    site = build_two_releases(tmp_path)
    assert (site / "rti-connext-dds/udpv4--release-1.js").is_file()
    for file in (tmp_path / "data/old").iterdir():
        file.unlink()
    (tmp_path / "data/old").rmdir()

    build_site([tmp_path / "data"], tmp_path / "site", tmp_path / "work")

    assert [path.name for path in (site / "rti-connext-dds").glob("udpv4-*")] == []
