"""Every act is done and recorded in one transaction, and refused to whoever may not do it."""

import asyncio
import shutil
import socket
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from monitor.bootstrap import App, open_app
from monitor.briefing.editing import BriefingEditPatch
from monitor.config.auth import AuthSettings, OidcSettings
from monitor.config.model import LlmSettings, Settings
from monitor.db.tables.collection import Item, Run
from monitor.db.tables.delivery import Delivery, DeliveryKind, DeliveryStatus, Subscription
from monitor.db.tables.evaluation import Evaluation, EvaluationStatus
from monitor.db.tables.identity import ExternalAccount, Passkey, SecondFactor
from monitor.db.tables.people import Person
from monitor.errors import Forbidden
from monitor.research.shapes import Plan, PlanMetadata, PlanParagraph, ResearchOptions, SearchConfig, StepType
from monitor.research.state import State
from monitor.services.archive_export import ExportForm, ExportPatch
from monitor.services.audit import COMMAND_LINE, Actor, AuditAction
from monitor.services.briefings import BriefingQuery
from monitor.services.client_profiles import ClientProfileForm
from monitor.services.deliveries import TargetForm
from monitor.services.evaluation import EvaluationForm
from monitor.services.research.dependencies import StoreNotebook
from monitor.services.sources.service import BulkAction
from monitor.services.sources.tables import parse_csv
from monitor.services.subscriptions import SubscriptionForm
from monitor.services.teams import TeamSubject
from monitor.services.topic_form import TopicForm, TopicPatch
from monitor.services.webhooks.endpoints import WebhookForm
from monitor.vocabulary import MarkAction, RankDirection, Role, RunStatus, Visibility
from tests.integration.conftest import serve_loopback

NEW_PASSWORD = "床前明月光疑是地上霜举头望明月"  # noqa: S105

HOOK = {"name": "hook", "url": "http://127.0.0.1:9/hook"}
MAIL = {
    "name": "mail",
    "url": "smtp://127.0.0.1:9",
    "sender": "m@a.example",
    "to": ["b@a.example"],
    "subscriptions": True,
}

READER, EDITOR, ADMIN = (Actor(f"the {role}", role) for role in (Role.READER, Role.EDITOR, Role.ADMIN))


@dataclass(frozen=True)
class World:
    """What the acts are done to: one of each kind."""

    app: App
    source_id: int
    item_id: int
    note_id: int
    policy_id: int
    briefing_id: int
    archived_id: int
    share_id: int
    profile_id: int
    feed_key_id: int
    account_id: int
    passkey_id: int
    own_passkey_id: int
    webhook_id: int
    session_id: str
    folder: Path
    worker: AsyncExitStack
    topic_id: int


Act = Callable[[World, Actor], Awaitable[Any]]


def with_provider(settings: Settings) -> Settings:
    oidc = OidcSettings(issuer="https://login.example", client_id="monitor")
    return settings.model_copy(update={"auth": AuthSettings(oidc=oidc)})


async def enqueue_run(world: World, by: Actor) -> None:
    await world.app.sweeps.enqueue(await world.app.sources.get_by_id(world.source_id), by=by)


async def start_evaluation(world: World, by: Actor) -> None:
    """With a model, which the other acts do without."""
    settings = world.app.settings.model_copy(update={"llm": LlmSettings(base_url="http://127.0.0.1:9/v1")})
    await replace(world.app.evaluations, settings=settings).enqueue(EvaluationForm(models=["a", "b"]), by=by)


LIST = "".join(
    f'<li><a href="/n/{n}.html">关于第{n}批项目清单的通知</a><span>2026-02-0{n}</span></li>' for n in range(1, 7)
)


async def teach(world: World, by: Actor) -> None:
    async with serve_loopback() as site:
        world.app.loaders.allow_host(site.host)
        url = site.on("/news/", f"<html><body><ul>{LIST}</ul></body></html>")
        await world.app.teaching.teach(world.source_id, url, [site.url("/n/3.html")], by=by, save=True)


async def send_saved(world: World, by: Actor) -> None:
    await world.app.deliveries.send_saved("hook", await world.app.drafts.get(world.briefing_id), by=by)


async def edit_briefing(world: World, by: Actor) -> None:
    draft = await world.app.drafts.get(world.briefing_id)
    changes = BriefingEditPatch(title="renamed")
    await world.app.drafts.update(world.briefing_id, changes, version=draft.row.version, by=by)


async def send_now(world: World, by: Actor) -> None:
    await world.worker.aclose()  # this process makes the attempt, and nobody is waited for
    await world.app.deliveries.send_now("hook", by=by)


