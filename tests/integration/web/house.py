"""A service in which everything bears the name of a hostile text, beside what the sample bureau published."""

import datetime as dt
from dataclasses import dataclass
from typing import Any

from monitor.bootstrap import App
from monitor.briefing.editing import BriefingEditPatch, ItemEditPatch
from monitor.db.queries.filters import ItemFilter
from monitor.db.reading import LedgerEntry, SectionPlan, SectionReading, UnseenPlace
from monitor.db.sessions import sanitize_text
from monitor.db.tables.collection import Item, Run, Source
from monitor.db.tables.delivery import AlarmFinding, AlarmKind
from monitor.db.tables.evaluation import Evaluation, EvaluationPiece, EvaluationStatus
from monitor.db.tables.evidence import ItemSnapshot, Revision
from monitor.db.tables.people import ItemNote
from monitor.db.tables.policies import Deadline, DeadlineMove, ItemFacts, TopicAlerts, TopicFit
from monitor.db.tables.questions import MAX_RECENT_QUERY_CHARS, ArchiveQuestion, QuestionStatus, RecentQuery
from monitor.db.tables.research import ResearchStatus, RunEvent
from monitor.document import DocumentFacts, FigureChange, Relation, StatedDeadline
from monitor.evaluation.pieces import DraftStatement, GapRow, PieceRow, SampledRun, SummaryWritten
from monitor.i18n.message import Message
from monitor.page import Candidate, ChangeKind, EditOperation, PageEdit, PagePart, PageSnapshot
from monitor.research.archive_answer import AnswerForm, AnswerSentence, ArchiveAnswer, Passage
from monitor.services.audit import COMMAND_LINE, Actor, AuditAction
from monitor.services.briefings import BriefingQuery
from monitor.services.client_profiles import ClientProfileForm
from monitor.services.topic_form import TopicForm
from monitor.vocabulary import (
    DateSource,
    DeadlineKind,
    Disposition,
    EventKind,
    ItemType,
    JudgedBy,
    MarkAction,
    Phase,
    PolicyStage,
    RankDirection,
    RelationType,
    Role,
    RunStatus,
    SectionEnd,
    SummaryBy,
    Verdict,
)
from tests.integration.web.payloads import PAYLOADS
from tests.integration.web.researches import put

WORST = "".join(PAYLOADS[name] for name in ("image out of an attribute", "script after a tag", "template", "header"))


@dataclass
class House:
    """What was put into the service: the items by the names of their payloads, and one of everything else."""

    items: dict[str, int]
    source_id: int
    run_id: str
    briefing_id: int
    profile_id: int


async def furnish(app: App, *, at: dt.datetime) -> House:
    """Put the payloads wherever a person or a site can put a text."""
    source = await app.store.sources.add(
        Source(
            name=sanitize_text(WORST)[:200],
            url="https://evil.example/?q=%22%3E",
            created_at=at,
            rules=sanitize_text(WORST),
            tags=[sanitize_text(text)[:60] for text in list(PAYLOADS.values())[:12]],
            last_error=Message.other(sanitize_text(WORST)),
            focus_areas=[sanitize_text(WORST)],
            consecutive_failures=3,
            last_run_at=at,
        )
    )
    run_id = await _run(app, source, at)
    await _live(app, source, at)
    items = {name: await _item(app, source, run_id, text, at) for name, text in PAYLOADS.items()}
    await _say(app, items, at)
    await _mean(app, list(items.values()), at)
    await _ask(app, items, at)
    finding = AlarmFinding(
        kind=AlarmKind.STRUCTURE,
        message=Message.other(sanitize_text(WORST)),
        section=sanitize_text(WORST),
        section_key="k",
    )
    judged = {"k": frozenset({AlarmKind.STRUCTURE})}
    await app.store.alarms.reconcile(source.id or 0, run_id=run_id, findings=[finding], judged_kinds=judged, at=at)
    worst = Actor(WORST, Role.ADMIN)
    change = {"before": list(PAYLOADS.values()), "after": WORST}
    await app.audit.record(worst, AuditAction.SOURCE_EDIT, WORST, **change)
    await _researches(app, at)
    await _evaluate(app, items, at)
    draft = await app.drafts.save(BriefingQuery(days=3, keywords=[]), by=COMMAND_LINE)
    worst = sanitize_text(WORST)[:900]
    words = ItemEditPatch(id=draft.edit.items[0].id, title=worst, summary=worst, note=worst)
    await app.drafts.update(draft.row.id, BriefingEditPatch(items=[words]), version=1, by=COMMAND_LINE)
    profile = await app.client_profiles.add(
        ClientProfileForm(name=worst[:100], keywords=[worst[:200]]), by=COMMAND_LINE
    )
    return House(items=items, source_id=source.id or 0, run_id=run_id, briefing_id=draft.row.id, profile_id=profile.id)


