"""A quarter of three offices: what they publish, change and take back, and what must become of it.

The sites are drawn from the plan of each policy; so is the table of what is due, which the program is held against.
Every text is invented.
"""

import datetime as dt
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from html import escape
from itertools import count
from typing import NamedTuple

from monitor.demo.serving import HOST, LoopbackRequest, LoopbackResponse, build_status_response, serve_loopback

FIRST_DAY = dt.date(2026, 3, 2)
REMINDER_DAYS = (7, 1)
TOPIC_WORDS = ("储能", "storage")
_ROWS_SHOWN = 40


class Due(NamedTuple):
    """A day of the calendar: what begins or ends on it, and the document that sets it."""

    title: str
    kind: str
    day: dt.date


class SentAlert(NamedTuple):
    """An alert: on which day it comes, of which document, and the days that it names."""

    on: dt.date
    kind: str
    title: str
    days: tuple[dt.date, ...] = ()


@dataclass
class Page:
    """A document on a site; `paragraphs` may hold {day} and {force} for the days that it states, as they are then."""

    site: str
    section: str
    number: int
    title: str
    on: dt.date
    paragraphs: str
    days: dict[str, list[tuple[dt.date, dt.date]]] = field(default_factory=dict)
    mended_on: dt.date | None = None

    @property
    def path(self) -> str:
        return f"/{self.section}/{self.number}.html"

    def get_day(self, name: str, today: dt.date) -> dt.date:
        return [day for since, day in self.days[name] if since <= today][-1]

    def build_text(self, today: dt.date) -> str:
        form = _SPELLINGS[self.site]
        text = self.paragraphs
        for name in self.days:
            text = text.replace(f"{{{name}}}", form(self.get_day(name, today)))
        is_mended = self.mended_on is not None and self.mended_on <= today
        return text.replace("{mended}", _MENDED[self.site] if is_mended else "")


@dataclass
class _Span:
    """A day that stands in the calendar from one day on until another."""

    title: str
    kind: str
    day: dt.date
    since: dt.date
    until: dt.date = dt.date.max


