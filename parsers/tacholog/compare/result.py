"""The result of a diff. Text, Markdown, JSON and the page are made from it. Its JSON form is the schema ``perfdiff/1``.

Ratios are new over old, whether higher or lower is better. Values have the units of `tacholog.schema.metrics.METRICS`; null means unknown.

A comparison may have a million rows, which contain no reference cycles. So ``gc=False`` excludes them from garbage collection.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any, Literal

import msgspec

from tacholog.schema.metrics import Direction
from tacholog.schema.records import Bound

SCHEMA = "perfdiff/1"
_PUBLISHED_NAMES = {"Comparison": "Report", "ComparisonRow": "DiffRow", "UntestedRow": "Untested"}  # class: its name in the JSON Schema
Verdict = Literal[
    "worse",
    "better",
    "differs_worse",
    "differs_better",
    "differs_not",
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
    *("worse", "better", "differs_worse", "differs_better", "unreplicated_diff", "inconclusive", "too_few_pairs", "insufficient", "invalid", "lossy"),
    *("not_comparable", "removed", "added", "no_change", "differs_not", "unreplicated_same"),
)
DIFFERS: tuple[Verdict, Verdict] = ("differs_worse", "differs_better")  # the sides differ, but the release may not be the cause
OUT_OF_TURN: frozenset[Verdict] = frozenset({*DIFFERS, "differs_not"})  # verdicts of rows whose sides did not take turns
REASONS_OUT_OF_TURN = ("order_confounded", "sessions_confounded", "order_unknown")  # rows with one of these reasons can get only OUT_OF_TURN verdicts
COMPARED: frozenset[Verdict] = frozenset(
    {"worse", "better", *OUT_OF_TURN, "no_change", "inconclusive", "too_few_pairs", "unreplicated_diff", "unreplicated_same"}
)
TESTED: frozenset[Verdict] = frozenset({"worse", "better", "no_change", "inconclusive", "too_few_pairs"})  # the verdicts of rows with a test
OPEN: frozenset[Verdict] = frozenset({"inconclusive", "too_few_pairs"})  # tested, but the runs show neither a change nor its absence
Level = Literal["a", "b", "c"]
DesignKind = Literal["paired", "sessions", "confounded", "single"]
ControlLayout = Literal["pairs", "sessions", "blocks"]
RatioKind = Literal["hodges_lehmann_pairs", "hodges_lehmann_sessions", "hodges_lehmann_runs", "quotient"]
Interval = tuple[float | None, float | None]


class RowKey(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The name of a row. Fields that may differ (``--across``) and fields that are not stated are left out.

    ``apart``: the conditions (such as the offered rate) that distinguish the row from otherwise equal rows, with their values; null: not stated.
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
    """One side of a row: the number of runs with a value, the values from which the ratio was computed, and their median.

    The median is always one of the values. For an even number of values, it is the worse of the two middle values: the higher latency, or the lower
    rate. For metrics without a better direction, see `tacholog.schema.metrics`. ``values`` contains the value of each run, in the order of ``runs``
    of the comparison. If the row was tested, it contains the values of the pairs in the order of the pairs (without runs that have no partner), or
    the value of the median run of each session.
    """

    runs: int
    median: float | None = None
    values: tuple[float, ...] = ()
    bound: Bound = "="
    resolution: float | None = None
    samples: int | None = None


class FirstLook(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The result of the first pairs, for a row that was measured again in new pairs (``tacholog ab --confirm``).

    The values of the row itself come from the new pairs only. ``confirmed`` states whether the new pairs give the same verdict as the first
    pairs. The change in the first pairs is ``difference`` in a row of loss, and ``ratio`` in any other row.
    """

    verdict: Verdict
    confirmed: bool
    pairs: int | None
    ratio: float | None = None
    difference: float | None = None
    p_adjusted: float | None = None


class ShortRun(msgspec.Struct, frozen=True, gc=False):
    """A run that is left out of a row, because it has too few samples for the percentile."""

    side: Literal["old", "new"]
    run: str
    samples: int
    needed: int


class Difference(msgspec.Struct, frozen=True):
    """A condition that differs between the sides."""

    field: str
    old: str | None
    new: str | None


AcknowledgementState = Literal["acknowledged", "grown", "expired", "not_needed", "no_verdict", "no_row"]
ACKNOWLEDGED: AcknowledgementState = "acknowledged"


