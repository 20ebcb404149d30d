"""Finds the title of an article: its headline, without the name of the site."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from urllib.parse import urlsplit

from monitor.dates import DATE_SIGN, YEAR_FIRST, mask_dates
from monitor.extract.articles.labels import PageMetadata, find_label_before
from monitor.extract.html import Element, Outline, collapse_whitespace

_SEPARATORS = re.compile(
    r"\s+[-–—|·•»«›‹<>/]+\s+|\s*[|_»]+\s*|\s*[—–]{1,2}\s*(?=\S{2,20}$)|\s*-\s*(?=[\u4e00-\u9fff]{2,20}$)|\s*::+\s*|"
    r"\s*(?:：|:)\s*(?=[^\s：:]{2,16}(?:新聞|新闻|網|网)$)"
)
# What some sites write after the headline in its element.
_HEADLINE_TAIL = re.compile(rf"\s+(?:{DATE_SIGN}|(?:发布时间|发布日期|来源|作者)\s*[:：]).*$")
_HIDDEN_QUOTES, _RESTORED_QUOTES = str.maketrans("«»", "\ue000\ue001"), str.maketrans("\ue000\ue001", "«»")
_TITLE_NAMES = re.compile(
    r"(?:^|[\s_-])(?:title|headline|tit|biaoti|bt|h-?title|article-?title|entry-title|post-?title|arti_title|"
    r"maintitle|news_?title|content_?title)(?=$|[\s_-])"
)
_SITE_META = ("og:site_name", "sitename", "application-name", "apple-mobile-web-app-title")
_TITLE_META = ("articletitle", "og:title", "citation_title", "dc.title", "dcterms.title", "twitter:title", "title")
_ASIDE_NAMES = re.compile(
    r"(?:^|[\s_-])(?:nav\w*|footer|sidebar|aside|related|comments?|logo|brand|site-?title|site-?name|widget\w*|"
    r"menu|teaser\w*)(?=$|[\s_-])"
)
_DATELINE = re.compile(
    r"^[\s【\[(（]*(?:发布时间|发布日期|发文时间|发文日期|发稿时间|時間|时间|日期|發布日期|發佈日期|来源|信息来源|文章来源)\s*[】\]]?\s*[:：]"
)
# A short title that ends so names an office and its site, not a document.
_OFFICE_NAME = re.compile(
    r"[\u4e00-\u9fff（）()·]{1,14}(?:政府|网站?|網站?|门户|公开|平台|[局厅委]|委员会|办公室|总署|法院|检察院|公开专栏|公开目录|"
    r"政策文件库?)"
)
_NON_WORD = re.compile(r"[\W_]+")
_MAX_SITE_NAME_CHARS = 20
_MAX_HEADLINE_CHARS, _MAX_ELEMENTS_INSIDE = 1_000, 100
_KIND_SCORES = {"h1": 1.6, "named": 1.2, "h2": 0.8, "h3": 0.3}


@dataclass(frozen=True, slots=True)
class _HeadlineCandidate:
    text: str
    kind: str
    is_aside: bool
    is_home_link: bool


def find_article_title(
    page: Outline, metadata: PageMetadata, *, listed: Sequence[str] = (), stated: str | None = None
) -> str:
    """Return the page's headline; the empty string where nothing names it.

    A heading that the metadata repeats is the headline, one that is only the site's part of the `title` element its
    logo. `stated` is the title in a document's table. With the titles of rows (`listed`) only h1 and metadata count.
    """
    headings = _list_headlines(page)[:60]
    written = [metadata.meta[name] for name in _TITLE_META if metadata.meta.get(name)]
    named = [_find_shown_headline(text, headings) or strip_site_name(text, metadata, page.url) for text in written]
    named = [text for text in (stated, metadata.get_json_ld_text("headline")) if text] + named
    scores: dict[str, float] = {}
    whole = _extract_title_element(metadata, page.url, headings)
    if listed:
        rows = {normalize_title(title) for title in listed}
        headings = [
            heading for heading in headings if heading.kind == "h1" and normalize_title(heading.text) not in rows
        ]
    # The only h1 of a page, different from its title element: editors write one title to read, one for search engines.
    only_h1 = [heading for heading in headings if heading.kind == "h1" and not heading.is_aside]
    is_sure = (
        len(only_h1) == 1
        and not any(_are_similar(only_h1[0].text, text) for text in (*named, whole, metadata.title_element))
        and normalize_title(only_h1[0].text) not in normalize_title(metadata.title_element)
        and not any(not other.is_aside and normalize_title(other.text) == normalize_title(whole) for other in headings)
    )
    folded_names = set(map(normalize_title, named))
    for heading in headings:
        score = _KIND_SCORES[heading.kind] - 2.0 * heading.is_aside - 2.0 * heading.is_home_link
        score += 3.0 * (is_sure and heading is only_h1[0])
        score += 1.5 * (heading in only_h1 and normalize_title(heading.text) in folded_names)
        _keep_best_score(scores, heading.text, score + _score_support(heading.text, named, whole, metadata, page.url))
    for text in named:
        _keep_best_score(scores, text, 0.8 + _score_support(text, named, whole, metadata, page.url))
    if not listed and (line := _find_line_above_dateline(page)):
        _keep_best_score(scores, line, 1.5 + _score_support(line, named, whole, metadata, page.url))
    if whole:
        _keep_best_score(scores, whole, 0.7 + _score_support(whole, named, "", metadata, page.url))
    return max(scores, key=lambda text: scores[text], default="")


def normalize_title(text: str) -> str:
    """Return the form in which titles are compared: letters and digits only, one width, lower case."""
    return _NON_WORD.sub("", text if text.isascii() else unicodedata.normalize("NFKC", text)).lower()


def _extract_title_element(metadata: PageMetadata, url: str, headings: Sequence[_HeadlineCandidate]) -> str:
    """Return the title element without the site's name: the part that a heading repeats, else all other parts."""
    shown = {normalize_title(heading.text) for heading in headings if not heading.is_aside and not heading.is_home_link}
    if headline := _find_shown_headline(metadata.title_element, headings):
        return headline
    parts = map(collapse_whitespace, _split_title(metadata.title_element))
    repeated = [part for part in parts if normalize_title(part) in shown and not _is_site_name(part, metadata, url)]
    return repeated[0] if len(repeated) == 1 else strip_site_name(metadata.title_element, metadata, url)