async def back_up(world: World, by: Actor) -> None:
    file = world.folder / "kept.bak"
    try:
        await world.app.storage.back_up(file, by=by)
    except Exception:
        assert not file.exists(), "a backup that is not recorded is not kept"
        raise
    assert file.exists()


ACTS: dict[str, tuple[AuditAction, Role, Act]] = {
    "add a source": (
        AuditAction.SOURCE_ADD,
        Role.EDITOR,
        lambda w, by: w.app.sources.add({"name": "b", "url": "https://b.example/"}, by=by),
    ),
    "edit a source": (
        AuditAction.SOURCE_EDIT,
        Role.EDITOR,
        lambda w, by: w.app.sources.edit(w.source_id, {"max_items": 7}, by=by),
    ),
    "remove a source": (AuditAction.SOURCE_REMOVE, Role.ADMIN, lambda w, by: w.app.sources.remove(w.source_id, by=by)),
    "enable sources": (
        AuditAction.SOURCE_ENABLE,
        Role.EDITOR,
        lambda w, by: w.app.sources.change_many([w.source_id + 1], BulkAction.ENABLE, by=by),
    ),
    "disable sources": (
        AuditAction.SOURCE_DISABLE,
        Role.EDITOR,
        lambda w, by: w.app.sources.change_many([w.source_id], BulkAction.DISABLE, by=by),
    ),
    "tag sources": (
        AuditAction.SOURCE_TAG,
        Role.EDITOR,
        lambda w, by: w.app.sources.change_many([w.source_id], BulkAction.TAG, tag="new", by=by),
    ),
    "untag sources": (
        AuditAction.SOURCE_UNTAG,
        Role.EDITOR,
        lambda w, by: w.app.sources.change_many([w.source_id], BulkAction.UNTAG, tag="old", by=by),
    ),
    "import a list": (
        AuditAction.SOURCE_IMPORT,
        Role.ADMIN,
        lambda w, by: w.app.sources.import_list(parse_csv("The list", b"name,url\nc,https://c.example/"), by=by),
    ),
    "teach a section": (AuditAction.SOURCE_TEACH, Role.EDITOR, teach),
    "forget what was taught": (
        AuditAction.SOURCE_UNTEACH,
        Role.EDITOR,
        lambda w, by: w.app.teaching.forget(w.source_id, "https://a.example/news/", by=by),
    ),
    "run a source": (AuditAction.SOURCE_RUN, Role.EDITOR, enqueue_run),
    "start the sample": (AuditAction.SOURCE_SAMPLE, Role.EDITOR, lambda w, by: w.app.sample.start(by=by)),
    "cancel a run": (AuditAction.RUN_CANCEL, Role.EDITOR, lambda w, by: w.app.sweeps.cancel("queued", by=by)),
    "retry a run": (AuditAction.RUN_RETRY, Role.EDITOR, lambda w, by: w.app.sweeps.enqueue_retry("failed", by=by)),
    "write a note": (AuditAction.ITEM_NOTE, Role.READER, lambda w, by: w.app.marks.add_note(w.item_id, "n", by=by)),
    "remove a note": (
        AuditAction.ITEM_UNNOTE,
        Role.READER,
        lambda w, by: w.app.marks.remove_note(w.item_id, w.note_id, by=by),
    ),
    "hide an item": (AuditAction.ITEM_HIDE, Role.EDITOR, lambda w, by: w.app.marks.hide(w.item_id, "why", by=by)),
    "show a hidden item": (
        AuditAction.ITEM_SHOW,
        Role.EDITOR,
        lambda w, by: w.app.marks.mark_one(MarkAction.UNHIDE, w.item_id + 1, by=by),
    ),
    "add a topic": (
        AuditAction.TOPIC_ADD,
        Role.EDITOR,
        lambda w, by: w.app.topics.create(TopicForm(name="t2", words=["通知"]), by=by),
    ),
    "change a topic": (
        AuditAction.TOPIC_EDIT,
        Role.EDITOR,
        lambda w, by: w.app.topics.update(w.topic_id, TopicPatch(words=["公告"]), by=by),
    ),
    "remove a topic": (AuditAction.TOPIC_REMOVE, Role.EDITOR, lambda w, by: w.app.topics.remove(w.topic_id, by=by)),
    "add a team": (AuditAction.TEAM_ADD, Role.ADMIN, lambda w, by: w.app.teams.create("Law", by=by)),
    "rename a team": (AuditAction.TEAM_RENAME, Role.ADMIN, lambda w, by: w.app.teams.rename("Energy", "Power", by=by)),
    "remove a team": (AuditAction.TEAM_REMOVE, Role.ADMIN, lambda w, by: w.app.teams.remove("Energy", by=by)),
    "put somebody into a team": (
        AuditAction.TEAM_MEMBERS,
        Role.ADMIN,
        lambda w, by: w.app.teams.set_members("Energy", ["anna"], by=by),
    ),
    "say whose teams somebody is in": (
        AuditAction.TEAM_MEMBERS,
        Role.ADMIN,
        lambda w, by: w.app.teams.set_memberships("anna", ["Energy", "unknown"], by=by),
    ),
    "give a source to a team": (
        AuditAction.TEAM_ASSIGN,
        Role.EDITOR,
        lambda w, by: w.app.teams.assign(TeamSubject.SOURCE, w.source_id, "Energy", by=by),
    ),
    "let somebody follow a topic": (
        AuditAction.TOPIC_FOLLOW,
        Role.ADMIN,
        lambda w, by: w.app.topics.follow(w.topic_id, by=by, person="anna"),
    ),
    "end somebody's following": (
        AuditAction.TOPIC_UNFOLLOW,
        Role.ADMIN,
        lambda w, by: w.app.topics.unfollow(w.topic_id, by=by, person="bert"),
    ),
    "say what is no item of a topic": (
        AuditAction.TOPIC_FEEDBACK,
        Role.READER,
        lambda w, by: w.app.topics.mark(w.topic_id, w.item_id, RankDirection.LOWER, by=by),
    ),
    "give feedback": (
        AuditAction.ITEM_FEEDBACK,
        Role.READER,
        lambda w, by: w.app.marks.set_feedback(w.item_id, RankDirection.HIGHER, by=by),
    ),
    "take feedback back": (
        AuditAction.ITEM_FEEDBACK,
        Role.READER,
        lambda w, by: w.app.marks.remove_feedback(w.item_id + 1, by=by),
    ),
    "begin a policy": (AuditAction.POLICY_ADD, Role.EDITOR, lambda w, by: w.app.policies.start(w.item_id, by=by)),
    "put an item into a policy": (
        AuditAction.POLICY_JOIN,
        Role.EDITOR,
        lambda w, by: w.app.policies.join(w.policy_id, w.item_id, by=by),
    ),
    "take an item out of a policy": (
        AuditAction.POLICY_SEPARATE,
        Role.EDITOR,
        lambda w, by: w.app.policies.separate(w.policy_id, w.item_id + 1, by=by),
    ),
    "rename a policy": (
        AuditAction.POLICY_RENAME,
        Role.EDITOR,
        lambda w, by: w.app.policies.rename(w.policy_id, "renamed", by=by),
    ),
    "write a note on a policy": (
        AuditAction.POLICY_NOTE,
        Role.READER,
        lambda w, by: w.app.policies.add_note(w.policy_id, "n", by=by),
    ),
    "read the archive again": (AuditAction.POLICY_REFRESH, Role.EDITOR, lambda w, by: w.app.policies.refresh(by=by)),
    "save a briefing": (
        AuditAction.BRIEFING_SAVE,
        Role.EDITOR,
        lambda w, by: w.app.drafts.save(BriefingQuery(), by=by),
    ),
    "edit a briefing": (AuditAction.BRIEFING_EDIT, Role.EDITOR, edit_briefing),
    "take a briefing out of the archive": (
        AuditAction.BRIEFING_UNARCHIVE,
        Role.EDITOR,
        lambda w, by: w.app.drafts.set_archived(w.archived_id, by=by, is_archived=False),
    ),
    "archive a briefing": (
        AuditAction.BRIEFING_ARCHIVE,
        Role.EDITOR,
        lambda w, by: w.app.drafts.set_archived(w.briefing_id, by=by),
    ),
    "make a link to a briefing": (
        AuditAction.BRIEFING_SHARE,
        Role.EDITOR,
        lambda w, by: w.app.shares.create(w.briefing_id, by=by),
    ),
    "revoke a link to a briefing": (
        AuditAction.BRIEFING_UNSHARE,
        Role.EDITOR,
        lambda w, by: w.app.shares.revoke(w.briefing_id, w.share_id, by=by),
    ),
    "add a client profile": (
        AuditAction.CLIENT_PROFILE_ADD,
        Role.EDITOR,
        lambda w, by: w.app.client_profiles.add(ClientProfileForm(name="other"), by=by),
    ),
    "change a client profile": (
        AuditAction.CLIENT_PROFILE_EDIT,
        Role.EDITOR,
        lambda w, by: w.app.client_profiles.edit(w.profile_id, ClientProfileForm(name="north", days=7), by=by),
    ),
    "remove a client profile": (
        AuditAction.CLIENT_PROFILE_REMOVE,
        Role.EDITOR,
        lambda w, by: w.app.client_profiles.remove(w.profile_id, by=by),
    ),
    "add an export": (
        AuditAction.EXPORT_ADD,
        Role.ADMIN,
        lambda w, by: w.app.archive_exports.add(ExportForm(name="other"), by=by),
    ),
    "change an export": (
        AuditAction.EXPORT_EDIT,
        Role.ADMIN,
        lambda w, by: w.app.archive_exports.edit("lake", ExportPatch(schedule="0 5 * * *"), by=by),
    ),
    "ask for an export": (
        AuditAction.EXPORT_RUN,
        Role.ADMIN,
        lambda w, by: w.app.archive_exports.request_run("lake", by=by),
    ),
    "remove an export": (
        AuditAction.EXPORT_REMOVE,
        Role.ADMIN,
        lambda w, by: w.app.archive_exports.remove("lake", by=by),
    ),
    "add a webhook": (
        AuditAction.WEBHOOK_ADD,
        Role.ADMIN,
        lambda w, by: w.app.webhooks.add(WebhookForm(url=HOOK["url"]), by=by),
    ),
    "change a webhook": (
        AuditAction.WEBHOOK_EDIT,
        Role.ADMIN,
        lambda w, by: w.app.webhooks.edit(w.webhook_id, WebhookForm(url=HOOK["url"]), by=by),
    ),
    "replace the secret of a webhook": (
        AuditAction.WEBHOOK_SECRET,
        Role.ADMIN,
        lambda w, by: w.app.webhooks.replace_secret(w.webhook_id, by=by),
    ),
    "test a webhook": (
        AuditAction.WEBHOOK_TEST,
        Role.ADMIN,
        lambda w, by: w.app.webhooks.send_test(w.webhook_id, by=by),
    ),
    "send events again": (
        AuditAction.WEBHOOK_REPLAY,
        Role.ADMIN,
        lambda w, by: w.app.webhooks.replay(w.webhook_id, w.app.clock.now(), by=by),
    ),
    "disable a webhook": (
        AuditAction.WEBHOOK_DISABLE,
        Role.ADMIN,
        lambda w, by: w.app.webhooks.set_enabled(w.webhook_id, is_enabled=False, by=by),
    ),
    "enable a webhook": (
        AuditAction.WEBHOOK_ENABLE,
        Role.ADMIN,
        lambda w, by: w.app.webhooks.set_enabled(w.webhook_id, is_enabled=True, by=by),
    ),
    "remove a webhook": (
        AuditAction.WEBHOOK_REMOVE,
        Role.ADMIN,
        lambda w, by: w.app.webhooks.remove(w.webhook_id, by=by),
    ),
    "link an account": (
        AuditAction.PERSON_LINK,
        Role.ADMIN,
        lambda w, by: replace(w.app.oidc, settings=with_provider(w.app.settings)).link("anna", "a-1", by=by),
    ),
    "unlink an account": (
        AuditAction.PERSON_UNLINK,
        Role.ADMIN,
        lambda w, by: w.app.oidc.unlink("anna", w.account_id, by=by),
    ),
    "remove a passkey": (
        AuditAction.PASSKEY_REMOVE,
        Role.ADMIN,
        lambda w, by: w.app.passkeys.remove("anna", w.passkey_id, by=by),
    ),
    "rename a passkey": (
        AuditAction.PASSKEY_RENAME,
        Role.READER,
        lambda w, by: w.app.passkeys.rename(w.own_passkey_id, "office laptop", by=by),
    ),
    "reset a second factor": (
        AuditAction.SECOND_FACTOR_REMOVE,
        Role.ADMIN,
        lambda w, by: w.app.second_factor.reset("anna", by=by),
    ),
    "make a key of feeds": (
        AuditAction.FEED_KEY_ADD,
        Role.READER,
        lambda w, by: w.app.feed_keys.create("phone", by=by),
    ),
    "revoke a key of feeds": (
        AuditAction.FEED_KEY_REVOKE,
        Role.READER,
        lambda w, by: w.app.feed_keys.revoke(w.feed_key_id, by=by),
    ),
    "subscribe to a briefing": (
        AuditAction.SUBSCRIPTION_ADD,
        Role.READER,
        lambda w, by: w.app.subscriptions.subscribe(SubscriptionForm(address="a@example.org"), by=by),
    ),
    "confirm a subscription": (
        AuditAction.SUBSCRIPTION_CONFIRM,
        Role.READER,
        lambda w, _: w.app.subscriptions.confirm("subscribed"),
    ),
    "end a subscription": (
        AuditAction.SUBSCRIPTION_END,
        Role.READER,
        lambda w, _: w.app.subscriptions.end_by_link("subscribed"),
    ),
    "send a briefing": (AuditAction.BRIEFING_SEND, Role.EDITOR, send_saved),
    "retry a delivery": (
        AuditAction.DELIVERY_RETRY,
        Role.EDITOR,
        lambda w, by: w.app.deliveries.retry("failed", by=by, wait=False),
    ),
    "send to a target": (AuditAction.TARGET_SEND, Role.EDITOR, send_now),
    "test a target": (AuditAction.TARGET_TEST, Role.ADMIN, lambda w, by: w.app.deliveries.send_test("hook", by=by)),
    "try a target": (
        AuditAction.TARGET_TEST,
        Role.ADMIN,
        lambda w, by: w.app.deliveries.try_target(
            w.app.target_editing.build("second", TargetForm(url="http://127.0.0.1:9/x")), by=by
        ),
    ),
    "add a target": (
        AuditAction.TARGET_ADD,
        Role.ADMIN,
        lambda w, by: w.app.target_editing.add("second", TargetForm(url="http://127.0.0.1:9/x"), by=by),
    ),
    "edit a target": (
        AuditAction.TARGET_EDIT,
        Role.ADMIN,
        lambda w, by: w.app.target_editing.put("hook", TargetForm(days=3), by=by),
    ),
    "remove a target": (
        AuditAction.TARGET_REMOVE,
        Role.ADMIN,
        lambda w, by: w.app.target_editing.remove("hook", by=by),
    ),
    "change settings": (
        AuditAction.SETTINGS_CHANGE,
        Role.ADMIN,
        lambda w, by: w.app.settings_service.update({"sweep.max_items": 9}, by=by),
    ),
    "reset settings": (
        AuditAction.SETTINGS_FORGET,
        Role.ADMIN,
        lambda w, by: w.app.settings_service.reset(["llm.model"], by=by),
    ),
    "adjust a prompt": (
        AuditAction.PROMPT_CHANGE,
        Role.ADMIN,
        lambda w, by: w.app.prompts.put("summary.user.zh", "一句话。{rules}{title}{text}", by=by),
    ),
    "reset a prompt": (
        AuditAction.PROMPT_BACK,
        Role.ADMIN,
        lambda w, by: w.app.prompts.reset("summary.user.en", by=by),
    ),
    "prune the storage": (AuditAction.STORAGE_PRUNE, Role.ADMIN, lambda w, by: w.app.retention.prune(9, by=by)),
    "back up the database": (AuditAction.STORAGE_BACKUP, Role.ADMIN, back_up),
    "add a person": (AuditAction.PERSON_ADD, Role.ADMIN, lambda w, by: w.app.people.add("new", "reader", by=by)),
    "set a password": (
        AuditAction.PERSON_PASSWORD,
        Role.ADMIN,
        lambda w, by: w.app.people.set_password("anna", NEW_PASSWORD, by=by),
    ),
    "reset a password": (
        AuditAction.PERSON_RESET,
        Role.ADMIN,
        lambda w, by: w.app.people.reset_password("anna", by=by),
    ),
    "change a role": (
        AuditAction.PERSON_ROLE,
        Role.ADMIN,
        lambda w, by: w.app.people.set_role("anna", "editor", by=by),
    ),
    "shut out": (AuditAction.PERSON_SHUT_OUT, Role.ADMIN, lambda w, by: w.app.people.block_sign_in("anna", by=by)),
    "let in": (AuditAction.PERSON_LET_IN, Role.ADMIN, lambda w, by: w.app.people.allow_sign_in("bert", by=by)),
    "erase a person": (AuditAction.PERSON_ERASE, Role.ADMIN, lambda w, by: w.app.erasure.erase("anna", by=by)),
    "end a session": (AuditAction.SESSION_END, Role.ADMIN, lambda w, by: w.app.people.end_session(w.session_id, by=by)),
    "create a token": (AuditAction.TOKEN_ADD, Role.READER, lambda w, by: w.app.tokens.create("t2", "reader", by=by)),
    "revoke a token": (AuditAction.TOKEN_REVOKE, Role.ADMIN, lambda w, by: w.app.tokens.revoke("t", by=by)),
    "start an evaluation": (AuditAction.EVALUATION_START, Role.ADMIN, start_evaluation),
    "go on with an evaluation": (
        AuditAction.EVALUATION_RESUME,
        Role.ADMIN,
        lambda w, by: w.app.evaluations.resume("e1", budget=None, by=by),
    ),
    "stop an evaluation": (AuditAction.EVALUATION_STOP, Role.ADMIN, lambda w, by: w.app.evaluations.stop("e2", by=by)),
    "delete an evaluation": (
        AuditAction.EVALUATION_DELETE,
        Role.ADMIN,
        lambda w, by: w.app.evaluations.delete("e1", by=by),
    ),
    "start a research": (
        AuditAction.RESEARCH_START,
        Role.EDITOR,
        lambda w, by: w.app.research.enqueue("光伏补贴？", config=SearchConfig(), options=ResearchOptions(), by=by),
    ),
    "ask about a report": (
        AuditAction.RESEARCH_ASK,
        Role.EDITOR,
        lambda w, by: w.app.research.ask("r-4", "何时施行？", by=by),
    ),
    "remark on a research": (
        AuditAction.RESEARCH_REMARK,
        Role.EDITOR,
        lambda w, by: w.app.research.add_remark("r-1", "多看地方政策", by=by),
    ),
    "cancel a research": (AuditAction.RESEARCH_CANCEL, Role.EDITOR, lambda w, by: w.app.research.cancel("r-1", by=by)),
    "put a research on a schedule": (
        AuditAction.RESEARCH_SCHEDULE,
        Role.EDITOR,
        lambda w, by: w.app.research.schedule("r-4", "off", by=by),
    ),
    "edit the text of a report": (
        AuditAction.RESEARCH_EDIT,
        Role.EDITOR,
        lambda w, by: w.app.research.edit_text("r-4", "# 储能\n\n新的话。", version=0, by=by),
    ),
    "share a research": (
        AuditAction.RESEARCH_SHARE,
        Role.EDITOR,
        lambda w, by: w.app.research.share("r-4", Visibility.OPEN, by=by),
    ),
    "delete a research": (AuditAction.RESEARCH_DELETE, Role.EDITOR, lambda w, by: w.app.research.delete("r-4", by=by)),
    "resume a research": (AuditAction.RESEARCH_RESUME, Role.EDITOR, lambda w, by: w.app.research.resume("r-2", by=by)),
    "approve a plan": (
        AuditAction.RESEARCH_PLAN,
        Role.EDITOR,
        lambda w, by: w.app.research.approve("r-3", "储能", [PlanParagraph(title="装机", content="")], by=by),
    ),
}

