"""Which documents are joined to one policy, why, and which are not."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from monitor.document import DocumentFacts, Relation
from monitor.policies.lifecycle import (
    FiledDocument,
    choose_stage,
    choose_title,
    find_link,
    find_policies,
    find_policy,
    may_start_policy,
)
from monitor.policies.names import list_references
from monitor.vocabulary import DocumentKind, JoinedBy, PolicyStage, RelationType

KINDS = {
    PolicyStage.CONSULTATION: DocumentKind.CONSULTATION,
    PolicyStage.ENFORCEMENT: DocumentKind.ENFORCEMENT,
    PolicyStage.INTERPRETATION: DocumentKind.INTERPRETATION,
    PolicyStage.QA: DocumentKind.INTERPRETATION,
}
NEA, FCA = "国家能源局", "Financial Conduct Authority"


def document(
    title: str,
    stage: PolicyStage | None,
    *,
    text: str = "",
    number: str | None = None,
    by: Sequence[str] = (NEA,),
    relations: Sequence[tuple[RelationType, str | None, str | None]] = (),
    day: str = "2026-03-01",
    policies: Sequence[int] = (),
    item: int = 1,
) -> FiledDocument:
    facts = DocumentFacts(
        kind=KINDS.get(stage, DocumentKind.POLICY) if stage else DocumentKind.MEETING,
        stage=stage,
        number=number,
        issuers=list(by),
        relations=[Relation(type=kind, number=its, title=name) for kind, its, name in relations],
    )
    references = tuple(list_references(title, text, facts))
    return FiledDocument(item, title, facts, references, dt.date.fromisoformat(day), frozenset(policies))


DRAFT = document(
    "关于公开征求《新型储能容量补偿管理办法（征求意见稿）》意见的公告",
    PolicyStage.CONSULTATION,
    by=["国家能源局综合司"],
    day="2025-12-16",
    policies=[7],
)
FINAL = document(
    "国家能源局关于印发《新型储能容量补偿管理办法》的通知",
    PolicyStage.FINAL,
    number="国能发储〔2026〕18号",
    day="2026-04-02",
    policies=[7],
    item=2,
)
PAPER = document("CP24/19: Interest on client cash", PolicyStage.CONSULTATION, number="CP24/19", by=[FCA], policies=[3])


def joined_by(proposal: Any) -> Any:
    return proposal and (proposal.policy_id, proposal.joined_by)


def test_a_final_document_joins_its_draft_by_name() -> None:
    proposal = find_policy(FINAL, [DRAFT])
    assert joined_by(proposal) == (7, JoinedBy.NAME)
    assert proposal is not None
    assert (proposal.item_id, proposal.reason.code) == (1, "policy.by_name")


@pytest.mark.parametrize(
    ("found", "because"),
    [
        (
            document("有关负责人就《新型储能容量补偿管理办法》答记者问", PolicyStage.QA, by=[], day="2026-04-03"),
            JoinedBy.TITLE,
        ),
        (
            document(
                "关于修改部分规范性文件的通知",
                PolicyStage.AMENDMENT,
                relations=[(RelationType.AMENDS, "国能发储〔2026〕18号", None)],
                day="2026-09-01",
            ),
            JoinedBy.NUMBER,
        ),
        (
            document(
                "山东省新型储能补偿实施细则",
                PolicyStage.IMPLEMENTATION,
                by=["山东省能源局"],
                relations=[(RelationType.IMPLEMENTS, None, "新型储能容量补偿管理办法")],
                day="2026-06-15",
            ),
            JoinedBy.RELATION,
        ),
        (
            document(
                "行政处罚决定书（某某公司）",
                PolicyStage.ENFORCEMENT,
                by=["山东能源监管办"],
                text="你公司违反了《新型储能容量补偿管理办法》第九条的规定。",
                day="2026-10-10",
            ),
            JoinedBy.NAME,
        ),
        (document("关于废止《新型储能容量补偿管理办法》的决定", PolicyStage.REPEAL, day="2027-01-01"), JoinedBy.TITLE),
    ],
)
def test_what_follows_a_final_document_joins_its_policy(found: FiledDocument, because: JoinedBy) -> None:
    assert joined_by(find_policy(found, [DRAFT, FINAL])) == (7, because)


def test_a_policy_statement_joins_the_consultation_paper_that_it_names() -> None:
    final = document("PS25/7: final rules on client cash", PolicyStage.FINAL, text="In CP24/19 we proposed …", by=[FCA])
    assert joined_by(find_policy(final, [PAPER])) == (3, JoinedBy.NUMBER)


def test_a_final_notice_joins_the_rules_that_it_mentions() -> None:
    rules = document("PS25/7: final rules", PolicyStage.FINAL, number="PS25/7", by=[FCA], policies=[3])
    notice = document(
        "Final Notice: Harrow Vale",
        PolicyStage.ENFORCEMENT,
        text="This was banned by PS25/7.",
        by=[FCA],
        day="2026-09-24",
    )
    assert joined_by(find_policy(notice, [PAPER, rules])) == (3, JoinedBy.NUMBER)


def test_rules_of_one_docket_belong_together() -> None:
    texts = ["[Release No. 34-101877; File No. S7-22-24]", "[Release No. 34-104512; File No. S7-22-24]"]
    proposed, adopted = (
        document(title, stage, text=text, by=["SEC"], policies=policies)
        for title, stage, text, policies in (
            ("Reporting by Custodians", PolicyStage.CONSULTATION, texts[0], [5]),
            ("Rule 10c-3", PolicyStage.FINAL, texts[1], []),
        )
    )
    proposal = find_policy(adopted, [proposed])
    assert proposal is not None
    assert proposal.reason.code == "policy.by_file"


def test_nearly_equal_names_of_one_office_join_a_draft_and_its_final_document() -> None:
    draft = document(
        "SFC consults on liquidity stress tests for retail funds", PolicyStage.CONSULTATION, by=["SFC"], policies=[4]
    )
    final = document(
        "Consultation Conclusions on Liquidity Stress Testing by Managers of Retail Funds",
        PolicyStage.FINAL,
        by=["SFC"],
    )
    assert joined_by(find_policy(final, [draft])) == (4, JoinedBy.NAME)
    of_another = replace(final, facts=final.facts.model_copy(update={"issuers": ["ASIC"]}))
    assert find_policy(of_another, [draft]) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # a law that many rest on
        (
            document("电力监管条例", PolicyStage.FINAL, by=["国务院"], day="2005-02-15", policies=[1]),
            document(
                "电力业务许可证管理规定", PolicyStage.FINAL, relations=[(RelationType.BASED_ON, None, "电力监管条例")]
            ),
        ),
        # one title in two provinces
        (
            document("关于促进民营经济发展的若干措施", PolicyStage.FINAL, by=["浙江省人民政府"], policies=[1]),
            document("关于促进民营经济发展的若干措施", PolicyStage.FINAL, by=["福建省人民政府"]),
        ),
        # one title, a year later
        (
            document("关于做好迎峰度夏电力保供工作的通知", PolicyStage.FINAL, day="2025-05-20", policies=[1]),
            document("关于做好迎峰度夏电力保供工作的通知", PolicyStage.FINAL, day="2026-05-22"),
        ),
        # one serial, two offices
        (
            document("关于光伏用地的公告", PolicyStage.FINAL, number="2026年第6号", by=["自然资源部"], policies=[1]),
            document("关于出口许可的公告", PolicyStage.FINAL, number="2026年第6号", by=["商务部"]),
        ),
        # a penalty that mentions rules of two policies equally is tested below; news that mentions one:
        (FINAL, document("国家能源局召开储能座谈会", None, text="会议学习了《新型储能容量补偿管理办法》。")),
        # a new rule that mentions another one of its office
        (
            FINAL,
            document(
                "电网公平开放监管办法",
                PolicyStage.FINAL,
                text="储能项目按照《新型储能容量补偿管理办法》执行。",
                day="2026-08-01",
            ),
        ),
        # it was published before what it is said to refer to
        (FINAL, document("关于《新型储能容量补偿管理办法》的解读", PolicyStage.INTERPRETATION, day="2020-01-01")),
    ],
)
def test_documents_of_two_policies_stay_apart(one: FiledDocument, other: FiledDocument) -> None:
    assert find_policy(other, [one]) is None


def test_a_penalty_under_two_policies_joins_neither() -> None:
    rules = [replace(FINAL, policies=frozenset([7])), replace(PAPER, policies=frozenset([3]))]
    second = document("电网公平开放监管办法", PolicyStage.FINAL, policies=[8])
    penalty = document(
        "行政处罚决定书",
        PolicyStage.ENFORCEMENT,
        text="违反了《新型储能容量补偿管理办法》和《电网公平开放监管办法》。",
        day="2026-10-10",
    )
    assert find_policy(penalty, [*rules, second]) is None
    assert joined_by(find_policy(penalty, rules)) == (7, JoinedBy.NAME)


def test_a_decision_that_repeals_several_documents_belongs_to_each_of_their_policies() -> None:
    second = document("电网公平开放监管办法", PolicyStage.FINAL, policies=[8])
    decision = document(
        "关于废止部分规范性文件的决定",
        PolicyStage.REPEAL,
        relations=[
            (RelationType.REPEALS, "国能发储〔2026〕18号", None),
            (RelationType.REPEALS, None, "电网公平开放监管办法"),
        ],
        day="2027-01-01",
    )
    assert [proposal.policy_id for proposal in find_policies(decision, [FINAL, second, PAPER])] == [7, 8]


def test_an_earlier_document_is_found_by_the_one_that_it_waited_for() -> None:
    answers = document("就《新型储能容量补偿管理办法》答记者问", PolicyStage.QA, by=[], day="2026-04-02")
    assert find_link(FINAL, answers) == find_link(answers, FINAL)


def test_penalties_news_and_data_start_no_policy() -> None:
    assert may_start_policy(FINAL.facts)
    assert not may_start_policy(document("行政处罚决定书", PolicyStage.ENFORCEMENT).facts)
    assert not may_start_policy(document("座谈会", None).facts)


def test_the_stage_of_a_policy_is_the_furthest_of_its_own_life() -> None:
    answers = document("就《新型储能容量补偿管理办法》答记者问", PolicyStage.QA, day="2026-05-05")
    assert choose_stage([DRAFT]) == (PolicyStage.CONSULTATION, dt.date(2025, 12, 16))
    assert choose_stage([DRAFT, answers, FINAL]) == (PolicyStage.FINAL, dt.date(2026, 4, 2))
    again = document(FINAL.title, PolicyStage.FINAL, day="2026-04-09")
    assert choose_stage([again, FINAL]) == (PolicyStage.FINAL, dt.date(2026, 4, 2))
    assert choose_stage([answers]) == (PolicyStage.QA, dt.date(2026, 5, 5))
    assert choose_title([answers, DRAFT, FINAL]) == FINAL.title
