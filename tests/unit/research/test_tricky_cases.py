"""Figures, dates and quotes as pages write them, and what may and may not be said of them.

`tricky/cases.json` holds for each page what stands, what falls, and which quotes are its own.
"""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest

from monitor.evidence.passages import extract_all_text
from monitor.extract.parse import parse_page
from monitor.fetch.result import FetchResult
from monitor.research.findings import build_notes, check_summary
from monitor.research.quotes import cut_quote, list_verbatim
from monitor.research.shapes import list_quotes
from monitor.research.state import ParagraphResearch, ParagraphState, SearchEntry
from monitor.vocabulary import FetchMode

NOON = dt.datetime(2026, 11, 22, 12, tzinfo=dt.UTC)
CASES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("tricky").joinpath("cases.json").read_text("utf-8"))


def seen(html: str) -> FetchResult:
    rest = "本文其余部分不说数字。" * 8
    body = f"<html><body><div class='article_con'><h1>标题</h1>{html}<p>{rest}</p></div></body></html>"
    url = "https://sample.gov.cn/1.html"
    return FetchResult(
        url=url,
        mode=FetchMode.HTTP,
        at=NOON,
        final_url=url,
        status=200,
        headers={"content-type": "text/html; charset=utf-8"},
        body=body.encode(),
    )


def entry_of(case: dict[str, Any]) -> SearchEntry:
    result = seen(case["html"])
    page = parse_page(
        result.body or b"",
        url=result.url,
        final_url=result.final_url,
        status=200,
        content_type=result.headers["content-type"],
        fetched_at=NOON,
    )
    return SearchEntry(query="问", url=page.url, title="标题", content=page.text, score=0.5, timestamp=NOON)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_what_stands_is_kept_with_quotes_from_the_page(case: dict[str, Any]) -> None:
    entry = entry_of(case)
    for sentence in case["stand"]:
        checked = check_summary(sentence, [entry])
        assert checked.refused == {}, sentence
        research = ParagraphResearch(search_history=[entry], latest_summary=checked.text)
        [note] = build_notes([ParagraphState(title="段", content="写", order=0, research=research)]).notes
        quotes = list_quotes(note)
        assert list_verbatim(quotes, extract_all_text(seen(case["html"]))) == quotes, sentence


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_what_the_page_does_not_say_falls_and_is_counted(case: dict[str, Any]) -> None:
    entry = entry_of(case)
    for sentence in case["fall"]:
        checked = check_summary(sentence, [entry])
        assert checked.text == "", sentence
        assert set(checked.refused) <= {"figures", "contradicted", "unsupported"}, sentence
        assert sum(checked.refused.values()) == 1, sentence


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_quote_is_the_page_s_own_words_or_none(case: dict[str, Any]) -> None:
    entry, text = entry_of(case), extract_all_text(seen(case["html"]))
    for quote in case["quotes"]:
        cut = cut_quote(quote, entry.content)
        assert cut is not None, quote
        assert list_verbatim([cut], text) == [cut]
    for quote in case["no_quotes"]:
        assert cut_quote(quote, entry.content) is None, quote
        assert list_verbatim([quote], text) == []
