"""What a file for download held of a chunk of runs is taken from the former file only if neither of them has changed."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from pathlib import Path

import msgspec
import pandas as pd
import pytest
from tests.report.conftest import FIRST, SECOND, add_run, rti

from tacholog.site.build import build_site
from tacholog.site.output.former_text import FormerFile, Packing, chunks_of, former_chunks, gzip_of, packed
from tacholog.site.stamp import STAMP
from tacholog.store.export import json_rows

pytestmark = [  # what MyST and the theme still use of Sphinx is their business
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.machinery,
]


NAMES = [f"run/{number:03d}" for number in range(100)]


def test_a_run_more_changes_only_the_chunk_that_it_is_in() -> None:
    before, after = list(chunks_of(NAMES)), list(chunks_of(sorted([*NAMES, "run/050-more"])))

    assert [run for chunk in before for run in chunk] == NAMES
    assert 6 < len(before) < 25
    assert len(set(before) - set(after)) == 1
    assert [len(chunk) for chunk in set(after) - set(before)] in ([len(one) + 1] for one in set(before) - set(after))


def test_chunks_are_one_gzip_stream() -> None:
    texts = [b"head\n", b"a\n" * 70_000, b"", b"b\n", bytes(range(256))]
    content = gzip_of([packed(str(number), text) for number, text in enumerate(texts)])

    stream = zlib.decompressobj(wbits=31)
    assert stream.decompress(content) == b"".join(texts)
    assert stream.eof
    assert stream.unused_data == b""
    assert gzip.decompress(gzip_of([])) == b""


def test_a_chunk_of_several_megabytes_is_the_same_whether_its_text_comes_whole_or_in_pieces() -> None:
    text = b"".join(b"row %d\n" % number for number in range(300_000))
    pieces = Packing("1")
    for start in range(0, len(text), 100_003):
        pieces.add(text[start : start + 100_003])

    chunk = pieces.finish()

    assert len(text) > 3_000_000
    assert chunk == packed("1", text)
    assert gzip.decompress(gzip_of([packed("0", b"head\n"), chunk, packed("2", b"end\n")])) == b"head\n" + text + b"end\n"


def test_a_chunk_of_a_former_file_can_be_put_into_another(tmp_path: Path) -> None:
    chunks = [packed(key, text) for key, text in (("h", b"head\n"), ("1", b"row 1\n"), ("2", b"row 2\n"))]
    content, file = gzip_of(chunks), tmp_path / "x.csv.gz"
    known = FormerFile("key", hashlib.sha256(content).hexdigest(), tuple(one.chunk for one in chunks))
    assert former_chunks(known, file) == {}

    file.write_bytes(content)
    assert former_chunks(known, file) == dict(zip("h12", chunks, strict=True))
    assert gzip.decompress(gzip_of([former_chunks(known, file)["2"], packed("3", b"row 3\n")])) == b"row 2\nrow 3\n"


@pytest.mark.parametrize("damaged", [b"", b"no gzip", gzip.compress(b"head\nrow 2\n", mtime=0)], ids=["empty", "not compressed", "other rows"])
def test_a_former_file_that_was_changed_is_not_read(tmp_path: Path, damaged: bytes) -> None:
    chunks = [packed("1", b"head\n"), packed("2", b"row 1\n")]
    known = FormerFile("key", hashlib.sha256(gzip_of(chunks)).hexdigest(), tuple(one.chunk for one in chunks))
    (tmp_path / "x.csv.gz").write_bytes(damaged)

    assert former_chunks(known, tmp_path / "x.csv.gz") == {}


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


@pytest.mark.nightly
@pytest.mark.site
def test_of_a_run_with_many_numbers_a_bounded_number_of_rows_is_in_memory_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, at_once = tmp_path / "data", list[int]()
    for run in ("b", "a-b", "a/1", "a/2"):
        add(data, run)
    build_site([data], tmp_path / "whole" / "site", tmp_path / "whole")

    def counted(table: pd.DataFrame) -> list[bytes]:
        at_once.append(len(table))
        return json_rows(table)

    monkeypatch.setattr("tacholog.site.downloads.json_rows", counted)
    monkeypatch.setattr("tacholog.site.downloads._NUMBERS_AT_ONCE", 3)
    build_site([data], tmp_path / "site", tmp_path)

    numbers = len(rows_of(tmp_path / "site", "data/releases/rti-connext-dds-1.0.jsonl.gz"))
    assert numbers > 8
    assert at_once == [3] * (numbers // 3) + [numbers % 3] * bool(numbers % 3)
    assert downloads(tmp_path / "site") == downloads(tmp_path / "whole" / "site")


@pytest.mark.nightly
@pytest.mark.site
def test_rows_are_made_only_of_runs_whose_chunk_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, made = tmp_path / "data", list[str]()
    for number in range(40):
        add(data, f"a/{number:02d}")
    build_site([data], tmp_path / "site", tmp_path)

    def noted(table: pd.DataFrame) -> list[bytes]:
        made.extend(table["run"].unique())
        return json_rows(table)

    monkeypatch.setattr("tacholog.site.downloads.json_rows", noted)
    add(data, "a/20-more", SECOND)
    build_site([data], tmp_path / "site", tmp_path)

    runs = sorted([*(f"a/{number:02d}" for number in range(40)), "a/20-more"])
    assert made == list(next(chunk for chunk in chunks_of(runs) if "a/20-more" in chunk))
    assert len(made) < len(runs) / 2


@pytest.mark.nightly
@pytest.mark.site
@pytest.mark.parametrize("damaged", ["site/data/releases/rti-connext-dds-1.0.jsonl.gz", "downloads.json"])
def test_what_was_changed_behind_our_back_is_made_again(tmp_path: Path, damaged: str) -> None:
    data = tmp_path / "data"
    for run in ("a/1", "a/2"):
        add(data, run)
    build_site([data], tmp_path / "site", tmp_path)
    before = (tmp_path / damaged).read_bytes()
    if damaged.endswith(".gz"):
        (tmp_path / damaged).write_bytes(gzip.compress(gzip.decompress(before).replace(b"2594706", b"2594707"), mtime=0))
        (tmp_path / "site" / STAMP).unlink()  # as after a build that was stopped: nobody looks for changed files
    else:
        digest, _, known = before.partition(b"\n")
        files = json.loads(known)
        for file in files.values():
            for chunk in file["chunks"]:
                chunk[3] -= 1
        (tmp_path / damaged).write_bytes(digest + b"\n" + json.dumps(files).encode())
    assert (tmp_path / damaged).read_bytes() != before

    add(data, "a/3")
    build_site([data], tmp_path / "site", tmp_path)
    build_site([data], tmp_path / "again" / "site", tmp_path / "again")

    assert downloads(tmp_path / "site") == downloads(tmp_path / "again" / "site")
