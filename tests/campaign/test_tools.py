"""The campaigns of bench/campaigns/tools with the real tools. Server and client are in two network namespaces with a virtual cable."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.command import run_tacholog_text
from tests.left_out import leave_out

from tacholog.runs.manifest import read_manifest
from tacholog.store.load import load

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "bench/campaigns/tools"
ADDRESS = "10.213.0.2"
ROWS = {
    "sockperf": {
        **{("latency", transport, size, "latency"): 2 for transport in ("TCP", "UDP") for size in (64, 1024)},
        **{("throughput", transport, size, "offered_rate"): 2 for transport in ("TCP", "UDP") for size in (64, 1024)},
    },
    "qperf": {
        **{("latency", transport, size, "latency"): 2 for transport in ("TCP", "UDP") for size in (64, 1024)},
        **{("throughput", "TCP", size, "goodput"): 2 for size in (1024, 65536)},
        **{("throughput", "UDP", size, "goodput"): 2 for size in (64, 1024)},
    },
    "iperf3": {
        **{("throughput", "TCP", size, "goodput"): 2 for size in (1024, 131072)},
        **{("throughput", "UDP", size, "goodput"): 2 for size in (64, 1024)},
    },
    "ddsperf": {
        **{("latency", "UDP", size, "latency"): 2 for size in (64, 1024)},
        **{("throughput", "UDP", size, "goodput"): 2 for size in (64, 1024, 16384)},
    },
}


#: The campaigns of brokers, and their programs.
BROKERS = {
    "nats-bench": ("nats", "nats-server"),
    "redis-benchmark": ("redis-benchmark", "redis-server"),
    "rabbitmq-perftest": ("java", "epmd", "/usr/lib/rabbitmq/bin/rabbitmq-server"),
}
#: Replacements in the campaigns of some tools, so that the tools send fewer messages.
SHORTER = {
    "nats-bench": ((r"messages = (\d+)0\b", r"messages = \1"),),
    "redis-benchmark": ((r"requests = (\d+)0000\b", r"requests = \g<1>000"),),
}
BROKER_ROWS: dict[str, dict[tuple[str, str | None, int, str], int]] = {
    "nats-bench": {
        ("latency", "rtt", 64, "latency"): 2,
        ("latency", "rtt", 1024, "latency"): 2,
        ("latency", "pub-to-ack", 64, "latency"): 4,  # Two repetitions with streams in memory, and two with streams in a file.
        ("latency", "pub-to-ack", 1024, "latency"): 4,
        ("throughput", None, 16, "message_rate"): 2,
        ("throughput", None, 64, "message_rate"): 2,
    },
    "redis-benchmark": {("latency", "rtt", 64, "latency"): 8, ("latency", "rtt", 1024, "latency"): 6},
    "rabbitmq-perftest": {
        ("latency", "one-way", 64, "latency"): 4,  # Two repetitions with one message at a time, and two at a given rate.
        ("latency", "one-way", 1024, "latency"): 2,
        ("latency", "pub-to-ack", 64, "latency"): 4,
        ("latency", "pub-to-ack", 1024, "latency"): 2,
        ("throughput", None, 64, "message_rate"): 4,
        ("throughput", None, 1024, "message_rate"): 2,
    },
}

#: Makes two network namespaces with a cable, then runs the command given after it. The end of the command removes them.
WITH_CABLE = f"""
mount -t tmpfs tmpfs /run && mkdir /run/netns && ip netns add a && ip netns add b &&
ip -n a link add eth0 type veth peer name eth0 netns b &&
ip -n a link set lo up && ip -n a link set eth0 up && ip -n a addr add 10.213.0.1/24 dev eth0 &&
ip -n b link set lo up && ip -n b link set eth0 up && ip -n b addr add {ADDRESS}/24 dev eth0 &&
exec "$@"
"""
OTHER_USER = ("--user", "--map-root-user") if os.geteuid() else ()
NOT_COMPARED = {"added", "removed", "not_comparable", "invalid"}
NAMESPACES = ("unshare", *OTHER_USER, "--net", "--mount", "sh", "-c", WITH_CABLE, "sh")


@pytest.fixture(scope="module")
def cable() -> None:
    """Skip the test if network namespaces cannot be made on this machine."""
    done = subprocess.run([*NAMESPACES, "true"], capture_output=True, text=True, check=False)
    if done.returncode:
        leave_out(f"network namespaces cannot be made: {done.stderr.strip()}")


def in_namespaces(tool: str, folder: Path, repetitions: int) -> Path:
    """Write the campaign of a tool for two network namespaces on this machine, and return the path of the campaign file.

    This campaign has fewer repetitions and shorter runs than the tool's usual campaign.
    """
    text = (TOOLS / f"{tool}.toml").read_text()
    prefixes = {name: f'prefix = ["ip", "netns", "exec", "{name}"]' for name in "ab"}
    for old, new in (
        (r"^repetitions = 6$", f"repetitions = {repetitions}"),
        *SHORTER.get(tool, ((r"duration_s = [34]", "duration_s = 2" if tool == "ddsperf" else "duration_s = 1"),)),
        (r"^hosts\.a = .*$", f"hosts.a = {{ {prefixes['a']} }}"),
        (r"^hosts\.b = .*$", f'hosts.b = {{ {prefixes["b"]}, address = "{ADDRESS}" }}'),
    ):
        text, count = re.subn(old, new, text, flags=re.MULTILINE)
        assert count, f"the campaign has no {old}"
    path = folder / f"{tool}.toml"
    path.write_text(text)
    return path


def measured(path: Path, output: Path) -> Path:
    """Run a campaign, and return the folder of its runs. Check that no message about missing conditions or unknown lines is printed."""
    done = run_tacholog_text("bench", "--no-control", path, "--output", output, cwd=path.parent, prefix=NAMESPACES)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line for line in done.stderr.splitlines() if not re.match(r"\[\d+/\d+\] \S+: ok, ", line)] == []
    [folder] = output.iterdir()
    return folder


@pytest.mark.usefixtures("cable")
@pytest.mark.parametrize("tool", ["qperf", *(pytest.param(tool, marks=pytest.mark.nightly) for tool in ROWS if tool != "qperf")])
def test_campaign_of_a_tool_gives_comparable_rows(tool: str, tmp_path: Path) -> None:
    if shutil.which(tool) is None:
        leave_out(f"{tool} is not installed")
    old, new = (measured(in_namespaces(tool, tmp_path, repetitions), tmp_path / f"runs-{repetitions}") for repetitions in (2, 1))

    assert counted_rows(old, tool) == ROWS[tool]
    report = compared(old, new)
    assert {row["verdict"] for row in report["rows"]} & NOT_COMPARED == set()
    assert report["rows"]
    assert {condition for row in report["rows"] for condition in row.get("unverified", ())} == set()
    for manifest in map(read_manifest, old.rglob("run.toml")):
        assert [(command.program_version is not None, command.exit_status is not None) for command in manifest.commands] == [(True, True)] * 2


@pytest.mark.nightly
@pytest.mark.usefixtures("cable")
@pytest.mark.parametrize("tool", BROKERS)
def test_campaign_of_a_broker_gives_comparable_rows_with_the_version_of_the_broker(tool: str, tmp_path: Path) -> None:
    for program in BROKERS[tool]:
        if shutil.which(program) is None:
            leave_out(f"{program} is not installed")
    if tool == "rabbitmq-perftest" and "CLASSPATH" not in os.environ:
        leave_out("CLASSPATH does not name the jars of PerfTest")
    old, new = (measured(in_namespaces(tool, tmp_path, repetitions), tmp_path / f"runs-{repetitions}") for repetitions in (2, 1))

    assert broker_rows(old) == BROKER_ROWS[tool]
    report = compared(old, new)
    assert {row["verdict"] for row in report["rows"]} & NOT_COMPARED == set()
    assert {condition for row in report["rows"] for condition in row.get("unverified", ())} == set()
    versions = {(manifest.system_version, manifest.tool_version) for manifest in map(read_manifest, old.rglob("run.toml"))}
    [(of_broker, of_tool)] = versions
    assert of_broker is not None
    assert of_tool is not None
    assert of_broker == version_of_broker(tool)


def version_of_broker(tool: str) -> str:
    """Read the version from the Debian package, without the revision of the package."""
    package = {"nats-bench": "nats-server", "redis-benchmark": "redis-server", "rabbitmq-perftest": "rabbitmq-server"}[tool]
    version = subprocess.run(["dpkg-query", "--show", "--showformat=${Version}", package], capture_output=True, text=True, check=True).stdout
    return re.sub(r"^\d+:|-[^-]*$", "", version)


def broker_rows(folder: Path) -> dict[tuple[str, str | None, int, str], int]:
    """Count the medians (latency) or means (message rate) for each test, basis, size and metric. Intervals are not counted."""
    rows = load([folder]).results
    statistics = {"latency": "p50", "message_rate": "mean"}
    rows = rows[(rows["scope"] == "summary") & (rows["statistic"] == rows["metric"].map(statistics))]
    columns = (rows[name].tolist() for name in ("test", "basis", "payload_bytes", "metric"))
    counted = Counter(zip(*columns, strict=True))
    return {(test, basis if isinstance(basis, str) else None, size, metric): count for (test, basis, size, metric), count in counted.items()}


def counted_rows(folder: Path, tool: str) -> dict[tuple[str, str, int, str], int]:
    """Count the repetitions that state a mean, for each test, transport, size and metric. Means of an open loop are not counted."""
    dataset = load([folder])
    wanted = {metric for *_, metric in ROWS[tool]}
    rows = dataset.results.merge(dataset.runs[["run", "repetition"]], on="run")
    rows = rows[(rows["scope"] == "summary") & rows["metric"].isin(wanted) & (rows["statistic"] == "mean") & (rows["load_mode"] != "open")]
    rows = rows[(rows["side"] != "publisher") | (rows["metric"] != "goodput")]
    repeated = rows.drop_duplicates(["test", "transport", "payload_bytes", "metric", "repetition"])
    assert set(repeated["repetition"]) == {1, 2}
    columns = (repeated[name].tolist() for name in ("test", "transport", "payload_bytes", "metric"))
    return dict(Counter(zip(*columns, strict=True)))


def compared(old: Path, new: Path) -> dict[str, Any]:
    done = run_tacholog_text("diff", old, new, "--format", "json", cwd=old)
    assert done.returncode in (0, 4), done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report
