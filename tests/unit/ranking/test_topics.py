"""Which words of a topic stand in an item, and what they come to."""

import datetime as dt
from typing import Any

import pytest

from monitor.db.tables.collection import Item
from monitor.db.tables.policies import Topic
from monitor.document import DocumentFacts, Relation, StatedDeadline
from monitor.i18n.catalogue import render
from monitor.ranking.topics import MATCH_SCORE, TopicScore, apply_wish, list_topic_words, score_topic
from monitor.vocabulary import DeadlineKind, RelationType

NOW = dt.datetime(2026, 2, 3, tzinfo=dt.UTC)


def topic(*words: str, **fields: Any) -> Topic:
    return Topic(id=1, name="clients", words=list(words), created_at=NOW, **fields)


def item(title: str, **fields: Any) -> Item:
    values = {"run_id": "r", "source": "s", "section": "s", "url": "u", "url_key": "u", "first_seen": NOW} | fields
    return Item(id=1, title=title, **values)


def score(wanted: Topic, title: str = "Notice", text: str = "", facts: DocumentFacts | None = None) -> TopicScore:
    return score_topic(wanted, item(title), facts, text)


@pytest.mark.parametrize(
    ("word", "title"),
    [
        ("储能", "关于加快新型储能发展的通知"),
        ("储能", "關於加快新型儲能發展的通知"),
        ("新型儲能", "关于新型储能的通知"),
        ("5G基站", "关于 5G 基站建设的意见"),
        ("grid fee", "Grid fees from 2027"),
        ("grid fees", "A new GRID FEE"),
        ("capacity payment", "Capacity-payments reformed"),
        ("policy", "Two policies on storage"),
        ("subsidies", "The subsidy ends"),
        ("licences", "A licence for batteries"),
        ("analysis", "Analyses of the market"),
        ("process", "Faster processes"),
        ("EV", "Support for EVs"),
        ("ets", "The EU ETS in 2027"),
        ("GRID FEES", "Grid fees from 2027"),
        ("电动汽车EV", "支持电动汽车 EV 充电"),
    ],
)
def test_a_word_in_the_title_makes_a_match(word: str, title: str) -> None:
    found = score(topic(word), title)
    assert found.is_match
    assert found.words == (word,)
    assert found.passage == title


@pytest.mark.parametrize(
    ("word", "title"),
    [
        ("grid", "The gridlock of traffic"),
        ("tax", "Syntax of forms"),
        ("EV", "Every ever clever rev"),
        ("IT", "What it means"),
        ("news", "A new rule"),
        ("gas", "A gauge"),
        ("储能", "粮食储备与能源"),
        ("。", "。"),
    ],
)
def test_a_part_of_another_word_is_none(word: str, title: str) -> None:
    assert score(topic(word), title).score == 0.0


def test_what_is_said_once_in_passing_is_no_match_and_what_is_said_again_and_again_is() -> None:
    once = score(topic("储能"), text="。".join(["其他内容" * 20] * 20 + ["也涉及储能"]))
    assert 0 < once.score < MATCH_SCORE
    often = score(topic("储能"), text="其他内容" * 200 + "储能电站应当配置。" * 12)
    assert often.is_match
    assert often.passage == "储能电站应当配置。" or "储能" in often.passage
    two = score(topic("储能", "容量电价"), text="本办法适用于储能，其容量电价另行规定。" + "其他。" * 300)
    assert two.is_match
    assert two.passage == "本办法适用于储能，其容量电价另行规定。"


def test_a_word_in_the_facts_counts_as_they_say_what_the_document_does() -> None:
    facts = DocumentFacts(bound=["independent storage operators"])
    assert score(topic("storage operator"), facts=facts).is_match
    named = DocumentFacts(relations=[Relation(type=RelationType.REPEALS, title="储能电站管理办法")])
    assert score(topic("储能电站"), facts=named).is_match
    due = StatedDeadline(kind=DeadlineKind.APPLY_BY, day=dt.date(2026, 3, 1), subject="grid connection applications")
    assert score(topic("grid connection"), facts=DocumentFacts(deadlines=[due])).is_match


