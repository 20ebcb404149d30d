"""What an item says of which document it is: address, day, title, number, office, text."""

import datetime as dt
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from monitor.dedupe.numbers import (
    DocumentNumber,
    compare_numbers,
    is_abbreviation_of,
    keep_alphanumerics,
    normalize_text,
    parse_document_number,
)
from monitor.dedupe.texts import MAX_READ_CHARS, normalize_for_comparison
from monitor.dedupe.titles import TitleFields, is_office, parse_subject, parse_title
from monitor.urls import get_host, get_registrable_domain, url_key
from monitor.vocabulary import ItemType

if TYPE_CHECKING:  # workers that read pages compare offices, and have no database
    from monitor.db.tables.collection import Item

_MAX_KEPT_NAMES = 4096  # of sources, issuers and hosts, which items have in common
MAX_CLOSE_DAYS = 3
MAX_REPOST_DAYS = 31
_MOBILE_PREFIX = re.compile(r"^(?:m|wap|mobile|3g)\.")
_SESSION_ID = re.compile(r";jsessionid=[^?#]*", re.IGNORECASE)
_LOCAL_LEVEL = re.compile(r"(?:省|市(?!场)|县|区|州|镇|乡|旗|盟)")
_PLACE_NAME = re.compile(r"(?P<name>[^省市县区州镇乡旗盟]{0,8}?)(?P<level>自治区|省|市(?!场)|县|区|州|镇|乡|旗|盟)")
_UNNAMED_PLACE = re.compile(r"(?:省|市|县|区|州|镇|乡|自治区)(?!.{0,3}[省市县])")
_BRANCH_OFFICE = re.compile(r"省|市(?!场)|自治区|(?:监管局|监管办公室|分局|分署|分行|支行|总部|专员办|特派办)$")
_JOINT_ISSUERS = re.compile(r"等$|等?[\d一二三四五六七八九十多]{0,3}个?(?:部门|单位|部委)$")


Precedence = tuple[bool, bool, dt.datetime, dt.date, str]


@dataclass(frozen=True)
class DocumentFeatures:
    """What an item's columns say of its document; `text` is what is read of its page's text."""

    url: str
    title: str
    date: dt.date | None
    source: str
    issuer: str | None
    document_number: str | None
    is_interpretation: bool
    is_repost: bool
    first_seen: dt.datetime
    text: str | None

    @classmethod
    def of(cls, item: "Item", text: str | None = None) -> "DocumentFeatures":
        return cls(
            url=item.url,
            title=item.title,
            date=item.date,
            source=item.source,
            issuer=item.issuer,
            document_number=item.document_number,
            is_interpretation=item.type is ItemType.INTERPRETATION,
            is_repost=item.is_repost,
            first_seen=item.first_seen,
            text=text[:MAX_READ_CHARS] if text is not None else None,
        )


@dataclass(frozen=True)
class DocumentIdentity:
    """An item as it is compared with others.

    `subject` is the body of the policy that an interpretation is about, else that of the title; `subject_issuer` is the
    policy's office if the interpretation names it. `issuer` and `source` are folded to letters and digits.
    `precedence` orders the places of a document: the issuer's own site first, then what was seen first.
    """

    address: str
    host: str
    domain: str
    day: dt.date | None
    title: TitleFields
    number: DocumentNumber | None
    issuer: str
    source: str
    is_interpretation: bool
    subject: str
    subject_issuer: str
    text: str
    precedence: Precedence


def build_identity(item: "Item", text: str | None = None) -> DocumentIdentity:
    return parse_identity(DocumentFeatures.of(item, text))


def parse_identities(facts: Sequence[DocumentFeatures]) -> list[DocumentIdentity]:
    return [parse_identity(each) for each in facts]


def parse_identity(facts: DocumentFeatures) -> DocumentIdentity:
    day, source, issuer = facts.date, _fold_name(facts.source), _fold_name(facts.issuer or "")
    host = get_host(facts.url)
    domain = _get_domain(host)
    places = [source, issuer, *re.findall(r"^[a-z\d-]{4,}", domain)]
    title = parse_title(facts.title, published=(day.year, day.month, day.day) if day else None, site_names=places)
    subject_issuer, subject = parse_subject(title.interpretation) if title.interpretation else ("", title.body)
    number = parse_document_number(facts.document_number) or title.number
    written_number = keep_alphanumerics(normalize_text(facts.document_number or ""))
    address = _MOBILE_PREFIX.sub("", url_key(_SESSION_ID.sub("", facts.url)))
    speaker = title.issuer or issuer
    is_own = bool(speaker and source) and is_same_office(speaker, source)
    first_seen = facts.first_seen if facts.first_seen.tzinfo else facts.first_seen.replace(tzinfo=dt.UTC)
    return DocumentIdentity(
        address=address,
        host=_MOBILE_PREFIX.sub("", host.removeprefix("www.")),
        domain=domain,
        day=day,
        title=title,
        number=_complete_number(number, title, speaker),
        issuer=issuer,
        source=source,
        is_interpretation=title.interpretation is not None or facts.is_interpretation,
        subject=subject,
        subject_issuer=subject_issuer,
        text=_strip_heading(normalize_for_comparison(facts.text), title, written_number),
        precedence=(not is_own, facts.is_repost, first_seen, day or dt.date.max, address),
    )


