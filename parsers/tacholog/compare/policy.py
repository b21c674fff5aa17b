"""The policy of a comparison: the thresholds, the rows that are tested, and the conditions that may differ."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from math import ceil
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import msgspec

from tacholog.errors import TachologError
from tacholog.runs.manifest import read_toml
from tacholog.schema.marks import SAMPLES_BEYOND
from tacholog.schema.metrics import METRICS

MIN_RUNS = 6  # With five pairs, no rank test can have a p-value below 5 %.
TESTABLE_BEYOND = 100  # the least number of samples beyond a percentile in each run; with fewer, noise hides even large changes
BANDS = ("centre", "high", "tail")
TESTED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "latency": ("p50", "p99", "p99.9"),
        "goodput": ("mean",),
        "message_rate": ("mean",),
        "acknowledged_rate": ("mean",),
        "sustained_rate": ("lower-bound",),
    }
)
IF_NO_PERCENTILE = ("mean", "typical", "range-low", "range-high")
Percent = Annotated[float, msgspec.Meta(gt=0)]


def band_of(statistic: str) -> str:
    """Return the kind of threshold of a statistic: ``centre``, ``high`` (percentiles from 90 to 99) or ``tail`` (above 99, and the maximum)."""
    if statistic == "max":
        return "tail"
    share = percentile(statistic)
    if share is None or share < 90:  # noqa: PLR2004 - the 90th percentile
        return "centre"
    return "high" if share <= 99 else "tail"  # noqa: PLR2004 - the 99th


def percentile(statistic: str) -> float | None:
    """Return the percentage in the name of a percentile (``p99.9``: 99.9); ``None`` for other statistics."""
    try:
        return float(statistic[1:]) if statistic.startswith("p") else None
    except ValueError:
        return None


def samples_needed(statistic: str) -> int | None:
    """Return the number of samples that a percentile needs in each run for a verdict; ``None`` for other statistics."""
    share = percentile(statistic)
    if share is None:
        return None
    beyond = SAMPLES_BEYOND if band_of(statistic) == "centre" else TESTABLE_BEYOND
    return ceil(round(beyond * 100 / (100 - share), 6))


class Bands(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The threshold for each kind of statistic, in percent; see `band_of`."""

    centre: Percent = 3.0
    high: Percent = 5.0
    tail: Percent = 10.0


class SingleBands(Bands, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much single values may differ by chance, if no band was measured."""

    centre: Percent = 10.0
    high: Percent = 25.0
    tail: Percent = 50.0


class RowFilter(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A filter that selects the rows with all stated properties; ``None`` selects any value."""

    system: str | None = None
    test: str | None = None
    transport: str | None = None
    data_path: str | None = None
    metric: str | None = None
    statistic: str | None = None
    payload_bytes: int | None = None

    def wanted(self) -> dict[str, str | int]:
        """Return the properties that this filter states, by name."""
        properties = {name: getattr(self, name) for name in RowFilter.__struct_fields__}
        return {name: value for name, value in properties.items() if value is not None}


class Override(RowFilter, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A threshold for some rows."""

    threshold_percent: Percent


class Policy(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The rules that decide which changes count. A thresholds file (TOML) may contain each of these fields.

    - ``thresholds_percent``: smaller changes do not matter.
    - ``single_value_percent``: how much two single values may differ by chance, if no band was measured.
    - ``same_build_percent``: how much runs of one build differed between sessions (A/A).
    - ``loss_threshold_points``: smaller changes of the share of lost messages do not matter, in percentage points.
    - ``single_loss_points``: how much two single shares of lost messages may differ by chance, in percentage points.
    - ``gate``: the few rows that matter most. They are tested separately from all other rows.
    - ``sizes``: only payloads of these sizes or ranges of sizes, as in ``1KiB`` and ``64B..4KiB``.
    """

    false_discovery_rate: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.05
    thresholds_percent: Bands = Bands()
    single_value_percent: SingleBands = SingleBands()
    same_build_percent: Percent | None = None
    loss_threshold_points: Percent = 0.1
    single_loss_points: Percent = 1.0
    row: tuple[Override, ...] = ()
    gate: tuple[RowFilter, ...] = ()
    across: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    transports: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()

    def tests(self) -> Mapping[str, tuple[str, ...]]:
        """Return the metrics and statistics that get a verdict.

        Raises:
            TachologError: a metric is unknown, or has no better direction.
        """
        if not self.metrics:
            return TESTED
        chosen: dict[str, tuple[str, ...]] = {}
        for word in self.metrics:
            metric, _, statistic = word.partition(":")
            if metric not in METRICS or METRICS[metric].better is None:
                names = [name for name, metric in METRICS.items() if metric.better]
                near = get_close_matches(metric, names, 1)
                hint = f" (is {near[0]} meant?)" if near else ""
                raise TachologError(f"--metric {word}: choose from {', '.join(names)}{hint}")
            default = TESTED.get(metric, ("mean", "total"))
            chosen[metric] = (*chosen.get(metric, ()), *((statistic,) if statistic else default))
        return chosen


def metric_asked(word: str) -> str:
    """Return the metric that a user asks for: its name, or ``name:statistic`` if the user also asks for a statistic.

    A user may write the title of a metric in tables (``payload received:mean``). A percentile alone (``p99``) means a percentile of the latency.
    """
    metric, colon, statistic = word.partition(":")
    if metric not in METRICS and not colon and percentile(metric) is not None:
        return f"latency:{metric}"
    names = {entry.words.casefold(): name for name, entry in METRICS.items()}
    return f"{metric if metric in METRICS else names.get(metric.casefold(), metric)}{colon}{statistic}"


def read_policy(path: Path) -> Policy:
    """Read a thresholds file.

    Raises:
        UnreadableInput: the file is missing, is not TOML, or has an unknown key; the message names file and key.
    """
    return read_toml(path, Policy)
