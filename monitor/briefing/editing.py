"""A briefing put in order by hand: what an analyst decides about it, apart from what was collected.

The briefing as it was composed is never altered; it is shown through an edit, so that no word of an item can be.
"""

from typing import Literal

from pydantic import BaseModel, Field

from monitor.briefing.compose import Briefing, BriefingItem, Grouping, MoreItem, Note, part_of
from monitor.briefing.overview import Sentence
from monitor.domain.words import SummaryBy
from monitor.errors import NotFound, UsageError
from monitor.formats.document import one_line

Standing = Literal["top", "more", "out"]
"""Where an item stands: shown in full, named among the further ones, or left out."""
Move = Literal["up", "down", "top", "more", "out"]


MAX_TITLE_CHARS = 300
MAX_NOTE_CHARS = 10_000


class ItemEdit(BaseModel):
    """What was decided about one item."""

    id: int
    standing: Standing = "top"
    note: Note | None = None


class Edit(BaseModel):
    """All that was decided by hand; `items` stand in their order, those that are left out too."""

    title: str
    note: Note | None = None
    group: Grouping = "theme"
    has_overview: bool = True
    items: list[ItemEdit] = Field(default_factory=list)


class ItemChange(BaseModel):
    """What is wanted of one item; what is None stays as it is."""

    id: int = Field(ge=1, le=2**31 - 1, strict=True)
    standing: Standing | None = None
    note: str | None = Field(default=None, max_length=MAX_NOTE_CHARS)


class Changes(BaseModel):
    """What is wanted of an edit; what is None stays as it is, a note that is empty goes.

    `items` stand in the order that is wanted; those that are not named follow in the order that they had.
    """

    title: str | None = Field(default=None, min_length=1, max_length=MAX_TITLE_CHARS)
    note: str | None = Field(default=None, max_length=MAX_NOTE_CHARS)
    group: Grouping | None = None
    has_overview: bool | None = Field(default=None, strict=True)
    items: list[ItemChange] | None = None


def first_edit(composed: Briefing, top: int | None) -> Edit:
    """The edit that leaves a briefing as it was composed, with so many items in full."""
    items = [
        ItemEdit(id=item.id, standing="top" if top is None or place < top else "more")
        for place, item in enumerate(composed.items)
        if item.id is not None
    ]
    return arranged(composed, Edit(title=composed.title, group=composed.group, items=items))


def edited(composed: Briefing, edit: Edit, *, by: str | None) -> Briefing:
    """The briefing as its edit shows it; `composed` has all of its items in full.

    A sentence of the overview that rests on an item which was left out goes with it, and so does one of whose items
    none is shown in full.
    """
    whole = _by_id(composed)
    shown = [(whole[item.id], item.note) for item in edit.items if item.standing == "top" and item.id in whole]
    rest = [(whole[one.id], one.note) for one in edit.items if one.standing == "more" and one.id in whole]
    items = [one.model_copy(update={"rank": rank, "note": note}) for rank, (one, note) in enumerate(shown, start=1)]
    more = [_more(one, note) for one, note in rest]
    ids = {one.id for one in items}
    told = ids | {one.id for one in more}
    return composed.model_copy(
        update={
            "title": edit.title,
            "group": edit.group,
            "note": edit.note,
            "edited_by": by,
            "items": items,
            "more": more,
            "left_out": len(whole) - len(items) - len(more),
            "overview": [one for one in composed.overview if edit.has_overview and _rests(one, ids, told)],
            "overview_dropped": composed.overview_dropped if edit.has_overview else 0,
            "extracts": sum(one.summary_by is SummaryBy.EXTRACT for one in items),
            "without_summary": sum(not one.summary for one in items),
            "reposts": [repost for repost in composed.reposts if repost in ids],
        }
    )


