"""The names that occur anywhere in the data, collected before any text is redacted."""

from __future__ import annotations

from collections.abc import Mapping

from tacholog.privacy.find_names import NAME, find_names, may_hold_name
from tacholog.privacy.pseudonyms import HOST_PSEUDONYM, host_pseudonym
from tacholog.privacy.settings import Privacy
from tacholog.privacy.tokens import HarmlessTokens

# Words that many machines are called, and that mean something else in a log. They are replaced only where the text calls them a name.
_EVERYDAY = frozenset(
    (
        *("localhost", "root", "user", "admin", "ubuntu", "debian", "fedora", "runner", "build", "test", "tests", "host", "node", "perf", "vm"),
        *("server", "perftest", "tacholog", "client", "publisher", "subscriber", "latency", "throughput", "pub", "sub", "both", "tcp", "udp"),
        *("shm", "none", "name"),
    )
)
_SHORTEST = 3


class KnownNames:
    """The names found so far: machines with their pseudonyms, and users."""

    def __init__(self, privacy: Privacy, hosts: Mapping[str, str]) -> None:
        """``hosts`` maps the names of machines that manifests and host files state to their pseudonyms."""
        self.privacy = privacy
        self._keep = {word.lower() for word in privacy.keep}
        self.hosts = {name.lower(): shown for name, shown in hosts.items()} if privacy.hosts == "pseudonym" else {}
        self._stated = frozenset(self.hosts)
        self.own: dict[str, set[str]] = {}  # by pseudonym, what the logs of that machine call it: many machines are called "vm"
        self.users: set[str] = set()
        self.variants: dict[str, int] = {}  # the number of each masked table of options, in order of appearance
        self.originals: dict[str, list[str]] = {}  # of each label that is shown, in order of appearance
        self.harmless = HarmlessTokens(may_hold_name)

    def learn(self, line: str, host: str | None = None) -> None:
        """Collect the names of machines and users in a line. ``host`` is the pseudonym of the machine that wrote the line."""
        if self.harmless(line):
            return
        for found in find_names(line, self.harmless):
            name = line[found.start : found.end]
            if found.kind == "host" and self.privacy.hosts == "pseudonym":
                self.add_host(name, None if found.is_other_host else host)
            elif found.kind == "user" and self.privacy.users == "pseudonym" and self.hides(name) and not _is_number(name):
                self.users.add(name.lower())

    def add_host(self, name: str, pseudonym: str | None = None) -> None:
        """Add the name of a machine, and its short form."""
        for form in dict.fromkeys((name.lower(), name.lower().split(".")[0])):
            if self.hides(form) and not HOST_PSEUDONYM.match(form) and not _is_number(form) and NAME.fullmatch(form):
                self.hosts.setdefault(form, pseudonym or host_pseudonym(name))
                if pseudonym and form not in self._stated:
                    self.own.setdefault(pseudonym, set()).add(form)

    def hides(self, word: str) -> bool:
        """Whether a name is replaced at all."""
        return word.lower() not in self._keep and word.lower() != "localhost"

    def everywhere(self) -> set[str]:
        """Return the names that are replaced wherever they stand. Everyday words are not among them."""
        found = {word for word in (*self.hosts, *self.users) if len(word) >= _SHORTEST and word not in _EVERYDAY}
        return found | {word.lower() for word in self.privacy.hide if word}


def _is_number(text: str) -> bool:
    return text.replace(".", "").isdigit()
