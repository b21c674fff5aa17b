"""What may be shown of a text: what is known to be public, and nothing that names a machine, a person, a network, a folder or a secret.

Two nets lie behind each other. The first decides by what is known: of *free text* (`Redactor.free`) only numbers and the words of
``public_words.txt`` are shown. The second (`Redactor.text`) is for text that is public by its place, a field of the schema or a result line, and
looks for what should not be there all the same: names that were said to be names anywhere in the data, addresses, folders, secrets.

A text is cut into tokens once, at characters that none of them can hold, and each token is looked at by itself with patterns that are anchored and of
bounded length, so that the work grows with the text and no faster. Most tokens of a log differ only in their digits: those whose shape has been found
harmless before are not looked at again (`Calm`).

Users, addresses and folders are numbered within a run in the order in which its logs name them: logs do not change, so the numbers last, and nobody
can guess the original back from a number. A machine keeps its pseudonym across runs, because comparisons need to know that it is the same.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import ipaddress
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

Policy = Literal["pseudonym", "show"]
Kind = Literal["host", "user", "address", "path", "secret"]
PSEUDONYM = re.compile(r"^host-[0-9a-f]{6}$")
PLACEHOLDER = re.compile(r"\b(?:user|address|path|secret)-\d+\b")
MASK = "[…]"
WORDS_FILE = Path(__file__).with_name("public_words.txt")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Where tokens end. Quotes and brackets stand around names, a comma or a semicolon between them.
_DELIMITERS = " \t\r\n\v\f\"'`<>()[]{},;|"
_TOKEN = re.compile(rf"[^\s{re.escape(_DELIMITERS.strip())}]+")
_LONGEST = 512  # A token above that is no word: digits and signs of it are shown, else it is masked.
_FIGURES = re.compile(r"[\d.:+\-_/%]*")
# `key=value` and `key:value`, with the dashes of an option before it or a URL's query mark.
_KEYED = re.compile(r"[-?&]{0,2}(?P<key>[A-Za-z][\w.-]{0,40}?)(?P<sign>[=:])")
_WORD = r"[A-Za-z0-9](?:[\w.-]{0,253}[A-Za-z0-9])?"
_NAME = re.compile(_WORD)
_PLAIN_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)?%?")
_AT = re.compile(r"(?<![^\W_])(?P<user>[A-Za-z_][\w.+-]{0,63})@(?P<host>[A-Za-z0-9](?:[\w-]|\.(?=\w)){0,253})")
_IPV4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?!\w|\.\d)")
_IPV6 = re.compile(r"(?<![\w:.])[0-9A-Fa-f:]{2,45}(?:\d{1,3}(?:\.\d{1,3}){3})?(?![\w:])")
_MAC = re.compile(
    r"(?<![\w:.-])(?:[0-9A-Fa-f]{2}(?:(?:[:-][0-9A-Fa-f]{2}){19}|(?:[:-][0-9A-Fa-f]{2}){7}|(?:[:-][0-9A-Fa-f]{2}){5})"
    r"|[0-9A-Fa-f]{4}(?:\.[0-9A-Fa-f]{4}){2}|[0-9A-Fa-f]{4}(?::[0-9A-Fa-f]{4}){3})(?![\w:-])"
)
_GUID = re.compile(r"(?<!\w)0x[0-9A-Fa-f]{16}(?!\w)")  # InfiniBand's; a pointer is one too, and tells nobody anything
_DOMAIN = re.compile(r"(?<![\w.@-])(?P<host>[A-Za-z0-9][\w-]{0,62}(?:\.[\w-]{1,63}){1,8})(?![\w-])")
_TOP_LEVEL = _words(
    """
    com org net edu gov mil int info biz io dev app cloud ai tech de fr uk eu us ca cn jp kr ru ch at nl be se no fi dk es pt pl cz it ie il tr
    br mx au nz tw sg hk example test invalid
    """
)
_PRIVATE_LEVEL = frozenset(("local", "lan", "internal", "intra", "corp", "home", "localdomain", "private", "arpa"))
_ANY_LEVEL = _TOP_LEVEL | _PRIVATE_LEVEL
# A path begins where no path goes on: at a slash behind a sign or nothing, a tilde, a drive, two backslashes.
_PATH_BEGINS = re.compile(
    r"(?<=-[A-Za-z])/(?=\w)|(?<![\w.+/~>%-])(?:~[\w.+-]{0,64}[/\\]|~(?=[A-Za-z])|/(?=[\w.+@~%-])|\\\\(?=\w)|[A-Za-z]:[\\/](?![\\/]))"
    r"|(?<=[=:,])//(?=\w)"
)
_SCHEME = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]{1,20})://", re.IGNORECASE)
_SECRET = re.compile(
    r"(?<![A-Za-z0-9])(?:gh[a-z]_[A-Za-z0-9_]{4,}|github_pat_\w{4,}|glpat-[\w-]{4,}|xox[a-z]-[\w-]{4,}|AKIA[0-9A-Z]{8,}|sk-[\w-]{8,}|eyJ[\w-]{8,}[\w.-]*"
    r"|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|[0-9A-Fa-f]{32}(?![0-9A-Fa-f]))"
)
_HOME = re.compile(r"(?:/(?:home|Users)/|:\\Users\\|(?<![\w.])~)(?P<user>[A-Za-z][\w-]{0,63})", re.IGNORECASE)
_PEER = re.compile(rf"(?P<host>[A-Za-z]{_WORD[11:]}):\d{{1,9}}:?")
_VERSION_BEFORE = re.compile(r"(?:\bv|version|release|\bver)\W{0,3}$", re.IGNORECASE)
_LOOK_BACK = 12
# Folders of which every machine has the same: a path in them is shown where each of its parts is a public word.
_COMMON = ("/dev/", "/proc/", "/sys/", "/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/")

_KEYS: Mapping[str, Kind] = {
    **dict.fromkeys(("host", "hostname", "host_name", "node_name", "nodename", "computer_name", "computername", "machine", "fqdn", "domain"), "host"),
    **dict.fromkeys(("user", "username", "user_name", "login", "logname", "owner", "email", "mail"), "user"),
    **dict.fromkeys(("ip", "ipaddr", "ip_address", "mac", "hwaddr", "lladdr", "guid", "gid_ib"), "address"),
    **dict.fromkeys(("cwd", "pwd", "oldpwd", "home"), "path"),
    **dict.fromkeys(
        ("password", "passwd", "passphrase", "token", "secret", "api_key", "apikey", "access_key", "auth", "credential", "credentials"), "secret"
    ),
    **dict.fromkeys(("serial", "serial_number", "serialnumber", "sn", "machine_id", "machineid", "boot_id", "uuid", "asset_tag", "asset"), "secret"),
}
_IDENTITIES = frozenset(("uid", "gid", "euid", "egid", "groups"))  # uid=1001(name)
_SHELLS = frozenset(("ssh", "slogin", "rlogin", "scp", "sftp", "rsync"))
_RUNS_AS = frozenset(("sudo", "su", "doas", "runuser"))
_ASKS_FOR: Mapping[str, Kind] = {
    **dict.fromkeys(("--user", "--username", "--login", "--owner"), "user"),
    **dict.fromkeys(("--password", "--passwd", "--token", "--secret", "--api-key"), "secret"),
    **dict.fromkeys(("--host", "--hostname"), "host"),
}
_VALUED_OPTIONS = frozenset(("-p", "-P", "-i", "-o", "-F", "-J", "-b", "-c", "-D", "-E", "-L", "-R", "-S", "-W", "-w"))
# Words that make what follows them worth a look, so that a line with one of them is never passed over.
_SIGNALS = frozenset((*_KEYS, *_IDENTITIES))
_BARE = frozenset((*_KEYS, *_SHELLS, *_RUNS_AS, *_ASKS_FOR, "-l", "-u", "connecting", "linux", "participant"))
_ALNUM = re.compile(r"[^\W_]")
_LONG_RUN = re.compile(r"(?=[a-z]{0,40}0)[a-z0-9]{20}")  # of letters and digits: a serial number, a digest, a key
# Words that are names on many machines and mean something else in a log: they are replaced where they are said to be a name, and only there.
_EVERYDAY = _words(
    """
    localhost root user admin ubuntu debian fedora runner build test tests host node perf vm server perftest tacholog client publisher
    subscriber latency throughput pub sub both tcp udp shm none name
    """
)
_SHORTEST = 3
_PIECE = re.compile(r"[A-Za-z0-9]+")
# What free text is cut into: pseudonyms of ours, words, and nothing else. Signs between words are shown.
_OURS = r"(?:host|session|participant)-[0-9a-f]{6}(?!\w)|(?:user|address|path|secret|hidden)-\d{1,9}(?!\w)"
_FREE = re.compile(rf"{_OURS}|\w+")
_OURS_ONLY = re.compile(_OURS)
_MEASURE = re.compile(r"0x0{0,8}[0-9a-f]{1,4}|[\d_]+(?:[a-z]{1,2}|bit|byte|kib|mib|gib|khz|mhz|ghz|kbit|mbit|gbit)?|[pvl]\d{1,6}|x", re.IGNORECASE)
DIGITS_AS_ONE = str.maketrans({**dict.fromkeys("123456789", "0"), **dict.fromkeys(_DELIMITERS, " ")})
_MOST_SHAPES = 50_000
_LOOKS = 20_000
_COMMAND_WORDS = 12  # after `ssh` and the like, that are looked at


class Privacy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a site shows of names, and of text that nobody knows to be public. ``keep`` are words to show, ``hide`` further words to hide.

    ``unknown_lines``: lines of own logs that no format understands. ``free_text``: what people wrote into manifests, and what own logs say in words.
    """

    hosts: Policy = "pseudonym"
    users: Policy = "pseudonym"
    addresses: Policy = "pseudonym"
    paths: Policy = "pseudonym"
    secrets: Policy = "pseudonym"
    unknown_lines: Literal["withhold", "show"] = "withhold"
    free_text: Literal["mask", "show"] = "mask"
    keep: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()

    def hides(self, kind: Kind) -> bool:
        """Whether names of that kind are replaced."""
        policies = {"host": self.hosts, "user": self.users, "address": self.addresses, "path": self.paths, "secret": self.secrets}
        return policies[kind] == "pseudonym"


