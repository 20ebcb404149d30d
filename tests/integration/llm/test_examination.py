"""What `monitor doctor` and the Settings page say of a model beforehand, at servers that enforce their rules."""

from dataclasses import replace
from typing import Any

import pytest

from monitor.config.llm import LlmSettings
from monitor.config.model import Settings
from monitor.llm.client import ModelClient
from monitor.llm.examination import ModelTrial, examine_models
from monitor.services.doctor import check_model
from tests.conftest import name_services
from tests.providers import rules as rule_sets
from tests.providers.rules import MAIN_RULES, ProviderRules
from tests.providers.server import API_KEY, ProviderServer


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROVIDER_KEY", API_KEY)


async def examine(rules: ProviderRules, mode: str = "good", **llm: Any) -> tuple[ModelTrial, ProviderServer]:
    server = ProviderServer(rules, mode=mode)
    known = {"api_version": rules.query.partition("=")[2]} if rules.query else {}
    async with server.serve() as url:
        values = {"provider": rules.provider, "model": rules.model, "api_key_env": "PROVIDER_KEY", **known, **llm}
        client = ModelClient(LlmSettings(base_url=url, **values), name_services(url))
        try:
            (trial,) = await examine_models(client)
        finally:
            await client.close()
    return trial, server


def codes_of(trial: ModelTrial) -> list[str]:
    return [finding.code for finding in trial.findings]


@pytest.mark.parametrize("rules", MAIN_RULES, ids=lambda rules: rules.provider)
async def test_every_provider_passes_words_json_and_a_tool_call_with_its_second_turn(rules: ProviderRules) -> None:
    trial, server = await examine(rules)
    assert (trial.complaint, trial.goes_by_rule) == (None, False)
    codes = codes_of(trial)
    assert {"llm.trial.answered", "llm.trial.json"} <= set(codes)
    assert {"llm.trial.tools", "llm.trial.textual_tools"} & set(codes)
    assert server.problems == []


@pytest.mark.parametrize(
    "rules", [rule_sets.VLLM_WITHOUT_PARSER, rule_sets.OLLAMA_WITHOUT_TOOLS], ids=lambda rules: rules.provider
)
async def test_a_server_without_tools_is_said_to_read_sections_by_text(rules: ProviderRules) -> None:
    trial, _ = await examine(rules)
    assert "llm.trial.textual_tools" in codes_of(trial)
    assert trial.verdict is not None
    assert trial.verdict.code in ("llm.verdict.slow_sections", "llm.verdict.short_context")


async def test_the_short_context_of_ollama_is_said() -> None:
    trial, _ = await examine(rule_sets.OLLAMA)
    assert [finding.args["tokens"] for finding in trial.findings if finding.code == "llm.trial.context"] == [4096]
    assert trial.verdict is not None
    assert trial.verdict.code == "llm.verdict.short_context"


async def test_a_server_that_cuts_in_silence_is_found_out_by_a_long_prompt() -> None:
    trial, server = await examine(replace(rule_sets.GENERIC, cuts_at_tokens=4096))
    assert server.cut_prompts == 1
    assert "llm.trial.context_cut" in codes_of(trial)


async def test_a_model_that_answers_nothing_goes_by_rule() -> None:
    trial, _ = await examine(rule_sets.GENERIC, mode="empty")
    assert trial.goes_by_rule
    assert trial.verdict is not None
    assert trial.verdict.code == "llm.verdict.nothing"


async def test_thinking_and_the_price_of_a_sweep_are_said() -> None:
    trial, _ = await examine(rule_sets.DEEPSEEK, thinking="on", prices={rule_sets.DEEPSEEK.model: {"input": 2}})
    assert "llm.trial.thinks" in codes_of(trial)
    (cost,) = [finding.args["cost"] for finding in trial.findings if finding.code == "llm.trial.cost"]
    assert cost == "0.110"
    trial, _ = await examine(rule_sets.DEEPSEEK, thinking="off")
    assert "llm.trial.thinks_not" in codes_of(trial)


async def test_doctor_warns_of_what_goes_by_rule() -> None:
    async with ProviderServer(rule_sets.GENERIC, mode="empty").serve() as url:
        found: Any = await check_model(
            Settings(
                llm=LlmSettings(base_url=url, model=rule_sets.GENERIC.model, api_key_env="PROVIDER_KEY"),
                network={"allowed_private_hosts": [url.split("/")[2]]},
            )
        )
    assert (found.check, found.level) == ("model", "warn")
