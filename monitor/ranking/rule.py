"""The order of importance by rule: in which tier of the seed (002, phase 3) a title stands, and of which type it is.

Within a tier the newer comes first.
"""

import datetime as dt
import re
from collections.abc import Sequence
from typing import Protocol

from pydantic import BaseModel

from monitor.domain.words import ItemType
from monitor.ranking.words import (
    LOCAL_ISSUER,
    NATIONAL_ISSUER,
    NATIONAL_NUMBER,
    NATIONAL_SUBJECT,
    PRESS_CONFERENCE,
    PROCEDURE,
    REGIME,
    ROUTINE,
    STATISTICS,
    SWEEPING_FORM,
    TYPE_RULES,
)


class Rankable(Protocol):
    """What the order is made from; an item has it."""

    @property
    def type(self) -> ItemType: ...

    @property
    def date(self) -> dt.date | None: ...

    @property
    def title(self) -> str: ...

    @property
    def summary(self) -> str: ...


class RankLine(BaseModel):
    """An item as far as ranking it needs it; `issuer` and `document_number` help the rule where they are known."""

    type: ItemType
    date: dt.date | None = None
    title: str
    summary: str = ""
    issuer: str | None = None
    document_number: str | None = None


def newest_first(lines: Sequence[Rankable]) -> list[int]:
    """The order when the model gave none: by date, the newest first, the undated last, else as they stood."""
    return sorted(range(len(lines)), key=lambda n: (*_age(lines[n].date), n))


def rule_order(lines: Sequence[Rankable]) -> list[int]:
    """The order without a model: tier, then the newest first, the undated last, else as they stood."""
    return sorted(range(len(lines)), key=lambda n: (tier_of(lines[n]), *_age(lines[n].date), n))


def tier_of(line: Rankable) -> int:
    """Which of the seed's five principles places an item, 1 the highest, judged by title, type and issuer.

    1 national plans, laws, major reforms; 2 policy, supervision and standards of an industry, and what explains them;
    3 statistics and reports; 4 local documents and notices of execution; 5 daily business, personnel, meetings, visits.
    Words of routine outweigh a high issuer, a local issuer outweighs a grand form.
    """
    title = line.title
    issuer = getattr(line, "issuer", None) or ""
    number = getattr(line, "document_number", None) or ""
    if PRESS_CONFERENCE.search(title):
        tier = 3 if STATISTICS.search(title) else 4
    elif line.type in (ItemType.PERSONNEL, ItemType.MEETING) or ROUTINE.search(title):
        tier = 5
    elif line.type is ItemType.DATA:
        tier = 3
    elif LOCAL_ISSUER.search(issuer) or (LOCAL_ISSUER.match(title) and not NATIONAL_ISSUER.search(issuer)):
        tier = 4
    else:
        tier = _tier_of_substance(line.type, title, issuer, number)
    return tier


def item_type_of(title: str, section: str = "") -> ItemType:
    """The type by the words of the title, and by the section's name where the title says nothing.

    The form that a document calls itself at the end of its title (…办法, …公告) outweighs words inside it; 关于…的通知
    about a plan is a notice, 《…办法》解读 an interpretation.
    """
    squeezed = re.sub(r"\s+", " ", title).strip()
    for text in (squeezed, section.strip()):
        for item_type, pattern in TYPE_RULES:
            if pattern.search(text):
                return item_type
    return ItemType.OTHER


def _tier_of_substance(item_type: ItemType, title: str, issuer: str, number: str) -> int:
    """The tier of what is neither routine nor data nor local: by its form, its reach and its type."""
    is_national = bool(NATIONAL_SUBJECT.search(title) or NATIONAL_ISSUER.search(f"{issuer} {title}"))
    if item_type in (ItemType.LAW, ItemType.PLAN, ItemType.POLICY):
        return 1 if SWEEPING_FORM.search(title) or is_national or NATIONAL_NUMBER.search(number) else 2
    if item_type in (ItemType.STANDARD, ItemType.INTERPRETATION):
        return 2
    if item_type in (ItemType.NOTICE, ItemType.ANNOUNCEMENT):
        if REGIME.search(title) and not PROCEDURE.search(title):
            return 2
        return 3 if STATISTICS.search(title) else 4
    return 3 if STATISTICS.search(title) or is_national else 4


def _age(date: dt.date | None) -> tuple[bool, int]:
    return (date is None, -date.toordinal() if date else 0)
