"""Check that all places state one version, and print what is new in it: ``python .ci/release.py [TAG]``."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def notes(changelog: str, version: str) -> str | None:
    """Return the section of a version without its heading, or ``None`` if there is no such section, or an empty one."""
    section = re.search(rf"^## {re.escape(version)}(?: - [^\n]*)?\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    return section[1].strip() + "\n" if section and section[1].strip() else None


def disagreements(root: Path, tag: str | None) -> list[str]:
    """Return the places that do not state the version of ``pyproject.toml``."""
    version = version_of(root)
    citation = re.findall(r"^version: *(.*)$", (root / "CITATION.cff").read_text(encoding="utf-8"), flags=re.MULTILINE)
    wrong = []
    if tag not in (None, f"v{version}"):
        wrong.append(f"the tag is {tag}, not v{version}")
    if citation != [version]:
        wrong.append(f"CITATION.cff states {', '.join(citation) or 'no version'}, not {version}")
    if not notes((root / "CHANGELOG.md").read_text(encoding="utf-8"), version):
        wrong.append(f"CHANGELOG.md has no section {version}, or an empty one")
    return wrong


def version_of(root: Path) -> str:
    """Return the version in ``pyproject.toml``."""
    return str(tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])


def main() -> None:
    """Print the section of the version, or the disagreements with exit code 1."""
    if wrong := disagreements(ROOT, sys.argv[1] if sys.argv[1:] else None):
        sys.exit("\n".join(wrong))
    print(notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version_of(ROOT)), end="")


if __name__ == "__main__":
    main()
