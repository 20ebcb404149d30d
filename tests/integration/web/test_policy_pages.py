"""The pages of policies, deadlines and topics, with what is said on the pages of items and on Today."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from monitor.config.model import Settings
from monitor.db.tables.collection import Item, Run, Source
from monitor.db.tables.policies import Deadline, DeadlineMove, ItemFacts
from monitor.document import DocumentFacts
from monitor.services.audit import COMMAND_LINE
from monitor.services.topic_form import TopicForm
from monitor.vocabulary import DeadlineKind, PolicyStage, RunStatus

NAME = "储能容量补偿办法"
DRAFT = "第一条 为规范补偿，制定本办法。\n第二条 标准为每千瓦60元。"
FINAL = "第一条 为规范补偿，制定本办法。\n第二条 标准为每千瓦80元。"


@pytest.fixture
def desk_settings() -> Callable[[Settings], Settings]:
    def change(settings: Settings) -> Settings:
        settings.timezone = "UTC"
        return settings

    return change


@dataclass
class World:
    """A draft and the final document of a policy, whose day in force was moved by a week."""

    desk: Any
    draft: int
    final: int
    before: dt.date
    after: dt.date

    async def start(self) -> str:
        """Begin a policy with both documents as an editor does; returns its path."""
        editor = await self.desk.sign_in("editor")
        begun = await editor.post("/policies", {"item": self.draft})
        path: str = begun.headers["location"]
        assert (await editor.post(f"{path}/documents", {"item": self.final})).status_code == 303
        return path


@pytest.fixture
async def world(desk: Any) -> World:
    store, now = desk.app.store, desk.app.clock.now()
    source = await store.sources.add(Source(name="局", url="https://a.example/", created_at=now, last_run_at=now))
    await store.runs.create(Run(id="run", source_id=source.id, source="局", status=RunStatus.SUCCEEDED, planned_at=now))
    ids = []
    for number, (stage, text) in enumerate(((PolicyStage.CONSULTATION, DRAFT), (PolicyStage.FINAL, FINAL))):
        item = Item(
            source_id=source.id,
            run_id="run",
            source="局",
            section="通知",
            url=f"https://a.example/{number}",
            url_key=f"a.example/{number}",
            title=f"{NAME}{number}",
            date=now.date() - dt.timedelta(days=30 - number),
            first_seen=now,
        )
        saved, _ = await store.items.save(item)
        await store.items.update(saved.id or 0, text=text)
        facts = DocumentFacts(stage=stage, issuers=["能源局"], evidence={"stage": "现予印发"})
        row = ItemFacts(item_id=saved.id, facts=facts.model_dump(mode="json"), text_sha256="0" * 64, read_at=now)
        await store.policies.save_facts(row, [])
        ids.append(saved.id or 0)
    before, after = (now.date() + dt.timedelta(days=days) for days in (3, 10))
    row = Deadline(item_id=ids[1], kind=DeadlineKind.IN_FORCE, day=after, passage="自该日起施行", seen_at=now)
    move = DeadlineMove(deadline_id=0, before=before, after=after, run_id="run", seen_at=now)
    await store.deadlines.save([(row, move)])
    return World(desk, ids[0], ids[1], before, after)


async def test_a_policy_shows_its_life_its_deadline_with_the_move_and_how_the_draft_changed(world: World) -> None:
    path = await world.start()
    page = (await (await world.desk.sign_in("reader")).get(path)).text
    assert page.count('class="timeline"') == 1
    assert f"{NAME}0" in page
    assert f"{NAME}1" in page
    assert str(world.before) in page
    assert str(world.after) in page
    assert "第二条" in page
    assert "<del>" in page
    assert "<ins>" in page
    assert f"{path}/documents/{world.final}/remove" not in page  # a reader changes nothing


async def test_documents_of_one_day_stand_as_a_policy_goes(world: World) -> None:
    store, now = world.desk.app.store, world.desk.app.clock.now()
    await store.items.update(world.final, date=now.date() - dt.timedelta(days=30))
    facts = DocumentFacts(stage=PolicyStage.QA).model_dump(mode="json")
    row = ItemFacts(item_id=world.draft, facts=facts, text_sha256="1" * 64, read_at=now)
    await store.policies.save_facts(row, [])
    path = await world.start()
    page = (await (await world.desk.sign_in("reader")).get(path)).text
    assert page.index(f'id="document-{world.final}"') < page.index(f'id="document-{world.draft}"')


async def test_an_editor_renames_a_policy_notes_it_and_takes_a_document_out(world: World) -> None:
    path = await world.start()
    editor = await world.desk.sign_in("editor")
    assert (await editor.post(f"{path}/name", {"name": ""})).status_code == 400
    await editor.post(f"{path}/name", {"name": "储能补偿"})
    await editor.post(f"{path}/notes", {"text": "客户在内"})
    found = (await editor.get(f"{path}?find={NAME}")).text
    assert "储能补偿" in found
    assert "客户在内" in found
    await editor.post(f"{path}/documents/{world.final}/remove")
    page = (await editor.get(path)).text
    assert page.count('id="document-') == 1
    assert f'value="{world.final}"' in (await editor.get(f"{path}?find={NAME}")).text
    gone = await editor.post(f"{path}/documents/{world.draft}/remove")
    assert gone.headers["location"].endswith(f"/items/{world.draft}")
    assert (await editor.get(path)).status_code == 404


async def test_the_calendar_shows_a_month_and_keeps_to_its_filters(world: World) -> None:
    path = await world.start()
    reader = await world.desk.sign_in("reader")
    month = f"/calendar?month={world.after:%Y-%m}"
    assert f'id="d-{world.after}"' in (await reader.get(month)).text
    assert f'id="d-{world.after}"' in (await reader.get(f"{month}&policy={path.rpartition('/')[2]}&kind=in_force")).text
    elsewhere = await reader.get(f"/calendar?month=2019-01&policy={path.rpartition('/')[2]}")
    assert f"selected>{NAME}" in elsewhere.text, "a policy that is chosen has its name in every month"
    for filters in ("kind=apply_by", "policy=99", "source=x"):
        assert f'id="d-{world.after}"' not in (await reader.get(f"{month}&{filters}")).text
    unknown = await reader.get(f"{month}&topic=none")
    assert unknown.status_code == 200
    assert 'role="alert"' in unknown.text


async def test_a_topic_is_made_followed_and_put_right(world: World) -> None:
    editor = await world.desk.sign_in("editor")
    wrong = await editor.post("/topics", {"name": "t", "alerts": "briefing"})
    assert wrong.status_code == 400
    assert 'role="alert"' in wrong.text
    made = await editor.post("/topics", {"name": "储能商", "words": "储能\n电价", "alerts": "briefing"})
    path = made.headers["location"]
    reader = await world.desk.sign_in("reader")
    assert ".ics" not in (await reader.get(path)).text
    await reader.post(f"{path}/follow")
    page = (await reader.get(path)).text
    assert "/feeds/deadlines/" in page
    assert f"{NAME}1" in page
    assert "/feeds/deadlines/" in (await reader.get("/calendar")).text
    await reader.post(f"{path}/items/{world.draft}", {"wish": "lower"})
    assert f"{NAME}0" not in (await reader.get(path)).text
    assert "储能商" in (await reader.get("/items")).text
    await editor.post(f"{path}/edit", {"name": "储能商", "words": "不存在的词", "alerts": "none"})
    assert f"{NAME}1" not in (await reader.get(path)).text
    await editor.post(f"{path}/remove")
    assert (await reader.get(path)).status_code == 404


async def test_today_begins_with_deadlines_moves_and_what_topics_brought(world: World) -> None:
    app, reader = world.desk.app, await world.desk.sign_in("reader")
    page = (await reader.get("/")).text
    assert 'class="ahead with-moved"' in page
    assert str(world.after) in page
    assert str(world.before) in page
    topic = await app.topics.create(TopicForm(name="储能商", words=["储能"]), by=COMMAND_LINE)
    await reader.post(f"/topics/{topic.id}/follow")
    seen = await app.today.get_summary("reader")
    assert [(followed.name, followed.new) for followed in seen.ahead.topics] == [("储能商", 2)]
    assert [moved.after for moved in seen.ahead.moved] == [world.after]
    assert seen.ahead.count == 1


async def test_an_item_says_what_its_document_says_with_the_words_that_bear_it(world: World) -> None:
    path = await world.start()
    reader = await world.desk.sign_in("reader")
    page = (await reader.get(f"/items/{world.final}")).text
    assert "现予印发" in page
    assert "自该日起施行" in page
    assert str(world.before) in page
    assert f'href="{path}"' in page
    editor = await world.desk.sign_in("editor")
    await editor.post(f"{path}/documents/{world.final}/remove")
    found = (await editor.get(f"/items/{world.final}?policy={NAME}")).text
    assert f"/items/{world.final}/policy" in found
    await editor.post(f"/items/{world.final}/policy", {"policy": path.rpartition("/")[2]})
    assert f'href="{path}"' in (await reader.get(f"/items/{world.final}")).text
