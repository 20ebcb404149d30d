"""The order of importance of a briefing's items, which come from one run or from many."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from pydantic import BaseModel, Field

from monitor.db.tables.collection import Item
from monitor.document import DocumentFacts
from monitor.i18n.message import Message
from monitor.llm.chat import ChatModel
from monitor.llm.prompts import DEFAULT_PROMPTS, PromptSet
from monitor.ranking.feedback import apply_feedback
from monitor.ranking.model import RankingContext, rank_items
from monitor.ranking.rule import Importance, classify_tier, sort_newest_first
from monitor.ranking.topics import TopicScore
from monitor.vocabulary import RankDirection

RankedBy = Literal["run", "model", "rule"]


class Ranking(BaseModel):
    """The order of items, as indexes of the given list, most important first, and who decided it.

    `fault` is the reason why a model that was asked did not. `moved` are the places of those that people's feedback
    moved, with the direction; `tiers` the tiers to which it moved them. `reasons` say why an item stands where it does,
    where this order did not come from its run.
    """

    order: list[int]
    by: RankedBy
    fault: Message | None = None
    moved: dict[int, RankDirection] = Field(default_factory=dict)
    tiers: dict[int, int] = Field(default_factory=dict)
    reasons: dict[int, Message] = Field(default_factory=dict)


async def rank_briefing_items(
    items: Sequence[Item],
    *,
    model: ChatModel | None,
    language: str,
    lifts: Sequence[int] = (),
    prompts: PromptSet = DEFAULT_PROMPTS,
    facts: Mapping[int, DocumentFacts] | None = None,
    fits: Mapping[int, TopicScore] | None = None,
    today: dt.date | None = None,
) -> Ranking:
    """The order of items: the run's own where one run brought them all, else by their scores on the one scale.

    `facts` and `fits` are those of items by their ids; with `fits`, to the topic of the briefing, a run's own order
    does not count. A model is asked about items that none has labelled; without one, or where it fails, the rules
    decide. Last come people's wishes: `lifts` says by place how far each item is to move.
    """
    ranking = _take_order_of_run(items) if not fits else None
    if ranking is None:
        context = RankingContext(
            today=today,
            facts={n: facts[item.id or 0] for n, item in enumerate(items) if facts and item.id in facts},
            fits={n: fits[item.id or 0] for n, item in enumerate(items) if fits and item.id in fits},
            place="briefing",
            language=language,
            prompts=prompts,
        )
        ranking = await _rank(items, context, model)
    if not any(lifts):
        return ranking
    tiers = [item.tier or ranking.tiers.get(n) or classify_tier(item) for n, item in enumerate(items)]
    after = apply_feedback(ranking.order, tiers=tiers, lifts=lifts)
    changed = {n: tier - tiers[n] for n, tier in after.tiers.items() if tier != tiers[n]}
    moved = {n: RankDirection.HIGHER if change < 0 else RankDirection.LOWER for n, change in changed.items()}
    return ranking.model_copy(update={"order": after.order, "moved": after.moved | moved, "tiers": after.tiers})


def _take_order_of_run(items: Sequence[Item]) -> Ranking | None:
    if len({item.run_id for item in items}) != 1 or all(item.rank is None for item in items):
        return None
    age = {index: place for place, index in enumerate(sort_newest_first(items))}
    by_rank = sorted(range(len(items)), key=lambda n: (items[n].rank is None, items[n].rank or 0, age[n]))
    return Ranking(order=by_rank, by="run")


async def _rank(items: Sequence[Item], context: RankingContext, model: ChatModel | None) -> Ranking:
    ranked = await rank_items(items, context, model)
    return Ranking(
        order=ranked.order,
        by="model" if ranked.is_answered else "rule",
        fault=ranked.faults[0] if ranked.faults else None,
        reasons={n: _explain(importance, context.fits.get(n)) for n, importance in enumerate(ranked.importances)},
    )


def _explain(importance: Importance, fit: TopicScore | None) -> Message:
    """Return why an item stands where it does, without its fit to the topic: the briefing says that apart."""
    others = [reason for reason in importance.reasons if fit is None or reason != fit.reason]
    return replace(importance, reasons=others or importance.reasons).reason
