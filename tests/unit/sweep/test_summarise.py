"""What becomes of a summary, by code alone."""

import pytest

from monitor.i18n.catalogue import render
from monitor.sweep.prompts import SummaryTask
from monitor.sweep.summary_check import JudgedSummary, find_fault, judge_summary
from monitor.verify.statements import SourceText, StatementCounts
from monitor.vocabulary import DocumentKind, Verdict

TITLE = "关于印发绿色能源中长期发展总体实施方案的正式通知"
TEXT = (
    "2026年2月3日，能源总署印发绿色能源发展方案。方案提出到2030年装机容量达到1.5亿千瓦，同比增长12.5%。"
    "方案要求各省能源局在2026年6月30日前报送实施计划。总署将对储能电站开展安全检查。"
)
FIRST = "方案提出到2030年装机容量达到1.5亿千瓦，同比增长12.5%。"
SECOND = "方案要求各省能源局在2026年6月30日前报送实施计划。"
RULES = "重点关注储能电站补贴退坡对民营企业投资意愿的影响"


def check(summary: str, *, rules: str = RULES) -> JudgedSummary:
    task = SummaryTask(title=TITLE, kind=DocumentKind.POLICY, rules=rules, language="zh")
    return judge_summary(summary, task.build_grounds(SourceText(text=TEXT, title=TITLE, publisher="能源总署")))


@pytest.mark.parametrize(
    ("summary", "fault"),
    [
        ("", "empty"),
        ("太短", "too short"),
        (TITLE, "it repeats the title"),
        ("方案" * 600, "too long"),
        (f"{FIRST}详见 http://evil.example/a 。", "it contains a web address"),
        (f"<<<PAGE\n{FIRST}\nPAGE>>>", "The sentence repeats the prompt: <<<"),
        (f"标题：{TITLE}\n{FIRST}", "The sentence repeats the prompt: 标题："),
        (f"Title: a title\nText:\n{FIRST}", "The sentence repeats the prompt: Title:"),
    ],
)
def test_what_is_no_summary_at_all_is_refused(summary: str, fault: str) -> None:
    found = find_fault(summary, title=TITLE)
    assert found is not None
    assert render(found, "en").startswith(fault)
    checked = check(summary)
    assert (checked.is_usable, checked.reason, checked.text) == (False, found, "")


def test_sentences_that_the_page_says_are_kept_as_they_were_written() -> None:
    checked = check(f"{FIRST}{SECOND}")
    assert checked.is_sound
    assert checked.text == f"{FIRST}{SECOND}"
    assert checked.counts == StatementCounts(supported_by_code=2)
    assert all(judgement.passage in TEXT and judgement.passage for _, judgement in checked.kept)


@pytest.mark.parametrize(
    "false",
    [
        "方案提出到2030年装机容量达到2.5亿千瓦。",
        "方案提出到2035年装机容量达到1.5亿千瓦。",
        "方案要求各省能源局在2026年7月31日前报送实施计划。",
    ],
)
def test_a_sentence_that_the_page_does_not_say_is_dropped_and_the_others_stay(false: str) -> None:
    checked = check(f"{FIRST}{false}{SECOND}")
    assert not checked.is_sound
    assert checked.is_usable
    assert checked.text == f"{FIRST}{SECOND}"
    assert [text for text, _ in checked.dropped] == [false]
    assert checked.counts.contradicted + checked.counts.unsupported == 1
    (fault,) = checked.list_faults("zh")
    assert false in fault
    assert checked.reason is not None


def test_of_a_summary_of_lies_nothing_is_left() -> None:
    checked = check("方案提出到2035年装机容量达到2.5亿千瓦，共投资987亿元。")
    assert (checked.text, checked.is_usable) == ("", False)


@pytest.mark.parametrize(
    "echo",
    [
        "直接给出摘要正文，数字、日期和名称照原文写法，谁对谁、肯定还是否定都与原文一致。",
        "你为咨询公司的行业顾问阅读政策文件，写出让人一眼看懂要点的摘要。",
        f"管理员要求{RULES}。",
        f"{TITLE}。",
        "海河市住建局把保障房收入线由月均4800元提高到5600元，持居住证者也可申请；6月1日起施行，2019年的规定同时废止。",
    ],
)
def test_what_the_model_was_told_is_no_part_of_a_summary(echo: str) -> None:
    checked = check(f"{echo}{FIRST}{SECOND}")
    assert checked.text == f"{FIRST}{SECOND}"
    ((_, judgement),) = checked.dropped
    assert judgement.verdict is Verdict.UNSUPPORTED
    assert [reason.code for reason in judgement.reasons] == ["echo"]


def test_wishes_in_words_of_the_page_are_no_echo() -> None:
    assert (check(f"{FIRST}{SECOND}", rules="方案要求各省能源局在2026年6月30日前报送实施计划")).is_sound


@pytest.mark.parametrize("end", ["方案要求各省能源局在2026年6月30日前报送", "总署将对储能"])
def test_a_text_that_ends_in_the_middle_of_a_sentence_loses_it(end: str) -> None:
    checked = check(f"{FIRST}{end}")
    assert checked.text == FIRST
    assert [reason.code for _, judgement in checked.dropped for reason in judgement.reasons] == ["cut_off"]


def test_lines_stay_lines_and_a_list_keeps_its_marks() -> None:
    listed = f"1. {FIRST}\n2. {SECOND}"
    assert (check(listed)).text == listed
