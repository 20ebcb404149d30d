"""The pages of a research: those that were saved come from the archive, others from their sites; all are on record."""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.tables.collection import Item, Source
from monitor.db.tables.research import Research
from monitor.evidence.records import EvidenceArchive
from monitor.evidence.storage import FileStorage
from monitor.isolation.pool import WorkerPool
from monitor.page import PageErrorCode
from monitor.pages.documents import DocumentReader
from monitor.pages.loader import LoaderPool
from monitor.services.evidence import SnapshotReader
from monitor.services.research.dependencies import ResearchPageLoader
from monitor.urls import url_key

NOON = dt.datetime(2026, 2, 3, 12, tzinfo=dt.UTC)
TEXT = "补贴比例为设备投资的12.5%，每家企业最高300万元。"
PDF = Path(__file__).parents[3] / "fixtures/research/storage/pages/outlook.pdf"


@pytest.fixture
def records(either_store: Store, tmp_path: Path) -> EvidenceArchive:
    return EvidenceArchive(store=either_store, storage=FileStorage(str(tmp_path)))


@pytest.fixture
async def pages(
    either_store: Store, records: EvidenceArchive, site: Any, turned_clock: Any, workers: WorkerPool
) -> AsyncIterator[ResearchPageLoader]:
    await either_store.research.create(Research(id="r-1", query="?", language="zh", created_at=NOON))
    settings = Settings(network={"allowed_private_hosts": [site.host]}, pages={"delay_s": 0, "render": "never"})
    loaders = LoaderPool(settings=settings, clock=turned_clock, workers=workers, cache_folder=None)
    recorder = records.create_recorder(research_id="r-1", attempt=1)
    yield ResearchPageLoader(
        store=either_store, loader=loaders.for_run(recorder), documents=DocumentReader(workers=workers)
    )
    await loaders.close()


def page_of(text: str) -> str:
    return f"<html><head><title>通知</title></head><body><h1>通知</h1><div>{f'<p>{text}</p>' * 3}</div></body></html>"


async def saved_item(store: Store, url: str, evidence: list[str], text: str) -> Item:
    source = await store.sources.add(Source(name="示例部", url=url, created_at=NOON))
    item = Item(
        source_id=source.id,
        run_id="run-1",
        source="示例部",
        section="通知",
        url=url,
        url_key=url_key(url),
        title="关于补贴的通知",
        date=dt.date(2026, 1, 5),
        first_seen=NOON,
        evidence=evidence,
    )
    saved, _ = await store.items.save(item)
    await store.items.update(saved.id or 0, text=text)
    return saved


async def test_a_page_that_was_not_saved_is_fetched_and_kept(
    pages: ResearchPageLoader, records: EvidenceArchive, either_store: Store, site: Any, workers: WorkerPool
) -> None:
    url = site.on("/1.html", page_of(TEXT))
    page = await pages.load(url)
    assert page.error is None
    assert TEXT in page.text
    kept = await either_store.evidence.get_record(page.record or "")
    assert kept is not None
    assert (kept.research_id, kept.run_id) == ("r-1", None)
    again = SnapshotReader(
        store=either_store, records=records, documents=DocumentReader(workers=workers), workers=workers
    )
    assert TEXT in (await again.load_text(kept.id) or "")


async def test_a_page_that_was_saved_is_not_asked_for_again(
    pages: ResearchPageLoader, records: EvidenceArchive, either_store: Store, site: Any
) -> None:
    url = site.on("/1.html", page_of(TEXT))
    fetched = await pages.load(url)
    site.forget()
    await saved_item(either_store, url, ["list-page", fetched.record or ""], TEXT)
    page = await pages.load(f"{url}?utm_source=x#top")
    assert site.paths() == []
    assert (page.title, page.text, page.published_on) == ("关于补贴的通知", TEXT, dt.date(2026, 1, 5))
    assert page.record == fetched.record


@pytest.mark.parametrize("text", ["", TEXT], ids=["without-a-text", "whose-record-is-gone"])
async def test_of_an_item_only_what_was_kept_is_used(
    pages: ResearchPageLoader, either_store: Store, site: Any, text: str
) -> None:
    url = site.on("/1.html", page_of(TEXT))
    await saved_item(either_store, url, ["gone"], text)
    page = await pages.load(url)
    assert ("/1.html" in site.paths()) is (not text)
    assert (page.record is None) is bool(text)


async def test_a_document_has_its_text_and_its_record(
    pages: ResearchPageLoader, records: EvidenceArchive, either_store: Store, site: Any, reply: Any, workers: WorkerPool
) -> None:
    url = site.on("/outlook.pdf", reply(PDF.read_bytes(), headers={"content-type": "application/pdf"}))
    page = await pages.load(url)
    assert page.error is None
    assert page.text.strip()
    kept = SnapshotReader(
        store=either_store, records=records, documents=DocumentReader(workers=workers), workers=workers
    )
    assert await kept.load_text(page.record or "") == page.text


async def test_what_cannot_be_read_says_why(pages: ResearchPageLoader, site: Any) -> None:
    assert (await pages.load(site.url("/nothing.html"))).error is not None
    url = site.on("/broken.pdf", b"%PDF-1.4 broken")
    page = await pages.load(url)
    assert page.error is not None
    assert page.error.code is PageErrorCode.UNSUPPORTED_TYPE
    assert (await pages.load("ftp://o.gov/1")).error is not None


async def test_paragraphs_that_find_the_same_page_at_once_ask_for_it_once(pages: ResearchPageLoader, site: Any) -> None:
    url = site.on("/1.html", page_of(TEXT))
    first, *others = [asyncio.create_task(pages.load(f"{url}{end}")) for end in ("", "#top", "")]
    await asyncio.sleep(0)  # the first is under way, the others wait for it
    first.cancel()
    loaded = await asyncio.gather(*others)
    assert [TEXT in page.text for page in loaded] == [True, True]
    assert first.cancelled()
    assert site.paths().count("/1.html") == 1
