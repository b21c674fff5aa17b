"""The order of the evidence on a page: newest release, enough runs, kept limits, most measurements. The tests use the runs in ``data/``."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from tests.command import run_tacholog_text
from tests.report.conftest import FIRST, LOSSY, NATIVE, add_run, rti

from tacholog.render.evidence import evidence_lines
from tacholog.render.figures.figures import latency_over_cost
from tacholog.render.links import Links
from tacholog.render.tables.cost import cost_table, rig_cost
from tacholog.render.tables.sizes import sizes_table
from tacholog.runs.disturbance import Limits
from tacholog.runs.manifest import Host, Manifest
from tacholog.store.load import load
from tacholog.view.cost import costs, resources_of, spinning
from tacholog.view.portions import evidence, portions
from tacholog.view.results import ResultRow
from tacholog.view.views import Selection, View, rig_series, view_of

DATA = Path(__file__).parent.parent.parent / "data"
OLD = ("0.1.0", "0.2.0", "0.3.0")
BLOCK, POLL = ("middleware/2026-11-23/latency-shm-block", "middleware/2026-11-23/latency-shm-busy-poll")


def transport(manifest: Manifest) -> object:
    return manifest.conditions.transport or manifest.options.get("transport")


@pytest.fixture(scope="module")
def shm() -> View:
    """All runs of Tacholog's shared memory transport up to 0.3.0."""
    return view_of(load([DATA], wanted=lambda manifest: transport(manifest) == "shm" and manifest.system_version in OLD))


@pytest.fixture(scope="module")
def wan() -> View:
    """The four tables of RTI over UDPv4_WAN: with and without keys, reliable and best-effort."""
    return view_of(load([DATA / "rti" / "udpv4-wan"]))


def test_shm_page_starts_with_the_campaign_that_kept_its_limits_and_ends_with_old_quick_runs(shm: View) -> None:
    found = evidence(shm)

    assert [(one.age, one.campaign, one.host, len(one.runs), one.runs_each, one.limits) for one in found] == [
        (0, "middleware", "host-a2b38a", 24, 6, "kept"),
        (0, "releases", "host-a2b38a", 12, 12, "kept"),
        (0, "release", "host-98223e", 12, 6, "not stated"),
        (0, "releases", "host-98223e", 12, 12, "not stated"),
        (1, "releases", "host-98223e", 12, 12, "not stated"),
        (1, "releases", "host-087119", 12, 12, "not stated"),
        (1, "quick", "host-087119", 4, 2, "not stated"),
        (2, "releases", "host-087119", 12, 12, "not stated"),
        (2, "quick", "host-087119", 4, 2, "not stated"),
    ]
    assert [one.is_quick for one in found] == [False, False, False, False, False, False, True, False, True]
    assert (found[0].first_day, found[0].last_day, found[0].duration_s) == ("2026-11-23", "2026-11-23", 0.4)


def test_older_releases_come_after_all_campaigns_of_the_newest_release(shm: View) -> None:
    first, *rest = portions(shm)

    assert first.title == ""
    assert [portion.title for portion in rest] == [
        "campaign releases, host-a2b38a",
        "campaign release, host-98223e",
        "campaign releases, host-98223e",
        "0.2.0",
        "0.2.0, more series",
        "0.1.0",
    ]
    assert [portion.is_release for portion in rest] == [False, False, False, True, True, True]


def test_line_about_the_evidence_describes_how_the_runs_were_measured(shm: View) -> None:
    line = evidence_lines(evidence(shm)[:1], shm)

    assert "<strong>Version 0.3.0</strong>, campaign middleware, host-a2b38a (AMD EPYC, 2 threads, container in a virtual machine)" in line
    assert "2026-11-23, 24 runs of 0.4 s, 6 for each number, other load within its limits." in line


def test_machine_without_properties_is_named_once(tmp_path: Path) -> None:
    add_run(tmp_path, "some", FIRST, msgspec.structs.replace(rti("UDPv4", published=False), host="host-1710c9"))
    view = view_of(load([tmp_path]))
    hosts = {"host-1710c9": Host(name="host-1710c9", source="made up")}

    line = evidence_lines(evidence(view), View(view.by_run, view.runs, [], [], hosts))

    assert line.count("host-1710c9") == 1


