"""Loss in words: a line with its verdict for each row in which a run lost messages."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tacholog.compare.policy import MIN_RUNS
from tacholog.compare.result import OPEN, Loss, LossSide, Report, Verdict
from tacholog.render.diff import words
from tacholog.render.diff.counts import share, way_of
from tacholog.render.diff.meanings import MEANINGS, REASONS, UNTESTED
from tacholog.schema.marks import MARKS
from tacholog.view.numerals import NOT_STATED
from tacholog.view.row_names import row_name

LOSS_SAYS = "Compared in percentage points: most runs lose nothing, and a ratio to 0 is undefined."


Parts = tuple[str, str, str]  # what was lost: the words before the largest share of a run, that share, and the words after it


class LossLine(msgspec.Struct, frozen=True):
    """A row in which something was lost, in words. ``way``: whether the loss is higher now, lower, or alike."""

    name: str
    old_parts: Parts
    new_parts: Parts
    remark: str
    verdict: Verdict
    way: str

    @property
    def old(self) -> str:
        """What the old side lost."""
        return "".join(self.old_parts)

    @property
    def new(self) -> str:
        """What the new side lost."""
        return "".join(self.new_parts)


def loss_lines(report: Report, limit: int = 0) -> list[LossLine]:
    """The rows in which a run lost something, the worst first; ``limit`` of them, or all."""
    several = len({loss.key.system for loss in report.losses}) > 1
    return [_line(loss, with_system=several) for loss in report.losses[: limit or None]]


def _line(loss: Loss, *, with_system: bool) -> LossLine:
    remark = "; ".join(_remarks(loss))
    return LossLine(row_name(loss.key, with_system=with_system), _lost(loss.old), _lost(loss.new), remark, loss.verdict, way_of(loss))


def loss_sentence(report: Report) -> str:
    """A sentence on the rows without loss, or without a share of it; nothing if loss was not asked for."""
    if "same_runs" in report.warnings or not report.loss_asked:
        return ""
    if not report.losses and not report.lossless and not report.lossy_counts:
        return "Neither side states its loss."
    return " ".join(sentence for sentence in (_lossless(report), _counted(report)) if sentence)


def _counted(report: Report) -> str:
    """The rows whose logs state how many messages were lost, but not of how many."""
    count = report.lossy_counts
    if not count:
        return ""
    return f"In {count} row{'s' if count > 1 else ''} messages were lost, and no log states of how many: there is no share to compare."


def _lossless(report: Report) -> str:
    """The rows in which no run lost anything."""
    if not report.losses and report.lossless:
        return f"No run lost anything ({report.lossless} row{'s state' if report.lossless != 1 else ' states'} it)."
    return (
        f"In the other {report.lossless} row{'s' if report.lossless != 1 else ''} with a statement of loss no run lost anything."
        if report.lossless
        else ""
    )


def _lost(side: LossSide | None) -> Parts:
    if side is None:
        return NOT_STATED, "", ""
    if side.runs == 1:
        return "", share(side) if side.most else "nothing", ""
    if not side.lossy:
        return "", "nothing", f" in {side.runs} runs"
    return f"in {side.lossy} of {side.runs} runs, at most ", share(side), f", median {share(side, median=True)}"


def _remarks(loss: Loss) -> Iterator[str]:
    """The verdict with its evidence, or the reason why there is none."""
    title = _title(loss)
    yield f"{title}: {', '.join(_found(loss))}" if loss.p_adjusted is not None else title
    if loss.verdict == "too_few_pairs":
        yield words.few(loss.attainable_p, loss.needed, loss.design)
    if loss.verdict in OPEN and not _holds_zero(loss) and "host_changed" not in loss.reasons:
        yield words.ALONE
    yield from (_reason(loss, code) for code in loss.reasons if code not in {one.field for one in loss.differences})
    if loss.old is None or loss.new is None:
        yield from words.elsewhere(loss.old, loss.differences)
    else:
        yield from (words.different(loss.verdict, one) for one in loss.differences)


def _title(loss: Loss) -> str:
    """The verdict; of a row without a test also whether the loss is higher or lower now: the medians alone would call many runs with loss alike."""
    title, way = MEANINGS[loss.verdict].title.lower(), way_of(loss)
    if way == "alike" or loss.verdict not in (*UNTESTED, "insufficient"):
        return title
    if loss.verdict == "unreplicated_same" and loss.threshold:
        points = loss.threshold * 100
        return f"{way}, not proven: the medians differ by no more than {points:g} point{'' if points == 1 else 's'}"
    return f"{way}, not enough runs" if loss.verdict == "insufficient" else f"{way}, not proven"


def _holds_zero(loss: Loss) -> bool:
    low, high = loss.interval or (None, None)
    return (low is None or low <= 0) and (high is None or high >= 0)


def _found(loss: Loss) -> Iterator[str]:
    """The difference between the sides, from how many pairs or sessions, and the result of the test."""
    low, high = loss.interval or (None, None)
    ends = f" ({_points(low)} to {_points(high)})" if low is not None and high is not None else ""
    if loss.difference is not None:
        yield f"{_points(loss.difference)} points{ends}"
    old, new = (side.pairs if side else 0 for side in (loss.old, loss.new))
    yield f"{old} pairs" if loss.design == "paired" else f"{old} and {new} sessions"
    if loss.p_adjusted is not None:
        yield f"adjusted p\u00a0{loss.p_adjusted:.2g}"


def _points(share: float) -> str:
    """A difference of shares in percentage points, always with its sign."""
    return f"{share * 100 + 0.0:+.3g}"


def _reason(loss: Loss, code: str) -> str:
    if code == "few_runs":
        return f"{_runs(loss.old)} and {_runs(loss.new)} runs, {MIN_RUNS} a side are needed"
    return MARKS[code].title.lower() if code in MARKS else REASONS.get(code, code)


def _runs(side: LossSide | None) -> int:
    return side.runs if side else 0
