"""A briefing put in order by hand: what an analyst decides about it, apart from what was collected.

The briefing as it was composed is never altered; it is shown through an edit, in which an editor's title or summary of
an item stands beside the verified one.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, Field

from monitor.briefing.compose import (
    LOWEST_TIER,
    Briefing,
    BriefingDeadline,
    BriefingItem,
    GroupBy,
    MoreItem,
    Theme,
    build_themes,
    choose_headlines,
    drop_gaps,
)
from monitor.briefing.editor_text import AnalystNote, edit_summary, edit_title, recount_statements
from monitor.errors import NotFound, UsageError
from monitor.exports.document import normalize_line
from monitor.verify.statements import StatementCounts
from monitor.vocabulary import SummaryBy

ItemPlacement = Literal["top", "more", "out"]
"""Where an item stands: shown in full, named among the further ones, or left out."""

ItemMove = Literal["up", "down", "top", "more", "out", "cut"]
MAX_TITLE_CHARS = 300
MAX_NOTE_CHARS = 10_000
MAX_ITEM_TITLE_CHARS = 1_000
MAX_SUMMARY_CHARS = 10_000


class ItemEdit(BaseModel):
    """What was decided about an item; a `title` or `summary` of None is the verified one."""

    id: int
    standing: ItemPlacement = "top"
    note: AnalystNote | None = None
    title: AnalystNote | None = None
    summary: AnalystNote | None = None


class AddedItems(BaseModel):
    """Items that were put into a briefing by hand, each as it was then, and the days that they state."""

    items: list[BriefingItem] = Field(default_factory=list)
    deadlines: list[BriefingDeadline] = Field(default_factory=list)


class BriefingEdit(BaseModel):
    """All that was decided by hand; `items` stand in their order, those that are left out too."""

    title: str
    note: AnalystNote | None = None
    group: GroupBy = "theme"
    has_overview: bool = True
    include_gaps: bool = True
    items: list[ItemEdit] = Field(default_factory=list)
    added: AddedItems = Field(default_factory=AddedItems)


class ItemEditPatch(BaseModel):
    """What is wanted of one item; what is None stays as it is, an empty title or summary is the verified one again."""

    id: int = Field(ge=1, le=2**31 - 1, strict=True)
    standing: ItemPlacement | None = None
    note: str | None = Field(default=None, max_length=MAX_NOTE_CHARS)
    title: str | None = Field(default=None, max_length=MAX_ITEM_TITLE_CHARS)
    summary: str | None = Field(default=None, max_length=MAX_SUMMARY_CHARS)


class BriefingEditPatch(BaseModel):
    """What is wanted of an edit; what is None stays as it is, a note that is empty goes.

    `items` stand in the order that is wanted; those that are not named follow in the order that they had.
    """

    title: str | None = Field(default=None, min_length=1, max_length=MAX_TITLE_CHARS)
    note: str | None = Field(default=None, max_length=MAX_NOTE_CHARS)
    group: GroupBy | None = None
    has_overview: bool | None = Field(default=None, strict=True)
    include_gaps: bool | None = Field(default=None, strict=True)
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
    composed = include_added(composed, edit)
    whole = _index_by_id(composed)
    words = {item.id: _apply_words(whole[item.id], item) for item in edit.items if item.id in whole}
    shown = [words[item.id] for item in edit.items if item.standing == "top" and item.id in whole]
    rest = [words[entry.id] for entry in edit.items if entry.standing == "more" and entry.id in whole]
    items = [item.model_copy(update={"rank": rank}) for rank, item in enumerate(shown, start=1)]
    more = [MoreItem.model_validate(item, from_attributes=True) for item in rest]
    for rank, item in enumerate(more, start=len(items) + 1):
        item.rank = rank
    ids = {item.id for item in items}
    changed_ids = {change.item for change in composed.changes}
    named_ids = ids | {item.id for item in more}
    shown_briefing = composed.model_copy(
        update={
            "title": edit.title,
            "group": edit.group,
            "note": edit.note,
            "edited_by": by,
            "items": items,
            "more": more,
            "headlines": choose_headlines(items),
            "themes": _select_themes(composed.themes, items),
            "deadlines": [line for line in composed.deadlines if line.item in named_ids | changed_ids],
            "left_out": len(whole) - len(items) - len(more),
            "overview": [
                sentence
                for sentence in composed.overview
                if edit.has_overview and ids.intersection(sentence.items) and named_ids.issuperset(sentence.items)
            ],
            "overview_dropped": composed.overview_dropped if edit.has_overview else 0,
            "overview_counts": composed.overview_counts if edit.has_overview else StatementCounts(),
            "extracts": sum(item.summary_by is SummaryBy.EXTRACT for item in items),
            "without_summary": sum(not item.marked_summary for item in items),
            "reposts": [repost for repost in composed.reposts if repost in ids],
        }
    )
    return shown_briefing if edit.include_gaps else drop_gaps(shown_briefing)


def _apply_words(item: BriefingItem, edit: ItemEdit) -> BriefingItem:
    """Return the item with what the editor wrote on it; the sentences that count as verified are those still shown."""
    words: dict[str, object] = {"note": edit.note}
    if edit.title is not None:
        words["editor_title"] = edit_title(edit.title)
    if edit.summary is not None:
        words["editor_summary"] = summary = edit_summary(edit.summary, item.summary)
        if item.statements is not None:
            words["statements"] = recount_statements(item.statements, item.summary, summary, item.unchecked)
    is_changed = len(words) > 1 or edit.note != item.note
    return item.model_copy(update=words) if is_changed else item


def include_added(composed: Briefing, edit: BriefingEdit) -> Briefing:
    """Return the briefing with the items that its edit added, as if they had been composed with it."""
    if not edit.added.items:
        return composed
    items = [*composed.items, *edit.added.items]
    deadlines = sorted(
        [*composed.deadlines, *edit.added.deadlines], key=lambda deadline: (deadline.day, deadline.item, deadline.kind)
    )
    return composed.model_copy(update={"items": items, "deadlines": deadlines, "themes": build_themes(items)})


def add_items(composed: Briefing, edit: BriefingEdit, more: Briefing) -> BriefingEdit:
    """Return the edit with the items of another briefing, each before the first one of a lower tier.

    An item that was left out is shown in full again; one that is shown stays where it is.
    """
    known = _index_by_id(include_added(composed, edit))
    new = [item for item in more.items if item.id not in known]
    added = AddedItems(
        items=[*edit.added.items, *new],
        deadlines=[*edit.added.deadlines, *(day for day in more.deadlines if day.item not in known)],
    )
    wanted = {item.id for item in more.items if item.id is not None}
    stays = [item for item in edit.items if item.id not in wanted or item.standing != "out"]
    whole = known | {item.id: item for item in new if item.id is not None}
    for item in more.items:
        if item.id is not None and all(entry.id != item.id for entry in stays):
            stays.insert(_find_place(stays, whole, item), ItemEdit(id=item.id))
    return arrange_items(composed, edit.model_copy(update={"items": stays, "added": added}))


def remove_items(composed: Briefing, edit: BriefingEdit, item_ids: Sequence[int]) -> BriefingEdit:
    """Return the edit without these items: those that were added go, the others are left out."""
    gone = set(item_ids)
    added = AddedItems(
        items=[item for item in edit.added.items if item.id not in gone],
        deadlines=[day for day in edit.added.deadlines if day.item not in gone],
    )
    items = [item.model_copy(update={"standing": "out"}) if item.id in gone else item for item in edit.items]
    return arrange_items(composed, edit.model_copy(update={"items": items, "added": added}))


def _find_place(entries: Sequence[ItemEdit], whole: Mapping[int, BriefingItem], item: BriefingItem) -> int:
    tier = item.tier or LOWEST_TIER
    lower = (
        place
        for place, entry in enumerate(entries)
        if entry.standing != "top" or (entry.id in whole and (whole[entry.id].tier or LOWEST_TIER) > tier)
    )
    return next(lower, len(entries))


def _select_themes(themes: Sequence[Theme], items: Sequence[BriefingItem]) -> list[Theme]:
    """Return the themes of these items, with those of each in their order."""
    return [
        Theme(name=theme.name, items=ids)
        for theme in themes
        if (ids := [item.id for item in items if item.id is not None and item.id in theme.items])
    ]


def update_edit(composed: Briefing, edit: BriefingEdit, patch: BriefingEditPatch, *, by: str) -> BriefingEdit:
    """Return the edit with the patch applied; `by` becomes the author of a note that changes.

    Raises `NotFound` for an item that is not in the briefing, `UsageError` for one that is named twice.
    """
    items = {item.id: item for item in edit.items}
    whole = _index_by_id(include_added(composed, edit))
    changed: dict[int, ItemEdit] = {}
    for item in patch.items or ():
        before = items.get(item.id)
        if before is None or item.id not in whole:
            raise NotFound("briefing.item_not_there", item=item.id)
        if item.id in changed:
            raise UsageError("briefing.item_named_twice", item=item.id)
        changed[item.id] = _update_item(before, item, whole[item.id], by)
    updated = BriefingEdit(
        title=normalize_line(patch.title or "") or edit.title,
        note=edit.note if patch.note is None else _update_note(patch.note, edit.note, by),
        group=patch.group or edit.group,
        has_overview=edit.has_overview if patch.has_overview is None else patch.has_overview,
        include_gaps=edit.include_gaps if patch.include_gaps is None else patch.include_gaps,
        items=[*changed.values(), *(item for item in edit.items if item.id not in changed)],
        added=edit.added,
    )
    return arrange_items(composed, updated)


def _update_item(before: ItemEdit, patch: ItemEditPatch, verified: BriefingItem, by: str) -> ItemEdit:
    return ItemEdit(
        id=before.id,
        standing=patch.standing or before.standing,
        note=before.note if patch.note is None else _update_note(patch.note, before.note, by),
        title=_update_text(patch.title, before.title, verified.title, by),
        summary=_update_text(patch.summary, before.summary, verified.summary, by),
    )


def _update_text(text: str | None, before: AnalystNote | None, verified: str, by: str) -> AnalystNote | None:
    """Return what the editor wrote in place of a verified text; None where that is the verified one."""
    if text is None:
        return before
    line = normalize_line(text)
    return None if line == normalize_line(verified) else _update_note(line, before, by)


def move_item(composed: Briefing, edit: BriefingEdit, item_id: int, move: ItemMove) -> BriefingEdit:
    """Return the edit after one item was moved, or the same edit if it cannot go there.

    Up and down move it by one place among those that stand as it does; `cut` leaves out all that follow it.
    """
    at = next((place for place, item in enumerate(edit.items) if item.id == item_id), None)
    if at is None:
        return edit
    if move in ("top", "more", "out"):
        chosen = edit.items[at].model_copy(update={"standing": move})
        others = [*edit.items[:at], *edit.items[at + 1 :]]
        items = [*others, chosen] if move == "top" else [chosen, *others]
    elif move == "cut":
        rest = [item.model_copy(update={"standing": "out"}) for item in edit.items[at + 1 :]]
        items = [*edit.items[: at + 1], *rest]
    else:
        items = _move_by_one(edit, at, move)
    return arrange_items(composed, edit.model_copy(update={"items": items}))


def arrange_items(composed: Briefing, edit: BriefingEdit) -> BriefingEdit:
    """Return the edit with every item of the briefing once: those in full, then those that are named, and left out.

    Items that it does not name follow the others that are shown in full; those of other briefings go.
    """
    whole = _index_by_id(include_added(composed, edit))
    named = {item.id: item for item in edit.items if item.id in whole}
    edits = [*named.values(), *(ItemEdit(id=item_id) for item_id in whole if item_id not in named)]
    placements: tuple[ItemPlacement, ...] = ("top", "more", "out")
    items = [item for placement in placements for item in edits if item.standing == placement]
    return edit.model_copy(update={"items": items})


def _move_by_one(edit: BriefingEdit, at: int, move: ItemMove) -> list[ItemEdit]:
    items = list(edit.items)
    other = at + (-1 if move == "up" else 1)
    if 0 <= other < len(items) and items[other].standing == items[at].standing:
        items[at], items[other] = items[other], items[at]
    return items


def _index_by_id(composed: Briefing) -> dict[int, BriefingItem]:
    return {item.id: item for item in composed.items if item.id is not None}


def _update_note(text: str, before: AnalystNote | None, by: str) -> AnalystNote | None:
    """Return the note with this text, whose author changes only with the text; None for an empty text."""
    words = "\n".join(line.strip() for line in text.strip().splitlines())
    if not words:
        return None
    return before if before is not None and before.text == words else AnalystNote(text=words, by=by)
