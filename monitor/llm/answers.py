"""Parses models' answers: finds and repairs the JSON or the text that an answer contains.

Models think aloud, fence their JSON, wrap it in prose, forget brackets and stop in the middle. Results have the right
shape and nothing more; callers check their content. Nothing in this module raises for what a model wrote.
"""

import json
import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

MAX_DEPTH = 40
"""Deeper nesting answers none of our prompts and would exhaust the parser's stack."""

_MAX_UNCLOSED = 40
"""The number of unclosed brackets that are tried: each makes the scan run to the end of the text."""
_MAX_SCANNED_CHARS = 1_000_000
"""How far all of these scans go together."""
_MAX_REPAIRED_CHARS = 100_000
"""Longer JSON with mistakes is none: the repair compares what it read with what is to come."""

_ASCII_PUNCTUATION = str.maketrans("，：；［］｛｝＂＇", ",:,[]{}\"'")
_CLOSERS = {"[": "]", "{": "}"}
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’"}
_OPENING = re.compile(r"[\[{［｛]")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?=[\s,\]}，］｝]|$)")

_LITERALS = {word: word for word in ("true", "false", "null")}
_LITERALS |= {"True": "true", "False": "false", "None": "null", "NaN": "null"}

_PLAIN_CHARS = re.compile(r"""[^\\"'“”‘’＂＇\x00-\x1f]+""")
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')


@dataclass(frozen=True)
class JsonSpan:
    """A part of a text that looks like an array or object; `source` is its JSON, cut to its complete elements."""

    start: int
    end: int
    source: str
    is_array: bool
    is_closed: bool
    is_inner: bool


def find_json_spans(text: str) -> Iterator[JsonSpan]:
    """Yield the outermost arrays and objects in order; those inside one that never closes are marked as inner."""
    position, unclosed, scanned = 0, 0, 0
    while unclosed < _MAX_UNCLOSED and scanned <= _MAX_SCANNED_CHARS and (opening := _OPENING.search(text, position)):
        found = _JsonScanner(text, opening.start(), is_inner=unclosed > 0).scan()
        if found is not None:
            yield found
        is_closed = found is not None and found.is_closed
        scanned += (found.end if found is not None else len(text)) - opening.start()
        position = found.end if found is not None and is_closed else opening.end()
        unclosed += not is_closed


@dataclass
class _OpenBracket:
    """`complete_length` is the output up to the last complete element."""

    opener: str
    complete_length: int | None = None


