"""Full-text search over real items, the same on both databases."""

import asyncio
import datetime as dt
import sqlite3
import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select, text

from monitor.db import fulltext
from monitor.db.database import Store
from monitor.db.fulltext import FullTextScope
from monitor.db.fulltext_index import append_marks, build_terms_line, force_index, select_with_terms
from monitor.db.maintenance import create_backup, restore_backup, transfer_database
from monitor.db.queries.filters import ItemFilter
from monitor.db.tables.collection import Item, Source
from monitor.db.tables.evidence import ItemSnapshot, Revision
from monitor.db.tables.research import ItemTerms
from monitor.db.terms import TextQuery
from monitor.page import ChangeKind

_numbers = count(1)
NOON = dt.datetime(2026, 2, 3, 12, tzinfo=dt.UTC)


async def keep(store: Store, source: Source, title: str, *, text: str | None = None, **fields: Any) -> int:
    number = next(_numbers)
    values = {"url": f"https://example.gov/{number}.html", "date": dt.date(2026, 2, 1), "first_seen": NOON, **fields}
    item = Item(source_id=source.id, source=source.name, run_id="run-1", section="s", url_key="", title=title, **values)
    saved, _ = await store.items.save(item)
    if text is not None:
        await store.items.update(saved.id or 0, text=text)
    return saved.id or 0


async def titles(
    store: Store, query: str, *, is_loose: bool = False, limit: int | None = None, **scope: Any
) -> list[str]:
    items = ItemFilter.model_validate(scope.pop("items", {}))
    asked = TextQuery.parse(query)
    found = await store.fulltext.find(
        asked.loosen() if is_loose else asked, FullTextScope(items=items, **scope), limit=limit
    )
    return [match.item.title for match in found]


async def test_words_of_two_characters_and_of_one_are_found_within_longer_ones(store: Store, source: Source) -> None:
    await keep(store, source, "太阳能光伏发电管理办法")
    await keep(store, source, "储能通知", text="正文说到分布式光\n伏和ＧＤＰ。")
    await keep(store, source, "风电", summary="伏光")
    assert await titles(store, "光伏") == ["储能通知", "太阳能光伏发电管理办法"]
    assert await titles(store, "伏") == ["风电", "储能通知", "太阳能光伏发电管理办法"]
    assert await titles(store, "gdp") == ["储能通知"]
    assert await titles(store, "光电") == []


async def test_all_words_have_to_stand_there_and_what_is_quoted_word_for_word(store: Store, source: Source) -> None:
    await keep(store, source, "a", text="The carbon market opens. 碳市场与电力市场")
    await keep(store, source, "b", text="A market for carbon; gasoline")
    await keep(store, source, "c", text="碳达峰；市场监管")
    assert await titles(store, "market carbon") == ["b", "a"]
    assert await titles(store, '"carbon market"') == ["a"]
    assert await titles(store, "“carbon market” 电力") == ["a"]
    assert await titles(store, "碳 市场") == ["c", "a"]
    assert await titles(store, "碳市场") == ["a"]
    assert await titles(store, "gas") == []
    assert await titles(store, "market 风电") == []


async def test_a_loose_query_is_content_with_a_third_of_its_words(store: Store, source: Source) -> None:
    await keep(store, source, "光伏补贴政策调整")
    await keep(store, source, "光伏补贴")
    await keep(store, source, "储能政策")
    question = "光伏补贴政策的最新变化是什么"
    assert await titles(store, question) == []
    assert await titles(store, question, is_loose=True) == ["光伏补贴政策调整", "光伏补贴"]
    assert await titles(store, "光伏补贴", is_loose=True) == ["光伏补贴", "光伏补贴政策调整"]


async def test_sources_days_sites_and_languages_narrow_a_search(store: Store, source: Source) -> None:
    other = await store.sources.add(Source(name="other", url="https://o.gov/", created_at=NOON))
    await keep(store, source, "光伏 a", date=dt.date(2026, 1, 1), url="https://www.nea.gov.cn/1", language="zh-CN")
    await keep(store, other, "光伏 b", url="https://example.com/nea.gov.cn/2", language="en")
    assert await titles(store, "光伏", items={"sources": ["other"]}) == ["光伏 b"]
    assert await titles(store, "光伏", items={"until": dt.date(2026, 1, 31)}) == ["光伏 a"]
    assert await titles(store, "光伏", site="gov.cn") == ["光伏 a"]
    assert await titles(store, "光伏", site="a.gov.cn") == []
    assert await titles(store, "光伏", language="zh-TW") == ["光伏 a"]
    assert await titles(store, "光伏", limit=1) == ["光伏 b"]


