"""Names and numbers of documents as keys: equal for the draft, the final text and whoever quotes it."""

import hashlib
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from monitor.dedupe.numbers import DocumentNumber, keep_alphanumerics, normalize_text, parse_document_number
from monitor.dedupe.titles import parse_subject, parse_title
from monitor.document import DocumentFacts, Relation
from monitor.vocabulary import KeyRole, PolicyStage

MAX_KEY_CHARS = 180
_MAX_READ_CHARS = 300_000
_HEAD_CHARS = 4000  # a document's own file number stands at its head
_MAX_MENTIONS = 200
_SKETCHES = 6
_MIN_SKETCHED_WORDS = 3

ACCOMPANYING_STAGES = frozenset(
    {PolicyStage.INTERPRETATION, PolicyStage.QA, PolicyStage.ENFORCEMENT, PolicyStage.AMENDMENT, PolicyStage.REPEAL}
)
"""Documents of these stages are about another one, whose name stands in their title."""


_LETTERED_CODE = re.compile(r"[A-Za-z]{2,8}\d")


class Reference(NamedTuple):
    """A name or number in a document; `key` begins with what it is of: `name:`, `number:`, `file:` or `like:`."""

    key: str
    role: KeyRole
    written: str


def list_references(title: str, text: str, facts: DocumentFacts) -> list[Reference]:
    """Return what a document is called, what it refers to, and what it mentions; each key once, in its closest role."""
    found: dict[str, Reference] = {}
    for reference in (
        *_iter_own(title, text, facts),
        *_iter_cited(title, facts),
        *_iter_mentioned(text[:_MAX_READ_CHARS]),
    ):
        if reference.role is KeyRole.MENTIONED and len(found) >= _MAX_MENTIONS:
            break
        if reference.key not in found:
            found[reference.key] = reference._replace(key=reference.key[:MAX_KEY_CHARS])
    return list(found.values())


def _iter_own(title: str, text: str, facts: DocumentFacts) -> Iterator[Reference]:
    if facts.number and (key := build_number_key(facts.number)):
        yield Reference(key, KeyRole.OWN, facts.number)
        # Others quote the code alone: PS26/3 for "Policy Statement PS26/3".
        code = facts.number.split()[-1]
        if _LETTERED_CODE.match(code) and code != facts.number and (key := build_number_key(code)):
            yield Reference(key, KeyRole.OWN, code)
    for found in _FILE_NUMBER.finditer(text[:_HEAD_CHARS]):
        yield Reference(f"file:{_fold_code(found[1])}", KeyRole.OWN, " ".join(found[0].split()))
    if facts.stage is None or (facts.stage in ACCOMPANYING_STAGES and facts.stage is not PolicyStage.AMENDMENT):
        return
    for name in list_own_names(title):
        yield from _iter_name_keys(name, KeyRole.OWN)


def _iter_cited(title: str, facts: DocumentFacts) -> Iterator[Reference]:
    for name in _list_cited_names(title, facts.stage):
        yield from _iter_name_keys(name, KeyRole.CITED)
    for reference in _iter_numbers(title):
        yield reference._replace(role=KeyRole.CITED)
    for relation in facts.relations:
        if relation.number and (key := build_number_key(relation.number)):
            yield Reference(key, KeyRole.CITED, relation.number)
        if relation.title:
            yield from _iter_name_keys(relation.title, KeyRole.CITED)


def _iter_name_keys(name: str, role: KeyRole) -> Iterator[Reference]:
    words = fold_name(name)
    if not words or _GENERIC_NAME.fullmatch(words):
        return
    yield Reference(f"name:{words}", role, name)
    for sketch in _sketch(words):
        yield Reference(sketch, role, name)


def _iter_mentioned(text: str) -> Iterator[Reference]:
    yield from _iter_numbers(text)
    for found in _QUOTED.finditer(text):
        words = fold_name(found[1])
        if words and not _GENERIC_NAME.fullmatch(words):
            yield Reference(f"name:{words}", KeyRole.MENTIONED, found[1])
    for found in _ENGLISH_LAW.finditer(text):
        if words := fold_name(found[0]):
            yield Reference(f"name:{words}", KeyRole.MENTIONED, " ".join(found[0].split()))


