"""What a diff finds: the one result that text, Markdown, JSON and the page are made from. Its JSON form is the schema ``perfdiff/1``.

Ratios are new over old, whichever way is better. Values are in the units of `tacholog.schema.metrics.METRICS`; unknown is null.

A report may have a million rows, none of which is part of a circle: ``gc=False`` spares the collector from looking.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from tacholog.schema.metrics import Direction
from tacholog.schema.records import Bound

SCHEMA = "perfdiff/1"
Verdict = Literal[
    "worse",
    "better",
    "no_change",
    "inconclusive",
    "too_few_pairs",
    "insufficient",
    "unreplicated_diff",
    "unreplicated_same",
    "not_comparable",
    "removed",
    "added",
    "invalid",
    "lossy",
]
VERDICTS: tuple[Verdict, ...] = (
    *("worse", "better", "unreplicated_diff", "inconclusive", "too_few_pairs", "insufficient", "invalid", "lossy"),
    *("not_comparable", "removed", "added", "no_change", "unreplicated_same"),
)
COMPARED: frozenset[Verdict] = frozenset({"worse", "better", "no_change", "inconclusive", "too_few_pairs", "unreplicated_diff", "unreplicated_same"})
OPEN: frozenset[Verdict] = frozenset({"inconclusive", "too_few_pairs"})  # tested, and neither a change nor its absence is shown
Level = Literal["a", "b", "c"]
DesignKind = Literal["paired", "sessions", "confounded", "single"]
RatioKind = Literal["hodges_lehmann_pairs", "hodges_lehmann_sessions", "quotient"]
Interval = tuple[float | None, float | None]


class RowKey(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What names a row. A field that the diff goes across is left out, and so is one that is not stated.

    ``apart``: the conditions that tell it from rows that are alike in all else, such as the offered rate, each with its value; null: not stated.
    """

    system: str | None = None
    test: str | None = None
    transport: str | None = None
    data_path: str | None = None
    type: str | None = None
    keyed: bool | None = None
    publishers: int | None = None
    subscribers: int | None = None
    participant: str | None = None
    payload_bytes: int | None = None
    payload_bytes_high: int | None = None
    demand: int | None = None
    metric: str
    statistic: str
    apart: tuple[tuple[str, str | None], ...] = ()


class Side(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One side of a row: how many runs gave a value, the values that the ratio was computed from, and their median, which is one of them.

    Of an even number of values two stand in the middle, and the worse one is the median: the higher latency, the lower rate.
    ``values`` holds each run's value in the order of `Report.runs`; where a test decided, pair by pair if runs are pairs (a run without its pair is
    not among them), and of each session the run in the middle if sessions are compared.
    """

    runs: int
    median: float | None = None
    values: tuple[float, ...] = ()
    bound: Bound = "="
    resolution: float | None = None
    samples: int | None = None


class Difference(msgspec.Struct, frozen=True):
    """A condition that is not the same on both sides."""

    field: str
    old: str | None
    new: str | None


class DiffRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One row of the comparison and its one verdict.

    ``new_key`` is there where the new side names the row otherwise; such rows are not comparable. ``differences`` are the conditions and machines
    that are not the same; ``reasons`` names those that forbid a comparison. Of a row that one side alone has they say under which other conditions
    the other side has it. ``across`` is what each side has of the fields that the diff goes across.
    ``ratio`` is new over old; rows that are not comparable have none. ``ratio_kind`` says which ratio it is: ``hodges_lehmann_pairs`` and
    ``hodges_lehmann_sessions`` are estimates over all pairs or sessions, which need not be the quotient of both medians; ``quotient`` is that.
    ``interval`` is the 95 % confidence interval of the ratio where ``interval_kind`` is ``confidence``, widened by what rounding hides, and what
    rounding allows where it is ``rounding``. It is that of the row alone: where it leaves out 1 and ``p_adjusted`` is not below the false discovery
    rate, it shows no change, because among many rows such intervals come by chance.
    ``threshold`` is the smallest relative change that counts (0.03: 3 %), ``threshold_source`` where it comes from.
    ``flags``: ``two_modes``, the runs of a side fall into two groups; ``significant``, the adjusted p-value is below the false discovery rate,
    whatever the size of the change; ``gated``, it was adjusted among the rows of the gate alone; ``same_runs``, both sides are the same runs.
    ``detectable`` is the smallest relative change of this row alone that the report would have called one in four cases of five; null if there is
    none. ``attainable_p`` is the least adjusted p-value that this row could have had, alone among the rows of the report, and ``needed`` how many
    pairs, or sessions a side, it takes to make that significant; both are there where `verdict` is ``too_few_pairs``.
    """

    key: RowKey
    new_key: RowKey | None = None
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    unit: str
    better: Direction
    level: Level | None = None
    design: DesignKind | None = None
    old: Side | None = None
    new: Side | None = None
    ratio: float | None = None
    ratio_kind: RatioKind | None = None
    interval: Interval | None = None
    interval_kind: Literal["confidence", "rounding"] | None = None
    p: float | None = None
    p_adjusted: float | None = None
    threshold: float | None = None
    threshold_source: str | None = None
    detectable: float | None = None
    attainable_p: float | None = None
    needed: int | None = None
    marks: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()
    across: tuple[Difference, ...] = ()
    unverified: tuple[str, ...] = ()

    @property
    def change(self) -> float | None:
        """How much worse (positive) or better, as a logarithm."""
        from math import log

        if self.ratio is None or self.ratio <= 0:
            return None
        return log(self.ratio) * (1 if self.better == "lower" else -1)


