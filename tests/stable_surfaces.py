"""The stable surfaces of docs/stability.md: read them from the code, and record them with ``python -m tests.stable_surfaces``.

The record is ``tests/stable_surfaces.json``. It has the version and the items of each surface. An item is a name with its type or its form, such as
the signature of a function. If an item is added, only the record must be updated. An item may be removed or changed only if the version of its
surface is raised.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import runpy
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from click.testing import CliRunner

import tacholog
from tacholog import slugs
from tacholog.campaign.campaign_file import Campaign
from tacholog.cli import COMMANDS, module_name
from tacholog.compare import result as comparison
from tacholog.compare.acknowledged import KnownRegression
from tacholog.compare.requirements.file import Requirement
from tacholog.compare.requirements.result import RequirementReport
from tacholog.formats import kit
from tacholog.render.diff.page import anchor_of
from tacholog.runs.manifest import Host, Manifest
from tacholog.schema.metrics import METRICS
from tacholog.schema.reference import results_schema
from tacholog.schema.tables import TABLES
from tacholog.site.verification.receipt import Receipt

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "tests" / "stable_surfaces.json"
COMMAND = "python -m tests.stable_surfaces"
Items = dict[str, str]
Surfaces = dict[str, dict[str, Any]]
_MUST_BE_STATED = "must be stated"
_WORDS = ("description", "title", "default", "examples")
_CLASS = re.compile(r"(?:class|struct) (?:\[\[nodiscard\]\] )?(\w+)[^;]*\{")
_VIRTUAL = re.compile(r"\s*virtual (.*?(~?\w+)\(.*)")


def surfaces() -> Surfaces:
    """Return each stable surface with its version and its items, as the code has them now."""
    program = ".".join(str(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]).split(".")[:2])
    items: dict[str, tuple[object, Items]] = {
        "columns of the dataset": (
            program,
            {f"{table}.{name}": _column(column) for table, columns in TABLES.items() for name, column in columns.items()},
        ),
        "metrics": (program, {name: f"{metric.unit}, better: {metric.better}" for name, metric in METRICS.items()}),
        "results as JSON lines": (program, _of_schema(results_schema(), "result")),
        "run.toml": (Manifest.__struct_defaults__[0], _of_file(Manifest)),
        "host files": (program, _of_file(Host)),
        "campaign files": (program, _of_file(Campaign)),
        "requirements.toml": (program, _of_file(Requirement)),
        "known.toml": (program, _of_file(KnownRegression)),
        "JSON of tacholog diff": (comparison.SCHEMA, _of_schema(comparison.json_schema())),
        "JSON of tacholog require": (RequirementReport.__struct_defaults__[0], _of_schema(msgspec.json.schema(RequirementReport))),
        "JSON of tacholog verify": (Receipt.__struct_defaults__[0], _of_schema(msgspec.json.schema(Receipt))),
        "JSON of tacholog parse": (program, _of_output("parse", "tests/formats/native/latency-udp.log", "--format", "jsonl")),
        "exit codes": (program, dict(_exit_codes())),
        "kit for formats": (program, _of_module(kit)),
        "Python functions": (program, _of_module(tacholog)),
        "C++ interface of transports": (program, virtual_functions((ROOT / "bench/transports/transport.hpp").read_text(encoding="utf-8"))),
        "addresses and anchors": (program, _addresses()),
    }
    return {name: {"version": str(version), "items": dict(sorted(listed.items()))} for name, (version, listed) in items.items()}


def changes(recorded: Surfaces, current: Surfaces) -> tuple[list[str], list[str]]:
    """Compare the surfaces with their record.

    Returns:
        Two lists: the broken promises, and the changes that only have to be recorded. A promise is broken if an item of a surface was removed or
        changed, but the version of this surface was not raised.
    """
    broken: list[str] = []
    unrecorded: list[str] = []
    for name in recorded | current:
        old, new = (side.get(name, {"version": None, "items": {}}) for side in (recorded, current))
        is_raised = old["version"] != new["version"]
        unrecorded += [f"{name}: the version is {new['version']}, was {old['version']}"] if is_raised else []
        for item in old["items"] | new["items"]:
            before, after = old["items"].get(item), new["items"].get(item)
            if before == after:
                continue
            words = f"{name}: {item} is {after or 'removed'}, was {before or 'absent'}"
            # An added item can also break a promise: a virtual function without a body breaks existing transports, and a required key breaks existing
            # files.
            is_burden = _must_be_met(after) and any(other.startswith(re.split(r"[.:]", item)[0]) for other in old["items"])
            is_promise = not is_burden if before is None else before == _MUST_BE_STATED and after is None
            (unrecorded if is_promise or is_raised else broken).append(words)
    return broken, unrecorded


def _must_be_met(form: str | None) -> bool:
    return form is not None and (form == _MUST_BE_STATED or form.endswith("= 0;"))


def _column(column: Any) -> str:  # noqa: ANN401 - a column of the schema
    return f"{column.kind}{', required' if column.required else ''}{f', in {column.unit}' if column.unit else ''}"


def _of_schema(schema: Mapping[str, Any], root: str = "", *, required: str = "always present") -> Items:
    """Return the items of a JSON schema: each property with its type, each required property, and each allowed word of a property."""
    structs = {**({root: schema} if root else {}), **schema.get("$defs", {})}
    items: Items = {}
    for struct, content in structs.items():
        for name, property_ in content.get("properties", {}).items():
            items[f"{struct}.{name}"] = json.dumps(_without_words(property_), sort_keys=True, ensure_ascii=False)
            items |= {f"{struct}.{name}: {word}": "an allowed word" for word in _allowed(property_)}
        items |= {f"{struct}.{name}, required": required for name in content.get("required", [])}
    return items


def _of_file(struct: type) -> Items:
    return _of_schema(msgspec.json.schema(struct), required=_MUST_BE_STATED)


def _without_words(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_words(item) for key, item in value.items() if key not in (*_WORDS, "enum")}
    return [_without_words(item) for item in value] if isinstance(value, list) else value


def _allowed(property_: object) -> Iterator[object]:
    if isinstance(property_, dict):
        yield from property_.get("enum", ())
        for value in property_.values():
            yield from _allowed(value)
    elif isinstance(property_, list):
        for value in property_:
            yield from _allowed(value)


def _of_output(command: str, *arguments: str) -> Items:
    """Return the fields of the JSON lines that a command prints, with their types."""
    module = importlib.import_module(f"tacholog.commands.{command}")
    result = CliRunner().invoke(getattr(module, command), [str(ROOT / word) if "/" in word else word for word in arguments], catch_exceptions=False)
    items: Items = {}
    for line in result.stdout.splitlines():
        for path, kind in _paths(json.loads(line)):
            items.setdefault(path, kind)
    return items


def _paths(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _paths(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for item in value:
            yield from _paths(item, f"{path}[]")
    elif value is not None:
        yield path, "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def _exit_codes() -> Iterator[tuple[str, str]]:
    """Yield the exit codes in the help of each command, and those that docs/command-line.md states for any command."""
    codes = {name: _codes_in(_help_of(name)) for name in COMMANDS}
    for name, own in codes.items():
        others = [codes[other] for other in re.findall(r"Exit codes are those of tacholog (\w+)", _help_of(name))]
        for code in own.union(*others):
            yield f"tacholog {name}: {code}", "has a meaning in --help"
    page = (ROOT / "docs/command-line.md").read_text(encoding="utf-8").partition("## Exit codes")[2].partition("\n## ")[0]
    for code in re.findall(r"(?:^- |\. )([0-9]+): ", page, flags=re.MULTILINE):
        yield f"any command: {code}", "has a meaning in docs/command-line.md"


def _help_of(command: str) -> str:
    name = module_name(command)
    options = getattr(importlib.import_module(f"tacholog.commands.{name}"), name).params
    return "\n".join([*(getattr(option, "help", None) or "" for option in options), sys.modules[f"tacholog.commands.{name}"].__doc__ or ""])


def _codes_in(text: str) -> set[str]:
    """Return the exit codes at the options, in the table, or in sentences such as "2: nothing was run"."""
    in_options, _, stated = text.partition("Exit code")
    codes = {code for match in re.findall(r"Exit with (\d+)(?: \(\w+: (\d+)\))?", in_options) for code in match if code}
    codes |= {*re.findall(r"^  (\d+)  \w", stated, flags=re.MULTILINE)}
    return codes.union(*(re.findall(r"\d+", listed) for listed in re.findall(r"\s((?:\d+, )*\d+(?: and \d+)?): ", stated)))


def _of_module(module: Any) -> Items:  # noqa: ANN401 - any module
    """Return functions with their signatures, classes with their fields and methods, constants with their types."""
    tables = runpy.run_path(str(ROOT / "docs" / "make_tables.py"))
    items: Items = {}
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isfunction(value):
            items[name] = tables["_signature"](value)
        elif inspect.isclass(value):
            items |= {name: "a class"} | {f"{name}.{field.partition(':')[0]}": field for field in tables["_fields"](value)}
            methods = {key: method for key, method in vars(value).items() if not key.startswith("_") and inspect.isfunction(method)}
            items |= {f"{name}.{key}": tables["_signature"](method) for key, method in methods.items()}
        else:
            items[name] = "a constant or type"
    return items


def virtual_functions(header: str) -> Items:
    class_, items = "", {}
    for line in header.splitlines():
        if head := _CLASS.match(line):
            class_ = head[1]
        elif function := _VIRTUAL.match(line):
            items[f"{class_}::{function[2]}"] = function[1]
    return items


def _addresses() -> Items:
    """Return the addresses that pages get for some example titles and paths."""
    titles = ("latency", "Side by side", "Latency, shm: 1 KiB", "\u00b5s")
    paths = ("perftest/1.2/latency-shm/01", "my runs/100%/\u00fc.log")
    return {
        **{f"page of the title {title!r}": slugs.slug(title) for title in titles},
        **{f"page of the path {path!r}": slugs.path_slug(path) for path in paths},
        "anchor of a comparison": anchor_of("Made-up middleware", "1.2", "1.3"),
    }


def main() -> None:
    """Write the current items of all stable surfaces to the record.

    Nothing is written if an item was removed or changed although the version of its surface was not raised. The program then ends with a message.
    """
    current = surfaces()
    recorded = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    broken, _ = changes(recorded, current)
    if broken:
        sys.exit("\n".join(["not recorded: raise the version of these surfaces first (docs/stability.md)", *broken]))
    RECORD.write_text(json.dumps(current, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