async def _run(app: App, source: Source, at: dt.datetime) -> str:
    worst = sanitize_text(WORST)
    run = Run(
        id="run-evil",
        source_id=source.id,
        source=source.name,
        planned_at=at,
        started_at=at,
        ended_at=at,
        status=RunStatus.DEGRADED,
        since=at.date(),
        until=at.date(),
        error=Message.other(worst),
    )
    await app.store.runs.create(run)
    plan = SectionPlan(ordinal=0, name=worst, url="https://evil.example/list")
    await app.store.runs.save_plan(run.id, [plan])
    entries = [
        LedgerEntry(
            candidate=Candidate(
                title=sanitize_text(text),
                url=f"https://evil.example/c/{place}",
                date=at.date(),
                date_source=DateSource.LISTED,
            ),
            page_url=plan.url,
            position=place,
            disposition=Disposition.LEFT,
            reason=Message.other(sanitize_text(text)),
        )
        for place, text in enumerate(PAYLOADS.values())
    ]
    reading = SectionReading(plan=plan, ended=SectionEnd.ERROR, pages=1, entries=entries, listed=len(entries))
    await app.store.runs.save_reading(run.id, source.id or 0, reading, on=at.date(), at=at)
    for text in PAYLOADS.values():
        await app.store.runs.add_fallback(run.id, Phase.CRAWL, text, Message.other(text), at)
    await app.store.runs.add_unseen(run.id, [UnseenPlace(section=worst, url=worst, reason=Message.other(worst))])
    return run.id


async def _live(app: App, source: Source, at: dt.datetime) -> None:
    """A run that is under way, and tells of itself in hostile words."""
    run = Run(
        id="run-live", source_id=source.id, source=source.name, planned_at=at, started_at=at, status=RunStatus.RUNNING
    )
    await app.store.runs.create(run)
    worst = sanitize_text(WORST)
    data = {"phase": "crawl", "place": worst, "url": worst, "title": worst, "reason": worst, "outcome": worst}
    kinds = [kind for kind in EventKind if kind is not EventKind.STEP]
    await app.store.run_events.add([RunEvent(run_id=run.id, at=at, kind=kind, data=data) for kind in kinds])


async def _researches(app: App, at: dt.datetime) -> None:
    """One research in each state, asked for and answered in hostile words."""
    worst = sanitize_text(WORST)
    evil: dict[str, Any] = {
        "query": worst,
        "topics": (worst, f"{worst}2"),
        "quote": worst,
        "title": worst,
        "remarks": (worst,),
        "url": "https://evil.example/?q=<script>",
    }
    await put(app, "research-evil", at=at, status=ResearchStatus.DEGRADED, unanswered=(worst,), **evil)
    text = f"# {worst}\n\n{worst}\n\n## {worst}\n\n- {worst} [1]\n\n| {worst} |\n| {worst} [1] |"
    await app.research.edit_text("research-evil", text, version=0, by=COMMAND_LINE)
    await put(app, "research-evil-q1", at=at, parent_id="research-evil", **evil)
    await put(app, "research-evil-q2", at=at, parent_id="research-evil", steps=0, status=ResearchStatus.FAILED, **evil)
    edition = {**evil, "edition_of": "research-evil", "quote": f"{worst}新"}
    await put(app, "research-evil-2", at=at + dt.timedelta(days=7), **edition)
    await put(app, "research-plan", at=at, status=ResearchStatus.AWAITING_PLAN, steps=1, far=0, **evil)
    await put(
        app, "research-failed", at=at, status=ResearchStatus.FAILED, steps=1, far=2, error=Message.other(worst), **evil
    )
    await put(app, "research-live", at=at, status=ResearchStatus.RUNNING, steps=1, far=3, **evil)


