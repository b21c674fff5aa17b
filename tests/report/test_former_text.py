"""What a file for download held of a run is taken from the former file only if neither of them has changed."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import msgspec
import pytest
from tests.report.conftest import FIRST, SECOND, add_run, rti

from tacholog.errors import TachologError
from tacholog.site.build import build_site
from tacholog.site.output.former_text import FormerFile, FormerText, PackedText, Piece, former_text
from tacholog.site.stamp import STAMP

pytestmark = [  # what MyST and the theme still use of Sphinx is their business
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def packed(text: bytes) -> bytes:
    return gzip.compress(text, mtime=0)


def test_runs_are_read_in_their_order_and_others_are_passed_over() -> None:
    text = FormerText([Piece("a", "1", 2), Piece("b", "2", 3), Piece("c", "3", 0), Piece("d", "4", 1)], packed(b"aabbbd"))

    assert [text.has("b", "2"), text.has("b", "1"), text.has("e", "2")] == [True, False, False]
    assert [text.take("b"), text.take("c"), text.take("d")] == [b"bbb", b"", b"d"]


@pytest.mark.parametrize("size", [2, 9])
def test_a_text_that_is_shorter_than_known_and_a_run_that_is_not_there_are_refused(size: int) -> None:
    text = FormerText([Piece("a", "1", size)], packed(b"a"))

    with pytest.raises(TachologError, match="is not what the last build wrote"):
        text.take("a")
    with pytest.raises(TachologError, match="is not what the last build wrote"):
        text.take("b")


def test_a_former_file_that_was_changed_or_has_another_head_is_not_read(tmp_path: Path) -> None:
    content = packed(b"head\nrow\n")
    file, known = tmp_path / "x.csv.gz", FormerFile("key", hashlib.sha256(content).hexdigest(), (Piece("a", "1", 4),))
    assert former_text(known, file, b"head\n") is None

    file.write_bytes(content)
    assert former_text(known, file, b"Head\n") is None
    found = former_text(known, file, b"head\n")
    assert found is not None
    assert found.take("a") == b"row\n"

    file.write_bytes(packed(b"head\nrpw\n"))
    assert former_text(known, file, b"head\n") is None


@pytest.mark.parametrize("content", [packed(b""), b"", b"no gzip"], ids=["no row", "empty", "not compressed"])
def test_a_former_file_that_does_not_begin_with_its_head_is_not_read(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.csv.gz").write_bytes(content)

    assert former_text(FormerFile("key", hashlib.sha256(content).hexdigest()), tmp_path / "x.csv.gz", b"head\n") is None


def test_a_text_without_rows_has_no_head() -> None:
    empty, full = PackedText(b"head\n"), PackedText(b"head\n")
    empty.add(b"")
    for row in (b"", b"a\n", b"b\n"):
        full.add(row)

    assert gzip.decompress(empty.content()) == b""
    assert gzip.decompress(full.content()) == b"head\na\nb\n"


def add(data: Path, run: str, log: str = FIRST) -> None:
    add_run(data, run, log, msgspec.structs.replace(rti("UDPv4", published=False), release="1.0"))


def downloads(site: Path) -> dict[str, bytes]:
    return {path.relative_to(site).as_posix(): path.read_bytes() for path in (site / "data").rglob("*") if path.is_file()}


def rows_of(site: Path, name: str) -> list[str]:
    return [json.loads(line)["run"] for line in gzip.decompress((site / name).read_bytes()).splitlines()]


@pytest.mark.site
def test_files_that_grow_are_those_that_are_made_from_nothing_in_the_order_of_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacholog.site.downloads._RUNS_AT_ONCE", 2)
    data = tmp_path / "data"
    for run in ("a/1", "a-b/1", "a/2", "c/1", "c/2"):  # folders are read in another order: a, then a-b
        add(data, run)
    build_site([data], tmp_path / "site", tmp_path)
    release = "data/releases/rti-connext-dds-1.0.jsonl.gz"
    assert list(dict.fromkeys(rows_of(tmp_path / "site", release))) == ["a-b/1", "a/1", "a/2", "c/1", "c/2"]

    add(data, "a/15", SECOND)
    (data / "c/1/run.toml").write_text((data / "c/1/run.toml").read_text().replace('release = "1.0"', 'release = "1.1"'))
    build_site([data], tmp_path / "site", tmp_path)
    build_site([data], tmp_path / "again" / "site", tmp_path / "again")

    assert list(dict.fromkeys(rows_of(tmp_path / "site", release))) == ["a-b/1", "a/1", "a/15", "a/2", "c/2"]
    assert downloads(tmp_path / "site") == downloads(tmp_path / "again" / "site")


@pytest.mark.site
@pytest.mark.parametrize("damaged", ["site/data/releases/rti-connext-dds-1.0.jsonl.gz", "downloads.json"])
def test_what_was_changed_behind_our_back_is_made_again(tmp_path: Path, damaged: str) -> None:
    data = tmp_path / "data"
    for run in ("a/1", "a/2"):
        add(data, run)
    build_site([data], tmp_path / "site", tmp_path)
    before = (tmp_path / damaged).read_bytes()
    if damaged.endswith(".gz"):
        (tmp_path / damaged).write_bytes(packed(gzip.decompress(before).replace(b"2594706", b"2594707")))
        (tmp_path / "site" / STAMP).unlink()  # as after a build that was stopped: nobody looks for changed files
    else:
        digest, _, known = before.partition(b"\n")
        files = json.loads(known)
        for file in files.values():
            for piece in file["pieces"]:
                piece[2] -= 1
        (tmp_path / damaged).write_bytes(digest + b"\n" + json.dumps(files).encode())
    assert (tmp_path / damaged).read_bytes() != before

    add(data, "a/3")
    build_site([data], tmp_path / "site", tmp_path)
    build_site([data], tmp_path / "again" / "site", tmp_path / "again")

    assert downloads(tmp_path / "site") == downloads(tmp_path / "again" / "site")
