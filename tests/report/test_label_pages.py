"""Labels on pages: they separate series, are columns and filters, and can split pages."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import pandas as pd
import pytest

from tacholog.errors import TachologError, UnreadableInput
from tacholog.privacy.settings import Privacy
from tacholog.render.links import Links
from tacholog.render.tables.definitions import shared_conditions
from tacholog.render.tables.logs import OfferedLog, runs_table
from tacholog.render.tables.rankings import overview
from tacholog.render.tables.results import numbers_anchor
from tacholog.runs.labels import labels_asked
from tacholog.runs.manifest import Host, LogFile, Manifest, write
from tacholog.schema.conditions import StatedConditions
from tacholog.site.build import build_site
from tacholog.site.pages import plan
from tacholog.site.result_pages import page_groups
from tacholog.site.settings import SiteSettings, read_settings
from tacholog.store.load import load
from tacholog.view.page_index import PageIndex, page_index
from tacholog.view.ranking_groups import group_of, system_series
from tacholog.view.side_by_side import side_by_side_of
from tacholog.view.views import Selection, View, view_of
from tacholog.visible import drawn

from .conftest import Page

# Ignore warnings about old parts of Sphinx: MyST and the theme still use these parts.
pytestmark = [pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]

LATENCY = (Path(__file__).parent.parent / "formats/native/latency-udp.log").read_text()


def add(root: Path, run: str, system: str = "S", transport: str = "udp", release: str | None = None, **labels: str) -> None:
    log = LATENCY.replace("transport=udp", f"transport={transport}")
    folder = root / run
    folder.mkdir(parents=True)
    (folder / "a.log").write_text(log)
    entry = LogFile(file="a.log", sha256=hashlib.sha256(log.encode()).hexdigest())
    conditions = StatedConditions(transport=transport)
    write(folder / "run.toml", Manifest(system=system, host="desk", release=release, labels=labels, conditions=conditions, logs=(entry,)))


@pytest.fixture
def view(tmp_path: Path) -> View:
    """Runs with two plugins over two transports, one run with another kernel, and one run without a plugin."""
    for plugin in ("flannel", "calico"):
        for transport in ("udp", "tcp"):
            add(tmp_path, f"{plugin}-{transport}", transport=transport, plugin=plugin, kernel="6.1")
    add(tmp_path, "newer", plugin="flannel", kernel="6.10")
    add(tmp_path, "bare", kernel="6.1")
    (tmp_path / "hosts").mkdir()
    write(tmp_path / "hosts/desk.toml", Host(name="A desk", source="made up", cpu={"model": "Some CPU"}))
    return view_of(load([tmp_path]))


def documents(view: View, *fields: str) -> dict[str, list[tuple[str, str]]]:
    return {group.title: [(page.document, page.title) for page in group.pages] for group in page_groups(view, fields)}


def test_runs_with_different_labels_are_different_series_whose_names_contain_the_labels(view: View) -> None:
    series = view.only(Selection(transport="udp")).series()

    assert {(one.label, len(one.runs)) for one in series} == {
        ("kernel 6.1, plugin flannel", 1),
        ("kernel 6.1, plugin calico", 1),
        ("kernel 6.10, plugin flannel", 1),
        ("kernel 6.1", 1),  # This run has no plugin. The name is unique without "plugin not stated".
    }


def test_name_of_a_series_states_that_a_label_is_missing_if_the_name_would_be_empty(tmp_path: Path) -> None:
    add(tmp_path, "calico", plugin="calico")
    add(tmp_path, "bare")

    assert {one.label for one in view_of(load([tmp_path])).series()} == {"plugin calico", "plugin not stated"}


def test_label_with_the_value_yes_is_shown_as_its_name_and_a_control_is_called_control_run(tmp_path: Path) -> None:
    add(tmp_path / "controls", "old-build", control="yes")
    add(tmp_path / "controls", "new-build")
    add(tmp_path / "others", "pinned", pinned="yes", kernel="6.1")
    add(tmp_path / "others", "free", kernel="6.10")

    assert {one.label for one in view_of(load([tmp_path / "controls"])).series()} == {"control run", "measured runs"}
    assert {one.label for one in view_of(load([tmp_path / "others"])).series()} == {"kernel 6.1, pinned", "kernel 6.10"}


def test_measured_runs_precede_their_controls(tmp_path: Path) -> None:
    add(tmp_path, "a-control", control="yes")
    add(tmp_path, "measured")

    assert [one.label for one in view_of(load([tmp_path])).series()] == ["measured runs", "control run"]


def test_name_of_a_series_contains_only_the_labels_that_differ_within_the_selection(view: View) -> None:
    part = view.only(Selection(labels=(("label.kernel", "6.1"),)))

    names = {(one.transport, one.series.label) for one in system_series(part, PageIndex())}

    assert names == {
        *(("tcp", f"plugin {plugin}") for plugin in ("flannel", "calico")),
        *(("udp", f"plugin {plugin}") for plugin in ("flannel", "calico", "not stated")),
    }


def test_rows_with_different_labels_are_in_one_table_and_state_their_labels(view: View) -> None:
    (table,) = side_by_side_of(view, PageIndex()).tables

    assert table.labels == ("label.kernel", "label.plugin")
    assert {(row.name, *row.labels) for row in table.rows} == {
        *(("S, udp", "6.1", plugin) for plugin in ("calico", "flannel", "not stated")),
        *(("S, tcp", "6.1", plugin) for plugin in ("calico", "flannel")),
        ("S, udp", "6.10", "flannel"),
    }
    assert len({group_of(one) for one in system_series(view, PageIndex())}) == 4


def test_each_transport_of_a_system_has_a_page_by_default(view: View) -> None:
    assert documents(view, "system", "transport") == {"S": [("s/tcp", "S over tcp"), ("s/udp", "S over udp")]}
    assert SiteSettings().pages == ("system", "transport")


def test_pages_split_by_a_label_have_a_last_page_for_runs_without_the_label(view: View) -> None:
    assert documents(view, "system", "label.plugin") == {
        "S": [("s/calico", "S, plugin calico"), ("s/flannel", "S, plugin flannel"), ("s/not-stated", "S, plugin not stated")]
    }
    calico, flannel, bare = page_groups(view, ("system", "label.plugin"))[0].pages
    assert [part.transport for part in flannel.parts] == ["tcp", "udp"]
    assert view.only(flannel.selection).runs.keys() == {"flannel-tcp", "flannel-udp", "newer"}
    assert view.only(bare.selection).runs.keys() == {"bare"}
    assert calico.name == "calico"
    assert bare.name == "plugin not stated"


def test_pages_can_be_split_by_any_list_of_fields(view: View) -> None:
    assert documents(view, "label.kernel", "label.plugin", "transport")["kernel 6.10"] == [
        ("6.10/flannel-udp", "udp, kernel 6.10, plugin flannel"),
    ]
    assert list(documents(view, "label.kernel")) == ["kernel 6.1", "kernel 6.10"]
    assert documents(view, "label.plugin")["plugin calico"] == [("calico/index", "plugin calico")]
    assert [page.template for page in plan(view, SiteSettings(pages=("label.plugin",))) if page.document == "calico/index"] == [
        "transport.html.jinja"
    ]
    assert documents(view, "system", "host") == {"S": [("s/desk", "S, host desk")]}


def test_pages_are_sorted_by_the_numbers_in_their_labels_with_a_missing_label_last(tmp_path: Path) -> None:
    for plugin in ("v10", "Zeta", "v9", "v\u00b2", "alpha"):
        add(tmp_path, plugin, plugin=plugin)
    add(tmp_path, "bare")

    groups = page_groups(view_of(load([tmp_path])), ("label.plugin", "transport"))

    assert [group.value for group in groups] == ["alpha", "v9", "v10", "v\u00b2", "Zeta", "not stated"]


def test_each_number_is_on_exactly_one_page_of_each_split(view: View) -> None:
    splits = [("system", "transport"), ("label.plugin",), ("label.kernel", "system", "label.plugin"), ("transport", "host"), ("release",)]

    for fields in splits:
        parts = [part for group in page_groups(view, fields) for page in group.pages for part in page.parts]
        index = PageIndex(parts)
        shown = [(part, result) for part in parts for result in view.only(part.selection).results]
        assert len(shown) == len(view.results)
        assert all(index.part_with("S", result.conditions.transport or "", result.run) == part for part, result in shown)


def test_page_index_reads_the_fields_of_each_listed_page_and_refuses_invalid_fields(view: View) -> None:
    first = page_groups(view, ("system", "label.plugin"))[0].pages[0].parts[0]

    assert page_index([["S", "tcp", "s/calico", {"label.plugin": "calico"}]]).parts == (first,)
    with pytest.raises(ValueError, match=r"'kernel' is not one of host, release, label\.NAME"):
        page_index([["S", "udp", "s/x", {"kernel": "6.1"}]])
    with pytest.raises(ValueError, match="not enough values"):
        page_index([["S", "udp"]])


def test_label_that_divides_the_pages_is_in_a_column_instead_of_in_names(view: View) -> None:
    parts = [part for group in page_groups(view, ("system", "label.plugin")) for page in group.pages for part in page.parts]

    table = str(overview(view, PageIndex(parts), Links("logs")))

    assert '<th scope="col" class="tl-text">plugin</th>' in table
    assert "not stated, kernel" not in table
    assert ", kernel 6.1" in table


def test_list_of_runs_has_a_column_only_for_a_label_with_several_values(view: View) -> None:
    part = view.only(Selection(labels=(("label.plugin", "flannel"),)))

    runs = str(runs_table(part, Links(), lambda _run, _log: OfferedLog("0" * 64)))
    shared = str(shared_conditions(part))

    assert "kernel</th>" in runs
    assert "plugin</th>" not in runs
    assert "<dt>plugin</dt><dd>flannel</dd>" in shared
    assert "<dt>kernel</dt><dd><em>differs: 6.1; 6.10</em></dd>" in shared


def test_selection_by_labels_can_select_runs_without_a_label(view: View) -> None:
    assert view.only(Selection(labels=labels_asked(["plugin=flannel", "label.kernel=6.10"], ":label:"))).runs.keys() == {"newer"}
    assert view.only(Selection(labels=labels_asked(["plugin=not stated"], ":label:"))).runs.keys() == {"bare"}
    with pytest.raises(TachologError, match=r"--label kernel: write NAME=VALUE"):
        labels_asked(["kernel"], "--label")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('pages = ["system", "plugin"]', r"pages: 'plugin' is not known; there are system, transport, host, release, label\.NAME"),
        ('pages = ["label."]', r"pages: 'label\.' is not known"),
        ("pages = []", "pages: the list is empty"),
        ('pages = ["system", "system"]', "pages: 'system' stands there twice"),
    ],
)
def test_field_that_cannot_split_pages_is_refused_with_the_possible_fields(tmp_path: Path, line: str, words: str) -> None:
    (tmp_path / "site.toml").write_text(line)

    with pytest.raises(UnreadableInput, match=words):
        read_settings(tmp_path / "site.toml")


VALUES = (
    *("Foo #2", " leading", "two\nlines", 'quote"s', "back`tick", "tab\there", "\u202ertl", "\u4e2d\u6587", "a/b", "../../x", "x" * 200, "%41"),
    *("<b onclick=alert(1)>bold</b>", "{{ 7*7 }}", "{% raw %}", "\U0001f600", "\x00nul", "---", "index", "Index", "a,b; c", "\u00b2", "pipe|d"),
    *("not stated", "</script><script>alert(1)</script>", "label=x", "\\"),
)


@pytest.mark.site
def test_page_exists_and_is_linked_for_any_value_of_a_label_and_no_link_is_dead(tmp_path: Path) -> None:
    for number, value in enumerate(VALUES):
        add(tmp_path / "data", f"{number}", release=("1", "2")[number % 2], plugin=value, kernel=VALUES[-number])
    add(tmp_path / "data", "again", plugin=VALUES[0], kernel=VALUES[0])

    site = build_site([tmp_path / "data"], tmp_path / "site", tmp_path / "work", SiteSettings(pages=("system", "label.plugin"))).parent

    pages = {path.relative_to(site).as_posix(): Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}
    listed = pages["s/index.html"]
    assert len([link for link in set(listed.links) if link.endswith(".html") and "/" not in link]) >= len(VALUES)
    text = {name: " ".join(page.text.split()) for name, page in pages.items() if name.startswith("s/")}
    for value in VALUES:
        shown = " ".join(drawn(value).replace("<", "\u2039").replace(">", "\u203a").split())
        plain = " ".join(drawn(value).split())
        assert any(f"S, plugin {word}" in each for each in text.values() for word in (shown, plain)), value
    assert not [tag for page in pages.values() for tag, given in page.tags if "onclick" in given and "alert" in str(given["onclick"])]
    assert dead_links(site, pages) == []


def dead_links(site: Path, pages: dict[str, Page]) -> list[tuple[str, str]]:
    """The links within a site whose file or anchor does not exist."""
    found = []
    for name, page in pages.items():
        for link in {link for link in page.links if ":" not in link.split("/")[0]}:
            path, _, anchor = link.partition("#")
            target = (site / name).parent.joinpath(unquote(path.partition("?")[0])).resolve() if path else site / name
            known = pages.get(target.relative_to(site.resolve()).as_posix()) if target.is_file() else None
            if not target.is_file() or (anchor and known and unquote(anchor) not in {*known.ids, *known.ids} and not anchor.startswith("L")):
                found.append((name, link))
    return found


@pytest.mark.site
def test_each_page_offers_its_own_numbers_and_the_side_by_side_page_links_to_each_page(tmp_path: Path) -> None:
    for plugin in ("flannel", "calico"):
        for transport in ("udp", "tcp"):
            for repetition in range(2 if transport == "udp" else 3):
                add(tmp_path / "data", f"{plugin}-{transport}-{repetition}", transport=transport, plugin=plugin)
    (tmp_path / "data/hosts").mkdir()
    write(tmp_path / "data/hosts/desk.toml", Host(name="A desk", source="made up", cpu={"model": "Some CPU"}))

    site = build_site([tmp_path / "data"], tmp_path / "site", tmp_path / "work", SiteSettings(pages=("system", "label.plugin"))).parent

    numbers = pd.read_csv(site / "data/s-flannel.csv.gz")
    assert set(numbers["labels"]) == {'{"plugin": "flannel"}'}
    assert set(numbers["transport"]) == {"udp", "tcp"}
    assert sorted(path.name for path in (site / "data").glob("s-*.csv.gz")) == ["s-calico.csv.gz", "s-flannel.csv.gz"]
    pages = {path.relative_to(site).as_posix(): Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}
    assert {link for link in pages["rankings.html"].links if link.startswith("s/")} == {"s/flannel.html", "s/calico.html"}
    assert dead_links(site, pages) == []


def test_unknown_label_in_the_settings_of_a_site_is_reported_on_the_terminal(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from tacholog.commands.report import _mention_missing_labels

    add(tmp_path / "data", "a", kernel="6.1")
    load([tmp_path / "data"]).save(tmp_path / "dataset")

    _mention_missing_labels(("system", "label.kernl", "label.kernel"), tmp_path / "dataset", Path("site.toml"))

    assert capfd.readouterr().err == (
        'tacholog: site.toml: pages: no run has label.kernl (is label.kernel meant?), so its results are on pages with the title "not stated"\n'
    )


@pytest.mark.site
def test_transports_releases_and_machines_that_differ_only_in_capitals_or_blanks_have_different_ids(tmp_path: Path) -> None:
    transports = ("UDP", "udp", "u d p", "u-d-p")
    for transport in transports:
        for number in range(2):
            add(tmp_path / "data", f"{transport.replace(' ', '_')}.{number}", transport=transport)
    for release in ("1-rc", "1-RC", "2"):
        add(tmp_path / "data", f"of {release}", transport="tcp", release=release)
    (tmp_path / "data" / "hosts").mkdir()
    for host in ("A lab", "a-lab"):
        add(tmp_path / "data", f"on {host}", transport="shm")
        manifest = tmp_path / "data" / f"on {host}" / "run.toml"
        manifest.write_text(manifest.read_text().replace('"desk"', f'"{host}"'))
        write(tmp_path / "data" / "hosts" / f"{host}.toml", Host(name="A machine", source="made up", cpu={"model": "Some CPU"}))
    settings = SiteSettings(pages=("system",), privacy=Privacy(hosts="show", keep=("A lab", "a-lab")))

    site = build_site([tmp_path / "data"], tmp_path / "site", tmp_path / "work", settings).parent
    parts = page_groups(view_of(load([tmp_path / "data"])), ("system",))[0].pages[0].parts
    tables = (site / "s/index.html").read_text().split(' id="tl-latency-')

    for page in (site / "s/index.html", site / "hosts.html"):
        ids = Counter(re.findall(r' id="([^"]*)"', page.read_text()))
        assert [name for name, count in ids.items() if count > 1] == []
    # Other pages link to the id of this table, so the id must exist.
    for part in parts:
        if part.transport in transports:
            place = f"{numbers_anchor('latency', part.selection, part.number)}-0-each".removeprefix("tl-latency-")
            (table,) = (table for table in tables if table.startswith(f'{place}"'))
            runs = set(re.findall(r"logs/([^/]*)/a.log", table.split("</details>")[0]))
            assert runs == {f"{part.transport.replace(' ', '_')}.{number}" for number in range(2)}
