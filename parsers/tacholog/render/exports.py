"""Row values in the formats of two services that track benchmarks over time: Bencher, and the action github-action-benchmark.

Both get the median over runs, with the interval over runs as the range. The alarms of these services compare single values. Verdicts come from
`tacholog diff` and `tacholog require`.

Source:
    https://bencher.dev/docs/reference/bencher-metric-format and its JSON Schema https://bencher.dev/bmf.json;
    https://github.com/benchmark-action/github-action-benchmark, tools customSmallerIsBetter and customBiggerIsBetter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from tacholog.compare.row_values import RowValue
from tacholog.view.names import row_name
from tacholog.visible import drawn_in_line

_NAME_LENGTH = 1024  # the largest length of a benchmark's name in Bencher
_MEASURES: Mapping[str, str] = {"goodput": "goodput", "message_rate": "message-rate", "loss": "loss"}


def bencher(values: Iterable[RowValue]) -> bytes:
    """Return the values in Bencher Metric Format: an object for each row, which contains a measure for each metric and statistic.

    The measures ``latency-p50`` and so on are in ns, ``goodput`` in bit/s, ``message-rate`` in messages/s, ``loss`` is a share.
    """
    benchmarks: dict[str, dict[str, dict[str, float]]] = {}
    for name, row in _with_unique_names(values, with_metric=False):
        metric = {"value": row.value}
        if row.low is not None and row.high is not None:
            metric |= {"lower_value": row.low, "upper_value": row.high}
        benchmarks.setdefault(name[:_NAME_LENGTH], {})[_measure(row)] = metric
    return msgspec.json.format(msgspec.json.encode(benchmarks), indent=1) + b"\n"


def github_action_benchmark(values: Iterable[RowValue]) -> dict[str, bytes]:
    """Return two files for github-action-benchmark, which needs separate files for "smaller is better" and "bigger is better"."""
    files: dict[str, list[dict[str, Any]]] = {"smaller-is-better.json": [], "bigger-is-better.json": []}
    for name, row in _with_unique_names(values, with_metric=True):
        entry: dict[str, Any] = {"name": name, "unit": row.unit.replace("_per_", "/").replace("_", " "), "value": row.value}
        if row.low is not None and row.high is not None:
            entry["range"] = f"{row.low:g} to {row.high:g}"
        entry["extra"] = f"median of {row.runs} run{'' if row.runs == 1 else 's'}" + (f"; marks: {', '.join(row.marks)}" if row.marks else "")
        files["bigger-is-better.json" if row.better == "higher" else "smaller-is-better.json"].append(entry)
    return {name: msgspec.json.format(msgspec.json.encode(entries), indent=1) + b"\n" for name, entries in files.items()}


def _measure(row: RowValue) -> str:
    return _MEASURES.get(row.key.metric, f"{row.key.metric}-{row.key.statistic}".replace("_", "-"))


def _with_unique_names(values: Iterable[RowValue], *, with_metric: bool) -> Iterator[tuple[str, RowValue]]:
    used_names: set[tuple[str, str]] = set()
    for row in values:
        name = row_name(row.key, with_system=True)
        plain = name if with_metric else name.partition(", ")[2]
        options = [plain, f"{plain}, on {row.host}", *(f"{plain}, on {row.host}, {count}" for count in range(2, len(used_names) + 3))]
        chosen = next(option for option in options if (option, _measure(row)) not in used_names)
        used_names.add((chosen, _measure(row)))
        yield drawn_in_line(chosen.replace("\u00a0", " ").replace("\u202f", " ")), row
