"""What a model reads of a document is kept as far as the text bears it out."""

import datetime as dt
import json
from typing import Any

from monitor.document import DocumentFacts
from monitor.errors import ModelFailed
from monitor.llm.chat import Completion, CompletionRequest
from monitor.policies.schemas import DOCUMENT_BEGIN, list_open_fields, read_facts_with_model
from monitor.vocabulary import DeadlineKind, DocumentKind, PolicyStage, Verdict

TEXT = "本办法的规定对所有储能电站生效，时间为二〇二六年七月一日。\n联系地址：北京市西城区示范街1号。"
FACTS = DocumentFacts(kind=DocumentKind.POLICY, stage=PolicyStage.FINAL, number="国能〔2026〕1号")


class Answering:
    """A model with one answer, which keeps what it was asked."""

    def __init__(self, answer: dict[str, Any] | None) -> None:
        self.answer = answer
        self.requests: list[CompletionRequest] = []

    async def complete(self, request: CompletionRequest) -> Completion:
        self.requests.append(request)
        if self.answer is None:
            raise ModelFailed("model.no_answer")
        return Completion(text=json.dumps(self.answer, ensure_ascii=False))


async def test_an_open_day_is_filled_where_its_passage_bears_it() -> None:
    passage = "本办法的规定对所有储能电站生效，时间为二〇二六年七月一日。"
    facts = await read_facts_with_model(
        "办法", TEXT, FACTS, Answering({"in_force": {"day": "2026-07-01", "passage": passage}})
    )
    assert facts.in_force == dt.date(2026, 7, 1)
    assert [(day.kind, day.passage) for day in facts.deadlines] == [(DeadlineKind.IN_FORCE, passage)]
    assert facts.verdicts["in_force"] is Verdict.SUPPORTED
    assert FACTS.in_force is None, "the facts that were given stay as they are"


async def test_a_day_or_number_that_its_passage_does_not_bear_is_dropped() -> None:
    answer = {
        "in_force": {"day": "2026-08-01", "passage": "时间为二〇二六年七月一日。"},
        "valid_until": {"day": "2026-07-01", "passage": "有效期至二〇二六年七月一日。"},
        "comply_by": "2026-07-01",
        "submit_to": {"value": "上海市", "passage": "联系地址：北京市西城区示范街1号。"},
    }
    facts = await read_facts_with_model("办法", TEXT, FACTS, Answering(answer))
    assert facts == FACTS


async def test_what_code_has_read_is_neither_asked_nor_changed() -> None:
    model = Answering({"number": {"value": "示范街1号", "passage": "北京市西城区示范街1号。"}})
    facts = await read_facts_with_model("办法", TEXT, FACTS, model)
    assert facts.number == "国能〔2026〕1号"
    assert "number" not in list_open_fields(FACTS)
    assert len(model.requests) == 1
    assert DOCUMENT_BEGIN in model.requests[0].messages[-1].content


async def test_a_failed_call_and_news_leave_the_facts_as_they_are() -> None:
    assert await read_facts_with_model("办法", TEXT, FACTS, Answering(None)) == FACTS
    news = DocumentFacts(kind=DocumentKind.MEETING)
    model = Answering({})
    assert await read_facts_with_model("会议", TEXT, news, model) == news
    assert model.requests == []


async def test_names_are_kept_as_the_document_writes_them() -> None:
    answer = {
        "bound": [{"value": "所有储能电站", "passage": "对所有储能电站生效"}, {"value": "电网", "passage": "电网企业"}]
    }
    facts = await read_facts_with_model("办法", TEXT, FACTS, Answering(answer))
    assert facts.bound == ["所有储能电站"]