def host_pseudonym(name: str, kind: str = "host") -> str:
    """Name a machine whose facts are not known. With ``TACHOLOG_PSEUDONYM_KEY`` set, nobody without the key can check a guess."""
    key = os.environ.get("TACHOLOG_PSEUDONYM_KEY", "")
    return f"{kind}-" + hmac.new(key.encode(), name.lower().encode(), hashlib.sha256).hexdigest()[:6]


@functools.cache
def public_words() -> frozenset[str]:
    """The words that free text may show: those of Tacholog's own texts, in small letters."""
    return frozenset(WORDS_FILE.read_text(encoding="utf-8").split())


class Said(NamedTuple):
    """A part of a text that is said or looks to be a name: where, of what, and whether it is another machine than the one that speaks."""

    start: int
    end: int
    kind: Kind
    other: bool = False


class Calm:
    """Which texts need not be looked at: those all of whose tokens have a shape that was found harmless. Digits count as one and the same."""

    def __init__(self, worries: Callable[[str], bool]) -> None:
        """``worries`` says whether a token whose digits are all 0 may be a part of something that is replaced."""
        self._worries = worries
        self._calm: set[str] = set()
        self._worrying: set[str] = set()

    def knows(self, token: str) -> bool:
        """Whether a token was found harmless before."""
        return token.translate(DIGITS_AS_ONE) in self._calm

    def __call__(self, text: str) -> bool:
        """Whether nothing in the text can be replaced."""
        shapes = text.translate(DIGITS_AS_ONE).split()
        if self._calm.issuperset(shapes):
            return True
        new = set(shapes) - self._calm
        for known in (self._calm, self._worrying):
            if len(known) > _MOST_SHAPES:
                known.clear()  # A log of noise has new words in each line; the memory for them is bounded.
        fresh = new - self._worrying
        worries = {shape for shape in fresh if self._worries(shape)}
        self._worrying |= {shape for shape in worries if len(shape) <= _LONGEST}
        self._calm |= {shape for shape in fresh - worries if len(shape) <= _LONGEST}
        return not worries and len(fresh) == len(new)


