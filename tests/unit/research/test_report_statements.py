"""What becomes of a report's statements: false ones go, assessments stand apart, and everything is counted as said."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from monitor.isolation.pool import WorkerPool
from monitor.llm.chat import Completion, CompletionRequest
from monitor.research.dependencies import ResearchDependencies
from monitor.research.findings import NoteBasis
from monitor.research.formatting import FormattedReport, PlannedSection, ReportFormattingNode, ReportNodeInput
from monitor.research.scoring import score_report
from monitor.research.shapes import NoteEvidence, ReportMetadata, ReportScore, ResearchNote, ResearchReport
from monitor.vocabulary import JudgedBy, Phase, Verdict

PRICE, CAPITAL, DEAL = "电价", "资本", "收购"
PAGES = {
    PRICE: "国家发展改革委将完善容量电价机制。煤电容量电价自2026年1月1日起提高。",
    CAPITAL: "办法要求保险集团公司净资产不低于800亿元。本办法自2026年7月1日起施行。",
    DEAL: "华能集团收购了大唐环境的全部股份。",
}
QUOTES = [(topic, line + "。") for topic, page in PAGES.items() for line in page.rstrip("。").split("。")]
HONEST = """## 电价

国家发展改革委将完善容量电价机制[1]。煤电容量电价自2026年1月1日起提高[2]。

## 资本

办法要求保险集团公司净资产不低于800亿元[3]。

## 收购

华能集团收购了大唐环境的全部股份[5]。
"""
LIES = """## 电价

国家发展改革委将取消容量电价机制[1]。煤电容量电价自2026年1月1日起降低[2]。

## 资本

