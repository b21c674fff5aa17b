"""A log that a site offers gives the same numbers as the original log. Its names are hidden, but the words and units of the tool are not."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from tests.report.conftest import add_run
from tests.report.test_redaction import published
from tests.samples import FORMATS

from tacholog.formats.reading import Log, read_text
from tacholog.privacy.free_text import masked
from tacholog.runs.manifest import Manifest
from tacholog.schema.records import Record
from tacholog.site.build import build_site
from tacholog.site.verification.site import verify_site

pytestmark = [  # Ignore warnings about old parts of Sphinx: MyST and the theme still use these parts.
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.site,
]
# For each log: the line of a result, the metric and statistic of one of its numbers, and the value of this number.
NUMBERS = {
    "fastrtps/throughput-2.9.1.csv": (2, "messages_sent", "total", 214900),  # Its header contains "Subscription time [us]".
    "iceperf/2.0.3-leader.log": (14, "latency", "mean", 63000),  # Its header contains "Average Latency [µs]" with a micro sign.
    "rti/csv-appended-pub.csv": (2, "latency", "mean", 28000),  # Its header contains "Ave (μs)" with a Greek letter.
    "iperf3/tcp-timestamps.log": (9, "goodput", "mean", 10.3e9),  # Each line begins with a time such as "Mon Nov 23 01:37:47 2026".
}


def offered(name: str, folder: Path) -> Log:
    """Publish a sample log as the log of an own run. Return the content that is read from the published log."""
    format_name = name.partition("/")[0]
    lines, _ = published((FORMATS / name).read_bytes(), folder, format_name)
    return read_text("\n".join(lines), format_name)


@pytest.mark.parametrize("name", NUMBERS)
def test_words_and_units_of_a_tool_are_not_masked_as_names(tmp_path: Path, name: str) -> None:
    line, metric, statistic, value = NUMBERS[name]

    record = next(event.what for event in offered(name, tmp_path).events if event.line == line)

    assert isinstance(record, Record)
    number = record.number(metric, statistic)
    assert number is not None
    assert number.value == value


def test_version_of_the_system_is_read_from_a_banner_whose_commit_is_masked(tmp_path: Path) -> None:
    facts = offered("rti/3.0.1-latency-pub.log", tmp_path).account.facts

    assert (facts.tool_version, facts.system_version) == ("3.0.1", "6.0.0")


def test_weekday_and_month_are_shown_only_as_parts_of_a_time() -> None:
    said = "Tue Jan  6 09:03:01 2026 Server listening, Sat, 21 Nov 2026 04:25:14 GMT, says Jan of Sun"

    assert masked(said, lambda _: True) == "Tue Jan  6 09:03:01 2026 Server listening, Sat, 21 Nov 2026 04:25:14 GMT, says […] of […]"


@pytest.fixture(scope="module")
def own_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of the user's own runs, with one system for each log."""
    folder = tmp_path_factory.mktemp("own-runs")
    logs = (
        *NUMBERS,
        "rti/3.0.1-latency-pub.log",
        "performance_test/57791ae-two-hosts.log",
        "fastrtps/latency-1.1.log",
        "native/three-publishers-tcp.log",
    )
    for number, name in enumerate(logs):
        manifest = Manifest(system=f"System {number}", release="1", host="desk", logs=())
        add_run(folder / "data", f"run{number}", (FORMATS / name).read_text(encoding="utf-8"), manifest)
    return build_site([folder / "data"], folder / "site", folder).parent


def test_site_of_own_runs_of_many_tools_agrees_with_its_offered_logs(own_runs: Path) -> None:
    assert verify_site(own_runs).findings == ()


def test_publishers_have_the_names_that_their_log_states(own_runs: Path) -> None:
    shown = pd.read_parquet(own_runs / "data/results.parquet", columns=["system", "participant"])

    assert {*shown[shown["system"] == "System 7"]["participant"].dropna()} == {"pub1", "pub2", "pub3", "all"}
