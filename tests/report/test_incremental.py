"""A site that is brought up to date is the site that is built from nothing, byte for byte."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from pathlib import Path

import msgspec
import pytest
from tests.report.conftest import FIRST, NATIVE, SECOND, add_run, rti, write_data

from tacholog.errors import TachologError
from tacholog.privacy.settings import Privacy
from tacholog.resources import site_dir, templates_dir
from tacholog.runs.manifest import Host, Manifest, write
from tacholog.site.build import build_site
from tacholog.site.output.memory import keep_value, kept_value
from tacholog.site.output.parts import Part
from tacholog.site.output_folder import only_one_build
from tacholog.site.settings import SiteSettings
from tacholog.site.stamp import STAMP, changed_files, read_stamp, remove_stamp, write_stamp
from tacholog.site.unchanged import inputs_of
from tacholog.store.cache import VARIABLE

pytestmark = [  # what MyST and the theme still use of Sphinx is their business
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def add_release(root: Path, run: str, release: str, log: str) -> None:
    add_run(root, run, log, msgspec.structs.replace(rti("UDPv4", published=False), release=release, system_version=release))


def change_log(folder: Path, old: str, new: str) -> None:
    """Change a log, and its checksum in the manifest with it."""
    log, manifest = folder / "sub.log", folder / "run.toml"
    text = log.read_text()
    assert old in text
    log.write_text(text.replace(old, new))
    manifest.write_text(manifest.read_text().replace(hashlib.sha256(text.encode()).hexdigest(), hashlib.sha256(log.read_bytes()).hexdigest()))


def content(site: Path) -> dict[str, bytes]:
    """Every file of a site but its stamp, which holds the times of the data."""
    return {path.relative_to(site).as_posix(): path.read_bytes() for path in site.rglob("*") if path.is_file() and path.name != STAMP}


def cold(data: Path, to: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """The site that is built from nothing, with a cache of its own."""
    with monkeypatch.context() as patch:
        patch.setenv(VARIABLE, str(to / "cache"))
        build_site([data], to / "site", to)
    return content(to / "site")


def differing(one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def releases_in(folder: Path) -> Path:
    """Write data with several releases, and return the folder."""
    data = write_data(folder / "data")
    for release, log in (("1.0", FIRST), ("1.1", SECOND), ("1.2", FIRST)):
        for number in range(2):
            add_release(data, f"rti/{release}/{number}", release, log)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Data with several releases."""
    return releases_in(tmp_path)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder with such data, its site and the cache of that build, and a copy of it: a site is known by its path, so that tests share this one."""
    above = tmp_path_factory.mktemp("incremental")
    folder = releases_in(above / "folder")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(folder / "cache"))
        build_site([folder / "data"], folder / "site", folder)
    shutil.copytree(folder, above / "copy")
    return folder, above / "copy"


@pytest.fixture
def built(first: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Data with several releases and their site as it was first built, whatever another test did to it."""
    folder, copy = first
    shutil.rmtree(folder)
    shutil.copytree(copy, folder)
    monkeypatch.setenv(VARIABLE, str(folder / "cache"))
    return folder


