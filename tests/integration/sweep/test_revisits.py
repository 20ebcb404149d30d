"""Looking again at the pages of items: what changed is kept and said, and nothing else is."""

import asyncio
import datetime as dt
from typing import Any

import pytest
from sqlalchemy import delete

from monitor.db.queries.filters import ItemFilter
from monitor.db.tables.evidence import ItemSnapshot
from monitor.i18n.catalogue import render
from monitor.page import ChangeKind, EditOperation
from monitor.services.audit import COMMAND_LINE
from tests.integration.conftest import Reply

LAW = (
    "第一条　为规范充电设施的运行管理，保障充电安全，提高服务质量，制定本办法。",
    "第二条　运营企业应当在充电设施显著位置公示企业名称、服务电话和收费标准。",
    "第三条　充电设施发生故障的，运营企业应当在48小时内修复，并向社会公告。",
    "第四条　运营企业违反本办法规定的，由主管部门责令改正，处一万元以上三万元以下罚款。",
    "第五条　本办法自2026年12月1日起施行，有效期五年，由市交通运输局负责解释。",
)
PDF = {"Content-Type": "application/pdf"}


def page(*paragraphs: str, views: int = 10, annex: bool = False) -> str:
    body = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    link = '<p><a href="/files/annex.pdf">附件：收费标准目录.pdf</a></p>' if annex else ""
    return (
        "<html><head><title>充电设施运行管理办法</title></head><body><h1>充电设施运行管理办法</h1>"
        f"<p>发布时间：2026-11-20　浏览次数：{views}</p><div class='TRS_Editor'>{body}</div>{link}</body></html>"
    )


def changed(article: str, was: str, now: str) -> list[str]:
    return [text.replace(was, now) if text.startswith(article) else text for text in LAW]


class Watched:
    """One regulation on the bureau's site, looked at again on later days."""

    def __init__(self, bureau: Any) -> None:
        self.bureau = bureau
        self.rows = bureau.rows(0, 400, 410, 420, 430, 440, 450)
        self.path = self.rows[0].path

    async def begin(self, html: str) -> None:
        self.bureau.show(self.rows)
        self.bureau.site.on(self.path, html)
        await self.bureau.sweep()

    async def after(self, days: int, reply: Any) -> list[Any]:
        """The revisions after a run so many days later, newest first."""
        self.bureau.clock.today += dt.timedelta(days=days)
        self.bureau.site.on(self.path, reply)
        await self.bureau.sweep()
        return await self.revisions()

    async def revisions(self) -> list[Any]:
        item = await self.item()
        return await self.bureau.store.revisions.list_for_item(item.id)

    async def item(self) -> Any:
        (item,) = await self.bureau.store.items.list(ItemFilter())
        return item

    def looks(self) -> int:
        return sum(asked.path == self.path for asked in self.bureau.site.asked)


@pytest.fixture
def watched(bureau: Any) -> Watched:
    return Watched(bureau)


async def test_a_changed_article_is_found_by_the_next_run_and_named(watched: Watched) -> None:
    await watched.begin(page(*LAW))
    (revision,) = await watched.after(1, page(*changed("第三条", "48小时", "24小时"), views=77))
    assert (revision.kind, revision.change.list_articles(EditOperation.CHANGED)) == (ChangeKind.CHANGED, ["第三条"])
    assert "48小时" in revision.before_text
    text = await watched.bureau.store.items.get_text((await watched.item()).id)
    assert "24小时" in text, "the item keeps the newest text"
    assert len(await watched.after(2, page(*changed("第三条", "48小时", "24小时")))) == 1, "it is said once"


async def test_a_counter_is_no_revision(watched: Watched) -> None:
    await watched.begin(page(*LAW))
    assert await watched.after(1, page(*LAW, views=5120)) == []
    assert watched.looks() == 2


async def test_pages_are_looked_at_with_falling_frequency(watched: Watched) -> None:
    await watched.begin(page(*LAW))
    days = []
    for day in range(1, 41):
        before = watched.looks()
        await watched.after(1, page(*LAW))
        days += [day] if watched.looks() > before else []
    assert days == [1, 3, 7, 30]


async def test_without_days_nothing_is_looked_at_again(watched: Watched) -> None:
    watched.bureau.settings.sweep.revisit_days = []
    await watched.begin(page(*LAW))
    await watched.after(3, page(LAW[0]))
    assert (watched.looks(), await watched.revisions()) == (1, [])


