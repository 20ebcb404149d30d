"""Changes to a list page that leave its list what it was: what is seen in it may not get worse by them.

A change takes a labelled page and returns another one with labels to match, or None where the page has nothing to be
changed (no table, no date in a form that is known here).
"""

import calendar
import copy
import datetime as dt
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lxml import etree, html
from selectolax.lexbor import LexborHTMLParser

from benchmarks.labelled_pages import LabelledPage, fold_url
from monitor.dates import has_day
from monitor.extract.encoding import decode
from monitor.extract.html import find_link_address, get_base_url
from monitor.extract.parse import expand_data_stores
from monitor.markup import limit_depth
from monitor.urls import clean_url

Change = Callable[[LabelledPage], LabelledPage | None]

_MONTHS = {
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "pl": "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia",
    "ru": "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
    "ar": "يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر",
}
_FORMS = {
    "es": "{d} de {month} de {y}",
    "pt": "{d} de {month} de {y}",
    "fr": "{d} {month} {y}",
    "de": "{d}. {month} {y}",
    "it": "{d} {month} {y}",
    "pl": "{d} {month} {y}",
    "ru": "{d} {month} {y} г.",
    "ar": "{d} {month} {y}",
    "ja": "{y}年{m}月{d}日",
    "ko": "{y}년 {m}월 {d}일",
    "vi": "{d} tháng {m} năm {y}",
}
LANGUAGES = tuple(_FORMS)
_ENGLISH = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_ENGLISH |= {name[:3]: number for name, number in _ENGLISH.items()} | {"sept": 9}
_NAMED = "|".join(sorted(_ENGLISH, key=len, reverse=True))
_DATES = re.compile(
    r"(?<!\d)(?P<y1>20\d\d)\s?(?:[-/.]|年)\s?(?P<m1>\d{1,2})\s?(?:[-/.]|月)\s?(?P<d1>\d{1,2})(?!\d)\s?日?"
    r"|(?<!\d)(?P<a>\d{1,2})[-/.](?P<b>\d{1,2})[-/.](?P<y2>20\d\d)(?!\d)"
    rf"|\b(?P<n3>{_NAMED})\.?\s{{1,2}}(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?,?\s{{1,2}}(?P<y3>20\d\d)(?!\d)"
    rf"|(?<!\d)(?P<d4>\d{{1,2}})(?:st|nd|rd|th)?[\s-](?P<n4>{_NAMED})\.?,?[\s-](?P<y4>20\d\d)(?!\d)",
    re.IGNORECASE,
)
_MONTHS_IN_YEAR = 12
_MIN_REWRITTEN = 0.8  # of the labelled dates
_DATE_ATTRIBUTES = ("datetime", "data-date", "data-time", "data-timestamp", "content", "title", "alt", "aria-label")
_RELATIVE_DAY = re.compile(
    r"\b(?:yesterday|today|ayer|hoy|gestern|heute|hier|\d+\s(?:minutes?|hours?|days?|weeks?|months?)\sago)\b"
    r"|[昨今前]天|昨日|今日|\d+\s?(?:分钟|小时|天|周|个月)前",
    re.IGNORECASE,
)
_TABLE_TAGS = re.compile(r"<(/?)(?:table|thead|tbody|tfoot|tr|td|th|caption)\b", re.IGNORECASE)
_COLUMN_TAGS = re.compile(r"</?(?:col|colgroup)\b[^<>]*>", re.IGNORECASE)
_TAGS = re.compile(r"<(/?)([a-z][a-z0-9]*)(?=[\s>/])")
_DIGIT = re.compile(r"\d(?=\D*$)")
_TABLE_PARTS = ("tr", "td", "th", "thead", "tbody", "tfoot")
_ROW_TAGS = ("li", "tr", "div", "article", "p", "section")
_INLINE_TAGS = frozenset(
    {"a", "abbr", "b", "bdi", "cite", "code", "em", "font", "i", "label", "mark", "q", "s", "small", "span", "strong"}
    | {"sub", "sup", "time", "u"}
)
_VERBATIM_TAGS = frozenset({"script", "style", "pre", "textarea", "noscript", "template", "title"})
_PROSE = {
    "zh": (
        "本栏目公开本机关依法制定的文件，公众可以按照规定查阅、复制，也可以向档案馆申请查询。"
        "对内容有疑问的，请在工作日与办公室联系，我们将在规定期限内答复。"
    ),
    "en": (
        "This part of the site has what the office has published under the law on access to documents. "
        "Readers who need an earlier one, or one in another format, may write to the office at any time, "
        "which answers within the period that the law gives it."
    ),
}
_HEADINGS = {"zh": "其他文件", "en": "Other documents"}
_COPIES = 3
_MIN_IN_ROWS = 0.3  # of the text of a list


