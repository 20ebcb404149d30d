"""One contract for all providers: a sweep and a research lose no phase at a server that enforces its own rules."""

import datetime as dt
import io
import logging
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from monitor.bootstrap import open_app
from monitor.config.model import Settings
from monitor.demo.site import SampleSite
from monitor.isolation.pool import WorkerPool
from monitor.llm.providers.profile import StructuredOutput, Thinking
from monitor.llm.providers.registry import get_provider
from monitor.logs import configure_logging
from monitor.research.shapes import ResearchOptions, SearchConfig
from monitor.services.audit import COMMAND_LINE
from monitor.vocabulary import SWEEP_PHASES, Phase
from tests.integration.llm.provider_site import write_small_site
from tests.providers import rules as rule_sets
from tests.providers.exchange import Exchange
from tests.providers.rules import MAIN_RULES, ProviderRules
from tests.providers.server import API_KEY, ProviderServer

QUESTION = "绿色电力证书和可再生能源消纳的政策有哪些新变化？"
RESEARCH_PHASES = {Phase.PLAN, Phase.SEARCH, Phase.MODELING, Phase.REPORT}
LEARNS = {"litellm": 2}
"""How often a server may refuse before the program knows it, where nothing says beforehand what is behind it."""


@dataclass
class Outcome:
    """What a sweep and a research with one server came to."""

    server: ProviderServer
    run: Any
    research: dict[str, Any] | None = None

    @property
    def phases(self) -> set[Phase]:
        return {Phase(phase) for phase, usage in self.run.usage.by_phase.items() if usage.calls}

    @property
    def research_phases(self) -> set[Phase]:
        assert self.research is not None
        return {Phase(phase) for phase, usage in self.research["usage"]["byPhase"].items() if usage["calls"]}

    def assert_whole(self) -> None:
        """Every phase of the sweep was the model's, and the section's agent went through its pages with tools."""
        assert [(fallback.phase, fallback.reason) for fallback in self.run.fallbacks] == []
        assert self.run.status == "succeeded"
        assert self.run.items
        assert {(item.by, item.summary_by) for item in self.run.items} == {("agent", "model")}
        assert set(SWEEP_PHASES) <= self.phases
        assert self.server.problems == []

    def assert_researched(self) -> None:
        assert self.research is not None
        assert (self.research["status"], self.research["error"]) == ("succeeded", None)
        assert self.research_phases >= RESEARCH_PHASES
        assert self.research["report"]["markdown"]


@dataclass
class Bench:
    """A corner of the sample ministry, and the program that sweeps it with a model behind any server."""

    folder: Path
    template: Path
    workers: WorkerPool
    site: SampleSite
    url: str
    _numbers: Any = field(default_factory=count)

    async def work(
        self, rules: ProviderRules, *, provider: str | None = None, research: bool = False, **llm: Any
    ) -> Outcome:
        server = ProviderServer(rules)
        settings = self.write_settings(rules, provider, llm)
        async with server.serve() as base_url, self.open(settings, base_url) as app:
            outcome = Outcome(server, await self.sweep(app))
            if research:
                task_id = await app.research.run_in_process(
                    QUESTION, config=SearchConfig(), options=ResearchOptions(), by=COMMAND_LINE, on_event=_ignore
                )
                outcome.research = (await app.research.get(task_id, by=COMMAND_LINE)).to_json()
        return outcome

    async def sweep(self, app: Any) -> Any:
        since = self.site.today - dt.timedelta(days=90)
        return await app.sweeps.sweep(await app.sources.get("ministry"), since=since, by=COMMAND_LINE)

    def write_settings(self, rules: ProviderRules, provider: str | None, llm: dict[str, Any]) -> dict[str, Any]:
        folder = self.folder / str(next(self._numbers))
        folder.mkdir()
        known = {"api_version": rules.query.partition("=")[2]} if rules.query else {}
        focus_areas = [area["name"] for area in self.site.focus_areas]
        return {
            "data_dir": folder,
            "database_url": f"sqlite:///{shutil.copy(self.template, folder)}",
            "pages": {"delay_s": 0, "render": "never"},
            "network": {"allowed_private_hosts": [urlsplit(self.url).netloc]},
            "research": {"max_paragraphs": 1, "max_reflections": 1},
            "sources": [{"name": "ministry", "url": self.url, "focus_areas": focus_areas}],
            "llm": {
                "provider": provider or rules.provider,
                "model": rules.model,
                "api_key_env": "PROVIDER_KEY",
                "max_retries": 0,
                **known,
                **llm,
            },
        }

    @asynccontextmanager
    async def open(self, settings: dict[str, Any], base_url: str) -> AsyncIterator[Any]:
        """The program with workers that other tests have used."""
        async with open_app(Settings(**{**settings, "llm": {**settings["llm"], "base_url": base_url}})) as app:
            yield app


