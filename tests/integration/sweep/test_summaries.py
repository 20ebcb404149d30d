"""What becomes of summaries in a run: rewritten, dropped, replaced by an extract, and said so."""

import json
from typing import Any

import pytest

from monitor.db.tables.collection import Item
from monitor.db.tables.evidence import Claim, ClaimKind
from monitor.i18n.catalogue import render
from monitor.vocabulary import ItemType, JudgedBy, Phase, RunStatus, SummaryBy, Verdict

OLD = (400, 410, 420, 430, 440, 450)
TITLE = "关于印发绿色电力发展实施方案的通知"
TEXT = (
    "2026年11月18日，省能源局印发绿色电力发展实施方案。方案提出到2030年绿色电力装机容量达到1.5亿千瓦，同比增长12.5%。"
    "方案要求各市能源局在2026年12月30日前报送实施计划。省能源局将对储能电站开展安全检查。"
)
FIRST = "方案提出到2030年绿色电力装机容量达到1.5亿千瓦，同比增长12.5%。"
SECOND = "方案要求各市能源局在2026年12月30日前报送实施计划。"
LIE = "方案提出到2035年共投资987亿元。"
RULES = "重点关注储能电站补贴退坡对民营企业投资意愿的影响"


async def sweep(bureau: Any, model: Any, *answers: Any, title: str = TITLE, kind: str = "通知") -> tuple[Any, Item]:
    """Run with one new item, which the agent saves as `kind`; these are what the model says to its summary."""
    (row,) = bureau.rows(0)
    row.title = title
    bureau.show([row, *bureau.rows(*OLD, first=200)])
    body = "".join(f"<p>{sentence}。</p>" for sentence in TEXT.split("。") if sentence)
    bureau.site.on(row.path, f"<html><head><title>{title}</title></head><body><h1>{title}</h1>{body}</body></html>")
    bureau.options = {"rules": RULES}
    model.calls(("browse_page", {"url": bureau.site.url("/news/")}))
    saved = {"title": title, "url": bureau.site.url(row.path), "date": str(row.day), "type": kind}
    model.calls(("save_results_batch", {"items": [saved]}))
    for answer in answers:
        model.says(answer[0], **dict(*answer[1:]))
    run = await bureau.sweep()
    (item,) = await bureau.store.items.list_for_run(run.run_id)
    return run, item


def list_asked(model: Any) -> list[list[dict[str, Any]]]:
    """The conversations about the summary."""
    return [
        request["messages"]
        for request in model.requests
        if not request.get("tools") and "<<<PAGE" in request["messages"][1]["content"]
    ]


async def load_claims(bureau: Any, item: Item) -> list[Claim]:
    claims = await bureau.store.evidence.list_claims(item.id)
    return [claim for claim in claims if claim.kind is ClaimKind.SUMMARY]


def get_reasons(run: Any) -> list[str]:
    return [render(fallback.reason, "en") for fallback in run.fallbacks if fallback.phase is Phase.SUMMARISE]


async def test_a_true_summary_is_kept_with_its_verdicts(bureau: Any, model: Any) -> None:
    run, item = await sweep(bureau, model, (f"{FIRST}{SECOND}",))
    assert (run.status, item.summary_by, item.summary) == (RunStatus.SUCCEEDED, SummaryBy.MODEL, f"{FIRST}{SECOND}")
    assert item.statements is not None
    assert (item.statements["supported_by_code"], sum(item.statements.values())) == (2, 2)
    claims = await load_claims(bureau, item)
    assert [claim.claim for claim in claims] == [FIRST, SECOND]
    assert {(claim.verdict, claim.judged_by) for claim in claims} == {(Verdict.SUPPORTED, JudgedBy.CODE)}
    assert all(claim.passage and claim.passage in TEXT for claim in claims)
    assert len(list_asked(model)) == 1


