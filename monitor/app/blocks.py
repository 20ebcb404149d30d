"""Which sites keep us from their pages, by day and kind of block."""

import datetime as dt
import re
from collections import Counter
from collections.abc import Sequence
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field

from monitor.store.outlook import BLOCKED, Block

_KIND = re.compile(rf"{re.escape(BLOCKED)}(\w+)")


class HostBlock(BaseModel):
    """How many pages of a host were kept from us on a day, by one kind of block (`detail_code` of a page error)."""

    day: dt.date
    host: str = Field(examples=["www.example.gov.cn"])
    detail_code: str = Field(examples=["http_403"])
    pages: int = Field(examples=[3])


def blocks_by_host(blocks: Sequence[Block], zone: ZoneInfo) -> list[HostBlock]:
    """The blocks counted, newest day first; what names a section instead of a page counts for its source's host."""
    counted: Counter[tuple[dt.date, str, str]] = Counter()
    for block in blocks:
        kind = _KIND.search(block.reason)
        host = _host(block.place) or _host(block.source_url or "") or block.source
        counted[block.at.astimezone(zone).date(), host, kind[1] if kind else ""] += 1
    rows = sorted(counted.items(), key=lambda one: (-one[0][0].toordinal(), one[0][1:]))
    return [HostBlock(day=day, host=host, detail_code=code, pages=pages) for (day, host, code), pages in rows]


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
