"""The section agent at work, with a model server that says what the test wants said."""

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from monitor.errors import MonitorError
from monitor.i18n.catalogue import render
from monitor.vocabulary import ItemType, RunStatus, SavedBy, SectionEnd, SummaryBy

OLD = (400, 410, 420, 430, 440, 450)
CEILING = 20_000
IN_RANGE = 30
HOME = f'<h1>首页</h1><p>{"欢迎访问本局网站。" * 20}</p><a href="/files/guide.pdf">填报说明（PDF）</a>'
FILES = Path(__file__).resolve().parents[3] / "fixtures" / "sites" / "ministry" / "files"


def item(bureau: Any, row: Any, **changes: Any) -> dict[str, Any]:
    reported = {"title": row.text, "url": bureau.site.url(row.path), "date": str(row.day), "type": "通知"}
    return {**reported, **changes}


def browse(bureau: Any, path: str = "/news/") -> tuple[str, dict[str, Any]]:
    return ("browse_page", {"url": bureau.site.url(path)})


async def test_what_the_agent_saves_is_the_pages_title_and_date_and_its_own_choice_of_a_type_that_is_open(
    bureau: Any, model: Any
) -> None:
    rows = bureau.rows(0, 1, 2, *OLD)
    rows[0].title = "本省储能项目建设的有关进展"
    bureau.show(rows)
    model.calls(browse(bureau))
    invented = item(bureau, rows[0], title="另一个题目", date="2026-11-01", type="政策")
    model.calls(("save_results_batch", {"items": [invented, item(bureau, rows[1], type="不是类型")]}))
    model.calls(("save_result", item(bureau, rows[2], type="人事")))
    run = await bureau.sweep()
    first, second, third = sorted(run.items, key=lambda entry: entry.url)
    assert (first.title, first.date, first.type, first.by) == (
        rows[0].text,
        rows[0].day,
        ItemType.POLICY,
        SavedBy.AGENT,
    )
    assert second.type is not ItemType.OTHER
    assert third.type is ItemType.NOTICE, "关于…的通知 says what it is"
    assert run.sections[0].corrected_dates == 1
    assert len(model.requests) >= 2


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"url": "https://elsewhere.example/invented.html"}, "url_not_on_any_page_seen"),
        ({"title": ""}, "title_missing"),
        ({"url": "javascript:alert(1)"}, "url_scheme_is_not_http"),
        ({"url": "ftp://127.0.0.1/a"}, "url_scheme_is_not_http"),
    ],
)
async def test_a_save_that_does_not_rest_on_the_page_is_refused_in_the_answer(
    bureau: Any, model: Any, changes: dict[str, Any], reason: str
) -> None:
    rows = bureau.rows(0, 1, *OLD)
    bureau.show(rows)
    model.calls(browse(bureau))
    model.calls(("save_result", item(bureau, rows[0], **changes)))
    model.calls(("finish", {}))
    run = await bureau.sweep()
    reported = json.loads(model_answer(model, "refused"))
    assert (reported["saved"], reported["refused"][0]["reason"]) == (0, reason)
    assert run.sections[0].refused_saves == 1
    assert {entry.by for entry in run.items} == {SavedBy.RULE}
    assert len(run.items) == 2


def model_answer(model: Any, word: str) -> str:
    answers = [m["content"] for r in model.requests for m in r["messages"] if m["role"] == "tool"]
    return next(answer for answer in answers if f'"{word}"' in answer)


async def test_a_date_outside_the_range_is_refused(bureau: Any, model: Any) -> None:
    rows = bureau.rows(0, *OLD)
    bureau.show(rows)
    model.calls(browse(bureau))
    model.calls(("save_result", item(bureau, rows[1], date=str(bureau.clock.today))))
    run = await bureau.sweep()
    assert "date_outside_range" in model_answer(model, "refused")
    assert [entry.title for entry in run.items] == [rows[0].text]


async def test_the_agent_may_leave_a_candidate_only_with_a_reason_for_that_very_url(bureau: Any, model: Any) -> None:
    rows = bureau.rows(0, 1, 2, *OLD)
    bureau.show(rows)
    model.calls(browse(bureau))
    left = [
        {"url": bureau.site.url(rows[0].path), "reason": "招聘启事"},
        {"url": bureau.site.url(rows[1].path), "reason": ""},
    ]
    model.calls(("finish", {"reason": "done", "left": left}))
    run = await bureau.sweep()
    ledger = await bureau.ledger(run)
    assert (ledger[100].disposition, render(ledger[100].reason, "en")) == ("left", "The model: 招聘启事")
    assert (ledger[101].disposition, ledger[102].disposition) == ("saved", "saved")
    assert run.status is RunStatus.DEGRADED
    assert "left 2 items" in render(run.fallbacks[0].reason, "en")