@dataclass
class _JsonScanner:
    text: str
    start: int
    is_inner: bool
    position: int = 0
    output: list[str] = field(default_factory=list)
    open_brackets: list[_OpenBracket] = field(default_factory=list)

    def scan(self) -> JsonSpan | None:
        """Return the span that begins at `start`; None where no element of it is complete."""
        self.position = self.start
        while self.position < len(self.text):
            char = self.text[self.position].translate(_ASCII_PUNCTUATION)
            if char.isspace():
                self.position += 1
            elif char in _CLOSERS:
                if len(self.open_brackets) == MAX_DEPTH:
                    return None
                self._insert_missing_comma()
                self.open_brackets.append(_OpenBracket(char))
                self._emit(char)
            elif char in "]}":
                if self._read_closer(char):
                    return self._build_span("".join(self.output), is_closed=True)
            elif char == ",":
                self._read_comma()
            elif char == ":":
                self._emit(":")
            elif self.text.startswith("//", self.position):
                self.position = end if (end := self.text.find("\n", self.position)) >= 0 else len(self.text)
            elif not self._read_value(char):
                break
        return self._salvage()

    def _emit(self, written: str, length: int = 1) -> None:
        self.output.append(written)
        self.position += length

    def _get_last_token(self) -> str:
        return self.output[-1] if self.output else ""

    def _insert_missing_comma(self) -> None:
        if self.open_brackets and self._get_last_token() not in {",", "[", "{", ":"}:
            self._mark_complete()
            self.output.append(",")

    def _read_comma(self) -> None:
        if self._get_last_token() in {",", "[", "{"}:
            self.position += 1
            return
        self._mark_complete()
        self._emit(",")

    def _read_closer(self, closer: str) -> bool:
        """Close up to the matching opener; return whether that was the outermost. A stray closer is dropped."""
        if all(_CLOSERS[bracket.opener] != closer for bracket in self.open_brackets):
            self.position += 1
            return False
        while True:
            if self._get_last_token() == ",":
                self.output.pop()
            wanted = _CLOSERS[self.open_brackets.pop().opener]
            self.output.append(wanted)
            if wanted == closer:
                break
        self.position += 1
        self._mark_complete()
        return not self.open_brackets

    def _mark_complete(self) -> None:
        if self.open_brackets:
            self.open_brackets[-1].complete_length = len(self.output)

    def _read_value(self, char: str) -> bool:
        """Read a string, a number or a bare word; False where the text ends inside it."""
        self._insert_missing_comma()
        is_name = self.open_brackets[-1].opener == "{" and self._get_last_token() != ":"
        if char in _QUOTES:
            return self._read_string(char, is_name=is_name)
        number = _NUMBER.match(self.text, self.position)
        if number is not None and not is_name:
            self._emit(number.group(), len(number.group()))
        else:
            self._read_bare_word(is_name=is_name)
        return self.position < len(self.text)

    def _read_string(self, quote: str, *, is_name: bool) -> bool:
        closing = {_QUOTES[quote], '"'} if quote in '“"' else {_QUOTES[quote]}
        written: list[str] = []
        at = self.position + 1
        while at < len(self.text):
            char = self.text[at]
            if char == "\\":
                escape = _ESCAPE.match(self.text, at)
                follower = self.text[at + 1 : at + 2]
                written.append(escape.group() if escape else follower if follower == "'" else "\\\\")
                at += len(escape.group()) if escape else 2 if follower == "'" else 1
                continue
            if char.translate(_ASCII_PUNCTUATION) in closing and self._is_string_end(at + 1):
                self._emit('"' + "".join(written) + '"', at + 1 - self.position)
                if not is_name:
                    self._mark_complete()
                return True
            plain = _PLAIN_CHARS.match(self.text, at)
            written.append(plain[0] if plain else json.dumps(char, ensure_ascii=False)[1:-1])
            at += len(plain[0]) if plain else 1
        self.position = at
        return False

    def _is_string_end(self, after: int) -> bool:
        """Return whether a quotation mark before `after` closes its string; inside a title, more text follows it."""
        rest = after
        while rest < len(self.text) and self.text[rest].isspace():
            rest += 1
        if rest == len(self.text):
            return True
        follower = self.text[rest].translate(_ASCII_PUNCTUATION)
        return follower in ",:]}`" or (follower in _QUOTES and rest > after)

    def _read_bare_word(self, *, is_name: bool) -> None:
        """A name or value without quotes; a value may hold colons, as an address does."""
        stops = ":,]}\n" if is_name else ",]}\n"
        end = self.position + 1
        while end < len(self.text) and self.text[end].translate(_ASCII_PUNCTUATION) not in stops:
            end += 1
        word = self.text[self.position : end].strip()
        self._emit(_LITERALS.get(word) or json.dumps(word, ensure_ascii=False), end - self.position)

    def _salvage(self) -> JsonSpan | None:
        """Return the complete elements of the outermost open array of an answer that stopped, or else its members."""
        depth = next((i for i, bracket in enumerate(self.open_brackets) if bracket.opener == "["), 0)
        complete = self.open_brackets[depth].complete_length if self.open_brackets else None
        if complete is None:
            return None
        closers = "".join(_CLOSERS[bracket.opener] for bracket in reversed(self.open_brackets[: depth + 1]))
        return self._build_span("".join(self.output[:complete]) + closers, is_closed=False)

    def _build_span(self, source: str, *, is_closed: bool) -> JsonSpan:
        is_array = self.text[self.start] in "[［"
        return JsonSpan(self.start, self.position, source, is_array, is_closed, self.is_inner)