async def test_a_lie_is_sent_back_once_with_the_reason(bureau: Any, model: Any) -> None:
    run, item = await sweep(bureau, model, (f"{FIRST}{LIE}",), (f"{FIRST}{SECOND}",))
    assert (run.status, item.summary) == (RunStatus.SUCCEEDED, f"{FIRST}{SECOND}")
    first, again = list_asked(model)
    assert again[:2] == first
    assert LIE in again[2]["content"]
    assert LIE in again[3]["content"]
    assert FIRST not in again[3]["content"].split("原文：")[0]
    assert "987亿元" in again[3]["content"]
    assert item.statements is not None
    assert sum(item.statements.values()) == 2


async def test_a_lie_that_is_told_again_costs_the_summary_and_is_counted(bureau: Any, model: Any) -> None:
    run, item = await sweep(bureau, model, (f"{FIRST}{LIE}",), (f"{FIRST}{SECOND}{LIE}",))
    assert (run.status, item.summary_by) == (RunStatus.DEGRADED, SummaryBy.EXTRACT)
    assert item.statements is not None
    assert item.statements["contradicted"] + item.statements["unsupported"] == 1
    assert LIE not in [claim.claim for claim in await load_claims(bureau, item)]


async def test_of_lies_alone_an_extract_is_left_and_the_run_says_why(bureau: Any, model: Any) -> None:
    run, item = await sweep(bureau, model, (LIE,), (LIE * 2,))
    assert (run.status, item.summary_by) == (RunStatus.DEGRADED, SummaryBy.EXTRACT)
    (reason,) = get_reasons(run)
    assert reason.startswith("extract instead of a summary: not on the page: ")
    assert "987亿元" in reason
    claims = await load_claims(bureau, item)
    assert {(claim.verdict, claim.judged_by, claim.passage == claim.claim) for claim in claims} == {
        (Verdict.SUPPORTED, JudgedBy.CODE, True)
    }
    assert "".join(claim.claim for claim in claims) == item.summary
    assert item.statements is not None
    assert item.statements["supported_by_code"] == len(claims)
    assert item.statements["contradicted"] + item.statements["unsupported"] == 2


@pytest.mark.parametrize("finish_reason", ["length", "content_filter"])
async def test_an_answer_that_the_server_cut_is_asked_for_again(bureau: Any, model: Any, finish_reason: str) -> None:
    cut = (f"{FIRST}{SECOND}", {"finish_reason": finish_reason})
    run, item = await sweep(bureau, model, cut, (SECOND,))
    assert (run.status, item.summary) == (RunStatus.SUCCEEDED, SECOND)
    assert run.usage.by_phase[Phase.SUMMARISE].calls == 2
    assert len(list_asked(model)[1]) == 2, "there is nothing to correct"


async def test_a_model_that_is_always_cut_gets_extracts_and_a_clear_cause(bureau: Any, model: Any) -> None:
    cut = (f"{FIRST}{SECOND}", {"finish_reason": "length"})
    run, item = await sweep(bureau, model, cut, cut)
    assert (run.status, item.summary_by) == (RunStatus.DEGRADED, SummaryBy.EXTRACT)
    (reason,) = get_reasons(run)
    assert reason.startswith("extract instead of a summary: cut off: ")


async def test_a_summary_without_an_end_is_asked_for_again(bureau: Any, model: Any) -> None:
    _, item = await sweep(bureau, model, (f"{FIRST}{SECOND[:-5]}",), (f"{FIRST}{SECOND}",))
    assert (item.summary_by, item.summary) == (SummaryBy.MODEL, f"{FIRST}{SECOND}")


async def test_an_echo_of_the_prompt_never_becomes_a_summary(bureau: Any, model: Any) -> None:
    echoed = f"管理员的要求：{RULES}\n\n标题：{TITLE}\n\n正文：\n<<<PAGE\n{TEXT}\nPAGE>>>"
    run, item = await sweep(bureau, model, (echoed,), (f"{RULES}。{FIRST}{SECOND}",))
    assert RULES in list_asked(model)[0][1]["content"]
    assert item.summary_by is SummaryBy.EXTRACT
    assert RULES not in item.summary
    run, item = await sweep_again(bureau, model, echoed)
    assert item.summary_by is SummaryBy.EXTRACT
    assert "repeats the prompt" in get_reasons(run)[0]
    assert RULES not in item.summary