def tidy(page: LabelledPage) -> LabelledPage:
    """Return the page as it is parsed and written again, without a change."""
    return _Markup(page).finish()


def write_dates_in(language: str) -> Change:
    """Return the change that writes the labelled dates in words of a language, where most of them can be read here."""
    names = _MONTHS.get(language, "").split()

    def change(page: LabelledPage) -> LabelledPage | None:
        days = {item["date"] for item in page.items if item.get("date")}
        written: set[str] = set()

        def rewrite(found: re.Match[str]) -> str:
            day = next((day for day in _list_days(found) if day.isoformat() in days), None)
            if day is None:
                return found[0]
            written.add(day.isoformat())
            month = names[day.month - 1] if names else ""
            return _FORMS[language].format(y=day.year, m=day.month, d=day.day, month=month)

        markup = _Markup(page)
        markup.root.set("lang", language)
        markup.rewrite_texts(lambda text: _DATES.sub(rewrite, text))
        if not days or len(written) < _MIN_REWRITTEN * len(days):
            return None
        return markup.finish([_retitle(item, lambda text: _DATES.sub(rewrite, text)) for item in page.items])

    return change


def _list_days(found: re.Match[str]) -> Iterator[dt.date]:
    """Yield the days that a date may mean; 03/04/2026 has two."""
    part = {name: value for name, value in found.groupdict().items() if value}
    if "y2" in part:
        choices = [(part["y2"], part["b"], part["a"]), (part["y2"], part["a"], part["b"])]
    elif "y1" in part:
        choices = [(part["y1"], part["m1"], part["d1"])]
    else:
        key = "3" if "y3" in part else "4"
        choices = [(part[f"y{key}"], str(_ENGLISH[part[f"n{key}"].lower()]), part[f"d{key}"])]
    for year, month, day in choices:
        if 1 <= int(month) <= _MONTHS_IN_YEAR and 1 <= int(day) <= calendar.monthrange(int(year), int(month))[1]:
            yield dt.date(int(year), int(month), int(day))


def _retitle(item: dict[str, Any], write: Callable[[str], str]) -> dict[str, Any]:
    titles = {name: write(item[name]) for name in ("title", "anchor_text_in_page") if item.get(name)}
    return {**item, **titles}


def remove_dates(page: LabelledPage) -> LabelledPage | None:
    """Remove every date from what the page shows; those in urls stay."""
    if not any(item.get("date") for item in page.items):
        return None
    markup = _Markup(page)
    markup.rewrite_texts(_remove_dates)
    for element in markup.list_elements():
        for name in _DATE_ATTRIBUTES:
            if value := element.get(name):
                element.set(name, _remove_dates(value))
    return markup.finish([{**_retitle(item, _remove_dates), "date": None} for item in page.items])


def _remove_dates(text: str) -> str:
    text = _RELATIVE_DAY.sub("", _DATES.sub("", text))
    return re.sub(r"[\d一二三四五六七八九十〇○零]", "", text) if has_day(text) else text


def rename_classes(page: LabelledPage) -> LabelledPage:
    """Write a hash for every class and id, as a site's build does."""
    markup = _Markup(page)
    for element in markup.list_elements():
        for name in ("class", "id"):
            if value := element.get(name):
                element.set(name, " ".join(f"x{_hash(word)}" for word in value.split()))
    return markup.finish()


def _hash(word: str) -> str:
    return hashlib.sha256(word.encode()).hexdigest()[:7].translate(str.maketrans("0123456789", "ghijklmnop"))


