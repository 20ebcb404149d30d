"""A briefing put in order by hand: what an analyst decides about it, apart from what was collected.

The briefing as it was composed is never altered; it is shown through an edit, so that no word of an item can be.
"""

from typing import Literal

from pydantic import BaseModel, Field

from monitor.briefing.compose import AnalystNote, Briefing, BriefingItem, GroupBy, MoreItem, get_part_key
from monitor.errors import NotFound, UsageError
from monitor.exports.document import normalize_line
from monitor.verify.statements import StatementCounts
from monitor.vocabulary import SummaryBy

ItemPlacement = Literal["top", "more", "out"]
"""Where an item stands: shown in full, named among the further ones, or left out."""

ItemMove = Literal["up", "down", "top", "more", "out"]
MAX_TITLE_CHARS = 300
MAX_NOTE_CHARS = 10_000


class ItemEdit(BaseModel):
    id: int
    standing: ItemPlacement = "top"
    note: AnalystNote | None = None


class BriefingEdit(BaseModel):
    """All that was decided by hand; `items` stand in their order, those that are left out too."""

    title: str
    note: AnalystNote | None = None
    group: GroupBy = "theme"
    has_overview: bool = True
    items: list[ItemEdit] = Field(default_factory=list)


class ItemEditPatch(BaseModel):
    """What is wanted of one item; what is None stays as it is."""

    id: int = Field(ge=1, le=2**31 - 1, strict=True)
    standing: ItemPlacement | None = None
    note: str | None = Field(default=None, max_length=MAX_NOTE_CHARS)


class BriefingEditPatch(BaseModel):
    """What is wanted of an edit; what is None stays as it is, a note that is empty goes.

    `items` stand in the order that is wanted; those that are not named follow in the order that they had.
    """

    title: str | None = Field(default=None, min_length=1, max_length=MAX_TITLE_CHARS)
    note: str | None = Field(default=None, max_length=MAX_NOTE_CHARS)
    group: GroupBy | None = None
    has_overview: bool | None = Field(default=None, strict=True)
    items: list[ItemEditPatch] | None = None


def create_initial_edit(composed: Briefing, top: int | None) -> BriefingEdit:
    """Return the edit that leaves a briefing as it was composed, with the first `top` items in full."""
    items = [
        ItemEdit(id=item.id, standing="top" if top is None or place < top else "more")
        for place, item in enumerate(composed.items)
        if item.id is not None
    ]
    return arrange_items(composed, BriefingEdit(title=composed.title, group=composed.group, items=items))


def apply_edit(composed: Briefing, edit: BriefingEdit, *, by: str | None) -> Briefing:
    """Return the briefing as its edit shows it; `composed` has all of its items in full.

    A sentence of the overview goes if it rests on an item that was left out, or if none of its items is shown in full.
    """
    whole = _index_by_id(composed)
    shown = [(whole[item.id], item.note) for item in edit.items if item.standing == "top" and item.id in whole]
    rest = [(whole[entry.id], entry.note) for entry in edit.items if entry.standing == "more" and entry.id in whole]
    items = [item.model_copy(update={"rank": rank, "note": note}) for rank, (item, note) in enumerate(shown, start=1)]
    more = [
        MoreItem.model_validate(item, from_attributes=True).model_copy(update={"note": note}) for item, note in rest
    ]
    ids = {item.id for item in items}
    named_ids = ids | {item.id for item in more}
    return composed.model_copy(
        update={
            "title": edit.title,
            "group": edit.group,
            "note": edit.note,
            "edited_by": by,
            "items": items,
            "more": more,
            "left_out": len(whole) - len(items) - len(more),
            "overview": [
                sentence
                for sentence in composed.overview
                if edit.has_overview and ids.intersection(sentence.items) and named_ids.issuperset(sentence.items)
            ],
            "overview_dropped": composed.overview_dropped if edit.has_overview else 0,
            "overview_counts": composed.overview_counts if edit.has_overview else StatementCounts(),
            "extracts": sum(item.summary_by is SummaryBy.EXTRACT for item in items),
            "without_summary": sum(not item.summary for item in items),
            "reposts": [repost for repost in composed.reposts if repost in ids],
        }
    )


