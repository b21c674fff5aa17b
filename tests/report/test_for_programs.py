"""The files of a site for programs, its page of requirements, and `tacholog verify` of the site: a small site with two releases."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from tests.command import run_tacholog_text
from tests.report.walker import walk

from tacholog.commands.verify import verify
from tacholog.errors import UnreadableInput
from tacholog.privacy.known_names import KnownNames
from tacholog.privacy.redactor import Redactor
from tacholog.privacy.settings import Privacy
from tacholog.runs.manifest import Host, LogFile, Manifest, write
from tacholog.site.data import SiteData, keep_requirements, kept_requirements
from tacholog.site.for_programs import LATEST, Feed, FeedEntry, atom, citation_files, feeds, latest_files
from tacholog.site.output_folder import MARKER
from tacholog.site.page import pieces_of, script_of
from tacholog.site.prepare import prepare
from tacholog.site.settings import SiteSettings
from tacholog.site.stamp import STAMP
from tacholog.site.verification.site import verify_site
from tacholog.store.load import load_logs
from tacholog.view.results import RunRow
from tacholog.view.views import log_document, view_of

LINE = "    Length:  {size:4d}  Packets: 77849677  Packets/s(ave): {rate}  Mbps(ave):   {mbit}  Lost:     0 (0.00%)\n"
REQUIREMENTS = """
[[require]]
name = "fast enough"
metric = "goodput"
statistic = "mean"
min = 600
unit = "Mbit/s"

[[require]]
name = "not slower"
metric = "goodput"
statistic = "mean"
than = "1.0"
max_worse_percent = 5

