"""A regulation as its articles: 第七条, 第七条之一, Article 7, Section 4(b), § 3; chapters and annexes between them."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from monitor.evidence.paragraphs import Paragraph, key_of

_HAN = r"[零〇○一二三四五六七八九十百千两\d]{1,9}"
_HAN_ARTICLE = rf"第\s?{_HAN}\s?[条條](?:\s?(?:之|-)\s?{_HAN})?|제\s?\d{{1,4}}\s?조(?:의\s?\d{{1,3}})?"
_HAN_CHAPTER = rf"第\s?{_HAN}\s?(?:[章节節编編]|分编|部分)"
# What follows a number at once when a sentence speaks of the article, and does not begin it.
_HAN_REFERENCE = (
    r"规定|規定|至|、|和|及|或|与|與|第|款|项|項|的|所(?:列|称|稱|述|定|规)|中(?:的|所|规|有关|关于)|之|以[上下内外]|"
    r"에|의"
)
_LATIN_ARTICLE = (
    r"(?:Article|Section|Regulation|Rule|Clause|Artikel|Art\.|Sec\.)\s?\d{1,4}[A-Za-z]?(?:[.-]\d{1,4}[A-Za-z]?)*"
    r"(?:\([0-9A-Za-z]{1,4}\))*|§\s?\d{1,4}[a-z]?(?:\.\d{1,4})*(?:\([0-9A-Za-z]{1,4}\))*|"
    # British instruments: 2.—(1)
    r"\d{1,4}[A-Z]{0,2}(?=\.\s?[—–-]\s?\(1\))"
)
_LATIN_CHAPTER = r"(?:Chapter|Part|Title|Kapitel|Abschnitt|Teil)\s(?:\d{1,3}[A-Z]?|[IVXLC]{1,7})"
_LATIN_REFERENCE = (
    r"(?:of|and|or|to|does|shall|is|are|applies|apply|also|thereof|above|below|sets|says|provides|requires|Absatz|Abs\.|"
    r"Satz|und|bis|oder|gilt|der|des)\b"
)
_ANNEX = (
    r"(?:附件|附表|附录|附錄)\s?(?:\d{1,3}|[一二三四五六七八九十]{1,3})?|附则|附則|"
    r"(?:Annex|Appendix|Schedule|Anlage|Anhang)(?:\s(?:\d{1,3}|[IVXLC]{1,7}|[A-Z]))?"
)
_HEAD = re.compile(
    rf"\s*(?:(?P<article>(?:{_HAN_ARTICLE})(?!{_HAN_REFERENCE})"
    rf"|(?:{_LATIN_ARTICLE})(?![\w(])(?!,|\s+{_LATIN_REFERENCE}))"
    rf"|(?P<chapter>(?:{_HAN_CHAPTER}(?!{_HAN_REFERENCE})|{_LATIN_CHAPTER}(?!\w)(?!,|\s+{_LATIN_REFERENCE})))"
    rf"|(?P<annex>(?:{_ANNEX})(?=\s*(?:$|[:.\s-]))))"
)
# Within a paragraph an article begins after the end of a sentence, and a space follows its number.
_WITHIN = re.compile(rf"(?<=[。;:])\s*(?=(?:{_HAN_ARTICLE})\s)")
_IS_HAN = re.compile(r"[第제]")
_LONGEST_TITLE = 80
_MARK = re.compile(r"\s*\(([0-9]{1,3}|[a-z]{1,4}|[A-Z]{1,3})\)")


class Kind(StrEnum):
    TEXT = "text"
    CHAPTER = "chapter"
    ARTICLE = "article"
    ANNEX = "annex"


@dataclass(slots=True)
class Clause:
    """A part of a document under one number; without one, what stands before the first.

    The first of its `paragraphs` is what follows the number in its own line; it may be empty.
    """

    kind: Kind = Kind.TEXT
    number: str | None = None
    paragraphs: list[Paragraph] = field(default_factory=list)

    @property
    def key(self) -> str:
        """The words of the clause without its number, as they are compared."""
        return "".join(paragraph.key for paragraph in self.paragraphs)

    def number_at(self, places: Sequence[int]) -> str | None:
        """The clause's number, with the subdivision in which all these paragraphs stand: Section 4(b), § 3(2).

        Chinese articles are named without: their items are no articles.
        """
        if self.number is None or self.kind is not Kind.ARTICLE or _IS_HAN.match(self.number):
            return self.number
        marks = {_mark_at(self.paragraphs, place) for place in places}
        mark = marks.pop() if len(marks) == 1 else ""
        return f"{self.number}({mark})" if mark else self.number


def clauses(text: Sequence[Paragraph]) -> list[Clause]:
    """The document cut at its articles, chapters and annexes, in order; one without numbers is a single clause."""
    found = [Clause()]
    for paragraph in _cut(text):
        head = _head(paragraph)
        if head is None:
            found[-1].paragraphs.append(paragraph)
        else:
            found.append(head)
    return [one for one in found if one.paragraphs]


def _cut(text: Sequence[Paragraph]) -> Iterator[Paragraph]:
    """The paragraphs, those that hold several articles cut before each."""
    for paragraph in text:
        parts = _WITHIN.split(paragraph.text) if _WITHIN.search(paragraph.text) else [paragraph.text]
        yield from map(Paragraph.of, parts) if len(parts) > 1 else (paragraph,)


def _head(paragraph: Paragraph) -> Clause | None:
    folded = unicodedata.normalize("NFKC", paragraph.text)
    head = _HEAD.match(folded)
    if head is None:
        return None
    kind = Kind(head.lastgroup or Kind.ARTICLE)
    if kind is not Kind.ARTICLE and len(folded) > _LONGEST_TITLE:
        return None
    rest = folded[head.end() :].lstrip(" .:-—")
    return Clause(kind, _number(head[0]), [Paragraph(rest, key_of(rest))])


def _number(written: str) -> str:
    """A number as people write it: Chinese ones without spaces, others with one."""
    plain = " ".join(written.split()).rstrip(".")
    if plain[0] in "第제附":
        return plain.replace(" ", "")
    return re.sub(r"^(§|[^\W\d]+\.?)\s?(?=\d)", r"\1 ", plain)


def _mark_at(paragraphs: Sequence[Paragraph], place: int) -> str:
    """The mark of the subdivision, of the outermost sort, that holds a paragraph: b in (b); empty outside of any."""
    outermost, found = "", ""
    for paragraph in paragraphs[: place + 1]:
        mark = _MARK.match(paragraph.text)
        if mark is None:
            continue
        sort = "1" if mark[1].isdigit() else "a" if mark[1].islower() else "A"
        outermost = outermost or sort
        if sort == outermost:
            found = mark[1]
    return found
