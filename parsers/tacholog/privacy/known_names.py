"""The names in all data. They are collected before any text is redacted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tacholog.privacy.find_names import NAME, find_names, may_hold_name
from tacholog.privacy.settings import HOST_PSEUDONYM, Privacy, host_pseudonym
from tacholog.privacy.tokens import PIECE, SHAPE, HarmlessTokens, WordFinder, folded, plain

# Common names of machines that have another meaning in a log. They are replaced only where the text marks them as a name.
_EVERYDAY = frozenset(
    (
        *("localhost", "root", "user", "admin", "ubuntu", "debian", "fedora", "runner", "build", "test", "tests", "host", "node", "perf", "vm"),
        *("server", "perftest", "tacholog", "client", "publisher", "subscriber", "latency", "throughput", "pub", "sub", "both", "tcp", "udp"),
        *("shm", "none", "name"),
        # Words that logs of brokers contain: a part of the broker's web address, the default user "guest", and "have" in lines with "user: have".
        *("rabbitmq", "redis", "nats", "kafka", "guest", "have"),
    )
)
_SHORTEST = 3
# Each entry: the kind of a name, the name, and whether the name is that of a machine that did not write the line.
NameList = list[tuple[str, str, bool]]


class Screening:
    """Finds known names in texts, and recognises texts without names.

    All runs use the same object, so that tokens that differ only in their digits are examined only once.
    """

    def __init__(self, names: Iterable[str]) -> None:
        """``names`` are the names that are replaced everywhere, in the form of `folded`."""
        self.find_known = WordFinder(names)
        self.harmless = HarmlessTokens(self._may_be_replaced)
        self._by_rule: dict[Callable[[str], bool], HarmlessTokens] = {}

    def harmless_by(self, rule: Callable[[str], bool]) -> HarmlessTokens:
        """Return a recogniser for texts that may be shown unchanged: each token is public according to ``rule``, and no token is a name."""
        if rule not in self._by_rule:
            self._by_rule[rule] = HarmlessTokens(lambda shape: self._may_be_replaced(shape) or not rule(shape))
        return self._by_rule[rule]

    def _may_be_replaced(self, shape: str) -> bool:
        return may_hold_name(shape) or not self.find_known.first_shapes.isdisjoint(PIECE.findall(folded(shape).translate(SHAPE)))


class KnownNames:
    """All names that were found in the data until now: machines, with their pseudonyms, and users."""

    def __init__(self, privacy: Privacy, hosts: Mapping[str, str]) -> None:
        """``hosts`` has the pseudonym of each machine that a manifest or a host file names. Its keys are the names of the machines."""
        self.privacy = privacy
        self._keep = {folded(word) for word in privacy.keep}
        self.hosts = {folded(plain(name)): pseudonym for name, pseudonym in hosts.items()} if privacy.hosts == "pseudonym" else {}
        self._stated_hosts = frozenset(self.hosts)
        # The key is the pseudonym of a machine, the value is the set of names that the machine has in its own logs.
        # Many machines are called "vm", so a name alone identifies no machine.
        self.own_names: dict[str, set[str]] = {}
        self._full: dict[str, set[str]] = {}  # the short name of a machine, with all full names that begin with it
        self.users: set[str] = set()
        self.variants: dict[str, int] = {}  # the number of each masked table of options; the first table that occurs has number 1
        self.originals: dict[str, list[str]] = {}  # the original labels behind each published label, in order of appearance
        self.harmless = HarmlessTokens(may_hold_name)
        self._screening: tuple[int, Screening] | None = None

    def found_in(self, lines: Iterable[str]) -> NameList:
        """Return the names of machines and users in lines, without duplicates and in order. The result does not depend on the settings of a site."""
        names: dict[tuple[str, str, bool], None] = {}
        for line in lines:
            if not self.harmless(line):
                spans = (name for name in find_names(line, self.harmless) if name.kind in ("host", "user"))
                names |= {(name.kind, line[name.start : name.end], name.is_other_host): None for name in spans}
        return list(names)

    def add(self, names: NameList, host: str | None = None) -> None:
        """Add names that were found in lines that the machine ``host`` wrote."""
        for kind, name, is_other_host in names:
            if kind == "host" and self.privacy.hosts == "pseudonym":
                self.add_host(name, None if is_other_host else host)
            elif kind == "user" and self.privacy.users == "pseudonym" and self.hides(name) and not _is_number(name):
                self.users.add(folded(name))

    def screening(self) -> Screening:
        """Return the screening for all names that were added so far."""
        count = len(self.hosts) + len(self.users)  # Names are only added. So if the count is the same, no name is new.
        if self._screening is None or self._screening[0] != count:
            self._screening = count, Screening(self.everywhere())
        return self._screening[1]

    def state(self) -> list[object]:
        """Return all names. The names become a part of the cache key of redacted texts, because redacted texts depend on the names."""
        own_names = {pseudonym: sorted(names) for pseudonym, names in self.own_names.items()}
        return [self.hosts, sorted(self._stated_hosts), own_names, sorted(self.users), sorted(self._keep)]

    def add_host(self, name: str, pseudonym: str | None = None) -> None:
        """Add the name of a machine, and its short form (without the domain)."""
        for form in dict.fromkeys((folded(name), folded(name).split(".")[0])):
            is_name = self.hides(form) and not HOST_PSEUDONYM.match(form) and not _is_number(form) and NAME.fullmatch(form)
            if is_name and form not in self._stated_hosts:
                owned, full = self.own_names.setdefault(pseudonym, set()) if pseudonym else {form}, self._full.setdefault(form, set())
                if form not in owned or folded(name) not in full:
                    owned.add(form)
                    full.add(folded(name))
                    self.hosts[form] = self._pseudonym_of(form)

    def _pseudonym_of(self, form: str) -> str:
        """Return the pseudonym that replaces ``form``, the full or short name of a machine.

        The pseudonym depends only on the names of the machines, not on the order of the runs.

        If ``form`` is a name of several machines, the pseudonym is made from the pseudonyms of these machines. It is not made from the name, because
        a reader could then guess a name and check the guess.
        """
        owners = sorted(pseudonym for pseudonym, names in self.own_names.items() if form in names)
        if owners:
            return owners[0] if len(owners) == 1 else host_pseudonym(" ".join(owners))
        longer = self._full[form] - {form}
        return host_pseudonym(min(longer) if len(longer) == 1 else form)

    def hides(self, word: str) -> bool:
        """Whether a name is replaced."""
        return folded(word) not in self._keep and word.lower() != "localhost"

    def everywhere(self) -> set[str]:
        """Return the names that are replaced everywhere. Everyday words are not among them."""
        names = {word for word in (*self.hosts, *self.users) if len(word) >= _SHORTEST and word not in _EVERYDAY}
        return names | {folded(plain(word)) for word in self.privacy.hide}


def _is_number(text: str) -> bool:
    return text.replace(".", "").isdigit()
