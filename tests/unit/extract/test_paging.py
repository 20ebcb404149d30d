"""The next page is found in words, numbers, signs and script pagers."""

import pytest
from selectolax.lexbor import LexborHTMLParser

from monitor.extract.html import build_outline
from monitor.extract.lists.paging import find_next_page

BASE = "https://www.sample.gov.cn/tzgg/"


def next_of(body: str, url: str = BASE) -> str | None:
    html = f"<html><body>{body}</body></html>"
    tree = LexborHTMLParser(html)
    return find_next_page(build_outline(tree, url), tree, html)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('<a href="index_1.html">下一页</a>', "index_1.html"),
        ('<a href="index_1.html">后一页&gt;</a>', "index_1.html"),
        ('<a href="index_1.html">下页</a>', "index_1.html"),
        ('<a href="?page=2">Next »</a>', "?page=2"),
        ('<a href="?page=2" title="Next page"><i></i></a>', "?page=2"),
        ('<a href="?page=2"><img src="arrow.png" alt="Next"></a>', "?page=2"),
        ('<a href="?page=2">次へ</a>', "?page=2"),
        ('<a href="?page=2">다음</a>', "?page=2"),
        ('<a href="?page=2" rel="next">Mehr</a>', "?page=2"),
        ('<div class="pages"><a href="?page=2">›</a><a href="?page=9">»</a></div>', "?page=2"),
        ('<div class="pages"><span>1</span><a href="?page=2">2</a><a href="?page=3">3</a></div>', "?page=2"),
        ('<script>createPageHTML(25, 0, "index", "html");</script>', "index_1.html"),
        ("<script>createPageHTML('page_div',12,0,'index','shtml',180);</script>", "index_1.shtml"),
        ('<script>createPageHTML(31, 4, "list", "htm")</script>', "list_5.htm"),
        (
            '<script>var currentPage = 0;var countPage = 31;var tail = "index_" + (countPage-1) + ".shtml";</script>',
            "index_1.shtml",
        ),
    ],
)
def test_the_next_page_is_found(body: str, expected: str) -> None:
    assert next_of(body) == BASE + expected


@pytest.mark.parametrize(
    "body",
    [
        '<a href="index.html">上一页</a><span>下一页</span>',
        '<a href="#">下一页</a>',
        '<a href="javascript:void(0)">下一页</a>',
        '<div class="slick-arrow"><a href="/b.html">Next</a></div>',
        '<script>createPageHTML(25, 24, "index", "html");</script>',
        '<script>createPageHTML(1, 0, "index", "html");</script>',
        '<a href="/2.html">关于下一页的通知</a>',
        "<p>1 2 3</p>",
    ],
)
def test_where_no_page_follows_there_is_none(body: str) -> None:
    assert next_of(body) is None


@pytest.mark.parametrize(
    "words",
    [
        "Página siguiente",
        "Seguinte",
        "Pagina successiva",
        "Volgende pagina",
        "Nästa sida",
        "Neste side",
        "Næste",
        "Seuraava sivu",
        "Następna strona",
        "Następne",
        "Další stránka",
        "Ďalšia",
        "Sljedeća stranica",
        "Naslednja",
        "Következő oldal",
        "Următoarea",
        "Sonraki sayfa",
        "Следующая страница",
        "Наступна",
        "Следваща",
        "Επόμενο",
        "Järgmine",
        "Nākamā",
        "Kitas",
        "Selanjutnya",
        "Halaman berikutnya",
        "Trang sau",
        "Tiếp theo",
        "الصفحة التالية",
        "التالي",
        "بعدی",
        "הבא",
        "ถัดไป",
        "หน้าถัดไป",
        "अगला",
        "পরবর্তী",
        "Show next 20",
        "More results",
    ],
)
def test_the_word_for_the_next_page_is_known_in_many_languages(words: str) -> None:
    assert next_of(f'<p><a href="?from=20">{words}</a></p>') == BASE + "?from=20"


@pytest.mark.parametrize("words", ["Next steps", "What comes next", "Siguiente reunión del consejo", "更多"])
def test_a_link_that_says_more_than_next_leads_to_no_next_page(words: str) -> None:
    assert next_of(f'<p><a href="/about/plan">{words}</a></p>') is None


def test_on_a_later_page_the_number_after_ones_own_is_next() -> None:
    body = '<div class="pages"><a href="?page=1">1</a><a href="?page=2">2</a><b>3</b><a href="?page=4">4</a></div>'
    assert next_of(body, BASE + "?page=3") == BASE + "?page=4"


def test_an_url_that_was_escaped_twice_is_mended() -> None:
    assert next_of('<a href="?page=2&amp;amp;year=2013">Next</a>') == BASE + "?page=2&year=2013"
