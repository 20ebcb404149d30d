"""Phase 2: a summary for each item, by the model or else an extract of the page's own sentences."""

import asyncio
import hashlib
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from monitor.db.reading import UnseenPlace
from monitor.db.tables.collection import Item
from monitor.db.tables.evidence import AttachmentSnapshot, ItemSnapshot, PageSnapshot
from monitor.errors import ModelFailed, ModelUnavailable, WorkFailed
from monitor.evidence.revisions import create_page_snapshot
from monitor.extract.sentences import CLOSING_MARKS
from monitor.i18n.message import Message
from monitor.llm.answers import extract_plain_text
from monitor.llm.chat import ChatModel, CompletionRequest
from monitor.page import ArticleFacts, PageErrorCode
from monitor.sweep.context import RunContext
from monitor.sweep.document_kinds import classify_document
from monitor.sweep.prompts import SummaryTask
from monitor.sweep.reader import is_disallowed_by_robots
from monitor.sweep.summary_check import JudgedSummary, SummaryChecker, join_sentences
from monitor.verify.judge import StatementJudge
from monitor.verify.prose import DEPENDENT_START, STATEMENT_WORDS, compute_text_weight, iter_whole_sentences
from monitor.verify.second_reader import StatementVerifier
from monitor.verify.statements import Judgement, SourceText, StatementCounts
from monitor.vocabulary import Phase, SummaryBy, Verdict


@dataclass(frozen=True, kw_only=True)
class ArticleContent:
    """The content of an item's page; `failure` says why there is no text, `record` is the page's evidence id."""

    snapshot: PageSnapshot
    text: str = ""
    facts: ArticleFacts = field(default_factory=ArticleFacts)
    failure: Message | None = None
    is_disallowed: bool = False
    record: str | None = None


async def fetch_article(run: RunContext, item: Item) -> ArticleContent:
    """Fetch what the item's url shows. Never raises for what a site does."""
    page = await run.deps.loader.load(item.url, render=run.render)
    seen = create_page_snapshot(page)
    if page.error is None:
        failure = None if page.text.strip() else Message("cause.no_text")
        return ArticleContent(snapshot=seen, text=page.text, facts=page, failure=failure, record=page.record)
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


MIN_EXTRACT_CHARS = 60
MAX_EXTRACT_SENTENCES = 3
_FIGURE_PATTERN = re.compile(
    r"\d+(?:[.,]\d+)*\s?(?:%|％|亿|万|元|个|项|家|吨|千瓦|倍|percent|per cent|million|billion"
    r"|euros?|dollars?)|百分之|[$€£]\d"
)


@dataclass(frozen=True, slots=True)
class _ScoredSentence:
    index: int
    text: str
    score: float

    @property
    def weight(self) -> float:
        return compute_text_weight(self.text)


def extract_summary(title: str, text: str, language: str, max_chars: int = 200) -> str:
    return join_sentences(extract_sentences(title, text, language, max_chars))


def extract_sentences(title: str, text: str, language: str, max_chars: int = 200) -> list[str]:
    """One to three whole sentences of the page in page order, together 60 to 200 characters; [] where it has none.

    Preferred are early sentences, with words of the title, measures or figures, in `language` where a page has two.
    Two Latin letters count as one character. Of a Chinese sentence that is too long each clause up to ； counts alone.
    """
    sentences = _score_sentences(title, text, language, max_chars)
    chosen: list[_ScoredSentence] = []
    weight = 0.0
    for sentence in sorted(sentences, key=lambda sentence: (-sentence.score, sentence.index)):
        is_enough = len(chosen) == MAX_EXTRACT_SENTENCES or weight >= max_chars * 0.75
        if is_enough and weight >= MIN_EXTRACT_CHARS:
            break
        if weight + sentence.weight <= max_chars:
            chosen.append(sentence)
            weight += sentence.weight
    chosen.sort(key=lambda sentence: sentence.index)
    return [] if weight <= 20 else [sentence.text for sentence in chosen]


def _score_sentences(title: str, text: str, language: str, max_chars: int) -> list[_ScoredSentence]:
    words = _extract_title_words(title)
    plain_title = _normalize_text(title)
    seen: set[str] = set()
    sentences: list[_ScoredSentence] = []
    for written in iter_whole_sentences(text, max_chars):
        plain = _normalize_text(written)
        if plain in seen or (plain_title and (plain in plain_title or plain == plain_title)):
            continue
        seen.add(plain)
        score = _compute_score(written, len(sentences), words, language)
        sentences.append(_ScoredSentence(len(sentences), written, score))
    return sentences


def _compute_score(sentence: str, index: int, title_words: set[str], language: str) -> float:
    plain = _normalize_text(sentence)
    shared = sum(word in plain for word in title_words) / len(title_words) if title_words else 0.0
    is_question = sentence.rstrip(CLOSING_MARKS).endswith(("？", "?"))
    is_in_language = _is_chinese(sentence) == language.lower().startswith("zh")
    return (
        2.0 / (1 + 0.25 * index)
        + 1.5 * shared
        + 0.5 * min(len(_FIGURE_PATTERN.findall(sentence)), 3)
        + 0.3 * min(len(STATEMENT_WORDS.findall(sentence)), 3)
        + (1.0 if is_in_language else 0.0)
        - (1.5 if is_question else 0.0)
        - (0.6 if DEPENDENT_START.match(sentence) else 0.0)
        - (0.5 if compute_text_weight(sentence) < 18 else 0.0)
    )


