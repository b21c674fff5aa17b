"""A log that a site offers is read as its original: names are hidden in it, and not the words and units of its tool."""

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

pytestmark = [  # what MyST and the theme still use of Sphinx is their business
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.site,
]
# Of each log the line of a result, a number of it, and what it says.
NUMBERS = {
    "fastrtps/throughput-2.9.1.csv": (2, "messages_sent", "total", 214900),  # in the head: "Subscription time [us]"
    "iceperf/2.0.3-leader.log": (14, "latency", "mean", 63000),  # "Average Latency [µs]", with a micro sign
    "rti/csv-appended-pub.csv": (2, "latency", "mean", 28000),  # "Ave (μs)", with a Greek letter
    "iperf3/tcp-timestamps.log": (9, "goodput", "mean", 10.3e9),  # "Mon Nov 23 01:37:47 2026" before each line
}


def offered(name: str, folder: Path) -> Log:
    """What a site offers of a sample log of an own run, read again."""
    format_name = name.partition("/")[0]
    lines, _ = published((FORMATS / name).read_bytes(), folder, format_name)
    return read_text("\n".join(lines), format_name)


@pytest.mark.parametrize("name", NUMBERS)
def test_the_words_and_units_of_a_tool_are_no_names(tmp_path: Path, name: str) -> None:
    line, metric, statistic, value = NUMBERS[name]

    record = next(event.what for event in offered(name, tmp_path).events if event.line == line)

    assert isinstance(record, Record)
    number = record.number(metric, statistic)
    assert number is not None
    assert number.value == value


def test_a_banner_without_its_commit_states_the_version_of_the_system(tmp_path: Path) -> None:
    facts = offered("rti/3.0.1-latency-pub.log", tmp_path).account.facts

    assert (facts.tool_version, facts.system_version) == ("3.0.1", "6.0.0")


def test_a_weekday_and_a_month_are_shown_as_parts_of_a_time_only() -> None:
    said = "Tue Jan  6 09:03:01 2026 Server listening, Sat, 21 Nov 2026 04:25:14 GMT, says Jan of Sun"

    assert masked(said, lambda _: True) == "Tue Jan  6 09:03:01 2026 Server listening, Sat, 21 Nov 2026 04:25:14 GMT, says […] of […]"


@pytest.fixture(scope="module")
def own_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of own runs, a system for each of these logs."""
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


def test_a_site_of_own_runs_of_many_tools_agrees_with_the_logs_that_it_offers(own_runs: Path) -> None:
    assert verify_site(own_runs).findings == ()


def test_every_publisher_is_called_as_its_log_calls_it(own_runs: Path) -> None:
    shown = pd.read_parquet(own_runs / "data/results.parquet", columns=["system", "participant"])

    assert {*shown[shown["system"] == "System 7"]["participant"].dropna()} == {"pub1", "pub2", "pub3", "all"}
