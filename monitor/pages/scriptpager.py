"""Pagers that a script draws: the calls of Chinese content management systems, read without running them."""

import re

from monitor.domain.urls import clean_url

# createPageHTML(total, current from 0, "index", "html"), and the same with an element's id or more counts before.
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
_STEMS = (
    "reatePage",
    "creatPage",
    "showPage",
    "makePager",
    "pagination(",
    "getPage",
    "turnPage",
    "countPage",
    "totalPage",
    "pageCount",
    "PageCount",
    "PAGE_COUNT",
    "total_page",
)
_STRING = re.compile(r"""^\s*["'](.*)["']\s*$""")
_EXTENSION = re.compile(r"^\.?(s?html?|jsp|aspx?|php)$", re.IGNORECASE)


def next_of_script(html_text: str, base: str) -> str | None:
    """The next page that a script's pager would link to, None where there is no such script or this is its last page.

    The counters begin at 0 and the first page has none in its name: index.html, index_1.html, index_2.html.
    """
    if not any(stem in html_text for stem in _STEMS):
        return None
    for found in _CALL.finditer(html_text):
        if name := _next_of_call(found["arguments"]):
            return clean_url(name, base)
    count, current = _COUNT.search(html_text), _CURRENT.search(html_text)
    if count and current and (name_found := _NAME.search(html_text)):
        name = _name_of(name_found["name"].rstrip("_"), name_found["extension"], int(count[1]), int(current[1]))
        return clean_url(name, base) if name else None
    return None


def _next_of_call(arguments: str) -> str | None:
    parts = [part.strip() for part in arguments.split(",")]
    numbers: list[int] = []
    strings: list[str] = []
    for part in parts:
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
    if not names:
        return None
    return _name_of(names[-1], extension.lstrip("."), numbers[0], numbers[1])


def _name_of(name: str, extension: str, count: int, current: int) -> str | None:
    return f"{name}_{current + 1}.{extension}" if current + 1 < count else None
