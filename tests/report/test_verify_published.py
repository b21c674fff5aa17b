"""The command `tacholog verify` checks a published site: all fields of each number, the files for programs, and older versions."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from tests.report.conftest import NATIVE, add_run
from tests.report.test_for_programs import write_runs

from tacholog.commands.verify import verify
from tacholog.runs.manifest import Manifest
from tacholog.site.build import build_site
from tacholog.site.publish import publish
from tacholog.site.verification.site import verify_site

pytestmark = [  # Ignore warnings about old parts of Sphinx: MyST and the theme still use these parts.
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.site,
]
RESULTS = "data/results.parquet"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a published site with two versions.

    Only the older version has the system "Gone". But the downloads of this system also keep their addresses in the newer version.
    """
    folder = tmp_path_factory.mktemp("published")
    data = write_runs(folder / "data")
    add_run(data, "gone", NATIVE.read_text(), Manifest(system="Gone", tool="perftest", host="desk", logs=()))
    publish(build_site([data], folder / "site", folder).parent, folder / "public", "1")
    shutil.rmtree(data / "gone")
    add_run(data, "new", NATIVE.read_text(), Manifest(system="New", tool="perftest", host="desk", logs=()))
    publish(build_site([data], folder / "site", folder).parent, folder / "public", "2")
    return folder / "public"


@pytest.fixture
def copy(published: Path, tmp_path: Path) -> Path:
    return shutil.copytree(published, tmp_path / "copy")


def test_newest_version_and_an_older_version_agree_with_their_logs(published: Path) -> None:
    done = CliRunner().invoke(verify, [str(published)], catch_exceptions=False)
    older = verify_site(published / "versions/1")

    assert done.exit_code == 0, done.output
    assert "only the newest version was checked" in done.output
    assert f"{published}/versions/LABEL" in done.output
    assert (older.findings, older.logs) == ((), 13)
    assert len([*published.glob("data/*gone*")]) == 1  # This file is kept, because other sites may link to it.


CHANGED: dict[str, Callable[[object], object]] = {
    "metric": lambda _: "latency",
    "statistic": lambda _: "max",
    "unit": lambda _: "ns",
    "payload_bytes": lambda size: int(str(size)) + 1,
    "system": lambda _: "Other",
    "transport": lambda _: "UDP",
    "release": lambda _: "9.9",
    "line": lambda line: int(str(line)) + 1,
    "host": lambda _: "elsewhere",
    "samples": lambda _: 7,
}


@pytest.mark.parametrize("column", CHANGED)
def test_changed_field_beside_a_number_is_reported(copy: Path, column: str) -> None:
    table = pd.read_parquet(copy / RESULTS)
    place = int(table.index[table["id"].str.startswith("rti/1.1/02/")][0])
    cells = table[column].astype(object)
    cells[place] = CHANGED[column](cells[place])
    table[column] = cells
    table.to_parquet(copy / RESULTS)

    found = [(one.place, one.shown) for one in verify_site(copy).findings if f"has another {column} than the log gives" in one.reason]

    assert found == [(table["id"][place], str(cells[place]))]


def test_deleted_column_is_reported(copy: Path) -> None:
    pd.read_parquet(copy / RESULTS).drop(columns="unit").to_parquet(copy / RESULTS)

    assert "the column unit is not there" in {one.reason for one in verify_site(copy).findings}


@pytest.mark.parametrize(("ending", "old", "new"), [("csv.gz", b",502000000.0,", b",902000000.0,"), ("jsonl.gz", b":502000000.0,", b":902000000.0,")])
def test_changed_row_of_a_text_download_is_reported(copy: Path, ending: str, old: bytes, new: bytes) -> None:
    file = next(path for path in sorted((copy / "data").rglob(f"*.{ending}")) if old in gzip.decompress(path.read_bytes()))
    file.write_bytes(gzip.compress(gzip.decompress(file.read_bytes()).replace(old, new, 1)))

    findings = verify_site(copy).findings

    assert {(one.place, one.reason) for one in findings} == {
        (file.relative_to(copy).as_posix(), f"1 rows are not those of {RESULTS}"),
        (RESULTS, f"1 rows are in no file *.{ending}"),
    }


def test_text_download_is_reported_if_its_header_is_changed_or_its_end_is_missing(copy: Path) -> None:
    first, second = min((copy / "data").glob("rti*.csv.gz")), next((copy / "data/releases").glob("rti*"))
    first.write_bytes(gzip.compress(gzip.decompress(first.read_bytes()).replace(b"payload_bytes", b"bytes", 1)))
    second.write_bytes(second.read_bytes()[:40])

    reasons = {one.place: one.reason for one in verify_site(copy).findings}

    assert reasons[first.relative_to(copy).as_posix()] == "its first line does not name the columns"
    assert reasons[second.relative_to(copy).as_posix()].startswith("it cannot be read")


def test_changed_row_of_the_newest_results_is_reported(copy: Path) -> None:
    file = copy / "results/latest.json"
    assert file.read_text().count('"value":502000000.0') > 0
    file.write_text(file.read_text().replace('"value":502000000.0', '"value":902000000.0', 1))

    found = [(one.place, one.reason) for one in verify_site(copy).findings]

    assert sorted(found) == [
        ("results/latest.json", "the logs give no such row"),
        ("results/latest.json", "the logs give this row, and it is not there"),
    ]


def test_damaged_list_of_versions_is_reported_and_so_is_a_table_that_no_version_has(copy: Path) -> None:
    (copy / "versions/versions.json").write_text("[1")
    (copy / "versions/2" / RESULTS).unlink()

    findings = {one.place: one.reason for one in verify_site(copy).findings}

    assert "versions.json: this is no list of versions with their dates" in findings["versions"]
    assert findings[RESULTS] == "it differs from the file of each version in versions/"


def test_number_under_a_masked_heading_is_accepted_only_if_its_log_line_contains_the_number(tmp_path: Path) -> None:
    # A row of the log: "||         1 kB ||          10 ||           5 ||".
    document = (NATIVE.parent.parent / "ecal" / "performance-5.12.rst").read_text()
    add_run(tmp_path / "data", "documented", document, Manifest(system="S", logs=()))
    site = build_site([tmp_path / "data"], tmp_path / "site", tmp_path / "work").parent
    publish(site, tmp_path / "public", "1")
    table = pd.read_parquet(tmp_path / "public" / RESULTS)

    for folder in (site, tmp_path / "public"):
        receipt = verify_site(folder)
        assert receipt.findings == ()
        assert any(note.startswith("documented/sub.log: 64 numbers stand on the lines") for note in receipt.notes)

    table["value"] = table["value"].replace(5000.0, 6000.0)
    table.to_parquet(tmp_path / "public" / RESULTS)
    assert "the log has no such number" in {one.reason for one in verify_site(tmp_path / "public").findings}
