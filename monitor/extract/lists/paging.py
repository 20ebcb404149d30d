"""Finds the url of a list's next page: by `rel=next`, page numbers, words, signs, or a pager's script call."""

import re
from itertools import chain, islice
from urllib.parse import urlsplit

from selectolax.lexbor import LexborHTMLParser

from monitor.extract.html import Anchor, Outline, collapse_whitespace
from monitor.urls import clean_url, url_key

# createPageHTML(total, current from 0, "index", "html"), also with an element's id or more counts before these.
_CALL = re.compile(
    r"(?:createPage(?:HTML|Html|_HTML)?\w*|showPage\w*|createPager|makePager|pagination|getPage\w*|turnPage|"
    r"creatPage\w*)\s*\("
    r"(?P<arguments>[^()]{3,160})\)"
)
_COUNT = re.compile(
    r"\b(?:countPage|totalPage|pageCount|nPageCount|_PAGE_COUNT|total_page)s?\s*=\s*[\"']?(\d{1,5})", re.IGNORECASE
)
_CURRENT = re.compile(
    r"\b(?:currentPage|nCurrIndex|curPage|_PAGE_INDEX|pageIndex)\s*=\s*[\"']?(\d{1,5})", re.IGNORECASE
)
_NAME = re.compile(
    r"[\"'](?P<name>[A-Za-z_][\w-]{0,40})_?[\"']\s*\+\s*(?:\"_\"|'_'|\w+|"
    r"\([^)]*\))[^;\n]{0,60}?[\"']\.?(?P<extension>s?html?|jsp|aspx?)[\"']"
)
_SCRIPT_MARKERS = (
    *("reatePage", "creatPage", "showPage", "makePager", "pagination(", "getPage", "turnPage"),
    *("countPage", "totalPage", "pageCount", "PageCount", "PAGE_COUNT", "total_page"),
)
_STRING = re.compile(r"""^\s*["'](.*)["']\s*$""")
_EXTENSION = re.compile(r"^\.?(s?html?|jsp|aspx?|php)$", re.IGNORECASE)


def _find_script_next_page(html_text: str, base: str) -> str | None:
    """Return the next page of a script's pager (index.html, index_1.html); None without one or on the last page."""
    if not any(stem in html_text for stem in _SCRIPT_MARKERS):
        return None
    name = next(filter(None, (_parse_pager_call(call["arguments"]) for call in _CALL.finditer(html_text))), None)
    count, current, named = (pattern.search(html_text) for pattern in (_COUNT, _CURRENT, _NAME))
    if not name and count and current and named:
        name = _format_page_name(named["name"].rstrip("_"), named["extension"], int(count[1]), int(current[1]))
    return clean_url(name, base) if name else None


def _parse_pager_call(arguments: str) -> str | None:
    numbers: list[int] = []
    strings: list[str] = []
    for part in map(str.strip, arguments.split(",")):
        string = _STRING.match(part)
        if part.isdigit():
            numbers.append(int(part))
        elif string and string[1].isdigit() and not strings:
            numbers.append(int(string[1]))
        elif string:
            strings.append(string[1])
    extension = next((text for text in strings if _EXTENSION.match(text)), None)
    if extension is None or len(numbers) < 2:
        return None
    names = [text for text in strings[: strings.index(extension)] if re.fullmatch(r"[\w./-]+", text)]
    return _format_page_name(names[-1], extension.lstrip("."), *numbers[:2]) if names else None


def _format_page_name(name: str, extension: str, count: int, current: int) -> str | None:
    return f"{name}_{current + 1}.{extension}" if current + 1 < count else None


_PAGE = (
    r"(?:page|seite|p[áa]gina|pagina|strona|str[áa]nka|strana|stran|stranica|oldal|sivu|sida|side|sayfa|halaman|trang|"
    r"страница|сторінка|σελίδα|الصفحة|صفحه|صفحة|หน้า|पृष्ठ|পাতা|পৃষ্ঠা|lehek[üu]lg|lapa|puslapis|faqe|бет)"
)