class Names:
    """The names that were found so far: of machines with their pseudonyms, and of people."""

    def __init__(self, privacy: Privacy, hosts: Mapping[str, str]) -> None:
        self.privacy = privacy
        self._keep = {word.lower() for word in privacy.keep}
        self.hosts = {name.lower(): shown for name, shown in hosts.items()} if privacy.hosts == "pseudonym" else {}
        self._stated = frozenset(self.hosts)
        self.own: dict[str, set[str]] = {}  # by pseudonym: what the logs of that machine call it; many machines are called "vm"
        self.users: set[str] = set()
        self.variants: dict[str, int] = {}  # tables of options that are masked, in the order in which they come
        self.calm = Calm(_may_say)

    def learn(self, line: str, host: str | None = None) -> None:
        """Take the names that a line of text says to be names. ``host`` is the pseudonym of the machine whose log it is."""
        if self.calm(line):
            return
        for said in _said(line, self.calm):
            name = line[said.start : said.end]
            if said.kind == "host" and self.privacy.hosts == "pseudonym":
                self.add_host(name, None if said.other else host)
            elif said.kind == "user" and self.privacy.users == "pseudonym" and self.hides(name) and not _is_number(name):
                self.users.add(name.lower())

    def add_host(self, name: str, pseudonym: str | None = None) -> None:
        """Take the name of a machine, and its short form."""
        for form in dict.fromkeys((name.lower(), name.lower().split(".")[0])):
            if self.hides(form) and not PSEUDONYM.match(form) and not _is_number(form) and _NAME.fullmatch(form):
                self.hosts.setdefault(form, pseudonym or host_pseudonym(name))
                if pseudonym and form not in self._stated:
                    self.own.setdefault(pseudonym, set()).add(form)

    def hides(self, word: str) -> bool:
        """Whether a name is to be hidden at all."""
        return word.lower() not in self._keep and word.lower() != "localhost"

    def everywhere(self) -> set[str]:
        """The names that are replaced wherever they stand: not those that mean something else in a log."""
        found = {word for word in (*self.hosts, *self.users) if len(word) >= _SHORTEST and word not in _EVERYDAY}
        return found | {word.lower() for word in self.privacy.hide if word}


