"""The text of iperf3: interval rows, and after a second header a row of the sender and a row of the receiver.

Source: the reports of iperf3 3.12, logs recorded with it, and logs of 3.0 and 3.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from tacholog.formats.iperf3.results import BOTH, EITHER, RECEIVED, SENT, SERVER_TO_CLIENT, IperfTest, all_lost, of_date, processors, record_of
from tacholog.formats.kit import Broken, Cell, Cells, Facts, Finding, Line, Record, printed

_HEADER = re.compile(
    r"\[ ID\](?:\[Role\])? Interval {11}Transfer {5}(?P<rate>Bitrate|Bandwidth)"
    r"(?:(?P<columns> {7,9}Retr(?: {2}Cwnd)?| {7,9}Total Datagrams| {7,9}Jitter {4}Lost/Total Datagrams)(?: {10}RTT)? *)?"
)
_ROW_MARK = re.compile(r"\[(?: *[0-9]{1,5}|SUM)\](?:\[[TR]X-[CS]\])? {1,4}[0-9]{1,6}\.[0-9][0-9]-")
_ROW = re.compile(
    r"\[(?P<id> *[0-9]{1,5}|SUM)\](?:\[(?P<role>[TR]X-[CS])\])? {1,4}(?P<start>[0-9]{1,6}\.[0-9][0-9])-(?P<end>[0-9]{1,6}\.[0-9][0-9]) {1,5}sec"
    r" {1,4}(?P<transfer>[0-9]{1,7}(?:\.[0-9]{1,2})?) (?P<transfer_unit>[KMGT]?)Bytes"
    r" {1,4}(?P<rate>[0-9]{1,9}(?:\.[0-9]{1,2})?) (?P<rate_unit>[KMGT]?)(?P<rate_of>bits|Bytes)/sec"
    r"(?: {2,24}(?P<count>[0-9]{1,12})(?: {1,4}(?P<cwnd>[0-9]{1,7}(?:\.[0-9]{1,2})?) [KMGT]?Bytes(?: {1,9}[0-9]{1,9}ms)?)?"
    r"| {2}(?P<jitter>[0-9]{1,15}\.[0-9]{3}) ms {2}(?P<lost>-?[0-9]{1,12})/(?P<datagrams>[0-9]{1,12})"
    r" \((?:-?nan|-?[0-9.]{1,9}(?:e[-+][0-9][0-9])?)%\))?"
    r"(?: {2,30}(?P<word>sender|receiver|\(omitted\)))? *"
)
_OF_A_SENDER = {"retr", "cwnd", "datagrams"}  # The last column of a sender's interval rows is one of these.
_PADDED = range(3, 40)  # The number of blanks after a count of retransmissions. After a count of datagrams there are two blanks.
_SUMMARY = "Test Complete. Summary Results:"
_NO_JITTER = " " * 12  # The blanks before a sender's count of datagrams, if the header has a jitter column.
_DASHES = "- " * 25
_DONE = "iperf Done."
_STARTS = re.compile(r"iperf3: |Connecting to host |Accepted connection from |Server output:")

_CLIENT = re.compile(r"Connecting to host \S{1,255}, port [0-9]{1,5}")
_ACCEPTED = re.compile(r"Accepted connection from \S{1,64}, port [0-9]{1,5}")
_STREAMS = 1000
_OTHER_PROTOCOL = Broken("a row of a protocol that the test does not use")
_RULES = {"sender": SENT, "receiver": RECEIVED, "both": BOTH, "": EITHER}
_STREAM = re.compile(r"\[(?P<id> {0,2}[0-9]{1,5})\](?:\[[TR]X-[CS]\])? local \S{1,64} port [0-9]{1,5} connected (?:to|with) \S{1,64} port [0-9]{1,5}")
_START = re.compile(
    r"Starting Test: protocol: (?P<protocol>TCP|UDP|SCTP), (?P<streams>[0-9]{1,4}) streams, (?P<block>[0-9]{1,9}) byte blocks, "
    r"omitting [0-9]{1,6} seconds, (?:(?P<seconds>[0-9]{1,6}) second test|[0-9]{1,18} (?:bytes|blocks) to send)"
    r"(?:, tos [0-9]{1,3}(?:, target bitrate \S{1,20})?)?"
)
_PROCESSORS = re.compile(
    r"CPU Utilization: local/(?P<role>sender|receiver) (?P<local>{0})% \((?P<local_user>{0})%u/(?P<local_system>{0})%s\), "
    r"remote/(?:sender|receiver) (?P<remote>{0})% \((?P<remote_user>{0})%u/(?P<remote_system>{0})%s\)".replace("{0}", r"[0-9]{1,5}\.[0-9]")
)
_TIME = re.compile(r"Time: (?P<date>.{1,60})")
_VERSION = re.compile(r"iperf (?P<version>3\.[0-9][\w.+-]{0,20})")
_STOPPED = re.compile(r"iperf3: (?P<reason>(?:interrupt - )?the (?:client|server) has (?:terminated|unexpectedly closed the connection))")
_FAILED = re.compile(r"iperf3: (?:error - )?(?P<reason>.{1,300})")
_CHATTER = re.compile(
    r"Reverse mode, remote host \S{1,255} is sending|"
    r" {0,8}-{20,80}|Server listening on \S{1,10}(?: \(test #[0-9]{1,9}\))?|Control connection MSS [0-9]{1,6}|"
    r" +Cookie: \S{1,64}| +TCP MSS: .{1,40}| +Target Bitrate: .{1,40}|Test Complete\. Summary Results:|(?:snd|rcv)_tcp_congestion \w{1,20}|"
    r"\[(?:SUM| {0,2}[0-9]{1,5})\] Sent [0-9]{1,12} datagrams|"
    r"\[(?:SUM| {0,2}[0-9]{1,5})\](?:\[[TR]X-[CS]\])? {1,4}[0-9.]{1,9}-[0-9.]{1,9} {1,5}sec {1,4}[0-9]{1,12} datagrams received out-of-order|"
    r"\[(?:SUM| {0,2}[0-9]{1,5})\](?:\[[TR]X-[CS]\])? \((?:sender|receiver) statistics not available\)|"
    r"(?i:warning): .{1,300}|Increasing socket buffer size to [0-9]{1,12}|"
    r"Finished omit period, starting real test|Using TCP Autotuning|TCP window size: .{1,40}|"
    r"(?:Linux|Darwin|FreeBSD|NetBSD|OpenBSD|SunOS|CYGWIN_NT-\S{1,20}|Windows\S{0,10}) .{1,300}|"
    # The tool prints these lines with -d, and for UDP with -V. After the words for parameters and results, JSON follows.
    r"(?:send|get)_(?:parameters|results):?|(?:SO_)?(?:SND|RCV)BUF is [0-9]{1,12}(?:, expecting [0-9]{1,12})?|Congestion algorithm is \w{1,20}|"
    r"Setting (?:UDP block size|application pacing|fair-queue socket pacing) to [0-9]{1,20}|"
    r"interval forces keep|ignoring short interval with no data|"
    r"sent [0-9]{1,12} bytes of [0-9]{1,12}, (?:pending [0-9]{1,12}, )?total [0-9]{1,20}|interval_len [0-9.]{1,20} bytes_transferred [0-9]{1,20}|"
    r"tcpi_snd_cwnd [0-9]{1,12} tcpi_snd_mss [0-9]{1,12} tcpi_rtt [0-9]{1,12}|pcount [0-9]{1,20} packet_count [0-9]{1,20}|"
    r"(?:State change: |Reading new State from |Sending Connect message to Socket |Connect received for Socket ).{1,200}"
)
# An unknown line that matches may be a damaged line of iperf3. Then later lines may belong to another test, or have other columns.
_SUSPECT = re.compile(r"ID\]|Interval|Transfer|Bitrate|Bandwidth|Retr\b|Datagrams|Connecting|Accepted|Starting|streams|Server out|connected| port ")
_OPENINGS = ("[ ID] Interval", "Connecting to", "Accepted connection", "Starting Test:", "Server output:")
_ANNOUNCEMENT = re.compile(r"\[ {0,2}(?:[0-9]{1,5}(?:\](?:\[[TR]X-[CS]\])? ?(?:l|lo|loc|loca|local.{0,200})?)?)?")


class TextReport:
    """Reads the tests of a log, one after another. The first lines of a test describe its rows."""

    def __init__(self) -> None:
        self._is_summary = False
        self._new_test()
        self._is_server_output = False
        self._may_receive = False  # Whether this side may receive data: it is a server, or a client of a reverse test.
        self._is_reverse = self._is_server = False
        self.client_is_running = False
        self._are_mixed = False  # Whether the lines of a client and of a server are mixed.
        self._all_lost: Record | None = None  # The latest result whose datagrams were all lost. It waits in `_unproven`.
        self._unproven: list[tuple[Line, Record]] = []

    def take(self, line: Line) -> Iterator[Finding]:
        """Read one line."""
        for finding in self._take(line):
            if finding.what is self._all_lost and finding.what is not None:
                self._unproven.append((line, finding.what))
            else:
                yield finding
        if line.text == _DONE:
            yield from (Finding(row, record) for row, record in self._unproven)
            self._unproven = []
        elif self._unproven and (_STARTS.match(line.text) or len(self._unproven) > _STREAMS):
            yield from self.close()

    def close(self) -> Iterator[Finding]:
        """End the test or the log. Results in `_unproven` become broken, because the receiver's figures may never have arrived."""
        lost = Broken("nothing received, and the end of the test is missing: the receiver's figures may never have arrived")
        unproven, self._unproven = self._unproven, []
        yield from (Finding(line, lost) for line, _ in unproven)

    def _take(self, line: Line) -> Iterator[Finding]:
        text = line.text
        if _ROW_MARK.match(text):
            yield Finding(line, self._row(line))
            self._was_dashes, self._has_begun = False, True
            return
        if header := _HEADER.fullmatch(text):
            self._use_header(header)
            yield Finding(line, None)
        elif text.rstrip() == _DASHES.rstrip():
            yield Finding(line, None)
            self._was_dashes, self._awaits_word = True, self._has_begun
            return
        else:
            yield from self._about_the_test(line)
            self._was_dashes |= text == _SUMMARY

    def _use_header(self, header: re.Match[str]) -> None:
        """Read a header. The first header of a test is for the intervals, the second header for the summary."""
        # A third header belongs to another test, whose first lines are lost.
        if self._is_summary:
            self._test, self._has_all_streams = IperfTest(), False
            self._last_row.clear()
            self._summed.clear()
            self._sent.clear()
        columns = header["columns"] or ""
        self._columns = "jitter" if "Jitter" in columns else (columns.split() or [""])[-1].lower()
        # Dashes between the announcement of a stream and its first row belong to another log, so they do not count here.
        self._is_old, self._is_behind_dashes = header["rate"] == "Bandwidth", self._was_dashes and (self._has_begun or not self._streams)
        self._is_summary = self._was_dashes or self._has_begun or self._columns == "retr"
        self._has_begun, self._was_dashes, self._awaits_word = True, False, False
        # A server does not state that a test is reverse. In a reverse test, the server sends, so its header has the columns of a sender.
        # A header with roles is not used here, because it always has the columns of both sides.
        self._is_reverse |= self._is_server and self._columns in _OF_A_SENDER and "[Role]" not in header[0]

    def _new_test(self) -> None:
        self._forget()
        self._streams: set[str] = set()
        self._roles: dict[str, str] = {}  # The role of each stream, if both directions are tested at the same time. A role never changes.
        self._last_row: dict[str, str] = {}
        self._summed: set[str] = set()  # The streams whose summary for both sides has been read.
        self._sent: dict[str, int] = {}  # For each stream: the number of sent datagrams in its summary.
        self._has_begun = self._is_summary = self._is_behind_dashes = self._was_dashes = self._is_old = False
        self._awaits_word = False  # Whether the previous line was dashes. Then the next row may be a summary whose header is lost.

    def _forget(self) -> None:
        """Forget the test, because later lines may belong to another test, or the announcement of a stream may be lost."""
        self._test, self._columns, self._has_all_streams = IperfTest(), "none", False

    def _about_the_test(self, line: Line) -> Iterator[Finding]:
        text = line.text
        if _CLIENT.fullmatch(text) or _ACCEPTED.fullmatch(text):
            self._new_test()
            self._has_all_streams = True
            self._may_receive = self._is_server = text.startswith("Accepted")
            self._is_reverse = False
            self._are_mixed = self._is_server and self.client_is_running and not self._is_server_output
            self.client_is_running |= text.startswith("Connecting")
            if (
                line.time and self._is_server and not self._is_server_output
            ):  # This is the start of the test: a server may have waited for its client for a long time.
                yield Finding(line, Facts(start_time=line.time))
                return
        elif stream := _STREAM.fullmatch(text):
            if self._has_begun:
                self._new_test()
            self._streams |= {stream["id"].strip()} if len(self._streams) < _STREAMS else set()
            self._has_all_streams &= len(self._streams) < _STREAMS
        elif start := _START.fullmatch(text):
            self._test = IperfTest(start["protocol"], int(start["block"]), int(start["streams"]), float(start["seconds"] or 0) or None)
        elif text == "Server output:":
            self._new_test()
            self._is_server_output = True
        elif text == _DONE:
            self._is_server_output = self.client_is_running = False
            yield Finding(line, Facts(status="ok"))
            return
        elif not text.strip():
            if not self._has_begun:
                self._has_all_streams = False  # A damaged announcement may look like an empty line.
        elif not _CHATTER.fullmatch(text):
            yield from self._of_the_run(line)
            return
        elif text.startswith("Reverse mode"):
            self._may_receive = self._is_reverse = True
        yield Finding(line, None)

    def _of_the_run(self, line: Line) -> Iterator[Finding]:
        if moment := _TIME.fullmatch(line.text):
            yield Finding(line, Facts(start_time=of_date(moment["date"])))
        elif version := _VERSION.fullmatch(line.text):
            if self._has_begun:
                self._new_test()
            yield Finding(line, Facts(tool_version=version["version"]))
        elif line.text.startswith("CPU Utilization: "):
            yield Finding(line, self._processors(line))
            self._forget()
        elif stopped := _STOPPED.fullmatch(line.text):
            self.client_is_running = False
            yield Finding(line, Facts(status="truncated", reason=stopped["reason"]))
        elif failed := _FAILED.fullmatch(line.text):
            self.client_is_running = False
            yield Finding(line, Facts(status="failed", reason=failed["reason"]))
        elif self._is_suspect(line.text):
            self._forget()

    def _is_suspect(self, text: str) -> bool:
        is_opening = any(opening.startswith(text.rstrip()) for opening in _OPENINGS)
        return is_opening or _SUSPECT.search(text) is not None or (not self._has_begun and _ANNOUNCEMENT.fullmatch(text) is not None)

    def _processors(self, line: Line) -> Record | Broken:
        match = _PROCESSORS.fullmatch(line.text)
        if match is None:
            return Broken("processor times that are cut short or garbled")
        test = msgspec.structs.replace(self._test, streams=self._number_of_streams(2 if self._roles else 1))
        shares = {name.replace("_", "-"): cell for name, cell in Cell.named(match).items() if name != "role"}
        numbers = [printed("cpu", name, float(share), 0.1, zero_is_exact=True, cell=share) for name, share in shares.items()]
        return processors(test, numbers, SERVER_TO_CLIENT if self._is_reverse else None)

    def _row(self, line: Line) -> Record | Broken | None:
        row = _ROW.fullmatch(line.text)
        if row is None or not line.whole:
            return Broken("a row that is cut short or garbled")
        if self._are_mixed:
            return Broken("the lines of a client and of a server are mixed: it is unknown which of them printed this row")
        self._has_all_streams &= self._is_announced(row) and (row["id"] != "SUM" or len(self._streams) > 1)
        if row["word"] == "(omitted)" and self._fits(row):
            return None
        if self._is_summary and self._last_row.get(_series(row)) == line.text:
            return None  # If a test is interrupted, the tool prints the last interval again, under another header.
        if trouble := self._why_unplaced(row):
            return Broken(trouble)
        if self._fits(row):
            return self._result(row)
        return Broken("a row that does not fit its header" if self._columns != "none" else "a row without the header of its columns")

    def _why_unplaced(self, row: re.Match[str]) -> str | None:
        if self._is_of_both(row):
            is_second = _series(row) in self._summed
            self._summed |= {_series(row)} if len(self._summed) < _STREAMS else set()
            if float(row["start"]) > 0:
                return "a summary that does not begin at the start of the test"
            return "a second summary of one stream" if is_second else None
        if self._is_summary or row["word"]:
            return None
        # Up to 3.1, UDP rows of intervals and of summaries look the same.
        is_unclear = self._is_old and row["jitter"]
        if is_unclear and (not self._streams or not self._may_receive):
            return "it is unknown whether this row is an interval or a summary"
        last = _ROW.fullmatch(self._last_row.get(_series(row), ""))
        if (is_unclear or self._awaits_word) and last and float(row["start"]) < float(last["end"]):
            return "an interval that begins before the last one ended" if is_unclear else "a summary that does not state its side, or is cut short"
        self._awaits_word = False
        return None

    def _result(self, row: re.Match[str]) -> Record | Broken:
        if len(self._last_row) < _STREAMS or _series(row) in self._last_row:
            self._last_row[_series(row)] = row[0]
        cells, side, test = _cells(row, self._columns), self._stated_side(row), self._test_of(row)
        is_summary = side == "both" or bool(row["word"])
        record = record_of(_RULES[side], cells, test or self._test, "summary" if is_summary else "interval", self._participant(row))
        if isinstance(record, Broken) or test is None:
            return record if isinstance(record, Broken) else _OTHER_PROTOCOL
        if is_summary and side == "sender" and cells.get("datagrams"):
            self._sent[_series(row)] = cells["datagrams"]
        if is_summary and side != "sender" and self._shows_no_datagrams(row, cells):
            if not cells["transfer"] and _series(row) not in self._sent:
                return Broken("nothing received, and no row says that anything was sent")
            record = all_lost(cells, test, self._participant(row), self._sent.get(_series(row)))
            self._all_lost = record if isinstance(record, Record) else None
        return record

    def _shows_no_datagrams(self, row: re.Match[str], cells: Cells) -> bool:
        counts_none = row["jitter"] is not None and not cells["datagrams"] and not cells["lost"] and not (row["word"] and cells["transfer"])
        # A server's row proves nothing, because a server does not know how much was sent.
        return not self._is_server and not self._is_server_output and counts_none

    def _fits(self, row: re.Match[str]) -> bool:
        if self._is_summary and row["word"] not in {"sender", "receiver"} and not self._is_of_both(row):
            return False
        return (
            self._is_announced(row) and self._keeps_its_role(row) and (self._columns in _possible_headers(row) or self._is_received_under_cwnd(row))
        )

    def _is_announced(self, row: re.Match[str]) -> bool:
        return row["id"] == "SUM" or not self._streams or row["id"].strip() in self._streams

    def _is_received_under_cwnd(self, row: re.Match[str]) -> bool:
        """Whether this is a row of received data below the header of a sender.

        A client prints this header if a reverse test ends before the client's first report.
        """
        return self._is_reverse and not self._is_summary and self._columns == "cwnd" and not (row["count"] or row["jitter"] or row["word"])

    def _keeps_its_role(self, row: re.Match[str]) -> bool:
        if not row["role"] or row["id"] == "SUM" or (row["id"] not in self._roles and len(self._roles) >= _STREAMS):
            return True
        return self._roles.setdefault(row["id"], row["role"]) == row["role"]

    def _is_of_both(self, row: re.Match[str]) -> bool:
        return bool(self._is_old and self._is_behind_dashes and row["jitter"] and not row["word"])

    def _stated_side(self, row: re.Match[str]) -> str:
        if row["word"]:
            return row["word"]
        if self._is_of_both(row):
            return "both"
        if row["role"]:
            return "sender" if row["role"].startswith("TX") else "receiver"
        if row["count"]:
            return "sender"
        return "receiver" if row["jitter"] else ""

    def _test_of(self, row: re.Match[str]) -> IperfTest | None:
        by_columns = {"": None, "datagrams": "UDP", "jitter": "UDP"}.get(self._columns, "TCP")
        if by_columns and self._test.transport and by_columns != self._test.transport:
            return None
        streams = self._number_of_streams(2 if row["role"] else 1)
        return msgspec.structs.replace(self._test, transport=self._test.transport or by_columns, streams=streams)

    def _number_of_streams(self, directions: int) -> int | None:
        """Return the number of streams in a direction. If the log does not state it, announcements are counted, unless one may be missing."""
        if self._test.streams is not None or not self._has_all_streams:
            return self._test.streams
        number, remainder = divmod(len(self._streams), directions)
        return number if number and not remainder else None

    def _participant(self, row: re.Match[str]) -> str | None:
        directions = 2 if row["role"] else 1
        is_reverse = row["role"] in {"RX-C", "TX-S"} if row["role"] else self._is_reverse
        words = ["server output"] if self._is_server_output else []
        words += [SERVER_TO_CLIENT] if is_reverse else []
        # A stream is named only if its direction has several streams.
        words += [f"stream {row['id'].strip()}"] if row["id"] != "SUM" and len(self._streams) != directions else []
        return ", ".join(words) or None


