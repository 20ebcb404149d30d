import datetime as dt
from collections import Counter
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.db.tables.collection import Item
from monitor.dedupe.clusters import DocumentCluster, cluster_items
from monitor.dedupe.identity import build_identity
from monitor.dedupe.pairs import DocumentRelation, classify_relation
from monitor.dedupe.texts import TextMatch, compare_texts, normalize_for_comparison
from monitor.vocabulary import ItemType

FIXTURES = Path(__file__).parents[3] / "fixtures" / "grouping"
SEEN = dt.datetime(2026, 2, 3, 8, 0, tzinfo=dt.UTC)
RECALL = 0.95

Known = dict[str, Any]


def item_of(known: Known, number: int) -> Item:
    return Item(
        id=number,
        run_id="run-1",
        source=known.get("source") or "",
        section="",
        url=known["url"],
        url_key=known["url"],
        title=known["title"],
        date=known.get("date"),
        type=ItemType(known.get("type") or "其他"),
        first_seen=SEEN,
        document_number=known.get("document_number"),
        issuer=known.get("issuer"),
        is_repost=known.get("repost", False),
    )


def relation_of(one: Known, other: Known) -> DocumentRelation:
    return classify_relation(
        build_identity(item_of(one, 1), one.get("text")), build_identity(item_of(other, 2), other.get("text"))
    )


def pairs_of(file: Path) -> list[tuple[str, str, Known, Known]]:
    pairs = yaml.safe_load(file.read_text(encoding="utf-8"))
    return [(pair["label"], pair["why"], pair["a"], pair["a"] | pair["b"]) for pair in pairs]


PAIRS = [pair for file in sorted(FIXTURES.glob("*.yaml")) for pair in pairs_of(file)]


def named(title: str, number: int = 1, **fields: Any) -> Known:
    return {"url": f"https://gov{number}.example/{number}", "title": title, "date": dt.date(2026, 2, 3)} | fields


def groups_of(known: list[Known]) -> list[DocumentCluster]:
    items = [item_of(each, number) for number, each in enumerate(known, start=1)]
    return cluster_items(
        items, {number: each["text"] for number, each in enumerate(known, start=1) if each.get("text")}
    )


def shape(groups: list[DocumentCluster]) -> set[frozenset[int | None]]:
    below = [reading for each in groups for reading in each.interpretations]
    return {frozenset(item.id for item in each.items) for each in (*groups, *below)}


def test_no_pair_of_the_labelled_set_is_merged_wrongly_and_nearly_every_copy_is_found() -> None:
    outcomes = [(label, relation_of(entry, other).value, why) for label, why, entry, other in PAIRS]
    counts = Counter(label for label, _, _ in outcomes)
    assert counts["same"] >= 150, counts
    assert counts["different"] >= 250, counts
    for wanted in ("same", "interpretation"):
        wrongly = [why for label, found, why in outcomes if found == wanted and label != wanted]
        missed = [why for label, found, why in outcomes if label == wanted and found != wanted]
        assert not wrongly
        assert len(missed) <= (1 - RECALL) * counts[wanted], missed


def test_which_of_two_items_comes_first_does_not_matter() -> None:
    for _, _, entry, other in PAIRS:
        a, b = (
            build_identity(item_of(entry, 1), entry.get("text")),
            build_identity(item_of(other, 2), other.get("text")),
        )
        assert classify_relation(a, b) is classify_relation(b, a)


def test_the_labelled_set_as_one_list_joins_no_items_that_differ() -> None:
    known = [each for _, _, entry, other in PAIRS for each in (entry, other)]
    for each in groups_of(known):
        for item, other in combinations(each.items, 2):
            assert item.id is not None
            assert other.id is not None
            assert relation_of(known[item.id - 1], known[other.id - 1]) is DocumentRelation.SAME


def test_every_item_stands_in_exactly_one_place() -> None:
    known = [each for _, _, entry, other in PAIRS for each in (entry, other)]
    found = [item.id for each in groups_of(known) for part in (each, *each.interpretations) for item in part.items]
    assert sorted(number for number in found if number) == list(range(1, len(known) + 1))


