import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.extract.sentences import split_sentences
from monitor.sweep.extracts import extract_summary

CHINESE = """首页 > 政策法规 > 正文
发布时间：2026-02-03 来源：能源局 浏览次数：1203
【字体：大 中 小】 打印本页
各省、自治区、直辖市能源局，各有关单位：
为贯彻落实国家战略部署，加快构建全国统一电力市场体系，现提出以下意见。
到2030年，市场化交易电量占全社会用电量的比重达到70%以上，跨省交易电量达到1.5万亿千瓦时。
各地要切实加强组织领导。
取消工商业目录销售电价，建立容量补偿机制，自2026年7月1日起实施。
特此通知。
责任编辑：张三
上一篇：关于某事的通知
"""
ENGLISH = """Skip to main content
Published: 3 February 2026
The U.S. Energy Board adopted a final rule on storage safety today, raising the fire separation distance to 3.5 metres.
Dr. A. B. Smith, who chairs the board, welcomed it. It applies to No. 12 and later units from Feb. 3, 2027.
Share this page
The board estimates that compliance will cost operators $4.5 million a year and cut incidents by 40 percent.
"""


def test_an_extract_is_made_of_whole_sentences_in_page_order() -> None:
    summary = extract_summary("关于加快构建全国统一电力市场体系的指导意见", CHINESE, "zh")
    assert 60 <= len(summary) <= 200
    sentences = split_sentences(summary)
    assert [CHINESE.index(sentence) for sentence in sentences] == sorted(map(CHINESE.index, sentences))
    assert "70%以上" in summary
    assert "取消工商业目录销售电价" in summary


@pytest.mark.parametrize("furniture", ["发布时间", "浏览次数", "字体", "直辖市能源局", "特此", "责任编辑", "上一篇"])
def test_the_page_furniture_stays_out(furniture: str) -> None:
    assert furniture not in extract_summary("意见", CHINESE, "zh", max_chars=1000)


def test_an_english_page_gives_english_sentences() -> None:
    summary = extract_summary("Final rule on storage safety", ENGLISH, "en")
    assert summary.startswith("The U.S. Energy Board adopted")
    assert "$4.5 million" in summary
    assert "Share this" not in summary


@pytest.mark.parametrize("text", ["", "首页\n更多", "发布时间：2026-02-03", "没有句号的短行", "a. b. c."])
def test_a_page_without_sentences_gives_none(text: str) -> None:
    assert extract_summary("标题", text, "zh") == ""


def test_the_title_is_not_repeated() -> None:
    title = "国家能源局召开全国能源工作会议，部署今年的各项重点任务和保障措施。"
    assert extract_summary(title, f"{title}\n{title}", "zh") == ""


def test_a_sentence_longer_than_the_summary_gives_its_clauses() -> None:
    clauses = [f"第{n}项任务是加快建设清洁能源基地并完善输电通道和市场机制安排；" for n in range(12)]
    summary = extract_summary("任务", "".join(clauses) + "完成全部任务。", "zh")
    assert 60 <= len(summary) <= 200
    assert all(part + "；" in clauses for part in summary.split("；")[:-1])


_TEXT = st.lists(
    st.sampled_from(["发布", "增长3.5%", "。", "，", "\n", "The rule", ". ", "电力市场建设" * 5, "No. 12", "；", "？"]),
    max_size=40,
).map("".join)


@given(_TEXT)
def test_every_sentence_of_an_extract_stands_in_the_text(text: str) -> None:
    summary = extract_summary("电力市场", text, "zh")
    assert len(summary) <= 400
    for sentence in split_sentences(summary):
        for clause in sentence.split("；"):
            assert clause in text
