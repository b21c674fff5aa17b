"""Write the tables of these pages anew from the code, the page about the kit, and the JSON Schema of the results: python docs/make_tables.py."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, get_args, get_origin

import msgspec

from tacholog.campaign.campaign_file import Campaign, NameList, Process, RunBlock, SustainedRate
from tacholog.campaign.machines.machine import HostEntry, ReadyCondition
from tacholog.formats import kit
from tacholog.render.diff.words import MEANINGS
from tacholog.render.requirements import TITLES
from tacholog.runs.disturbance import Limits
from tacholog.runs.manifest import Command, Host, LogFile, Manifest, Readiness, Source
from tacholog.schema.marks import MARKS
from tacholog.schema.reference import results_schema, with_tables

DOCS = Path(__file__).parent
KIT_HEAD = """# The kit for log formats

*This page is for authors of log formats. After [add-a-format.md](add-a-format.md), you find here the signature of each name in the kit.*

A log format imports everything from this one module: `from tacholog.formats.kit import Finding, Line, Record, printed`.
[add-a-format.md](add-a-format.md) shows how to use it. [conditions.md](conditions.md) explains each condition, metric and statistic.
`python docs/make_tables.py` writes this page from the docstrings.
"""


def kit_page() -> str:
    """Return the page about the kit: each name with its signature, the first paragraph of its docstring, its attributes and its methods."""
    named = [(name, getattr(kit, name)) for name in sorted(kit.__all__)]
    classes = [entry for name, value in named if inspect.isclass(value) for entry in _class(name, value)]
    functions = [entry for name, value in named if inspect.isfunction(value) for entry in _function(name, value)]
    constants = [f"- `{name}`{_value(value)}" for name, value in named if not inspect.isclass(value) and not inspect.isfunction(value)]
    parts = ("## Functions", *functions, "## Classes", *classes, "## Constants and types", "\n".join(constants))
    return "\n\n".join((KIT_HEAD.rstrip("\n"), *parts)) + "\n"


def _value(value: object) -> str:
    """Return the value of a constant, or the words of a type that allows only these."""
    if isinstance(value, int | float | str):
        return f" = `{value!r}`"
    return f": one of {', '.join(f'`{word}`' for word in get_args(value))}" if get_origin(value) is Literal else ""


def _function(name: str, function: object) -> Iterator[str]:
    yield f"### {name}"
    yield f"```text\n{name}{_signature(function)}\n```"
    yield _text(function)


def _class(name: str, class_: type) -> Iterator[str]:
    yield f"### {name}"
    if fields := _fields(class_):
        yield f"```text\n{name}({', '.join(fields)})\n```"
    yield _text(class_)
    if attributes := re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", _section(class_), flags=re.MULTILINE):
        yield "\n".join(f"- `{attribute}`: {_code(' '.join(words.split()))}" for attribute, words in attributes)
    methods = [(key, value) for key, value in vars(class_).items() if not key.startswith("_") and inspect.isfunction(value)]
    if methods:
        yield "\n".join(f"- `.{key}{_signature(value)}`: {_text(value)}" for key, value in methods)


def _fields(class_: type) -> list[str]:
    """Return the fields of a record or a tuple, each with its type, or else the parameters of the constructor."""
    is_record = hasattr(class_, "__struct_fields__") or hasattr(class_, "_fields")
    return _parameters(class_, inspect.get_annotations(class_)) if is_record else _parameters(class_)


def _signature(function: object) -> str:
    returned = inspect.get_annotations(function)["return"]  # type: ignore[arg-type]
    return f"({', '.join(_parameters(function))}) -> {_type(returned)}"


def _parameters(function: object, types: Mapping[str, object] | None = None) -> list[str]:
    """Return parameters as they are written, each with its type: that of ``types``, or else its own."""
    found: list[str] = []
    for parameter in inspect.signature(function).parameters.values():  # type: ignore[arg-type]
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in found:
            found.append("*")
        type_ = types[parameter.name] if types else parameter.annotation
        found.append(f"{parameter.name}: {_type(type_)}{_default(parameter.default)}")
    return found


def _default(value: object) -> str:
    if value is inspect.Parameter.empty:
        return ""
    return f" = {value!r}" if value is None or isinstance(value, str | int | float | tuple) else " = ..."


def _type(annotation: object) -> str:
    """Return an annotation as it is written, without what a condition's says about it. That of a named tuple is wrapped."""
    written = str(getattr(annotation, "__forward_arg__", annotation))
    return re.sub(r"^Annotated\[(.*?),\s*_about\(.*", r"\1", written, flags=re.DOTALL)


