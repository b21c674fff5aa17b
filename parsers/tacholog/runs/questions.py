"""A question about the data, as ``site.toml``, a campaign or the command line states it. `tacholog.view.questions` computes the answer."""

from __future__ import annotations

import msgspec

#: The file in a folder of runs that contains the questions of their campaign.
QUESTIONS_FILE = "questions.toml"


class Question(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question about the data.

    Attributes:
        subject: the field that is compared: ``system``, ``transport``, ``label.plugin``.
        over: the field of the axis; its values are numbers. Empty: there is no axis.
        by: the fields that divide the answer into panels.
        metric: a metric, with a statistic (``latency:mean``) or without. Empty: the metric that most cases have.
        where: the required value of some fields, as text.
        title: the question in words. Empty: Tacholog makes the title from the fields.
    """

    subject: str
    over: str = ""
    by: tuple[str, ...] = ()
    metric: str = ""
    where: dict[str, str] = msgspec.field(default_factory=dict)
    title: str = ""


class QuestionFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of `QUESTIONS_FILE`."""

    questions: tuple[Question, ...] = ()
