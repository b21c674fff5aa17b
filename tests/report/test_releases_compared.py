"""Comparison of releases: a directive for any project, pages for adjacent releases, histories, and the newest comparison on the home page."""

from __future__ import annotations

import io
import json
import re
import shutil
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace
from tests.report.conftest import FIRST, SECOND, add_run, rti

from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy
from tacholog.compare.sides import find, of_release, read_renames, renamed
from tacholog.errors import UnreadableInput
from tacholog.render.links import Links
from tacholog.render.tables.history import why_it_begins
from tacholog.render.tables.releases import releases_table
from tacholog.runs.manifest import Host, read_host, read_manifest, write
from tacholog.site.build import build_site
from tacholog.store.load import load
from tacholog.view.history import in_order_of_time, lines, releases_of
from tacholog.view.views import view_of

pytestmark = [pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]

RUN = "latency-shm/01"


def release(root: Path, checkout: Path, label: str, day: int, **changes: object) -> None:
    """Add a release with one run. This run is a copy of a recorded run of perftest 0.1.0, with the given label and day.

    ``changes`` are further changes to the manifest. But ``changes`` can also contain ``run``: the folder of the recorded run that is copied.
    """
    run = str(changes.pop("run", RUN))
    folder = root / label / run
    shutil.copytree(checkout / "data/perftest/0.1.0" / run, folder)
    manifest = read_manifest(folder / "run.toml")
    dated = {"release": label, "start_time": f"2026-11-{day:02}T12:00:00Z", "session": f"day-{day}"}
    write(folder / "run.toml", msgspec.structs.replace(manifest, **(dated | changes)))


def write_releases(root: Path, checkout: Path) -> Path:
    """Write runs of three releases, and return their folder. The third release was measured on a different machine than the first two."""
    (root / "hosts").mkdir(parents=True)
    known = checkout / "data/hosts/host-087119.toml"
    shutil.copy2(known, root / "hosts")
    host: Host = read_host(known)
    write(root / "hosts/host-000000.toml", msgspec.structs.replace(host, cpu=host.cpu | {"model": "Another CPU"}))
    release(root, checkout, "1.9", 1)
    release(root, checkout, "1.10", 2)
    release(root, checkout, "1.11", 3, host="host-000000")
    return root


@pytest.fixture
def releases(tmp_path: Path, checkout: Path) -> Path:
    return write_releases(tmp_path / "data", checkout)


def build(folder: Path, text: str, data: Path, suffix: str = "md") -> tuple[str, str]:
    """Build a project of one page. Return the page and the warnings of Sphinx."""
    source = folder / "docs"
    source.mkdir()
    heading = "# Ours" if suffix == "md" else "Ours\n===="
    (source / f"index.{suffix}").write_text(f"{heading}\n\n{text}\n", encoding="utf-8")
    warnings = io.StringIO()
    overrides = {"extensions": ["myst_parser", "tacholog.sphinx"], "tacholog_data": str(data)}
    with docutils_namespace():
        Sphinx(source, None, folder / "out", folder / "trees", "html", overrides, status=None, warning=warnings).build()
    return (folder / "out/index.html").read_text(), warnings.getvalue()


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        ("md", "```{perf-diff} 1.9 1.10\n:metric: latency:p50\n:only: unreplicated_same\n```"),
        ("rst", ".. perf-diff:: 1.9 1.10\n   :metric: latency:p50\n   :only: unreplicated_same"),
    ],
)
def test_comparison_appears_on_a_page_of_any_project(tmp_path: Path, releases: Path, suffix: str, text: str) -> None:
    page, warnings = build(tmp_path, text, releases, suffix)

    assert warnings == ""
    assert "Alike, not proven (7)" in page
    assert "latency p50, shm, copy, 64" in page
    assert "p99" not in page
    assert (tmp_path / "out/_static/tacholog-diff.css").is_file()


def test_directive_accepts_the_words_of_the_report_for_sizes_and_verdicts(tmp_path: Path, releases: Path) -> None:
    diff = "```{perf-diff} 1.9 1.10\n:metric: p50\n:only: alike, not proven\n:size: 64 B, 1KiB\n```"
    table = "```{perf-table} latency\n:release: 1.9\n:size: ..256B\n```"

    page, warnings = build(tmp_path, f"{diff}\n\n{table}", releases)

    assert warnings == ""
    assert "Alike, not proven (2)" in page
    assert page.count("latency p50, shm, copy, ") == 2
    assert "64\u00a0B" in page
    assert "4\u00a0KiB" not in page


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("```{perf-diff} 1.9 1.10\n:size: big\n```", "perf-diff: :size: big: write a size such as 1KiB or 1024"),
        ("```{perf-table} latency\n:size: big\n```", "perf-table: :size: big: write a size such as 1KiB or 1024"),
        ("```{perf-table} latency\n:size: 3KiB\n```", "no data set for size '3KiB' (test latency)"),
        ("```{perf-diff} 1.9 7\n```", "perf-diff: no release '7'; there are: 1.10, 1.11, 1.9"),
        ("```{perf-diff} 1.9\n```", "perf-diff: '1.9': the argument must consist of two releases"),
        ("```{perf-diff} 1.9 1.10\n:metric: moon\n```", "--metric moon: choose from"),
        ("```{perf-diff} 1.9 1.10\n:only: moon\n```", ":only: moon: choose from worse"),
        ("```{perf-history} latency p50\n:system: nobody\n```", "perf-history: no system here has two releases"),
    ],
)
def test_comparison_that_is_not_possible_causes_a_warning(tmp_path: Path, releases: Path, text: str, warning: str) -> None:
    assert warning in build(tmp_path, text, releases)[1]


