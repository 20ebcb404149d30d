"""A briefing put in order by hand: what may be decided, what stays as it was collected."""

import html
import io
import json
import zipfile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.briefing.compose import Briefing
from monitor.briefing.deliver import build_briefing_notification
from monitor.briefing.editing import (
    BriefingEdit,
    BriefingEditPatch,
    ItemMove,
    ItemPlacement,
    add_items,
    apply_edit,
    create_initial_edit,
    move_item,
    update_edit,
)
from monitor.briefing.layout import build_document, list_entries
from monitor.briefing.render import render_briefing
from monitor.db.tables.delivery import Delivery, DeliveryKind
from monitor.errors import UsageError
from monitor.exports.document import Entries


def item(number: int, **fields: Any) -> dict[str, Any]:
    values = {
        "id": number,
        "source": "能源局",
        "section": "通知",
        "title": f"第{number}号",
        "date": "2026-02-01",
        "url": f"https://gov.example/{number}",
        "date_source": "listed",
        "type": "通知",
        "summary": f"摘要{number}",
        "rank": number,
        "tier": 2,
        "summary_by": "model",
        "by": "rule",
        "late": False,
        "document_number": None,
        "issuer": None,
        "language": "zh",
        "first_seen": "2026-02-03T00:30:00Z",
    }
    return {**values, **fields}


def composed(*items: dict[str, Any], **fields: Any) -> Briefing:
    values: dict[str, Any] = {
        "title": "官方动态简报",
        "period": {"since": "2026-02-03", "until": "2026-02-03"},
        "language": "zh",
        "generated_at": "2026-02-03T09:30:00+08:00",
        "items": list(items),
        "more": [],
        "sources": [],
        "gaps": [],
        "baselines": [],
        "extracts": 0,
        "without_summary": 0,
        "reposts": [],
    }
    return Briefing.model_validate({**values, **fields})


FOUR = composed(item(1, tier=1), item(2, tier=2), item(3, tier=1), item(4, tier=2))


def ids(edit: BriefingEdit, standing: ItemPlacement = "top") -> list[int]:
    return [entry.id for entry in edit.items if entry.standing == standing]


def test_the_first_edit_changes_nothing_but_the_room_for_what_is_shown_in_full() -> None:
    shown = apply_edit(FOUR, create_initial_edit(FOUR, None), by=None)
    assert shown.items == FOUR.items
    assert [headline.item for headline in shown.headlines] == [1, 2, 3, 4]
    shown = apply_edit(FOUR, create_initial_edit(FOUR, 3), by=None)
    assert ([entry.id for entry in shown.items], [item.id for item in shown.more]) == ([1, 2, 3], [4])
    assert [item.rank for item in shown.more] == [4]


@pytest.mark.parametrize(
    ("item_id", "move", "expected"),
    [(3, "up", [1, 3, 2, 4]), (2, "down", [1, 3, 2, 4]), (1, "up", [1, 2, 3, 4]), (4, "down", [1, 2, 3, 4])],
    ids=["up", "down", "first already", "last already"],
)
def test_an_item_goes_past_its_neighbour_and_its_rank_with_it(
    item_id: int, move: ItemMove, expected: list[int]
) -> None:
    edit = move_item(FOUR, create_initial_edit(FOUR, None), item_id, move)
    assert ids(edit) == expected
    shown = apply_edit(FOUR, edit, by="王")
    assert [(headline.rank, headline.item) for headline in shown.headlines] == list(enumerate(expected, start=1))


def test_the_editor_may_leave_out_what_could_not_be_seen() -> None:
    edit = update_edit(FOUR, create_initial_edit(FOUR, None), BriefingEditPatch(include_gaps=False), by="王")
    assert not apply_edit(FOUR, edit, by="王").include_gaps
    assert apply_edit(FOUR, create_initial_edit(FOUR, None), by=None).include_gaps


