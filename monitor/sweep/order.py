"""Phase 3: the order of importance of a run's items, by one completion or by the principles as rules."""

from collections.abc import Sequence

from monitor.domain.causes import Cause
from monitor.domain.marks import Placed, Wish
from monitor.domain.prompts import OURS, Prompts
from monitor.domain.tables import Item
from monitor.domain.words import Phase
from monitor.errors import ModelFailed
from monitor.llm.answers import parse_array
from monitor.ports import ChatModel
from monitor.ranking import honoured, lifts_of, newest_first, ranking_messages, repair_order, rule_order, tier_of
from monitor.sweep.fallbacks import Fallbacks


async def rank_items(
    items: Sequence[Item],
    *,
    model: ChatModel | None,
    fallbacks: Fallbacks,
    place: str,
    language: str,
    wishes: Sequence[Wish] = (),
    prompts: Prompts = OURS,
) -> dict[int, Placed]:
    """The places by item id, with people's wishes honoured; newest date first where a model was asked in vain."""
    if model is None or len(items) < 2:
        order = rule_order(items)
    else:
        order = await _by_model(items, model, fallbacks, place, language, prompts)
    tiers = [tier_of(item) for item in items]
    after = honoured(order, tiers=tiers, lifts=lifts_of(items, wishes))
    return {
        items[index].id or 0: Placed(rank, tiers[index], after.moved.get(index))
        for rank, index in enumerate(after.order, start=1)
    }


async def _by_model(
    items: Sequence[Item], model: ChatModel, fallbacks: Fallbacks, place: str, language: str, prompts: Prompts
) -> list[int]:
    messages = ranking_messages(items, language, prompts=prompts)
    try:
        completion = await model.complete(messages, phase=Phase.RANK, place=place)
    except ModelFailed as error:
        await fallbacks.note(Phase.RANK, place, f"{error.outcome}: {error}")
        return newest_first(items)
    order = repair_order(parse_array(completion.text), len(items), by_rule=rule_order(items))
    if order is None:
        await fallbacks.note(Phase.RANK, place, Cause.NEWEST_FIRST.told())
        return newest_first(items)
    return order
