"""A briefing in a format, and items in one."""

import datetime as dt
import json
from collections.abc import Sequence
from typing import Any

from monitor.briefing.compose import Briefing
from monitor.briefing.feed import KeptBriefing, briefing_feed, briefings_feed, item_feed
from monitor.briefing.layout import as_document
from monitor.briefing.rows import briefing_workbook, field_sheet, item_workbook
from monitor.briefing.wire import ItemWire
from monitor.errors import UsageError
from monitor.formats.delimited import delimited
from monitor.formats.feeds import atom
from monitor.formats.render import check_format, render
from monitor.formats.xlsx import xlsx

ITEM_FORMATS = ("csv", "xlsx", "json", "jsonl", "atom")
_TITLES = {"zh": "条目", "en": "Items"}


def render_briefing(briefing: Briefing, format_name: str, template: bytes | None = None) -> bytes:
    """The briefing in any format but pdf, which a browser prints: `app/writing.py` has that too.

    `template` is the Word file that a docx is made from. `UsageError` for a format that is not known.
    """
    match check_format(format_name):
        case "json":
            return _json(briefing.model_dump(mode="json"), indent=2)
        case "xlsx":
            return xlsx(briefing_workbook(briefing))
        case "csv":
            return delimited(briefing_workbook(briefing).sheets[0])
        case "atom":
            return atom(briefing_feed(briefing))
        case "pdf":
            raise UsageError("A PDF is printed by a browser, which this part of the program does not have.")
        case _:
            return render(as_document(briefing), format_name, template)


def render_items(items: Sequence[ItemWire], format_name: str, *, language: str, now: dt.datetime) -> bytes:
    """The items in one of `ITEM_FORMATS`; `now` carries the time zone in which instants are shown to people."""
    title = _TITLES["zh" if language.startswith("zh") else "en"]
    match check_format(format_name, ITEM_FORMATS):
        case "csv":
            return delimited(field_sheet(items))
        case "xlsx":
            return xlsx(item_workbook(items, title, language, now.tzinfo or dt.UTC))
        case "jsonl":
            return b"".join(_json(item.model_dump(mode="json")) for item in items)
        case "json":
            return _json({"items": [item.model_dump(mode="json") for item in items]}, indent=2)
        case _:
            return atom(item_feed(items, title, language, now))


def render_kept(kept: Sequence[KeptBriefing], *, language: str, now: dt.datetime, public_url: str | None) -> bytes:
    """Saved briefings as an Atom feed."""
    return atom(briefings_feed(kept, language, now, public_url))


def _json(document: Any, indent: int | None = None) -> bytes:
    # Half a surrogate pair, which a broken page may bring, has no place in UTF-8: it becomes a question mark.
    return (json.dumps(document, ensure_ascii=False, indent=indent) + "\n").encode(errors="replace")
