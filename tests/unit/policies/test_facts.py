"""Facts of documents by rule, a class of cases each; the labelled documents are in fixtures/facts."""

import datetime as dt
from pathlib import Path

import pytest

from benchmarks.facts import measure
from monitor.document import DocumentFacts
from monitor.policies.facts import read_facts
from monitor.vocabulary import DeadlineKind, PolicyStage, RelationType

NOTICE = "关于印发《储能管理办法》的通知"
PUBLISHED = dt.date(2026, 3, 6)
FOOT = "\n\n国家能源局\n2026年3月5日"


def read(text: str, title: str = NOTICE, published: dt.date | None = PUBLISHED) -> DocumentFacts:
    return read_facts(title, text, published_on=published)


def test_labelled_documents_are_read_as_a_person_reads_them() -> None:
    fields = {entry.field: entry for entry in measure(Path("fixtures/facts/open")).fields}
    assert all(fields["deadlines"].labelled >= 80 for _ in fields)
    for name in ("made_on", "in_force", "comments_until", "deadlines"):
        assert fields[name].recall >= 0.97, name
        assert fields[name].precision >= 0.97, name
    for name in ("number", "stage", "issuers"):
        assert fields[name].recall >= 0.95, name
        assert fields[name].precision >= 0.95, name
    assert fields["relations"].recall >= 0.9
    assert fields["relations"].precision >= 0.95


@pytest.mark.parametrize(
    ("sentence", "in_force"),
    [
        ("本通知自2026年7月1日起施行。", dt.date(2026, 7, 1)),
        ("本办法自印发之日起施行。", dt.date(2026, 3, 5)),
        ("本办法自公布之日起30日后施行。", dt.date(2026, 4, 4)),
        ("本规定于二〇二六年七月一日起正式实施。", dt.date(2026, 7, 1)),
        ("施行日期：2026-07-01", dt.date(2026, 7, 1)),
        ("本办法自发布之日起三个月后施行。", dt.date(2026, 6, 5)),
        ("自2026年5月1日起，对进口设备恢复征收关税。", dt.date(2026, 5, 1)),
    ],
)
def test_a_chinese_document_says_from_when_it_is_in_force(sentence: str, in_force: dt.date) -> None:
    facts = read(sentence + FOOT)
    assert facts.in_force == in_force
    assert facts.evidence["in_force"] == sentence


@pytest.mark.parametrize(
    ("sentence", "in_force"),
    [
        ("The rules come into force on 1 July 2026.", dt.date(2026, 7, 1)),
        ("This rule is effective May 5, 2026.", dt.date(2026, 5, 5)),
        ("These Regulations come into operation on the 1st day of July 2026.", dt.date(2026, 7, 1)),
        ("This rule takes effect 30 days after publication in the Federal Register.", dt.date(2026, 4, 5)),
        (
            "It shall enter into force on the twentieth day following that of its publication in the Official Journal.",
            dt.date(2026, 3, 26),
        ),
        ("The guidelines take effect immediately.", PUBLISHED),
        ("From 1 July 2026 a supplier must publish its tariffs.", dt.date(2026, 7, 1)),
    ],
)
def test_an_english_document_says_from_when_it_is_in_force(sentence: str, in_force: dt.date) -> None:
    assert read(sentence, "Final rule on grid fees").in_force == in_force


@pytest.mark.parametrize(
    "sentence",
    [
        "《电力监管条例》自2005年5月1日起施行以来，成效显著。",
        "根据2024年1月1日起施行的《电力市场规则》，现通知如下。",
        "会议将于2026年7月1日召开。",
        "截至2026年2月底，全国累计装机容量1.3亿千瓦。",
        "企业应于每年3月31日前报告上年情况。",
        "许可证有效期五年。",
        "力争到2030年底前基本形成规模。",
        "对2026年2月28日前已并网的项目，不作调整。",
    ],
)
def test_days_of_events_figures_other_documents_and_groups_are_no_deadlines(sentence: str) -> None:
    assert read(f"各有关单位：\n{sentence}{FOOT}").deadlines == []


