"""What differs between two versions of a text: by paragraph and, where it is a regulation, by article."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from monitor.domain.revisions import Edit, Op, Part
from monitor.evidence.alignment import ALIKE, Pair, align, likeness
from monitor.evidence.clauses import Clause, clauses
from monitor.evidence.paragraphs import Paragraph

# A shorter paragraph can stand in a longer one by chance.
_LEAST_HELD = 12
_SAME_NUMBER = 0.2


def differences(before: Sequence[Paragraph], after: Sequence[Paragraph]) -> list[Edit]:
    """The edits that lead from one version to the other, in order; none where only the cut into paragraphs differs."""
    if _joined(before) == _joined(after):
        return []
    old, new = clauses(before), clauses(after)

    def weight(i: int, j: int) -> float:
        """Two clauses of one number are one, rewritten, unless another clause is more like it."""
        if old[i].kind is not new[j].kind:
            return 0.0
        found = likeness(old[i].key, new[j].key)
        if old[i].number == new[j].number:
            return found + _SAME_NUMBER
        return found if found >= ALIKE else 0.0

    pairs = align([_name(one) for one in old], [_name(one) for one in new], weight=weight)
    return [edit for pair in pairs for edit in _of_clauses(*_both(old, new, pair))]


def _name(clause: Clause) -> str:
    return f"{clause.kind}:{clause.key}"


def _both(old: Sequence[Clause], new: Sequence[Clause], pair: Pair) -> tuple[Clause | None, Clause | None]:
    i, j = pair
    return None if i is None else old[i], None if j is None else new[j]


def _of_clauses(old: Clause | None, new: Clause | None) -> Iterator[Edit]:
    if old is None or new is None:
        yield from _whole(old, new)
        return
    if old.number is None:
        yield from _of_paragraphs(old.paragraphs, new.paragraphs)
        return
    edits = list(_of_paragraphs(old.paragraphs, new.paragraphs)) if old.key != new.key else []
    if edits:
        yield _one_of_article(old, new, edits)
    if old.number != new.number:
        yield Edit(op=Op.RENUMBERED, part=Part.ARTICLE, article=new.number, before=old.number, after=new.number or "")


def _whole(old: Clause | None, new: Clause | None) -> Iterator[Edit]:
    """A clause that is new or gone: one edit for an article, one for each paragraph without a number."""
    clause = old or new
    op = Op.REMOVED if new is None else Op.ADDED
    if clause is None:
        return
    texts = [paragraph.text for paragraph in clause.paragraphs if paragraph.text]
    if clause.number is None:
        yield from (_edit(op, Part.PARAGRAPH, text) for text in texts)
    else:
        yield _edit(op, Part.ARTICLE, "\n".join(texts), clause.number)


def _edit(op: Op, part: Part, text: str, article: str | None = None) -> Edit:
    is_gone = op is Op.REMOVED
    return Edit(op=op, part=part, article=article, before=text if is_gone else "", after="" if is_gone else text)


def _one_of_article(old: Clause, new: Clause, edits: Sequence[Edit]) -> Edit:
    before = [edit.before for edit in edits if edit.before]
    after = [edit.after for edit in edits if edit.after]
    places = [place for place, paragraph in enumerate(new.paragraphs) if paragraph.text in after]
    if not places:
        number = old.number_at([place for place, one in enumerate(old.paragraphs) if one.text in before])
    else:
        number = new.number_at(places)
    return Edit(op=Op.CHANGED, part=Part.ARTICLE, article=number, before="\n".join(before), after="\n".join(after))


def _of_paragraphs(before: Sequence[Paragraph], after: Sequence[Paragraph]) -> Iterator[Edit]:
    """The paragraphs that differ; what was only cut otherwise does not."""
    pairs = align([one.key for one in before], [one.key for one in after])
    for is_same, run in groupby(pairs, key=lambda pair: _is_same(before, after, pair)):
        if is_same:
            continue
        stretch = list(run)
        old = [before[i] for i, _ in stretch if i is not None]
        new = [after[j] for _, j in stretch if j is not None]
        if _joined(old) != _joined(new):
            yield from _of_stretch(before, after, _levelled(stretch), _joined(old), _joined(new))


def _is_same(before: Sequence[Paragraph], after: Sequence[Paragraph], pair: Pair) -> bool:
    i, j = pair
    return i is not None and j is not None and before[i].key == after[j].key


def _levelled(stretch: Sequence[Pair]) -> Iterator[Pair]:
    """Between those that belong together, as many lone ones on both sides are brought together one by one."""
    for is_lone, run in groupby(stretch, key=lambda pair: None in pair):
        pairs = list(run)
        left = [i for i, _ in pairs if i is not None]
        right = [j for _, j in pairs if j is not None]
        yield from zip(left, right, strict=True) if is_lone and len(left) == len(right) else pairs


def _of_stretch(
    before: Sequence[Paragraph], after: Sequence[Paragraph], pairs: Iterator[Pair], old: str, new: str
) -> Iterator[Edit]:
    for i, j in pairs:
        left = None if i is None else before[i]
        right = None if j is None else after[j]
        if (left is None or _is_held(left, new)) and (right is None or _is_held(right, old)):
            continue
        if left is None or right is None:
            op = Op.REMOVED if right is None else Op.ADDED
            yield from (_edit(op, Part.PARAGRAPH, one.text) for one in (left, right) if one is not None and one.text)
        else:
            yield Edit(op=Op.CHANGED, part=Part.PARAGRAPH, before=left.text, after=right.text)


def _is_held(paragraph: Paragraph, text: str) -> bool:
    """Whether the words of a paragraph stand, in one piece, in a stretch of the other version."""
    return not paragraph.key or (len(paragraph.key) >= _LEAST_HELD and paragraph.key in text)


def _joined(text: Sequence[Paragraph]) -> str:
    return "".join(one.key for one in text)
