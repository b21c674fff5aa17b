"""Lines are read from bytes. For any bytes, the reader does not crash, its memory is limited, and the valid lines are kept."""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import os
import sys
import tarfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

import pytest

from tacholog.errors import UnreadableInput
from tacholog.formats.kit.lines import Line
from tacholog.formats.reading import Scan, read
from tacholog.formats.source import LogText

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LINE = "Length:    32  Packets: 77849677  Packets/s(ave): 2594706  Mbps(ave):   664.2  Lost:     0 (0.00%)"


def written(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "some.log"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("plain", f"{LINE}\n".encode()),
        ("gzip", gzip.compress(f"{LINE}\n".encode(), mtime=0)),
        ("Windows line ends", f"{LINE}\r\n".encode()),
        ("byte order mark", b"\xef\xbb\xbf" + f"{LINE}\n".encode()),
        ("colours and moves of the cursor", f"\x1b[2K\x1b[0;1;96m{LINE[:20]}\x1b[m{LINE[20:]}\x1b[0m\n".encode()),
        ("xz", lzma.compress(f"{LINE}\n".encode())),
        ("Zstandard", zstd.compress(f"{LINE}\n".encode())),
        ("two members of gzip", gzip.compress(LINE[:9].encode(), mtime=0) + gzip.compress(f"{LINE[9:]}\n".encode(), mtime=0)),
        ("two members of xz, padded", lzma.compress(LINE[:9].encode()) + bytes(8) + lzma.compress(f"{LINE[9:]}\n".encode()) + bytes(4)),
        ("two members of Zstandard", zstd.compress(LINE[:9].encode()) + zstd.compress(f"{LINE[9:]}\n".encode())),
        ("invalid UTF-8 and NUL on other lines", b"\x00\xff\xfe\n" + LINE.encode() + b"\n\x80\n"),
    ],
)
def test_record_is_read_from_each_encoding(tmp_path: Path, name: str, data: bytes) -> None:
    assert [record.payload_bytes for record in read(written(tmp_path, data)).records] == [32], name


def test_line_of_ten_megabytes_is_unknown_and_the_next_line_is_read(tmp_path: Path) -> None:
    log = read(written(tmp_path, LINE.encode() + b"\n" + b"x" * 10_000_000 + b"\n" + LINE.encode() + b"\n"))

    assert len(log.records) == 2
    assert log.unknown == [2]


def test_ten_megabytes_of_random_bytes_are_refused_as_binary_data(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match=r"some\.log: binary data, not the text of a log"):
        read(written(tmp_path, os.urandom(10_000_000)))


def test_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match="the file is empty"):
        read(written(tmp_path, b""))


def test_log_in_utf_16_is_refused_with_advice(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match="UTF-16; convert it to UTF-8"):
        read(written(tmp_path, LINE.encode("utf-16")))


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_log_in_utf_16_without_a_byte_order_mark_is_refused_with_advice(tmp_path: Path, encoding: str) -> None:
    with pytest.raises(UnreadableInput, match=rf"UTF-16; convert it to UTF-8 first \(iconv -f {encoding.upper().replace('-16-', '-16')} -t UTF-8\)"):
        read(written(tmp_path, f"{LINE}\n".encode(encoding)))


@pytest.mark.parametrize("kind", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress, zstd.compress])
def test_archive_of_logs_is_not_read_as_one_log(tmp_path: Path, kind: int, pack: Callable[[bytes], bytes]) -> None:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=kind) as files:
        for name in ("1.log", "2.log"):
            member = tarfile.TarInfo(name)
            member.size = len(LINE) + 1
            files.addfile(member, io.BytesIO(f"{LINE}\n".encode()))

    with pytest.raises(UnreadableInput, match=r"an archive \(tar\), not the text of one log: unpack it first"):
        read(written(tmp_path, pack(archive.getvalue())))


def test_archive_in_the_old_tar_format_is_detected_by_the_checksum_of_its_header(tmp_path: Path) -> None:
    header = bytearray(b"1.log".ljust(100, b"\0") + b"0000644\0" * 3 + b"00000000145\0" + b"00000000000\0" + b" " * 8 + b"0").ljust(512, b"\0")
    header[148:156] = f"{sum(header):06o}\0 ".encode()

    with pytest.raises(UnreadableInput, match=r"an archive \(tar\)"):
        read(written(tmp_path, bytes(header) + f"{LINE}\n".encode()))


