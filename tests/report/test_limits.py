"""Limits for the text and the numbers of a log: logs above a limit are reported, and so is the progress with large logs."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import pytest
from tests.command import run_tacholog_text
from tests.unpacked import content_of

from tacholog.errors import UnreadableInput
from tacholog.runs.logs import ReadingLimits
from tacholog.runs.manifest import LogFile, Manifest, write
from tacholog.schema.conditions import StatedConditions
from tacholog.site.settings import SiteSettings, read_settings
from tacholog.store.load import load
from tacholog.store.pool import Work

NATIVE = Path(__file__).parent.parent / "formats" / "native" / "latency-udp.log"


def add(data: Path, run: str, content: bytes) -> None:
    folder = data / run
    folder.mkdir(parents=True)
    (folder / "some.log").write_bytes(content)
    logs = (LogFile(file="some.log", sha256=hashlib.sha256(content).hexdigest()),)
    write(folder / "run.toml", Manifest(system="Tacholog perftest", conditions=StatedConditions(transport="udp"), logs=logs))


def grown(middle: bytes, size: int) -> bytes:
    """Return a compressed real log that is longer by about ``size`` bytes. They are copies of ``middle``, before the last line."""
    *lines, end = NATIVE.read_bytes().splitlines(keepends=True)
    return gzip.compress(b"".join([*lines, middle * (size // len(middle)), end]))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    add(tmp_path / "data", "small", NATIVE.read_bytes())
    return tmp_path / "data"


def test_log_with_more_text_than_the_limit_is_reported_and_its_numbers_are_left_out(data: Path) -> None:
    add(data, "large", grown(b"a line of noise that nobody understands\n", 3_000_000))

    dataset = load([data], ReadingLimits(text_bytes=1_500_000, numbers=1_000_000))

    assert set(dataset.results["run"]) == {"small"}
    (problem,) = dataset.problems.to_dict("records")
    assert (problem["run"], problem["kind"]) == ("large", "unreadable")
    assert problem["reason"] == "its text is longer than 1.5 MB, the limit (log_text_mb), so it was not read"


def test_log_with_more_numbers_than_the_limit_is_reported(data: Path) -> None:
    interval = next(line for line in NATIVE.read_bytes().splitlines(keepends=True) if line.startswith(b"interval"))
    add(data, "many", grown(interval, 200_000))

    dataset = load([data], ReadingLimits(text_bytes=10_000_000, numbers=1000))

    assert set(dataset.results["run"]) == {"small"}
    assert dataset.problems["reason"].tolist() == ["it holds more than 1000 numbers, the limit (log_numbers), so it was not read"]


def test_all_logs_are_read_if_there_is_no_limit(data: Path) -> None:
    add(data, "large", grown(b'note text="%b"\n' % (b"more " * 2000), 3_000_000))

    dataset = load([data])

    assert dataset.problems.empty
    assert set(dataset.results["run"]) == {"small", "large"}


def test_progress_is_called_with_each_log(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACHOLOG_CACHE", str(tmp_path / "cache"))  # A new cache, because another test may have read the same log.
    told: list[tuple[str, int]] = []

    load([data], work=Work(text_read=lambda log, count: told.append((log, count))))

    assert told == [("small/some.log", NATIVE.stat().st_size)]


def test_limits_of_a_site_are_read_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text("[limits]\nlog_text_mb = 0.5\nlog_numbers = 7\n")
    (tmp_path / "wrong.toml").write_text("[limits]\nlog_text_mb = 0\n")

    assert read_settings(tmp_path / "site.toml").limits.limits == ReadingLimits(text_bytes=500_000, numbers=7)
    assert SiteSettings().limits.limits == ReadingLimits(text_bytes=64_000_000, numbers=500_000)
    with pytest.raises(UnreadableInput, match=r"wrong.toml: .*limits.log_text_mb"):
        read_settings(tmp_path / "wrong.toml")


@pytest.mark.site
def test_verbose_report_names_logs_that_were_read_and_logs_that_were_left_out(data: Path, tmp_path: Path) -> None:
    # Few long lines, because the time depends on the number of lines.
    add(data, "large", grown(b'note text="%b"\n' % (b"more " * 2000), 18_000_000))
    (tmp_path / "site.toml").write_text("[limits]\nlog_text_mb = 17\n")
    words = ["report", "--data", str(data), "--site", str(tmp_path / "site.toml"), "--output", str(tmp_path / "site")]

    done = run_tacholog_text(*words, "--verbose", environment={"TACHOLOG_PLOTLY": "full"})

    assert done.returncode == 2
    assert "reading large/some.log\n" in done.stderr
    assert f"tacholog: {data}/large/some.log: unreadable: its text is longer than 17 MB, the limit (log_text_mb), so it was not read" in done.stderr
    quality = (tmp_path / "site/quality.html").read_text()
    assert "its text is longer than 17 MB, the limit (log_text_mb), so it was not read" in quality
    assert [path for path in (tmp_path / "site/raw").rglob("*.gz") if len(content_of(path)) > 1_000_000] == []
