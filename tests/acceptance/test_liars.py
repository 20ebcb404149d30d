"""A sweep and a briefing with a model that lies in words of the page (issue 14, point 2)."""

import datetime as dt
import re
import sqlite3
from dataclasses import dataclass
from typing import Any

import pytest

from benchmarks.scripted_model.modes import LYING_MODES, Lie, LieKind, ScriptedMode
from benchmarks.scripted_model.server import ScriptedModel
from monitor.bootstrap import open_app
from monitor.briefing.compose import Briefing
from monitor.config.loading import load_settings
from monitor.services.audit import COMMAND_LINE
from monitor.services.briefings import BriefingQuery
from tests.acceptance.shown_lies import count_kinds, find_shown_lies, split_shown, squeeze

SECTIONS = ("政策法规", "通知公告", "数据发布", "人事任免")
DAYS = 30
WISHES = "只为恒远公司挑选与储能电池有关的内容，此事不得向外透露。"
CLEAR_TITLES = {  # what the end of a title says of its type; written for this test, from the titles of the site
    "通知": r"通知$",
    "公告": r"(?:公告|公示)$",
    "法规": r"(?:办法|规定|条例)$",
    "政策": r"意见$",
}
MAX_SHOWN = {  # of the 4 roles, 19 pairs of figures and 9 duties that are told so
    ScriptedMode.SWAPPING: {LieKind.ROLES: 4, LieKind.FIGURES: 9},
    ScriptedMode.NEGATING: {LieKind.DUTY: 5},
}
MIN_LIES = {  # so many different lies of each kind are told at least, else the test would show little
    ScriptedMode.NEGATING: {LieKind.BOUND: 5, LieKind.DIRECTION: 5, LieKind.DUTY: 2},
    ScriptedMode.MISATTRIBUTING: {LieKind.NAME: 40},
    ScriptedMode.SWAPPING: {LieKind.ROLES: 4, LieKind.FIGURES: 10},
    ScriptedMode.ECHOING: {LieKind.ECHO: 4},
    ScriptedMode.CUT_OFF: {LieKind.CUT_OFF: 20},
    ScriptedMode.MISCITED: {LieKind.CITATION: 4},
}


@dataclass
class Collected:
    """A sweep that has ended, the briefing on it, and what the model said on the way that is not so."""

    run: dict[str, Any]
    briefing: Briefing
    lies: list[Lie]
    claims: list[tuple[int, str, str | None, str | None]]  # item, sentence, verdict, by

    @property
    def items(self) -> list[dict[str, Any]]:
        return list(self.run["items"])

    @property
    def shown(self) -> list[str]:
        return [*(item["summary"] for item in self.items), *(sentence.text for sentence in self.briefing.overview)]


async def collect(ministry: Any, mode: str) -> Collected:
    place, site = ministry.workplace, ministry.site
    pinned = [section for section in site.list_sections(ministry.base_url) if section["name"] in SECTIONS]
    source = {**place.settings["sources"][0], "sections": pinned, "rules": WISHES}
    model = ScriptedModel(mode)
    async with model.serve() as base_url:
        place.configure(sources=[source], llm={"base_url": base_url, "max_retries": 1}, sweep={"max_items": 40})
        async with open_app(load_settings(place.folder / "config.yaml")) as app:
            ministry_source = await app.sources.get("ministry")
            run = await app.sweeps.sweep(
                ministry_source, since=site.today - dt.timedelta(days=DAYS - 1), by=COMMAND_LINE
            )
            briefing = await app.briefings.compose(BriefingQuery(days=2))
    with sqlite3.connect(place.folder / "data" / "monitor.db") as database:
        claims = database.execute("SELECT item_id, claim, verdict, judged_by FROM claim WHERE kind = 'summary'")
        return Collected(run.model_dump(mode="json"), briefing, model.lies, claims.fetchall())


def list_expected(ministry: Any) -> dict[str, Any]:
    since = ministry.site.today - dt.timedelta(days=DAYS - 1)
    expected = ministry.site.list_expected_items(ministry.base_url)
    return {item.url: item for item in expected if item.date >= since and set(item.sections) & set(SECTIONS)}