_NEXT = (
    r"下\s*一?\s*[页頁]|后\s*一?\s*页|後\s*一?\s*頁|次へ|次の?ページ|次の\d+件|次|"
    r"다음(?:\s?페이지)?|(?:show\s+|view\s+|go\s+to\s+(?:the\s+)?)?next(?:\s+(?:page|results?|set\s+of\s+results|\d+))?|more\s+results|"
    r"older(?:\s+(?:posts?|entries))?"
    rf"|(?:{_PAGE}\s*)?(?:n[äa]chste|weiter|vorwärts|suivante?s?|siguientes?|seguintes?|següent|pr[óo]xim[ao]|"
    r"successiv[aoe]?|avanti|volgende|neste|nästa|næste|seuraavat?|następn[aey]|další|ďalš(?:ia|í|ie)|sljedeć[aei]|"
    r"naslednj[aei]|sonraki|următoarea|következő|hurrengoa|järgmine|nākam[āa]|kitas|tjetra|"
    r"следующ(?:ая|ие)|вперед|далее|наступн[аі]|следващ[аи]|следна|επόμεν[ηοα]|επομενη|келесі|keyingi|"
    r"selanjutnya|berikutnya|seterusnya|sau|tiếp(?:\s+theo)?|التالية?|بعدی?|הבא|ถัดไป|अगला|পরবর্তী)"
    rf"(?:\s*{_PAGE})?"
)

_PREVIOUS = (
    r"上\s*一?\s*[页頁]|前\s*一?\s*[页頁]|前へ|이전|prev(?:ious)?(?:\s+page)?|newer(?:\s+posts?)?|"
    rf"(?:{_PAGE}\s*)?(?:zurück|vorherige|précédente?|anterior|vorige|forrige|föregående|edellinen|poprzednia|"
    r"předchozí|önceki|előző|предыдущая|назад|попередня|предишна|προηγούμεν[ηο]|sebelumnya|trước|السابقة?|قبلی|הקודם|"
    rf"ก่อนหน้า|पिछला|পূর্ববর্তী)(?:\s*{_PAGE})?"
)
_ENDS = (
    r"首\s*[页頁]|第一[页頁]|尾\s*[页頁]|末\s*[页頁]|最后一?页|最後一?頁|first(?:\s+page)?|last(?:\s+page)?|erste|letzte"
    r"|최초|처음|마지막|最初|最後|跳转|跳轉|go|確定|确定"
)
_EDGE = r"[\s\[\]()（）【】<>«»‹›→←»…|:：.&;▶►▸⟩-]*"
NEXT_PAGE_TEXT = re.compile(rf"^{_EDGE}(?:{_NEXT}){_EDGE}$", re.IGNORECASE)
"""A link text that is only "next page"."""

NEXT_SIGNS = ("›", ">", "→", "»", ">>", "＞", "▶", "►", "&gt;", "❯", "⟩")
"""Signs that mean "next" where a pager shows no word; the doubled ones may also mean "last"."""

_PAGER = re.compile(
    rf"^{_EDGE}(?:{_NEXT}|{_PREVIOUS}|{_ENDS}|第?\s*\d{{1,4}}\s*[页頁]?|(?:page|seite|página|"
    rf"p\.)\s*\d{{1,4}}){_EDGE}$|^[\s<>«»‹›→←….·|-]+$",
    re.IGNORECASE,
)


def is_pager_text(text: str) -> bool:
    """Whether a link text belongs to a pager: a bare number, next, previous, first, last."""
    return len(text) <= 24 and bool(text) and _PAGER.match(text) is not None


_NEXT_CLASS = re.compile(r"(?:^|[\s_-])(?:next|pagenext|nextpage|nextpostslink|pager-next)(?=$|[\s_-])")
_CAROUSEL = re.compile(r"slick|swiper|carousel|slide|calendar|gallery|month|lightbox|nav-next|post-navigation")
_PAGER_NAMES = re.compile(r"pag(?:e|ing|in)|fenye|yema")
_SEPARATORS = re.compile(r"[\s|,·\[\]-]*")
_MAX_SEPARATORS, _MAX_NUMBER_CHARS = 12, 40
_PAGE_NUMBER = re.compile(r"^[\s\[(第]*(\d{1,4})[\s\])页頁]*$")


def find_next_page(page: Outline, tree: LexborHTMLParser, html_text: str) -> str | None:
    """Return the absolute url of the page after this one; None where the page names none.

    `rel=next` comes first, then the number after this page's own, since "next" may lead to the next ten pages. Then
    come words and signs, and last the script calls by which Chinese content management systems render their pagers.
    """
    here = url_key(page.url)
    finders = (_find_by_number, _find_by_word, _find_by_sign, lambda page: _find_script_next_page(html_text, page.base))
    found = chain([_find_by_rel(page, tree)], (find(page) for find in finders))
    return next((url for url in found if url and url_key(url) != here), None)


