import pytest

from monitor.evidence.sentences import split_sentences


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