def test_a_third_that_is_like_both_does_not_join_two_that_differ() -> None:
    body = "为进一步加强电化学储能电站安全管理，防范化解安全风险，现就2026年有关事项通知如下，自3月15日起执行。"
    one = named("国家能源局关于加强储能电站安全管理的通知", 1, document_number="国能发安全〔2026〕19号", text=body)
    other = named("国家能源局关于加强储能电站安全管理的通知", 2, document_number="国能发安全〔2026〕57号", text=body)
    between = named("国家能源局关于加强储能电站安全管理的通知", 3, text=body)
    assert relation_of(one, between) is relation_of(other, between) is DocumentRelation.SAME
    for order in permutations((one, other, between)):
        assert sorted(len(each.items) for each in groups_of(list(order))) == [1, 2]


def test_the_lead_is_on_the_issuers_own_site_and_else_the_first_seen() -> None:
    title = "国家能源局关于加强电化学储能电站安全管理的通知"
    portal = named(title, 1, source="政府网", date=dt.date(2026, 2, 2))
    own = named(title, 2, source="国家能源局", date=dt.date(2026, 2, 3))
    [document] = groups_of([portal, own])
    assert [item.id for item in document.items] == [2, 1]
    [document] = groups_of([portal | {"repost": True}, own | {"source": "行业网"}])
    assert [item.id for item in document.items] == [2, 1]
    [document] = groups_of([own | {"source": "行业网"}, portal])
    assert document.lead.id == 2


def test_readings_stand_below_their_policy_and_a_reading_in_two_places_is_shown_once() -> None:
    policy = named("国家数据局关于印发《可信数据空间发展行动计划》的通知", 1)
    picture = named("一图读懂《可信数据空间发展行动计划》", 2, type="解读")
    again = named("一图读懂 | 可信数据空间发展行动计划", 3, type="解读")
    answers = named("国家数据局负责人就《可信数据空间发展行动计划》答记者问", 4, type="解读")
    lonely = named("《公共数据授权运营办法》解读", 5, type="解读")
    documents = groups_of([picture, policy, again, answers, lonely])
    assert [each.lead.id for each in documents] == [2, 5]
    assert [[item.id for item in each.items] for each in documents[0].interpretations] == [[1, 3], [4]]


def test_documents_come_in_the_order_of_the_items() -> None:
    titles = [
        "关于加强农村公路养护管理工作的意见",
        "关于做好城市燃气管道改造工作的通知",
        "关于规范直播电商经营行为的公告",
    ]
    known = [named(title, number) for number, title in enumerate([*titles, titles[0]], start=1)]
    assert [[item.id for item in each.items] for each in groups_of(known)] == [[1, 4], [2], [3]]


def test_hundreds_of_items_of_one_title_and_form_are_grouped_in_little_time_and_rightly() -> None:
    known = [
        named(
            "行政处罚信息公示", number, date=dt.date(2026, 1, 1), text=f"当事人：第{number}公司。罚款{number}万元。" * 4
        )
        for number in range(1, 601)
    ]
    assert len(groups_of([*known, known[0] | {"url": "https://other.example/1"}])) == 600


@pytest.mark.parametrize(
    "title", ["", "…", "《》", "（）", "[2026]", "\x00", "〔2026〕3号", "解读", "关于", "｜", "《《》"]
)
def test_titles_that_say_nothing_are_no_reason_to_merge(title: str) -> None:
    assert relation_of(named(title, 1), named(title, 2)) is DocumentRelation.DIFFERENT
    assert relation_of(named(title, 1), named(title, 1)) is DocumentRelation.SAME


ORDER = "江城市城镇节约用水与再生水利用管理办法"
NOTICE = "国家林草局关于开展2026年第二批国家草原公园试点申报工作的通知"


@pytest.mark.parametrize(
    "decorated",
    [
        *("【转载】{}", "转：{}", "全文：{}", "最新！{}", "3.{}", "要闻｜{}", "江城日报：{}", "通知公告 | {}", "★{}"),
        *("{}（全文）", "{} NEW", "{}.pdf", "{}（附件下载.docx）", "{}（转载自某网）", "{} 来源：江城日报", "《{}》"),
        *("{}_要闻_江城新闻网", "{} - 江城市人民政府门户网站", "{} | 云山律师事务所", "{}…"),
        *(
            "2026-02-03 {}",
            "[02-03] {}",
            "{}2026-02-03",
            "{}（2026年2月3日）",
            "{}（03.02.2026）",
            "{} (3 February 2026)",
        ),
    ],
)
@pytest.mark.parametrize("title", [NOTICE, ORDER])
def test_what_a_site_puts_around_a_title_makes_no_other_document_of_it(title: str, decorated: str) -> None:
    one, other = named(title, 1, date=dt.date(2026, 2, 2)), named(decorated.format(title), 2)
    assert relation_of(one, other) is relation_of(other, one) is DocumentRelation.SAME


