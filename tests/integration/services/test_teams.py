"""Teams in use: what is made for a team, told to it, and kept from everybody else."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from monitor.bootstrap import App, open_app
from monitor.config.model import Settings
from monitor.db.tables.collection import Item, Run, Source
from monitor.db.tables.people import Person
from monitor.db.tables.policies import TopicAlerts
from monitor.db.tables.webhooks import WebhookEvent, WebhookEventType
from monitor.db.visibility import EVERYBODY, see_as
from monitor.errors import Conflict, Forbidden, NotFound
from monitor.services.audit import COMMAND_LINE, Actor
from monitor.services.briefings import BriefingQuery
from monitor.services.teams import TeamSubject
from monitor.services.topic_form import TopicForm
from monitor.services.webhooks.endpoints import WebhookForm
from monitor.services.webhooks.events import wants_event
from monitor.vocabulary import Role, RunStatus

TARGETS = [
    {"name": "board", "url": "https://127.0.0.1:9/b", "team": "Energy", "alerts": True},
    {"name": "firm", "url": "https://127.0.0.1:9/f", "alerts": True},
]


@pytest.fixture
async def app(tmp_path: Path, sqlite_url: str) -> AsyncIterator[App]:
    settings = Settings(data_dir=tmp_path, database_url=sqlite_url, deliver={"targets": TARGETS})
    async with open_app(settings) as app:
        for name in ("Energy", "Water"):
            await app.teams.create(name, by=COMMAND_LINE)
        yield app


async def fill(app: App) -> tuple[int, int]:
    """An open source and one of the team Energy with an item each; answers the items."""
    now, items = app.clock.now(), []
    names = {name: number for number, name in (await app.store.teams.list_names()).items()}
    for name, team_id in (("open", None), ("secret", names["Energy"])):
        source = await app.store.sources.add(
            Source(name=name, url=f"https://{name}.gov/", team_id=team_id, created_at=now)
        )
        run = Run(id=f"run-{name}", source_id=source.id, source=name, team_id=team_id, planned_at=now)
        run.status, run.started_at, run.ended_at = RunStatus.SUCCEEDED, now, now
        await app.store.runs.create(run)
        item = Item(
            source_id=source.id,
            source=name,
            run_id=run.id,
            section="s",
            url=f"https://{name}.gov/1",
            url_key="",
            title=f"关于{name}储能电价的通知",
            first_seen=now,
        )
        saved, _ = await app.store.items.save(item)
        items.append(saved.id or 0)
    return items[0], items[1]


async def join(app: App, name: str, role: Role, team: str | None) -> Actor:
    person = Person(name=name, password_hash="", role=role, created_at=app.clock.now())
    await app.store.people.add(person)
    if team is not None:
        await app.teams.add_member(team, name, by=COMMAND_LINE)
    return Actor(name, role, teams=await app.teams.find_eyes(person))


async def test_where_nobody_made_a_team_everybody_sees_everything(tmp_path: Path, sqlite_url: str) -> None:
    async with open_app(Settings(data_dir=tmp_path, database_url=sqlite_url)) as app:
        reader = await join(app, "lilei", Role.READER, None)
        assert reader.teams is None
        assert await app.teams.list_choices(reader) == {}


async def test_people_see_their_teams_and_administrators_everything(app: App) -> None:
    member, stranger, admin = [
        await join(app, name, role, team)
        for name, role, team in (("a", Role.READER, "Energy"), ("b", Role.READER, None), ("c", Role.ADMIN, None))
    ]
    assert list((await app.teams.list_choices(member)).values()) == ["Energy"]
    assert stranger.teams == EVERYBODY
    assert admin.teams is None
    assert list((await app.teams.list_choices(admin)).values()) == ["Energy", "Water"]
    with pytest.raises(NotFound):
        await app.teams.resolve("Water", member)


async def test_a_token_sees_what_its_creator_sees_now_and_less_where_it_is_confined(app: App) -> None:
    member = await join(app, "anna", Role.EDITOR, "Energy")
    await app.teams.add_member("Water", "anna", by=COMMAND_LINE)
    names = {name: number for number, name in (await app.store.teams.list_names()).items()}

    async def look(name: str) -> frozenset[int] | None:
        token = await app.store.tokens.get(name)
        assert token is not None
        return await app.teams.find_token_eyes(token)

    await app.tokens.create("of-anna", "editor", by=member)
    await app.tokens.create("narrow", "editor", by=member)
    await app.tokens.create("of-cli", "reader", by=COMMAND_LINE)
    await app.teams.confine_token("narrow", ["Energy"], by=member)
    assert await look("of-anna") == set(names.values())
    assert await look("narrow") == {names["Energy"]}
    assert await look("of-cli") is None
    await app.teams.remove_member("Energy", "anna", by=COMMAND_LINE)
    assert await look("of-anna") == {names["Water"]}
    assert await look("narrow") == EVERYBODY


async def test_groups_of_a_directory_say_whose_teams_a_person_is_in(app: App) -> None:
    await join(app, "anna", Role.READER, "Water")
    assert await app.teams.set_memberships("anna", ["Energy", "unknown"], by=COMMAND_LINE) == ["Energy"]
    members = {team.name: team.members for team in await app.teams.list_teams(by=COMMAND_LINE)}
    assert members == {"Energy": ["anna"], "Water": []}


async def test_a_briefing_has_what_its_team_sees_whoever_composes_it(app: App) -> None:
    await fill(app)
    names = {name: number for number, name in (await app.store.teams.list_names()).items()}

    async def compose(team_id: int | None) -> set[str]:
        return {item.source for item in (await app.briefings.compose(BriefingQuery(team_id=team_id))).items}

    assert await compose(None) == {"open"}
    assert await compose(names["Energy"]) == {"open", "secret"}
    with see_as(frozenset({names["Water"]})), pytest.raises(NotFound):
        await app.kept_briefings.get(BriefingQuery(team_id=names["Energy"]))
    draft = await app.drafts.save(BriefingQuery(team_id=names["Energy"]), by=COMMAND_LINE)
    with see_as(frozenset({names["Water"]})), pytest.raises(NotFound):
        await app.drafts.get(draft.row.id)


async def test_items_of_a_team_do_not_get_into_a_briefing_of_all_by_hand(app: App) -> None:
    open_item, secret = await fill(app)
    draft = await app.drafts.start(language="en", by=COMMAND_LINE)
    assert await app.drafts.add_items(draft.row.id, [open_item, secret], by=COMMAND_LINE) == [open_item]


async def test_a_delivery_has_what_the_team_of_its_target_sees(app: App) -> None:
    await fill(app)
    for target in ("firm", "board"):
        await app.deliveries.send_now(target, by=COMMAND_LINE)
    shown = {}
    for delivery in await app.deliveries.list(by=COMMAND_LINE):
        briefing = await app.deliveries.get_sent_briefing(delivery.id, by=COMMAND_LINE)
        shown[delivery.target] = {item.source for item in briefing.items}
    assert shown == {"firm": {"open"}, "board": {"open", "secret"}}
    with see_as(EVERYBODY):
        assert [delivery.target for delivery in await app.deliveries.list(by=COMMAND_LINE)] == ["firm"]
        with pytest.raises(NotFound) as refused:
            await app.deliveries.send_now("board", by=COMMAND_LINE)
        assert "board" not in str(refused.value.message.args["known"])


async def test_alerts_reach_the_targets_that_may_see_what_they_tell_of(app: App) -> None:
    form = TopicForm(name="储能", words=["储能"], alerts=TopicAlerts.AT_ONCE, targets=["board", "firm"])
    await app.topics.create(form, by=COMMAND_LINE)
    open_item, secret = await fill(app)
    await app.topics.judge([open_item, secret])
    waiting = {(alert.target, alert.item_id) for alert in await app.store.alerts.list_waiting()}
    assert waiting == {("board", open_item), ("firm", open_item), ("board", secret)}


async def test_events_of_a_team_go_to_its_webhooks_alone(app: App) -> None:
    await app.webhooks.add(WebhookForm(url="https://127.0.0.1:9/all"), by=COMMAND_LINE)
    await app.webhooks.add(WebhookForm(url="https://127.0.0.1:9/team", team="Energy"), by=COMMAND_LINE)
    _, secret = await fill(app)
    topic = await app.topics.create(TopicForm(name="内部储能", words=["储能"]), by=COMMAND_LINE)
    await app.teams.assign(TeamSubject.TOPIC, topic.id, "Water", by=COMMAND_LINE)
    event = WebhookEvent(
        key="k", type=WebhookEventType.ITEM_CREATED, subject=f"item:{secret}", ref=secret, occurred_at=app.clock.now()
    )
    data, topics = await app.webhook_data.load(event)
    endpoints = await app.store.webhooks.list_endpoints()
    assert [endpoint.url for endpoint in endpoints if wants_event(event, endpoint)] == ["https://127.0.0.1:9/team"]
    assert data is not None
    assert "内部储能" not in str(data)
    assert topics == []


async def test_a_topic_of_all_is_judged_for_what_only_others_see(app: App) -> None:
    open_item, secret = await fill(app)
    editor = await join(app, "b", Role.EDITOR, None)
    with see_as(editor.teams):
        topic = await app.topics.create(TopicForm(name="储能", words=["储能"]), by=editor)
        assert topic.matches == 1
        assert [match.item.id for match in (await app.topics.list_items(topic.id)).items] == [open_item]
    found = {match.item.id for match in (await app.topics.list_items(topic.id)).items}
    assert found == {open_item, secret}


async def test_a_policy_is_there_where_one_of_its_documents_is(app: App) -> None:
    open_item, secret = await fill(app)
    mixed = await app.policies.start(open_item, "mixed", by=COMMAND_LINE)
    await app.policies.join(mixed.id, secret, by=COMMAND_LINE)
    with see_as(EVERYBODY):
        assert [member.id for member in (await app.policies.get(mixed.id)).members] == [open_item]
        await app.policies.separate(mixed.id, open_item, by=COMMAND_LINE)
        with pytest.raises(NotFound):
            await app.policies.get(mixed.id)
    assert [member.id for member in (await app.policies.get(mixed.id)).members] == [secret]


async def test_whoever_gives_something_away_may_change_it_and_is_in_the_team(app: App) -> None:
    open_item, secret = await fill(app)
    reader, editor = await join(app, "a", Role.READER, "Energy"), await join(app, "b", Role.EDITOR, "Water")
    source = await app.store.sources.get("open")
    assert source is not None
    with pytest.raises(Forbidden):
        await app.teams.assign(TeamSubject.SOURCE, source.id or 0, "Energy", by=reader)
    with see_as(editor.teams):
        with pytest.raises(NotFound):
            await app.teams.assign(TeamSubject.SOURCE, source.id or 0, "Energy", by=editor)
        await app.teams.assign(TeamSubject.SOURCE, source.id or 0, "Water", by=editor)
    item = await app.store.items.get(open_item)
    assert item is not None
    assert item.team_id == next(iter(editor.teams or ()))
    note = await app.marks.add_note(secret, "mine", by=reader)
    with pytest.raises(Forbidden):
        await app.teams.assign(TeamSubject.NOTE, note.id, "Water", by=editor)


async def test_a_team_is_removed_once_it_is_said_who_gets_what_it_owns(app: App) -> None:
    await fill(app)
    with pytest.raises(Conflict):
        await app.teams.remove("Energy", is_for_all=True, by=COMMAND_LINE)  # a target names it
    app.settings.deliver.targets.clear()
    with pytest.raises(Conflict):
        await app.teams.remove("Energy", by=COMMAND_LINE)
    await app.teams.remove("Energy", heir="Water", by=COMMAND_LINE)
    (water,) = await app.teams.list_teams(by=COMMAND_LINE)
    assert water.owned == {"source": 1, "item": 1, "run": 1}


async def test_a_calendar_ends_for_whoever_leaves_the_team_of_its_topic(app: App) -> None:
    member = await join(app, "anna", Role.READER, "Energy")
    topic = await app.topics.create(TopicForm(name="t", words=["储能"]), by=COMMAND_LINE)
    await app.teams.assign(TeamSubject.TOPIC, topic.id, "Energy", by=COMMAND_LINE)
    following = await app.topics.follow(topic.id, by=member)
    with see_as(EVERYBODY):
        assert b"BEGIN:VCALENDAR" in await app.deadlines.build_private_calendar(following.calendar_key, language="en")
        await app.teams.remove_member("Energy", "anna", by=COMMAND_LINE)
        with pytest.raises(NotFound):
            await app.deadlines.build_private_calendar(following.calendar_key, language="en")
