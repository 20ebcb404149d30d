"""Signs in what a statement cites: articles, chapters, documents and laws by number or name."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from monitor.dates.numerals import parse_numeral
from monitor.verify.lexicon import stem
from monitor.verify.signs.labels import read_label
from monitor.verify.signs.page import Comparison, PageUnit

_LAW_ARTICLE = re.compile(
    r"《?([\u4e00-\u9fff]{2,20}?(?:法|条例|办法|规定|细则|规则|法典))》?(?:（[^）]*）)?第([一二三四五六七八九十百千零\d]+)条"
)
_OWN_ARTICLE = re.compile(
    r"(?:征求意见稿|草案|办法|规定|细则|条例|指南|公告|通知|文件|规则|法)?第([一二三四五六七八九十百千零\d]+)条"
    r"(?:提出|规定|明确|要求|指出|,|，|的规定)"
)
_ARTICLE_HEAD = re.compile(r"^\s*第([一二三四五六七八九十百千零\d]+)条", re.MULTILINE)
_MAX_LAW_TO_ARTICLE_CHARS = 60

_NUMBERED = re.compile(
    r"\b(?P<noun>clause|chapter|section|article|principle|regulation|annex|schedule|paragraph|appendix|resolution|title"
    r"|order|rule|table|recommendation|phase|option|question|directive)s?\s(?:No\.?\s)?(?P<number>\d+[A-Za-z]?(?:[-/.]\d+)*(?:\(\w+\))*)"
    r"|(?P<sign>§)\s?(?P<code>[\w.]+(?:\(\w+\))*)"
    r"|第(?P<zh>[一二三四五六七八九十百千零\d]+)(?P<unit>[条章款号届批期版])"
    r"|(?P<annex>附件|附表|附录)(?P<no>[一二三四五六七八九十\d]+)"
    r"|[〔\[（(]\s?(?P<year>(?:19|20)\d\d)\s?[〕\]）)]\s?第?(?P<document>\d+)号",
    re.IGNORECASE,
)
_ACT = re.compile(
    r"(?:[A-Z][\w'’-]+ (?:(?:of|on|and|for|to|the) ){0,2}){1,6}"
    r"(?:Act|Treaty|Agreement|Convention|Directive|Code|Law|Resolution)\b"
)
_ORDINAL = re.compile(
    r"第(?P<zh>[一二三四五六七八九十\d]{1,2})(?P<noun>[^条章款号\d年个次]|$)"
    r"|(?P<zh2>[一二三四1-4])(?P<noun2>线|级|等(?=奖)|期(?=项目|工程|产线|厂|投|的|建|\d|仍|，|。))"
    r"|\b(?P<en>first|second|third|fourth|fifth|sixth)[- ](?P<what>[A-Za-z]+)"
    r"|\b(?P<code>[A-Z]{1,3})-(?P<digit>\d{1,2})\b",
    re.IGNORECASE,
)
_WINDOW = 80


@dataclass(frozen=True, slots=True)
class _Reference:
    kind: str
    value: str
    start: int
    end: int


def compare_references(found: Comparison) -> None:
    _compare_articles(found)
    _compare_ordinals(found)
    references = list(_iter_references(found.statement))
    for reference in references:
        _compare_numbered(found, reference, references)
    if not found.is_cross_language and not found.page.is_chinese:
        _compare_acts(found)


def _compare_ordinals(found: Comparison) -> None:
    """Compare the ranks and classes of the same thing: first-tier and second-tier cities, T-1 and T-4 auctions."""
    for bearer in found.bearers:
        mine, theirs = _list_ordinals(bearer.segment.text), _list_ordinals(bearer.unit.text)
        said = _list_ordinals(found.statement)
        for noun, numbers in mine.items():
            others = theirs.get(noun, set()) - said.get(noun, set())
            if others and not numbers & theirs.get(noun, set()):
                found.raise_sign("ordinal other", 1.0, f"{sorted(numbers)} / {sorted(others)} {noun}")


def _list_ordinals(text: str) -> dict[str, set[str]]:
    """Return the ordinal numbers of a text by what they count: `第三产业` as 三 of 产, `T-4` as 4 of T."""
    ordinals: dict[str, set[str]] = {}
    for match in _ORDINAL.finditer(text):
        if match["zh"] or match["zh2"]:
            number = match["zh"] or match["zh2"]
            noun, number = match["noun"] or match["noun2"] or "", str(parse_numeral(number) or number)
        elif match["en"]:
            noun, number = stem(match["what"].lower()), match["en"].lower()
        else:
            noun, number = match["code"], match["digit"]
        ordinals.setdefault(noun if noun.isalnum() else "", set()).add(number)
    return ordinals


def _iter_references(text: str) -> Iterator[_Reference]:
    for match in _NUMBERED.finditer(text):
        if match["noun"]:
            kind, value = match["noun"].lower(), match["number"].lower()
        elif match["sign"]:
            kind, value = "§", match["code"].lower().rstrip(".")
        elif match["document"]:
            kind, value = "document", f"{match['year']}-{match['document']}"
        else:
            kind, number = match["unit"] or match["annex"], match["zh"] or match["no"]
            value = str(parse_numeral(number) or number)
        yield _Reference(kind, value, match.start(), match.end())


def _compare_numbered(found: Comparison, mine: _Reference, said: Iterable[_Reference]) -> None:
    """Look whether the bearing sentences cite something else of the kind, or the number stands by other words."""
    units = _list_content_units(found, found.statement[mine.start : mine.end])
    theirs = [(unit, other) for unit in units for other in _iter_references(unit.text) if other.kind == mine.kind]
    rivals = [(unit, other) for unit, other in theirs if not any(other.value == third.value for third in said)]
    own = [(unit, other) for unit, other in theirs if other.value == mine.value]
    text = f"{found.statement[mine.start : mine.end]} / {', '.join(other.value for _, other in rivals[:2])}"
    if not own and rivals and not _has_amounts_beside(found, mine):
        found.raise_sign("citation rival", 1.0, text)
    if own and len({other.value for _, other in theirs}) > 1:
        label = read_label(_cut_window(found.statement, mine))
        others = [entry for entry in theirs if entry[1].value != mine.value]
        gain = max(_rate(found, label, *entry) for entry in others) - max(_rate(found, label, *entry) for entry in own)
        found.raise_sign("citation swapped", gain, text)


def _has_amounts_beside(found: Comparison, cited: _Reference) -> bool:
    """Whether all amounts of a statement, of which it has some, are in one line of the page with what it cites."""
    amounts = [amount for amount in found.amounts if not amount.is_reference]
    lines = {
        unit.line
        for unit in found.page.units
        if any((other.kind, other.value) == (cited.kind, cited.value) for other in _iter_references(unit.text))
    }
    beside = [[other for unit in found.page.list_line(line) for other in unit.amounts] for line in lines]
    return bool(amounts) and any(
        all(any(amount.equals(other) for other in others) for amount in amounts) for others in beside
    )


def _rate(found: Comparison, label: frozenset[str], unit: PageUnit, reference: _Reference) -> float:
    return found.page.compute_share(label & read_label(_cut_window(unit.text, reference)), label)


def _cut_window(text: str, reference: _Reference) -> str:
    """Return the text around a reference, as far as the ones beside it."""
    before = text[max(reference.start - _WINDOW, 0) : reference.start]
    after = text[reference.end : reference.end + _WINDOW]
    left = max((other.end for other in _iter_references(before) if other.kind == reference.kind), default=0)
    right = min((other.start for other in _iter_references(after) if other.kind == reference.kind), default=_WINDOW)
    return f"{before[left:]} {after[:right]}"


def _list_content_units(found: Comparison, reference: str) -> list[PageUnit]:
    """Return the units that bear the statement but for the segment that cites, if it says anything else."""
    content = [bearer.unit for bearer in found.bearers if reference not in bearer.segment.text]
    return content or found.units


def _compare_acts(found: Comparison) -> None:
    """Look whether a law is named on the page where the statement's words stand."""
    for name in _ACT.findall(found.statement):
        words = name.split()
        short = " ".join(words[-2:])
        if any(short in unit.text for unit in found.units) or len(words) < 2:
            continue
        if any(_ACT.search(unit.text) for unit in found.units):
            found.raise_sign("citation rival", 1.0, name)
        elif short not in found.page.text:
            found.raise_sign("citation unknown", 1.0, name)


