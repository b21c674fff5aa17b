"""Find the names in a line of text: of machines, users, addresses, folders and secrets.

A name is found by its look (`tacholog.privacy.looks`), by the key before it (``user=NAME``), or by the command that it belongs to
(``ssh -l NAME HOST``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tacholog.privacy.free_text import is_public
from tacholog.privacy.looks import ADDRESS_IN_NAME, DOMAIN_ENDINGS, IPV4, PATH_START, FoundName, names_by_look
from tacholog.privacy.settings import Kind
from tacholog.privacy.tokens import LONGEST_TOKEN, TOKEN, HarmlessTokens

_FIGURES = re.compile(r"[\d.:+\-_/%]*")
# `key=value` and `key:value`, with the dashes of an option or the question mark of a URL before it.
_KEYED = re.compile(r"(?<![\w.-])[-?&]{0,2}(?P<key>[A-Za-z_][\w.-]{0,40}?)(?P<sign>[=:])")
_WORD = r"\w(?:[\w.-]{0,253}\w)?"
NAME = re.compile(_WORD)
_NAMED = re.compile(rf"[^\x00-\x7f\w]{{0,8}}(?P<name>{_WORD})")  # behind signs that no shell puts before a name
_PLAIN_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)?%?")
_BEHIND_PEER = re.compile(r" size \d")
_PEER = re.compile(r"@?(?P<host>[^\W\d_](?:[\w.-]{0,253}\w)?):\d{1,9}:?")
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
# A key whose words say that its value is a secret: `API-KEY`, `PGPASSWORD`, `aws_secret_access_key`, `MYTOKEN`, `pw`. No list holds them all.
_SECRET_KEY = re.compile(
    r"passw|passphrase|secret|token|credential|(?:key|pass|auth)s?\d{0,9}(?![a-z])|(?<![a-z])(?:pw|pwd)\d{0,9}(?![a-z])|authoriz|bearer|cookie"
)
_SCHEMES = frozenset(("bearer", "basic", "digest", "negotiate", "apikey"))  # between `Authorization:` and the secret itself
_IDENTITIES = frozenset(("uid", "gid", "euid", "egid", "groups"))  # uid=1001(name)
_SHELLS = frozenset(("ssh", "slogin", "rlogin", "scp", "sftp", "rsync"))
_RUNS_AS = frozenset(("sudo", "su", "doas", "runuser"))
_NAMING_OPTIONS: Mapping[str, Kind] = {
    **dict.fromkeys(("--user", "--username", "--login", "--owner"), "user"),
    **dict.fromkeys(("--password", "--passwd", "--token", "--secret", "--api-key"), "secret"),
    **dict.fromkeys(("--host", "--hostname"), "host"),
}
_VALUED_OPTIONS = frozenset(("-p", "-P", "-i", "-o", "-F", "-J", "-b", "-c", "-D", "-E", "-L", "-R", "-S", "-W", "-w"))
_BARE = frozenset((*_KEYS, *_SHELLS, *_RUNS_AS, *_NAMING_OPTIONS, "-l", "-u", "connecting", "linux", "participant", "bearer"))
_ALNUM = re.compile(r"[^\W_]")
# Behind `Linux`, as `uname -a` prints it: the name of the host, then the version of the kernel. In the middle of a line, a distribution may be meant
# (`Red Hat Enterprise Linux Server 9.3`), whose versions have two numbers.
_UNAME = re.compile(r"\s+\S{1,255}\s+[0-9]+\.[0-9]")
_UNAME_WITHIN = re.compile(r"\s+(?P<host>\S{1,255})\s+[0-9]+\.[0-9]+\.[0-9]")
_LONG_RUN = re.compile(r"(?=[a-z]{0,40}0)[a-z0-9]{20}")  # a serial number, a digest or a key
_MOST_EXAMINED = 20_000  # tokens of one line
_COMMAND_WORDS = 12  # how many words after `ssh` and the like belong to that command


def _kind_of_key(key: str) -> Kind | None:
    """Return what the value of a key names, if anything."""
    lower = key.lower().replace("-", "_")
    return _KEYS.get(lower) or ("secret" if _SECRET_KEY.search(lower) else None)


class _Expected(NamedTuple):
    """What the next token names, as announced by the tokens before it."""

    kind: Kind
    is_other_host: bool = False


def find_names(line: str, harmless: HarmlessTokens) -> Iterator[FoundName]:
    """Yield the names in a line, in the order of its tokens.

    At most `_MOST_EXAMINED` tokens are examined. If there are more, the rest of the line counts as one secret: no tool prints such lines, and
    each examination costs time.
    """
    context = LineContext()
    examined = 0
    for token in TOKEN.finditer(line):
        word = token[0]
        if context.is_idle and harmless.knows(word):
            context.skip(word)
            continue
        examined += 1
        if examined > _MOST_EXAMINED:
            yield FoundName(token.start(), len(line), "secret")
            return
        if len(word) > LONGEST_TOKEN:
            context.skip("")
            if not _FIGURES.fullmatch(word):
                yield FoundName(token.start(), token.end(), "secret")
            continue
        yield from context.take(token, line)


class LineContext:
    """What the tokens read so far announce: ``user: NAME``, ``--password WORD``, ``ssh -l NAME HOST``, ``connecting to host NAME``."""

    def __init__(self) -> None:
        self.before: list[str] = []
        self._expected: _Expected | None = None
        self._key: Kind | None = None  # of the last word, which a following sign makes a key
        self._tool, self._tool_at = "", 0
        self._host_due = False
        self._at = 0

    @property
    def is_idle(self) -> bool:
        """Whether the tokens read so far announce nothing."""
        return self._expected is None and self._key is None and not self._tool

    def skip(self, word: str) -> None:
        """Remember a token without looking for names in it."""
        self.before = [*self.before[-1:], word.lower()]
        self._at += 1
        if self._tool and self._at - self._tool_at > _COMMAND_WORDS:
            self._tool, self._host_due = "", False

    def take(self, token: re.Match[str], line: str) -> Iterator[FoundName]:
        """Yield the names in a token, and remember what it announces."""
        word, start, lower = token[0], token.start(), token[0].lower()
        expected, self._expected = self._expected, None
        key, self._key = self._key, None
        if expected is None and self._host_due and self.before[-1] not in _VALUED_OPTIONS and not word.startswith("-"):
            expected, self._host_due = _Expected("host", is_other_host=True), False
        # The name itself comes later: after an option, a sign, or the "to host" of "connecting to host NAME".
        is_filler = word.startswith("-") or word in ("=", ":") or bool(expected and expected.is_other_host and lower in ("to", "host"))
        is_filler = is_filler or bool(expected and expected.kind == "secret" and lower.rstrip(":") in _SCHEMES)
        if expected and not is_filler and (span := _name_span(word, expected.kind)):
            yield FoundName(start + span[0], start + span[1], *expected)
            self.skip(word)
            return
        for name in _names_in_token(word, self.before, token, line):
            yield FoundName(start + name.start, start + name.end, name.kind, name.is_other_host)
        if lower in _SHELLS or lower in _RUNS_AS:
            self._tool, self._tool_at, self._host_due = lower, self._at, lower in _SHELLS
        self._expected = _Expected(key) if key and word in ("=", ":") else self._announced(lower, line[token.end() :])
        self._key = "host" if lower == "participant" else _kind_of_key(lower)
        if self._expected is None and expected and is_filler and not word.startswith("-"):
            self._expected = expected
        self.skip(word)

    def _announced(self, word: str, after: str) -> _Expected | None:
        """Return what a word announces of the next token. ``after`` is the rest of the line."""
        if word in _NAMING_OPTIONS:
            return _Expected(_NAMING_OPTIONS[word])
        if (self._tool in _SHELLS and word == "-l") or (self._tool in _RUNS_AS and word in ("-u", "--user")):
            return _Expected("user")
        if word == "bearer":
            return _Expected("secret")
        key = _KEYED.match(word)
        kind = _kind_of_key(key["key"]) if key else None
        if key and kind and (key.end() == len(word) or (kind == "secret" and word[key.end() :] in _SCHEMES)):
            return _Expected(kind)
        if key and key["key"] in _IDENTITIES and after.startswith("("):
            return _Expected("user")
        if word == "connecting":
            return _Expected("host", is_other_host=True)
        return _Expected("host") if word == "linux" and _is_uname(after, is_at_start=not self.before) else None


def _is_uname(after: str, is_at_start: bool) -> bool:
    if is_at_start:
        return _UNAME.match(after) is not None
    found = _UNAME_WITHIN.match(after)
    return found is not None and not is_public(found["host"])


def _name_span(word: str, kind: Kind) -> tuple[int, int] | None:
    """Return where in a token the announced name stands, without a port; nothing if the token cannot be such a name."""
    if kind in ("secret", "path"):
        return (0, len(word)) if (word and kind == "secret") or "/" in word or "\\" in word else None
    found = _NAMED.match(word)
    if (
        found is None
        or word.lower() in _SHELLS
        or _PLAIN_NUMBER.fullmatch(found["name"])
        or (kind != "address" and "/" in word)
        or "@" in word
        or IPV4.match(word)
    ):
        return None
    return found.span("name")


def _names_in_token(word: str, before: list[str], token: re.Match[str], line: str) -> Iterator[FoundName]:
    """Yield the names in one token: by its key, then by their look."""
    for key in _KEYED.finditer(word):
        at = key.end()
        named: Kind | None = "host" if key["key"] == "name" and before[-1:] == ["host"] else _kind_of_key(key["key"])
        if named == "secret" and word[at:].lower() in _SCHEMES:
            return  # the secret comes next
        if named and (name := _name_span(word[at:], named)):
            yield FoundName(at + name[0], at + name[1], named)
            if named == "secret":
                return
    if (peer := _PEER.fullmatch(word)) and _is_peer(word, before, line[token.end() :]):
        yield FoundName(*peer.span("host"), "host")
        return
    yield from names_by_look(word, before, token, line)


def _is_peer(word: str, before: list[str], after: str) -> bool:
    """Whether ``HOST:PID`` names a peer of ddsperf: it stands behind "participant" or "@", or before the size of what it answers."""
    return word.startswith("@") or before[-1:] in (["participant"], ["@"]) or _BEHIND_PEER.match(after) is not None


def may_hold_name(shape: str) -> bool:
    """Whether a token of this shape (every digit written as 0) may be a name or announce one. Cheap; it says yes too often rather than too rarely."""
    if len(shape) > LONGEST_TOKEN or "@" in shape or "\\" in shape or "~" in shape or "::" in shape:
        return not _FIGURES.fullmatch(shape)
    if shape.count(":") > 2 or shape.count("-") > 3 or shape.count(".") > 1 or "0x0" in shape:  # noqa: PLR2004
        return _ALNUM.search(shape) is not None
    if "/" in shape and ("//" in shape or PATH_START.search(shape)):
        return True
    lower = shape.lower()
    if "." in lower and (end := lower.rstrip(".:").partition(":")[0].rpartition("."))[1] and end[2] in DOMAIN_ENDINGS:
        return True
    if lower.startswith(("gh", "akia", "xox", "sk-", "eyj", "name=", "glpat")) or _LONG_RUN.search(lower) or lower in _BARE:
        return True
    if _SECRET_KEY.search(lower) or ADDRESS_IN_NAME.search(lower) or _PEER.fullmatch(lower):
        return True
    return any(key["key"] in _IDENTITIES or _kind_of_key(key["key"]) for key in _KEYED.finditer(lower))
