"""Themes: which items of a briefing share a subject."""

import time

import pytest

from monitor.briefing.themes import ThemedTitle, group_by_theme

CHINESE = [
    "国家能源局关于印发《新型储能电站安全管理办法》的通知",
    "关于完善煤电容量电价机制的通知",
    "《新型储能电站安全管理办法》解读",
    "容量电价机制答记者问",
    "关于数据出境安全评估的公告",
]
ENGLISH = [
    "FCA publishes final rules on crypto asset promotions",
    "Consultation on motor finance redress scheme",
    "Crypto asset promotions: questions and answers",
    "Motor finance redress: statement",
    "Cloud market investigation update",
]


@pytest.mark.parametrize(
    ("titles", "names"),
    [(CHINESE, ["储能", "容量电价"]), (ENGLISH, ["crypto asset", "motor finance"])],
    ids=["zh", "en"],
)
def test_titles_of_one_subject_are_a_theme_whatever_document_forms_and_issuers_they_share(
    titles: list[str], names: list[str]
) -> None:
    groups = group_by_theme([ThemedTitle(n, title, names=["国家能源局", "FCA"]) for n, title in enumerate(titles)])
    assert sorted(group.items for group in groups) == [[0, 2], [1, 3]]
    assert all(name in group.name for group, name in zip(groups, names, strict=True))


def test_items_of_one_policy_are_a_theme_under_its_name() -> None:
    titles = [
        ThemedTitle(1, "甲", "电力市场规则"),
        ThemedTitle(2, "储能电站标准"),
        ThemedTitle(3, "答记者问", "电力市场规则"),
    ]
    (group,) = group_by_theme(titles)
    assert (group.name, group.items) == ("电力市场规则", [1, 3])


def test_a_piece_of_longer_words_names_no_theme() -> None:
    titles = ["海上风电机组防腐涂层检测规程征求意见", "关于下达2027年度煤电机组灵活性改造计划的通知"]
    assert group_by_theme([ThemedTitle(n, title) for n, title in enumerate(titles)]) == []


@pytest.mark.parametrize(
    "titles",
    [
        ["中小企业数字化转型城市试点", "专精特新企业复核名单", "新增车辆企业公示"],
        ["Letter on unlisted asset valuation", "Digital asset platforms"],
        ["Kelpie limits on deposits", "The Kelpie lending study"],
    ],
    ids=["企业", "asset", "one word of two titles"],
)
def test_what_everything_is_about_and_what_two_share_by_chance_are_no_theme(titles: list[str]) -> None:
    assert group_by_theme([ThemedTitle(n, title) for n, title in enumerate(titles)]) == []


def test_what_most_titles_share_tells_none_apart() -> None:
    titles = [ThemedTitle(n, f"绿色低碳{word}") for n, word in enumerate("甲乙丙丁戊己庚辛")]
    assert group_by_theme(titles) == []


def test_a_thousand_long_titles_take_no_second() -> None:
    titles = [ThemedTitle(n, f"{n}号{'储能电站并网运行消防验收' * 8}{n}") for n in range(1000)]
    began = time.process_time()
    group_by_theme(titles)
    assert time.process_time() - began < 2
