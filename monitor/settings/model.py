"""What can be set, with defaults, limits and one line of explanation each (contracts, section 7).

Each setting's description is its line of comment in the file that `monitor init` writes and its row in the
documentation, so it is written here once.
"""

import os
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

from pydantic import Field, PositiveInt, field_validator
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from monitor.settings.group import Group
from monitor.settings.group import setting
from monitor.settings.retrieval import RetrievalSettings
from monitor.settings.search import SearchSettings, from_variables
from monitor.settings.targets import TargetSettings

ENV_PREFIX = "MONITOR_"


class Price(Group):
    input: float = setting(0.0, "per million prompt tokens", ge=0)
    output: float = setting(0.0, "per million completion tokens", ge=0)


class LlmSettings(Group):
    """The language model: any server that speaks the chat-completions protocol."""

    enabled: Literal["auto"] | bool = setting(
        "auto", "auto = on when a key or a base_url is there; true; false = work by rule"
    )
    base_url: str | None = setting(None, "the endpoint, as https://host/v1; null = the client's own default")
    api_key_env: str = setting("OPENAI_API_KEY", "the environment variable that holds the key")
    model: str = setting("gpt-5", "the model that is asked")
    models: dict[str, str] = setting(
        {}, "another model for one phase: navigate, crawl, summarise, rank, plan, search, modeling, report"
    )
    temperature: float = setting(0.3, "sampling temperature", ge=0, le=2)
    top_p: float = setting(0.85, "nucleus sampling", gt=0, le=1)
    timeout_s: float = setting(120, "longest wait for one answer", gt=0)
    max_retries: int = setting(3, "tries again after an error that may pass", ge=0, le=10)
    max_concurrency: int = setting(3, "calls under way at once", ge=1)
    daily_token_budget: int | None = setting(None, "tokens a day, over all runs; null = no limit", ge=0)
    run_token_budget: int | None = setting(None, "tokens for one run; null = no limit", ge=0)
    prices: dict[str, Price] = setting({}, "money per million tokens by model, as {gpt-5: {input: 1.25, output: 10}}")

    @property
    def api_key(self) -> str | None:
        """The key, if there is any."""
        return self.secret_in(self.api_key_env)

    @property
    def is_on(self) -> bool:
        """Whether phases ask a model at all."""
        if self.enabled == "auto":
            return bool(self.base_url or self.api_key)
        return self.enabled


class BrowserSettings(Group):
    path: Path | None = setting(None, "the Chromium to start; null = look for one")
    endpoint: str | None = setting(None, "a browser that runs elsewhere, as ws://host:port (CDP)")
    recycle_after: int = setting(200, "drawn pages after which the browser is started anew", ge=1)


class PagesSettings(Group):
    render: Literal["auto", "always", "never"] = setting("auto", "draw pages in the browser: auto, always, never")
    max_concurrency: int = setting(4, "pages drawn at once", ge=1)
    delay_s: float = setting(1.0, "pause between two requests to one host", ge=0)
    timeout_s: float = setting(30, "longest wait for one page", gt=0)
    max_bytes: int = setting(10_485_760, "largest page or document that is read", ge=1024)
    respect_robots: bool = setting(True, "obey robots.txt")
    browser: BrowserSettings = Field(default_factory=BrowserSettings, description="the browser")


class NetworkSettings(Group):
    """The way out; shared by pages, search and fetch."""

    proxy: str | None = setting(None, "http(s) or socks proxy for everything that goes out")
    user_agent: str | None = setting(None, "null = Monitor's own")
    timeout_s: float = setting(30, "longest wait for one request", gt=0)
    ca_bundle: Path | None = setting(None, "certificates of your organisation, in addition to the system's")
    allow_legacy_tls: bool = setting(False, "accept servers with TLS 1.0/1.1 and old ciphers")
    allowed_private_hosts: list[str] = setting(
        [], 'private hosts that may be asked, as ["127.0.0.1:8099"]; all others are refused'
    )


class SweepSettings(Group):
    """One source, once: the limits of the four phases."""

    crawl: Literal["agent", "rule"] = setting("agent", "read sections with the model's agent, or always by rule")
    max_turns: int = setting(15, "model calls for one section", ge=1)
    general_max_turns: int = setting(50, "model calls for the general agent", ge=1)
    max_items: int = setting(20, "items saved from one section in one run", ge=1)
    window_days: int = setting(7, "calendar days looked at, today included", ge=1)
    summary_concurrency: int = setting(3, "summaries written at once", ge=1)
    summary_max_chars: int = setting(6000, "characters of a text that a summary is made from", ge=200)
    context_max_chars: int = setting(20000, "largest context of a section agent", ge=4000)
    page_max_chars: int = setting(15000, "largest text form of a page", ge=2000)
    max_pages_per_section: int = setting(5, "list pages read in one section", ge=1)
    revisit_days: list[PositiveInt] = setting(
        [1, 3, 7, 30, 90], "days after which an item's page is looked at again; [] = never"
    )


