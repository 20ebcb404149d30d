"""The matrix of teams: every route, asked by a member, a stranger and an administrator, of a service full of a team's
things. What belongs to a team is not there for a stranger: a route answers as if nobody had ever put it in.
"""

import datetime as dt
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from sqlmodel import col, select

from monitor.bootstrap import open_app
from monitor.briefing.editing import BriefingEditPatch
from monitor.config.model import Settings
from monitor.config.targets import TargetSettings
from monitor.db.tables.collection import Item, Source
from monitor.db.tables.people import ItemNote, Person
from monitor.db.tables.policies import Deadline, Policy
from monitor.services.audit import COMMAND_LINE, Actor
from monitor.services.client_profiles import ClientProfileForm
from monitor.services.teams import TeamSubject
from monitor.vocabulary import Role
from monitor.web.app import create_web_app
from tests.integration.web import house
from tests.integration.web.conftest import Browser, Desk, kept_password
from tests.integration.web.matrix import ADMIN, MATRIX, NOT_OF_TEAMS, OWNED_BY_TEAMS, SHOWN_TO_TEAMS
from tests.integration.web.payloads import PAYLOADS
from tests.integration.web.test_matrix import NOWHERE, routes_of

pytestmark = pytest.mark.asyncio(loop_scope="module")
TEAM = "Energy"
MARK = re.compile("pwned|evil")  # in every text and address of what belongs to the team


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> AsyncIterator["Place"]:
    folder = tmp_path_factory.mktemp("teams")
    settings = Settings(data_dir=folder, database_url=f"sqlite:///{shutil.copy(sqlite_template, folder)}")
    settings.deliver.targets = [TargetSettings(name="evil-board", url="https://127.0.0.1:9/", team=TEAM)]
    few = dict(list(PAYLOADS.items())[:16])  # of each text comes an item with all that it has
    async with AsyncExitStack() as stack:
        stack.enter_context(pytest.MonkeyPatch.context()).setattr(house, "PAYLOADS", few)
        app = await stack.enter_async_context(open_app(settings))
        desk = Desk(app, create_web_app(app), stack)
        yield await _fill(desk)


class Place:
    def __init__(self, desk: Desk, keys: dict[str, str], browsers: dict[tuple[Role, bool], Browser]) -> None:
        self.desk = desk
        self.keys = keys
        self.browsers = browsers

    async def ask(self, route: str, browser: Browser, *, is_there: bool = True) -> httpx.Response:
        """Ask a route for what belongs to the team, or for what is nowhere."""
        method, _, path = route.partition(" ")
        keys = self.keys if is_there else {}
        address = re.sub(r"\{(\w+)[^}]*\}", lambda part: keys.get(part[1], NOWHERE), path)
        query = SHOWN_TO_TEAMS.get(route) or ""
        sent, headers = MATRIX[route].sent, {"X-CSRF-Token": browser.csrf}
        return await browser.client.request(method, f"{address}{query}", json=sent, headers=headers)


async def _fill(desk: Desk) -> Place:
    app = desk.app
    now = app.clock.now()
    for name, role in (("admin", Role.ADMIN), ("lilei", Role.EDITOR), ("hanmei", Role.READER)):
        person = Person(name=name, password_hash=kept_password(), role=role, created_at=now)
        await app.store.people.add(person)
    await app.teams.create(TEAM, by=COMMAND_LINE)
    await app.teams.create("Water", by=COMMAND_LINE)
    browsers = {}
    for role in (Role.READER, Role.EDITOR):
        for is_member in (True, False):
            name = f"{role}-{'member' if is_member else 'stranger'}"
            person = Person(name=name, password_hash=kept_password(), role=role, created_at=now)
            await app.store.people.add(person)
            await app.teams.add_member(TEAM if is_member else "Water", name, by=COMMAND_LINE)
            browsers[role, is_member] = await desk.sign_in_as(name)
    plain = await app.store.sources.add(Source(name="plain", url="https://o.gov/", created_at=now))
    open_item = Item(
        source_id=plain.id,
        run_id="r-plain",
        source="plain",
        section="news",
        url="https://o.gov/1",
        url_key="o.gov/1",
        title="For everybody",
        first_seen=now,
        evidence=["0" * 16],
    )
    await app.store.items.save(open_item)
    furnished = await house.furnish(app, at=now - dt.timedelta(hours=1))
    await _give_everything(desk, furnished.source_id, furnished.briefing_id)
    item_id = list(furnished.items.values())[5]
    draft = await app.drafts.get(furnished.briefing_id)
    titled = BriefingEditPatch(title="evil briefing")
    draft = await app.drafts.update(furnished.briefing_id, titled, version=draft.row.version, by=COMMAND_LINE)
    await app.deliveries.send_saved("evil-board", draft, by=COMMAND_LINE)
    topics = {topic.name: topic.id for topic in await app.topics.list(by=COMMAND_LINE)}
    async with app.store.sessions.begin_read() as session:
        policy_id = await session.scalar(select(col(Policy.id)).order_by(col(Policy.id)).limit(1))
        due = select(col(Deadline.id)).where(col(Deadline.item_id) == item_id).limit(1)
        deadline_id = await session.scalar(due)
    (delivery,) = await app.deliveries.list(by=COMMAND_LINE, limit=1)
    keys = {
        "item_id": item_id,
        "source_id": furnished.source_id,
        "run_id": furnished.run_id,
        "briefing_id": furnished.briefing_id,
        "profile_id": furnished.profile_id,
        "policy_id": policy_id,
        "topic_id": next(number for name, number in topics.items() if name != "y"),
        "task_id": "research-evil",
        "deadline_id": deadline_id,
        "delivery_id": delivery.id,
        "note_index": 0,
        "index": 0,
        "form": "md",
    }
    return Place(desk, {name: str(key) for name, key in keys.items()}, browsers)


