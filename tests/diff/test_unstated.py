"""The statements of a comparison about conditions that the logs do not state."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from tacholog.commands.diff import diff
from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy
from tacholog.compare.result import Comparison
from tacholog.compare.sides import find, of_release
from tacholog.render.diff.page import html
from tacholog.render.diff.summary import conclusion, loss_sentence
from tacholog.render.diff.text import markdown, text
from tacholog.render.diff.words import remark
from tacholog.store.frames import Dataset
from tacholog.store.load import load

Compared = Callable[..., Comparison]
Side = Callable[..., Dataset]
LOGS = Path(__file__).parent.parent / "formats" / "iperf3"
HOST = 'name = "Lab"\nsource = "made up"\n[cpu]\nmodel = "CPU"\ncores = "8"\n[memory]\nsize = "64 GiB"\n'
RUN = """schema = 1
system = "Sockets"
tool = "iperf3"
tool_version = "3.12"
host = "lab"
status = "ok"
start_time = "2026-11-01T10:{minute:02}:00Z"
session = "monday"
repetition = {repetition}
notes = []
[conditions]
transport = "tcp"
load_mode = "max-rate"
reliability = "reliable"
{stated}
[[logs]]
file = "{log}"
sha256 = "{digest}"
"""


def eight_pairs(folder: Path, stated: str = "", logs: tuple[str, str] = ("tcp.json", "tcp.json")) -> tuple[str, str]:
    """Write eight pairs of runs into a folder, and return the folders of the old and the new side.

    The log of each run is a copy of a log of iperf3: by default, of a log with a TCP stream.
    """
    (folder / "hosts").mkdir()
    (folder / "hosts" / "lab.toml").write_text(HOST)
    digests = [hashlib.sha256((LOGS / log).read_bytes()).hexdigest() for log in logs]
    for pair in range(8):
        for side in range(2):
            run = folder / ("old", "new")[side] / f"{pair + 1:02}"
            run.mkdir(parents=True)
            shutil.copy(LOGS / logs[side], run)
            words = {"repetition": pair + 1, "log": logs[side], "digest": digests[side], "stated": stated}
            (run / "run.toml").write_text(RUN.format(minute=2 * pair + (side + pair) % 2, **words))
    return str(folder / "old"), str(folder / "new")


@pytest.mark.parametrize(
    ("transport", "reach", "missing"),
    [("wire", "host", False), ("shm-bridge", "network", True), ("shm", None, False), ("wire", None, True)],
)
def test_unknown_network_card_is_unverified_if_the_transport_uses_a_network(transport: str, reach: str | None, missing: bool, side: Side) -> None:
    values = np.full((1, 6), 1000.0)
    old, new = (side(values, host=None, transport=transport, reach=reach) for _ in range(2))
    report = compare(old, new, Policy())

    assert [{"nic", "mtu"} <= set(row.unverified) for row in report.rows] == [missing]


def test_report_names_the_key_for_a_condition_that_iperf3_does_not_state(tmp_path: Path) -> None:
    said = CliRunner().invoke(diff, [*eight_pairs(tmp_path), "--only", "unreplicated_same"])

    assert (
        "! 1 row of repeated runs has no verdict, because neither the logs nor run.toml state, on one side or both: "
        "batching (batch_bytes under [conditions] in run.toml, or in the campaign)." in said.output
    )
    assert "not stated: batching" in said.output
    assert "ompared without a test, by the median of each side: no row differs by more than the band, 1 is alike" in said.output
    assert "one value on each side" not in said.output


def test_row_of_iperf3_is_tested_if_the_manifest_states_the_missing_condition(tmp_path: Path) -> None:
    said = CliRunner().invoke(diff, eight_pairs(tmp_path, "batch_bytes = 131072"))

    assert "no change in 1" in said.output
    assert "not stated" not in said.output


@pytest.mark.parametrize("field", ["qos", "cpu_model", "harness_major"])
def test_report_names_the_key_under_which_an_unstated_condition_can_be_stated(side: Side, noise: NDArray[np.float64], field: str) -> None:
    said: dict[str, object] = {"qos": {"reliability": None}, "cpu_model": {"host": None}, "harness_major": {"tool_version": None}}[field]  # type: ignore[assignment]
    place = {
        "qos": "reliability under [conditions] in run.toml",
        "cpu_model": "CPU model (in the host file)",
        "harness_major": "tool_version in run.toml",
    }
    turns = [[2 * pair + (pair + which) % 2 for pair in range(12)] for which in range(2)]

    report = compare(side(noise[0], turns[0], **said), side(noise[1], turns[1], **said), Policy())

    assert place[field] in text(report)
    assert not report.warns("single_values")


def test_loss_is_called_stated_if_only_the_number_of_lost_messages_is_known(compared: Compared, noise: NDArray[np.float64]) -> None:
    """For example, latency lines of perftest state lost=0, but no share."""
    none = np.zeros(12)
    said = {"metric": "messages_lost", "statistic": "total", "unit": "messages"}

    assert loss_sentence(compared(none, none, **said)) == "No run lost anything (1 row states it)."
    assert loss_sentence(compared(none, none + 3, **said)).startswith("In 1 row messages were lost, but no log states how many there were")
    assert loss_sentence(compared(noise[0], noise[1])) == "Neither side states its loss."


@pytest.fixture(scope="module")
def latency_alone(checkout: Path) -> Comparison:
    data = load([checkout / "data"])
    return compare(of_release(data, "0.1.0"), of_release(data, "0.2.0"), Policy(metrics=("latency",)))


@pytest.mark.parametrize("show", [text, markdown, html])
def test_comparison_of_latency_only_has_no_statement_about_loss(latency_alone: Comparison, show: Callable[[Comparison], str]) -> None:
    shown = show(latency_alone)

    assert "states its loss" not in shown
    assert "No run lost anything" not in shown


@pytest.mark.parametrize(("old", "new", "rows"), [("hmbdc/14-2", "hmbdc/15-17-1", 12), ("ecal/5.11", "ecal/5.12", 32)])
def test_report_states_by_default_that_a_measurement_was_published_again(checkout: Path, old: str, new: str, rows: int) -> None:
    report = compare(find(str(checkout / "data" / old), []), find(str(checkout / "data" / new), []), Policy())

    assert conclusion(report).startswith(f"Nothing measured changed: {rows} rows are the same measurement, published again.")
    assert 'class="picture"' not in html(report)
    assert all(f"{rows} rows are the same measurement, published again" in show(report) for show in (text, markdown, html))


def test_inconclusive_row_states_its_smallest_detectable_change_if_its_interval_is_above_one(compared: Compared) -> None:
    old = np.full((40, 12), 10_000.0)
    new = old * (1 + 0.03 * np.random.default_rng(1).choice([-1, 1], (40, 12)) * np.linspace(1, 2, 12))
    new[0] = old[0] * (1 + np.array([-0.02, -0.01, -0.003, *np.linspace(0.03, 0.045, 9)]))
    # The change is significant, but may be smaller than the threshold.
    new[1] = old[1] * (1.02 + 0.004 * np.linspace(-1, 1, 12) * np.resize([1, -1], 12))

    report = compared(old, new)
    significant = next(row for row in report.rows if row.key.payload_bytes == 32)
    row = next(row for row in report.rows if row.key.payload_bytes == 16)

    assert ("significant" in row.flags, significant.flags) == (False, ("significant",))
    assert "smallest detectable change 3.9 %" in remark(row)
    assert (row.verdict, (row.interval or (0, 0))[0] or 0) > ("inconclusive", 1)
    assert row.p_adjusted is not None
    assert row.p_adjusted > 0.05
    assert "the interval is for this row alone: among so many rows, such intervals occur by chance" in remark(row)
    others = [remark(one) for one in report.rows if one.interval and (one.interval[0] or 0) < 1 < (one.interval[1] or 9)]
    assert len(others) > 30
    assert not any("row alone" in said for said in others)
    assert all("95 % interval, row alone" in show(report) for show in (text, markdown, html))


@pytest.mark.parametrize("show", [text, markdown, html])
def test_values_of_a_row_are_values_of_single_runs_and_the_ratio_is_an_estimate(compared: Compared, show: Callable[[Comparison], str]) -> None:
    old = np.array([10.0, 10.2, 9.9, 10.1, 10.0, 10.3]) * 1000
    new = np.array([11.0, 11.3, 10.9, 11.0, 11.1, 11.2]) * 1000

    report = compared(old, new)
    (row,) = report.rows

    assert row.old
    assert row.new
    assert (row.old.median, row.new.median) == (10_100, 11_100)  # The slower of the two middle values, and not the mean of both.
    assert row.old.values == tuple(old)
    assert row.ratio_kind == "hodges_lehmann_pairs"
    shown = show(report).replace("Estimated", "estimated")
    assert "estimated ratio" in shown
    assert "The estimated ratio is the Hodges-Lehmann estimate".replace("Estimated", "estimated") in shown
    assert "Old and new are each the value of one run" in shown


def test_row_of_rates_has_the_lower_middle_value_if_the_number_of_runs_is_even(compared: Compared) -> None:
    rates = np.array([100.0, 102, 99, 101, 100, 103]) * 1e6

    (row,) = compared(rates, rates * 2, metric="goodput", statistic="mean", unit="bit_per_s", test="throughput", basis=None).rows

    assert [side and side.median for side in (row.old, row.new)] == [100e6, 200e6]


def test_ratio_of_single_values_is_their_quotient(compared: Compared) -> None:
    report = compared(np.array([10_000.0]), np.array([12_000.0]))

    assert (report.rows[0].ratio_kind, report.rows[0].ratio) == ("quotient", 1.2)
    assert "estimated" not in text(report)


def test_iperf3_text_with_three_streams_and_with_one_stream_are_two_rows(tmp_path: Path) -> None:
    """An older version compared both logs in one row. The verdict was better: from 16.7 to 52.1 Gbit/s."""
    old, new = eight_pairs(tmp_path, "payload_bytes = 131072", ("tcp.log", "tcp-three-streams-omit.log"))
    report = compare(load([Path(old)]), load([Path(new)]), Policy())

    received = [(row.verdict, row.key.publishers) for row in report.rows if row.key.metric == "goodput" and row.key.participant is None]
    assert received == [("removed", 1), ("added", 3)]
    assert {row.verdict for row in report.rows} == {"removed", "added"}


def test_iperf3_text_logs_of_opposite_directions_are_not_compared(tmp_path: Path) -> None:
    old, new = eight_pairs(tmp_path, "payload_bytes = 131072", ("tcp.log", "tcp-reverse.log"))
    report = compare(load([Path(old)]), load([Path(new)]), Policy())

    (received,) = [row for row in report.rows if row.key.metric == "goodput"]
    assert received.verdict == "not_comparable"
    assert [(one.field, one.old, one.new) for one in received.differences] == [("participant", None, "server to client")]
