"""Phase 2: a summary for each item, each from its own page in an isolated completion.

A summary is accepted only if it says something and every number and date in it stands in the page's text. One retry;
then an extract of the page's own sentences takes its place, marked as one.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from monitor.domain.causes import Cause
from monitor.domain.prompts import OURS, Prompts
from monitor.domain.reading import UnseenPlace
from monitor.domain.revisions import ItemSight
from monitor.domain.tables import Item, Source
from monitor.domain.words import Phase, Render, SummaryBy
from monitor.errors import ModelFailed, ModelUnavailable
from monitor.evidence.grounding import ungrounded_numbers
from monitor.evidence.linking import Linker
from monitor.evidence.sentences import WEB_ADDRESS
from monitor.llm.answers import plain_text
from monitor.ports import ChatModel, DocumentReader, PageLoader
from monitor.settings import SweepSettings
from monitor.store import Store
from monitor.sweep.article import Article, read_article
from monitor.sweep.extract import extract_summary
from monitor.sweep.fallbacks import Fallbacks
from monitor.sweep.prompts import summary_messages

LEAST_CHARS = 20
MOST_CHARS = 1000
_TRIES = 2


def fault_of(summary: str, *, title: str, text: str) -> str:
    """Why a summary may not be kept; the empty string for one that may.

    The rules are contracts section 4, phase 2: not empty, not the title, more than 20 characters, and no number or
    date that the text does not hold. Nor a web address: a page could have told the model to cite one.
    """
    if len(summary) <= LEAST_CHARS:
        return Cause.TOO_SHORT if summary else Cause.EMPTY
    if len(summary) > MOST_CHARS:
        return Cause.TOO_LONG
    if _folded(summary) == _folded(title):
        return Cause.TITLE_AGAIN
    if WEB_ADDRESS.search(summary):
        return Cause.WEB_ADDRESS
    missing = ungrounded_numbers(summary, f"{title}\n{text}")
    return Cause.NOT_ON_PAGE.told(", ".join(missing[:5])) if missing else ""


@dataclass(frozen=True, kw_only=True)
class Summaries:
    """Writes the summaries of one run; `model` None means extracts, `linker` None that nothing is recorded."""

    source: Source
    store: Store
    loader: PageLoader
    documents: DocumentReader
    model: ChatModel | None
    limits: SweepSettings
    folder: Path
    fallbacks: Fallbacks
    linker: Linker | None = None
    prompts: Prompts = OURS

    async def write(self, item: Item) -> None:
        """Fetch the item's page, and keep its text, its facts and a summary."""
        article = await self._article(item)
        if article.failure:
            await self.fallbacks.note(Phase.SUMMARISE, item.url, article.failure)
        if article.is_refused:
            place = UnseenPlace(section=item.section, url=item.url, reason=article.failure)
            await self.store.runs.add_unseen(item.run_id, [place])
        if not article.text.strip():
            await self.store.revisions.keep(self._sight(item, article))
            return
        summary = await self._by_model(item, article.text) if self.model is not None else ""
        by = SummaryBy.MODEL
        if not summary:
            summary, by = extract_summary(item.title, article.text, self.source.summary_language), SummaryBy.EXTRACT
        await self._keep(item, article, summary, by if summary else SummaryBy.NONE)

    async def adopt(self, item: Item, offered: str) -> bool:
        """Keep a summary that an agent offered with a save, if it passes the same checks; else it is dropped."""
        article = await self._article(item)
        summary = plain_text(offered)
        if not article.text.strip() or fault_of(summary, title=item.title, text=article.text):
            await self.store.revisions.keep(self._sight(item, article))
            return False
        await self._keep(item, article, summary, SummaryBy.MODEL)
        return True

    async def _article(self, item: Item) -> Article:
        return await read_article(
            item,
            loader=self.loader,
            documents=self.documents,
            render=self.source.render or Render.AUTO,
            folder=self.folder,
        )

    @staticmethod
    def _sight(item: Item, article: Article) -> ItemSight:
        """What was seen, to be compared with later looks."""
        return ItemSight.of(item.id or 0, item.run_id, article.seen)

    async def _by_model(self, item: Item, text: str) -> str:
        assert self.model is not None  # noqa: S101 -- for the type checker; write() asks
        messages = summary_messages(
            title=item.title,
            text=text[: self.limits.summary_max_chars],
            rules=self.source.rules,
            language=self.source.summary_language,
            prompts=self.prompts,
        )
        fault = ""
        for _ in range(_TRIES):
            try:
                completion = await self.model.complete(messages, phase=Phase.SUMMARISE, place=item.url)
            except ModelFailed as error:
                fault = f"{error.outcome}: {error}"
                if isinstance(error, ModelUnavailable):
                    break
                continue
            summary = plain_text(completion.text)
            fault = fault_of(summary, title=item.title, text=text)
            if not fault:
                return summary
        await self.fallbacks.note(Phase.SUMMARISE, item.url, Cause.EXTRACT.told(fault))
        return ""

    async def _keep(self, item: Item, article: Article, summary: str, by: SummaryBy) -> None:
        changes: dict[str, Any] = {"summary": summary, "summary_by": by}
        facts = {
            "issuer": article.issuer,
            "document_number": article.document_number,
            "language": article.language,
            "page_date": article.published_on,
        }
        changes |= {name: value for name, value in facts.items() if value}
        held = {attachment["url"] for attachment in item.attachments}
        added = [one.model_dump() for one in article.attachments if one.url not in held]
        if added:
            changes["attachments"] = [*item.attachments, *added]
        links = None
        if self.linker is not None and article.record is not None:
            links = await self.linker.read(
                item,
                record=article.record,
                title=item.title,
                text=article.text,
                summary=summary,
                published_on=article.published_on,
                attachments=article.attachments,
            )
        await self.store.revisions.keep(self._sight(item, article), text=article.text, changes=changes, links=links)


def _folded(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())
