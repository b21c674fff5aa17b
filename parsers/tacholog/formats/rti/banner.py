"""The lines that RTI Perftest prints around its results: banner, progress, notices and failures.

The banner is a list of ``key: value`` lines after the version of the tool, on stderr; subscribers print fewer lines than publishers. ``Kind: UDPv4 &
SHMEM`` means that both transports were enabled: between two processes of one machine, shared memory carried the data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

import msgspec

from tacholog.formats.kit import Conditions, Facts, Finding, Line, settings_text

# In a published log, another word may replace the commit. Then the rest of the banner is still read.
_VERSION = re.compile(
    r"RTI Perftest (?P<version>Master|Develop|[0-9]{1,9}(?:\.[0-9]{1,9}){1,9})\S{0,80}"
    r"(?: (?:(?P<commit>[0-9a-f]{6,40})|[^\s()]{1,40}))?(?: \((?!RTI )[^()]{1,80}\))?"
    r"(?: \(RTI Connext[A-Za-z ]{0,40} (?P<system>[0-9][\w.]*)\))?\s*"
)
_SECTION = re.compile(r"(?:Perftest|Transport|Secure) Configuration:")
_KEY = re.compile(r"(?=\t| {4})[ \t]+(?P<key>[A-Z][A-Za-z/ ]{1,40}?):(?: (?P<value>.*))?")
_ENVIRONMENT = (*("Publisher ID", "Subscriber ID", "Latency count", "Data Size", "Number of samples", "Domain", "XML File", "Nic", "Kind"),)
#: Features of the middleware that a run can request. They are settings, because no separate condition exists for them.
_SETTINGS = {
    "Asynchronous Publishing": "asynchronous_publishing",
    "Flow Controller": "flow_controller",
    "Use Multicast": "multicast",
    "Turbo Mode": "turbo_mode",
    "AutoThrottle": "auto_throttle",
    "TCP LAN/WAN mode": "tcp_mode",
}
_CHATTER = re.compile(
    r"\s*$|\s*\(Use \"-latencyTest\"|Setting timeout to [0-9]+ seconds|Sending [0-9]+ initialization pings|Finishing test|"
    r"Waiting for subscribers announcement|\[IMPORTANT\]|nohup: ignoring input|"
    r"RTI Connext .*[Ll]icense|Expires on |Pulled samples: +[0-9]|Samples (?:Ping|Pong) (?:Reader|Writer) Queue|"
    r"ProcessMessage: message content no valid|Latency results are only shown|"
    r"(?:If you are interested in latency results|increase the Pong frequency|Alternatively you can increase the number|"
    r"\(-numIter\) or the time for the test|are sending large data, make sure|in the Subscriber side\.)|"
    r"(?:DDS|NDDS|RTI|MIG|REDA)[A-Za-z]*_\w{3,80}:"  # lines that the middleware logs: the name of a function, then a message
)
_FAILURE = re.compile(
    r"\s*(?:Batching cannot be used (?:in|with) |\[Error\]|command terminated with exit code [1-9]|Segmentation fault|Backtrace:|"
    r"terminate called after throwing )"
)
_NO_LATENCY = re.compile(r"No Pong samples have been received")
_DISCOVERY = re.compile(r"Waiting to discover (?P<count>[0-9]{1,6}) (?P<whom>publishers|subscribers) ?\.\.\.")
_STARTED = re.compile(r"(?:Waiting for|Publishing|Sending) data ?\.\.\.")
_ENDED = re.compile(r".{0,32}Test ended\.\s*")  # If a run uses TLS, other bytes may be before this line.
_CUSTOM_TYPE = re.compile(r"Custom Type provided: '(?P<type>[^']{1,200})'")
_MODE = re.compile(r"Mode: (?P<mode>LATENCY|THROUGHPUT) TEST")
_SKEW = re.compile(r"Clock skew suspected: received time -?[0-9]{1,20} usec, sent time -?[0-9]{1,20} usec")
_SKEWED = re.compile(r"The following latency result may not be accurate because clock skew happens [0-9]+ times")
_PONGS = re.compile(r"Too many latency pongs received\.")
_LATENCY_COUNT = re.compile(r"1 latency sample every ([0-9]{1,12}) samples")
_YES = {"Yes": True, "No": False}


def without_skew_notices(line: Line) -> tuple[Line, bool]:
    """Return the line without the notices of clock skew at its beginning, and whether it had such notices.

    Older versions print them without a line end.
    """
    end = 0
    while notice := _SKEW.match(line.text, end):
        end = notice.end()
    return (line._replace(text=line.text[end:]), True) if end else (line, False)


def begins_run(text: str) -> bool:
    """Whether the text is the version line, with which every run begins."""
    return _VERSION.match(text) is not None


class Banner:
    """The known facts about the current run: its conditions, its progress, and the marks that its next summary of latencies gets."""

    def __init__(self) -> None:
        self.conditions = Conditions()
        self._settings: dict[str, str] = {}
        self.marks: set[str] = set()
        self._custom_type: str | None = None
        self._inside = False
        self._throughput_test = False
        self._discovering: str | None = None
        self._running = self._failed = self._crashed = self._ended = False

    def take(self, line: Line) -> Finding | None:
        """Return the finding of a line that is no result; ``None`` if the line is unknown."""
        text = line.text
        if version := _VERSION.match(text):
            self._inside = True
            commit = {"rti_perftest_commit": version["commit"]} if version["commit"] else {}
            return Finding(line, Facts(tool_version=version["version"], system_version=version["system"], environment=commit))
        if mark := _mark_of_notice(text):
            self.marks.add(mark)
            return Finding(line, None)
        if _FAILURE.match(text):
            first, self._failed = not self._failed or self._crashed, True
            self._crashed = text.startswith("Backtrace")  # The next line states the cause more exactly.
            return Finding(line, Facts(status="failed", reason=text.strip()) if first else None)
        if _NO_LATENCY.match(text):
            return Finding(line, Facts(reason=text.strip()))
        return self._progress(line) or self._configuration(line) or (Finding(line, None) if _CHATTER.match(text) else None)

    def close(self, *, results: bool) -> Iterator[Finding]:
        """Yield how the run ended, according to its progress lines and its results."""
        if self._failed:
            return
        if self._discovering:
            yield Finding(None, Facts(status="failed", reason=f"the log stops at {self._discovering!r}"))
        elif self._running:
            yield Finding(None, Facts(status="truncated", reason="the log stops before 'Test ended.'"))
        elif self._ended and results:
            yield Finding(None, Facts(status="ok"))

    def _progress(self, line: Line) -> Finding | None:
        if discovery := _DISCOVERY.match(line.text):
            self._inside, self._discovering = False, line.text.strip()
            count = int(discovery["count"])
            return self._learn(line, Conditions(publishers=count) if discovery["whom"] == "publishers" else Conditions(subscribers=count))
        if _STARTED.match(line.text):
            self._discovering, self._running, self._ended = None, True, False
        elif _ENDED.fullmatch(line.text):
            self._discovering, self._running, self._ended = None, False, True
        else:
            return None
        return Finding(line, None)

    def _configuration(self, line: Line) -> Finding | None:
        if mode := _MODE.match(line.text):
            self._inside, self._throughput_test = True, mode["mode"] == "THROUGHPUT"
            return self._learn(line, Conditions(load_mode="max-rate" if self._throughput_test else "closed"))
        if custom := _CUSTOM_TYPE.match(line.text):
            self._custom_type = custom["type"]
            return self._learn(line, Conditions(type=custom["type"]))
        if _SECTION.match(line.text):
            self._inside = True
            return Finding(line, None)
        if self._inside and (key := _KEY.fullmatch(line.text)):
            return self._take_key(line, key["key"], (key["value"] or "").strip())
        return Finding(line, None) if self._inside and line.text.startswith("\t") else None

    def _learn(self, line: Line, conditions: Conditions, environment: dict[str, str] | None = None) -> Finding:
        self.conditions = conditions.over(self.conditions)
        return Finding(line, Facts(conditions=conditions, environment=environment or {}))

    def _take_key(self, line: Line, key: str, value: str) -> Finding:
        environment = {"rti_" + re.sub(r"\W+", "_", key.lower()): value} if key in _ENVIRONMENT and value else {}
        if key == "Latency count" and (every := _LATENCY_COUNT.fullmatch(value)):
            environment["messages_per_latency_sample"] = every[1]
        if key in _SETTINGS and value:
            self._settings[_SETTINGS[key]] = value
            return self._learn(line, Conditions(settings=settings_text(self._settings)))
        if key == "Dynamic Data" and value.startswith("Yes"):
            return self._learn(line, Conditions(type=f"{self._custom_type}, dynamic" if self._custom_type else "dynamic"))
        if read := _CONDITIONS.get(key):
            conditions = read(value)
            if not self._throughput_test:
                conditions = msgspec.structs.replace(conditions, load_mode=None)  # A ping-pong is always a closed loop.
            return self._learn(line, conditions, environment)
        return Finding(line, Facts(environment=environment) if environment else None)


def _mark_of_notice(text: str) -> str | None:
    if _SKEWED.match(text):
        return "clock_skew"
    return "extra_answers" if _PONGS.match(text) else None


def _batching(value: str) -> Conditions:
    size = re.match(r"([0-9]{1,12}) Bytes", value)
    return Conditions(batch_bytes=int(size[1]) if size else 0 if value.startswith(("No", "Disabled")) else None)


def _rate(value: str) -> Conditions:
    if rate := re.match(r"([0-9]{1,12}) Samples/s", value):
        return Conditions(load_mode="paced", offered_rate_per_s=float(rate[1]) or None)
    return Conditions(load_mode="paced" if re.match(r"[0-9]{1,18} bps", value) else None)


def _duration(value: str) -> Conditions:
    seconds = re.fullmatch(r"([0-9]{1,9}) seconds", value)
    return Conditions(planned_duration_s=float(seconds[1]) or None if seconds else None)


_CONDITIONS: Mapping[str, Callable[[str], Conditions]] = {
    "Reliability": lambda value: Conditions(reliability="reliable" if value == "Reliable" else "best-effort" if value == "Best Effort" else None),
    "Keyed": lambda value: Conditions(keyed=_YES.get(value)),
    "Batching": _batching,
    "Publication Rate": _rate,
    "Execution time": _duration,
    "Receive using": lambda value: Conditions(waiting=value.lower() if value in ("Listeners", "WaitSets") else None),
    "FlatData": lambda value: Conditions(data_path="flat-data" if value == "Yes" else "copy" if value == "No" else None),
    "Zero Copy": lambda value: Conditions(data_path="zero-copy" if value.startswith("Yes") else None),
    "Kind": lambda value: Conditions(transport=value.partition(" (")[0] or None),
}