async def test_only_urls_that_were_seen_are_opened(bureau: Any, model: Any) -> None:
    bureau.show(bureau.rows(0, *OLD))
    bureau.site.on("/secret", "<p>not linked anywhere</p>")
    model.calls(browse(bureau, "/secret"))
    model.calls(("browse_page", {"url": "file:///etc/passwd"}))
    model.calls(("finish", {}))
    await bureau.sweep()
    assert "/secret" not in bureau.site.paths()
    assert all("stands on no page" in answer for answer in model_section_answers(model)[:2])


def model_section_answers(model: Any) -> list[str]:
    with_tools = [request for request in model.requests if request.get("tools")]
    return [message["content"] for message in with_tools[-1]["messages"] if message["role"] == "tool"]


async def test_a_summary_offered_with_a_save_passes_the_same_checks_or_is_dropped(bureau: Any, model: Any) -> None:
    rows = bureau.rows(0, 1, *OLD)
    bureau.show(rows)
    good = "为做好本年度工作，现将有关事项通知如下，请认真贯彻执行，并于月底前报送工作总结材料。"
    model.calls(browse(bureau))
    offered = [item(bureau, rows[0], summary=good), item(bureau, rows[1], summary=good + "共投资98765亿元。")]
    model.calls(("save_results_batch", {"items": offered}))
    run = await bureau.sweep()
    by = {entry.url.rpartition("/")[2]: (entry.summary_by, entry.summary) for entry in run.items}
    assert by["100.html"] == (SummaryBy.MODEL, good)
    assert by["101.html"][0] is SummaryBy.EXTRACT
    assert "98765" not in by["101.html"][1]


async def test_no_model_is_asked_about_a_section_without_anything_new(bureau: Any, model: Any) -> None:
    bureau.show(bureau.rows(*OLD))
    run = await bureau.sweep()
    assert (model.requests, run.sections[0].ended) == ([], SectionEnd.KNOWN)


async def test_no_agent_reads_a_pinned_section_that_is_a_feed(bureau: Any, model: Any, reply: Any) -> None:
    rows = bureau.rows(0, 1, 2)
    bureau.show(rows)
    entries = "".join(
        f"<item><title>{row.text}</title><link>{bureau.site.url(row.path)}</link>"
        f"<pubDate>{row.day:%a, %d %b %Y} 08:00:00 GMT</pubDate></item>"
        for row in rows
    )
    feed = f'<rss version="2.0"><channel><title>通知公告</title>{entries}</channel></rss>'
    bureau.site.on("/news/", reply(feed, headers={"content-type": "application/rss+xml"}))
    run = await bureau.sweep()
    assert len(run.items) == 3
    assert [request for request in model.requests if request.get("tools")] == []


async def test_two_barren_pages_end_the_work_without_another_call(bureau: Any, model: Any) -> None:
    pages = [
        bureau.rows(0, *OLD),
        bureau.rows(*OLD, first=200),
        bureau.rows(*OLD, first=300),
        bureau.rows(*OLD, first=400),
    ]
    bureau.show(*pages)
    model.calls(browse(bureau))
    model.calls(("save_result", item(bureau, pages[0][0])), browse(bureau, "/news/index_1.html"))
    model.calls(browse(bureau, "/news/index_2.html"))
    run = await bureau.sweep()
    assert run.sections[0].ended is SectionEnd.EARLY
    assert sum(bool(request.get("tools")) for request in model.requests) == 3


@pytest.mark.parametrize("rows_on_a_page", [40, 400])
async def test_the_context_stays_within_its_ceiling_at_any_size_of_page(
    bureau: Any, model: Any, rows_on_a_page: int
) -> None:
    rows = bureau.rows(*[0] * IN_RANGE, *[30] * (rows_on_a_page - IN_RANGE))
    for row in rows:
        row.title = f"关于印发《绿色能源发展第{row.number}号专项规划（2026—2030年）》并做好贯彻落实工作的通知" * 2
    bureau.options = {"max_items": 1000}
    bureau.show(rows, bureau.rows(*[40] * rows_on_a_page, first=5000), bureau.rows(*OLD, first=9000))
    model.calls(browse(bureau))
    model.calls(("save_results_batch", {"items": [item(bureau, row) for row in rows[:IN_RANGE]]}))
    model.calls(browse(bureau, "/news/index_1.html"), browse(bureau, "/news/index_2.html"))
    model.says("我先想一想。" * 4000)
    for offset in range(0, 400, 50):
        model.calls(("browse_page", {"url": bureau.site.url("/news/index_1.html"), "offset": offset}))
    run = await bureau.sweep()
    with_tools = [size for size, request in zip(model.sizes(), model.requests, strict=True) if request.get("tools")]
    assert len(with_tools) > 10
    assert max(with_tools) <= CEILING
    assert run.usage.by_phase["crawl"].largest_context_chars <= CEILING
    assert len(run.items) == IN_RANGE


