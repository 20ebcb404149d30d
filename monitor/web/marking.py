"""Words set apart inside a text: those that were searched for, and those that a revision changed."""

import difflib
import re
from collections.abc import Iterator
from typing import NamedTuple

from markupsafe import Markup, escape

from monitor.domain.terms import TextQuery, folded

_TOKEN = re.compile(r"[A-Za-z]+|[0-9.,%]+|\s+|.", re.DOTALL)
_MOST_COMPARED = 1500


class Piece(NamedTuple):
    """A piece of a changed text: it stayed (`same`), stood there before (`gone`) or stands there now (`new`)."""

    kind: str
    text: str


def marked(text: str, query: TextQuery | None) -> Markup:
    """The text as HTML, with `<mark>` around each place of what was searched for."""
    result, done = Markup(), 0
    for start, end in _places(text, query):
        if start >= done:
            result += escape(text[done:start]) + Markup("<mark>{}</mark>").format(text[start:end])
            done = end
    return result + escape(text[done:])


def compared(before: str, after: str) -> list[Piece]:
    """What became of a text, piece by piece; of long ones all that was and all that is."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    if not old or not new or max(len(old), len(new)) > _MOST_COMPARED:
        return [Piece(kind, text) for kind, text in (("gone", before), ("new", after)) if text]
    pieces: list[Piece] = []
    for op, begin, end, first, last in difflib.SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        if op == "equal":
            pieces.append(Piece("same", "".join(old[begin:end])))
            continue
        pieces += [Piece("gone", "".join(old[begin:end]))] if end > begin else []
        pieces += [Piece("new", "".join(new[first:last]))] if last > first else []
    return pieces


def _places(text: str, query: TextQuery | None) -> Iterator[tuple[int, int]]:
    plain = folded(text)
    found = (match.span() for clause in (query.clauses if query else ()) for match in clause.pattern.finditer(plain))
    yield from sorted(span for span in found if span[1] > span[0])
