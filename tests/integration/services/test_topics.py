"""Topics in a real database: what is judged when, what feedback does, who follows, and what a model adds."""

import datetime as dt
import json
from collections.abc import Iterable
from typing import Any

import pytest

from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.queries.filters import ItemFilter
from monitor.db.tables.collection import Item, Run, Source
from monitor.db.tables.people import Person
from monitor.db.tables.policies import ItemFacts, Topic, TopicAlerts, TopicFit
from monitor.document import DocumentFacts
from monitor.errors import Conflict, Forbidden, ModelFailed, ModelUnavailable, NotFound, UsageError
from monitor.llm.chat import ChatModel, Completion, CompletionRequest
from monitor.services.audit import COMMAND_LINE, Actor
from monitor.services.topic_form import TopicForm, TopicPatch, parse_topic_form
from monitor.services.topics import TopicService
from monitor.vocabulary import JudgedBy, RankDirection, Role
from tests.integration.services.conftest import TurnedClock

EDITOR, READER = Actor("hanmeimei", Role.EDITOR), Actor("lilei", Role.READER)
TARGET = {"name": "team", "url": "https://hooks.example/x"}
STORAGE = TopicForm(name="储能开发商", words=["储能", "容量电价"], exclusions=["抽水蓄能"])


class ScriptedModel:
    """Gives the answers one by one, an error among them is raised; and keeps what it was asked."""

    def __init__(self, *answers: str | Exception) -> None:
        self.answers = list(answers)
        self.questions: list[str] = []

    async def complete(self, request: CompletionRequest) -> Completion:
        self.questions.append(request.messages[-1].content)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return Completion(text=answer)


@pytest.fixture
async def store(either_store: Store) -> Store:
    await either_store.check()
    return either_store


@pytest.fixture
def topics(store: Store, turned_clock: TurnedClock) -> TopicService:
    return TopicService(store=store, clock=turned_clock, settings=Settings(deliver={"targets": [TARGET]}))


def with_model(service: TopicService, model: ScriptedModel) -> TopicService:
    async def build(_run_id: str, _store: Store) -> ChatModel:
        return model

    return TopicService(store=service.store, clock=service.clock, settings=service.settings, new_model=build)


async def save(store: Store, title: str, text: str = "", *, source: str = "能源局", day: int = 1) -> int:
    if await store.runs.get("run") is None:
        now = dt.datetime(2026, 2, 3, tzinfo=dt.UTC)
        await store.sources.add(Source(name=source, url="https://a.example/", created_at=now))
        await store.runs.create(Run(id="run", source=source, planned_at=now))
    url = f"https://a.example/{title}"
    row = Item(
        run_id="run",
        source=source,
        section="s",
        url=url,
        url_key=url,
        title=title,
        date=dt.date(2026, 2, day),
        first_seen=dt.datetime(2026, 2, 3, tzinfo=dt.UTC),
    )
    saved, _ = await store.items.save(row)
    if text:
        await store.items.update(saved.id or 0, text=text)
    return saved.id or 0


async def list_titles(topics: TopicService, topic_id: int) -> list[str]:
    return [entry.item.title for entry in (await topics.list_items(topic_id)).items]


async def test_a_new_topic_finds_what_is_there_and_each_new_item_is_judged(topics: TopicService, store: Store) -> None:
    old = await save(store, "关于新型储能的通知", "本通知明确储能的容量电价。")
    await save(store, "抽水蓄能与储能", day=2)
    added = await topics.create(STORAGE, by=EDITOR)
    assert (added.matches, added.newest, added.created_by) == (1, dt.date(2026, 2, 1), "hanmeimei")
    fresh = await save(store, "Notice", "容量电价自7月起执行。储能按容量电价结算。", day=3)
    other = await save(store, "人事任免", day=3)
    await topics.judge([fresh, other], run_id="run")
    assert await list_titles(topics, added.id) == ["Notice", "关于新型储能的通知"]
    fits = await topics.list_fits([old, fresh, other])
    assert {item: [fit.name for fit in found] for item, found in fits.items()} == {
        old: ["储能开发商"],
        fresh: ["储能开发商"],
    }
    assert fits[fresh][0].passage == "储能按容量电价结算。"
    assert fits[fresh][0].by is JudgedBy.CODE


