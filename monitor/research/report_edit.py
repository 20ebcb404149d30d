"""A report's text by an editor's hand, kept apart from the verified one: each passage of theirs carries a mark.

A passage is a heading, a sentence with its citations, or a row of a table.
"""

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from monitor.clock import format_with_offset
from monitor.errors import UsageError
from monitor.exports.document import normalize_line
from monitor.extract.sentences import split_sentences
from monitor.i18n.catalogue import LANGUAGES, get_word, get_words
from monitor.research.appendix import APPENDIX_WORDS
from monitor.research.shapes import ResearchReport
from monitor.verify.statements import EDITOR_MARK

MAX_REPORT_CHARS = 300_000
MAX_TITLE_CHARS = 300
_HEADING = re.compile(r"(#{1,6})\s*(.*)")
_POINT = re.compile(r"[-*+•]\s+")
_PREFIX = re.compile(r"#+ |- |> ")
_RULE_CELL = re.compile(r":?-+:?")
_CITATIONS = re.compile(r"\s*(?:\[\d{1,4}\])+")
_SECTION_START = re.compile(r"^(?=## )", re.MULTILINE)


@dataclass(frozen=True)
class ReportText:
    """A report's title, and its body in Markdown without the list of its sources."""

    title: str
    body: str

    @property
    def markdown(self) -> str:
        return f"# {self.title}\n\n{self.body}"


@dataclass(frozen=True)
class EditorVersion:
    """A version of a report's text: who made it, and when."""

    version: int
    by: str
    at: dt.datetime

    def __str__(self) -> str:
        return f"{self.by}, {format_with_offset(self.at)}"


@dataclass(frozen=True)
class EditedReport:
    """What an editor made of a verified text; `own` maps each passage of an editor's to the version that first had it.

    `versions` are all that there are, oldest first; the last one is shown.
    """

    text: ReportText
    verified: ReportText
    own: Mapping[str, int]
    versions: Sequence[EditorVersion]

    @property
    def last(self) -> EditorVersion:
        return self.versions[-1]

    @property
    def marked(self) -> ReportText:
        """The text with a mark behind each passage that is an editor's."""
        marks, lines = self._find_marks(), self.text.body.splitlines()
        title = normalize_line(self.text.title)
        return ReportText(title + marks.get(title, ""), "\n".join(_mark_line(line, marks) for line in lines))

    def replace_in(self, report: ResearchReport, language: str) -> ResearchReport:
        """Return the report with this text, which begins with what a reader is told about it."""
        marked = self.marked
        text = ReportText(marked.title, f"> {' '.join(self.describe(language))}\n\n{marked.body}")
        return report.model_copy(update={"markdown": text.markdown})

    @property
    def left_out(self) -> int:
        """How many passages of the verified text are gone."""
        return len(list_passages(self.verified) - list_passages(self.text))

    def describe(self, language: str) -> list[str]:
        """Return what a reader is told before the text: who edited it, what the marks mean, and what is left out."""
        words = get_words(language, "report_edit")
        said = [words["edited"].format(editor=self.last)]
        if names := self._list_writers():
            marks = "; ".join(f"{mark} {version}" for mark, version in names.items())
            said.append(words["marks"].format(marks=marks))
        if left_out := self.left_out:
            said.append(words["left_out"].format(count=left_out))
        return [*said, words["verified"]]

    def _list_writers(self) -> dict[str, EditorVersion]:
        """Return the editors of passages that are still there by their marks, each with the last time."""
        written = {self.own[passage] for passage in list_passages(self.text) if passage in self.own}
        last = {version.by: version for version in self.versions if version.version in written}
        numbers = [""] if len(last) == 1 else [str(number) for number in range(1, len(last) + 1)]
        return {f"{EDITOR_MARK}{number}": version for number, version in zip(numbers, last.values(), strict=True)}

    def _find_marks(self) -> dict[str, str]:
        by_name = {version.by: mark for mark, version in self._list_writers().items()}
        names = {version.version: version.by for version in self.versions}
        return {passage: by_name.get(names[version], "") for passage, version in self.own.items() if version in names}


def split_report(markdown: str) -> ReportText:
    """Return a verified report without its sources: they are listed apart."""
    lines = markdown.splitlines()
    headings = list_source_headings()
    end = next((place for place, line in enumerate(lines) if line in headings), len(lines))
    title = lines[0].removeprefix("# ") if lines else ""
    return ReportText(title, "\n".join(lines[1:end]).strip())


def list_source_headings() -> list[str]:
    """Return the headings of a report's sources in every language."""
    return [f"## {get_word(language, APPENDIX_WORDS, 'sources')}" for language in LANGUAGES]


