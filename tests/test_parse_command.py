"""``tacholog parse`` from a user's view: a real process, real files."""

from __future__ import annotations

import csv
import gzip
import json
import lzma
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command import run_tacholog

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

FORMATS = Path(__file__).parent / "formats"
DATA = Path(__file__).parent.parent / "data"
LINE = "Length:    32  Packets: 77849677  Packets/s(ave): 2594706  Mbps(ave):   664.2  Lost:     0 (0.00%)\n"


def tacholog(*arguments: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
    done = run_tacholog(*arguments, stdin=stdin)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def test_published_figures_are_read_completely() -> None:
    done = tacholog("parse", DATA / "rti", "--summary", "--strict")

    assert done.returncode == 0
    assert "14 logs: 231 records (54 latency, 177 throughput), 0 broken and 0 unknown of 1341 lines" in done.stdout


def test_jsonl_objects_have_the_position_and_the_content() -> None:
    done = tacholog("parse", "--format", "jsonl", DATA / "rti/udpv4-wan/keyed-reliable")

    first = json.loads(done.stdout.splitlines()[0])
    assert first["log"].endswith("keyed-reliable/latency-pub.txt")
    assert (first["line"], first["last_line"]) == (23, 41)
    assert (first["system"], first["test"], first["payload_bytes"]) == ("RTI Connext DDS", "latency", 32)
    assert (first["basis"], first["reliability"], first["keyed"], first["load_mode"]) == ("rtt/2", "reliable", True, "closed")
    assert first["resolutions"]["latency_p50_ns"] == 1000


def test_csv_has_one_row_for_each_number() -> None:
    done = tacholog("parse", "--format", "csv", FORMATS / "rti/cut-short.log")

    header, *rows = done.stdout.splitlines()
    assert header.startswith("log,line,last_line,system,")
    assert len(rows) == 2 * 5


def test_standard_input_and_gzip_are_read() -> None:
    done = tacholog("parse", "--format", "jsonl", "-", stdin=gzip.compress(LINE.encode()))

    assert json.loads(done.stdout)["messages_received"] == 77849677


def test_broken_line_is_reported_with_file_and_line_and_strict_fails() -> None:
    done = tacholog("parse", "--strict", FORMATS / "rti/cut-short.log")

    assert done.returncode == 1
    assert "cut-short.log:3: broken: summary line is cut short or garbled: 'Length:   256  Packets" in done.stderr
    assert "664.2" in done.stdout


def test_parse_with_a_broken_line_succeeds_if_the_option_strict_is_absent() -> None:
    assert tacholog("parse", FORMATS / "rti/cut-short.log").returncode == 0


def test_option_explain_shows_each_line_with_its_class() -> None:
    done = tacholog("parse", "--explain", FORMATS / "rti/document.md")

    assert [line.split(":")[1] for line in done.stdout.splitlines()] == [str(number) for number in range(1, 19)]
    assert "document.md:1: unknown  # How fast is it?" in done.stdout
    assert "document.md:2: chatter" in done.stdout
    assert "document.md:11: record " in done.stdout


def test_parse_with_explain_shows_the_facts_that_each_line_states() -> None:
    done = tacholog("parse", "--explain", FORMATS / "native/latency-udp.log")

    lines = done.stdout.splitlines()
    assert lines[5].endswith("latency-udp.log:6: fact     start time=2026-11-21T04:04:02.776Z   <- start_time")
    assert "latency-udp.log:7: fact     affinity role=pub requested=0" in lines[6]
    assert lines[6].endswith("   <- affinity_pub_requested, affinity_pub_achieved")
    assert "latency-udp.log:11: chatter  warmup payload_bytes=64" in lines[10]


def test_unreadable_file_is_reported_in_one_line_and_the_other_files_are_read(tmp_path: Path) -> None:
    noise, empty = tmp_path / "noise.bin", tmp_path / "empty.log"
    noise.write_bytes(os.urandom(10_000_000))
    empty.touch()

    done = tacholog("parse", noise, empty, tmp_path / "missing.log", FORMATS / "rti/manual-throughput.log")

    assert done.returncode == 2
    assert "737.4" in done.stdout
    complaints = [line for line in done.stderr.splitlines() if line.startswith("tacholog: ")]
    assert [Path(line.split(": ")[1]).name for line in complaints] == ["noise.bin", "empty.log", "missing.log"]
    assert "Traceback" not in done.stderr


def test_control_characters_of_a_terminal_are_not_printed(tmp_path: Path) -> None:
    log = tmp_path / "evil.log"
    log.write_bytes(LINE.encode() + b"\x1b]0;owned\x07 <script>alert(1)</script>\n")

    done = tacholog("parse", "--explain", log)

    assert "\x1b" not in done.stdout
    assert "<script>" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--as", "nonsense"), "no format is called 'nonsense'; there are: ddsperf, ecal,"),
        (("--as", "perftest"), "no format is called 'perftest' (is native meant?); there are: ddsperf, ecal,"),
        (("--explain", "--format", "csv"), "--explain prints lines, not records"),
    ],
)
def test_impossible_option_is_refused_with_a_reason(arguments: tuple[str, ...], why: str) -> None:
    done = tacholog("parse", FORMATS / "rti/cut-short.log", *arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert why in done.stderr


def test_manifest_with_an_error_is_named_with_its_key(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(LINE)
    (tmp_path / "run.toml").write_text('system = "X"\nlogs = []\nbanana = 1\n')

    done = tacholog("parse", tmp_path)

    assert done.returncode == 2
    assert "run.toml: Object contains unknown field `banana`" in done.stderr


def test_list_of_formats_states_how_each_format_was_checked() -> None:
    done = tacholog("formats")

    assert done.returncode == 0
    assert re.search(r"^    legacy-2\.4 +2\.4 to 3\.0\.1 +real logs, published results, logs in the manual$", done.stdout, re.MULTILINE)
    assert re.search(r"^    latency-5\.3 +5\.3\.4 to 5\.9 +from source only$", done.stdout, re.MULTILINE)


def test_single_format_is_listed_with_its_outputs_and_its_source() -> None:
    done = tacholog("formats", "sockperf")

    assert done.stdout.startswith("sockperf: sockperf, for ")
    assert "\n  reads   sockperf: the statistics that a client prints" in done.stdout
    assert "\n  source  the printing functions of sockperf 2.5 to 3.10, logs recorded with 3.7, and a published log from before 3.6" in done.stdout
    assert "iperf3" not in done.stdout
    assert tacholog("formats", "nonsense").returncode == 2


def test_strict_parsing_reports_a_truncated_run_and_fails(tmp_path: Path) -> None:
    log = tmp_path / "perftest.log"
    whole = (FORMATS / "native" / "latency-udp.log").read_text().splitlines(keepends=True)
    log.write_text("".join(line for line in whole if not line.startswith("end ")))

    done = tacholog("parse", log, "--strict")

    assert done.returncode == 1
    assert f"{log}: the run was cut off: " in done.stderr


def test_strict_parsing_reports_a_run_without_a_result_and_fails() -> None:
    log = FORMATS / "qperf/conf.log"

    done = tacholog("parse", log, "--strict")

    assert done.returncode == 1
    assert f"{log}: the run has no result: no result in the log" in done.stderr


def test_summary_says_that_a_log_does_not_state_the_end_of_the_run() -> None:
    done = tacholog("parse", DATA / "rti/udpv4-wan/keyed-reliable", "--summary", "--strict")

    assert done.returncode == 0
    assert done.stdout.splitlines()[1].endswith("  not stated")


def test_unknown_format_is_reported_once(tmp_path: Path) -> None:
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text(LINE)

    done = tacholog("parse", tmp_path, "--as", "foo")

    assert done.returncode == 2
    assert done.stderr.count("no format is called 'foo'") == 1


def test_table_has_the_mean_because_some_tools_print_nothing_else() -> None:
    done = tacholog("parse", FORMATS / "qperf/tcp-lat-plain.log")

    _, header, row = done.stdout.splitlines()
    assert re.split(r"  +", header.strip())[3:5] == ["min us", "mean us"]
    assert row.split() == ["2", "-", "rtt/2", "-", "35", *["-"] * 6]


def test_offered_rates_have_a_separate_table_if_no_received_rate_is_stated() -> None:
    done = tacholog("parse", FORMATS / "sockperf/throughput-udp.log", FORMATS / "iperf3/tcp.log")

    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[0][1:] == ["Sockets,", "throughput,", "offered"]
    assert rows[1:3] == [["line", "bytes", "Mbit/s", "messages/s", "sent"], ["8", "1400", "4327.254", "386362", "772987"]]
    assert rows[4][1:] == ["Sockets,", "throughput,", "offered"]
    assert rows[6] == ["9", "-", "16700", "-", "-"]
    assert rows[7][1:] == ["Sockets,", "throughput"]
    assert rows[9] == ["10", "-", "16700", "-", "-", "-", "-"]


def test_rates_of_all_subscribers_together_are_shown_and_called_a_sum() -> None:
    done = tacholog("parse", FORMATS / "native/three-subscribers-tcp.log")

    one, of_all = (row.split() for row in done.stdout.splitlines()[2:6:3])
    assert one == ["19", "64", "13.550523", "26465.866", "45312", "0", "0", "sub1"]
    assert of_all == ["22", "64", "40.935658", "79952.458", "135936", "0", "0", "all", "(sum)"]


@pytest.mark.parametrize("option", [(), ("--summary",)], ids=["table", "summary"])
def test_records_that_are_not_in_the_table_are_counted_separately(option: tuple[str, ...]) -> None:
    native = tacholog("parse", FORMATS / "native/throughput-probes-shm.log", *option)
    rti = tacholog("parse", FORMATS / "rti/csv-intervals-sub.csv", *option)

    assert "1 log: 8 records (2 latency, 2 throughput, 4 resources), " in native.stdout + native.stderr
    assert "1 log: 16 records (1 throughput, 15 intervals), " in rti.stdout + rti.stderr


def test_metrics_without_a_column_in_the_table_are_named_with_their_count() -> None:
    service = tacholog("parse", FORMATS / "ecal/service-and-topics.log")
    sender = tacholog("parse", FORMATS / "ecal/latency-6.2-sender.log")
    rates = tacholog("parse", "-", stdin=LINE.encode())

    assert "service-and-topics.log: 1 number of another metric (call_rate) is only in jsonl and csv\n" in service.stdout
    assert "8 numbers of other metrics (messages_sent) are only in jsonl and csv\n" in sender.stdout
    assert "only in jsonl and csv" not in rates.stdout


def test_single_line_is_reported_in_the_singular() -> None:
    done = tacholog("parse", "-", stdin=LINE.encode())

    assert done.stderr == "1 log: 1 record (1 throughput), 0 broken and 0 unknown of 1 line\n"


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, zstd.compress], ids=["gzip", "xz", "zstd"])
def test_compressed_log_with_damage_at_its_start_is_not_called_empty(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    log = tmp_path / "some.log"
    packed = bytearray(pack((FORMATS / "native/latency-udp.log").read_bytes()))
    packed[30] ^= 0xFF
    log.write_bytes(packed)

    done = tacholog("parse", log)

    assert done.returncode == 2
    assert "stream is damaged: " in done.stderr
    assert "empty" not in done.stderr


def test_damaged_log_with_too_little_text_for_detection_is_called_damaged(tmp_path: Path) -> None:
    log = tmp_path / "some.log"
    log.write_bytes(gzip.compress(b"a word of nobody\n") + b"\x1f\x8b\x08 no stream")

    done = tacholog("parse", log)

    assert done.returncode == 2
    assert f"tacholog: {log}: the gzip stream is damaged: " in done.stderr


def test_pipe_and_socket_are_refused_also_in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # The path of a socket has at most 108 bytes.
    (tmp_path / "a").mkdir()
    os.mkfifo("a/pipe.log")
    (tmp_path / "a" / "some.log").write_text(LINE)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("a/socket.log")

        direct = tacholog("parse", "a/pipe.log", "a/socket.log", "/dev/zero")
        folder = tacholog("parse", "a")

    pipe, listened = "tacholog: a/pipe.log: not a file but a named pipe", "tacholog: a/socket.log: not a file but a socket"
    assert direct.returncode == folder.returncode == 2
    assert direct.stderr.splitlines()[:3] == [pipe, listened, "tacholog: /dev/zero: not a file but a device"]
    assert folder.stderr.splitlines()[:2] == [pipe, listened]
    assert "664.2" in folder.stdout


@pytest.mark.parametrize("path", ["/dev/stdin", "/dev/fd/0"])
def test_pipe_opened_by_the_shell_is_read(path: str) -> None:
    assert "664.2" in tacholog("parse", path, stdin=LINE.encode()).stdout


def test_message_names_the_matching_format_if_the_log_has_another_format_than_the_given_one(tmp_path: Path) -> None:
    log = tmp_path / "some.log"
    log.write_text(LINE)

    wrong = tacholog("parse", "--as", "qperf", log)
    right = tacholog("parse", "--as", "qperf", FORMATS / "qperf/conf.log")

    assert f"tacholog: {log}: nothing was read, because this is no log of the format qperf; it looks like the format rti\n" in wrong.stderr
    assert wrong.returncode == 2
    assert "looks like" not in right.stderr
    assert right.returncode == 0


def test_system_that_a_log_does_not_state_is_shown_as_not_stated() -> None:
    summary = FORMATS / "fastrtps/latency-summary.csv"

    (first, *_) = tacholog("parse", "--format", "jsonl", summary).stdout.splitlines()
    table = tacholog("parse", summary).stdout
    (row, *_) = csv.DictReader(tacholog("parse", "--format", "csv", summary).stdout.splitlines())
    compared = tacholog("diff", summary, summary).stdout

    assert json.loads(first)["system"] is None
    assert f"{summary}  system not stated, latency" in table
    assert row["system"] == ""
    assert f"{summary}: system not stated; 1 run" in compared


# Parts of public mails, in the encoding in which they were sent.
MAILS = (
    """\
Connecting to host sawfly, port 5201
[ ID][Role] Interval           Transfer     Bitrate         Retr  Cwnd
[  5][TX-C]   0.00-1.00   sec  0.00 Bytes  0.00 bits/sec    5   2.79 KByte=
s
[  7][RX-C]   0.00-1.00   sec  0.00 Bytes  0.00 bits/sec
[  7][RX-C]   1.00-2.00   sec   512 KBytes  4.20 Mbits/sec
""",
    """\
> sockperf: =3D=3D version #3.10-no.git =3D=3D
> sockperf[CLIENT] send on:sockperf: using recvfrom() to block on socket(s)
> sockperf: [Total Run] RunTime=3D119.999 sec; Warm up time=3D400 msec; Sen=
tMessages=3D2438563; ReceivedMessages=3D2438562
> sockperf: =3D=3D=3D=3D=3D=3D=3D=3D=3D Printing statistics for Server No: =
0
> sockperf: Summary: Latency is 24.571 usec
""",
)


@pytest.mark.parametrize("mail", MAILS)
def test_encoded_mail_is_reported_with_advice(mail: str, tmp_path: Path) -> None:
    (tmp_path / "mail.txt").write_text(mail)

    said = tacholog("parse", tmp_path / "mail.txt").stderr
    decoded = subprocess.run([sys.executable, "-m", "quopri", "-d", tmp_path / "mail.txt"], capture_output=True, check=True).stdout

    assert "the text is quoted-printable, as mails are sent: '=' joins lines, '=3D' stands for '='" in said
    assert "decode it first (python3 -m quopri -d)" in said
    assert "quoted-printable" not in tacholog("parse", "-", stdin=decoded).stderr
