"""Who is bound by a document, how papers are handed in, and which figures it changes."""

import re
from collections.abc import Iterator, Sequence

from monitor.document import FigureChange
from monitor.policies.document_text import DocumentText, Sentence

_MAX_BOUND, _MAX_FIGURES = 8, 20
_MAX_WORDS_CHARS = 120
_ADDRESS = re.compile(r"[A-Za-z0-9][\w.+-]{0,60}@[\w-]{1,60}(?:\.[\w-]{1,30}){1,5}|https?://[^\s，。；)>\"']{4,200}")
_HAND_IN = re.compile(
    r"意见|反馈|邮箱|邮件|报送|提交|申报|寄至|登录|\b(?:comments?|respon[ds]|submit|submissions?|e-?mail|send|feedback|apply|views)",
    re.IGNORECASE,
)
_BOUND = (
    re.compile(r"(?:本|该)[\u4e00-\u9fff]{1,8}?(?<!不)(?:适用于|适用对象为|的适用对象为)(?P<who>[^。；，]{2,80})"),
    re.compile(
        r"(?:^第[一二三四五六七八九十百]{1,4}条\s?)?(?P<who>[^。；，]{2,60})(?:，)?(?<!不)适用本(?:办法|规定|条例|细则|规则|通知|公告|标准|规范|指引)"
    ),
    re.compile(
        r"\b(?:[Tt]his|[Tt]hese|[Tt]he)\s(?:[A-Za-z]{3,14}\s){0,3}?(?:[Rr]ules?|[Nn]otice|[Gg]uidelines?|[Cc]ircular"
        r"|[Rr]egulations?"
        r"|[Ss]tandard|[Oo]rder|[Rr]equirements?|[Pp]olicy)\sappl(?:y|ies)\sto\s(?P<who>(?:all\s)?[^.;:]{4,110})"
    ),
)
_NO_BOUND = re.compile(r"\b(?:annual|period|financial\sstatements?)\b|年度|期间")
_NUMBER = (
    r"(?:[A-Z]{0,3}[$£€¥]\s?)?\d[\d,.]*(?:\s?(?:%|per\s?cent|million|billion|[A-Za-z]{1,12}|[\u4e00-\u9fff/%‰]{1,6}))?"
)
_FIGURE = (
    re.compile(
        r"(?:将|把)?(?P<subject>[^。；，“”]{0,40}?)(?:中的)?[“\"](?P<old>[^”\"]{1,60})[”\"](?:统一|均)?(?:修改|调整|改|更改)为"
        r"[“\"](?P<new>[^”\"]{1,60})[”\"]"
    ),
    re.compile(
        r"(?P<subject>[^。；，]{2,40}?)由(?:原来的|现行的?|目前的?)?(?P<old>\d[^，。；]{0,16}?)(?:统一)?"
        r"(?:调整|提高|降低|下调|上调|缩短|延长|增加|减少|修改|改|放宽|提升)(?:为|至|到)(?P<new>\d[^，。；]{0,16})"
    ),
    re.compile(
        rf"(?P<subject>[^.;]{{3,80}}?)\s(?:is|are|was|will\sbe|has\sbeen|be)?\s?(?:raised|lowered|increased|reduced"
        rf"|changed|cut)"
        rf"\sfrom\s(?P<old>{_NUMBER})\sto\s(?P<new>{_NUMBER})",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?P<subject>[^.;]{0,80}?)[“\"](?P<old>[^”\"]{1,60})[”\"]\s(?:is|are)\s(?:replaced|substituted)\s(?:with|by)\s"
        r"[“\"](?P<new>[^”\"]{1,60})[”\"]"
    ),
)


def find_submit_to(document: DocumentText, sentences: Sequence[Sentence]) -> str | None:
    """Return the address to which comments or applications go, the first one that stands beside such words."""
    for place, sentence in enumerate(sentences):
        if "@" not in sentence.text and "http" not in sentence.text:
            continue
        context = sentence.text + (sentences[place - 1].text if place else "")
        if _HAND_IN.search(context) and (found := _ADDRESS.search(sentence.text)):
            return document.quote(sentence.start + found.start(), sentence.start + found.end()).rstrip(".")
    return None


def find_bound(document: DocumentText, sentences: Sequence[Sentence]) -> list[str]:
    """Return those to whom a document says that it applies."""
    found: dict[str, None] = {}
    for sentence in sentences:
        for pattern in _BOUND:
            match = pattern.search(sentence.text)
            if match and not _NO_BOUND.search(match["who"]):
                who = document.quote(sentence.start + match.start("who"), sentence.start + match.end("who"))
                found.setdefault(who.strip("，, "), None)
    return list(found)[:_MAX_BOUND]


def find_figures(document: DocumentText, sentences: Sequence[Sentence]) -> list[FigureChange]:
    """Return the figures of which a document says what they were and what they become."""
    return [*_iter_figures(document, sentences)][:_MAX_FIGURES]


def _iter_figures(document: DocumentText, sentences: Sequence[Sentence]) -> Iterator[FigureChange]:
    for sentence in sentences:
        for pattern in _FIGURE:
            for match in pattern.finditer(sentence.text):
                if not re.search(r"\d", match["old"] + match["new"]):
                    continue
                parts = {
                    name: document.quote(sentence.start + match.start(name), sentence.start + match.end(name))
                    for name in ("subject", "old", "new")
                }
                subject = parts["subject"].strip("，,、： ")[:_MAX_WORDS_CHARS]
                passage = document.quote(sentence.start, sentence.end)
                yield FigureChange(subject=subject, old=parts["old"], new=parts["new"], passage=passage)
