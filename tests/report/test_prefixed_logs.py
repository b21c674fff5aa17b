"""The prefix of log lines may name people and hosts: a site shows no more of a prefix than of an unknown line."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tacholog.formats.reading import read_text
from tacholog.privacy.known_names import KnownNames
from tacholog.privacy.logs import LineClasses, OriginalLog, save_line_classes, write_redacted
from tacholog.privacy.redactor import Redactor
from tacholog.privacy.settings import Privacy
from tacholog.site.log_pages import log_page

PREFIXED = Path(__file__).parent.parent / "prefixed"
TEXT = (Path(__file__).parent.parent / "formats" / "iperf3" / "tcp.log").read_text()
ROW = "[  5]   0.00-3.00   sec  5.84 GBytes  16.7 Gbits/sec                  receiver"


def published(prefix: str, folder: Path, **wanted: str) -> tuple[list[str], LineClasses]:
    (folder / "a.log").write_text("".join(f"{prefix}{line}" for line in TEXT.splitlines(keepends=True)))
    names = KnownNames(Privacy(**wanted), {})  # type: ignore[arg-type]
    out = io.BytesIO()
    shown = write_redacted(OriginalLog(folder, "a.log", "iperf3"), Redactor(names), out)
    return out.getvalue().decode().splitlines(), shown


@pytest.mark.parametrize(
    ("prefix", "shown"),
    [
        ("Nov 27 10:00:00 acmehost acmetool[123]: ", "Nov 27 10:00:00 [withheld] "),
        ("[pod/acmepod-7d9f/acmebox] 2024-05-14T09:12:01.123456789Z ", "[withheld] 2024-05-14T09:12:01.123456789Z "),
        ("acmeservice-1  | ", "[withheld] "),
        ("acmepod/acmebox ", "[withheld] "),
        ("acmename ", "[withheld] "),
        ("build acme\tacme step\t2024-05-14T09:12:01.1234567Z ", "[withheld]\t[withheld]\t2024-05-14T09:12:01.1234567Z "),
        ("2024-05-14T09:12:01.1234567Z [INFO] ", "2024-05-14T09:12:01.1234567Z [INFO] "),
        ("> ", "> "),
    ],
)
def test_site_shows_only_the_parts_of_a_prefix_that_cannot_contain_a_name(tmp_path: Path, prefix: str, shown: str) -> None:
    lines, known = published(prefix, tmp_path)

    assert f"{shown}{ROW}" in lines
    assert "acme" not in "\n".join(lines)
    assert known.kinds["record"] == [(4, 6), (9, 10)]
    # The lines as they are shown give the same numbers, so that the command verify can read them.
    assert [record.numbers for record in read_text("\n".join([*lines, ""])).records] == [record.numbers for record in read_text(TEXT).records]


def test_prefix_is_shown_with_masked_names_if_the_owner_shows_unknown_lines(tmp_path: Path) -> None:
    lines, _ = published("[pod/client/10.9.8.77] ", tmp_path, unknown_lines="show")

    assert [line for line in lines if line.endswith(ROW)] == [f"[pod/client/address-1] {ROW}"]


def test_log_page_describes_the_removed_prefix_and_shows_the_lines_as_published(tmp_path: Path) -> None:
    lines, known = published("Nov 27 10:00:00 acmehost acmetool[123]: ", tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "a.log").write_text("\n".join([*lines, ""]))
    save_line_classes(tmp_path / "run", "a.log", known)

    page = log_page(tmp_path / "run" / "a.log", "iperf3", [])

    assert "Each line begins with a time and the names of a host and a program, which was taken off before the line was read." in page
    assert f"<code>Nov 27 10:00:00 [withheld] {ROW}</code>" in page


def test_log_page_of_an_unredacted_log_shows_its_prefix() -> None:
    page = log_page(PREFIXED / "docker-compose.log", "ddsperf", [])

    assert "Each line begins with the name of a service, which was taken off before the line was read." in page
    assert "<code>listener-1  | [1] 31.000  size 16384 total 1047377 lost 0 delta 31930" in page