class Acknowledgement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """An entry of ``known.toml``, which names worse rows that are already known. A report states an entry in each worse row of the entry.

    A report also has a list of all entries. ``entry`` is the location of the entry: file and line. ``until`` is a day, or the word ``release`` and a
    release.

    In a row, ``state`` has one of three values:

    - ``acknowledged``: the row does not fail the comparison.
    - ``grown``: the change of the row is larger than ``at_most_percent``, or larger than ``at_most_points`` for a row of loss.
    - ``expired``: the entry no longer counts, because of ``until``.

    In the list of entries, ``state`` is the state of the worse rows. If the entry has no worse rows, ``state`` has one of three further values:

    - ``not_needed``: it is known that no row of the entry is worse.
    - ``no_verdict``: some rows of the entry have no verdict.
    - ``no_row``: the comparison has no row of the entry.

    ``rows`` is stated only in the list of entries. It is the number of worse rows of the entry. If no row is worse, it is the number of all rows of
    the entry.
    """

    entry: str
    state: AcknowledgementState
    reason: str
    issue: str
    until: str
    at_most_percent: float | None = None
    at_most_points: float | None = None
    rows: int | None = None


class ComparisonRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One row of the comparison and its verdict.

    ``new_key`` is present if the new side names the row differently; such rows are not comparable. ``differences`` are the conditions and machines
    that differ; ``reasons`` names the conditions that prevent a comparison. A row can be present on one side only, because the other side measured
    under different conditions. In this case, ``differences`` are these conditions. ``across`` contains the fields of ``--across``, with their values
    on each side.
    ``ratio`` is new over old; rows that are not comparable have no ratio. ``ratio_kind`` states how it was computed: ``quotient`` is the quotient of
    the medians. ``hodges_lehmann_pairs``, ``hodges_lehmann_sessions`` and ``hodges_lehmann_runs`` are estimates from all pairs, sessions or runs. An
    estimate may differ from the quotient of the medians.
    If ``interval_kind`` is ``confidence``, ``interval`` is the 95 % confidence interval of the ratio, widened by the rounding error. If it is
    ``rounding``, the interval contains all ratios that rounding allows. The interval is not adjusted for the number of rows. An interval without 1 is
    not a change if ``p_adjusted`` is not below the false discovery rate: with many rows, such intervals occur by chance.
    ``threshold`` is the smallest relative change that counts (0.03: 3 %), and ``threshold_source`` its source.
    ``flags``: ``two_modes``: the runs of a side form two groups; ``significant``: the adjusted p-value is below the false discovery rate,
    for any size of the change; ``gated``: the p-value was adjusted only for the rows of the gate; ``same_runs``: both sides are the same runs.
    ``detectable`` is the smallest relative change that the comparison would have detected in four cases of five, if no other row had changed; null:
    no change could be detected. ``attainable_p`` is the smallest adjusted p-value that this row could have had if no other row had changed, and
    ``needed`` is the number of pairs, or of sessions on each side, with which it would be significant. Both are present if ``verdict`` is
    ``too_few_pairs``. ``host_change`` is how much worse (positive) or better the controls became, if they show that the host changed. If ``reasons``
    contains ``host_changed``, the verdict would be better or worse, but the change of the host may explain the change of the row.
    ``short_runs`` are runs that were left out, because they have too few samples for this percentile. Enough other runs remain.
    ``acknowledgement`` is present if the row is worse, and ``known.toml`` names it.
    ``first_look`` is present if the row was measured again: the row then has the values and the verdict of the new pairs alone.
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
    host_change: float | None = None
    marks: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()
    across: tuple[Difference, ...] = ()
    unverified: tuple[str, ...] = ()
    short_runs: tuple[ShortRun, ...] = ()
    first_look: FirstLook | None = None
    acknowledgement: Acknowledgement | None = None

    @property
    def is_acknowledged(self) -> bool:
        """Whether the row is worse, but does not fail the comparison."""
        return self.acknowledgement is not None and self.acknowledgement.state == ACKNOWLEDGED

    @property
    def change(self) -> float | None:
        """The change as a logarithm: positive is worse, negative is better."""
        if self.ratio is None or self.ratio <= 0:
            return None
        return log(self.ratio) * (1 if self.better == "lower" else -1)


class UntestedRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A number that is displayed, but tested only if the user names it: maxima, counts, and percentiles between the tested percentiles."""

    key: RowKey
    unit: str
    old: float | None = None
    new: float | None = None


class Curve(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A summary of rows that differ only in the message size. Each row has only one value on each side.

    All sizes of a side were measured in one session. Therefore the differences between the sides cannot be tested. ``old_flat`` and ``new_flat`` are
    the latency of a side. They are stated only if the latency is the same for all sizes although the sizes differ much.
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
    """The loss of one side of a row: the number of runs that state it, the number of runs that lost messages, the median and the largest share.

    If the row was tested, ``pairs`` is the number of runs in pairs, or the number of sessions.
    """

    runs: int
    lossy: int
    median: float
    most: float
    pairs: int | None = None


class Loss(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The loss of a row in which a run lost messages, as shares of the messages, and its verdict.

    ``difference`` is new minus old, as a share (0.01: one percentage point), because most runs lose nothing, and a ratio to 0 is undefined.
    ``interval`` is its 95 % confidence interval, not adjusted for the number of rows. ``threshold`` is the smallest difference that counts.
    ``attainable_p``, ``needed`` and ``first_look`` have the same meaning as in `ComparisonRow`. ``differences`` are the conditions that differ.
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
    first_look: FirstLook | None = None
    acknowledgement: Acknowledgement | None = None

    @property
    def is_acknowledged(self) -> bool:
        """Whether more messages were lost on the new side, but the row does not fail the comparison."""
        return self.acknowledgement is not None and self.acknowledgement.state == ACKNOWLEDGED

    @property
    def change(self) -> float | None:
        """The change of the share of lost messages.

        It is the estimate of the test. Without a test, it is the difference of the medians, or the difference of the maxima if the medians are equal.
        """
        if self.difference is not None:
            return self.difference
        if self.old is None or self.new is None or self.verdict in ("not_comparable", "invalid"):
            return None
        return (self.new.median - self.old.median) or (self.new.most - self.old.most)


class Controls(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of the controls. Controls are rows that no release changes; they are not among the rows of the comparison.

    - ``rows``: the controls.
    - ``other``: true if the two sides used different programs as controls. The controls then show nothing.
    - ``moved``: whether the controls show that the host changed. It is null if no control could be judged.
    - ``judged``: the number of judged controls.
    - ``p``: the p-value of the test of all controls.
    - ``change``: how much worse the controls became on average, as a relative change. A negative change is an improvement.
    - ``layout``: what was compared: pairs, sessions that take turns, or blocks, which do not take turns.
    - ``explains``: a range of relative changes. The change of the host may explain each change in this range. Therefore no row of the comparison with
      a change in this range is called better or worse.
    - ``alone``: the same range as ``explains``, but for a single row. It is present even if the controls do not show a change of the host, because
      the controls may have missed a change.
    - ``uncovered``: transports that have better or worse rows, but no control. For these transports, the controls show less.

    If a range has no limit at one end, this end is null.
    """

    rows: tuple[ComparisonRow, ...] = ()
    other: bool = False
    moved: bool | None = None
    judged: int = 0
    p: float | None = None
    change: float | None = None
    layout: ControlLayout | None = None
    explains: Interval | None = None
    alone: Interval | None = None
    uncovered: tuple[str, ...] = ()


class RunOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A compared run: its session, its repetition and its time; how it ended, and the reason if it failed."""

    side: Literal["old", "new"]
    run: str
    session: str | None = None
    repetition: int | None = None
    order_index: int | None = None
    start_time: str | None = None
    status: str | None = None
    reason: str | None = None


class InputProblem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run, log, folder or line that could not be used completely. ``log`` and ``line`` locate the problem if it is only in a part of the run."""

    side: Literal["old", "new"]
    run: str
    log: str = ""
    line: int = 0
    kind: str
    reason: str


