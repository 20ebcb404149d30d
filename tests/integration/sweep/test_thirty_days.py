"""A bureau over thirty days, swept every morning: most days quiet, some not, and a few on which something breaks."""

import datetime as dt
from dataclasses import dataclass
from typing import Any

from monitor.db.queries.filters import ItemFilter
from monitor.db.tables.delivery import AlarmKind
from monitor.vocabulary import Phase, RunStatus

EMPTY = "<html><body><h1>栏目</h1><p>网站升级改版中，敬请谅解。</p></body></html>"
SECTIONS = {"news": "通知公告", "policy": "政策文件"}

OUTAGE = (10, 11)
LATE = 216
POSTED = {
    2: [200],
    5: [201, 202],
    7: [203],
    9: [204],
    11: [205],
    15: [206],
    17: [LATE],
    19: [207],
    25: [208],
    29: [209],
}
MONTHLY = {12: [300]}
# From a day on a section looks otherwise: no list that could be read, a list without its dates, as it was.
LAYOUTS = {"news": {6: "none", 8: "plain", 13: "undated", 20: "plain"}, "policy": {24: "none", 26: "plain"}}


@dataclass
class Document:
    number: int
    section: str
    date: dt.date
    posted: int

    @property
    def path(self) -> str:
        return f"/{self.section}/{self.number}.html"


class World:
    """What the bureau has published, and how it shows it."""

    def __init__(self, bureau: Any, reply: Any) -> None:
        self.bureau = bureau
        self.reply = reply
        self.first_day = bureau.clock.today
        self.documents = [self._old(100 + number, "news", 3 * number + 1) for number in range(8)]
        self.documents += [self._old(150 + number, "policy", 30 * number + 15) for number in range(8)]

    def _old(self, number: int, section: str, days_ago: int) -> Document:
        return Document(number, section, self.first_day - dt.timedelta(days=days_ago), 0)

    def live(self, day: int) -> None:
        """One more day: what is posted on it, and what the site answers."""
        today = self.bureau.clock.today = self.first_day + dt.timedelta(days=day)
        for section, plan in (("news", POSTED), ("policy", MONTHLY)):
            for number in plan.get(day, []):
                date = today - dt.timedelta(days=14) if number == LATE else today
                self.documents.append(Document(number, section, date, day))
        for section in SECTIONS:
            self._show(section, day)

    def layout(self, section: str, day: int) -> str:
        return [("plain"), *(how for since, how in LAYOUTS[section].items() if since <= day)][-1]

    def seen_on(self, document: Document) -> int:
        """The first day on which the document could be seen."""
        day = document.posted
        while day in OUTAGE or self.layout(document.section, day) == "none":
            day += 1
        return day

    def _show(self, section: str, day: int) -> None:
        mine = sorted(
            (document for document in self.documents if document.section == section),
            key=lambda document: document.date,
            reverse=True,
        )
        how = self.layout(section, day)
        pages = {f"/{section}/": EMPTY if how == "none" else _list(mine[:12], is_dated=how == "plain")}
        pages |= {entry.path: _article(entry) for entry in mine}
        for path, page in pages.items():
            self.bureau.site.on(path, self.reply("out of order", 503) if day in OUTAGE else page)


async def test_thirty_days(bureau: Any, model: Any, reply: Any) -> None:
    finish = {"id": "1", "type": "function", "function": {"name": "finish", "arguments": "{}"}}
    model.otherwise = {"role": "assistant", "content": None, "tool_calls": [finish]}
    bureau.options = {
        "sections": [{"name": name, "url": bureau.site.url(f"/{path}/")} for path, name in SECTIONS.items()]
    }
    world = World(bureau, reply)
    calls, statuses = {}, {}
    for day in range(31):
        world.live(day)
        run = await bureau.sweep()
        crawled = run.usage.by_phase.get(Phase.CRAWL)
        calls[day], statuses[day] = crawled.calls if crawled else 0, run.status

    # Every document was saved on the day on which it could first be seen, and the late one says so.
    saved = {item.url: item for item in await bureau.store.items.list(ItemFilter(), limit=None)}
    posted = [document for document in world.documents if document.posted]
    days = {
        entry.number: (saved[bureau.site.url(entry.path)].first_seen.date() - world.first_day).days for entry in posted
    }
    assert days == {document.number: world.seen_on(document) for document in posted}
    assert [url.rpartition("/")[2] for url, item in saved.items() if item.late] == [f"{LATE}.html"]
    assert all(saved[bureau.site.url(document.path)].date == document.date for document in posted)

    # A model is asked about a section on the days with something new, and on no other.
    news = {0, *(world.seen_on(document) for document in posted)}
    assert {day for day, number in calls.items() if number} == news
    assert [day for day, status in statuses.items() if status is RunStatus.FAILED] == list(OUTAGE)

    # Each change of layout raised its alarm that day, and no other day raised one.
    alarms = (await bureau.health.get_report(include_cleared=True)).alarms
    raised = {(alarm.raised_at.date() - world.first_day).days: (alarm.section, alarm.kind) for alarm in alarms}
    assert raised == {
        6: ("通知公告", AlarmKind.STRUCTURE),
        13: ("通知公告", AlarmKind.DATES_LOST),
        24: ("政策文件", AlarmKind.STRUCTURE),
    }
    over = {(alarm.cleared_at.date() - world.first_day).days for alarm in alarms}
    assert (len(alarms), over) == (3, {8, 20, 26})
    assert len(bureau.notices.received) == 3


def _list(documents: list[Document], *, is_dated: bool) -> str:
    rows = "".join(
        f'<li><a href="{document.path}">关于{document.section}有关事项的第{document.number}号通知</a>'
        + (f"<span>{document.date}</span>" if is_dated else "")
        + "</li>"
        for document in documents
    )
    return f"<html><head><title>栏目</title></head><body><ul class='list'>{rows}</ul></body></html>"


def _article(one: Document) -> str:
    title = f"关于{one.section}有关事项的第{one.number}号通知"
    body = "各有关单位：为做好本年度工作，现将有关事项通知如下，请认真贯彻执行，并于月底前报送工作总结材料。" * 3
    head = f"<head><title>{title}</title></head>"
    return f"<html>{head}<body><h1>{title}</h1><p>发布时间：{one.date}</p><p>{body}</p></body></html>"
