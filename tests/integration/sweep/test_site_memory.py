"""What repeats over the pages of a site is not what one of them is about; nobody else's lines are lost for that."""

import asyncio
import datetime as dt
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from monitor.db.tables.collection import Run, Source
from monitor.site_memory import PageMarks, SeenPage, SitePageKind
from monitor.steps import InProcessSteps
from tests.integration.sweep.test_recording import replayed

SECTIONS = (
    "Licences granted to operators of ferries",
    "Decisions on tariffs for regional water supply",
    "Consultations on the code of harbours",
    "Reports on inspections of railway bridges",
    "Orders on safety of cable cars",
    "Registers of approved testing laboratories",
)
SUBJECTS = ("ferries", "water", "harbours", "bridges", "cable cars", "laboratories", "airfields", "pipelines", "buses")
COOKIES = (
    "We use cookies to give you the best experience on this site and to understand how it is used. You can change "
    "your choice at any time on the page about cookies."
)
SITE = "Agency of Transport and Water"


def build_article(number: int, day: dt.date) -> str:
    """The site's name as h1 and as the page's name, the headline in bold, a notice in the middle of the text."""
    about = f"{SUBJECTS[number % len(SUBJECTS)]} in district {number}"
    text = [
        f"The agency has decided on new rules for {about} after a consultation from March to June. Many took part.",
        f"From next year, whoever runs {about} has to report each failure within {number + 2} days of its discovery.",
        f"Operators of {about} who do not comply pay a fine of up to {number + 1} million. Appeals go to the court.",
    ]
    return (
        f"<html><head><title>{SITE}</title></head><body><div class='top'><h1>{SITE}</h1></div><div class='main'>"
        f"<p class='headline'><b>{build_title(number)}</b></p><p class='date'>{day:%d %B %Y}</p>"
        f"<div class='body'><p>{text[0]}</p><p>{text[1]}</p></div><div class='note'><p>{COOKIES}</p></div>"
        f"<div class='body'><p>{text[2]}</p></div></div></body></html>"
    )


def build_title(number: int) -> str:
    return f"New rules for {SUBJECTS[number % len(SUBJECTS)]} in district {number}"


class Agency:
    """A site with six sections of undated rows and the same box of dated news on each."""

    def __init__(self, bureau: Any) -> None:
        self.bureau = bureau
        self.news: list[tuple[int, dt.date]] = []
        urls = [bureau.site.url(f"/s{place}/") for place in range(len(SECTIONS))]
        self.sections = [{"name": name, "url": url} for name, url in zip(SECTIONS, urls, strict=True)]
        bureau.options = {"sections": self.sections, "window_days": 30}

    def show(self, first_news: int) -> None:
        """Publish the sections, with eight news from this number on, one a day."""
        today = self.bureau.clock.today
        self.news = [(first_news + age, today - dt.timedelta(age)) for age in range(8)]
        box = "".join(
            f"<li><a href='/news/{n}.html'>{build_title(n)}</a> <span>{day}</span></li>" for n, day in self.news
        )
        for place, name in enumerate(SECTIONS):
            rows = "".join(f"<li><a href='/s{place}/{n}.html'>{name}, part {n}</a></li>" for n in range(5))
            self.bureau.site.on(
                f"/s{place}/",
                f"<html><head><title>{name.split()[0]} | Agency</title></head><body><div class='main'><h2>{name}</h2>"
                f"<ul>{rows}</ul></div><div class='latest'><h3>Latest news</h3><ul>{box}</ul></div></body></html>",
            )
            for number in range(5):
                self.bureau.site.on(f"/s{place}/{number}.html", build_article(100 * place + number, today))
        for number, day in self.news:
            self.bureau.site.on(f"/news/{number}.html", build_article(number, day))

    async def sweep(self) -> dict[int, set[str]]:
        """The paths of the candidates of each section."""
        run = await self.bureau.sweep()
        found: dict[int, set[str]] = defaultdict(set)
        for row in await self.bureau.store.runs.load_ledger(run.run_id):
            found[row.section].add(row.url.removeprefix(self.bureau.site.url("")))
        return found


@pytest.fixture
def agency(bureau: Any) -> Agency:
    return Agency(bureau)


async def test_a_box_of_news_on_every_section_is_no_sections_list_and_what_stays_for_weeks_is(agency: Agency) -> None:
    agency.show(first_news=20)
    before = await agency.sweep()
    assert any(path.startswith("/news/") for paths in before.values() for path in paths), "a box wins by itself"
    agency.bureau.clock.today += dt.timedelta(days=1)
    agency.show(first_news=17)
    own = {place: {f"/s{place}/{n}.html" for n in range(5)} for place in range(len(SECTIONS))}
    assert await agency.sweep() == own
    known = await agency.bureau.store.sections.load_repeats(1)
    for _ in range(5):
        agency.bureau.clock.today += dt.timedelta(days=7)
        assert await agency.sweep() == own
    assert await agency.bureau.store.sections.load_repeats(1) == known, "nothing was new, so nothing is learned"


