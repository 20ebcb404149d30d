"""How important a document is: what it does, how far it reaches, whom it binds, and which days are near."""

import datetime as dt
from typing import Any

import pytest

from monitor.db.tables.collection import Item
from monitor.document import DocumentFacts, FigureChange, Relation, StatedDeadline
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.ranking.kinds import classify_item_type
from monitor.ranking.rule import rank_by_rule, score_importance
from monitor.ranking.topics import TopicScore
from monitor.vocabulary import DeadlineKind, ItemType, PolicyStage, RelationType

TODAY = dt.date(2026, 11, 23)


def line(title: str, **more: Any) -> Item:
    return Item(**({"title": title, "type": classify_item_type(title), "source": "", "date": TODAY} | more))


def score(title: str, facts: DocumentFacts | None = None, **more: Any) -> float:
    return score_importance(line(title, **more), facts, None, TODAY).score


def test_penalties_stand_behind_all_that_concerns_an_industry() -> None:
    titles = [
        "行政处罚决定书〔2026〕3号",
        "关于调整输配电价的通知",
        "8月份全社会用电量数据",
        "《电价办法》解读",
        "Final Notice: Harwood Wealth Ltd",
        "PS26/9: Motor finance redress scheme – final rules",
        "CP26/18: Safeguarding regime for payment firms",
    ]
    order = [titles[n] for n in rank_by_rule([line(title) for title in titles], today=TODAY)]
    assert {order[-1], order[-2]} == {titles[0], titles[4]}
    assert order[0] == titles[5]


@pytest.mark.parametrize(
    ("higher", "lower"),
    [
        ("储能安全管理办法", "青禾省储能安全管理办法"),
        ("关于开展安全检查的通知", "国家能源局南方监管局关于开展安全检查的通知"),
        ("国务院办公厅关于储能价格的意见", "国家能源局关于储能价格的意见"),
        ("关于规范互联网贷款业务的通知", "关于华创精工股份有限公司有关事项的通知"),
        ("关于调整收费标准的通知", "关于调整本市收费标准的通知"),
    ],
)
def test_the_higher_the_issuer_and_the_more_are_bound_the_more_it_weighs(higher: str, lower: str) -> None:
    assert score(higher) > score(lower)


def test_markets_and_ministries_of_a_city_are_not_local_because_of_a_name() -> None:
    assert score_importance(line("关于调整保证金比例的通知", source="上海证券交易所")).tier == 2
    assert score_importance(line("关于公开征求意见的公告", source="国家市场监督管理总局")).tier == 2
    assert score_importance(line("关于组织申报试点的通知", source="上海市经济信息化委")).tier == 4


def test_a_deadline_that_is_near_lifts_and_one_that_is_over_lowers() -> None:
    title = "CP26/18: Safeguarding regime for payment firms"

    def closing(days: int) -> DocumentFacts:
        day = TODAY + dt.timedelta(days=days)
        return DocumentFacts(
            stage=PolicyStage.CONSULTATION, deadlines=[StatedDeadline(kind=DeadlineKind.COMMENTS_UNTIL, day=day)]
        )

    assert score(title, closing(7)) > score(title, closing(30)) > score(title, closing(90)) > score(title, closing(-1))
    assert score(title, closing(90)) == score(title)


def test_the_text_says_what_a_title_leaves_open_and_no_more() -> None:
    final = DocumentFacts(stage=PolicyStage.FINAL, in_force=dt.date(2027, 1, 1))
    penalty = DocumentFacts(stage=PolicyStage.ENFORCEMENT)
    assert score("Reporting of Securities Lending by Custodians", final) > 80
    assert score("Reporting of Securities Lending by Custodians", penalty) < 35
    assert score("《电价办法》解读", final) == score("《电价办法》解读")
    changed = DocumentFacts(
        figures=[FigureChange(subject="保证金", old="80%", new="100%")],
        relations=[Relation(type=RelationType.REPLACES, title="旧办法")],
    )
    assert score("储能安全管理办法", changed) > score("储能安全管理办法")


def test_the_type_counts_where_the_title_says_nothing() -> None:
    assert score("绿电账本", type=ItemType.DATA) > score("绿电账本", type=ItemType.MEETING)


def test_a_topic_lifts_what_fits_and_the_reason_says_so() -> None:
    fit = TopicScore(1.0, is_match=True, reason=Message.other("fits storage"), passage="储能")
    other = TopicScore(0.4, is_match=False, reason=Message.other("does not fit"), passage="")
    plain = score_importance(line("关于储能的通知"))
    lifted = score_importance(line("关于储能的通知"), None, fit)
    assert lifted.score > plain.score
    assert "fits storage" in render(lifted.reason, "en")
    assert score_importance(line("关于储能的通知"), None, other) == plain


def test_every_place_has_a_reason_in_a_sentence() -> None:
    facts = DocumentFacts(deadlines=[StatedDeadline(kind=DeadlineKind.COMMENTS_UNTIL, day=dt.date(2026, 12, 1))])
    found = score_importance(line("青禾省关于征求《电价办法（征求意见稿）》意见的公告"), facts, None, TODAY)
    assert render(found.reason, "en") == (
        "A consultation on rules to come: it applies in one place only, it touches prices, taxes, limits or access, "
        "comments close on 2026-12-01."
    )
    assert render(found.reason, "zh").startswith("规则征求意见：只在一地适用")
    assert render(score_importance(line("局长会见来宾")).reason, "en") == "A visit or a reception."


def test_an_order_does_not_depend_on_how_the_items_are_given() -> None:
    items = [line(f"关于第{number}项检查的通知", id=number) for number in range(6)]
    assert [items[n].id for n in rank_by_rule(items)] == list(range(6))
    assert [items[5 - n].id for n in rank_by_rule(items[::-1])] == list(range(6))
