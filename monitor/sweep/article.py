"""The text that a summary rests on: an item's page, or the document that its url is."""

import asyncio
import datetime as dt
import hashlib
from dataclasses import dataclass
from pathlib import Path

from monitor.domain.causes import Cause
from monitor.domain.page import Attachment, Page, PageErrorCode
from monitor.domain.revisions import Seen, SeenAttachment
from monitor.domain.tables import Item
from monitor.domain.words import DateSource, Render
from monitor.errors import WorkFailed
from monitor.evidence.revisions import seen_of
from monitor.ports import DocumentReader, PageLoader
from monitor.sweep.reader import is_refusal, reason_of


@dataclass(frozen=True, kw_only=True)
class Article:
    """What an item says; `failure` tells why there is no text.

    `seen` is what a later look at the page is compared with. `published_on` is the date that the page itself states,
    not one that only its url holds. `is_refused`: the site's robots.txt keeps us from the page.
    `record` is the id under which the run kept the page.
    """

    seen: Seen
    text: str = ""
    issuer: str | None = None
    document_number: str | None = None
    language: str | None = None
    attachments: tuple[Attachment, ...] = ()
    published_on: dt.date | None = None
    failure: str = ""
    is_refused: bool = False
    record: str | None = None


async def read_article(
    item: Item, *, loader: PageLoader, documents: DocumentReader, render: Render, folder: Path
) -> Article:
    """Fetch what the item's url shows. Never raises for what the outside does."""
    page = await loader.load(item.url, render=render)
    seen = seen_of(page)
    if page.error is None:
        return _of_page(page, seen)
    if page.error.code is not PageErrorCode.UNSUPPORTED_TYPE:
        return Article(seen=seen, failure=reason_of(page), is_refused=is_refusal(page))
    try:
        path = await loader.download(item.url, folder)
    except WorkFailed as error:
        return Article(seen=seen, failure=str(error))
    known = seen.model_copy(update={"failure": None, "reason": ""})
    try:
        text = await documents.read(path)
    except WorkFailed as error:
        # A scan, for one: by its hash alone a later look can tell whether it is still the same.
        itself = SeenAttachment(
            title=item.title, url=item.url, type=path.suffix[1:], sha256=await asyncio.to_thread(sha256_of, path)
        )
        return Article(seen=known.model_copy(update={"attachments": [itself]}), failure=str(error))
    return Article(seen=known.model_copy(update={"text": text}), text=text, record=page.record)


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, as records name bodies."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _of_page(page: Page, seen: Seen) -> Article:
    return Article(
        seen=seen,
        text=page.text,
        issuer=page.issuer,
        document_number=page.document_number,
        language=page.language,
        attachments=tuple(page.attachments),
        published_on=page.published_on if page.date_source is DateSource.PAGE else None,
        failure="" if page.text.strip() else Cause.NO_TEXT.told(),
        record=page.record,
    )
