"""A page's links are absolute, whichever way they are written."""

import pytest
from selectolax.lexbor import LexborHTMLParser

from monitor.extract.html import build_outline
from monitor.urls import clean_url

URL = "https://www.sample.gov.cn/zwgk/tzgg/index.html?page=2"
HREFS = [
    *("/a.html", "./a.html", "a.html", "../a.html", "b/../a.html", "/b/./a.html", "/", "./", "?page=3", "b//a.html"),
    *(
        "//other.org/a",
        "https://other.org",
        "https://other.org/a.html",
        "HTTPS://Other.ORG/A.html",
        "http://10.0.0.1/a",
    ),
    *("https://other.org:8080/a", "/通知 公告.html", "a.html?utm_source=x&id=1", "a.html#top", "http://other.org./a"),
]


@pytest.mark.parametrize("href", HREFS)
def test_a_link_is_the_same_as_if_it_were_cleaned_for_itself(href: str) -> None:
    page = build_outline(LexborHTMLParser(f'<body><a href="{href}">Link</a></body>'), URL)
    assert [anchor.url for anchor in page.anchors] == [clean_url(href, URL)]


@pytest.mark.parametrize("href", ["", "#top", "javascript:void(0)", "mailto:a@sample.gov.cn", URL])
def test_what_leads_to_no_other_document_is_no_link(href: str) -> None:
    assert build_outline(LexborHTMLParser(f'<body><a href="{href}">Link</a></body>'), URL).anchors == []


def test_the_word_on_a_button_is_a_text_of_the_page() -> None:
    page = build_outline(
        LexborHTMLParser('<body><input type="button" value="11/17/2026"><input value="typed"></body>'), URL
    )
    assert page.texts == ["11/17/2026"]
