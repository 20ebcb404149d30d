"""The profiles of providers and the table of models: complete, found by address, and each with its source."""

import datetime as dt
import re
from itertools import combinations
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from monitor.llm.providers.model_table import ModelInfo, find_model, list_models
from monitor.llm.providers.profile import Behaviour, ProviderProfile, Thinking
from monitor.llm.providers.registry import PROVIDERS, find_provider, get_provider, recognise_answer

DOCS = Path(__file__).parents[3] / "docs"
RULES = DOCS / "developers" / "provider-rules.md"
PAGES = ("models-providers.md", "models-providers.zh.md")
NAMES = (
    *("openai", "azure", "anthropic", "gemini", "deepseek", "dashscope", "moonshot", "zhipu", "volcengine"),
    *("siliconflow", "openrouter", "ollama", "vllm", "litellm", "generic"),
)
ALL_MODELS = [info for name in NAMES for info in list_models(name)]


def list_behaviours(profile: ProviderProfile) -> list[Behaviour]:
    return [profile.default, *(behaviour for _, behaviour in profile.behaviours)]


def test_the_registry_has_all_providers_by_their_names() -> None:
    assert tuple(PROVIDERS) == NAMES
    assert all(get_provider(name).name == name for name in NAMES)


@pytest.mark.parametrize("profile", PROVIDERS.values(), ids=list(PROVIDERS))
def test_a_profile_is_complete(profile: ProviderProfile) -> None:
    assert profile.title
    assert profile.base_url or profile.name == "generic"
    assert profile.api_key_env or profile.is_local
    assert profile.documents or profile.name == "generic"
    assert profile.hosts or profile.is_local or profile.name == "generic"
    for pattern, _ in profile.behaviours:
        re.compile(pattern)


@pytest.mark.parametrize("profile", PROVIDERS.values(), ids=list(PROVIDERS))
def test_what_is_said_of_thinking_agrees(profile: ProviderProfile) -> None:
    for behaviour in list_behaviours(profile):
        if behaviour.thinking is Thinking.SWITCHED:
            assert behaviour.thinking_on, "a model that can be switched needs the fields that switch it"
        else:
            assert not behaviour.thinking_off, "what cannot be switched has no fields that switch it off"
            assert not behaviour.thinks_unasked
        if behaviour.thinking is Thinking.NEVER:
            assert not behaviour.streams_thinking
        if behaviour.thinks_unasked and not behaviour.calls_tools_thinking:
            assert behaviour.thinking_off, "thinking must be switched off for tools"
        assert not behaviour.returned_fields & behaviour.withheld_fields


def test_no_two_profiles_claim_one_host() -> None:
    for first, second in combinations(PROVIDERS.values(), 2):
        for host in first.hosts:
            assert not any(host == other or host.endswith(f".{other}") for other in second.hosts), host
            assert not any(other.endswith(f".{host}") for other in second.hosts), host


@pytest.mark.parametrize(
    "profile",
    [profile for profile in PROVIDERS.values() if profile.hosts and not profile.is_local],
    ids=lambda profile: profile.name,
)
def test_a_provider_is_found_by_its_own_address(profile: ProviderProfile) -> None:
    assert find_provider((profile.base_url or "").replace("{resource}", "press")) is profile


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://press.openai.azure.com/openai/deployments/mini/", "azure"),
        ("https://press.services.ai.azure.com/openai/v1/", "azure"),
        ("https://api.moonshot.ai/v1", "moonshot"),
        ("https://api.z.ai/api/paas/v4/", "zhipu"),
        ("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "dashscope"),
        ("https://API.DeepSeek.com", "deepseek"),
        ("http://10.1.2.3:11434/v1", "ollama"),
        ("http://localhost:8000/v1", "generic"),
        ("https://api.deepseek.com.example.org/v1", "generic"),
        ("https://notapi.deepseek.com.evil/v1", "generic"),
        ("http://[::1/v1", "generic"),
        (None, "generic"),
    ],
)
def test_an_address_belongs_to_one_provider(address: str | None, name: str) -> None:
    assert find_provider(address).name == name


def test_a_server_gives_itself_away_by_its_answer() -> None:
    litellm = recognise_answer(["Content-Type", "X-LiteLLM-Call-Id"], None)
    ollama = recognise_answer([], "fp_ollama")
    assert (litellm and litellm.name, ollama and ollama.name) == ("litellm", "ollama")
    assert recognise_answer(["x-request-id"], "fp_44709d6fcb") is None