def _ignore(event: object) -> None:
    """Nobody listens to these researches."""


@pytest.fixture(scope="module")
def small_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_site(tmp_path_factory.mktemp("provider-site"))


@pytest.fixture
async def bench(
    small_site: Path, tmp_path: Path, sqlite_template: Path, workers: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Bench]:
    monkeypatch.setenv("PROVIDER_KEY", API_KEY)
    site = SampleSite(today=dt.datetime.now(dt.UTC).date(), folder=small_site)
    async with site.serve() as url:
        yield Bench(tmp_path, sqlite_template, workers, site, url)


def list_contracts() -> list[Any]:
    """Each provider with thinking on and off where its model has a switch, else as the model does by itself."""
    cases = []
    for rules in MAIN_RULES:
        behaviour = get_provider(rules.provider).get_behaviour(rules.model)
        switches = ("on", "off") if behaviour.thinking is Thinking.SWITCHED else ("auto",)
        cases += [pytest.param(rules, switch, id=f"{rules.provider}-{switch}") for switch in switches]
    return cases


@pytest.mark.parametrize(("rules", "thinking"), list_contracts())
async def test_a_sweep_and_a_research_lose_no_phase(rules: ProviderRules, thinking: str, bench: Bench) -> None:
    outcome = await bench.work(rules, thinking=thinking, research=True)
    outcome.assert_whole()
    turns = outcome.server.list_tool_turns()
    assert len(turns) >= 3
    assert max(turns) >= 2, "earlier turns go back to the server, fewer of them where its context is short"
    assert len(outcome.server.refusals) <= LEARNS.get(rules.provider, 0), outcome.server.words_of_refusals
    outcome.assert_researched()
    behaviour = get_provider(rules.provider).get_behaviour(rules.model)
    for body in outcome.server.requests:
        is_barred = bool(body.get("tools")) and not behaviour.calls_tools_thinking
        assert rules.thinks(body) is (rules.thinks({}) if thinking == "auto" else thinking == "on" and not is_barred)
    formats = {Exchange(body, {}).format for body in outcome.server.requests} - {None}
    if behaviour.structured is StructuredOutput.SCHEMA:
        assert "json_schema" in formats
        assert formats <= {"json_schema", "json_object"}, (
            "an object of a shape that no schema says is asked for plainly"
        )
    else:
        assert formats <= {str(behaviour.structured)}


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param(rule_sets.OPENAI_ALWAYS, id="openai-o-series"),
        pytest.param(rule_sets.AZURE_DEPLOYMENT, id="azure-with-a-version"),
        pytest.param(rule_sets.ANTHROPIC_BUDGET, id="anthropic-with-a-budget"),
        pytest.param(rule_sets.MOONSHOT_ALWAYS, id="kimi-k2-thinking"),
        pytest.param(rule_sets.ZHIPU_ALWAYS, id="glm-that-always-thinks"),
        pytest.param(rule_sets.VOLCENGINE_ALWAYS, id="doubao-that-always-thinks"),
        pytest.param(rule_sets.SILICONFLOW_PLAIN, id="siliconflow-without-a-switch"),
    ],
)
async def test_other_models_of_a_provider_have_rules_of_their_own(rules: ProviderRules, bench: Bench) -> None:
    outcome = await bench.work(rules, thinking="on" if rules is rule_sets.ANTHROPIC_BUDGET else "auto")
    outcome.assert_whole()
    assert outcome.server.words_of_refusals == []


async def test_what_a_server_refused_is_known_to_the_next_process(bench: Bench) -> None:
    rules = rule_sets.MOONSHOT_ALWAYS
    server, settings = ProviderServer(rules), bench.write_settings(rules, "auto", {})
    async with server.serve() as base_url:
        async with bench.open(settings, base_url) as app:
            Outcome(server, await bench.sweep(app)).assert_whole()
        refusals = len(server.refusals)
        for title in ("关于调整绿色电力证书核发规则的通知", "关于开展可再生能源消纳监测的通知"):
            bench.site.add_item("通知公告", title)
        async with bench.open(settings, base_url) as app:
            Outcome(server, await bench.sweep(app)).assert_whole()
    assert len(server.refusals) == refusals > 0


LEARNED = (
    (rule_sets.MOONSHOT_ALWAYS, "reasoning_content"),
    (rule_sets.DEEPSEEK, "reasoning_content"),
    (rule_sets.GEMINI, "Proto field"),
    (rule_sets.DASHSCOPE, "non-streaming"),
    (rule_sets.OPENAI_ALWAYS, "temperature"),
)