class Input(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One side of the comparison: its name and a summary of its runs.

    ``systems`` and ``versions`` are those of the measured systems, without controls, because no release changes controls. ``hosts`` are the names of
    the machines; if machines have the same name, their ids are appended. ``labels`` contains the values of each label of the runs.
    """

    name: str
    runs: int
    numbers: int
    systems: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    labels: dict[str, tuple[str, ...]] = {}
    published: bool = False
    first: str | None = None
    last: str | None = None
    problems: int = 0


class ComparisonWarning(msgspec.Struct, frozen=True):
    """A warning that a reader must see before the rows: a code, and the values for the text of the warning.

    ``count`` is a number of rows, runs, pairs or sessions; ``planned`` is the planned number. ``side`` is old or new, or the name of a side.
    ``names`` are fields or metrics. ``percents`` are shares of a value.
    """

    code: str
    count: int | None = None
    planned: int | None = None
    side: str | None = None
    names: tuple[str, ...] = ()
    percents: tuple[float, ...] = ()

    @property
    def text(self) -> str:
        """The warning as one text, as the JSON contains it: ``latency_of:32``, ``unverified:3:qos,batching``."""
        percents = ",".join(f"{percent:.3g}" for percent in self.percents)
        values = (self.code, self.count, self.planned, self.side, ",".join(self.names) or None, percents or None)
        return ":".join(str(value) for value in values if value is not None)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The policy that was applied. ``same_build_sessions``: the sessions in which one build was compared with itself on this machine."""

    false_discovery_rate: float
    across: tuple[str, ...]
    thresholds: dict[str, float]
    single_value_bands: dict[str, float]
    same_build_band: float | None
    overrides: int
    gates: int
    same_build_sessions: tuple[str, ...] = ()


def worse_by(ratio: float, better: str | None) -> float:
    """Return the share by which the new side is worse: 0.05 is 5 % worse, and a negative share is better.

    The share refers to the old value, whichever direction is better: x1.05 of a latency is 5 % worse, and x0.95 of a rate is 5 % worse too.
    `tacholog diff` prints the share, and `tacholog require` compares it with ``max_worse_percent``.
    """
    return ratio - 1 if better == "lower" else 1 - ratio


class Comparison(msgspec.Struct, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """The whole comparison. ``counts`` contains each verdict, also verdicts without rows.

    ``losses`` are the rows in which a run lost messages, ``loss_counts`` counts their verdicts, and ``lossless`` counts the rows without loss.
    ``loss_asked``: whether loss was compared. ``lossy_counts`` counts the rows whose logs state the number of lost messages, but not the number of
    sent messages, so that no share can be computed.
    ``problems``: unusable input, lost runs and logs first; at most a hundred broken and unknown lines for each side
    (`Input.problems` counts all of them). ``acknowledgements`` are the entries of ``known.toml``, with their states.
    """

    schema_: Literal["perfdiff/1"] = "perfdiff/1"
    generated_by: str
    old: Input
    new: Input
    same_build: bool
    settings: Settings
    counts: dict[str, int]
    designs: dict[str, int]
    warnings: tuple[ComparisonWarning, ...]
    changed: tuple[Difference, ...]
    rows: tuple[ComparisonRow, ...]
    curves: tuple[Curve, ...]
    losses: tuple[Loss, ...] = ()
    loss_counts: dict[str, int] = {}
    lossless: int = 0
    loss_asked: bool = True
    lossy_counts: int = 0
    untested: tuple[UntestedRow, ...] = ()
    runs: tuple[RunOrder, ...] = ()
    problems: tuple[InputProblem, ...] = ()
    controls: Controls | None = None
    acknowledgements: tuple[Acknowledgement, ...] = ()

    def acknowledged(self, verdict: Verdict) -> int:
        """Return the number of acknowledged rows with this verdict, including rows of loss. These rows do not fail the comparison."""
        rows: list[ComparisonRow | Loss] = [*self.rows, *self.losses] if self.acknowledgements else []
        return sum(row.verdict == verdict and row.is_acknowledged for row in rows)

    def warns(self, code: str) -> bool:
        """Whether there is a warning with this code."""
        return any(warning.code == code for warning in self.warnings)


def to_json(comparison: Comparison) -> bytes:
    """Return the comparison as JSON with one row on each line. Indented JSON would be twice as large."""
    encoder, fields = msgspec.json.Encoder(), []
    for name, key in zip(Comparison.__struct_fields__, Comparison.__struct_encode_fields__, strict=True):
        value = [warning.text for warning in comparison.warnings] if name == "warnings" else getattr(comparison, name)
        encoded = _json_list(encoder, value) if isinstance(value, tuple) and value and isinstance(value[0], msgspec.Struct) else encoder.encode(value)
        fields.append(b' "%s": %s' % (key.encode(), encoded))
    return b"{\n%s\n}" % b",\n".join(fields)


def _json_list(encoder: msgspec.json.Encoder, values: Sequence[msgspec.Struct]) -> bytes:
    lines = encoder.encode_lines(values).removesuffix(b"\n")
    return b"[\n  %s\n ]" % lines.replace(b"\n", b",\n  ")  # a newline in a string is escaped, so each newline separates two elements


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of the output of `to_json`."""
    schema = msgspec.json.schema(Comparison)
    schema["$defs"].pop("ComparisonWarning")
    schema["$defs"]["Comparison"]["properties"]["warnings"]["items"] = {"type": "string"}
    text = msgspec.json.encode(schema).decode()
    for name, published in _PUBLISHED_NAMES.items():
        text = text.replace(f'{name}"', f'{published}"')
    return dict(msgspec.json.decode(text))
