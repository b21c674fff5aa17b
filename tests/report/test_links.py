"""Each number on a page links to its log line. On the log page, the same number is marked."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

# Ignore warnings about old parts of Sphinx: MyST and the theme still use these parts.
pytestmark = [pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]


def test_points_of_a_distribution_link_to_a_log_line_but_not_to_a_single_number(site: Path) -> None:
    html = (site / "tacholog-perftest/udp.html").read_text()
    figure = html[html.index('id="tl-distribution') :]

    drawn = re.search(r'<script type="application/json" class="tl-spec">(.*?)</script>', figure)
    assert drawn
    first = json.loads(drawn[1])["data"][0]
    page_of_log = re.search(r'class="tl-targets"[^>]*><a href="([^"]*)"', figure)
    assert page_of_log
    line = first["customdata"][0][1]
    log = (site / "tacholog-perftest" / page_of_log[1]).resolve().read_text()
    assert re.search(rf'<li id="L{line}" [^>]*>.*?latency payload_bytes=64', log)
    assert "number" not in first["meta"]


def test_link_to_a_number_ends_with_its_permanent_id_and_the_line_marks_the_number(site: Path) -> None:
    log = (site / "logs/rti/copy/sub.log.html").read_text()

    row = re.search(r'<li id="L2" .*?</li>', log)

    assert row
    assert '<b id="L2:goodput.mean">1221.7</b>' in row[0]
    assert 'href="../logs/rti/copy/sub.log.html#L2:goodput.mean"' in (site / "rti-connext-dds/shmem.html").read_text()