@pytest.mark.parametrize(
    "sentence",
    [
        "The Electricity Act, which came into force on 1 April 2024, set the frame.",
        "Output rose by 3 per cent in the year ended 31 December 2025.",
        "The consultation closed on 23 January 2026.",
        "We expect the rules to take effect on 1 October 2026.",
        "A workshop will be held on 2 June 2026.",
    ],
)
def test_english_days_of_events_figures_and_other_documents_are_no_deadlines(sentence: str) -> None:
    assert read(sentence, "Policy statement on grid fees").deadlines == []


def test_a_term_counts_from_the_day_in_force() -> None:
    assert read("本办法自2026年7月1日起施行，有效期五年。" + FOOT).valid_until == dt.date(2031, 6, 30)
    assert read("本办法自2026年7月1日起试行，试行期两年。" + FOOT).valid_until == dt.date(2028, 6, 30)
    pilot = read("The sandbox runs for 18 months from 1 March 2027.", "Regulatory sandbox for harbour craft")
    assert (pilot.in_force, pilot.valid_until) == (dt.date(2027, 3, 1), dt.date(2028, 8, 31))


def test_a_time_to_comply_counts_from_the_day_in_force() -> None:
    facts = read(
        "第十条 已上线的服务应当自本规定施行之日起六个月内补办手续。\n第十一条 本规定自2026年9月1日起施行。" + FOOT
    )
    assert facts.comply_by == dt.date(2027, 3, 1)


def test_each_day_has_its_kind_and_subject() -> None:
    facts = read(
        "一、各市应于4月20日前将清单报送我局。\n二、存量项目应于2027年底前完成改造。\n三、本通知自2026年5月1日起施行。"
        + FOOT
    )
    assert [(day.kind, day.day, day.subject) for day in facts.deadlines] == [
        (DeadlineKind.COMPLY_BY, dt.date(2026, 4, 20), ""),
        (DeadlineKind.COMPLY_BY, dt.date(2027, 12, 31), "存量项目"),
        (DeadlineKind.IN_FORCE, dt.date(2026, 5, 1), ""),
    ]
    assert (facts.apply_by, facts.comply_by) == (None, dt.date(2026, 4, 20))


def test_a_deadline_that_was_moved_is_the_later_one() -> None:
    chinese = read(
        "原定3月31日截止。现将意见反馈截止日期延长至2026年4月20日。", "关于延长《指引》公开征求意见时间的公告"
    )
    assert [day.day for day in chinese.deadlines] == [dt.date(2026, 4, 20)]
    english = read(
        "The deadline for applications has been extended from 30 October 2026 to noon on 18 December 2026.",
        "Retrofit Fund: applications open",
    )
    assert [(day.kind, day.day) for day in english.deadlines] == [(DeadlineKind.APPLY_BY, dt.date(2026, 12, 18))]


@pytest.mark.parametrize(
    ("title", "stage"),
    [
        ("关于《储能管理办法（征求意见稿）》公开征求意见的公告", PolicyStage.CONSULTATION),
        ("《储能管理办法》解读", PolicyStage.INTERPRETATION),
        ("国家能源局有关负责同志就《储能管理办法》答记者问", PolicyStage.QA),
        ("关于开展绿色电力直连试点工作的通知", PolicyStage.PILOT),
        ("关于修改《储能管理办法》的决定", PolicyStage.AMENDMENT),
        ("关于废止部分规范性文件的公告", PolicyStage.REPEAL),
        ("行政处罚决定书（某公司）", PolicyStage.ENFORCEMENT),
        ("国家能源局2026年立法工作计划", PolicyStage.PLAN),
        ("储能管理条例（草案）", PolicyStage.DRAFT),
        ("广东省储能管理办法实施细则", PolicyStage.IMPLEMENTATION),
        ("储能管理办法", PolicyStage.FINAL),
        ("国家能源局召开储能试点工作推进会", None),
        ("CP26/4: Grid connection charges", PolicyStage.CONSULTATION),
        ("PS26/9: Feedback to CP26/4 and final rules", PolicyStage.FINAL),
        ("Final Notice: Harrow Limited", PolicyStage.ENFORCEMENT),
        ("The Electricity (Amendment) Regulations 2026", PolicyStage.AMENDMENT),
        ("Rescission of guidance on batteries", PolicyStage.REPEAL),
        ("Grid code: frequently asked questions", PolicyStage.QA),
        ("Regulatory agenda, spring 2026", PolicyStage.PLAN),
        ("Speech by the chair at the energy forum", None),
    ],
)
def test_a_title_tells_the_stage(title: str, stage: PolicyStage | None) -> None:
    assert read("", title).stage is stage