RECORDED_READS = {
    AuditAction.AUDIT_EXPORT,
    AuditAction.BRIEFING_EXPORT,
    AuditAction.EVIDENCE_READ,
    AuditAction.ITEM_EXPORT,
    AuditAction.RESEARCH_EXPORT,
    AuditAction.RESEARCH_READ,
    AuditAction.SOURCE_EXPORT,
}
"""What changes nothing: `tests/integration/web/test_audit_of_reads.py` asks for it."""

SIGN_INS = {AuditAction.SIGN_IN, AuditAction.SIGN_IN_FAILED, AuditAction.SIGN_IN_HELD, AuditAction.SIGN_OUT} | {
    AuditAction.PASSKEY_ADD,
    AuditAction.SECOND_FACTOR_ADD,
    AuditAction.SECOND_FACTOR_CODES,
    AuditAction.TOKEN_REFUSED,
}
"""`test_sign_in.py`, `test_passkeys.py`, `test_second_factor.py` and `test_token_limits.py` look at these."""

LESSER = {Role.EDITOR: READER, Role.ADMIN: EDITOR}

ACTORS = {Role.READER: READER, Role.EDITOR: EDITOR, Role.ADMIN: ADMIN}


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> tuple[Path, dict[str, Any]]:
    """A data folder with one of each kind, and the ids; each test gets a copy."""
    folder = tmp_path_factory.mktemp("furnished")
    shutil.copy(sqlite_template, folder)
    return folder, asyncio.run(furnish(folder))


