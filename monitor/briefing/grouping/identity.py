"""What an item says of which document it is: address, day, title, number, office, text."""

import datetime as dt
import re
from dataclasses import dataclass, replace

from monitor.briefing.grouping.docnumber import DocNumber, document_number, is_short_for, same_number
from monitor.briefing.grouping.folding import core, folded
from monitor.briefing.grouping.textmatch import comparable
from monitor.briefing.grouping.titleparts import Title, is_office, subject_of, take_apart
from monitor.domain.tables import Item
from monitor.domain.urls import host_of, url_key
from monitor.domain.words import ItemType
from monitor.pages.registrable import registrable_host

CLOSE_DAYS = 3
REPOST_DAYS = 31
_MOBILE = re.compile(r"^(?:m|wap|mobile|3g)\.")
_SESSION = re.compile(r";jsessionid=[^?#]*", re.IGNORECASE)
_LOCAL = re.compile(r"(?:省|市(?!场)|县|区|州|镇|乡|旗|盟)")
_PLACE = re.compile(r"(?P<name>[^省市县区州镇乡旗盟]{0,8}?)(?P<level>自治区|省|市(?!场)|县|区|州|镇|乡|旗|盟)")
_NAMELESS = re.compile(r"(?:省|市|县|区|州|镇|乡|自治区)(?!.{0,3}[省市县])")
_BRANCH = re.compile(r"省|市(?!场)|自治区|(?:监管局|监管办公室|分局|分署|分行|支行|总部|专员办|特派办)$")
_JOINT = re.compile(r"等$|等?[\d一二三四五六七八九十多]{0,3}个?(?:部门|单位|部委)$")


@dataclass(frozen=True, slots=True)
class Identity:
    """An item as it is compared with others.

    `subject` is the body of the policy that a reading is about, and of the title itself for all else; `subject_issuer`
    is the policy's office where the reading names it. `issuer` and `source` are the item's fields in the form of
    `folding.core`, `text` that of `textmatch.comparable`.
    """

    address: str
    host: str
    domain: str
    day: dt.date | None
    title: Title
    number: DocNumber | None
    issuer: str
    source: str
    is_reading: bool
    subject: str
    subject_issuer: str
    text: str


def identity_of(item: Item, text: str | None = None) -> Identity:
    """Read an item, with the text of its page where there is one."""
    day, source = item.date, core(folded(item.source))
    issuer = core(folded(item.issuer or ""))
    domain = _domain(item.url)
    places = [source, issuer, *re.findall(r"^[a-z\d-]{4,}", domain)]
    title = take_apart(item.title, posted=(day.year, day.month, day.day) if day else None, places=places)
    subject_issuer, subject = subject_of(title.reading) if title.reading else ("", title.body)
    return Identity(
        address=_MOBILE.sub("", url_key(_SESSION.sub("", item.url))),
        host=_MOBILE.sub("", host_of(item.url).removeprefix("www.")),
        domain=domain,
        day=day,
        title=title,
        number=_completed(document_number(item.document_number) or title.number, title, title.issuer or issuer),
        issuer=issuer,
        source=source,
        is_reading=title.reading is not None or item.type is ItemType.INTERPRETATION,
        subject=subject,
        subject_issuer=subject_issuer,
        text=_without_heading(comparable(text), title, core(folded(item.document_number or ""))),
    )


def days_between(one: Identity, other: Identity) -> int | None:
    """The days between two publications; None where one is not known."""
    return abs((one.day - other.day).days) if one.day and other.day else None


def have_one_unique_number(one: Identity, other: Identity) -> bool:
    """Whether both carry one number that no other office gives."""
    if not (one.number and other.number) or not same_number(one.number, other.number):
        return False
    if one.number.year:
        return one.number.is_unique and other.number.is_unique
    return one.number.is_unique or other.number.is_unique