def replace_tables(page: LabelledPage) -> LabelledPage | None:
    """Write tables as boxes in boxes."""
    text = tidy(page).body.decode()
    changed = _COLUMN_TAGS.sub("", _TABLE_TAGS.sub(r"<\1div", text))
    return replace(page, body=changed.encode()) if changed != text else None


def add_prose(page: LabelledPage) -> LabelledPage | None:
    """Add paragraphs before and after the list."""
    markup = _Markup(page)
    block = markup.find_list()
    if block is None:
        return None
    for position, box in enumerate((_build_prose(page), _build_prose(page))):
        if block.tag == "body":
            block.insert(0 if position == 0 else len(block), box)
        elif position == 0:
            block.addprevious(box)
        else:
            box.tail, block.tail = block.tail, None
            block.addnext(box)
    return markup.finish()


def _build_prose(page: LabelledPage) -> html.HtmlElement:
    box = html.Element("div")
    for _ in range(_COPIES):
        paragraph = etree.SubElement(box, "p")
        paragraph.text = _PROSE[_guess_language(page)]
    return box


def _guess_language(page: LabelledPage) -> str:
    titles = "".join(str(item.get("title") or "") for item in page.items)
    return "zh" if re.search("[\u4e00-\u9fff]", titles) else "en"


def keep_one_row(page: LabelledPage) -> LabelledPage | None:
    """Remove all rows but the first that has a date, where records are rows: not links with their text beside them."""
    markup = _Markup(page)
    rows = markup.find_rows()
    kept = next((item for item in page.items if item.get("date")), None)
    if kept is None or len(rows) < len(page.items) or len({row.getparent() for row in rows.values()}) != 1:
        return None
    block = markup.find_list()
    if block is None or sum(map(_measure, rows.values())) < _MIN_IN_ROWS * _measure(block):
        return None
    for url, row in rows.items():
        if url != fold_url(kept["url"]):
            row.drop_tree()
    return markup.finish([kept])


def _measure(element: html.HtmlElement) -> int:
    return len("".join(element.text_content().split()))


def repeat_list(page: LabelledPage) -> LabelledPage | None:
    """Put the list on the page a second time, with other urls, under another heading."""
    markup = _Markup(page)
    block = markup.find_list()
    if block is None or block.tag == "body":
        return None
    items = {fold_url(item["url"]): item for item in page.items}
    second = copy.deepcopy(block)
    copies: list[dict[str, Any]] = []
    for element in second.iter("a"):
        url = markup.get_url(element)
        href = _DIGIT.sub(lambda found: str(9 - int(found[0])), element.get("href") or "")
        if url in items and (moved := clean_url(href, markup.base)) and fold_url(moved) not in items:
            element.set("href", href)
            copies.append({**items[url], "url": moved})
    if len({item["url"] for item in copies}) != len(items):
        return None
    heading = html.Element("h2")
    heading.text = _HEADINGS[_guess_language(page)]
    second.tail, block.tail = block.tail, None
    block.addnext(heading)
    heading.addnext(second)
    unique = {item["url"]: item for item in copies}
    return markup.finish([*page.items, *unique.values()])


def reorder_attributes(page: LabelledPage) -> LabelledPage:
    """Write the attributes of each element in another order, and other white space between elements."""
    markup = _Markup(page)
    for element in markup.list_elements():
        attributes = list(element.items())
        element.attrib.clear()
        element.attrib.update(reversed(attributes))
        if element.tag in _VERBATIM_TAGS:
            continue
        if element.tag not in _INLINE_TAGS:
            element.text = f"\n\t{element.text or ''}"
        if element.tail is not None and not element.tail.strip():
            element.tail = f"\n\n  {element.tail}"
    return markup.finish()


def wrap_rows(page: LabelledPage) -> LabelledPage | None:
    """Put a box around what is in each row, or around the row where it may have one."""
    markup = _Markup(page)
    rows = [row for row in markup.find_rows().values() if row.tag in _ROW_TAGS]
    for row in rows:
        for inner in list(row) if row.tag == "tr" else [row]:
            _wrap(inner, goes_around=row.tag not in ("tr", "li"))
    return markup.finish() if rows else None


