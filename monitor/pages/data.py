"""What workers read of responses that are no pages for people: the clues to them, feeds, and lists in JSON."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from monitor.fetch.result import FetchResult
from monitor.page import Candidate, Link, Page
from monitor.pages.parsing import parse_body, unpack_body
from monitor.recipe import JsonRecipe


class DataForm(StrEnum):
    """The form of a response: one that is neither feed nor sitemap is a page."""

    PAGE = "page"
    FEED = "feed"
    SITEMAP = "sitemap"
    NEWS_SITEMAP = "news_sitemap"


@dataclass(frozen=True, slots=True)
class PageClues:
    """What a response says of other ways to read its site.

    `feeds` are those that it names, `data_urls` what its scripts asked for in the browser.
    """

    form: DataForm = DataForm.PAGE
    feeds: Sequence[str] = ()
    data_urls: Sequence[str] = ()
    asks_to_log_in: bool = False


def find_clues(page: Page, result: FetchResult) -> PageClues:
    """Return the clues of a page; a `PageTask`."""
    # Only workers read pages: the program itself needs none of this.
    from monitor.extract.discovery import asks_to_log_in, find_feed_links
    from monitor.extract.encoding import decode
    from monitor.markup import parse_html

    form = detect_form(page, result)
    if form is not DataForm.PAGE:
        return PageClues(form)
    tree = parse_html(decode(result.body or b"", result.content_type)[0])
    return PageClues(form, find_feed_links(tree, page.final_url), result.data_urls, asks_to_log_in(tree))


def detect_form(page: Page, result: FetchResult) -> DataForm:
    from monitor.extract.discovery import is_news_sitemap, is_sitemap

    body = unpack_body(result)[0]
    if is_sitemap(body):
        return DataForm.NEWS_SITEMAP if is_news_sitemap(body) else DataForm.SITEMAP
    return DataForm.FEED if page.candidates and not page.lines else DataForm.PAGE


@dataclass(frozen=True, slots=True)
class ParsedFeed:
    """The entries of a feed or sitemap; of an index of sitemaps, `entries` are the sitemaps."""

    form: DataForm
    entries: Sequence[Candidate] = ()
    is_index: bool = False


def parse_feed_result(result: FetchResult) -> ParsedFeed:
    """Return the entries of a feed or sitemap; none for a response that is neither."""
    parsed = parse_body(result)
    form = DataForm.PAGE if parsed.page.error else detect_form(parsed.page, result)
    if form is DataForm.PAGE:
        return ParsedFeed(form)
    return ParsedFeed(form, parsed.page.candidates, parsed.is_sitemap_index)


@dataclass(frozen=True, slots=True)
class ShownList:
    """What a page shows, by which the list that it loads as JSON is known."""

    url: str
    candidates: Sequence[Candidate]
    links: Sequence[Link]


def learn_json_list(
    result: FetchResult, shown: ShownList, zone: dt.tzinfo
) -> tuple[JsonRecipe, list[Candidate]] | None:
    """Return how to read the list that a page shows from the JSON in `result`, and what that gives."""
    from monitor.extract.json_lists import learn_json_recipe

    today = result.at.date()
    try:
        recipe = learn_json_recipe(
            _decode_json(result),
            result.url,
            page_url=shown.url,
            candidates=shown.candidates,
            links=shown.links,
            today=today,
        )
        return None if recipe is None else (recipe, read_json_result(result, recipe, shown.url, zone)[0])
    except (ValueError, RecursionError):
        return None


def read_json_result(
    result: FetchResult, recipe: JsonRecipe, page_url: str, zone: dt.tzinfo
) -> tuple[list[Candidate], str | None]:
    """Return the records of a list in JSON and the address of its next page; `ValueError` where there is no list."""
    from monitor.extract.json_lists import find_next_json_page, read_json_list

    try:
        rows = read_json_list(
            _decode_json(result), recipe, page_url=page_url, today=result.at.astimezone(zone).date(), zone=zone
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None
    for row in rows:
        row.record = result.record
    return rows, find_next_json_page(result.url, len(rows))


def _decode_json(result: FetchResult) -> str:
    from monitor.extract.encoding import decode

    return decode(result.body or b"", result.content_type)[0]