[[require]]
name = "of another system"
metric = "latency"
statistic = "p99"
max = 5
unit = "us"
"""
ATOM = "{http://www.w3.org/2005/Atom}"


def write_run(folder: Path, release: str, start_time: str, mbit: float, sizes: tuple[int, ...] = (32, 64)) -> None:
    folder.mkdir(parents=True)
    log = "".join(LINE.format(size=size, rate=round(mbit * 1e6 / 8 / size), mbit=mbit) for size in sizes)
    (folder / "sub.log").write_text(log)
    manifest = Manifest(
        system="RTI Connext DDS",
        tool="RTI Perftest",
        release=release,
        host="desk",
        session=release,
        repetition=int(folder.name),
        start_time=start_time,
        conditions=msgspec.convert({"transport": "SHMEM", "reliability": "reliable"}, type(Manifest(system="x", logs=()).conditions)),
        logs=(LogFile(file="sub.log", sha256=hashlib.sha256(log.encode()).hexdigest()),),
    )
    write(folder / "run.toml", manifest)


def write_runs(root: Path) -> Path:
    """Write six runs of each of two releases. The newer release is slower."""
    for day, release, mbit in ((1, "1.0", 700.0), (2, "1.1", 500.0)):
        for repetition in range(6):
            write_run(root / "rti" / release / f"{repetition:02d}", release, f"2026-11-0{day}T10:0{repetition}:00Z", mbit + repetition)
    (root / "hosts").mkdir()
    write(root / "hosts" / "desk.toml", Host(name="A desk", source="read by tacholog host", cpu={"model": "Some CPU"}, system={"kernel": "6.18"}))
    (root / "requirements.toml").write_text(REQUIREMENTS)
    return root


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_runs(tmp_path_factory.mktemp("programs") / "data")


@pytest.fixture(scope="module")
def built(runs: Path) -> Path:
    site, settings = runs.parent / "site", runs.parent / "site.toml"
    settings.write_text('name = "Lab"\ntitle = "How fast: is it?"\nurl = "https://example.org/performance/"\n')
    done = run_tacholog_text("report", "--data", runs, "--site", settings, "--output", site, environment={"TACHOLOG_PLOTLY": "full"}, cwd=runs.parent)
    assert done.returncode == 0, done.stderr
    return site


@pytest.fixture
def copied(built: Path, tmp_path: Path) -> Callable[[str, str, str], Path]:
    """Copy the site, and then replace a text in one file of the copy."""

    def copy(name: str, old: str, new: str) -> Path:
        site = tmp_path / "copy"
        shutil.copytree(built, site)
        as_published(site)
        text = (site / name).read_text(encoding="utf-8")
        assert old in text
        (site / name).write_text(text.replace(old, new, 1), encoding="utf-8")
        return site

    return copy


def as_published(site: Path) -> None:
    """Delete the files that a published site does not have."""
    for name in (STAMP, MARKER):
        (site / name).unlink(missing_ok=True)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(verify, [str(word) for word in arguments], catch_exceptions=False)


# --- The page and the files


def test_requirements_page_shows_the_verdicts_on_the_newest_release_and_on_earlier_releases(built: Path) -> None:
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", (built / "requirements.html").read_text(encoding="utf-8")))

    assert "requirements.html" in (built / "releases.html").read_text(encoding="utf-8")
    assert "RTI Connext DDS 1.1" in text
    assert "Failed fast enough" in text
    assert "Cannot be told not slower" in text
    assert "History" in text
    assert "No such row in any release of another system (at most 5 µs)" in text
    assert "No such row of another" not in text


def test_history_of_requirements_names_its_releases_on_narrow_screens(built: Path) -> None:
    page = (built / "requirements.html").read_text(encoding="utf-8")
    hides_heads = re.search(r"max-width: 600px.*table\.rows thead", (built / "_static/tacholog-diff.css").read_text(encoding="utf-8"), re.DOTALL)

    ((classes, heads),) = re.findall(r'<h3>History.*?<table class="([^"]*)"><thead>(.*?)</thead>', page, re.DOTALL)

    assert hides_heads
    assert "rows" not in classes.split()
    assert re.findall(r'<th scope="col" class="n">(.*?)</th>', heads) == ["1.0", "1.1"]


def test_each_number_on_the_requirements_page_links_to_a_log_line_or_names_its_statistic(built: Path) -> None:
    page = (built / "requirements.html").read_text(encoding="utf-8")

    assert [wrong for wrong in walk(built).wrong if wrong.startswith("requirements")] == []
    assert 'href="logs/rti/1.1/02/sub.log.html#L1:goodput.mean"' in page


def test_newest_results_are_in_a_single_small_file(built: Path) -> None:
    latest = json.loads((built / "results" / "latest.json").read_text())

    assert latest["schema"] == "latest/1"
    assert {row["release"] for row in latest["rows"]} == {"1.1"}
    goodput = [row for row in latest["rows"] if row["metric"] == "goodput" and row["payload_bytes"] == 32]
    assert [(row["value"], row["low"], row["high"], row["runs"]) for row in goodput] == [(502e6, 500e6, 505e6, 6)]
    assert [(one["name"], one["verdict"]) for one in latest["requirements"]] == [
        ("fast enough", "failed"),
        ("of another system", "missing"),
        ("not slower", "undecided"),
    ]
    assert all((built / one["badge"]).is_file() for one in latest["requirements"])


def test_newest_results_list_the_marks_of_each_value() -> None:
    log = Path(__file__).parent.parent / "formats" / "fastrtps" / "latency-1.1.log"
    rows = json.loads(latest_files(load_logs([log]), None)[LATEST])["rows"]

    of_16_bytes = {row["statistic"]: (row["value"], row.get("marks")) for row in rows if row["payload_bytes"] == 16}
    assert of_16_bytes["p50"] == (7480.0, ["undersampled"])
    assert of_16_bytes["p99"] == (11730.0, ["undersampled"])


def entries_of(feed: bytes) -> list[dict[str, str]]:
    """Return the title, summary, id, date and link of each entry of a feed."""
    found = []
    for entry in ET.fromstring(feed).iter(f"{ATOM}entry"):  # noqa: S314 - our own
        link = entry.find(f"{ATOM}link")
        assert link is not None
        found.append({name: str(entry.findtext(f"{ATOM}{name}")) for name in ("id", "title", "updated", "summary")} | {"link": str(link.get("href"))})
    return found


@pytest.mark.parametrize("name", ["releases.atom", "changes.atom"])
def test_each_feed_has_the_elements_that_rfc_4287_requires(built: Path, name: str) -> None:
    feed = ET.fromstring((built / name).read_bytes())  # noqa: S314 - our own

    for parent in (feed, *feed.iter(f"{ATOM}entry")):
        assert [len(parent.findall(f"{ATOM}{one}")) for one in ("id", "title", "updated")] == [1, 1, 1]
    assert feed.findtext(f"{ATOM}author/{ATOM}name") == "Lab"
    assert feed.findtext(f"{ATOM}updated") == "2026-11-02T10:05:00+00:00"
    links = {str(link.get("rel")): str(link.get("href")).removeprefix("https://example.org/performance/") for link in feed.findall(f"{ATOM}link")}
    assert links == {"self": name, "alternate": "releases.html"}


def test_entries_of_the_feed_of_releases_link_to_the_comparisons(built: Path) -> None:
    (entry,) = entries_of((built / "releases.atom").read_bytes())

    assert entry["updated"] == "2026-11-02T10:05:00+00:00"
    assert entry["link"].startswith("https://example.org/performance/diffs/")
    assert (built / entry["link"].removeprefix("https://example.org/performance/")).is_file()


def test_each_page_links_to_the_feeds(built: Path) -> None:
    pages = [path for path in built.rglob("*.html") if "_static" not in path.parts]

    found = set()
    for page in pages:
        links = re.findall(r'<link rel="alternate" type="application/atom\+xml" title="([^"]*)" href="([^"]*)">', page.read_text(encoding="utf-8"))
        found.add(tuple((title, (page.parent / href).resolve().relative_to(built.resolve()).as_posix()) for title, href in links))
    assert len(pages) > 20
    assert found == {(("Lab: releases", "releases.atom"), ("Lab: steps and drifts", "changes.atom"))}


def test_page_of_a_history_links_to_the_feed_of_its_changes(built: Path) -> None:
    assert 'href="../changes.atom"' in (built / "history/goodput-mean.html").read_text(encoding="utf-8").partition("<article")[2]


def feeds_after(root: Path, releases: int) -> dict[str, bytes]:
    """Write runs of some releases, and return the content of each feed by its file name. ``releases`` is the number of releases.

    Release 1.5 and all later releases are 20 % slower than the earlier releases.
    """
    for release, repetition in product(range(releases), range(6)):
        folder = root / "data" / f"1.{release}" / f"{repetition:02d}"
        if not folder.exists():
            mbit = (700.0 if release < 5 else 560.0) + (7 * repetition + 3 * release) % 11
            write_run(folder, f"1.{release}", f"2026-11-{release + 1:02d}T10:0{repetition}:00Z", mbit, (32,))
    settings = SiteSettings(name="Lab")
    data = prepare([root / "data"], root / "work", settings)
    shown = SiteData(root / "work" / "dataset", data, view_of(data))
    return {feed.file: atom(feed, settings) for feed in feeds(shown.view, shown.compare, settings.name)}


def test_step_in_a_history_is_a_feed_entry_whose_id_stays_the_same_after_later_releases(tmp_path: Path) -> None:
    first, later = (feeds_after(tmp_path, releases)["changes.atom"] for releases in (9, 10))

    (step,), (again,) = entries_of(first), entries_of(later)
    assert re.fullmatch(r"RTI Connext DDS 1\.5: payload received mean, SHMEM, 32\xa0B fell by (19|20|21) %, worse", step["title"])
    assert "Possible cause: release or host." in step["summary"]
    assert (step["updated"], step["link"]) == ("2026-11-06T10:05:00+00:00", "history/goodput-mean.html")
    assert (again["id"], again["title"][:20]) == (step["id"], step["title"][:20])
    assert "<updated>2026-11-10T10:05:00+00:00</updated>" in later.decode()


def test_ids_stay_the_same_if_the_site_moves_and_differ_between_sites_and_feeds() -> None:
    entry = FeedEntry("a", "A", "2026-11-02T10:05:00+00:00", "page.html", "")

    def ids(name: str, file: str, url: str | None = None) -> list[str]:
        feed = atom(Feed(file, "", "", entry.updated, (entry,)), SiteSettings(name=name, url=url))
        return re.findall("<id>(.*?)</id>", feed.decode())

    assert ids("Lab", "x.atom") == ids("Lab", "x.atom", "https://moved.example/")
    every = [*ids("Lab", "x.atom"), *ids("Lab", "y.atom"), *ids("Other", "x.atom")]
    assert len(set(every)) == len(every) == 6


def test_names_cannot_become_markup_in_a_feed_or_yaml_in_a_citation_file() -> None:
    name = '<b>&"\n- a: "b" \x07'
    settings = SiteSettings(name=name, title=name)

    entry = FeedEntry(name, name, "2026-11-02T10:05:00+00:00", "page.html", name)
    feed = atom(Feed("x.atom", name, "page.html", entry.updated, (entry,)), settings)
    files = citation_files([RunRow(run="x", system=name, start_time="yesterday")], settings)

    assert ET.fromstring(feed).findtext(f"{ATOM}title") == '<b>&"\n- a: "b" \u2407'  # noqa: S314 - our own
    lines = files["CITATION.cff"].splitlines()
    assert [line.partition(":")[0] for line in lines] == ["cff-version", "message", "type", "title", "authors", "keywords"]
    assert json.loads(files["dataset.jsonld"])["name"] == '<b>&"\n- a: "b" \u2407'


def test_site_has_a_citation_file(built: Path) -> None:
    citation = dict(line.split(": ", 1) for line in (built / "CITATION.cff").read_text().splitlines())
    described = json.loads((built / "dataset.jsonld").read_text())

    assert json.loads(citation["title"]) == "How fast: is it?"
    assert json.loads(citation["date-released"]) == "2026-11-02"
    assert described["@type"] == "Dataset"
    for file in described["distribution"]:
        assert (built / file["contentUrl"].removeprefix("https://example.org/performance/")).is_file()


def test_home_page_contains_the_description_of_the_dataset_for_search_engines(built: Path) -> None:
    page = (built / "index.html").read_text(encoding="utf-8")

    (block,) = re.findall(r'<script type="application/ld\+json"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert json.loads(block) == json.loads((built / "dataset.jsonld").read_text())


def test_downloads_page_has_a_link_to_each_file_for_programs(built: Path) -> None:
    page = (built / "downloads.html").read_text(encoding="utf-8").partition("<article")[2]

    for name in ("results/latest.json", "CITATION.cff", "dataset.jsonld", "releases.atom", "changes.atom"):
        assert f'<a href="{name}"' in page
        assert (built / name).is_file()


def test_known_names_in_requirements_are_replaced_as_in_the_dataset(tmp_path: Path) -> None:
    (tmp_path / "to").mkdir()
    (tmp_path / "requirements.toml").write_text(
        '[[require]]\nname = "fast on kesselpc for annauser"\nmetric = "goodput"\nstatistic = "mean"\nmin = 1\nunit = "Gbit/s"\nhost = "kesselpc"\n'
        'label.plugin = "annauser"\n[[gate]]\nsystem = "kesselpc MW"\n'
    )
    names = KnownNames(Privacy(), {"kesselpc": "host-000001"})
    names.add(names.found_in(["user=annauser"]))

    keep_requirements(tmp_path, tmp_path / "to", Redactor(names))

    kept = kept_requirements(tmp_path / "to")
    assert kept is not None
    (one,), (gate,) = kept.requirements, kept.gates
    assert one.requirement.name == "fast on host-000001 for user-1"
    assert (one.requirement.host, one.requirement.label, one.requirement.unit) == ("host-000001", {"plugin": "user-1"}, "Gbit/s")
    assert gate.rows.system == "host-000001 MW"


def test_requirements_without_a_name_are_published_unchanged(tmp_path: Path) -> None:
    (tmp_path / "to").mkdir()
    (tmp_path / "requirements.toml").write_text(f"# ours\n{REQUIREMENTS}")

    keep_requirements(tmp_path, tmp_path / "to", Redactor(KnownNames(Privacy(), {})))

    assert (tmp_path / "to" / "requirements.toml").read_text() == f"# ours\n{REQUIREMENTS}"


# --- The command verify


def raw_log(site: Path, log: str) -> Path:
    """Return the file to which the page of the log links."""
    run, _, name = log.rpartition("/")
    page = site / f"{log_document('logs', run, name)}.html"
    return site / str(re.findall(r"raw/\w{2}/\w{64}\.gz", page.read_text(encoding="utf-8"))[0])


def test_verify_finds_no_error_in_a_site_that_was_not_changed(built: Path) -> None:
    done = run(built)

    assert done.exit_code == 0, done.output
    receipt = verify_site(built)
    assert (receipt.logs, receipt.readers, receipt.findings) == (12, {"rti": 12}, ())
    assert receipt.numbers > 24
    assert receipt.shown > 24


def test_changed_number_on_a_page_is_reported(built: Path, copied: Callable[[str, str, str], Path]) -> None:
    page = "rti-connext-dds/shmem.html"
    found = re.search(r'(#L\d+:goodput\.mean">)(50\d)<', (built / page).read_text(encoding="utf-8"))
    assert found

    receipt = verify_site(copied(page, found[0], f"{found[1]}999<"))

    assert [(one.place.partition(": ")[0], one.shown) for one in receipt.findings] == [(page, "999")]


def test_changed_number_in_a_separate_file_of_a_page_is_reported(built: Path, tmp_path: Path) -> None:
    site = shutil.copytree(built, tmp_path / "copy")
    (script,) = site.glob("rti-connext-dds/shmem--release-1.0.js")
    pieces = {place: re.sub(r"(#L\d+:goodput\.mean\">)70\d<", r"\g<1>999<", text, count=1) for place, text in pieces_of(script.read_text()).items()}
    script.write_text(script_of(script.stem, pieces))

    found = {(one.place.partition(": ")[0], one.shown) for one in verify_site(site).findings}

    assert ("rti-connext-dds/shmem--release-1.0.js", "999") in found


def test_unreadable_separate_file_of_a_page_is_reported(built: Path, tmp_path: Path) -> None:
    site = shutil.copytree(built, tmp_path / "copy")
    (script,) = site.glob("rti-connext-dds/shmem--release-1.0.js")
    text = script.read_text()
    script.write_text(text.replace(text[60:80], "A" * 20))

    places = {one.place: one.reason for one in verify_site(site).findings if "cannot be read" in one.reason}

    assert list(places) == ["rti-connext-dds/shmem--release-1.0.js"]


def test_changed_number_in_the_downloads_is_reported(built: Path, tmp_path: Path) -> None:
    site = shutil.copytree(built, tmp_path / "copy")
    table = pd.read_parquet(site / "data/results.parquet")
    wanted = (table["value"] == 502e6) & table["id"].str.endswith("L1:goodput.mean")
    assert wanted.sum() == 1
    table.loc[wanted, "value"] = 702e6
    table.to_parquet(site / "data/results.parquet")

    receipt = verify_site(site)

    named = [(one.reason, one.shown, one.log) for one in receipt.findings if "#" in one.place]
    assert named == [("the log has another value", "702000000", "502000000")]


def test_changed_log_is_reported_by_its_digest_and_by_its_numbers(built: Path, tmp_path: Path) -> None:
    site = shutil.copytree(built, tmp_path / "copy")
    raw = raw_log(site, "rti/1.1/02/sub.log")
    raw.write_bytes(gzip.compress(gzip.decompress(raw.read_bytes()).replace(b"502.0", b"402.0")))

    receipt = verify_site(site)

    assert f"the name of {raw.relative_to(site).as_posix()} is not the SHA-256 of its text" in {one.reason for one in receipt.findings}
    assert any(one.place.startswith("rti/1.1/02/sub.log#L1:goodput") for one in receipt.findings)
    assert run(receipt.path).exit_code == 3


def test_each_missing_log_of_a_site_is_reported(built: Path, tmp_path: Path) -> None:
    site = shutil.copytree(
        built, tmp_path / "copy"
    )  # A single version of a published site has no logs either: they are in a folder beside all versions.
    as_published(site)
    for raw in (site / "raw").rglob("*.gz"):
        raw.unlink()

    receipt = verify_site(site)

    assert receipt.numbers == 0
    assert "rti/1.1/02/sub.log" in {one.place for one in receipt.findings if "is not there" in one.reason}
    assert any("pages without numbers were not checked" in note for note in receipt.notes)


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "is not there"), (b"no gzip at all", "cannot be read"), (gzip.compress(b"cut off" * 99)[:20], "cannot be read")],
    ids=["gone", "other", "cut"],
)
def test_missing_or_damaged_log_is_reported(built: Path, tmp_path: Path, content: bytes | None, reason: str) -> None:
    site = shutil.copytree(built, tmp_path / "copy")
    raw = raw_log(site, "rti/1.1/02/sub.log")
    raw.unlink()
    if content is not None:
        raw.write_bytes(content)

    reasons = [one.reason for one in verify_site(site).findings if one.place == "rti/1.1/02/sub.log"]

    assert [reason in one for one in reasons] == [True]


def test_folder_of_runs_is_verified_by_its_digests(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs, tmp_path / "data")
    agreed = run(tmp_path / "data")
    log = tmp_path / "data/rti/1.0/00/sub.log"
    log.write_text(log.read_text().replace("700.0", "900.0"))
    changed = run(tmp_path / "data")

    assert (agreed.exit_code, changed.exit_code) == (0, 3)
    assert "12 logs were read again (rti 12): all agree" in agreed.output
    assert "rti/1.0/00/sub.log: the log's SHA-256 is" in changed.output


def test_unfinished_site_is_reported_as_unfinished(built: Path, tmp_path: Path) -> None:
    site = shutil.copytree(built, tmp_path / "copy")
    (site / STAMP).unlink()
    with pytest.raises(UnreadableInput, match="its last build failed or was stopped; build it again"):
        run(site)
    shutil.rmtree(site / "raw")
    with pytest.raises(UnreadableInput, match="its last build failed or was stopped; build it again"):
        run(site)


def test_folder_without_a_site_and_without_runs_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match="neither a site nor a folder of runs"):
        run(tmp_path)
