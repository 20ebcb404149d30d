"""A report as it grows: its Markdown, its outline and its sources, numbered in the order in which they are cited."""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from monitor.llm.chat import OnToken
from monitor.research.shapes import OutlineEntry
from monitor.verify.citations import append_citations

_STREAM_CHUNK = re.compile(r"\s*\S{1,8}|\s+")
_MAX_BULLETS = 3
_MARKUP = re.compile(r"<(?=[A-Za-z/!?])|(?<=\])\(|[`\\]")
_FULL_WIDTH = str.maketrans("<(\\#>|+*-.)[]", "＜（＼＃＞｜＋＊－．）［］", "`")
_BLOCK_MARKER = re.compile(r"^(?:[#>|]|[+*-](?=\s)|(\d{1,3})([.)])(?=\s))")
SUMMARY_HEADING = re.compile(r"摘要|概要|概述|总结|小结|结论|要点|summary|overview|conclusion|findings", re.IGNORECASE)
"""A heading of a section that sums up the others, which may say the same as they do."""

OnSource = Callable[[int, int], Awaitable[None]]
"""Gets the number of a source and its note's place, just before the source is first cited."""


@dataclass
class ReportSection:
    """A section as it was written; `refers` where it names another one that has a sentence of its."""

    heading: str
    refers: bool = False
    note_numbers: set[int] = field(default_factory=set)
    bullets: list[str] = field(default_factory=list)

    @property
    def has_findings(self) -> bool:
        return bool(self.note_numbers) or self.refers