def show_articles(bureau: Any, ages: Sequence[int], *, first: int = 1) -> None:
    """Publish a list of articles that are so many days old, the newest with the highest number."""
    numbered = [
        (first + len(ages) - 1 - place, bureau.clock.today - dt.timedelta(age)) for place, age in enumerate(ages)
    ]
    rows = "".join(f"<li><a href='/news/{n}.html'>{build_title(n)}</a> <span>{day}</span></li>" for n, day in numbered)
    bureau.site.on("/news/", f"<html><head><title>News</title></head><body><h2>News</h2><ul>{rows}</ul></body></html>")
    for number, day in numbered:
        bureau.site.on(f"/news/{number}.html", build_article(number, day))


async def read_items(bureau: Any, run: Any) -> list[tuple[str, str]]:
    """The titles and texts of the pages of a run's items."""
    found = []
    for item in run.items:
        snapshot = await bureau.store.revisions.get_snapshot(item.id)
        found.append((snapshot.page["title"], await bureau.store.items.get_text(item.id)))
    return found


async def test_a_notice_within_every_text_and_the_sites_name_are_not_the_articles(bureau: Any, tmp_path: Path) -> None:
    bureau.options = {"window_days": 30}
    show_articles(bureau, range(9))
    first = await bureau.sweep()
    assert all(title == SITE and COOKIES in text for title, text in await read_items(bureau, first))
    bureau.clock.today += dt.timedelta(days=1)
    show_articles(bureau, range(10))
    second = await bureau.sweep()
    ((title, text),) = await read_items(bureau, second)
    assert title == build_title(10)
    assert COOKIES not in text
    assert text.count("district 10") == 3, "its own lines are all there"
    for run in (first, second):
        assert (await replayed(bureau, tmp_path, run.run_id)).differences == []


async def test_what_is_read_better_is_no_revision(bureau: Any) -> None:
    bureau.options = {"window_days": 30}
    show_articles(bureau, range(9))
    first = await bureau.sweep()
    for _ in range(4):
        bureau.clock.today += dt.timedelta(days=1)
        await bureau.sweep()
    looks = sum(asked.path == "/news/9.html" for asked in bureau.site.asked)
    assert looks >= 2
    assert [await bureau.store.revisions.list_for_item(item.id) for item in first.items] == [[]] * len(first.items)


async def test_an_article_at_many_addresses_keeps_its_text(bureau: Any) -> None:
    bureau.options = {"window_days": 30}
    today = bureau.clock.today
    for day, paths in enumerate((range(8), range(10))):
        bureau.clock.today = today + dt.timedelta(days=day)
        rows = "".join(f"<li><a href='/news/{n}.html'>{build_title(n)}</a> <span>{today}</span></li>" for n in paths)
        bureau.site.on("/news/", f"<html><head><title>News</title></head><body><ul>{rows}</ul></body></html>")
        for path in paths:
            bureau.site.on(f"/news/{path}.html", build_article(3, today))
        run = await bureau.sweep()
    texts = [text for _, text in await read_items(bureau, run)]
    assert len(texts) == 2
    assert all(text.count("district 3") == 3 for text in texts)


async def test_a_run_that_was_killed_goes_on_with_what_was_known_at_its_start(bureau: Any, tmp_path: Path) -> None:
    bureau.options = {"window_days": 30}
    show_articles(bureau, range(9))
    await bureau.sweep()
    source = await bureau.store.sources.get(bureau.name)
    bureau.clock.today += dt.timedelta(days=1)
    show_articles(bureau, range(10))
    run = Run(id="s1-killed", source_id=source.id, source=source.name, planned_at=bureau.clock.now())
    await bureau.store.runs.create(run)
    reached = asyncio.Event()
    whole = bureau.site._replies["/news/10.html"]

    def answer(asked: Any) -> Any:
        reached.set()
        return whole

    bureau.site.on("/news/10.html", answer)
    first = asyncio.create_task(bureau.sweeps.execute(run.id, executor="one", steps=InProcessSteps()))
    await reached.wait()
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    await forget_site(bureau, source)
    assert (await bureau.sweeps.execute(run.id, executor="two", steps=InProcessSteps())).is_final
    ended = await bureau.sweeps.runs.get_full_report(run.id)
    ((title, text),) = await read_items(bureau, ended)
    assert (title, COOKIES in text) == (build_title(10), False)
    assert (await replayed(bureau, tmp_path, run.id)).differences == []


async def forget_site(bureau: Any, source: Source) -> None:
    """Fill the memory of the source's host with pages that share nothing."""
    day = bureau.clock.today + dt.timedelta(days=30)
    pages = [SeenPage(f"page {n}", SitePageKind.ARTICLE, f"{n}", PageMarks(lines=(n,))) for n in range(24)]
    await bureau.store.sections.remember_pages(source.id, [(bureau.site.host, page) for page in pages], day)
    assert not await bureau.store.sections.load_repeats(source.id)
