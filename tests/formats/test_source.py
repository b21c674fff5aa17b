"""Bytes to lines: whatever the bytes, no crash, bounded memory, and the good lines are kept."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tracemalloc
from pathlib import Path
from typing import BinaryIO, cast

import pytest

from tacholog.errors import UnreadableInput
from tacholog.formats.reading import Scan, read
from tacholog.formats.source import LogText

LINE = "Length:    32  Packets: 77849677  Packets/s(ave): 2594706  Mbps(ave):   664.2  Lost:     0 (0.00%)"


def written(tmp_path: Path, data: bytes) -> Path:
    """The bytes as a file."""
    path = tmp_path / "some.log"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("plain", f"{LINE}\n".encode()),
        ("gzip", gzip.compress(f"{LINE}\n".encode())),
        ("Windows line ends", f"{LINE}\r\n".encode()),
        ("byte order mark", b"\xef\xbb\xbf" + f"{LINE}\n".encode()),
        ("no line end at the end", LINE.encode()),
        ("invalid UTF-8 and NUL on other lines", b"\x00\xff\xfe\n" + LINE.encode() + b"\n\x80\n"),
    ],
)
def test_the_record_is_read_from(tmp_path: Path, name: str, data: bytes) -> None:
    assert [record.payload_bytes for record in read(written(tmp_path, data)).records] == [32], name


def test_a_line_of_ten_megabytes_is_cut_and_unknown_and_the_next_is_read(tmp_path: Path) -> None:
    log = read(written(tmp_path, LINE.encode() + b"\n" + b"x" * 10_000_000 + b"\n" + LINE.encode() + b"\n"))

    assert len(log.records) == 2
    assert log.unknown == [2]


def test_ten_megabytes_of_random_bytes_are_no_log(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match=r"some\.log: no format fits: .*rti wants"):
        read(written(tmp_path, os.urandom(10_000_000)))


def test_an_empty_file_is_no_log(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match="the file is empty"):
        read(written(tmp_path, b""))


def test_utf_16_is_refused_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match="UTF-16; convert it to UTF-8"):
        read(written(tmp_path, LINE.encode("utf-16")))


def test_a_damaged_gzip_stream_keeps_what_came_before_and_says_so(tmp_path: Path) -> None:
    whole = gzip.compress("\n".join([LINE] * 5000 + [os.urandom(50_000).hex()] + [LINE] * 5000).encode())

    log = read(written(tmp_path, whole[: len(whole) // 2]))

    assert len(log.records) == 5000
    assert log.account.status == "truncated"
    assert "gzip stream is damaged" in (log.account.reason or "")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match=r"missing\.log: cannot open: No such file"):
        read(tmp_path / "missing.log")


def test_size_and_digest_are_those_of_the_stored_bytes(tmp_path: Path) -> None:
    data = gzip.compress(f"{LINE}\n".encode(), mtime=0)
    account = read(written(tmp_path, data)).account

    assert (account.size_bytes, account.sha256) == (len(data), hashlib.sha256(data).hexdigest())


class Endless(io.RawIOBase):
    """A stream of many equal lines that are never in memory together."""

    def __init__(self, line: bytes, megabytes: int) -> None:
        self._chunk = (line + b"\n") * (1_000_000 // (len(line) + 1))
        self._left = megabytes

    def read(self, _size: int = -1) -> bytes:
        self._left -= 1
        return self._chunk if self._left >= 0 else b""


@pytest.mark.parametrize("line", [LINE.encode(), b"this is no line that any tool prints, but noise"])
def test_memory_does_not_grow_with_the_log(line: bytes) -> None:
    peaks = []
    for megabytes in (3, 9):
        tracemalloc.start()
        stream = cast("BinaryIO", Endless(line, megabytes))
        lines = sum(len(event.lines) for event in Scan(LogText(stream), "rti"))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert lines == megabytes * (1_000_000 // (len(line) + 1))

    assert peaks[1] < peaks[0] * 1.2
