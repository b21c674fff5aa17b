"""The questions of a site, each with its answer and its page. If ``site.toml`` states no questions, a rule chooses them from the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from tacholog.errors import TachologError, UnreadableInput
from tacholog.render.answers import question_title
from tacholog.runs.questions import Question
from tacholog.slugs import slug
from tacholog.view.chosen_questions import questions_for
from tacholog.view.factors import Observation, Value, observations
from tacholog.view.questions import Answer, ChosenValue, answer, plain
from tacholog.view.views import View

#: The page that lists all questions.
DOCUMENT = "questions"
# Pages of results already answer the questions with these subjects and axes. Each entry is a subject and its axis.
_TRANSPORT_BY_SIZE = (("system", "payload_bytes"), ("transport", "payload_bytes"))
_MOST_CHOICES = 3  # the number of fields for which a reader can choose another value
_MOST_VALUES = 5  # the number of values that are offered for each field
_MOST_DIVISIONS = 2


class Alternative(NamedTuple):
    """Another page that shows what an answer leaves out: the words of the link, and the page."""

    words: str
    document: str


class AskedQuestion(NamedTuple):
    """A question of a site: its page, its title and its answer.

    If the answer uses only one value of a field, ``alternatives`` has links to the pages that show the other values.
    ``is_chosen`` is true if a rule chose the question from the data, because ``site.toml`` states no questions.
    ``is_listed`` is true if the list of questions contains it. Otherwise, another question links to it.
    """

    document: str
    title: str
    answer: Answer
    alternatives: tuple[tuple[ChosenValue, tuple[Alternative, ...]], ...]
    is_chosen: bool
    is_listed: bool


def questions_of(view: View, of_owner: Sequence[Question]) -> list[AskedQuestion]:
    """Return the questions of a site, in the order in which the site lists them.

    The questions are those of ``site.toml`` (``of_owner``). If ``site.toml`` states no questions, they are chosen by the data. Each question is
    followed by further questions, which show the values that the answer to this question leaves out.

    Raises:
        UnreadableInput: a question of ``site.toml`` has no answer; the message names it.
    """
    return view.once(("questions", *map(repr, of_owner)), partial(_asked, view, of_owner))


def _asked(view: View, of_owner: Sequence[Question]) -> list[AskedQuestion]:
    numbers = observations(view.summaries())
    chosen = of_owner or _not_on_pages_of_results(questions_for(numbers))
    documents: set[str] = set()
    asked: list[AskedQuestion] = []
    for number, question in enumerate(chosen):
        try:
            asked += _with_alternatives(view, numbers, question, documents, is_chosen=not of_owner)
        except TachologError as error:
            if of_owner:
                raise UnreadableInput(f"questions[{number}]: {error}") from error
            # A question that a rule chose from the number of results may have no answer. It is left out, because other pages show the results.
    return asked


def _not_on_pages_of_results(questions: Sequence[Question]) -> list[Question]:
    others = [each for each in questions if (each.subject, each.over) not in _TRANSPORT_BY_SIZE]
    return [each for each in others if each.subject != "release"] or others


def _with_alternatives(
    view: View, numbers: Sequence[Observation], question: Question, documents: set[str], *, is_chosen: bool
) -> Iterator[AskedQuestion]:
    runs = list(view.runs.values())
    own_answer = answer(question, numbers, runs)
    title = question_title(question, own_answer)
    document = _unused_document(title, documents)
    others: list[AskedQuestion] = []
    alternatives: list[tuple[ChosenValue, tuple[Alternative, ...]]] = []
    for choice in own_answer.choices[:_MOST_CHOICES]:
        offered: list[Alternative] = []
        for words, further in _further(own_answer.question, choice):
            other = answer(further, numbers, runs)
            other_title = f"{title}: {words}"
            other_document = _unused_document(other_title, documents)
            left_open = tuple((further_choice, ()) for further_choice in other.choices)
            others.append(AskedQuestion(other_document, other_title, other, left_open, is_chosen, is_listed=False))
            offered.append(Alternative(words, other_document))
        alternatives.append((choice, tuple(offered)))
    alternatives += [(choice, ()) for choice in own_answer.choices[_MOST_CHOICES:]]
    yield AskedQuestion(document, title, own_answer, tuple(alternatives), is_chosen, is_listed=True)
    yield from others


def _further(question: Question, choice: ChosenValue) -> Iterator[tuple[str, Question]]:
    """Yield the questions that show other values of a field, each with the words of its link."""
    field = choice.field
    if field.kind == "number" and len({*field.values} - {None}) > 1:
        yield f"over {field.title}", msgspec.structs.replace(question, over=field.name)
    if len(field.values) <= _MOST_VALUES:
        yield f"divided by {field.title}", msgspec.structs.replace(question, by=(*question.by[: _MOST_DIVISIONS - 1], field.name))
    others = sorted((value for value in field.values if value not in (choice.value, None)), key=lambda value: -choice.runs[value])
    for value in others[:_MOST_VALUES]:
        yield field.named(value), msgspec.structs.replace(question, where={**question.where, field.name: _as_text(choice, value)})


def _as_text(choice: ChosenValue, value: Value) -> str:
    return plain(choice.field.short(value))


def _unused_document(title: str, documents: set[str]) -> str:
    first = f"{DOCUMENT}/{slug(title.replace(',', '').replace(':', ''))}"
    document = next(name for name in (first, *(f"{first}-{number}" for number in range(2, len(documents) + 3))) if name not in documents)
    documents.add(document)
    return document
