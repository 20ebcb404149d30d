"""Researches over HTTP: asked within bounds, listed, approved, remarked upon, cancelled, read, saved as documents."""

import datetime as dt
import json
from typing import Any

import httpx
import pytest

from monitor.db.tables.research import Research, ResearchStatus
from monitor.services.audit import COMMAND_LINE
from monitor.services.runtime import WORKER_KIND
from tests.integration.services.test_research_documents import a_contract
from tests.integration.web import researches

NOON = dt.datetime(2026, 2, 3, 12, tzinfo=dt.UTC)
QUOTE = "2026年1月绿电交易量为3亿元"
PARAGRAPHS = [{"title": "政策", "content": "有哪些政策"}, {"title": "价格", "content": ""}]


@pytest.fixture
async def editor(desk: Any) -> httpx.AsyncClient:
    """A program that may ask."""
    return await desk.program("editor")


async def put(desk: Any, task_id: str = "r", **more: Any) -> str:
    await researches.put(desk.app, task_id, **{"at": NOON, "quote": QUOTE, **more})
    return f"/api/v1/research/{task_id}"


def problem(answer: httpx.Response, status: int) -> str:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    return str(answer.json()["detail"])


async def test_a_question_is_put_into_the_queue_as_it_was_asked(desk: Any, editor: httpx.AsyncClient) -> None:
    asked = {
        "query": "  稀土出口管制有哪些变化？\x00 ",
        "config": {"engines": ["bing", "archive"], "maxResults": 20, "timeoutMs": 20000},
        "options": {
            "enabled": True,
            "models": {"search": "llama3:8b", "modeling": " ", "report": "llama3:70b"},
            "sampling": {"temperature": 0.3, "topP": 0.85},
            "review_plan": True,
        },
    }
    assert "No worker is running" in problem(await editor.post("/api/v1/research", json=asked), 400)
    async with desk.app.presence.register(WORKER_KIND):
        answer = await editor.post("/api/v1/research", json=asked)
    assert answer.status_code == 202
    (task_id,) = answer.json().values()
    assert answer.json() == {"taskId": task_id}
    assert answer.headers["location"] == f"/api/v1/research/{task_id}"
    view = (await editor.get(answer.headers["location"])).json()
    assert (view["query"], view["status"], view["language"], view["progress"]) == (
        "稀土出口管制有哪些变化？",
        "queued",
        "zh",
        0,
    )
    assert view["config"] == asked["config"]
    assert view["options"] == asked["options"] | {"models": {"search": "llama3:8b", "report": "llama3:70b"}}
    assert view["askedBy"] == "editor-program"
    (entry,) = await desk.app.audit.list_entries(action="research.start")
    assert (entry.person, entry.subject, entry.detail) == ("editor-program", task_id, {"visibility": "private"})


@pytest.mark.parametrize(
    ("name", "asked"),
    {
        "nothing": {},
        "an empty question": {"query": ""},
        "a blank question": {"query": " \n\x00"},
        "a long question": {"query": "字" * 2001},
        "a key too many": {"query": "?", "depth": 3},
        "an unknown wish": {"query": "?", "config": {"engine": "bing"}},
        "too many engines": {"query": "?", "config": {"engines": ["bing"] * 21}},
        "too many results": {"query": "?", "config": {"maxResults": 101}},
        "an unknown option": {"query": "?", "options": {"reviewPlan": True}},
        "a model of no step": {"query": "?", "options": {"models": {"planner": "gpt-5"}}},
        "too hot": {"query": "?", "options": {"sampling": {"temperature": 2.1}}},
        "an unknown sampling": {"query": "?", "options": {"sampling": {"top_k": 1}}},
    }.items(),
)
async def test_what_breaks_the_bounds_is_refused_in_a_sentence(
    desk: Any, editor: httpx.AsyncClient, name: str, asked: dict[str, Any]
) -> None:
    async with desk.app.presence.register(WORKER_KIND):
        assert problem(await editor.post("/api/v1/research", json=asked), 422), name
    assert (await editor.get("/api/v1/research")).json() == {"researches": [], "next": None}


async def test_the_longest_question_and_the_barest_wish_are_taken(desk: Any, editor: httpx.AsyncClient) -> None:
    async with desk.app.presence.register(WORKER_KIND):
        assert (await editor.post("/api/v1/research", json={"query": "字" * 2000})).status_code == 202


