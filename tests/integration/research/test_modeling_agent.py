"""The modeller with a model that speaks over HTTP, in all its moods."""

import asyncio
from typing import Any

import pytest

from benchmarks.scripted_model.server import ScriptedModel
from monitor.errors import RunCancelled
from monitor.research.dependencies import ignore_progress
from monitor.research.shapes import NoteEvidence, ResearchNote, SearchAgentResult, SearchStrategy, StepType, list_quotes
from monitor.research.workflow import NO_NOTES_WARNING, ModelingAgent
from monitor.verify.citations import find_missing_particulars


def note(topic: str, host: str, quote: str) -> ResearchNote:
    url = f"https://{host}/1.html"
    evidence = [NoteEvidence(quote=quote, source=url, confidence=0.6)]
    return ResearchNote(summary=quote, evidence=evidence, topic=topic, source_url=url, engine="tavily")


NOTES = [
    note("装机规模", "a.example", "截至2026年9月底，全国新型储能装机规模达到1.2亿千瓦，同比增长45%。"),
    note("政策与规则", "b.example", "《关于促进新型储能并网的通知》（发改能源〔2026〕118号）自2026年7月1日起施行。"),
    note("投资", "a.example", "2026年前三季度新型储能项目投资达到860亿元。"),
]


def found(notes: list[ResearchNote]) -> dict[StepType, Any]:
    return {StepType.DEEP_SEARCH: SearchAgentResult(strategy=SearchStrategy(primary_query="储能"), notes=notes)}


@pytest.mark.parametrize(
    "mode", ["good", "fenced", "malformed", "truncated", "hallucinating", "empty", "http_500", "obedient", None]
)
async def test_there_is_a_blueprint_that_rests_on_the_notes_whatever_the_model_does(
    lab: Any, progress_log: Any, mode: str | None
) -> None:
    lab.model = ScriptedModel(mode) if mode else None
    parts = await lab.parts()
    output = await ModelingAgent(parts, progress_log).run(parts.query, found(NOTES), parts.options)
    blueprint = output.content
    quotes = [quote for entry in NOTES for quote in list_quotes(entry)]
    names = [core_driver.name for core_driver in blueprint.core_drivers]
    assert names
    assert len(names) == len(set(names))
    for driver in blueprint.core_drivers:
        assert driver.evidence_refs
        assert set(driver.evidence_refs) <= set(range(len(NOTES)))
        assert not find_missing_particulars(driver.description, [*quotes, parts.query])
    assert all({relationship.from_, relationship.to} <= set(names) for relationship in blueprint.relationships)
    assert all(
        not find_missing_particulars(f"{metric.estimate:.12g}{metric.unit}", quotes) for metric in blueprint.metrics
    )
    for scenario in blueprint.scenarios:
        assert not any(
            find_missing_particulars(assumption, quotes) for assumption in [*scenario.assumptions, *scenario.outcomes]
        )
    # What is cut off before its first driver is complete is none.
    is_by_rule = mode in ("truncated", "empty", "http_500", None)
    assert output.metadata.is_fallback == blueprint.metadata.is_fallback == is_by_rule == bool(progress_log.reported)
    assert bool(output.metadata.refused) == (mode == "hallucinating")


async def test_an_answer_without_a_driver_is_asked_for_once_more_then_the_rule_does_it(lab: Any) -> None:
    lab.model = ScriptedModel("hallucinating")
    parts = await lab.parts()
    # One note, which the inventions never refer to by a number that exists.
    output = await ModelingAgent(parts, ignore_progress).run(parts.query, found(NOTES[:1]), parts.options)
    assert output.content.core_drivers
    assert [call.phase for call in lab.calls] == ["modeling"] * len(lab.calls)
    assert 1 <= len(lab.calls) <= 2


async def test_without_notes_nothing_is_asked_and_nothing_is_modelled(lab: Any) -> None:
    lab.model = ScriptedModel()
    parts = await lab.parts()
    output = await ModelingAgent(parts, ignore_progress).run(parts.query, found([]), parts.options)
    assert output.content.core_drivers == []
    assert output.metadata.warnings == [NO_NOTES_WARNING]
    assert not output.metadata.is_fallback
    assert lab.calls == []


async def test_a_research_that_is_cancelled_is_not_modelled(lab: Any) -> None:
    stopped = asyncio.Event()
    stopped.set()
    parts = await lab.parts(cancel_event=stopped)
    with pytest.raises(RunCancelled):
        await ModelingAgent(parts, ignore_progress).run(parts.query, found(NOTES), parts.options)