async def test_judging_again_changes_nothing_and_a_changed_text_is_judged_anew(
    topics: TopicService, store: Store, turned_clock: TurnedClock
) -> None:
    topic_id = (await topics.create(STORAGE, by=EDITOR)).id
    number = await save(store, "通知", "储能按容量电价结算。储能。")
    await topics.judge([number], run_id="run")
    before = await store.topics.get_fit(topic_id, number)
    turned_clock.turn(hours=1)
    await topics.judge([number, number], run_id="run")
    assert await store.topics.get_fit(topic_id, number) == before
    await store.items.update(number, text="本通知废止。")
    await topics.judge([number], run_id="run")
    assert await store.topics.get_fit(topic_id, number) is None
    assert await list_titles(topics, topic_id) == []


async def test_the_facts_of_a_document_are_read(topics: TopicService, store: Store, turned_clock: TurnedClock) -> None:
    topic_id = (await topics.create(STORAGE, by=EDITOR)).id
    number = await save(store, "通知", "正文")
    facts = DocumentFacts(bound=["独立储能企业"]).model_dump(mode="json")
    row = ItemFacts(item_id=number, facts=facts, text_sha256="x", read_at=turned_clock.now())
    async with store.sessions.begin_write() as session:
        session.add(row)
    await topics.judge([number], run_id="run")
    assert await list_titles(topics, topic_id) == ["通知"]


async def test_feedback_holds_at_once_and_moves_the_weights_of_what_was_found(
    topics: TopicService, store: Store
) -> None:
    number = await save(store, "储能通知")
    topic_id = (await topics.create(STORAGE, by=EDITOR)).id
    marked = await topics.mark(topic_id, number, RankDirection.LOWER, by=READER)
    assert marked is not None
    assert (marked.wish, marked.reason.code) == (RankDirection.LOWER, "topic.unwished")
    assert (await topics.get(topic_id, by=READER)).weights == {"储能": pytest.approx(0.8)}
    assert await topics.list_fits([number]) == {}
    await topics.mark(topic_id, number, RankDirection.LOWER, by=EDITOR)
    assert (await topics.get(topic_id, by=READER)).weights == {"储能": pytest.approx(0.8)}, "said once, counted once"
    for title in ("储能甲", "储能乙"):
        another = await save(store, title)
        await topics.judge([another], run_id="run")
        await topics.mark(topic_id, another, RankDirection.LOWER, by=READER)
    late = await save(store, "储能丙")
    await topics.judge([late], run_id="run")
    assert await topics.list_fits([late]) == {}, "the word counts for less now"
    await topics.mark(topic_id, late, RankDirection.HIGHER, by=READER)
    assert [fit.wish for fit in (await topics.list_fits([late]))[late]] == [RankDirection.HIGHER]
    back = await topics.mark(topic_id, number, None, by=READER)
    assert back is not None
    assert back.wish is None
    with pytest.raises(NotFound):
        await topics.mark(topic_id, 99, RankDirection.LOWER, by=READER)


async def test_what_was_said_outlives_a_new_text_and_new_words(topics: TopicService, store: Store) -> None:
    number = await save(store, "储能通知")
    topic_id = (await topics.create(STORAGE, by=EDITOR)).id
    await topics.mark(topic_id, number, RankDirection.LOWER, by=READER)
    await store.items.update(number, text="储能储能储能")
    await topics.judge([number], run_id="run")
    assert await list_titles(topics, topic_id) == []
    await topics.update(topic_id, TopicPatch(words=["通知"]), by=EDITOR)
    assert await list_titles(topics, topic_id) == []
    await topics.mark(topic_id, number, None, by=READER)
    assert await list_titles(topics, topic_id) == ["储能通知"]


