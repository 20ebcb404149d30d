"""Phase 2: a summary for each item, by the model or else an extract of the page's own sentences."""

import asyncio
import hashlib
import re
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from monitor.db.reading import UnseenPlace
from monitor.db.tables.collection import Item
from monitor.db.tables.evidence import AttachmentSnapshot, ItemSnapshot, PageSnapshot
from monitor.errors import ModelFailed, ModelUnavailable, WorkFailed
from monitor.evidence.revisions import create_page_snapshot
from monitor.extract.sentences import CLOSING_MARKS, WEB_ADDRESS
from monitor.i18n.message import Message
from monitor.llm.answers import extract_plain_text
from monitor.llm.chat import ChatModel
from monitor.page import ArticleFacts, PageErrorCode
from monitor.sweep.context import RunContext
from monitor.sweep.prompts import build_summary_messages
from monitor.sweep.reader import is_disallowed_by_robots
from monitor.verify.grounding import find_ungrounded_numbers
from monitor.verify.prose import DEPENDENT_START, STATEMENT_WORDS, compute_text_weight, iter_whole_sentences
from monitor.vocabulary import Phase, SummaryBy


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
    """One to three whole sentences of the page in page order, together 60 to 200 characters; '' where it has none.

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
    return "" if weight <= 20 else _join_sentences([sentence.text for sentence in chosen])


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


def _join_sentences(sentences: list[str]) -> str:
    joined = ""
    for sentence in sentences:
        joined += f" {sentence}" if joined and joined[-1].isascii() else sentence
    return joined


def _normalize_text(text: str) -> str:
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text)).lower()


def _is_chinese(text: str) -> bool:
    return sum("\u4e00" <= char <= "\u9fff" for char in text) * 4 > len(text)


MIN_SUMMARY_CHARS = 20
MAX_SUMMARY_CHARS = 1000
_MAX_ATTEMPTS = 2


def find_fault(summary: str, *, title: str, text: str) -> Message | None:
    """Return why a summary is refused; None where it is accepted.

    The rules are contracts section 4, phase 2: not empty, not the title, more than 20 characters, and no number or
    date that the text lacks. Nor a web address: a page could have told the model to cite one.
    """
    if len(summary) <= MIN_SUMMARY_CHARS:
        return Message("cause.too_short" if summary else "cause.empty")
    if len(summary) > MAX_SUMMARY_CHARS:
        return Message("cause.too_long")
    if fold_letters(summary) == fold_letters(title):
        return Message("cause.title_again")
    if WEB_ADDRESS.search(summary):
        return Message("cause.web_address")
    missing = find_ungrounded_numbers(summary, f"{title}\n{text}")
    return Message.of("cause.not_on_page", figures=missing[:5]) if missing else None


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
        summary = await self._summarise_by_model(self._deps.model, item, article.text) if self._deps.model else ""
        by = SummaryBy.MODEL
        if not summary:
            summary = extract_summary(item.title, article.text, self._run.source.summary_language)
            by = SummaryBy.EXTRACT if summary else SummaryBy.NONE
        await self._save(item, article, summary, by)

    async def adopt(self, item: Item, offered: str) -> bool:
        """Keep a summary that an agent offered with a save, if it passes the same checks; else it is dropped."""
        article = await fetch_article(self._run, item)
        summary = extract_plain_text(offered)
        if not article.text.strip() or find_fault(summary, title=item.title, text=article.text):
            await self._deps.store.revisions.save(_build_snapshot(item, article))
            return False
        await self._save(item, article, summary, SummaryBy.MODEL)
        return True

    async def _summarise_by_model(self, model: ChatModel, item: Item, text: str) -> str:
        messages = build_summary_messages(
            title=item.title,
            text=text[: self._deps.limits.summary_max_chars],
            rules=self._run.source.rules,
            language=self._run.source.summary_language,
            prompts=self._deps.prompts,
        )
        fault: Message | None = None
        for _ in range(_MAX_ATTEMPTS):
            try:
                completion = await model.complete(messages, phase=Phase.SUMMARISE, place=item.url)
            except ModelFailed as error:
                fault = error.reason
                if isinstance(error, ModelUnavailable):
                    break
                continue
            summary = extract_plain_text(completion.text)
            fault = find_fault(summary, title=item.title, text=text)
            if fault is None:
                return summary
        await self._run.record_fallback(Phase.SUMMARISE, item.url, Message.of("cause.extract", reason=fault))
        return ""

    async def _save(self, item: Item, article: ArticleContent, summary: str, by: SummaryBy) -> None:
        changes = {"summary": summary, "summary_by": by, **build_item_changes(item, article.facts)}
        claims = None
        if self._deps.linker is not None and article.record is not None:
            claims = await self._deps.linker.link_article(
                item,
                record=article.record,
                title=item.title,
                text=article.text,
                summary=summary,
                published_on=article.facts.stated_date,
                attachments=article.facts.attachments,
            )
        snapshot = _build_snapshot(item, article)
        await self._deps.store.revisions.save(snapshot, text=article.text, changes=changes, claims=claims)


def _build_snapshot(item: Item, article: ArticleContent) -> ItemSnapshot:
    return ItemSnapshot.from_page(item.id or 0, item.run_id, article.snapshot)


def fold_letters(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())
