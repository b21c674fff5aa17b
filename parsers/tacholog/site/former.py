"""What need not be made again: files of the site that the last build finished, which this build would make of the same.

The only memory of a build. Each file has a key, the digest of all that it is made of: program, settings, frame, text, rows. The stamp of a site holds
the keys. A file is left as it is if its key is that of before, and nobody has changed it since.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.site.stamp import changed_since, read_stamp
from tacholog.store.cache import key_of


class FormerSite:
    """The site of the last build while another one is made, and the keys of the new one."""

    def __init__(self, keys: Mapping[str, str], program: str) -> None:
        """Begin a build.

        Args:
            keys: those of the finished files of before, by their names.
            program: the digest of all that makes pages, and of the settings.
        """
        self._former, self._program = keys, program
        self.keys: dict[str, str] = {}
        self.reused = set[str]()

    def has(self, name: str, *received: object) -> bool:
        """Whether a file is there already that was made of what this one is made of. It stays; else, the caller makes the file."""
        key = key_of(self._program, name, msgspec.json.encode(received, order="deterministic", enc_hook=str)).hex()
        self.keys[name] = key
        if self._former.get(name) != key:
            return False
        self.reused.add(name)
        return True


def former_site(site: Path, program: str) -> FormerSite:
    """Return what is in the folder of a site; of one that is not finished, no file is believed."""
    try:
        stamp = read_stamp(site)
    except UnreadableInput:
        return FormerSite({}, program)
    changed = {*changed_since(site, stamp)} if stamp.keys else set[str]()
    return FormerSite({name: key for name, key in stamp.keys.items() if name not in changed}, program)