async def test_a_changed_topic_looks_through_the_archive_again(topics: TopicService, store: Store) -> None:
    for title in ("储能通知", "光伏通知"):
        await save(store, title)
    topic_id = (await topics.create(STORAGE, by=EDITOR)).id
    changed = await topics.update(topic_id, TopicPatch(words=["光伏"], alerts=TopicAlerts.AT_ONCE), by=EDITOR)
    assert (changed.words, changed.alerts, changed.exclusions) == (["光伏"], TopicAlerts.AT_ONCE, ["抽水蓄能"])
    assert await list_titles(topics, topic_id) == ["光伏通知"]
    renamed = await topics.update(topic_id, TopicPatch(name="光伏业主"), by=EDITOR)
    assert (renamed.name, renamed.matches) == ("光伏业主", 1)


async def test_a_model_adds_and_refuses_with_the_words_of_the_item(topics: TopicService, store: Store) -> None:
    topic_id = (await topics.create(STORAGE, by=EDITOR)).id
    found = await save(store, "关于独立电站的通知", "电站可获得容量补偿。", day=2)
    homonym = await save(store, "储能文化传媒公司更名公告", "公司更名。")
    answer = [
        {"i": 1, "t": 1, "s": 80, "q": "可获得容量补偿", "r": "有补偿"},
        {"i": 2, "t": 1, "s": 5, "r": "只是公司名"},
    ]
    model = ScriptedModel(json.dumps(answer, ensure_ascii=False))
    judging = with_model(topics, model)
    await judging.judge([found, homonym], run_id="run")
    assert await list_titles(topics, topic_id) == ["关于独立电站的通知"]
    fit = (await topics.list_fits([found]))[found][0]
    assert (fit.by, fit.passage, fit.score) == (JudgedBy.MODEL, "可获得容量补偿", 0.8)
    await judging.judge([found, homonym], run_id="run")
    assert len(model.questions) == 1, "what was judged is not asked about again"


async def test_many_items_are_asked_about_in_few_calls(topics: TopicService, store: Store) -> None:
    await topics.create(STORAGE, by=EDITOR)
    numbers = [await save(store, f"通知{number}") for number in range(25)]
    model = ScriptedModel("[]", "[]")
    await with_model(topics, model).judge(numbers, run_id="run")
    assert len(model.questions) == 2


@pytest.mark.parametrize("error", [ModelFailed("llm.gone"), ModelUnavailable("llm.gone")])
async def test_where_the_model_fails_the_words_decide_and_the_run_says_so(
    topics: TopicService, store: Store, error: Exception
) -> None:
    topic_id = (await topics.create(STORAGE, by=EDITOR)).id
    number = await save(store, "储能通知")
    await with_model(topics, ScriptedModel(error)).judge([number], run_id="run")
    assert await list_titles(topics, topic_id) == ["储能通知"]
    fallbacks = await store.runs.list_fallbacks("run")
    assert [(fallback.phase, fallback.where) for fallback in fallbacks] == [("rank", "topics")]


class AlertLog:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.alerts: list[tuple[str, str, bool]] = []

    async def raise_for_topics(self, item: Item, fits: Iterable[tuple[Topic, TopicFit]]) -> None:
        self.alerts += [(item.title, topic.name, fit.is_match) for topic, fit in fits]


async def test_alerts_are_told_of_new_matches_alone(topics: TopicService, store: Store) -> None:
    alert_log = AlertLog()
    topics.alerts = alert_log
    old, weak = await save(store, "储能通知"), await save(store, "通知", "也涉及储能")
    await topics.create(STORAGE, by=EDITOR)
    assert alert_log.alerts == [], "what a new topic finds in the archive is no news"
    new = await save(store, "容量电价通知")
    await topics.judge([old, weak, new], run_id="run")
    await topics.judge([old, weak, new], run_id="run")
    assert alert_log.alerts == [("容量电价通知", "储能开发商", True)]
    await store.items.update(weak, text="储能容量电价。" * 9)
    await store.items.update(new, text="容量电价。")
    await topics.judge([old, weak, new], run_id="run")
    assert alert_log.alerts[1:] == [("通知", "储能开发商", True)]


