"""Policies: what a run has saved is read and joined once, and what people put right stays."""

import datetime as dt
from collections.abc import Sequence
from typing import Any

import pytest
from sqlmodel import SQLModel, select

from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.queries.policies import PolicyFilter
from monitor.db.tables.collection import Fallback, Item, Run
from monitor.db.tables.evidence import Revision
from monitor.db.tables.policies import DocumentKey, ItemFacts, Policy, PolicyDocument
from monitor.document import DocumentFacts
from monitor.errors import Conflict, NotFound, UsageError
from monitor.isolation.pool import WorkerPool
from monitor.page import ChangeKind
from monitor.services.audit import Actor
from monitor.services.policies import PolicyService
from monitor.vocabulary import JoinedBy, PolicyStage, Role, RunStatus

NAME = "新型储能容量补偿管理办法"
DRAFT = (
    f"国家能源局关于公开征求《{NAME}（征求意见稿）》意见的公告",
    "2025-12-16",
    "现向社会公开征求意见。意见反馈截止日期为2026年1月15日。\n第一条 制定本办法。\n第二条 补偿标准为每千瓦60元。",
)
FINAL = (
    f"国家能源局关于印发《{NAME}》的通知",
    "2026-04-02",
    "国能发储〔2026〕18号\n第一条 制定本办法。\n第二条 补偿标准为每千瓦80元。\n第三条 本办法自2026年7月1日起施行。",
)
ANSWERS = (
    f"国家能源局有关负责同志就《{NAME}》答记者问",
    "2026-04-03",
    "问：为什么出台这一办法？答：为了健全容量保障。",
)
OTHER = ("国家能源局关于印发《电网公平开放监管办法》的通知", "2026-05-06", "第一条 为加强监管，制定本办法。")
NEWS = ("国家能源局召开座谈会", "2026-05-07", "会议交流了经验。")
EDITOR = Actor("editor", Role.EDITOR)


class FiledArchive:
    """A service with the items that runs have saved."""

    def __init__(self, store: Store, workers: WorkerPool, clock: Any) -> None:
        self.store, self.clock = store, clock
        self.policies = PolicyService(store=store, clock=clock, settings=Settings(), workers=workers)
        self._count = 0

    async def save(self, *documents: tuple[str, str, str], run_id: str = "run") -> list[int]:
        ids = []
        if await self.store.runs.get(run_id) is None:
            await self.store.runs.create(
                Run(id=run_id, source="局", status=RunStatus.RUNNING, planned_at=self.clock.now())
            )
        for title, day, text in documents:
            self._count += 1
            item = Item(
                source="局",
                run_id=run_id,
                section="s",
                url=f"https://a.example/{self._count}",
                url_key=f"a.example/{self._count}",
                title=title,
                date=dt.date.fromisoformat(day),
                issuer="国家能源局",
                first_seen=self.clock.now(),
            )
            saved, _ = await self.store.items.save(item)
            await self.store.items.update(saved.id or 0, text=text)
            ids.append(saved.id or 0)
        return ids

    async def dump(self) -> list[list[dict[str, Any]]]:
        tables: Sequence[type[SQLModel]] = (ItemFacts, DocumentKey, Policy, PolicyDocument)
        async with self.store.sessions.begin_read() as session:
            return [[row.model_dump() for row in await session.scalars(select(table))] for table in tables]

    async def list_members(self) -> list[list[int | None]]:
        page = await self.policies.list()
        files = [await self.policies.get(policy.id) for policy in page.policies]
        return sorted([member.id for member in file.members] for file in files)


class RecordedDeadlines:
    """Keeps what it is first_calls; the call numbered `fails_at` fails, as where the program is killed."""

    def __init__(self) -> None:
        self.calls: list[tuple[int | None, bool, dt.date | None, str | None]] = []
        self.fails_at = 0

    async def update(self, item: Item, before: DocumentFacts | None, after: DocumentFacts, run_id: str | None) -> None:
        self.calls.append((item.id, before is None, after.in_force, run_id))
        if len(self.calls) == self.fails_at:
            raise RuntimeError("killed")

    async def announce_postponements(self, items: Sequence[Item]) -> None:
        pass


class RecordedTopics:
    def __init__(self) -> None:
        self.calls: list[list[int]] = []
        self.runs: list[str | None] = []

    async def judge(self, item_ids: Sequence[int], *, run_id: str | None = None) -> None:
        self.calls.append(list(item_ids))
        self.runs.append(run_id)


