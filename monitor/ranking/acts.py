"""What a document does, by the words of its title: make a rule, ask for comments, fine one firm, buy computers.

The rules are those of classes of documents, not of single regulators, and are tried in an order that goes from what a
title says unmistakably to what it says by its form alone. Titles in traditional characters are read as simplified ones.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property


class Act(StrEnum):
    """What a document does, the weightiest first."""

    LAW = "law"
    NATIONAL_PLAN = "national_plan"
    RULE = "rule"
    TERMS = "terms"
    DRAFT_LAW = "draft_law"
    BINDING_STANDARD = "binding_standard"
    CONSULTATION = "consultation"
    SUPERVISION = "supervision"
    EXTENSION = "extension"
    DRAFT_STANDARD = "draft_standard"
    POLICY = "policy"
    MAJOR_CASE = "major_case"
    APPLICATION = "application"
    STANDARD = "standard"
    REPEAL = "repeal"
    GUIDANCE = "guidance"
    INTERPRETATION = "interpretation"
    EXECUTION = "execution"
    DATA = "data"
    CORRECTION = "correction"
    REPORT = "report"
    LIST = "list"
    PRODUCT_RULE = "product_rule"
    RECALL = "recall"
    APPROVAL = "approval"
    PENALTY = "penalty"
    FILING = "filing"
    WARNING = "warning"
    UNCLEAR = "unclear"
    MEETING = "meeting"
    VISIT = "visit"
    CAMPAIGN = "campaign"
    PERSONNEL = "personnel"
    PROCUREMENT = "procurement"
    BULLETIN = "bulletin"


@dataclass(frozen=True)
class ActWeight:
    """The points of an act, 0 to 100, before anything else is known, and the tier of the seed in which it stands."""

    points: int
    tier: int


WEIGHTS: Mapping[Act, ActWeight] = {
    Act.LAW: ActWeight(96, 1),
    Act.NATIONAL_PLAN: ActWeight(94, 1),
    Act.RULE: ActWeight(88, 2),
    Act.TERMS: ActWeight(83, 2),
    Act.DRAFT_LAW: ActWeight(86, 1),
    Act.BINDING_STANDARD: ActWeight(88, 2),
    Act.CONSULTATION: ActWeight(81, 2),
    Act.SUPERVISION: ActWeight(75, 2),
    Act.EXTENSION: ActWeight(72, 2),
    Act.DRAFT_STANDARD: ActWeight(70, 2),
    Act.POLICY: ActWeight(67, 2),
    Act.MAJOR_CASE: ActWeight(64, 2),
    Act.APPLICATION: ActWeight(61, 4),
    Act.STANDARD: ActWeight(61, 2),
    Act.REPEAL: ActWeight(60, 2),
    Act.GUIDANCE: ActWeight(60, 2),
    Act.INTERPRETATION: ActWeight(53, 2),
    Act.EXECUTION: ActWeight(50, 4),
    Act.DATA: ActWeight(43, 3),
    Act.CORRECTION: ActWeight(42, 2),
    Act.REPORT: ActWeight(41, 3),
    Act.LIST: ActWeight(37, 4),
    Act.PRODUCT_RULE: ActWeight(36, 4),
    Act.RECALL: ActWeight(34, 4),
    Act.APPROVAL: ActWeight(29, 4),
    Act.PENALTY: ActWeight(28, 4),
    Act.FILING: ActWeight(23, 4),
    Act.WARNING: ActWeight(20, 5),
    Act.UNCLEAR: ActWeight(22, 5),
    Act.MEETING: ActWeight(16, 5),
    Act.VISIT: ActWeight(12, 5),
    Act.CAMPAIGN: ActWeight(11, 5),
    Act.PERSONNEL: ActWeight(6, 5),
    Act.PROCUREMENT: ActWeight(4, 5),
    Act.BULLETIN: ActWeight(4, 5),
}
"""The scale: fitted on titles that were labelled for the purpose (docs/decisions/0073-ranking.md)."""


@dataclass(frozen=True)
class ActRule:
    """Titles with such Chinese or English words are of this act, unless they also match `unless`."""

    act: Act
    zh: str = ""
    en: str = ""
    unless: str = field(default="", kw_only=True)

    def matches(self, title: str, *, has_chinese: bool, has_latin: bool) -> bool:
        """Whether a title is of this act; what it does not hold is not looked for."""
        zh, en, unless = self._patterns
        is_named = bool(has_chinese and zh and zh.search(title)) or bool(has_latin and en and en.search(title))
        return is_named and not (unless and unless.search(title))

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str] | None, ...]:
        """The words, compiled when the first title is read: all rules take a third of a second."""
        words = (self.zh, self.en and rf"\b(?:{self.en})", self.unless)
        return tuple(re.compile(pattern, re.IGNORECASE) if pattern else None for pattern in words)


FORM = r"(?:条例|办法|规定|规例|细则|规则|准则|守则|通则|章程|基准|程序|制度|规程|规范|标准|指引|指南)"
BINDING_FORM = r"(?:条例|办法|规定|规例|细则|规则|准则|守则|通则|章程|基准|程序|制度)"
TAIL = (
    r"[）)》”」』\s]*(?:[（(〔\[][^（）()]{0,40}[）)〕\]]|(?:19|20)\d\d年?(?:版|第?\d+号)?|修订版?|试行|暂行|第.{1,4}号|[:：、—-])*"
    r"[）)》\s]*"
)
OF_A_FORM = (
    rf"{FORM}{TAIL}(?:等\d*[件项份]?\w{{0,8}})?(?:的(?:通知|公告|通告|函|决定|命令|令))?{TAIL}$|{FORM}{TAIL}[》」]"
    r"|\b(?:final|proposed|adopt(?:s|ed) (?:new |amended )?) ?rules?\b"
)
"""A title that ends in a form of rules is none of what its words are about: 政府采购管理办法 buys nothing."""

DRAFT = r"意见稿|征求意见|draft|propos|consult|final rule"
"""A title with such words asks for or proposes what it names, or says outright that it is a rule."""
