"""Each format copes with any bytes. A log gives the same records in any encoding, and a binary line affects at most the result around the line."""

from __future__ import annotations

import gzip
import io
import lzma
import random
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from tests.depth import tries
from tests.formats.chosen import some_of_each

from tacholog.errors import UnreadableInput
from tacholog.formats.reading import Event, Scan
from tacholog.formats.registry import formats
from tacholog.formats.source import LogText
from tacholog.schema.records import Record

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

HERE = Path(__file__).parent
SAMPLES = [(name, path) for name in sorted(formats()) for path in sorted((HERE / name).glob("*.*")) if path.name != "README.md"]
SOME = [(path.parent.name, path) for path in some_of_each([path for _, path in SAMPLES])]
FIRST = dict(reversed(SAMPLES))
BOMB_BYTES = 1 << 26

PACK: Mapping[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "xz": lzma.compress, "zstd": zstd.compress}
DRESS: Mapping[str, Callable[[bytes], bytes]] = {
    **PACK,
    "byte order mark": lambda log: b"\xef\xbb\xbf" + log,
    "Windows line ends": lambda log: log.replace(b"\n", b"\r\n"),
    "colours": lambda log: b"".join(b"\x1b[0;1;32m%b\x1b[0m\n" % line for line in log.removesuffix(b"\n").split(b"\n")),
    "a title, modes and sets of characters": lambda log: b"".join(
        b"\x1b]0;some title\x07\x1b[?1034h\x1b(B%b\x1b[?25h\n" % line for line in log.removesuffix(b"\n").split(b"\n")
    ),
    "a mail": lambda log: b"".join(b"> %b\n" % line for line in log.removesuffix(b"\n").split(b"\n")).replace(b"> \n", b">\n"),
    "a mail in a mail": lambda log: b"".join(b"> > %b\n" % line for line in log.removesuffix(b"\n").split(b"\n")),
    "the name of a stream": lambda log: b"".join(b"[STDOUT] %b\n" % line for line in log.removesuffix(b"\n").split(b"\n")),
    "coloured names of streams": lambda log: b"".join(b"\x1b[32m[STDOUT]\x1b[0m %b\n" % line for line in log.removesuffix(b"\n").split(b"\n")),
}
LONG: Mapping[str, bytes] = {"letters": b"q" * 10_000_000, "digits": b"1" * 10_000_000, "commas": b"1," * 5_000_000}
STRANGERS: Mapping[str, bytes] = {
    "NULs": bytes(40),
    "invalid UTF-8": b"\xff\xfe\x80 \xc3\x28",
    "UTF-16": "Length: 64".encode("utf-16"),
}


def scanned(data: bytes, name: str | None = None) -> tuple[Scan, list[Event]]:
    """If ``name`` is None, the format is detected."""
    scan = Scan(LogText(io.BytesIO(data)), name)
    return scan, list(scan)


def with_line_end(path: Path) -> bytes:
    return path.read_bytes().removesuffix(b"\n") + b"\n"


def findings_with_lines(events: list[Event]) -> list[tuple[int, object]]:
    return [(event.line, event.what) for event in events if event.what is not None]


@pytest.mark.parametrize("dress", DRESS)
@pytest.mark.parametrize(("name", "path"), tries(SOME, SAMPLES), ids=lambda value: value.name if isinstance(value, Path) else value)
def test_compressed_or_coloured_or_quoted_log_gives_the_same_records(name: str, path: Path, dress: str) -> None:
    plain = scanned(with_line_end(path))[1]

    scan, events = scanned(DRESS[dress](with_line_end(path)))

    assert scan.format_name == name
    assert findings_with_lines(events) == findings_with_lines(plain)


@pytest.mark.parametrize(("name", "path"), SAMPLES, ids=lambda value: value.name if isinstance(value, Path) else value)
def test_binary_line_is_reported_and_affects_at_most_the_result_around_the_line(name: str, path: Path) -> None:
    for stranger in STRANGERS.values():
        assert_line_affects_only_the_result_around_it(stranger, path, name)


@pytest.mark.parametrize("stranger", LONG)
@pytest.mark.parametrize("name", FIRST)
def test_line_of_ten_megabytes_is_reported_and_affects_at_most_one_result(name: str, stranger: str) -> None:
    assert_line_affects_only_the_result_around_it(LONG[stranger], FIRST[name], name)


def assert_line_affects_only_the_result_around_it(stranger: bytes, path: Path, name: str) -> None:
    """The line is reported as unknown or broken, and no other record appears."""
    lines = re.findall(rb"[^\n]*\n", with_line_end(path))  # The method splitlines would also split at carriage returns, which end progress messages.
    plain = {without_line_numbers(event.what) for event in scanned(with_line_end(path), name)[1] if isinstance(event.what, Record)}
    index = random.Random(path.name).randrange(len(lines)) + 1  # noqa: S311

    scan, events = scanned(b"".join([*lines[:index], stranger, b"\n", *lines[index:]]), name)

    assert index + 1 in {number for event in events if event.kind in ("unknown", "broken") for number in event.lines}
    assert scan.account.total == len(lines) + 1
    contents = {without_line_numbers(event.what) for event in events if isinstance(event.what, Record)}
    if name == "iperf3":  # Among announcements of streams, a binary line may be a damaged announcement. The number of streams is then unknown.
        plain |= {re.sub(r"\bpublishers=\d+", "publishers=None", record) for record in plain}
    assert {record for record in contents - plain if "derived" not in record} == set()


def without_line_numbers(record: Record) -> str:
    """An inserted line changes the line numbers."""
    return re.sub(r"\bline=\d+", "", str(record))


@pytest.mark.parametrize("mark", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", FIRST)
def test_log_in_utf_16_is_refused_with_advice(name: str, mark: str) -> None:
    text = "\ufeff" + FIRST[name].read_text(errors="replace")

    with pytest.raises(UnreadableInput, match="UTF-16; convert it to UTF-8"):
        scanned(text.encode(mark), name)


@pytest.fixture(scope="module")
def bombs() -> dict[str, bytes]:
    """Each decompresses to 64 MiB."""
    return {packer: pack(bytes(BOMB_BYTES)) for packer, pack in PACK.items()}


@pytest.mark.parametrize("packer", PACK)
@pytest.mark.parametrize("name", FIRST)
def test_decompression_bomb_after_a_log_is_stopped_and_the_log_is_read(name: str, packer: str, bombs: dict[str, bytes]) -> None:
    plain = [event.what for event in scanned(with_line_end(FIRST[name]), name)[1] if isinstance(event.what, Record)]

    scan, events = scanned(PACK[packer](with_line_end(FIRST[name])) + bombs[packer])

    assert scan.format_name == name
    assert [event.what for event in events if isinstance(event.what, Record)] == plain
    assert "taken for a decompression bomb" in (scan.account.facts.reason or "")
    assert scan.account.status == "truncated"
