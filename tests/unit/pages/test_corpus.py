"""The Chinese list pages of the corpus whose gold is dated, read by the rules that read every page."""

import csv
import datetime as dt
import json
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from monitor.domain.page import Page
from monitor.pages.parse import parse_page

CORPUS = Path(__file__).resolve().parents[4] / "shared" / "corpus"
DATED_LISTS = ("ge-163roll", "ge-dfa66", "ge-hrfund", "kyz-gz", "kyz-mee", "kyz-nea", "kyz-tangshan")
FETCHED_AT = dt.datetime(2026, 11, 21, 8, tzinfo=dt.UTC)


def folded(url: str) -> str:
    parts = urlsplit(url)
    return f"{(parts.hostname or '').removeprefix('www.')}{unquote(parts.path).rstrip('/')}?{parts.query}"


def seen(name: str) -> tuple[Page, dict]:
    if not (CORPUS / "manifest.csv").exists():
        pytest.skip("the corpus of real pages is not beside this repository")
    with (CORPUS / "manifest.csv").open(encoding="utf-8") as file:
        row = next(row for row in csv.DictReader(file) if row["id"] == f"list-{name}")
    gold = json.loads((CORPUS / row["gold"]).read_text(encoding="utf-8"))
    url = gold.get("base_url") or row["url"]
    body = (CORPUS / row["page"]).read_bytes()
    page = parse_page(body, url=url, final_url=url, status=200, content_type="text/html", fetched_at=FETCHED_AT)
    return page, gold


@pytest.mark.parametrize("name", DATED_LISTS)
def test_every_item_of_a_real_list_is_seen_with_its_date_and_nothing_else(name: str) -> None:
    page, gold = seen(name)
    wanted = {folded(item["url"]): item["date"] for item in gold["items"]}
    tolerated = {folded(item["url"]) for block in (gold.get("other_blocks") or {}).values() for item in block}
    got = {folded(candidate.url): str(candidate.date) for candidate in page.candidates}
    assert {url: date for url, date in got.items() if url not in tolerated or url in wanted} == wanted


@pytest.mark.parametrize("name", DATED_LISTS)
def test_the_titles_of_a_real_list_are_those_that_people_read(name: str) -> None:
    page, gold = seen(name)
    wanted = {folded(item["url"]): "".join(item["title"].split()) for item in gold["items"]}
    for candidate in page.candidates:
        if folded(candidate.url) in wanted:
            # The gold keeps what the page shows, which may be cut; the product gives it in full.
            stem = wanted[folded(candidate.url)].rstrip(".…")
            assert "".join(candidate.title.split()).startswith(stem)


@pytest.mark.parametrize("name", DATED_LISTS)
def test_the_next_page_of_a_real_list_is_the_one_that_its_pager_names(name: str) -> None:
    page, gold = seen(name)
    assert (folded(page.next_page) if page.next_page else None) == (
        folded(gold["next_page"]) if gold.get("next_page") else None
    )