def normalize_report(text: ReportText) -> ReportText:
    """Return a text in the form of one that was typed, so that the two can be compared."""
    return ReportText(normalize_line(text.title), normalize_body(text.body))


def parse_edited(markdown: str) -> ReportText:
    """Return what was written in the form that a report's blocks are parsed from; `UsageError` without a title.

    Headings, lists, tables and citations keep their meaning; all else is text.
    """
    if len(markdown) > MAX_REPORT_CHARS:
        raise UsageError("research.text_too_long", limit=MAX_REPORT_CHARS)
    lines = [line for line in map(normalize_line, markdown.splitlines()) if line]
    title = lines[0].removeprefix("#").strip() if lines and lines[0].startswith("# ") else ""
    if not 0 < len(title) <= MAX_TITLE_CHARS or len(lines) < 2:
        raise UsageError("research.text_without_title", limit=MAX_TITLE_CHARS)
    return ReportText(title, normalize_body("\n".join(lines[1:])))


def normalize_body(markdown: str) -> str:
    lines: list[str] = []
    columns = 0
    before = ""
    for line in filter(None, map(normalize_line, markdown.splitlines())):
        kind = "table" if line.startswith("|") else "point" if _POINT.match(line) else "line"
        if kind == "table":
            row, columns = _normalize_row(line, columns if before == "table" else 0)
            if not row:
                continue
            lines += [""] * (before != "table") + [row]
            lines += [f"|{' --- |' * columns}"] * (before != "table")
        elif heading := _HEADING.fullmatch(line):
            is_third = len(heading[1]) > 2 or f"## {heading[2]}" in list_source_headings()  # the sources end a report
            lines += ["", f"{'###' if is_third else '##'} {heading[2]}"] if heading[2] else []
        else:
            lines += [""] * (kind == "line" or before != kind) + [_POINT.sub("- ", line, count=1)]
        before = kind
    return "\n".join(lines).strip()


def _normalize_row(line: str, columns: int) -> tuple[str, int]:
    """Return a row with as many cells as the table has, and their number; empty for the rule below a header."""
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    if all(_RULE_CELL.fullmatch(cell) for cell in cells):
        return "", columns
    columns = columns or len(cells)
    cells += [""] * (columns - len(cells))
    cells = [*cells[: columns - 1], " ".join(cells[columns - 1 :])]
    return f"| {' | '.join(cells)} |", columns


def split_sections(body: str) -> list[str]:
    """Return the sections of a body, each with its heading; what stands before the first heading is one too."""
    return [section.strip() for section in _SECTION_START.split(body) if section.strip()]


def list_passages(text: ReportText) -> set[str]:
    lines = [f"## {text.title}", *text.body.splitlines()]
    return {passage for line in lines for passage in _split_line(line)}


def find_own_passages(
    text: ReportText, verified: ReportText, *, known: Mapping[str, int], version: int
) -> dict[str, int]:
    """Return the passages that the verified text does not have, with the version that first had each of them."""
    own = list_passages(text) - list_passages(verified)
    return {passage: known.get(passage, version) for passage in sorted(own)}


def _split_line(line: str) -> Iterator[str]:
    line = normalize_line(line)
    if line.startswith("|"):
        if not all(_RULE_CELL.fullmatch(cell.strip()) for cell in line.strip("|").split("|")):
            yield line
    elif line.startswith("#"):
        yield _PREFIX.sub("", line, count=1)
    else:
        yield from map(normalize_line, split_sentences(_PREFIX.sub("", line, count=1)))


def _mark_line(line: str, marks: Mapping[str, str]) -> str:
    line = normalize_line(line)
    if line.startswith("|"):
        mark = marks.get(line)
        return f"{_mark_sentence(line.removesuffix('|').rstrip(), mark)} |" if mark else line
    prefix = found[0] if (found := _PREFIX.match(line)) else ""
    rest = line.removeprefix(prefix)
    if prefix.startswith("#"):
        return line + marks.get(rest, "")
    marked, at = [prefix], 0
    for sentence in split_sentences(rest):
        start = rest.index(sentence, at)
        marked += [rest[at:start], _mark_sentence(sentence, marks.get(normalize_line(sentence), ""))]
        at = start + len(sentence)
    return "".join(marked)


def _mark_sentence(sentence: str, mark: str) -> str:
    """Return the sentence with its mark before each citation: none of them was found to bear it."""
    if not mark:
        return sentence
    marked, count = _CITATIONS.subn(lambda cited: mark + cited[0], sentence)
    return marked if count else f"{sentence}{mark}"


def is_marked(text: str) -> bool:
    """Tell whether a text ends with an editor's mark."""
    return re.search(rf"{EDITOR_MARK}\d*\s*$", text) is not None
