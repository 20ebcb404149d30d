"""Reasons of a run's record read as sentences in both languages."""

import re

import pytest

from monitor.errors import ModelFailed
from monitor.i18n.catalogue import load_catalogue, render
from monitor.i18n.message import Message
from monitor.page import PageError, PageErrorCode

PREFIXES = ("cause.", "alarm.", "candidate.", "page.", "progress.")

SHELL = PageError(
    code=PageErrorCode.WEB_BLOCKED, detail_code="http_412", message=Message.of("page.script_challenge", status=412)
)


def test_every_reason_has_words_of_its_own_in_chinese() -> None:
    chinese = load_catalogue("zh")
    for code, forms in chinese.items():
        if code.startswith(PREFIXES):
            words = re.sub(r"\{\w+\}", "", forms[0])
            assert re.search("[\u4e00-\u9fff]", words) or not re.search(r"\w", words), code


@pytest.mark.parametrize(
    ("reason", "english", "chinese"),
    [
        (
            Message.of("cause.nothing_read", reason=SHELL.reason),
            (
                "No section could be read: WebBlocked/http_412: "
                "The site lets only browsers in: it answered 412 with a script."
            ),
            "没有一个栏目能够读取：网站只让浏览器访问（412）",
        ),
        (
            PageError(code=PageErrorCode.NOT_FOUND, message=Message.of("page.not_found", status=404)).reason,
            "NotFound: There is no such page (404).",
            "网页不存在（404）",
        ),
        (
            Message.of(
                "cause.extract", reason=Message.of("cause.not_on_page", figures=["2031年12月31日", "98765亿元"])
            ),
            "extract instead of a summary: not on the page: 2031年12月31日, 98765亿元",
            "模型的摘要未被采用，改为摘录：原文中没有 2031年12月31日、98765亿元",
        ),
        (ModelFailed("busy", outcome="http_503").reason, "http_503: busy", "模型服务返回 HTTP 503"),
        (ModelFailed("spent", outcome="budget").reason, "budget: spent", "模型用量已到上限"),
        (ModelFailed("none", outcome="not_recorded").reason, "not_recorded: none", "模型调用失败：none"),
        (
            Message.of("cause.cut_short", limit=Message("cause.ended_max_items")),
            "cut short at max_items",
            "读到条数上限为止",
        ),
        (Message.other("The database was moved."), "The database was moved.", "The database was moved."),
    ],
)
def test_a_reason_in_both_languages(reason: Message, english: str, chinese: str) -> None:
    assert (render(reason, "en"), render(reason, "zh")) == (english, chinese)


def test_the_messages_inside_a_message_are_found() -> None:
    reason = Message.of("alarm.blocked_pages", pages=2, reason=SHELL.reason)
    assert [inner.code for inner in reason.walk()] == [
        "alarm.blocked_pages",
        "cause.page_blocked",
        "page.script_challenge",
    ]
