"""Two different results never have the same name: in tables, legends, comparisons, histories and the output of ``parse``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from tests.depth import tries
from tests.formats.chosen import some_of_each
from tests.report.conftest import FIRST, add_run, rti
from tests.report.test_home import Measured, a_view
from tests.samples import SAMPLE_LOGS

from tacholog.commands.parse import parse
from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy
from tacholog.compare.result import Comparison
from tacholog.compare.sides import of_release
from tacholog.render.diff.document import sections
from tacholog.render.diff.summary import curve_words
from tacholog.render.home.page import machines_at_home
from tacholog.render.links import Links
from tacholog.render.tables.history import history
from tacholog.render.tables.releases import releases_table
from tacholog.site.downloads import download_links
from tacholog.store.frames import Dataset
from tacholog.store.load import load, load_logs
from tacholog.view.comparison import METRICS_SHOWN
from tacholog.view.history import neighbours, since
from tacholog.view.names import row_name, row_names, words
from tacholog.view.page_index import PageIndex
from tacholog.view.ranking_groups import groups, system_series
from tacholog.view.series import labels_among
from tacholog.view.views import TESTS, Selection, View, view_of

ROOT = Path(__file__).resolve().parent.parent.parent
RATES = (10.0, 30.0, 60.0, None)  # Offered rates in frames per second, and the maximum rate.


def twice(names: Iterable[object]) -> list[object]:
    return [name for name, count in Counter(names).items() if count > 1]


@pytest.fixture(scope="module")
def data() -> Dataset:
    return load([ROOT / "data"])


@pytest.fixture(scope="module")
def view(data: Dataset) -> View:
    return view_of(data)


@pytest.fixture(scope="module")
def reports(data: Dataset, view: View) -> dict[tuple[str, str, str], Comparison]:
    """All comparisons that have a page on the site of these runs."""
    found = {}
    for system, old, new in [*neighbours(view.runs.values()), *since(view.runs.values())]:
        sides = of_release(data, old, system), of_release(data, new, system)
        found[system, old, new] = compare(*sides, Policy(), (old, new))
    return found


@pytest.fixture(scope="module")
def offered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each of two releases has runs at three offered rates and at the maximum rate, as in an issue about video frames."""
    root = tmp_path_factory.mktemp("offered")
    for release in ("1.0", "1.1"):
        for rate in RATES:
            manifest = rti("UDPv4", published=False, offered_rate_per_s=rate, load_mode="paced" if rate else "max-rate")
            add_run(root, f"{release}/{rate or 'peak'}", FIRST, msgspec.structs.replace(manifest, release=release))
    return root


def test_comparison_rows_at_several_offered_rates_have_names_with_the_rate_and_separate_summaries(offered: Path) -> None:
    old, new = (load([offered / release]) for release in ("1.0", "1.1"))

    report = compare(old, new, Policy(), ("1.0", "1.1"))

    names = [row_name(row.key) for row in report.rows if row.key.payload_bytes == 64 and row.key.metric == "goodput"]
    assert sorted(names) == [
        "payload received mean, UDPv4, 64\u00a0B, 10\u00a0msg/s offered, paced",
        "payload received mean, UDPv4, 64\u00a0B, 30\u00a0msg/s offered, paced",
        "payload received mean, UDPv4, 64\u00a0B, 60\u00a0msg/s offered, paced",
        "payload received mean, UDPv4, 64\u00a0B, max-rate",
    ]
    assert [curve_words(curve) for curve in report.curves if "of 12 sizes" in curve_words(curve)] == []


def test_history_has_a_line_for_each_offered_rate(offered: Path) -> None:
    runs = list(view_of(load([offered])).runs.values())

    def compare_releases(_system: str, old: str, new: str) -> Comparison:
        return compare(load([offered / old]), load([offered / new]), Policy(), (old, new))

    html = str(history(runs, "goodput", "mean", compare_releases, ()))

    heads = [re.sub("<[^>]*>", " ", head) for head in re.findall(r'<th scope="row">.*?</th>', html)]
    assert len(heads) == 12
    assert twice(heads) == []
    assert "other runs of 1.0" not in html


