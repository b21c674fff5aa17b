"""How small a change a machine can show, in words: the answer in one sentence, one sentence of advice, a table, and what can disturb measurements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt

from tacholog.compare.noise import MAIN_PAIRS, PAIRS, WANTED, MachineFacts, NoiseRow
from tacholog.compare.policy import band_of
from tacholog.compare.power import MOST_PAIRS
from tacholog.render.diff.words import percent
from tacholog.render.table import Table, TableCell, TableColumn, TableRow, head, terminal
from tacholog.schema.metrics import METRICS
from tacholog.view.names import row_name
from tacholog.view.numerals import NOT_STATED

_BUSY = 0.1  # load of other programs that is worth a remark, in processors
_STOLEN_PERCENT = 0.5


def answer(rows: Sequence[NoiseRow]) -> str:
    """Return a sentence on the smallest changes that `MAIN_PAIRS` pairs show.

    The sentence is about the first row with a median. It also states the p99 of the same measurement if there is a row for this p99.
    """
    first = next((row for row in rows if row.key.statistic == "p50"), rows[0])
    tail = next((row for row in rows if row.key.statistic == "p99" and _alike(row, first)), None)
    of_tail = f", and {_change(tail)} in its p99" if tail else ""
    transport = f" of {first.key.transport}" if first.key.transport else ""
    return f"On this machine, {MAIN_PAIRS} pairs show {_change(first)} in {_measured(first)}{transport}{of_tail}."


def _change(row: NoiseRow) -> str:
    change = row.detectable[MAIN_PAIRS]
    return "no change, however large," if change is None else f"a change of {percent(change)}"


def _measured(row: NoiseRow) -> str:
    metric = METRICS[row.key.metric].words.lower()
    return {"p50": f"the median {metric}", "mean": f"the mean {metric}"}.get(row.key.statistic, f"the {metric} {row.key.statistic}")


def _alike(row: NoiseRow, other: NoiseRow) -> bool:
    fields = ("metric", "test", "transport", "payload_bytes", "system", "apart")
    return all(getattr(row.key, name) == getattr(other.key, name) for name in fields)


def advice(rows: Sequence[NoiseRow], facts: MachineFacts) -> str:
    """Return a sentence on how many pairs are needed to see a change of `WANTED` in each median and rate, and on how to need fewer."""
    judged = [row for row in rows if row.threshold < WANTED]
    noisy = [row for row in judged if row.needed is None]
    if noisy:
        pairs = f"Even {MOST_PAIRS} pairs do not show a change of {percent(WANTED)} in {row_name(noisy[0].key)}"
    elif judged:
        pairs = f"To see a change of {percent(WANTED)} in each median and rate, make {max(row.needed or 0 for row in judged)} pairs"
    else:
        pairs = f"No row can show a change of {percent(WANTED)}, because smaller changes do not count"
    remedies = list(_remedies(facts))
    if not remedies:
        return f"{pairs}; nothing that Tacholog can read disturbs this machine."
    *others, last = remedies
    return f"{pairs}; to need fewer, {', '.join(others)}{' and ' if others else ''}{last}."


def _remedies(facts: MachineFacts) -> Iterator[str]:
    if facts.other_load is not None and facts.other_load > _BUSY:
        yield "stop other programs"
    if facts.steal_percent is not None and facts.steal_percent > _STOLEN_PERCENT:
        yield "use a machine whose processors are not shared with other virtual machines"
    if facts.governor is not None and facts.governor != "performance":
        yield "set the frequency governor to performance"
    if facts.turbo == "on":
        yield "switch off turbo"
    if facts.smt == "on":
        yield "switch off SMT (two threads of one core)"


def table(rows: Sequence[NoiseRow]) -> Table:
    """Return a table with the noise of each row. Further columns state the smallest change that a given number of pairs shows, such as 10 pairs."""
    headings = ["noise of a pair", *(f"{pairs} pairs" for pairs in PAIRS), f"pairs for {percent(WANTED)}"]
    body = [TableRow([head(row_name(row.key)), *map(TableCell, _cells(row))]) for row in rows]
    return Table("Noise", [TableColumn("row"), *(TableColumn(name, align="right") for name in headings)], [body])


def _cells(row: NoiseRow) -> list[str]:
    changes = ["none" if change is None else percent(change) for change in row.detectable.values()]
    needed = str(row.needed) if row.needed else f"over {MOST_PAIRS}" if row.threshold < WANTED else "-"
    return [percent(row.deviation), *changes, needed]


def text(rows: Sequence[NoiseRow], facts: MachineFacts, untested: Sequence[str]) -> str:
    """Return the whole result as text. ``untested`` are sentences on the rows for which no noise is known."""
    return "\n".join([answer(rows), advice(rows, facts), "", *_of_rows(rows), *untested, "", *_of_machine(facts)]) + "\n"


def _of_rows(rows: Sequence[NoiseRow]) -> Iterator[str]:
    pairs = min(row.pairs for row in rows)
    yield f"Smallest change of one row that a comparison of these {len(rows)} rows finds, in four cases of five:"
    yield from (f"  {line}" for line in terminal(table(rows)))
    least = {band_of(row.key.statistic): percent(row.threshold) for row in rows}
    names = {"centre": "medians, means and rates", "high": "percentiles up to p99", "tail": "higher percentiles"}
    yield f"Smaller changes do not count, even with many pairs: {', '.join(f'{least[kind]} for {names[kind]}' for kind in names if kind in least)}."
    yield f"Measured in {pairs} pairs of one build, so each figure has an error of about {percent(1 / sqrt(2 * (pairs - 1)))} of its value."


def _of_machine(facts: MachineFacts) -> Iterator[str]:
    processors = f" of {facts.processors} processors" if facts.processors else " processors"
    virtual = {None: "", "none": ""}.get(facts.virtualisation, f"; {facts.virtualisation}")
    yield f"What can disturb measurements on this machine ({facts.name or NOT_STATED}{virtual}):"
    yield f"  load of other programs: {_of_runs(facts.other_load, facts.most_other_load, processors)}"
    yield f"  time stolen by the host: {_of_runs(facts.steal_percent, facts.most_steal_percent, ' %')}"
    yield f"  frequency governor: {facts.governor or _UNKNOWN}"
    yield f"  turbo: {facts.turbo or _UNKNOWN}"
    yield f"  SMT (two threads of one core): {facts.smt or _UNKNOWN}"


def _of_runs(median: float | None, most: float | None, unit: str) -> str:
    return _UNKNOWN if median is None or most is None else f"{median:.1f}{unit} in the median run, at most {most:.1f}{unit.partition(' of')[0]}"


_UNKNOWN = "not known"
