"""The sentences of a page that tell something."""

from monitor.verify.prose import compute_text_weight, iter_whole_sentences

PAGE = """发布时间：2026-02-03 来源：国家能源局
各有关单位：
现将有关事项通知如下，请认真贯彻落实。第一条说明了适用的范围。
详见 https://a.example/1 的全文说明。
【字体：大 中 小】打印本页
The scheme applies from 1 January 2027 to all operators. Share on Twitter
"""


def test_furniture_of_the_page_and_pieces_of_sentences_are_left_out() -> None:
    assert list(iter_whole_sentences(PAGE, 200)) == [
        "现将有关事项通知如下，请认真贯彻落实。",
        "第一条说明了适用的范围。",
        "The scheme applies from 1 January 2027 to all operators.",
    ]


def test_a_sentence_that_is_too_long_gives_its_clauses() -> None:
    clause = "各地区各部门应当按照职责分工认真组织实施；"
    assert list(iter_whole_sentences(clause * 3 + "其他事项另行通知。", 40)) == [clause] * 3


def test_a_latin_character_counts_as_half_a_chinese_one() -> None:
    assert compute_text_weight("储能ab") == 3.0
