"""Names and numbers as keys: one for the draft, the final text and whoever quotes it."""

import time

import pytest

from monitor.db.queries.deadlines import is_unique_key
from monitor.document import DocumentFacts, Relation
from monitor.policies.names import (
    build_number_key,
    fold_name,
    list_own_names,
    list_references,
    list_relation_keys,
    name_document,
)
from monitor.vocabulary import KeyRole, PolicyStage, RelationType


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("新型储能容量补偿管理办法（征求意见稿）", "新型储能容量补偿管理办法"),
        ("网络数据安全管理条例（草案）", "《网络数据安全管理条例》"),
        ("电力市场监管暂行办法", "电力市场监管办法（2026年修订）"),
        ("中华人民共和国能源法", "能源法"),
        ("適用於虛擬資產託管服務提供者的指引", "适用于虚拟资产托管服务提供者的指引"),
        (
            "Final rule: Reporting of Securities Lending by Custodians",
            "Reporting of securities lending by custodians; Correction",
        ),
        ("Online Safety Bill", "Online Safety Act 2026"),
    ],
)
def test_a_name_is_the_same_through_its_stages(one: str, other: str) -> None:
    assert fold_name(one) == fold_name(other) != ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("新型储能容量补偿管理办法", "新型储能容量补偿实施细则"),
        ("2025年能源工作指导意见", "2026年能源工作指导意见"),
        ("Reporting of Securities Lending by Custodians", "Reporting of Securities Lending by Brokers"),
    ],
)
def test_other_documents_have_other_names(one: str, other: str) -> None:
    assert fold_name(one) != fold_name(other)


@pytest.mark.parametrize(
    ("title", "own"),
    [
        ("国家能源局关于印发《电力辅助服务管理办法》的通知", ["电力辅助服务管理办法"]),
        ("关于公开征求《电力市场运行规则(征求意见稿)》意见的公告", ["电力市场运行规则(征求意见稿)"]),
        ("金融监管总局关于印发商业银行代销业务管理办法的通知", ["商业银行代销业务管理办法"]),
        ("證監會就虛擬資產託管服務發牌制度展開諮詢", ["虚拟资产托管服务发牌制度"]),
    ],
)
def test_a_title_says_what_its_document_is_called(title: str, own: list[str]) -> None:
    assert list_own_names(title) == own


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("国发〔2026〕3号", "number:2026.3"),
        ("国发[2026]3号", "number:2026.3"),
        ("2026年第18号", "number:2026.18"),
        ("国家发展和改革委员会令第63号", "number:令.63"),
        ("第63号令", "number:令.63"),
        ("PS26/3", "number:ps263"),
        ("Release No. 34-104512A", "number:34104512a"),
        ("Regulation (EU) 2026/1184", "number:eu20261184"),
        ("S.I. No. 511 of 2026", "number:si5112026"),
    ],
)
def test_a_number_has_one_key_however_it_is_written(written: str, key: str) -> None:
    assert build_number_key(written) == key
    named = list_references("通知", f"根据{written} 的要求，see {written}, as amended.", DocumentFacts())
    assert key in {reference.key for reference in named if reference.role is KeyRole.MENTIONED}


def test_a_document_is_found_by_its_code_without_the_word_before() -> None:
    facts = DocumentFacts(stage=PolicyStage.FINAL, number="Policy Statement PS26/3")
    own = {found.key: found.written for found in list_references("Rules", "", facts) if found.role is KeyRole.OWN}
    assert own["number:ps263"] == "PS26/3"


def test_a_relation_has_the_keys_of_its_number_and_name_and_some_are_those_of_one_document_alone() -> None:
    relations = {
        ("PS26/3", None): {"number:ps263": True},
        ("国家能源局令第31号", "电力监控系统安全防护规定"): {
            "number:令.31": False,
            "name:电力监控系统安全防护规定": True,
        },
        ("国发〔2019〕3号", "行政复议办法"): {"number:2019.3": False, "name:行政复议办法": False},
        (None, "办法"): {},
    }
    for (number, title), keys in relations.items():
        relation = Relation(type=RelationType.REPEALS, number=number, title=title)
        assert {key: is_unique_key(key) for key in list_relation_keys(relation)} == keys


def test_a_standard_is_found_in_chinese_words() -> None:
    found = list_references("通知", "实施国家标准GB 18581—2026的准备工作", DocumentFacts())
    assert [reference.written for reference in found] == ["GB 18581-2026", "18581-2026"]


def test_dates_sums_and_short_names_are_no_keys() -> None:
    text = "2026-03-14，£2,114,700，10.5%，《办法》《通知》，3/4，100 of them, 12:30"
    assert list_references("会议召开", text, DocumentFacts()) == []


def test_an_interpretation_cites_what_its_title_quotes_and_has_no_name_of_its_own() -> None:
    found = list_references("《电力市场监管办法》政策解读", "", DocumentFacts(stage=PolicyStage.INTERPRETATION))
    names = [reference for reference in found if reference.key.startswith("name:")]
    assert [(reference.key, reference.role) for reference in names] == [("name:电力市场监管办法", KeyRole.CITED)]


def test_a_policy_is_called_after_its_document_without_stage_and_number() -> None:
    assert name_document("关于《声音合成服务管理规定（征求意见稿）》公开征求意见的通知") == "声音合成服务管理规定"
    assert name_document("Final rule: Reporting by Custodians") == "Reporting by Custodians"


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("示例委员会令第43号 电力中长期交易办法", "电力中长期交易办法"),
        ("甲部公告2026年第8号：低碳产品目录", "低碳产品目录"),
        ("甲委 乙局关于完善容量电价机制的通知（甲价格〔2026〕86号）", "完善容量电价机制"),
        ("甲委等部门关于推进虚拟电厂发展的指导意见", "关于推进虚拟电厂发展的指导意见"),
        ("甲市人民政府办公室、乙局关于促进港口发展的意见", "关于促进港口发展的意见"),
        ("专家谈关于容量电价机制的通知", "专家谈关于容量电价机制的通知"),
        ("PS26/9: Redress scheme – final rules and feedback to CP25/27", "Redress scheme"),
        ("CP10/26 – Solvent exit planning: proposed amendments", "Solvent exit planning"),
        ("CP 391 Digital asset platforms", "CP 391 Digital asset platforms"),
        ("Basel 3.1: final rules on market risk", "Basel 3.1: final rules on market risk"),
        ("COVID-19: support for exporters", "COVID-19: support for exporters"),
    ],
)
def test_a_policy_is_named_without_its_issuers_numbers_and_forms(title: str, name: str) -> None:
    assert name_document(title) == name


@pytest.mark.parametrize(
    "piece", ["《" * 50, "令第", "(EU) 2026/", "A" * 60 + "1", "〔2026〕", "The Act of the Order in the ", "1 of 2026 "]
)
def test_reading_references_takes_no_longer_than_reading_a_page_may(piece: str) -> None:
    began = time.process_time()
    list_references("关于《", piece * (500_000 // len(piece)), DocumentFacts(stage=PolicyStage.FINAL))
    assert time.process_time() - began < 5
