"""`tacholog verify` of a site of a stranger reads no file outside of the site, and limits the amount of data that it unpacks."""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.command import run_tacholog

from tacholog.site.build import build_site
from tacholog.site.publish import publish
from tacholog.site.verification.reading import most_unpacked
from tacholog.site.verification.site import verify_site

pytestmark = [
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.site,
]
MIB = 1 << 20
#: One file of each kind that a site offers.
KINDS = (
    *("raw/*/*.gz", "raw/**/run.toml.txt", "data/results.parquet", "data/*.csv.gz", "data/releases/*.jsonl.gz"),
    *("results/latest.json", "rti-connext-dds/*.html", "logs/rti/*/*.html", "versions/versions.json"),
)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory, checkout: Path) -> Path:
    """Return the folder of a published site that agrees with its logs. The site has no list of its files."""
    folder = tmp_path_factory.mktemp("published")
    shutil.copytree(checkout / "data/rti/custom-type", folder / "data/rti")
    publish(build_site([folder / "data"], folder / "site", folder / "work").parent, folder / "public", "1")
    assert verify_site(folder / "public").findings == ()
    return folder / "public"


@pytest.fixture
def site(published: Path, tmp_path: Path) -> Path:
    return shutil.copytree(published, tmp_path / "site")


def verified(site: Path) -> tuple[int, str]:
    done = run_tacholog("verify", site, "--limit", "0")
    return done.returncode, (done.stdout + done.stderr).decode()


def files(site: Path, kind: str) -> list[Path]:
    found = [path for path in site.glob(kind) if path.is_file() and not path.name.startswith("index.")]
    assert found, kind
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_symbolic_link_in_a_site_is_not_followed(site: Path, tmp_path: Path, kind: str) -> None:
    """The target of the link is the original file: if verify followed the link, it would report no error."""
    for number, file in enumerate(files(site, kind)):
        outside = tmp_path / f"outside-{number}"
        file.rename(outside)
        file.symlink_to(outside)

    code, said = verified(site)

    assert code != 0
    assert "link" in said


@pytest.mark.parametrize("kind", KINDS)
def test_named_pipe_in_a_site_is_refused_without_waiting(site: Path, kind: str) -> None:
    for file in files(site, kind):
        file.unlink()
        os.mkfifo(file)

    code, said = verified(site)

    assert code != 0
    assert "a named pipe" in said


@pytest.mark.parametrize("kind", ["raw/*/*.gz", "data/*.csv.gz", "data/releases/*.jsonl.gz"])
def test_file_that_unpacks_to_far_more_than_its_size_is_refused(site: Path, kind: str) -> None:
    bomb = gzip.compress(bytes(100 * MIB), 9)
    assert most_unpacked(len(bomb)) < 100 * MIB
    for file in files(site, kind):
        file.write_bytes(bomb)

    code, said = verified(site)

    assert code != 0
    assert "too much for a file of this size" in said


def test_table_is_refused_if_it_states_too_many_rows_for_the_size_of_its_file(site: Path) -> None:
    names = pq.read_schema(site / "data/results.parquet").names
    table = pa.table({name: pa.array(["x"] * 400_000) for name in names})
    pq.write_table(table, site / "data/results.parquet", compression="zstd")
    assert (site / "data/results.parquet").stat().st_size < 200_000

    code, said = verified(site)

    assert code == 2
    assert "400000 rows" in said
    assert "too much for a file of this size" in said


def test_table_with_texts_far_longer_than_its_file_is_refused(site: Path) -> None:
    path = site / "data/results.parquet"
    names = pq.read_schema(path).names
    pq.write_table(pa.table({name: pa.array(["x" * (MIB if name == "system" else 1)] * 1000) for name in names}), path, compression="zstd")
    assert path.stat().st_size < 200_000

    code, said = verified(site)

    assert code == 2
    assert "the texts in the table have 1" in said
    assert "too much for a file of this size" in said


def test_limit_of_unpacked_size_grows_with_the_file_and_accepts_usual_texts() -> None:
    assert most_unpacked(0) == 64 * MIB
    assert most_unpacked(10 * MIB) > 100 * 10 * MIB
    assert most_unpacked(1 << 40) == 1 << 32
