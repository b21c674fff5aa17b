"""The names that are shown in place of real ones: ``host-3fa94c``, ``user-1``, ``path-2``.

Users, addresses, paths and secrets are numbered within a run, in the order in which its logs name them. Logs do not change, so the numbers are
stable, and nobody can guess an original from a number. A machine keeps its pseudonym across runs, because comparisons must know that it is the
same machine.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re

KEY_VARIABLE = "TACHOLOG_PSEUDONYM_KEY"
HOST_PSEUDONYM = re.compile(r"^host-[0-9a-f]{6}$")
NUMBERED_PSEUDONYM = re.compile(r"\b(?:user|address|path|secret)-\d+\b")


def host_pseudonym(name: str, kind: str = "host") -> str:
    """Return the pseudonym of a machine whose properties are not known.

    It is a hash of the name. With ``TACHOLOG_PSEUDONYM_KEY`` set, only somebody who has the key can check a guessed name against it.
    """
    key = os.environ.get(KEY_VARIABLE, "")
    return f"{kind}-" + hmac.new(key.encode(), name.lower().encode(), hashlib.sha256).hexdigest()[:6]
