"""A raw log as a page."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tacholog.report.facts import Fact, Run
from tacholog.report.logpage import labels_of, log_page


def test_a_log_with_colours_says_that_it_is_shown_without_them(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("plain\n\x1b[32mgreen\x1b[0m\n\x1b[2Kgone\n")

    shown = log_page(tmp_path / "a.log", None, [])

    assert "2 lines are shown without the control sequences (colours, moves of the cursor) that they hold; the raw file has them." in shown
    assert "<code>green</code>" in shown


def test_a_log_without_control_sequences_says_nothing_of_them(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("plain\nbell \x07\n")

    assert "control sequences" not in log_page(tmp_path / "a.log", None, [])


def test_a_number_that_stands_alone_on_its_line_is_named_beside_it(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("32\n21\n1.3\n")
    record = Fact(run=Run(run="r"), log="a.log", line=1, last_line=3, payload_bytes=32, metric="latency", statistic="mean", value=21e3, value_line=2)
    whole = msgspec.structs.replace(record, last_line=1, value_line=None)

    shown = log_page(tmp_path / "a.log", None, [], labels_of([record]))

    assert '<code>21</code><span class="tl-what">32\u00a0B: Latency, mean</span>' in shown
    assert shown.count("tl-what") == 1
    assert labels_of([whole]) == {}
