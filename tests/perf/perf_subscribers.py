"""The cost of each additional subscriber: processor time per message at the publisher and at all subscribers, for 1, 2, 4 and 8 subscribers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from perf_figures import PERFTEST, Failed, run
from perf_table import Effort, LeftOut, Row

SUBSCRIBERS = (1, 2, 4, 8)
RUN = "--test throughput --wait block --sizes {size} --subscribers {count} --cpu-pub 0 --cpu-sub 1 --duration {seconds} --warmup 0"
WAYS = {"shm": "--transport shm", "tcp": "--transport tcp --set congestion=reno"}


def cost_ns(transport: str, size: int, count: int, seconds: float) -> tuple[float, float]:
    """Return the processor time per message: of the publisher, and of all subscribers together."""
    words = f"{WAYS[transport]} {RUN.format(size=size, count=count, seconds=seconds)}".split()
    text = run([str(PERFTEST), *words]).decode()
    sent = int(next(iter(re.findall(r"^throughput .*?\bsent=(\d+)", text, re.MULTILINE))))
    used = {"pub": 0, "sub": 0}
    for role, user, system in re.findall(r"^resources .*?role=(pub|sub) .*?user_ns=(\d+) system_ns=(\d+)", text, re.MULTILINE):
        used[role] += int(user) + int(system)
    return used["pub"] / sent, used["sub"] / sent


def least_cost_ns(transport: str, size: int, count: int, effort: Effort) -> tuple[float, float]:
    """Return the least processor time per message: of the publisher, and of all subscribers together.

    The least time is the best estimate, because disturbances only increase the processor time.
    """
    costs = [cost_ns(transport, size, count, effort.seconds) for _ in range(effort.rounds)]
    return min(publisher for publisher, _ in costs), min(subscribers for _, subscribers in costs)


def subscriber_rows(effort: Effort) -> Iterator[Row | LeftOut]:
    """Yield the additional cost of each further subscriber, for the publisher and for the subscribers.

    The reference is the cost of a single subscriber.
    """
    for transport in WAYS:
        for size in (64, 16384):
            try:
                least = {count: least_cost_ns(transport, size, count, effort) for count in SUBSCRIBERS}
            except Failed as failed:
                yield LeftOut(f"{transport} {size} B to several", str(failed))
                continue
            for count in SUBSCRIBERS[1:]:
                for side, name in enumerate(("publisher", "subscribers")):
                    further = (least[count][side] - least[1][side]) / (count - 1)
                    yield Row(f"{transport} {size} B to {count}: each further one, CPU of {name}", further, "ns", "the first", least[1][side])