def update_edit(composed: Briefing, edit: BriefingEdit, patch: BriefingEditPatch, *, by: str) -> BriefingEdit:
    """Return the edit with the patch applied; `by` becomes the author of a note that changes.

    Raises `NotFound` for an item that is not in the briefing, `UsageError` for one that is named twice.
    """
    items = {item.id: item for item in edit.items}
    changed: dict[int, ItemEdit] = {}
    for item in patch.items or ():
        before = items.get(item.id)
        if before is None:
            raise NotFound("briefing.item_not_there", item=item.id)
        if item.id in changed:
            raise UsageError("briefing.item_named_twice", item=item.id)
        note = before.note if item.note is None else _update_note(item.note, before.note, by)
        changed[item.id] = ItemEdit(id=item.id, standing=item.standing or before.standing, note=note)
    updated = BriefingEdit(
        title=normalize_line(patch.title or "") or edit.title,
        note=edit.note if patch.note is None else _update_note(patch.note, edit.note, by),
        group=patch.group or edit.group,
        has_overview=edit.has_overview if patch.has_overview is None else patch.has_overview,
        items=[*changed.values(), *(item for item in edit.items if item.id not in changed)],
    )
    return arrange_items(composed, updated)


def move_item(composed: Briefing, edit: BriefingEdit, item_id: int, move: ItemMove) -> BriefingEdit:
    """Return the edit after one item was moved, or the same edit if it cannot go there.

    Up and down move it by one place within its part; at the end of the part, the whole part changes places with its
    neighbour.
    """
    at = next((place for place, item in enumerate(edit.items) if item.id == item_id), None)
    if at is None:
        return edit
    if move in ("top", "more", "out"):
        chosen = edit.items[at].model_copy(update={"standing": move})
        others = [*edit.items[:at], *edit.items[at + 1 :]]
        items = [*others, chosen] if move == "top" else [chosen, *others]
    else:
        items = _move_by_one(composed, edit, at, move)
    return arrange_items(composed, edit.model_copy(update={"items": items}))


def arrange_items(composed: Briefing, edit: BriefingEdit) -> BriefingEdit:
    """Return the edit with every item of the briefing once, in reading order.

    Items that it does not name follow the others that are shown in full; those of other briefings go.
    """
    whole = _index_by_id(composed)
    named = {item.id: item for item in edit.items if item.id in whole}
    edits = [*named.values(), *(ItemEdit(id=item_id) for item_id in whole if item_id not in named)]
    parts: dict[int | str, list[ItemEdit]] = {}
    for item in edits:
        if item.standing == "top":
            parts.setdefault(get_part_key(whole[item.id], edit.group), []).append(item)
    items = [item for part in parts.values() for item in part]
    for placement in ("more", "out"):
        items.extend(item for item in edits if item.standing == placement)
    return edit.model_copy(update={"items": items})


def _move_by_one(composed: Briefing, edit: BriefingEdit, at: int, move: ItemMove) -> list[ItemEdit]:
    items, whole = list(edit.items), _index_by_id(composed)
    step = -1 if move == "up" else 1
    other = at + step
    if not 0 <= other < len(items) or items[other].standing != items[at].standing:
        return items

    def part(item: ItemEdit) -> tuple[ItemPlacement, int | str]:
        return item.standing, get_part_key(whole[item.id], edit.group) if item.standing == "top" else ""

    if part(items[other]) == part(items[at]):
        items[at], items[other] = items[other], items[at]
        return items
    mine = [item for item in items if part(item) == part(items[at])]
    theirs = [item for item in items if part(item) == part(items[other])]
    first = min(items.index(mine[0]), items.index(theirs[0]))
    pair = [*mine, *theirs] if step < 0 else [*theirs, *mine]
    return [*items[:first], *pair, *items[first + len(pair) :]]


def _index_by_id(composed: Briefing) -> dict[int, BriefingItem]:
    return {item.id: item for item in composed.items if item.id is not None}


def _update_note(text: str, before: AnalystNote | None, by: str) -> AnalystNote | None:
    """Return the note with this text, whose author changes only with the text; None for an empty text."""
    words = "\n".join(line.strip() for line in text.strip().splitlines())
    if not words:
        return None
    return before if before is not None and before.text == words else AnalystNote(text=words, by=by)
