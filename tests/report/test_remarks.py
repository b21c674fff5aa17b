"""The remarks of runs are shown where their figures are used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tacholog.render.evidence import remarks
from tacholog.runs.manifest import Manifest
from tacholog.view.results import RunRow

# Ignore warnings about old parts of Sphinx: MyST and the theme still use these parts.
pytestmark = [pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]


def run(name: str, *notes: str, system: str = "X", published: bool = False, release: str | None = None) -> RunRow:
    manifest = Manifest(system=system, notes=notes, logs=())
    return RunRow(run=name, system=system, published=published, release=release, manifest=msgspec.json.encode(manifest).decode())


def test_each_remark_is_shown_once_with_its_number_of_runs() -> None:
    html = remarks([run("a", "A first look."), run("b", "A first look."), run("c")])

    assert html.count("A first look.") == 1
    assert "2 of 3 runs" in html


def test_remark_on_all_runs_is_shown_without_a_number_of_runs() -> None:
    assert ">The document states no host.</p>" in remarks([run("a", "The document states no host.")])


def test_remark_is_shown_with_the_name_of_the_release_if_all_runs_have_this_remark() -> None:
    assert "<strong>1.4</strong>: Old." in remarks([run("a", "Old.", release="1.4"), run("b", release="1.5")])
    assert "<strong>1 of 2 runs</strong>: Old." in remarks([run("a", "Old.", release="1.4"), run("b", release="1.4")])


def test_runs_of_several_systems_are_named() -> None:
    assert "<strong>Y, 1 run</strong>: Old." in remarks([run("a"), run("b", "Old.", system="Y")])


def test_many_remarks_on_published_figures_are_folded_and_remarks_on_own_runs_are_never_folded() -> None:
    html = remarks([run("own", "A first look."), *(run(str(n), f"Remark {n}.", published=True) for n in range(4))])

    assert html.index("A first look.") < html.index("<details>") < html.index("Remark 0.")
    assert "4 remarks on how to read the published figures" in html


def test_runs_without_remarks_get_no_banner() -> None:
    assert remarks([run("a")]) == ""


@pytest.mark.parametrize("document", ["index", "rti-connext-dds/index", "rti-connext-dds/shmem", "compare", "quality"])
def test_remark_on_a_document_is_shown_once_on_each_page_with_figures_of_this_document(page: Callable[[str], Any], document: str) -> None:
    shown = page(document)

    assert shown.text.count("The document states no host.") == (1 if document != "index" else 0)  # The home page ranks no figure of this document.
