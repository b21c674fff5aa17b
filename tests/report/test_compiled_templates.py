"""Templates that the last build compiled: filled in as they are, and never believed where anything changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.render.templates import myst_templates
from tacholog.site.output.compiled_templates import CompiledTemplates


def filled_in(folder: Path, compiled: Path, code: str = "1") -> str:
    """The page of a new environment, as in a new process."""
    templates = myst_templates(folder)
    templates.bytecode_cache = CompiledTemplates(compiled, code)
    return templates.get_template("page.md.jinja").render(name="X")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "page.md.jinja").write_text("Runs of {{ name }}.\n")
    return tmp_path


def kept(folder: Path) -> Path:
    (file,) = (folder / "compiled").iterdir()
    return file


def test_a_template_that_is_kept_is_not_compiled_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = filled_in(folder, folder / "compiled")
    written = kept(folder).stat().st_mtime_ns

    def refused(*_: object) -> str:
        raise AssertionError("compiled again")

    monkeypatch.setattr(type(myst_templates(folder)), "compile", refused)

    assert filled_in(folder, folder / "compiled") == first == "Runs of X.\n"
    assert kept(folder).stat().st_mtime_ns == written


def test_a_template_that_changed_is_compiled_again(folder: Path) -> None:
    filled_in(folder, folder / "compiled")
    (folder / "page.md.jinja").write_text("Numbers of {{ name }}.\n")

    assert filled_in(folder, folder / "compiled") == "Numbers of X.\n"


@pytest.mark.parametrize("fault", ["another code", "a byte", "cut", "empty"])
def test_what_is_damaged_or_of_another_code_is_compiled_again(fault: str, folder: Path) -> None:
    filled_in(folder, folder / "compiled")
    content = kept(folder).read_bytes()
    changed = {"a byte": content.replace(b"Runs of", b"Lies of"), "cut": content[:-5], "empty": b""}
    kept(folder).write_bytes(changed.get(fault, content))
    assert (kept(folder).read_bytes() == content) == (fault == "another code")

    assert filled_in(folder, folder / "compiled", "2" if fault == "another code" else "1") == "Runs of X.\n"
    assert filled_in(folder, folder / "compiled", "2" if fault == "another code" else "1") == "Runs of X.\n"
    assert (kept(folder).read_bytes() == content) == (fault != "another code"), "the file is made anew"
