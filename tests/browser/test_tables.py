"""Tables with sorting, filter and copy, and the comparison page: the choices of a reader are in the address."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.browser.conftest import ROOT, open_everything, open_folds, unfold
from tests.browser.patience import draw, patient

from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy
from tacholog.compare.sides import find_all
from tacholog.render.diff.page import html

Opener = Callable[..., AbstractContextManager[Page]]
DIFF = "diffs/tacholog-perftest-0.3.0-to-0.4.0.html"

pytestmark = [
    pytest.mark.browser,
    # Ignore warnings about old parts of Sphinx: MyST and the theme still use these parts.
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def values(page: Page, column: int) -> list[float | None]:
    """Return the numbers in a column of the first table, in the current order of its rows; ``None`` for a cell without a number."""
    script = f"[...document.querySelectorAll('.tl-table tbody tr')].map((row) => row.cells[{column}].querySelector('[data-v]')?.dataset.v ?? null)"
    return [None if value is None else float(value) for value in page.evaluate(script)]


def query(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def test_table_is_sorted_by_numbers_and_cells_without_a_number_stay_last(opened: Opener) -> None:
    with opened("systems.html") as page:
        head = page.locator(".tl-table thead th").nth(3)
        for state, reverse in (("ascending", False), ("descending", True)):
            head.locator("button").click()
            known = [value for value in values(page, 3) if value is not None]

            assert head.get_attribute("aria-sort") == state
            assert known == sorted(known, reverse=reverse)
            assert values(page, 3)[: len(known)] == known


def test_sort_and_filter_are_kept_in_the_address_and_restored(opened: Opener) -> None:
    with opened("systems.html") as page:
        page.locator(".tl-table thead th").nth(3).locator("button").press("Enter")
        page.get_by_label("Filter").first.fill("perftest")
        rows = page.locator(".tl-table tbody tr:visible").all_inner_texts()
        address = page.url
        page.goto("about:blank")
        page.goto(address)

        assert query(page) == {"systems-and-transports.sort": ["4"], "systems-and-transports.filter": ["perftest"]}
        assert page.locator(".tl-table tbody tr:visible").all_inner_texts() == rows
        assert all("perftest" in row for row in rows)
        assert page.get_by_role("status").first.inner_text().startswith(f"{len(rows)} of ")


def found_rows(page: Page) -> list[str]:
    names = page.locator(".tl-diff table.rows > tbody > tr:not(.why):visible > th").all_inner_texts()
    return [name.replace("\u00a0", " ") for name in names]


def test_table_of_sizes_has_no_filter_and_table_of_runs_has_a_filter(opened: Opener) -> None:
    filters = """() => [...document.querySelectorAll('.tl-tools:has(input)')]
        .map((tools) => tools.nextElementSibling.querySelector('thead th').textContent)"""
    with opened("rti-connext-dds/shmem.html") as page:
        open_everything(page)

        assert page.locator("tbody tr").count() > 100
        assert page.evaluate(filters) == []
    with opened("tacholog-perftest/udp.html") as page:
        assert "run" in page.evaluate(filters)


def test_filter_finds_rows_of_a_comparison_by_transport_size_metric_and_verdict(opened: Opener) -> None:
    with opened(DIFF) as page:
        folds = page.locator(".tl-diff section > details")
        before = folds.evaluate_all("(all) => all.map((fold) => fold.open)")
        page.get_by_label("Filter").fill("better uds p99")
        one, below = found_rows(page), page.locator(".tl-diff tr.why:visible").all_inner_texts()
        page.get_by_label("Filter").fill("uds 64 KiB p50")
        several = found_rows(page)
        address = page.url
        page.goto("about:blank")
        page.goto(address)
        again = found_rows(page)
        said = page.locator(".tl-diff > .tl-tools [role=status]").inner_text()
        heads = page.locator(".tl-diff section .h")
        of_heads = [int(count) for count in re.findall(r"\((\d+) of \d+\)", " ".join(heads.all_inner_texts()))]
        page.get_by_label("Filter").fill("")

        assert one == ["latency p99, uds, copy, 64 KiB"]
        assert [text.startswith("14 % better pair by pair") for text in below] == [True]
        assert len(several) > 1
        assert all("uds" in name and "64 KiB" in name and "p50" in name for name in several)
        assert again == several
        assert re.fullmatch(rf"{len(several)} of \d+ listed rows", said)
        assert sum(of_heads) == len(several)
        assert "Better (7)" in heads.all_inner_texts()
        assert folds.evaluate_all("(all) => all.map((fold) => fold.open)") == before
        assert sum(before) == 3  # Open at the start: the folds "better", "measured better" and "higher loss".


def test_filter_for_4_kib_does_not_find_64_kib(opened: Opener) -> None:
    with opened(DIFF) as page:
        page.get_by_label("Filter").fill("4 KiB")
        names = found_rows(page)

        assert names
        assert not [name for name in names if "64 KiB" in name]


def test_comparison_of_releases_is_complete_without_scripts(opened: Opener) -> None:
    with opened(DIFF, scripts=False) as page:
        for summary in page.locator(".tl-diff summary").all():
            if not summary.evaluate("(summary) => summary.parentElement.open"):
                summary.click()

        assert page.locator(".tl-diff table.rows > tbody > tr:visible").count() == page.locator(".tl-diff table.rows > tbody > tr").count() > 200
        assert not page.locator(".tl-tools:visible").count()


def test_link_to_the_rows_of_a_verdict_unfolds_these_rows(opened: Opener) -> None:
    with opened(DIFF) as page:
        page.locator(".tl-diff .counts li.inconclusive a").click()

        page.locator("section.inconclusive table.rows").first.wait_for()


def test_standalone_comparison_fits_a_phone(browser: Browser, tmp_path: Path) -> None:
    old, new = find_all(["0.3.0", "0.4.0"], [ROOT / "data"])
    (tmp_path / "diff.html").write_text(html(compare(old, new, Policy(), ("0.3.0", "0.4.0"))), encoding="utf-8")
    page = patient(browser, 375, 800).new_page()
    page.goto((tmp_path / "diff.html").as_uri())
    open_everything(page)

    assert page.evaluate("document.documentElement.scrollWidth") == 375
    page.close()


def test_copied_table_has_plain_numbers_with_units_in_the_header(opened: Opener) -> None:
    with opened("rti-connext-dds/shmem.html") as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        open_folds(page)
        page.locator("section.tl-series .tl-tools button", has_text="Copy as CSV").first.click()
        page.get_by_text("Copied").wait_for()

        lines = page.evaluate("navigator.clipboard.readText()").splitlines()

    assert lines[0].startswith("size,received rate (msg/s),")
    assert lines[1].split(",")[1].isdigit()
    assert all(len(line.split(",")) == len(lines[0].split(",")) for line in lines)


def test_columns_with_many_conditions_have_short_heads_and_copies_state_all_conditions(opened: Opener) -> None:
    with opened("redis/tcp.html") as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        table = page.locator("table.tl-beside").first
        height = table.locator("thead").evaluate("(head) => head.offsetHeight")
        heads = table.locator("thead").inner_text()
        page.get_by_role("button", name="Copy as CSV").first.click()
        page.get_by_text("Copied").wait_for()

        copied = page.evaluate("navigator.clipboard.readText()").splitlines()[0]
        page.get_by_text("All conditions of these columns").first.click()
        below = page.get_by_role("region", name="Conditions that differ").first.inner_text()

    assert height < 160
    assert "command get" in heads
    assert "copies in memory" not in heads
    assert "reliable, demand 1, no batches, copies in memory, replication 1, command get, requests 40000, median (µs)" in copied
    assert "copies in memory" in below


def test_points_of_a_plot_can_be_downloaded_in_the_units_of_the_data(opened: Opener) -> None:
    with opened("rti-connext-dds/shmem.html") as page:
        draw(page.locator(".tl-figure").first)
        with page.expect_download() as download:
            page.locator(".tl-figure").first.get_by_role("link", name="CSV").click()

        lines = download.value.path().read_text().splitlines()

    assert download.value.suggested_filename.endswith(".csv")
    assert lines[0] == "series,Message size (bytes),Payload received (bit/s)"
    assert '"copy, default",32,664200000' in lines


def test_plot_can_be_downloaded_as_a_picture_with_a_readable_background(opened: Opener) -> None:
    alpha = """async (data) => {
        const image = new Image();
        image.src = `data:image/png;base64,${data}`;
        await image.decode();
        const canvas = Object.assign(document.createElement('canvas'), {width: 2, height: 2});
        canvas.getContext('2d').drawImage(image, 0, 0);
        return [image.width, canvas.getContext('2d').getImageData(1, 1, 1, 1).data[3]];
    }"""
    with opened("rti-connext-dds/shmem.html", "dark") as page:
        figure = page.locator(".tl-figure").first
        draw(figure)
        figure.hover()
        with page.expect_download() as download:
            figure.locator(".modebar-btn").first.click()
        width, opaque = page.evaluate(alpha, base64.b64encode(download.value.path().read_bytes()).decode())

        assert download.value.suggested_filename == f"{figure.get_attribute('id')}.png"
        assert width > 1000
        assert opaque == 255


@pytest.mark.parametrize("name", ["downloads.html", "definitions.html", "tacholog-perftest/shm.html"])
def test_tables_are_shown_completely_and_table_headers_stay_visible_below_the_page_header(opened: Opener, name: str) -> None:
    heads = """() => [...document.querySelectorAll('.tl-scroll')].filter((box) => box.offsetHeight > 400).flatMap((box) => {
        scrollTo({top: box.getBoundingClientRect().top + scrollY + 200, behavior: 'instant'});
        const header = document.querySelector('.bd-header').getBoundingClientRect().bottom;
        if (box.getBoundingClientRect().top > header) return []; // the page ends before this table gets there
        return [box.querySelector('thead th').getBoundingClientRect().top - header];
    })"""
    with opened(name) as page:
        open_folds(page)
        assert page.evaluate("[...document.querySelectorAll('.tl-scroll')].every((box) => box.scrollHeight <= box.clientHeight)")
        found = page.evaluate(heads)

    assert found
    assert all(abs(gap) < 2 for gap in found)


def test_table_edge_is_marked_while_columns_are_hidden_behind_it(opened: Opener) -> None:
    with opened("iceoryx2/iceoryx2.html", "phone") as page:
        boxes = page.locator(".tl-scroll")
        wide = boxes.evaluate_all("boxes => boxes.findIndex((box) => box.scrollWidth > box.clientWidth)")
        box = boxes.nth(wide)
        expect(box).to_contain_class("tl-more")
        box.evaluate("element => element.scrollTo(99999, 0)")
        expect(box).not_to_contain_class("tl-more")


def test_ratios_refer_to_the_chosen_baseline_and_the_address_keeps_this_baseline(opened: Opener) -> None:
    with opened("compare.html?host=rti-benchmark-lab&metric=latency.p50%40rtt%2F2") as page:
        names = page.locator("#tl-base option").all_inner_texts()
        page.locator("#tl-base").select_option(label=names[1])
        base = page.locator("tr.tl-base")

        assert names[1] in base.inner_text()
        assert "baseline" in base.inner_text()
        assert page.locator(".tl-ratio").count() > 5
        table = page.locator(".tl-result table").inner_text()
        address = page.url
        page.goto("about:blank")
        page.goto(address)
        assert page.locator(".tl-result table").inner_text() == table


def test_ratio_is_the_quotient_of_the_two_numbers(opened: Opener) -> None:
    with opened("compare.html?host=rti-benchmark-lab&metric=latency.p50%40rtt%2F2&size=32") as page:
        rows = page.locator(".tl-result tbody tr")
        base = float(page.locator("tr.tl-base td[data-v]").get_attribute("data-v") or 0)
        for index in range(rows.count()):
            cell = rows.nth(index).locator("td[data-v]").last
            ratio = cell.locator(".tl-ratio")
            if ratio.count():
                assert float(ratio.inner_text().rstrip("\u00d7")) == pytest.approx(float(cell.get_attribute("data-v") or 0) / base, rel=0.005)


def test_reason_replaces_the_ratio_of_a_series_if_its_machine_or_basis_or_definition_differs(opened: Opener) -> None:
    with opened("compare.html?host=any&metric=latency.p50") as page:
        refused = page.locator(".tl-result tbody tr", has_text="no ratio")
        words = " ".join(page.locator(".tl-why").all_inner_texts())

        assert refused.count() > 0
        assert refused.locator(".tl-ratio").count() == 0
        assert "machine: " in words
        assert "basis: round trip -> half round trip" in words or "basis: half round trip -> round trip" in words
        assert "definition of the metric: " in words


def test_systems_and_sizes_can_be_chosen(opened: Opener) -> None:
    with opened("compare.html?host=any&metric=latency.p50") as page:
        unfold(page)
        page.get_by_label("RTI Connext DDS", exact=True).uncheck()
        page.get_by_role("button", name="Sizes: none").click()
        assert "Nothing is chosen" in page.locator(".tl-result").inner_text()
        page.get_by_label("64 B", exact=True).check()

        assert page.locator(".tl-result thead th").all_inner_texts()[2:] == ["64\u00a0B"]
        assert "RTI" not in page.locator(".tl-result tbody").inner_text()
        assert query(page)["size"] == ["64"]


def test_newest_versions_are_shown_until_older_versions_are_ticked(opened: Opener) -> None:
    with opened("compare.html?host=host-087119&metric=latency.p50%40rtt") as page:
        rows = page.locator(".tl-result tbody tr")
        first = rows.count()
        assert not any("version 0.1.0" in text for text in rows.all_inner_texts())

        unfold(page)
        page.get_by_label("0.1.0", exact=True).check()
        assert query(page)["version"] == ["0.1.0|0.2.0"]
        both = rows.all_inner_texts()
        assert len(both) >= 2 * first
        assert any("version 0.1.0" in text for text in both)
        address = page.url
        page.goto("about:blank")
        page.goto(address)
        assert rows.all_inner_texts() == both


def test_baseline_in_an_address_is_shown_even_if_its_version_is_not_ticked(opened: Opener) -> None:
    with opened("compare.html?host=host-087119&metric=latency.p50%40rtt&version=0.1.0") as page:
        page.locator("#tl-base").select_option(index=2)
        name, base = page.locator("#tl-base option").nth(2).inner_text(), query(page)["base"][0]
        page.goto("about:blank")
    with opened(f"compare.html?host=host-087119&metric=latency.p50%40rtt&base={base}") as page:
        assert name in page.locator("tr.tl-base").inner_text()
        assert "version 0.2.0" in page.locator(".tl-result tbody").inner_text()


def test_mean_of_ratios_is_computed_from_the_ticked_sizes(opened: Opener) -> None:
    with opened("compare.html?host=rti-benchmark-lab&metric=latency.p50%40rtt%2F2&size=32%7C64") as page:
        assert page.locator(".tl-result thead th").nth(1).inner_text() == "mean ratio, 2 sizes"
        row = page.locator(".tl-result tbody tr:not(.tl-base)").first
        ratios = [float(text.rstrip("\u00d7")) for text in row.locator("td .tl-ratio").all_inner_texts()]

        assert len(ratios) == 2
        assert float(row.locator("td").first.inner_text().rstrip("\u00d7")) == pytest.approx((ratios[0] * ratios[1]) ** 0.5, rel=0.005)


@pytest.mark.parametrize("name", ["quality.html", "systems.html", "releases.html", "definitions.html"])
def test_table_of_text_is_complete_on_a_phone(opened: Opener, name: str) -> None:
    covered = """() => [...document.querySelectorAll('.tl-words tbody tr')].slice(0, 12).flatMap((row) => {
        row.scrollIntoView({block: 'center', behavior: 'instant'});
        return [...row.cells].filter((cell) => cell.textContent).filter((cell) => {
            const box = cell.getBoundingClientRect();
            const top = document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
            return box.right > innerWidth || !cell.contains(top);
        }).map((cell) => cell.outerHTML.slice(0, 100));
    })"""
    with opened(name, "phone") as page:
        page.evaluate("document.querySelectorAll('.tl-long').forEach((fold) => { fold.open = true; })")
        assert page.locator(".tl-words tbody tr").count() > 5
        assert page.evaluate(covered) == []
        labels = (
            page.locator(".tl-words tbody tr")
            .first.locator("td")
            .evaluate_all("cells => cells.map((cell) => [getComputedStyle(cell, '::before').content.replaceAll('\"', ''), cell.dataset.head])")
        )
        heads = page.locator(".tl-words thead").first.locator("th").all_inner_texts()
        assert [head for _, head in labels] == heads[1:]
        named = [(label, head) for label, head in labels if label != "none"]  # In cells with "none", CSS shows no label.
        assert named
        assert all(label in head for label, head in named)


def test_table_of_text_can_be_filtered_and_sorted_on_a_phone(opened: Opener) -> None:
    with opened("systems.html", "phone") as page:
        page.get_by_label("Filter").first.fill("hmbdc")
        assert all("hmbdc" in text for text in page.locator(".tl-words tbody tr:visible").all_inner_texts())
        page.get_by_label("Filter").first.fill("")
        page.locator(".tl-words thead th").nth(3).locator("button").click()
        assert page.locator(".tl-words thead th").nth(3).get_attribute("aria-sort") == "ascending"
        known = [value for value in values(page, 3) if value is not None]
        assert known == sorted(known)


OLDER = "tacholog-perftest/udp.html"
OLD_SERIES = "tl-latency-tacholog-perftest-udp-1"  # The id of a series of release 0.1.0.


def old_release(page: Page) -> Locator:
    return page.locator("details.tl-release").filter(has_text="Release 0.1.0")


def test_older_release_is_loaded_from_a_disk_when_it_is_opened(opened: Opener) -> None:
    with opened(OLDER) as page:
        release = old_release(page)
        assert release.locator("table").count() == 0

        release.locator("summary").first.click()
        release.locator("table.tl-table").first.wait_for()

        assert release.locator("button.tl-sort").count() > 0
        assert page.locator(f"[id='{OLD_SERIES}']").count() == 1


def test_link_to_the_runs_of_an_older_release_opens_the_table_of_runs(opened: Opener) -> None:
    with opened(f"{OLDER}#{OLD_SERIES}-each") as page:
        table = page.locator(f"[id='{OLD_SERIES}-each'] table")
        table.wait_for()

        assert table.locator("a[href*='logs/perftest/']").count() > 10


def test_table_of_runs_is_loaded_only_when_a_reader_opens_it(opened: Opener) -> None:
    with opened(OLDER) as page:
        open_folds(page)
        each = page.locator("details.tl-each").first
        assert each.locator("table").count() == 0

        each.locator("summary").click()
        each.locator("table").wait_for()

        assert each.locator("tbody tr").count() > 5


def test_older_release_has_a_separate_page_without_scripts(site: Path, browser: Browser) -> None:
    context = patient(browser, scripts=False)
    page = context.new_page()
    page.goto((site / OLDER).as_uri())
    old_release(page).locator("summary").first.click()

    old_release(page).get_by_role("link", name="Open as a page of its own").click()

    assert page.locator(f"[id='{OLD_SERIES}'] table").count() == 1
    assert "release 0.1.0" in page.title()
    context.close()


def test_choice_on_a_side_by_side_page_hides_rows_and_is_kept_on_linked_pages(opened: Opener) -> None:
    visible = "[...document.querySelectorAll('.tl-bars tbody tr:not(.tl-heading)')].filter((row) => row.checkVisibility())"
    waiting = f"{visible}.map((row) => row.cells[1].innerText)"
    with opened("side-by-side.html") as page:
        assert len(set(page.evaluate(waiting))) > 2
        page.get_by_label("waiting").select_option("polls")
        assert set(page.evaluate(waiting)) == {"polls"}
        assert page.locator(".tl-bars .tl-heading", has_text="Sleeps").first.is_hidden()

        page.get_by_role("link", name="latency, median").click()
        page.wait_for_url("**/rankings.html?waiting=polls")
        assert set(page.evaluate(waiting)) == {"polls"}

        page.reload()
        assert page.get_by_label("waiting").input_value() == "polls"
        page.get_by_label("waiting").select_option("all")
        assert "waiting" not in page.url
        assert len(set(page.evaluate(waiting))) > 2


def test_sorting_a_side_by_side_page_keeps_each_row_below_its_heading(opened: Opener) -> None:
    values = "[...document.querySelectorAll('.tl-bars')][0].tBodies"
    script = (
        f"[...{values}].map((body) => [...body.rows].map((row) => row.matches('.tl-heading') ? null : Number(row.cells[4]?.dataset.v ?? Infinity)))"
    )
    with opened("side-by-side.html") as page:
        page.locator(".tl-bars").first.get_by_role("button", name="latency, median").click()
        found = page.evaluate(script)

        assert len(found) > 1
        for body in found:
            assert body[0] is None
            assert body[1:] == sorted(body[1:])


def test_page_of_an_older_release_loads_and_draws_its_plots(opened: Opener) -> None:
    with opened(OLDER.replace(".html", "--release-0.1.0.html")) as page:
        assert page.locator("script.tl-spec").count() == 0

        draw(page.locator("figure.tl-figure").first)

        assert page.locator("figure.tl-figure .tl-is-live .js-plotly-plot").first.is_visible()


def test_no_page_has_too_many_elements(site: Path, browser: Browser) -> None:
    """A page with more than 5000 elements is slow on a phone."""
    page = patient(browser).new_page()
    largest = sorted(site.rglob("*.html"), key=lambda path: path.read_text(encoding="utf-8").count("<"))[-4:]
    counts = {}
    for path in largest:
        page.goto(path.as_uri())
        counts[path.relative_to(site).as_posix()] = page.evaluate("document.getElementsByTagName('*').length")

    assert [(name, count) for name, count in counts.items() if count > 5000] == []


def test_long_comparison_initially_shows_only_its_best_rows(opened: Opener) -> None:
    with opened("compare.html?host=any") as page:
        unfold(page)
        for choice in ("Versions: all", "Campaigns (time each, runs): all", "Sizes: all"):
            if page.get_by_role("button", name=choice).count():
                page.get_by_role("button", name=choice).click()
        rows = page.locator(".tl-result tbody tr")
        first, said = rows.count(), page.locator(".tl-rest").inner_text()
        everything = int(said.split(" of ")[1].split()[0])

        page.get_by_role("button", name=f"Show all {everything}").click()

        assert said.startswith(f"{first} of {everything} series are in the table.")
        assert first < everything == rows.count()
        assert page.locator(".tl-rest").count() == 0