async def _item(app: App, source: Source, run_id: str, text: str, at: dt.datetime) -> int:
    fields: dict[str, Any] = {"section": text, "summary": text, "issuer": text, "document_number": text[:200]}
    url = text if text.startswith("javascript:") else f"https://evil.example/{abs(hash(text))}?q=<script>"
    saved, _ = await app.store.items.save(
        Item(
            source_id=source.id,
            run_id=run_id,
            source=source.name,
            url=url,
            url_key=url,
            title=text or "x",
            date=at.date(),
            date_source=DateSource.LISTED,
            type=ItemType.NOTICE,
            summary_by=SummaryBy.EXTRACT,
            first_seen=at,
            rank=1,
            tier=1,
            attachments=[{"title": text, "url": text, "type": text}],
            **fields,
        )
    )
    item_id = saved.id or 0
    await app.store.items.update(item_id, text=f"{text}\n{text}")
    return item_id


async def _mean(app: App, item_ids: list[int], at: dt.datetime) -> None:
    """A policy with its life, deadlines that were moved, and a topic that somebody follows, all in hostile words."""
    worst, admin = sanitize_text(WORST), Actor("admin", Role.ADMIN)
    # The nearest deadline is that of an item with evidence.
    seen = await app.store.items.list(ItemFilter(), limit=None)
    proved = next(item.id or 0 for item in seen if item.evidence and item.id not in item_ids)
    first = Deadline(item_id=proved, kind=DeadlineKind.APPLY_BY, day=at.date() + dt.timedelta(days=1), seen_at=at)
    await app.store.deadlines.save([(first, None)])
    stages = [PolicyStage.CONSULTATION, PolicyStage.FINAL, PolicyStage.ENFORCEMENT, PolicyStage.INTERPRETATION]
    for place, item_id in enumerate(item_ids[3:11]):
        days = [at.date() + dt.timedelta(days=ahead) for ahead in (place + 1, 3, 40)]
        stated = [
            StatedDeadline(kind=kind, day=day, subject=worst[:200], passage=worst)
            for kind, day in zip(DeadlineKind, days, strict=False)
        ]
        facts = DocumentFacts(
            stage=stages[place % 4],
            issuers=[worst, "x"],
            number=worst[:100],
            in_force=days[1],
            submit_to=worst,
            bound=[worst],
            figures=[FigureChange(subject=worst, old=worst, new=worst)],
            relations=[Relation(type=kind, number=worst, title=worst) for kind in RelationType],
            deadlines=stated,
            evidence=dict.fromkeys(
                ("stage", "issuers", "number", "in_force", "submit_to", "bound"), worst + "\n" + worst
            ),
        )
        row = ItemFacts(item_id=item_id, facts=facts.model_dump(mode="json"), text_sha256="0" * 64, read_at=at)
        await app.store.policies.save_facts(row, [])
        rows = [Deadline(**due.model_dump(), item_id=item_id, seen_at=at) for due in stated]
        gone = None if place else at
        moves = [
            DeadlineMove(
                deadline_id=0,
                before=due.day + dt.timedelta(days=1),
                after=None if gone and not number else due.day,
                passage=worst,
                run_id="run-evil",
                seen_at=at,
            )
            for number, due in enumerate(stated)
        ]
        rows[0].dropped_at = gone
        await app.store.deadlines.save(list(zip(rows, moves, strict=True)))
    file = await app.policies.start(item_ids[3], worst, by=admin)
    for item_id in item_ids[4:8]:
        await app.policies.join(file.id, item_id, by=admin)
    await app.policies.start(item_ids[9], by=admin)
    await app.policies.add_note(file.id, WORST, by=admin)
    topic = await app.topics.create(
        TopicForm(name=worst[:100], sentence=worst, words=[worst[:90], "x"], exclusions=[worst[:80]]), by=admin
    )
    await app.topics.create(TopicForm(name="y", words=["y"], alerts=TopicAlerts.AT_ONCE), by=admin)
    await app.topics.follow(topic.id, by=admin)
    for item_id in item_ids[3:8]:
        await app.topics.mark(topic.id, item_id, RankDirection.HIGHER, by=admin)
    fits = [
        TopicFit(
            topic_id=topic.id,
            item_id=item_id,
            score=0.7,
            is_match=True,
            reason=Message.other(worst),
            passage=worst,
            judged_at=at,
        )
        for item_id in item_ids[8:14]
    ]
    await app.store.topics.save_fits(fits, topic_ids=[topic.id], item_ids=item_ids[8:14])


