"""All numbers of the whole site of the checkout's data, some fifty thousand: see `tests.report.walker`. No browser is needed for them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.report.walker import points, walk

# What MyST and the theme still use of Sphinx is their business.
pytestmark = [
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.mark.nightly  # tests/report walks over the numbers of a smaller site for each change
def test_each_number_of_the_whole_site_leads_to_a_line_that_says_it_or_names_its_statistic(site: Path) -> None:
    found = walk(site)

    assert found.wrong == []
    assert found.linked > 20_000
    assert found.linked + found.named.total() > 35_000


def test_each_point_of_all_figures_leads_to_a_line_that_says_it(site: Path) -> None:
    count, wrong = points(site)

    assert wrong == []
    assert count > 1_500
