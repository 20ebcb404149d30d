"""Every case under fixtures/pages: a markup family each, what stands in it and what is to be seen."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from monitor.extract.parse import parse_page
from monitor.page import Page

CASES = sorted(path.parent for path in (Path(__file__).resolve().parents[3] / "fixtures" / "pages").glob("*/case.yaml"))


def page_of(case: Path) -> Page:
    about = yaml.safe_load((case / "case.yaml").read_text(encoding="utf-8"))
    return parse_page(
        (case / "input.html").read_bytes(),
        url=about["url"],
        final_url=about["url"],
        status=200,
        content_type=about.get("content_type", "text/html"),
        fetched_at=dt.datetime.fromisoformat(about["fetched_at"]),
    )


def seen_in(page: Page) -> dict[str, Any]:
    candidates = [
        {
            "title": candidate.title,
            "url": candidate.url,
            "date": str(candidate.date) if candidate.date else None,
            "date_source": candidate.date_source.value,
        }
        for candidate in page.candidates
    ]
    return {"candidates": candidates, "next_page": page.next_page}


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_page_shows_what_its_case_says(case: Path, request: pytest.FixtureRequest) -> None:
    gap = yaml.safe_load((case / "case.yaml").read_text(encoding="utf-8")).get("gap")
    if gap:
        request.applymarker(pytest.mark.xfail(reason=gap, strict=True))
    assert seen_in(page_of(case)) == json.loads((case / "expected.json").read_text(encoding="utf-8"))


def test_few_cases_are_known_to_be_read_wrongly() -> None:
    gaps = [case.name for case in CASES if "gap" in yaml.safe_load((case / "case.yaml").read_text(encoding="utf-8"))]
    assert len(gaps) <= 5


def test_there_is_a_case_for_every_family_and_for_pages_without_a_list() -> None:
    without_list = [case for case in CASES if case.name.startswith("none-")]
    assert len(CASES) - len(without_list) >= 40
    assert len(without_list) >= 20
