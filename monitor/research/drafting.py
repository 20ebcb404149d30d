"""What a model writes as a report, cut while it comes into the pieces that can be judged: headings, sentences, rows.

A sentence is a piece as soon as it is certain that it has ended: its citation may stand behind its full stop. Thoughts,
code fences, rules and list marks are left out; a report that comes as a text inside JSON is taken out of it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from monitor.domain.prompts import as_material
from monitor.evidence.citing import CITATION, Cited, cited_sentences
from monitor.llm.answers import plain_text

_TAG = re.compile(r"<(/?)(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_LONGEST_TAG = len("</reasoning>")
_LONGEST_LINE = 8000
_FENCE = re.compile(r"\s*(?:```|~~~)[\w-]*\s*")
_RULE = re.compile(r"\s*(?:[-*_]\s*){3,}")
_HEADING = re.compile(r"\s*(#{2,6}(?=\s*)|#(?=\s))\s*(.*?)\s*#*\s*")
_BOLD_LINE = re.compile(r"\s*(?:\*\*|__)([^*_]{1,80}?)[:：]?(?:\*\*|__)[:：]?\s*")
_ITEM = re.compile(r"\s*(?:[-*•·]|\d{1,2}[.、)）])\s+")
_SEPARATOR = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*")
_QUOTE_MARK = re.compile(r"^\s*>\s?")
_WAITING = ("#", "|", "`", "~", "*", "_", "<", "{")
_STOP = re.compile(r"[。！？!?.]")
_OPENING = ("[", "［", "【")


@dataclass(frozen=True)
class Heading:
    """A heading as it was written, of level 1 to 3."""

    level: int
    text: str


@dataclass(frozen=True)
class Sentence:
    """A sentence with what it cites; `line` tells the answer's lines apart, each of which is a paragraph or an item."""

    cited: Cited
    line: int
    is_item: bool = False


@dataclass(frozen=True)
class Row:
    """A row of a table, the first of which is its head."""

    cells: tuple[str, ...]
    cited: Cited
    is_head: bool = False


@dataclass(frozen=True)
class BlockEnd:
    """Paragraph, list or table is over."""


Piece = Heading | Sentence | Row | BlockEnd


@dataclass
class _Line:
    number: int
    text: str = ""
    given: int = 0
    stops: int = 0


class Drafting:
    """Takes an answer piece by piece as it comes; `count` is the number of notes that there are to cite."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._thoughts = _Thoughts()
        self._line = _Line(0)
        self._kind: Literal["", "prose", "table"] = ""
        self._object = ""
        self._is_fresh = True

    def take(self, text: str) -> list[Piece]:
        """The pieces that this text completes."""
        return list(self._taken(self._thoughts.without(text)))

    def end(self) -> list[Piece]:
        """The pieces that are left when the answer is over."""
        pieces = [*self._taken(self._thoughts.rest()), *self._finished(), *self._block_ended()]
        if not self._object:
            return pieces
        inner = Drafting(self._count)
        text = plain_text(self._object)
        return [*inner.take("" if text.startswith("{") else text), *inner.end()]

    def _taken(self, text: str) -> Iterator[Piece]:
        first, *others = text.split("\n")
        self._line.text += first
        for other in others:
            yield from self._finished()
            self._line = _Line(self._line.number + 1, other)
        if len(self._line.text) > _LONGEST_LINE and not self._is_wrapped(self._line.text):
            yield from self._finished()
            self._line = _Line(self._line.number + 1)
        yield from self._sentences(is_whole=False)

    def _finished(self) -> Iterator[Piece]:
        """What a line holds that is whole."""
        text = self._line.text
        if self._is_wrapped(text):
            self._object += f"{text}\n"
        elif not text.strip():
            yield from self._block_ended()
        elif _FENCE.fullmatch(text) or _RULE.fullmatch(text):
            pass
        elif heading := _HEADING.fullmatch(text) or _BOLD_LINE.fullmatch(text):
            yield from self._block_ended()
            level = min(len(heading[1]), 3) if len(heading.groups()) > 1 else 3
            self._is_fresh = False
            yield Heading(level, _bare(heading[heading.lastindex or 1]))
        elif text.lstrip().startswith("|"):
            yield from self._row(text)
        else:
            yield from self._sentences(is_whole=True)

    def _sentences(self, *, is_whole: bool) -> Iterator[Piece]:
        """The sentences of the line that are certain to have ended, those that were given before left out."""
        text = _QUOTE_MARK.sub("", self._line.text)
        stops = len(_STOP.findall(text))
        if not text.strip() or (not is_whole and (text.lstrip().startswith(_WAITING) or stops == self._line.stops)):
            return
        found = cited_sentences(text, self._count)
        if not is_whole:
            begins_with_citation = bool(found) and found[-1].text.startswith(_OPENING)
            uncertain = 2 if begins_with_citation else 1
            found = found[: len(found) - uncertain] if len(found) > uncertain else []
            if text[-1].isalnum() and not begins_with_citation:
                self._line.stops = stops  # what comes next can change nothing about these
        is_item = _ITEM.match(text) is not None
        for cited in found[self._line.given :]:
            if self._kind == "table":
                yield from self._block_ended()
            self._kind = "prose"
            self._line.given += 1
            self._is_fresh = False
            yield Sentence(cited, self._line.number, is_item)

    def _row(self, text: str) -> Iterator[Piece]:
        if _SEPARATOR.fullmatch(text):
            return
        is_head = self._kind != "table"
        if is_head:
            yield from self._block_ended()
        self._kind = "table"
        cells = tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", text.strip().strip("|")))
        numbers = (int(one) for found in CITATION.findall(text) for one in re.findall(r"\d+", found))
        cited = tuple(dict.fromkeys(number for number in numbers if 1 <= number <= self._count))
        bare = tuple(_bare(cell) for cell in cells)
        yield Row(bare, Cited(" ".join(filter(None, bare)), cited), is_head)

    def _is_wrapped(self, text: str) -> bool:
        """Whether a line belongs to an object that the answer begins with."""
        return bool(self._object) or (self._is_fresh and text.lstrip().startswith("{"))

    def _block_ended(self) -> Iterator[Piece]:
        if self._kind:
            self._kind = ""
            yield BlockEnd()


@dataclass
class _Thoughts:
    """Leaves out what a model thinks aloud between tags, wherever the pieces are cut."""

    _held: str = ""
    _is_thinking: bool = False
    _kept: list[str] = field(default_factory=list)

    def without(self, text: str) -> str:
        """The text that is no thought, as far as that is certain. A closing tag alone ends the line."""
        self._held += text
        while tag := _TAG.search(self._held):
            self._keep(self._held[: tag.start()])
            self._keep("\n" if tag[1] and not self._is_thinking else "")
            self._is_thinking = not tag[1]
            self._held = self._held[tag.end() :]
        opening = self._held.rfind("<", -_LONGEST_TAG)
        certain = len(self._held) if opening < 0 or ">" in self._held[opening:] else opening
        self._keep(self._held[:certain])
        self._held = self._held[certain:]
        kept, self._kept = "".join(self._kept), []
        return kept

    def rest(self) -> str:
        """What was held back because a tag might have begun there."""
        return "" if self._is_thinking else self._held

    def _keep(self, text: str) -> None:
        if not self._is_thinking:
            self._kept.append(text)


def _bare(text: str) -> str:
    """The words of a heading or a cell: without citations and emphasis."""
    return as_material(re.sub(r"\*\*|__|`", "", CITATION.sub("", text))).replace("\\|", "|")