def test_an_item_goes_to_the_further_ones_and_out_and_back() -> None:
    edit = move_item(FOUR, create_initial_edit(FOUR, None), 3, "more")
    assert (ids(edit), ids(edit, "more")) == ([1, 2, 4], [3])
    edit = move_item(FOUR, edit, 3, "out")
    shown = apply_edit(FOUR, edit, by="王")
    assert (shown.left_out, shown.item_ids) == (1, {1, 2, 4})
    assert ids(move_item(FOUR, edit, 3, "top")) == [1, 2, 4, 3]


@given(st.lists(st.tuples(st.sampled_from([1, 2, 3, 4, 9]), st.sampled_from(["up", "down", "top", "more", "out"]))))
def test_whatever_is_moved_every_item_stands_once_and_the_words_are_those_that_were_collected(
    moves: list[tuple[int, ItemMove]],
) -> None:
    edit = create_initial_edit(FOUR, 2)
    for item_id, move in moves:
        edit = move_item(FOUR, edit, item_id, move)
    assert sorted(found_edit.id for found_edit in edit.items) == [1, 2, 3, 4]
    shown = apply_edit(FOUR, edit, by="王")
    assert len(shown.items) + len(shown.more) + shown.left_out == 4
    assert [item.id for item in shown.items] == ids(edit)
    assert sorted(item.id for item in list_entries(shown)) == sorted(ids(edit))
    fields = {"rank", "note"}
    by_id = {entry.id: entry.model_dump(exclude=fields) for entry in FOUR.items}
    assert all(item.model_dump(exclude=fields) == by_id[item.id] for item in shown.items)


def test_a_note_bears_the_name_of_who_wrote_it_until_somebody_changes_it() -> None:
    edit = update_edit(
        FOUR,
        create_initial_edit(FOUR, None),
        BriefingEditPatch(note="关注", items=[{"id": 1, "note": "要点\r\n第二段 "}]),
        by="王",
    )
    again = update_edit(FOUR, edit, BriefingEditPatch(note="关注", items=[{"id": 1, "note": "要点\n第二段"}]), by="李")
    assert again == edit
    assert edit.items[0].note is not None
    assert (edit.items[0].note.by, edit.items[0].note.paragraphs) == ("王", ["要点", "第二段"])
    other = update_edit(FOUR, edit, BriefingEditPatch(note="", items=[{"id": 1, "note": "另一点"}]), by="李")
    assert other.note is None
    assert other.items[0].note is not None
    assert other.items[0].note.by == "李"


def test_a_title_is_one_line_and_never_empty() -> None:
    edit = create_initial_edit(FOUR, None)
    assert update_edit(FOUR, edit, BriefingEditPatch(title=" 本周\n要点\x00 "), by="王").title == "本周 要点"
    assert update_edit(FOUR, edit, BriefingEditPatch(title="\x00"), by="王").title == FOUR.title


def test_what_is_not_named_follows_in_its_order_and_stays_where_it_stood() -> None:
    edit = update_edit(
        FOUR,
        create_initial_edit(FOUR, 3),
        BriefingEditPatch(group="none", items=[{"id": 2}, {"id": 1, "standing": "out"}]),
        by="王",
    )
    assert (ids(edit), ids(edit, "more"), ids(edit, "out")) == ([2, 3], [4], [1])


@pytest.mark.parametrize("wanted", [[{"id": 9}], [{"id": 1}, {"id": 1}]], ids=["unknown", "twice"])
def test_an_item_that_is_not_in_the_briefing_or_is_named_twice_is_refused(wanted: list[dict[str, Any]]) -> None:
    with pytest.raises(UsageError, match=r"Item \d is"):
        update_edit(FOUR, create_initial_edit(FOUR, None), BriefingEditPatch(items=wanted), by="王")


