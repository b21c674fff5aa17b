"""Each number has a unique id and a unique link. If several numbers of a line would have the same id, all but the first get an ordinal."""

from __future__ import annotations

import html
import json
import re
import shutil
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from tacholog.commands.export import export
from tacholog.render.links import Links, ScriptLinks
from tacholog.render.number_spans import number_anchor
from tacholog.site.build import build_site
from tacholog.site.downloads import ALL
from tacholog.site.verification.site import verify_site
from tacholog.store.export import results_table
from tacholog.store.frames import Dataset
from tacholog.store.load import load
from tacholog.view.page_index import LOGS
from tacholog.view.views import view_of

pytestmark = [pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]

# The line in the log is "||         1 kB ||          10 ||           9 ||              8 ||              9 |".
# Its four latencies share one name. So the second, third and fourth latency get a number.
LINE = "ecal/5.11/table.rst#L6:latency.mean"
OF_LINE = {LINE: 10_000.0, f"{LINE}~2": 9_000.0, f"{LINE}~3": 8_000.0, f"{LINE}~4": 9_000.0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, checkout: Path) -> Path:
    """Return a folder with recorded runs of eCAL and of RTI Connext DDS, and with host files.

    The runs of eCAL are needed, because only their tables have rows of four numbers with the same name.
    """
    root = tmp_path_factory.mktemp("data")
    shutil.copytree(checkout / "data/ecal", root / "ecal")
    shutil.copytree(checkout / "data/rti/custom-type", root / "rti")
    shutil.copytree(checkout / "data/hosts", root / "hosts")
    return root


@pytest.fixture(scope="module")
def data(folder: Path) -> Dataset:
    return load([folder])


@pytest.fixture(scope="module")
def built(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    return build_site([folder], place / "site", place / "work").parent


def test_ids_are_unique_and_only_numbers_that_would_share_an_id_have_an_ordinal(data: Dataset) -> None:
    table = results_table(data)
    first = table["id"].str.replace(r"~\d+$", "", regex=True)

    assert table["id"].is_unique
    assert first.duplicated().sum() == table["id"].str.contains("~").sum() > 100
    assert not table.loc[table["run"].str.startswith("rti"), "id"].str.contains("~").any()
    of_line = table[first == LINE]
    assert dict(zip(of_line["id"], of_line["value"], strict=True)) == OF_LINE
    assert of_line["participant"].tolist() == ["Win10 AMD64"] * 2 + ["Ubuntu22 AMD64"] * 2


def test_export_has_the_ids_of_the_dataset(folder: Path, data: Dataset) -> None:
    done = CliRunner().invoke(export, [str(folder), "--format", "json"], catch_exceptions=False)

    assert sorted(json.loads(row)["id"] for row in done.stdout.splitlines()) == sorted(results_table(data)["id"])


def test_ids_do_not_depend_on_the_order_of_the_runs(data: Dataset) -> None:
    whole = dict(zip(data.results.index, results_table(data)["id"], strict=True))
    turned = data.results.sort_values("run", ascending=False, kind="stable")

    again = results_table(msgspec.structs.replace(data, results=turned))

    assert dict(zip(again.index, again["id"], strict=True)) == whole


def test_pages_use_the_ids_of_the_downloads(data: Dataset) -> None:
    rows = [result.ordinal for results in view_of(data).by_run.values() for result in results]
    ids = [int(number.partition("~")[2] or 1) for number in results_table(data)["id"]]

    assert sorted(rows) == sorted(ids)
    assert max(rows) > 1


def test_links_that_a_script_builds_have_the_same_ordinals_as_the_anchors_of_the_numbers(data: Dataset) -> None:
    targets = ScriptLinks()
    results = [result for results in view_of(data).by_run.values() for result in results if result.line]
    places = [targets.position(Links("logs"), result) for result in results]

    ends = [str(end[0]) if end else "" for _, _, *end in places]
    assert [f"L{result.line}:{result.metric}.{result.statistic}{end}" for result, end in zip(results, ends, strict=True)] == [
        number_anchor(result) for result in results
    ]
    assert {*ends} >= {"", "~2", "~3", "~4"}


@pytest.mark.site
def test_each_id_of_a_download_is_exactly_one_anchor_on_a_log_page(built: Path) -> None:
    table = pq.read_table(built / ALL, columns=["id", "run", "log"]).to_pydict()
    assert len(set(table["id"])) == len(table["id"])
    for number, run, log in zip(table["id"], table["run"], table["log"], strict=True):
        text = (built / f"logs/{run}/{log}.html").read_text(encoding="utf-8")
        assert text.count(f'id="{html.escape(number.partition("#")[2])}"') == 1, number


@pytest.mark.site
def test_each_link_to_a_number_shows_the_value_of_its_id(built: Path) -> None:
    table = pq.read_table(built / ALL, columns=["id", "value"]).to_pydict()
    values = dict(zip(table["id"], table["value"], strict=True))
    text = (built / "ecal/shm.html").read_text(encoding="utf-8")
    shown = re.findall(r'<td[^>]*data-v="([^"]+)"[^>]*>\s*<a href="\.\./logs/([^"]+)\.html#(L\d+:latency\.mean[^"]*)"', text)

    assert {anchor.partition("~")[2] for _, _, anchor in shown} >= {"", "2", "3", "4"}
    assert [(values[f"{log}#{anchor}"], log, anchor) for _, log, anchor in shown] == [(float(value), log, anchor) for value, log, anchor in shown]


@pytest.mark.site
def test_verify_accepts_a_site_of_an_earlier_version_whose_numbers_share_ids(built: Path, tmp_path: Path) -> None:
    assert verify_site(built).findings == ()

    older = tmp_path / "older"
    shutil.copytree(built, older)
    table = pq.read_table(older / ALL)
    ids = [number.partition("~")[0] for number in table["id"].to_pylist()]
    pq.write_table(table.set_column(0, table.schema.field("id"), [ids]), older / ALL)
    for page in [path for ending in ("html", "js") for path in older.rglob(f"*.{ending}") if LOGS not in path.parts]:
        page.unlink() if page.suffix == ".js" else page.write_text(
            re.sub(r"(#L\d+:[\w.-]+)~\d+", r"\1", page.read_text(encoding="utf-8")), encoding="utf-8"
        )

    places = [finding.place for finding in verify_site(older).findings]
    assert not [place for place in places if "#L" in place]
