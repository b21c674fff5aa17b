"""The privacy settings of a site (the table ``[privacy]`` of ``site.toml``), and the pseudonyms that replace names: ``host-3fa94c``, ``user-1``.

Users, addresses, paths and secrets are numbered within a run, in the order in which its logs name them. Logs do not change, so the numbers are
stable, and nobody can guess an original from a number. A machine keeps its pseudonym across runs, because a comparison must recognise the same
machine.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from typing import Literal

import msgspec

Treatment = Literal["pseudonym", "show"]
Kind = Literal["host", "user", "address", "path", "secret"]


class Privacy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings for names, and for text that is not known to be public.

    ``unknown_lines`` is for the lines of own logs that their format does not know. ``free_text`` is for the texts that people wrote into manifests,
    and for the words in own logs outside of result lines. ``keep`` lists words that are always shown, ``hide`` lists words that are always replaced.
    """

    hosts: Treatment = "pseudonym"
    users: Treatment = "pseudonym"
    addresses: Treatment = "pseudonym"
    paths: Treatment = "pseudonym"
    secrets: Treatment = "pseudonym"
    unknown_lines: Literal["withhold", "show"] = "withhold"
    free_text: Literal["mask", "show"] = "mask"
    keep: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()

    def hides(self, kind: Kind) -> bool:
        """Whether names of this kind are replaced."""
        treatments = {"host": self.hosts, "user": self.users, "address": self.addresses, "path": self.paths, "secret": self.secrets}
        return treatments[kind] == "pseudonym"


KEY_VARIABLE = "TACHOLOG_PSEUDONYM_KEY"
HOST_PSEUDONYM = re.compile(r"^host-[0-9a-f]{6}$")
NUMBERED_PSEUDONYM = re.compile(r"\b(?:user|address|path|secret)-\d+\b")


def host_pseudonym(name: str, kind: str = "host") -> str:
    """Return the pseudonym of a machine whose properties are not known.

    It is a hash of the name. If ``TACHOLOG_PSEUDONYM_KEY`` is set, only a person with the key can check whether a guessed name has this pseudonym.
    """
    key = os.environ.get(KEY_VARIABLE, "")
    return f"{kind}-" + hmac.new(key.encode(), name.lower().encode(), hashlib.sha256).hexdigest()[:6]
