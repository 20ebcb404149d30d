"""Links items to the records of their pages, with the passages that support them."""

import datetime as dt
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from monitor.db.reading import LedgerEntry
from monitor.db.tables.collection import Item
from monitor.db.tables.evidence import Claim, ClaimKind, ClaimUpdate
from monitor.errors import RecordLost
from monitor.fetch.result import FetchResult
from monitor.i18n.message import Message
from monitor.isolation.pool import IsolatedWorkFailed, WorkerPool
from monitor.logs import get_logger
from monitor.page import Attachment, Candidate
from monitor.verify.passages import (
    LIST_DATE_SOURCES,
    ArticleClaims,
    ArticleSupport,
    RowPassages,
    find_article_support,
    find_row_passages,
)
from monitor.verify.statements import Judgement
from monitor.vocabulary import Disposition

_LIST_CLAIMS = frozenset({ClaimKind.LIST})
_PAGE_CLAIMS = frozenset({ClaimKind.PAGE, ClaimKind.SUMMARY, ClaimKind.FIGURE})


@dataclass
class EvidenceLinker:
    """Links the items of one run to its evidence records, which `load_result` loads by their ids.

    The passages are looked for in `workers`. Where that fails, the whole page stands for the passage, and
    `pop_problems` says why.
    """

    load_result: Callable[[str], Awaitable[FetchResult | None]]
    workers: WorkerPool
    _problems: dict[str, Message] = field(default_factory=dict, init=False)

    def pop_problems(self) -> Mapping[str, Message]:
        """Return, by url, what went wrong since this was asked last."""
        problems, self._problems = self._problems, {}
        return problems

    async def link_list(self, entries: Sequence[LedgerEntry]) -> ClaimUpdate:
        """Return the claims of a section's saved candidates, with rows of their list pages as passages."""
        by_record: dict[str, list[tuple[int, Candidate]]] = {}
        for entry in entries:
            if entry.disposition is Disposition.SAVED and entry.item_id is not None and entry.candidate.record:
                by_record.setdefault(entry.candidate.record, []).append((entry.item_id, entry.candidate))
        claims: dict[int, list[Claim]] = {}
        for record, saved in by_record.items():
            found = await self._find_rows(record, [candidate for _, candidate in saved])
            for (item_id, candidate), passages in zip(saved, found, strict=True):
                claims[item_id] = _build_row_claims(item_id, candidate, record, passages)
        return ClaimUpdate(claims, replaced_kinds=_LIST_CLAIMS)

    async def link_article(
        self,
        item: Item,
        *,
        record: str,
        title: str,
        text: str,
        statements: Sequence[tuple[str, Judgement]],
        published_on: dt.date | None,
        attachments: Sequence[Attachment],
        is_searchable: bool = True,
        support: ArticleSupport | None = None,
    ) -> ClaimUpdate:
        """Return the claims of an item from its page: its url, dates, attachments, summary sentences and figures.

        `statements` are the sentences of its summary, each with the judgement on it. In a page that is not
        `is_searchable`, because a worker did not get through it, no passage is looked for. `support` was found when
        the page was parsed; it counts where it is for the same claims.
        """
        claimed = ArticleClaims.of_item(
            title=title,
            date=item.date,
            date_source=item.date_source,
            published_on=published_on,
            attachments=attachments,
            statements=[sentence for sentence, _ in statements],
        )
        if support is None or support.claims != claimed:
            support = await self._find_support(record, text, claimed, url=item.url) if is_searchable else None
        claims = [_build_claim(item.id, ClaimKind.PAGE, item.url, record, "")]
        if support is not None and support.passages is not None:
            for day, passage in zip(claimed.days, support.passages.days, strict=True):
                claims.append(_build_claim(item.id, ClaimKind.DATE, day.isoformat(), record, passage))
            for url, passage in zip(claimed.urls, support.passages.links, strict=True):
                claims.append(_build_claim(item.id, ClaimKind.ATTACHMENT, url, record, passage))
        claims += [_build_statement_claim(item.id, sentence, judgement, record) for sentence, judgement in statements]
        if support is not None:
            on_list = next((other for other in item.evidence if other != record), record)
            for number in support.figures:
                if number.passage:
                    place = record if number.passage in text else on_list
                    claims.append(_build_claim(item.id, ClaimKind.FIGURE, number.written, place, number.passage))
        return ClaimUpdate({item.id or 0: claims}, replaced_kinds=_PAGE_CLAIMS)

    async def _find_rows(self, record: str, candidates: Sequence[Candidate]) -> list[RowPassages]:
        result, nothing = await self._load(record), [RowPassages()] * len(candidates)
        if result is None:
            return nothing
        try:
            return await self.workers.run(find_row_passages, result, candidates)
        except IsolatedWorkFailed as error:
            self._problems[result.final_url] = error.message
            return nothing

    async def _find_support(self, record: str, text: str, claims: ArticleClaims, *, url: str) -> ArticleSupport | None:
        if not (claims.days or claims.urls or claims.summary):
            return None
        result = await self._load(record)
        try:
            return await self.workers.run(find_article_support, result, text, claims)
        except IsolatedWorkFailed as error:
            self._problems[url] = error.message
            return None

    async def _load(self, record_id: str) -> FetchResult | None:
        try:
            return await self.load_result(record_id)
        except RecordLost as error:
            get_logger("evidence").warning("not linked", record=record_id, reason=str(error))
            return None


def _build_row_claims(item_id: int, candidate: Candidate, record: str, passages: RowPassages) -> list[Claim]:
    claims = [_build_claim(item_id, ClaimKind.LIST, candidate.title, record, passages.row)]
    if candidate.date is not None and candidate.date_source in LIST_DATE_SOURCES:
        claims.append(_build_claim(item_id, ClaimKind.DATE, candidate.date.isoformat(), record, passages.date))
    return claims + [
        _build_claim(item_id, ClaimKind.ATTACHMENT, attachment.url, record, attachment.title)
        for attachment in candidate.attachments
    ]


def _build_statement_claim(item_id: int | None, sentence: str, judgement: Judgement, record: str) -> Claim:
    claim = _build_claim(item_id, ClaimKind.SUMMARY, sentence, record, judgement.passage)
    claim.verdict, claim.judged_by = judgement.verdict, judgement.by
    claim.reasons = [reason.model_dump(mode="json") for reason in judgement.reasons]
    return claim


def _build_claim(item_id: int | None, kind: ClaimKind, claim: str, record: str, passage: str) -> Claim:
    return Claim(item_id=item_id or 0, kind=kind, claim=claim, record_id=record, passage=passage)
