"""The planner with a model that speaks over HTTP, in all its moods."""

import json
from typing import Any

import pytest

from benchmarks.scripted_model.server import ScriptedModel
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.research.dependencies import ignore_progress
from monitor.research.workflow import PlanAgent


@pytest.mark.parametrize("mode", ["good", "fenced", "malformed", "truncated", "hallucinating", "empty", "http_500"])
async def test_there_is_a_plan_whatever_the_model_does(lab: Any, progress_log: Any, mode: str) -> None:
    lab.model = ScriptedModel(mode)
    parts = await lab.parts()
    pieces: list[str] = []

    async def on_token(piece: str) -> None:
        pieces.append(piece)

    output = await PlanAgent(parts, progress_log).run(parts.query, {}, parts.options, on_token)
    plan = output.content
    assert 1 <= len(plan.metadata.paragraphs) <= parts.limits.max_paragraphs
    assert "".join(pieces).strip() == plan.content
    assert all(
        paragraph.title in plan.content and paragraph.content in plan.content for paragraph in plan.metadata.paragraphs
    )
    assert plan.metadata.report_title == "2026年新型储能的发展如何"
    assert "http" not in json.dumps([plan.content, *(paragraph.to_json() for paragraph in plan.metadata.paragraphs)])
    is_by_rule = mode in ("empty", "http_500", "truncated")
    assert plan.metadata.is_fallback == is_by_rule == bool(progress_log.reported)
    assert render(plan.metadata.reason or Message.other(""), "en").startswith(
        {"empty": "empty", "http_500": "http_500", "truncated": "length"}.get(mode, "")
    )
    assert (plan.metadata.tokens > 0) == (mode not in ("http_500", "truncated"))


async def test_the_plan_has_no_more_paragraphs_than_set(lab: Any) -> None:
    lab.model = ScriptedModel()
    parts = await lab.parts(limits={"max_paragraphs": 2})
    plan = (await PlanAgent(parts, ignore_progress).run(parts.query, {}, parts.options)).content
    assert len(plan.metadata.paragraphs) == 2
    assert not plan.metadata.is_fallback
    english = await lab.parts(query="How is energy storage developing in 2026?", language="en")
    plan = (await PlanAgent(english, ignore_progress).run(english.query, {}, english.options)).content
    assert all(paragraph.title.isascii() for paragraph in plan.metadata.paragraphs)
