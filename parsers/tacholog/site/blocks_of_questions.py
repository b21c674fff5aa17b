"""The blocks of pages that answer a question: the answer in words, its figures, its table, its tests, and the values left out."""

from __future__ import annotations

import json
import shlex

from tacholog.render.answers import (
    Sentence,
    answer_table,
    choice_words,
    figures,
    following_words,
    missing_sentences,
    off_axis_words,
    partial_words,
    sentences,
    tests_table,
)
from tacholog.render.figures.plots import plot
from tacholog.render.html import NOTHING, Html, join, tag
from tacholog.render.table import scroller
from tacholog.site.blocks import code, rig_cost_of
from tacholog.site.page import Page
from tacholog.site.questions import AskedQuestion
from tacholog.slugs import slug
from tacholog.view.history import diff_documents
from tacholog.view.names import load_words
from tacholog.visible import drawn


def answer_loaded(_page: Page, asked: AskedQuestion) -> Html:
    """Return a sentence that states whether the system was loaded while it was measured."""
    modes = {result.conditions.load_mode for cell in asked.answer.cells.values() for result in cell.results}
    words = load_words(modes, has_latency=asked.answer.metric == "latency")
    return tag("p", words, class_="tl-note") if words else NOTHING


def answer_rig_cost(page: Page, asked: AskedQuestion) -> Html:
    """Return a sentence about the rig: the time that perftest itself takes in each round trip.

    The time was measured in the sessions of the answer. Nothing is returned if no session measured the time.
    """
    return rig_cost_of(page, [result.run for cell in asked.answer.cells.values() for result in cell.results])


def answer_words(page: Page, asked: AskedQuestion) -> Html:
    """Return the answer in words, and how certain it is."""
    return tag("div", *(_sentence(page, sentence) for sentence in sentences(asked.answer)), class_="tl-answer-lead")


def _sentence(page: Page, sentence: Sentence) -> Html:
    certainty = {True: "tl-sure", False: "tl-unsure", None: ""}[sentence.is_sure]
    return tag("p", sentence.html(page.links), class_=f"tl-answer {certainty}".strip())


def answer_figures(page: Page, asked: AskedQuestion, *, first: bool = False) -> Html:
    """Return a figure for each panel, all with the same axes; with ``first``, return only the first figure."""
    if asked.answer.run_count == 1:
        return NOTHING  # a figure with a single point shows nothing
    panels = figures(asked.answer)[: 1 if first else None]
    drawn = [plot(figure, f"tl-{slug(asked.title)}-{number}", page.links) for number, figure in enumerate(panels, start=1)]
    return tag("div", *drawn, class_="tl-multiples" if len(drawn) > 1 else "tl-single")


def answer_numbers(page: Page, asked: AskedQuestion) -> Html:
    """Return the table of the answer: medians with their ranges, each with a link to its log line."""
    return scroller(answer_table(asked.answer, page.links))


def answer_tests(_page: Page, asked: AskedQuestion) -> Html:
    """Return the significance tests of the answer; nothing if there are too few runs for any test."""
    return scroller(tests_table(asked.answer)) if asked.answer.tests else NOTHING


def answer_diffs(page: Page, asked: AskedQuestion) -> Html:
    """Return sentences on why comparisons of the tested releases may have other results, with links to them; nothing if there are none."""
    answer = asked.answer
    if answer.subject.name != "release":
        return NOTHING
    tested = [{test.first, test.second} for test in answer.tests]
    systems = {result.run.system for cell in answer.cells.values() for result in cell.results}
    links = [
        tag("a", f"{old} \u2192 {new}", href=f"doc:{document}")
        for (system, old, new), document in diff_documents(page.data.view.runs.values()).items()
        if system in systems and {old, new} in tested and document in page.documents
    ]
    words = (
        ". It uses pairs of runs and a threshold, and adjusts p-values for all its rows. The test of this page does not, because a question may have "
        "any subject. So one of them may show what the other does not."
    )
    return tag("p", "See also the comparison ", join(links, ", "), words, class_="tl-note") if links else NOTHING


def answer_notes(_page: Page, asked: AskedQuestion) -> Html:
    """Return a list of what the answer does not show.

    These are the other values of a field, with links to their pages; other fields in which the numbers differ; and cases without a number.
    """
    notes = []
    for choice, alternatives in asked.alternatives:
        links = [tag("a", other.words, href=f"doc:{other.document}") for other in alternatives]
        notes.append(tag("li", choice_words(choice), join([" See: ", join(links, ", "), "."]) if links else NOTHING))
    also = [
        words
        for words in (following_words(asked.answer), off_axis_words(asked.answer), partial_words(asked.answer), *missing_sentences(asked.answer))
        if words
    ]
    notes += [tag("li", words) for words in also]
    return tag("ul", *notes, class_="simple tl-answer-notes") if notes else NOTHING


def answer_link(_page: Page, asked: AskedQuestion, words: str) -> Html:
    """Return a link to the page of a question."""
    return tag("a", words, href=f"doc:{asked.document}")


def question_as_toml(_page: Page, asked: AskedQuestion) -> Html:
    """Return the question as ``site.toml`` states it."""
    question = asked.answer.question
    lines = ["[[questions]]", f"title = {_quoted(asked.title)}", f"subject = {_quoted(question.subject)}"]
    lines += [f"over = {_quoted(question.over)}"] if question.over else []
    lines += [f"by = [{', '.join(map(_quoted, question.by))}]"] if question.by else []
    lines += [f"metric = {_quoted(question.metric)}"]
    lines += [f"where = {{ {', '.join(f'{_quoted(name)} = {_quoted(value)}' for name, value in question.where.items())} }}"] if question.where else []
    # The code has no colours: coloured code has an element for each word, and a text that looks like markup must not be split into several elements.
    return code(drawn("\n".join(lines)), "none")


def question_as_command(_page: Page, asked: AskedQuestion) -> Html:
    """Return the command that answers the question. RUNS stands for the folder of the runs, because sites do not state their folders."""
    question = asked.answer.question
    options = ["--subject", question.subject, *(["--over", question.over] if question.over else [])]
    options += [word for field in question.by for word in ("--by", field)]
    options += [word for name, value in question.where.items() for word in ("--where", f"{name}={value}")]
    return code(drawn(shlex.join(["tacholog", "table", "RUNS", *options, "--metric", question.metric])), "none")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
