"""The store: one database, and its queries by subject."""

import asyncio
import datetime as dt
import secrets
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from typing import TYPE_CHECKING, Generic, TypeVar

from sqlalchemy.ext.asyncio import AsyncEngine

from monitor.db import migrate
from monitor.db.engines import DatabaseAddress, open_async_engine
from monitor.db.sessions import (
    DEFAULT_MAX_RETRY_S,
    SessionFactory,
    build_not_migrated_error,
    build_unusable_error,
    translate_errors,
)
from monitor.i18n.message import Message

if TYPE_CHECKING:
    from monitor.db.captures import CaptureStore
    from monitor.db.fulltext import FullTextQueries
    from monitor.db.maintenance import RetentionStore
    from monitor.db.queries.briefing import BriefingFactsQueries, ClientProfileStore, KeptBriefingStore
    from monitor.db.queries.dashboard import DashboardQueries
    from monitor.db.queries.deadlines import AlertStore, DeadlineStore
    from monitor.db.queries.delivery import AlarmStore, BriefingShareStore, BriefingStore, DeliveryStore
    from monitor.db.queries.endpoints import ModelEndpointStore
    from monitor.db.queries.erasure import ErasureStore
    from monitor.db.queries.evaluation import EvaluationStore
    from monitor.db.queries.evidence import ChainStore, EvidenceFileStore, EvidenceStore
    from monitor.db.queries.exports import ExportStore
    from monitor.db.queries.global_search import GlobalSearchStore, QuestionStore
    from monitor.db.queries.history import RunHistoryQueries
    from monitor.db.queries.identity import IdentityStore
    from monitor.db.queries.items import ItemStore
    from monitor.db.queries.marks import MarkStore
    from monitor.db.queries.people import AuditStore, FeedKeyStore, PeopleStore, PromptStore, SettingsStore, TokenStore
    from monitor.db.queries.policies import PolicyStore
    from monitor.db.queries.research import ResearchEventStore, ResearchStore
    from monitor.db.queries.revisions import RevisionStore
    from monitor.db.queries.runs import RunEventStore, RunStore
    from monitor.db.queries.sections import SectionStore
    from monitor.db.queries.service import ExecutorStore, IdempotencyStore, LeaseStore, MetricsQueries, ScheduleStore
    from monitor.db.queries.sources import SourceStore
    from monitor.db.queries.subscriptions import SubscriptionStore
    from monitor.db.queries.teams import TeamStore
    from monitor.db.queries.topics import TopicStore
    from monitor.db.queries.usage import HostTrafficStore, SearchStore, UsageStore
    from monitor.db.queries.webhooks import WebhookStore
    from monitor.db.vectors import VectorStore


T = TypeVar("T")


class _Queries(Generic[T]):
    """The queries of one subject, imported and built when first used: a command loads only the tables that it needs.

    `path` is that of their class below monitor.db.
    """

    def __init__(self, path: str) -> None:
        self._module, _, self._class_name = path.rpartition(".")

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, store: "Store", owner: type) -> T:
        queries: T = getattr(import_module(f"monitor.db.{self._module}"), self._class_name)(store.sessions)
        store.__dict__[self._name] = queries  # found there from now on
        return queries


