"""A briefing: what is new, most important first, what changed, and what could not be seen.

Everything here is a plain value; the caller gathers items and source states, puts them in order, and says what time it
is.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, Field, computed_field

from monitor.briefing.editor_text import AnalystNote, EditedText, choose_title, mark_edited_text
from monitor.briefing.gaps import Gap, SourceRunSummary, list_gaps
from monitor.briefing.headlines import HeadlineDeadline, Why, WrittenReasons, explain_importance
from monitor.briefing.item import BriefingMessages, ItemSchema, get_briefing_messages, mark_sentences
from monitor.briefing.order import RankedBy, Ranking
from monitor.briefing.overview import Overview, OverviewSentence
from monitor.briefing.themes import ThemedTitle, group_by_theme, name_theme
from monitor.db.queries.briefing import BriefingFacts
from monitor.db.tables.collection import Item
from monitor.db.tables.evidence import Revision
from monitor.db.tables.policies import Deadline
from monitor.dedupe.clusters import DocumentCluster
from monitor.document import DocumentFacts, ItemChange, StatedDeadline
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.page import ChangeKind, EditOperation, PagePart
from monitor.policies.changes import DeadlineChange, describe_changes
from monitor.ranking.rule import classify_tier
from monitor.verify.statements import StatementCounts
from monitor.vocabulary import DeadlineKind, DocumentKind, ItemType, PolicyStage, RankDirection, SummaryBy, Verdict

GroupBy = Literal["theme", "source", "none"]
ModelTask = Literal["ranking", "overview", "headlines"]
BriefingPart = Literal["theme", "enforcement", "data", "routine"]
LOWEST_TIER = 5
MIN_HEADLINES, MAX_HEADLINES = 3, 5
_HIGH_TIER = 2  # an item of a lower one is a headline only where there are few
_ROUTINE_KINDS = (DocumentKind.PERSONNEL, DocumentKind.MEETING)


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


class BriefingItem(ItemSchema):
    """An item shown in full; `rank` is its place in this briefing, `moved` how people's feedback moved it there.

    `places` are the other items in which the same document was published, `interpretations` those that explain it.
    `unchecked` are the sentences of the summary that nothing could verify. `why` says why it matters, `relevance` why
    it concerns those for whom the briefing is. `kind`, `stage` and `policy` are those of its document, where known.
    `title` and `summary` are always the verified ones; `editor_title` and `editor_summary` are shown in their place.
    """

    places: list[ItemReference] = Field(default_factory=list)
    interpretations: list[Interpretation] = Field(default_factory=list)
    note: AnalystNote | None = None
    editor_title: EditedText | None = None
    editor_summary: EditedText | None = None
    moved: RankDirection | None = None
    unchecked: list[str] = Field(default_factory=list)
    why: Why | None = None
    relevance: str = ""
    kind: DocumentKind | None = None
    stage: PolicyStage | None = None
    policy: str = ""

    @property
    def part(self) -> BriefingPart:
        """Where it stands when it is no headline; what somebody wrote on is never mere routine."""
        if self.kind is DocumentKind.ENFORCEMENT or self.stage is PolicyStage.ENFORCEMENT:
            return "enforcement"
        if self.kind is DocumentKind.STATISTICS or (self.kind is None and self.type is ItemType.DATA):
            return "data"
        is_low = self.tier == LOWEST_TIER or self.kind in _ROUTINE_KINDS
        return "routine" if is_low and not (self.note or self.editor_title or self.editor_summary) else "theme"

    @property
    def shown_title(self) -> str:
        return choose_title(self.title, self.editor_title)

    @property
    def marked_summary(self) -> str:
        """The summary that is shown, with a mark behind each sentence that nothing could verify, or an editor wrote."""
        edited = self.editor_summary
        return mark_edited_text(edited, self.unchecked) if edited else mark_sentences(self.summary, self.unchecked)


class MoreItem(ItemReference):
    """An item beyond the top ones, with its place in the briefing and what stands under it."""

    rank: int | None = None
    tier: int | None = None
    places: list[ItemReference] = Field(default_factory=list)
    interpretations: list[Interpretation] = Field(default_factory=list)
    note: AnalystNote | None = None
    editor_title: EditedText | None = None

    @property
    def shown_title(self) -> str:
        return choose_title(self.title, self.editor_title)


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


class Headline(BaseModel):
    """One of the first items, and in a line why it matters: borne out by its page, or an assessment."""

    item: int
    rank: int
    title: str
    url: str
    why: str = ""
    verdict: Verdict | None = None
    is_assessment: bool = False


class BriefingDeadline(BaseModel):
    """A day that an item of the briefing states; `moved_from` is the day that it had before this period."""

    item: int
    day: dt.date
    kind: DeadlineKind
    subject: str = ""
    title: str
    url: str
    moved_from: dt.date | None = None
    verdict: Verdict = Verdict.SUPPORTED

    @property
    def is_unchecked(self) -> bool:
        return self.verdict is Verdict.UNCHECKED


class Theme(BaseModel):
    """Items of one subject, in order of importance."""

    name: str
    items: list[int]


class Briefing(BaseModel):
    """The published shape, also as JSON. `items` and `more` stand in order of importance; `group` is for pages.

    `audience` is for whom it is: the name of a topic or client; `off_topic` counts the items that do not concern it.
    `headlines` are the first items, `themes` have those of one subject, `deadlines` the days to come that the items
    state. Without `include_gaps` it says nothing of what could not be seen: a copy for a client.

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
    audience: str = ""
    ranked_by: RankedBy = "rule"
    headlines: list[Headline] = Field(default_factory=list)
    deadlines: list[BriefingDeadline] = Field(default_factory=list)
    themes: list[Theme] = Field(default_factory=list)
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
    off_topic: int = 0
    include_gaps: bool = True

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
        has_reason = any(item.unchecked or (item.why is not None and item.why.is_unchecked) for item in self.items)
        has_sentence = any(sentence.is_unchecked for sentence in self.overview)
        return has_reason or has_sentence or any(deadline.is_unchecked for deadline in self.deadlines)

    @property
    def has_editor_text(self) -> bool:
        has_words = any(item.editor_title or item.editor_summary for item in self.items)
        return has_words or any(item.editor_title for item in self.more)

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
    changes: Sequence[ChangedItem] = (),
    facts: BriefingFacts | None = None,
) -> Briefing:
    """Return the briefing of these documents in the order of `ranking`, without an overview.

    With `top`, the documents beyond it are named in `more`. A briefing never hides what it could not see: each
    failure, fallback, silence and unread place of a source is a gap, whether there are items or not.
    """
    words = get_briefing_messages(language)
    known = facts or BriefingFacts()
    today = generated_at.date()
    shown = ranking.order[:top]
    leads = [clusters[place].lead for place in shown]
    items = [_build_top_item(clusters[place], rank, place, ranking) for rank, place in enumerate(shown, start=1)]
    items = [_add_facts(item, known, words, today) for item in items]
    rest = enumerate(ranking.order[len(shown) :], start=len(shown) + 1)
    more = [_build_more_item(clusters[place], rank, place, ranking) for rank, place in rest]
    return Briefing(
        title=words("title"),
        period=period,
        language=language,
        generated_at=generated_at,
        public_url=public_url,
        audience=known.topic or "",
        ranked_by=ranking.by,
        headlines=choose_headlines(items),
        deadlines=_list_deadlines([*_drop_routine([*items, *more]), *changes], known, today),
        themes=build_themes(items),
        items=items,
        more=more,
        changes=list(changes),
        sources=list(sources),
        gaps=[gap for state in sources for gap in list_gaps(state)],
        model_faults=_build_faults("ranking", ranking.fault),
        baselines=[state.name for state in sources if state.is_baseline],
        extracts=sum(item.summary_by is SummaryBy.EXTRACT for item in leads),
        without_summary=sum(not item.summary for item in leads),
        reposts=[item.id for item in leads if item.is_repost and item.id is not None],
        off_topic=known.off_topic,
    )