def add(root: Path, run: str, release: str, campaign: str, **others: object) -> None:
    manifest = msgspec.structs.replace(rti("UDPv4", published=False), release=release, campaign=campaign, **others)
    add_run(root, run, FIRST, manifest)


def test_newer_release_precedes_a_release_with_more_runs(tmp_path: Path) -> None:
    for number in range(7):
        add(tmp_path, f"old-{number}", "1", "release")
    add(tmp_path, "new", "2", "release")

    assert [one.release for one in evidence(view_of(load([tmp_path])))] == ["2", "1"]


def test_campaigns_that_kept_their_limits_come_first_and_campaigns_with_fewer_than_six_runs_come_last(tmp_path: Path) -> None:
    for number in range(6):
        add(tmp_path, f"plain-{number}", "1", "plain")
        add(tmp_path, f"kept-{number}", "1", "kept", limits=Limits(steal_percent=2.0), environment={"steal_percent_during": "0.10"})
        add(tmp_path, f"beyond-{number}", "1", "beyond", limits=Limits(steal_percent=2.0), environment={"steal_percent_during": "5.00"})
    add(tmp_path, "few", "1", "few", limits=Limits(steal_percent=2.0), environment={"steal_percent_during": "0.10"})

    found = evidence(view_of(load([tmp_path])))

    assert [(one.campaign, one.limits, one.is_quick) for one in found] == [
        ("kept", "kept", False),
        ("plain", "not stated", False),
        ("beyond", "exceeded", False),
        ("few", "kept", True),
    ]


def test_line_about_the_evidence_states_a_range_if_the_numbers_of_runs_differ(tmp_path: Path) -> None:
    for number in range(9):
        add_run(tmp_path, f"run-{number}", FIRST if number < 6 else LOSSY, msgspec.structs.replace(rti("UDPv4", published=False), release="1"))
    view = view_of(load([tmp_path]))

    assert {at: cell.run_count for at, cell in view.series()[0].cells("goodput", "mean").items()} == {32: 9, 64: 6, 1024: 6}
    assert ", 9 runs, 6 to 9 for each number." in evidence_lines(evidence(view), view)


def test_failed_run_without_numbers_is_listed_under_its_release(tmp_path: Path) -> None:
    add(tmp_path, "old", "1", "release")
    add(tmp_path, "new", "2", "release")
    add_run(tmp_path, "lost", "nothing\n", msgspec.structs.replace(rti("UDPv4", published=False), release="1", status="failed", host=None))

    assert [(one.release, sorted(one.runs)) for one in evidence(view_of(load([tmp_path])))] == [("2", ["new"]), ("1", ["lost", "old"])]


def test_processor_time_and_context_switches_equal_the_counts_of_the_kernel_for_both_sides(shm: View) -> None:
    run = shm.only(Selection(run=f"{BLOCK}/01", test="latency"))

    cost = costs(run.series()[0], resources_of(run.results))[64]

    # Processor time of the sides: 174.167 ms in 511.622654 ms, and 198.135 ms in 511.195998 ms. Round trips: 2423 in the warm-up, then 8454.
    assert cost.processors is not None
    assert cost.processors.value == pytest.approx(0.728012, rel=1e-5)
    assert cost.cpu_ns is not None
    assert cost.cpu_ns.value == pytest.approx((174_167_000 + 198_135_000) / (2 * (8454 + 2423)))
    assert cost.switches is not None
    assert cost.switches.value == pytest.approx((10_878 + 10_858) / (2 * (8454 + 2423)))


def test_memory_of_a_side_does_not_include_the_python_process_that_started_it(shm: View) -> None:
    run = shm.only(Selection(run=f"{BLOCK}/01", test="latency"))
    counted = resources_of(run.results)
    own = {place: [msgspec.structs.replace(row, bound="=") for row in rows] for place, rows in counted.items()}

    assert costs(run.series()[0], counted)[64].memory_bytes is None  # peak_memory_bytes=57647104 may be the memory of Python.
    memory = costs(run.series()[0], own)[64].memory_bytes
    assert memory is not None
    assert memory.value == 57647104


