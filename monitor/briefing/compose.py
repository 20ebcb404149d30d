"""A briefing: what is new, most important first, what changed, and what could not be seen.

Everything here is a plain value; the caller gathers items and source states, puts them in order, and says what time it
is.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, Field, computed_field

from monitor.briefing.gaps import Gap, SourceRunSummary, list_gaps
from monitor.briefing.item import ItemSchema, get_briefing_messages, mark_sentences
from monitor.briefing.order import RankedBy, Ranking
from monitor.briefing.overview import Overview, OverviewSentence
from monitor.db.tables.collection import Item
from monitor.db.tables.evidence import Revision
from monitor.dedupe.clusters import DocumentCluster
from monitor.document import ItemChange
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.page import ChangeKind, EditOperation, PagePart
from monitor.policies.changes import DeadlineChange, describe_changes
from monitor.ranking.rule import classify_tier
from monitor.verify.statements import StatementCounts
from monitor.vocabulary import RankDirection, SummaryBy

GroupBy = Literal["theme", "source", "none"]
ModelTask = Literal["ranking", "overview"]
LOWEST_TIER = 5


class Period(BaseModel):
    """The days that a briefing covers, both included."""

    since: dt.date
    until: dt.date


class ItemReference(BaseModel):
    """An item that is not shown in full: another place of a document, its interpretation, or one beyond the top."""

    id: int | None
    source: str
    section: str
    title: str
    url: str
    date: dt.date | None


class Interpretation(ItemReference):
    """An item that explains the one that it stands under, with the other places of it."""

    places: list[ItemReference] = Field(default_factory=list)


class AnalystNote(BaseModel):
    """What somebody wrote by hand beside what was collected, and who it was."""

    text: str
    by: str

    @property
    def paragraphs(self) -> list[str]:
        return [line for line in self.text.splitlines() if line.strip()]


class BriefingItem(ItemSchema):
    """An item shown in full; `rank` is its place in this briefing, `moved` how people's feedback moved it there.

    `places` are the other items in which the same document was published, `interpretations` those that explain it.
    `unchecked` are the sentences of the summary that nothing could verify.
    """

    places: list[ItemReference] = Field(default_factory=list)
    interpretations: list[Interpretation] = Field(default_factory=list)
    note: AnalystNote | None = None
    moved: RankDirection | None = None
    unchecked: list[str] = Field(default_factory=list)

    @property
    def marked_summary(self) -> str:
        """The summary with a mark behind each sentence that nothing could verify."""
        return mark_sentences(self.summary, self.unchecked)


class MoreItem(ItemReference):
    """An item beyond the top ones, with what stands under it."""

    places: list[ItemReference] = Field(default_factory=list)
    interpretations: list[Interpretation] = Field(default_factory=list)
    note: AnalystNote | None = None


class ChangedItem(BaseModel):
    """A published item whose page was found altered at `seen_at`.

    `articles` names the clauses that were changed, added, removed or renumbered, as the text does; `parts` what else
    differs. `changes` say it in sentences, moved deadlines first.
    """

    item: int
    title: str
    url: str
    source: str
    kind: ChangeKind
    changes: list[ItemChange] = Field(default_factory=list)
    articles: dict[EditOperation, list[str]] = Field(default_factory=dict)
    parts: list[PagePart] = Field(default_factory=list)
    seen_at: dt.datetime


class ModelFault(MessageModel):
    """What a model was asked for in vain; a rule took its place, or nothing did."""

    task: ModelTask
    reason: Message


class Briefing(BaseModel):
    """The published shape, also as JSON. `items` and `more` stand in order of importance; `group` is for pages.

    Each item stands for one document: its other places and its interpretations are under it and not counted again.
    Each sentence of the `overview` names the items that it rests on; `overview_dropped` counts the sentences that a
    model wrote and that were not kept, `overview_counts` the verdicts on those that were judged. `statements` counts
    the sentences of summaries and overview that are shown, and those that were dropped. `ranked_by`: the run's own
    ranks, a model over the items of all runs, or the rules. `reposts` are the ids of items whose page lies on another
    host. `extracts` counts the shown summaries that are sentences of the page and no model's words, `without_summary`
    those items that have none. `baselines` names the sources whose first run this is: what they bring is not all new.
    `edited_by` is who last put it in order by hand, `note` and those of the items what they wrote; `left_out` counts
    the documents that they took out.
    """

    title: str
    period: Period
    language: str
    generated_at: dt.datetime
    public_url: str | None = None
    group: GroupBy = "theme"
    ranked_by: RankedBy = "rule"
    overview: list[OverviewSentence] = Field(default_factory=list)
    overview_dropped: int = 0
    overview_counts: StatementCounts = Field(default_factory=StatementCounts)
    items: list[BriefingItem]
    more: list[MoreItem]
    changes: list[ChangedItem] = Field(default_factory=list)
    sources: list[SourceRunSummary]
    gaps: list[Gap]
    model_faults: list[ModelFault] = Field(default_factory=list)
    baselines: list[str]
    extracts: int
    without_summary: int
    reposts: list[int]
    note: AnalystNote | None = None
    edited_by: str | None = None
    left_out: int = 0

    @computed_field  # type: ignore[prop-decorator]
    @property
    def statements(self) -> StatementCounts:
        refused = self.overview_counts.model_copy(
            update={"supported_by_code": 0, "supported_by_model": 0, "unchecked": 0}
        )
        shown = StatementCounts.count(sentence.judgement for sentence in self.overview if sentence.judgement)
        return sum((item.statements for item in self.items if item.statements), shown + refused)

    @property
    def has_unchecked(self) -> bool:
        return any(sentence.is_unchecked for sentence in self.overview) or any(item.unchecked for item in self.items)

    @property
    def item_ids(self) -> set[int]:
        listed: list[BriefingItem | MoreItem] = [*self.items, *self.more]
        readings = [reading for item in listed for reading in item.interpretations]
        places = [place for entry in (*listed, *readings) for place in entry.places]
        return {entry.id for entry in (*listed, *readings, *places) if entry.id is not None}


def compose_briefing(
    clusters: Sequence[DocumentCluster],
    sources: Sequence[SourceRunSummary],
    *,
    ranking: Ranking,
    period: Period,
    language: str,
    top: int | None,
    generated_at: dt.datetime,
    public_url: str | None = None,
    group: GroupBy = "theme",
    changes: Sequence[ChangedItem] = (),
) -> Briefing:
    """Return the briefing of these documents in the order of `ranking`, without an overview.

    With `top`, the documents beyond it are named in `more`. A briefing never hides what it could not see: each
    failure, fallback, silence and unread place of a source is a gap, whether there are items or not.
    """
    shown = ranking.order[:top]
    leads = [clusters[place].lead for place in shown]
    return Briefing(
        title=get_briefing_messages(language)("title"),
        period=period,
        language=language,
        generated_at=generated_at,
        public_url=public_url,
        group=group,
        ranked_by=ranking.by,
        items=[_build_top_item(clusters[place], rank, place, ranking) for rank, place in enumerate(shown, start=1)],
        more=[_build_more_item(clusters[place]) for place in ranking.order[len(shown) :]],
        changes=list(changes),
        sources=list(sources),
        gaps=[gap for state in sources for gap in list_gaps(state)],
        model_faults=_build_faults("ranking", ranking.fault),
        baselines=[state.name for state in sources if state.is_baseline],
        extracts=sum(item.summary_by is SummaryBy.EXTRACT for item in leads),
        without_summary=sum(not item.summary for item in leads),
        reposts=[item.id for item in leads if item.is_repost and item.id is not None],
    )


def get_part_key(item: BriefingItem, group: GroupBy) -> int | str:
    """Return the part of a briefing that an item belongs to: its tier, its source, or the only one."""
    if group == "theme":
        return item.tier or LOWEST_TIER
    return item.source if group == "source" else ""


def attach_overview(briefing: Briefing, overview: Overview) -> Briefing:
    faults = _build_faults("overview", overview.fault)
    return briefing.model_copy(
        update={
            "overview": overview.sentences,
            "overview_dropped": overview.dropped,
            "overview_counts": overview.counts,
            "model_faults": [*briefing.model_faults, *faults],
        }
    )


def mark_unchecked(briefing: Briefing, unchecked: Mapping[int, Sequence[str]]) -> Briefing:
    """Return the briefing with the sentences of summaries, by the ids of their items, that nothing could verify."""
    items = [item.model_copy(update={"unchecked": list(unchecked.get(item.id or 0, ()))}) for item in briefing.items]
    return briefing.model_copy(update={"items": items})


def build_changed_item(item: Item, revision: Revision, moves: Sequence[DeadlineChange] = ()) -> ChangedItem:
    """Return what a revision did to an item; `moves` are the deadlines that it added, moved or dropped."""
    change = revision.change
    return ChangedItem(
        item=item.id or 0,
        title=item.title,
        url=item.url,
        source=item.source,
        kind=revision.kind,
        changes=describe_changes(revision, moves),
        articles={op: articles for op in EditOperation if (articles := change.list_articles(op))},
        parts=[part for part in PagePart if part is not PagePart.ARTICLE and change.list_edits(part)],
        seen_at=revision.seen_at,
    )


def _build_top_item(cluster: DocumentCluster, rank: int, place: int, ranking: Ranking) -> BriefingItem:
    lead = cluster.lead
    own = {
        "rank": rank,
        "tier": ranking.tiers.get(place) or lead.tier or classify_tier(lead),
        "moved": ranking.moved.get(place) or lead.moved,
    }
    item = BriefingItem.model_validate(lead, from_attributes=True)
    return item.model_copy(update=_build_related_fields(cluster) | own)


def _build_more_item(cluster: DocumentCluster) -> MoreItem:
    item = MoreItem.model_validate(cluster.lead, from_attributes=True)
    return item.model_copy(update=_build_related_fields(cluster))


def _build_related_fields(cluster: DocumentCluster) -> dict[str, Any]:
    """Return what stands under a document; the interpretations of an interpretation stand beside it."""
    readings = [
        reading
        for interpretation in cluster.interpretations
        for reading in (interpretation, *interpretation.interpretations)
    ]
    return {
        "places": _build_item_references(cluster),
        "interpretations": [_build_interpretation(reading) for reading in readings],
    }


def _build_interpretation(cluster: DocumentCluster) -> Interpretation:
    item = Interpretation.model_validate(cluster.lead, from_attributes=True)
    return item.model_copy(update={"places": _build_item_references(cluster)})


def _build_item_references(cluster: DocumentCluster) -> list[ItemReference]:
    return [ItemReference.model_validate(item, from_attributes=True) for item in cluster.places]


def _build_faults(task: ModelTask, reason: Message | None) -> list[ModelFault]:
    return [ModelFault(task=task, reason=reason)] if reason else []
