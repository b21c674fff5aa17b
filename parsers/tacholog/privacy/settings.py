"""What the owner of a site wants shown: the table ``[privacy]`` of ``site.toml``."""

from __future__ import annotations

from typing import Literal

import msgspec

Treatment = Literal["pseudonym", "show"]
Kind = Literal["host", "user", "address", "path", "secret"]


class Privacy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a site treats names, and text that is not known to be public.

    ``unknown_lines`` are the lines of own logs that no format understands. ``free_text`` is what people wrote into manifests, and the words of
    own logs that are no results. ``keep`` lists words that are always shown, ``hide`` lists words that are always replaced.
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
