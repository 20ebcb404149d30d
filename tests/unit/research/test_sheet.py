import pytest

from monitor.research.sheet import ReportWriter


async def written(*sentences: tuple[str, list[int]], is_item: bool = False) -> ReportWriter:
    sheet = ReportWriter()
    await sheet.write_title("题")
    for text, numbers in sentences:
        await sheet.write_sentence(text, numbers, line="one", is_item=is_item)
    await sheet.close()
    return sheet


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("# 不是标题。", "＃ 不是标题[1]。"),
        ("- 不是列表。", "－ 不是列表[1]。"),
        ("-5%的变化。", "-5%的变化[1]。"),
        ("> 不是引用。", "＞ 不是引用[1]。"),
        ("| 不是表格 |。", "｜ 不是表格 |[1]。"),
        ("12. 不是编号。", "12． 不是编号[1]。"),
        ("1.2亿千瓦并网。", "1.2亿千瓦并网[1]。"),
        ("用<b>粗体</b>和`代码`，x<5。", "用＜b>粗体＜/b>和代码，x<5[1]。"),
        ("反斜杠\\[链接](/x)。", "反斜杠＼[链接]（/x)[1]。"),
    ],
)
async def test_no_words_of_a_sentence_become_markup(text: str, stands: str) -> None:
    assert (await written((text, [3]))).markdown == f"# 题\n\n{stands}\n"


async def test_sentences_of_a_line_stand_together_each_once_and_latin_ones_apart() -> None:
    sheet = await written(
        ("It grew by 5%.", [2]), ("It fell.", [1, 2]), ("IT GREW, BY 5%!", [2]), ("价格上涨。", [9]), ("完。", [1])
    )
    assert sheet.markdown == "# 题\n\nIt grew by 5%[1]. It fell[1][2]. 价格上涨[3]。完[2]。\n"
    assert sheet.cited_notes == [2, 1, 9]


async def test_a_heading_is_written_with_what_stands_below_it_and_never_alone() -> None:
    sheet = ReportWriter()
    sheet.queue_heading(2, "空的")
    sheet.queue_heading(3, "也空")
    sheet.queue_heading(2, "一")
    sheet.queue_heading(3, "一之一")
    await sheet.write_sentence("甲项增长。", [1], line=1)
    sheet.queue_heading(3, "一之二")
    await sheet.write_row(["名", "值"], ["乙", "5|6", "多的"], [2])
    await sheet.write_row(["名", "值"], ["丙"], [1])
    sheet.queue_heading(2, "最后")
    sheet.discard_headings()
    await sheet.write_blockquote("说明")
    assert sheet.markdown.strip() == (
        "## 一\n\n### 一之一\n\n甲项增长[1]。\n\n### 一之二\n\n"
        "| 名 | 值 |\n| --- | --- |\n| 乙 | 5｜6[2] |\n| 丙 | [1] |\n\n> 说明"
    )
    assert [(entry.heading, entry.bullets) for entry in sheet.build_outline()] == [
        ("一", ["甲项增长。", "乙 5|6", "丙"])
    ]


async def test_what_is_told_is_what_stands_in_pieces_of_a_word_or_two() -> None:
    pieces: list[str] = []

    async def report_progress(piece: str) -> None:
        pieces.append(piece)

    sheet = ReportWriter(report_progress)
    await sheet.write_title("A title")
    await sheet.write_sentence("The first sentence has words.", [1], line=1)
    await sheet.close()
    assert "".join(pieces) == sheet.markdown == "# A title\n\nThe first sentence has words[1].\n"
    assert max(len(piece.strip()) for piece in pieces) <= 8