@dataclass
class ReportWriter:
    """Writes Markdown, and streams each piece as it is written.

    A heading is written with the first thing below it, so that none stands alone. The same sentence is written once:
    a section that says it again refers to the first (`reference`, with `{title}`), but for sections that sum up.
    Notes are named by their numbers from 1, as they are cited in the outline.
    """

    on_text: OnToken | None = None
    on_source: OnSource | None = None
    reference: str = "{title}"
    sections: list[ReportSection] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    _chunks: list[str] = field(default_factory=list)
    _pending_headings: dict[int, str] = field(default_factory=dict)
    _sources: dict[int, int] = field(default_factory=dict)
    _written: dict[str, str] = field(default_factory=dict)
    _referred: set[tuple[str, str]] = field(default_factory=set)
    _block_kind: str = ""
    _line: object = None

    @property
    def markdown(self) -> str:
        return "".join(self._chunks)

    @property
    def cited_notes(self) -> list[int]:
        """Return the notes, from 1, in the order of their numbers as sources."""
        return list(self._sources)

    def build_outline(self) -> list[OutlineEntry]:
        filled = [section for section in self.sections if section.bullets]
        return [OutlineEntry(heading=section.heading, bullets=section.bullets) for section in filled]

    async def write_title(self, text: str) -> None:
        await self._emit(f"# {escape_markdown(text)}")

    async def close(self) -> None:
        await self._emit("\n")

    def has_sentence(self, text: str) -> bool:
        return normalize_letters(text) in self._written

    @property
    def section(self) -> str:
        """Return the heading of the section that comes next, or is being written."""
        return self._pending_headings.get(2) or (self.sections[-1].heading if self.sections else "")

    def queue_heading(self, level: int, text: str) -> None:
        """Put a heading before what comes next; it replaces queued ones of its level and below."""
        higher = {queued: words for queued, words in self._pending_headings.items() if queued < level}
        self._pending_headings = {**higher, level: text}

    def discard_headings(self) -> None:
        self._pending_headings = {}

    async def write_blockquote(self, text: str) -> None:
        """Write a line that says how the report was made, or what is no finding; it may contain citations."""
        await self._start_block("quote")
        await self._emit(f"> {text}")

    async def cite(self, numbers: Sequence[int]) -> str:
        """Make these notes sources, and return their numbers as such in brackets."""
        for number in numbers:
            if number not in self._sources:
                self._sources[number] = len(self._sources) + 1
                if self.on_source is not None:
                    await self.on_source(self._sources[number], number - 1)
        return "".join(f"[{number}]" for number in self.list_source_numbers(numbers))

    async def write_sentence(
        self, text: str, numbers: Sequence[int], *, line: object, is_item: bool = False, mark: str = ""
    ) -> bool:
        """Write a sentence, in the last one's paragraph if `line` is the same; return False for a repeated one.

        `mark` stands behind its citations.
        """
        if not await self._claim_sentence(text, numbers):
            return False
        mode, words = "item" if is_item else "paragraph", escape_markdown(text)
        if line == self._line and self._block_kind == mode and not self._pending_headings:
            before = " " if self._chunks[-1][-1:].isascii() else ""
        else:
            await self._start_block(mode)
            before, words = "- " if is_item else "", _BLOCK_MARKER.sub(_escape_block_marker, words)
        self._line = line
        await self.cite(numbers)
        await self._emit(before + append_mark(append_citations(words, self.list_source_numbers(numbers)), mark))
        self._add_to_outline(text, numbers)
        return True

    async def _claim_sentence(self, text: str, numbers: Sequence[int]) -> bool:
        """Return whether a sentence is to be written here; where another section has it, refer to that one."""
        letters, here = normalize_letters(text), self.section
        said_in = self._written.get(letters)
        if said_in is None or (said_in != here and SUMMARY_HEADING.search(said_in)):
            self._written[letters] = here
            return True
        if said_in == here or not said_in:
            return False
        if SUMMARY_HEADING.search(here):
            return True
        if (here, said_in) not in self._referred:
            self._referred.add((here, said_in))
            reference = self.reference.format(title=escape_markdown(said_in))
            await self.cite(numbers)
            await self.write_blockquote(append_citations(reference, self.list_source_numbers(numbers)))
            if self.sections:
                self.sections[-1].refers = True
        return False

    async def write_row(
        self, header: Sequence[str], cells: Sequence[str], numbers: Sequence[int], *, mark: str = ""
    ) -> None:
        """Write a row of the table with this header, which is begun where the last thing written was no row of it."""
        if self._block_kind != f"table {header}" or self._pending_headings:
            await self._start_block(f"table {header}")
            await self._emit(f"{_format_row(header)}\n{_format_row(['---'] * len(header))}")
        fitting = [*cells, *[""] * len(header)][: len(header)]
        await self._emit(f"\n{_format_row(fitting, mark + await self.cite(numbers))}")
        self._add_to_outline(" ".join(filter(None, fitting)), numbers)

    async def write_line(self, text: str) -> None:
        """Write a line of our own Markdown, directly below the last one."""
        await self._start_block("line")
        await self._emit(text)

    async def _start_block(self, block_kind: str) -> None:
        for level, text in sorted(self._pending_headings.items()):
            await self._emit(f"\n\n{'#' * level} {escape_markdown(text)}")
            self.headings.append(text)
            if level == 2:
                self.sections.append(ReportSection(text))
        is_next = block_kind in ("item", "line") and self._block_kind == block_kind and not self._pending_headings
        self._pending_headings, self._block_kind, self._line = {}, block_kind, None
        await self._emit("\n" if is_next else "\n\n")

    def list_notes(self, sources: Sequence[int]) -> list[int]:
        """Return the notes, from 1, that are these sources."""
        notes = self.cited_notes
        return [notes[number - 1] for number in sources]

    def list_source_numbers(self, numbers: Sequence[int]) -> list[int]:
        return sorted(self._sources[number] for number in numbers)

    def _add_to_outline(self, text: str, numbers: Sequence[int]) -> None:
        if self.sections:
            self.sections[-1].note_numbers.update(numbers)
            if len(self.sections[-1].bullets) < _MAX_BULLETS:
                self.sections[-1].bullets.append(text)

    async def _emit(self, text: str) -> None:
        self._chunks.append(text)
        if self.on_text is not None:
            for piece in _STREAM_CHUNK.findall(text):
                await self.on_text(piece)


def escape_markdown(text: str) -> str:
    """Escape text for Markdown: what would begin a tag, a link or code becomes a full-width character."""
    return _MARKUP.sub(lambda found: found[0].translate(_FULL_WIDTH), text)


def escape_link_text(text: str) -> str:
    """Escape the text of a link, which no bracket may end."""
    return escape_markdown(text).replace("[", "［").replace("]", "］")


def normalize_letters(text: str) -> str:
    """Return a text without case, marks and spaces, to compare it with another."""
    return "".join(char for char in text.casefold() if char.isalnum())


def append_mark(cited: str, mark: str) -> str:
    end = cited.rfind("]") + 1
    return cited[:end] + mark + cited[end:]


def _escape_block_marker(match: re.Match[str]) -> str:
    return match[1] + match[2].translate(_FULL_WIDTH) if match[1] else match[0].translate(_FULL_WIDTH)


def _format_row(cells: Sequence[str], suffix: str = "") -> str:
    safe = [escape_markdown(cell).replace("|", "｜") for cell in cells]
    return f"| {' | '.join([*safe[:-1], safe[-1] + suffix])} |"