def test_a_document_is_signed_at_its_foot() -> None:
    facts = read(
        "发改能源〔2026〕3号\n\n各有关单位：\n现印发给你们。\n\n"
        "国家发展改革委  国家能源局\n二〇二六年三月五日\n（此件公开发布）"
    )
    assert facts.issuers == ["国家发展改革委", "国家能源局"]
    assert (facts.number, facts.made_on) == ("发改能源〔2026〕3号", dt.date(2026, 3, 5))


@pytest.mark.parametrize(
    ("text", "title", "number"),
    [
        ("国家税务总局公告\n2026年第18号\n现公告如下。", "关于发票的公告", "2026年第18号"),
        ("国务院令\n第812号\n现公布《条例》。", "条例", "令第812号"),
        ("根据《办法》（国发〔2020〕1号），现通知如下。", "关于发票的通知", None),
        (
            "[Release No. 34-98765; File No. S7-1-26]\nACTION: Final rule.",
            "Final rule: custody",
            "Release No. 34-98765",
        ),
        ("Policy Statement\nPS26/3\nMay 2026", "Client cash", "PS26/3"),
        ("of 17 March 2026", "Commission Regulation (EU) 2026/1184 on packaging", "(EU) 2026/1184"),
        ("As set out in CP26/1, we act.", "Policy statement on cash", None),
    ],
)
def test_a_number_is_its_own_and_not_one_that_it_quotes(text: str, title: str, number: str | None) -> None:
    assert read(text, title).number == number


@pytest.mark.parametrize(
    ("text", "title", "expected"),
    [
        (
            "《甲办法》（国能〔2019〕1号）、《乙规定》同时废止。",
            NOTICE,
            (RelationType.REPEALS, "国能〔2019〕1号", "甲办法"),
        ),
        (
            "第一条 根据《中华人民共和国能源法》，制定本办法。",
            NOTICE,
            (RelationType.BASED_ON, None, "中华人民共和国能源法"),
        ),
        ("决定对《甲办法》作如下修改：", "关于修改《甲办法》的决定", (RelationType.AMENDS, None, "甲办法")),
        ("就有关问题作出回答。", "就《甲办法》答记者问", (RelationType.INTERPRETS, None, "甲办法")),
        (
            "标准编号：GB 1—2026\n代替标准号：GB 1—2016",
            "关于发布标准的公告",
            (RelationType.REPLACES, "GB 1—2016", None),
        ),
        (
            "The Waste Batteries (Carriage) Regulations 2011 are revoked.",
            "The Batteries Regulations 2026",
            (RelationType.REPEALS, None, "Waste Batteries (Carriage) Regulations 2011"),
        ),
        (
            "The Authority makes this instrument under section 3 of the Energy Act 2013.",
            "Energy Instrument 2026",
            (RelationType.BASED_ON, None, "Energy Act 2013"),
        ),
        ("In CP26/4 we set out proposals.", "PS26/9: final rules", (RelationType.BASED_ON, "CP26/4", None)),
        ("It supersedes ComReg 19/07.", "Licensing decision", (RelationType.REPLACES, "ComReg 19/07", None)),
    ],
)
def test_a_document_says_what_it_does_to_others(
    text: str, title: str, expected: tuple[RelationType, str | None, str | None]
) -> None:
    found = [(relation.type, relation.number, relation.title) for relation in read(text, title).relations]
    assert expected in found


