"""The order of importance with a model: labels on a fixed scale, in batches, held against what titles clearly say."""

import asyncio
import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from monitor.db.tables.collection import Item
from monitor.document import DocumentFacts
from monitor.errors import ModelFailed
from monitor.i18n.message import Message
from monitor.llm.answer_schemas import INTEGER, TEXT, describe_list, describe_object
from monitor.llm.answers import parse_array
from monitor.llm.chat import ChatModel, CompletionRequest, fit_chars
from monitor.llm.prompts import DEFAULT_PROMPTS, PromptSet
from monitor.ranking.prompt import ItemLabel, build_ranking_messages, clean_reason, read_labels, repair_order
from monitor.ranking.rule import Importance, score_importance, sort_by_score
from monitor.ranking.topics import TopicScore
from monitor.vocabulary import Phase

BATCH_SIZE = 60
MAX_LABELLED = 200
"""Of more items the foremost by rule are labelled; the others are placed by the rules alone."""

_MIN_BATCH_SIZE = 5
_LINE_CHARS = 250
"""About as long as the line of an item is at most."""

_ANSWER_SCHEMA = describe_list(describe_object(i=INTEGER, score=INTEGER, why=TEXT))
_MODEL_SHARE = 0.6
"""How much a label counts beside the rules' score: the mean of two readers wavers less than one of them."""
_TOLERANCE = 12
_MAX_DISTANCE = 25
"""How far a label may lie from the score of an item whose title says clearly what it does."""


@dataclass(frozen=True)
class RankingContext:
    """What an order may depend on besides the items; `facts` and `fits` are by place among them."""

    today: dt.date | None = None
    facts: Mapping[int, DocumentFacts] = field(default_factory=dict)
    fits: Mapping[int, TopicScore] = field(default_factory=dict)
    place: str = ""
    language: str = "zh"
    rules: str = ""
    prompts: PromptSet = DEFAULT_PROMPTS


@dataclass(frozen=True)
class RankedItems:
    """An order with what led to it, all by place in the given list.

    `labels` are the scores that the model gave, now or in an earlier ranking. `faults` are the reasons why it gave none
    for a batch; `is_answered` says whether it ranked anything.
    """

    order: list[int]
    importances: list[Importance]
    labels: dict[int, int]
    faults: list[Message]
    is_answered: bool


async def rank_items(items: Sequence[Item], context: RankingContext, model: ChatModel | None = None) -> RankedItems:
    """Return items in their order of importance: by rule, and with a model by its labels and the rules together.

    An item that a model has labelled before keeps its label, so that an order does not waver from one day to the next.
    Every batch reaches from the weightiest to the least by rule. Where a model answers with an order and no labels, the
    scores of the batch are dealt out in that order.
    """
    found = await asyncio.to_thread(_score_all, items, context)
    scores = [importance.score for importance in found]
    by_rule = sort_by_score(items, scores)
    labels = {n: ItemLabel(item.importance) for n, item in enumerate(items) if item.importance is not None}
    unlabelled = [n for n in by_rule[:MAX_LABELLED] if n not in labels] if len(items) > 1 else []
    faults: list[Message] = []
    dealt: dict[int, float] = {}
    chars = fit_chars(model, Phase.RANK, BATCH_SIZE * _LINE_CHARS, context.place)
    for batch in _split_into_batches(unlabelled, max(chars // _LINE_CHARS, _MIN_BATCH_SIZE)):
        answer = None if model is None else await _ask(model, [items[n] for n in batch], context)
        if isinstance(answer, Message):
            faults.append(answer)
        elif isinstance(answer, dict):
            labels |= {batch[number]: label for number, label in answer.items()}
        elif answer is not None:
            batch_scores = sorted((scores[n] for n in batch), reverse=True)
            dealt |= {batch[number]: score for number, score in zip(answer, batch_scores, strict=True)}
    ranked = [_apply_label(items[n], importance, labels.get(n)) for n, importance in enumerate(found)]
    ranked = [replace(importance, score=dealt.get(n, importance.score)) for n, importance in enumerate(ranked)]
    order = _sort(items, [importance.score for importance in ranked], by_rule, dealt)
    kept = {n: label.score for n, label in labels.items()}
    return RankedItems(order, ranked, kept, faults, is_answered=bool(kept or dealt))


def _score_all(items: Sequence[Item], context: RankingContext) -> list[Importance]:
    return [
        score_importance(item, context.facts.get(n), context.fits.get(n), context.today) for n, item in enumerate(items)
    ]


def _split_into_batches(places: Sequence[int], size: int) -> list[Sequence[int]]:
    """Return batches of at most `size`, each with every so-manieth place."""
    count = -(-len(places) // size)
    return [places[start::count] for start in range(count)]


async def _ask(
    model: ChatModel, items: Sequence[Item], context: RankingContext
) -> dict[int, ItemLabel] | list[int] | Message:
    """Return labels by number, else an order of the numbers, else the reason why there is neither."""
    messages = build_ranking_messages(items, context.language, rules=context.rules, prompts=context.prompts)
    try:
        request = CompletionRequest(messages, phase=Phase.RANK, place=context.place, schema=_ANSWER_SCHEMA)
        completion = await model.complete(request)
    except ModelFailed as error:
        return error.reason
    answer = parse_array(completion.text)
    if labels := read_labels(answer, len(items)):
        return labels
    return repair_order(answer, len(items)) or Message("cause.no_numbers")


def _apply_label(item: Item, importance: Importance, label: ItemLabel | None) -> Importance:
    if label is None:
        return importance
    distance = label.score - (importance.score - importance.fit)
    if not importance.is_open:
        distance = min(max(distance, -_MAX_DISTANCE), _MAX_DISTANCE)
    beyond = math.copysign(max(abs(distance) - _TOLERANCE, 0.0), distance)
    score = importance.score + _MODEL_SHARE * beyond
    why = clean_reason(label.why, item)
    reasons = [*importance.reasons, Message.of("rank.assessed", text=why)] if why else importance.reasons
    return replace(importance, score=score, reasons=reasons)


def _sort(
    items: Sequence[Item], scores: Sequence[float], by_rule: Sequence[int], dealt: Mapping[int, float]
) -> list[int]:
    """By score; equals as the model named them where it dealt an order, else as the rules have them."""
    place_by_rule = {n: place for place, n in enumerate(by_rule)}
    named = {n: place for place, n in enumerate(dealt)}
    return sorted(range(len(items)), key=lambda n: (-scores[n], named.get(n, 0), place_by_rule[n]))