@pytest.fixture
async def world(tmp_path: Path, furnished: tuple[Path, dict[str, Any]]) -> AsyncIterator[World]:
    template, ids = furnished
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    async with open_app(build_settings(tmp_path)) as app, AsyncExitStack() as worker:
        await worker.enter_async_context(app.presence.register("worker"))
        yield World(app=app, folder=tmp_path, worker=worker, **ids)


def build_settings(folder: Path) -> Settings:
    return Settings(
        data_dir=folder,
        database_url=f"sqlite:///{folder / 'monitor.db'}",
        deliver={"targets": [HOOK, MAIL]},
        web={"public_url": "http://monitor.example"},
        pages={"delay_s": 0, "render": "never"},
        export={"folder": folder},
    )


async def furnish(folder: Path) -> dict[str, Any]:
    async with open_app(build_settings(folder)) as app, app.presence.register("worker"):
        now, by = app.clock.now(), COMMAND_LINE
        taught = {
            "url": "https://a.example/news/",
            "how": {"kind": "list", "steps": ["ul.", "li.", "a."]},
            "taught_by": "person",
            "taught_at": now,
        }
        values = {"name": "a", "url": "https://a.example/", "tags": ["old"], "recipes": [taught]}
        source = await app.sources.add(values, by=by)
        await app.sources.add({"name": "off", "url": "https://off.example/", "enabled": False}, by=by)
        await app.sources.add({"name": "s", "url": f"http://127.0.0.1:{free_port()}/", "tags": ["sample"]}, by=by)
        await app.store.runs.create(Run(id="queued", source="a", planned_at=now))
        failed = Run(id="failed", source_id=source.id, source="a", planned_at=now, status=RunStatus.FAILED)
        await app.store.runs.create(failed)
        items = [await save_item(app, source.id or 0, number) for number in (1, 2)]
        note = await app.marks.add_note(items[0], "mine", by=READER)
        await app.marks.hide(items[1], "why", by=by)
        password, _ = [await app.people.add(name, "reader", by=by) for name in ("anna", "bert")]
        await app.teams.create("Energy", by=by)
        topic = await app.topics.create(TopicForm(name="t", words=["通知"]), by=by)
        await app.topics.follow(topic.id, by=by, person="bert")
        policy = await app.policies.start(items[1], "a policy", by=by)
        draft, archived = [await app.drafts.save(BriefingQuery(), by=by) for _ in range(2)]
        await app.drafts.set_archived(archived.row.id, by=by)
        share, _ = await app.shares.create(draft.row.id, by=by)
        profile = await app.client_profiles.add(ClientProfileForm(name="north"), by=by)
        await app.store.deliveries.create(
            Delivery(
                id="failed",
                target="hook",
                kind=DeliveryKind.TYPED,
                status=DeliveryStatus.FAILED,
                planned_at=now,
                key="k",
                message_id="m",
            )
        )
        await app.store.people.add(Person(name=READER.name, password_hash="", role=READER.role, created_at=now))
        key, _ = await app.feed_keys.create("reader", by=READER)
        subscribed = Subscription(
            person=READER.name,
            target="mail",
            address="a@example.org",
            token="subscribed",  # noqa: S106
            conditions={},
            schedule="0 7 * * *",
            created_at=now,
        )
        await app.store.subscriptions.add(subscribed, limit=1, since=now, new_limit=1)
        linked = ExternalAccount(person="anna", issuer="https://old.example", subject="1", created_at=now)
        await app.store.identity.link_account(linked)
        (account,) = await app.store.identity.list_accounts("anna")
        made = Passkey(person="anna", credential_id="c", public_key="p", label="phone", created_at=now)
        await app.store.identity.add_passkey(made, limit=1)
        (passkey,) = await app.store.identity.list_passkeys("anna")
        own = Passkey(person=READER.name, credential_id="own", public_key="p", label="phone", created_at=now)
        await app.store.identity.add_passkey(own, limit=1)
        (own_passkey,) = await app.store.identity.list_passkeys(READER.name)
        webhook, _ = await app.webhooks.add(WebhookForm(url=HOOK["url"]), by=by)
        await app.archive_exports.add(ExportForm(name="lake"), by=by)
        session = await app.people.sign_in("anna", password, address="127.0.0.1", browser="b")
        factor = SecondFactor(person="anna", secret="-", last_step=0, created_at=now)  # noqa: S106
        await app.store.identity.add_second_factor(factor)
        await app.people.block_sign_in("bert", by=by)
        await app.tokens.create("t", "reader", by=by)
        await app.settings_service.update({"llm.model": "other"}, by=by)
        await app.prompts.put("summary.user.en", "One sentence. {rules}{title}{text}", by=by)
        await save_researches(app, folder)
        await save_evaluations(app, source.id or 0)
        return {
            "source_id": source.id or 0,
            "item_id": items[0],
            "note_id": note.id,
            "policy_id": policy.id,
            "briefing_id": draft.row.id,
            "archived_id": archived.row.id,
            "share_id": share.id or 0,
            "profile_id": profile.id,
            "feed_key_id": key.id or 0,
            "account_id": account.id or 0,
            "passkey_id": passkey.id or 0,
            "own_passkey_id": own_passkey.id or 0,
            "webhook_id": webhook.id,
            "session_id": session.session_id,
            "topic_id": topic.id,
        }


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        return int(server.getsockname()[1])