def test_a_sentence_of_the_overview_goes_with_an_item_that_is_left_out() -> None:
    overview = [{"text": "甲。", "items": [1]}, {"text": "乙。", "items": [1, 2]}, {"text": "丙。", "items": [3]}]
    value = composed(item(1), item(2), item(3), overview=overview)

    def edited_sentences(*moves: tuple[int, ItemMove]) -> list[str]:
        edit = create_initial_edit(value, None)
        for item_id, move in moves:
            edit = move_item(value, edit, item_id, move)
        return [sentence.text for sentence in apply_edit(value, edit, by="王").overview]

    assert edited_sentences() == ["甲。", "乙。", "丙。"]
    assert edited_sentences((2, "out")) == ["甲。", "丙。"]
    assert edited_sentences((2, "more"), (3, "more")) == ["甲。", "乙。"]
    off = update_edit(value, create_initial_edit(value, None), BriefingEditPatch(has_overview=False), by="王")
    assert apply_edit(value, off, by="王").overview == []


def test_the_document_says_who_edited_it_and_how_many_items_were_left_out() -> None:
    edit = move_item(FOUR, create_initial_edit(FOUR, None), 2, "out")
    text = render_briefing(apply_edit(FOUR, edit, by="王"), "md").decode()
    assert "本简报经王编辑" in text
    assert "编辑时有 1 条未列入" in text
    assert "编辑" not in render_briefing(FOUR, "md").decode()


def test_the_footnotes_of_the_overview_point_at_the_numbers_of_the_entries() -> None:
    value = composed(item(1, tier=2), item(2, tier=1), item(3, tier=2), overview=[{"text": "甲。", "items": [3, 2]}])
    document = build_document(value)
    spans = [span for block in document.blocks if block.kind == "paragraph" for span in block.spans]
    numbers = {
        entry.title.text: entry.number
        for block in document.blocks
        if isinstance(block, Entries)
        for entry in block.entries
    }
    assert [span.entry for span in spans if span.entry] == sorted([numbers["第3号"], numbers["第2号"]])


def test_a_chat_gets_the_order_by_hand_and_the_notes() -> None:
    wanted = BriefingEditPatch(group="none", note="本周重点", items=[{"id": 4, "note": "请看"}])
    edit = update_edit(FOUR, create_initial_edit(FOUR, None), wanted, by="王")
    delivery = Delivery(
        id="d", target="chat", kind=DeliveryKind.TYPED, planned_at=FOUR.generated_at, key="k", message_id="<m@x>"
    )
    letter = build_briefing_notification(delivery, apply_edit(FOUR, edit, by="王"), unfinished=(), enclosures=())
    note, first, *_ = letter.digest.points
    assert note == "✎ 本周重点 (王)"
    assert first.startswith("1. 第4号")
    assert "✎ 请看 (王)" in first


JUDGED = composed(
    item(
        1,
        summary="甲增长5%。乙下降。丙待定。",
        unchecked=["丙待定。"],
        statements={"supported_by_code": 1, "supported_by_model": 1, "unchecked": 1},
    ),
    item(2, tier=5),
    item(3),
)


def reword(briefing: Briefing, *items: dict[str, Any], top: int | None = None, by: str = "李") -> BriefingEdit:
    return update_edit(briefing, create_initial_edit(briefing, top), BriefingEditPatch(items=list(items)), by=by)


def test_a_sentence_of_the_editor_is_marked_and_the_verified_text_stays_beside_it() -> None:
    edit = reword(JUDGED, {"id": 1, "title": "新标题", "summary": "甲增长5%。增长5%。丙待定。"})
    first = apply_edit(JUDGED, edit, by="李").items[0]
    assert (first.title, first.summary) == (JUDGED.items[0].title, JUDGED.items[0].summary)
    assert first.shown_title == "新标题‡"
    assert first.marked_summary == "甲增长5%。增长5%。‡丙待定。†"
    assert first.editor_summary is not None
    assert (first.editor_summary.by, first.editor_summary.own) == ("李", ["增长5%。"])


