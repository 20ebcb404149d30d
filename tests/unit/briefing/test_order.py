"""The order of a briefing's items, with a model that says what the test wants it to say."""

import datetime as dt
from typing import Any

from monitor.briefing.order import rank_briefing_items
from monitor.db.tables.collection import Item
from monitor.errors import ModelFailed
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.llm.chat import Completion, CompletionRequest
from monitor.ranking.model import BATCH_SIZE, MAX_LABELLED
from monitor.ranking.topics import TopicScore
from monitor.vocabulary import ItemType, Phase, RankDirection

NOW = dt.datetime(2026, 2, 3, 8, 0, tzinfo=dt.UTC)


class Answering:
    """A `ports.ChatModel` that gives one answer; without one it fails."""

    def __init__(self, answer: str | None) -> None:
        self.answer = answer
        self.asked: list[tuple[Phase, str, str]] = []

    async def complete(self, request: CompletionRequest) -> Completion:
        assert not request.tools
        assert request.on_token is None
        self.asked.append((request.phase, request.place, request.messages[-1].content))
        if self.answer is None:
            raise ModelFailed("the server is gone", outcome="network")
        return Completion(text=self.answer)


def item(number: int, **fields: Any) -> Item:
    values: dict[str, Any] = {
        "id": number,
        "run_id": f"run-{number}",
        "source": "甲",
        "section": "通知",
        "url": f"https://gov.example/{number}",
        "url_key": str(number),
        "title": f"关于开展第{number}次检查的通知",
        "date": dt.date(2026, 2, 1 + number % 28),
        "type": ItemType.NOTICE,
        "rank": 1,
        "tier": 4,
        "first_seen": NOW,
    }
    return Item(**(values | fields))


async def test_items_of_one_run_keep_its_ranks_and_no_model_is_asked() -> None:
    model = Answering("[0, 1, 2]")
    items = [item(n, run_id="run", rank=rank) for n, rank in ((1, 3), (2, None), (3, 1))]
    ranking = await rank_briefing_items(items, model=model, language="zh")
    assert (ranking.order, ranking.by, model.asked) == ([2, 0, 1], "run", [])


async def test_items_of_several_runs_are_put_in_order_by_one_completion_over_all_of_them() -> None:
    model = Answering("[2, 0, 2, 99]")
    ranking = await rank_briefing_items([item(1), item(2), item(3)], model=model, language="zh")
    assert len(model.asked) == 1
    assert model.asked[0][:2] == (Phase.RANK, "briefing")
    # The model is shown the newest first, as the rules have it, and the one that it forgot stands last.
    assert (ranking.order, ranking.by, ranking.fault) == ([0, 2, 1], "model", None)


async def test_without_a_model_the_rules_decide() -> None:
    law = item(2, title="中华人民共和国能源法", type=ItemType.LAW, tier=1)
    ranking = await rank_briefing_items([item(1), law], model=None, language="zh")
    assert (ranking.order, ranking.by, ranking.fault) == ([1, 0], "rule", None)


async def test_a_model_that_fails_or_says_nothing_of_use_gives_way_to_the_rules_and_the_reason_is_told() -> None:
    law = item(2, title="中华人民共和国能源法", type=ItemType.LAW, tier=1)
    failed = await rank_briefing_items([item(1), law], model=Answering(None), language="zh")
    assert (failed.order, failed.by, failed.fault and render(failed.fault, "en")) == (
        [1, 0],
        "rule",
        "network: the server is gone",
    )
    useless = await rank_briefing_items([item(1), law], model=Answering("都很重要。"), language="zh")
    assert (useless.order, useless.by) == ([1, 0], "rule")
    assert useless.fault


async def test_of_a_long_list_the_foremost_are_labelled_in_batches_and_the_others_follow_by_rule() -> None:
    items = [item(n) for n in range(MAX_LABELLED + 20)]
    model = Answering('[{"i": 0, "score": 90}]')
    ranking = await rank_briefing_items(items, model=model, language="zh")
    by_rule = (await rank_briefing_items(items, model=None, language="zh")).order
    counts = [question.count("关于开展第") for _, _, question in model.asked]
    assert (sum(counts), max(counts) <= BATCH_SIZE) == (MAX_LABELLED, True)
    assert sorted(ranking.order) == list(range(len(items)))
    assert ranking.order[: len(counts)] == by_rule[: len(counts)]  # each batch begins with one of the foremost
    assert ranking.order[MAX_LABELLED:] == by_rule[MAX_LABELLED:]


async def test_items_that_a_run_had_labelled_are_not_asked_about_again() -> None:
    model = Answering("[]")
    ranking = await rank_briefing_items(
        [item(1, importance=40), item(2, importance=70), item(3, importance=55)], model=model, language="zh"
    )
    assert (ranking.order, ranking.by, ranking.fault, model.asked) == ([1, 2, 0], "model", None, [])


async def test_a_topic_outweighs_the_order_of_the_run() -> None:
    items = [item(n, run_id="run", rank=n) for n in (1, 2)]
    fit = TopicScore(0.9, is_match=True, reason=Message.other("储能"), passage="储能")
    ranking = await rank_briefing_items(items, model=None, language="zh", fits={2: fit})
    assert (ranking.order, ranking.by) == ([1, 0], "rule")
    assert "储能" not in render(ranking.reasons[1], "zh")  # a briefing says apart why an item concerns its readers


async def test_no_items_have_no_order() -> None:
    assert (await rank_briefing_items([], model=Answering("[]"), language="zh")).order == []


async def test_feedback_moves_documents_and_their_tiers_after_whoever_made_the_order() -> None:
    law = item(9, title="某某条例", type=ItemType.LAW, tier=2)
    for model in (None, Answering("[0, 1]")):
        ranking = await rank_briefing_items([item(1), law], model=model, language="zh", lifts=[2, 0])
        assert (ranking.order, ranking.moved, ranking.tiers) == ([1, 0], {0: RankDirection.HIGHER}, {0: 3})
    of_run = [item(n, run_id="run", rank=n) for n in (1, 2)]
    ranking = await rank_briefing_items(of_run, model=None, language="zh", lifts=[0, 1])
    assert (ranking.order, ranking.by, ranking.moved, ranking.tiers) == ([1, 0], "run", {1: RankDirection.HIGHER}, {})
    assert (await rank_briefing_items(of_run, model=None, language="zh", lifts=[0, 0])).order == [0, 1]
