"""Researches put into the store as a worker leaves them there, in any state: for pages that show them."""

import datetime as dt
from itertools import pairwise
from typing import Any

from monitor.bootstrap import App
from monitor.db.sessions import sanitize_value
from monitor.db.tables.research import Research, ResearchEvent, ResearchRemark, ResearchStatus
from monitor.i18n.catalogue import get_word
from monitor.i18n.message import Message
from monitor.research.shapes import STEP_IDS, StepEvent, StepType, compute_progress
from monitor.vocabulary import Visibility

STEPS = list(StepType)


def outputs_of(
    *, query: str, topics: list[str], quote: str, url: str, title: str, record: str | None = None
) -> dict[str, Any]:
    """What the four steps gave: two notes of each topic, a model of two drivers, a report of as many sections."""
    note = {
        "summary": f"{quote}。",
        "evidence": [{"quote": quote, "source": url, "confidence": 0.82}],
        "sourceUrl": url,
        "engine": "archive",
    }
    notes = [{**note, "topic": topic} for topic in topics for _ in range(2)]
    basis = {
        "title": title,
        "url": url,
        "published_on": "2026-02-03",
        "record": record,
        "host": "o.gov",
        "authority": 1,
    }
    sections = "\n\n".join(
        f"## {topic}\n\n{quote}[{n}]。\n\n- 要点 [{n}]\n\n| 指标 | 数值 |\n| --- | --- |\n| 规模 | 3 亿元 [{n}] |"
        for n, topic in enumerate(topics, start=1)
    )
    sources = [{"title": title, "url": url, "noteIndex": 2 * place} for place in range(len(topics))]
    verdicts = ({"verdict": "supported"}, {"verdict": "unchecked"}, {"verdict": "unchecked", "isAssessment": True})
    statements = [
        {"text": f"第{number}句", "section": topics[0], "sources": [1], "passage": quote, **verdict}
        for number, verdict in enumerate(verdicts, start=1)
    ]
    drivers = [
        {"name": f"{topic}"[:40], "description": f"{quote}。", "evidenceRefs": [2 * place, 2 * place + 1]}
        for place, topic in enumerate(topics[:3])
    ]
    report = {"tokens": 1200, "durationMs": 2400, "isFallback": False}
    plan = {
        "content": f"围绕“{query}”分段检索。",
        "metadata": {
            "reportTitle": query,
            "paragraphs": [{"title": topic, "content": f"{topic}的要点"} for topic in topics],
        },
    }
    return {
        "plan": {"result": plan, "told": report},
        "deep_search": {
            "result": {"strategy": {"primaryQuery": query}, "notes": notes},
            "told": report,
            "bases": [basis] * len(notes),
        },
        "modeling": {
            "told": {**report, "isFallback": True, "reason": "the model gave no answer"},
            "result": {
                "coreDrivers": drivers,
                "relationships": [
                    {"from": entry["name"], "to": other["name"], "type": "influence", "confidence": 0.7}
                    for entry, other in pairwise(drivers)
                ],
                "scenarios": [{"name": title, "assumptions": [quote], "outcomes": [quote], "confidence": 0.5}],
                "metrics": [{"name": title, "estimate": 0.24, "unit": "%", "confidence": 0.6}],
            },
        },
        "reporting": {
            "told": report,
            "result": {
                "markdown": f"# {query}\n\n{sections}\n\n## 来源\n\n1. [x]({url})",
                "sources": sources,
                "metadata": {"statements": statements},
            },
            "score": {
                "quotes": len(notes),
                "quoteFidelity": 1.0,
                "figures": 4,
                "figureFidelity": 1.0,
                "sentences": 6,
                "citationCoverage": 1.0,
                "independentHosts": 1,
                "officialShare": 1.0,
                "supportedByCode": 5,
                "supportedByModel": 1,
                "unchecked": 1,
                "contradicted": 1,
                "unsupported": 1,
                "supportedShare": 0.6667,
                "assessments": 1,
                "planned": len(topics),
                "answered": len(topics),
                "disagreements": 1,
                "refused": {"quotes": 2, "contradicted": 1, "unsupported": 1},
            },
        },
    }


