"""A table can be written as HTML, Markdown, terminal text and CSV. All forms have the same cells, and text of strangers never becomes markup."""

from __future__ import annotations

import csv
import re

from tacholog.render.html import tag
from tacholog.render.table import Table, TableCell, TableColumn, TableRow, as_csv, empty, exact, head, html, markdown, scroller, terminal, words_table

HOSTILE = '<b onmouseover="x">|`$\x1b[2J'
COLUMNS = [TableColumn("size"), TableColumn("median", "µs", align="right"), TableColumn("remark")]
ROWS = [
    TableRow([head("64 B", value=64), TableCell("9.6", exact(9600.0), "doc:log#L3", "9.1\u201311", pad="0", title="9 600 ns"), TableCell("steady")]),
    TableRow([head("1 KiB", value=1024), empty("not stated", marks=("loss",)), TableCell("few runs")], "tl-alike"),
]
TABLE = Table("Latency", COLUMNS, [ROWS], "tl-table", "here")


def test_table_shows_a_number_with_its_unit_its_range_and_its_link() -> None:
    page = str(html(TABLE))

    assert '<th scope="col">median<span class="tl-unit">µs</span></th>' in page
    assert '<td title="9 600 ns" data-v="9600"><a href="doc:log#L3">9.6</a><span class="tl-pad" aria-hidden="true">0</span>' in page
    assert '<span class="tl-range">9.1\u201311</span></td>' in page
    assert '<tr class="tl-alike"><th scope="row" data-v="1024">1 KiB</th>' in page


def test_empty_cell_states_the_reason_and_its_mark_links_to_the_note() -> None:
    assert '<td class="tl-null">not stated<a href="#here-mark-loss" class="tl-mark"' in str(html(TABLE))


def test_each_cell_of_a_text_table_contains_the_column_name_for_phones() -> None:
    page = str(html(words_table("Runs", ("run", "host"), [["run-1", tag("code", "lab")]])))

    assert '<td class="tl-text" data-head="host"><code>lab</code></td>' in page
    assert '<th scope="col" class="tl-text">host</th>' in page


def test_table_scrolls_in_a_region_with_its_name() -> None:
    assert str(scroller(TABLE)).startswith(
        '<div class="tl-tools"></div><div class="tl-scroll" role="region" aria-label="Latency" tabindex="0"><table class="tl-table">'
    )


def test_text_of_strangers_is_escaped_by_each_writer() -> None:
    cell = TableCell(HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE, title=HOSTILE, class_=HOSTILE, head=HOSTILE, pad=HOSTILE)
    table = Table(HOSTILE, [TableColumn(HOSTILE, HOSTILE, HOSTILE, HOSTILE)], [[TableRow([cell], HOSTILE)]], HOSTILE, HOSTILE)
    page = str(scroller(table))

    assert "<b" not in page
    assert 'onmouseover="' not in page
    assert "\x1b" not in "".join([page, *markdown(table), *terminal(table)])
    for line in (markdown(table)[0], markdown(table)[2]):
        assert not re.search(r"(?<!\\)[`$]|<", line)
        assert len(re.findall(r"(?<!\\)\|", line)) == len("||")


def test_markdown_has_the_same_cells_and_highlights_the_best() -> None:
    best = TABLE._replace(bodies=[[TableRow([head("64 B"), TableCell("9.6", best=True), TableCell("steady")])]])

    assert markdown(TABLE) == ["| size | median | remark |", "|---|--:|---|", "| 64 B | 9.6 | steady |", "| 1 KiB | not stated | few runs |"]
    assert markdown(best)[2] == "| 64 B | **9.6** | steady |"


def test_terminal_table_is_aligned_and_omits_columns_without_values() -> None:
    silent = TABLE._replace(columns=[*COLUMNS, TableColumn("note")], bodies=[[TableRow([*row.cells, TableCell("-")]) for row in ROWS]])

    assert terminal(silent) == ["size       median  remark", "64 B          9.6  steady", "1 KiB  not stated  few runs"]


def test_csv_has_numbers_with_all_digits_and_empty_fields_for_missing_numbers() -> None:
    formula = TABLE._replace(bodies=[[*ROWS, TableRow([head("=1+1"), TableCell("2"), TableCell()])]])

    assert list(csv.reader(as_csv(formula).splitlines())) == [
        ["size", "median [µs]", "remark"],
        ["64", "9600", "steady"],
        ["1024", "", "few runs"],
        ["'=1+1", "2", ""],
    ]