def _text(value: object) -> str:
    """Return the first paragraph of a docstring on one line."""
    return _code(" ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split()))


def _section(class_: type) -> str:
    return (inspect.getdoc(class_) or "").partition("Attributes:\n")[2].partition("\n\n")[0]


def _code(words: str) -> str:
    return words.replace("``", "`")


_KEYS = re.compile(r"<!-- keys: (?P<name>\w+) -->\n.*?<!-- end of keys -->", re.DOTALL)
_TABLES_OF_KEYS = {
    "Campaign": Campaign,
    "RunBlock": RunBlock,
    "SustainedRate": SustainedRate,
    "NameList": NameList,
    "Limits": Limits,
    "Process": Process,
    "HostEntry": HostEntry,
    "ReadyCondition": ReadyCondition,
    **{struct.__name__: struct for struct in (Manifest, LogFile, Command, Readiness, Source, Host)},
}
_KINDS = {"tuple": "list", "dict": "table", "int": "whole number", "float": "number", "str": "text", "bool": "true or false"}


def with_keys(page: str) -> str:
    """Return a page with each of its tables of keys written anew, from the structs that campaign files, manifests and host files are read into.

    Raises:
        KeyError: there is no struct of that name, or its docstring lacks a key.
    """
    return _KEYS.sub(lambda place: f"<!-- keys: {place['name']} -->\n\n{_keys(_TABLES_OF_KEYS[place['name']])}\n<!-- end of keys -->", page)


def _keys(struct: type[msgspec.Struct]) -> str:
    meanings = dict(re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", _section(struct), flags=re.MULTILINE))
    rows = [
        f"| `{field.encode_name}` | {_kind(field.type)} | {_key_default(field)} | {_code(' '.join(meanings[field.name].split()))} |\n"
        for field in msgspec.structs.fields(struct)
    ]
    return f"| key | kind | default | meaning |\n|---|---|---|---|\n{''.join(rows)}"


def _kind(type_: object) -> str:
    """Return the kind of value that a key takes, in words."""
    if get_origin(type_) is Literal:
        return " or ".join(f"`{word}`" for word in get_args(type_))
    if get_origin(type_) in (tuple, dict):
        return _KINDS[get_origin(type_).__name__]
    parts = [part for part in get_args(type_) if part is not type(None) and not isinstance(part, msgspec.Meta)]
    if parts:
        return " or ".join(dict.fromkeys(_kind(part) for part in parts))
    return _KINDS.get(getattr(type_, "__name__", ""), "table")


def _key_default(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "required"
    shown = field.default_factory() if field.default is msgspec.NODEFAULT else field.default
    return "" if shown in (None, (), {}) or isinstance(shown, msgspec.Struct) else f"`{json.dumps(shown)}`"


_WORDS = re.compile(r"<!-- words -->\n.*?<!-- end of words -->", re.DOTALL)


def with_words(page: str) -> str:
    """Return a page with its table of words written anew: verdicts and marks, as reports, pages, JSON and options call them."""
    rows = [
        *(("verdict of a comparison", meaning.words, name, "") for name, meaning in MEANINGS.items()),
        *(("verdict on a requirement", title.lower(), name, "") for name, title in TITLES.items()),
        *(("mark of a number", mark.title.lower(), name, mark.sign) for name, mark in MARKS.items()),
    ]
    lines = (f"| {words} | `{name}` | {kind}{f', `{sign}`' if sign else ''} |\n" for kind, words, name, sign in rows)
    table = f"| in texts and on pages | in JSON and options | what it is |\n|---|---|---|\n{''.join(lines)}"
    return _WORDS.sub(lambda _: f"<!-- words -->\n\n{table}\n<!-- end of words -->", page)


def main() -> None:
    """Write all that is made from the code."""
    (DOCS / "kit.md").write_text(kit_page(), encoding="utf-8")
    for page in DOCS.glob("*.md"):
        old = page.read_text(encoding="utf-8")
        if (new := with_words(with_keys(with_tables(old)))) != old:
            page.write_text(new, encoding="utf-8")
    (DOCS / "results.schema.json").write_text(json.dumps(results_schema(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