def test_an_exclusion_in_the_title_bars_an_item() -> None:
    found = score(topic("储能", exclusions=["抽水蓄能"]), "抽水蓄能与新型储能")
    assert (found.score, found.is_match, found.is_barred) == (0.0, False, True)
    assert "抽水蓄能" in render(found.reason, "zh")


def test_a_word_within_an_exclusion_does_not_count() -> None:
    wanted = topic("storage", exclusions=["data storage"])
    assert score(wanted, text="Data storage, and again data storage. " * 10).is_barred
    mixed = score(wanted, text="Data storage is not meant. " + "Storage of power is paid. " * 10)
    assert mixed.is_match
    assert mixed.passage == "Storage of power is paid."


def test_only_the_sources_of_a_topic_count() -> None:
    wanted = topic("储能", sources=["能源局"])
    assert score_topic(wanted, item("储能", source="能源局")).is_match
    assert score_topic(wanted, item("储能", source="人民日报")).is_barred
    all_of_it = topic(sources=["能源局"])
    assert score_topic(all_of_it, item("任何通知", source="能源局")).is_match
    assert not score_topic(topic(), item("任何通知")).is_match


def test_the_sentence_of_a_topic_lists_words_too() -> None:
    listed = topic(sentence="storage developers: grid fees, capacity payments and EV charging")
    assert set(list_topic_words(listed)) == {"storage developers", "grid fees", "capacity payments", "EV charging"}
    assert score(listed, "A capacity payment is proposed").is_match
    chinese = topic(sentence="储能企业：输配电价、容量补偿和市场参与者准入")
    assert set(list_topic_words(chinese)) == {"储能企业", "输配电价", "容量补偿", "市场参与者准入"}
    prose = topic(sentence="Whatever our clients in the north have to know before they sign their contracts.")
    assert list_topic_words(prose) == {}


def test_weights_that_feedback_moved_change_the_score() -> None:
    usual = score(topic("电力"), "电力市场通知").score
    assert score(topic("电力", weights={"电力": 0.4}), "电力市场通知").score < MATCH_SCORE < usual
    assert score(topic("电力", weights={"电力": 1.3}), "电力市场通知").score > usual
    assert score(topic("电力", weights={"电力": -5.0}), "电力市场通知").score > 0


def test_a_reason_says_what_was_found_where() -> None:
    facts = DocumentFacts(bound=["aggregators"])
    said = score(topic("储能", "aggregator", "电价"), "储能通知", "开头。" * 200 + "电价" * 3, facts).reason
    assert render(said, "en") == "Found in its title: 储能, in its facts: aggregator, 3 × in its text: 电价."
    assert render(said, "zh") == "标题中有“储能”、要素中有“aggregator”、正文中 3 处有“电价”。"


def test_the_passage_stands_in_the_item_as_it_was_written() -> None:
    text = "前言。\n  各地要落实 ＥＶ 充电的\n新型儲\n能 要求。\n结尾。"
    found = score(topic("新型储能", "EV"), "通知", text)
    assert found.passage in text or found.passage == "通知"
    long = "x" * 500 + " 储能 " + "y" * 500
    assert "储能" in score(topic("储能"), "储能", long).passage


def test_without_a_text_the_summary_stands_for_it() -> None:
    assert score_topic(topic("储能", "电价"), item("通知", summary="明确储能电价。")).is_match


def test_what_people_said_outweighs_the_words() -> None:
    weak, strong = score(topic("储能"), text="也涉及储能"), score(topic("储能"), "储能")
    assert apply_wish(weak, True).is_match
    assert not apply_wish(strong, False).is_match
    assert apply_wish(weak, True).score > MATCH_SCORE > apply_wish(strong, False).score
    assert apply_wish(strong, None) == strong