async def _give_everything(desk: Desk, source_id: int, briefing_id: int) -> None:
    """Everything that the house has bears the mark: it goes to the team, each subject as people would give it."""
    app, by = desk.app, COMMAND_LINE
    await app.teams.assign(TeamSubject.SOURCE, source_id, TEAM, by=by)
    await app.teams.assign(TeamSubject.BRIEFING, briefing_id, TEAM, by=by)
    for profile in await app.client_profiles.list():
        form = ClientProfileForm(name=profile.name, team=TEAM)
        await app.client_profiles.edit(profile.id, form, by=Actor("admin", Role.ADMIN))
    for topic in await app.topics.list(by=by):
        await app.teams.assign(TeamSubject.TOPIC, topic.id, TEAM, by=by)
    for research in await app.research.list(by=by):
        await app.teams.assign(TeamSubject.RESEARCH, research.task_id, TEAM, by=Actor("admin", Role.ADMIN))
    async with app.store.sessions.begin_read() as session:
        notes = list(await session.scalars(select(col(ItemNote.id))))
    for note_id in notes:
        await app.teams.assign(TeamSubject.NOTE, note_id or 0, TEAM, by=Actor("admin", Role.ADMIN))


def list_keys(route: str) -> list[str]:
    return re.findall(r"\{(\w+)", route)


def is_asked(route: str) -> bool:
    """Administrators see everything, and streams do not end; both have tests of their own."""
    return MATRIX[route].role is not ADMIN and MATRIX[route].role is not None


async def test_every_route_says_what_of_teams_it_shows(place: Place) -> None:
    silent = []
    for route in routes_of(place.desk.web):
        if is_asked(route) and route.startswith("GET "):
            owned = OWNED_BY_TEAMS.intersection(list_keys(route))
            if not owned and route not in SHOWN_TO_TEAMS and route not in NOT_OF_TEAMS:
                silent.append(route)
    assert not silent, "routes of which tests/integration/web/matrix.py does not say what they show to a team"
    assert not set(NOT_OF_TEAMS) & set(SHOWN_TO_TEAMS)


async def test_members_find_on_every_route_what_belongs_to_their_team(place: Place) -> None:
    missing = []
    for route, entry in MATRIX.items():
        is_shown = route in SHOWN_TO_TEAMS or OWNED_BY_TEAMS.intersection(list_keys(route))
        if not route.startswith("GET ") or not is_asked(route) or not is_shown or SHOWN_TO_TEAMS.get(route, "") is None:
            continue
        answer = await place.ask(route, place.browsers[entry.role, True])
        body = answer.content.decode("utf-8", "replace")
        if answer.status_code != 200 or not (MARK.search(body) or body.startswith("PK")):
            missing.append((route, answer.status_code, body[:200]))
    assert not missing


async def test_for_strangers_what_belongs_to_a_team_is_not_there_on_any_route(place: Place) -> None:
    found = []
    for route, entry in MATRIX.items():
        owned = OWNED_BY_TEAMS.intersection(list_keys(route))
        if not is_asked(route) or (not owned and not route.startswith("GET ")):
            continue
        answer = await place.ask(route, place.browsers[entry.role, False])
        body = answer.content.decode("utf-8", "replace")
        mark = MARK.search(body)
        nowhere = 404 if SHOWN_TO_TEAMS.get(route) is not None else entry.status
        if owned and answer.status_code != nowhere:
            found.append((route, answer.status_code, nowhere, body[:200]))
        elif not owned and mark is not None:
            found.append((route, answer.status_code, body[max(0, mark.start() - 150) : mark.end() + 150]))
    assert not found