async def test_broken_arguments_and_unknown_tools_are_answered_and_the_rule_completes(bureau: Any, model: Any) -> None:
    bureau.show(bureau.rows(0, 1, *OLD))
    model.calls(("browse_page", '{"url": '), ("delete_everything", {}), ("save_results_batch", {"items": "all"}))
    model.calls(("finish", "not json at all"))
    run = await bureau.sweep()
    assert len(run.items) == 2
    assert run.status is RunStatus.DEGRADED


async def test_a_cancelled_run_stops_between_two_turns_and_keeps_what_it_saved(bureau: Any, model: Any) -> None:
    rows = bureau.rows(0, 1, *OLD)
    bureau.show(rows)
    cancel = asyncio.Event()
    model.calls(browse(bureau))
    model.calls(("save_result", item(bureau, rows[0])))
    for _ in range(10):
        model.calls(browse(bureau))

    def on_progress(progress: Any) -> None:
        if progress.phase == "crawl" and progress.done:
            cancel.set()

    run = await bureau.sweep(cancel_event=cancel, on_progress=on_progress)
    assert run.status is RunStatus.CANCELLED
    assert [entry.title for entry in run.items] == [rows[0].text]
    again = await bureau.sweep()
    assert [entry.title for entry in again.items] == [rows[1].text]


async def test_a_refused_key_is_one_call_and_the_run_goes_by_rule(bureau: Any, model: Any, reply: Any) -> None:
    bureau.show(bureau.rows(0, 1, *OLD))
    bureau.site.on("/v1/chat/completions", reply('{"error": {"message": "bad key"}}', 401))
    try:
        run = await bureau.sweep()
    except MonitorError as error:  # pragma: no cover -- the message belongs into the failure
        pytest.fail(str(error))
    assert bureau.site.paths().count("/v1/chat/completions") == 1
    assert (run.status, len(run.items)) == (RunStatus.DEGRADED, 2)
    assert {entry.summary_by for entry in run.items} == {SummaryBy.EXTRACT}


async def test_the_general_agent_has_all_six_tools_and_really_reads_documents(
    bureau: Any, model: Any, general: Any, reply: Any
) -> None:
    document = (FILES / "zhibiao-jieshi.pdf").read_bytes()
    bureau.site.on("/files/guide.pdf", reply(document, headers={"content-type": "application/pdf"}))
    bureau.site.on(
        "/", f'<h1>首页</h1><p>{"欢迎访问本局网站。" * 20}</p><a href="/files/guide.pdf">填报说明（PDF）</a>'
    )
    model.calls(("download_file", {"url": bureau.site.url("/files/guide.pdf")}))
    model.calls(("browse_page", {"url": bureau.site.url("/")}))
    model.calls(("download_file", {"url": bureau.site.url("/files/guide.pdf")}))
    model.calls(("read_document", {"file": "../../../../etc/passwd"}))
    model.calls(("finish", {"reason": "done"}))
    result = await general(bureau)
    assert (result.finished, render(result.reason, "en"), result.turns) == (True, "done", 5)
    assert [tool["function"]["name"] for tool in model.requests[0]["tools"]] == [
        "browse_page",
        "save_results_batch",
        "save_result",
        "finish",
        "download_file",
        "read_document",
    ]
    unseen, page, saved, passwd = model.results()
    assert "stands on no page" in unseen
    assert "填报说明" in page
    assert json.loads(saved)["file"].endswith(".pdf")
    assert "no such file" in passwd


async def test_a_downloaded_document_is_read_under_the_name_that_the_answer_gave(
    bureau: Any, model: Any, general: Any, reply: Any
) -> None:
    document = (FILES / "zhibiao-jieshi.pdf").read_bytes()
    bureau.site.on("/files/guide.pdf", reply(document, headers={"content-type": "application/pdf"}))
    bureau.site.on(
        "/", f'<h1>首页</h1><p>{"欢迎访问本局网站。" * 20}</p><a href="/files/guide.pdf">填报说明（PDF）</a>'
    )
    name = hashlib.sha256(document).hexdigest()
    model.calls(("browse_page", {"url": bureau.site.url("/")}))
    model.calls(("download_file", {"url": bureau.site.url("/files/guide.pdf")}))
    await general(bureau)
    kept = json.loads(model.results()[1])["file"]
    assert name.startswith(kept.partition(".")[0])
    model.calls(("browse_page", {"url": bureau.site.url("/")}))
    model.calls(("download_file", {"url": bureau.site.url("/files/guide.pdf")}))
    model.calls(("read_document", {"file": kept}))
    model.calls(("finish", {}))
    await general(bureau)
    assert "统计" in model.results()[-1]
