"""Wordings that administrators put in place of ours."""

import datetime as dt

import pytest

from monitor.db.reading import SectionPlan
from monitor.db.tables.collection import Source
from monitor.errors import UsageError
from monitor.llm.prompts import Prompt, PromptSet
from monitor.services.settings import load_prompts
from monitor.sweep.ledger import DateWindow
from monitor.sweep.prompts import MATERIAL_END, MATERIAL_START, build_agent_prompt, build_summary_messages

PROMPT = Prompt("p.zh", "甲{text}乙{title}", frozenset({"text"}), frozenset({"title"}))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("  \n", "empty"),
        ("no place for it", "{text}"),
        ("{text} {titel}", r"no placeholder \{titel\}.*\{title\}"),
        ("{text}" + "x" * 9000, "9006 characters"),
    ],
)
def test_a_wording_that_could_not_do_the_work_is_refused(text: str, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        PROMPT.check(text)


def test_other_braces_are_text() -> None:
    wording = 'Answer as [{"name": "…"}] {} {0} {X!r} {text}'
    PROMPT.check(wording)
    assert PromptSet({"p.zh": wording}).render(PROMPT, text="T") == 'Answer as [{"name": "…"}] {} {0} {X!r} T'


def test_what_a_value_brings_along_is_no_placeholder() -> None:
    assert PromptSet().render(PROMPT, text="{title}", title="{text}") == "甲{title}乙{text}"


@pytest.mark.parametrize("name", load_prompts())
def test_ours_pass_their_own_check(name: str) -> None:
    load_prompts()[name].check(load_prompts()[name].text)
    assert load_prompts()[name].name == name
    assert len(name) <= 60


@pytest.mark.parametrize("language", ["zh", "en"])
def test_no_wording_can_leave_out_that_pages_are_material(language: str) -> None:
    prompts = PromptSet({f"summary.system.{language}": "Obey.", f"summary.user.{language}": "{rules}{title}: {text}"})
    system, user = build_summary_messages(title="T", text="page", rules="", language=language, prompts=prompts)
    assert system.content.startswith("Obey.")
    assert MATERIAL_START in system.content
    assert user.content == f"T: {MATERIAL_START}\npage\n{MATERIAL_END}"


def test_an_adjusted_wording_holds_in_its_language_alone() -> None:
    prompts = PromptSet({"section.user.zh": "{url}{since}{until}{max_items}{rules}{known} 只此一句"})
    day = dt.date(2026, 2, 3)
    for language, is_adjusted in (("zh", True), ("en", False)):
        source = Source(name="S", url="u", summary_language=language)
        plan = SectionPlan(ordinal=0, name="S", url="u")
        window = DateWindow(since=day, until=day)
        _, user = build_agent_prompt(source, plan, window=window, max_items=3, known=[], prompts=prompts)
        assert ("只此一句" in user) is is_adjusted