def test_no_two_series_of_a_page_share_a_name(view: View) -> None:
    pages = {(fact.run.system, fact.conditions.transport) for fact in view.summaries()}
    seen = 0
    for system, transport in pages:
        part = view.only(Selection(system=system, transport=transport or "not stated"))
        for test in TESTS:
            labels = [one.label for one in part.only(Selection(test=test)).series()]
            seen += len(labels)
            assert twice(labels) == [], (system, transport, test)
    assert seen > 100


def test_no_two_series_of_the_home_page_or_the_comparison_page_share_a_name(view: View) -> None:
    everything = system_series(view, PageIndex())
    for group, members in groups(everything).items():
        labels = labels_among([(one.system, one.series) for one in members])
        assert twice((one.system, one.transport, label) for one, label in zip(members, labels, strict=True)) == [], group
    for metric, statistic, _ in METRICS_SHOWN:
        found = [one for one in everything if one.series.cells(metric, statistic)]
        assert twice(one.name for one in found) == [], metric


def test_no_two_rows_of_a_comparison_share_a_name(reports: dict[tuple[str, str, str], Comparison]) -> None:
    seen = 0
    for pair, report in reports.items():
        names = [", ".join((line.name, *section.alike)) for section in sections(report) for line in section.lines]
        seen += len(names)
        assert twice(names) == [], pair
        assert twice(row_name(loss.key) for loss in report.losses) == [], pair
        assert twice(row_name(curve.key) for curve in report.curves) == [], pair
    assert seen > 500


def test_no_two_rows_of_a_history_share_a_name(view: View, reports: dict[tuple[str, str, str], Comparison]) -> None:
    seen = 0
    for metric, statistic in {(row.key.metric, row.key.statistic) for report in reports.values() for row in report.rows}:
        html = str(history(list(view.runs.values()), metric, statistic, lambda *pair: reports[pair], ()))
        for lines in html.split("<tbody>")[1:]:  # All lines of one table body started for the same reason, such as a new machine.
            heads = [re.sub("<[^>]*>", " ", head) for head in re.findall(r'<th scope="row">.*?</th>', lines)]
            seen += len(heads)
            assert twice(heads) == [], (metric, statistic)
    assert seen > 100


