"""Check all numbers of the site of the checkout (about fifty thousand) with `tests.report.walker`. The tests need no browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.report.walker import points, walk

# Ignore warnings about old parts of Sphinx: MyST and the theme still use these parts.
pytestmark = [
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.mark.nightly  # tests/report checks the numbers of a smaller site at each change.
def test_each_number_of_the_whole_site_links_to_its_log_line_or_names_its_statistic(site: Path) -> None:
    found = walk(site)

    assert found.wrong == []
    assert found.linked > 20_000
    assert found.linked + found.named.total() > 35_000


def test_each_point_of_all_plots_links_to_a_line_with_its_value(site: Path) -> None:
    count, wrong = points(site)

    assert wrong == []
    assert count > 1_500