async def test_the_index_follows_whatever_changes_an_item(store: Store, source: Source) -> None:
    number = await keep(store, source, "旧题", text="旧文")
    await store.items.update(number, title="新题", summary="要点")
    assert (await titles(store, "旧题"), await titles(store, "要点"), await titles(store, "旧文")) == (
        [],
        ["新题"],
        ["新题"],
    )
    snapshot = ItemSnapshot(item_id=number, run_id="run-1", looked_at=NOON, page={}, standing=ChangeKind.CHANGED)
    change = {"kind": ChangeKind.CHANGED, "edits": [], "more_edits": 0, "reason": None, "before_text": ""}
    revision = Revision(item_id=number, run_id="run-1", seen_at=NOON, **change)
    await store.revisions.save(snapshot, revision=revision, text="修订", changes={"title": "改题"})
    assert (await titles(store, "旧文"), await titles(store, "修订"), await titles(store, "改题")) == (
        [],
        ["改题"],
        ["改题"],
    )
    await store.retention.prune(NOON + dt.timedelta(days=1))
    assert (await titles(store, "修订"), await titles(store, "改题"), await titles(store, "要点")) == (
        [],
        ["改题"],
        ["改题"],
    )
    async with store.sessions.begin_read() as session:
        lines = (await session.scalars(select(ItemTerms.terms))).all()
    line = append_marks(build_terms_line("改题", "要点", ""), dt.date(2026, 2, 1), source.id)
    assert [set(entry.split()) for entry in lines] == [set(line.split())]


async def test_what_is_withdrawn_is_found_and_said_to_be(store: Store, source: Source) -> None:
    number = await keep(store, source, "光伏")
    snapshot = ItemSnapshot(item_id=number, run_id="run-1", looked_at=NOON, page={}, standing=ChangeKind.WITHDRAWN)
    await store.revisions.save(snapshot)
    found = await store.fulltext.find(TextQuery.parse("光伏"), FullTextScope(items=ItemFilter()), limit=None)
    assert [match.is_withdrawn for match in found] == [True]


@pytest.fixture
async def buried(store: Store, source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """An old item with a phrase beneath 23 newer ones that have its pairs apart; little is read at once."""
    monkeypatch.setattr(fulltext, "_MAX_CHECKED_PORTION", 2)
    monkeypatch.setattr(fulltext, "_MIN_BATCH_ITEMS", 2)
    monkeypatch.setattr(fulltext, "MAX_PAGE_TEXTS", 6)
    await keep(store, source, "碳市场", date=dt.date(2025, 1, 1))
    for number in range(23):
        await keep(store, source, f"碳市与市场 {number}", date=dt.date(2026, 1, 1 + number))


@pytest.mark.usefixtures("buried")
async def test_a_phrase_is_found_beneath_any_number_of_items_that_have_only_its_parts(store: Store) -> None:
    assert await titles(store, "碳市场") == ["碳市场"]
    assert await titles(store, "碳市场", limit=1) == ["碳市场"]
    assert len(await titles(store, "碳市")) == 24


@pytest.mark.usefixtures("buried")
async def test_a_page_of_a_search_says_where_it_stopped_reading_and_goes_on_there(store: Store) -> None:
    found, after, pages = [], None, 0
    while pages == 0 or after is not None:
        scope = FullTextScope(items=ItemFilter(after=after))
        page = await store.fulltext.find_page(TextQuery.parse("碳市场"), scope, limit=5)
        found += [match.item.title for match in page.matches]
        assert after is None or page.stopped_at is None or page.stopped_at < after
        after, pages = page.stopped_at, pages + 1
    assert found == ["碳市场"]
    assert pages == 5


@pytest.mark.usefixtures("buried")
async def test_the_best_are_said_to_be_of_the_newest_where_not_all_were_compared(store: Store) -> None:
    async def compare(query: str, most: int) -> tuple[int, dt.date | None]:
        best = await store.fulltext.find_best(
            TextQuery.parse(query),
            FullTextScope(items=ItemFilter()),
            lambda hit: sum(hit.in_body),
            max_scored=most,
            limit=most,
            excludes_withdrawn=False,
        )
        return len(best.matches), best.ranked_since

    assert await compare("碳市", 30) == (24, None)
    assert await compare("碳市", 3) == (3, dt.date(2026, 1, 21))
    assert await compare("碳市场", 3) == (0, dt.date(2026, 1, 18))


async def test_the_index_is_what_a_search_asks(postgres_url: str) -> None:
    async with Store.open(postgres_url) as store, store.sessions.begin_read() as session:
        await force_index(session)
        query = select_with_terms(session, ["光伏", "t:储能"], ["d:20260201", "d:20260202"])
        compiled = query.compile(session.get_bind(), compile_kwargs={"literal_binds": True})
        plan = (await session.execute(text(f"EXPLAIN {compiled}".replace(":", "\\:")))).scalars().all()
    assert any("item_terms_index" in line for line in plan)


HOSTILE = [
    '"',
    '""',
    '" OR "',
    "*",
    "光伏*",
    "NEAR(光 伏)",
    "title:光伏",
    "t:光伏",
    "{terms}: x",
    "^光伏",
    "-光伏",
    "a AND",
    "(((",
    "\x00",
    "光\x00伏",
    "'; DROP TABLE item; --",
    "\ud800",
    '{光伏,"}',
    "😀",
    "%",
    "_",
    "\\",
    "a" * 999,
    "光" * 1000,
    "光 " * 500,
]


@pytest.mark.parametrize("text", HOSTILE)
async def test_no_query_is_an_order_to_the_database(store: Store, source: Source, text: str) -> None:
    await keep(store, source, "光伏")
    for is_loose in (False, True):
        assert set(await titles(store, text, is_loose=is_loose)) <= {"光伏"}
    assert await titles(store, "光伏") == ["光伏"]


WORDS = ["光伏", "储能", "碳市场", "电力", "GDP", "carbon market", "第12号", "的", "，", " ", "\n"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=6).map("".join)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(TEXTS, min_size=1, max_size=5), query=st.lists(st.sampled_from(WORDS[:8]), min_size=1, max_size=3)
)
def test_a_search_finds_what_looking_into_every_text_finds(
    sqlite_template: Path, tmp_path: Path, texts: list[str], query: list[str]
) -> None:
    file = tmp_path / "compared.db"
    file.write_bytes(sqlite_template.read_bytes())

    async def compared() -> None:
        async with Store.open(f"sqlite:///{file}") as store:
            source = await store.sources.add(Source(name="s", url="https://s.gov/", created_at=NOON))
            for number, text in enumerate(texts):
                await keep(store, source, f"x{number}", text=text)
            clauses = TextQuery.parse(" ".join(query)).clauses
            there = [
                f"x{number}"
                for number, text in enumerate(texts)
                if all(clause.pattern.search(text.lower()) for clause in clauses)
            ]
            assert sorted(await titles(store, " ".join(query))) == there

    asyncio.run(compared())


