"""Requirements as JUnit XML, which most CI services show as a list of tests.

A requirement is a test suite and each of its rows a test case. A row that cannot be told is an error, or skipped if the caller tolerates it.

Source:
    https://github.com/testmoapp/junitxml, which collects what the services read.
"""

from __future__ import annotations

from collections.abc import Collection
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from tacholog.compare.requirements.judge import FAIL_ON
from tacholog.compare.requirements.result import RequirementReport, RequirementResult
from tacholog.render.requirements.words import RequirementLine, lines_of
from tacholog.visible import drawn


def junit(report: RequirementReport, fail_on: Collection[str] = ()) -> str:
    """Return the report as JUnit XML.

    Args:
        report: the verdicts.
        fail_on: the verdicts that are failures or errors; none: all but ``passed``. Rows of the others are skipped.
    """
    counted = fail_on or FAIL_ON
    root = Element("testsuites", name="requirements")
    totals = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    for result in report.results:
        suite = SubElement(root, "testsuite", name=drawn(result.name), file=drawn(result.place))
        found = _suite(suite, result, counted)
        for name, count in found.items():
            suite.set(name, str(count))
            totals[name] += count
    for name, count in totals.items():
        root.set(name, str(count))
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _suite(suite: Element, result: RequirementResult, counted: Collection[str]) -> dict[str, int]:
    totals = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    for line in lines_of(result):
        totals["tests"] += 1
        case = SubElement(suite, "testcase", name=drawn(line.row or line.requirement), classname=drawn(result.name), time="0")
        if line.verdict == "passed":
            continue
        kind = "skipped" if line.verdict not in counted else "failure" if line.verdict == "failed" else "error"
        totals[{"failure": "failures", "error": "errors"}.get(kind, kind)] += 1
        outcome = SubElement(case, kind, message=drawn(_message(line)))
        if kind != "skipped":
            outcome.set("type", line.verdict)
    return totals


def _message(line: RequirementLine) -> str:
    found = f"{line.value} ({line.interval})" if line.interval else line.value
    return "; ".join(part for part in (line.limit, found, line.remark) if part)
