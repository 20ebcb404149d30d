"""Items as csv and json, for other programs."""

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from monitor.briefing.wire import ItemWire

# A cell that begins with one of these is a formula to a spreadsheet, and titles come from other people's pages.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")


def to_csv(items: Sequence[ItemWire]) -> str:
    """One line an item, the columns named as the fields; no cell can become a formula.

    Attachments are their urls, one after another; a cell that looks like a formula begins with an apostrophe.
    """
    columns = [name for name in ItemWire.model_fields if name != "evidence"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(columns)
    for item in items:
        values = item.model_dump(mode="json")
        values["attachments"] = " ".join(attachment.url for attachment in item.attachments)
        writer.writerow([_cell(values[name]) for name in columns])
    return text.getvalue()


def to_json(items: Sequence[ItemWire]) -> str:
    """The items as a list answers them."""
    document = {"items": [item.model_dump(mode="json") for item in items]}
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = value.replace("\x00", "")
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA_STARTS) else text
