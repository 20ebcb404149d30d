"""The stage of a document by its title and its first words: classes of cases, and which of two signs comes first."""

from pathlib import Path

import pytest

from monitor.policies.document_text import DocumentText
from monitor.policies.stages import classify_document_text
from monitor.vocabulary import PolicyStage

_DOCUMENTS = [line.split("\t") for line in Path(__file__).with_name("stages.tsv").read_text("utf-8").splitlines()]
"""Invented documents of many bodies: the stage (none where it has no one), the title, the first words."""


def read_stage(title: str, head: str = "") -> PolicyStage | None:
    return classify_document_text(DocumentText(title, head)).stage


@pytest.mark.parametrize(("stage", "title", "head"), _DOCUMENTS, ids=[title for _, title, _ in _DOCUMENTS])
def test_titles_of_many_bodies_name_the_stage(stage: str, title: str, head: str) -> None:
    assert read_stage(title, head) == (None if stage == "none" else PolicyStage(stage))


@pytest.mark.parametrize(
    ("title", "head", "stage"),
    [
        ("关于延长征求意见期限的公告", "", PolicyStage.CONSULTATION),
        ("绿色能源促进法（修订草案征求意见稿）及其说明", "", PolicyStage.CONSULTATION),
        ("关于绿色能源促进法的说明", "", PolicyStage.INTERPRETATION),
        ("Extension of comment period: fees for dams", "", PolicyStage.CONSULTATION),
        ("关于撤回《某办法（征求意见稿）》的公告", "", PolicyStage.REPEAL),
        ("Withdrawal of proposed rule on scales", "", PolicyStage.REPEAL),
        ("《2026年保險業（修訂）條例草案》刊憲", "", PolicyStage.DRAFT),
        ("Water (Amendment) Bill 2026", "", PolicyStage.DRAFT),
        ("关于印发《行政处罚裁量基准》的通知", "现印发给你们。", PolicyStage.FINAL),
        ("Penalty policy guidelines 2026", "", PolicyStage.FINAL),
        ("全国碳市场试点工作座谈会召开", "", None),
        ("Remarks on the proposed pilot by the Deputy Governor", "", None),
        ("关于对原产于某国的光伏玻璃进行反倾销立案调查的公告", "", PolicyStage.FINAL),
        ("关于执行《临时用地补充规定》有关问题的通知", "", PolicyStage.IMPLEMENTATION),
        ("一图读懂《储能管理实施办法》", "", PolicyStage.INTERPRETATION),
        ("您想知道的报关新规都在这里", "【问】何时申报？【答】进口前。", PolicyStage.QA),
        ("企业最关心的热点问题：补贴", "补贴分三档，下面举例。", PolicyStage.INTERPRETATION),
        ("Order approving stipulation and consent agreement: Larch Power", "", PolicyStage.ENFORCEMENT),
        ("Order approving proposed rule change on margins", "", PolicyStage.FINAL),
        ("Larch v. Homeowners' Association", "", None),
    ],
)
def test_the_act_of_a_title_comes_before_what_it_names(title: str, head: str, stage: PolicyStage | None) -> None:
    assert read_stage(title, head) is stage


@pytest.mark.parametrize(
    ("title", "head", "stage"),
    [
        ("中国人民银行公告〔2026〕第12号", "现决定废止两份公告。", PolicyStage.REPEAL),
        ("中国人民银行公告〔2026〕第13号", "现将判定标准公告如下。", PolicyStage.FINAL),
        ("关于第2号通知的事项", "经查，你公司未按规定披露，我局决定予以警示。", PolicyStage.ENFORCEMENT),
        ("收费规定在我省的办理", "为落实国家收费规定，现就我省安排通知如下。", PolicyStage.IMPLEMENTATION),
        ("海關在深水埗搜獲貨物", "售賣冒牌貨物，最高可被判罰款50萬元及監禁五年。", None),
        ("Guidance on plasma donors", "Establishments are expected to follow it from 1 May.", PolicyStage.FINAL),
        (
            "Guidance on plasma donors",
            "This note explains the rule. It is not legally binding.",
            PolicyStage.INTERPRETATION,
        ),
        ("Bus fares in the north", "Views may be sent by post on or before 14 August.", PolicyStage.CONSULTATION),
        ("Underused housing return", "What has changed? Am I an owner? What if I filed late?", PolicyStage.QA),
        ("Commission Recommendation on data centres", "HAS ADOPTED THIS RECOMMENDATION:", PolicyStage.FINAL),
        ("Cells that taste danger", "A recall of memory helps the cell.", None),
    ],
)
def test_first_words_decide_where_the_title_does_not(title: str, head: str, stage: PolicyStage | None) -> None:
    assert read_stage(title, head) is stage
