import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.evidence.grounding import ungrounded_numbers

SAME = [
    ("1,234家", "1234家企业"),
    ("1234家", "１，２３４家企业"),
    ("１２３４家", "1,234 家企业"),
    ("1\u00a0234 firms", "1,234 firms"),
    ("1234家", "一千二百三十四家企业"),
    ("增长3.2%", "同比增长百分之三点二"),
    ("增长3.2%", "rose by 3.2 percent"),
    ("rose 3.2 per cent", "同比增长３．２％"),
    ("up 3.2%", "plus 3,2 % im Jahr"),
    ("投资1.5亿元", "总投资15000万元"),
    ("投资150000000元", "总投资1.5亿元"),
    ("投资1.5亿元", "总投资一亿五千万元"),
    ("投资1亿5000万元", "总投资1.5亿元"),
    ("150 million yuan", "总投资1.5亿元"),
    ("RMB 4.2 trillion", "总投资约4.2万亿元"),
    ("$3.5 billion", "35亿美元"),
    ("€3bn", "3 billion euros"),
    ("2026年2月3日发布", "发布日期：2026-02-03"),
    ("2026年2月3日发布", "二〇二六年二月三日"),
    ("2026年2月3日发布", "二○二六年二月三日"),
    ("2026年2月3日发布", "Published on Feb. 3, 2026"),
    ("published on 3 February 2026", "2026年2月3日"),
    ("2026年2月3日发布", "时间：20260203"),
    ("2026年2月3日", "2026/2/3 10:30"),
    ("2026年2月发布", "2026年2月3日"),
    ("2月3日召开", "2026-02-03"),
    ("2026年2月5日结束", "2026年2月3日发布，自2月5日起"),
    ("到2030年", "by 2030"),
    ("by 2030", "到2030年"),
    ("20个省", "20 provinces"),
    ("三项任务", "3项任务"),
    ("3项任务", "三项任务"),
    ("three measures", "提出三大举措"),
    ("twenty-five items", "共25项"),
    ("两个基地", "2个基地"),
    ("十个方面", "10个方面"),
    ("提高0.6个百分点", "提高0.6个百分点"),
    ("0.6 percentage points", "提高0.6个百分点"),
    ("10-15万元", "10万元至15万元"),
    ("10万元至15万元", "10—15万元"),
    ("3%至5%", "3-5%"),
    ("3%至5%", "百分之三至百分之五"),
    ("3%至5%", "百分之三至五"),
    ("下降3.2%", "同比-3.2%"),
    ("同比-3.2%", "同比下降3.2%"),
    ("-5℃", "零下，即-5℃"),
    ("20余万人", "20多万人"),
    ("1200万千瓦", "12 GW"),
    ("12吉瓦", "1200万千瓦"),
    ("96亿千瓦时", "9.6 TWh"),
    ("三分之一", "1/3 of members"),
    ("约三成", "约30%"),
    ("第三季度", "三季度运行平稳"),
    ("3个月内", "三个月内完成"),
    ("24小时值班", "二十四小时值班"),
    ("增长5.3%", "指标 增速（%） 工业 5.3 农业 4.1"),
    ("1个中心", "建设一个中心"),
    ("No. 12", "no. 12 of the series"),
    ("国绿能发〔2026〕58号", "文号：国绿能发[2026]58号"),
    ("0.38元", "零点三八元"),
]
WORDS = [
    "统一部署，进一步推进",
    "一方面完善制度，另一方面加强监管",
    "“十四五”期间推进一带一路建设",
    "十五五规划期内",
    "第一，第二，第三方机构",
    "总投资以万元计，亿元级项目",
    "一是建设，二是运营，三是监管",
    "建立一个平台，出台一系列措施，一批项目",
    "千方百计，十分重要，百姓受益",
    "三农工作、两会、四川省、九江市",
    "数十家企业、几十个项目、数百万人",
    "这一项目、每一个环节",
    "减少CO2和PM2.5排放",
    "1. 完善制度；2. 加强监管；3. 落实责任",
    "one of the members may attend",
    "之一、唯一、万一、逐一",
]
DIFFERENT = [
    ("30家", "到2030年"),
    ("30家", "价格1.30"),
    ("增长5%", "补助5万元"),
    ("增长5%", "共5家企业"),
    ("5家", "增长5%"),
    ("3元", "3美元"),
    ("2026年2月4日", "2026年2月3日"),
    ("2026年3月", "2026年2月3日，另有3家"),
    ("2025年2月3日", "2026年2月3日，去年为2025年"),
    ("1.5亿元", "1.5万元"),
    ("15亿元", "1.5亿元"),
    ("增长3.2%", "增长13.2%"),
    ("增长3%", "提高3个百分点"),
    ("20个省", "建设20年"),
    ("四项任务", "三项任务"),
    ("四大工程", "三大工程"),
    ("四亿元", "三亿元"),
    ("百分之四", "百分之三"),
    ("同比-3.2%", "同比增长3.2%"),
    ("10-16万元", "10-15万元"),
    ("three measures", "两项措施"),
    ("$3.5 billion", "$3.5 million"),
    ("3个月", "2026年3月"),
    ("1,235", "1,234"),
    ("on 4 March 2026", "on 3 March 2026"),
    ("三分之二", "三分之一"),
    ("第五届", "第四届"),
    ("五年", "四年"),
    ("2.4.1", "2.4.2"),
]


