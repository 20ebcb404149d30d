"""Finding the JSON in a model's answer: where each array or object begins and ends, rewritten as JSON should be.

Models write JSON nearly right: a comma too many, single or full-width quotes, names without quotes, a quotation mark
inside a string, an answer that stops in the middle. The scanner walks over the text once from an opening bracket,
knows what is a string and what is not, and writes down what was meant; what it cannot mend is left for a repairer.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

MAX_DEPTH = 40
"""Deeper nesting is no answer to anything that is asked here, and would exhaust the parser's stack."""

_MAX_UNCLOSED = 40
"""An unclosed bracket makes the scan run to the end of the text, so only so many are tried."""

_FOLDED = str.maketrans("，：；［］｛｝＂＇", ",:,[]{}\"'")
_CLOSES = {"[": "]", "{": "}"}
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’"}
_OPENING = re.compile(r"[\[{［｛]")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?=[\s,\]}，］｝]|$)")
_LITERALS = {
    "true": "true",
    "false": "false",
    "null": "null",
    "True": "true",
    "False": "false",
    "None": "null",
    "NaN": "null",
}
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')


@dataclass(frozen=True)
class Span:
    """A stretch of text that looks like one array or object; `source` is it as JSON, cut to its complete elements."""

    start: int
    end: int
    source: str
    is_array: bool
    is_closed: bool
    is_inner: bool = False


def spans(text: str) -> Iterator[Span]:
    """The outermost arrays and objects of the text, in order; those inside one that never closes come as inner ones."""
    position, unclosed = 0, 0
    while unclosed < _MAX_UNCLOSED and (opening := _OPENING.search(text, position)):
        found = _Scan(text, opening.start(), is_inner=unclosed > 0).run()
        if found is not None:
            yield found
        if found is not None and found.is_closed:
            position = found.end
        else:
            position = opening.end()
            unclosed += 1


@dataclass
class _Open:
    """An array or object that has begun; `complete` is how much was written when its last whole element ended."""

    opener: str
    complete: int | None = None


@dataclass
class _Scan:
    text: str
    start: int
    is_inner: bool
    at: int = 0
    out: list[str] = field(default_factory=list)
    open: list[_Open] = field(default_factory=list)

    def run(self) -> Span | None:
        """The span that begins at `start`; None where nothing in it is whole."""
        self.at = self.start
        first = self.text[self.start].translate(_FOLDED)
        while self.at < len(self.text):
            char = self.text[self.at].translate(_FOLDED)
            if char.isspace():
                self.at += 1
            elif char in _CLOSES:
                if len(self.open) == MAX_DEPTH:
                    return None
                self._separate()
                self.open.append(_Open(char))
                self._write(char)
            elif char in "]}":
                if self._close(char):
                    return Span(
                        self.start, self.at, "".join(self.out), first == "[", is_closed=True, is_inner=self.is_inner
                    )
            elif char == ",":
                self._comma()
            elif char == ":":
                self._write(":")
            elif self.text.startswith("//", self.at):
                self.at = end if (end := self.text.find("\n", self.at)) >= 0 else len(self.text)
            elif not self._value(char):
                break
        return self._cut(first)

    def _write(self, written: str, length: int = 1) -> None:
        self.out.append(written)
        self.at += length

    def _last(self) -> str:
        return self.out[-1] if self.out else ""

    def _separate(self) -> None:
        """A value after a value: a comma was forgotten."""
        if self.open and self._last() not in {",", "[", "{", ":"}:
            self._complete()
            self.out.append(",")

    def _comma(self) -> None:
        if self._last() in {",", "[", "{"}:
            self.at += 1
            return
        self._complete()
        self._write(",")

    def _close(self, closer: str) -> bool:
        """Close down to the opener that fits, and tell whether that was the outermost; a stray closer is dropped."""
        if all(_CLOSES[one.opener] != closer for one in self.open):
            self.at += 1
            return False
        while True:
            if self._last() == ",":
                self.out.pop()
            wanted = _CLOSES[self.open.pop().opener]
            self.out.append(wanted)
            if wanted == closer:
                break
        self.at += 1
        self._complete()
        return not self.open

    def _complete(self) -> None:
        if self.open:
            self.open[-1].complete = len(self.out)

    def _value(self, char: str) -> bool:
        """Read a string, a number or a bare word; False where the text ends inside it."""
        self._separate()
        is_name = self.open[-1].opener == "{" and self._last() != ":"
        if char in _QUOTES:
            return self._string(char, is_name=is_name)
        number = _NUMBER.match(self.text, self.at)
        if number is not None and not is_name:
            self._write(number.group(), len(number.group()))
        else:
            self._bare(is_name=is_name)
        return self.at < len(self.text)

    def _string(self, quote: str, *, is_name: bool) -> bool:
        closing = {_QUOTES[quote], '"'} if quote in '“"' else {_QUOTES[quote]}
        written: list[str] = []
        at = self.at + 1
        while at < len(self.text):
            char = self.text[at]
            if char == "\\":
                escape = _ESCAPE.match(self.text, at)
                follower = self.text[at + 1 : at + 2]
                written.append(escape.group() if escape else follower if follower == "'" else "\\\\")
                at += len(escape.group()) if escape else 2 if follower == "'" else 1
                continue
            if char.translate(_FOLDED) in closing and self._ends_string(at + 1):
                self._write('"' + "".join(written) + '"', at + 1 - self.at)
                if not is_name:
                    self._complete()
                return True
            written.append(json.dumps(char, ensure_ascii=False)[1:-1])
            at += 1
        self.at = at
        return False

    def _ends_string(self, after: int) -> bool:
        """Whether a quotation mark before `after` closes its string: one inside a title is followed by more title."""
        rest = after
        while rest < len(self.text) and self.text[rest].isspace():
            rest += 1
        if rest == len(self.text):
            return True
        follower = self.text[rest].translate(_FOLDED)
        return follower in ",:]}`" or (follower in _QUOTES and rest > after)

    def _bare(self, *, is_name: bool) -> None:
        """A name or value without quotes; a value may hold colons, as an address does."""
        stops = ":,]}\n" if is_name else ",]}\n"
        end = self.at + 1
        while end < len(self.text) and self.text[end].translate(_FOLDED) not in stops:
            end += 1
        word = self.text[self.at : end].strip()
        self._write(_LITERALS.get(word) or json.dumps(word, ensure_ascii=False), end - self.at)

    def _cut(self, first: str) -> Span | None:
        """What is whole in an answer that stopped: the elements of its outermost open array, or else its members."""
        depth = next((i for i, one in enumerate(self.open) if one.opener == "["), 0)
        complete = self.open[depth].complete if self.open else None
        if complete is None:
            return None
        closers = "".join(_CLOSES[one.opener] for one in reversed(self.open[: depth + 1]))
        source = "".join(self.out[:complete]) + closers
        return Span(self.start, self.at, source, first == "[", is_closed=False, is_inner=self.is_inner)
