"""A raw log as a page."""

from __future__ import annotations

from pathlib import Path

from tacholog.report.logpage import log_page


def test_a_log_with_colours_says_that_it_is_shown_without_them(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("plain\n\x1b[32mgreen\x1b[0m\n\x1b[2Kgone\n")

    shown = log_page(tmp_path / "a.log", None, [])

    assert "2 lines are shown without the control sequences (colours, moves of the cursor) that they hold; the raw file has them." in shown
    assert "<code>green</code>" in shown


def test_a_log_without_control_sequences_says_nothing_of_them(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("plain\nbell \x07\n")

    assert "control sequences" not in log_page(tmp_path / "a.log", None, [])