def _extract_title_words(title: str) -> set[str]:
    words = {word.lower() for word in re.findall(r"[^\W\d_\u4e00-\u9fff]{4,}", title)}
    for run in re.findall(r"[\u4e00-\u9fff]+", title):
        words.update(run[index : index + 2] for index in range(len(run) - 1))
    return words - {"关于", "通知", "公告", "印发"}


def _normalize_text(text: str) -> str:
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text)).lower()


def _is_chinese(text: str) -> bool:
    return sum("\u4e00" <= char <= "\u9fff" for char in text) * 4 > len(text)


_MAX_ATTEMPTS = 2


@dataclass(frozen=True)
class _WrittenSummary:
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

    async def summarise(self, item: Item) -> None:
        article = await fetch_article(self._run, item)
        if article.failure is not None:
            await self._run.record_fallback(Phase.SUMMARISE, item.url, article.failure)
            if article.is_disallowed:
                place = UnseenPlace(section=item.section, url=item.url, reason=article.failure)
                await self._deps.store.runs.add_unseen(item.run_id, [place])
        if not article.text.strip():
            await self._deps.store.revisions.save(_build_snapshot(item, article))
            return
        await self._save(item, article, await self._write(item, article))

    async def adopt(self, item: Item, offered: str) -> bool:
        """Keep a summary that an agent offered with a save, if all of it passes the same check; else it is dropped."""
        article = await fetch_article(self._run, item)
        checked = JudgedSummary(fault=article.failure)
        if article.text.strip():
            checker = await self._build_checker(item, article, self._build_task(item))
            checked = await checker.check(extract_plain_text(offered))
        if not article.text.strip() or not checked.is_sound:
            await self._deps.store.revisions.save(_build_snapshot(item, article))
            return False
        await self._save(item, article, _WrittenSummary.from_checked(checked))
        return True

    async def _write(self, item: Item, article: ArticleContent) -> _WrittenSummary:
        dropped = StatementCounts()
        if self._deps.model is not None:
            written = await self._write_by_model(self._deps.model, item, article)
            if written.text:
                return written
            dropped = written.counts
        sentences = extract_sentences(item.title, article.text, self._run.source.summary_language)
        return _WrittenSummary.from_extract(sentences, dropped)

    async def _write_by_model(self, model: ChatModel, item: Item, article: ArticleContent) -> _WrittenSummary:
        """Ask for a summary, and once more with what is wrong with it; without a text where something still is.

        So says section 4 of the contracts: no statement of a summary is contradicted or unsupported.
        """
        task = self._build_task(item)
        checker = await self._build_checker(item, article, task)
        messages = task.build_messages(article.text[: self._deps.limits.summary_max_chars])
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
            checked = await checker.check(answer)
            if checked.is_sound:
                return _WrittenSummary.from_checked(checked)
            fault, dropped = checked.reason, StatementCounts.count(judgement for _, judgement in checked.dropped)
            messages = [*messages, *task.build_rewrite(answer, checked.list_faults(task.language))]
        await self._run.record_fallback(Phase.SUMMARISE, item.url, Message.of("cause.extract", reason=fault))
        return _WrittenSummary(counts=dropped)

    def _build_task(self, item: Item) -> SummaryTask:
        return SummaryTask(
            title=item.title,
            kind=classify_document(item.title, item.type),
            rules=self._run.source.rules,
            language=self._run.source.summary_language,
            prompts=self._deps.prompts,
        )

    async def _build_checker(self, item: Item, article: ArticleContent, task: SummaryTask) -> SummaryChecker:
        page = SourceText(
            text=article.text,
            title=item.title,
            section=item.section,
            publisher=article.facts.issuer or item.issuer or item.source,
            published_on=article.facts.stated_date or item.date,
        )
        verifier = StatementVerifier(
            model=self._deps.model, language=task.language, place=item.url, prompts=self._deps.prompts
        )
        judge = await asyncio.to_thread(StatementJudge, [page])
        echoes = task.create_echo_detector(article.text)
        return SummaryChecker(title=item.title, judge=judge, verifier=verifier, echoes=echoes)

    async def _save(self, item: Item, article: ArticleContent, summary: _WrittenSummary) -> None:
        changes = {
            "summary": summary.text,
            "summary_by": summary.by,
            "statements": summary.counts.model_dump() if summary.text else None,
            **build_item_changes(item, article.facts),
        }
        claims = None
        if self._deps.linker is not None and article.record is not None:
            claims = await self._deps.linker.link_article(
                item,
                record=article.record,
                title=item.title,
                text=article.text,
                statements=summary.statements,
                published_on=article.facts.stated_date,
                attachments=article.facts.attachments,
            )
        snapshot = _build_snapshot(item, article)
        await self._deps.store.revisions.save(snapshot, text=article.text, changes=changes, claims=claims)


def _build_snapshot(item: Item, article: ArticleContent) -> ItemSnapshot:
    return ItemSnapshot.from_page(item.id or 0, item.run_id, article.snapshot)


def fold_letters(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())
