"""The order with a model: labels on one scale, read with care, held against what titles clearly say."""

import datetime as dt
import json
import random
import re
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.ranking import compute_tau
from monitor.db.tables.collection import Item
from monitor.errors import ModelFailed
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.llm.chat import Completion, CompletionRequest
from monitor.ranking.model import BATCH_SIZE, RankingContext, rank_items
from monitor.ranking.prompt import ItemLabel, clean_reason, read_labels
from monitor.ranking.topics import TopicScore
from monitor.vocabulary import Phase

LINE = re.compile(r"^\[(\d+)\] \[[^\]]*\] \S+ \| (.*)$", re.MULTILINE)
TITLES = [
    "储能安全管理办法",
    "关于调整输配电价的通知",
    "关于公开征求《碳核算办法（征求意见稿）》意见的公告",
    "关于发布3项行业标准的公告",
    "《电价办法》解读",
    "8月份全社会用电量数据",
    "第三批入选名单公示",
    "行政处罚决定书〔2026〕3号",
    "全国能源工作会议召开",
    "局长会见来宾",
]


class Labelling:
    """A `ChatModel` whose answer to a list of titles a function gives; None fails."""

    def __init__(self, answer: Callable[[list[str]], Any]) -> None:
        self.answer = answer
        self.asked: list[list[str]] = []

    async def complete(self, request: CompletionRequest) -> Completion:
        assert request.phase is Phase.RANK
        titles = [title for _, title in LINE.findall(request.messages[-1].content)]
        self.asked.append(titles)
        answer = self.answer(titles)
        if answer is None:
            raise ModelFailed("the server is gone", outcome="network")
        return Completion(text=answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False))


def lines(titles: list[str], **more: Any) -> list[Item]:
    return [Item(title=title, source="", date=dt.date(2026, 11, 23), **more) for title in titles]


def label(scores: dict[str, int], why: str = "") -> Callable[[list[str]], Any]:
    return lambda titles: [{"i": n, "score": scores.get(title, 50), "why": why} for n, title in enumerate(titles)]


@pytest.mark.parametrize(
    ("answer", "labels"),
    [
        ([{"i": 0, "score": 85, "why": "x"}, {"i": "1", "score": "40"}], {0: ItemLabel(85, "x"), 1: ItemLabel(40)}),
        ([{"i": 0, "score": 85}, {"i": 0, "score": 5}], {0: ItemLabel(85)}),
        ([{"i": 9, "score": 85}, {"i": 0, "score": 101}, {"i": 1, "score": -3}, {"i": 1}, "x", None, [0, 1]], {}),
        ([{"i": 0, "score": 71.6, "why": 3}], {0: ItemLabel(72)}),
        ([{"i": 0, "score": float("inf")}, {"i": True, "score": 3}, {"i": 1, "score": True}], {}),
        ([2, 0, 1], {}),
        ("no", {}),
        (None, {}),
    ],
)
def test_labels_are_read_or_left_out(answer: Any, labels: dict[int, ItemLabel]) -> None:
    assert read_labels(answer, 2) == labels


def test_a_reason_with_a_figure_that_the_item_does_not_have_is_not_shown() -> None:
    item = Item(title="电价下调5%", source="", summary="自2026年起")
    assert clean_reason("电价下调5%，自2026年起\n影响所有用户", item) == "电价下调5%，自2026年起 影响所有用户"
    assert clean_reason("可节省300亿元", item) == ""
    assert len(clean_reason("很" * 900, item)) <= 160


async def test_labels_move_items_and_are_told_with_their_reason() -> None:
    model = Labelling(label({TITLES[6]: 62}, why="影响用电企业"))
    ranked = await rank_items(lines(TITLES), RankingContext(), model)
    by_rule = await rank_items(lines(TITLES), RankingContext())
    assert ranked.order.index(6) < by_rule.order.index(6)
    assert (ranked.labels[6], ranked.is_answered, by_rule.is_answered) == (62, True, False)
    assert "影响用电企业" in render(ranked.importances[6].reason, "zh")


async def test_a_label_cannot_make_a_visit_weigh_more_than_a_rule() -> None:
    model = Labelling(label({TITLES[9]: 100, TITLES[0]: 0}))
    order = (await rank_items(lines(TITLES), RankingContext(), model)).order
    assert order.index(0) < order.index(9)


async def test_an_order_in_place_of_labels_is_kept_and_its_gaps_are_filled_by_rule() -> None:
    items = lines(TITLES[:4])
    ranked = await rank_items(items, RankingContext(), Labelling(lambda _: [3, 0]))
    assert (ranked.order[:2], sorted(ranked.order), ranked.labels) == ([3, 0], [0, 1, 2, 3], {})


async def test_many_items_are_labelled_in_batches_that_each_reach_from_top_to_bottom() -> None:
    titles = [f"{title}{number}" for number in range(15) for title in ("储能管理办法 第", "局长会见来宾 第")] * 5
    model = Labelling(label({}))
    await rank_items(lines(titles), RankingContext(), model)
    assert len(model.asked) == 3
    assert max(map(len, model.asked)) <= BATCH_SIZE
    assert all({title[:2] for title in batch} == {"储能", "局长"} for batch in model.asked)


async def test_a_batch_that_fails_is_ranked_by_rule_beside_those_that_do_not() -> None:
    answers = iter([None, []])
    model = Labelling(lambda titles: label({})(titles) if next(answers, None) == [] else None)
    ranked = await rank_items(lines(TITLES * 12), RankingContext(), model)
    assert (len(ranked.faults), ranked.is_answered, len(ranked.labels)) == (1, True, 60)
    useless = await rank_items(lines(TITLES), RankingContext(), Labelling(lambda _: "都很重要。"))
    assert ([fault.code for fault in useless.faults], useless.is_answered) == (["cause.no_numbers"], False)
    assert useless.order == (await rank_items(lines(TITLES), RankingContext())).order


async def test_an_item_keeps_the_label_that_it_has() -> None:
    model = Labelling(label({}))
    ranked = await rank_items(lines(TITLES, importance=50), RankingContext(), model)
    assert (model.asked, ranked.labels[0], ranked.is_answered) == ([], 50, True)


async def test_a_label_says_nothing_about_a_topic_and_takes_nothing_from_its_fit() -> None:
    fit = TopicScore(1.0, is_match=True, reason=Message.other("fits"), passage="")
    context = RankingContext(fits={5: fit})
    labelled = await rank_items([*lines(TITLES[:5]), *lines(TITLES[5:6], importance=43)], context)
    plain = await rank_items(lines(TITLES[:6]), context)
    assert labelled.importances[5].score == plain.importances[5].score


async def test_two_runs_with_a_model_that_wavers_agree() -> None:
    right = {title: 95 - 10 * place for place, title in enumerate(TITLES)}
    places = []
    for seed in range(6):
        wavering = random.Random(seed)  # noqa: S311
        scores = {
            title: min(max(value + wavering.choice((-10, -5, 0, 5, 10)), 0), 100) for title, value in right.items()
        }
        items = lines(TITLES)
        order = (await rank_items(items, RankingContext(), Labelling(label(scores)))).order
        places.append([float(order.index(n)) for n in range(len(items))])
    taus = [compute_tau(first, second) for first in places for second in places if first is not second]
    assert sum(taus) / len(taus) >= 0.9