def choose_headlines(items: Sequence[BriefingItem]) -> list[Headline]:
    """Return the first three items, and two more of a high tier.

    Routine is a headline only where the order puts it among the first five, before something that weighs more.
    """
    weighty = [place for place, item in enumerate(items) if item.part != "routine"]
    last = min(weighty[-1], MAX_HEADLINES) if weighty else 0
    candidates = [item for place, item in enumerate(items) if item.part != "routine" or place < last]
    chosen = [
        item
        for place, item in enumerate(candidates[:MAX_HEADLINES])
        if place < MIN_HEADLINES or (item.tier or LOWEST_TIER) <= _HIGH_TIER
    ]
    return [_build_headline(item) for item in chosen if item.id is not None]


def _build_headline(item: BriefingItem) -> Headline:
    why = item.why
    return Headline(
        item=item.id or 0,
        rank=item.rank or 0,
        title=item.title,
        url=item.url,
        why=why.text if why else "",
        verdict=why.verdict if why else None,
        is_assessment=why is not None and why.is_assessment,
    )


def build_themes(items: Sequence[BriefingItem]) -> list[Theme]:
    """Return the themes of the items that are no enforcement, data or routine; an item without fellows is in none."""
    titles = [
        ThemedTitle(item.id, item.title, item.policy, [name for name in (item.issuer, item.source) if name])
        for item in items
        if item.id is not None and item.part == "theme"
    ]
    return [Theme(name=name_theme(group.name), items=group.items) for group in group_by_theme(titles)]