def _series(row: re.Match[str]) -> str:
    return f"{row['id']} {row['role'] or ''}"


def _possible_headers(row: re.Match[str]) -> set[str]:
    """Return the headers that a row may belong to. Each header is named by its last column."""
    is_receiver = row["word"] == "receiver" or (row["role"] or "").startswith("RX")
    if row["jitter"]:
        return {"jitter"}
    if row["cwnd"]:
        return {"cwnd"}
    if row["count"] and (row["role"] or "").startswith("TX") and f"/sec{_NO_JITTER}{row['count']}" in row[0]:
        return {"jitter"}  # If both directions are tested at the same time, one header is for sent and received data.
    if row["count"]:
        behind = len(row[0]) - len(row[0].rstrip())
        is_narrow = row[0].rstrip().endswith(f"/sec  {row['count']}") and behind not in _PADDED
        if is_narrow and not row["word"]:
            return {"datagrams"}
        return {"retr"} | ({"cwnd"} if row["id"] == "SUM" else set())
    return {"", "retr", "cwnd"} if is_receiver else {""}


def _cells(row: re.Match[str], columns: str) -> Cells:
    texts = Cell.named(row)
    if count := texts.pop("count", None):
        # The header shows what the count means.
        texts["retransmissions" if columns in {"retr", "cwnd"} else "datagrams"] = count
    return SENT.cells(texts, is_rate_of_bytes=row["rate_of"] == "Bytes")