@pytest.mark.parametrize(("summary", "text"), SAME)
def test_a_number_rests_on_the_same_number_in_another_spelling(summary: str, text: str) -> None:
    assert ungrounded_numbers(summary, text) == []


@pytest.mark.parametrize("summary", WORDS)
def test_a_word_that_is_written_with_numerals_is_no_figure(summary: str) -> None:
    assert ungrounded_numbers(summary, "没有数字的正文。") == []


@pytest.mark.parametrize(("summary", "text"), DIFFERENT)
def test_a_number_that_the_page_does_not_have_is_found(summary: str, text: str) -> None:
    assert ungrounded_numbers(summary, text) != []


def test_the_missing_numbers_are_named_once_each_as_they_were_written() -> None:
    assert ungrounded_numbers("投资99亿元，另有99亿元，2027年1月1日起施行。", "投资98亿元。") == [
        "2027年1月1日",
        "99亿元",
    ]


@pytest.mark.parametrize("zero", ["", "。", "没有数字"])
def test_a_summary_without_figures_is_sound(zero: str) -> None:
    assert ungrounded_numbers(zero, "") == []


_WORDS = (
    "2026年 2月3日 二〇二六年 三月 1.5 亿 万 千瓦 元 美元 % 百分之 三点二 十四五 规划 第一 个 项 家 至 - — "
    "第 几 数 余 多 1,234 ，、 ( ) $ € 3 million May 12, 2026-02-03 twenty five 20260203 10:30 GB/T 1.2.3 ○ ２０ 分之"
)
_ANY = st.text(alphabet="一二三十百千万亿零点分之年月日元个%-.,，0123456789 aMy$", max_size=6)
_PIECES = st.sampled_from(_WORDS.split(" ")) | _ANY
_SENTENCES = st.lists(_PIECES, min_size=1, max_size=8).map(lambda pieces: "".join(pieces) + "。")


@given(st.lists(_SENTENCES, min_size=1, max_size=5), st.data())
def test_any_sentence_cut_from_a_text_rests_on_it(sentences: list[str], data: st.DataObject) -> None:
    assert ungrounded_numbers(data.draw(st.sampled_from(sentences)), "".join(sentences)) == []


@given(st.integers(min_value=1, max_value=10**12), st.integers(min_value=1, max_value=10**12))
def test_two_plain_numbers_are_told_apart(claimed: int, seen: int) -> None:
    assert (ungrounded_numbers(f"共{claimed}家", f"共{seen:,}家") == []) == (claimed == seen)