def attach_reasons(briefing: Briefing, written: WrittenReasons) -> Briefing:
    """Return the briefing with the lines that a model wrote on its headlines in place of the rules' own."""
    items = [
        item.model_copy(update={"why": written.lines[item.id]}) if item.id in written.lines else item
        for item in briefing.items
    ]
    faults = [*briefing.model_faults, *_build_faults("headlines", written.fault)]
    return briefing.model_copy(update={"items": items, "headlines": choose_headlines(items), "model_faults": faults})


def drop_gaps(briefing: Briefing) -> Briefing:
    """Return the copy for a client: without what could not be seen, and what the model failed to do."""
    left_out: dict[str, Any] = {"include_gaps": False}
    for name in ("sources", "gaps", "model_faults", "baselines"):
        left_out[name] = []
    return briefing.model_copy(update=left_out)


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
        "rank_reason": ranking.reasons.get(place) or lead.rank_reason,
    }
    item = BriefingItem.model_validate(lead, from_attributes=True)
    return item.model_copy(update=_build_related_fields(cluster) | own)


def _add_facts(item: BriefingItem, known: BriefingFacts, words: BriefingMessages, today: dt.date) -> BriefingItem:
    """Return the item with what its document says of itself, and why it matters."""
    item_id = item.id or 0
    facts, fit = known.facts.get(item_id), known.fits.get(item_id)
    days = [HeadlineDeadline(d.kind, d.day, d.moved_from, d.verdict) for d in _list_item_deadlines(item, known)]
    return item.model_copy(
        update={
            "why": explain_importance(facts, days, item.rank_reason, words, today=today),
            "relevance": words.translate(fit.reason) if fit is not None and fit.is_match else "",
            "kind": facts.kind if facts else None,
            "stage": facts.stage if facts else None,
            "policy": known.policies.get(item_id, ""),
        }
    )


def _drop_routine(items: Sequence[BriefingItem | MoreItem]) -> list[BriefingItem | MoreItem]:
    """Leave out daily business: by when to sign up for a forum or for an examination is no client's deadline."""
    return [item for item in items if item.tier != LOWEST_TIER]


def _list_deadlines(
    named: Sequence[BriefingItem | MoreItem | ChangedItem], known: BriefingFacts, today: dt.date
) -> list[BriefingDeadline]:
    """Return the days to come, the nearest first, and those that moved in the period; each of an item once."""
    found: dict[tuple[int, DeadlineKind, str], BriefingDeadline] = {}
    for item in named:
        for deadline in _list_item_deadlines(item, known):
            if deadline.day >= today or deadline.moved_from is not None:
                found.setdefault((deadline.item, deadline.kind, deadline.subject), deadline)
    return sorted(found.values(), key=lambda deadline: (deadline.day, deadline.item, deadline.kind))


def _list_item_deadlines(item: BriefingItem | MoreItem | ChangedItem, known: BriefingFacts) -> list[BriefingDeadline]:
    """Return the deadlines that are on record of an item; where there are none, those that its facts state."""
    item_id = item.item if isinstance(item, ChangedItem) else item.id or 0
    facts: DocumentFacts | None = known.facts.get(item_id)
    stated: Sequence[Deadline | StatedDeadline] = known.deadlines.get(item_id) or (facts.deadlines if facts else [])
    return [
        BriefingDeadline(
            item=item_id,
            day=deadline.day,
            kind=deadline.kind,
            subject=deadline.subject,
            title=item.title,
            url=item.url,
            moved_from=known.moved_from.get(deadline.id or 0) if isinstance(deadline, Deadline) else None,
            verdict=deadline.verdict,
        )
        for deadline in stated
    ]


def _build_more_item(cluster: DocumentCluster, rank: int, place: int, ranking: Ranking) -> MoreItem:
    lead = cluster.lead
    item = MoreItem.model_validate(lead, from_attributes=True)
    own = {"rank": rank, "tier": ranking.tiers.get(place) or lead.tier or classify_tier(lead)}
    return item.model_copy(update=_build_related_fields(cluster) | own)


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
