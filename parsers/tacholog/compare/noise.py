"""The smallest changes that comparisons on one machine detect, for several numbers of pairs.

The functions of `tacholog.compare.power` compute these changes from pairs of one build with itself. The same functions compute the smallest changes
that a comparison states for undecided rows, and those that ``tacholog ab --plan`` states.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import expm1, isfinite, log, log1p
from statistics import median, stdev
from typing import Literal

import msgspec
import numpy as np

from tacholog.compare.policy import MIN_RUNS
from tacholog.compare.power import RunCounts, detectable, pairs_for
from tacholog.compare.result import Comparison, RowKey
from tacholog.runs.disturbance import OTHERS, STEAL
from tacholog.runs.manifest import Host
from tacholog.schema.metrics import METRICS

MAIN_PAIRS = 10  # the number of pairs in the first sentence of the output
PAIRS = (MIN_RUNS, MAIN_PAIRS, 20, 40)
WANTED = 0.05  # the relative change for which the output states the needed number of pairs


class NoiseRow(msgspec.Struct, frozen=True, kw_only=True):
    """The noise of one row, and the changes of this row that comparisons would detect.

    ``pairs`` is the number of measured pairs. ``deviation`` is the standard deviation of the differences of pairs, as logarithms. ``threshold`` is
    the smallest relative change that counts. ``detectable``: for each number of pairs, the smallest relative change that is detected in four cases of
    five; null: none. ``needed`` is the number of pairs that detect a change of `WANTED`; null: no number up to `tacholog.compare.power.MOST_PAIRS`.
    """

    key: RowKey
    pairs: int
    deviation: float
    threshold: float
    detectable: dict[int, float | None]
    needed: int | None


class MachineFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What can disturb measurements on a machine; null: not known.

    ``other_load``: how many processors other programs kept busy. ``steal_percent``: the share of the time that the host of a virtual machine gave to
    others. Both are the median over the runs; ``most_other_load`` and ``most_steal_percent`` are the maximum.
    """

    name: str | None
    processors: int | None
    virtualisation: str | None
    other_load: float | None
    most_other_load: float | None
    steal_percent: float | None
    most_steal_percent: float | None
    governor: str | None
    turbo: str | None
    smt: Literal["on", "off"] | None


def noise_rows(comparison: Comparison) -> list[NoiseRow]:
    """Return the noise of each tested row of a comparison of one build with itself. It is assumed that a later comparison tests the same rows."""
    tested = [row for row in comparison.rows if row.design == "paired" and row.p is not None]
    rate = comparison.settings.false_discovery_rate
    rows = []
    for row in tested:
        if row.old is None or row.new is None or row.threshold is None:
            continue
        deviation, least = stdev(log(new / old) for old, new in zip(row.old.values, row.new.values, strict=True)), log1p(row.threshold)
        rows.append(
            NoiseRow(
                key=row.key,
                pairs=len(row.old.values),
                deviation=deviation,
                threshold=row.threshold,
                detectable={pairs: smallest_change(deviation, pairs, len(tested), rate, least) for pairs in PAIRS},
                needed=pairs_for(log1p(WANTED), deviation, len(tested), rate, least),
            )
        )
    return sorted(rows, key=_by_name)


def _by_name(row: NoiseRow) -> tuple[int, str, int, str]:
    return list(METRICS).index(row.key.metric), row.key.transport or "", row.key.payload_bytes or 0, row.key.statistic


def smallest_change(deviation: float, pairs: int, rows: int, rate: float, least: float) -> float | None:
    """Return the smallest relative change of one row among ``rows`` that is detected in four cases of five; ``None``: none.

    Args:
        deviation: the standard deviation of the differences of pairs, as logarithms.
        pairs: the number of pairs.
        rows: the number of rows that are tested together.
        rate: the level of the comparison.
        least: the smallest shift that counts, as a logarithm.
    """
    shift = float(detectable(np.array([deviation]), RunCounts(pairs, pairs, rows, paired=True), rate, np.array([least]))[0])
    return expm1(shift) if isfinite(shift) else None


def machine_facts(host: Host, environments: Sequence[Mapping[str, str]]) -> MachineFacts:
    """Return what can disturb measurements, from the description of a machine and from the environments of its runs."""
    cores, threads = (host.cpu.get(name) for name in ("cores", "threads"))
    loads, steals = (_numbers(environments, f"{name}_during") for name in (OTHERS, STEAL))
    governor = next((environment["governor"] for environment in environments if "governor" in environment), host.cpu.get("governor"))
    return MachineFacts(
        name=host.name,
        processors=int(threads) if threads else None,
        virtualisation=host.system.get("virtualisation"),
        other_load=median(loads) if loads else None,
        most_other_load=max(loads, default=None),
        steal_percent=median(steals) if steals else None,
        most_steal_percent=max(steals, default=None),
        governor=governor,
        turbo=host.cpu.get("turbo"),
        smt=None if not cores or not threads else "on" if int(threads) > int(cores) else "off",
    )


def _numbers(environments: Iterable[Mapping[str, str]], name: str) -> list[float]:
    return [float(environment[name]) for environment in environments if name in environment]
