"""`monitor rank` as a person or a program types it."""

import json
from typing import Any


def line(title: str, **fields: Any) -> bytes:
    return json.dumps({"title": title, **fields}).encode() + b"\n"


def answers(out: str) -> list[dict[str, Any]]:
    return [json.loads(answer) for answer in out.splitlines()]


async def test_titles_come_out_best_first_each_with_its_reason(monitor: Any) -> None:
    given = (
        line("局长会见来宾", id="visit", date="2026-02-03")
        + line("行政处罚决定书〔2026〕3号", id=7)
        + line("关于调整输配电价的通知", id="price", source="国家发展改革委", text="自2026年7月1日起执行。")
        + line("CP26/18: Safeguarding regime", id="cp", type="通知")
    )
    said = await monitor("rank", "--no-model", stdin=given)
    assert (said.code, said.err) == (0, "")
    found = answers(said.out)
    assert [(answer["id"], answer["rank"]) for answer in found] == [("price", 1), ("cp", 2), (7, 3), ("visit", 4)]
    assert [(answer["tier"], answer["type"]) for answer in found] == [
        (2, "通知"),
        (2, "通知"),
        (4, "公告"),
        (5, "新闻"),
    ]
    assert all(set(answer) == {"id", "rank", "tier", "type", "reason"} for answer in found)
    assert found[-1]["reason"] == "A visit or a reception."


async def test_a_bad_line_comes_last_with_its_error(monitor: Any) -> None:
    said = await monitor("rank", "--no-model", stdin=b'no json\n\n{"id": "x"}\n[]\n' + line("关于电价的通知", id="a"))
    assert said.code == 1
    found = answers(said.out)
    assert [answer["id"] for answer in found] == ["a", None, "x", None]
    assert ["error" in answer for answer in found] == [False, True, True, True]
    assert len(said.err.splitlines()) == 3


async def test_no_lines_have_no_order(monitor: Any) -> None:
    said = await monitor("rank", "--no-model", stdin=b"")
    assert (said.code, said.out, said.err) == (0, "", "")
