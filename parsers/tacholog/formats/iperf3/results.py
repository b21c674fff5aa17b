"""Records of iperf3 and what is known of their test, from text and from JSON alike.

Source: the reports of iperf3 3.12, and logs of 3.0 to 3.12.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tacholog.formats.iperf3.rules import BOTH, RECEIVED
from tacholog.formats.kit import DERIVED, Broken, Cells, Conditions, LineRule, LoadMode, Number, Record, Scope, counted

SERVER_TO_CLIENT = "server to client"  # The participant of what the server sends, in reverse or both ways at once. The other direction has no word.


class IperfTest(msgspec.Struct, frozen=True):
    """What the log states about the test before its results; ``None`` means not stated."""

    transport: str | None = None
    block_bytes: int | None = None
    streams: int | None = None
    duration_s: float | None = None
    load_mode: LoadMode | None = None

    def record(self, record: Record, scope: Scope, participant: str | None, numbers: Iterable[Number], samples: int | None = None) -> Record:
        """Return a record of this test, with these numbers."""
        known = tuple(numbers)
        stated = Conditions(
            transport=self.transport,
            load_mode=self.load_mode,
            publishers=self.streams,
            # RFC 1889 smooths the differences of one-way transit times, so the two clocks need not agree.
            basis="one-way" if any(number.metric == "jitter" for number in known) else None,
            planned_duration_s=self.duration_s,
        )
        return msgspec.structs.replace(
            record,
            payload_bytes=self.block_bytes,
            numbers=known,
            samples=samples,
            scope=scope,
            participant=participant,
            conditions=record.conditions.over(stated),
        )


def result(rule: LineRule, cells: Cells, test: IperfTest, scope: Scope, participant: str | None) -> Record | Broken:
    """What one side counted, or in one row of UDP what the sender and the receiver did.

    In a summary no byte at all means that the figures of the side never arrived, if `all_lost` does not know better: what stands beside it is another
    count, or fewer than none. Up to 3.6 the datagrams of a row for both sides are those up to the last one that arrived, though the tool calls them
    sent: they are what was sent only where they are the bytes'. A server of those versions does not know what was sent, and prints 0 bytes of it.
    """
    found = rule.record(cells)
    if isinstance(found, Broken):
        return found
    numbers, samples, datagrams = list(found.numbers), found.samples, cells.get("datagrams")
    if scope == "summary" and cells["transfer"] == 0 and (rule is not RECEIVED or not datagrams):
        numbers[:2] = (msgspec.structs.replace(n, value=None, resolution=None, bound="=", marks=("impossible",)) for n in numbers[:2])
        if rule is not BOTH:
            numbers, samples = numbers[:2], None
    if rule is BOTH and datagrams and "transfer" not in cells.decimals and datagrams * (test.block_bytes or 0) == cells["transfer"]:
        numbers.append(counted("messages_sent", datagrams, cell=cells.printed.get("datagrams")))
    return test.record(found, scope, participant, numbers, samples)


def all_lost(cells: Cells, test: IperfTest, participant: str | None, sent_datagrams: int | None) -> Record | Broken:
    """A UDP test that ended well, of which nothing arrived: the receiver counts no datagrams, so that the tool prints a loss of 0 in 0.

    Bytes beside it are the receiver's 0, or in rows for both sides the sender's, of which it is not known how many datagrams they were.
    """
    rates = Cells({name: value for name, value in cells.items() if name not in _OF_DATAGRAMS}, cells.decimals, cells.printed)
    found = (BOTH if cells["transfer"] else RECEIVED).record(rates)
    if isinstance(found, Broken):
        return found
    numbers = list(found.numbers)
    if not cells["transfer"]:
        numbers[:2] = (msgspec.structs.replace(number, value=0.0, resolution=None, bound="=") for number in numbers[:2])  # No datagram, no byte.
    if sent_datagrams:
        numbers.append(msgspec.structs.replace(counted("messages_lost", sent_datagrams), marks=(DERIVED,)))
    numbers.append(Number(metric="loss", statistic="total", value=1.0, marks=(DERIVED,)))
    return test.record(found, "summary", participant, numbers)


_OF_DATAGRAMS = ("jitter", "lost", "datagrams", "share")
_PROCESSORS = Record(test="throughput", payload_bytes=None, numbers=(), side="both", conditions=Conditions(definition="iperf3-cpu"))


def processors(test: IperfTest, shares: Iterable[Number], participant: str | None) -> Record:
    """Processor time of both sides."""
    return test.record(_PROCESSORS, "summary", participant, shares)
