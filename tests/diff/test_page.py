"""The page of a diff."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser

import msgspec
import numpy as np
from numpy.typing import NDArray
from tests.diff.conftest import NEW_TURNS, OLD_TURNS

from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy
from tacholog.compare.result import Comparison
from tacholog.render.diff.page import html
from tacholog.runs.manifest import Host
from tacholog.store.frames import Dataset

Compared = Callable[..., Comparison]
Side = Callable[..., Dataset]
VOID = {"meta", "br"}


class Tags(HTMLParser):
    """Lists all elements of a page, and the elements that were not closed in the right order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.seen.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def parsed(page: str) -> Tags:
    tags = Tags()
    tags.feed(page)
    return tags


def test_each_run_of_each_row_is_shown_as_a_dot(compared: Compared, noise: NDArray[np.float64]) -> None:
    page = html(compared(noise[0], noise[1] * np.array([[1.1], [0.8], [1.0], [1.0]])))

    tags = parsed(page)
    assert (tags.open, tags.wrong) == ([], [])
    for side in ("old", "new"):
        paths = re.findall(rf'<path d="([^"]*)" class="{side}"/?>', page)
        assert [path.count("M") for path in paths] == [12, 12, 12, 12]
    assert page.count('class="rt ') == 4


def test_section_of_worse_rows_is_open_and_section_of_unchanged_rows_is_folded(compared: Compared, noise: NDArray[np.float64]) -> None:
    page = html(compared(noise[0], noise[1] * np.array([[1.1], [1.0], [1.0], [1.0]])))

    assert page.index('id="worse"') < page.index('id="no_change"')
    assert page.count("<details open>") == 1


def test_sections_of_better_and_worse_rows_are_open_and_other_sections_are_folded(side: Side, noise: NDArray[np.float64]) -> None:
    factor = np.array([[1.1], [0.8], [1.0], [1.0]])
    old, new = side(noise[0], OLD_TURNS), side(noise[1] * factor, NEW_TURNS)
    page = html(compare(old, msgspec.structs.replace(new, results=new.results.assign(transport=["shm", "shm", "shm", "udp"] * 12)), Policy()))

    assert re.findall(r'<section id="(\w+)"[^>]*>\n<details( open)?>', page) == [
        ("worse", " open"),
        ("better", " open"),
        ("no_change", ""),
        ("apart", ""),
        ("runs", ""),
    ]


def test_first_section_is_open_if_no_row_is_better_or_worse(side: Side, noise: NDArray[np.float64]) -> None:
    page = html(compare(side(noise[0], range(12)), side(noise[1] * 2, range(12, 24), session="second"), Policy()))

    assert re.findall(r'<section id="(\w+)"[^>]*>\n<details( open)?>', page)[0] == ("differs_worse", " open")
    assert page.count("<details open>") == 1


def test_page_loads_nothing_and_runs_no_script(compared: Compared, noise: NDArray[np.float64]) -> None:
    page = html(compared(noise[0], noise[1], transport="<script>alert(1)</script>"))

    assert not {"script", "link", "img"} & set(parsed(page).seen)
    assert "default-src 'none'" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_values_far_beyond_the_axis_become_arrows(compared: Compared, noise: NDArray[np.float64]) -> None:
    page = html(compared(noise[0], noise[1] * 1000))

    assert len(re.findall(r'<path d="M[^"]*" class="dot"', page)) == 4


def test_value_has_three_digits_and_its_title_has_all_digits(compared: Compared) -> None:
    page = html(compared(np.full((1, 12), 10_000.0), np.full((1, 12), 11_014.5)))

    assert '<td class="n stat-median" title="11.0145\u00a0µs">11\u00a0µs</td>' in page


def test_common_reason_of_a_verdict_is_stated_once_and_other_reasons_stay_in_their_rows(
    side: Side, noise: NDArray[np.float64], other_host: Host
) -> None:
    page = html(compare(side(noise[0], OLD_TURNS), side(noise[1], NEW_TURNS, host=other_host), Policy()))

    assert page.count("Made-up CPU -&gt; Another CPU") == 1
    assert '<p class="shared stat-evidence">In all of these rows: ' in page
    assert '<td class="r stat-evidence">' not in page[page.index('id="apart"') :]
    assert (parsed(page).open, parsed(page).wrong) == ([], [])


def test_single_row_keeps_its_reason_in_the_row(side: Side, noise: NDArray[np.float64], other_host: Host) -> None:
    page = html(compare(side(noise[0, :1], OLD_TURNS), side(noise[1, :1], NEW_TURNS, host=other_host), Policy()))

    assert 'class="shared ' not in page
    assert "CPU model: Made-up CPU -&gt; Another CPU" in page[page.index('<td class="r stat-evidence">') :]


def test_runs_with_clocks_in_several_time_zones_are_listed_in_order_of_time(side: Side) -> None:
    early, middle, late = "2026-01-02T06:00:00+09:00", "2026-01-02T01:00:00Z", "2026-01-01T23:30:00-05:00"

    report = compare(side(np.array([[10.0, 10.1]]), start_time=[late, early]), side(np.array([[10.2]]), start_time=[middle]), Policy())

    assert (report.old.first, report.old.last) == (early, late)
    assert re.findall(r"2026-01-0\dT[\d:]+[Z+-][\d:]*", html(report))[-3:] == [early, middle, late]