class Redactor:
    """Replaces names in the texts of one run, made on the machine of that pseudonym. All names must have been learned before."""

    def __init__(self, names: Names, machine: str | None = None) -> None:
        self.privacy = names.privacy
        self._names, self._privacy, self._machine = names, names.privacy, machine
        self._numbers: dict[str, dict[str, int]] = {}
        self._hidden = {word.lower() for word in names.privacy.hide if word}
        self._known = _by_first_piece(names.everywhere())
        self._shapes = {piece.translate(DIGITS_AS_ONE) for piece in self._known}
        self.calm = Calm(self._worries)
        self._calm_where: dict[Callable[[str], bool], Calm] = {}

    def variant(self, text: str) -> int:
        """Return the number of a text that is masked: alike for the same text of any run. A number cannot be guessed back, as a digest could."""
        return self._names.variants.setdefault(text, len(self._names.variants) + 1)

    def text(self, text: str) -> str:
        """Return public text without names."""
        if self.calm(text):
            return text
        # The last of several that begin at one place is the longest; none may reach into another.
        out, at = [], 0
        for said in _apart([*self._worth(_said(text, self._names.calm), text), *self._hidden_at(text)]):
            out += [self._learned(text[at : said.start]), self._instead(said, text)]
            at = said.end
        return "".join([*out, self._learned(text[at:])])

    def free(self, text: str) -> str:
        """Return free text: without names, and of what is left the numbers and the public words."""
        if self._privacy.free_text == "show":
            return self.text(text)
        if self.calm_where(is_public)(text):
            return text
        return _masked(self.text(text), self._names)

    def calm_where(self, rule: Callable[[str], bool]) -> Calm:
        """Return what tells texts that may be shown as they are: those all of whose tokens are public by that rule, and no name."""
        if rule not in self._calm_where:
            self._calm_where[rule] = Calm(lambda shape: self._worries(shape) or not rule(shape))
        return self._calm_where[rule]

    def identifier(self, text: str) -> str:
        """Return the name of a run, a log or a key: names that were learned are replaced in it, and addresses; links to it last."""
        shown = self._learned(text)
        if self._privacy.hides("address"):
            for pattern in (_MAC, _IPV4):
                shown = pattern.sub(lambda found: self._address(found[0], ""), shown)
        return shown

    def name(self, text: str, kind: Kind | Literal["session", "participant"]) -> str:
        """Return what stands for a text that is a name as a whole."""
        if kind in ("session", "participant"):
            return text if not self._privacy.hides("host") or self.free(text) == text else host_pseudonym(text, kind)
        return self._replaced(text, kind)  # type: ignore[arg-type]

    def _worth(self, found: Iterable[Said], text: str) -> Iterator[Said]:
        """Those that the owner wants hidden."""
        return (said for said in found if self._privacy.hides(said.kind) and self._names.hides(text[said.start : said.end]))

    def _hidden_at(self, text: str) -> Iterator[Said]:
        if not self._hidden:
            return
        for start, end in _known_at(text, _by_first_piece(self._hidden)):
            yield Said(start, end, "secret")

    def _instead(self, said: Said, text: str) -> str:
        found = text[said.start : said.end]
        if found.lower() in self._hidden:
            return self._number("hidden", found.lower())
        if said.kind == "address":
            return self._address(found, text[max(0, said.start - _LOOK_BACK) : said.start])
        return self._replaced(found, said.kind)

    def _replaced(self, found: str, kind: Kind) -> str:
        if not self._privacy.hides(kind) or not self._names.hides(found):
            return found
        if kind == "host":
            return self._host(found)
        if kind == "user":
            return self._number("user", found.lower())
        if kind == "path":
            return self._path(found)
        return self._address(found, "") if kind == "address" and _identifies(found) else self._number(kind, found)

    def _host(self, word: str) -> str:
        if PSEUDONYM.match(word):
            return word
        known = self._learned_name(word)
        return known if known is not None else host_pseudonym(word)

    def _learned_name(self, word: str) -> str | None:
        lower = word.lower()
        if lower in self._hidden:
            return self._number("hidden", lower)
        if self._machine is not None and lower in self._names.own.get(self._machine, ()):
            return self._machine
        known = self._names.hosts.get(lower) if self._names.hides(word) else None
        if known is not None:
            return known
        return self._number("user", lower) if lower in self._names.users else None

    def _learned(self, text: str) -> str:
        """Replace names that were learned anywhere."""
        out, at = [], 0
        for start, end in _known_at(text, self._known):
            known = self._learned_name(text[start:end])
            if known is not None:
                out += [text[at:start], known]
                at = end
        return "".join([*out, text[at:]]) if out else text

    def _address(self, text: str, before: str) -> str:
        if not self._names.hides(text) or not _identifies(text) or _VERSION_BEFORE.search(before):
            return text
        return self._number("address", text.lower())

    def _path(self, text: str) -> str:
        """Number a folder; what lies in it keeps its name where that is a public word."""
        folder, last = _split_path(text)
        if not self._names.hides(folder.rstrip("/\\")):
            return text
        shown = last if last and all(map(is_public, re.split(r"[.\-+@~%]+", last))) else ""
        return f"{self._number('path', folder)}/{shown}" if shown or not last else self._number("path", text)

    def _number(self, kind: str, original: str) -> str:
        known = self._numbers.setdefault(kind, {})
        return f"{kind}-{known.setdefault(original, len(known) + 1)}"

    def _worries(self, shape: str) -> bool:
        return _may_say(shape) or not self._shapes.isdisjoint(_PIECE.findall(shape.lower()))