async def test_a_copy_a_backup_and_a_restored_one_find_the_same(
    store: Store, source: Source, url: str, postgres_url: str, tmp_path: Path
) -> None:
    for number in range(3):
        await keep(store, source, f"光伏 {number}", text="分布式发电")
    there = postgres_url if url != postgres_url else f"sqlite:///{tmp_path / 'copy.db'}"
    back = f"sqlite:///{tmp_path / 'back.db'}"
    await asyncio.to_thread(transfer_database, url, there)
    await asyncio.to_thread(create_backup, there, tmp_path / "backup.db")
    await asyncio.to_thread(restore_backup, tmp_path / "backup.db", back)
    await asyncio.to_thread(restore_backup, tmp_path / "backup.db", there, is_replacing=True)
    for place in (there, back):
        async with Store.open(place) as other:
            assert await titles(other, "光伏 分布式") == ["光伏 2", "光伏 1", "光伏 0"]
            await keep(other, source, "光伏 3", text="分布式")
            assert len(await titles(other, "光伏 分布式")) == 4


KILLED = """
import asyncio, datetime as dt, os, sys
from monitor.db.tables.collection import Item
from monitor.db import fulltext
from monitor.db.database import Store
from monitor.db.queries import items

async def killed():
    async with Store.open(sys.argv[1]) as store:
        indexed = items.index_item
        async def index(*args, **kwargs):
            await indexed(*args, **kwargs)
            os.kill(os.getpid(), 9)
        items.index_item = index
        await store.items.save(Item(source_id=1, source="s", run_id="r", section="s", url="https://a.gov/1", url_key="",
            title="光伏", first_seen=dt.datetime.now(dt.UTC)))
asyncio.run(killed())
"""


async def test_a_writer_killed_before_the_end_leaves_neither_item_nor_term(
    store: Store, source: Source, url: str
) -> None:
    program = await asyncio.create_subprocess_exec(sys.executable, "-c", KILLED, url)
    assert await program.wait() == -9
    assert await store.items.list(ItemFilter()) == []
    assert await titles(store, "光伏") == []
    if url.startswith("sqlite"):
        with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
            connection.execute("INSERT INTO item_terms_index(item_terms_index) VALUES ('integrity-check')")