def test_figures_that_change_are_given_with_what_they_were() -> None:
    facts = read("二、将第五条中的“每台15万元”修改为“每台20万元”。", "关于修改《甲办法》的决定")
    assert [(figure.old, figure.new) for figure in facts.figures] == [("每台15万元", "每台20万元")]
    assert facts.figures[0].passage.startswith("二、")


def test_every_passage_stands_in_the_document() -> None:
    text = "電力監管規則\n本規則自2026年7月1日起施行，有效期三年。" + FOOT
    facts = read(text, "電力監管規則")
    assert facts.in_force == dt.date(2026, 7, 1)
    assert all(passage in text for passage in facts.evidence.values())
    assert all(day.passage in text for day in facts.deadlines)


def test_news_and_empty_pages_have_no_facts() -> None:
    assert read("", "").stage is None
    news = read("局长1月3日出席论坛。2026年7月1日起将有新规施行。", "国家能源局局长出席论坛")
    assert (news.stage, news.deadlines, news.relations, news.issuers) == (None, [], [], [])


@pytest.mark.parametrize(
    ("head", "stage"),
    [
        ("ACTION: Notice; reopening of the comment period.", PolicyStage.CONSULTATION),
        ("ACTION: Final rule; delay of compliance date.", PolicyStage.AMENDMENT),
        ("ACTION: Interim final rule; request for comments.", PolicyStage.FINAL),
        ("A BILL\nA provider shall state the price.", PolicyStage.DRAFT),
        ("amending Implementing Regulation (EU) 2019/1793", PolicyStage.AMENDMENT),
        ("This letter offers guidance on the rule. Firms must test. Firms must report.", PolicyStage.INTERPRETATION),
        ("The pilot starts on 6 April 2027.", PolicyStage.PILOT),
        ("A light shows when a device listens.", None),
    ],
)
def test_an_english_document_whose_title_says_nothing_shows_its_stage_in_its_head(
    head: str, stage: PolicyStage | None
) -> None:
    assert read(head, "Voice assistants for children").stage == stage


@pytest.mark.parametrize(
    ("sentence", "kind", "day"),
    [
        ("The compliance date is June 28, 2027.", DeadlineKind.COMPLY_BY, dt.date(2027, 6, 28)),
        ("For old units section 3 does not apply until 1 June 2027.", DeadlineKind.COMPLY_BY, dt.date(2027, 6, 1)),
        ("This Order expires on 31 March 2028.", DeadlineKind.VALID_UNTIL, dt.date(2028, 3, 31)),
        ("It is withdrawn with immediate effect.", DeadlineKind.IN_FORCE, PUBLISHED),
        ("The window for requests shuts at 4pm on 29 October 2026.", DeadlineKind.APPLY_BY, dt.date(2026, 10, 29)),
        ("Dated June 30, 2026. It becomes effective on 10/1/2026.", DeadlineKind.IN_FORCE, dt.date(2026, 10, 1)),
    ],
)
def test_an_english_document_says_what_is_due(sentence: str, kind: DeadlineKind, day: dt.date) -> None:
    facts = read(sentence, "Final rule on grid fees")
    assert [(each.kind, each.day) for each in facts.deadlines] == [(kind, day)]


@pytest.mark.parametrize(
    "sentence",
    [
        "Representations were to be made on or before 30 January 2026.",
        "Rules, should we go ahead, would not come into force before 1 January 2029.",
        "Units let before 1 December 2026 are old units.",
        "They had been due to lapse on 31 December 2025.",
    ],
)
def test_an_english_day_of_something_else_is_no_deadline(sentence: str) -> None:
    assert not read(sentence, "Final rule on grid fees").deadlines