class Store(AbstractAsyncContextManager["Store"]):
    """The database of the service, SQLite or PostgreSQL; `DatabaseError` where it cannot be used."""

    sources: "_Queries[SourceStore]" = _Queries("queries.sources.SourceStore")
    sections: "_Queries[SectionStore]" = _Queries("queries.sections.SectionStore")
    runs: "_Queries[RunStore]" = _Queries("queries.runs.RunStore")
    history: "_Queries[RunHistoryQueries]" = _Queries("queries.history.RunHistoryQueries")
    run_events: "_Queries[RunEventStore]" = _Queries("queries.runs.RunEventStore")
    research: "_Queries[ResearchStore]" = _Queries("queries.research.ResearchStore")
    research_events: "_Queries[ResearchEventStore]" = _Queries("queries.research.ResearchEventStore")
    evaluations: "_Queries[EvaluationStore]" = _Queries("queries.evaluation.EvaluationStore")
    executors: "_Queries[ExecutorStore]" = _Queries("queries.service.ExecutorStore")
    leases: "_Queries[LeaseStore]" = _Queries("queries.service.LeaseStore")
    schedules: "_Queries[ScheduleStore]" = _Queries("queries.service.ScheduleStore")
    people: "_Queries[PeopleStore]" = _Queries("queries.people.PeopleStore")
    erasure: "_Queries[ErasureStore]" = _Queries("queries.erasure.ErasureStore")
    identity: "_Queries[IdentityStore]" = _Queries("queries.identity.IdentityStore")
    teams: "_Queries[TeamStore]" = _Queries("queries.teams.TeamStore")
    tokens: "_Queries[TokenStore]" = _Queries("queries.people.TokenStore")
    idempotency: "_Queries[IdempotencyStore]" = _Queries("queries.service.IdempotencyStore")
    feed_keys: "_Queries[FeedKeyStore]" = _Queries("queries.people.FeedKeyStore")
    audit: "_Queries[AuditStore]" = _Queries("queries.people.AuditStore")
    metrics: "_Queries[MetricsQueries]" = _Queries("queries.service.MetricsQueries")
    dashboard: "_Queries[DashboardQueries]" = _Queries("queries.dashboard.DashboardQueries")
    items: "_Queries[ItemStore]" = _Queries("queries.items.ItemStore")
    fulltext: "_Queries[FullTextQueries]" = _Queries("fulltext.FullTextQueries")
    global_search: "_Queries[GlobalSearchStore]" = _Queries("queries.global_search.GlobalSearchStore")
    questions: "_Queries[QuestionStore]" = _Queries("queries.global_search.QuestionStore")
    policies: "_Queries[PolicyStore]" = _Queries("queries.policies.PolicyStore")
    topics: "_Queries[TopicStore]" = _Queries("queries.topics.TopicStore")
    marks: "_Queries[MarkStore]" = _Queries("queries.marks.MarkStore")
    revisions: "_Queries[RevisionStore]" = _Queries("queries.revisions.RevisionStore")
    alarms: "_Queries[AlarmStore]" = _Queries("queries.delivery.AlarmStore")
    alerts: "_Queries[AlertStore]" = _Queries("queries.deadlines.AlertStore")
    deadlines: "_Queries[DeadlineStore]" = _Queries("queries.deadlines.DeadlineStore")
    briefings: "_Queries[BriefingStore]" = _Queries("queries.delivery.BriefingStore")
    briefing_shares: "_Queries[BriefingShareStore]" = _Queries("queries.delivery.BriefingShareStore")
    briefing_facts: "_Queries[BriefingFactsQueries]" = _Queries("queries.briefing.BriefingFactsQueries")
    client_profiles: "_Queries[ClientProfileStore]" = _Queries("queries.briefing.ClientProfileStore")
    kept_briefings: "_Queries[KeptBriefingStore]" = _Queries("queries.briefing.KeptBriefingStore")
    deliveries: "_Queries[DeliveryStore]" = _Queries("queries.delivery.DeliveryStore")
    subscriptions: "_Queries[SubscriptionStore]" = _Queries("queries.subscriptions.SubscriptionStore")
    webhooks: "_Queries[WebhookStore]" = _Queries("queries.webhooks.WebhookStore")
    exports: "_Queries[ExportStore]" = _Queries("queries.exports.ExportStore")
    evidence: "_Queries[EvidenceStore]" = _Queries("queries.evidence.EvidenceStore")
    evidence_files: "_Queries[EvidenceFileStore]" = _Queries("queries.evidence.EvidenceFileStore")
    captures: "_Queries[CaptureStore]" = _Queries("captures.CaptureStore")
    chain: "_Queries[ChainStore]" = _Queries("queries.evidence.ChainStore")
    retention: "_Queries[RetentionStore]" = _Queries("maintenance.RetentionStore")
    usage: "_Queries[UsageStore]" = _Queries("queries.usage.UsageStore")
    model_endpoints: "_Queries[ModelEndpointStore]" = _Queries("queries.endpoints.ModelEndpointStore")
    vectors: "_Queries[VectorStore]" = _Queries("vectors.VectorStore")
    host_traffic: "_Queries[HostTrafficStore]" = _Queries("queries.usage.HostTrafficStore")
    searches: "_Queries[SearchStore]" = _Queries("queries.usage.SearchStore")
    settings: "_Queries[SettingsStore]" = _Queries("queries.people.SettingsStore")
    prompts: "_Queries[PromptStore]" = _Queries("queries.people.PromptStore")

    def __init__(
        self, engine: AsyncEngine, address: DatabaseAddress, *, max_retry_s: float = DEFAULT_MAX_RETRY_S
    ) -> None:
        self._max_retry_s = max_retry_s
        self._engine = engine
        self._address = address
        self.sessions = SessionFactory(engine, address)
        self.transaction = self.sessions.transaction
        self.write_together = self.sessions.write_together

    @classmethod
    def open(cls, url: str, *, max_retry_s: float = DEFAULT_MAX_RETRY_S) -> "Store":
        """The store at a `database_url`, not connected yet; `DatabaseError` for a url that the service cannot use.

        Once `check` has passed, a database that goes away is waited for, for `max_retry_s` at most.
        """
        address = DatabaseAddress.parse(url)
        return cls(open_async_engine(address), address, max_retry_s=max_retry_s)

    async def check(self) -> None:
        """Create a missing SQLite database; `DatabaseError` where one does not answer or has another schema."""
        if self._address.file is not None:
            await asyncio.to_thread(migrate.create_if_empty, self._address.full_url)
        with translate_errors(self._address):
            async with self._engine.connect() as connection:
                found = await connection.run_sync(migrate.read_revision)
        if found != migrate.get_head_revision():
            raise build_not_migrated_error(self._address)
        self.sessions.max_retry_s = self._max_retry_s

    async def check_writing(self, at: dt.datetime) -> None:
        """Write a row, read it in another transaction and remove it; `DatabaseError` where that fails."""
        name = f"check-{secrets.token_hex(8)}"
        await self.leases.acquire(name, "check", at=at, expected=None)
        if await self.leases.get(name) is None:
            raise build_unusable_error(self._address, Message("database.row_lost"))
        await self.leases.release(name, "check")

    async def close(self) -> None:
        """Close all connections; a later query opens new ones."""
        await self._engine.dispose()
        if "captures" in self.__dict__:
            self.captures.close()

    async def __aexit__(self, *exception: object) -> None:
        await self.close()
