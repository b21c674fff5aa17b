"""A log was changed after its run. Pages show the numbers of the changed log, and each page and command states that the log was changed."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.report.conftest import Page

from tacholog.commands.publish import publish
from tacholog.site.build import build_site
from tacholog.site.downloads import ALL
from tacholog.site.settings import SiteSettings
from tacholog.site.verification.receipt import sentence
from tacholog.site.verification.site import verify_site

pytestmark = [
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.site,
]
BEFORE, AFTER = "2594706  Mbps(ave):   664.2", "2594706  Mbps(ave):   664.3"
TITLE = "Not the log that was recorded"


@pytest.fixture(scope="module")
def altered(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """One log was changed after its run. The two texts are its SHA-256 before and after the change."""
    folder = tmp_path_factory.mktemp("altered")
    shutil.copytree(data, folder / "data")
    log = folder / "data/rti/own-1/sub.log"
    text = log.read_text()
    log.write_text(text.replace(BEFORE, AFTER))
    build_site([folder / "data"], folder / "site", folder, SiteSettings())
    before, after = (hashlib.sha256(one.encode()).hexdigest() for one in (text, text.replace(BEFORE, AFTER)))
    return folder / "site", before, after


def test_home_page_quality_page_and_log_page_state_both_checksums_of_the_altered_log(altered: tuple[Path, str, str]) -> None:
    site, before, after = altered
    home, quality, log = (" ".join(Page(site / f"{name}.html").text.split()) for name in ("index", "quality", "logs/rti/own-1/sub.log"))

    assert "1 log is not the one that was recorded, by its SHA-256. Its numbers have a mark, and get no verdict." in home
    assert "1 log is not the one that was recorded, by its SHA-256." in quality
    assert f"the log's SHA-256 is {after}, run.toml says {before}" in quality
    assert f"This is not the log that was recorded: the log's SHA-256 is {after}, run.toml says {before}." in log


def test_exactly_the_numbers_of_the_altered_log_are_marked_as_altered(altered: tuple[Path, str, str]) -> None:
    import pyarrow.parquet as pq

    table = pq.read_table(altered[0] / ALL, columns=["run", "marks"]).to_pandas()
    marked = table["marks"].astype("str").str.split().map(lambda marks: "altered" in marks)

    assert set(table.loc[marked, "run"]) == {"rti/own-1"}
    assert marked[table["run"] == "rti/own-1"].all()
    pages = [page.read_text() for page in sorted((altered[0] / "rti-connext-dds").glob("*.html"))]
    assert any(TITLE in text for text in pages)


def test_verify_names_the_altered_log(altered: tuple[Path, str, str]) -> None:
    receipt = verify_site(altered[0])

    assert sentence(receipt).endswith(": 1 do not agree")
    (found,) = receipt.findings
    assert found.place == "rti/own-1/sub.log"
    assert found.reason.startswith("the log is not the one that run.toml names, by its SHA-256; 15 numbers are")


def test_publish_states_that_the_numbers_of_the_altered_log_are_on_the_pages(altered: tuple[Path, str, str], tmp_path: Path) -> None:
    words = [str(altered[0]), "--release", "1", "--output", str(tmp_path / "public")]

    refused = CliRunner().invoke(publish, words)
    asked = CliRunner().invoke(publish, [*words, "--incomplete"], catch_exceptions=False)

    said = str(refused.exception)
    assert "a log is not the one that run.toml names, by the SHA-256 (tacholog report states why)" in said
    assert "--incomplete publishes the site as it is, the numbers of this log too, each with a mark" in said
    assert "could not be read" not in said
    assert asked.exit_code == 0


@pytest.mark.nightly
def test_second_build_after_a_change_of_a_log_equals_a_build_from_nothing(data: Path, altered: tuple[Path, str, str], tmp_path: Path) -> None:
    folder = tmp_path / "again"
    shutil.copytree(data, folder / "data")
    build_site([folder / "data"], folder / "site", folder, SiteSettings())
    log = folder / "data/rti/own-1/sub.log"
    log.write_text(log.read_text().replace(BEFORE, AFTER))
    build_site([folder / "data"], folder / "site", folder, SiteSettings())

    def pages(site: Path) -> dict[str, bytes]:
        return {path.relative_to(site).as_posix(): path.read_bytes() for path in site.rglob("*.html")}

    assert pages(folder / "site") == pages(altered[0])