@functools.lru_cache(1 << 15)
def is_public(word: str) -> bool:
    """Whether a word of free text is known to be public: a number, a measure, a word of our own texts, or several joined by signs."""
    return all(
        _MEASURE.fullmatch(part) or part.lower() in public_words()
        for piece in _FREE.findall(word)
        for part in ([piece] if _MEASURE.fullmatch(piece) or piece.lower() in public_words() else piece.split("_"))
        if part and not PSEUDONYM.match(part)
    )


def _masked(text: str, names: Names) -> str:
    """Return free text whose words are public; those that are not are one mark together with what stands between them."""
    out: list[str] = []
    at = 0
    for found in _FREE.finditer(text):
        between, word = text[at : found.start()], found[0]
        at = found.end()
        if is_public(word) or _OURS_ONLY.fullmatch(word) or not names.hides(word):
            out += [between, word]
        elif out and out[-1] == MASK and len(between) < 4:  # noqa: PLR2004 - blanks and a sign
            continue
        else:
            out += [between, MASK]
    return "".join([*out, text[at:]])


def _said(line: str, calm: Calm) -> Iterator[Said]:
    """Yield what a line says, or what in it looks, to be a name; the order is that of the tokens.

    After `_LOOKS` tokens that had to be looked at, what is left of the line is one secret: no tool prints such lines, and each look costs time.
    """
    context = Context()
    looks = 0
    for token in _TOKEN.finditer(line):
        word = token[0]
        if context.is_idle and calm.knows(word):
            context.pass_by(word)
            continue
        looks += 1
        if looks > _LOOKS:
            yield Said(token.start(), len(line), "secret")
            return
        if len(word) > _LONGEST:
            context.pass_by("")
            if not _FIGURES.fullmatch(word):
                yield Said(token.start(), token.end(), "secret")
            continue
        yield from context.take(token, line)