class Untested(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A number that is shown and not tested unless asked for by name: maxima, counts, the percentiles between those that are tested."""

    key: RowKey
    unit: str
    old: float | None = None
    new: float | None = None


class Curve(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Rows with one value a side that differ only in size, summed up. Sizes share their session, so there is no test over them.

    ``old_flat`` and ``new_flat``: the one value that a side's latency has at all sizes, where these are far apart.
    """

    key: RowKey
    rows: int
    mean_ratio: float
    least: float
    most: float
    lower: int
    equal: int
    higher: int
    old_flat: float | None = None
    new_flat: float | None = None


class LossSide(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The loss of one side of a row: how many runs state it, in how many something was lost, the median share and the largest.

    ``pairs`` is how many of the runs are in pairs, or how many sessions there are, where a test decided.
    """

    runs: int
    lossy: int
    median: float
    most: float
    pairs: int | None = None


class Loss(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What was lost where anything was, as shares of the messages, and its verdict.

    ``difference`` is new minus old, a share too (0.01: one percentage point), because most runs lose nothing and a ratio to nothing is none;
    ``interval`` its 95 % confidence interval, that of the row alone; ``threshold`` the smallest that counts. ``attainable_p`` and ``needed`` are as
    in `Row`. ``differences`` are the conditions that are not the same.
    """

    key: RowKey
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    design: DesignKind | None = None
    old: LossSide | None = None
    new: LossSide | None = None
    difference: float | None = None
    interval: Interval | None = None
    p: float | None = None
    p_adjusted: float | None = None
    threshold: float | None = None
    attainable_p: float | None = None
    needed: int | None = None
    differences: tuple[Difference, ...] = ()


class RunOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run that was compared: when it was made, in which session, as which repetition; how it ended, and why if not well."""

    side: Literal["old", "new"]
    run: str
    session: str | None = None
    repetition: int | None = None
    order_index: int | None = None
    start_time: str | None = None
    status: str | None = None
    reason: str | None = None


class InputProblem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run, log, folder or line that could not be used as it should be; ``log`` and ``line`` say where in the run, if it is not all of it."""

    side: Literal["old", "new"]
    run: str
    log: str = ""
    line: int = 0
    kind: str
    reason: str


class Input(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One side of the whole comparison, as it was named and what was found."""

    name: str
    runs: int
    numbers: int
    systems: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    published: bool = False
    first: str | None = None
    last: str | None = None
    problems: int = 0


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The policy that was applied. ``same_build_sessions``: those in which one build was measured against itself on this machine."""

    false_discovery_rate: float
    across: tuple[str, ...]
    thresholds: dict[str, float]
    single_value_bands: dict[str, float]
    same_build_band: float | None
    overrides: int
    gates: int
    same_build_sessions: tuple[str, ...] = ()


class Report(msgspec.Struct, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """The whole comparison. ``counts`` holds every verdict, also those that no row has.

    ``losses`` are the rows in which a run lost something, ``loss_counts`` their verdicts, ``lossless`` counts those in which none did.
    ``loss_asked`` is whether loss was to be looked at; ``lossy_counts`` counts the rows whose logs say how many messages were lost, and not of how
    many, so that there is no share to compare.
    ``problems``: what could not be used of either side, lost runs and logs first; of broken and unknown lines at most a hundred a side
    (`Input.problems` counts them all).
    """

    schema_: Literal["perfdiff/1"] = "perfdiff/1"
    generated_by: str
    old: Input
    new: Input
    same_build: bool
    settings: Settings
    counts: dict[str, int]
    designs: dict[str, int]
    warnings: tuple[str, ...]
    changed: tuple[Difference, ...]
    rows: tuple[DiffRow, ...]
    curves: tuple[Curve, ...]
    losses: tuple[Loss, ...] = ()
    loss_counts: dict[str, int] = {}
    lossless: int = 0
    loss_asked: bool = True
    lossy_counts: int = 0
    untested: tuple[Untested, ...] = ()
    runs: tuple[RunOrder, ...] = ()
    problems: tuple[InputProblem, ...] = ()


def to_json(report: Report) -> bytes:
    """The report as JSON, one row a line: all of it laid out would be twice as large."""
    encoder, fields = msgspec.json.Encoder(), []
    for name, key in zip(Report.__struct_fields__, Report.__struct_encode_fields__, strict=True):
        value = getattr(report, name)
        said = _lines(encoder, value) if isinstance(value, tuple) and value and isinstance(value[0], msgspec.Struct) else encoder.encode(value)
        fields.append(b' "%s": %s' % (key.encode(), said))
    return b"{\n%s\n}" % b",\n".join(fields)


def _lines(encoder: msgspec.json.Encoder, values: Sequence[msgspec.Struct]) -> bytes:
    """A list of which each element has a line."""
    lines = encoder.encode_lines(values).removesuffix(b"\n")
    return b"[\n  %s\n ]" % lines.replace(b"\n", b",\n  ")  # no line holds another newline: within a string it is escaped


def json_schema() -> dict[str, Any]:
    """The JSON Schema of `to_json`'s output."""
    return msgspec.json.schema(Report)
