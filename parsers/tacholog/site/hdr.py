"""Latency distributions as HdrHistogram logs, which its own tools and many others draw."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tacholog.errors import UnreadableInput
from tacholog.render.html import path_slug
from tacholog.view.results import Histogram, histograms

if TYPE_CHECKING:
    from tacholog.dataset.frames import Dataset

_DIGITS = 3
_HEAD = (
    "#[Latencies in ns, written by tacholog export. Tag: payload bytes and line of the raw log]\n"
    "#[Histogram log format version 1.3]\n"
    '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n'
)


def write_hdr(data: Dataset, folder: Path) -> int:
    """Write one log of histograms for each raw log that has any. Returns how many histograms there are.

    Raises:
        UnreadableInput: there are none.
    """
    by_log: dict[tuple[str, str], list[Histogram]] = {}
    for histogram in histograms(data):
        if histogram.bins:
            by_log.setdefault((histogram.run, histogram.log), []).append(histogram)
    if not by_log:
        raise UnreadableInput("no log has a distribution: nothing to write")
    for (run, log), found in by_log.items():
        path = folder / f"{path_slug(f'{run}/{log}')}.hlog"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_HEAD + "".join(map(_line, found)), encoding="ascii")
    return sum(map(len, by_log.values()))


def _line(histogram: Histogram) -> str:
    """Return a histogram as one interval; when it was measured is not in the bins, so that its time is 0."""
    payload = histogram.payload_bytes if histogram.payload_bytes is not None else "unknown"
    return f"Tag=bytes-{payload}-line-{histogram.line},0.000,0.000,{histogram.bins[-1][1] / 1e6:.3f},{_encoded(histogram.bins)}\n"


def _encoded(bins: Sequence[tuple[float, float, int]]) -> str:
    """Return the bins in HdrHistogram's own compressed form, each sample at its bin's upper edge, as the percentiles of the pages are."""
    from hdrh.histogram import HdrHistogram

    made = HdrHistogram(1, max(2, round(bins[-1][1])), _DIGITS)
    for _, upper, count in bins:
        made.record_value(max(1, round(upper)), count)
    return str(made.encode().decode("ascii"))
