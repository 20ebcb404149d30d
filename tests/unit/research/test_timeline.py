from monitor.research.appendix import MAX_FACTS, build_timeline
from monitor.research.shapes import ResearchNote


def notes(*summaries: str) -> list[ResearchNote]:
    return [
        ResearchNote(summary=summary, topic="t", source_url=f"https://a.example/{summary[:4]}", engine="e")
        for summary in summaries
    ]


def test_dated_sentences_stand_in_the_order_of_their_dates_each_once() -> None:
    facts = build_timeline(
        notes(
            "试点于2026年3月启动。此后没有新的消息。",
            "国务院2025年12月1日印发方案。价格上涨5%。",
            "规则自２０２６年７月１日起施行。试点于2026年3月启动。",
            "The rules took effect on 4 May 2026.",
        )
    )
    assert [(fact.written, fact.number) for fact in facts] == [
        ("2025年12月1日", 2),
        ("2026年3月", 1),
        ("4 May 2026", 4),
        ("2026年7月1日", 3),
    ]
    assert facts[1].text == "试点于2026年3月启动。"


def test_dates_of_fewer_than_three_notes_are_no_course_of_events() -> None:
    assert (
        build_timeline(notes("2026年3月启动。2026年4月扩大。2026年5月完成。", "2026年6月验收。", "3月1日没有年份。"))
        == []
    )


def test_the_latest_dates_stand_where_there_are_many() -> None:
    facts = build_timeline(notes(*(f"2026年{month}月启动第{month}批。2025年{month}月筹备。" for month in range(1, 13))))
    assert len(facts) == MAX_FACTS
    assert all(fact.day[0] == 2026 for fact in facts)
