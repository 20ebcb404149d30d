"""Every case under fixtures/articles: an article in a markup family's shape, and what is to be seen in it."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from monitor.extract.parse import parse_page
from monitor.page import Page

CASES = sorted(
    path.parent for path in (Path(__file__).resolve().parents[3] / "fixtures" / "articles").glob("*/case.yaml")
)


def page_of(case: Path) -> Page:
    about = yaml.safe_load((case / "case.yaml").read_text(encoding="utf-8"))
    return parse_page(
        (case / "input.html").read_bytes(),
        url=about["url"],
        final_url=about["url"],
        status=200,
        content_type="text/html",
        fetched_at=dt.datetime.fromisoformat(about["fetched_at"]),
    )


def seen_in(page: Page) -> dict[str, Any]:
    return {
        "title": page.title,
        "published_on": str(page.published_on) if page.published_on else None,
        "date_source": page.date_source.value,
        "issuer": page.issuer,
        "document_number": page.document_number,
        "attachments": [{"title": found.title, "type": found.type} for found in page.attachments],
    }


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_an_article_shows_what_its_case_says(case: Path) -> None:
    page = page_of(case)
    expected = json.loads((case / "expected.json").read_text(encoding="utf-8"))
    in_text, not_in_text = expected.pop("text_has"), expected.pop("text_lacks")
    assert seen_in(page) == expected
    assert [snippet for snippet in in_text if snippet not in page.text] == []
    assert [snippet for snippet in not_in_text if snippet in page.text] == []


def test_cases_without_a_day_of_publication_are_among_them() -> None:
    undated = [case for case in CASES if '"published_on": null' in (case / "expected.json").read_text(encoding="utf-8")]
    assert len(CASES) >= 25
    assert len(undated) >= 6
