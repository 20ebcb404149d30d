"""How a report scores: measured on what it says and on the pages that were kept."""

from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from monitor.isolation.pool import WorkerPool
from monitor.research.findings import NoteBasis
from monitor.research.scoring import iter_sentences, score_report
from monitor.research.shapes import NoteEvidence, ReportScore, ReportSource, ResearchNote, ResearchReport

QUERY = "2026年新型储能如何发展？"
PAGES = {
    "a": "到2027年，全国新型储能\n装机规模达到1.8亿千瓦以上。",
    "b": "2025年装机同比增长84.5%。",
    "c": "安全标准正在修订。",
}
HOSTS = {"a": ("https://www.a.gov.cn/1", 1.0), "b": ("https://news.b.com/1", 0.4), "c": ("https://b.com/2", 0.4)}
REPORT = """# 新型储能

> 本报告由规则生成，共5节。

## 规模[1]

到2027年装机规模达到1.8亿千瓦以上[1]。2025年增长84.5%[2]。

- 2025年增长84.5%，2027年达到1.8亿千瓦[1][2]。
2. 安全标准正在修订[3]。

| 指标 | 数值 |
| --- | ---: |
| 增速 | 84.5%[2] |

## 来源

1. [第一页 99%](https://www.a.gov.cn/1) — a.gov.cn, 2026-02-03
"""


def note(record: str, quote: str | None = None) -> ResearchNote:
    url = HOSTS[record][0]
    evidence = [NoteEvidence(quote=quote or PAGES[record], source=url, confidence=0.5)]
    return ResearchNote(summary=PAGES[record], evidence=evidence, topic="规模", source_url=url, engine="tavily")


def basis(record: str) -> NoteBasis:
    url, authority = HOSTS[record]
    return NoteBasis(title="页", url=url, record=record, authority=authority)


async def kept_text(record: str) -> str | None:
    return PAGES.get(record)


Scored = Callable[..., Awaitable[ReportScore]]


@pytest.fixture
def scored(workers: WorkerPool) -> Scored:
    return partial(score, workers)


async def score(workers: WorkerPool, markdown: str, notes: list[ResearchNote] | None = None) -> ReportScore:
    reported = notes or [note("a"), note("b"), note("c")]
    bases = [basis(entry) for entry in "abc"][: len(reported)]
    # The first source is the note of b's second page, so that places and indexes differ.
    sources = [
        ReportSource(title="页", url=reported[place].source_url, note_index=place) for place in range(len(reported))
    ]
    report = ResearchReport(markdown=markdown, sources=sources)
    return await score_report(
        report, reported, bases, kept_text, workers, query=QUERY, refused=[{"quotes": 1}, {"quotes": 2, "urls": 1}]
    )


async def test_a_report_whose_every_word_is_borne_scores_one(scored: Scored) -> None:
    score = await scored(REPORT)
    assert (score.quotes, score.quote_fidelity) == (3, 1.0)
    assert (score.figures, score.figure_fidelity) == (2 + 2 + 4 + 1, 1.0)
    assert (score.sentences, score.citation_coverage) == (5, 1.0)
    assert score.independent_hosts == 2
    assert score.official_share == round(2 / 6, 4)
    assert score.refused == {"quotes": 3, "urls": 1}


@pytest.mark.parametrize(
    ("was", "becomes", "fidelity"),
    [
        ("到2027年装机规模达到1.8亿千瓦以上[1]", "到2027年装机规模达到1.9亿千瓦以上[1]", 8 / 9),
        ("到2027年装机规模达到1.8亿千瓦以上[1]", "到2027年装机规模达到1.8亿千瓦以上[3]", 7 / 9),
        ("| 增速 | 84.5%[2] |", "| 增速 | 84.6%[2] |", 8 / 9),
        ("安全标准正在修订[3]", "《消防标准》正在修订[3]", 9 / 10),
        ("安全标准正在修订[3]", "安全标准在2026年修订[3]", 1.0),  # the year is the question's
    ],
)
async def test_a_figure_that_its_note_does_not_have_costs(
    scored: Scored, was: str, becomes: str, fidelity: float
) -> None:
    assert (await scored(REPORT.replace(was, becomes, 1))).figure_fidelity == pytest.approx(fidelity, abs=1e-4)


async def test_a_sentence_that_cites_nothing_costs_coverage_and_its_figures_do_not_stand(scored: Scored) -> None:
    score = await scored(REPORT.replace("安全标准正在修订[3]", "标准共有12项"))
    assert (score.citation_coverage, score.figure_fidelity) == (0.8, 0.9)


async def test_a_quote_that_is_not_in_the_kept_page_costs(scored: Scored) -> None:
    score = await scored(REPORT, [note("a", "装机规模达到1.9亿千瓦"), note("b"), note("c")])
    assert score.quote_fidelity == round(2 / 3, 4)


async def test_a_page_that_was_not_kept_proves_nothing(workers: WorkerPool) -> None:
    reported = [note("a")]
    report = ResearchReport(markdown="", sources=[])
    score = await score_report(
        report, reported, [NoteBasis(title="页", url=reported[0].source_url)], kept_text, workers, query=QUERY
    )
    assert (score.quote_fidelity, score.figure_fidelity, score.citation_coverage, score.official_share) == (
        0.0,
        None,
        None,
        None,
    )


def test_what_is_no_sentence_of_the_report_is_not_counted() -> None:
    assert [(sentence.text, sentence.numbers) for sentence in iter_sentences(REPORT, 3)] == [
        ("到2027年装机规模达到1.8亿千瓦以上。", (1,)),
        ("2025年增长84.5%。", (2,)),
        ("2025年增长84.5%，2027年达到1.8亿千瓦。", (1, 2)),
        ("安全标准正在修订。", (3,)),
        ("增速 84.5%", (2,)),
    ]


def test_escapes_of_markdown_are_taken_off() -> None:
    [one] = iter_sentences(r"低于 \<5% 的部分 \(约3家\) 免征[1]。", 1)
    assert one.text == "低于 <5% 的部分 (约3家) 免征。"