@pytest.mark.parametrize(
    ("provider", "model", "thinking"),
    [
        ("openai", "gpt-5-mini-2025-08-07", Thinking.ALWAYS),
        ("openai", "gpt-5.6-luna", Thinking.SWITCHED),
        ("openai", "gpt-6-astra", Thinking.ALWAYS),
        ("openai", "gpt-4o", Thinking.NEVER),
        ("anthropic", "claude-sonnet-5-5", Thinking.ALWAYS),
        ("anthropic", "claude-haiku-4-5-20251001", Thinking.SWITCHED),
        ("gemini", "gemini-3.8-flash", Thinking.ALWAYS),
        ("gemini", "models/gemini-2.5-flash", Thinking.SWITCHED),
        ("deepseek", "deepseek-chat", Thinking.SWITCHED),
        ("dashscope", "qwen3-32b", Thinking.SWITCHED),
        ("dashscope", "qwen3-235b-a22b-thinking-2507", Thinking.ALWAYS),
        ("dashscope", "qwen3-235b-a22b-instruct-2507", Thinking.NEVER),
        ("moonshot", "kimi-k2-thinking", Thinking.ALWAYS),
        ("moonshot", "kimi-k2.6", Thinking.SWITCHED),
        ("zhipu", "glm-5.3-flash", Thinking.ALWAYS),
        ("zhipu", "glm-5.2", Thinking.SWITCHED),
        ("siliconflow", "Qwen/Qwen3-32B", Thinking.SWITCHED),
        ("siliconflow", "Qwen/Qwen3-Coder-30B-A3B-Instruct", Thinking.UNKNOWN),
        ("volcengine", "doubao-seed-1-6-thinking-250615", Thinking.ALWAYS),
        ("vllm", "Qwen/Qwen3-8B", Thinking.SWITCHED),
    ],
)
def test_a_model_behaves_by_its_name(provider: str, model: str, thinking: Thinking) -> None:
    assert get_provider(provider).get_behaviour(model).thinking is thinking


@pytest.mark.parametrize("info", ALL_MODELS, ids=lambda info: f"{info.provider}-{info.name}")
def test_a_row_of_the_table_is_dated_and_has_both_prices_or_none(info: ModelInfo) -> None:
    assert info.as_of <= dt.date(2026, 11, 24)
    assert (info.input_price is None) == (info.output_price is None) == (info.currency is None)
    behaviour = get_provider(info.provider).get_behaviour(info.name)
    assert behaviour.thinking is info.thinking, "the table and the profile differ"


def test_each_provider_of_the_table_is_one_and_suggests_a_model() -> None:
    for name in NAMES:
        rows = list_models(name)
        assert len({row.name for row in rows}) == len(rows)
        if PROVIDERS[name].hosts and not PROVIDERS[name].is_local:
            assert any(row.suggested_for for row in rows), name


@pytest.mark.parametrize(
    ("provider", "model", "found"),
    [
        ("openai", "gpt-5-mini-2025-08-07", "gpt-5-mini"),
        ("volcengine", "doubao-seed-2-0-mini-260428", "doubao-seed-2-0-mini"),
        ("anthropic", "claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("ollama", "qwen3:8b", "qwen3"),
        ("ollama", "gpt-oss:20b", "gpt-oss:20b"),
        ("openrouter", "deepseek/deepseek-v4.1-flash:free", "deepseek/deepseek-v4.1-flash"),
        ("siliconflow", "qwen/qwen3-32b", "Qwen/Qwen3-32B"),
        ("openai", "gpt-5-pro", None),
        ("generic", "gpt-5", None),
    ],
)
def test_a_model_is_found_by_a_dated_name(provider: str, model: str, found: str | None) -> None:
    info = find_model(provider, model)
    assert (info and info.name) == found


@pytest.mark.parametrize("name", NAMES)
def test_the_rules_of_each_provider_are_written_down_with_a_source(name: str) -> None:
    text = RULES.read_text("utf-8")
    section = re.search(rf"^## {name}\b.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert section is not None, f"docs/developers/provider-rules.md has no section {name}"
    links = re.findall(r"\(?(https?://[^)\s>]+)", section[0])
    assert name == "generic" or any(urlsplit(link).hostname for link in links), name


@pytest.mark.parametrize("page", PAGES)
def test_the_page_of_providers_shows_the_models_that_are_suggested_with_their_prices(page: str) -> None:
    text = (DOCS / "administrators" / page).read_text("utf-8")
    for info in ALL_MODELS:
        if info.suggested_for and info.provider not in ("azure", "ollama", "vllm") and info.name != "gpt-5-mini":
            sign = {"USD": "$", "CNY": "¥"}[info.currency or ""]
            shown = re.search(rf"`{re.escape(info.name)}` \| (\S+) / (\S+) \|", text)
            assert shown is not None, f"{page} does not show {info.name}"
            prices = [float(price.removeprefix(sign)) for price in shown.groups()]
            assert prices == pytest.approx([info.input_price, info.output_price], rel=0.02), info.name


@pytest.mark.parametrize("page", ["models.md", "models.zh.md"])
def test_the_page_of_models_names_each_provider_and_its_key(page: str) -> None:
    text = (DOCS / "administrators" / page).read_text("utf-8")
    for profile in PROVIDERS.values():
        assert f"`{profile.name}`" in text
        assert profile.is_local or f"`{profile.api_key_env}`" in text
