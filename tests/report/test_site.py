"""Properties of each page of a built site, for any data."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from zlib import crc32

import pandas as pd
import pytest
from sphinx.builders.html._assets import _file_checksum_inner
from tests.command import run_tacholog_text
from tests.report.conftest import FIRST, NATIVE, add_run, rti

from tacholog.errors import UnreadableInput
from tacholog.runs.manifest import Command, Manifest
from tacholog.site.build import build_site
from tacholog.site.pages import plan
from tacholog.site.settings import SiteSettings
from tacholog.site.stamp import finished
from tacholog.store.load import load
from tacholog.view.views import view_of

# Ignore warnings about old parts of Sphinx: MyST and the theme still use these parts.
pytestmark = [pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]

Reader = Callable[[str], Any]
SHMEM = "rti-connext-dds/shmem"
UDP = "rti-connext-dds/udpv4"


def numbers(html: str, size: str) -> list[str]:
    """Return the cells of the first table row of this size, as HTML."""
    row = re.search(rf"<tr><th[^>]*>{size}</th>(.*?)</tr>", html)
    assert row
    return re.findall(r"<td.*?</td>", row[1])


def pages(site: Path) -> list[Path]:
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)


def broken_links(site: Path, read: Reader) -> Iterator[str]:
    found = {path: read(path.relative_to(site).as_posix().removesuffix(".html")) for path in pages(site)}
    for path, page in found.items():
        for link in page.links:
            parts = urlsplit(link)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if parts.scheme == "https" and "sphinx-doc.org" in link:
                continue  # The theme links to the program that made the page.
            if parts.scheme == "https" and path.name == "fairness.html":
                continue  # Our page on fairness links to the sources of the advice that it quotes.
            if parts.scheme or not target.is_file():
                yield f"{path.name}: {link}"
            elif parts.fragment and target in found and unquote(parts.fragment) not in found[target].ids:
                yield f"{path.name}: {link} (no such anchor)"


def test_each_internal_link_and_anchor_exists(site: Path, page: Reader) -> None:
    assert list(broken_links(site, page)) == []


def test_ids_on_a_page_are_unique(site: Path, page: Reader) -> None:
    for path in pages(site):
        ids = page(path.relative_to(site).as_posix().removesuffix(".html")).ids
        assert sorted(set(ids)) == sorted(ids), path


def test_each_number_links_to_its_line(site: Path) -> None:
    html = (site / f"{SHMEM}.html").read_text()

    cells = numbers(html[html.index("Throughput numbers: copy") :], "64\u00a0B")

    assert "2\u202f386\u202f046" in cells[0]
    assert all('href="../logs/rti/copy/sub.log.html#L2:' in cell for cell in cells)


def test_line_of_a_log_page_contains_the_number_of_the_log(site: Path) -> None:
    html = (site / "logs/rti/copy/sub.log.html").read_text()

    line = re.search(r'<li id="L2" class="tl-record">.*?</li>', html)

    assert line
    assert "71581304" in line[0]


def test_repeated_runs_are_shown_as_a_median_with_a_range_and_with_each_run(site: Path) -> None:
    html = (site / f"{UDP}.html").read_text()

    shown = html[html.index("Throughput numbers: reliable") :]
    goodput = numbers(shown, "32\u00a0B")[1]

    assert ">473</a>" in goodput  # The lower of the rates 472.8 and 664.2. Their mean is not shown, because no log contains it.
    assert "473\u2013664" in goodput
    each = numbers(shown[shown.index("throughput numbers: reliable") :], "32\u00a0B")
    assert "rti/own-1" in each[0]
    assert "logs/rti/own-1/sub.log.html#L1" in each[1]


def test_published_figures_and_own_figures_are_marked_differently(page: Reader) -> None:
    assert "that the vendor published" in page(SHMEM).text
    assert any("tl-published" in (found.get("class") or "") for _, found in page(SHMEM).tags)
    assert not any("tl-published" in (found.get("class") or "") for _, found in page(UDP).tags)


def test_percentile_curve_is_drawn_from_the_histogram_without_the_last_ten_samples(site: Path) -> None:
    html = (site / "tacholog-perftest/udp.html").read_text()

    figure = html[html.index('id="tl-distribution') :]

    assert "Percentile curves" in figure
    assert "64\u00a0B" in figure
    assert "90\u00a0%</text>" in figure
    assert "99.9\u00a0%</text>" not in figure  # 813 samples are too few for this percentile.


def test_log_page_has_the_name_of_the_site_and_no_menus(site: Path, page: Reader) -> None:
    log, frame = page("logs/rti/copy/sub.log"), (site / "logs/rti/copy/sub.log.html").read_text()

    assert "../../../index.html" in log.links
    assert "../../../systems.html" not in log.links
    assert "copybutton" not in frame
    assert "tacholog.css" in frame
    assert len(frame) - len(frame[frame.index("<article") : frame.index("</article>")]) < 7000


def test_pages_load_only_the_scripts_that_they_use(site: Path) -> None:
    pages = [path for path in site.rglob("*.html") if "_static" not in path.parts]
    loaded = {path.relative_to(site).as_posix(): re.findall(r'<script[^>]* src="[^"]*?([\w.-]+\.js)', path.read_text()) for path in pages}

    def loading(script: str) -> list[str]:
        return [page for page, scripts in loaded.items() if script in scripts]

    assert [loading(name) for name in ("searchindex.js", "searchtools.js", "language_data.js")] == [["search.html"]] * 3
    assert loading("tacholog-compare.js") == ["compare.html"]
    assert loading("fontawesome.js") == []
    assert sorted(loading("tacholog.js")) == sorted(loaded)


def test_marks_are_explained_below_the_table(page: Reader) -> None:
    shown = page(SHMEM)

    links = [link for link in shown.links if "-mark-no_bytes_moved" in link]

    assert links
    assert links[0].removeprefix("#") in shown.ids
    assert "read it as messages handed over" in shown.text


def test_rate_of_references_is_left_out_of_the_goodput_figure_and_a_note_states_this(site: Path) -> None:
    html = (site / f"{SHMEM}.html").read_text()

    figure = html[html.index('id="tl-goodput') : html.index("</figure>")]

    assert "Left out, because only references" in figure
    assert figure.count('class="tl-line') == 1


def test_unknown_values_are_shown_as_not_stated(page: Reader, site: Path) -> None:
    hosts = (site / "hosts.html").read_text()

    assert "The document does not state the machine" in page(SHMEM).text
    assert all(f'<tr><th scope="row">{name}</th><td><span class="tl-null">not stated</span>' in hosts for name in ("cores", "governor", "turbo"))


def test_site_has_no_copyright_line_without_a_setting(page: Reader) -> None:
    assert "©" not in page("index").text


def test_loss_is_drawn_and_stated_only_for_a_transport_with_losses(page: Reader) -> None:
    assert "of the messages were lost" in page(UDP).text
    assert "Share of messages lost" in page(UDP).text
    assert "Share of messages lost" not in page(SHMEM).text


def test_rate_with_high_loss_is_marked_and_the_highest_rate_is_from_runs_without_loss(page: Reader) -> None:
    assert "16.2\u00a0Mbit/s at 32\u00a0B, with more than 1\u202f% lost at every size" in page(UDP).text
    assert "4.47\u00a0Gbit/s" in page("systems").text  # Two runs had no loss. This is the lower of their two rates.


def test_table_of_systems_states_the_kind_of_each_latency(page: Reader) -> None:
    assert re.search(r"median, round trip", page("systems").text)


def test_hostile_text_is_shown_as_text(site: Path, page: Reader) -> None:
    log = page("logs/evil/run/sub.log")

    assert "<script>alert(1)</script>" in log.text
    assert "\u2407" in log.text  # The bell is drawn as a symbol.
    assert "\u202e" not in log.text  # No character reverses the direction of the text.
    for path in pages(site):
        found = page(path.relative_to(site).as_posix().removesuffix(".html"))
        assert not any(name.startswith("on") for _, attributes in found.tags for name in attributes), path
        assert not any(link.startswith("javascript:") for link in found.links), path
        assert not any(attributes.get("src") == "x" for _, attributes in found.tags), path


def test_broken_lines_unknown_lines_and_failed_runs_are_listed(page: Reader) -> None:
    quality = page("quality").text

    assert "sub.log:4" in quality
    assert "sub.log:5" in quality
    assert "exit code 1" in quality
    assert "rti/failed" in page(UDP).text


def test_failed_run_without_numbers_is_on_the_page_of_its_transport(page: Reader) -> None:
    assert "rti/failed" in page(UDP).text


def test_raw_log_is_offered_unchanged_under_the_checksum_that_its_page_states(site: Path, data: Path, page: Reader) -> None:
    log = (data / "rti/copy/sub.log").read_bytes()
    offered = f"raw/{hashlib.sha256(log).hexdigest()[:2]}/{hashlib.sha256(log).hexdigest()}.gz"

    assert gzip.decompress((site / offered).read_bytes()) == log
    assert f"../../../{offered}" in page("logs/rti/copy/sub.log").links


def test_two_logs_with_the_same_content_share_one_file(page: Reader) -> None:
    offered = [next(link for link in page(f"logs/own/{run}/sub.log").links if link.endswith(".gz")) for run in ("latency", "latency-again")]

    assert offered[0] == offered[1]


def test_raw_log_of_a_removed_run_is_no_longer_offered(copied: Path) -> None:
    offered = copied / "site" / "raw" / raw_log(copied / "data/rti/zero-copy/sub.log")
    assert offered.is_file()
    shutil.rmtree(copied / "data/rti/zero-copy")

    build_site([copied / "data"], copied / "site", copied)

    assert not offered.exists()
    assert not (copied / "site/raw/rti/zero-copy").exists()


def raw_log(log: Path) -> str:
    digest = hashlib.sha256(log.read_bytes()).hexdigest()
    return f"{digest[:2]}/{digest}.gz"


def test_numbers_of_a_page_and_of_the_site_are_offered_for_other_tools(site: Path, page: Reader) -> None:
    link = next(link for link in page(SHMEM).links if link.endswith(".csv.gz"))
    rows = gzip.decompress((site / SHMEM).parent.joinpath(link).resolve().read_bytes()).decode().splitlines()

    assert rows[0].startswith("id,run,log,line,")
    assert sum("2386046" in row for row in rows) == 1
    files = {link.rpartition("/")[2].partition(".")[2] for link in page("downloads").links}
    assert {"jsonl.gz", "parquet"} <= files
    assert {"data/results.parquet", "downloads.html"} <= set(page("index").links)


def test_download_of_a_release_has_each_number_of_the_release_once(site: Path, page: Reader) -> None:
    lines = gzip.decompress((site / "data/releases/rti-connext-dds-not-stated.jsonl.gz").read_bytes()).decode().splitlines()

    assert {json.loads(line)["system"] for line in lines} == {"RTI Connext DDS"}
    assert sum(json.loads(line)["value"] == 2386046 for line in lines) == 2  # The published run, and an own run with the same log.
    assert "data/releases/rti-connext-dds-not-stated.jsonl.gz" in page("downloads").links


def test_each_kind_of_download_has_each_number_once(site: Path) -> None:
    rows = pd.concat([pd.read_csv(path) for path in (site / "data").rglob("*.csv.gz")])
    lines = pd.concat([pd.read_json(path, lines=True) for path in (site / "data").rglob("*.jsonl.gz")])
    whole = pd.read_parquet(site / "data/results.parquet")

    assert len(whole) == 138
    assert sorted(rows["id"]) == sorted(lines["id"]) == sorted(whole["id"])


def test_run_links_to_its_manifest(site: Path, data: Path, page: Reader) -> None:
    assert "../raw/rti/copy/run.toml.txt" in page(SHMEM).links
    assert (site / "raw/rti/copy/run.toml.txt").read_bytes() == (data / "rti/copy/run.toml").read_bytes()


def test_log_page_shows_the_origin_of_the_log(page: Reader) -> None:
    shown = page("logs/own/latency/sub.log")

    assert any(re.search(r"hosts\.html#host-host-[0-9a-f]{6}$", link) for link in shown.links)
    assert "../../../tacholog-perftest/udp.html#run-it-again" in shown.links
    assert "../../../raw/own/latency/run.toml.txt" in shown.links
    assert re.search(r"SHA-256.{0,40}?[0-9a-f]{64}", shown.text, re.DOTALL)


def test_about_page_names_the_sources_of_the_figures_and_an_id_to_cite(page: Reader) -> None:
    about = page("about").text

    assert "RTI Perftest default type" in about
    assert "trademarks of their owners" in about
    assert "evil/run/sub.log#L1:" in about


def test_runs_without_a_release_are_listed_as_runs_without_a_release(page: Reader) -> None:
    assert "Runs without a release" in page("releases").text
    assert "9 runs" in page("releases").text


def test_script_loops_over_the_sizes_and_quotes_arguments_with_blanks(page: Reader) -> None:
    text = page(SHMEM).text

    assert "for payload_bytes in 32 64 1024; do" in text
    assert "perftest_cpp -sub -dataLen \"$payload_bytes\" -name 'two words'" in text


def test_numbers_are_not_in_the_search_index(site: Path) -> None:
    index = (site / "searchindex.js").read_text()

    assert "methodolog" in index
    assert "2386046" not in index
    assert "71581304" not in index


def test_search_finds_the_words_of_conditions(site: Path) -> None:
    index = (site / "searchindex.js").read_text()

    assert UDP in holding(index, "reliabl")


@pytest.mark.parametrize(
    ("word", "document"), [("coordin", "methodology"), ("sockperf", "definitions"), ("processor", "hosts"), ("refer", "quality")]
)
def test_search_finds_the_words_in_tables_that_explain_terms(site: Path, word: str, document: str) -> None:
    assert document in holding((site / "searchindex.js").read_text(), word)


@pytest.mark.parametrize(
    ("document", "word"),
    [*(("methodology", word) for word in ("p99", "p9999", "p999999")), ("tacholog-perftest/udp", "p99"), ("tacholog-perftest/udp", "p999999")],
)
def test_search_finds_a_percentile_by_a_word_such_as_p99(site: Path, document: str, word: str) -> None:
    assert document in holding((site / "searchindex.js").read_text(), word)


def holding(index: str, stem: str) -> list[str]:
    """Return the pages on which the search finds a word."""
    documents = json.loads(re.search(r'"docnames":(\[.*?\])', index)[1])  # type: ignore[index]  # there is one
    found = re.search(rf'[{{,]"?{stem}"?:(\d+|\[[\d,]+\])', index)
    return [documents[int(number)] for number in re.findall(r"\d+", found[1])] if found else []


def test_quality_page_has_links_to_numbers_that_have_a_mark(page: Reader) -> None:
    shown = page("quality")

    assert "rti-connext-dds/udpv4.html" in shown.links
    assert "More than 1 % lost" in shown.text
    assert "Never steady" not in shown.text  # No number of this site has this mark.


def test_each_page_has_a_policy_without_unsafe_scripts_and_no_inline_handler(site: Path) -> None:
    for path in pages(site):
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', path.read_text())
        assert policy, path
        assert "default-src 'none'" in policy[1]
        assert "script-src 'self';" in policy[1]
        assert "unsafe" not in policy[1].replace("style-src 'self' 'unsafe-inline'", "")
        scripts = re.findall(r"<script\b([^>]*)>", path.read_text())
        assert [script for script in scripts if "src=" not in script and not re.search(r'type="application/(ld\+)?json"', script)] == []
        assert "<style" not in path.read_text()


def test_plots_have_a_description_for_readers_without_scripts(site: Path) -> None:
    html = (site / f"{SHMEM}.html").read_text()

    assert 'role="img"' in html
    assert "Payload received per second. copy: from 32\u00a0B: 664\u00a0Mbit/s, to 1\u00a0KiB: 4.69\u00a0Gbit/s." in html


def test_plot_script_exists_once_and_contacts_no_server(site: Path) -> None:
    script = (site / "_static/tacholog.js").read_text()

    assert [path.name for path in site.rglob("plotly*.js")] == ["plotly.min.js"]
    assert "showSendToCloud: false" in script


@pytest.fixture(scope="module")
def built(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder has a copy of the data, and the site of this data. Another copy of the folder is beside it, with the name ``as-it-was``."""
    folder = tmp_path_factory.mktemp("again") / "folder"
    shutil.copytree(data, folder / "data")
    build_site([folder / "data"], folder / "site", folder)
    shutil.copytree(folder, folder.with_name("as-it-was"))
    return folder