async def test_a_page_that_is_gone_is_said_to_be_once_two_runs_have_seen_it(watched: Watched) -> None:
    await watched.begin(page(*LAW))
    gone = Reply(status=404, body="not here")
    assert await watched.after(1, gone) == []
    (revision,) = await watched.after(1, gone)
    assert revision.kind is ChangeKind.WITHDRAWN
    assert len(await watched.after(2, gone)) == 1, "it is said once"
    assert await watched.bureau.store.items.get_text((await watched.item()).id), "what it said is kept"
    back = await watched.after(3, page(*LAW))
    assert [entry.kind for entry in back] == [ChangeKind.RESTORED, ChangeKind.WITHDRAWN]


async def test_a_page_that_fails_for_a_while_is_neither_changed_nor_gone(watched: Watched) -> None:
    await watched.begin(page(*LAW))
    failing = Reply(status=500, body="oops")
    assert await watched.after(1, failing) == []
    assert await watched.after(2, failing) == []
    snapshot = await watched.bureau.store.revisions.get_snapshot((await watched.item()).id)
    assert "500" in render(snapshot.failure, "en")
    (revision,) = await watched.after(4, page(*changed("第五条", "有效期五年", "有效期三年")))
    assert revision.change.list_articles(EditOperation.CHANGED) == ["第五条"], "compared with what was seen last"


async def test_a_page_missing_for_one_run_only_is_not_said_to_be_gone(watched: Watched) -> None:
    await watched.begin(page(*LAW))
    await watched.after(1, Reply(status=404))
    assert await watched.after(1, page(*LAW)) == []
    assert await watched.after(5, Reply(status=404)) == [], "the first sighting is long over"


async def test_a_loss_of_most_of_the_words_is_said_once_two_runs_have_seen_it(watched: Watched) -> None:
    await watched.begin(page(*LAW))
    assert await watched.after(1, page(*LAW[:2])) == []
    (revision,) = await watched.after(1, page(*LAW[:2]))
    assert revision.change.list_articles(EditOperation.REMOVED) == ["第三条", "第四条", "第五条"]


async def test_a_page_that_moved_is_followed(watched: Watched) -> None:
    await watched.begin(page(*LAW))
    target = watched.bureau.site.on("/gkml/2026/100.html", page(*LAW))
    there = Reply(status=301, headers={"Location": target})
    assert await watched.after(1, there) == []
    (revision,) = await watched.after(1, there)
    assert (revision.kind, revision.edits[0]["after"]) == (ChangeKind.MOVED, target)
    assert len(await watched.after(5, there)) == 1


async def test_an_annex_with_the_same_name_and_another_content_is_a_revision(watched: Watched) -> None:
    watched.bureau.site.on("/files/annex.pdf", Reply(b"%PDF-1.4 the annex", headers=PDF))
    await watched.begin(page(*LAW, annex=True))
    assert await watched.after(1, page(*LAW, annex=True)) == []
    watched.bureau.site.on("/files/annex.pdf", Reply(b"%PDF-1.4 another annex", headers=PDF))
    (revision,) = await watched.after(2, page(*LAW, annex=True))
    assert revision.kind is ChangeKind.ATTACHMENTS
    assert revision.edits[0]["after"] == "附件：收费标准目录.pdf"


async def test_an_item_without_a_first_look_gets_one_and_is_compared_from_then_on(watched: Watched) -> None:
    await watched.begin(page(*LAW))
    async with watched.bureau.store.sessions.begin_write() as session:
        await session.execute(delete(ItemSnapshot))  # as an earlier version left it
    assert await watched.after(1, page(*changed("第三条", "48小时", "24小时"))) == []
    (revision,) = await watched.after(2, page(*LAW))
    assert revision.change.list_articles(EditOperation.CHANGED) == ["第三条"]


async def test_a_scanned_document_is_another_one_when_its_bytes_are(watched: Watched) -> None:
    await watched.begin(Reply(b"%PDF-1.4 a scan", headers=PDF))
    assert await watched.after(1, Reply(b"%PDF-1.4 a scan", headers=PDF)) == []
    (revision,) = await watched.after(2, Reply(b"%PDF-1.4 another scan", headers=PDF))
    assert revision.kind is ChangeKind.ATTACHMENTS
    assert (await watched.item()).attachments == []