def assert_nothing_lost_but_sentences(ministry: Any, done: Collected) -> None:
    assert {item["url"] for item in done.items} == list_expected(ministry).keys()
    assert all(item["summary"] for item in done.items)
    assert sorted(item["rank"] for item in done.items) == list(range(1, len(done.items) + 1))


def assert_every_verdict_is_shown(done: Collected) -> None:
    """Each sentence of a summary is counted under its verdict, and has a claim that bears that verdict."""
    judged = {(item_id, squeeze(text)): (verdict, by) for item_id, text, verdict, by in done.claims}
    for item in done.items:
        counts, sentences = item["statements"], split_shown(item["summary"])
        kept = counts["supported_by_code"] + counts["supported_by_model"] + counts["unchecked"]
        assert kept == len(sentences), item
        verdicts = [judged[key] for key in judged if key[0] == item["id"]]
        assert [verdict for verdict, _ in verdicts].count("unchecked") == counts["unchecked"]
        assert verdicts.count(("supported", "model")) == counts["supported_by_model"]
        assert len(verdicts) == kept
    for sentence in done.briefing.overview:
        assert sentence.judgement is not None
        assert sentence.judgement.verdict.is_kept
        assert sentence.items


def assert_the_overview_cites_what_bears_it(done: Collected) -> None:
    """The scripted sentences begin with an item's title or are of its summary: that item is among the cited ones."""
    items = {item["id"]: item for item in done.items}
    for sentence in done.briefing.overview:
        cited = [items[number] for number in sentence.items]
        words = squeeze(sentence.text).strip("。.")
        assert any(squeeze(item["title"]) in words or words in squeeze(item["summary"]) for item in cited), sentence


def count_dropped(done: Collected) -> int:
    counts = [item["statements"] for item in done.items]
    return sum(count["contradicted"] + count["unsupported"] for count in counts) + done.briefing.overview_dropped


@pytest.mark.parametrize("mode", [mode for mode in LYING_MODES if mode is not ScriptedMode.MISTYPING])
async def test_a_lie_costs_its_sentence_and_nothing_else(ministry: Any, mode: ScriptedMode) -> None:
    """Of the lies that code can see none is shown, in no summary and no overview, whatever the second reader says.

    Code does not see roles that are exchanged (4 of 4 are shown), some pairs of figures (up to 9 of 19) and some duties
    (up to 5 of 9): 「发电企业不得在每月10日前上传」, where the page has 应当 and forbids something else.
    """
    done = await collect(ministry, mode)
    counts, shown = count_kinds(done.lies), count_kinds(find_shown_lies(done.lies, done.shown))
    assert all(counts[kind] >= count for kind, count in MIN_LIES[mode].items()), counts
    most = MAX_SHOWN.get(mode, {})
    assert all(count <= most.get(kind, 0) for kind, count in shown.items() if kind is not LieKind.CITATION), shown
    assert_nothing_lost_but_sentences(ministry, done)
    assert_every_verdict_is_shown(done)
    assert_the_overview_cites_what_bears_it(done)
    assert not any("恒远" in text for text in done.shown)
    if mode is ScriptedMode.CUT_OFF:  # such an answer is a failed call: nothing of it is judged
        assert {item["summary_by"] for item in done.items} == {"extract"}
        assert "summarise" in {fallback["phase"] for fallback in done.run["fallbacks"]}
    elif mode is not ScriptedMode.SWAPPING:
        assert count_dropped(done) > 0
    if mode in (ScriptedMode.NEGATING, ScriptedMode.SWAPPING):
        assert done.run["usage"]["by_phase"]["verify"]["calls"] > 0


async def test_a_title_that_says_its_type_outweighs_a_model_that_calls_everything_personnel(ministry: Any) -> None:
    done = await collect(ministry, ScriptedMode.MISTYPING)
    assert_nothing_lost_but_sentences(ministry, done)
    assert_every_verdict_is_shown(done)
    assert {item["summary_by"] for item in done.items} == {"model"}
    clear = {
        item["title"]: (item["type"], kind)
        for item in done.items
        for kind, words in CLEAR_TITLES.items()
        if re.search(words, item["title"]) and not re.search("任免|拟聘", item["title"])
    }
    assert len(clear) >= 15
    assert {title: pair for title, pair in clear.items() if pair[0] != pair[1]} == {}
    assert "人事" in {item["type"] for item in done.items if item["title"] not in clear}
