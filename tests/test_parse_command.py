"""``tacholog parse`` as its users meet it: a real process, real files."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FORMATS = Path(__file__).parent / "formats"
DATA = Path(__file__).parent.parent / "data"
LINE = "Length:    32  Packets: 77849677  Packets/s(ave): 2594706  Mbps(ave):   664.2  Lost:     0 (0.00%)\n"


def tacholog(*arguments: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    done = subprocess.run([sys.executable, "-m", "tacholog", *map(str, arguments)], input=stdin, capture_output=True, timeout=60, check=False)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def test_the_published_figures_are_read_whole() -> None:
    done = tacholog("parse", DATA / "rti", "--summary", "--strict")

    assert done.returncode == 0
    assert "14 logs: 231 records (54 latency, 177 throughput), 0 broken and 0 unknown of 1341 lines" in done.stdout


def test_jsonl_objects_say_where_and_what() -> None:
    done = tacholog("parse", "--format", "jsonl", DATA / "rti/udpv4-wan/keyed-reliable")

    first = json.loads(done.stdout.splitlines()[0])
    assert first["log"].endswith("keyed-reliable/latency-pub.txt")
    assert (first["line"], first["last_line"]) == (23, 41)
    assert (first["system"], first["test"], first["payload_bytes"]) == ("RTI Connext DDS", "latency", 32)
    assert (first["basis"], first["reliability"], first["keyed"], first["load_mode"]) == ("rtt/2", "reliable", True, "closed")
    assert first["resolutions"]["latency_p50_ns"] == 1000


def test_csv_has_one_row_a_number() -> None:
    done = tacholog("parse", "--format", "csv", FORMATS / "rti/cut-short.log")

    header, *rows = done.stdout.splitlines()
    assert header.startswith("log,line,last_line,system,")
    assert len(rows) == 2 * 5


def test_standard_input_and_gzip_are_read() -> None:
    done = tacholog("parse", "--format", "jsonl", "-", stdin=gzip.compress(LINE.encode()))

    assert json.loads(done.stdout)["messages_received"] == 77849677


def test_a_broken_line_is_named_with_file_and_line_and_strict_fails_on_it() -> None:
    done = tacholog("parse", "--strict", FORMATS / "rti/cut-short.log")

    assert done.returncode == 1
    assert "cut-short.log:3: broken: summary line is cut short or garbled: 'Length:   256  Packets" in done.stderr
    assert "664.2" in done.stdout


def test_without_strict_a_broken_line_costs_only_itself() -> None:
    assert tacholog("parse", FORMATS / "rti/cut-short.log").returncode == 0


def test_explain_shows_every_line_with_its_class() -> None:
    done = tacholog("parse", "--explain", FORMATS / "rti/document.md")

    assert [line.split(":")[1] for line in done.stdout.splitlines()] == [str(number) for number in range(1, 19)]
    assert "document.md:1: unknown  # How fast is it?" in done.stdout
    assert "document.md:2: chatter" in done.stdout
    assert "document.md:11: record " in done.stdout


def test_an_unreadable_file_is_one_line_and_the_others_are_still_read(tmp_path: Path) -> None:
    noise, empty = tmp_path / "noise.bin", tmp_path / "empty.log"
    noise.write_bytes(os.urandom(10_000_000))
    empty.touch()

    done = tacholog("parse", noise, empty, tmp_path / "missing.log", FORMATS / "rti/manual-throughput.log")

    assert done.returncode == 2
    assert "737.4" in done.stdout
    complaints = [line for line in done.stderr.splitlines() if line.startswith("tacholog: ")]
    assert [Path(line.split(": ")[1]).name for line in complaints] == ["noise.bin", "empty.log", "missing.log"]
    assert "Traceback" not in done.stderr


def test_what_a_terminal_would_act_on_is_not_printed(tmp_path: Path) -> None:
    log = tmp_path / "evil.log"
    log.write_bytes(LINE.encode() + b"\x1b]0;owned\x07 <script>alert(1)</script>\n")

    done = tacholog("parse", "--explain", log)

    assert "\x1b" not in done.stdout
    assert "<script>" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--as", "nonsense"), "no format is called 'nonsense'; there are: ddsperf, ecal,"),
        (("--explain", "--format", "csv"), "--explain prints lines, not records"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_with_the_reason(arguments: tuple[str, ...], why: str) -> None:
    done = tacholog("parse", FORMATS / "rti/cut-short.log", *arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert why in done.stderr


def test_a_manifest_with_a_mistake_is_named_with_its_key(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(LINE)
    (tmp_path / "run.toml").write_text('system = "X"\nlogs = []\nbanana = 1\n')

    done = tacholog("parse", tmp_path)

    assert done.returncode == 2
    assert "run.toml: Object contains unknown field `banana`" in done.stderr


def test_the_formats_are_listed_with_what_they_were_checked_against() -> None:
    done = tacholog("formats")

    assert done.returncode == 0
    assert re.search(r"^    legacy-2\.4 +2\.4 to 3\.0\.1 +real logs, published results, logs in the manual$", done.stdout, re.MULTILINE)
    assert re.search(r"^    latency-5\.3 +5\.3\.4 to 5\.9 +from source only$", done.stdout, re.MULTILINE)


def test_one_format_is_listed_with_what_it_reads_and_its_source() -> None:
    done = tacholog("formats", "sockperf")

    assert done.stdout.startswith("sockperf: sockperf, for ")
    assert "\n  reads   sockperf: the statistics that a client prints" in done.stdout
    assert "\n  source  the printing functions of sockperf 3.7 to 3.10" in done.stdout
    assert "iperf3" not in done.stdout
    assert tacholog("formats", "nonsense").returncode == 2


def test_a_run_that_was_cut_off_is_named_and_strict_fails(tmp_path: Path) -> None:
    log = tmp_path / "perftest.log"
    whole = (FORMATS / "native" / "latency-udp.log").read_text().splitlines(keepends=True)
    log.write_text("".join(line for line in whole if not line.startswith("end ")))

    done = tacholog("parse", log, "--strict")

    assert done.returncode == 1
    assert f"{log}: the run was cut off: " in done.stderr


def test_a_run_without_a_result_is_named_and_strict_fails() -> None:
    log = FORMATS / "qperf/conf.log"

    done = tacholog("parse", log, "--strict")

    assert done.returncode == 1
    assert f"{log}: the run has no result: no result in the log" in done.stderr


def test_how_a_run_ended_is_not_stated_where_its_log_has_no_word_for_it() -> None:
    done = tacholog("parse", DATA / "rti/udpv4-wan/keyed-reliable", "--summary", "--strict")

    assert done.returncode == 0
    assert done.stdout.splitlines()[1].endswith("  not stated")


def test_a_format_that_there_is_not_is_said_once(tmp_path: Path) -> None:
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text(LINE)

    done = tacholog("parse", tmp_path, "--as", "foo")

    assert done.returncode == 2
    assert done.stderr.count("no format is called 'foo'") == 1


def test_the_table_has_the_mean_which_is_all_that_some_tools_print() -> None:
    done = tacholog("parse", FORMATS / "qperf/tcp-lat-plain.log")

    _, header, row = done.stdout.splitlines()
    assert re.split(r"  +", header.strip())[3:5] == ["min us", "mean us"]
    assert row.split() == ["2", "-", "rtt/2", "-", "35", *["-"] * 6]
