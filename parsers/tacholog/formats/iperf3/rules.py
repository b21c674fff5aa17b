"""The interval rows of iperf3's text, of a test with one stream by the hundred thousand, and what must hold between their figures.

Source: the reports of iperf3 3.12, and logs of 3.0 to 3.12.
"""

from __future__ import annotations

from typing import Any

from tacholog.formats.kit import Cells, Check, Conditions, Field, LineRule, Order, Record, at_least, every, rounded

NOT_FOLLOWING = "the rate is not bytes over time"
_LETTERS = {"": "0", "K": "1", "M": "2", "G": "3", "T": "4"}
_IMPOSSIBLE_JITTER_MS = 1e9  # Eleven days. Old versions that met a damaged time stamp print years.
_SHORTEST_S = 0.02  # The rounding of two times: what is shorter is not judged by its rate.


def _clean(value: Any, places: int = 3) -> Any:  # noqa: ANN401
    """A figure without what floats add to it."""
    return round(value, places) if isinstance(value, int | float) else rounded(value, places)


def _step(cells: Cells, name: str) -> Any:  # noqa: ANN401
    """The unit of the last printed place. Of many rows all have three digits, as the tool prints them: their size says where the point is."""
    value = cells[name]
    return 10.0 ** -cells.decimals[name] if isinstance(value, int | float) else 0.01 + 0.09 * (value >= 10) + 0.9 * (value >= 100)  # noqa: PLR2004


def _byte_unit(cells: Cells) -> Any:  # noqa: ANN401
    return 1024.0 ** cells["transfer_unit"]


def _bit_unit(cells: Cells) -> Any:  # noqa: ANN401
    """Of bits a second; with an option, rates are in bytes of powers of two."""
    return 8 * 1024.0 ** cells["rate_unit"] if cells.get("is_rate_of_bytes") else 1000.0 ** cells["rate_unit"]


def _seconds(cells: Cells) -> Any:  # noqa: ANN401
    return _clean(cells["end"] - cells["start"], 2)


def follows(cells: Cells) -> Any:  # noqa: ANN401
    """Whether rate, bytes and time are of one row, up to their rounding; a time below its own rounding says nothing."""
    bits, bits_step = (8 * value * _byte_unit(cells) for value in (cells["transfer"], _step(cells, "transfer")))
    rate, rate_step = (value * _bit_unit(cells) for value in (cells["rate"], _step(cells, "rate")))
    shortest, longest = _seconds(cells) - _SHORTEST_S, _seconds(cells) + _SHORTEST_S
    agree = ((rate - rate_step) * shortest <= bits + bits_step) & ((rate + rate_step) * longest >= bits - bits_step)
    return (shortest <= 0) | agree


def _loss(cells: Cells) -> Any:  # noqa: ANN401
    return cells["lost"] / at_least(cells["total"], 1)


def _came(cells: Cells) -> Any:  # noqa: ANN401
    """How many datagrams came; ``None`` if fewer than none were lost, for some of them came late."""
    if "total" not in cells:
        return None
    came = cells["total"] - cells["lost"]
    return came if not isinstance(came, int | float) or (cells["total"] and 0 <= cells["lost"] <= cells["total"]) else None


_DIGITS = r"(?:[0-9]\.[0-9][0-9]|[1-9][0-9]\.[0-9]|[1-9][0-9]{2,6}+)"
_ROW = (
    r"\[ *+(?P<stream>[0-9]{1,5}+)\] {1,4}+(?P<start>[0-9]{1,6}+\.[0-9][0-9])-(?P<end>[0-9]{1,6}+\.[0-9][0-9]) {1,5}+sec"
    rf" {{1,4}}+(?P<transfer>{_DIGITS}) (?P<transfer_unit>[KMG])Bytes {{1,4}}+(?P<rate>{_DIGITS}) (?P<rate_unit>[KMG])bits/sec"
)


def _rule(definition: str, rate: str, amount: str, *fields: Field, behind: tuple[str, ...], samples: Any = None) -> LineRule:  # noqa: ANN401
    return LineRule(
        *(_ROW + end for end in behind),
        fields=(
            Field(rate, "mean", "rate", unit=_bit_unit, resolution=lambda cells: _clean(_step(cells, "rate") * _bit_unit(cells))),
            Field(amount, "total", "transfer", unit=_byte_unit, resolution=lambda cells: _clean(_step(cells, "transfer") * _byte_unit(cells))),
            Field("duration", "total", _seconds, unit=1e9, resolution=1e7),
            *fields,
        ),
        record=Record(test="throughput", payload_bytes=None, numbers=(), scope="interval", conditions=Conditions(definition=definition)),
        checks=(Check(NOT_FOLLOWING, follows),),
        order=(
            Order(
                "another stream, or a row that is out of place",
                lambda now, before: every(
                    [now["stream"] == before["stream"], now["start"] >= before["end"], now["start"] > before["start"]],
                ),
            ),
        ),
        size="block_bytes",
        samples=samples,
        letters=_LETTERS,
    )


SENT = _rule(
    "iperf3-sent",
    "offered_goodput",
    "bytes_sent",
    Field.counted("retransmissions", "retransmissions"),
    Field.counted("messages_sent", "datagrams"),
    behind=(
        rf" {{2,5}}+(?P<retransmissions>[0-9]{{1,12}}+) {{1,4}}+{_DIGITS} [KMG]Bytes {{7}}",
        r" {2,5}+(?P<retransmissions>[0-9]{1,12}+) {13}",
        r"  (?P<datagrams>[0-9]{1,12}+)  ",
    ),
    samples="datagrams",
)
RECEIVED = _rule(
    "iperf3-received",
    "goodput",
    "bytes_received",
    Field("jitter", "mean", "jitter", unit=1e6, unknown=lambda cells: cells["jitter"] >= _IMPOSSIBLE_JITTER_MS),
    Field("messages_lost", "total", "lost", is_exact=True, unknown=lambda cells: cells["lost"] > cells["total"]),
    Field(
        "loss",
        "total",
        _loss,
        where=lambda cells: "total" in cells and cells["total"] > 0,
        unknown=lambda cells: (cells["lost"] < 0) | (cells["lost"] > cells["total"]),
    ),
    behind=(r"  (?P<jitter>[0-9]{1,9}+\.[0-9]{3}) ms  (?P<lost>[0-9]{1,12}+)/(?P<total>[0-9]{1,12}+) \([0-9]{1,3}+(?:\.[0-9]{1,3}+)?+%\)  ",),
    samples=_came,
)
EITHER = _rule("iperf3-either-side", "transfer_rate", "bytes_transferred", behind=(r" {18}",))
BULK = (*SENT.bulk[:2], *EITHER.bulk, *SENT.bulk[2:], *RECEIVED.bulk)  # Retransmissions before datagrams: only the blanks behind them differ.