办法不要求保险集团公司净资产不低于800亿元[3]。
"""


class Model:
    """A model that writes one report, mends nothing, and reads statements a second time as it is told to."""

    def __init__(self, report: str, reading: Callable[[str], list[dict[str, Any]]] | None = None) -> None:
        self._report, self._reading = report, reading
        self.asked: list[CompletionRequest] = []
        self.is_writing = False

    async def complete(self, request: CompletionRequest) -> Completion:
        self.asked.append(request)
        if request.phase is Phase.VERIFY:
            answer = self._reading(request.messages[-1].content) if self._reading else []
            return Completion(text=json.dumps(answer, ensure_ascii=False))
        if request.on_token is None:
            return Completion(text="[]")
        for start in range(0, len(self._report), 7):
            await request.on_token(self._report[start : start + 7])
        return Completion(text=self._report)

    def list_places(self, phase: Phase) -> list[str]:
        return [request.place for request in self.asked if request.phase is phase]


def given(sections: Sequence[PlannedSection] | None = None, quotes: Sequence[tuple[str, str]] = QUOTES) -> Any:
    topics = list(dict.fromkeys(topic for topic, _ in quotes))
    urls = {topic: f"https://a{place}.example/p" for place, topic in enumerate(topics)}
    notes = [
        ResearchNote(
            summary=quote,
            topic=topic,
            source_url=urls[topic],
            engine="e",
            evidence=[NoteEvidence(quote=quote, source=urls[topic], confidence=0.5)],
        )
        for topic, quote in quotes
    ]
    own = {
        topic: "".join(f"{quote[:-1]}[{n}]。" for n, (of, quote) in enumerate(quotes, 1) if of == topic)
        for topic in topics
    }
    return ReportNodeInput(
        "电价与资本",
        sections if sections is not None else [PlannedSection(topic, text) for topic, text in own.items()],
        notes,
        [NoteBasis(title="", url=note.source_url, host="a.example") for note in notes],
        pages={urls[topic]: PAGES.get(topic, "") for topic in topics},
    )


@pytest.fixture
def write(parts_of: Callable[..., ResearchDependencies]) -> Callable[..., Any]:
    async def written(model: Model | None, of: ReportNodeInput | None = None) -> FormattedReport:
        parts = replace(parts_of("zh"), model=model, query="电价与资本")
        return await ReportFormattingNode(parts).run(of or given())

    return written


async def score(workers: WorkerPool, report: FormattedReport, of: ReportNodeInput) -> ReportScore:
    async def load_nothing(record: str) -> str | None:
        return None

    metadata = ReportMetadata(
        planned=len(of.sections),
        statements=report.statements,
        unanswered=report.unanswered,
        disagreements=report.disagreements,
    )
    finished = ResearchReport(markdown=report.markdown, sources=report.sources, metadata=metadata)
    return await score_report(finished, of.notes, of.bases, load_nothing, workers, query="", refused=[report.refused])


async def test_an_honest_report_is_supported_sentence_by_sentence_with_its_passages(
    write: Any, workers: WorkerPool
) -> None:
    report = await write(Model(HONEST))
    body = [statement for statement in report.statements if statement.section in PAGES]
    assert [statement.text for statement in body] == [
        "国家发展改革委将完善容量电价机制。",
        "煤电容量电价自2026年1月1日起提高。",
        "办法要求保险集团公司净资产不低于800亿元。",
        "华能集团收购了大唐环境的全部股份。",
    ]
    for statement in body:
        assert statement.verdict is Verdict.SUPPORTED
        assert statement.text.rstrip("。") in statement.passage
    counted = await score(workers, report, given())
    assert (counted.supported_by_code, counted.supported_share, counted.unchecked) == (4, 1.0, 0)
    assert (counted.planned, counted.answered) == (3, 3)


async def test_a_liar_ships_no_lie_and_cannot_reach_all(write: Any, workers: WorkerPool) -> None:
    report = await write(Model(LIES))
    for lie in ("取消容量电价", "起降低", "不要求"):
        assert lie not in report.markdown
    assert "国家发展改革委将完善容量电价机制" in report.markdown, "the summaries take the place of the lies"
    counted = await score(workers, report, given())
    assert counted.contradicted + counted.unsupported == 3
    assert counted.supported_share is not None
    assert counted.supported_share < 0.7


async def test_what_turns_subject_and_object_round_is_dropped_or_marked_and_never_supported(
    write: Any, workers: WorkerPool
) -> None:
    swapped = "大唐环境收购了华能集团的全部股份"
    report = await write(Model(f"## 收购\n\n{swapped}[5]。\n"))
    assert swapped not in report.markdown or f"{swapped}[1]（未核实）。" in report.markdown
    assert not [entry for entry in report.statements if swapped in entry.text and entry.verdict is Verdict.SUPPORTED]
    counted = await score(workers, report, given())
    assert counted.supported_share is not None
    assert counted.supported_share < 1


@pytest.mark.parametrize(
    "sentence",
    ["办法要求保险集团公司净资产不低于800亿元[1]。", "煤电容量电价自2026年7月1日起提高[2]。"],
    ids=["the note of another page", "the date of another note"],
)
async def test_what_the_cited_page_does_not_say_goes_though_another_one_does(write: Any, sentence: str) -> None:
    report = await write(Model(f"## 电价\n\n国家发展改革委将完善容量电价机制[1]。{sentence}\n"))
    section = report.markdown.partition("## 电价\n")[2].partition("\n## ")[0]
    assert sentence[:-4] not in section
    assert sum(report.refused.get(kind, 0) for kind in ("contradicted", "unsupported", "figures")) == 1


async def test_the_analysts_assessment_stands_in_a_section_of_its_own(write: Any, workers: WorkerPool) -> None:
    analysis = "这意味着净资产不足800亿元的保险集团公司需要增资[3]。"
    draft = HONEST.replace("800亿元[3]。", f"800亿元[3]。{analysis}")
    draft += "\n## 评估\n\n建议相关保险集团公司尽快评估增资安排[3]。建议关注2031年的新规[3]。建议学习蚂蚁集团[3]。\n"
    report = await write(Model(draft))
    findings, _, rest = report.markdown.partition("\n## 评估\n")
    assessment = rest.partition("\n## ")[0]
    assert assessment.startswith("\n> 本节是语言模型的分析与建议"), "and says what it is"
    assert "需要增资" in assessment
    assert "需要增资" not in findings
    assert "尽快评估增资安排" in assessment
    assert "2031" not in report.markdown
    assert "蚂蚁" not in report.markdown
    kept = [statement for statement in report.statements if statement.is_assessment]
    assert [statement.verdict for statement in kept] == [Verdict.UNCHECKED] * 2
    counted = await score(workers, report, given())
    assert (counted.assessments, counted.supported_by_code) == (2, 4), "it is no finding, and not counted as one"


@pytest.mark.parametrize(
    "sentence",
    [
        "建议保险集团公司尽快评估增资安排。",
        "建议相关企业关注收购进展[5]。",
        "这意味着国家发展改革委将取消容量电价机制[1]。",
    ],
    ids=["it names nothing", "what it names is no finding of the report", "a lie under another name"],
)
async def test_an_assessment_rests_on_findings_that_stand(write: Any, sentence: str) -> None:
    of = given([section for section in given().sections if section.title != DEAL])
    draft = HONEST.partition("## 收购")[0]
    report = await write(Model(f"{draft}\n## 评估\n\n{sentence}\n"), of)
    assert "评估\n" not in report.markdown
    assert "取消" not in report.markdown
    assert sum(report.refused.values()) == 1


async def test_a_label_is_as_good_as_a_heading_and_without_an_assessment_there_is_no_section(write: Any) -> None:
    report = await write(Model(HONEST.replace("800亿元[3]。", "800亿元[3]。评估：企业面临增资压力[3]。")))
    assert report.markdown.count("企业面临增资压力") == 1
    assert "## 评估\n\n> " in report.markdown
    assert "## 评估" not in (await write(Model(HONEST))).markdown
    assert "## 评估" not in (await write(None)).markdown


async def test_a_sentence_of_another_section_is_said_once_and_referred_to(write: Any) -> None:
    draft = "## 摘要\n\n国家发展改革委将完善容量电价机制[1]。\n\n" + HONEST.replace(
        "## 收购\n\n", "## 收购\n\n国家发展改革委将完善容量电价机制[1]。"
    )
    report = await write(Model(draft))
    assert report.markdown.count("国家发展改革委将完善容量电价机制") == 2, "in the summary and in its own section"
    assert "## 收购\n\n> 见“电价”一节[1]。\n\n华能集团收购了大唐环境的全部股份" in report.markdown
    assert report.refused == {}


async def test_a_section_whose_sentences_all_stand_elsewhere_refers_to_them(write: Any) -> None:
    sections = [*given().sections, PlannedSection("电价改革", given().sections[0].text)]
    report = await write(None, given(sections))
    assert "## 电价改革\n\n> 见“电价”一节[1]。" in report.markdown
    assert report.unanswered == []


async def test_values_on_which_sources_differ_stand_side_by_side(write: Any, workers: WorkerPool) -> None:
    quotes = [
        ("甲", "截至2026年9月底，全国新型储能装机规模达到1.2亿千瓦。"),
        ("乙", "2026年9月底新型储能累计装机规模为1.5亿千瓦。"),
        ("丙", "截至2026年9月底，新型储能装机规模约1.21亿千瓦。"),
        ("丁", "截至2025年9月底，新型储能装机规模为0.9亿千瓦。"),
        ("戊", "2026年9月底新型储能装机规模超过1亿千瓦。"),
    ]
    report = await write(None, given(None, quotes))
    table = report.markdown.partition("## 各来源说法不一的数据\n\n")[2].partition("\n\n")[0]
    assert table.splitlines()[:4] == [
        "| 指标 | 时间 | 数值 |",
        "| --- | --- | --- |",
        "| 全国新型储能装机规模 | 2026年9月底 | 1.2亿千瓦[1] |",
        "| 全国新型储能装机规模 | 2026年9月底 | 1.5亿千瓦[2] |",
    ]
    assert "0.9亿" not in table, "another year is no contradiction"
    [found] = report.disagreements
    assert found.values[1].quote == quotes[1][1]
    assert (await score(workers, report, given(None, quotes))).disagreements == 1


async def test_the_second_reader_is_asked_once_a_block_and_after_the_stream(write: Any, workers: WorkerPool) -> None:
    quotes = [("新闻", "The commission will strengthen the capacity market and review its support schemes.")]
    draft = "## 新闻\n\n委员会将加强容量市场[1]。委员会将审查其支持计划[1]。\n"

    def read(question: str) -> list[dict[str, Any]]:
        assert "委员会将加强容量市场" in question
        return [
            {"n": 1, "v": "supported", "w": "will strengthen the capacity market"},
            {"n": 2, "v": "supported", "w": "words that stand nowhere"},
        ]

    model = Model(draft, read)
    report = await write(model, given(None, quotes))
    assert model.list_places(Phase.VERIFY) == ["report"], "both sentences in one call"
    verdicts = {statement.text: (statement.verdict, statement.by) for statement in report.statements}
    assert verdicts["委员会将加强容量市场。"] == (Verdict.SUPPORTED, JudgedBy.MODEL)
    assert verdicts["委员会将审查其支持计划。"] == (Verdict.UNCHECKED, JudgedBy.CODE), "its words bear nothing"
    assert "委员会将加强容量市场[1]。委员会将审查其支持计划[1]（未核实）。" in report.markdown
    counted = await score(workers, report, given(None, quotes))
    assert (counted.supported_by_model, counted.unchecked) == (1, 1)
    assert counted.supported_share == 0.5


async def test_sentences_that_could_not_be_judged_are_marked_and_the_report_says_why(
    parts_of: Callable[..., ResearchDependencies], refusing_workers: WorkerPool
) -> None:
    parts = replace(parts_of("zh"), model=Model(HONEST), query="电价与资本", workers=refusing_workers)
    report = await ReportFormattingNode(parts).run(given())
    assert report.statements
    assert {statement.verdict for statement in report.statements} == {Verdict.UNCHECKED}
    assert report.fallback is not None
    assert report.fallback.code == "isolation.too_large"
