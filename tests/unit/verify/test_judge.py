"""The judge of statements, on a notice in Chinese and a release in English."""

import datetime as dt

import pytest

from monitor.verify.judge import MAX_SOURCE_CHARS, StatementJudge, judge_statements
from monitor.verify.statements import Judgement, SourceText
from monitor.vocabulary import JudgedBy, ReasonCode, Verdict

NOTICE = SourceText(
    title="国家发展改革委关于完善容量电价机制的通知",
    publisher="国家发展改革委",
    published_on=dt.date(2025, 11, 20),
    text="""国家发展改革委、国家能源局近日印发通知，提出将完善容量电价机制。煤电容量电价自2026年1月1日起由每千瓦每年100元提高到165元，\
抽水蓄能容量电价按每千瓦每年不超过600元执行。
各地应当在2025年12月底前制定实施细则，并报国家发展改革委备案。新型储能可以参与容量市场。
2025年全国煤电装机12亿千瓦，比2024年增长3.2%；2024年为11.6亿千瓦。部分地区可以先行试点。
《关于容量电价的暂行通知》（发改价格〔2023〕1501号）同时废止。
业内专家认为，此举有助于稳定煤电企业预期。
市场监管总局对甲公司处以200万元罚款，甲公司起诉乙公司侵权。""",
)
RELEASE = SourceText(
    title="FCA fines Alpha Bank",
    publisher="FCA",
    published_on=dt.date(2026, 1, 20),
    text="""The Financial Conduct Authority (FCA) today fined Alpha Bank £4.2 million for weak controls. \
Alpha Bank must appoint a reviewer by 1 March 2026. Beta Capital sued Alpha Bank in 2024.
The FCA proposes to cap fees at 2% and consults until 5 May 2026. Firms may apply for an exemption. At least 30 firms \
replied. Some respondents said the cap would raise costs. Output rose by 4.7% in March. \
The 2019 guidance remains in force.""",
)


def judge(statement: str) -> Judgement:
    source = NOTICE if any("\u4e00" <= char <= "\u9fff" for char in statement) else RELEASE
    return StatementJudge([source]).judge(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "国家发展改革委将完善容量电价机制。",
        "通知由国家发展改革委和国家能源局联合印发。",
        "抽水蓄能容量电价每千瓦每年最多600元。",
        "各地须在2025年12月底前制定实施细则并报国家发展改革委备案。",
        "2025年全国煤电装机为12亿千瓦，同比增长3.2%。",
        "发改价格〔2023〕1501号文件废止。",
        "市场监管总局对甲公司罚款200万元。",
        "The FCA fined Alpha Bank £4.2 million.",
        "The FCA proposes a fee cap of 2%, with comments due by 5 May 2026.",
        "No fewer than 30 firms replied.",
        "Output rose 4.7% in March.",
        "The 2019 guidance stays in force.",
    ],
)
def test_what_a_page_says_is_kept_in_other_words(statement: str) -> None:
    judgement = judge(statement)
    assert judgement.verdict.is_kept, judgement
    assert judgement.reasons == ()


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("将取消容量电价机制。", ReasonCode.POLARITY),
        ("新型储能不得参与容量市场。", ReasonCode.POLARITY),
        ("煤电容量电价自2026年1月1日起由每千瓦每年165元降低到100元。", ReasonCode.DIRECTION),
        ("抽水蓄能容量电价按每千瓦每年不低于600元执行。", ReasonCode.BOUND),
        ("新型储能必须参与容量市场。", ReasonCode.MODALITY),
        ("2024年全国煤电装机12亿千瓦。", ReasonCode.WHOSE_FIGURE),
        ("所有地区可以先行试点。", ReasonCode.QUANTIFIER),
        ("甲公司对市场监管总局处以200万元罚款。", ReasonCode.SUBJECT_OBJECT),
        ("煤电装机比2024年下降3.2%。", ReasonCode.DIRECTION),
        ("Alpha Bank fined the FCA £4.2 million.", ReasonCode.SUBJECT_OBJECT),
        ("Alpha Bank may appoint a reviewer by 1 March 2026.", ReasonCode.MODALITY),
        ("The FCA has capped fees at 2%.", ReasonCode.STAGE),
        ("Up to 30 firms replied.", ReasonCode.BOUND),
        ("All respondents said the cap would raise costs.", ReasonCode.QUANTIFIER),
        ("Output fell by 4.7% in March.", ReasonCode.DIRECTION),
        ("The 2019 guidance has been repealed.", ReasonCode.VALIDITY),
    ],
)
def test_true_words_put_wrongly_contradict_the_page(statement: str, reason: ReasonCode) -> None:
    judgement = judge(statement)
    assert judgement.verdict is Verdict.CONTRADICTED, judgement
    assert reason in {found.code for found in judgement.reasons}


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("该文件由财政部与阿里巴巴集团联合发布，取消对宁德时代的全部电价补贴。", ReasonCode.ACTOR),
        ("煤电容量电价提高到每千瓦每年185元。", ReasonCode.NUMBER),
        ("通知称“容量电价一步到位”。", ReasonCode.QUOTE),
        ("The Prudential Regulation Authority fined Alpha Bank £4.2 million.", ReasonCode.ACTOR),
    ],
)
def test_a_figure_name_or_quotation_that_the_page_lacks_is_settled_by_code(statement: str, reason: ReasonCode) -> None:
    judgement = judge(statement)
    assert (judgement.verdict, judgement.is_open) == (Verdict.UNSUPPORTED, False)
    assert [found.code for found in judgement.reasons] == [reason]


def test_a_sentence_of_the_page_is_supported_word_for_word() -> None:
    judgement = judge("各地应当在2025年12月底前制定实施细则，并报国家发展改革委备案。")
    assert (judgement.verdict, judgement.by, judgement.is_open) == (Verdict.SUPPORTED, JudgedBy.CODE, False)
    assert judgement.passage in NOTICE.text


def test_what_no_word_of_the_page_is_about_is_unsupported() -> None:
    assert judge("本季度新能源汽车销量创下历史新高。").verdict is Verdict.UNSUPPORTED


def test_a_passage_is_one_piece_of_the_page_and_a_judgement_without_pages_is_unsupported() -> None:
    assert judge("Firms may apply for an exemption from the cap.").passage in RELEASE.text
    assert StatementJudge([]).judge("任何话。").verdict is Verdict.UNSUPPORTED


def test_the_best_of_several_pages_decides() -> None:
    both = StatementJudge([NOTICE, RELEASE])
    assert both.judge("The FCA fined Alpha Bank £4.2 million.").verdict.is_kept
    assert both.judge("国家发展改革委将完善容量电价机制。").verdict.is_kept


def test_what_may_stand_beyond_what_is_read_of_a_page_is_unchecked() -> None:
    filler = "各地要做好迎峰度夏工作。\n" * (MAX_SOURCE_CHARS // 12)
    page = SourceText(text=f"{filler}装机规模达到1.8亿千瓦。", title="通报")
    (judgement,) = judge_statements([page], ["装机规模达到1.8亿千瓦。"])
    assert judgement.verdict is Verdict.UNCHECKED