async def test_fits_and_alerts_are_stored_together_or_not_at_all(topics: TopicService, store: Store) -> None:
    class Broken:
        async def raise_for_topics(self, item: Item, fits: Iterable[tuple[Topic, TopicFit]]) -> None:
            raise RuntimeError(f"{item.title}: {len(list(fits))}")

    topic_id = (await topics.create(STORAGE, by=EDITOR)).id
    number = await save(store, "储能通知")
    topics.alerts = Broken()
    with pytest.raises(RuntimeError, match="储能通知: 1"):
        await topics.judge([number], run_id="run")
    assert await store.topics.get_fit(topic_id, number) is None
    topics.alerts = alert_log = AlertLog()
    await topics.judge([number], run_id="run")
    assert len(alert_log.alerts) == 1


async def test_followers_have_calendars_of_their_own(topics: TopicService, store: Store) -> None:
    topic_id = (await topics.create(STORAGE, by=EDITOR)).id
    for name in ("lilei", "hanmeimei"):
        person = Person(name=name, password_hash="x", role=Role.READER, created_at=topics.clock.now())  # noqa: S106
        await store.people.add(person)
    mine = await topics.follow(topic_id, by=READER)
    assert await topics.follow(topic_id, by=READER) == mine
    theirs = await topics.follow(topic_id, by=COMMAND_LINE, person="hanmeimei")
    assert theirs.calendar_key != mine.calendar_key
    shown = await topics.get(topic_id, by=READER)
    assert (shown.followers, shown.calendar_key) == (["hanmeimei", "lilei"], mine.calendar_key)
    assert (await topics.get(topic_id, by=COMMAND_LINE)).calendar_key is None
    with pytest.raises(Forbidden):
        await topics.follow(topic_id, by=READER, person="hanmeimei")
    with pytest.raises(NotFound):
        await topics.follow(topic_id, by=COMMAND_LINE)
    await topics.unfollow(topic_id, by=READER)
    assert (await topics.follow(topic_id, by=READER)).calendar_key != mine.calendar_key


async def test_a_removed_topic_takes_its_fits_along_and_leaves_the_items(topics: TopicService, store: Store) -> None:
    number = await save(store, "储能通知")
    topic_id = (await topics.create(STORAGE, by=EDITOR)).id
    await topics.remove(topic_id, by=EDITOR)
    assert await topics.list_fits([number]) == {}
    assert await store.items.get(number) is not None
    with pytest.raises(NotFound):
        await topics.get(topic_id, by=EDITOR)
    await topics.judge([number], run_id="run")


async def test_a_topic_that_cannot_be_is_refused(topics: TopicService, store: Store) -> None:
    await save(store, "通知")
    await topics.create(STORAGE, by=EDITOR)
    second = await topics.create(STORAGE.model_copy(update={"name": "b"}), by=EDITOR)
    with pytest.raises(Conflict, match="A topic named 储能开发商 exists already"):
        await topics.create(STORAGE, by=EDITOR)
    with pytest.raises(Conflict, match="exists already"):
        await topics.update(second.id, TopicPatch(name="储能开发商"), by=EDITOR)
    with pytest.raises(NotFound, match="no target 'nobody'"):
        await topics.update(second.id, TopicPatch(targets=["nobody"]), by=EDITOR)
    with pytest.raises(NotFound, match="no source 'never'"):
        await topics.update(second.id, TopicPatch(sources=["never"]), by=EDITOR)
    with pytest.raises(UsageError, match="needs words"):
        await topics.update(second.id, TopicPatch(words=[]), by=EDITOR)
    with pytest.raises(UsageError, match="field 'words'"):
        parse_topic_form({"name": "c", "words": ["x" * 101]})
    with pytest.raises(Forbidden):
        await topics.create(STORAGE, by=READER)


async def test_lists_of_items_go_on_where_they_ended_and_filter_by_topic(topics: TopicService, store: Store) -> None:
    for day in range(1, 6):
        await save(store, f"储能{day}", day=day)
    await save(store, "光伏")
    topic_id = (await topics.create(STORAGE, by=EDITOR)).id
    seen: list[str] = []
    after: Any = None
    while True:
        page = await topics.list_items(topic_id, limit=2, after=after)
        seen += [entry.item.title for entry in page.items]
        after = page.after
        if after is None:
            break
    assert seen == [f"储能{day}" for day in range(5, 0, -1)]
    listed = await store.items.list(ItemFilter(topic_id=topic_id))
    assert [row.title for row in listed] == seen
