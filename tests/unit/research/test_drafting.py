import random
from dataclasses import replace

import pytest

from monitor.research.editing import DraftBlockEnd, DraftHeading, DraftParser, DraftPiece, DraftRow, DraftSentence
from monitor.verify.citations import CitedSentence

ANSWER = """<think>先想一想，[1] 说……
## 不是标题
</think>
# 题目

## 一、现状
2026年2月3日，国家能源局发布通知[1]。全国新增装机1200万千瓦，同比增长8.5%。[2][3] 他问：“行吗？”对此没有说法[4]！
- **要点**：No. 12 的 U.S. 规则在3.5%处生效 [2]。
- 另一点。

| 指标 | 数值 |
| :--- | ---: |
| 装机 | 1200万千瓦[2] |
后文[1][99]。
```markdown
### 小节 [1]
**粗体小标题**：
> 引文句子[3]。
Growth was 5 percent [1]. It fell. [2] New items came, e.g. this one [3].
---
没有句号的结尾[2]"""


def drafted(*texts: str) -> list[DraftPiece]:
    drafting = DraftParser(5)
    return [*(piece for text in texts for piece in drafting.feed(text)), *drafting.close()]


def test_an_answer_is_cut_into_headings_sentences_and_rows() -> None:
    assert drafted(ANSWER) == [
        DraftHeading(1, "题目"),
        DraftHeading(2, "一、现状"),
        DraftSentence(CitedSentence("2026年2月3日，国家能源局发布通知。", (1,)), 4),
        DraftSentence(CitedSentence("全国新增装机1200万千瓦，同比增长8.5%。", (2, 3)), 4),
        DraftSentence(CitedSentence("他问：“行吗？”对此没有说法！", (4,)), 4),
        DraftSentence(CitedSentence("要点：No. 12 的 U.S. 规则在3.5%处生效。", (2,)), 5, is_item=True),
        DraftSentence(CitedSentence("另一点。", ()), 6, is_item=True),
        DraftBlockEnd(),
        DraftRow(("指标", "数值"), CitedSentence("指标 数值", ()), is_header=True),
        DraftRow(("装机", "1200万千瓦"), CitedSentence("装机 1200万千瓦", (2,))),
        DraftBlockEnd(),
        DraftSentence(CitedSentence("后文[99]。", (1,)), 11),
        DraftBlockEnd(),
        DraftHeading(3, "小节"),
        DraftHeading(3, "粗体小标题"),
        DraftSentence(CitedSentence("引文句子。", (3,)), 15),
        DraftSentence(CitedSentence("Growth was 5 percent.", (1,)), 16),
        DraftSentence(CitedSentence("It fell.", (2,)), 16),
        DraftSentence(CitedSentence("New items came, e.g. this one.", (3,)), 16),
        DraftSentence(CitedSentence("没有句号的结尾", (2,)), 18),
        DraftBlockEnd(),
    ]


@pytest.mark.parametrize("seed", range(40))
def test_it_does_not_matter_how_the_answer_was_cut_on_its_way(seed: int) -> None:
    chance, pieces, rest = random.Random(seed), [], ANSWER  # noqa: S311 -- the same cuts each time
    while rest:
        size = chance.randint(1, 9) if seed else 1
        pieces.append(rest[:size])
        rest = rest[size:]
    assert drafted(*pieces) == drafted(ANSWER)


def test_a_sentence_is_given_as_soon_as_the_next_one_begins() -> None:
    drafting = DraftParser(2)
    assert drafting.feed("产量增长两成。") == [], "its citation may still come"
    assert drafting.feed("[1") == []
    assert drafting.feed("][2]") == []
    assert drafting.feed("出口") == [DraftSentence(CitedSentence("产量增长两成。", (1, 2)), 0)]


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("想法[1]。</think>\n正文两句[1]。", ["想法。", "正文两句。"]),
        ("正文一句[1]。<think>没有想完[2]。", ["正文一句。"]),
        ("<thinking>甲[1]。</thinking>乙方回应[2]。<Reasoning>丙[1]。</Reasoning>", ["乙方回应。"]),
        ("小于号 a<b 的情形[1]。", ["小于号 a<b 的情形。"]),
        ("以 < 结尾[1]。<", ["以 < 结尾。", "<"]),
        ("", []),
    ],
    ids=["closed only", "never closed", "several", "a sign", "a sign at the end", "nothing"],
)
def test_thoughts_are_left_out(answer: str, kept: list[str]) -> None:
    for pieces in ([answer], list(answer)):
        assert [entry.cited.text for entry in drafted(*pieces) if isinstance(entry, DraftSentence)] == kept


def test_a_line_without_an_end_is_cut() -> None:
    pieces = drafted(*["很长的一行没有句号" * 100] * 20)
    assert len([piece for piece in pieces if isinstance(piece, DraftSentence)]) > 1


@pytest.mark.parametrize(
    "answer",
    [
        '{"report": "## 现状\\n\\n产量增长两成[1]。"}',
        '```json\n{"report":\n "## 现状\\n\\n产量增长两成[1]。"',
        "##现状\n产量增长两成【1, 1】。",
    ],
    ids=["an object", "an object that is cut", "a heading without a space"],
)
def test_a_report_in_a_wrong_form_is_understood(answer: str) -> None:
    expected = [DraftHeading(2, "现状"), DraftSentence(CitedSentence("产量增长两成。", (1,)), 2), DraftBlockEnd()]
    for pieces in ([answer], list(answer)):
        found = drafted(*pieces)
        assert [replace(item, line=2) if isinstance(item, DraftSentence) else item for item in found] == expected
