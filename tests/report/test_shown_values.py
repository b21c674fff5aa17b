"""Each number of a page links to a log line with the same value, or is a statistic that the page of definitions explains."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tests.report.walker import Walk, points, walk

from tacholog.render.tables.definitions import STATISTICS

# Ignore warnings about old parts of Sphinx: MyST and the theme still use these parts.
pytestmark = [pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@pytest.fixture(scope="module")
def walked(site: Path) -> Walk:
    return walk(site)


def test_each_number_has_a_link_to_its_log_line_or_the_name_of_its_statistic(walked: Walk) -> None:
    assert walked.wrong == []
    assert walked.linked > 150
    assert walked.named.total() > 100


def test_each_point_of_a_figure_links_to_a_line_with_its_value(site: Path) -> None:
    count, wrong = points(site)

    assert wrong == []
    assert count > 20


def test_walk_reports_a_changed_number_and_a_number_without_a_source(site: Path, tmp_path: Path) -> None:
    changed = tmp_path / "site"
    shutil.copytree(site / "rti-connext-dds", changed / "rti-connext-dds")
    shutil.copytree(site / "logs", changed / "logs")
    page = changed / "rti-connext-dds" / "udpv4.html"
    text = page.read_text()
    assert text.count(">473</a>") > 1
    # The two replacements make two errors. First, no log contains 569: it is the rounded mean of 472.8 and 664.2.
    # Second, a count without its class does not have the name of a statistic.
    page.write_text(text.replace(">473</a>", ">569</a>", 1).replace('<span class="stat-count">', "<span>", 1))

    wrong = walk(changed).wrong

    assert len([said for said in wrong if "'569' is not what its line says" in said]) == 1
    assert len([said for said in wrong if "has neither a line nor a name" in said]) == 1


def test_each_statistic_is_explained_on_the_page_of_definitions(site: Path, walked: Walk) -> None:
    page = (site / "definitions.html").read_text()

    for name, statistic in STATISTICS.items():
        row = re.search(rf"<tr>(?:(?!</tr>).)*<code>{re.escape(name)}</code>.*?</tr>", page, re.DOTALL)
        assert row, name
        assert f">{statistic.name}<" in row[0]
    assert walked.named.keys() - {"std-doc"} <= STATISTICS.keys()