@pytest.fixture
def copied(built: Path) -> Path:
    """The data with its site. Before each test, both are restored from a copy, with the same path and the same times."""
    shutil.rmtree(built)
    shutil.copytree(built.with_name("as-it-was"), built)
    return built


def test_build_without_changes_does_not_run_sphinx(copied: Path) -> None:
    build_site([copied / "data"], copied / "site", copied)  # Copied files count as changed, so the first build updates the site.
    before = {path: path.stat().st_mtime_ns for path in (copied / "site").rglob("*")}

    build_site([copied / "data"], copied / "site", copied)

    assert {path: path.stat().st_mtime_ns for path in (copied / "site").rglob("*")} == before


def test_deleted_pages_are_built_again(copied: Path) -> None:
    shutil.rmtree(copied / "site/logs")

    build_site([copied / "data"], copied / "site", copied)

    assert (copied / "site/logs/rti/copy/sub.log.html").is_file()


def test_edited_files_of_a_finished_site_are_built_again(copied: Path) -> None:
    page = copied / "site/logs/rti/copy/sub.log.html"
    as_built = page.read_text()
    page.write_text(as_built.replace("71581304", "99999999"))
    (copied / "site/notes.txt").write_text("mine")

    build_site([copied / "data"], copied / "site", copied)

    assert page.read_text() == as_built
    assert not (copied / "site/notes.txt").exists()
    assert finished(copied / "site").problems == 0


