"""Phase 1a: from the home page to the sections that are to be read, with one completion or by rule."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from monitor.db.reading import SectionPlan
from monitor.errors import ModelFailed
from monitor.i18n.message import Message
from monitor.llm.answer_schemas import TEXT, describe_list, describe_object
from monitor.llm.answers import parse_array
from monitor.llm.chat import ChatModel, CompletionRequest, fit_chars
from monitor.page import Link, Page
from monitor.pages.text import render_page_text
from monitor.sweep.context import RunContext
from monitor.sweep.prompts import build_navigate_messages
from monitor.urls import clean_url, url_key
from monitor.vocabulary import Phase, SavedBy

HOME_SECTION_NAMES = {"zh": "首页", "en": "Home page"}
MAX_SECTIONS = 30

_SECTION_WORDS = re.compile(
    "政策|法规|法律|规章|通知|公告|公示|公开|解读|新闻|动态|要闻|数据|统计|标准|规划|人事|会议|发布|文件"
    "|news|press|publication|announcement|policy|policies|regulation|legislation|law|notice"
    "|consultation|statistics|data|report|speech|meeting|event|rules|guidance"
)

_MAX_LINK_CHARS = 24
_ANSWER_SCHEMA = describe_list(describe_object(name=TEXT, url=TEXT))
_MAX_LINK_WORDS = 6


async def navigate(run: RunContext, home: Page) -> list[SectionPlan]:
    """The sections to read, the home page's own list last.

    The model's sections come first, in its order; those that match the focus areas and that it left out follow. With
    neither, the home page itself is the one section. Only links of the page count.
    """
    source = run.source
    by_rule = find_sections_by_rule(home, source.focus_areas)
    by_model = await _ask_model(run, run.deps.model, home) if run.deps.model is not None else []
    chosen = _deduplicate_links([*by_model, *by_rule], home)
    if not chosen:
        return [SectionPlan(ordinal=0, name=source.name, url=source.url)]
    asked = {url_key(link.url) for link in by_model}
    plans = [
        SectionPlan(
            ordinal=ordinal,
            name=link.text,
            url=link.url,
            found_by=SavedBy.AGENT if url_key(link.url) in asked else SavedBy.RULE,
        )
        for ordinal, link in enumerate(chosen)
    ]
    name = HOME_SECTION_NAMES["zh" if source.summary_language.startswith("zh") else "en"]
    return [*plans, SectionPlan(ordinal=len(plans), name=name, url=source.url, is_home=True)]


def find_sections_by_rule(home: Page, focus_areas: Sequence[str]) -> list[Link]:
    """The navigation links that name a focus area; without focus areas, those with a word for sections."""
    articles = _get_article_keys(home)

    def is_fitting(text: str) -> bool:
        if focus_areas:
            return any(_matches_area(text, area) for area in focus_areas)
        return _SECTION_WORDS.search(text.casefold()) is not None

    return [
        link
        for link in home.links
        if _is_navigation(link.text) and url_key(link.url) not in articles and is_fitting(link.text)
    ]


def _get_article_keys(home: Page) -> set[str]:
    return {url_key(candidate.url) for candidate in home.candidates if candidate.date is not None}


async def _ask_model(run: RunContext, model: ChatModel, home: Page) -> list[Link]:
    source = run.source
    chars = fit_chars(model, Phase.NAVIGATE, run.deps.limits.page_max_chars, source.url)
    page_text = render_page_text(home, max_chars=chars)
    messages = build_navigate_messages(source, page_text=page_text, prompts=run.deps.prompts)
    try:
        request = CompletionRequest(messages, phase=Phase.NAVIGATE, place=source.url, schema=_ANSWER_SCHEMA)
        completion = await model.complete(request)
    except ModelFailed as error:
        await run.record_fallback(Phase.NAVIGATE, source.url, error.reason)
        return []
    usable = _parse_links(parse_array(completion.text, dict), home)
    if not usable:
        await run.record_fallback(Phase.NAVIGATE, source.url, Message("cause.no_links"))
    return usable


def _parse_links(answer: Any, home: Page) -> list[Link]:
    on_page = {url_key(link.url): link for link in home.links}
    articles = _get_article_keys(home)
    links = []
    for entry in answer if isinstance(answer, list) else []:
        url = clean_url(str(entry.get("url") or ""), home.final_url) if isinstance(entry, dict) else None
        if url is None or url_key(url) in articles or url_key(url) not in on_page:
            continue
        link = on_page[url_key(url)]
        name = re.sub(r"\s+", " ", link.text or str(entry.get("name") or "")).strip()[:60]
        links.append(Link(text=name or link.url, url=link.url))
    return links


def _deduplicate_links(links: Iterable[Link], home: Page) -> list[Link]:
    """Return the first link to each address but the home page's own."""
    unique: dict[str, Link] = {}
    for link in links:
        unique.setdefault(url_key(link.url), link)
    own = {url_key(home.url), url_key(home.final_url)}
    return [link for key, link in unique.items() if key not in own][:MAX_SECTIONS]


def _is_navigation(text: str) -> bool:
    text = text.strip()
    return 0 < len(text) <= _MAX_LINK_CHARS or (text.isascii() and 0 < len(text.split()) <= _MAX_LINK_WORDS)


def _matches_area(text: str, area: str) -> bool:
    """Whether a link's text names a focus area: one contains the other, or they share most of their words."""
    a, b = _fold_letters(text), _fold_letters(area)
    if len(a) < 2 or len(b) < 2:
        return a == b and bool(a)
    if a in b or b in a:
        return True
    parts_a, parts_b = _split_words(text), _split_words(area)
    return len(parts_a & parts_b) >= max(1, round(0.6 * min(len(parts_a), len(parts_b))))


def _split_words(text: str) -> set[str]:
    words = set(re.findall(r"[a-z]{3,}", text.casefold()))
    for run in re.findall(r"[\u3400-\u9fff]+", text):
        words |= {run[i : i + 2] for i in range(len(run) - 1)}
    return words


def _fold_letters(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())