def _find_shown_headline(title: str, headings: Sequence[_HeadlineCandidate]) -> str:
    """Return the headline with a dash in it that a title begins or ends with, or the empty string."""
    folded = normalize_title(title)
    for heading in headings:
        shown = normalize_title(heading.text)
        if heading.is_aside or heading.is_home_link or 2 * len(shown) <= len(folded):
            continue
        if (folded.startswith(shown) or folded.endswith(shown)) and len(_split_title(heading.text)) > 1:
            return heading.text
    return ""


def _split_title(title: str) -> list[str]:
    """Return the title's parts between separators; « and » as quotation marks are none."""
    if "«" not in title:
        return _SEPARATORS.split(title)
    return [part.translate(_RESTORED_QUOTES) for part in _SEPARATORS.split(title.translate(_HIDDEN_QUOTES))]


def strip_site_name(title: str, metadata: PageMetadata, url: str) -> str:
    """Return the longest part of a title element that is not the site's name."""
    parts = [part for part in (piece.strip() for piece in _split_title(title)) if part]
    if len(parts) < 2:
        return collapse_whitespace(title).strip(" -_|–—»·")
    kept = [part for part in parts if not _is_site_name(part, metadata, url)]
    longest = max(kept or parts, key=lambda part: (len(normalize_title(part)), -parts.index(part)))
    if len(kept) == len(parts) and len(parts[0]) <= _MAX_SITE_NAME_CHARS < len(parts[-1]):
        return longest
    start = title.find(longest)
    before = title[:start]
    # "Topic: headline - Site": the topic belongs to the headline.
    return collapse_whitespace(before + longest) if re.fullmatch(r".{3,60}[^\s:]:\s+", before) else longest


