"""The settings of the language model: any server that speaks the chat-completions protocol."""

import os
import re
from typing import Any, Literal

from pydantic import Field, JsonValue, field_validator
from pydantic_core import PydanticCustomError

from monitor.config.group import SettingsGroup, setting
from monitor.config.secrets import get_host
from monitor.errors import SettingsError
from monitor.i18n.message import Message

_OPENAI_BASE_URL = "https://api.openai.com/v1"
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_TEXT = re.compile(r"[\x20-\x7e]*")
_OWN_HEADERS = frozenset(
    {"host", "content-length", "content-type", "transfer-encoding", "connection", "accept-encoding"}
)
_OWN_FIELDS = frozenset({"model", "messages", "tools", "stream", "n"})

ProviderName = Literal[
    "auto",
    "openai",
    "azure",
    "anthropic",
    "gemini",
    "deepseek",
    "dashscope",
    "moonshot",
    "zhipu",
    "volcengine",
    "siliconflow",
    "openrouter",
    "ollama",
    "vllm",
    "litellm",
    "generic",
]


class Price(SettingsGroup):
    input: float = setting(0.0, "per million prompt tokens", ge=0)
    output: float = setting(0.0, "per million completion tokens", ge=0)


class EmbeddingSettings(SettingsGroup):
    """The model that turns texts into vectors, by which the archive is searched for what a query means."""

    model: str | None = setting(None, "the embedding model; null = search by words alone", min_length=1)
    base_url: str | None = setting(None, "its endpoint, as https://host/v1; null = llm.base_url")
    api_key_env: str | None = setting(None, "the environment variable that holds its key; null = llm.api_key_env")
    dimensions: int | None = setting(None, "length of its vectors; null = the model's own", ge=32, le=8192)
    batch_size: int | None = setting(None, "texts of one request; null = as many as the provider takes", ge=1, le=2048)