def test_processor_time_of_a_message_includes_processor_time_before_the_first_and_after_the_last_message() -> None:
    view = view_of(load([DATA], wanted=lambda manifest: transport(manifest) == "mosquitto"))
    run = view.only(Selection(run="middleware/2026-11-23/latency-mosquitto-block/01", test="latency"))

    cost = costs(run.series()[0], resources_of(run.results))[1024]

    # The two sides ran for 0.91 s, and used 107.725 ms and 105.095 ms of processor time. They exchanged messages during 0.5 s of this time: 135 round
    # trips in the warm-up and 3,910 measured round trips.
    assert cost.cpu_ns is not None
    assert cost.cpu_ns.value == pytest.approx((107_725_000 + 105_095_000) / (2 * (135 + 3910)))
    assert cost.switches is not None
    assert cost.switches.value == pytest.approx((4500 + 4479) / (2 * (135 + 3910)))


def test_context_switches_of_a_throughput_test_are_divided_by_all_messages_that_the_cost_line_counts() -> None:
    view = view_of(load([DATA], wanted=lambda manifest: transport(manifest) == "zeromq-tcp"))
    run = view.only(Selection(run="middleware/2026-11-23/throughput-zeromq-tcp-block/01", test="throughput"))
    (received,) = (series for series in run.series() if series.cells("message_rate", "mean"))

    cost = costs(received, resources_of(run.results))[1024]

    # The log states the voluntary and involuntary context switches of both sides, and "cost ... messages=96098".
    assert cost.switches is not None
    assert cost.switches.value == pytest.approx((13_669 + 12_873 + 16_656 + 9_786) / 96_098)


def test_processor_time_and_context_switches_are_unknown_if_one_side_does_not_state_them(shm: View) -> None:
    run = shm.only(Selection(run=f"{BLOCK}/01", test="latency"))
    series = run.series()[0]

    def without(metric: str) -> list[ResultRow]:
        return [row for row in run.results if not (row.scope == "resources" and row.side == "publisher" and row.metric == metric)]

    no_time = costs(series, resources_of(without("cpu_time")))[64]
    no_switches = costs(series, resources_of(without("context_switches")))[64]

    assert (no_time.processors, no_time.cpu_ns, no_time.switches is None) == (None, None, False)
    assert (no_switches.switches, no_switches.processors is None) == (None, False)
    # Without a duration, there is no cost at all: the memory alone is only an upper bound.
    assert 64 not in costs(series, resources_of(without("duration")))
    assert spinning([series], resources_of(without("context_switches"))) == set()


def test_processor_time_of_a_message_is_shown_if_the_log_states_this_time(shm: View) -> None:
    run = shm.only(Selection(run="middleware/2026-11-23/throughput-shm-block/01", test="throughput"))
    (received,) = (series for series in run.series() if series.cells("message_rate", "mean"))
    stated = received.cells("cpu_per_message", "mean")

    found = costs(received, resources_of(run.results))

    assert found.keys() == stated.keys()
    assert all((cost := found[at].cpu_ns) is not None and cost.value == cell.value for at, cell in stated.items())


def test_table_states_that_a_polling_transport_has_almost_no_context_switches(shm: View) -> None:
    run = shm.only(Selection(run=f"{POLL}/01", test="latency"))

    table = cost_table(run.series(), run.results)

    # 64 B: the sides had 68 and 20 context switches in 553,417 + 2,180,567 round trips. 64 KiB: 230 and 206 context switches in 9,206 + 24,588.
    assert f'<td class="stat-cost" data-v="{88 / 5_467_968:.12g}">&lt;0.001</td>' in table
    assert f'<td class="stat-cost" data-v="{436 / 67_588:.12g}">0.00645</td>' in table


def test_cost_of_a_run_is_unknown_if_one_side_states_no_resources(shm: View) -> None:
    run = shm.only(Selection(run=f"{BLOCK}/01", test="latency"))

    assert costs(run.series()[0], resources_of(result for result in run.results if result.side != "publisher")) == {}


def test_plot_of_latency_and_processor_time_has_one_line_for_polling_and_one_line_for_sleeping(shm: View) -> None:
    first = portions(shm)[0]
    part = shm.only(Selection(test="latency"))

    figure = latency_over_cost([member for member in part.series() if first.has("latency", member)], part.results)

    assert figure is not None
    assert [len(trace.points) for trace in figure.traces] == [5, 5]
    (block, poll) = sorted(figure.traces, key=lambda trace: "busy-poll" in trace.name)
    assert "block" in block.name
    assert block.points[0].y > 100 * poll.points[0].y


