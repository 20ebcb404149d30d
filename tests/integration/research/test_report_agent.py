"""The reporting step with the scripted model over HTTP: what it streams, and what is in the report whatever it says."""

import re
from typing import Any

import pytest

from benchmarks.scripted_model.server import ScriptedModel
from monitor.research.findings import build_notes
from monitor.research.shapes import (
    AgentOutput,
    ResearchReport,
    SearchAgentResult,
    SearchStrategy,
    StepType,
    list_quotes,
)
from monitor.research.state import ParagraphResearch, ParagraphState, SearchEntry, State
from monitor.research.workflow import ReportAgent

PAGES = {
    "装机与发展": "截至2026年9月底，全国新型储能装机规模达到1.2亿千瓦，同比增长45%。",
    "并网政策": "《关于促进新型储能并网的通知》（发改能源〔2026〕118号）自2026年7月1日起施行。",
    "项目投资": "2026年前三季度新型储能项目投资达到860亿元，比上年同期增加三成。",
}


async def reported(lab: Any, **given: Any) -> tuple[AgentOutput[ResearchReport], SearchAgentResult, list[str], Any]:
    """A report on three paragraphs, each with one page; what was found; the pieces and what else was told."""
    texts = dict(enumerate(PAGES.values()))

    async def load_text(record: str) -> str | None:
        return texts[int(record)]

    parts = await lab.parts(**{"query": "新型储能怎么样？", "kept_text": load_text, **given})
    state = State.create(parts.query, at=lab.clock.now())
    state.report_title = "新型储能怎么样"
    for order, (title, text) in enumerate(PAGES.items()):
        entry = SearchEntry(
            query=title,
            url=f"https://a{order}.example/p",
            title=f"{title}的网页",
            content=text,
            score=0.8,
            timestamp=lab.clock.now(),
            record=str(order),
        )
        research = ParagraphResearch(search_history=[entry], latest_summary=f"{text[:-1]}[1]。", is_completed=True)
        state.paragraphs.append(ParagraphState(title=title, content=title, order=order, research=research))
    await parts.notebook.save_plan(state)
    findings = build_notes(state.paragraphs)
    found = SearchAgentResult(strategy=SearchStrategy(primary_query="储能"), notes=findings.notes)
    pieces: list[str] = []
    raised: list[Any] = []

    async def take(piece: str) -> None:
        pieces.append(piece)

    async def report_progress(share: float, **payload: Any) -> None:
        raised.append((share, payload))

    agent = ReportAgent(parts, report_progress, findings.bases)
    output = await agent.run(parts.query, {StepType.DEEP_SEARCH: found}, parts.options, take)
    return output, found, pieces, raised


@pytest.mark.parametrize(
    "mode", ["good", "fenced", "malformed", "truncated", "hallucinating", "empty", "http_500", None], ids=str
)
async def test_whatever_the_model_does_the_report_has_every_paragraph_and_nothing_but_what_was_found(
    lab: Any, mode: str | None
) -> None:
    lab.model = ScriptedModel(mode) if mode else None
    output, found, pieces, _ = await reported(lab)
    report = output.content
    assert "".join(pieces) == report.markdown
    for text in PAGES.values():
        assert text[:-1] in report.markdown
    assert [source.url for source in report.sources] == [
        found.notes[source.note_index].source_url for source in report.sources
    ]
    assert sorted(source.note_index for source in report.sources) == [0, 1, 2]
    body = report.markdown.partition("## 来源")[0]
    sentences = [entry for entry in re.findall(r"[^。\n]+。", body) if not entry.startswith(("#", ">", "|"))]
    assert sentences
    for sentence in sentences:
        cited = [report.sources[int(number) - 1].note_index for number in re.findall(r"\[(\d+)\]", sentence)]
        assert cited, sentence
        quotes = "".join(quote for index in cited for quote in list_quotes(found.notes[index]))
        assert re.sub(r"\[\d+\]|。|^- ", "", sentence) in quotes
    assert not re.search("87\\.3|98765|2031|invented", report.markdown)
    is_by_rule = mode in ("empty", "http_500", None)
    assert output.metadata.is_fallback is (is_by_rule or mode == "truncated")
    assert bool(re.search("^> ", report.markdown, re.MULTILINE)) is is_by_rule
    if mode == "hallucinating":
        assert output.metadata.refused.keys() >= {"figures", "uncited", "urls", "citations"}


async def test_the_answer_is_streamed_and_sources_are_named_on_the_way(lab: Any) -> None:
    lab.model = ScriptedModel("good")
    output, found, pieces, report = await reported(lab)
    assert [request.get("stream") for request in lab.model.requests] == [True]
    assert [call.outcome for call in lab.calls] == ["ok"]
    assert output.content.metadata.tokens == lab.calls[0].prompt_tokens + lab.calls[0].completion_tokens
    assert output.content.metadata.streamed is True
    assert len(pieces) > 30
    sources = [payload["metadata"]["sources"][0] for _, payload in report]
    assert [(source["number"], source["noteIndex"]) for source in sources] == [(1, 0), (2, 1), (3, 2)]
    assert sources[0]["url"] == found.notes[0].source_url


async def test_a_server_that_does_not_stream_writes_the_same_report(lab: Any) -> None:
    lab.model = ScriptedModel("good")
    streamed, *_ = await reported(lab)
    lab.model.refuses_streaming = True
    whole, *_ = await reported(lab)
    assert whole.content.markdown == streamed.content.markdown


async def test_the_latest_remark_is_in_the_prompt(lab: Any) -> None:
    lab.model = ScriptedModel("good")
    parts = await lab.parts()
    parts.notebook.remarks.append("只谈投资")
    await reported(lab, notebook=parts.notebook)
    assert "<<<REMARK\n只谈投资\nREMARK>>>" in lab.model.requests[-1]["messages"][-1]["content"]
