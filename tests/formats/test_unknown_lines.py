"""The numbers of a log stay the same after usual changes: other programs insert lines, or an editor adds, removes or replaces blanks.

Each sample log of each format is changed at a number of positions and read again. The numbers must be equal to the numbers of the unchanged log.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tacholog.errors import UnreadableInput
from tacholog.formats.reading import Log, read
from tacholog.formats.registry import formats

HERE = Path(__file__).parent
PLACES = 12  # The number of positions in each sample. In shorter samples, each line is a position.
DOCUMENTS = ("page", "cell-missing", "perf-sample")  # These samples are published pages. Each line is a cell, or the text is in columns.
STRANGE = ("a line that no tool of ours prints", "warning: something happened (3 of 12)", "user@host:~$ ls")
SAMPLES = [
    pytest.param(name, path, id=f"{name}/{path.name}")
    for name in sorted(formats())
    if (HERE / name).is_dir()
    for path in sorted((HERE / name).iterdir())
    if path.name != "README.md" and path.stat().st_size < 60_000
]


def numbers(log: Log) -> list[tuple[object, ...]]:
    """Return each number with the content of its record. Marks are left out, because lines around a result may add marks."""
    return [
        (r.test, r.scope, r.payload_bytes, r.participant, r.conditions, n.metric, n.statistic, n.value, n.bound)
        for r in log.records
        for n in r.numbers
    ]


def read_changed(text: str, name: str | None, folder: Path) -> Log:
    """Write a changed log, and return what is read from this log. Bytes that are not UTF-8 stay unchanged."""
    (folder / "changed.log").write_bytes(text.encode("utf-8", "surrogateescape"))
    return read(folder / "changed.log", name)


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="surrogateescape")


def positions(lines: list[str]) -> list[int]:
    """Return all positions at which a line can be inserted; a random selection with a fixed seed if the sample is long."""
    every = range(len(lines) + 1)
    return list(every) if len(every) <= PLACES else sorted(random.Random(len(lines)).sample(every, PLACES))  # noqa: S311


@pytest.mark.parametrize(("name", "path"), SAMPLES)
def test_unknown_line_changes_no_number(name: str, path: Path, tmp_path: Path) -> None:
    if path.name.startswith(DOCUMENTS):
        pytest.skip("a document, not a log: a line between its cells may be a cell")
    lines = text_of(path).splitlines(keepends=True)
    original = numbers(read(path, name))
    is_cut = bool(lines) and not lines[-1].endswith("\n")  # The sample ends within a line.
    for number, position in enumerate(candidate for candidate in positions(lines) if candidate < len(lines) or not is_cut):
        strange = STRANGE[number % len(STRANGE)]
        log = read_changed("".join([*lines[:position], f"{strange}\n", *lines[position:]]), name, tmp_path)
        assert numbers(log) == original, f"{strange!r} before line {position + 1}"


STRIPPED: dict[str, Callable[[str], str]] = {
    "blanks stripped at the ends of lines": lambda text: re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE),
    "blanks added at the ends of lines": lambda text: re.sub(r"$", "  ", text, flags=re.MULTILINE) if text.endswith("\n") else text,
    "lines that end in CR LF": lambda text: text.replace("\r\n", "\n").replace("\n", "\r\n"),
}


@pytest.mark.parametrize("change", STRIPPED)
@pytest.mark.parametrize(("name", "path"), SAMPLES)
def test_blanks_at_line_ends_change_no_number(name: str, path: Path, change: str, tmp_path: Path) -> None:
    log = read_changed(STRIPPED[change](text_of(path)), None, tmp_path)

    assert (log.format, numbers(log)) == (name, numbers(read(path, name)))


# In these formats, a blank line does not end a result.
@pytest.mark.parametrize(("name", "path"), [sample for sample in SAMPLES if sample.values[0] in ("ddsperf", "iceperf", "sockperf")])
def test_numbers_stay_unchanged_if_the_log_has_additional_blank_lines(name: str, path: Path, tmp_path: Path) -> None:
    log = read_changed(text_of(path).replace("\n", "\n\n"), None, tmp_path)

    assert (log.format, numbers(log)) == (name, numbers(read(path, name)))


@pytest.mark.parametrize(("name", "path"), SAMPLES)
def test_tabs_in_place_of_blanks_are_reported_if_a_number_changes(name: str, path: Path, tmp_path: Path) -> None:
    if path.name.startswith(DOCUMENTS):
        pytest.skip("a document, not a log: text in columns")
    for changed in (re.sub(r" {2,}", "\t", text_of(path)), with_tabs(text_of(path))):
        try:
            log = read_changed(changed, None, tmp_path)
        except UnreadableInput as error:
            message = str(error)
        else:
            message = "" if numbers(log) == numbers(read(path, name)) else " ".join(problem.reason for problem in log.problems)
            if not message:
                continue
        assert "there are tabs" in message


def with_tabs(text: str) -> str:
    """Return the text with tabs in place of blanks, as some editors save a text.

    Each tab replaces two or more blanks that end at a multiple of eight columns.
    """
    return "\n".join(
        "".join(
            re.sub(r" {2,}$", "\t", line[offset : offset + 8]) if len(line) >= offset + 8 else line[offset:]
            for offset in range(0, max(len(line), 1), 8)
        )
        for line in text.split("\n")
    )
