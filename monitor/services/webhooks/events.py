"""What an event says: its subject in the shapes of the API, and the body that an endpoint gets."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from monitor.briefing.compose import Briefing
from monitor.briefing.item import ItemSchema, build_item_schema
from monitor.db.database import Store
from monitor.db.queries.delivery import BriefingRow
from monitor.db.queries.topics import ItemTopic
from monitor.db.tables.delivery import AlarmView
from monitor.db.tables.webhooks import WebhookEndpoint, WebhookEvent, WebhookEventType, WebhookFormat
from monitor.db.visibility import see_as
from monitor.errors import NotFound
from monitor.i18n.model import LANGUAGE
from monitor.services.deadlines import DeadlineDetail, DeadlineService
from monitor.services.deliveries import DeliverySchema
from monitor.services.dispatch import parse_briefing_record
from monitor.services.drafts import BriefingDraftService
from monitor.services.items import RevisionSchema, build_revision_schema
from monitor.services.research.views import ResearchView, build_view
from monitor.services.runs import RunSummary, load_run_summaries
from monitor.services.teams import get_team_eyes
from monitor.vocabulary import Visibility

LANGUAGES = ("en", "zh")


class WebhookData(BaseModel):
    """The `data` of an event: what it is about in the shapes of the API, and only that.

    An item comes with the topics that it fits and, where its page changed, with the `change`; `is_baseline` says that
    the first run of its source found it. A briefing comes as it was made, with its entry in the list of `saved` ones or
    with the `delivery` that it was composed for.
    """

    item: ItemSchema | None = None
    topics: list[ItemTopic] | None = None
    is_baseline: bool | None = None
    change: RevisionSchema | None = None
    deadline: DeadlineDetail | None = None
    alarm: AlarmView | None = None
    run: RunSummary | None = None
    briefing: Briefing | None = None
    saved: BriefingRow | None = None
    delivery: DeliverySchema | None = None
    research: ResearchView | None = None


_Loader = Callable[[str], Awaitable[WebhookData | None]]


@dataclass(kw_only=True)
class WebhookDataLoader:
    """Loads what is to be sent of an event as its subject stands now."""

    store: Store
    deadlines: DeadlineService
    drafts: BriefingDraftService

    def __post_init__(self) -> None:
        self._loaders: dict[str, _Loader] = {
            "item": self._load_item,
            "deadline": self._load_deadline,
            "alarm": self._load_alarm,
            "run": self._load_run,
            "briefing": self._load_saved,
            "delivery": self._load_composed,
            "research": self._load_research,
        }

    async def load(self, event: WebhookEvent) -> tuple[dict[str, Any] | None, list[int]]:
        """Return the data by language, and the topics of the item that it is about; note the event's team in it.

        None where the subject was removed meanwhile, or is a private research.
        """
        kind, _, subject_id = event.subject.partition(":")
        event.team_id = await self.store.webhooks.get_team(kind, subject_id)
        with see_as(get_team_eyes(event.team_id)):  # nothing of another team is told beside it
            loaded = await self._loaders[kind](subject_id)
        if loaded is None:
            return None, []
        data = {language: _dump(loaded, language) for language in LANGUAGES}
        if event.type is WebhookEventType.ITEM_CHANGED:
            revision = await self.store.revisions.get(event.ref or 0)
            if revision is None:
                return None, []
            for language in LANGUAGES:
                # The one sentence of a change is words already, in one language.
                change = WebhookData(change=build_revision_schema(revision, language))
                data[language] |= _dump(change, language)
        return data, [topic.id for topic in loaded.topics or ()]

    async def _load_item(self, item_id: str) -> WebhookData | None:
        item = await self.store.items.get(int(item_id))
        if item is None:
            return None
        run = await self.store.runs.get(item.run_id)
        return WebhookData(
            item=build_item_schema(item),
            topics=await self._list_topics(int(item_id)),
            is_baseline=run is not None and run.is_baseline,
        )

    async def _load_deadline(self, deadline_id: str) -> WebhookData | None:
        try:
            deadline = await self.deadlines.get(int(deadline_id))
        except NotFound:
            return None
        return WebhookData(deadline=deadline, topics=await self._list_topics(deadline.item_id))

    async def _list_topics(self, item_id: int) -> list[ItemTopic]:
        return (await self.store.topics.list_matches([item_id])).get(item_id, [])

    async def _load_alarm(self, alarm_id: str) -> WebhookData | None:
        alarm = await self.store.alarms.get_view(int(alarm_id))
        return None if alarm is None else WebhookData(alarm=alarm)

    async def _load_run(self, run_id: str) -> WebhookData | None:
        run = await self.store.runs.get(run_id)
        return None if run is None else WebhookData(run=(await load_run_summaries([run], self.store))[0])

    async def _load_saved(self, briefing_id: str) -> WebhookData | None:
        try:
            draft = await self.drafts.get(int(briefing_id))
        except NotFound:
            return None
        return WebhookData(briefing=draft.briefing, saved=draft.row)

    async def _load_composed(self, delivery_id: str) -> WebhookData | None:
        delivery = await self.store.deliveries.get(delivery_id)
        record = await self.store.deliveries.get_briefing(delivery_id)
        briefing = await asyncio.to_thread(parse_briefing_record, record)
        if delivery is None or briefing is None:
            return None
        shown = DeliverySchema.model_validate(delivery, from_attributes=True)
        return WebhookData(briefing=briefing, delivery=shown)

    async def _load_research(self, task_id: str) -> WebhookData | None:
        """None for a private one, and for a question about a report, which is read with that report."""
        research = await self.store.research.get(task_id)
        if research is None or research.visibility is not Visibility.OPEN or research.parent_id is not None:
            return None
        latest = await self.store.research_events.latest(task_id)
        return WebhookData(research=build_view(research, latest, await self.store.usage.load_run_usage(task_id)))


def _dump(data: WebhookData, language: str) -> dict[str, Any]:
    given = data.model_fields_set
    return data.model_dump(mode="json", by_alias=True, include=given, context={LANGUAGE: language})


def wants_event(event: WebhookEvent, endpoint: WebhookEndpoint) -> bool:
    """Whether an endpoint is told; its topics narrow what is about an item, and nothing else.

    What belongs to a team goes to its endpoints alone.
    """
    if event.team_id not in (None, endpoint.team_id) or (endpoint.types and event.type not in endpoint.types):
        return False
    is_about_item = event.subject.partition(":")[0] in ("item", "deadline")
    return not endpoint.topics or not is_about_item or bool(set(endpoint.topics).intersection(event.topics))


def build_body(event: WebhookEvent, *, form: WebhookFormat, language: str, source: str) -> tuple[str, bytes]:
    """Return media type and body of an event, the same at every attempt; `source` names this service."""
    data = (event.data or {}).get(language, {})
    at = event.occurred_at.isoformat().replace("+00:00", "Z")
    if form is WebhookFormat.CLOUDEVENTS:
        media_type = "application/cloudevents+json"
        document = {
            "specversion": "1.0",
            "id": event.key,
            "source": source,
            "type": str(event.type),
            "subject": event.subject,
            "time": at,
            "datacontenttype": "application/json",
            "data": data,
        }
    else:
        media_type = "application/json"
        document = {"id": event.key, "type": str(event.type), "timestamp": at, "subject": event.subject, "data": data}
    return media_type, json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
