import datetime as dt

import pytest

from benchmarks.page_site import RENDERED_ROWS, BenchSite
from monitor.demo.serving import LoopbackRequest
from monitor.extract.parse import parse_page

NOW = dt.datetime(2026, 11, 21, 8, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def site() -> BenchSite:
    return BenchSite(NOW.date())


def body(site: BenchSite, path: str) -> bytes:
    answer = site.respond(LoopbackRequest("GET", path, ""))
    assert answer.status == 200
    assert answer.headers["ETag"]
    return answer.body


def test_pages_of_each_kind_differ_and_stay_what_they_are(site: BenchSite) -> None:
    for folder in ("listed", "articles"):
        assert len({body(site, f"/{folder}/{number}/1") for number in range(4)}) > 1
        assert body(site, f"/{folder}/3/1") == body(site, f"/{folder}/3/2")


def test_a_drawn_page_has_no_list_before_its_script_has_fetched_the_rows(site: BenchSite) -> None:
    shell, rows = body(site, "/drawn/0/1"), body(site, "/rows")
    url = "http://bench.example/drawn/0/1"

    def seen(html: bytes) -> int:
        page = parse_page(html, url=url, final_url=url, status=200, content_type="text/html", fetched_at=NOW)
        return len(page.candidates)

    filled = shell.replace(b'<ul id="app"></ul>', b'<ul id="app">' + rows + b"</ul>")
    assert (seen(shell), seen(filled)) == (0, RENDERED_ROWS)


def test_there_is_nothing_else(site: BenchSite) -> None:
    assert site.respond(LoopbackRequest("GET", "/elsewhere", "")).status == 404
