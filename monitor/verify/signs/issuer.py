"""Signs in who issues, and in names that stand nowhere on the page."""

import re
from functools import lru_cache

from monitor.i18n.traditional import simplify
from monitor.verify.chinese_names import SURNAME
from monitor.verify.gazetteer import has_chinese
from monitor.verify.signs.page import Comparison, PageIndex, PageUnit
from monitor.verify.signs.roles import ActorClause, ClauseActor, are_same, parse_clauses

_ISSUE = re.compile(
    r"印发|发布|公布|出台|起草|制定|颁布|批准|主办|举办|下发|查处|(?:联合|会同)[^，。]{0,30}$"
    r"|\b(?:issue[sd]?|publish(?:es|ed)|release[sd]?|prepared|adopt(?:s|ed)|drafted|launch(?:es|ed)|drawn up"
    r"|jointly)\b",
    re.IGNORECASE,
)
_WORK_TITLE = re.compile(r"《[^》]{0,80}》")
_MAX_SIGNATURE_CHARS = 40
_SENTENCE_MARK = re.compile(r"[。，；：]|[.,;:]\s|\.$")
_CAPITALISED = re.compile(r"(?<=[a-z,;’')\"“”] )[\"“(]?([A-Z][A-Za-z]*[A-Za-z])\b")
_MIN_WORD_CHARS = 3
_MONTHS_TEXT = """
January February March April May June July August September October November December
"""
_MONTHS = frozenset(_MONTHS_TEXT.split())


def compare_issuers(found: Comparison) -> None:
    """Look whether those whom the statement lets issue something issue anything on the page, or sign or head it."""
    if found.is_cross_language:
        return
    for clause in parse_clauses(found.statement):
        if not _ISSUE.search(_WORK_TITLE.sub("", clause.text)):
            continue
        _compare_joint(found, clause)
        for actor in clause.actors:
            if actor.role in ("agent", "with") and not actor.is_generic and not _may_issue(found.page, actor):
                found.raise_sign("issuer other", 1.0, actor.text)


_JOINTLY = re.compile(r"联合|会同|共同|\bjointly\b")
_ISSUE_VERB = re.compile(r"印发|发布|公布|出台|起草|制定|颁布|查处|\b(?:issued|published|prepared|adopted|drafted)\b")


def _compare_joint(found: Comparison, clause: ActorClause) -> None:
    """Look whether two who issue together do so on the page: in one clause of issuing, or both in its head or foot."""
    partners = [actor for actor in clause.actors if actor.role in ("agent", "with") and not actor.is_generic]
    if len(partners) < 2 or not (_JOINTLY.search(clause.text) and _ISSUE_VERB.search(clause.text)):
        return
    for other in _read_issue_clauses(found.page):
        names = [actor.text for actor in (*other.actors, *other.agents)]
        if all(any(are_same(partner.text, name) for name in names) for partner in partners):
            return
    for partner in partners:
        places = found.page.names.find(partner.text)
        is_signed = any(_is_signed(found.page, found.page.find_unit(at)) for at in places)
        if not is_signed and found.page.names.mentions(partner.text) is not None:
            found.raise_sign("issuer other", 1.0, partner.text)


def _is_signed(page: PageIndex, unit: PageUnit) -> bool:
    if unit.line < page.head_lines:
        return True
    return _is_short_line(page, unit) and not _SENTENCE_MARK.search(unit.text) and unit.text.strip()[-1:] not in ":："


@lru_cache(maxsize=64)
def _read_issue_clauses(page: PageIndex) -> tuple[ActorClause, ...]:
    return tuple(
        clause
        for unit in page.units
        if _ISSUE_VERB.search(unit.text)
        for clause in parse_clauses(unit.text)
        if _ISSUE_VERB.search(clause.text)
    )


def _may_issue(page: PageIndex, actor: ClauseActor) -> bool:
    heads, issuers = _read_issuers(page)
    if any(are_same(actor.text, other) for other in issuers):
        return True
    if actor.text in heads or any(actor.text in line for line in heads.splitlines()):
        return True
    if any(_is_signed(page, page.find_unit(place)) for place in page.names.find(actor.text)):
        return True
    return page.names.mentions(actor.text) is None


