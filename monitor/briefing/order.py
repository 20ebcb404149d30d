"""The order of importance of a briefing's items, which come from one run or from many."""

import asyncio
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, Field

from monitor.db.tables.collection import Item
from monitor.errors import ModelFailed
from monitor.i18n.message import Message
from monitor.llm.answers import parse_array
from monitor.llm.chat import ChatModel, CompletionRequest
from monitor.llm.prompts import DEFAULT_PROMPTS, PromptSet
from monitor.ranking.feedback import apply_feedback
from monitor.ranking.prompt import build_ranking_messages, repair_order
from monitor.ranking.rule import classify_tier, rank_by_rule, sort_newest_first
from monitor.vocabulary import Phase, RankDirection

RankedBy = Literal["run", "model", "rule"]
MAX_RANKED_ITEMS = 200  # that a model compares at once; what the rules place behind them stays in their order


class Ranking(BaseModel):
    """The order of items, as indexes of the given list, most important first, and who decided it.

    `fault` is the reason why a model that was asked did not. `moved` are the places of those that people's feedback
    moved, with the direction; `tiers` the tiers to which it moved them.
    """

    order: list[int]
    by: RankedBy
    fault: Message | None = None
    moved: dict[int, RankDirection] = Field(default_factory=dict)
    tiers: dict[int, int] = Field(default_factory=dict)


async def rank_briefing_items(
    items: Sequence[Item],
    *,
    model: ChatModel | None,
    language: str,
    lifts: Sequence[int] = (),
    prompts: PromptSet = DEFAULT_PROMPTS,
) -> Ranking:
    """The order of items: the run's own where one run brought them all, else one completion over the merged list.

    Ranks of different runs cannot be compared. Without a model, or where it fails, the rules decide. Last come people's
    wishes: `lifts` says by place how far each item is to move.
    """
    ranking = await _rank_without_feedback(items, model=model, language=language, prompts=prompts)
    if not any(lifts):
        return ranking
    tiers = [item.tier or classify_tier(item) for item in items]
    after = apply_feedback(ranking.order, tiers=tiers, lifts=lifts)
    changed = {n: tier - tiers[n] for n, tier in after.tiers.items() if tier != tiers[n]}
    moved = {n: RankDirection.HIGHER if change < 0 else RankDirection.LOWER for n, change in changed.items()}
    return ranking.model_copy(update={"order": after.order, "moved": after.moved | moved, "tiers": after.tiers})


async def _rank_without_feedback(
    items: Sequence[Item], *, model: ChatModel | None, language: str, prompts: PromptSet
) -> Ranking:
    if len({item.run_id for item in items}) == 1 and any(item.rank is not None for item in items):
        age = {index: place for place, index in enumerate(sort_newest_first(items))}
        by_rank = sorted(range(len(items)), key=lambda n: (items[n].rank is None, items[n].rank or 0, age[n]))
        return Ranking(order=by_rank, by="run")
    by_rule = await asyncio.to_thread(rank_by_rule, items)
    if model is None or len(items) < 2:
        return Ranking(order=by_rule, by="rule")
    asked = by_rule[:MAX_RANKED_ITEMS]
    messages = build_ranking_messages([items[index] for index in asked], language, prompts=prompts)
    try:
        completion = await model.complete(CompletionRequest(messages, phase=Phase.RANK, place="briefing"))
    except ModelFailed as error:
        return Ranking(order=by_rule, by="rule", fault=error.reason)
    answer = repair_order(parse_array(completion.text), len(asked))
    if answer is None:
        return Ranking(order=by_rule, by="rule", fault=Message("cause.no_numbers"))
    return Ranking(order=[*(asked[place] for place in answer), *by_rule[MAX_RANKED_ITEMS:]], by="model")
