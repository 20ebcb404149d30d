"""Asks the model which of a page's lists is the section's, where the page itself does not make it sure."""

import datetime as dt
import json

from monitor.db.reading import SectionPlan
from monitor.llm.answer_schemas import TEXT_LIST
from monitor.llm.answers import parse_array
from monitor.llm.chat import ChatModel, CompletionRequest, fit_chars
from monitor.page import Page
from monitor.sweep.context import RunContext
from monitor.sweep.prompts import build_list_choice_messages
from monitor.urls import clean_url, url_key
from monitor.vocabulary import Phase

MAX_EXAMPLES = 2
_MAX_SHOWN_ROWS = 6
_MAX_SHOWN_LINKS = 150
_MAX_TITLE_CHARS = 120


async def ask_for_examples(run: RunContext, model: ChatModel, plan: SectionPlan, page: Page) -> tuple[str, ...]:
    """Return the urls of one or two entries of the section's list, as the page has them; none where it has no list.

    `ModelFailed` where the model does not answer.
    """
    chars = fit_chars(model, Phase.CRAWL, run.deps.limits.page_max_chars, plan.name)
    messages = build_list_choice_messages(
        run.source, plan, page_text=_render_lists(page, chars), prompts=run.deps.prompts
    )
    request = CompletionRequest(messages, phase=Phase.CRAWL, place=plan.name, schema=TEXT_LIST)
    completion = await model.complete(request)
    on_page = {url_key(link.url): link.url for link in page.links}
    named = (clean_url(str(url), page.final_url) for url in parse_array(completion.text, str) or [])
    found = (on_page.get(url_key(url)) for url in named if url is not None)
    return tuple(dict.fromkeys(url for url in found if url is not None))[:MAX_EXAMPLES]


def _render_lists(page: Page, max_chars: int) -> str:
    """Return the page's likely lists by their first rows, and its other links, as lines of JSON."""
    lines = [f"# {page.title}"]
    for number, found in enumerate(page.lists, start=1):
        lines.append(f"## {number} ({len(found.candidates)})")
        lines += [
            _render_row(candidate.title, candidate.url, candidate.date)
            for candidate in found.candidates[:_MAX_SHOWN_ROWS]
        ]
    shown = {candidate.url for found in page.lists for candidate in found.candidates}
    others = [link for link in page.links if link.url not in shown]
    lines += ["## …", *(_render_row(link.text, link.url, None) for link in others[:_MAX_SHOWN_LINKS])]
    kept: list[str] = []
    room = max_chars
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return "\n".join(kept)


def _render_row(title: str, url: str, date: dt.date | None) -> str:
    row = {"title": title[:_MAX_TITLE_CHARS], "url": url, "date": date and date.isoformat()}
    return json.dumps(row, ensure_ascii=False)
