import pytest

from monitor.extract.sentences import is_prose, split_sentences


@pytest.mark.parametrize(
    ("line", "sentences"),
    [
        ("增长3.5%。其中电力增长2.1%！结束", ["增长3.5%。", "其中电力增长2.1%！", "结束"]),
        ("See No. 12 of the U.S. Code. It is 3.5 metres.", ["See No. 12 of the U.S. Code.", "It is 3.5 metres."]),
        ("“他说好。”记者问？", ["“他说好。”", "记者问？"]),
        ("On Feb. 3 it rose. Then fell", ["On Feb. 3 it rose.", "Then fell"]),
        ("e.g. this one stays whole.", ["e.g. this one stays whole."]),
        ("", []),
    ],
)
def test_sentences_end_where_sentences_end(line: str, sentences: list[str]) -> None:
    assert split_sentences(line) == sentences


def test_a_question_mark_inside_an_address_ends_nothing() -> None:
    text = "请看 http://a.example/12?q=secret 的说明。Is it so?Yes! 真的吗?是的。"
    assert split_sentences(text) == ["请看 http://a.example/12?q=secret 的说明。", "Is it so?Yes!", "真的吗?", "是的。"]


@pytest.mark.parametrize(
    "text",
    ["| 表格的一行 |", "他说“没有说完", "《没有写完的名字", "见 www.a.example 的说明", "「半句", "见https://a.example"],
)
def test_what_is_cut_open_or_has_an_address_is_no_prose(text: str) -> None:
    assert not is_prose(text)
    assert is_prose("他说：“说完了。”《办法》已经出台（试行）。")
