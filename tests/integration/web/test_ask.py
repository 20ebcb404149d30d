"""Questions to the archive on the pages and over the API, without a model: asked by POST, followed, kept, removed."""

import asyncio
import datetime as dt

from selectolax.lexbor import LexborHTMLParser

from monitor.db.database import Store
from monitor.db.tables.collection import Item, Run, Source
from monitor.vocabulary import RunStatus
from tests.integration.web.conftest import Browser, Desk

NOW = dt.datetime(2026, 2, 3, 8, tzinfo=dt.UTC)
PRICE = "新型储能电站容量电价自2026年7月1日起执行，标准为每千瓦每年165元。"


async def fill(store: Store) -> int:
    source = await store.sources.add(Source(name="能源局", url="https://nea.example/", created_at=NOW))
    await store.runs.create(
        Run(id="r", source_id=source.id, source=source.name, status=RunStatus.SUCCEEDED, planned_at=NOW)
    )
    item = Item(
        source_id=source.id,
        source=source.name,
        run_id="r",
        url="https://nea.example/1",
        url_key="1",
        title="关于储能容量电价的通知",
        date=NOW.date(),
        first_seen=NOW,
        section="通知",
    )
    kept, _ = await store.items.save(item)
    await store.items.update(kept.id or 0, text=PRICE)
    return kept.id or 0


async def follow(browser: Browser, path: str) -> LexborHTMLParser:
    """Look at a question again and again until it is answered, as its page does."""
    while True:
        page = LexborHTMLParser((await browser.get(path)).text)
        if page.css_first("#progress[data-follow]") is None:
            return page
        await asyncio.sleep(0.05)


async def test_a_reader_asks_by_a_plain_form_and_reads_quotes_with_their_items(desk: Desk) -> None:
    item_id = await fill(desk.app.store)
    reader = await desk.sign_in("reader", language="en")
    other = await desk.sign_in("editor", language="en")
    asked = await reader.post("/ask", {"question": "储能容量电价何时执行？", "source": "能源局", "since": "2026-01-01"})
    assert asked.status_code == 303
    path = asked.headers["location"]
    page = await follow(reader, path)
    assert page.css_first("blockquote").text() == PRICE
    assert page.css_first(f"a[href='/items/{item_id}']") is not None
    assert "no model wrote an answer" in page.css_first("main").text()
    assert (await other.get(path)).status_code == 404
    assert [link.attributes["href"] for link in LexborHTMLParser((await reader.get("/ask")).text).css("h3 a")] == [path]
    assert LexborHTMLParser((await other.get("/ask")).text).css("h3 a") == []
    assert (await reader.post(f"{path}/remove")).headers["location"] == "/ask"
    assert (await reader.get(path)).status_code == 404


async def test_what_cannot_be_asked_is_explained_beside_what_was_entered(desk: Desk) -> None:
    await fill(desk.app.store)
    reader = await desk.sign_in("reader", language="en")
    for fields in (
        {"question": " "},
        {"question": "储能？", "since": "soon"},
        {"question": "储能？", "source": "none"},
    ):
        answer = await reader.post("/ask", fields)
        assert answer.status_code == 400
        page = LexborHTMLParser(answer.text)
        assert page.css_first(".trouble").text()
        assert page.css_first("textarea").text().strip() == fields["question"].strip()
    refused = await follow(reader, (await reader.post("/ask", {"question": "zebra?"})).headers["location"])
    assert "Nothing in the archive supports an answer" in refused.css_first(".warning").text()


async def test_programs_ask_follow_list_and_delete_questions(desk: Desk) -> None:
    await fill(desk.app.store)
    program = await desk.program("reader", scopes=["read", "run", "write"])
    asked = await program.post("/api/v1/ask", json={"question": "储能容量电价何时执行？", "filters": {"tiers": []}})
    assert asked.status_code == 202, asked.text
    path = f"/api/v1/ask/{asked.json()['id']}"
    while (answered := (await program.get(path)).json())["status"] == "running":  # noqa: ASYNC110 -- as programs do
        await asyncio.sleep(0.05)
    assert (answered["status"], answered["answer"]["kind"]) == ("answered", "quotes")
    assert answered["answer"]["passages"][0]["text"] == PRICE
    assert [question["id"] for question in (await program.get("/api/v1/ask")).json()["questions"]] == [answered["id"]]
    assert (await program.delete(path)).status_code == 204
    assert (await program.get(path)).status_code == 404