class Context:
    """What the words before a token say of it: ``user: NAME``, ``--password WORD``, ``ssh -l NAME HOST``, ``connecting to host NAME``."""

    def __init__(self) -> None:
        self.before: list[str] = []
        self._asked: tuple[Kind, bool] | None = None
        self._key: Kind | None = None  # of a bare word that a sign may make a key
        self._tool, self._tool_at = "", 0
        self._host_due = False
        self._at = 0

    @property
    def is_idle(self) -> bool:
        """Whether nothing that was said before concerns the next token."""
        return self._asked is None and self._key is None and not self._tool

    def pass_by(self, word: str) -> None:
        """Remember a token in which no name is looked for."""
        self.before = [*self.before[-1:], word.lower()]
        self._at += 1
        if self._tool and self._at - self._tool_at > _COMMAND_WORDS:
            self._tool, self._host_due = "", False

    def take(self, token: re.Match[str], line: str) -> Iterator[Said]:
        """Yield what is a name in a token, and remember what it says of the next one."""
        word, start, lower = token[0], token.start(), token[0].lower()
        asked, self._asked = self._asked, None
        key, self._key = self._key, None
        if asked is None and self._host_due and self.before[-1] not in _VALUED_OPTIONS and not word.startswith("-"):
            asked, self._host_due = ("host", True), False
        waits = word.startswith("-") or word in ("=", ":") or bool(asked and asked[1] and lower in ("to", "host"))
        if asked and not waits and (name := _as_name(word, asked[0])):
            yield Said(start + name[0], start + name[1], *asked)
            self.pass_by(word)
            return
        yield from (Said(start + said.start, start + said.end, said.kind, said.other) for said in _in_token(word, self.before, token, line))
        if lower in _SHELLS or lower in _RUNS_AS:
            self._tool, self._tool_at, self._host_due = lower, self._at, lower in _SHELLS
        self._asked = (key, False) if key and word in ("=", ":") else self._asks(lower, line[token.end() : token.end() + 1])
        self._key = "host" if lower == "participant" else _KEYS.get(lower)
        if self._asked is None and asked and waits and not word.startswith("-"):
            self._asked = asked
        self.pass_by(word)

    def _asks(self, word: str, after: str) -> tuple[Kind, bool] | None:
        """Say of what the next token is a name, if a word says so."""
        if word in _ASKS_FOR:
            return _ASKS_FOR[word], False
        if (self._tool in _SHELLS and word == "-l") or (self._tool in _RUNS_AS and word in ("-u", "--user")):
            return "user", False
        key = _KEYED.match(word)
        if key and key.end() == len(word) and key["key"] in _KEYS:
            return _KEYS[key["key"]], False
        if key and key["key"] in _IDENTITIES and after == "(":
            return "user", False
        if word == "connecting":
            return "host", True
        return ("host", False) if word == "linux" and not self.before else None