def test_page_with_single_runs_states_that_differences_cannot_be_tested(wan: View) -> None:
    table = sizes_table(wan.series(), Links(), "a")

    assert "One run of each series: whether a difference between two series is more than noise cannot be tested." in table
    assert table.count("</div>median<") == 4
    assert table.count("keyed") >= 4


COST = re.compile("Of each round trip, perftest itself takes [^.]*[.]")


def cost_of_rig(html: str) -> list[str]:
    return COST.findall(re.sub("<[^>]*>", "", html).replace("\u00a0", " "))


def test_cost_of_perftest_is_stated_only_for_sessions_that_measured_the_cost(tmp_path: Path) -> None:
    null = (Path(__file__).parent.parent / "formats/native/latency-null.log").read_text()
    sessions = {"monday": "desk", "tuesday": "desk", "friday": "shelf"}
    for session, host in sessions.items():
        manifest = Manifest(system="P", tool="perftest", host=host, session=session, logs=())
        add_run(tmp_path, f"{session}/udp", NATIVE.read_text(), manifest)
        if session != "tuesday":
            add_run(tmp_path, f"{session}/null", null, manifest)
    view = view_of(load([tmp_path]))

    def words(*names: str) -> list[str]:
        return cost_of_rig(str(rig_cost(rig_series(view, [run for run in view.runs.values() if run.session in names]), Links("logs"))))

    cost = "Of each round trip, perftest itself takes 40 ns at 64 B, 191 ns at 4 KiB"
    assert words("monday") == [f"{cost} (its transport null, 2026-11-28)."]
    assert words("tuesday") == []
    assert words(*sessions) == [f"{cost} on {host} (its transport null, 2026-11-28)." for host in ("shelf", "desk")]


def test_costs_of_perftest_in_two_campaigns_on_one_machine_are_told_apart(tmp_path: Path) -> None:
    null = (Path(__file__).parent.parent / "formats/native/latency-null.log").read_text()
    for campaign in ("quiet", "loaded"):
        manifest = Manifest(system="P", tool="perftest", host="desk", session=campaign, campaign=campaign, logs=())
        for name, log in (("udp", NATIVE.read_text()), ("null", null)):
            add_run(tmp_path, f"{campaign}/{name}", log, manifest)
    view = view_of(load([tmp_path]))

    found = cost_of_rig(str(rig_cost(rig_series(view, view.runs.values()), Links("logs"))))

    cost = "Of each round trip, perftest itself takes 40 ns at 64 B, 191 ns at 4 KiB in campaign"
    assert sorted(found) == [f"{cost} {campaign} (its transport null, 2026-11-28)." for campaign in ("loaded", "quiet")]


def test_pages_of_results_state_the_cost_of_perftest(tmp_path: Path) -> None:
    null = (Path(__file__).parent.parent / "formats/native/latency-null.log").read_text()
    udp = NATIVE.read_text()
    runs = (("null", null, "P", "1"), ("p", udp, "P", "1"), ("new", udp, "P", "2"), ("q", udp, "Q", "1"))
    for name, log, system, release in runs:
        manifest = Manifest(system=system, tool="perftest", host="desk", session="monday", release=release, logs=())
        add_run(tmp_path, f"data/{name}", log, manifest)

    (tmp_path / "site.toml").write_text('[[questions]]\nmetric = "latency"\nsubject = "system"\nover = "payload_bytes"\n')

    done = run_tacholog_text("report", tmp_path / "data", "--site", tmp_path / "site.toml", "--output", tmp_path / "site")

    assert done.returncode == 0, done.stderr
    site = tmp_path / "site"
    pages = {str(path.relative_to(site)): cost_of_rig(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    several = {name for name in pages if name.startswith(("questions/", "side-by-side", "rankings", "history/latency"))}
    assert {name.partition("/")[0] for name in several} >= {"questions", "side-by-side.html", "rankings.html", "history"}
    assert len(pages["index.html"]) == 1
    assert {name for name, sentences in pages.items() if sentences} == {
        "index.html",
        "compare.html",
        "p/index.html",
        "p/null.html",
        "p/udp.html",
        "q/index.html",
        "q/udp.html",
        *several,
    }