@pytest.fixture
def archive(either_store: Store, workers: WorkerPool, turned_clock: Any) -> FiledArchive:
    return FiledArchive(either_store, workers, turned_clock)


async def test_documents_of_one_life_are_one_policy_whatever_their_order(archive: FiledArchive) -> None:
    final, news, answers, other, draft = await archive.save(FINAL, NEWS, ANSWERS, OTHER, DRAFT)
    await archive.policies.file_documents("run")
    assert sorted(await archive.list_members(), key=len) == [[other], [draft, final, answers]]
    [row] = (await archive.policies.list(PolicyFilter(text="储能"))).policies
    assert (row.name, row.stage, row.stage_on, row.documents) == (NAME, PolicyStage.FINAL, dt.date(2026, 4, 2), 3)
    file = await archive.policies.get(row.id)
    assert [(member.stage, member.joined_by, member.reason.code) for member in file.members] == [
        (PolicyStage.CONSULTATION, JoinedBy.NAME, "policy.started"),
        (PolicyStage.FINAL, JoinedBy.NAME, "policy.by_name"),
        (PolicyStage.QA, file.members[2].joined_by, file.members[2].reason.code),
    ]
    assert (file.draft, file.final, file.penalties) == (draft, final, [])
    assert (await archive.store.policies.load_facts([news]))[news].document.stage is None
    assert await archive.store.policies.find_policy_of(news) is None


async def test_a_document_that_came_before_the_one_it_explains_is_joined_later(archive: FiledArchive) -> None:
    [answers] = await archive.save(ANSWERS)
    await archive.policies.file_documents("run")
    assert await archive.list_members() == []
    [final] = await archive.save(FINAL, run_id="next")
    await archive.policies.file_documents("next")
    assert await archive.list_members() == [[final, answers]]


async def test_what_was_filed_is_not_filed_again(archive: FiledArchive) -> None:
    archive.policies.deadlines, archive.policies.topics = deadlines, topics = RecordedDeadlines(), RecordedTopics()
    ids = await archive.save(DRAFT, FINAL, ANSWERS)
    await archive.policies.file_documents("run")
    before, first_calls = await archive.dump(), list(deadlines.calls)
    archive.clock.turn(hours=1)
    await archive.policies.file_documents("run")
    assert (await archive.dump(), deadlines.calls) == (before, first_calls)
    assert first_calls[1] == (ids[1], True, dt.date(2026, 7, 1), "run")
    assert topics.calls == [ids, ids]  # it knows itself what it has judged


async def test_a_batch_that_breaks_off_leaves_nothing_and_is_done_whole_afterwards(archive: FiledArchive) -> None:
    archive.policies.deadlines = deadlines = RecordedDeadlines()
    ids = await archive.save(DRAFT, FINAL, ANSWERS)
    deadlines.fails_at = 2
    with pytest.raises(RuntimeError, match="killed"):
        await archive.policies.file_documents("run")
    assert await archive.dump() == [[], [], [], []]
    await archive.policies.file_documents("run")
    assert await archive.list_members() == [ids]
    assert [is_first for _, is_first, _, _ in deadlines.calls[2:]] == [True] * 3


async def test_a_text_that_a_run_found_changed_is_read_again(archive: FiledArchive) -> None:
    archive.policies.deadlines = deadlines = RecordedDeadlines()
    final, _ = await archive.save(FINAL, OTHER)
    await archive.policies.file_documents("run")
    await archive.store.items.update(final, text=FINAL[2].replace("7月1日", "9月1日"))
    await archive.save(run_id="later")
    async with archive.store.sessions.begin_write() as session:
        session.add(Revision(item_id=final, run_id="later", seen_at=archive.clock.now(), kind=ChangeKind.CHANGED))
    await archive.policies.file_documents("later")
    assert deadlines.calls[2:] == [(final, False, dt.date(2026, 9, 1), "later")]
    facts = await archive.store.policies.load_facts([final])
    assert facts[final].document.in_force == dt.date(2026, 9, 1)


async def test_a_text_that_cannot_be_read_is_a_fallback_of_the_run(
    archive: FiledArchive, refusing_workers: WorkerPool
) -> None:
    await archive.save(FINAL)
    archive.policies.workers = refusing_workers
    await archive.policies.file_documents("run")
    assert await archive.dump() == [[], [], [], []]
    async with archive.store.sessions.begin_read() as session:
        [fallback] = await session.scalars(select(Fallback))
    assert fallback.where == "https://a.example/1"