@pytest.mark.machinery
@pytest.mark.site
def test_what_is_brought_up_to_date_is_what_is_built_from_nothing(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = built / "data"
    untouched = built / "doctrees/diffs/rti-connext-dds-1.0-to-1.1.doctree"
    made = untouched.stat().st_mtime_ns
    add_release(data, "rti/1.2/2", "1.2", SECOND)
    add_run(data, "own/once-more", NATIVE.read_text(), Manifest(system="Tacholog perftest", tool="perftest", host="desk", logs=()))
    build_site([data], built / "site", built)
    assert differing(content(built / "site"), cold(data, built / "first", monkeypatch)) == []
    assert untouched.stat().st_mtime_ns == made, "a page about two releases was made again, because a third one changed"

    shutil.rmtree(data / "rti/1.0")
    shutil.rmtree(data / "own/latency")
    change_log(data / "rti/1.1/0", "1713927", "1713928")
    host = data / "hosts/desk.toml"
    host.write_text(host.read_text().replace("Some CPU", "Another CPU"))
    build_site([data], built / "site", built)
    assert differing(content(built / "site"), cold(data, built / "second", monkeypatch)) == []


@pytest.mark.machinery
@pytest.mark.nightly
@pytest.mark.site
def test_the_page_of_a_system_with_published_documents_stays_as_it_is_when_another_system_has_a_run_more(built: Path) -> None:
    data = built / "data"
    page = built / "doctrees/rti-connext-dds/index.doctree"
    made = page.stat().st_mtime_ns
    assert "summary.md" in (built / "site/rti-connext-dds/index.html").read_text()

    add_run(data, "own/once-more", NATIVE.read_text(), Manifest(system="Tacholog perftest", tool="perftest", host="desk", logs=()))
    build_site([data], built / "site", built)

    assert page.stat().st_mtime_ns == made


def older(folder: Path) -> dict[str, tuple[int, int]]:
    """The older releases of the page of UDPv4, each with the file that it is kept in, and when that was written."""
    found = {}
    for path in (folder / "parts/rti-connext-dds%2Fudpv4").glob("*.json"):
        part = kept_value(path, Part)
        if part and part.title:
            found[part.title.rpartition(" ")[2]] = (path.stat().st_ino, path.stat().st_mtime_ns)
    return found


@pytest.mark.machinery
@pytest.mark.nightly
@pytest.mark.site
def test_older_releases_are_taken_over_where_only_the_newest_one_changed(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, site = built / "data", built / "site"
    before = older(built)
    add_release(data, "rti/1.2/2", "1.2", SECOND)
    build_site([data], site, built)
    after = older(built)
    assert before.keys() == after.keys() >= {"1.0", "1.1"}
    assert [release for release in ("1.0", "1.1") if after[release] != before[release]] == []
    assert differing(content(site), cold(data, built / "first", monkeypatch)) == []

    change_log(data / "rti/1.1/0", "1713927", "1713928")
    build_site([data], site, built)
    assert [release for release in ("1.0", "1.1") if after[release] != older(built)[release]] == ["1.1"]
    assert differing(content(site), cold(data, built / "second", monkeypatch)) == []


@pytest.mark.machinery
@pytest.mark.nightly
@pytest.mark.site
def test_an_older_release_that_was_damaged_or_changed_is_made_again(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, site, kept = built / "data", built / "site", built / "parts/rti-connext-dds%2Fudpv4"
    items = sorted(kept.glob("*.item"))
    assert len(items) > 1
    items[0].write_bytes(items[0].read_bytes().replace(b"<details", b"<section"))
    changed = next(path for path in kept.glob("*.json") if (part := kept_value(path, Part)) and part.title.endswith(" 1.1"))
    keep_value(changed, Part(changed.stem, {"": "<p>not what was shown</p>"}, "Another page"))
    add_release(data, "rti/1.2/2", "1.2", SECOND)
    build_site([data], site, built)
    assert differing(content(site), cold(data, built / "first", monkeypatch)) == []


@pytest.mark.machinery
@pytest.mark.site
@pytest.mark.parametrize("changed", ["a template", pytest.param("the code", marks=pytest.mark.nightly)])
def test_pages_are_made_again_when_what_makes_them_changed(folder: Path, changed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    templates, page = shutil.copytree(templates_dir(), folder / "templates"), folder / "site/diffs/rti-connext-dds-1.0-to-1.1.html"
    for module in ("tacholog.render.templates", "tacholog.site.unchanged", "tacholog.site.whole"):
        monkeypatch.setattr(f"{module}.templates_dir", lambda: templates)
    build_site([folder / "data"], folder / "site", folder)
    assert "Called otherwise" not in page.read_text()

    rows = templates / "diff_rows.html.jinja"
    if changed == "a template":
        rows.write_text(rows.read_text().replace(">Old<", ">Called otherwise<"))
    else:
        monkeypatch.setattr("tacholog.site.unchanged._installed", lambda: ["another version"])
    trees = folder / "doctrees/diffs/rti-connext-dds-1.0-to-1.1.doctree"
    made = trees.stat().st_mtime_ns
    build_site([folder / "data"], folder / "site", folder)

    assert trees.stat().st_mtime_ns != made
    assert ("Called otherwise" in page.read_text()) == (changed == "a template")


@pytest.mark.machinery
@pytest.mark.site
def test_a_build_that_failed_while_it_wrote_leaves_nothing_that_the_next_one_believes(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, site = built / "data", built / "site"
    before = content(site)
    change_log(data / "rti/1.1/0", "1713927", "1713928")
    with monkeypatch.context() as patch:
        patch.setattr("tacholog.site.whole.write_raw", _fail)
        with pytest.raises(OSError, match="no space left"):
            build_site([data], site, built)
    assert "1713928" in (site / "logs/rti/1.1/0/sub.log.html").read_text()
    change_log(data / "rti/1.1/0", "1713928", "1713927")

    build_site([data], site, built)

    assert differing(content(site), before) == []


@pytest.mark.machinery
@pytest.mark.site
def test_a_page_that_somebody_changed_between_two_builds_is_made_again_although_it_keeps_its_size_and_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, site = folder / "data", folder / "site"
    now = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() + 60_000_000_000)  # The files of a build are old at the next one.
    build_site([data], site, folder)
    page = site / "downloads.html"
    at, text = page.stat(), page.read_text()
    page.write_text(text.replace("numbers", "letters"))
    os.utime(page, ns=(at.st_atime_ns, at.st_mtime_ns))
    assert page.stat().st_size == at.st_size
    assert page.read_text() != text

    build_site([data], site, folder)

    assert page.read_text() == text


@pytest.mark.machinery
@pytest.mark.nightly
@pytest.mark.site
def test_pages_have_the_text_and_the_frame_of_today_although_the_clock_was_set_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, site, prose = folder / "data", folder / "site", shutil.copytree(site_dir(), folder / "prose")
    for module in ("tacholog.site.unchanged", "tacholog.site.whole"):
        monkeypatch.setattr(f"{module}.site_dir", lambda: prose)
    now, day_ns = time.time_ns, 86_400_000_000_000
    with monkeypatch.context() as patch:
        patch.setattr(time, "time_ns", lambda: now() + day_ns)
        build_site([data], site, folder, SiteSettings(contact="https://example.org/yesterday"))
    for page in site.rglob("*.html"):
        os.utime(page, ns=(now() + day_ns, now() + day_ns))

    settings = SiteSettings(contact="https://example.org/today")
    build_site([data], site, folder, settings)
    assert "https://example.org/today" in (site / "about.html").read_text()
    frame = prose / "_templates/contents.html"
    frame.write_text(f"{frame.read_text()}<!-- of today -->")
    build_site([data], site, folder, settings)

    build_site([data], folder / "first/site", folder / "first", settings)
    assert "<!-- of today -->" in (site / "about.html").read_text()
    assert differing(content(site), content(folder / "first/site")) == []


def _fail(*_: object) -> None:
    raise OSError("no space left on device")


@pytest.mark.machinery
def test_a_change_is_seen_although_the_file_was_read_before_and_keeps_its_size_and_time(tmp_path: Path) -> None:
    page = tmp_path / "index.html"
    page.write_text("one")
    write_stamp(tmp_path, "inputs", (), 0)
    stamp, at = read_stamp(tmp_path), page.stat()
    assert changed_files(tmp_path, stamp) == []

    page.write_text("two")
    os.utime(page, ns=(at.st_atime_ns, at.st_mtime_ns))

    assert changed_files(tmp_path, stamp) == ["index.html"]


@pytest.mark.machinery
@pytest.mark.site
@pytest.mark.parametrize("how", ["damaged", pytest.param("deleted", marks=pytest.mark.nightly)])
def test_what_is_damaged_in_the_working_folder_comes_on_no_page(built: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = built / "data"
    pages = (built / "pages.json").read_bytes()
    assert b"UDPv4" in pages
    (built / "pages.json").write_bytes(pages.replace(b"UDPv4", b"UDPv7"))
    part = min((built / "parts/rti-connext-dds%2Fudpv4").glob("*.json"))  # of a page that stays as it is
    part.write_bytes(part.read_bytes()[:-20]) if how == "damaged" else part.unlink()
    add_run(data, "own/once-more", NATIVE.read_text(), Manifest(system="Tacholog perftest", tool="perftest", host="desk", logs=()))
    build_site([data], built / "site", built)

    assert differing(content(built / "site"), cold(data, built / "first", monkeypatch)) == []


def test_a_site_that_another_process_builds_is_left_alone(tmp_path: Path) -> None:
    data = write_data(tmp_path / "data")
    with only_one_build(tmp_path / "work"), pytest.raises(TachologError, match="another process builds this site now"):
        build_site([data], tmp_path / "site", tmp_path / "work")
    assert not (tmp_path / "site" / "index.html").exists()


def test_two_builds_of_one_site_never_run_at_once_whatever_their_working_folders_are(tmp_path: Path) -> None:
    data, site = write_data(tmp_path / "data"), tmp_path / "site"
    with only_one_build(site), pytest.raises(TachologError, match="another process builds this site now"):
        build_site([data], site, tmp_path / "work")


@pytest.mark.nightly
@pytest.mark.site
def test_a_site_that_was_built_with_another_working_folder_in_between_keeps_nothing_of_that_build(folder: Path) -> None:
    data, site = folder / "data", folder / "site"
    build_site([data], site, folder / "one")
    before = content(site)
    build_site([data], site, folder / "two", SiteSettings(privacy=Privacy(hosts="show", free_text="show", unknown_lines="show")))
    assert differing(content(site), before) != []

    build_site([data], site, folder / "one")

    assert differing(content(site), before) == []


@pytest.mark.site
def test_of_a_build_that_was_killed_before_its_end_no_file_is_believed(built: Path) -> None:
    data, site, secret = built / "data", built / "site", built / "secret"
    before = content(site)
    secret.write_text("not ours")
    (site / STAMP).unlink()  # It is written last.
    for name in ("downloads.html", min(path.relative_to(site).as_posix() for path in (site / "raw").rglob("*.gz"))):
        (site / name).write_bytes(before[name][:-10])
    (site / "index.html").unlink()
    (site / "index.html").symlink_to(secret)
    (site / "hosts").mkdir()
    for name in ("notes.txt", "hosts/.part"):
        (site / name).write_text("not of this build")

    build_site([data], site, built)

    assert differing(content(site), before) == []
    assert secret.read_text() == "not ours"


@pytest.mark.machinery
@pytest.mark.nightly
@pytest.mark.site
def test_of_a_release_that_comes_and_goes_nothing_stays(built: Path) -> None:
    data, site, tree = built / "data", built / "site", built / "doctrees/diffs/rti-connext-dds-1.2-to-1.3.doctree"
    before = content(site)
    add_release(data, "rti/1.3/0", "1.3", SECOND)
    build_site([data], site, built)
    assert tree.exists()
    shutil.rmtree(data / "rti/1.3")

    build_site([data], site, built)

    assert differing(content(site), before) == []
    assert not tree.exists()


@pytest.mark.machinery
@pytest.mark.parametrize("how", ["in place", "renamed", "link"])
def test_a_log_that_changes_with_the_same_size_and_time_is_another_input(folder: Path, how: str) -> None:
    data, log = folder / "data", folder / "data/rti/1.1/0/sub.log"
    before, at, text = inputs_of([data], SiteSettings()).data, log.stat(), log.read_text()
    other = folder / "other.log"
    other.write_text(text.replace("1713927", "1713928"))
    if how == "in place":
        log.write_text(other.read_text())
    elif how == "renamed":
        other.replace(log)
    else:
        log.unlink()
        log.symlink_to(other)
    os.utime(log, ns=(at.st_atime_ns, at.st_mtime_ns))
    assert log.stat().st_size == at.st_size

    assert inputs_of([data], SiteSettings()).data != before


@pytest.mark.machinery
@pytest.mark.nightly
@pytest.mark.site
def test_a_style_sheet_that_changes_with_the_data_has_its_new_address_on_all_pages(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, static = folder / "data", shutil.copytree(site_dir(), folder / "sphinx") / "_static"
    for module in ("tacholog.site.output.styles", "tacholog.site.unchanged", "tacholog.site.whole"):
        monkeypatch.setattr(f"{module}.site_dir", lambda: static.parent)
    build_site([data], folder / "site", folder)
    sheet = static / "tacholog.css"
    sheet.write_text(sheet.read_text() + "\n/* changed */\n")
    add_release(data, "rti/1.2/2", "1.2", SECOND)

    build_site([data], folder / "site", folder)

    assert differing(content(folder / "site"), cold(data, folder / "first", monkeypatch)) == []


@pytest.mark.machinery
@pytest.mark.parametrize("is_finished", [pytest.param(True, marks=pytest.mark.nightly), False])
def test_a_search_index_that_is_gone_is_made_again_with_the_words_of_all_pages(built: Path, *, is_finished: bool) -> None:
    index = built / "site" / "searchindex.js"
    before = index.read_bytes()
    index.unlink()
    if not is_finished:
        remove_stamp(built / "site")

    build_site([built / "data"], built / "site", built)

    assert index.read_bytes() == before


@pytest.mark.machinery
@pytest.mark.nightly
def test_what_is_built_again_without_a_change_lists_the_properties_of_a_machine_in_the_same_order(tmp_path: Path) -> None:
    data = tmp_path / "data"
    add_run(data, "own", FIRST, rti(published=False))
    (data / "hosts").mkdir()
    write(data / "hosts" / "desk.toml", Host(name="A desk", source="typed in", system={"kernel": "6.18", "distribution": "Debian"}))
    build_site([data], tmp_path / "site", tmp_path)
    before = content(tmp_path / "site")
    remove_stamp(tmp_path / "site")

    build_site([data], tmp_path / "site", tmp_path)

    assert before["hosts.html"].index(b">kernel<") < before["hosts.html"].index(b">distribution<")
    assert differing(content(tmp_path / "site"), before) == []