def are_of_two_offices(one: Identity, other: Identity) -> bool:
    """Whether the items say that each is the work of an office of its own: in their titles, or as local offices."""
    a, b = one.title.issuer, other.title.issuer
    if a and b and not is_one_office(a, b):
        return True
    if a and b and not _NAMELESS.match(a):
        return False
    return bool(_LOCAL.search(one.issuer) and _LOCAL.search(other.issuer)) and not is_one_office(
        one.issuer, other.issuer
    )


def is_office_in_doubt(one: Identity, other: Identity) -> bool:
    """Whether equal titles may be the work of two offices, so that only text or number can tell.

    A province that reposts a ministry looks the same as one that writes under the same title; and where one title
    names a local office, a title that names none may be any other's.
    """
    a, b = one.title.issuer, other.title.issuer
    if days_between(one, other) != 0 and _are_sister_sites(one.host, other.host) and not (a and b):
        return True
    if a and b and (not _NAMELESS.match(a) or one.domain == other.domain):
        return False
    voices = _voice(one), _voice(other)
    if all(voices):
        return not is_one_office(*voices)
    places = [_PLACE.match(voice or item.source) for voice, item in zip(voices, (one, other), strict=True)]
    if places[0] and places[1]:
        return _are_two(places[0], places[1])
    if any(places) and any(voices) and not any(map(_PLACE.match, filter(None, voices))):
        return True
    shorter, longer = sorted((one.title.full, other.title.full), key=len)
    before = longer.removesuffix(shorter) if longer.endswith(shorter) else ""
    if any(_PLACE.fullmatch(item.title.aside) for item in (one, other)):
        return True
    return any(_LOCAL.search(office) for office in (one.title.issuer, other.title.issuer, before))


def is_one_office(a: str, b: str) -> bool:
    """Whether one name is short for the other (工信部, 工业和信息化部), or the first of several that issue jointly.

    A branch is an office of its own: 国家税务总局 is not 国家税务总局四川省税务局. The order of joint issuers is free.
    """
    shorter, longer = sorted((_JOINT.sub("", name) for name in (a, b)), key=len)
    is_branch = bool(shorter) and longer.startswith(shorter) and _BRANCH.search(longer.removeprefix(shorter))
    if is_branch:
        return False
    return is_short_for(shorter, longer) or sorted(shorter) == sorted(longer)


def _completed(number: DocNumber | None, title: Title, issuer: str) -> DocNumber | None:
    """A number that gives only year and serial is its issuer's, in the series that the title ends in."""
    if number and number.year and number.series in ("", "公告", "通告", "令") and is_office(issuer):
        form = next((form for form in ("公告", "通告") if title.full.endswith(form)), "")
        return replace(number, series=issuer + (number.series or form))
    return number


def _without_heading(text: str, title: Title, number: str) -> str:
    """The text without its own title and number at its head: one copier repeats them, another does not."""
    headings = sorted({title.full, title.issuer, title.body, number, "的通知", "的公告"} - {""}, key=len, reverse=True)
    while heading := next((heading for heading in headings if text.startswith(heading)), ""):
        text = text.removeprefix(heading)
    return text


def _voice(item: Identity) -> str:
    """Who says that he speaks: the office of the title, else that of the field."""
    if item.title.issuer and not _NAMELESS.match(item.title.issuer):
        return item.title.issuer
    return item.issuer if is_office(item.issuer) else ""


def _are_sister_sites(host: str, other: str) -> bool:
    """Whether two hosts are those of offices of one kind in two places: fgw.one.gov.cn, fgw.two.gov.cn."""
    label, _, rest = host.partition(".")
    other_label, _, other_rest = other.partition(".")
    return label == other_label and rest != other_rest and rest.count(".") >= 2 and other_rest.count(".") >= 2


def _are_two(place: re.Match[str], other: re.Match[str]) -> bool:
    """Whether two places are of two levels, or have two names; 省政府 may be any province's."""
    names = place["name"], other["name"]
    return place["level"] != other["level"] or (all(names) and names[0] != names[1])


def _domain(url: str) -> str:
    try:
        return registrable_host(url)
    except ValueError:
        return ""
