"""How far a quote can be relied on."""

import datetime as dt
from typing import Any

from monitor.research.findings import ConfidenceScorer
from monitor.research.state import SearchEntry

SAID = "到2027年，全国新型储能装机规模达到1.8亿千瓦以上。"
AGREED = "报道称，2027年全国新型储能装机规模将达到18000万千瓦以上。"
ELSE = "据统计，2025年煤炭产量为47亿吨，同比有所增长。"


def entry(host: str, content: str, **fields: Any) -> SearchEntry:
    at = dt.datetime(2026, 11, 22, tzinfo=dt.UTC)
    values: dict[str, Any] = {"authority": 0.4, "freshness": 0.5}
    return SearchEntry(
        query="q",
        url=f"https://{host}/{len(content)}.html",
        title="t",
        content=content,
        score=0.5,
        timestamp=at,
        **(values | fields),
    )


def test_it_is_the_sum_of_authority_agreement_and_date() -> None:
    alone = entry("a.gov.cn", SAID, authority=1.0, freshness=0.9)
    assert ConfidenceScorer([alone]).score_quote(SAID, alone) == round(0.5 * 1.0 + 0.3 * 0.0 + 0.2 * 0.9, 2)
    others = [entry("b.com", AGREED), entry("c.com", "另据介绍：" + AGREED), entry("d.com", ELSE)]
    voices = ConfidenceScorer([alone, *others])
    assert voices.find_agreeing_publishers(SAID, alone) == {"b.com", "c.com"}
    assert voices.score_quote(SAID, alone) == round(0.5 + 0.3 * 0.75 + 0.18, 2)


def test_all_hosts_of_a_registrant_are_one_voice() -> None:
    one = entry("news.a.com", SAID)
    assert ConfidenceScorer([one, entry("www.a.com", AGREED)]).find_agreeing_publishers(SAID, one) == set()
    assert ConfidenceScorer(
        [one, entry("x.b.com", AGREED), entry("y.b.com", AGREED + "其余待定。")]
    ).find_agreeing_publishers(SAID, one) == {"b.com"}


def test_copies_of_one_text_are_one_voice() -> None:
    text = "".join(f"第{number}项任务由有关部门按照职责分工负责落实。" for number in range(1, 9))
    original, copy = entry("a.com", SAID + text), entry("b.com", f"转载。\n{SAID}{text}")
    assert ConfidenceScorer([original, copy]).find_agreeing_publishers(SAID, original) == set()
    third = entry("c.com", AGREED)
    assert len(ConfidenceScorer([original, copy, third]).find_agreeing_publishers(AGREED, third)) == 1


def test_a_voice_that_says_another_figure_does_not_agree() -> None:
    one = entry("a.com", SAID)
    other = entry("b.com", "到2027年，全国新型储能装机规模达到1.6亿千瓦以上。")
    assert ConfidenceScorer([one, other]).find_agreeing_publishers(SAID, one) == set()


def test_words_agree_where_there_are_no_figures() -> None:
    quote = "市场机制是推动储能发展的关键因素。"
    one = entry("a.com", quote)
    assert ConfidenceScorer(
        [one, entry("b.com", "专家认为推动储能发展的关键因素是市场机制。")]
    ).find_agreeing_publishers(quote, one) == {"b.com"}
    assert (
        ConfidenceScorer([one, entry("b.com", "储能电站发生火灾，原因正在调查当中。")]).find_agreeing_publishers(
            quote, one
        )
        == set()
    )


def test_it_is_never_more_than_certain() -> None:
    entries = [
        entry(f"h{number}.com", AGREED + "补充。" * number, authority=1.0, freshness=1.0) for number in range(30)
    ]
    assert ConfidenceScorer(entries).score_quote(AGREED, entries[0]) == 1.0
