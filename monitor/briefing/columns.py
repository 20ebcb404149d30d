"""The columns of items, changes, sources and gaps in tables: their names, titles and widths."""

from monitor.formats.sheets import Column

ITEMS = (
    "rank",
    "place",
    "date",
    "title",
    "type",
    "source",
    "document_number",
    "summary",
    "summary_by",
    "section",
    "issuer",
    "date_source",
    "late",
    "attachments",
    "first_seen",
    "url",
)
LAST_PRINTED = "summary"
NOTED_ITEMS = (*ITEMS[: ITEMS.index(LAST_PRINTED)], "note", *ITEMS[ITEMS.index(LAST_PRINTED) :])
"""Those of items of which one has a note."""
CHANGES = ("title", "change", "differences", "source", "seen_at", "url")
SOURCES = ("source", "state", "new_items", "remarks", "last_run_at", "last_new_item_at")
GAPS = ("source", "kind", "detail", "url")
NOTES = ("subject", "text")

# A column's title in Chinese and in English, and its width in Latin letters.
_COLUMNS: dict[str, tuple[str, str, int]] = {
    "rank": ("序", "No.", 6),
    "place": ("位置", "Place", 12),
    "date": ("日期", "Date", 12),
    "title": ("标题", "Title", 72),
    "type": ("类型", "Type", 13),
    "source": ("来源", "Source", 18),
    "section": ("栏目", "Section", 16),
    "summary": ("摘要", "Summary", 64),
    "note": ("批注", "Note", 40),
    "summary_by": ("摘要方式", "Summary by", 11),
    "document_number": ("文号", "Document number", 22),
    "issuer": ("发布机关", "Issuer", 20),
    "date_source": ("日期出处", "Date from", 11),
    "late": ("迟到", "Late", 8),
    "attachments": ("附件", "Attachments", 36),
    "first_seen": ("首次看到", "First seen", 17),
    "url": ("网址", "Address", 48),
    "change": ("变更", "Change", 14),
    "differences": ("改动之处", "What differs", 44),
    "seen_at": ("发现于", "Seen", 17),
    "state": ("状态", "State", 12),
    "new_items": ("新条目", "New items", 10),
    "remarks": ("说明", "Remarks", 60),
    "last_run_at": ("最近采集", "Last run", 17),
    "last_new_item_at": ("最近新条目", "Last new item", 17),
    "kind": ("情形", "What", 26),
    "subject": ("事项", "Subject", 18),
    "text": ("内容", "Text", 100),
    "detail": ("详情", "Detail", 70),
}


def build_columns(names: tuple[str, ...], language: str) -> list[Column]:
    """The columns of those names, titled in the language: Chinese for any kind of it, English for all others."""
    chosen = []
    for name in names:
        chinese, english, width = _COLUMNS[name]
        chosen.append(Column(name=name, title=chinese if language.startswith("zh") else english, width=width))
    return chosen