_FILE_NUMBER = re.compile(
    r"\b(?:File (?:No|Number)|Docket (?:No|ID|Number)s?|RIN)\b[.:]{0,2}\s{0,2}([A-Z\d][A-Z\d-]{4,30}[A-Z\d])"
)
_QUOTED = re.compile(r"《((?:[^《》\n]|《[^《》\n]{1,80}》){2,120})》")
_ENGLISH_LAW = re.compile(
    r"\b[A-Z][\w'’()-]{1,30}(?: (?:[A-Z(][\w'’()-]{0,30}|of|and|the|for|in|on|to)){0,12}"
    r" (?:Act|Regulations?|Rules?|Order|Code|Directive|Instrument|Scheme|Standards?) (?:19|20)\d\d\b"
)
_GENERIC_NAME = re.compile(
    r"(?:本|该|上述|新|原)?(?:管理|实施|指导|暂行|若干|工作|行动)?(?:办法|通知|意见|方案|规定|细则|公告|决定|条例|规则|标准|指南|目录|指引|规划"
    r"|计划|法|通告|合同|协议|说明|名单|章程|规程|制度)|.{0,2}"
)

# Numbers.

_YEAR_AND_SERIAL = re.compile(
    r"[〔［\[（(【]\s?(?:19|20)\d\d\s?年?[〕］\]）)】]\s?第?\s?\d{1,5}\s?[号號]|(?:19|20)\d\d年第?\s?\d{1,5}\s?[号號]"
    r"|令\s?第?\s?\d{1,4}\s?[号號]|第\s?\d{1,4}\s?[号號]令"
)
_SERIES_BEFORE = re.compile(r"[\u4e00-\u9fff]{1,16}$")
_ORDER_BEHIND = re.compile(r"第\s?(\d{1,4})\s?[号號]令")
_CODE_WORD = re.compile(r"(?<!\S)\S{2,40}(?!\S)")
_DASHES = re.compile(r"[\u2010-\u2015]")
_NO_LATIN = re.compile(r"[^\x00-\x7f]+")
_DIGIT = re.compile(r"\d")
_ACRONYM = re.compile(r"\(?(?:[A-Z][A-Za-z]{0,3}[A-Z][A-Za-z]{0,5}|[A-Z](?:\.[A-Z]){1,3}\.?)\)?")
_NO_CODE = re.compile(r"[\d.,:%]+|\d{4}-\d\d?-\d\d?|\d{1,2}/\d{1,2}/\d{2,4}|[£$€¥]\S+|https?:\S+|\S+@\S+")
_NO_BEFORE = re.compile(r"\b(?:No|Nos|Number)\b\.?$")
_OF_YEAR = re.compile(r"(\d{1,4}) of ((?:19|20)\d\d)\b")
_WORDS_OF_NUMBER = re.compile(
    r"\b(?:release|order|notice|circular|regulation|directive|decision|file|docket|instrument|number|nos?|of)\b\.?"
)
_EDGES = " \t\n.,;:\"'“”‘’()[]<>*"


def build_number_key(written: str) -> str:
    """Return the key of a number as a fact or a text has it; empty for what is none. Series are left to `parse`."""
    number = parse_number(written)
    if number is None:
        return ""
    if number.year:
        return f"number:{number.year}.{number.serial}"
    if number.series:
        return f"number:{number.series[-1]}.{number.serial}"
    code = _fold_code(written)
    return f"number:{code}" if len(code) > 3 else ""


def list_relation_keys(relation: Relation) -> list[str]:
    """Return the keys of the document that a relation is to: of its number, then of its name."""
    number = build_number_key(relation.number) if relation.number else ""
    name = fold_name(relation.title) if relation.title else ""
    keys = [number, f"name:{name}" if name and not _GENERIC_NAME.fullmatch(name) else ""]
    return [key[:MAX_KEY_CHARS] for key in keys if key]