def _wrap(element: html.HtmlElement, *, goes_around: bool) -> None:
    box = html.Element("div")
    box.set("class", "wrapper")
    if goes_around:
        box.tail, element.tail = element.tail, None
        element.addprevious(box)
        box.append(element)
        return
    box.text, element.text = element.text, None
    for child in list(element):
        box.append(child)
    element.append(box)


def upper_case_tags(page: LabelledPage) -> LabelledPage:
    text = tidy(page).body.decode()
    return replace(page, body=_TAGS.sub(lambda found: f"<{found[1]}{found[2].upper()}", text).encode())


CHANGES: dict[str, Change] = {
    **{f"dates_{language}": write_dates_in(language) for language in LANGUAGES},
    "dates_removed": remove_dates,
    "classes_renamed": rename_classes,
    "tables_to_divs": replace_tables,
    "prose_added": add_prose,
    "one_row": keep_one_row,
    "two_lists": repeat_list,
    "attributes_reordered": reorder_attributes,
    "rows_wrapped": wrap_rows,
    "tags_upper_case": upper_case_tags,
}


@dataclass(init=False)
class _Markup:
    """A page as a tree that can be changed; what links lead to is as the program reads it."""

    page: LabelledPage
    root: html.HtmlElement
    base: str

    def __init__(self, page: LabelledPage) -> None:
        text = decode(page.body, None)[0].replace("\x00", "")
        tree = LexborHTMLParser(limit_depth(expand_data_stores(text)))
        self.page = page
        self.base = get_base_url(tree, page.url)
        self.root = html.document_fromstring(_without_controls(tree.html or "<html></html>"))
        for element in self.list_elements():
            if href := element.get("href"):  # libxml2 would escape the white space around it
                element.set("href", href.strip())
        self.wanted = {fold_url(item["url"]) for item in page.items}

    def list_elements(self) -> list[html.HtmlElement]:
        return [element for element in self.root.iter() if isinstance(element.tag, str)]

    def rewrite_texts(self, write: Callable[[str], str]) -> None:
        for element in self.list_elements():
            if element.text and element.tag not in _VERBATIM_TAGS:
                element.text = write(element.text)
            if element.tail:
                element.tail = write(element.tail)

    def get_url(self, element: html.HtmlElement) -> str | None:
        """Return what an element leads to, folded."""
        address = find_link_address(str(element.tag), dict(element.items()))
        url = clean_url(address.replace("&amp;", "&"), self.base) if address else None
        return fold_url(url) if url else None

    def find_rows(self) -> dict[str, html.HtmlElement]:
        """Return the largest element around each labelled link that has no other labelled link, by folded url."""
        links = self._find_links()
        around: dict[html.HtmlElement, set[str]] = {}
        for element, url in links:
            for node in (element, *element.iterancestors()):
                around.setdefault(node, set()).add(url)
        rows: dict[str, html.HtmlElement] = {}
        for element, url in links:
            row = element
            while (parent := row.getparent()) is not None and around[parent] == {url}:
                row = parent
            rows.setdefault(url, row)
        return rows

    def find_list(self) -> html.HtmlElement | None:
        """Return the smallest element with all labelled links; the table for a part of one."""
        links = [element for element, _ in self._find_links()]
        if len(links) < 2:
            return None
        shared = set(links[0].iterancestors())
        for link in links[1:]:
            shared &= set(link.iterancestors())
        block = next((node for node in links[0].iterancestors() if node in shared), None)
        while block is not None and block.tag in _TABLE_PARTS:
            block = block.getparent()
        return block if block is not None and block.tag != "html" else None

    def _find_links(self) -> list[tuple[html.HtmlElement, str]]:
        found = ((element, self.get_url(element)) for element in self.list_elements())
        return [(element, url) for element, url in found if url in self.wanted]

    def finish(self, items: Sequence[dict[str, Any]] | None = None) -> LabelledPage:
        text = html.tostring(self.root, encoding="unicode", doctype="<!DOCTYPE html>")
        text = re.sub(r"<meta\b[^<>]*charset[^<>]*>", "", text, flags=re.IGNORECASE)
        body = b"\xef\xbb\xbf" + text.encode("utf-8", "replace")
        return replace(self.page, body=body, items=self.page.items if items is None else list(items))


def _without_controls(text: str) -> str:
    return re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", "", text)