def paragraph_of(order: int, title: str, *, query: str, quote: str, url: str, at: dt.datetime, far: int = 3) -> Any:
    """A paragraph: 0 not begun, 1 while its results are read, 2 while they are summed up, 3 finished."""
    entry = {
        "query": query,
        "url": url,
        "title": title,
        "content": quote,
        "score": 0.9,
        "timestamp": at.isoformat(),
        "query_id": f"p{order}-q1",
    }
    rounds = [
        {
            "number": number,
            "query_id": f"p{order}-q{number + 1}",
            "search_query": query,
            "search_tool": "search_news_last_week" if number else "basic_search_news",
            "is_searched": far > 1,
            "is_summarised": far > 2,
            "fallbacks": ["no answer of the model"] if number else [],
        }
        for number in range(min(far, 2))
    ]
    research = {
        "search_history": [entry] if far > 1 else [],
        "rounds": rounds,
        "is_completed": far == 3,
        "latest_summary": f"{quote}[1]。" if far == 3 else "",
    }
    return {"title": title, "content": f"{title}的要点", "order": order, "research": research}


async def put(
    app: App,
    task_id: str,
    *,
    at: dt.datetime,
    status: ResearchStatus = ResearchStatus.SUCCEEDED,
    query: str = "绿电交易近况如何？",
    topics: tuple[str, ...] = ("背景", "最新进展", "影响"),
    quote: str = "2026年1月绿电交易量为3亿元",
    title: str = "关于绿电交易的通知",
    url: str = "https://o.gov/n/1",
    record: str | None = None,
    steps: int = 4,
    far: int = 3,
    remarks: tuple[str, ...] = (),
    unanswered: tuple[str, ...] = (),
    parent_id: str | None = None,
    edition_of: str | None = None,
    error: Message | None = None,
    visibility: Visibility = Visibility.OPEN,
    warnings: tuple[Message, ...] = (),
) -> None:
    """A research in the store: so many of its steps are finished, its paragraphs are so far."""
    given = outputs_of(query=query, topics=list(topics), quote=quote, url=url, title=title, record=record)
    gaps = [{"title": gap, "queries": [query], "reason": "no_statements"} for gap in unanswered]
    given["reporting"]["result"]["metadata"] |= {"planned": len(topics), "unanswered": gaps}
    given["plan"]["result"]["metadata"]["warnings"] = [warning.to_json() for warning in warnings]
    outputs = {str(step): given[str(step)] for step in STEPS[:steps]}
    ended = at + dt.timedelta(seconds=83) if status.is_final else None
    state = {"query": query, "report_title": query, "created_at": at.isoformat(), "updated_at": at.isoformat()}
    research = Research(
        id=task_id,
        parent_id=parent_id,
        edition_of=edition_of,
        query=query,
        language="zh",
        status=status,
        created_at=at,
        ended_at=ended,
        asked_by="editor",
        visibility=visibility,
        started_at=None if status is ResearchStatus.QUEUED else at,
        error=error,
        executor="test",
        enqueued_at=at,
        outputs=sanitize_value(outputs),
        state=sanitize_value(state) if steps else None,
    )
    await app.store.research.create(research)
    for order, topic in enumerate(topics if steps else ()):
        data = paragraph_of(order, topic, query=query, quote=quote, url=url, at=at, far=max(far - order, 0))
        await app.store.research.save_paragraph(task_id, order, data)
    for text in remarks:
        async with app.store.sessions.begin_write() as session:  # past the rule that it must be under way
            session.add(ResearchRemark(task_id=task_id, person="editor", text=text, at=at))
    now = STEPS[min(steps, 3)]
    event = StepEvent(
        step_id=STEP_IDS[now],
        step_type=now,
        status="progress",
        progress=compute_progress(now, 0.4),
        label=get_word("zh", "step_label", now),
    )
    if steps:
        await app.store.research_events.add(
            [ResearchEvent(task_id=task_id, at=at, data=event.to_json())], executor="test"
        )