class World:
    """The three sites and what is true of them; `today` is the day that the sites show."""

    def __init__(self) -> None:
        self.today = FIRST_DAY
        self.pages: list[Page] = []
        self.spans: list[_Span] = []
        self.alerts: list[SentAlert] = []
        self.base_urls: dict[str, str] = {}
        self.policies: dict[str, list[Page]] = {}
        self._numbers = count(101)

    # What happens.

    def publish(
        self,
        site: str,
        on: dt.date,
        title: str,
        text: str,
        *,
        section: str = "policy",
        policy: str = "",
        **days: dt.date,
    ) -> Page:
        stated = {name: [(on, day)] for name, day in days.items()}
        page = Page(site, section, next(self._numbers), title, on, text, stated)
        self.pages.append(page)
        if policy:
            self.policies.setdefault(policy, []).append(page)
        if any(word in title for word in TOPIC_WORDS) and on > FIRST_DAY:
            self.alerts.append(SentAlert(on, "topic_match", title))
        return page

    def state(self, page: Page, kind: str, day: dt.date) -> None:
        """Hold that the page sets a day, which nobody has set before."""
        self.spans.append(_Span(page.title, kind, day, page.on))

    def move(self, page: Page, name: str, kind: str, on: dt.date, day: dt.date) -> None:
        """Change the day that a page states."""
        span = self._end(page.title, kind, on)
        page.days[name].append((on, day))
        self.spans.append(_Span(page.title, kind, day, on))
        self.alerts.append(SentAlert(on, "deadline_moved", page.title, (span.day, day)))

    def extend(self, page: Page, kind: str, notice: Page, day: dt.date) -> None:
        """Move a day by a document of its own."""
        span = self._end(page.title, kind, notice.on)
        self.spans.append(_Span(notice.title, kind, day, notice.on))
        self.alerts.append(SentAlert(notice.on, "deadline_moved", notice.title, (span.day, day)))

    def repeal(self, page: Page, decision: Page, force: dt.date) -> None:
        """Take back a document: what it sets for the days from `force` on is void."""
        self.alerts.append(SentAlert(decision.on, "repealed", decision.title))
        for span in self.spans:
            if span.title == page.title and span.until > decision.on and span.day >= force:
                span.until = decision.on

    def _end(self, title: str, kind: str, on: dt.date) -> _Span:
        (span,) = [span for span in self.spans if (span.title, span.kind) == (title, kind) and span.until > on]
        span.until = on
        return span

    # What is true.

    def list_due(self, on: dt.date) -> Counter[Due]:
        """The calendar of a day, with all that is past."""
        live = [span for span in self.spans if span.since <= on < span.until]
        return Counter(Due(span.title, span.kind, span.day) for span in live)

    def list_alerts(self, until: dt.date) -> Counter[SentAlert]:
        """Every alert up to a day."""
        alerts = [*self.alerts, *self._list_reminders()]
        return Counter(alert for alert in alerts if alert.on <= until)

    def _list_reminders(self) -> Iterator[SentAlert]:
        for span in self.spans:
            for mark in REMINDER_DAYS:
                on = span.day - dt.timedelta(days=mark)
                assert on != span.until, f"{span}: whether the reminder or the change comes first is open"
                if span.since <= on < span.until:
                    yield SentAlert(on, "deadline_near", span.title, (span.day,))

    def list_alert_days(self) -> set[dt.date]:
        return {alert.on for alert in [*self.alerts, *self._list_reminders()]}

    # What the sites show.

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for site in SITES:
                respond = self._build_responder(site)
                self.base_urls[site] = f"http://{HOST}:{await stack.enter_async_context(serve_loopback(respond))}"
            yield

    def _build_responder(self, site: str) -> Callable[[LoopbackRequest], LoopbackResponse]:
        visits = count(100)

        def respond(request: LoopbackRequest) -> LoopbackResponse:
            pages = [page for page in self.pages if page.site == site and page.on <= self.today]
            for section in ("policy", "news"):
                if request.target == f"/{section}/":
                    return _build_response(_draw_list(site, [page for page in pages if page.section == section]))
            for page in pages:
                if request.target == page.path:
                    return _build_response(_draw_page(page, self.today, next(visits)))
            return build_status_response(404)

        return respond


def _build_response(html: str) -> LoopbackResponse:
    return LoopbackResponse(200, "text/html; charset=utf-8", html.encode())


def spell_chinese(day: dt.date) -> str:
    return f"{day.year}年{day.month}月{day.day}日"


def _spell_english(day: dt.date) -> str:
    return f"{day.day} {day:%B %Y}"


_SPELLINGS = {"ministry": spell_chinese, "province": spell_chinese, "regulator": _spell_english}
SITES = tuple(_SPELLINGS)
_NAMES = {"ministry": "国家能源局", "province": "江南省能源局", "regulator": "Office of Grid Markets"}
_MENDED = {
    "ministry": "本页面的联系电话已经更正。",
    "province": "本页面的联系电话已经更正。",
    "regulator": "We have corrected a telephone number on this page.",
}


def _draw_list(site: str, pages: Sequence[Page]) -> str:
    newest = sorted(pages, key=lambda page: (page.on, page.number), reverse=True)[:_ROWS_SHOWN]
    rows = "".join(
        f'<li><a href="{page.path}">{escape(page.title)}</a><span class="date">{page.on}</span></li>' for page in newest
    )
    return f"<html><head><title>{_NAMES[site]}</title></head><body><h1>{_NAMES[site]}</h1><ul>{rows}</ul></body></html>"


def _draw_page(page: Page, today: dt.date, visits: int) -> str:
    is_english = page.site == "regulator"
    posted = f"Published: {page.on:%d %B %Y}" if is_english else f"发布时间：{page.on} 来源：{_NAMES[page.site]}"
    foot = f"Page views: {visits}" if is_english else f"浏览次数：{visits}"
    text = "".join(f"<p>{escape(line)}</p>" for line in page.build_text(today).split("\n") if line.strip())
    return (
        f"<html><head><title>{escape(page.title)}</title></head><body><h1>{escape(page.title)}</h1>"
        f'<div class="info">{posted}</div><div class="content">{text}</div><footer>{foot}</footer></body></html>'
    )
