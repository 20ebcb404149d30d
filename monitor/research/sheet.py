"""A report as it grows: its Markdown, its outline and its sources, numbered in the order in which they are cited."""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from monitor.evidence.citing import with_citations
from monitor.research.shapes import OnToken, OutlineEntry

_PIECE = re.compile(r"\s*\S{1,8}|\s+")
_MOST_BULLETS = 3
_MARKUP = re.compile(r"<(?=[A-Za-z/!?])|(?<=\])\(|[`\\]")
_FULL_WIDTH = str.maketrans("<(\\#>|+*-.)[]", "＜（＼＃＞｜＋＊－．）［］", "`")
_BLOCK = re.compile(r"^(?:[#>|]|[+*-](?=\s)|(\d{1,3})([.)])(?=\s))")

OnSource = Callable[[int, int], Awaitable[None]]
"""Is told the number of a source and its note's place, just before the source is cited for the first time."""


@dataclass
class Section:
    """What stands below a heading of level 2."""

    heading: str
    notes: set[int] = field(default_factory=set)
    bullets: list[str] = field(default_factory=list)


class Sheet:
    """Writes what it is given, and tells each piece of it as it is written.

    A heading is written with the first thing that stands below it, so that none stands alone. The same sentence is
    written once. Notes are named by their numbers from 1, as they are cited in the outline.
    """

    def __init__(self, on_text: OnToken | None = None, on_source: OnSource | None = None) -> None:
        self._on_text = on_text
        self._on_source = on_source
        self._parts: list[str] = []
        self._waiting: dict[int, str] = {}
        self._sources: dict[int, int] = {}
        self._written: set[str] = set()
        self._mode = ""
        self._line: object = None
        self.sections: list[Section] = []

    @property
    def markdown(self) -> str:
        """All of it, to the letter as it was told."""
        return "".join(self._parts)

    @property
    def cited(self) -> list[int]:
        """The notes, from 1, in the order of their numbers as sources."""
        return list(self._sources)

    def outline(self) -> list[OutlineEntry]:
        """The headings, each with the first sentences below it."""
        return [
            OutlineEntry(heading=section.heading, bullets=section.bullets)
            for section in self.sections
            if section.bullets
        ]

    async def title(self, text: str) -> None:
        await self._say(f"# {disarmed(text)}")

    async def end(self) -> None:
        """The end of the last line."""
        await self._say("\n")

    def has(self, text: str) -> bool:
        return letters_alone(text) in self._written

    def heading(self, level: int, text: str) -> None:
        """A heading for what comes next; one of the same level for which nothing came is forgotten."""
        self._waiting = {one: words for one, words in self._waiting.items() if one < level}
        self._waiting[level] = text

    def forget_headings(self) -> None:
        """No heading waits any more: nothing is to stand below it."""
        self._waiting = {}

    async def quote(self, text: str) -> None:
        """A line that says how the report was made, or what is no finding; it may hold what `cite` gave."""
        await self._begin("quote")
        await self._say(f"> {text}")

    async def cite(self, numbers: Sequence[int]) -> str:
        """The numbers under which these notes stand among the sources, in brackets; from now on they do."""
        for number in numbers:
            if number not in self._sources:
                self._sources[number] = len(self._sources) + 1
                if self._on_source is not None:
                    await self._on_source(self._sources[number], number - 1)
        return "".join(f"[{number}]" for number in self._numbers(numbers))

    async def sentence(self, text: str, numbers: Sequence[int], *, line: object, is_item: bool = False) -> bool:
        """A sentence, in the same paragraph as the last one where `line` is the same; False where it stands already."""
        if self.has(text):
            return False
        self._written.add(letters_alone(text))
        mode, words = "item" if is_item else "paragraph", disarmed(text)
        if line == self._line and self._mode == mode and not self._waiting:
            before = " " if self._parts[-1][-1:].isascii() else ""
        else:
            await self._begin(mode)
            before, words = "- " if is_item else "", _BLOCK.sub(_guarded, words)
        self._line = line
        await self.cite(numbers)
        await self._say(before + with_citations(words, self._numbers(numbers)))
        self._note(text, numbers)
        return True

    async def row(self, head: Sequence[str], cells: Sequence[str], numbers: Sequence[int]) -> None:
        """A row of the table with this head, which is begun where the last thing written was no row of it."""
        if self._mode != f"table {head}" or self._waiting:
            await self._begin(f"table {head}")
            await self._say(f"{_row(head)}\n{_row(['---'] * len(head))}")
        fitting = [*cells, *[""] * len(head)][: len(head)]
        await self._say(f"\n{_row(fitting, await self.cite(numbers))}")
        self._note(" ".join(filter(None, fitting)), numbers)

    async def line(self, text: str) -> None:
        """A line of Markdown of our own, one below the other."""
        await self._begin("line")
        await self._say(text)

    async def _begin(self, mode: str) -> None:
        """Part what comes from what stands, and write the headings that waited for it."""
        for level, text in sorted(self._waiting.items()):
            await self._say(f"\n\n{'#' * level} {disarmed(text)}")
            if level == 2:
                self.sections.append(Section(text))
        is_next = mode in ("item", "line") and self._mode == mode and not self._waiting
        self._waiting, self._mode, self._line = {}, mode, None
        await self._say("\n" if is_next else "\n\n")

    def _numbers(self, numbers: Sequence[int]) -> list[int]:
        return sorted(self._sources[number] for number in numbers)

    def _note(self, text: str, numbers: Sequence[int]) -> None:
        if self.sections:
            self.sections[-1].notes.update(numbers)
            if len(self.sections[-1].bullets) < _MOST_BULLETS:
                self.sections[-1].bullets.append(text)

    async def _say(self, text: str) -> None:
        self._parts.append(text)
        if self._on_text is not None:
            for piece in _PIECE.findall(text):
                await self._on_text(piece)


def disarmed(text: str) -> str:
    """Words that Markdown takes for words: what would begin a tag, a link or code stands in its full width, or goes."""
    return _MARKUP.sub(lambda found: found[0].translate(_FULL_WIDTH), text)


def linkable(text: str) -> str:
    """The same for what a link says, which no bracket may end."""
    return disarmed(text).replace("[", "［").replace("]", "］")


def letters_alone(text: str) -> str:
    """A text without case, marks and spaces, to tell whether two say the same."""
    return "".join(char for char in text.casefold() if char.isalnum())


def _guarded(begins: re.Match[str]) -> str:
    """What would make a list, a quote or a heading of a sentence, in its full width."""
    return begins[1] + begins[2].translate(_FULL_WIDTH) if begins[1] else begins[0].translate(_FULL_WIDTH)


def _row(cells: Sequence[str], after: str = "") -> str:
    safe = [disarmed(cell).replace("|", "｜") for cell in cells]
    return f"| {' | '.join([*safe[:-1], safe[-1] + after])} |"