def _as_name(word: str, kind: Kind) -> tuple[int, int] | None:
    """Where in a token the name stands that it was said to be: without a port, and no plain number."""
    if kind in ("secret", "path"):
        return (0, len(word)) if (word and kind == "secret") or "/" in word or "\\" in word else None
    found = _NAME.match(word)
    if (
        found is None
        or word.lower() in _SHELLS
        or _PLAIN_NUMBER.fullmatch(found[0])
        or (kind != "address" and "/" in word)
        or "@" in word
        or _IPV4.match(word)
    ):
        return None
    return found.span()


def _in_token(word: str, before: list[str], token: re.Match[str], line: str) -> Iterator[Said]:
    """Yield what of one token is a name by its key or by its looks."""
    key = _KEYED.match(word)
    at = key.end() if key else 0
    named = _KEYS.get(key["key"].lower()) if key else None
    if key and key["key"] == "name" and before[-1:] == ["host"]:
        named = "host"
    if key and named and (name := _as_name(word[at:], named)):
        yield Said(at + name[0], at + name[1], named)
        if named == "secret":
            return
    if before[-1:] == ["participant"] and (peer := _PEER.fullmatch(word)):  # ddsperf calls them HOST:PID
        yield Said(*peer.span("host"), "host")
        return
    yield from _looks(word, before, token, line)


def _looks(word: str, before: list[str], token: re.Match[str], line: str) -> Iterator[Said]:
    if "@" in word:
        for found in _AT.finditer(word):
            yield Said(*found.span("user"), "user")
            yield Said(*found.span("host"), "host")
    if "/" in word or "\\" in word or "~" in word:
        yield from _paths(word)
    for pattern in (_MAC, _GUID):
        yield from (Said(*found.span(), "address") for found in pattern.finditer(word))
    if word.count(":") > 1:
        yield from (Said(*found.span(), "address") for found in _IPV6.finditer(word) if "::" in found[0] or found[0].count(":") == 7)  # noqa: PLR2004
    for found in _IPV4.finditer(word):
        # "1.4.1.1. UDPv4" at the start of a line is the number of a heading; "to 10.9.8.77." ends a sentence.
        if before or word != f"{found[0]}." or line[: token.start()].strip():
            yield Said(*found.span(), "address")
    if "." in word and "@" not in word:
        yield from (Said(*found.span(), "host") for found in _DOMAIN.finditer(word) if _is_domain(found[0]))
    yield from (Said(*found.span(), "secret") for found in _SECRET.finditer(word))


def _paths(word: str) -> Iterator[Said]:
    yield from (Said(*found.span("user"), "user") for found in _HOME.finditer(word))
    at = 0
    if scheme := _SCHEME.search(word):
        rest = word[scheme.end() :]
        if scheme["scheme"].lower() == "file":
            yield Said(scheme.end(), len(word), "path")
        elif not is_public(rest):
            host = re.match(r"[\w.-]+", rest)
            if host:
                yield Said(scheme.end(), scheme.end() + host.end(), "host")
            end = scheme.end() + (host.end() if host else 0)
            if "/" in word[end:]:
                yield Said(word.index("/", end) + 1, len(word), "path")
        return
    while begins := _PATH_BEGINS.search(word, at):
        # Folders of a list are separated by colons; a drive's colon is its second character.
        colon = word.find(":", begins.end())
        at = len(word) if colon < 0 else colon
        found = word[begins.start() : at]
        if not _is_common(found):
            yield Said(begins.start(), at, "path")
    if not at and re.search(r"\w\\\w", word):  # the rest of a Windows path with a blank in it
        yield Said(0, len(word), "path")


