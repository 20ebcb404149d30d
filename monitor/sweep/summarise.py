"""Phase 2: a summary for each item, by the model or else an extract of the page's own sentences."""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from monitor.db.reading import UnseenPlace
from monitor.db.tables.collection import Item
from monitor.db.tables.evidence import ClaimUpdate, ItemSnapshot
from monitor.errors import ModelFailed, ModelUnavailable, WorkFailed
from monitor.i18n.message import Message
from monitor.isolation.pool import IsolatedWorkFailed, WorkerLimits
from monitor.llm.answers import extract_plain_text
from monitor.llm.chat import ChatModel, CompletionRequest, fit_chars
from monitor.page import ArticleFacts, AttachmentSnapshot, Page, PageErrorCode, PageSnapshot
from monitor.sweep.article import ArticleReading, ArticleTask
from monitor.sweep.context import RunContext
from monitor.sweep.prompts import SummaryTask
from monitor.sweep.reader import is_disallowed_by_robots
from monitor.sweep.summary_check import JudgedSummary, SummaryChecker, SummaryGrounds, join_sentences
from monitor.verify.passages import ArticleSupport
from monitor.verify.second_reader import StatementVerifier
from monitor.verify.statements import Judgement, SourceText, StatementCounts
from monitor.vocabulary import DateSource, Phase, SummaryBy, Verdict


@dataclass(frozen=True, kw_only=True)
class ArticleContent:
    """The content of an item's page; `failure` says why there is no text, `record` is the page's evidence id."""

    snapshot: PageSnapshot
    text: str = ""
    facts: ArticleFacts = field(default_factory=ArticleFacts)
    failure: Message | None = None
    is_disallowed: bool = False
    record: str | None = None
    sentences: Sequence[str] | None = None
    support: ArticleSupport | None = None


async def fetch_article(run: RunContext, item: Item, *, with_extract: bool = False) -> ArticleContent:
    """Fetch what the item's url shows, `with_extract` its sentences too. Never raises for what a site does.

    All of it is read where the page is parsed; of a page that was loaded before, the snapshot alone, here.
    """
    task = ArticleTask(
        url=item.url,
        title=item.title,
        date=item.date,
        date_source=item.date_source,
        language=run.source.summary_language if with_extract else None,
        links_evidence=with_extract and run.deps.linker is not None,
    )
    page = await run.deps.loader.load(item.url, render=run.render, task=task)
    reading = page.reading
    if not isinstance(reading, ArticleReading) or reading.url != item.url:
        from monitor.evidence.revisions import create_page_snapshot  # seldom called: its rules are for workers

        try:
            reading = ArticleReading(item.url, await run.deps.workers.run(create_page_snapshot, page))
        except IsolatedWorkFailed as error:
            return ArticleContent(snapshot=_build_failed_snapshot(page, error.message), failure=error.message)
    seen = reading.snapshot
    if page.error is None:
        return ArticleContent(
            snapshot=seen,
            text=page.text,
            facts=page,
            failure=None if page.text.strip() else Message("cause.no_text"),
            record=page.record,
            sentences=reading.sentences,
            support=reading.support,
        )
    if page.error.code is not PageErrorCode.UNSUPPORTED_TYPE:
        return ArticleContent(snapshot=seen, failure=page.error.reason, is_disallowed=is_disallowed_by_robots(page))
    try:
        path = await run.deps.loader.download(item.url, run.deps.folder)
    except WorkFailed as error:
        return ArticleContent(snapshot=seen, failure=error.message)
    known = seen.model_copy(update={"failure": None, "reason": None})
    try:
        text = await run.deps.documents.read(path)
    except WorkFailed as error:
        # A scan, for one: a later visit can tell by the hash alone whether it is still the same.
        sha256 = await asyncio.to_thread(hash_file, path)
        document = AttachmentSnapshot(title=item.title, url=item.url, type=path.suffix[1:], sha256=sha256)
        return ArticleContent(snapshot=known.model_copy(update={"attachments": [document]}), failure=error.message)
    return ArticleContent(snapshot=known.model_copy(update={"text": text}), text=text, record=page.record)


def _build_failed_snapshot(page: Page, reason: Message) -> PageSnapshot:
    return PageSnapshot(url=page.final_url, seen_at=page.fetched_at, failure=PageErrorCode.PARSE, reason=reason)


_COPIED_FACTS = (ArticleFacts.model_fields.keys() & Item.model_fields.keys()) - {"title", "date_source", "attachments"}
"""What an item takes over from its article; title and date come from the list."""


def build_item_changes(item: Item, facts: ArticleFacts) -> dict[str, Any]:
    said = {name: getattr(facts, name) for name in _COPIED_FACTS} | {"page_date": facts.stated_date}
    changes = {name: value for name, value in said.items() if value}
    held = {attachment["url"] for attachment in item.attachments}
    added = [attachment.model_dump() for attachment in facts.attachments if attachment.url not in held]
    return changes | ({"attachments": [*item.attachments, *added]} if added else {})