class LlmSettings(SettingsGroup):
    """The language model.

    `extra_headers` may hold keys: they go only to the host that file or environment name, and no page shows them.
    """

    enabled: Literal["auto"] | bool = setting(
        "auto", "auto = on when a key or a base_url is there; true; false = work by rule"
    )
    base_url: str | None = setting(None, "the endpoint, as https://host/v1; null = the client's own default")
    provider: ProviderName = setting(
        "auto", "whose rules requests follow: auto = told by the address; else a name of docs/administrators/models.md"
    )
    api_key_env: str = setting("OPENAI_API_KEY", "the environment variable that holds the key")
    model: str = setting("gpt-5", "the model that is asked")
    models: dict[str, str] = setting(
        {}, "another model for one phase: navigate, crawl, summarise, rank, verify, plan, search, modeling, report"
    )
    temperature: float = setting(0.3, "sampling temperature", ge=0, le=2)
    top_p: float = setting(0.85, "nucleus sampling", gt=0, le=1)
    thinking: Literal["auto", "on", "off"] = setting(
        "auto", "whether the model thinks before it answers, where that can be switched; auto = as it does by itself"
    )
    reasoning_effort: str | None = setting(
        None, "how much it thinks, as low, medium, high; null = not said", min_length=1, max_length=20
    )
    max_tokens: int | None = setting(None, "longest answer, thoughts included; null = not said", ge=16)
    context_tokens: int | None = setting(None, "prompt and answer together; null = asked or learned", ge=1024)
    structured_output: Literal["auto", "json_schema", "json_object", "none"] = setting(
        "auto", "how JSON is asked for: auto = as the provider documents; json_schema, json_object, none = in words"
    )
    api_version: str | None = setting(None, "api-version of the address, as Azure wants it", pattern=r"^[\w.-]+$")
    extra_body: dict[str, JsonValue] = setting({}, "fields for the body of every request, as {top_k: 20}")
    extra_headers: dict[str, str] = setting({}, "headers for every request, as {X-Project: press}; $NAME = a variable")
    timeout_s: float = setting(120, "longest wait for one answer", gt=0)
    max_retries: int = setting(3, "tries again after an error that may pass", ge=0, le=10)
    max_concurrency: int = setting(3, "calls under way at once", ge=1)
    daily_token_budget: int | None = setting(None, "tokens a day, over all runs; null = no limit", ge=0)
    run_token_budget: int | None = setting(None, "tokens for one run; null = no limit", ge=0)
    prices: dict[str, Price] = setting({}, "money per million tokens by model, as {gpt-5: {input: 1.25, output: 10}}")

    embeddings: EmbeddingSettings = Field(default_factory=EmbeddingSettings, description="vectors: search by meaning")

    @field_validator("thinking", mode="before")
    @classmethod
    def _read_switch(cls, thinking: Any) -> Any:
        """YAML reads `on` and `off` as truth values."""
        return {True: "on", False: "off"}.get(thinking, thinking) if isinstance(thinking, bool) else thinking

    @field_validator("extra_body")
    @classmethod
    def _check_body(cls, extra_body: dict[str, JsonValue]) -> dict[str, JsonValue]:
        for name in extra_body:
            if name in _OWN_FIELDS:
                raise PydanticCustomError("config.own_field", "", {"name": name})
        return extra_body

    @field_validator("extra_headers")
    @classmethod
    def _check_headers(cls, extra_headers: dict[str, str]) -> dict[str, str]:
        for name, text in extra_headers.items():
            if not _HEADER_NAME.fullmatch(name) or not _HEADER_TEXT.fullmatch(text) or name.lower() in _OWN_HEADERS:
                raise PydanticCustomError("config.own_header", "", {"name": name[:60]})
        return extra_headers

    @property
    def headers_for_host(self) -> dict[str, str]:
        """The extra headers with their variables filled in; none for a host that file and environment do not name."""
        if not self.is_host_of_environment:
            return {}
        return {name: os.path.expandvars(text).strip() for name, text in self.extra_headers.items()}

    def for_embeddings(self) -> "LlmSettings":
        """Return the settings of the embedding model's endpoint; extra headers are for that of `llm.base_url` alone."""
        own = self.embeddings
        changes: dict[str, Any] = {"model": own.model or "", "models": {}}
        if own.base_url is not None:
            changes |= {"base_url": own.base_url, "provider": "auto", "api_version": None, "extra_headers": {}}
        if own.api_key_env is not None:
            changes["api_key_env"] = own.api_key_env
        return self.model_copy(update=changes)

    @property
    def address(self) -> str:
        return self.base_url or os.environ.get("OPENAI_BASE_URL") or _OPENAI_BASE_URL

    @property
    def host(self) -> str | None:
        """The host that the key is bound to."""
        return get_host(self.address)

    @property
    def is_host_of_environment(self) -> bool:
        """Whether file or environment name this host, so that what the environment holds for it may go there."""
        hosts = self.secrets.environment
        return hosts is None or self.host in hosts.get(self.api_key_env, ())

    @property
    def api_key(self) -> str | None:
        """The key for the host of the endpoint; a key for another host is none."""
        return self.secrets.get(self.api_key_env, self.host)

    def describe_key_problem(self) -> Message | None:
        """Why a key that is there does not go to the endpoint; None where it does, or where there is none."""
        return self.secrets.describe_problem(self.api_key_env, self.host)

    @property
    def is_on(self) -> bool:
        """Whether phases ask a model at all."""
        if self.enabled == "auto":
            return bool(self.base_url or self.api_key)
        return self.enabled

    def check_endpoint(self) -> None:
        """Raise `SettingsError` for an address, a key or a header that no server can have."""
        is_web = self.base_url is None or self.base_url.startswith(("http://", "https://"))
        if not is_web or self.host is None:
            raise SettingsError("llm.address_invalid", url=self.base_url)
        if not (self.api_key or "").isascii():
            raise SettingsError("llm.key_invalid", variable=self.api_key_env)
        for name, text in self.headers_for_host.items():
            if not _HEADER_TEXT.fullmatch(text):
                raise SettingsError("llm.header_invalid", name=name)
