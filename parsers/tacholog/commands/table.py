"""Answer a question: compare the values of one field over another field, as a table of medians.

RUNS are folders of runs, raw logs or saved datasets; default: data/ and the newest folder in build/runs/. The question consists of fields: any
condition (docs/conditions.md), any label (label.plugin), system, release, host, payload_bytes. The subject is what is compared. The axis (--over) is
a field of numbers. --by makes a group of rows for each value of a field. Without --subject, Tacholog chooses a question that fits the data, and the
first line states it.

\b
  tacholog table runs --subject system --over network_loss_percent --metric latency:mean --by type
  tacholog table runs --subject label.plugin --where payload_bytes=1024

If runs differ in a field that the question does not fix, one value is chosen. The output names this value and all others.

\b
Exit codes:
  0  there is an answer
  2  wrong usage, or nothing answers the question; or a run, a log or a
     folder could not be read: it is named, and the answer is without it
"""  # noqa: D301 - click takes the sign itself for "leave these lines as they are"

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tacholog import terminal
from tacholog.commands.shared.arguments import reading_options, work_of
from tacholog.commands.shared.messages import print_complaints
from tacholog.commands.shared.output import write_output
from tacholog.errors import TachologError, UnreadableInput

if TYPE_CHECKING:
    from tacholog.runs.questions import Question
    from tacholog.view.questions import Answer

FORMATS = ("text", "markdown", "csv", "json")


@click.command(help=__doc__)
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path))
@click.option("--subject", "subjects", metavar="FIELD", multiple=True, help="What is compared.")
@click.option("--over", metavar="FIELD", default="", help="The axis: a field of numbers.")
@click.option("--by", multiple=True, metavar="FIELD", help="A field that divides the table. May be repeated.")
@click.option("--metric", metavar="METRIC", default="", help="A metric, as in latency:p99 or goodput.  [default: the one that most runs have]")
@click.option("--where", multiple=True, metavar="FIELD=VALUE", help="Only runs with this value. May be repeated.")
@click.option("--format", "output", type=click.Choice(FORMATS), default="text", show_default=True, help="How to print the table.")
@click.option("--output", "path", metavar="PATH", type=click.Path(path_type=Path, dir_okay=False), help="File to write, instead of standard output.")
@reading_options
def table(
    *,
    runs: tuple[Path, ...],
    subjects: tuple[str, ...],
    over: str,
    by: tuple[str, ...],
    metric: str,
    where: tuple[str, ...],
    output: str,
    path: Path | None,
    jobs: int | None,
    cluster: str | None,
) -> None:
    """Read the runs, answer the question, and print the answer."""
    from tacholog.commands.diff import is_bare
    from tacholog.commands.report import default_roots
    from tacholog.runs.questions import Question
    from tacholog.store.complaints import complaints
    from tacholog.store.load import open_paths
    from tacholog.view.chosen_questions import questions_for
    from tacholog.view.factors import measured
    from tacholog.view.questions import answer

    if len(subjects) > 1:
        raise UnreadableInput(f"a question has one subject, but {len(subjects)} are given ({', '.join(subjects)}): give the other fields with --by")
    subject = subjects[0] if subjects else None
    if subject is None and (over or by):
        raise UnreadableInput("--over and --by also need --subject, the field that is compared")
    roots = runs or default_roots()
    data = open_paths(roots, work=work_of(jobs, cluster))
    exit_code = print_complaints([complaints(data)], bare=any(is_bare(str(root)) for root in roots))
    numbers, all_runs = measured(data)
    chosen = dict(_pair(text) for text in where)
    if subject is None:
        question = next(iter(questions_for(numbers)), None)
        if question is None:
            raise UnreadableInput("these runs have no latency and no rate, so no question can be chosen for them: name a --subject")
        terminal.remark(f"chosen to fit the data: {_as_options(question)}")
        question = Question(subject=question.subject, over=question.over, by=question.by, metric=metric or question.metric, where=chosen)
    else:
        question = Question(subject=subject, over=over, by=by, metric=metric, where=chosen)
    text = rendered(answer(question, numbers, all_runs), output)
    if path is not None:
        write_output(path, text.encode())
    else:
        (partial(click.echo, nl=False) if output == "text" else terminal.data)(text)
    sys.exit(exit_code)


def _pair(text: str) -> tuple[str, str]:
    field, equals, value = text.partition("=")
    if not equals or not field:
        raise TachologError(f"--where {text}: write FIELD=VALUE, as in payload_bytes=1024")
    return field, value


def _as_options(question: Question) -> str:
    options = [f"--subject {question.subject}", f"--over {question.over}" if question.over else "", *(f"--by {field}" for field in question.by)]
    return " ".join(filter(None, [*options, f"--metric {question.metric}"]))


def rendered(answer: Answer, output: str) -> str:
    """Return an answer in one of `FORMATS`."""
    from tacholog.render import answers
    from tacholog.render import table as tables

    if output == "csv":
        return tables.as_csv(answers.answer_table(answer))
    if output == "json":
        return answers.as_json(answer)
    notes = [
        *answers.choice_sentences(answer),
        *filter(None, [answers.following_words(answer), answers.off_axis_words(answer), answers.partial_words(answer)]),
        *answers.missing_sentences(answer),
    ]
    answer_lines = answers.answer_table(answer, ranges_in_text=True)
    title, words = answers.question_title(answer.question, answer), " ".join(sentence.text for sentence in answers.sentences(answer))
    if output == "markdown":
        from tacholog.render.markdown import escape

        return "\n\n".join([f"**{escape(title)}**", escape(words), "\n".join(tables.markdown(answer_lines)), *map(escape, notes)]) + "\n"
    from tacholog.render.markdown import plain

    return "\n".join([plain(title), "", plain(words), "", *tables.terminal(answer_lines), *(["", *map(plain, notes)] if notes else [])]) + "\n"
