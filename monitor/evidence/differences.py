"""What differs between two versions of a text: by paragraph and, where it is a regulation, by article."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import TypeVar

from rapidfuzz.fuzz import ratio

from monitor.evidence.paragraphs import Clause, TextParagraph, split_clauses
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.page import ChangeKind, EditOperation, PageChange, PageEdit, PagePart

MIN_SIMILARITY = 0.5  # two texts at least this similar, of 0 to 1, are two versions of one

# Scoring takes about 50 microseconds a pair; where more paragraphs differ, they are not paired.
_MAX_PAIRS = 40_000
_MAX_COMPARED_CHARS = 300
AlignedPair = tuple[int | None, int | None]
T = TypeVar("T")


def compute_similarity(one: str, other: str) -> float:
    """Return how much of two texts is the same, in order, from 0 to 1; of long texts only their beginnings count."""
    return ratio(one[:_MAX_COMPARED_CHARS], other[:_MAX_COMPARED_CHARS]) / 100


def align_texts(
    before: Sequence[str], after: Sequence[str], *, score: Callable[[int, int], float] | None = None
) -> list[AlignedPair]:
    """Return the places of both sequences in order, each once: paired where one became the other, else alone.

    Equal texts are paired first; between them the pairs with the largest sum of scores. The default `score` is the
    similarity of two versions; a score of 0 keeps two texts apart.
    """

    def compare(i: int, j: int) -> float:
        found = compute_similarity(before[i], after[j])
        return found if found >= MIN_SIMILARITY else 0.0

    pairs: list[AlignedPair] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, before, after).get_opcodes():
        if tag == "equal":
            pairs += zip(range(i1, i2), range(j1, j2), strict=True)
        else:
            pairs += _find_best_pairs(range(i1, i2), range(j1, j2), score or compare)
    return pairs


def _find_best_pairs(left: range, right: range, score: Callable[[int, int], float]) -> list[AlignedPair]:
    """Pair two stretches so that the scores sum up highest, without changing the order of either."""
    if len(left) * len(right) > _MAX_PAIRS:
        return [*((i, None) for i in left), *((None, j) for j in right)]
    scores = [[score(i, j) for j in right] for i in left]
    best = [[0.0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i in reversed(range(len(left))):
        for j in reversed(range(len(right))):
            together = best[i + 1][j + 1] + scores[i][j] if scores[i][j] else 0.0
            best[i][j] = max(best[i + 1][j], best[i][j + 1], together)
    pairs: list[AlignedPair] = []
    i = j = 0
    while i < len(left) or j < len(right):
        if i < len(left) and best[i][j] == best[i + 1][j]:
            pairs.append((left[i], None))
            i += 1
        elif j < len(right) and best[i][j] == best[i][j + 1]:
            pairs.append((None, right[j]))
            j += 1
        else:
            pairs.append((left[i], right[j]))
            i, j = i + 1, j + 1
    return pairs


# A shorter paragraph can stand in a longer one by chance.
_MIN_CONTAINED_CHARS = 12
_SAME_NUMBER_BONUS = 0.2


def diff_paragraphs(before: Sequence[TextParagraph], after: Sequence[TextParagraph]) -> list[PageEdit]:
    """Return the edits from one version to the other, in order; none where only the cut into paragraphs differs."""
    if _join_keys(before) == _join_keys(after):
        return []
    old, new = split_clauses(before), split_clauses(after)

    def compare(i: int, j: int) -> float:
        # Two clauses of one number are one, rewritten, unless another clause is more like it.
        if old[i].kind is not new[j].kind:
            return 0.0
        found = compute_similarity(old[i].key, new[j].key)
        if old[i].number == new[j].number:
            return found + _SAME_NUMBER_BONUS
        return found if found >= MIN_SIMILARITY else 0.0

    keys, other_keys = ([f"{clause.kind}:{clause.key}" for clause in clauses] for clauses in (old, new))
    pairs = align_texts(keys, other_keys, score=compare)
    return [edit for i, j in pairs for edit in _iter_clause_edits(_get(old, i), _get(new, j))]


def _get(sequence: Sequence[T], place: int | None) -> T | None:
    return None if place is None else sequence[place]


def _iter_clause_edits(old: Clause | None, new: Clause | None) -> Iterator[PageEdit]:
    if old is None or new is None:
        yield from _iter_whole_clause_edits(old, new)
        return
    if old.number is None:
        yield from _iter_paragraph_edits(old.paragraphs, new.paragraphs)
        return
    edits = list(_iter_paragraph_edits(old.paragraphs, new.paragraphs)) if old.key != new.key else []
    if edits:
        yield _merge_article_edits(old, new, edits)
    if old.number != new.number:
        yield PageEdit(
            op=EditOperation.RENUMBERED,
            part=PagePart.ARTICLE,
            article=new.number,
            before=old.number,
            after=new.number or "",
        )


def _iter_whole_clause_edits(old: Clause | None, new: Clause | None) -> Iterator[PageEdit]:
    """Yield one edit for an article that is new or gone, one for each paragraph without a number."""
    clause = old or new
    op = EditOperation.REMOVED if new is None else EditOperation.ADDED
    if clause is None:
        return
    texts = [paragraph.text for paragraph in clause.paragraphs if paragraph.text]
    if clause.number is None:
        yield from (_build_edit(op, PagePart.PARAGRAPH, text) for text in texts)
    else:
        yield _build_edit(op, PagePart.ARTICLE, "\n".join(texts), clause.number)


def _build_edit(op: EditOperation, part: PagePart, text: str, article: str | None = None) -> PageEdit:
    is_gone = op is EditOperation.REMOVED
    return PageEdit(op=op, part=part, article=article, before=text if is_gone else "", after="" if is_gone else text)


def _merge_article_edits(old: Clause, new: Clause, edits: Sequence[PageEdit]) -> PageEdit:
    before = [edit.before for edit in edits if edit.before]
    after = [edit.after for edit in edits if edit.after]
    places = [place for place, paragraph in enumerate(new.paragraphs) if paragraph.text in after]
    old_places = [place for place, paragraph in enumerate(old.paragraphs) if paragraph.text in before]
    number = new.number_at(places) if places else old.number_at(old_places)
    return PageEdit(
        op=EditOperation.CHANGED,
        part=PagePart.ARTICLE,
        article=number,
        before="\n".join(before),
        after="\n".join(after),
    )


def _iter_paragraph_edits(before: Sequence[TextParagraph], after: Sequence[TextParagraph]) -> Iterator[PageEdit]:
    pairs = align_texts([paragraph.key for paragraph in before], [paragraph.key for paragraph in after])
    for is_same, run in groupby(pairs, key=lambda pair: _is_same_paragraph(before, after, pair)):
        if is_same:
            continue
        stretch = list(run)
        old = [before[i] for i, _ in stretch if i is not None]
        new = [after[j] for _, j in stretch if j is not None]
        if _join_keys(old) != _join_keys(new):
            yield from _iter_stretch_edits(
                before, after, _pair_lone_paragraphs(stretch), _join_keys(old), _join_keys(new)
            )


def _is_same_paragraph(before: Sequence[TextParagraph], after: Sequence[TextParagraph], pair: AlignedPair) -> bool:
    i, j = pair
    return i is not None and j is not None and before[i].key == after[j].key


def _pair_lone_paragraphs(stretch: Sequence[AlignedPair]) -> Iterator[AlignedPair]:
    """Pair lone texts one by one where both sides have as many of them between two pairs."""
    for is_lone, run in groupby(stretch, key=lambda pair: None in pair):
        pairs = list(run)
        left = [i for i, _ in pairs if i is not None]
        right = [j for _, j in pairs if j is not None]
        yield from zip(left, right, strict=True) if is_lone and len(left) == len(right) else pairs


def _iter_stretch_edits(
    before: Sequence[TextParagraph], after: Sequence[TextParagraph], pairs: Iterator[AlignedPair], old: str, new: str
) -> Iterator[PageEdit]:
    for i, j in pairs:
        left, right = _get(before, i), _get(after, j)
        if (left is None or _is_contained(left, new)) and (right is None or _is_contained(right, old)):
            continue
        if left is None or right is None:
            op, lone = (EditOperation.REMOVED, left) if right is None else (EditOperation.ADDED, right)
            if lone is not None and lone.text:
                yield _build_edit(op, PagePart.PARAGRAPH, lone.text)
        else:
            yield PageEdit(op=EditOperation.CHANGED, part=PagePart.PARAGRAPH, before=left.text, after=right.text)


def _is_contained(paragraph: TextParagraph, text: str) -> bool:
    return not paragraph.key or (len(paragraph.key) >= _MIN_CONTAINED_CHARS and paragraph.key in text)


def _join_keys(text: Sequence[TextParagraph]) -> str:
    return "".join(paragraph.key for paragraph in text)


_MAX_NAMES = 8
_MAX_NAME_CHARS = 60
_LISTED_OPERATIONS = (EditOperation.CHANGED, EditOperation.ADDED, EditOperation.REMOVED)


def describe_change(change: PageChange, language: str = "zh") -> str:
    """Say what changed in one sentence of `zh` or `en`: articles by number, attachments by title, page text quoted."""
    parts = [*_describe_page(change), *_describe_articles(change)]
    paragraphs = Counter(edit.op for edit in change.list_edits(PagePart.PARAGRAPH))
    parts += [
        Message.of(f"change.paragraphs_{op}", count=paragraphs[op]) for op in _LISTED_OPERATIONS if paragraphs[op]
    ]
    for op in _LISTED_OPERATIONS:
        attachments = [edit for edit in change.list_edits(PagePart.ATTACHMENT) if edit.op is op]
        names = [_quote(edit.after or edit.before) for edit in attachments]
        parts += [Message.of(f"change.attachments_{op}", titles=_limit_names(names))] if names else []
    text = render(Message.of("change.separator"), language).join(render(part, language) for part in parts)
    return render(Message.of("change.sentence", text=f"{text[:1].upper()}{text[1:]}"), language)


def _describe_page(change: PageChange) -> Iterator[Message]:
    if change.kind not in (ChangeKind.CHANGED, ChangeKind.ATTACHMENTS):
        url = next((edit.after for edit in change.list_edits(PagePart.ADDRESS)), "")
        yield Message.of(f"change.page_{change.kind}", url=url)
    for edit in change.list_edits(PagePart.TITLE):
        yield Message.of("change.title", title=_quote(edit.after))
    for edit in change.list_edits(PagePart.DATE):
        yield Message.of("change.date", before=edit.before, after=edit.after)


def _describe_articles(change: PageChange) -> Iterator[Message]:
    for op in _LISTED_OPERATIONS:
        if names := change.list_articles(op):
            yield Message.of(f"change.articles_{op}", articles=_limit_names(names))
    renumbered = [
        Message.of("change.articles_renumbered", before=edit.before, after=edit.after)
        for edit in change.list_edits(PagePart.ARTICLE)
        if edit.op is EditOperation.RENUMBERED
    ]
    if renumbered:
        yield Message.of("change.names", names=_limit_names(renumbered))


def _limit_names(names: Sequence[str | Message]) -> Sequence[str | Message] | Message:
    if len(names) <= _MAX_NAMES:
        return names
    return Message.of("change.more", names=names[:_MAX_NAMES], count=len(names))


def _quote(text: str) -> Message:
    return Message.of("change.quoted", text=text if len(text) <= _MAX_NAME_CHARS else f"{text[:_MAX_NAME_CHARS]}…")