@pytest.mark.parametrize("path", tries(some_of_each(SAMPLE_LOGS), SAMPLE_LOGS), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_each_series_each_row_and_each_record_has_a_unique_name(path: Path) -> None:
    found = load_logs([path])
    view = view_of(found)
    for test in TESTS:
        assert twice((one.label, dict(one.key)["transport"]) for one in view.only(Selection(test=test)).series()) == []
    report = compare(found, found, Policy())
    assert twice(line.name for section in sections(report) for line in section.lines) == []
    for key, names in names_that_parse_prints(path, view).items():
        assert twice(names) == [], key


def names_that_parse_prints(path: Path, view: View) -> dict[tuple[str, object], list[str]]:
    """Return the names for each test and size. A repeated name of one record is listed once."""
    facts = [fact for fact in view.summaries() if fact.metric in ("latency", "goodput", "message_rate", "messages_received")]
    printed = CliRunner().invoke(parse, [str(path)]).stdout
    names: dict[tuple[str, int], set[str]] = {}
    test, start = "", None
    for text in printed.splitlines():
        if text.startswith(str(path)) and (head := re.search(r", (latency|throughput|demand)$", text)):
            test = head[1]
        elif text.lstrip().startswith("line "):
            start = text.find("  of") + 2 if text.endswith("  of") else None
        elif re.match(r"\s*\d+  ", text):
            names.setdefault((test, int(text.split()[0])), set()).add(text[start:].strip() if start else "")
    of: dict[tuple[str, object], dict[tuple[object, ...], set[str]]] = {}
    for fact in facts:
        if fact.line is not None and (fact.test, fact.line) in names and len(names[fact.test, fact.line]) == 1:
            conditions = tuple(value for name, value in msgspec.structs.asdict(fact.conditions).items() if name not in ("basis", "transport"))
            key = (fact.side, fact.participant, *conditions)
            of.setdefault((fact.test, fact.payload_bytes), {}).setdefault(key, set()).update(names[fact.test, fact.line])
    return {key: [name for said in found.values() for name in said] for key, found in of.items()}


def test_log_with_several_participants_is_one_table_with_the_participants_as_rows() -> None:
    printed = CliRunner().invoke(parse, [str(ROOT / "tests" / "formats" / "native" / "three-publishers-tcp.log")]).stdout.splitlines()

    assert sum(line.endswith(", throughput") for line in printed) == 1
    assert [re.split(" {2,}", line)[-1] for line in printed if re.match(r"\s*\d+  ", line)] == ["pub1", "pub2", "pub3", "all (sum)"] * 2


def test_rows_with_equal_conditions_have_unique_names() -> None:
    assert row_names([{"reliability": "reliable", "run": "a"}, {"reliability": "best-effort", "run": "b"}]) == ["reliable", "best-effort"]
    assert row_names([{"reliability": None, "run": "a"}, {"reliability": None, "run": "b"}]) == ["(a)", "(b)"]
    rows: list[dict[str, object]] = [{"type": "a", "data_path": None}, {"type": "a", "data_path": "b"}, {"type": None, "data_path": "b"}]
    assert row_names(rows) == ["a", "a, b", "b"]
    rows = [{"type": "a", "data_path": None}, {"type": None, "data_path": "a"}]
    assert row_names(rows) == ["a, data path not stated", "a, type not stated"]
    assert row_names([{"type": "a"}, {"type": "a"}]) == ["(1 of 2)", "(2 of 2)"]


def test_setting_that_is_left_to_the_library_is_shown_as_library_default() -> None:
    stated = '{"idle": "library", "mtu": "8192"}'
    assert words("settings", stated) == "idle library default, mtu 8192"


def test_names_that_differ_only_in_capitals_or_zeros_have_the_same_order_in_each_build() -> None:
    systems = ["RIG", "RIg", "RiG", "Rig", "rIG", "rIg", "riG", "rig"]
    versions = ["1.0", "1.00", "1.000", "1.0000", "1.00000"]
    found = [
        *(Measured("tcp", system=system).latency(5.0, 5.1) for system in reversed(systems)),
        *(Measured("udp", system="rig", campaign=version).latency(5.0) for version in versions),
    ]
    results = [msgspec.structs.replace(one, run=msgspec.structs.replace(one.run, system_version=one.run.campaign)) for some in found for one in some]

    measured = [*(f"rig {version}" for version in versions), *(f"{system} c" for system in systems)]

    assert f"Measured: {', '.join(measured)}<" in str(releases_table(a_view(results), Links("logs")))
    home = str(machines_at_home(a_view(*found[: len(systems)]), PageIndex(), Links("logs"), "x"))
    assert re.findall(r'class="tl-panel-name[^>]*><strong>([^<]*)', home) == systems
    assert f"no release, versions c, {', '.join(versions)}<" in str(download_links(a_view(results), None, None))


def test_name_with_very_many_options_is_shortened_and_still_unique() -> None:
    many = {f"option_{number}": number for number in range(60_000)}
    rows = [{"options": msgspec.json.encode(options).decode()} for options in ({}, many, {**many, "option_59999": 0})]

    names = row_names(rows)

    assert len({*names}) == 3
    assert all(len(name) < 3000 for name in names)
    assert names[1].startswith("option 0 0, option 1 1, ")
