"""The highest sustained rate in a diff and on a page: the lower bound is compared, and only with the same goal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.command import run_tacholog_text

import tacholog
from tacholog.render.figures.figures import sustained_over_size
from tacholog.render.html import Html
from tacholog.render.links import Links
from tacholog.render.tables.results import columns_of
from tacholog.render.tables.summary import sustain_summary
from tacholog.render.tables.trials import trials_tables
from tacholog.view.views import Selection, view_of

LOG = Path(__file__).resolve().parents[1] / "formats/native/sustain-mock.log"
RATE = re.compile(r"(?<= rate_per_s=)[0-9.]+(?= passed_s=)")


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """Tests write a changed copy of the log to this path."""
    return tmp_path / "new.log"


def test_diff_shows_the_lower_bound_of_the_sustained_rate(changed: Path) -> None:
    changed.write_text(RATE.sub("1234.5", LOG.read_text(encoding="utf-8")), encoding="utf-8")

    shown = run_tacholog_text("diff", LOG, changed).stdout

    assert "highest sustained rate lower-bound" in shown
    assert "1.23 k msg/s" in shown
    assert "upper-bound" not in shown


def test_rates_with_different_goals_are_not_compared(changed: Path) -> None:
    changed.write_text(LOG.read_text(encoding="utf-8").replace("goal_latency_ns=20000000", "goal_latency_ns=1000000"), encoding="utf-8")

    shown = run_tacholog_text("diff", LOG, changed).stdout

    assert "goal: p99 at most 20 ms, no loss, exceed ratio 0.5 -> p99 at most 1 ms, no loss, exceed ratio 0.5" in shown


def test_page_states_the_sustained_rate_and_does_not_plot_the_trials_over_time() -> None:
    part = view_of(tacholog.load(LOG)).only(Selection(test="sustain"))
    series = part.series()

    said = str(sustain_summary(series, Links()))
    headings = [column.heading for column in columns_of(series[0])]
    figure = sustained_over_size(series)

    assert 'The goal (<span class="stat-label">p99 at most 20 ms, no loss, exceed ratio 0.5</span>) is kept up to ' in said
    assert headings[:2] == ["sustained rate", "goal missed at"]
    assert figure is not None
    assert part.intervals() == []


def cells_of(shown: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", shown)
    return [
        [re.sub(r"<[^>]*>", "", cell).replace("\u202f", "").replace("\u00a0", " ") for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]
        for row in rows
    ]


def test_page_lists_all_trials_in_order_with_their_results() -> None:
    part = view_of(tacholog.load(LOG)).only(Selection(test="sustain"))

    shown = str(trials_tables(part.trials(), part.series(), Links("logs"), "numbers"))

    head, *rows = cells_of(shown)
    assert head == [
        "size",
        "run",
        "trial",
        "rate asked formsg/s",
        "medianµs",
        "99 %µs",
        "offered ratemsg/s",
        "lost",
        "loss%",
        "durations",
        "goal kept",
    ]
    assert len(rows) == 15
    assert [cell for place, cell in enumerate(rows[0]) if place != 1] == ["64 B", "1", "400", "574", "1928", "399", "0", "0", "0.25", "yes"]
    assert [cell for place, cell in enumerate(rows[2]) if place != 1] == ["64 B", "3", "6400", "275251", "544735", "5557", "0", "0", "0.8", "no"]
    assert [row[-1] for row in rows].count("no") == 7
    assert re.search(r'href="doc:logs/[^"]*#L12:trials_passed\.total">yes</a>', shown)
    assert '<details class="tl-each" id="numbers-0-trials" open>' in shown


def test_long_list_of_trials_is_folded_and_loaded_separately(changed: Path) -> None:
    log = LOG.read_text(encoding="utf-8")
    last = next(line for line in log.splitlines(keepends=True) if " index=14 " in line)
    changed.write_text(log.replace(last, "".join(last.replace("index=14", f"index={place}") for place in range(14, 44))), encoding="utf-8")
    part = view_of(tacholog.load(changed)).only(Selection(test="sustain"))
    kept: dict[str, Html] = {}

    def keep(place: str, content: Html) -> tuple[str, Html]:
        kept[place] = content
        return "part.js", Html("elsewhere")

    shown = str(trials_tables(part.trials(), part.series(), Links(), "numbers", keep))

    assert 'data-part="part.js"' in shown
    assert "<table" not in shown
    assert len(cells_of(str(kept["numbers-0-trials"]))) == 45


def test_rates_without_trials_have_no_table_of_trials() -> None:
    part = view_of(tacholog.load(LOG)).only(Selection(test="sustain"))

    assert not trials_tables([], part.series(), Links(), "numbers")
