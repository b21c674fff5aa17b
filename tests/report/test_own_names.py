"""The files of a site keep their names, whatever systems, releases, machines and labels are called."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

import pytest
from tests.command import run_tacholog

from tacholog.runs.manifest import LogFile, Manifest, write
from tacholog.site.build import build_site
from tacholog.site.pages import plan
from tacholog.site.settings import SiteSettings
from tacholog.store.load import load
from tacholog.view.page_index import FILE_ENDINGS, FOLDERS
from tacholog.view.views import view_of

pytestmark = [pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]

LOG = Path(__file__).resolve().parent.parent / "formats/native/latency-udp.log"
REQUIREMENTS = '[[require]]\nname = "fast"\nmetric = "latency"\nstatistic = "p50"\nmax = 1000\nunit = "ms"\n'
#: Names of systems: folders of a site, files beside these folders, source files of pages, and one usual name.
SYSTEMS = (
    *(name.strip("_") for name in sorted(FOLDERS)),
    *("changes.atom", "Releases.atom", "CITATION.cff", "dataset.jsonld", "objects.inv", "searchindex.js", "about.html"),
    *("site.json", "conf.py", "index.md", "index", "search", "frame", "acme"),
)


def add(root: Path, system: str, **stated: object) -> None:
    folder = root / f"run-{len(list(root.glob('run-*')))}"
    folder.mkdir(parents=True)
    shutil.copy(LOG, folder / "x.log")
    entry = LogFile(file="x.log", sha256=hashlib.sha256(LOG.read_bytes()).hexdigest())
    write(folder / "run.toml", Manifest(system=system, logs=(entry,), **stated))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a built site. Its systems have names that files and folders of a site also have."""
    root = tmp_path_factory.mktemp("names")
    for number, system in enumerate(SYSTEMS):
        for release in "12":
            add(root / "data", system, release=release, start_time=f"2026-01-{number + 1:02}T00:00:0{release}Z")
    (root / "data/requirements.toml").write_text(REQUIREMENTS)
    return build_site([root / "data"], root / "site", root / "work").parent


@pytest.mark.site
def test_each_page_of_a_system_exists_for_any_system_name(built: Path) -> None:
    text = (built / "systems.html").read_text(encoding="utf-8")
    pages = set(re.findall(r'href="([\w.-]+/udp\.html)', text))

    assert len(pages) == len(SYSTEMS)
    assert [page for page in sorted(pages) if not (built / page).is_file()] == []
    assert not {page.partition("/")[0] for page in pages} & FOLDERS


@pytest.mark.site
def test_no_file_of_the_site_is_replaced(built: Path) -> None:
    kept = ("results/latest.json", "badges/fast.svg", "CITATION.cff", "dataset.jsonld", "changes.atom", "releases.atom", "index.html", "search.html")
    assert [name for name in kept if not (built / name).is_file()] == []


@pytest.mark.site
def test_list_of_reserved_names_includes_all_files_of_a_site_except_results(built: Path) -> None:
    """If this test fails, add the new folder or file ending at the top of a site to the list."""
    results = {path.parent.name for path in built.glob("*/udp.html")}
    there = [path for path in built.iterdir() if not path.name.startswith(".")]

    assert {path.name for path in there if path.is_dir()} - results <= FOLDERS
    assert {path.suffix for path in there if path.is_file()} <= set(FILE_ENDINGS)
    assert {path.suffix for path in (built.parent / "work/source").iterdir() if path.is_file()} <= set(FILE_ENDINGS)


@pytest.mark.parametrize("field", ["release", "host", "label.kind"])
def test_pages_that_are_named_by_other_fields_avoid_reserved_names(tmp_path: Path, field: str) -> None:
    for name in sorted(FOLDERS):
        stated = {"labels": {"kind": name.strip("_")}} if field == "label.kind" else {field: name.strip("_")}
        add(tmp_path, "acme", **stated)

    documents = [page.document for page in plan(view_of(load([tmp_path])), SiteSettings(pages=(field, "system")))]
    ours = [name for name in documents if name.endswith("/acme")]

    assert len(ours) == len(FOLDERS)
    assert not {name.partition("/")[0] for name in ours} & FOLDERS


def test_site_of_systems_with_reserved_names_verifies_without_errors(tmp_path: Path) -> None:
    for system in ("badges", "results"):
        add(tmp_path / "data", system)
    assert run_tacholog("report", tmp_path / "data", "--output", tmp_path / "site").returncode == 0
    assert (tmp_path / "site/badges-2/udp.html").is_file()
    assert (tmp_path / "site/results-2/udp.html").is_file()

    assert run_tacholog("verify", tmp_path / "site").returncode == 0