@lru_cache(4096)
def parse_number(written: str) -> DocumentNumber | None:
    return parse_document_number(_ORDER_BEHIND.sub(r"令第\1号", written))


def _fold_code(written: str) -> str:
    folded = normalize_text(_OF_YEAR.sub(r"\1/\2", written))
    return keep_alphanumerics(_WORDS_OF_NUMBER.sub(" ", folded)).replace(".", "")


def _iter_numbers(text: str) -> Iterator[Reference]:
    for found in _YEAR_AND_SERIAL.finditer(text):
        before = _SERIES_BEFORE.search(text[max(0, found.start() - 16) : found.start()])
        written = (before[0] if before else "") + found[0]
        if key := build_number_key(written):
            yield Reference(key, KeyRole.MENTIONED, written)
    text = _OF_YEAR.sub(r"\1/\2", _NO_LATIN.sub(" ", _DASHES.sub("-", text)))
    for found in _CODE_WORD.finditer(text):
        if _DIGIT.search(found[0]) is None:
            continue
        word = found[0].strip(_EDGES) if found[0].count("(") != found[0].count(")") else found[0].strip(".,;:")
        left = _NO_BEFORE.sub("", text[max(0, found.start() - 24) : found.start()].rstrip())
        acronym = _ACRONYM.fullmatch(left.rstrip().rpartition(" ")[2].rpartition("\n")[2].strip(",;:"))
        if acronym:
            yield Reference(f"number:{_fold_code(f'{acronym[0]} {word}')}", KeyRole.MENTIONED, f"{acronym[0]} {word}")
        if not _NO_CODE.fullmatch(word) and len(code := _fold_code(word)) > 3:
            yield Reference(f"number:{code}", KeyRole.MENTIONED, word)


# Names.

_STAGE_IN_BRACKETS = re.compile(
    r"\([^()]{0,30}(?:征求意见|咨询|草案|送审|讨论|修订|修正|修改|试行|暂行|稿|版|审议|公示|通过|令|公告|号|draft|proposed|consultation|bill"
    r"|amendment|final|delegated act|revis)[^()]{0,30}\)"
)
_CHINESE_STAGES = re.compile(
    r"(?:公开)?(?:征求意见|咨询)(?:文件|稿|总结)?|征求.{0,8}意见|(?:修订|修正)?草案|送审稿|(?:修订|修正)稿|(?:暂行|试行)|全文$"
)
_AROUND_NAME = re.compile(
    r"^(?:中华人民共和国|(?:有关|关于|适用于|就|对|印发|公布|发布|制定|修订)+)|(?:强制性|推荐性)?(?:国家|行业|地方|团体)标准$"
    r"|的?(?:若干)?(?:通知|公告|通告|函|启事)$"
)
_CONSULTATION = re.compile(r"^.{2,20}?就(.{4,60}?)(?:展开|进行|发起|开展|启动)(?:公众|公开)?(?:咨询|征求意见)$")
_OWN_VERB = re.compile(r"印发|发布|公布|颁布|批准|征求|起草|征集|咨询|听取")
_ABOUT_VERB = re.compile(
    r"解读|答记者|记者问|问答|图解|说明|解答|修改|修订|修正|废止|失效|停止执行|贯彻|落实|实施|执行|学习|宣传|违反|根据|常见问题|转发"
    r"|延长|补充|调整|有关(?:事项|问题)|新闻发布会|一图"
)
_OUTER_QUOTES = re.compile(r"《((?:[^《》]|《[^《》]*》)+)》")
_HAS_CHINESE = re.compile(r"[\u3400-\u9fff]")