def _is_common(path: str) -> bool:
    """Whether a path is one that every machine has, or no path at all: `/s` behind a unit, a lone slash."""
    if path.startswith("/") and "/" not in path[1:]:
        return path.rstrip(".:") in ("/dev", "/proc", "/sys", "/usr", "/bin", "/tmp", "/etc", "/var") or is_public(path)  # noqa: S108
    return path.startswith(_COMMON) and all(map(is_public, path.split("/")))


def _split_path(path: str) -> tuple[str, str]:
    end = max(path.rfind("/"), path.rfind("\\")) + 1
    return path[:end], path[end:]


def _is_domain(text: str) -> bool:
    """Whether a text is the name of a machine in a network that is not known to be public."""
    labels = text.lower().rstrip(".").split(".")
    if labels[-1] in _PRIVATE_LEVEL:
        return True
    return labels[-1] in _TOP_LEVEL and not all(map(is_public, labels))


def _may_say(shape: str) -> bool:
    """Whether a token, all of whose digits are 0, may be or announce a name: cheap, and rather too often than not often enough."""
    if len(shape) > _LONGEST or "@" in shape or "\\" in shape or "~" in shape or "::" in shape:
        return not _FIGURES.fullmatch(shape)
    if shape.count(":") > 2 or shape.count("-") > 3 or shape.count(".") > 1 or "0x0" in shape:  # noqa: PLR2004
        return _ALNUM.search(shape) is not None
    if "/" in shape and ("//" in shape or _PATH_BEGINS.search(shape)):
        return True
    lower = shape.lower()
    if "." in lower and (end := lower.rstrip(".:").partition(":")[0].rpartition("."))[1] and end[2] in _ANY_LEVEL:
        return True
    if lower.startswith(("gh", "akia", "xox", "sk-", "eyj", "name=", "glpat")) or _LONG_RUN.search(lower) or lower in _BARE:
        return True
    key = _KEYED.match(lower)
    return bool(key and key["key"] in _SIGNALS)


def _apart(found: Iterable[Said]) -> Iterator[Said]:
    """The parts in order; of those that overlap the one that begins first, and of these the longest."""
    end = 0
    for said in sorted(found, key=lambda said: (said.start, -said.end)):
        if said.start >= end:
            yield said
            end = said.end


def _by_first_piece(words: Iterable[str]) -> dict[str, list[str]]:
    """Names by the letters and digits that they begin with, the longest first: a text is looked through once, however many names there are."""
    found: dict[str, list[str]] = {}
    for word in sorted(words, key=lambda word: (-len(word), word)):
        piece = _PIECE.search(word)
        if piece and piece.start() == 0:
            found.setdefault(piece[0], []).append(word)
    return found


def _known_at(text: str, known: Mapping[str, list[str]]) -> Iterator[tuple[int, int]]:
    """Yield where known names stand as whole words."""
    if not known:
        return
    lower, end = text.lower(), 0
    if len(lower) != len(text):  # a few letters have two small ones
        lower = "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
    for piece in _PIECE.finditer(lower):
        if piece.start() < end:
            continue
        for word in known.get(piece[0], ()):
            stop = piece.start() + len(word)
            if lower.startswith(word, piece.start()) and not lower[stop : stop + 1].isalnum():
                yield piece.start(), stop
                end = stop
                break


def _identifies(text: str) -> bool:
    """Whether an address is somebody's: not a version of four numbers, the machine itself, everybody, or a group."""
    if _MAC.fullmatch(text) or _GUID.fullmatch(text):
        return bool(set(text.lower()) - set("0x:-.")) and bool(set(text.lower()) - set("f:-."))
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return not (text.startswith("0.") or address.is_loopback or address.is_unspecified or address.is_multicast or text == "255.255.255.255")


def _is_number(text: str) -> bool:
    return text.replace(".", "").isdigit()
