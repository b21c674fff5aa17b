"""The units in which a limit can be stated: for each unit of the schema, the units that people write and their size in it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_RATES = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}
_BYTE_RATES = {"B/s": 8.0, "kB/s": 8e3, "MB/s": 8e6, "GB/s": 8e9, "KiB/s": 8.0 * (1 << 10), "MiB/s": 8.0 * (1 << 20), "GiB/s": 8.0 * (1 << 30)}
#: Payload sizes, and amounts of bytes.
SIZES: Mapping[str, float] = MappingProxyType(
    {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1024.0, "MiB": float(1 << 20), "GiB": float(1 << 30)}
)
UNITS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "ns": {"ns": 1.0, "us": 1e3, "\u00b5s": 1e3, "\u03bcs": 1e3, "ms": 1e6, "s": 1e9},  # both signs for micro that keyboards have
        "bit_per_s": {**_RATES, **_BYTE_RATES},
        "messages_per_s": {"messages/s": 1.0, "msg/s": 1.0},
        "calls_per_s": {"calls/s": 1.0},
        "messages": {"messages": 1.0},
        "bytes": dict(SIZES),
        "ratio": {"%": 0.01, "ratio": 1.0},
        "percent": {"%": 1.0},
        "instances": {"instances": 1.0},
        "switches": {"switches": 1.0},
        "trials": {"trials": 1.0},
        "ns_per_gigabyte": {"s/GB": 1e9},
    }
)
