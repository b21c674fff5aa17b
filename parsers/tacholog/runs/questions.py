"""A question to the data, as ``site.toml``, a campaign or the command line states it. `tacholog.view.questions` answers it."""

from __future__ import annotations

import msgspec

#: The file beside runs that holds the questions of their campaign.
QUESTIONS_FILE = "questions.toml"


class Question(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question to the data.

    Attributes:
        subject: the field that is compared: ``system``, ``transport``, ``label.plugin``.
        over: the field that makes the axis; its values are numbers. Empty: there is no axis.
        by: the fields that divide the answer into panels.
        metric: a metric, with a statistic (``latency:mean``) or without. Empty: the one that most cases have.
        where: one value for each of some fields, as text.
        title: the question in words. Empty: it is made from the fields.
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
