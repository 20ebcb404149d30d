"""The published schema of the stream's messages: what the protocol shows passes, what it excludes does not."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from monitor.i18n.message import Message
from monitor.research import shapes
from monitor.research.shapes import (
    STEP_IDS,
    StepEvent,
    StepType,
    build_error_payload,
    build_step_event,
    render_messages,
)

SCHEMA = json.loads((Path(__file__).resolve().parents[3] / "docs/schemas/research-event.json").read_text("utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)

# The protocol's documents, key by key, with values of its types.
SEARCHED: dict[str, Any] = {
    "strategy": {"primaryQuery": "稀土出口", "queries": ["稀土出口"], "engines": ["bing"], "notes": "先总后分"},
    "notes": [
        {
            "summary": "出口管制自二月起施行。",
            "topic": "政策",
            "sourceUrl": "https://o.gov/1",
            "engine": "bing",
            "evidence": [{"quote": "自2月4日起施行", "source": "https://o.gov/1", "confidence": 0.0}],
        }
    ],
    "rawResults": [{"title": "公告", "url": "https://o.gov/1", "snippet": "公告", "engine": "bing"}],
    "metadata": {"durationMs": 0, "tokens": 0, "isFallback": False},
}
MODELLED: dict[str, Any] = {
    "modelType": "causal_graph",
    "coreDrivers": [{"name": "管制", "description": "出口许可", "evidenceRefs": [0]}],
    "relationships": [{"from": "管制", "to": "价格", "type": "influence", "confidence": 0.7}],
    "scenarios": [{"name": "Optimistic", "assumptions": ["许可放宽"], "outcomes": ["价格回落"], "confidence": 0.5}],
    "metrics": [{"name": "MarketShare", "estimate": 0.24, "unit": "%", "confidence": 0.6}],
    "metadata": {"durationMs": 0, "tokens": 0, "warnings": []},
}
REPORTED: dict[str, Any] = {
    "markdown": "# 标题",
    "outline": [{"heading": "执行摘要", "bullets": ["要点"]}],
    "sources": [{"title": "公告", "url": "https://o.gov/1", "noteIndex": 3}],
    "metadata": {"durationMs": 0, "tokens": 0, "streamed": True},
}
PLANNED: dict[str, Any] = {
    "content": "两个维度",
    "metadata": {"durationMs": 0, "tokens": 0, "paragraphs": [{"title": "政策", "content": "有哪些政策"}]},
}
RESULTS = {"plan": PLANNED, "deep_search": SEARCHED, "modeling": MODELLED, "reporting": REPORTED}


def message(status: str, step: str = "deep_search", **payload: Any) -> dict[str, Any]:
    return {
        "stepId": STEP_IDS[StepType(step)],
        "stepType": step,
        "status": status,
        "progress": 0.35,
        "label": "多源深度搜索",
        "payload": payload,
    }


GOOD = {
    "start": message("start"),
    "progress": message("progress", metadata={"tokens": 1024, "durationMs": 12650}),
    "chunk": message("progress", "reporting", chunk="增量文本"),
    "error": message("error", error={"code": "cancelled", "message": "已取消。"}, result=None),
    **{f"end of {step}": message("complete", step, result=RESULTS[step], metadata={"tokens": 1}) for step in RESULTS},
}
BAD: dict[str, dict[str, Any]] = {
    "a percentage": GOOD["start"] | {"progress": 35},
    "another key": GOOD["start"] | {"message": "x"},
    "no label": {key: value for key, value in GOOD["start"].items() if key != "label"},
    "the step's other name": GOOD["start"] | {"stepId": "deep_search"},
    "an unknown status": GOOD["start"] | {"status": "done"},
    "an end without a result": message("complete", "reporting"),
    "an end with another step's result": message("complete", "reporting", result=SEARCHED),
    "a result in the middle": message("progress", "reporting", result=REPORTED),
    "an error with a result": message("error", "reporting", error={"code": "x", "message": "x"}, result=REPORTED),
    "an error without one": message("error", "reporting", error={"code": "x", "message": "x"}),
    "an error that says nothing": message("error", result=None),
    "an error beside the work": message("progress", error={"code": "x", "message": "x"}),
    "an empty chunk": message("progress", "reporting", chunk=""),
    "another payload": message("progress", data={}),
}


def without_each(document: Any) -> list[Any]:
    """The document without one of its keys, for every key at any depth."""
    found: list[Any] = []
    if isinstance(document, dict):
        for key, value in document.items():
            found.append({other: kept for other, kept in document.items() if other != key})
            found += [document | {key: entry} for entry in without_each(value)]
    elif isinstance(document, list):
        found = [[entry] for value in document for entry in without_each(value)]
    return found


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", GOOD)
def test_what_the_protocol_shows_passes_and_is_read_as_we_write_it(name: str) -> None:
    VALIDATOR.validate(GOOD[name])
    assert StepEvent.model_validate(GOOD[name]).to_json() == GOOD[name]


@pytest.mark.parametrize("name", BAD)
def test_what_the_protocol_excludes_does_not_pass(name: str) -> None:
    assert not VALIDATOR.is_valid(BAD[name])


@pytest.mark.parametrize("step", RESULTS)
def test_no_key_of_a_result_may_be_missing_and_none_be_added(step: str) -> None:
    for poorer in without_each(RESULTS[step]):
        assert not VALIDATOR.is_valid(message("complete", step, result=poorer)), poorer
    richer = deepcopy(RESULTS[step]) | {"more": 1}
    assert not VALIDATOR.is_valid(message("complete", step, result=richer))


@pytest.mark.parametrize(
    ("step", "shape"),
    [
        ("plan", shapes.Plan),
        ("deep_search", shapes.SearchAgentResult),
        ("modeling", shapes.ModelBlueprint),
        ("reporting", shapes.ResearchReport),
    ],
)
def test_what_our_shapes_write_passes(step: str, shape: type[BaseModel]) -> None:
    document = shape.model_validate(RESULTS[step])
    VALIDATOR.validate(message("complete", step, result=document.model_dump(mode="json", by_alias=True)))


def test_an_error_is_told_in_the_readers_language_in_the_protocols_words() -> None:
    payload = build_error_payload("cancelled", Message.of("research.cancelled"))
    event = build_step_event(StepType.PLAN, "error", 0.5, language="zh", payload=payload).to_json()
    for language, message in (("en", "The research was cancelled."), ("zh", "研究已取消。")):
        rendered = render_messages(event, language)
        VALIDATOR.validate(rendered)
        assert rendered["payload"] == {"error": {"code": "cancelled", "message": message}, "result": None}
