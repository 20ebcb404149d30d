"""`monitor facts` as a person or a program types it."""

import json
from typing import Any

TEXT = (
    "国能〔2026〕3号\n各有关单位：\n本办法自2026年7月1日起施行。《旧办法》（国能〔2019〕1号）同时废止。\n"
    "国家能源局\n2026年6月1日"
)
TITLE = "关于印发《储能管理办法》的通知"


def line(**fields: Any) -> bytes:
    return json.dumps({"title": TITLE, "text": TEXT, **fields}).encode() + b"\n"


def answers(out: str) -> list[dict[str, Any]]:
    return [json.loads(answer) for answer in out.splitlines()]


async def test_each_document_gets_its_facts_in_order(monitor: Any) -> None:
    news = line(id=2, title="国家能源局召开会议", text="会议要求做好工作。")
    said = await monitor("facts", "--no-model", stdin=line(id="a", published="2026-06-02", issuer="能源局") + news)
    assert (said.code, said.err) == (0, "")
    first, second = answers(said.out)
    assert (first["id"], first["kind"], first["stage"], first["number"]) == ("a", "policy", "final", "国能〔2026〕3号")
    assert (first["issuers"], first["made_on"], first["in_force"]) == (["国家能源局"], "2026-06-01", "2026-07-01")
    assert first["relations"] == [{"type": "repeals", "number": "国能〔2019〕1号", "title": "旧办法"}]
    assert first["evidence"]["in_force"] == "本办法自2026年7月1日起施行。"
    assert [first[name] for name in ("valid_until", "comments_until", "apply_by")] == [None] * 3
    assert (second["id"], second["stage"], second["in_force"]) == (2, None, None)


async def test_a_bad_line_keeps_its_place_and_is_complained_of_once(monitor: Any) -> None:
    lines = [b"no json\n", b"[]\n", b'{"id": "x", "title": "t"}\n', line(id="y", published="gestern"), line(id="last")]
    said = await monitor("facts", "--no-model", stdin=b"".join(lines))
    assert said.code == 1
    assert [answer["id"] for answer in answers(said.out)] == [None, None, "x", "y", "last"]
    assert ["error" in answer for answer in answers(said.out)] == [True] * 4 + [False]
    assert [complaint.split(":")[1].strip() for complaint in said.err.splitlines()] == [
        f"line {n}" for n in range(1, 5)
    ]


async def test_without_a_model_it_goes_by_code_where_no_database_was_made(monitor: Any) -> None:
    said = await monitor("facts", stdin=line(), LANG="zh_CN.UTF-8")
    assert (said.code, [answer["in_force"] for answer in answers(said.out)]) == (0, ["2026-07-01"])