async def save_researches(app: App, folder: Path) -> None:
    """One that is queued, one cancelled and one that waits for its plan, r-1, r-2 and r-3; the editor's own, r-4."""
    rows = (("r-1", "queued"), ("r-2", "cancelled"), ("r-3", "awaiting_plan"), ("r-4", "succeeded"))
    for name, status in rows:
        by = EDITOR if name == "r-4" else COMMAND_LINE
        task_id = await app.research.enqueue("储能？", config=SearchConfig(), options=ResearchOptions(), by=by)
        # In a thread, or it would wait for the heartbeat's lock, and keep the loop from giving it up.
        await asyncio.to_thread(rename_research, folder / "monitor.db", task_id, name, status)
    await StoreNotebook(app.store, "r-4").save_output(
        StepType.REPORTING, {"result": {"markdown": "# 储能"}, "told": {}}
    )
    notebook = StoreNotebook(app.store, "r-3")
    await notebook.save_plan(State.create("储能？", at=app.clock.now()))
    plan = Plan(content="", metadata=PlanMetadata(report_title="储能", paragraphs=[]))
    await notebook.save_output(StepType.PLAN, {"result": plan.to_json(), "told": {}})


async def save_evaluations(app: App, source_id: int) -> None:
    """One that was stopped and one that waits, e1 and e2, and a recorded run for a third."""
    now = app.clock.now()
    for number, status in enumerate((EvaluationStatus.STOPPED, EvaluationStatus.QUEUED), start=1):
        evaluation = Evaluation(
            id=f"e{number}", status=status, fingerprint=f"{number}", max_items=1, seed="s", created_at=now
        )
        await app.store.evaluations.create(evaluation)
    await app.store.runs.create(
        Run(id="recorded", source_id=source_id, source="a", planned_at=now, status=RunStatus.SUCCEEDED)
    )
    await app.store.evidence.save_manifest("recorded", {}, at=now)
    await save_item(app, source_id, 3, run_id="recorded")


