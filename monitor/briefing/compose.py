"""A briefing: what is new, most important first, and what could not be seen.

Everything here is a plain value; the caller gathers items and source states, and says what time it is.
"""

import datetime as dt
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, Field

from monitor.briefing.wire import FallbackWire, ItemWire, item_wire
from monitor.domain.reading import UnseenPlace
from monitor.domain.tables import Item
from monitor.domain.words import RunStatus, SummaryBy

GapKind = Literal[
    "failed", "cancelled", "degraded", "running", "never_run", "silent", "unseen", "over_limit", "left", "refused"
]


class SourceState(BaseModel):
    """What the latest run of a source in the period came to; `status` None where there was none.

    `over_limit`, `left` and `refused` count the candidates in range that were seen and not saved.
    """

    name: str
    status: RunStatus | None = None
    run_id: str | None = None
    is_baseline: bool = False
    new_items: int = 0
    last_error: str | None = None
    last_run_at: dt.datetime | None = None
    last_new_item_at: dt.datetime | None = None
    fallbacks: list[FallbackWire] = Field(default_factory=list)
    unseen: list[UnseenPlace] = Field(default_factory=list)
    over_limit: int = 0
    left: int = 0
    refused: int = 0


class Period(BaseModel):
    """The days that a briefing covers, both included."""

    since: dt.date
    until: dt.date


class MoreItem(BaseModel):
    """An item beyond the top ones."""

    title: str
    url: str
    date: dt.date | None


class Gap(BaseModel):
    """Something that the briefing does not show, or may not show whole."""

    source: str
    kind: GapKind
    detail: str = ""
    url: str | None = None


class Briefing(BaseModel):
    """The published shape, also as JSON. `reposts` are the ids of items whose page lies on another host.

    `extracts` counts the shown summaries that are sentences of the page and no model's words, `without_summary` those
    items that have none. `baselines` names the sources whose first run this is: what they bring is not all new.
    """

    title: str
    period: Period
    language: str
    generated_at: dt.datetime
    public_url: str | None = None
    items: list[ItemWire]
    more: list[MoreItem]
    sources: list[SourceState]
    gaps: list[Gap]
    baselines: list[str]
    extracts: int
    without_summary: int
    reposts: list[int]


def compose(
    items: Sequence[Item],
    runs_info: Sequence[SourceState],
    *,
    title: str,
    period: Period,
    language: str,
    top: int | None,
    generated_at: dt.datetime,
    public_url: str | None = None,
) -> Briefing:
    """The briefing of these items and sources; with `top`, the items beyond it are named in `more`.

    Items of one run stand in the order of its ranks. Ranks of different runs cannot be compared, so items of several
    are merged by tier, then rank, then date. A briefing never hides what it could not see: each failure, fallback,
    silence and unread place of `runs_info` is a gap, whether there are items or not.
    """
    ordered = _in_order(items)
    shown, rest = (ordered, []) if top is None else (ordered[:top], ordered[top:])
    return Briefing(
        title=title,
        period=period,
        language=language,
        generated_at=generated_at,
        public_url=public_url,
        items=[item_wire(item) for item in shown],
        more=[MoreItem(title=item.title, url=item.url, date=item.date) for item in rest],
        sources=list(runs_info),
        gaps=[gap for state in runs_info for gap in gaps_of(state)],
        baselines=[state.name for state in runs_info if state.is_baseline],
        extracts=sum(item.summary_by is SummaryBy.EXTRACT for item in shown),
        without_summary=sum(not item.summary for item in shown),
        reposts=[item.id for item in shown if item.is_repost and item.id is not None],
    )


def gaps_of(state: SourceState) -> list[Gap]:
    """All that one source's latest run leaves open, the gravest first."""
    gaps: list[Gap] = []
    if state.status is None:
        gaps.append(Gap(source=state.name, kind="never_run", detail=state.last_error or ""))
    elif state.status is RunStatus.FAILED:
        gaps.append(Gap(source=state.name, kind="failed", detail=state.last_error or ""))
    elif state.status is RunStatus.CANCELLED:
        gaps.append(Gap(source=state.name, kind="cancelled", detail=state.last_error or ""))
    elif not state.status.is_final:
        gaps.append(Gap(source=state.name, kind="running"))
    elif state.status is RunStatus.DEGRADED and not state.fallbacks:
        gaps.append(Gap(source=state.name, kind="degraded", detail=state.last_error or ""))
    gaps.extend(
        Gap(source=state.name, kind="degraded", detail=f"{fallback.phase} · {fallback.where} · {fallback.reason}")
        for fallback in state.fallbacks
    )
    gaps.extend(
        Gap(source=state.name, kind="unseen", detail=f"{place.section} · {place.reason}", url=place.url)
        for place in state.unseen
    )
    counts: tuple[tuple[GapKind, int], ...] = (
        ("over_limit", state.over_limit), ("left", state.left), ("refused", state.refused),
    )  # fmt: skip
    gaps.extend(Gap(source=state.name, kind=kind, detail=str(count)) for kind, count in counts if count)
    if state.status in (RunStatus.SUCCEEDED, RunStatus.DEGRADED) and state.new_items == 0:
        last = state.last_new_item_at
        gaps.append(Gap(source=state.name, kind="silent", detail=last.date().isoformat() if last else ""))
    return gaps


def _in_order(items: Sequence[Item]) -> list[Item]:
    is_one_run = len({item.run_id for item in items}) == 1

    def place(item: Item) -> tuple[int, int, int]:
        tier = 0 if is_one_run else item.tier or 6
        rank = item.rank if item.rank is not None else 10**6
        return tier, rank, -(item.date.toordinal() if item.date else 0)

    return sorted(items, key=place)