async def test_what_a_person_took_out_no_rule_puts_back(archive: FiledArchive) -> None:
    draft, final, answers = await archive.save(DRAFT, FINAL, ANSWERS)
    await archive.policies.file_documents("run")
    [row] = (await archive.policies.list()).policies
    await archive.policies.separate(row.id, draft, by=EDITOR)
    assert await archive.policies.refresh(by=EDITOR) == 3
    assert await archive.list_members() == [[final, answers]]
    with pytest.raises(NotFound, match="has no item"):
        await archive.policies.separate(row.id, draft, by=EDITOR)
    file = await archive.policies.join(row.id, draft, by=EDITOR)
    assert [member.id for member in file.members] == [draft, final, answers]
    assert (file.members[0].joined_by, file.members[0].person) == (JoinedBy.HAND, "editor")


async def test_a_name_that_a_person_gave_stays(archive: FiledArchive) -> None:
    await archive.save(DRAFT)
    await archive.policies.file_documents("run")
    [row] = (await archive.policies.list()).policies
    assert row.name == NAME
    await archive.policies.rename(row.id, "  储能补偿 ", by=EDITOR)
    await archive.save(FINAL, run_id="next")
    await archive.policies.file_documents("next")
    assert [policy.name for policy in (await archive.policies.list()).policies] == ["储能补偿"]


async def test_a_policy_is_begun_by_hand_and_gone_with_its_last_document(archive: FiledArchive) -> None:
    [news] = await archive.save(NEWS)
    await archive.policies.file_documents("run")
    file = await archive.policies.start(news, "座谈", by=EDITOR)
    assert (file.name, [member.id for member in file.members]) == ("座谈", [news])
    with pytest.raises(Conflict, match="already"):
        await archive.policies.start(news, by=EDITOR)
    await archive.policies.add_note(file.id, "复核", by=EDITOR)
    assert [note.text for note in (await archive.policies.get(file.id)).notes] == ["复核"]
    await archive.policies.separate(file.id, news, by=EDITOR)
    with pytest.raises(NotFound, match="There is no policy"):
        await archive.policies.get(file.id)


async def test_the_archive_of_an_earlier_version_is_filed_by_a_refresh(archive: FiledArchive) -> None:
    archive.policies.deadlines = deadlines = RecordedDeadlines()
    final, draft = await archive.save(FINAL, DRAFT)
    done: list[int] = []
    assert await archive.policies.refresh(by=EDITOR, on_progress=done.append) == 2
    assert (await archive.list_members(), done) == ([[draft, final]], [2])
    before = await archive.dump()
    await archive.policies.refresh(by=EDITOR)
    assert (await archive.dump())[1:] == before[1:]
    assert [(item, run_id) for item, _, _, run_id in deadlines.calls] == [(final, None), (draft, None)] * 2


async def test_draft_and_final_text_are_compared_by_article(archive: FiledArchive) -> None:
    draft, final, answers = await archive.save(DRAFT, FINAL, ANSWERS)
    await archive.policies.file_documents("run")
    [row] = (await archive.policies.list()).policies
    comparison = await archive.policies.compare(row.id)
    changed = {edit.article: (edit.before, edit.after) for edit in comparison.edits if edit.article == "第二条"}
    assert (comparison.before, comparison.after) == (draft, final)
    assert changed == {"第二条": ("补偿标准为每千瓦60元。", "补偿标准为每千瓦80元。")}
    assert (await archive.policies.compare(row.id, before=final, after=answers)).kept < 1
    with pytest.raises(NotFound, match="has no item"):
        await archive.policies.compare(row.id, before=draft, after=answers + 1)
    await archive.policies.separate(row.id, draft, by=EDITOR)
    with pytest.raises(UsageError, match="to compare"):
        await archive.policies.compare(row.id)


async def test_a_long_list_of_policies_goes_on(archive: FiledArchive) -> None:
    await archive.save(FINAL, OTHER)
    await archive.policies.file_documents("run")
    first = await archive.policies.list(limit=1)
    rest = await archive.policies.list(PolicyFilter(after=first.after), limit=1)
    assert rest.after is None
    assert {policy.id for policy in [*first.policies, *rest.policies]} == {1, 2}
    assert (await archive.policies.list(PolicyFilter(stages=[PolicyStage.REPEAL]))).policies == []
    assert len((await archive.policies.list(PolicyFilter(source="局"))).policies) == 2
    assert (await archive.policies.list(PolicyFilter(text="%"))).policies == []
