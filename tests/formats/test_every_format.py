"""Check how each format reads changed logs. A new format is tested automatically. test_samples.py checks unchanged logs.

The tests are in `tacholog.formats.testing`; authors of other formats use the same tests. Some errors in a changed log cannot be noticed by a format.
This file allows these errors for our formats, and gives an example of each error.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.depth import tries

from tacholog.formats.registry import formats
from tacholog.formats.testing import Allowances, Claim, Distance, format_tests
from tacholog.schema.metrics import METRICS

HERE = Path(__file__).parent
NAMES = [name for name in sorted(formats()) if (HERE / name).is_dir()]  # The logs of formats of other packages are not in this folder.
SAMPLES = {name: sorted(path for path in (HERE / name).iterdir() if path.name != "README.md") for name in NAMES}
SMALL = {name: [path for path in paths if path.stat().st_size < 20_000] or paths[:1] for name, paths in SAMPLES.items()}


def iperf3_word(name: str, value: object, true: Mapping[str, object], change: str) -> bool:
    """iperf3 may read another value if lines before the row are missing."""
    if (
        name == "publishers"
    ):  # If the line "[  9] local 127.0.0.1 port ..." is missing before the first row, no other line shows that a stream is missing.
        return change not in ("cut", "none") and isinstance(value, int) and value < int(str(true.get(name) or 0))
    if name == "participant":  # A row such as "[  5] 0.00-1.00 sec ..." gets the name of its stream if the lines about a single stream are lost.
        more = {*str(value).split(", ")} - {*str(true.get(name)).split(", ")}
        return more <= {word for word in str(value).split(", ") if "stream" in word}
    return name == "definition" and value == "iperf3-either-side"  # The header of the row states the side. It is lost.


def iperf3_numbers(claim: Claim) -> Iterator[tuple[str, str, float | None, str, float | None]]:
    """The format uses other metrics if the log does not show who sent the data."""
    unsaid = {"bit_per_s": "transfer_rate", "bytes": "bytes_transferred"}
    for metric, statistic, value, bound, resolution in claim.numbers:
        if METRICS[metric].unit in unsaid:
            yield unsaid[METRICS[metric].unit], statistic, value, bound, resolution


def ecal_word(name: str, _: object, true: Mapping[str, object], change: str) -> bool:
    """The value may differ because the separate line "Packages lost after message 12 -> stop." of eCAL 5.3 was lost."""
    return change in ("cut", "lost") and true.get("definition") == "ecal-5.3-rtt-cut-short" and name in ("definition", "samples")


def google_word(name: str, _: object, __: Mapping[str, object], ___: str) -> bool:
    """The number of samples may be wrong: if lines of an aggregate are within a repetition, the number of repetitions is read."""
    return name == "samples"


def google_numbers(_: Claim) -> Iterator[tuple[str, str, float | None, str, float | None]]:
    """If a change moves the lines of aggregates into a repetition, they are read as a result."""
    units = {"ns": 1.0, "us": 1e3}
    for path in SAMPLES["google_benchmark"]:
        for row in json.loads(path.read_text())["benchmarks"]:
            if row["run_type"] == "aggregate":
                yield "latency", "mean", row["real_time"] * units[row["time_unit"]], "=", None


def action_numbers(_: Claim) -> Iterator[tuple[str, str, float | None, str, float | None]]:
    """A changed log can give the values of aggregates as results.

    If all repetitions are broken, the mean is read. Another aggregate is read if the end of its name is missing, because the format recognises an
    aggregate only by this end.
    """
    for value, decimals in ((221416733778.0, 0), (49606377327.67538, 5), (0.2240407781347386, 16)):
        yield "latency", "mean", value, "=", 10.0**-decimals


def openmessaging_word(name: str, _: object, true: Mapping[str, object], change: str) -> bool:
    """Without the figures of the delay, the result looks like one of an old version, with another definition and no load mode."""
    return name in ("definition", "load_mode") and true.get("definition") == "omb-publish" and change != "none"


def rdma_word(name: str, value: object, _: Mapping[str, object], __: str) -> bool:
    """Only the title of a table states the operation, and the title may be lost."""
    return name == "definition" and value in ("rdma-any-latency", "rdma-any-bandwidth")


def rabbitmq_word(name: str, value: object, true: Mapping[str, object], _: str) -> bool:
    """If a rate was lost, the size is unknown and stays in the scenario name."""
    return name == "setting scenario" and str(value).startswith(str(true.get(name)))


APART = Allowances(may_lack_size=True)
ALLOWED = {
    # "Message min latency : 7 us @ 1" may be from one block, and "Message max latency : 76 us @ 286" from the next block.
    "ecal": Allowances(may_lack_size=True, moved=Distance.LINES, mixed=Distance.LINES, is_same=ecal_word),
    # '"value": 4.8,' may be from one result, and '"name": "BM_Send",' from another result: they are on separate lines.
    "github_action_benchmark": Allowances(
        may_lack_size=True, moved=Distance.LINES, mixed=Distance.LINES, is_same=google_word, also_says=action_numbers
    ),
    "google_benchmark": Allowances(
        may_lack_size=True,
        moved=Distance.LINES,
        mixed=Distance.LINES,
        is_same=google_word,
        also_says=google_numbers,
        # In a changed log, a result may get the name of a failed benchmark, or the number of iterations of an aggregate.
        extra_words=frozenset({("setting benchmark", "NoSubscriber"), ("samples", 5), ("samples", 6)}),
    ),
    # A result has two lines, "Ping : msgSize=16 msgPerSec=500" and "round trip time (sec):...". In a changed log, these may be from two results.
    "hmbdc": Allowances(may_lack_size=True, moved=Distance.SIZE, mixed=Distance.SIZE),
    "iceoryx2": APART,
    # "****** ICEORYX ********" states the transport of all rows after it.
    "iceperf": Allowances(moved=Distance.CONTEXT),
    # If "Server output:" is lost, the line "Starting Test: protocol: TCP, ... 131072 byte blocks" of the client applies to the rows of the server.
    "iperf3": Allowances(
        may_lack_size=True,
        moved=Distance.SIZE,
        mixed=Distance.SIZE,
        is_same=iperf3_word,
        also_says=iperf3_numbers,
        extra_words=frozenset({("definition", "iperf3-either-side")}),
    ),
    # "Starting ... benchmark [clients=1, msg-size=16 B, ...]" states the size and the options of the results after it.
    "nats_bench": Allowances(may_lack_size=True, moved=Distance.SIZE, mixed=Distance.SIZE),
    # The command states size and acks. It may stand before the results of another tool.
    "kafka": Allowances(may_lack_size=True, moved=Distance.SIZE, mixed=Distance.SIZE),
    # A change may move a list into another document. Without the figures of the delay, a result looks like a result of an old version.
    "openmessaging": Allowances(may_lack_size=True, moved=Distance.LINES, mixed=Distance.LINES, is_same=openmessaging_word),
    "performance_test": APART,
    # "latency = 2.3 us" may be from one block, and "loc_cpus_used = 200 % cpus" from the next block: rows have only a name and a number.
    "qperf": Allowances(may_lack_size=True, moved=Distance.LINES, mixed=Distance.LINES),
    # Each number is on a separate line.
    "rabbitmq_multi": Allowances(may_lack_size=True, moved=Distance.LINES, mixed=Distance.LINES, is_same=rabbitmq_word),
    # The header of the compact columns states the meaning of each number.
    "rabbitmq_perftest": Allowances(moved=Distance.CONTEXT),
    # If the line "Connection type" is lost, it is unknown whether the bytes arrived. In JSON, each number is on a separate line.
    "rdma_perftest": Allowances(may_lack_size=True, moved=Distance.LINES, mixed=Distance.LINES, is_same=rdma_word, also_says=iperf3_numbers),
    # In JSON, '"latency_max": 61,' may be from one interval, and '"cpu": 12.88' from another interval.
    # If "Mode: THROUGHPUT TEST" is from one log and "Publication Rate: 1000 Samples/s" from another log, the load mode is read as paced.
    "rti": Allowances(moved=Distance.LINES, mixed=Distance.LINES, extra_words=frozenset({("load_mode", "paced")})),
    # "average latency: 26.000 [us]" may be from another block with the same count of messages.
    "zeromq": Allowances(may_lack_size=True, moved=Distance.LINES, mixed=Distance.LINES),
    # The line "---> percentile 75.000 = 4.094" of one run may be among the lines of another run.
    "sockperf": Allowances(may_lack_size=True, mixed=Distance.LINES),
}
# The test does not move lines in these two logs, because both contain results that give no record.
# In the first log, a row lacks a cell. In the second log, the results of the server are not read.
NOT_MOVED = (HERE / "rti/cell-missing.txt", HERE / "iperf3/udp-two-streams-server-output.json")

for one in NAMES:
    globals()[f"Test_{one}"] = format_tests(
        one,
        SAMPLES[one],
        allow=ALLOWED.get(one),
        others=[path for name, paths in SMALL.items() if name != one for path in paths],
        not_moved=[path for path in NOT_MOVED if path.parent.name == one],
        examples=tries(15, 60),
    )


@pytest.mark.parametrize("name", ALLOWED)
def test_errors_are_allowed_only_for_formats_that_exist(name: str) -> None:
    assert name in NAMES