def hash_file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


_MAX_ATTEMPTS = 2
_MAX_UNREADABLE_PAGES = 3
"""After so many pages of a run that no worker gets through, its others are not tried: workers are for all runs."""

_EXTRACT_LIMITS = WorkerLimits(timeout_s=5.0, cpu_s=3.0)


@dataclass(frozen=True)
class WrittenSummary:
    """A summary with the judgements on its sentences; `counts` has those that were dropped on the way too."""

    text: str = ""
    by: SummaryBy = SummaryBy.NONE
    statements: Sequence[tuple[str, Judgement]] = ()
    counts: StatementCounts = field(default_factory=StatementCounts)

    @classmethod
    def from_checked(cls, checked: JudgedSummary) -> Self:
        return cls(checked.text, SummaryBy.MODEL, checked.kept, checked.counts)

    @classmethod
    def from_extract(cls, sentences: Sequence[str], dropped: StatementCounts) -> Self:
        """The sentences stand on the page word for word, so that each is its own passage."""
        if not sentences:
            return cls(counts=dropped)
        statements = [(text, Judgement(verdict=Verdict.SUPPORTED, passage=text)) for text in sentences]
        counts = StatementCounts.count(judgement for _, judgement in statements) + dropped
        return cls(join_sentences(sentences), SummaryBy.EXTRACT, statements, counts)