def rename_research(file: Path, task_id: str, name: str, status: str) -> None:
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("UPDATE research SET id = ?, status = ? WHERE id = ?", (name, status, task_id))


async def save_item(app: App, source_id: int, number: int, run_id: str = "failed") -> int:
    item = Item(
        source_id=source_id,
        source="a",
        run_id=run_id,
        section="s",
        title=f"通知{number}",
        url=f"https://a.example/{number}.html",
        url_key=f"a.example/{number}.html",
        first_seen=app.clock.now(),
    )
    return (await app.store.items.save(item))[0].id or 0


def dump(world: World) -> list[str]:
    """The database but for what merely passes: signs of life of processes."""
    with closing(sqlite3.connect(world.folder / "monitor.db")) as database, database:
        return [line for line in database.iterdump() if 'INTO "executor"' not in line]


def test_every_action_is_covered() -> None:
    # test_scrub.py and test_archive_export.py have these: they are done to files, and recorded.
    of_files = {AuditAction.EVIDENCE_EXPORT, AuditAction.EVIDENCE_REPAIR, AuditAction.EXPORT_WRITE}
    of_acts = {action for action, _, _ in ACTS.values()}
    assert of_acts | of_files | RECORDED_READS | SIGN_INS == set(AuditAction)


@pytest.mark.parametrize("name", ACTS)
async def test_an_act_is_done_and_recorded(world: World, name: str) -> None:
    action, role, act = ACTS[name]
    before = len(await world.app.audit.list_entries(limit=100))
    await act(world, ACTORS[role])
    entries = await world.app.audit.list_entries(limit=100)
    assert [(entry.action, entry.person) for entry in entries[: len(entries) - before]] == [(action, ACTORS[role].name)]


async def test_an_act_is_refused_to_a_lesser_role_and_changes_nothing(world: World, subtests: pytest.Subtests) -> None:
    before = dump(world)
    for name, (_, role, act) in ACTS.items():
        if role in LESSER:
            with subtests.test(name):
                with pytest.raises(Forbidden):
                    await act(world, LESSER[role])
                assert dump(world) == before


async def test_an_act_that_cannot_be_recorded_is_undone(world: World, subtests: pytest.Subtests) -> None:
    with closing(sqlite3.connect(world.folder / "monitor.db")) as database, database:
        database.execute("CREATE TRIGGER full BEFORE INSERT ON audit_entry BEGIN SELECT RAISE(ABORT, 'no audit'); END")
    before = dump(world)
    # Sending by this very process comes last, for it ends the worker that other acts need.
    for name, (_, role, act) in sorted(ACTS.items(), key=lambda entry: entry[1][2] is send_now):
        with subtests.test(name):
            with pytest.raises(Exception, match="no audit"):
                await act(world, ACTORS[role])
            assert dump(world) == before
