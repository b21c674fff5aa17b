"""Each page has a unique address, whatever systems and releases are called."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from tacholog.errors import TachologError
from tacholog.runs.manifest import LogFile, Manifest, write
from tacholog.site.build import build_site
from tacholog.site.generated_pages import PageFrame
from tacholog.site.page import RUNS, part_of
from tacholog.site.pages import plan
from tacholog.site.result_pages import csv_names
from tacholog.site.settings import SiteSettings
from tacholog.slugs import path_slug, slug
from tacholog.store.load import load
from tacholog.view.history import diff_documents
from tacholog.view.views import view_of

LOG = Path(__file__).resolve().parent.parent / "formats/native/latency-udp.log"


def test_pages_and_their_parts_have_unique_names() -> None:
    pages = ("udp", "udp-more", "udp release 1", "udp--more", f"{'x' * 99} -- and more", f"{'x' * 99}-and-more")
    words = ("runs", "more-runs", "release 1", "1-runs", "more release 1", "more series (2)")

    names = [part_of(slug(page), slug(part)) for page in pages for part in words]
    deeper = [part_of(name, RUNS) for name in names]

    assert len({*names, *deeper, *map(slug, pages)}) == len(names) + len(deeper) + len({slug(page) for page in pages})


def test_systems_and_releases_that_differ_only_in_capitals_share_no_address(tmp_path: Path) -> None:
    entry = LogFile(file="x.log", sha256=hashlib.sha256(LOG.read_bytes()).hexdigest())
    for number, (system, release) in enumerate([("X", "1-rc"), ("X", "1-RC"), ("X", "2"), ("x", "1-rc"), ("x", "2"), ("about.html", "1")]):
        (tmp_path / str(number)).mkdir()
        shutil.copy(LOG, tmp_path / str(number) / "x.log")
        write(
            tmp_path / str(number) / "run.toml",
            Manifest(system=system, release=release, start_time=f"2026-01-0{number + 1}T00:00:00Z", logs=(entry,)),
        )
    view = view_of(load([tmp_path]))

    documents = [page.document for page in plan(view, SiteSettings())]

    assert len(documents) == len(set(documents))
    assert not [name for name in documents if name.startswith("about.html/")]
    assert csv_names([("X", "udp"), ("x", "udp"), ("x", "tcp"), ("x t", "cp"), ("x", "t cp")]) == {
        ("X", "udp"): "data/x-udp.csv.gz",
        ("x", "udp"): "data/x-udp-2.csv.gz",
        ("x", "tcp"): "data/x-tcp.csv.gz",
        ("x", "t cp"): "data/x-t-cp.csv.gz",
        ("x t", "cp"): "data/x-t-cp-2.csv.gz",
    }
    assert [page.context["file"] for page in plan(view, SiteSettings()) if "file" in page.context] == [
        "data/about.html-udp.csv.gz",
        "data/x-udp.csv.gz",
        "data/x-udp-2.csv.gz",
    ]
    assert diff_documents(view.runs.values()) == {
        ("X", "1-rc", "1-RC"): "diffs/x-1-rc-to-1-rc",
        ("X", "1-RC", "2"): "diffs/x-1-rc-to-2",
        ("X", "1-rc", "2"): "diffs/x-1-rc-to-2-2",
        ("x", "1-rc", "2"): "diffs/x-1-rc-to-2-3",
    }


def test_message_about_a_cut_off_page_names_a_full_disk_as_the_cause(tmp_path: Path) -> None:
    page = tmp_path / "frame.html"
    for text in ("", "<!DOCTYPE html><html>"):
        page.write_text(text)
        with pytest.raises(TachologError, match=r"could not be written whole\. Is the disk full"):
            PageFrame(page)


def test_no_two_logs_share_a_page() -> None:
    made = path_slug("p a/x/perftest.log")

    assert path_slug(made) not in (made, path_slug("p a/x/perftest.log"))
    assert path_slug("plain/x/perftest.log") == "plain/x/perftest.log"
    assert path_slug("host-host-a2b38a") == "host-host-a2b38a"


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning", "ignore::DeprecationWarning")  # MyST and the theme use old parts of Sphinx.
def test_log_pages_exist_even_if_a_run_folder_has_the_name_of_a_file_of_another_run(tmp_path: Path) -> None:
    logs = [("a", "b"), ("a/b.html", "x"), ("a/run.toml.txt", "x")]
    for run, name in logs:
        (tmp_path / "data" / run).mkdir(parents=True)
        shutil.copy(LOG, tmp_path / "data" / run / name)
        write(
            tmp_path / "data" / run / "run.toml",
            Manifest(system="X", logs=(LogFile(file=name, sha256=hashlib.sha256(LOG.read_bytes()).hexdigest()),)),
        )

    site = build_site([tmp_path / "data"], tmp_path / "site", tmp_path / "work").parent

    files = [path for path in site.rglob("*") if path.is_file()]
    assert len([path for path in files if path.is_relative_to(site / "logs")]) == len(logs)
    assert len([path for path in files if path.is_relative_to(site / "raw") and path.suffix == ".txt"]) == len(logs)
    assert {site / "logs/a/b.html", site / "raw/a/run.toml.txt"} < {*files}


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning", "ignore::DeprecationWarning")  # MyST and the theme use old parts of Sphinx.
def test_name_of_a_transport_does_not_become_an_html_tag_in_the_search_index(tmp_path: Path) -> None:
    for number, transport in enumerate(("udp", "t<zq>")):
        content = LOG.read_bytes().replace(b"transport=udp", f"transport={transport}".encode())
        (tmp_path / "data" / str(number)).mkdir(parents=True)
        (tmp_path / "data" / str(number) / "x.log").write_bytes(content)
        entry = LogFile(file="x.log", sha256=hashlib.sha256(content).hexdigest())
        write(tmp_path / "data" / str(number) / "run.toml", Manifest(system="X", logs=(entry,)))

    site = build_site([tmp_path / "data"], tmp_path / "site", tmp_path / "work", SiteSettings(pages=("system",))).parent

    index = json.loads((site / "searchindex.js").read_text().removeprefix("Search.setIndex(").removesuffix(")"))
    assert "t\u2039zq\u203a" in index["alltitles"]
    assert not [title for title in (*index["alltitles"], *index["titles"]) if "<" in title]