_MAX_CHARS = 400_000
_TAGS = "think|thinking|thought|reasoning"
_THINKING_END = re.compile(rf"</(?:{_TAGS})>", re.IGNORECASE)
_THINKING_START = re.compile(rf"<({_TAGS})>", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[\w-]*[ \t]*$", re.MULTILINE)
_INLINE_FENCE = re.compile(r"^```(?:json|text|markdown)?")
_LABEL = re.compile(
    r"^[*#\s]*(?:内容摘要|文章摘要|摘要|概要|summary)\s*(?:\*\*)?\s*[:：]\s*(?:\*\*)?\s*", re.IGNORECASE
)
_QUOTE_PAIRS = ('""', "''", "“”", "‘’", "「」", "『』", "``")


def parse_array(text: str, element_type: type[object] | None = None) -> list[JsonValue] | None:
    """Return the array that the answer contains, of elements of `element_type` (`dict`, `int`, `str`) if given.

    Of several it is the last of the large ones: a model that corrects itself does so afterwards, and a bracketed number
    in prose is not its answer. An array wrapped in an object, or objects without an array around them, will do too.
    """
    answer, thoughts = strip_thinking(text)
    for values in (_parse_values(answer), _parse_trailing_value(thoughts)):
        arrays = [(span, value) for span, value in values if _is_array(value, element_type)]
        objects: list[JsonValue] = [value for span, value in values if span.is_closed and isinstance(value, dict)]
        if not arrays and len(objects) < 2:
            members = [(span, list(value.values())) for span, value in values if isinstance(value, dict)]
            arrays = [(span, member) for span, inner in members for member in inner if _is_array(member, element_type)]
        chosen = _choose_value(arrays)
        if isinstance(chosen, list):
            return chosen
        if objects and element_type in (None, dict):
            return objects
    return None


def parse_object(text: str) -> dict[str, JsonValue] | None:
    """Return the object that the answer contains, possibly as the only element of an array."""
    answer, thoughts = strip_thinking(text)
    for values in (_parse_values(answer), _parse_trailing_value(thoughts)):
        single = [(span, value[0]) for span, value in values if isinstance(value, list) and len(value) == 1]
        objects = [(span, value) for span, value in values if isinstance(value, dict)]
        chosen = _choose_value(objects or [(span, value) for span, value in single if isinstance(value, dict)])
        if isinstance(chosen, dict):
            return chosen
    return None


def parse_tool_arguments(text: str) -> dict[str, JsonValue] | None:
    """Return the arguments of a tool call; no text means no arguments, anything but an object is None."""
    return {} if not text.strip() else parse_object(text)


def extract_plain_text(text: str) -> str:
    """Return the answer as plain text, without thinking, fences, a label such as 摘要：, and enclosing quotes."""
    answer, _ = strip_thinking(text)
    answer = _INLINE_FENCE.sub("", _FENCE.sub("", answer).strip()).removesuffix("```").strip()
    if answer.startswith(("{", "[")):
        texts = [member for member in (parse_object(answer) or {}).values() if isinstance(member, str)]
        answer = texts[0] if len(texts) == 1 and texts[0] else answer
    answer = _LABEL.sub("", answer).strip()
    for pair in _QUOTE_PAIRS:
        opening, closing = pair[0], pair[1]
        inner = answer[1:-1]
        if len(answer) > 1 and answer[0] == opening and answer[-1] == closing and not {opening, closing} & set(inner):
            return inner.strip()
    return answer


def strip_thinking(text: str) -> tuple[str, str]:
    """Return the answer and the unclosed thoughts, at whose end an answer may stand.

    A closing tag alone is common too, where the opening one is part of the server's template.
    """
    answer = _THINKING_END.split(_drop_thoughts(text[:_MAX_CHARS]))[-1]
    opening = _THINKING_START.search(answer)
    return (answer, "") if opening is None else (answer[: opening.start()], answer[opening.end() :])


def _drop_thoughts(text: str) -> str:
    """Return the answer without its closed thoughts."""
    ends = {tag: [end.end() for end in re.finditer(f"</{tag}>", text, re.IGNORECASE)] for tag in _TAGS.split("|")}
    pieces, kept = [], 0
    for opening in _THINKING_START.finditer(text):
        closing = ends[opening[1].lower()]
        place = bisect_right(closing, opening.end())
        if opening.start() >= kept and place < len(closing):
            pieces += [text[kept : opening.start()], "\n"]
            kept = closing[place]
    return "".join([*pieces, text[kept:]])


def _parse_values(text: str) -> list[tuple[JsonSpan, JsonValue]]:
    """Return the outermost arrays and objects of a text; inner ones of an unclosed bracket only without others."""
    found = [(span, _parse_span(span)) for span in find_json_spans(text) if not text.startswith("(", span.end)]
    good: list[tuple[JsonSpan, JsonValue]] = [(span, value) for span, value in found if value is not None]
    outer = [(span, value) for span, value in good if not span.is_inner]
    return outer or good


def _parse_trailing_value(thoughts: str) -> list[tuple[JsonSpan, JsonValue]]:
    """Return the value at the end of unclosed thoughts: thinking that was cut off ends in prose."""
    bare = _FENCE.sub("", thoughts).rstrip()
    return [(span, value) for span, value in _parse_values(bare) if span.is_closed and span.end == len(bare)]


def _parse_span(span: JsonSpan) -> JsonValue | None:
    """Return the value of a span, repaired if necessary; None where the repair changes its type."""
    try:
        value = sanitize_value(json.loads(span.source, parse_constant=lambda _: None))
    except (ValueError, RecursionError):
        value = None
    if value is None and len(span.source) <= _MAX_REPAIRED_CHARS:
        import json_repair

        try:
            value = sanitize_value(json_repair.loads(span.source))
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, list if span.is_array else dict) else None


def sanitize_value(value: object) -> JsonValue | None:
    """Return the value with strings that can be stored: without lone surrogates and NUL."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "")
    if isinstance(value, list):
        return [sanitize_value(element) for element in value]
    if isinstance(value, dict):
        return {str(sanitize_value(str(name))): sanitize_value(member) for name, member in value.items()}
    return value if isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)) else None


def find_closing_json(text: str) -> str | None:
    """Return the array or object that a text ends with; None where other words follow, or where it is not whole."""
    found = _parse_trailing_value(text[-_MAX_CHARS:])
    return found[-1][0].source if found else None


def _choose_value(values: Sequence[tuple[JsonSpan, JsonValue]]) -> JsonValue | None:
    longest = max((len(span.source) for span, _ in values), default=0)
    return next((value for span, value in reversed(values) if 2 * len(span.source) >= longest), None)


def _is_array(value: JsonValue, element_type: type[object] | None) -> bool:
    return isinstance(value, list) and (
        element_type is None or not value or any(isinstance(element, element_type) for element in value)
    )