@pytest.mark.parametrize(
    ("rules", "word"), [pytest.param(rules, word, id=f"{rules.provider}-{word}") for rules, word in LEARNED]
)
async def test_what_no_profile_says_is_learned_from_refusals_and_costs_no_phase(
    rules: ProviderRules, word: str, bench: Bench
) -> None:
    """The address of the tests says nothing, so `auto` knows no more than of any server."""
    outcome = await bench.work(rules, provider="auto")
    outcome.assert_whole()
    assert len(outcome.server.refusals) <= 8, outcome.server.words_of_refusals


@pytest.mark.parametrize(
    ("rules", "provider"),
    [
        pytest.param(rule_sets.VLLM_WITHOUT_PARSER, "vllm", id="vllm-without-a-parser"),
        pytest.param(rule_sets.VLLM_WITHOUT_PARSER, "auto", id="vllm-without-a-parser-unknown"),
        pytest.param(rule_sets.OLLAMA_WITHOUT_TOOLS, "ollama", id="ollama-without-tools"),
        pytest.param(rule_sets.OPENAI_WITHOUT_TOOLS, "openai", id="openai-that-thinks-with-tools"),
    ],
)
async def test_a_model_that_cannot_call_tools_crawls_by_text(rules: ProviderRules, provider: str, bench: Bench) -> None:
    outcome = await bench.work(rules, provider=provider)
    outcome.assert_whole()
    assert all("tools" not in body for body in outcome.server.requests)
    assert len(outcome.server.refusals) <= 6, outcome.server.words_of_refusals


async def test_an_answer_that_thoughts_used_up_is_asked_for_again_with_room(bench: Bench) -> None:
    outcome = await bench.work(rule_sets.THINKS_TO_ITS_LIMIT)
    outcome.assert_whole()
    assert outcome.server.empty_answers <= 4
    assert any((body.get("max_tokens") or 0) > 1500 for body in outcome.server.requests)


async def test_prompts_are_made_to_fit_what_ollama_has_loaded_and_not_what_the_model_could_have(bench: Bench) -> None:
    publish_long_pages(bench)
    outcome = await bench.work(rule_sets.OLLAMA)
    outcome.assert_whole()
    assert outcome.server.cut_prompts == 0


async def test_a_server_that_cuts_prompts_in_silence_is_found_out_and_the_run_says_so(bench: Bench) -> None:
    publish_long_pages(bench)
    outcome = await bench.work(replace(rule_sets.GENERIC, cuts_at_tokens=2048))
    said = [fallback for fallback in outcome.run.fallbacks if fallback.reason.code == "llm.prompt_cut"]
    assert said == outcome.run.fallbacks
    assert {fallback.reason.args["tokens"] for fallback in said} == {2048}
    assert 1 <= outcome.server.cut_prompts <= 4, "once it is known where the server cuts, prompts are made to fit"
    assert {(item.by, item.summary_by) for item in outcome.run.items} == {("agent", "model")}


def publish_long_pages(bench: Bench) -> None:
    for number in range(6):
        text = "\n\n".join(write_long_text(30 + 30 * number))
        bench.site.add_item("通知公告", f"关于开展第{number + 1}批绿色电力证书核发工作的通知", body=text)


def write_long_text(paragraphs: int) -> list[str]:
    return [
        f"第{number}条　各单位应当在{number % 28 + 1}日前完成第{number}批绿色电力证书的核对，"
        f"核对数量不少于{number * 7}个，并将结果报送第{number % 9 + 1}工作组备案，逾期未报的按未完成处理。"
        for number in range(1, paragraphs + 1)
    ]


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What the service writes to its log at the default level."""
    root, ours = logging.getLogger(), logging.getLogger("monitor")
    before = (list(root.handlers), root.level, ours.level)
    stream = io.StringIO()
    configure_logging(stream=stream)
    yield stream
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    ours.setLevel(before[2])


async def test_no_key_prompt_or_answer_stands_in_the_log(bench: Bench, log: io.StringIO) -> None:
    server_words = "UnsupportedParamsError"
    outcome = await bench.work(rule_sets.LITELLM)
    outcome.assert_whole()
    assert any(server_words in words for words in outcome.server.words_of_refusals)
    logged = log.getvalue()
    prompt = str(outcome.server.requests[0]["messages"][0]["content"])
    titles = [item.title for item in outcome.run.items]
    assert [text for text in (API_KEY, server_words, prompt[:30], *titles) if text in logged] == []


async def test_the_key_is_never_in_a_refusal_that_people_read(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROVIDER_KEY", "a-wrong-key")
    outcome = await bench.work(rule_sets.AZURE)
    assert outcome.run.fallbacks
    assert "a-wrong-key" not in str(outcome.run)