def test_last_line_without_a_line_end_is_marked_as_incomplete() -> None:
    assert list(LogText(io.BytesIO(b"one\ntwo")).lines()) == [Line(1, "one"), Line(2, "two", whole=False)]


def test_control_sequences_of_a_terminal_are_removed_and_other_bytes_are_kept() -> None:
    lines = LogText(io.BytesIO(b"\x1b[0;90m12:00 \x1b[1mred\x1b[m\r\n\x1b[2Ja\x00b\x1b\x1b[\n")).lines()

    assert [line.text for line in lines] == ["12:00 red", "a\x00b\x1b\x1b["]


def test_format_of_a_log_with_terminal_colours_is_detected(tmp_path: Path) -> None:
    assert read(written(tmp_path, f"\x1b[31mPackets/s(ave):\x1b[0m\n{LINE}\n".encode())).format == "rti"


def zstd_checked(data: bytes) -> bytes:
    """Return the compressed data with a checksum, because the command line tool of zstd also writes a checksum."""
    return zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1})


PACKERS = [gzip.compress, lzma.compress, zstd_checked]


@pytest.mark.parametrize("pack", PACKERS, ids=["gzip", "xz", "zstd"])
def test_data_before_the_damage_of_a_compressed_stream_is_read_and_the_damage_is_reported(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    stream = pack("\n".join([LINE] * 5000 + [os.urandom(200_000).hex()] * 2 + [LINE] * 5000).encode())

    half = len(stream) // 2

    cut = read(written(tmp_path, stream[:half]))
    overwritten = read(written(tmp_path, stream[:half] + b"no such block" * 20 + stream[half + 260 :]))

    assert len(cut.records) == 5000
    assert len(overwritten.records) >= 5000  # Some streams detect damage only at their end, by a checksum.
    for log in (cut, overwritten):
        assert log.account.status == "truncated"
        assert "stream is damaged" in (log.account.reason or "")


@pytest.mark.parametrize("pack", PACKERS, ids=["gzip", "xz", "zstd"])
def test_decompression_bomb_is_stopped_and_the_valid_lines_are_kept(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    bomb = pack(f"{LINE}\n".encode() * 3 + bytes(64_000_000))

    log = read(written(tmp_path, bomb))

    assert len(bomb) < 400_000
    assert len(log.records) == 3
    assert log.account.status == "truncated"
    assert "taken for a decompression bomb" in (log.account.reason or "")


@pytest.mark.parametrize("pack", PACKERS, ids=["gzip", "xz", "zstd"])
def test_decompression_bomb_is_stopped_even_if_it_consists_of_many_small_streams(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    member = pack(bytes(2_000_000))  # Each stream alone is too small to count as a bomb.
    bomb = pack(f"{LINE}\n".encode() * 3) + member * 100

    log = read(written(tmp_path, bomb))

    assert len(log.records) == 3
    assert "taken for a decompression bomb" in (log.account.reason or "")


def test_valid_log_that_compresses_very_well_is_read_completely(tmp_path: Path) -> None:
    text = "".join(f"{LINE[:24]}{received:8}{LINE[32:]}\n" for received in range(10_000_000, 49_080_000, 977)).encode()

    account = read(written(tmp_path, lzma.compress(text))).account

    assert len(text) == 3_960_000
    assert len(lzma.compress(text)) < len(text) / 50
    assert (account.total, account.status) == (40_000, None)


def test_message_about_a_missing_file_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match=r"missing\.log: cannot open: No such file"):
        read(tmp_path / "missing.log")


def test_size_and_checksum_of_a_log_are_those_of_the_compressed_file(tmp_path: Path) -> None:
    data = gzip.compress(f"{LINE}\n".encode(), mtime=0)
    account = read(written(tmp_path, data)).account

    assert (account.size_bytes, account.sha256) == (len(data), hashlib.sha256(data).hexdigest())


class Endless(io.RawIOBase):
    """A stream of many equal lines, which are never in memory together."""

    def __init__(self, line: bytes, megabytes: int) -> None:
        self._chunk = (line + b"\n") * (1_000_000 // (len(line) + 1))
        self._left = megabytes

    def read(self, _size: int = -1) -> bytes:
        self._left -= 1
        return self._chunk if self._left >= 0 else b""


@pytest.mark.parametrize("line", [LINE.encode(), b"this is no line that any tool prints, but noise"])
def test_memory_does_not_grow_with_the_size_of_the_log(line: bytes) -> None:
    peaks = []
    for megabytes in (2, 4):
        tracemalloc.start()
        stream = cast("BinaryIO", Endless(line, megabytes))
        lines = sum(len(event.lines) for event in Scan(LogText(stream), "rti"))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert lines == megabytes * (1_000_000 // (len(line) + 1))

    assert peaks[1] < peaks[0] * 1.5


def test_only_a_few_megabytes_of_unknown_lines_are_kept_in_memory() -> None:
    stream = cast("BinaryIO", Endless(b"z" * 60_000, 40))

    tracemalloc.start()
    scan = Scan(LogText(stream), "rti")
    lines = sum(len(event.lines) for event in scan)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert lines == scan.account.lines["unknown"] == 640
    assert peak < 25_000_000


def quoted(log: str, above: str = "") -> list[str]:
    """Return the text of each line as formats get it."""
    return [line.text for line in LogText(io.BytesIO((above + log).encode())).lines()]


def test_prefix_of_each_line_is_removed_for_formats_and_kept_for_display() -> None:
    lines = list(LogText(io.BytesIO(b"> one\n>\n>   two\n")).lines())

    assert [(line.number, line.text, line.shown) for line in lines] == [(1, "one", "> one"), (2, "", ">"), (3, "  two", ">   two")]


def test_line_is_shown_with_its_prefix_unchanged(tmp_path: Path) -> None:
    log = read(written(tmp_path, f"[STDOUT] {LINE}\n[STDERR] what is this?\n".encode()))

    assert [(event.line, event.text) for event in log.events] == [(1, f"[STDOUT] {LINE}"), (2, "[STDERR] what is this?")]
    assert [record.payload_bytes for record in log.records] == [32]


def test_prefix_of_a_quoted_mail_is_removed_if_only_one_line_in_ten_has_no_prefix() -> None:
    assert quoted("> x\n" * 9, above="On Monday somebody wrote:\n")[:2] == ["On Monday somebody wrote:", "x"]
    assert quoted("> x\n" * 8, above="On Monday somebody wrote:\n")[:2] == ["On Monday somebody wrote:", "> x"]


def test_prompt_of_a_shell_before_a_single_command_is_not_removed_as_a_prefix() -> None:
    assert quoted(f"> perftest_cpp -noPrint\n{LINE}\n") == ["> perftest_cpp -noPrint", LINE]


def test_indentation_and_inner_quotes_stay_after_the_prefix_is_removed() -> None:
    assert quoted(">   a\n>> b\n> c\n") == ["  a", "> b", "c"]


@pytest.mark.parametrize(
    "control", ["\x1b[?1034h", "\x1b]0;title\x07", "\x1b]8;;http://a\x1b\\", "\x1b(B", "\x1b=", "\x1b7", "\x1b[38:5:1m", "\x1b[2 q"]
)
def test_control_sequences_of_a_terminal_are_removed_for_formats(control: str) -> None:
    assert quoted(f"{control}on{control}e{control}\n") == ["one"]


def test_terminal_reset_sequence_is_removed_at_the_start_or_end_of_a_word_but_not_inside() -> None:
    assert quoted("\x1bcone\ntwo \x1bc\nof i\x1bc_threadsafe\n") == ["one", "two ", "of i\x1bc_threadsafe"]


@pytest.mark.parametrize("line", ["|  \x1b  27  |", "|  \x1b27  |", "rate:\x1b/5.2", "(\x1b-0.5)", "\x1b75.3", "un\x1bit"])
def test_line_is_unchanged_if_an_escape_character_begins_no_control_sequence(line: str) -> None:
    assert quoted(f"{line}\n") == [line]
