import datetime as dt

import pytest
from icalendar import Calendar

from monitor.exports.calendar import CalendarEvent, render_calendar

NOON = dt.datetime(2026, 11, 22, 12, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    "text", ["", "a", "关于储能，电价；的通知" * 40, "x" * 300, 'a,b;c\\d\\n\ne: "f"', "é" * 37 + "汉" * 50]
)
def test_any_text_comes_back_from_lines_of_at_most_75_octets(text: str) -> None:
    event = CalendarEvent(
        uid="deadline-1@monitor",
        stamp=NOON,
        sequence=2,
        day=dt.date(2026, 12, 31),
        summary=text,
        description=text,
        url="https://example.gov/1.html?a=1,2;b",
        category="施行",
    )
    body = render_calendar(text, [event])
    assert max(len(line) for line in body.split(b"\r\n")) <= 75
    (read,) = Calendar.from_ical(body).walk("VEVENT")
    assert (str(read["summary"]), str(read["description"]), str(read["url"])) == (text, text, event.url)
    assert (read["dtstart"].dt, read["dtend"].dt, read["dtstamp"].dt) == (event.day, dt.date(2027, 1, 1), NOON)
