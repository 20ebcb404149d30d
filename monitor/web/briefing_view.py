"""A briefing as the pages show it: the same document that every format draws, with the way to its items here."""

from dataclasses import dataclass

from monitor.briefing.compose import Briefing, BriefingItem
from monitor.briefing.layout import as_document, parts_of
from monitor.formats.document import Document, numeric_columns


@dataclass(frozen=True)
class BriefingView:
    """The document, and the items of it by the numbers under which they stand there."""

    briefing: Briefing
    document: Document
    items: dict[int, BriefingItem]

    numeric_columns = staticmethod(numeric_columns)


def view_of(briefing: Briefing) -> BriefingView:
    in_order = [item for part in parts_of(briefing).values() for item in part]
    return BriefingView(briefing, as_document(briefing), dict(enumerate(in_order, start=1)))