async def _say(app: App, items: dict[str, int], at: dt.datetime) -> None:
    for name, item_id in items.items():
        text = PAYLOADS[name]
        await app.store.marks.add_note(ItemNote(item_id=item_id, person="admin", text=text, at=at))
        snapshot = ItemSnapshot.from_page(
            item_id, "run-evil", PageSnapshot(url="https://evil.example/", seen_at=at, title=text)
        )
        edit = PageEdit(op=EditOperation.CHANGED, part=PagePart.ARTICLE, article=text, before=text, after=text[::-1])
        revision = Revision(
            item_id=item_id,
            run_id="run-evil",
            seen_at=at,
            kind=ChangeKind.CHANGED,
            reason=Message.other(text),
            edits=[edit.model_dump(mode="json")],
        )
        await app.store.revisions.save(snapshot, revision=revision)
    for name in list(items)[:3]:
        reason = sanitize_text(PAYLOADS[name])
        await app.store.marks.mark(MarkAction.HIDE, [items[name]], person="admin", at=at, reason=reason)


async def _ask(app: App, items: dict[str, int], at: dt.datetime) -> None:
    """What was searched for, and a question in each state, asked and answered in hostile words."""
    worst = sanitize_text(WORST)
    await app.store.global_search.add_recent(RecentQuery(person="admin", text=worst[:MAX_RECENT_QUERY_CHARS], at=at))
    passages = [
        Passage(item=item_id, title=text, url="https://evil.example/", source=text, day=at.date(), text=text)
        for item_id, text in zip(items.values(), map(sanitize_text, PAYLOADS.values()), strict=True)
    ]
    said = AnswerSentence(text=worst, passages=[1], by=JudgedBy.CODE, bearing=worst)
    answer = ArchiveAnswer(kind=AnswerForm.SENTENCES, sentences=[said], passages=passages)
    for status in QuestionStatus:
        question = ArchiveQuestion(
            id=f"q-{status}",
            person="admin",
            text=worst,
            language="en",
            filters={"source": worst, "topic": worst},
            status=status,
            asked_at=at,
            updated_at=at,
            error=Message.other(worst) if status is QuestionStatus.FAILED else None,
            answer=answer.model_dump(mode="json") if status is QuestionStatus.ANSWERED else None,
        )
        await app.store.questions.add(question)


async def _evaluate(app: App, items: dict[str, int], at: dt.datetime) -> None:
    """Two models wrote a summary of each item; one said what stands on no page."""
    worst = sanitize_text(WORST)
    sample = SampledRun(source=worst, run_id="run-evil", items=list(items.values()))
    gap = GapRow(source=worst, run_id="run-evil", phase=Phase.RANK, reason=Message.other(worst))
    evaluation = Evaluation(
        id="e7a1",
        status=EvaluationStatus.DONE,
        fingerprint="evil",
        contenders=[{"model": worst, "prompts": "current"}, {"model": "plain", "prompts": "built-in"}],
        samples=[sample.model_dump(mode="json")],
        gaps=[gap.model_dump(mode="json")],
        max_items=len(items),
        seed="evil",
        asked_by=worst[:100],
        reason=Message.other(worst),
        created_at=at,
        started_at=at,
        ended_at=at,
    )
    await app.store.evaluations.create(evaluation)
    for contender in range(2):
        for name, item_id in items.items():
            text = f"{PAYLOADS[name]} {contender}"
            statement = DraftStatement(
                text=text, verdict=Verdict.UNSUPPORTED, reason=Message.other(worst), passage=worst
            )
            written = SummaryWritten(
                item_id=item_id,
                title=PAYLOADS[name],
                url="https://evil.example/",
                drafts=1,
                is_kept=True,
                is_kept_at_first=True,
                summary=text,
                statements=[statement],
            )
            row = PieceRow(
                contender=contender,
                source=worst,
                run_id="run-evil",
                phase=Phase.SUMMARISE,
                place=f"{item_id}",
                is_answered=True,
                measured=written,
            )
            piece = EvaluationPiece(
                evaluation_id=evaluation.id,
                contender=contender,
                run_id=row.run_id,
                phase=row.phase,
                place=row.place,
                at=at,
            )
            await app.store.evaluations.save_piece(piece, row.model_dump(mode="json"))
