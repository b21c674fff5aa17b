"""Settings of a transport: logs with different settings are not compared, and the message names the setting and both values."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command import run_tacholog_text

LOG = Path(__file__).resolve().parents[1] / "formats/native/throughput-zeromq-ipc.log"
SETTINGS = "settings high_water_mark=500 io_threads=1 sockets=push-pull\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    assert SETTINGS in LOG.read_text(encoding="utf-8")
    path = tmp_path / "old.log"
    path.write_text(LOG.read_text(encoding="utf-8"), encoding="utf-8")
    return path


def other(log: Path, settings: str) -> Path:
    path = log.with_name("new.log")
    path.write_text(log.read_text(encoding="utf-8").replace(SETTINGS, settings), encoding="utf-8")
    return path


def test_each_differing_setting_is_named_with_both_values(log: Path) -> None:
    new = other(log, "settings high_water_mark=1000 io_threads=1 sockets=pub-sub-block\n")

    shown = run_tacholog_text("diff", log, new).stdout

    assert "setting high-water-mark: 500 -> 1000" in shown
    assert "setting sockets: push-pull -> pub-sub-block" in shown
    assert "io-threads" not in shown
    assert "2 not comparable." in shown


def test_report_proposes_the_option_across_if_only_the_configuration_differs(log: Path) -> None:
    new = other(log, "settings high_water_mark=1000 io_threads=1 sockets=pub-sub-block\n")
    new.write_text(new.read_text(encoding="utf-8").replace(" waiting=busy-poll ", " waiting=block "), encoding="utf-8")

    done = run_tacholog_text("diff", log, new)
    followed = run_tacholog_text("diff", log, new, "--across", "settings", "--across", "waiting")

    assert "because settings and waiting are not the same" in done.stdout
    assert "add --across settings --across waiting." in done.stdout
    assert (done.returncode, followed.returncode) == (4, 0)
    assert "not comparable" not in followed.stdout
    assert "Changed too: waiting" not in followed.stdout  # The header of the report already states the difference in waiting.


def test_gate_without_a_tested_row_does_not_pass(log: Path) -> None:
    """The logs differ, but there is one run for each side. So no row can be tested, and no row can be worse."""
    same = other(log, f"{SETTINGS}\n")

    codes = [
        run_tacholog_text("diff", log, same, *options).returncode
        for options in ([], *(["--fail-on", asked] for asked in ("worse", "inconclusive", "implausible")))
    ]

    assert codes == [0, 4, 4, 0]


def test_message_on_an_unknown_field_recommends_the_most_similar_field(log: Path) -> None:
    done = run_tacholog_text("diff", log, log, "--across", "settinx")

    assert done.returncode == 2
    assert "label.NAME (is settings meant?)" in done.stderr


def test_log_without_settings_is_compared_with_a_log_with_settings(log: Path) -> None:
    shown = run_tacholog_text("diff", log, other(log, "")).stdout

    assert "not comparable" not in shown
    assert "Changed too: setting high-water-mark of zeromq-ipc: 500 -> not stated" in shown
    assert "Changed too: setting sockets of zeromq-ipc: push-pull -> not stated" in shown


def test_setting_that_only_a_newer_version_has_does_not_forbid_a_comparison(log: Path) -> None:
    new = other(log, "settings high_water_mark=500 immediate=off io_threads=1 sockets=push-pull\n")

    shown = run_tacholog_text("diff", log, new).stdout

    assert "not comparable" not in shown
    assert "Changed too: setting immediate of zeromq-ipc: not stated -> off" in shown
    assert "high-water-mark" not in shown


def test_comparison_across_settings_states_the_settings_of_both_sides(log: Path) -> None:
    new = other(log, "settings high_water_mark=500 io_threads=2 sockets=push-pull\n")

    shown = run_tacholog_text("diff", log, new, "--across", "settings").stdout

    assert "across: settings (settings: high_water_mark=500, io_threads=1, sockets=push-pull -> high_water_mark=500, io_threads=2" in shown
    assert "not comparable" not in shown


def test_two_transports_are_compared_by_their_common_settings(log: Path) -> None:
    new = other(log, "settings congestion=reno io_threads=2\n")
    new.write_text(new.read_text(encoding="utf-8").replace("transport=zeromq-ipc", "transport=tcp"), encoding="utf-8")

    shown = run_tacholog_text("diff", log, new, "--across", "transport").stdout

    assert "setting io-threads: 1 -> 2" in shown
    assert "congestion" not in shown
    assert "sockets" not in shown


def test_two_middlewares_are_compared_across_their_transports(log: Path) -> None:
    new = other(log, "settings queue=4\n")
    text = new.read_text(encoding="utf-8").replace("transport=zeromq-ipc", "transport=nng-ipc").replace("library=ZeroMQ", "library=nng")
    new.write_text(text, encoding="utf-8")

    shown = run_tacholog_text("diff", log, new, "--across", "transport").stdout

    assert "across: transport, system (transport: zeromq-ipc -> nng-ipc; system: ZeroMQ -> nng)" in shown
    assert "only in old" not in shown
