"""Calendars of whole days as iCalendar files (RFC 5545)."""

import datetime as dt
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_MAX_LINE_OCTETS = 75
_ESCAPED = re.compile(r"[\\;,\n]")


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarEvent:
    """An event of a day; with the same `uid` and a higher `sequence` it takes the place of an earlier one."""

    uid: str
    stamp: dt.datetime
    sequence: int
    day: dt.date
    summary: str
    description: str
    url: str
    category: str


def render_calendar(name: str, events: Iterable[CalendarEvent]) -> bytes:
    """Return a calendar that programs are asked to read again every hour."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Monitor//Deadlines//EN", "METHOD:PUBLISH"]
    lines += ["REFRESH-INTERVAL;VALUE=DURATION:PT1H", f"X-WR-CALNAME:{_escape(name)}"]
    for event in events:
        lines += _iter_lines(event)
    return b"".join(_fold(line) for line in [*lines, "END:VCALENDAR"])


def _iter_lines(event: CalendarEvent) -> Iterator[str]:
    yield "BEGIN:VEVENT"
    yield f"SUMMARY:{_escape(event.summary)}"
    yield f"DTSTART;VALUE=DATE:{event.day:%Y%m%d}"
    yield f"DTEND;VALUE=DATE:{event.day + dt.timedelta(days=1):%Y%m%d}"
    yield f"DTSTAMP:{event.stamp.astimezone(dt.UTC):%Y%m%dT%H%M%SZ}"
    yield f"UID:{_escape(event.uid)}"
    yield f"SEQUENCE:{event.sequence}"
    yield f"CATEGORIES:{_escape(event.category)}"
    yield f"DESCRIPTION:{_escape(event.description)}"
    yield "TRANSP:TRANSPARENT"
    yield f"URL:{event.url}"
    yield "END:VEVENT"


def _escape(text: str) -> str:
    return _ESCAPED.sub(lambda sign: "\\n" if sign[0] == "\n" else f"\\{sign[0]}", text)


def _fold(line: str) -> bytes:
    """Return a line in pieces of at most 75 octets, none of which ends within a character."""
    octets, start = line.encode(), 0
    pieces: list[bytes] = []
    while len(octets) - start > (size := _MAX_LINE_OCTETS - bool(pieces)):
        end = start + size
        while octets[end] & 0b1100_0000 == 0b1000_0000:
            end -= 1
        pieces.append(octets[start:end])
        start = end
    return b"\r\n ".join([*pieces, octets[start:]]) + b"\r\n"
