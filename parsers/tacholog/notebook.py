"""The result of `tacholog.load`: a dataset that can also answer questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tacholog.store.frames import Dataset

if TYPE_CHECKING:
    import pandas as pd


class LoadedRuns(Dataset, frozen=True):
    """A dataset that can answer questions. It has the tables of `tacholog.store.frames.Dataset`."""

    def table(
        self, subject: str, over: str = "", by: str | Sequence[str] = (), metric: str = "", where: Mapping[str, object] | None = None
    ) -> pd.DataFrame:
        """Compare one field over another, as ``tacholog table`` does.

        Args:
            subject: the field that is compared: a condition, a label (``label.plugin``), ``system``, ``release``, ``host``.
            over: the axis, a field of numbers; empty: no axis.
            by: fields that divide the table.
            metric: as in ``latency:p99``; empty: the metric that most runs have.
            where: fields, each with a value. Only results with these values are used.

        Returns:
            One row for each case: its fields, then ``value`` (the median over its runs, which is the value of one run), ``low`` and ``high`` (the
            lowest and the highest run), ``runs``, and ``shown_best`` (a statistical test shows that its subject is the best of this case). Values are
            in the schema's unit, in ``attrs["unit"]``; ``attrs["answer"]`` is the answer in words, ``attrs["chosen"]`` the values that were chosen
            for fields that the question does not fix.

        Raises:
            tacholog.errors.TachologError: there is no such field, metric or value, or no run has all values.
        """
        import pandas as pd

        from tacholog.render.answers import sentences
        from tacholog.runs.questions import Question
        from tacholog.view.factors import measured
        from tacholog.view.questions import answer

        divisions = (by,) if isinstance(by, str) else tuple(by)
        chosen = {name: str(value) for name, value in (where or {}).items()}
        found = answer(Question(subject=subject, over=over, by=divisions, metric=metric, where=chosen), *measured(self))
        names = [*divisions, subject, *([over] if over else [])]
        rows = [
            (*case.panel, case.subject, *([case.point] if over else []), cell.value, cell.low, cell.high, cell.run_count, case in found.shown_best)
            for case, cell in found.cells.items()
        ]
        frame = pd.DataFrame(rows, columns=[*names, "value", "low", "high", "runs", "shown_best"])
        frame.attrs = {
            "unit": found.unit,
            "answer": " ".join(sentence.text for sentence in sentences(found)),
            "chosen": {choice.field.name: choice.value for choice in found.choices},
        }
        return frame
