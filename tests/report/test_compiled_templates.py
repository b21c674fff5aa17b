"""Templates are compiled once, and what was compiled is used only if it is whole and of the same code."""

from __future__ import annotations

from pathlib import Path

import pytest
from jinja2 import DictLoader, Environment

from tacholog.site.compiled_templates import CompiledTemplates

pytestmark = pytest.mark.machinery

GREETING, FAREWELL = "Hello {{ name }}!", "Goodbye {{ name }}!"


def rendered(folder: Path, template: str, made_by: str = "some code") -> str:
    environment = Environment(loader=DictLoader({"page": template}), bytecode_cache=CompiledTemplates(folder, made_by), autoescape=True)
    return environment.get_template("page").render(name="you")


def compiled(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {file.name: (file.stat().st_mtime_ns, file.read_bytes()) for file in folder.iterdir()}


def test_a_template_is_compiled_once(tmp_path: Path) -> None:
    rendered(tmp_path, GREETING)
    before = compiled(tmp_path)

    assert rendered(tmp_path, GREETING) == "Hello you!"
    assert len(before) == 1
    assert compiled(tmp_path) == before


def test_a_changed_template_is_compiled_again(tmp_path: Path) -> None:
    rendered(tmp_path, GREETING)

    assert rendered(tmp_path, FAREWELL) == "Goodbye you!"


def test_what_other_code_compiled_is_deleted(tmp_path: Path) -> None:
    rendered(tmp_path, GREETING)
    before = compiled(tmp_path)

    rendered(tmp_path, GREETING, "other code")

    assert not compiled(tmp_path).keys() & before.keys()
    assert len(compiled(tmp_path)) == 1


def test_a_compiled_template_with_a_damaged_byte_is_not_used(tmp_path: Path) -> None:
    rendered(tmp_path, GREETING)
    [file] = tmp_path.iterdir()
    whole = file.read_bytes()
    assert b"Hello " in whole

    file.write_bytes(whole.replace(b"Hello ", b"Jello "))

    assert rendered(tmp_path, GREETING) == "Hello you!"
    assert file.read_bytes() == whole


def test_a_folder_that_is_gone_costs_only_what_was_kept(tmp_path: Path) -> None:
    cache = CompiledTemplates(tmp_path / "gone", "some code")
    (tmp_path / "gone").rmdir()

    environment = Environment(loader=DictLoader({"page": GREETING}), bytecode_cache=cache, autoescape=True)

    assert environment.get_template("page").render(name="you") == "Hello you!"