def _find_by_rel(page: Outline, tree: LexborHTMLParser) -> str | None:
    for link in tree.css("link[rel~=next][href]"):
        if found := clean_url(link.attributes.get("href") or "", page.base):
            return found
    rels = ((anchor, (anchor.element.attributes.get("rel") or "").lower().split()) for anchor in page.anchors)
    return next((anchor.url for anchor, rel in rels if "next" in rel and not _is_carousel(anchor)), None)


def _find_by_word(page: Outline) -> str | None:
    worded = [link for link in page.anchors if _is_next_link(page, link) and not _is_carousel(link)]
    return _choose_likeliest(page, worded)


def _is_next_link(page: Outline, anchor: Anchor) -> bool:
    if len(anchor.text) <= 3 and _NEXT_CLASS.search(anchor.element.class_and_id):
        return True
    attributes = anchor.element.attributes
    written = [anchor.text, attributes.get("title"), attributes.get("aria-label")]
    if not anchor.text:
        inside = page.get_descendants(anchor.element)
        written += [image.attributes.get("alt") for image in inside if image.tag == "img"]
    texts = (collapse_whitespace(text) for text in written if text)
    return any(0 < len(text) <= 40 and NEXT_PAGE_TEXT.match(text) for text in texts)


def _find_by_sign(page: Outline) -> str | None:
    for sign in NEXT_SIGNS:
        links = [anchor for anchor in page.anchors if anchor.text == sign and not _is_carousel(anchor)]
        signed = [link for link in links if _is_in_pager(link) or _counters_differ_by_one(page.url, link.url)]
        if signed:
            return _choose_likeliest(page, signed)
    return None


def _choose_likeliest(page: Outline, anchors: list[Anchor]) -> str | None:
    """Prefer a next link in a pager, then one below this page's own folder."""
    folder = urlsplit(page.url).path.rsplit("/", 1)[0]

    def rank(link: Anchor) -> tuple[bool, bool, int]:
        return _is_in_pager(link), urlsplit(link.url).path.startswith(folder), -link.element.index

    return max(anchors, key=rank).url if anchors else None


def _is_carousel(anchor: Anchor) -> bool:
    return any(_CAROUSEL.search(node.class_and_id) for node in islice(anchor.element.iter_ancestors(), 3))


def _is_in_pager(anchor: Anchor) -> bool:
    return any(_PAGER_NAMES.search(node.class_and_id) for node in islice(anchor.element.iter_ancestors(), 4))


def _find_by_number(page: Outline) -> str | None:
    """Return the numbered link after the number that is no link, the current page."""
    for anchor in page.anchors:
        found = _PAGE_NUMBER.match(anchor.text)
        if not found or int(found[1]) < 2:
            continue
        if _is_preceded_by(page, anchor, int(found[1]) - 1) or _counters_differ_by_one(page.url, anchor.url):
            return anchor.url
    return None


def _is_preceded_by(page: Outline, anchor: Anchor, number: int) -> bool:
    """Whether the text just before a link is the number before its own, and no link itself."""
    last = anchor.element.text_start - 1
    above = range(last, max(-1, last - _MAX_SEPARATORS), -1)
    index = next((index for index in above if not _SEPARATORS.fullmatch(page.texts[index])), -1)
    if index < 0 or len(page.texts[index]) > _MAX_NUMBER_CHARS:
        return False
    found = _PAGE_NUMBER.match(page.texts[index].replace("|", " "))
    if not found or int(found[1]) != number:
        return False
    owner = page.elements[page.text_owner[index]]
    if not _is_in_pager(anchor) and anchor.element.parent is not owner.parent and anchor.element.parent is not owner:
        return False
    return not any(node.index in page.link_indexes for node in owner.iter_ancestors())


def _counters_differ_by_one(url: str, other: str) -> bool:
    """Whether two urls differ only in one number, greater by one (or 2 where the first has none)."""
    if urlsplit(url).netloc != urlsplit(other).netloc:
        return False
    here, there = re.split(r"(\d+)", url), re.split(r"(\d+)", other)
    if len(here) != len(there):
        second = re.escape(url.rstrip("/")) + r"[?&/]?(?:page|p|paged|pageno|pn)?[=/_]?2/?"
        return re.fullmatch(second, other, re.IGNORECASE) is not None
    differing = [(left, right) for left, right in zip(here, there, strict=True) if left != right]
    left, right = differing[0] if len(differing) == 1 else ("", "")
    return left.isdigit() and right.isdigit() and int(right) == int(left) + 1