def _compare_articles(found: Comparison) -> None:
    """Look whether a cited article is of the law that the statement names, or is where its words stand."""
    text = found.page.text
    title = "".join(unit.text for unit in found.page.units if unit.line < found.page.head_lines)
    cited = list(_LAW_ARTICLE.finditer(found.statement))
    for match in cited:
        law, article = match[1][-3:], match[2]
        if law in title and _ARTICLE_HEAD.search(text):
            continue
        places = [place.start() for place in re.finditer(f"第{article}条", text)]
        if places and not any(law in text[max(place - _MAX_LAW_TO_ARTICLE_CHARS, 0) : place] for place in places):
            found.raise_sign("citation other", 1.0, match[0])
    own = _OWN_ARTICLE.search(found.statement)
    heads = [(head.start(), head[1]) for head in _ARTICLE_HEAD.finditer(text)] if own else []
    if own is not None and any(number == own[1] for _, number in heads):
        units = _list_content_units(found, f"第{own[1]}条")
        articles = {
            next((number for place, number in reversed(heads) if place <= unit.start + 2), "") for unit in units
        }
        references = list(_iter_references(own[0]))
        if own[1] not in articles and not any(_has_amounts_beside(found, cited) for cited in references):
            found.raise_sign("article other", 1.0, own[0])