@pytest.mark.parametrize(
    "sign",
    [
        *("{}（征求意见稿）", "关于更正《{}》的公告", "关于废止《{}》的决定", "关于修改《{}》的决定", "江城市转发{}"),
        *(
            "{}的补充通知",
            "{}（试行）",
            "{}（二次）",
            "{}任务分工方案",
            "{}（一）",
            "附件2：{}",
            "Entwurf: {}",
            "{}（B类）",
        ),
    ],
)
@pytest.mark.parametrize(
    "text", [None, "各有关单位：现将有关事项公告如下，请遵照执行。请各单位加强组织领导，压实责任，抓好落实。"]
)
@pytest.mark.parametrize("title", [NOTICE, ORDER])
def test_a_word_for_another_stage_or_part_makes_two_documents(title: str, text: str | None, sign: str) -> None:
    one, other = named(title, 1, text=text), named(sign.format(title), 2, text=text)
    assert relation_of(one, other) is relation_of(other, one) is DocumentRelation.DIFFERENT


@pytest.mark.parametrize(
    "form", ["《{}》解读", "一图读懂｜{}", "{}（图解）", "某司负责人就《{}》答记者问", "《{}》十问十答"]
)
def test_a_reading_is_known_by_its_title(form: str) -> None:
    policy = named("江城市人民政府关于印发《江城市城镇节约用水与再生水利用管理办法》的通知", 1)
    assert relation_of(named(form.format(ORDER), 2), policy) is DocumentRelation.INTERPRETATION


def test_two_files_of_one_list_under_one_title_are_two() -> None:
    title = "Harbour Operating Company v. Northern Pipeline Partners"
    one, other = (named(title) | {"url": f"https://court.example/2026/op-{number}.pdf"} for number in (52, 53))
    elsewhere = named(title) | {"url": "https://court.example/news/op-52.html"}
    assert relation_of(one, other) is DocumentRelation.DIFFERENT
    assert relation_of(one, elsewhere) is DocumentRelation.SAME


def test_the_first_lines_of_a_long_text_are_found_in_it_behind_a_sites_own_line() -> None:
    report = "".join("etaoinshrdlu"[(place * place + place // 7 + place // 11) % 12] for place in range(3000))
    compared = compare_texts(
        normalize_for_comparison(report),
        normalize_for_comparison("By our own writer | Share this page. " + report[:300]),
    )
    assert compared.verdict is TextMatch.AGREE
    assert not compared.has_small_differences


_PARTS = st.sampled_from(
    [
        *("关于", "印发", "《", "》", "办法", "的通知", "解读", "2026年", "第二批", "〔2026〕3号"),
        *("…", "国务院", "（", "）", "Part II", "|", "征求意见"),
    ]
)
_TITLES = st.one_of(st.text(max_size=60), st.lists(_PARTS, max_size=9).map("".join))
_ITEMS = st.builds(
    lambda title, number, day, issuer, written, text: named(
        title, number, date=day, issuer=issuer, document_number=written, text=text
    ),
    _TITLES,
    st.integers(1, 4),
    st.none() | st.dates(dt.date(2026, 1, 1), dt.date(2026, 1, 9)),
    st.none() | st.sampled_from(["国务院", "某市教育局", "x"]),
    st.none() | st.sampled_from(["国发〔2026〕3号", "2026年第3号", "x/1"]) | st.text(max_size=9),
    st.none() | st.text(max_size=90) | _TITLES.map(lambda title: title * 9),
)


@settings(max_examples=100)
@given(_ITEMS, _ITEMS)
def test_any_two_items_can_be_compared_in_either_order(one: Known, other: Known) -> None:
    assert relation_of(one, other) is relation_of(other, one)
    assert relation_of(one, one) is DocumentRelation.SAME


@settings(max_examples=60)
@given(st.lists(st.sampled_from(PAIRS), max_size=4), st.randoms(use_true_random=False))
def test_what_makes_a_document_does_not_depend_on_the_order_of_the_items(pairs: list[Any], random: Any) -> None:
    copies = [each for _, _, entry, other in pairs for each in (entry, other)]
    known = [each | {"url": f"{each['url']}?n={number}"} for number, each in enumerate(copies)]
    order = list(range(len(known)))
    random.shuffle(order)
    shuffled = shape(groups_of([known[number] for number in order]))
    back = {frozenset(order[number - 1] + 1 for number in part if number) for part in shuffled}
    assert back == shape(groups_of(known))
