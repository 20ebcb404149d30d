import datetime as dt

from benchmarks.sweep_site import PAGES, SiteServer, build_pages


def test_a_site_of_145_pages_that_says_which_have_not_changed() -> None:
    pages = build_pages(dt.date(2026, 11, 23))
    assert len(pages) == PAGES == 145
    assert len(set(pages.values())) == PAGES
    site = SiteServer(pages)
    answer = site.answer("GET /s0/ HTTP/1.1\r\n\r\n")
    assert answer.endswith(pages["/s0/"])
    tag = next(line for line in answer.split(b"\r\n") if line.startswith(b"ETag")).split(b": ")[1].decode()
    again = site.answer(f"GET /s0/ HTTP/1.1\r\nIf-None-Match: {tag}\r\n\r\n")
    assert again.startswith(b"HTTP/1.1 304")
    assert (site.requests, site.unchanged) == (2, 1)