def list_own_names(title: str) -> list[str]:
    """Return the names that a title gives to its own document, as it is written."""
    plain = normalize_text(title)
    if not _HAS_CHINESE.search(plain):
        return [title]
    quotes = _OUTER_QUOTES.findall(plain)
    around = _OUTER_QUOTES.sub("", plain)
    if quotes and (_OWN_VERB.search(around) or not keep_alphanumerics(_STAGE_IN_BRACKETS.sub("", around))):
        return quotes
    if consulted := _CONSULTATION.match(keep_alphanumerics(plain)):
        return [consulted[1]]
    return [parse_title(_STAGE_IN_BRACKETS.sub("", plain), published=None, site_names=()).body]


def _list_cited_names(title: str, stage: PolicyStage | None) -> list[str]:
    """Return the names of other documents in a title: those in quotes, or the subject of what it explains."""
    plain = normalize_text(title)
    own = {} if stage is None else dict.fromkeys(list_own_names(title))
    quotes = [name for name in _iter_quotes(plain) if name not in own]
    if quotes:
        return quotes
    if not _HAS_CHINESE.search(plain):
        return [title] if stage in ACCOMPANYING_STAGES else []
    parsed = parse_title(plain, published=None, site_names=())
    return [parse_subject(parsed.interpretation)[1]] if parsed.interpretation else []


def _iter_quotes(plain: str) -> Iterator[str]:
    for quote in _OUTER_QUOTES.findall(plain):
        yield quote
        yield from _OUTER_QUOTES.findall(quote)


@lru_cache(4096)
def fold_name(name: str) -> str:
    """Return a name without stage, edition and form, equal for 《办法（征求意见稿）》 and 《办法》; empty for none."""
    plain = normalize_text(name)
    while (stripped := _STAGE_IN_BRACKETS.sub("", plain)) != plain:
        plain = stripped
    if not _HAS_CHINESE.search(plain):
        return " ".join(sorted(_list_english_words(plain)))[:MAX_KEY_CHARS]
    plain = keep_alphanumerics(_CHINESE_STAGES.sub("", plain))
    while (stripped := _AROUND_NAME.sub("", plain)) != plain:
        plain = stripped
    return plain.removesuffix("的")[:MAX_KEY_CHARS]


_ENGLISH_STAGES = re.compile(
    r"\b(?:(?:notice of )?proposed (?:rule(?:s|making)?|changes?|amendments?|regulations?)"
    r"|(?:interim )?final (?:rules?|guidance|report|notice)"
    r"|(?:advance )?notice of proposed rulemaking|consultation (?:papers?|conclusions|documents?|response)"
    r"|(?:sfc|fca|hkma|mas|we|government|commission)? ?consult(?:s|ing|ation)? on|consultations?|exposure draft"
    r"|draft|policy statements?|finali[sz]ed guidance|frequently asked questions|faqs?"
    r"|q ?& ?as?|questions? and answers?"
    r"|corrections?|extension of (?:the )?comment period|reopening of (?:the )?comment period|comment period"
    r"|(?:delay|postponement) of (?:effective|compliance) dates?|amend(?:ments?|ing|ed)(?: to)?|repeal(?:ing)?(?: of)?"
    r"|government response(?: to)?|feedback(?: statements?)?(?: to)?|responses? to|call for (?:evidence|input|views)"
    r"|request for (?:comments?|information|input)|circular to [a-z ]{3,40}?(?=:|$)"
    r"|explanatory (?:note|memorandum|statement)"
    r"|guidance (?:note )?(?:on|for|to)|guide to|how to"
    r"|(?:appendix|annex|schedule|chapter|part|section|article)(?: [a-z]{1,3})? (?:to|of|in) the"
    r"|technical standards?|(?:commission )?(?:delegated|implementing)"
    r" (?:regulation|decision|act)s?|notice|updates?|summary)\b"
)
_ENGLISH_WORD = re.compile(r"[a-z][a-z'’]+")
_ENGLISH_STOP_WORD = re.compile(
    r"an?|the|of|on|in|for|to|and|or|by|with|under|from|at|as|its|their|our|this|that|is|are|be|new|final|rules?"
    r"|regulations?|order|act|bill|instrument|no|eu|uk|us|about|into|via|per|proposals?|paper|commission|how|what|why"
    r"|further|other|certain|must|know|publish(?:es|ed)"
)
_ENGLISH_SUFFIX = re.compile(r"(?<=[a-z]{4})(?:ings?|ed|es|s|e)$")