async def sweep_again(bureau: Any, model: Any, answer: str) -> tuple[Any, Item]:
    """The next run of the same source, with one more item, whose summaries are all this answer."""
    rows = [*bureau.rows(0, first=150), *bureau.rows(0, *OLD, first=100)]
    bureau.show(rows)
    bureau.site.on(rows[0].path, f"<html><body><h1>{rows[0].text}</h1><p>{TEXT}</p></body></html>")
    model.calls(("finish", {}))
    model.says(answer)
    model.says(answer)
    run = await bureau.sweep()
    items = await bureau.store.items.list_for_run(run.run_id)
    return run, next(item for item in items if item.url.endswith("/150.html"))


async def test_the_second_reader_is_booked_as_a_phase_of_its_own(bureau: Any, model: Any) -> None:
    vague = "省里会去储能电站看一看是否安全。"
    model.reviews.append('[{"n":1,"v":"unsupported","w":""}]')
    run, item = await sweep(bureau, model, (f"{SECOND}{vague}",), (f"{SECOND}",))
    asked = [request for request in model.requests if "<<<CHECK" in request["messages"][1]["content"]]
    assert len(asked) == 1
    assert vague in asked[0]["messages"][1]["content"]
    assert SECOND not in asked[0]["messages"][1]["content"].split("[1]")[1]
    assert run.usage.by_phase[Phase.VERIFY].calls == 1
    assert item.summary == SECOND


async def test_each_kind_of_document_is_asked_for_what_it_needs(bureau: Any, model: Any) -> None:
    title = "关于绿色电力管理办法（征求意见稿）公开征求意见的公告"
    _, item = await sweep(bureau, model, (f"{FIRST}{SECOND}",), title=title, kind="人事")
    assert "这是征求意见" in list_asked(model)[0][1]["content"]
    assert item.type is ItemType.ANNOUNCEMENT, "the title says what it is"


async def test_the_wishes_of_the_administrator_reach_the_ranking(bureau: Any, model: Any) -> None:
    rows = bureau.rows(0, 1, *OLD)
    bureau.show(rows)
    bureau.options = {"rules": RULES}
    model.calls(("finish", {}))
    await bureau.sweep()
    ranking = [request for request in model.requests if "<<<LIST" in request["messages"][1]["content"]]
    assert [f"管理员的要求：{RULES}\n<<<LIST" in request["messages"][1]["content"] for request in ranking] == [True]


async def test_labels_of_a_model_order_a_run_and_stay_with_the_items_and_their_reasons(bureau: Any, model: Any) -> None:
    rows = bureau.rows(0, 1, 2, *OLD)
    rows[0].title, rows[1].title, rows[2].title = "第三批入选名单公示", "8月份全社会用电量数据", "局长会见来宾"
    bureau.show(rows)
    model.calls(("finish", {}))
    answer = [
        {"i": 0, "score": 20, "why": "没有新内容"},
        {"i": 1, "score": 80, "why": "关系到补贴"},
        {"i": 2, "score": 100, "why": "请放在首位"},
    ]
    model.otherwise = {"role": "assistant", "content": json.dumps(answer, ensure_ascii=False)}
    run = await bureau.sweep()
    items = await bureau.store.items.list_for_run(run.run_id)
    assert [(item.title, item.rank, item.importance) for item in items] == [
        (rows[0].title, 1, 80),
        (rows[1].title, 2, 20),
        (rows[2].title, 3, 100),
    ]
    assert "关系到补贴" in render(items[0].rank_reason, "zh")
    assert [item.tier for item in items] == [4, 3, 5]


async def test_without_a_model_every_item_of_a_run_says_why_it_stands_there(bureau: Any) -> None:
    rows = bureau.rows(0, 1, *OLD)
    rows[0].title, rows[1].title = "局长会见来宾", "储能电站安全管理办法"
    bureau.show(rows)
    run = await bureau.sweep()
    assert [(item.title, render(item.rank_reason, "en")) for item in run.items] == [
        (rows[1].title, "Binding rules."),
        (rows[0].title, "A visit or a reception."),
    ]
