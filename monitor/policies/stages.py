"""Tells what a document is and where it stands in the life of its policy, by its title, its head and its forms."""

import re
from dataclasses import dataclass

from monitor.policies.chinese_stages import CHINESE_ASKS, read_chinese_stage
from monitor.policies.document_text import DocumentText
from monitor.policies.english_stages import ENGLISH_ASKS, read_english_stage
from monitor.vocabulary import DocumentKind, PolicyStage

_ASKING_CHARS = 6_000


@dataclass(frozen=True, slots=True)
class Classification:
    """The kind and stage of a document."""

    kind: DocumentKind
    stage: PolicyStage | None


def _compile(words: str, flags: int = 0) -> re.Pattern[str]:
    return re.compile(words, flags)


_I = re.IGNORECASE
_KIND_BY_STAGE = {
    PolicyStage.CONSULTATION: DocumentKind.CONSULTATION,
    PolicyStage.ENFORCEMENT: DocumentKind.ENFORCEMENT,
    PolicyStage.INTERPRETATION: DocumentKind.INTERPRETATION,
    PolicyStage.QA: DocumentKind.INTERPRETATION,
}
_PERSONNEL = _compile(
    r"任免|任命|任职|免去|拟任|招聘|录用|人事|\bappoint(?:s|ed|ment|ments)?\b|\bnominat|\bnamed as\b"
    r"|\bnew (?:chair|chief|head|director|commissioner)|\bsteps? down\b|\bretires?\b|\bjoins\b",
    _I,
)
_MEETING = _compile(
    r"召开|举行|举办|会见|会谈|会议|论坛|座谈|讲话|致辞|演讲|出席|调研|\bspeech\b|\bremarks\b|\bmeeting\b|\bconference\b|\bforum\b"
    r"|\bsummit\b|\bkeynote\b|\bhearing\b|\bmeets?\b",
    _I,
)
_DATA = _compile(
    r"统计|数据(?!安全|中心|要素|条例|管理|共享|出境)|运行情况|同比|环比|月报|季报|指数|交易情况|增长\d|公报|\bstatistics\b|\bstatistical\b|\bindex\b"
    r"|\bquarterly\b|\bmonthly\b|\bfigures\b|\bsurvey results|\bper ?cent\b|\bin (?:Q[1-4]|the (?:first|second"
    r"|third|fourth) quarter)",
    _I,
)
_STANDARD = _compile(
    r"标准(?!化|制修订)|技术规范|规程|GB(?:/T|Z)?\s?\d|(?<![A-Za-z])[A-Z]{2,4}/T\s?\d|\bstandard\b|\b(?:ISO|IEC|EN|BS|AS"
    r"|CSA)(?:/[A-Z]+)? \d{3,}"
)


def classify_document_text(document: DocumentText) -> Classification:
    """Return kind and stage of a document; the stage is None for news, meetings, personnel and data."""
    stage = read_chinese_stage(document) if document.is_chinese else read_english_stage(document)
    return Classification(_read_kind(document.title, stage), stage)


def asks_for_comments(document: DocumentText) -> bool:
    """Whether a document is out for comment, whatever its title says."""
    asks = CHINESE_ASKS if document.is_chinese else ENGLISH_ASKS
    return bool(asks.search(document.folded, 0, _ASKING_CHARS))


def _read_kind(title: str, stage: PolicyStage | None) -> DocumentKind:
    if stage in _KIND_BY_STAGE:
        return _KIND_BY_STAGE[stage]
    if stage is None:
        for kind, words in (
            (DocumentKind.PERSONNEL, _PERSONNEL),
            (DocumentKind.STATISTICS, _DATA),
            (DocumentKind.MEETING, _MEETING),
        ):
            if words.search(title):
                return kind
    return DocumentKind.STANDARD if _STANDARD.search(title) else DocumentKind.POLICY
