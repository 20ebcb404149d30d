"""The real list pages of the corpus, read by the rules that read every page."""

import csv
import datetime as dt
import importlib.util
import json
import zlib
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from selectolax.lexbor import LexborHTMLParser

from monitor.extract.encoding import decode
from monitor.extract.html import build_outline
from monitor.extract.lists.candidates import find_lists
from monitor.extract.lists.paging import find_next_page
from monitor.extract.parse import parse_page
from monitor.page import Page
from monitor.urls import get_registrable_domain

CORPUS = Path(__file__).resolve().parents[4] / "shared" / "corpus"
DATED_LISTS = ("ge-163roll", "ge-dfa66", "ge-hrfund", "kyz-gz", "kyz-mee", "kyz-nea", "kyz-tangshan")
TUNED_ROWS = 272  # the rows of the manifest that 0.1.0 was tuned on; those after them are scored, not held to a bar
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


@pytest.fixture(scope="module")
def scores_by_half() -> dict[str, dict[str, float]]:
    """What the lists of the corpus score in each of two halves, cut by site: rules that fit one only would show."""
    if not (CORPUS / "score.py").exists():
        pytest.skip("the corpus of real pages is not beside this repository")
    spec = importlib.util.spec_from_file_location("score", CORPUS / "score.py")
    assert spec is not None
    assert spec.loader is not None
    score = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(score)
    results: dict[str, list] = {"first": [], "second": []}
    with (CORPUS / "manifest.csv").open(encoding="utf-8") as file:
        tuned_on = list(csv.DictReader(file))[:TUNED_ROWS]
    for row in (row for row in tuned_on if row["kind"] == "list"):
        gold = json.loads((CORPUS / row["gold"]).read_text(encoding="utf-8"))
        seen_there = list_seen((CORPUS / row["page"]).read_bytes(), gold.get("base_url") or row["url"])
        half = "first" if zlib.crc32(get_registrable_domain(row["url"]).encode()) % 2 else "second"
        results[half].append((row, score.score_list(gold, seen_there)))
    return {half: score.summary(scored) for half, scored in results.items()}


def list_seen(body: bytes, url: str) -> dict:
    text = decode(body, "text/html")[0].replace("\x00", "")
    tree = LexborHTMLParser(text)
    page = build_outline(tree, url)
    candidates = find_lists(page, FETCHED_AT.date()).candidates
    return {
        "candidates": [{"url": found.url, "date": str(found.date or "")} for found in candidates],
        "next_page": find_next_page(page, tree, text) if candidates else None,
    }


@pytest.mark.parametrize("half", ["first", "second"])
def test_each_half_of_the_real_lists_is_seen_as_well_as_the_whole(
    half: str, scores_by_half: dict[str, dict[str, float]]
) -> None:
    scores = scores_by_half[half]
    assert scores["list_pages"] >= 30
    assert scores["list_f1"] >= 0.985
    assert scores["list_date_exact"] >= 0.98
    assert scores["list_date_wrong"] <= 0.001
    assert scores["next_page"] == 1
