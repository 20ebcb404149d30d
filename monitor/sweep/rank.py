"""Phase 3: the order of importance of a run's items, by one completion or by the principles as rules."""

from collections.abc import Sequence

from monitor.db.tables.collection import Item
from monitor.db.tables.people import RankFeedbackEntry, RankPlacement
from monitor.errors import ModelFailed
from monitor.i18n.message import Message
from monitor.llm.answers import parse_array
from monitor.llm.chat import ChatModel, CompletionRequest
from monitor.llm.prompts import DEFAULT_PROMPTS, PromptSet
from monitor.ranking.feedback import apply_feedback, compute_lifts
from monitor.ranking.prompt import build_ranking_messages, repair_order
from monitor.ranking.rule import classify_tier, rank_by_rule, sort_newest_first
from monitor.sweep.progress import FallbackRecorder
from monitor.vocabulary import Phase


async def rank_items(
    items: Sequence[Item],
    *,
    model: ChatModel | None,
    fallbacks: FallbackRecorder,
    place: str,
    language: str,
    feedback: Sequence[RankFeedbackEntry] = (),
    prompts: PromptSet = DEFAULT_PROMPTS,
) -> dict[int, RankPlacement]:
    """The places by item id, with people's wishes honoured; newest date first where a model was asked in vain."""
    if model is None or len(items) < 2:
        order = rank_by_rule(items)
    else:
        order = await _rank_by_model(items, model, fallbacks, place, language, prompts)
    tiers = [classify_tier(item) for item in items]
    after = apply_feedback(order, tiers=tiers, lifts=compute_lifts(items, feedback))
    return {
        items[index].id or 0: RankPlacement(rank, tiers[index], after.moved.get(index))
        for rank, index in enumerate(after.order, start=1)
    }


async def _rank_by_model(
    items: Sequence[Item], model: ChatModel, fallbacks: FallbackRecorder, place: str, language: str, prompts: PromptSet
) -> list[int]:
    messages = build_ranking_messages(items, language, prompts=prompts)
    try:
        completion = await model.complete(CompletionRequest(messages, phase=Phase.RANK, place=place))
    except ModelFailed as error:
        await fallbacks.record(Phase.RANK, place, error.reason)
        return sort_newest_first(items)
    order = repair_order(parse_array(completion.text), len(items), fallback_order=rank_by_rule(items))
    if order is None:
        await fallbacks.record(Phase.RANK, place, Message("cause.newest_first"))
        return sort_newest_first(items)
    return order