def _list_english_words(plain: str) -> set[str]:
    kept = _ENGLISH_STAGES.sub(" ", re.sub(r"\S*\d\S*", " ", plain))
    words = {word.replace("’", "'").removesuffix("'s") for word in _ENGLISH_WORD.findall(kept)}
    return {_ENGLISH_SUFFIX.sub("", word) for word in words if not _ENGLISH_STOP_WORD.fullmatch(word)}


def split_words(words: str) -> frozenset[str]:
    """Return what a folded name is compared by: words, or pairs of characters."""
    if not _HAS_CHINESE.search(words):
        return frozenset(words.split())
    return frozenset(words[place : place + 2] for place in range(len(words) - 1))


def _sketch(words: str) -> list[str]:
    """Return keys that names with most words in common are likely to share: for each of some hashes the lowest."""
    parts = split_words(words)
    if len(parts) < _MIN_SKETCHED_WORDS:
        return []
    return [
        "like:" + min(hashlib.blake2b(f"{number} {part}".encode(), digest_size=6).hexdigest() for part in parts)
        for number in range(_SKETCHES)
    ]


_NAME_IN_TITLE = re.compile(r"《((?:[^《》〈〉]|[《〈][^《》〈〉]*[》〉]){4,})》")
_STAGE_OF_NAME = re.compile(
    r"[（(][^（）()]{0,30}(?:征求意见|徵求意見|草案|送审|送審|稿|号|號|试行|試行|暂行|draft|proposed)[^（）()]{0,20}[）)]",
    re.IGNORECASE,
)
_LEADING_STAGE = re.compile(
    r"^(?:(?:final|proposed) rule|exposure draft|consultation (?:paper|on)|policy statement)s?\b[:\s]{0,3}",
    re.IGNORECASE,
)
_LEADING_NUMBER = re.compile(
    r"^(?:[^《》\s]{0,40}(?:令|公告|通告)[^《》\s]{0,12}\d号[\s:：]+(?=[\u3400-\u9fff]{4})"
    r"|[A-Z]{1,6} ?\d{1,4}/\d{1,4}\s*[:–—-]\s+(?=\w))"
)
_TRAILING_STAGE = re.compile(
    r"\s?[:–—-]\s(?:final|proposed|draft) (?:rules?|amendments?|guidance|determinations?|standards?|changes)"
    r"(?: (?:and|to) .{0,60})?$",
    re.IGNORECASE,
)
_FORM_AROUND_SUBJECT = re.compile(r"^关于(.{4,})的(?:通知|公告|通告|函)$")
_BODY = re.compile(r"[\u3400-\u9fff]{1,30}(?:委|委员会|部|局|署|院|厅|办|会|行|司|室|组|处|中心|部门|政府|所|公司)")


def name_document(title: str) -> str:
    """Return the name of a policy as a title of one of its documents writes it, without stage, number and issuers."""
    found = _NAME_IN_TITLE.search(title)
    name = _LEADING_STAGE.sub("", _STAGE_OF_NAME.sub("", found[1] if found else title).strip())
    name = _drop_issuers(_LEADING_NUMBER.sub("", _TRAILING_STAGE.sub("", name)))
    name = _FORM_AROUND_SUBJECT.sub(r"\1", name)
    return " ".join(name.split()) or title


def _drop_issuers(name: str) -> str:
    """Return a Chinese title from its 关于 on, where nothing but bodies stand before that."""
    bodies, about, rest = name.partition("关于")
    is_named = all(_BODY.fullmatch(body.removesuffix("等")) for body in re.split(r"[\s、]+", bodies.strip()))
    return about + rest if about and bodies.strip() and is_named else name
