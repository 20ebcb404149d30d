"""One piece of work of one contender: a phase of a sweep with a recorded run's material, and what came of it."""

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from monitor.db.reading import SectionPlan
from monitor.db.tables.collection import Item
from monitor.db.tables.people import RankFeedbackEntry
from monitor.document import DocumentFacts
from monitor.evaluation.metering import MeteredModel
from monitor.evaluation.pieces import (
    DraftStatement,
    FallbackRow,
    ItemsRanked,
    ItemsSaved,
    RankWish,
    SectionsFound,
    StatementsRead,
    SummaryWritten,
)
from monitor.evaluation.planting import plant_statements, read_verdicts
from monitor.i18n.message import Message
from monitor.llm.answers import extract_plain_text
from monitor.ranking.model import RankingContext, rank_items
from monitor.sweep.context import RunContext
from monitor.sweep.crawl import crawl_section
from monitor.sweep.navigate import navigate
from monitor.sweep.summarise import ArticleContent, Summariser
from monitor.sweep.summary_check import JudgedSentence, SummaryGrounds, judge_summary
from monitor.urls import url_key
from monitor.verify.second_reader import review_statements
from monitor.vocabulary import Disposition, Phase, SavedBy, SummaryBy

_SAVED_BY_AGENT = f"candidate.{SavedBy.AGENT}"
_LEFT_BY_AGENT = "cause.left_by_agent"


@dataclass(frozen=True, kw_only=True)
class PieceContext(RunContext):
    """The context of one piece of work: what falls back is kept with the piece, and neither logged nor stored."""

    metered: MeteredModel
    fallbacks: list[FallbackRow] = field(default_factory=list)

    async def record_fallback(self, phase: Phase, where: str, reason: Message) -> None:
        del where
        if reason.code != _LEFT_BY_AGENT:
            self.fallbacks.append(FallbackRow(phase=phase, reason=reason))


async def measure_sections(run: PieceContext, wanted: Sequence[str]) -> tuple[SectionsFound, bool]:
    """Let the model choose sections on the recorded home page; also return whether it did."""
    home = await run.deps.loader.load(run.source.url, render=run.render)
    plans = await navigate(run, home)
    chosen = [url_key(plan.url) for plan in plans if plan.found_by is SavedBy.AGENT and not plan.is_home]
    return SectionsFound(wanted=list(wanted), chosen=chosen), bool(chosen) and not run.fallbacks


async def measure_items(run: PieceContext, plan: SectionPlan, wanted: Sequence[str]) -> tuple[ItemsSaved, bool]:
    """Let the agent read a section; what code saves after it does not count. Also return whether the agent worked."""
    reading = await crawl_section(run, plan)
    saved = [
        url_key(entry.candidate.url)
        for entry in reading.entries
        if entry.disposition is Disposition.SAVED and entry.reason and entry.reason.code == _SAVED_BY_AGENT
    ]
    measured = ItemsSaved(
        wanted=list(wanted), saved=saved, refused=reading.refused_saves, corrected=reading.corrected_dates
    )
    return measured, bool(run.metered.answers) and not run.fallbacks


async def measure_summary(run: PieceContext, item: Item, article: ArticleContent) -> tuple[SummaryWritten, bool]:
    """Let the model write a summary; its first draft is judged by code alone, the same for all models.

    Also return whether a summary by the model was kept.
    """
    summariser = Summariser(run)
    written = await summariser.write(item, article)
    drafts = [extract_plain_text(answer) for answer in run.metered.answers]
    is_kept = written.by is SummaryBy.MODEL
    measured = SummaryWritten(
        item_id=item.id or 0,
        title=item.title,
        url=item.url,
        drafts=len(drafts),
        is_kept=is_kept,
        is_kept_at_first=is_kept and len(drafts) == 1,
        summary=written.text if is_kept else "",
    )
    if drafts:
        grounds = summariser.build_grounds(item, article)
        judged = await run.deps.workers.run(judge_summary, drafts[0], grounds)
        measured.fault = judged.fault
        measured.statements = [_describe_sentence(sentence, grounds) for sentence in judged.sentences]
    return measured, is_kept


def _describe_sentence(sentence: JudgedSentence, grounds: SummaryGrounds) -> DraftStatement:
    judgement = sentence.judgement
    reason = next((each.message for each in judgement.reasons), None)
    return DraftStatement(
        text=sentence.text,
        verdict=judgement.verdict,
        is_open=judgement.is_open,
        is_on_page=_fold(sentence.text) in _fold(grounds.page.text),
        reason=reason,
        passage=judgement.passage,
    )


def _fold(text: str) -> str:
    return re.sub(r"\s+", "", text)


async def measure_statements(
    run: PieceContext, item: Item, text: str, other_text: str
) -> tuple[StatementsRead, bool] | None:
    """Let the model read planted sentences against a page; None where the page has none to plant."""
    planted = plant_statements(text, other_text)
    if not planted:
        return None
    statements, judgements = [entry[0] for entry in planted], [entry[1] for entry in planted]
    reviewed = await review_statements(
        run.metered,
        [statement.text for statement in statements],
        judgements,
        place=item.url,
        language=run.source.summary_language,
        prompts=run.deps.prompts,
    )
    read = read_verdicts(statements, reviewed)
    is_answered = any(statement.verdict is not None for statement in read)
    return StatementsRead(item_id=item.id or 0, statements=read), is_answered


async def measure_ranks(
    run: PieceContext,
    items: Sequence[Item],
    *,
    facts: Mapping[int, DocumentFacts],
    feedback: Sequence[RankFeedbackEntry],
    today: dt.date,
) -> tuple[ItemsRanked, bool]:
    """Let the model rank the items as if no model had labelled them before; wishes count from the recorded order."""
    unlabelled = [item.model_copy(update={"importance": None}) for item in items]
    context = RankingContext(
        today=today,
        facts={n: facts[item.id or 0] for n, item in enumerate(items) if item.id in facts},
        place=run.source.name,
        language=run.source.summary_language,
        rules=run.source.rules,
        prompts=run.deps.prompts,
    )
    ranked = await rank_items(unlabelled, context, run.metered)
    by_rule = await rank_items(unlabelled, context)
    for fault in ranked.faults:
        await run.record_fallback(Phase.RANK, run.source.name, fault)
    order = [items[n].id or 0 for n in ranked.order]
    recorded = [item.id or 0 for item in sorted(items, key=lambda item: (item.rank or len(items), item.id or 0))]
    wishes = [
        RankWish(
            item_id=entry.item_id, wish=entry.wish, moved=recorded.index(entry.item_id) - order.index(entry.item_id)
        )
        for entry in feedback
        if entry.item_id in set(order)
    ]
    measured = ItemsRanked(order=order, order_by_rule=[items[n].id or 0 for n in by_rule.order], wishes=wishes)
    return measured, ranked.is_answered and not ranked.faults
