"""Eight small experiments in the style of other projects: the manifests state the varied conditions, and the logs have the format of sockperf.

The numbers come from a formula with seeded noise, so that each test knows the right answer.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

_LOG = """\
sockperf: == version #3.7-no.git ==
sockperf[CLIENT] send on:sockperf: using recvfrom() to block on socket(s)

[ 0] IP = 127.0.0.1       PORT = 11111 # UDP
sockperf: Warmup stage (sending a few dummy messages)...
sockperf: Starting test...
sockperf: Test end (interrupted by timer)
sockperf: Test ended
sockperf: [Total Run] RunTime=3.005 sec; Warm up time=400 msec; SentMessages=385985; ReceivedMessages=385984
sockperf: ========= Printing statistics for Server No: 0
sockperf: [Valid Duration] RunTime=2.545 sec; SentMessages=337358; ReceivedMessages=337358
sockperf: ====> avg-latency={mean:.3f} (std-dev={deviation:.3f})
sockperf: # dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0
sockperf: Summary: Latency is {mean:.3f} usec
sockperf: Total 337358 observations; each percentile contains 3373.58 observations
sockperf: ---> <MAX> observation = {max:.3f}
sockperf: ---> percentile 99.999 = {p99:.3f}
sockperf: ---> percentile 99.990 = {p99:.3f}
sockperf: ---> percentile 99.900 = {p99:.3f}
sockperf: ---> percentile 99.000 = {p99:.3f}
sockperf: ---> percentile 90.000 = {p50:.3f}
sockperf: ---> percentile 75.000 = {p50:.3f}
sockperf: ---> percentile 50.000 = {p50:.3f}
sockperf: ---> percentile 25.000 = {min:.3f}
sockperf: ---> <MIN> observation = {min:.3f}
"""
SILENT = "sockperf: == version #3.7-no.git ==\nsockperf: ERROR: Can`t connect socket (errno=111 Connection refused)\n"


def run(
    data: Path,
    name: str,
    p50_us: float | None,
    *,
    system: str = "Bus",
    release: str | None = None,
    conditions: Mapping[str, object] | None = None,
    labels: Mapping[str, str] | None = None,
    start_time: str | None = None,
) -> None:
    """Write the folder of a run with a log of sockperf. The run has failed if ``p50_us`` is ``None``."""
    folder = data / name
    folder.mkdir(parents=True)
    text = (
        SILENT if p50_us is None else _LOG.format(p50=p50_us, mean=p50_us * 1.1, p99=p50_us * 3, max=p50_us * 9, min=p50_us * 0.8, deviation=p50_us)
    )
    (folder / "client.log").write_text(text)
    lines = [
        f'system = "{system}"',
        'host = "lab"',
        f'release = "{release}"' if release else "",
        f'start_time = "{start_time}"' if start_time else "",
    ]
    for table, values in (("conditions", conditions), ("labels", labels)):
        if values:
            lines += [f"[{table}]", *(f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value}" for key, value in values.items())]
    lines += ["[[logs]]", 'file = "client.log"', f'sha256 = "{hashlib.sha256(text.encode()).hexdigest()}"']
    (folder / "run.toml").write_text("\n".join(filter(None, lines)) + "\n")


def noise(seed: str, repetitions: int) -> Sequence[float]:
    """Return a factor near 1 for each repetition."""
    chance = random.Random(seed)  # noqa: S311 - the same noise in each run, and no secret
    return [chance.lognormvariate(0, 0.03) for _ in range(repetitions)]


def plugins(data: Path) -> None:
    """Three network plugins have three kinds of security: cilium is always the fastest, and encryption slows all plugins."""
    for plugin, base in (("flannel", 40), ("calico", 36), ("cilium", 25)):
        for security, factor in (("none", 1.0), ("wireguard", 1.7), ("ipsec", 2.4)):
            for number, chance in enumerate(noise(f"{plugin}{security}", 6)):
                labels = {"plugin": plugin, "security": security}
                run(data, f"{plugin}-{security}-{number}", base * factor * chance, labels=labels, conditions={"payload_bytes": 64})


def lossy(data: Path) -> None:
    """Write runs of three systems with different network losses and network bandwidths.

    Cedar is the slowest system without loss, and the fastest system from 5 % loss on. Birch fails at 20 % loss.
    """
    for system, base, slope in (("Alder", 300, 90), ("Birch", 280, 160), ("Cedar", 420, 20)):
        for bandwidth in (54e6, 300e6):
            for loss in (0, 5, 10, 20):
                for number, chance in enumerate(noise(f"{system}{bandwidth}{loss}", 6)):
                    conditions = {"network_loss_percent": loss, "network_bandwidth_bit_per_s": bandwidth, "payload_bytes": 1024}
                    latency = None if (system, loss) == ("Birch", 20) else (base + slope * loss) * chance * (2 if bandwidth == 54e6 else 1)
                    run(data, f"{system}-{bandwidth:.0f}-{loss}-{number}", latency, system=system, conditions=conditions)


def subscribers(data: Path) -> None:
    """Write the runs of two systems with one to eight subscribers.

    With more subscribers, the unicast system becomes much slower, but the multicast system hardly slows down.
    """
    for system, slope in (("Unicast", 9.0), ("Multicast", 0.5)):
        for count in (1, 2, 4, 8):
            for number, chance in enumerate(noise(f"{system}{count}", 6)):
                conditions = {"subscribers": count, "payload_bytes": 256}
                run(data, f"{system}-{count}-{number}", (20 + slope * count) * chance, system=system, conditions=conditions)


def rates(data: Path) -> None:
    """Write runs of one system whose latency rises sharply above 60,000 messages per second."""
    for rate in (10_000, 20_000, 40_000, 60_000, 80_000):
        for number, chance in enumerate(noise(str(rate), 3)):
            run(
                data,
                f"r{rate}-{number}",
                (8 if rate <= 60_000 else 900) * chance,
                conditions={"offered_rate_per_s": float(rate), "payload_bytes": 64},
            )


def depths(data: Path) -> None:
    for depth in (1, 10, 100):
        for size in (64, 1024, 16384):
            for number, chance in enumerate(noise(f"{depth}{size}", 3)):
                latency = (5 + size / 1000) * (1 + depth / 50) * chance
                run(data, f"d{depth}-{size}-{number}", latency, labels={"depth": str(depth)}, conditions={"payload_bytes": size})


def kernels(data: Path) -> None:
    """Write runs with three kernels, measured on three successive days. The names of the kernels are versions such as 6.1.0-13."""
    for day, (kernel, base) in enumerate((("6.1.0-13", 20.0), ("6.5.0-5", 24.0), ("6.10.3", 19.0)), start=1):
        for size in (64, 1024):
            for number, chance in enumerate(noise(f"{kernel}{size}", 6)):
                conditions, labels = {"payload_bytes": size}, {"kernel": kernel}
                start = f"2026-03-0{day}T1{number}:00:00Z"
                run(data, f"{kernel}-{size}-{number}", (base + size / 500) * chance, labels=labels, conditions=conditions, start_time=start)


def builds(data: Path) -> None:
    """Write twelve pairs of runs of two builds. The new build is 10 % slower."""
    for number, chance in enumerate(noise("builds", 12)):
        for side, (release, factor) in enumerate((("1.0", 1.0), ("1.1", 1.1))):
            start = f"2026-03-01T{number:02}:{(side + number) % 2 * 30:02}:00Z"
            run(data, f"{release}-{number}", 12 * factor * chance, release=release, conditions={"payload_bytes": 64}, start_time=start)


def single(data: Path) -> None:
    run(data, "only", 11.5, conditions={"payload_bytes": 64})


DATASETS = {each.__name__: each for each in (plugins, lossy, subscribers, rates, depths, kernels, builds, single)}
