"""What the record says in English, said in Chinese."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.briefing.words import CHINESE_CAUSES
from monitor.causes import Cause, parse_cause
from monitor.page import PageErrorCode

VALUES = st.lists(st.text(min_size=1).filter(lambda text: text.strip() == text), min_size=3, max_size=3)
NUMBERS = st.lists(st.integers(min_value=0).map(str), min_size=3, max_size=3)


@given(st.sampled_from(Cause), NUMBERS)
def test_every_sentence_of_the_record_is_read_back_with_its_figures(cause: Cause, numbers: list[str]) -> None:
    values = numbers[: cause.value.count("{}")]
    assert parse_cause(cause.render(*values)) == (cause, values)


@given(st.sampled_from(Cause), VALUES)
def test_what_a_page_says_never_breaks_the_reading(cause: Cause, values: list[str]) -> None:
    told = cause.render(*values[: cause.value.count("{}")])
    assert CHINESE_CAUSES.translate(told)


@given(st.sampled_from(Cause), NUMBERS)
def test_every_cause_has_words_that_keep_its_figures(cause: Cause, numbers: list[str]) -> None:
    values = numbers[: cause.value.count("{}")]
    said = CHINESE_CAUSES.translate(cause.render(*values))
    assert all(value in said for value in values)
    assert not re.search("[a-z]", said.replace("robots.txt", ""))


def test_every_error_of_a_page_has_words() -> None:
    for code in PageErrorCode:
        assert re.search("[\u4e00-\u9fff]", CHINESE_CAUSES.translate(f"{code}: no matter what"))


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (
            "No section could be read: WebBlocked/http_412: The site lets only browsers in: it answered 412.",
            "没有一个栏目能够读取：网站只让浏览器访问（412）",
        ),
        ("NotFound: There is no such page (404).", "网页不存在（404）"),
        ("Timeout: The site did not answer in full within 30 s.", "网站未按时应答（30 s）"),
        ("NetworkError: The name 10.0.0.1 has no address.", "连接失败"),
        (
            "extract instead of a summary: not on the page: 2031年12月31日, 98765亿元",
            "模型的摘要未被采用，改为摘录：原文中没有 2031年12月31日, 98765亿元",
        ),
        ("http_503: The model server answered HTTP 503: busy", "模型服务返回 HTTP 503"),
        ("budget: The budget of a run of 4000 tokens is spent.", "模型用量已到上限（4000 个词元）"),
        ("cut short at max_items", "读到条数上限为止"),
        ("max_pages", "页数上限"),
        ("0a1b.pdf holds no text; it may be made of pictures.", "文件 0a1b.pdf 里没有文字，可能是图片"),
        ("The database was moved.", "The database was moved.（原文）"),
        ("连接超时", "连接超时"),
        ("", ""),
    ],
)
def test_the_record_in_chinese(told: str, said: str) -> None:
    assert CHINESE_CAUSES.translate(told) == said