def _is_short_line(page: PageIndex, unit: PageUnit) -> bool:
    """Whether a unit is the page's title or publisher, or a short line of names without a sentence."""
    is_short = len(unit.text) < _MAX_SIGNATURE_CHARS
    return unit.line < page.head_lines or is_short or (len(unit.text) < 160 and not _SENTENCE_MARK.search(unit.text))


@lru_cache(maxsize=64)
def _read_issuers(page: PageIndex) -> tuple[str, frozenset[str]]:
    """Return the head and signature lines of a page, and the actors of its clauses of issuing."""
    heads, issuers = [], set()
    for unit in page.units:
        if _is_signed(page, unit):
            heads.append(simplify(unit.text))
            issuers |= {
                actor.text for clause in parse_clauses(unit.text) for actor in clause.actors if not actor.is_generic
            }
        elif _ISSUE.search(unit.text):
            for clause in parse_clauses(unit.text):
                if _ISSUE.search(clause.text):
                    issuers |= {
                        actor.text for actor in (*clause.actors, *clause.agents) if actor.role in ("agent", "with")
                    }
    return "\n".join(heads), frozenset(issuers)


def compare_capitals(found: Comparison) -> None:
    """Look for capitalised words of an English statement that an English page lacks, as an unknown company's."""
    if found.is_cross_language or has_chinese(found.statement):
        return
    lowered = _lower_page(found.page)
    for match in _CAPITALISED.finditer(found.statement):
        word = match[1]
        if len(word) >= _MIN_WORD_CHARS and word not in _MONTHS and not _has_word(lowered, word):
            found.raise_sign("word unknown", 1.0, word)


def _has_word(lowered: str, word: str) -> bool:
    root = word.lower().removesuffix("s")
    if re.search(rf"\b{re.escape(root[: max(len(root) - 2, 3)])}", lowered):
        return True
    letters = [
        part[0] for part in re.findall(r"[a-z]+", lowered) if part not in ("the", "of", "and", "for", "on", "in")
    ]
    return word.isupper() and word.lower() in "".join(letters)


_NO_NAME_CHARS = "不须由在及为与和等其该了的月年日出将被动称说者章报省各某以部类司行从到并可应得是有无份"
_PERSON_ZH = re.compile(
    rf"(?:(?<![\u4e00-\u9fff])|(?<=[由经据对向被与员长记授师席理]))((?!文章|通报){SURNAME}[^\W\x00-\x7f{_NO_NAME_CHARS}]{{1,2}})"
    r"(?=被|表示|认为|说|指出|称|强调|透露|担任|出任|兼任|出席|主持|陪同|要求|和|与|、|作)"
)
_BODY_ZH = re.compile(
    r"((?!上市|国有|民营|外资|中资|合资|境[内外]|国内|外国|小贷|财险|寿险|[大小]型|中小|地方|世界一)"
    rf"[^\W\x00-\x7f{_NO_NAME_CHARS}]{{2}})"
    r"(?:医院|大学|学院|公司|集团|股份|银行|证券|(?<!新)科技|药业|制药|金服|硅业|电网|便利商店)"
)


def compare_chinese_names(found: Comparison) -> None:
    """Look for a person or a company of a Chinese statement of whose name a Chinese page lacks every two characters."""
    if found.is_cross_language or not found.page.is_chinese:
        return
    text = _simplify_page(found.page)
    for pattern in (_PERSON_ZH, _BODY_ZH):
        for match in pattern.finditer(simplify(found.statement)):
            name = match[1]
            pairs = [name[place : place + 2] for place in range(len(name) - 1)]
            if not any(pair in text for pair in pairs):
                found.raise_sign("name unknown", 1.0, name)


@lru_cache(maxsize=64)
def _lower_page(page: PageIndex) -> str:
    return page.text.lower()


@lru_cache(maxsize=64)
def _simplify_page(page: PageIndex) -> str:
    return simplify(page.text)
