"""Changed style sheets and scripts in a finished site. No page is made again: only the addresses of these files change in the pages."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from zlib import crc32

from tacholog.errors import UnreadableInput
from tacholog.resources import site_dir
from tacholog.site.stamp import changed_since, read_stamp, remove_stamp, restamp
from tacholog.site.unchanged import Inputs, inputs_in
from tacholog.view.own_names import STATIC

_LINKED = re.compile(r'(_static/([\w.-]+)\?v=)[0-9a-f]{8}"')


def styles_refreshed(site: Path, inputs: Inputs) -> bool:
    """Bring a finished site up to date if only the content of style sheets and scripts changed since it was built; return whether that was so."""
    try:
        stamp = read_stamp(site)
    except UnreadableInput:
        return False
    known = inputs_in(stamp.inputs)
    if known is None or (known.code, known.data, known.pages) != (inputs.code, inputs.data, inputs.pages):
        return False
    if known.styles.keys() != inputs.styles.keys():
        return False  # a file more or less may be named in the settings of Sphinx
    if changed_since(site, stamp):
        return False
    changed = [name for name, digest in inputs.styles.items() if known.styles[name] != digest]
    remove_stamp(site)
    for name in changed:
        shutil.copyfile(site_dir() / STATIC / name, site / STATIC / name)
    pages = _with_new_addresses(
        site, [name for name in stamp.files if name.endswith(".html")], {name: _version(site / STATIC / name) for name in changed}
    )
    restamp(site, stamp, inputs.text, [*(f"{STATIC}/{name}" for name in changed), *pages])
    return True


def renew_addresses(site: Path, pages: Iterable[str], styles: Iterable[str]) -> None:
    """Write the addresses of style sheets and scripts as they are now into pages of Sphinx: it does not write a page again for them."""
    _with_new_addresses(site, pages, {name: _version(site / STATIC / name) for name in styles})


def _version(path: Path) -> str:
    """Return the checksum that Sphinx puts behind the address of a file, so that browsers load a changed one again."""
    return f"{crc32(path.read_bytes().replace(bytes([13]), b'')):08x}"


def _with_new_addresses(site: Path, pages: Iterable[str], versions: Mapping[str, str]) -> list[str]:
    """Write the checksums of changed files into the pages that load them, and return these pages."""

    def renewed(found: re.Match[str]) -> str:
        return f'{found[1]}{versions[found[2]]}"' if found[2] in versions else found[0]

    written = []
    for name in pages:
        text = (site / name).read_text(encoding="utf-8")
        fresh = _LINKED.sub(renewed, text)
        if fresh != text:
            (site / name).write_text(fresh, encoding="utf-8")
            written.append(name)
    return written
