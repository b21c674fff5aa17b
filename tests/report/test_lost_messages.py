"""Next to a rate, a page states how many messages were lost. It also states why a system has no result for a message size."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.report.test_rows_of_runs import LATENCY, NATS, UDP, add, series_in, table_in

from tacholog.render.links import Links
from tacholog.render.tables.results import loss_line
from tacholog.render.tables.side_by_side import side_by_side
from tacholog.render.tables.summary import throughput_summary
from tacholog.site.build import build_site
from tacholog.site.verification.site import verify_site
from tacholog.store.load import load
from tacholog.view.page_index import page_index
from tacholog.view.side_by_side import side_by_side_of
from tacholog.view.views import view_of


def beside_in(root: Path, size: int = 65536) -> str:
    """Return the tables of the page that compares all systems at one size."""
    view = view_of(load([root]))
    compared = side_by_side_of(view, page_index([]))
    page = next(each for each in compared.slices if each.size == size)
    return str(side_by_side(compared, page, {}, Links("logs"), "b"))


def test_rate_is_shown_with_its_loss(tmp_path: Path) -> None:
    for system in ("A", "B"):
        add(tmp_path, system, UDP, system)

    shown = beside_in(tmp_path)

    rows = table_in(shown, "Side by side")[1:]
    assert [re.sub(r"\s+", " ", row[-1].replace("\u202f", "")) for row in rows] == ["0.0315 80.9 % lost"] * 2
    line = next(number for number, text in enumerate(UDP.splitlines(), 1) if text.startswith("throughput payload_bytes=65536"))
    assert re.search(rf'<a href="doc:logs/A/sub.log#L{line}:loss.total"[^>]*>80.9\u00a0%</a> lost', shown)


def test_rate_of_several_runs_is_shown_with_the_largest_loss(tmp_path: Path) -> None:
    whole = UDP.replace("received=9386 lost=39656", "received=49042 lost=0")
    for system in ("A", "B"):
        for number, log in enumerate((UDP, whole, whole)):
            add(tmp_path, f"{system}/{number}", log, system)

    shown = beside_in(tmp_path)

    assert re.search(r'>up to <a href="doc:logs/A/0/sub.log#L\d+:loss.total">80.9\u00a0%</a> lost', shown)


def test_rate_of_runs_in_two_groups_is_shown_with_the_loss_of_each_group(tmp_path: Path) -> None:
    less = UDP.replace("received=9386 lost=39656", "received=48552 lost=490")  # a loss of 1 %
    for system in ("A", "B"):
        for number, log in enumerate((UDP, UDP, UDP, less, less, less)):
            add(tmp_path, f"{system}/{number}", log, system)

    text = re.sub("<[^>]*>", "", beside_in(tmp_path)).replace("\u00a0", " ")

    assert "some runs lost 0.999 %, others 80.9 %" in text


def test_summary_does_not_state_zero_loss_if_one_of_several_runs_lost_messages(tmp_path: Path) -> None:
    whole = UDP.replace("received=9386 lost=39656", "received=49042 lost=0")
    for number, log in enumerate((whole, UDP, whole)):
        add(tmp_path, str(number), log)

    shown = str(throughput_summary(series_in(tmp_path), Links("logs")))

    said = "Up to 80.9\u00a0% of the messages were lost in a run (64\u00a0KiB, median 0\u00a0%)."
    assert re.sub("<[^>]*>", "", shown).endswith(said)
    assert re.search(r'Up to <strong><a href="doc:logs/1/sub.log#L\d+:loss.total">80.9', shown)


def test_line_above_folded_tables_states_the_largest_loss(tmp_path: Path) -> None:
    add(tmp_path / "lossy", "1", UDP)
    add(tmp_path / "whole", "1", NATS)

    said = re.sub("<[^>]*>", "", str(loss_line("Throughput", series_in(tmp_path / "lossy"), Links("logs"))))

    assert said == "Throughput: up to 80.9\u00a0% of the messages were lost (64\u00a0KiB)."
    assert loss_line("Throughput", series_in(tmp_path / "whole"), Links("logs")) == ""


def test_line_above_folded_tables_states_the_loss_of_the_worst_run(tmp_path: Path) -> None:
    less = UDP.replace("received=9386 lost=39656", "received=19386 lost=29656")  # A loss of 60.5 %.
    for number, log in enumerate((less, UDP, less)):
        add(tmp_path, str(number), log)

    said = str(loss_line("Throughput", series_in(tmp_path), Links("logs")))

    assert "up to 80.9\u00a0% of" in re.sub("<[^>]*>", "", said)
    assert re.search(r'<a href="doc:logs/1/sub.log#L\d+:loss.total">80.9', said)


def test_cell_of_a_missing_percentile_says_that_there_are_too_few_samples(tmp_path: Path) -> None:
    for system in ("A", "B"):
        add(tmp_path, system, LATENCY.replace(" p99_ns=270591", ""), system)

    rows = table_in(beside_in(tmp_path, 1024), "Side by side")[1:]

    assert [row[-1] for row in rows] == ["too few samples"] * 2


def test_missing_processor_time_of_a_stream_is_shown_as_not_stated(tmp_path: Path) -> None:
    add(tmp_path, "A", UDP, "A")
    cost = "cost payload_bytes=65536 test=throughput messages=9386 sides_ns=41084000\n"
    add(tmp_path, "B", re.sub(r"(throughput payload_bytes=65536 .*\n)", rf"\1{cost}", UDP), "B")

    rows = table_in(beside_in(tmp_path), "Side by side")[1:]

    assert [row[-1] for row in rows if row[0].startswith("A")] == ["not stated"]


@pytest.mark.site
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning", "ignore::DeprecationWarning")  # The theme uses old parts of Sphinx.
def test_transport_page_states_the_loss_above_its_folded_tables(tmp_path: Path) -> None:
    for name, log in (("latency", LATENCY), ("throughput", UDP)):
        add(tmp_path / "data", name, log)

    page = (build_site([tmp_path / "data"], tmp_path / "site", tmp_path / "work").parent / "tacholog-perftest" / "udp.html").read_text()

    line = re.search(r'<p class="tl-note tl-loss">(.*?)</p>', page)
    assert line
    assert re.sub("<[^>]*>", "", line[1]) == "Throughput: up to 80.9\u00a0% of the messages were lost (64\u00a0KiB)."
    assert page[: line.start()].count("<details") == page[: line.start()].count("</details>")
    assert "<details" in page[line.end() : page.index("Throughput", line.end())]
    assert verify_site(tmp_path / "site").findings == ()