def changed(composed: Briefing, edit: Edit, changes: Changes, *, by: str) -> Edit:
    """The edit with what is wanted of it; a note that says something else is `by`'s from now on.

    `NotFound` for an item that is not in the briefing, `UsageError` for one that is named twice.
    """
    items = {one.id: one for one in edit.items}
    wanted: dict[int, ItemEdit] = {}
    for item in changes.items or ():
        before = items.get(item.id)
        if before is None:
            raise NotFound(f"The item {item.id} is not in this briefing: name its own, in the order that you want.")
        if item.id in wanted:
            raise UsageError(f"The item {item.id} is named twice: name each once, in the order that you want.")
        note = before.note if item.note is None else _noted(item.note, before.note, by)
        wanted[item.id] = ItemEdit(id=item.id, standing=item.standing or before.standing, note=note)
    title = one_line(changes.title or "") or edit.title
    return arranged(
        composed,
        Edit(
            title=title,
            note=edit.note if changes.note is None else _noted(changes.note, edit.note, by),
            group=changes.group or edit.group,
            has_overview=edit.has_overview if changes.has_overview is None else changes.has_overview,
            items=[*wanted.values(), *(one for one in edit.items if one.id not in wanted)],
        ),
    )


def moved(composed: Briefing, edit: Edit, item_id: int, move: Move) -> Edit:
    """The edit after one item was moved; as it was where it cannot go there.

    Up and down are by a place within the item's part. From the end of a part on, the item goes past the next one, and
    its part with it: a part stands where its first item does.
    """
    at = next((place for place, item in enumerate(edit.items) if item.id == item_id), None)
    if at is None:
        return edit
    if move in ("top", "more", "out"):
        chosen = edit.items[at].model_copy(update={"standing": move})
        others = [*edit.items[:at], *edit.items[at + 1 :]]
        items = [*others, chosen] if move == "top" else [chosen, *others]
    else:
        items = _by_a_place(composed, edit, at, move)
    return arranged(composed, edit.model_copy(update={"items": items}))


def arranged(composed: Briefing, edit: Edit) -> Edit:
    """The edit with its items in the order in which they are read, and every item of the briefing once.

    An item that it does not name stands behind the others that are shown in full; one that is not the briefing's goes.
    """
    whole = _by_id(composed)
    named = {item.id: item for item in edit.items if item.id in whole}
    every = [*named.values(), *(ItemEdit(id=one) for one in whole if one not in named)]
    parts: dict[int | str, list[ItemEdit]] = {}
    for one in every:
        if one.standing == "top":
            parts.setdefault(part_of(whole[one.id], edit.group), []).append(one)
    items = [one for part in parts.values() for one in part]
    for standing in ("more", "out"):
        items.extend(one for one in every if one.standing == standing)
    return edit.model_copy(update={"items": items})


def _by_a_place(composed: Briefing, edit: Edit, at: int, move: Move) -> list[ItemEdit]:
    """Up or down by a place; at the end of its part the whole part changes places with its neighbour."""
    items, whole = list(edit.items), _by_id(composed)
    step = -1 if move == "up" else 1
    other = at + step
    if not 0 <= other < len(items) or items[other].standing != items[at].standing:
        return items

    def part(one: ItemEdit) -> tuple[Standing, int | str]:
        return one.standing, part_of(whole[one.id], edit.group) if one.standing == "top" else ""

    if part(items[other]) == part(items[at]):
        items[at], items[other] = items[other], items[at]
        return items
    mine = [item for item in items if part(item) == part(items[at])]
    theirs = [one for one in items if part(one) == part(items[other])]
    first = min(items.index(mine[0]), items.index(theirs[0]))
    pair = [*mine, *theirs] if step < 0 else [*theirs, *mine]
    return [*items[:first], *pair, *items[first + len(pair) :]]


def _rests(sentence: Sentence, shown: set[int | None], told: set[int | None]) -> bool:
    cited = set(sentence.items)
    return cited <= told and bool(cited & shown)


def _more(item: BriefingItem, note: Note | None) -> MoreItem:
    fields = {name: getattr(item, name) for name in MoreItem.model_fields}
    return MoreItem.model_validate({**fields, "note": note})


def _by_id(composed: Briefing) -> dict[int, BriefingItem]:
    return {item.id: item for item in composed.items if item.id is not None}


def _noted(text: str, before: Note | None, by: str) -> Note | None:
    """A note with these words: of who wrote it first, as long as nobody changes them; None for none."""
    words = "\n".join(line.strip() for line in text.strip().splitlines())
    if not words:
        return None
    return before if before is not None and before.text == words else Note(text=words, by=by)