async def test_the_history_is_listed_newest_first_in_pages_and_narrowed_by_a_word(
    desk: Any, editor: httpx.AsyncClient
) -> None:
    for number in range(5):
        await put(desk, f"r{number}", at=NOON + dt.timedelta(minutes=number // 2), query=f"问题{number}？")
    path, seen = "/api/v1/research?limit=2", []
    while path:
        page = (await editor.get(path)).json()
        assert all("report" not in research and "notes" not in research for research in page["researches"])
        seen.append([research["taskId"] for research in page["researches"]])
        path = page["next"] and f"/api/v1/research?limit=2&cursor={page['next']}"
    assert seen == [["r4", "r3"], ["r2", "r1"], ["r0"]]
    (listed,) = (await editor.get("/api/v1/research", params={"q": "问题3"})).json()["researches"]
    assert (listed["taskId"], listed["status"], listed["score"]["quoteFidelity"]) == ("r3", "succeeded", 1.0)
    for cursor in ("x", "WyJhIiwiYiJd"):
        assert "cursor" in problem(await editor.get("/api/v1/research", params={"cursor": cursor}), 400)


async def test_a_finished_research_is_shown_in_the_shapes_of_the_protocol(desk: Any, editor: httpx.AsyncClient) -> None:
    path = await put(desk)
    view = (await editor.get(path)).json()
    for name in ("taskId", "status", "plan", "notes", "blueprint", "report", "score", "usage"):
        assert view[name], name
    assert view["plan"].keys() == {"content", "metadata"}
    assert view["notes"][0].keys() == {"summary", "evidence", "topic", "sourceUrl", "engine"}
    assert view["blueprint"]["coreDrivers"][0].keys() == {"name", "description", "evidenceRefs"}
    assert view["blueprint"]["relationships"][0].keys() == {"from", "to", "type", "confidence"}
    assert view["report"].keys() == {"markdown", "outline", "sources", "metadata"}
    assert "bases" not in view
    assert "There is no research" in problem(await editor.get("/api/v1/research/nobody"), 404)


async def test_a_plan_is_approved_once_and_only_while_it_waits(desk: Any, editor: httpx.AsyncClient) -> None:
    path = await put(desk, status=ResearchStatus.AWAITING_PLAN, steps=1, far=0)
    wanted = {"title": "绿电", "paragraphs": PARAGRAPHS}
    for wrong in (
        {"paragraphs": []},
        {"paragraphs": [{"title": " "}]},
        {"paragraphs": [{"name": "x"}]},
        {"title": "x"},
    ):
        problem(await editor.put(f"{path}/plan", json=wrong), 422)
    most = desk.app.settings.research.max_paragraphs
    many = {"paragraphs": PARAGRAPHS[:1] * (most + 1)}
    assert f"1 to {most} paragraphs" in problem(await editor.put(f"{path}/plan", json=many), 400)
    answer = await editor.put(f"{path}/plan", json=wanted)
    assert (answer.status_code, answer.json()) == (202, {"taskId": "r", "status": "queued"})
    plan = (await editor.get(path)).json()["plan"]["metadata"]
    assert (plan["reportTitle"], plan["paragraphs"]) == ("绿电", PARAGRAPHS)
    problem(await editor.put(f"{path}/plan", json=wanted), 409)
    (entry,) = await desk.app.audit.list_entries(action="research.plan")
    assert entry.detail == {"paragraphs": 2}


async def test_a_remark_is_kept_while_the_research_goes(desk: Any, editor: httpx.AsyncClient) -> None:
    path = await put(desk, status=ResearchStatus.RUNNING, steps=1)
    answer = await editor.post(f"{path}/remarks", json={"text": " 请侧重价格。 "})
    assert (answer.status_code, answer.json()) == (202, {"taskId": "r", "status": "running"})
    (kept,) = await desk.app.research.list_remarks("r", by=COMMAND_LINE)
    assert (kept.person, kept.text) == ("editor-program", "请侧重价格。")
    problem(await editor.post(f"{path}/remarks", json={"text": " "}), 422)
    over = await put(desk, "over")
    problem(await editor.post(f"{over}/remarks", json={"text": "x"}), 409)


@pytest.mark.parametrize(
    ("before", "code", "after"),
    [
        (ResearchStatus.QUEUED, 200, "cancelled"),
        (ResearchStatus.AWAITING_PLAN, 200, "cancelled"),
        (ResearchStatus.RUNNING, 202, "running"),
    ],
)
async def test_a_research_is_cancelled_at_once_or_soon(
    desk: Any, editor: httpx.AsyncClient, before: ResearchStatus, code: int, after: str
) -> None:
    path = await put(desk, status=before, steps=1)
    answer = await editor.delete(path)
    view = (await editor.get(path)).json()
    assert (answer.status_code, answer.json()) == (code, {"taskId": "r", "status": after})
    assert (view["status"], view["isCancelRequested"]) == (after, True)
    reported = await desk.app.store.research_events.latest("r")
    if after == "cancelled":
        assert (reported.data["status"], reported.data["payload"]["result"]) == ("error", None)
        assert reported.data["payload"]["error"]["code"] == "cancelled"
        problem(await editor.delete(path), 409)


async def test_a_research_whose_process_died_is_told_as_failed(desk: Any, editor: httpx.AsyncClient) -> None:
    path = await put(desk, status=ResearchStatus.RUNNING, steps=1)
    async with desk.app.store.sessions.begin_write() as session:
        (await session.get(Research, "r")).enqueued_at = None  # it was begun outside of the queue
    view = (await editor.get(path)).json()
    assert view["status"] == "failed"
    assert "--resume r" in view["error"]
    *_, last = [line for line in (await editor.get(f"{path}/events")).text.splitlines() if line.startswith("data: ")]
    reported = json.loads(last.removeprefix("data: "))
    assert (reported["status"], reported["payload"]["error"]["code"], reported["payload"]["result"]) == (
        "error",
        "failed",
        None,
    )
    assert reported["payload"]["error"] == {"code": "failed", "message": view["error"]}


@pytest.mark.parametrize(
    ("form", "kind", "first"),
    [("md", "text/markdown", b""), ("html", "text/html", b"<!"), ("docx", "wordprocessingml.document", b"PK")],
)
async def test_a_report_is_saved_as_a_document(
    desk: Any, editor: httpx.AsyncClient, form: str, kind: str, first: bytes
) -> None:
    path = await put(desk)
    answer = await editor.get(f"{path}/report.{form}")
    assert answer.status_code == 200, answer.text
    assert kind in answer.headers["content-type"]
    assert answer.headers["content-disposition"].startswith(f'attachment; filename="research-r.{form}"')
    assert answer.content.startswith(first)
    if form != "docx":
        assert "# 绿电交易近况如何" in answer.text or "<h1>绿电交易近况如何" in answer.text
        assert QUOTE in answer.text
        assert "https://o.gov/n/1" in answer.text
    waits = await put(desk, "waits", status=ResearchStatus.RUNNING, steps=2)
    assert "no report yet" in problem(await editor.get(f"{waits}/report.{form}"), 409)
    problem(await editor.get(f"{path}/report.exe"), 422)


async def test_citations_of_a_document_lead_to_the_kept_pages_where_others_reach_the_service(
    desk: Any, editor: httpx.AsyncClient
) -> None:
    path = await put(desk)
    assert "/notes/" not in (await editor.get(f"{path}/report.html")).text
    desk.app.settings.web.public_url = "https://monitor.example/desk/"
    assert "https://monitor.example/desk/research/r/notes/0" in (await editor.get(f"{path}/report.html")).text


async def test_a_note_is_shown_with_its_quote_in_the_kept_text(desk: Any, editor: httpx.AsyncClient) -> None:
    path = await put(desk)
    page = (await editor.get(f"{path}/notes/1")).json()
    assert page["text"][page["start"] : page["end"]] == QUOTE == page["passage"]
    assert page["url"] == "https://o.gov/n/1"
    assert "no quote 1" in problem(await editor.get(f"{path}/notes/1?quote=1"), 404)
    assert "no note 99" in problem(await editor.get(f"{path}/notes/99"), 404)


async def test_the_figures_of_researches_are_told_to_prometheus(desk: Any, editor: httpx.AsyncClient) -> None:
    await put(desk)
    await put(desk, "other", status=ResearchStatus.FAILED, steps=1)
    lines = (await editor.get("/metrics")).text.splitlines()
    for line in (
        'monitor_researches{status="succeeded"} 1.0',
        'monitor_researches{status="failed"} 1.0',
        'monitor_researches{status="queued"} 0.0',
        "monitor_research_quote_fidelity 1.0",
        "monitor_research_figure_fidelity 1.0",
        'monitor_research_seconds{of="median"} 83.0',
        'monitor_research_refused{kind="quotes"} 2.0',
        "monitor_research_tokens_total 0.0",
    ):
        assert line in lines


async def test_a_question_is_asked_about_a_report_and_listed_with_its_answer(
    desk: Any, editor: httpx.AsyncClient
) -> None:
    path = await put(desk)
    await put(desk, "r-q1", parent_id="r")
    async with desk.app.presence.register(WORKER_KIND):
        answer = await editor.post(f"{path}/questions", json={"question": "何时施行？"})
    assert answer.status_code == 202
    assert answer.headers["location"] == f"/api/v1/research/{answer.json()['taskId']}"
    listed = (await editor.get(f"{path}/questions")).json()["questions"]
    assert [entry["taskId"] for entry in listed] == ["r-q1", answer.json()["taskId"]]
    assert listed[0]["answer"]["sources"]
    assert listed[0]["notes"][0]["evidence"][0]["quote"] == QUOTE
    assert (listed[1]["query"], listed[1]["status"], listed[1]["answer"]) == ("何时施行？", "queued", None)
    assert [row["taskId"] for row in (await editor.get("/api/v1/research")).json()["researches"]] == ["r"]
    waiting = await put(desk, "w", status=ResearchStatus.RUNNING, steps=1)
    assert "report" in problem(await editor.post(f"{waiting}/questions", json={"question": "何时？"}), 409)
    problem(await editor.post(f"{path}/questions", json={"question": " "}), 422)


async def test_a_question_is_asked_with_documents_all_of_it_or_nothing(desk: Any, editor: httpx.AsyncClient) -> None:
    asked = {"asked": json.dumps({"query": "违约金是多少？", "options": {"review_plan": True}})}
    contract = ("documents", ("../../合同.pdf", a_contract("违约金为合同总价的7%。"), "application/pdf"))
    wrong = ("documents", ("b.docx", b"MZ", "application/pdf"))
    async with desk.app.presence.register(WORKER_KIND):
        refused = await editor.post("/api/v1/research/documents", data=asked, files=[contract, wrong])
        assert "b.docx" in problem(refused, 400)
        assert (await editor.get("/api/research")).json()["researches"] == []
        answer = await editor.post("/api/v1/research/documents", data=asked, files=[contract])
    assert answer.status_code == 202, answer.text
    here = answer.headers["location"]
    (given,) = (await editor.get(f"{here}/documents")).json()["documents"]
    assert (given["name"], given["kind"], given["uploadedBy"]) == ("合同.pdf", "docx", "editor-program")
    file = await editor.get(f"{here}/documents/1")
    assert file.content == contract[1][1]
    assert file.headers["content-disposition"].startswith("attachment;")
    other = await desk.program("reader")
    assert (await other.get(f"{here}/documents/1")).status_code == 404
    assert (await other.get(f"{here}/documents")).status_code == 404
    (entry,) = await desk.app.audit.list_entries(action="research.start")
    assert entry.detail["documents"] == [given["sha256"]]


async def test_documents_may_be_longer_than_other_bodies_from_who_may_ask(desk: Any, editor: httpx.AsyncClient) -> None:
    path, long = "/api/v1/research/documents", [("documents", ("a.bin", b"x" * 5_000_000, "application/pdf"))]
    asked = {"asked": json.dumps({"query": "什么？"})}
    refused = await editor.post(path, data=asked, files=long)
    assert (refused.status_code, refused.json()["code"]) == (400, "cause.upload_kind")
    assert (await editor.post("/api/v1/research", content=b"x" * 5_000_000)).status_code == 413
    reader = await desk.sign_in("reader")
    assert (await reader.post(path, data=asked, files=long)).status_code == 413
    async with httpx.AsyncClient(base_url=str(editor.base_url), transport=editor._transport) as nobody:
        assert (await nobody.post(path, data=asked, files=long)).status_code == 413