class ResearchSettings(Group):
    max_paragraphs: int = setting(5, "paragraphs of a report", ge=1)
    max_reflections: int = setting(2, "rounds of further search for a paragraph", ge=0)
    max_results: int = setting(20, "results of one search", ge=1)
    content_max_chars: int = setting(20000, "characters of one result that are read", ge=200)
    concurrency: int = setting(3, "paragraphs under way at once", ge=1)
    token_budget: int | None = setting(None, "tokens for one research; null = no limit", ge=0)
    cost_budget: float | None = setting(None, "money for one research, by llm.prices; null = no limit", ge=0)


class WebSettings(Group):
    host: str = setting("127.0.0.1", "the address to listen on")
    port: int = setting(8000, "the port to listen on", ge=1, le=65535)
    public_url: str | None = setting(None, "the address that readers type, for links in briefings")


class WorkSettings(Group):
    executor_id: str | None = setting(None, "a stable name of this process; null = made from the host's name")
    scheduler: bool = setting(True, "run what is due")
    concurrency: int = setting(16, "runs under way at once in one worker", ge=1)
    max_runs: int | None = setting(None, "runs under way at once in all workers together; null = no limit", ge=1)
    jitter_s: int = setting(0, "spread the starts of runs that are due at once over so many seconds", ge=0)
    blackout: str | None = setting(None, "hours in which no planned run starts, as 23:00-06:00; they start after it")
    misfire_grace_s: int = setting(3600, "how late a planned run may still start", ge=1)
    retention_days: int = setting(400, "how long texts and records are kept; known urls are kept for ever", ge=1)


class BriefingSettings(Group):
    template: Path | None = setting(None, "the firm's Word file that a docx is made from; null = Monitor's look")


class DeliverSettings(Group):
    targets: list[TargetSettings] = setting([], "the delivery targets, as docs/administrators/delivery.md tells")

    @field_validator("targets")
    @classmethod
    def _have_names_of_their_own(cls, targets: list[TargetSettings]) -> list[TargetSettings]:
        names = [target.name for target in targets]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two targets are named {name}; give each its own name")
        return targets


class Settings(BaseSettings):
    """All of it. Relative paths are relative to the folder of the configuration file."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, env_nested_delimiter="__", extra="forbid")

    timezone: str = setting("Asia/Shanghai", "the time zone of dates and schedules where a source names none")
    data_dir: Path = setting(Path("data"), "database, evidence, bundles and reports")
    storage_url: str | None = setting(None, "where evidence and documents go, as an fsspec url; null = under data_dir")
    database_url: str = setting("sqlite:///data/monitor.db", "SQLite, or postgresql://user:password@host/name")
    llm: LlmSettings = Field(default_factory=LlmSettings, description="the language model")
    pages: PagesSettings = Field(default_factory=PagesSettings, description="how pages are loaded")
    network: NetworkSettings = Field(default_factory=NetworkSettings, description="the way out")
    sweep: SweepSettings = Field(default_factory=SweepSettings, description="limits of a sweep")
    search: SearchSettings = Field(default_factory=SearchSettings, description="web.search")
    retrieval: RetrievalSettings = Field(
        default_factory=RetrievalSettings, description="what search results are scored by"
    )
    research: ResearchSettings = Field(default_factory=ResearchSettings, description="the research workflow")
    web: WebSettings = Field(default_factory=WebSettings, description="the web pages")
    work: WorkSettings = Field(default_factory=WorkSettings, description="when and where things run")
    briefing: BriefingSettings = Field(default_factory=BriefingSettings, description="what briefings look like")
    deliver: DeliverSettings = Field(default_factory=DeliverSettings, description="where briefings go")
    sources: list[dict[str, Any]] = setting([], "sources to start with; each is created once")

    @field_validator("timezone")
    @classmethod
    def _is_timezone(cls, timezone: str) -> str:
        try:
            ZoneInfo(timezone)
        except (KeyError, ValueError, OSError):
            raise ValueError("it is no time zone; write one as Asia/Shanghai or Europe/Berlin") from None
        return timezone

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 -- the signature is pydantic's
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment stands before the file, whose values arrive as init arguments; our own names come first."""
        shared_variables = InitSettingsSource(settings_cls, from_variables(os.environ))
        return env_settings, shared_variables, init_settings

    def adopt(self, other: "Settings") -> None:
        """Become what the other one is, group by group.

        Groups are values and are never changed: who holds this object sees what holds now, who holds a group, as a run
        does, goes on with what held when it was taken.
        """
        for name in type(self).model_fields:
            setattr(self, name, getattr(other, name))