@lru_cache(_MAX_KEPT_NAMES)
def _fold_name(name: str) -> str:
    return keep_alphanumerics(normalize_text(name))


def count_days_between(one: DocumentIdentity, other: DocumentIdentity) -> int | None:
    return abs((one.day - other.day).days) if one.day and other.day else None


def have_same_unique_number(one: DocumentIdentity, other: DocumentIdentity) -> bool:
    """Whether both carry one number that no other office gives."""
    if not (one.number and other.number) or not compare_numbers(one.number, other.number):
        return False
    are_unique = (one.number.is_unique, other.number.is_unique)
    return all(are_unique) if one.number.year else any(are_unique)


def are_from_different_offices(one: DocumentIdentity, other: DocumentIdentity) -> bool:
    """Whether each item names an office of its own: in its title, or as its local issuer."""
    a, b = one.title.issuer, other.title.issuer
    if a and b and not is_same_office(a, b):
        return True
    if a and b and not _UNNAMED_PLACE.match(a):
        return False
    return bool(_LOCAL_LEVEL.search(one.issuer) and _LOCAL_LEVEL.search(other.issuer)) and not is_same_office(
        one.issuer, other.issuer
    )


def is_office_ambiguous(one: DocumentIdentity, other: DocumentIdentity) -> bool:
    """Whether equal titles may be of two offices, so that only text or number can tell.

    A province that reposts a ministry looks like one that writes under the same title; and where one title names a
    local office, a title that names none may be any other's.
    """
    a, b = one.title.issuer, other.title.issuer
    if count_days_between(one, other) != 0 and _are_sister_sites(one.host, other.host) and not (a and b):
        return True
    if a and b and (not _UNNAMED_PLACE.match(a) or one.domain == other.domain):
        return False
    voices = _get_speaking_office(one), _get_speaking_office(other)
    if all(voices):
        return not is_same_office(*voices)
    places = [_PLACE_NAME.match(voice or item.source) for voice, item in zip(voices, (one, other), strict=True)]
    if places[0] and places[1]:
        return _are_different_places(places[0], places[1])
    if any(places) and any(voices) and not any(map(_PLACE_NAME.match, filter(None, voices))):
        return True
    shorter, longer = sorted((one.title.full, other.title.full), key=len)
    before = longer.removesuffix(shorter) if longer.endswith(shorter) else ""
    if any(_PLACE_NAME.fullmatch(item.title.aside) for item in (one, other)):
        return True
    return any(_LOCAL_LEVEL.search(office) for office in (one.title.issuer, other.title.issuer, before))


def is_same_office(a: str, b: str) -> bool:
    """Whether one name is short for the other (工信部, 工业和信息化部) or its joint issuers, but no branch of it."""
    shorter, longer = sorted((_JOINT_ISSUERS.sub("", name) for name in (a, b)), key=len)
    if shorter and longer.startswith(shorter) and _BRANCH_OFFICE.search(longer.removeprefix(shorter)):
        return False
    return is_abbreviation_of(shorter, longer) or sorted(shorter) == sorted(longer)


def _complete_number(number: DocumentNumber | None, title: TitleFields, issuer: str) -> DocumentNumber | None:
    """Give a number of only year and serial its issuer's series, in the form that the title ends in."""
    if number and number.year and number.series in ("", "公告", "通告", "令") and is_office(issuer):
        form = next((form for form in ("公告", "通告") if title.full.endswith(form)), "")
        return replace(number, series=issuer + (number.series or form))
    return number


def _strip_heading(text: str, title: TitleFields, number: str) -> str:
    """Return the text without its own title and number at its head: only some copiers repeat them."""
    headings = sorted({title.full, title.issuer, title.body, number, "的通知", "的公告"} - {""}, key=len, reverse=True)
    while heading := next((heading for heading in headings if text.startswith(heading)), ""):
        text = text.removeprefix(heading)
    return text


def _get_speaking_office(item: DocumentIdentity) -> str:
    if item.title.issuer and not _UNNAMED_PLACE.match(item.title.issuer):
        return item.title.issuer
    return item.issuer if is_office(item.issuer) else ""


def _are_sister_sites(host: str, other: str) -> bool:
    """Whether two hosts are of offices of one kind in two places: fgw.one.gov.cn, fgw.two.gov.cn."""
    label, _, rest = host.partition(".")
    other_label, _, other_rest = other.partition(".")
    return label == other_label and rest != other_rest and rest.count(".") >= 2 and other_rest.count(".") >= 2


def _are_different_places(place: re.Match[str], other: re.Match[str]) -> bool:
    """Whether two places differ in level or name; 省政府 may be any province's."""
    names = place["name"], other["name"]
    return place["level"] != other["level"] or (all(names) and names[0] != names[1])


@lru_cache(_MAX_KEPT_NAMES)
def _get_domain(host: str) -> str:
    with suppress(ValueError):
        return get_registrable_domain(f"//{host}")
    return ""
