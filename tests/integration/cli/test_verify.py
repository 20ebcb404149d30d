"""`monitor verify` as a person or a program types it."""

import asyncio
import json
from typing import Any

PAGE = "本通知自2026年7月1日起施行。2026年1月至6月，全省新增装机容量120万千瓦。"
TITLE = "关于完善绿色电价的通知"


def line(sentence: str, **fields: Any) -> bytes:
    return json.dumps({"title": TITLE, "page": PAGE, "sentence": sentence, **fields}).encode() + b"\n"


def answers(out: str) -> list[dict[str, Any]]:
    return [json.loads(answer) for answer in out.splitlines()]


async def test_each_statement_gets_its_verdict_in_order(monitor: Any) -> None:
    given = line("本通知自2026年7月1日起施行。", id="a") + line(
        "全省新增装机容量450万千瓦。", id=2, published="2026-07-02"
    )
    said = await monitor("verify", "--no-model", stdin=given)
    assert (said.code, said.err) == (0, "")
    true, false = answers(said.out)
    assert true == {"id": "a", "verdict": "supported", "by": "code", "passage": true["passage"], "reasons": []}
    assert true["passage"] in PAGE
    assert (false["id"], false["by"]) == (2, "code")
    assert false["verdict"] in ("contradicted", "unsupported")
    assert [set(reason) for reason in false["reasons"]] == [{"code", "args"}]
    assert "450" in str(false["reasons"])


async def test_an_answer_comes_before_the_next_statement_is_asked(monitor: Any) -> None:
    process = await monitor.start("verify", "--no-model")
    async with asyncio.timeout(60):
        for number in (1, 2):
            process.stdin.write(line("本通知自2026年7月1日起施行。", id=number))
            await process.stdin.drain()
            assert json.loads(await process.stdout.readline())["id"] == number
        process.stdin.close()
        assert await process.wait() == 0


async def test_a_bad_line_keeps_its_place_and_is_complained_of_once(monitor: Any) -> None:
    lines = [
        b"no json\n",
        b"\n",
        line("", id="empty"),
        line("本通知自2026年7月1日起施行。", published="gestern"),
        b"[]\n",
        b'{"id": "x", "title": "t"}\n',
        line("本通知自2026年7月1日起施行。", id="last").rstrip(b"\n"),
    ]
    said = await monitor("verify", "--no-model", stdin=b"".join(lines))
    assert said.code == 1
    assert [answer["id"] for answer in answers(said.out)] == [None, "empty", None, None, "x", "last"]
    assert ["error" in answer for answer in answers(said.out)] == [True] * 5 + [False]
    complaints = said.err.splitlines()
    numbers = [complaint.split(":")[1].strip() for complaint in complaints]
    assert numbers == ["line 1", "line 3", "line 4", "line 5", "line 6"]
    assert all(complaint.startswith("monitor: ") for complaint in complaints)


async def test_without_a_model_it_goes_by_code_where_no_database_was_made(monitor: Any) -> None:
    said = await monitor("verify", stdin=line("本通知自2026年7月1日起施行。"), LANG="zh_CN.UTF-8")
    assert (said.code, [answer["verdict"] for answer in answers(said.out)]) == (0, ["supported"])


OPEN = "有关单位需按月提交资料。"


def reader_of(site: Any, reply: Any, asked: list[str]) -> str:
    """A model server whose model finds every sentence supported by the same words; the questions go into `asked`."""

    def answer(request: Any) -> Any:
        asked.append(json.loads(request.body)["messages"][-1]["content"])
        found = [{"n": number, "v": "supported", "w": "按月报送材料"} for number in (1, 2)]
        message = {"role": "assistant", "content": json.dumps(found, ensure_ascii=False)}
        body = {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        }
        return reply(json.dumps(body), headers={"content-type": "application/json"})

    return site.on("/v1/chat/completions", answer).removesuffix("/chat/completions")


async def test_a_model_is_asked_once_a_page_about_what_code_leaves_open(monitor: Any, site: Any, reply: Any) -> None:
    asked: list[str] = []
    monitor.environment |= {
        "MONITOR_LLM__BASE_URL": reader_of(site, reply, asked),
        "MONITOR_LLM__MODEL": "m",
        "OPENAI_API_KEY": "k",
    }
    monitor.allow(site.url("/"))
    page = f"{PAGE}各企业应当按月报送材料。"
    given = line(OPEN, page=page, id=1) + line("全省新增装机容量450万千瓦。", page=page, id=2)
    by_code = answers((await monitor("verify", "--no-model", stdin=given)).out)
    assert [answer["by"] for answer in by_code] == ["code", "code"]
    assert asked == []
    said = await monitor("verify", stdin=given)
    assert (said.code, said.err) == (0, "")
    first, second = answers(said.out)
    assert (first["id"], first["verdict"], first["by"]) == (1, "supported", "model")
    assert "按月报送材料" in first["passage"]
    assert second == by_code[1], "a figure that the page does not have is not asked about"
    assert len(asked) == 1
    assert "450" not in asked[0]
    costs = (await monitor("costs", "--json")).document
    assert "verify" in json.dumps(costs), "its tokens are a phase of their own"