def test_only_the_verified_sentences_that_are_still_shown_are_counted() -> None:
    edit = reword(JUDGED, {"id": 1, "summary": "甲增长5%。丁大涨。"})
    counts = apply_edit(JUDGED, edit, by="李").statements
    assert (counts.shown, counts.supported_by_code, counts.unchecked) == (1, 0, 0)
    assert apply_edit(JUDGED, create_initial_edit(JUDGED, None), by=None).statements.shown == 3


@pytest.mark.parametrize(
    "restored",
    [{"title": "", "summary": ""}, {"title": " 第1号 ", "summary": " 甲增长5%。乙下降。丙待定。\n"}],
    ids=["emptied", "typed again"],
)
def test_the_verified_text_comes_back(restored: dict[str, str]) -> None:
    edit = reword(JUDGED, {"id": 1, "title": "新标题", "summary": "别的。"})
    again = update_edit(JUDGED, edit, BriefingEditPatch(items=[{"id": 1, **restored}]), by="王")
    assert again == create_initial_edit(JUDGED, None)


def test_a_text_bears_the_name_of_who_changed_it_last() -> None:
    edit = reword(JUDGED, {"id": 1, "title": "新标题", "summary": "别的。"})
    saved = update_edit(
        JUDGED, edit, BriefingEditPatch(items=[{"id": 1, "title": "新标题", "summary": "更好。"}]), by="王"
    )
    title, summary = saved.items[0].title, saved.items[0].summary
    assert title is not None
    assert summary is not None
    assert (title.by, summary.by) == ("李", "王")


@pytest.mark.parametrize("format_name", ["md", "html", "atom", "csv", "docx", "xlsx"])
def test_every_format_marks_what_the_editor_wrote(format_name: str) -> None:
    edit = reword(
        JUDGED, {"id": 1, "title": "新标题", "summary": "甲增长5%。丁大涨。"}, {"id": 3, "title": "三"}, top=2
    )
    content = render_briefing(apply_edit(JUDGED, edit, by="李"), format_name)
    if format_name in ("docx", "xlsx"):
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            content = b"".join(file.read(name) for name in file.namelist() if name.endswith(".xml"))
    text = html.unescape(content.decode())
    for words in ("新标题‡", "丁大涨。‡", "三‡"):
        assert words in text
    assert "甲增长5%。‡" not in text
    assert "第1号" in text or format_name == "atom"


def test_mail_and_chat_mark_what_the_editor_wrote() -> None:
    edit = reword(JUDGED, {"id": 1, "title": "新标题", "summary": "丁大涨。"}, {"id": 3, "title": "三"}, top=2)
    delivery = Delivery(
        id="d", target="t", kind=DeliveryKind.TYPED, planned_at=FOUR.generated_at, key="k", message_id="<m@x>"
    )
    letter = build_briefing_notification(delivery, apply_edit(JUDGED, edit, by="李"), unfinished=(), enclosures=())
    assert all("新标题‡" in text for text in (letter.html, letter.text, letter.digest.points[0]))
    assert all("丁大涨。‡" in text for text in (letter.html, letter.text))


def test_json_keeps_the_verified_text_where_it_was_and_the_editors_beside_it() -> None:
    edit = reword(JUDGED, {"id": 1, "title": "新标题"})
    first = json.loads(render_briefing(apply_edit(JUDGED, edit, by="李"), "json"))["items"][0]
    assert first["title"] == "第1号"
    assert first["editor_title"] == {"text": "新标题", "by": "李", "own": ["新标题"]}


def test_all_below_the_cut_is_left_out_and_kept() -> None:
    edit = move_item(FOUR, create_initial_edit(FOUR, 3), 2, "cut")
    assert (ids(edit), ids(edit, "more"), ids(edit, "out")) == ([1, 2], [], [3, 4])


def test_what_was_added_by_hand_survives_later_edits() -> None:
    edit = add_items(FOUR, create_initial_edit(FOUR, None), composed(item(9, tier=1)))
    saved = update_edit(FOUR, edit, BriefingEditPatch(title="本周"), by="王")
    assert 9 in ids(saved)
    assert 9 in apply_edit(FOUR, saved, by="王").item_ids
