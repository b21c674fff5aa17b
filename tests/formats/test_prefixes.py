"""Some programs add a prefix to each line. It is removed and reported, and changes no number. A time in the prefix is the time of the line."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.depth import tries
from tests.samples import SAMPLE_LOGS

from tacholog.errors import UnreadableInput
from tacholog.formats.reading import Log, read, read_text
from tacholog.formats.source import LogText

FORMATS = Path(__file__).parent
LOGS = FORMATS.parent / "prefixed"
LINE = "Length:    32  Packets: 77849677  Packets/s(ave): 2594706  Mbps(ave):   664.2  Lost:     0 (0.00%)"
BEGAN = datetime.fromisoformat("2024-05-14T09:12:01")
#: Each program that adds a prefix to each line, with a function that returns the prefix of the line with a given number.
PREFIXES: dict[str, Callable[[int], str]] = {
    "GitHub Actions": lambda line: f"{_at(line):%Y-%m-%dT%H:%M:%S}.1234567Z ",
    "gh run view --log": lambda line: f"build (ubuntu)\tRun the test\t{_at(line):%Y-%m-%dT%H:%M:%S}.1234567Z ",
    "GitLab": lambda line: f"{_at(line):%Y-%m-%dT%H:%M:%S}.123456Z 01O ",
    "kubectl logs --timestamps": lambda line: f"{_at(line):%Y-%m-%dT%H:%M:%S}.123456789Z ",
    "kubectl logs --prefix": lambda _: "[pod/perf-7d9f-x2x/client] ",
    "kubectl logs --prefix --timestamps": lambda line: f"[pod/perf-7d9f-x2x/client] {_at(line):%Y-%m-%dT%H:%M:%S}.123456789Z ",
    "a name of a pod": lambda _: "pod/perf-7d9f-x2x ",
    "files of containers": lambda line: f"{_at(line):%Y-%m-%dT%H:%M:%S}.123456789Z stdout F ",
    "docker compose": lambda _: "client-1    | ",
    "docker compose -t": lambda line: f"client-1    | {_at(line):%Y-%m-%dT%H:%M:%S}.123456789Z ",
    "docker build": lambda line: f"#12 {line}.345 ",
    "journalctl": lambda line: f"{_at(line):%b %d %H:%M:%S} myhost perf[123]: ",
    "journalctl -o short-iso": lambda line: f"{_at(line):%Y-%m-%dT%H:%M:%S}+0200 myhost bench.sh[123]: ",
    "journalctl -o short-monotonic": lambda line: f"[   12.{345678 + line}] myhost perf[123]: ",
    "logger -s": lambda line: f"<13>{_at(line):%b %d %H:%M:%S} bob: ",
    "logger --rfc5424 -s": lambda line: (
        f'<13>1 {_at(line):%Y-%m-%dT%H:%M:%S}.123456+02:00 myhost bob 123 - [timeQuality tzKnown="1" isSynced="0"][a@1 b="say \\"c\\""] '
    ),
    "syslog without structured data": lambda line: f"<14>1 {_at(line):%Y-%m-%dT%H:%M:%S}Z myhost perf - ID{line} - ",
    "ts": lambda line: f"{_at(line):%b %d %H:%M:%S} ",
    "ts -s": lambda line: f"{_at(line):%H:%M:%S} ",
    "ts %.s": lambda line: f"{1601064278 + line}.123456 ",
    "iperf3 --timestamps": lambda line: f"{_at(line):%a %b %d %H:%M:%S} 2024 ",
    "iperf3 --title": lambda _: "s3:  ",
    "a logger of Python": lambda line: f"{_at(line):%Y-%m-%d %H:%M:%S},123 - INFO - ",
    "milliseconds in brackets": lambda line: f"[{1601064278 + line}123] ",
    "a level": lambda line: "INFO: " if line % 2 else "WARNING: ",
    "a level in brackets": lambda _: "[info] ",
    "ROS": lambda _: "[OUTPUT] ",
    "mpirun --tag-output": lambda _: "[1,0]<stdout>:",
    "a mail": lambda _: "> ",
    "a mail in a mail": lambda _: ">> ",
    "a name of a machine": lambda _: "node1 ",
    "a comment": lambda _: "# ",
    "an indentation": lambda _: "  ",
    "a tab": lambda _: "\t",
}
SAMPLES = (
    *("iperf3/tcp.log", "iperf3/tcp.json", "sockperf/no-server.log", "ddsperf/sub.log", "rti/3.0.1-latency-pub.log", "fastrtps/latency-2.9.1.log"),
    *("iceperf/2.0.3-leader.log", "native/latency-udp.log", "ecal/performance.log", "hmbdc/interleaved.log", "iceoryx2/0.9-posted.log"),
    *("performance_test/57791ae-two-hosts.log", "resources/over-ssh.log", "qperf/bad-host.log"),
)


def _at(line: int) -> datetime:
    return BEGAN + timedelta(seconds=line)


def prefixed(text: str, prefix: Callable[[int], str]) -> str:
    return "".join(f"{prefix(number)}{line}" for number, line in enumerate(text.splitlines(keepends=True)))


def found_in(log: Log) -> list[object]:
    return [(event.line, event.last_line, event.kind, event.what) for event in log.events if event.kind != "chatter"]


@pytest.mark.parametrize("sample", tries(SAMPLES[:6], SAMPLES))
def test_log_gives_the_same_records_with_any_prefix(sample: str) -> None:
    text = (FORMATS / sample).read_text(encoding="utf-8")
    plain = read_text(text)

    for name, prefix in PREFIXES.items():
        log = read_text(prefixed(text, prefix))
        assert (log.format, found_in(log), log.unknown) == (plain.format, found_in(plain), plain.unknown), name
        first = next(event for event in log.events if event.line == 1)
        assert first.text.startswith(prefix(0)), name


def test_only_sample_logs_with_a_time_before_each_line_have_a_prefix() -> None:
    """In three sample logs, the tool itself prints a time before each line."""
    notes = {}
    for path in SAMPLE_LOGS:
        with path.open("rb") as stream:
            if prefix := LogText(stream).prefix:
                notes[path.name] = prefix.words

    assert notes == {
        "tcp-timestamps.log": "a time",
        "server-timestamps.log": "a time",
        "pulsar-2021.log": "a time, a name in brackets, a level and a dash",
    }


@pytest.mark.parametrize(
    ("name", "words", "start_time", "numbers"),
    [
        ("github-actions.log", "a time", "2024-05-14T09:12:01.123456+00:00", {("goodput", "mean"): 16.7e9}),
        ("kubectl-timestamps.log", "a time", "2024-05-14T09:12:01.123456+00:00", {("latency", "mean"): 56_765.0, ("latency", "p99"): 172_878.0}),
        ("docker-compose.log", "the name of a service", None, {("message_rate", "mean"): 31_930.0}),
        ("ts.log", "a time", None, {("goodput", "mean"): 16.7e9}),
        ("iperf3-title.log", "a word", None, {("goodput", "mean"): 3.37e9}),
        ("iperf3-epoch.log", "a time", "2020-09-25T20:04:38Z", {("goodput", "mean"): 31.1e9}),
    ],
)
def test_real_log_with_a_prefix_is_read(name: str, words: str, start_time: str | None, numbers: dict[tuple[str, str], float]) -> None:
    log = read(LOGS / name)
    with (LOGS / name).open("rb") as stream:
        prefix = LogText(stream).prefix
    last = [record for record in log.records if {(n.metric, n.statistic) for n in record.numbers} >= {*numbers}][-1]

    assert prefix is not None
    assert (prefix.words, log.facts.start_time) == (words, start_time)
    assert {(n.metric, n.statistic): n.value for n in last.numbers if (n.metric, n.statistic) in numbers} == numbers
    assert log.broken == []


@pytest.mark.parametrize(
    ("stamp", "time"),
    [
        ("2024-05-14T09:12:01Z", "2024-05-14T09:12:01+00:00"),
        ("2024-05-14 09:12:01.5+02:00", "2024-05-14T09:12:01.500000+02:00"),
        ("[2024/05/14 09:12:01,123]", "2024-05-14T09:12:01.123000"),
        ("2024-05-14 09:12:01 UTC", "2024-05-14T09:12:01+00:00"),
        ("2024-05-14T09:12:01.123456789-0700", "2024-05-14T09:12:01.123456-07:00"),
        ("1715677921", "2024-05-14T09:12:01Z"),
        ("1715677921.123456", "2024-05-14T09:12:01Z"),
        ("[1715677921123]", "2024-05-14T09:12:01Z"),
        ("Tue May 14 09:12:01 2024", "2024-05-14T09:12:01"),
        ("May 14 09:12:01", None),  # The year is missing.
        ("09:12:01", None),
        ("2024-99-14T09:12:01Z", None),
    ],
)
def test_time_of_a_line_is_read_from_the_prefix_of_this_line(stamp: str, time: str | None) -> None:
    text = LogText(io.BytesIO(f"{stamp} {LINE}\n".encode()))

    assert [(line.text, line.time) for line in text.lines()] == [(LINE, time)]
    assert read_text(f"{stamp} {LINE}\n").facts.start_time == time


def test_start_time_stated_in_a_log_has_precedence_over_the_time_of_its_first_line() -> None:
    text = (FORMATS / "iperf3" / "tcp-verbose.log").read_text()

    assert read_text(prefixed(text, PREFIXES["GitHub Actions"])).facts.start_time == read_text(text).facts.start_time


def test_prefix_is_removed_only_if_at_most_one_line_in_ten_lacks_the_prefix() -> None:
    line = f"2024-05-14T09:12:01Z {LINE}\n"

    assert len(read_text(f"On that day:\n{line * 9}").records) == 9
    with pytest.raises(UnreadableInput, match=r"8 of 9 lines begin with a time \('2024-05-14T09:12:01Z '\)") as error:
        read_text(f"On that day:\n{line * 8}".replace("Length", "length").replace("Packets", "packets"))
    assert "cut it off with sed -E " in str(error.value)


def test_result_without_the_prefix_of_the_other_lines_is_broken() -> None:
    line = f"2024-05-14T09:12:01Z {LINE}\n"

    log = read_text(f"{line * 9}{LINE}\n")

    assert len(log.records) == 9
    assert log.broken == ["text:10: the line does not begin with a time, as the others do"]


@pytest.mark.parametrize("name", PREFIXES)
def test_suggested_command_removes_the_prefix(name: str) -> None:
    text = (FORMATS / "iperf3" / "tcp.log").read_text()
    behind = prefixed(text, PREFIXES[name])
    prefix = LogText(io.BytesIO(behind.encode())).prefix

    assert prefix is not None
    assert subprocess.run(prefix.command, shell=True, input=behind, capture_output=True, text=True, check=True).stdout == text  # noqa: S602


def test_hostile_lines_are_examined_in_a_limited_number_of_steps() -> None:
    """A pattern that backtracks would take very long for each of these lines."""
    for line in (
        "[" + "a" * 60_000,
        "a" * 60_000 + " |",
        "a/" * 30_000,
        "> " * 30_000,
        " " * 60_000 + "x",
        "1" * 60_000,
        "a b" * 20_000,
        "\t" * 60_000,
    ):
        assert [line_read.number for line_read in LogText(io.BytesIO(f"{line}\n".encode() * 20)).lines()] == [*range(1, 21)]


def test_word_before_most_lines_is_reported_if_removing_the_word_reveals_a_known_format() -> None:
    lines = (Path(__file__).parent / "iperf3" / "udp.log").read_text(encoding="utf-8").splitlines()
    titled = [f"200:  {line}" for line in lines]
    titled[1:1] = ["Warning:  UDP block size 4096 exceeds TCP MSS 1448, may result in fragmentation / drops", "**", "**"]

    with pytest.raises(UnreadableInput, match=r"\d+ of \d+ lines begin with a word \('200:  '\) and the others do not") as error:
        read_text("\n".join(titled) + "\n")
    assert "cut it off with sed -E " in str(error.value)


def test_word_before_most_lines_is_not_reported_if_the_log_has_no_known_format() -> None:
    with pytest.raises(UnreadableInput) as error:
        read_text("note: one\nnote: two\nnote: three\nnote: four\nand more\nand more\n")
    assert "sed -E" not in str(error.value)


def test_time_that_the_tool_itself_prints_in_most_lines_is_not_reported_as_a_prefix() -> None:
    row = "[  {at}.032] | cnt:     10 | mean_loop_dt (ms): 101.202 | loop_freq (Hz):     9.9 | mean_snd_dt (ms): 101.153\n"
    text = "$ ./ecal_perftool pub topic 25 1024000\n" + "".join(row.format(at=at) for at in range(4355, 4359))

    assert LogText(io.BytesIO(text.encode())).note is None
    assert len(read_text(text).records) == 4


@pytest.mark.parametrize("behind", ["> ", "2024-05-14T09:12:01Z ", "(?P<time> ", "a?P<time> "])
def test_indentation_and_hostile_words_before_each_line_are_removed(behind: str) -> None:
    indentation = "    " if behind in "> 2024-05-14T09:12:01Z " else ""

    log = read_text(f"{indentation}{behind}{LINE}\n" * 4)

    assert [record.payload_bytes for record in log.records] == [32] * 4


@pytest.mark.parametrize("word", ["/;~!%\a", "/;~!%@,#&=", "x\\w", "\0"])
def test_no_sed_command_is_suggested_for_a_word_that_cannot_be_written_in_a_command(word: str) -> None:
    lines = (FORMATS / "iperf3" / "udp.log").read_text(encoding="utf-8").splitlines()
    titled = [f"{word}  {line}" for line in lines]

    with pytest.raises(UnreadableInput) as error:
        read_text("\n".join([titled[0], "**", "**", *titled[1:]]) + "\n")
    assert "sed -E" not in str(error.value)


def test_command_for_a_long_prefix_takes_little_memory() -> None:
    """The prefix of these lines is a syslog header, eight times. An earlier form of the suggested command took half a gigabyte for such lines."""
    head = "<13>1 2024-01-01T00:00:00Z host program 17 - - "
    behind = "".join(f"{head * 8}{LINE}\n" for _ in range(20))
    prefix = LogText(io.BytesIO(behind.encode())).prefix

    assert prefix is not None
    limited = f"ulimit -v 65536; {prefix.command}"
    assert subprocess.run(limited, shell=True, input=behind, capture_output=True, text=True, check=True).stdout == f"{LINE}\n" * 20  # noqa: S602
