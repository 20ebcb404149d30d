"""The rules by which English documents name others and say what they do to them."""

import re
from collections.abc import Iterator, Sequence

from monitor.document import Relation
from monitor.policies.document_text import DocumentText, Sentence
from monitor.policies.numbers import ENGLISH_NUMBER, normalize_number
from monitor.policies.relations import NamedDocument
from monitor.vocabulary import PolicyStage

_W = r"(?:[A-Z][A-Za-z0-9'’&/-]*|\([A-Z][A-Za-z0-9'’&,. -]{1,60}\))"
_FORM = r"(?:Act|Regulations?|Rules?|Order|Directive|Code(?:\sof\s(?:Conduct|Practice))?|Ordinance|Guidelines?|Circular|Standards?|Instrument|Statute|Law|Treaty|Scheme|Handbook|sourcebook|Manual|Regime|Framework|Statements?\sof\s[A-Z][A-Za-z\s]{3,60}|Policy\sStatement|Consultation\sPaper)"
_TITLE = re.compile(
    rf"\b(?P<title>{_W}(?:,?\s(?:{_W}|of|and|for|on|to|the|in|by|with|from|or|&)){{0,14}}?\s{_FORM}(?:\s(?:of\s)?(?:19|20)\d\d)?(?:\s(?:of|on|for)\s(?:the\s)?{_W}(?:\s{_W}){{0,5}})?)(?![A-Za-z])"
)


def find_english_named(document: DocumentText, start: int, end: int) -> list[NamedDocument]:
    text, original = document.folded[start:end], document.original[start:end]
    numbers = [found.span() for found in ENGLISH_NUMBER.finditer(text)]
    found: list[NamedDocument] = []
    for first, last in numbers:
        written = normalize_number(original[first:last], is_chinese=False)
        found.append(NamedDocument(None, written, start + first, start + last))
    for match in _TITLE.finditer(text):
        first, last = match.span("title")
        if any(low < last and first < high for low, high in numbers):
            continue
        title = re.sub(r"^(?:The|This|That|In|Under|A|An)\s", "", original[first:last])
        if len(title.split()) > 1:
            found.append(NamedDocument(" ".join(title.split()), None, start + first, start + last))
    return sorted(found, key=lambda named: named.start)


def iter_relations(document: DocumentText, sentences: Sequence[Sentence], stage: PolicyStage) -> Iterator[Relation]:
    return iter(())