class Summariser:
    """Writes the summaries of one run: by its model, or extracts where it has none."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._deps = run.deps
        self._unreadable: dict[str, Message] = {}  # by url

    async def summarise(self, item: Item) -> None:
        if len(self._unreadable) >= _MAX_UNREADABLE_PAGES:
            reason = next(reversed(self._unreadable.values()))
            await self._run.record_fallback(Phase.SUMMARISE, item.url, reason)
            return
        article = await fetch_article(self._run, item, with_extract=self._deps.model is None)
        if article.failure is not None and _is_isolation_failure(article.failure):
            self._unreadable[item.url] = article.failure
        if article.failure is not None:
            await self._run.record_fallback(Phase.SUMMARISE, item.url, article.failure)
            if article.is_disallowed:
                place = UnseenPlace(section=item.section, url=item.url, reason=article.failure)
                await self._deps.store.runs.add_unseen(item.run_id, [place])
        if not article.text.strip():
            await self._deps.store.revisions.save(_build_snapshot(item, article))
            return
        await self._save(item, article, await self.write(item, article))

    async def summarise_again(self, item: Item) -> None:
        """Write the summary of an item anew from the text that its last look brought, which is not looked at again.

        So no change of the page goes unnoticed: the next look compares it with this text.
        """
        store = self._deps.store
        snapshot, text = await store.revisions.get_snapshot(item.id or 0), await store.items.get_text(item.id or 0)
        if snapshot is None or not (text or "").strip():
            await store.items.update(item.id or 0, is_summary_stale=False)
            return
        seen = snapshot.build_page_snapshot(text or "")
        record = await store.evidence_files.find_record(seen.sha256) if seen.sha256 else None
        facts = ArticleFacts(
            title=seen.title,
            published_on=seen.published_on,
            date_source=DateSource.UNKNOWN if seen.published_on is None else DateSource.PAGE,
            issuer=item.issuer,
            attachments=list(seen.attachments),
        )
        article = ArticleContent(snapshot=seen, text=text or "", facts=facts, record=record.id if record else None)
        summary = await self.write(item, article)
        claims = await self._link(item, article, summary)
        changes = _describe_summary(summary) | {"is_summary_stale": False}
        await store.revisions.save(snapshot, changes=changes, claims=claims)

    async def adopt(self, item: Item, offered: str) -> bool:
        """Keep a summary that an agent offered with a save, if all of it passes the same check; else it is dropped."""
        article = await fetch_article(self._run, item)
        checked = JudgedSummary(fault=article.failure)
        if article.text.strip():
            checker = self._build_checker(item, article, self._build_task(item))
            try:
                checked = await checker.check(extract_plain_text(offered))
            except IsolatedWorkFailed as error:
                checked = JudgedSummary(fault=error.message)
        if not article.text.strip() or not checked.is_sound:
            await self._deps.store.revisions.save(_build_snapshot(item, article))
            return False
        await self._save(item, article, WrittenSummary.from_checked(checked))
        return True

    async def write(self, item: Item, article: ArticleContent) -> WrittenSummary:
        """Return the summary of an item whose page has a text, by model or else as an extract; nothing is stored."""
        dropped = StatementCounts()
        if self._deps.model is not None:
            written = await self._write_by_model(self._deps.model, item, article)
            if written.text:
                return written
            dropped = written.counts
        if article.sentences is not None:
            return WrittenSummary.from_extract(article.sentences, dropped)
        from monitor.sweep.extracts import extract_sentences  # seldom called: its rules are for workers

        language = self._run.source.summary_language
        try:
            sentences = await self._deps.workers.run_limited(
                _EXTRACT_LIMITS, extract_sentences, item.title, article.text, language
            )
        except IsolatedWorkFailed as error:
            self._unreadable[item.url] = error.message
            await self._run.record_fallback(Phase.SUMMARISE, item.url, error.message)
            sentences = []
        return WrittenSummary.from_extract(sentences, dropped)

    async def _write_by_model(self, model: ChatModel, item: Item, article: ArticleContent) -> WrittenSummary:
        """Ask for a summary, and once more with what is wrong with it; without a text where something still is.

        So says section 4 of the contracts: no statement of a summary is contradicted or unsupported.
        """
        task = self._build_task(item)
        checker = self._build_checker(item, article, task)
        chars = fit_chars(model, Phase.SUMMARISE, self._deps.limits.summary_max_chars, item.url)
        messages = task.build_messages(article.text[:chars])
        dropped = StatementCounts()
        fault: Message | None = None
        for _ in range(_MAX_ATTEMPTS):
            try:
                completion = await model.complete(CompletionRequest(messages, phase=Phase.SUMMARISE, place=item.url))
            except ModelFailed as error:
                fault = error.reason
                if isinstance(error, ModelUnavailable):
                    break
                continue
            answer = extract_plain_text(completion.text)
            try:
                checked = await checker.check(answer)
            except IsolatedWorkFailed as error:  # of the same page another summary fares no better
                fault = self._unreadable[item.url] = error.message
                break
            if checked.is_sound:
                return WrittenSummary.from_checked(checked)
            fault, dropped = checked.reason, StatementCounts.count(judgement for _, judgement in checked.dropped)
            messages = [*messages, *task.build_rewrite(answer, checked.list_faults(task.language))]
        await self._run.record_fallback(Phase.SUMMARISE, item.url, Message.of("cause.extract", reason=fault))
        return WrittenSummary(counts=dropped)

    def _build_task(self, item: Item) -> SummaryTask:
        from monitor.ranking.kinds import classify_document  # only a model is told

        return SummaryTask(
            title=item.title,
            kind=classify_document(item.title, item.type),
            rules=self._run.source.rules,
            language=self._run.source.summary_language,
            prompts=self._deps.prompts,
        )

    def build_grounds(self, item: Item, article: ArticleContent) -> SummaryGrounds:
        """Return what a summary of the item is held against."""
        page = SourceText(
            text=article.text,
            title=item.title,
            section=item.section,
            publisher=article.facts.issuer or item.issuer or item.source,
            published_on=article.facts.stated_date or item.date,
        )
        return self._build_task(item).build_grounds(page)

    def _build_checker(self, item: Item, article: ArticleContent, task: SummaryTask) -> SummaryChecker:
        verifier = StatementVerifier(
            model=self._deps.model, language=task.language, place=item.url, prompts=self._deps.prompts
        )
        return SummaryChecker(grounds=self.build_grounds(item, article), verifier=verifier, workers=self._deps.workers)

    async def _save(self, item: Item, article: ArticleContent, summary: WrittenSummary) -> None:
        changes = _describe_summary(summary) | build_item_changes(item, article.facts)
        claims = await self._link(item, article, summary)
        snapshot = _build_snapshot(item, article)
        await self._deps.store.revisions.save(snapshot, text=article.text, changes=changes, claims=claims)

    async def _link(self, item: Item, article: ArticleContent, summary: WrittenSummary) -> ClaimUpdate | None:
        """Return the claims of an item from its page; None where nothing is kept of that."""
        linker = self._deps.linker
        if linker is None or article.record is None:
            return None
        claims = await linker.link_article(
            item,
            record=article.record,
            title=item.title,
            text=article.text,
            statements=summary.statements,
            published_on=article.facts.stated_date,
            attachments=article.facts.attachments,
            is_searchable=item.url not in self._unreadable,
            support=article.support,
        )
        for url, problem in linker.pop_problems().items():
            await self._run.record_fallback(Phase.SUMMARISE, url, problem)
        return claims


def _describe_summary(summary: WrittenSummary) -> dict[str, Any]:
    counts = summary.counts.model_dump() if summary.text else None
    return {"summary": summary.text, "summary_by": summary.by, "statements": counts}


def _is_isolation_failure(failure: Message) -> bool:
    """Whether a page could not be read because the work in a worker process failed, as its parsing may."""
    inner = failure.args.get("error")
    return (inner if isinstance(inner, Message) else failure).code.startswith("isolation.")


def _build_snapshot(item: Item, article: ArticleContent) -> ItemSnapshot:
    return ItemSnapshot.from_page(item.id or 0, item.run_id, article.snapshot)
