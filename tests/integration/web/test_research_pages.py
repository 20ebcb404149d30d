"""The pages of research over HTTP: asking, the plan, remarks, and every state that a research can be in."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from monitor.db.tables.research import ResearchStatus
from monitor.i18n.message import Message
from monitor.search.registry import ARCHIVE_ONLY_WARNING
from monitor.services.audit import COMMAND_LINE
from monitor.services.runtime import WORKER_KIND
from tests.integration.services.test_research_documents import a_contract
from tests.integration.web.payloads import PAYLOADS
from tests.integration.web.researches import put

NOON = datetime(2026, 2, 3, 12, tzinfo=UTC)
QUERY = "绿电交易近况如何？"
QUOTE = "2026年1月绿电交易量为3亿元"


def page_of(answer: Any, status: int = 200) -> LexborHTMLParser:
    assert answer.status_code == status, answer.text
    return LexborHTMLParser(answer.text)


def words_of(node: Any) -> str:
    return " ".join(node.text().split())


@pytest.fixture
async def editor(desk: Any) -> Any:
    return await desk.sign_in("editor")


async def test_who_comes_first_is_told_what_to_do_and_what_is_missing(desk: Any, editor: Any) -> None:
    page = words_of(page_of(await editor.get("/research")).css_first("main"))
    assert "还没有做过研究" in page
    assert "没有工作进程，研究无法开始" in page
    assert "尚未配置语言模型" in page
    assert "只在本系统已收录的内容中检索" in page
    reader = await desk.sign_in("reader", language="en")
    looking = page_of(await reader.get("/research"))
    assert "Nothing has been asked yet." in words_of(looking.css_first("main"))
    assert looking.css_first("form#ask") is None


async def test_the_history_hands_out_every_research_once(desk: Any, editor: Any) -> None:
    for number in range(25):
        at = NOON + timedelta(minutes=number // 2)
        await put(
            desk.app, f"r-{number:02}", at=at, query=f"第 {number} 问：绿电", steps=0, status=ResearchStatus.QUEUED
        )
    found: list[str] = []
    path = "/research"
    while path:
        page = page_of(await editor.get(path))
        found += [link.attributes["href"].rpartition("/")[2] for link in page.css("tbody th a")]
        following = page.css_first("a[rel=next]")
        path = following.attributes["href"] if following else ""
    assert sorted(found) == [f"r-{number:02}" for number in range(25)]
    assert found[:2] == ["r-24", "r-23"]
    narrowed = page_of(await editor.get("/research", params={"q": '"第 7 问"'}))
    assert [words_of(link) for link in narrowed.css("tbody th a")] == ["第 7 问：绿电"]
    assert "没有符合条件的研究" in (await editor.get("/research", params={"q": "风电"})).text
    assert (await editor.get("/research", params={"cursor": "nonsense"})).status_code == 400


async def test_a_question_is_put_into_the_queue_with_the_settings_of_the_panel(desk: Any, editor: Any) -> None:
    options = {
        "enabled": True,
        "models": {"search": "small", "modeling": "small", "report": "large"},
        "sampling": {"temperature": 0.7, "topP": 0.5},
    }
    form = {"query": QUERY, "review_plan": "true", "options": json.dumps(options)}
    refused = page_of(await editor.post("/research", form, headers={"Accept-Language": "en"}), 400)
    assert "No worker is running" in words_of(refused.css_first(".trouble"))
    assert refused.css_first("textarea[name=query]").text().strip() == QUERY, "what was typed stays"
    async with desk.app.presence.register("worker"):
        wrong = page_of(await editor.post("/research", {**form, "options": '{"sampling": {"temperature": 9}}'}), 400)
        assert "sampling.temperature" in words_of(wrong.css_first(".trouble"))
        assert (await editor.post("/research", {"query": "  "})).status_code == 400
        beyond = page_of(await editor.post("/research", {**form, "engine": "archive", "max_results": "900"}), 400)
        assert "maxResults" in words_of(beyond.css_first(".trouble"))
        assert "checked" in beyond.css_first("input[name=engine][value=archive]").attributes, "what was chosen stays"
        wishes = {"engine": "archive", "max_results": "7", "timeout_s": "3"}
        answer = await editor.post("/research", form | wishes)
        plain = await editor.post("/research", {"query": QUERY})
    research = await desk.app.research.load_research(answer.headers["location"].rpartition("/")[2])
    assert (research.query, research.status, research.asked_by) == (QUERY, ResearchStatus.QUEUED, "editor")
    assert research.options == {**options, "review_plan": True}
    assert research.config == {"engines": ["archive"], "maxResults": 7, "timeoutMs": 3000}
    without = await desk.app.research.load_research(plain.headers["location"].rpartition("/")[2])
    assert (without.options["review_plan"], without.options["models"]) == (False, {})
    entries = await desk.app.audit.list_entries(action="research")
    assert {(entry.person, entry.action) for entry in entries} == {("editor", "research.start")}


async def test_a_finished_research_is_all_there_without_a_script(desk: Any) -> None:
    await put(desk.app, "done", at=NOON)
    page = page_of(await (await desk.sign_in("reader")).get("/research/done"))
    report = page.css_first("article.report")
    assert [words_of(head) for head in report.css("h3")] == ["背景", "最新进展", "影响"]
    assert {link.attributes["href"] for link in report.css("p a.cite")} == {
        f"/research/done/notes/{n}" for n in (0, 2, 4)
    }
    assert report.css_first("table td a.cite") is not None
    assert "来源" not in [words_of(head) for head in report.css("h2, h3")], "they stand beside it"
    assert [node.attributes["href"] for node in page.css("ul.sources > li > a.cite")] == [
        f"/research/done/notes/{n}" for n in (0, 2, 4)
    ]
    score = words_of(page.css_first(".score"))
    assert "引文见于存档网页100 % 共 6 处" in score
    assert "有依据的句子66 % 共写出 9 句" in score, "of what was said, the dropped ones too"
    assert ("已答的计划章节3 共 3" in score, "未核实1" in score) == (True, True)
    statements = page.css("#statements li")
    assert [words_of(statement.css_first(".badge")) for statement in statements] == ["有依据", "未核实", "评估"]
    assert statements[0].css_first("blockquote") is not None
    assert "原文中没有的引文" in score
    assert len(page.css("#research-notes blockquote")) == 6
    assert len(page.css(".drivers > li")) == 3
    assert {words_of(node) for node in page.css("aside .chips a")} == {"docx", "pdf", "html", "md"}
    assert page.css_first("meta[http-equiv=refresh]") is None
    assert page.css_first("form[data-send]") is None, "nothing is to be said any more"


async def test_how_it_went_stands_beneath_each_paragraph(desk: Any, editor: Any) -> None:
    await put(desk.app, "going", at=NOON, status=ResearchStatus.RUNNING, steps=1, far=3, remarks=("只看今年",))
    page = page_of(await editor.get("/research/going"))
    states = {node.attributes["data-step"]: node.attributes["class"] for node in page.css("[data-step]")}
    assert states == {
        "plan": "phase done",
        "deep_search": "phase now",
        "modeling": "phase waiting",
        "reporting": "phase waiting",
    }
    paragraphs = [words_of(node) for node in page.css("[data-paragraph]")]
    assert "完成" in paragraphs[0]
    assert "更新小结" in paragraphs[1]
    assert "阅读结果" in paragraphs[2]
    assert f"近一周 {QUERY} 采用 0 条结果" in paragraphs[0]
    assert "只看今年" in words_of(page.css_first("#research-remarks"))
    assert page.css_first("progress").attributes["value"] is not None


async def test_a_plan_is_put_in_order_and_approved(desk: Any, editor: Any) -> None:
    await put(desk.app, "plan", at=NOON, status=ResearchStatus.AWAITING_PLAN, steps=1, far=0)
    page = page_of(await editor.get("/research/plan"))
    titles = [node.attributes["value"] for node in page.css("input[name=paragraph_title]")]
    assert titles == ["背景", "最新进展", "影响"]
    assert page.css_first("meta[http-equiv=refresh]") is None, "what is typed must not be lost"
    form: dict[str, Any] = {"title": "报告", "paragraph_title": titles, "paragraph_content": ["一", "二", "三"]}
    moved = page_of(await editor.post("/research/plan/plan", {**form, "do": "up-2"}))
    assert [node.attributes["value"] for node in moved.css("input[name=paragraph_title]")] == [
        "背景",
        "影响",
        "最新进展",
    ]
    assert (await desk.app.research.load_research("plan")).status is ResearchStatus.AWAITING_PLAN, (
        "nothing is kept by moving"
    )
    empty = page_of(
        await editor.post("/research/plan/plan", {**form, "paragraph_title": ["", "", ""], "do": "start"}), 400
    )
    assert words_of(empty.css_first(".trouble"))
    changed = {**form, "paragraph_title": ["价格", "影响"], "paragraph_content": ["一", "三"], "do": "start"}
    assert (await editor.post("/research/plan/plan", changed)).headers["location"] == "/research/plan"
    state = await desk.app.research.load_state("plan", by=COMMAND_LINE)
    assert (state.report_title, [paragraph.title for paragraph in state.paragraphs]) == ("报告", ["价格", "影响"])
    assert (await desk.app.research.load_research("plan")).status is ResearchStatus.QUEUED
    late = await editor.post("/research/plan/plan", changed)
    assert late.headers["location"] == "/research/plan"
    assert "计划已经开始执行" in (await editor.get("/research/plan")).text
    reader = page_of(await (await desk.sign_in("reader")).get("/research/plan"))
    assert reader.css_first("form.plan") is None


async def test_a_remark_is_heard_while_it_goes_on_and_not_later(desk: Any, editor: Any) -> None:
    await put(desk.app, "going", at=NOON, status=ResearchStatus.RUNNING, steps=1)
    await put(desk.app, "done", at=NOON)
    assert (await editor.post("/research/going/remarks", {"text": "只看今年"})).status_code == 303
    page = page_of(await editor.get("/research/going"))
    assert "只看今年" in words_of(page.css_first("#research-remarks"))
    assert "下一次小结会采纳" in words_of(page.css_first(".notice"))
    assert (await editor.post("/research/going/remarks", {"text": " "})).status_code == 400
    await editor.post("/research/done/remarks", {"text": "太晚"})
    assert "研究已经结束" in words_of(page_of(await editor.get("/research/done")).css_first(".notice"))
    assert [remark.text for remark in await desk.app.research.list_remarks("done", by=COMMAND_LINE)] == []


async def test_a_research_is_cancelled_and_says_so(desk: Any, editor: Any) -> None:
    await put(desk.app, "waits", at=NOON, status=ResearchStatus.QUEUED, steps=0)
    await editor.post("/research/waits/cancel")
    page = page_of(await editor.get("/research/waits"))
    assert "研究已取消" in words_of(page.css_first("#research-head"))
    await editor.post("/research/waits/cancel")
    assert "研究已经结束" in words_of(page_of(await editor.get("/research/waits")).css_first(".notice"))
    assert [entry.action for entry in await desk.app.audit.list_entries(action="research")] == ["research.cancel"]


async def test_a_failed_research_says_why_and_shows_what_it_had(desk: Any, editor: Any) -> None:
    error = "The database cannot be reached."
    await put(desk.app, "failed", at=NOON, status=ResearchStatus.FAILED, steps=1, far=2, error=Message.other(error))
    page = page_of(await editor.get("/research/failed"))
    assert error in words_of(page.css_first(".trouble"))
    assert [node.attributes["class"] for node in page.css("[data-step]")][:2] == ["phase done", "phase stopped"]
    assert "停在这里" in words_of(page.css_first("[data-paragraph]"))


async def test_a_note_leads_to_the_passage_in_the_page(desk: Any, editor: Any) -> None:
    await put(desk.app, "done", at=NOON)
    page = page_of(await editor.get("/research/done/notes/0"))
    assert page.css_first("mark#passage").text() == QUOTE
    assert page.css_first("dl a.outside").attributes["href"] == "https://o.gov/n/1"
    for path in ("/research/done/notes/99", "/research/nobody", "/research/nobody/notes/0"):
        assert (await editor.get(path)).status_code == 404, path


@pytest.mark.parametrize("name", ["script", "image out of an attribute", "template", "javascript link"])
async def test_hostile_words_stay_words(desk: Any, editor: Any, name: str) -> None:
    text = PAYLOADS[name]
    await put(
        desk.app,
        "evil",
        at=NOON,
        query=text,
        topics=(text, text + "2"),
        quote=text,
        title=text,
        remarks=(text,),
        status=ResearchStatus.DEGRADED,
        url="javascript:alert(1)",
    )
    for path in ("/research/evil", "/research"):
        page = page_of(await editor.get(path))
        assert text in page.css_first("main").text()
        assert not [node for node in page.css("main script, main img, main iframe, main style") if node.attributes]
        assert not page.css('main a[href^="javascript"]')


async def test_what_the_plan_has_no_answer_to_is_said_first_and_in_exports(desk: Any, editor: Any) -> None:
    await put(desk.app, "gappy", at=NOON, unanswered=("影响",))
    page = page_of(await editor.get("/research/gappy"))
    assert words_of(page.css_first("#gaps")).startswith(
        "计划的 3 节中有 1 节没有答案：影响：读到的网页中没有可以核实的内容"
    )
    for form in ("md", "html"):
        text = (await editor.get(f"/api/v1/research/gappy/report.{form}")).text
        assert 0 < text.index("计划的 3 节中有 1 节没有答案") < text.index(QUOTE)
    await put(desk.app, "whole", at=NOON)
    assert page_of(await editor.get("/research/whole")).css_first("#gaps") is None


async def test_that_no_search_service_is_set_up_is_said_in_plain_words(desk: Any, editor: Any) -> None:
    await put(desk.app, "local", at=NOON, warnings=(ARCHIVE_ONLY_WARNING,))
    for person, finds_settings in ((editor, False), (await desk.sign_in("admin"), True)):
        shown = page_of(await person.get("/research/local")).css_first("main")
        assert "只在本系统已收录的内容中检索" in words_of(shown)
        assert "search.backend" not in shown.text(), "a name of the configuration says nothing to who reads"
        assert (shown.css_first("a[href='/settings/search']") is not None) == finds_settings


async def test_each_citation_names_the_card_with_its_page_its_quote_and_the_verdict(desk: Any, editor: Any) -> None:
    await put(desk.app, "cited", at=NOON)
    page = page_of(await editor.get("/research/cited"))
    cited = [link.attributes["data-card"] for link in page.css(".report a.cite[data-card]")]
    cards = {card.attributes["id"]: words_of(card) for card in page.css(".citation-card")}
    assert cited
    assert set(cited) == set(cards)
    for text in cards.values():
        assert "关于绿电交易的通知" in text
        assert "2026-02-03" in text
        assert QUOTE in text


async def test_a_question_about_a_report_stands_under_it(desk: Any, editor: Any) -> None:
    await put(desk.app, "asked", at=NOON)
    await put(desk.app, "asked-q1", at=NOON, parent_id="asked", query="何时施行？")
    moved = await editor.get("/research/asked-q1")
    assert (moved.status_code, moved.headers["location"]) == (303, "/research/asked#question-asked-q1")
    entry = page_of(await editor.get("/research/asked")).css_first("#question-asked-q1")
    assert "何时施行？" in words_of(entry)
    assert {link.attributes["href"].rsplit("/", 1)[0] for link in entry.css("a.cite")} == {"/research/asked-q1/notes"}
    refused = page_of(await editor.post("/research/asked/questions", {"question": "为什么？"}), 400)
    assert "为什么？" in words_of(refused.css_first("#f-question")), "what was typed stays"
    reader = await desk.sign_in("reader")
    assert page_of(await reader.get("/research/asked")).css_first("#f-question") is None


async def test_a_research_is_put_on_a_schedule_and_shows_its_editions(desk: Any, editor: Any) -> None:
    await put(desk.app, "first", at=NOON)
    picked = {"schedule_kind": "weekly", "schedule_day": "1", "schedule_time": "08:00"}
    await editor.post("/research/first/schedule", picked)
    await put(desk.app, "second", at=NOON + timedelta(days=7), edition_of="first", url="https://o.gov/n/2")
    page = page_of(await editor.get("/research/second"))
    shown = words_of(page.css_first("#editions"))
    assert "每周一 08:00" in shown
    assert [link.attributes["href"] for link in page.css("#editions li a")] == ["/research/first"]
    report = words_of(page.css_first("article.report"))
    assert 0 < report.index("自 2026-02-03 一期以来的新内容") < report.index("背景")
    listed = (await editor.get("/api/v1/research/second/editions")).json()
    assert (listed["first"], listed["schedule"], listed["news"]["sources"][0]["url"]) == (
        "first",
        "0 8 * * 1",
        "https://o.gov/n/2",
    )
    refused = page_of(await editor.post("/research/first/schedule", {"schedule": "1 2 3"}), 400)
    assert refused.css_first("#editions .error") is not None
    await editor.post("/research/second/schedule", {"schedule_kind": "off"})
    assert (await editor.get("/api/v1/research/second/editions")).json()["schedule"] is None
    reader = await desk.sign_in("reader")
    assert page_of(await reader.get("/research/second")).css_first("#editions form") is None


async def test_a_document_is_uploaded_with_the_question_and_shown_with_the_research(desk: Any, editor: Any) -> None:
    form = page_of(await editor.get("/research")).css_first("form#ask")
    assert form.attributes["enctype"] == "multipart/form-data"
    fields = {"query": QUERY, "csrf": form.css_first("[name=csrf]").attributes["value"]}
    file = ("documents", ("合同.docx", a_contract("违约金为合同总价的7%。"), "application/zip"))
    nothing = ("documents", ("", b"", "application/octet-stream"))
    async with desk.app.presence.register(WORKER_KIND):
        refused = await editor.post("/research", data=fields, files=[("documents", ("a.pdf", b"x", "application/pdf"))])
        page = page_of(refused, 400)
        assert words_of(page.css_first(".trouble")) == "a.pdf 不是 PDF、DOCX 或 XLSX 文件。"
        assert page.css_first("#f-query").text().strip() == QUERY
        begun = await editor.post("/research", data=fields, files=[file, nothing])
    page = page_of(await editor.get(begun.headers["location"]))
    (shown,) = page.css("#research-documents li")
    assert words_of(shown).startswith("合同.docx 由 editor 上传")
    assert (await editor.get(shown.css_first("a").attributes["href"])).content == file[1][1]


async def test_a_document_among_the_sources_is_named_with_who_uploaded_it(desk: Any, editor: Any) -> None:
    await put(desk.app, "r-own", at=NOON, title="合同.pdf，第 3 页", url="document:0123456789abcdef/%E5%90%88#page=3")
    research = await desk.app.store.research.get("r-own")
    found = research.outputs["deep_search"]
    own = {"number": 1, "name": "合同.pdf", "uploadedBy": "anna", "page": 3, "sheet": None}
    found["bases"] = [{**basis, "host": "", "document": own} for basis in found["bases"]]
    await desk.app.store.research.save_output("r-own", "deep_search", found)
    page = page_of(await editor.get("/research/r-own"))
    for place in ("ul.sources li", ".citation-card", "ol.notes li"):
        assert "由 anna 上传" in words_of(page.css_first(place)), place
    assert not [link for link in page.css("a") if (link.attributes["href"] or "").startswith("document:")]
    exported = (await editor.get("/api/research/r-own/report.html")).text
    assert "由 anna 上传" in exported
    assert 'href="document:' not in exported