@pytest.mark.site
def test_version_of_a_control_is_not_listed_as_a_measured_release(releases: Path, checkout: Path) -> None:
    release(releases, checkout, "1.12", 4)
    control = {"labels": {"control": "yes"}, "release": "1.12", "start_time": "2026-11-04T13:00:00Z", "system_version": "9.9.9"}
    release(releases, checkout, "control", 4, **control)

    page = re.sub(r"<[^>]*>", "\n", str(releases_table(view_of(load([releases])), Links("logs"))))
    said = [line for line in page.splitlines() if "perftest 0.1.0" in line or "9.9.9" in line]

    assert said[:3] == [
        "Measured: Tacholog perftest 0.1.0",
        "Controls, which no release changes: Tacholog perftest 9.9.9",
        "Measured: Tacholog perftest 0.1.0",
    ]
    assert sum("9.9.9" in line for line in said) == 1


@pytest.fixture(scope="module")
def site(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("releases")
    return build_site([write_releases(folder / "data", checkout)], folder / "site", folder / "work").parent


def test_site_compares_adjacent_releases_and_shows_the_newest_on_the_home_page(site: Path) -> None:
    names = sorted(path.name for path in (site / "diffs").iterdir())
    assert names == ["tacholog-perftest-1.10-to-1.11.html", "tacholog-perftest-1.9-to-1.10.html", "tacholog-perftest-1.9-to-1.11.html"]
    ids = re.findall(r'<section id="([^"]+)"', (site / "releases.html").read_text())
    assert ids == ["releases", "comparisons-that-skip-releases", "history-of-a-metric"]
    listed = re.findall(r'href="diffs/tacholog-perftest-([^"]+).html"', (site / "releases.html").read_text().partition('id="releases"')[2])
    assert list(dict.fromkeys(listed)) == ["1.10-to-1.11", "1.9-to-1.10", "1.9-to-1.11"]
    home = (site / "index.html").read_text()
    assert 'href="diffs/tacholog-perftest-1.10-to-1.11.html"' in home
    assert "<b>21</b> do not compare" in home
    assert "/diffs/" not in (site / "releases.html").read_text().replace('href="diffs/', "")
    assert json.loads((site / "downloads/perfdiff-1.schema.json").read_text())["$defs"]["Report"]["properties"]["schema"]["enum"] == ["perfdiff/1"]
    assert (site / "downloads/latest-diff.md").read_text().startswith("### 1.10 → 1.11: 21 not comparable")


@pytest.mark.site
def test_both_values_of_a_row_link_to_their_log_lines_and_the_transport_links_to_its_page(tmp_path: Path, releases: Path, checkout: Path) -> None:
    release(releases, checkout, "1.9", 1, run="latency-udp/01")
    release(releases, checkout, "1.10", 2, run="latency-udp/01")
    site = build_site([releases], tmp_path / "site", tmp_path / "work").parent

    page = (site / "diffs/tacholog-perftest-1.9-to-1.10.html").read_text()
    (row,) = re.findall(r"<tr><th scope=\"row\">latency p50, shm, copy, 16\u00a0B</th>(.*?)</tr>", page)
    assert re.findall(r'href="([^"]+)">331\u00a0ns<', row) == [
        "../logs/1.9/latency-shm/01/perftest.log.html#L11:latency.p50",
        "../logs/1.10/latency-shm/01/perftest.log.html#L11:latency.p50",
    ]
    assert 'id="L11:latency.p50"' in (site / "logs/1.10/latency-shm/01/perftest.log.html").read_text()
    values = re.findall(r'<td class="n stat-median"[^>]*>(.*?)</td>', page)
    assert values
    assert all(value.startswith("<a href=") for value in values)
    assert '<th scope="row"><a href="../tacholog-perftest/udp.html">udp</a></th>' in page


@pytest.mark.site
def test_newest_release_of_each_system_is_compared_on_the_home_page_and_in_the_download(tmp_path: Path, releases: Path, checkout: Path) -> None:
    for label, day in (("1.10", 2), ("1.11", 3)):
        release(releases / "other", checkout, label, day, system="Another system")

    site = build_site([releases], tmp_path / "site", tmp_path / "work").parent

    home = (site / "index.html").read_text()
    assert 'href="diffs/tacholog-perftest-1.10-to-1.11.html"' in home
    assert 'href="diffs/another-system-1.10-to-1.11.html"' in home
    heads = [line.rpartition(": ")[0] for line in (site / "downloads/latest-diff.md").read_text().splitlines() if line.startswith("### ")]
    assert heads == ["### Tacholog perftest: 1.10 → 1.11", "### Another system: 1.10 → 1.11"]


@pytest.mark.site
def test_pages_state_that_releases_without_start_times_are_in_the_order_of_their_names(tmp_path: Path, site: Path) -> None:
    for label, log in (("r9", FIRST), ("r10", SECOND)):
        add_run(tmp_path / "data", label, log, msgspec.structs.replace(rti(published=False), release=label))

    made = build_site([tmp_path / "data"], tmp_path / "site", tmp_path / "work").parent

    note = re.compile(r"The releases of RTI Connext DDS are in the order of their names, because no run has a start time\. So r10 counts")
    pages = ["index.html", "releases.html", "diffs/rti-connext-dds-r9-to-r10.html"]
    assert [name for name in pages if not note.search((made / name).read_text())] == []
    assert "in the order of their names" not in (site / "index.html").read_text()


def test_release_on_another_machine_starts_a_new_line_with_a_reason(site: Path) -> None:
    page = (site / "history/latency-p50.html").read_text()
    heads = re.findall(r'<th scope="col" class="n">(?:<a [^>]*>)?([^<]+)', page)
    # The page has two tables: the history, and the rows of only one release. In both, the newest release comes first.
    assert heads == ["1.11", "1.10", "1.9"] * 2
    before, reason, after = page.partition("Another machine: CPU model: Intel(R) Xeon(R) Processor -&gt; Another CPU")
    assert reason
    assert (before.count('<th scope="row">'), after.count('<th scope="row">'), after.count('class="anew"')) == (7, 7, 0)
    assert page.count("alike, not proven</span>") == 7
    assert page.count('class="trend"') == 7
    folded = page[page.index('<details class="alone">') : page.index("</details>", page.index('<details class="alone">'))]
    assert re.sub("<[^>]*>", "", folded.partition("</summary>")[0]) == "7 rows of one release only"
    assert "Another machine: CPU model" in folded


def test_releases_are_sorted_by_time_and_otherwise_by_their_numbers(releases: Path) -> None:
    runs = list(view_of(load([releases])).runs.values())
    undated = [msgspec.structs.replace(run, start_time=None) for run in reversed(runs)]

    assert releases_of(runs) == releases_of(undated) == {"Tacholog perftest": ["1.9", "1.10", "1.11"]}


def test_releases_are_sorted_by_the_start_of_their_first_run_even_if_their_time_zones_differ() -> None:
    times = {"third": "2026-01-01T23:30:00-05:00", "second": "2026-01-02T01:00:00Z", "first": "2026-01-02T06:00:00+09:00", "zero": "2026-01-01"}
    again = [("S", "second", "2026-03-01T00:00:00+01:00"), ("S", "third", None)]

    found = in_order_of_time([*(("S", release, time) for release, time in times.items()), *again])

    assert found == {"S": ["zero", "first", "second", "third"]}


def test_release_candidate_without_a_time_precedes_its_release() -> None:
    names = [
        "main",
        "1.2",
        "1.9-beta2",
        "1.9",
        "1.10a1",
        "1.10-alpha",
        "1.10-rc1",
        "1.10-rc2",
        "1.10-rc10",
        "1.10",
        "1.10-2",
        "1.10.1",
        "1.10.1b",
        "2.0.dev3",
        "2.0",
    ]

    assert in_order_of_time(("S", name, None) for name in reversed(names)) == {"S": names}


def test_renamed_transport_keeps_its_history(tmp_path: Path, checkout: Path) -> None:
    for label, name in (("a", "shmem"), ("b", "shm")):
        release(tmp_path / "data", checkout, label, 1)
        log = tmp_path / "data" / label / RUN / "perftest.log"
        log.write_text(log.read_text().replace("transport=shm ", f"transport={name} "))
    (tmp_path / "renames.toml").write_text('[transport]\n"shmem" = "shm"\n')
    sides = [find(str(tmp_path / "data" / label), []) for label in "ab"]

    apart = compare(sides[0], sides[1], Policy())
    old, new = (renamed(side, read_renames(tmp_path / "renames.toml")) for side in sides)
    joined = compare(old, new, Policy())

    assert (apart.counts["removed"], apart.counts["added"]) == (21, 21)
    assert (joined.counts["removed"], joined.counts["added"]) == (0, 0)
    assert {row.key.transport for row in joined.rows} == {"shm"}


@pytest.mark.parametrize(
    ("text", "said"), [("[moon]\na = 'b'\n", r"\[moon\]: only system, transport"), ("[metric]\na = 'b'\n", "there is no metric 'b'")]
)
def test_error_message_names_the_invalid_rename(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "renames.toml").write_text(text)

    with pytest.raises(UnreadableInput, match=said):
        read_renames(tmp_path / "renames.toml")


def test_line_in_a_history_ends_before_a_release_that_cannot_be_compared_with_the_previous_release(releases: Path) -> None:
    sides = [find(str(releases / label), []) for label in ("1.9", "1.10", "1.11")]
    reports = [compare(old, new, Policy()) for old, new in pairwise(sides)]

    found = lines(reports, "latency", "p50")

    assert sorted({tuple(point.release for point in line.points) for line in found}) == [(0, 1), (2,)]


def test_history_has_two_lines_if_two_paired_campaigns_measured_a_release(tmp_path: Path, checkout: Path) -> None:
    recorded = checkout / "data/perftest/0.1.0-to-0.2.0"
    for campaign, day, (first, second) in (("one", "21", ("1", "2")), ("two", "22", ("2", "3"))):
        for side, label in (("old", first), ("new", second)):
            for run in sorted((recorded / side / "latency-uds").iterdir()):
                folder = tmp_path / "all" / campaign / side / run.name
                shutil.copytree(run, folder)
                manifest = read_manifest(folder / "run.toml")
                when = (manifest.start_time or "").replace("2026-11-21", f"2026-11-{day}")
                write(folder / "run.toml", msgspec.structs.replace(manifest, release=label, session=campaign, start_time=when, system_version=None))
    data = load([tmp_path / "all"])
    reports = [compare(of_release(data, old), of_release(data, new), Policy(), (old, new)) for old, new in ("12", "23")]

    found = [line for line in lines(reports, "latency", "p50") if line.key.payload_bytes == 64]

    assert [([point.release for point in line.points], why_it_begins(line)) for line in found] == [
        ([0, 1], None),
        ([1, 2], "other runs of 2 than before"),
    ]
    values = [[f"{point.value:.6g}" for point in line.points] for line in found]
    assert values[0] == values[1]  # Both campaigns are copies of the same pairs, so both lines have equal values.


def test_history_states_why_new_lines_start_if_a_release_has_different_row_names(checkout: Path) -> None:
    sides = [find(str(checkout / "data/ecal" / release), []) for release in ("5.4.0", "5.5.0", "5.11", "5.12")]
    reports = [compare(old, new, Policy()) for old, new in pairwise(sides)]

    program = "tool: ecal_sample_latency_rec_cb -> ecal_sample_latency_rec"
    found = [line for line in lines(reports, "latency", "mean") if line.key.payload_bytes == 1024 and line.key.data_path != "zero-copy"]

    assert sorted((line.key.participant or "", tuple(point.release for point in line.points), why_it_begins(line) or "") for line in found) == [
        ("Ubuntu16 AMD64", (0,), ""),
        ("Ubuntu16 AMD64", (1,), "tool: ecal_sample_latency_rec -> ecal_sample_latency_rec_cb"),
        (
            "Ubuntu22 AMD64",
            (2, 3),
            f"{program}; operating system: Ubuntu16 AMD64 -> Ubuntu22 AMD64; transport: not stated -> SHM; data path: not stated -> copy",
        ),
        ("Win10 AMD64", (0,), ""),
        ("Win10 AMD64", (1,), "tool: ecal_sample_latency_rec -> ecal_sample_latency_rec_cb"),
        ("Win10 AMD64", (2, 3), f"{program}; transport: not stated -> SHM; data path: not stated -> copy"),
    ]


def test_comparison_on_a_page_uses_the_measured_band_of_its_machine(releases: Path, tmp_path: Path) -> None:
    (releases / "same-build").mkdir()
    (known,) = (file.stem for file in (releases / "hosts").glob("host-*.toml") if file.stem != "host-000000")
    head = "session,start,build,pairs,system,test,transport,data_path,type,keyed,publishers,subscribers,participant,payload_bytes,payload_bytes_high"
    row = "monday,,5e1f,12,Tacholog perftest,latency,shm,copy,,,1,1,,64,,,latency,p50,24,300,0.5,0.01,-0.02,0.02"
    (releases / f"same-build/{known}.csv").write_text(f"{head},demand,metric,statistic,runs,median,deviation,shift,shift_low,shift_high\n{row}\n")

    page, warnings = build(tmp_path, "```{perf-diff} 1.9 1.10\n```", releases)

    assert warnings == ""
    assert "measured in 1 session of one build" in page