def _score_support(text: str, named: list[str], title_element: str, metadata: PageMetadata, url: str) -> float:
    """Return how much the rest of the page supports a title."""
    folded = normalize_title(text)
    if len(folded) < 2:
        return -3.0
    score = 0.0
    as_written = [metadata.meta[name] for name in _TITLE_META if metadata.meta.get(name)]
    if any(normalize_title(other) == folded for other in (*named, *as_written)):
        score += 2.0
    elif any(_are_similar(text, other) for other in named):
        score += 1.2
    if title_element and normalize_title(title_element) == folded:
        score += 1.0
    elif title_element and _are_similar(text, title_element):
        score += 0.8
    elif named or title_element:
        score -= 0.6
    if _is_site_name(text, metadata, url):
        score -= 3.0
    elif _OFFICE_NAME.fullmatch(text):
        score -= 1.0
    weight = sum(2 if char > "\u2e80" else 1 for char in folded)
    return score - (0.5 if weight < 12 else 0) - (1.0 if weight > 250 else 0)


def _keep_best_score(scores: dict[str, float], text: str, score: float) -> None:
    if text and (text not in scores or scores[text] < score):
        scores[text] = score


def _are_similar(title: str, other: str) -> bool:
    """Whether two titles of similar length share most trigrams of the shorter one."""
    left, right = normalize_title(title), normalize_title(other)
    if not left or not right or max(len(left), len(right)) > 2.5 * min(len(left), len(right)):
        return False
    if left in right or right in left:
        return True
    bits, others = ({folded[i : i + 3] for i in range(len(folded) - 2)} for folded in (left, right))
    return len(bits & others) > 0.6 * min(len(bits), len(others))


def _is_site_name(text: str, metadata: PageMetadata, url: str) -> bool:
    folded = normalize_title(text)
    if any(folded == normalize_title(metadata.meta[name]) for name in _SITE_META if metadata.meta.get(name)):
        return True
    host = normalize_title((urlsplit(url).hostname or "").removeprefix("www."))
    is_name = folded.isascii() and len(folded) >= 4 and host != ""
    return is_name and folded.removeprefix("www") in (host, host[: len(folded)])


def _list_headlines(page: Outline) -> list[_HeadlineCandidate]:
    found = []
    url_of = {anchor.element.index: anchor.url for anchor in page.anchors}
    for element in page.elements:
        kind = element.tag if element.tag in ("h1", "h2", "h3") else ""
        if not 0 < element.text_end - element.text_start <= 12:
            continue
        if not kind and len(element.class_and_id) > 1 and _TITLE_NAMES.search(element.class_and_id):
            kind = "named"
        if not kind:
            continue
        masked = mask_dates(page.get_text(element, _MAX_HEADLINE_CHARS)[:_MAX_HEADLINE_CHARS], YEAR_FIRST)
        text = masked.restore(_HEADLINE_TAIL.sub("", masked.text))
        if 2 <= len(text) <= 300:
            found.append(_HeadlineCandidate(text, kind, _is_aside(element), _is_home_link(page, element, url_of)))
    return found


def _find_line_above_dateline(page: Outline) -> str:
    """Return the line above 发布时间：…, the headline of a page without headings."""
    linked = {index for anchor in page.anchors for index in range(anchor.element.text_start, anchor.element.text_end)}
    for index, text in enumerate(page.texts[1:], start=1):
        if _DATELINE.search(text) and re.search(r"\d", "".join(page.texts[index : index + 3])):
            above = collapse_whitespace(page.texts[index - 1])
            is_headline = 8 <= len(above) <= 120 and index - 1 not in linked
            return above if is_headline and find_label_before(page, index - 1) is None else ""
    return ""


def _is_aside(element: Element) -> bool:
    for node in element.iter_ancestors():
        if node.tag == "body" or "hentry" in node.css_class:
            return False
        if node.tag in ("nav", "footer", "aside") or _ASIDE_NAMES.search(node.class_and_id):
            return True
    return False


def _is_home_link(page: Outline, element: Element, url_of: Mapping[int, str]) -> bool:
    """Whether the heading links to a home page, as logos do, or to the folder of the page."""
    inside = islice(page.elements, element.index + 1, min(element.end, element.index + _MAX_ELEMENTS_INSIDE))
    links = [inner for inner in inside if inner.tag == "a"]
    if element.parent is not None and element.parent.tag == "a":
        links.append(element.parent)
    urls = (url_of.get(link.index, "") for link in links)
    if any(url.endswith("/") and page.url.startswith(url) and url != page.url for url in urls):
        return True
    hrefs = [(link.attributes.get("href") or "").strip() for link in links]
    return any(re.fullmatch(r"(?:https?://[^/]+)?/?(?:index\.\w+)?|\.{1,2}/?", href) for href in hrefs)