async def test_what_could_not_be_seen_at_first_is_no_revision_when_it_can(watched: Watched) -> None:
    await watched.begin("")
    watched.bureau.site.on(watched.path, Reply(status=503))
    assert await watched.after(1, page(*LAW)) == []
    (revision,) = await watched.after(2, page(*LAW[:2], *LAW[3:]))
    assert revision.change.list_articles(EditOperation.REMOVED) == ["第三条"]


async def test_looks_do_not_change_how_the_run_ended(watched: Watched) -> None:
    await watched.begin(page(*LAW))
    watched.bureau.clock.today += dt.timedelta(days=1)
    watched.bureau.site.on(watched.path, Reply(status=500))
    run = await watched.bureau.sweep()
    assert (str(run.status), run.fallbacks) == ("succeeded", [])


async def test_revisions_of_a_period_come_with_their_items(watched: Watched) -> None:
    await watched.begin(page(*LAW))
    await watched.after(1, page(*changed("第三条", "48小时", "24小时")))
    store, now = watched.bureau.store, watched.bureau.clock.now()
    (found,) = await store.revisions.list_between(now, now + dt.timedelta(hours=1))
    assert (found[0].title, found[1].kind) == ((await watched.item()).title, ChangeKind.CHANGED)
    assert await store.revisions.list_between(now - dt.timedelta(days=1), now) == []
    assert await store.revisions.list_between(now, now + dt.timedelta(hours=1), sources=["another"]) == []


async def test_a_cancelled_run_looks_at_no_further_page(bureau: Any) -> None:
    rows = bureau.rows(0, 0, 0, 400, 410, 420, 430)
    bureau.show(rows)
    await bureau.sweep()
    bureau.clock.today += dt.timedelta(days=1)
    cancel, looked = asyncio.Event(), []

    def answer(asked: Any) -> Reply:
        looked.append(asked.path)
        cancel.set()
        return Reply(page(*LAW))

    for row in rows[:3]:
        bureau.site.on(row.path, answer)
    source = await bureau.store.sources.get(bureau.name)
    run = await bureau.sweeps.sweep(source, cancel_event=cancel, by=COMMAND_LINE)
    assert (str(run.status), len(looked)) == ("cancelled", 1)


async def test_at_most_ten_pages_are_looked_at_in_a_run(bureau: Any) -> None:
    rows = bureau.rows(*[0] * 12)
    bureau.show(rows)
    await bureau.sweep()
    bureau.clock.today += dt.timedelta(days=1)
    before = len([entry for entry in bureau.site.asked if "detail" in entry.path])
    await bureau.sweep()
    assert len([entry for entry in bureau.site.asked if "detail" in entry.path]) - before == 10


async def test_a_summary_with_another_figure_is_made_again_by_the_next_run(watched: Watched) -> None:
    await watched.begin(page(*LAW))
    assert "48小时" in (await watched.item()).summary
    await watched.after(1, page(*changed("第三条", "48小时", "24小时")))
    stale = await watched.item()
    assert stale.is_summary_stale
    looks = watched.looks()
    watched.bureau.clock.today += dt.timedelta(days=1)
    await watched.bureau.sweep()
    item = await watched.item()
    assert (item.is_summary_stale, watched.looks()) == (False, looks), "it is written from the text that is kept"
    assert "24小时" in item.summary
    assert "48小时" not in item.summary
    assert len(await watched.revisions()) == 1
    claims = await watched.bureau.store.evidence.list_claims(item.id)
    assert all("48小时" not in claim.claim for claim in claims)


async def test_a_change_without_another_figure_leaves_the_summary_as_it_is(watched: Watched) -> None:
    await watched.begin(page(*LAW))
    await watched.after(1, page(*changed("第二条", "企业名称", "企业的名称")))
    assert not (await watched.item()).is_summary_stale


async def test_the_summary_of_a_page_that_is_gone_is_made_again_from_what_was_seen(watched: Watched) -> None:
    await watched.begin(page(*LAW))
    await watched.after(1, page(*changed("第三条", "48小时", "24小时")))
    watched.bureau.clock.today += dt.timedelta(days=1)
    watched.bureau.site.on(watched.path, Reply(status=404))
    report = await watched.bureau.sweep()
    assert report.fallbacks == []
    item = await watched.item()
    assert not item.is_summary_stale
    assert "24小时" in item.summary
