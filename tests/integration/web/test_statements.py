"""`POST /api/v1/verify`: statements judged for programs."""

from typing import Any

PAGE = "本通知自2026年7月1日起施行。2026年1月至6月，全省新增装机容量120万千瓦。"


def statement(sentence: str, **fields: Any) -> dict[str, Any]:
    return {"title": "关于完善绿色电价的通知", "page": PAGE, "sentence": sentence, **fields}


async def test_a_reader_has_one_statement_judged_or_many(desk: Any) -> None:
    program = await desk.program("reader")
    true, false = statement("本通知自2026年7月1日起施行。", id=1), statement("全省新增装机容量450万千瓦。", id="b")
    answer = await program.post("/api/v1/verify", json=true)
    assert answer.status_code == 200, answer.text
    assert answer.json() == [
        {"id": 1, "verdict": "supported", "by": "code", "passage": "本通知自2026年7月1日起施行。", "reasons": []}
    ]
    answer = await program.post("/api/v1/verify", json=[false, true])
    assert [found["id"] for found in answer.json()] == ["b", 1]
    assert answer.json()[0]["verdict"] in ("contradicted", "unsupported")
    assert "450" in str(answer.json()[0]["reasons"])


async def test_what_is_no_statement_or_too_many_is_refused(desk: Any) -> None:
    program = await desk.program("reader")
    for body in ({"title": "t"}, [statement("")], [statement("重要。")] * 201, statement("x", published=7)):
        assert (await program.post("/api/v1/verify", json=body)).status_code == 422, body
    assert (await program.post("/api/v1/verify", json=statement("x", page="页" * 2_000_000))).status_code == 413


async def test_only_an_editor_has_the_model_asked(desk: Any) -> None:
    asked = statement("本通知自2026年7月1日起施行。", model=True)
    assert (await (await desk.program("reader")).post("/api/v1/verify", json=asked)).status_code == 403
    answer = await (await desk.program("editor")).post("/api/v1/verify", json=asked)
    assert (answer.status_code, answer.json()[0]["by"]) == (200, "code")  # none is set