def test_build_keeps_all_hidden_files(copied: Path) -> None:
    site = copied / "site"
    kept = {".git/HEAD": "ref: refs/heads/main\n", ".git/hooks/index.html": "<head></head>mine", ".nojekyll": ""}
    for name, text in kept.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)

    build_site([copied / "data"], site, copied)  # A build without a change.
    (site / "index.html").write_text("changed by somebody")
    build_site([copied / "data"], site, copied)

    assert {name: (site / name).read_text() for name in kept} == kept
    assert [name for name in finished(site).files if name.startswith(".")] == []


def test_symbolic_link_to_a_folder_in_the_site_is_removed_and_its_target_is_kept(copied: Path) -> None:
    (copied / "mine").mkdir()
    (copied / "mine/notes.html").write_text("mine")
    (copied / "site/extra").symlink_to(copied / "mine")

    build_site([copied / "data"], copied / "site", copied)

    assert not (copied / "site/extra").is_symlink()
    assert (copied / "mine/notes.html").read_text() == "mine"


@pytest.fixture
def editable(copied: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An editable copy of the templates and of the prose, and the site built from them."""
    tree = copied / "tree"
    for name in ("site", "templates"):
        shutil.copytree(checkout / name, tree / name)
    monkeypatch.setattr("tacholog.installation._PACKAGE", tree / "parsers" / "tacholog")
    build_site([copied / "data"], copied / "site", copied)
    return tree


@pytest.mark.nightly
def test_next_build_uses_a_changed_template_and_a_changed_style_sheet(copied: Path, editable: Path) -> None:
    about, style = editable / "templates/about.html.jinja", editable / "site/_static/tacholog.css"
    about.write_text(f"{about.read_text()}\n<p>One more sentence.</p>\n")
    style.write_text(f"{style.read_text()}/* more */")
    _file_checksum_inner.cache_clear()  # Users build in a new process each time. Within one process, Sphinx keeps the checksum of each file.

    build_site([copied / "data"], copied / "site", copied)

    assert "One more sentence." in (copied / "site/about.html").read_text()
    version = f"tacholog.css?v={crc32(style.read_bytes()):08x}"
    assert [path for path in pages(copied / "site") if version not in path.read_text()] == []


def test_changed_description_of_a_machine_is_shown_on_its_pages(copied: Path) -> None:
    host = copied / "data/hosts/desk.toml"
    host.write_text(host.read_text().replace("Some CPU", "Another CPU"))

    build_site([copied / "data"], copied / "site", copied)

    assert "Another CPU" in (copied / "site/tacholog-perftest/udp.html").read_text()


def test_page_of_a_removed_run_is_removed(copied: Path) -> None:
    root, site = copied / "data", copied / "site"
    assert (site / f"{SHMEM}.html").is_file()
    shutil.rmtree(root / "rti/copy")
    shutil.rmtree(root / "rti/zero-copy")

    build_site([root], site, copied)

    assert not (site / f"{SHMEM}.html").exists()
    assert not (site / "logs/rti/copy/sub.log.html").exists()
    assert "SHMEM" not in (site / "index.html").read_text()


def test_folder_without_runs_is_an_error_with_a_clear_message(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match=r"no run\.toml below .*: nothing to report"):
        build_site([tmp_path], tmp_path / "site", tmp_path / "work")


def test_refused_report_leaves_no_folder_and_no_file(tmp_path: Path) -> None:
    for name in ("data", "empty", "cwd"):
        (tmp_path / name).mkdir()

    for arguments in (["--output", "new/site"], ["--output", "../empty"], []):
        done = run_tacholog_text("report", str(tmp_path / "data"), *arguments, cwd=tmp_path / "cwd")
        assert "nothing to report" in done.stderr

    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == ["cwd", "data", "empty"]


def test_folder_of_logs_without_manifests_gives_one_line_of_advice_and_no_partial_site(checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "logs/a").mkdir(parents=True)
    shutil.copy(checkout / "data/rti/default-type/shmem-zero-copy/throughput-sub.log", tmp_path / "logs/a/sub.log")

    with pytest.raises(UnreadableInput) as error:
        build_site([tmp_path / "logs"], tmp_path / "site", tmp_path / "work")

    assert "no run could be read below" in str(error.value)
    assert "a: no run.toml in this folder, so that sub.log was not read" in str(error.value)
    assert "tacholog parse and tacholog diff read logs without one" in str(error.value)
    assert not (tmp_path / "site/index.html").exists()


def test_home_page_explains_how_to_run_perftest_only_if_the_site_has_results_of_perftest(site: Path, tmp_path: Path) -> None:
    add_run(tmp_path, "rti/own", FIRST, rti("UDPv4", published=False))
    perftest = Command(role="both", argv=("perftest", "--transport", "udp"))
    add_run(tmp_path, "loopback", NATIVE.read_text(), Manifest(system="Own loopback", tool="perftest", commands=(perftest,), logs=()))

    others = plan(view_of(load([tmp_path])), SiteSettings())[0].context

    assert (others["has_perftest"], others["scripts_are_there"]) == (False, True)
    home = (site / "index.html").read_text()
    assert "To measure Tacholog perftest on your machine" in home


def test_each_static_file_is_used_by_a_page_a_style_sheet_or_a_script(site: Path) -> None:
    static = site / "_static"
    files = [path for path in static.rglob("*") if path.is_file()]
    texts = [path.read_text(encoding="utf-8") for path in (*site.glob("*.html"), *files) if path.suffix in (".html", ".css", ".js")]

    unnamed = [path.relative_to(static).as_posix() for path in files if not any(path.name in text for text in texts)]

    assert not [name for name in unnamed if (static / name).stat().st_size > 500]  # Some drawings of Sphinx are not used.
    assert not [*static.rglob("*.html"), *static.rglob("*.map"), *static.rglob("fa-brands*")]
    assert "url(../vendor/fontawesome/webfonts/fa-solid-900.woff2)" in (static / "styles/pydata-sphinx-theme.css").read_text()
