"""What can be set, with defaults, limits and one line of explanation each (contracts, section 7).

Each setting's description is its line of comment in the file that `monitor init` writes and its row in the
documentation, so it is written here once.
"""

import difflib
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, PositiveInt, PrivateAttr, field_validator, model_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from monitor.config.auth import AuthSettings
from monitor.config.export import ExportSettings
from monitor.config.group import SettingsGroup, check_time_zone, set_path, setting
from monitor.config.llm import LlmSettings
from monitor.config.networks import check_networks
from monitor.config.rsshub import RsshubSettings
from monitor.config.secrets import get_host
from monitor.config.targets import TargetSettings, parse_variable_entry
from monitor.i18n.message import Message
from monitor.logs import SyslogAddress

_DOMAIN = re.compile(r"[^\s/:@?#.]+(\.[^\s/:@?#.]+)*")
_HEADER_TEXT = re.compile(r"[\x20-\x7e]*")
_CONTACT_URL = re.compile(r"(?:https?://|mailto:)[!-'*-:<-~]{3,200}")  # nothing that would end the comment of a header


class WeightSettings(SettingsGroup):
    """How much each score of a search result counts; only their relation to each other matters."""

    relevance: float = setting(0.6, "fit with the query", ge=0, allow_inf_nan=False)
    freshness: float = setting(0.2, "age", ge=0, allow_inf_nan=False)
    authority: float = setting(0.2, "who publishes it", ge=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _check_positive_sum(self) -> Self:
        if not self.relevance + self.freshness + self.authority:
            raise ValueError("config.no_weight")
        return self


class RetrievalSettings(SettingsGroup):
    """What the scores are made from."""

    half_life_days: float = setting(90, "days after which a result is half as fresh", gt=0, allow_inf_nan=False)
    authority: dict[str, Annotated[float, Field(ge=0, le=1)]] = setting(
        {}, "scores of 0 to 1 by domain, as {example.org: 0.9}, before Monitor's own table"
    )

    @field_validator("authority")
    @classmethod
    def _check_domains(cls, authority: dict[str, float]) -> dict[str, float]:
        for domain in authority:
            if not _DOMAIN.fullmatch(domain.strip(".")):
                raise PydanticCustomError("config.no_domain", "", {"domain": domain[:60]})
        return authority


@dataclass(frozen=True, slots=True)
class BackendInfo:
    """What the settings have to know of a search backend; the rest stands in its module.

    A backend that takes a key finds it in `<NAME>_API_KEY`, unless its settings name another variable. `base_url` is
    used where the settings name none; a service without one has to be given an address.
    """

    key: Literal["none", "optional", "required"] = "none"
    base_url: str | None = None
    is_service: bool = True


BACKENDS: Mapping[str, BackendInfo] = {
    "stub": BackendInfo(is_service=False),
    "ddg_html": BackendInfo(base_url="https://html.duckduckgo.com"),
    "baidu_html": BackendInfo(base_url="https://www.baidu.com"),
    "searxng": BackendInfo(key="optional"),
    "bocha": BackendInfo(key="required", base_url="https://api.bochaai.com"),
    "brave": BackendInfo(key="required", base_url="https://api.search.brave.com"),
    "tavily": BackendInfo(key="required", base_url="https://api.tavily.com"),
    "archive": BackendInfo(is_service=False),
}
"""The search backends by name; `monitor.search.backends.<name>` is the module of each."""

SHARED_VARIABLES = {
    "WEB_SEARCH_BACKEND": ("backend",),
    "WEB_SEARCH_TIMEOUT_MS": ("timeout_ms",),
    "SEARXNG_BASE_URL": ("backends", "searxng", "base_url"),
    "SEARXNG_TIMEOUT_MS": ("backends", "searxng", "timeout_ms"),
    "BOCHA_BASE_URL": ("backends", "bocha", "base_url"),
    "BOCHA_TIMEOUT_MS": ("backends", "bocha", "timeout_ms"),
    "BOCHA_TOP_K_DEFAULT": ("backends", "bocha", "max_results"),
}
"""Variables of the environment that tools of this kind share, and the setting within `search` that each one fills."""


class BackendSettings(SettingsGroup):
    base_url: str | None = setting(None, "scheme, host and port in place of the service's own")
    api_key_env: str | None = setting(None, "the environment variable that holds the key")
    timeout_ms: int | None = setting(None, "longest wait for its answer", gt=0)
    max_results: int | None = setting(None, "results of a query that names no number", ge=1, le=10)
    daily_quota: int | None = setting(None, "requests a day; null = no limit", ge=0)
    price: float | None = setting(None, "money for one request", ge=0)

    @field_validator("base_url")
    @classmethod
    def _check_base_url(cls, base_url: str | None) -> str | None:
        if base_url is None:
            return None
        try:
            parts = urlsplit(base_url.strip())
            is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_address = False
        if not is_address:
            raise ValueError("config.no_backend_address")
        return base_url.strip().rstrip("/")


class SearchSettings(SettingsGroup):
    backend: str | list[str] = setting("stub", "one name or a list, as [searxng, archive]")
    backends: dict[str, BackendSettings] = setting(
        {}, "by name: {base_url, api_key_env, timeout_ms, max_results, daily_quota, price}"
    )
    timeout_ms: int | None = setting(None, "longest wait for a backend; null = network.timeout_s", gt=0)
    cache_s: int = setting(900, "how long an answer serves the same query again; 0 = not at all", ge=0)
    weights: WeightSettings = Field(default_factory=WeightSettings, description="how results are scored")

    @field_validator("backends")
    @classmethod
    def _check_backend_names(cls, backends: dict[str, BackendSettings]) -> dict[str, BackendSettings]:
        for name in backends:
            if name not in BACKENDS:
                near = difflib.get_close_matches(name, BACKENDS, n=1)
                raise PydanticCustomError(
                    "config.no_backend_near" if near else "config.no_backend",
                    "",
                    {"name": name, "near": near[0] if near else ""},
                )
        return backends

    @property
    def backend_names(self) -> list[str]:
        """The backends that are asked for, known or not; in one text they are parted by commas."""
        chosen = self.backend.split(",") if isinstance(self.backend, str) else self.backend
        return list(dict.fromkeys(name.strip() for name in chosen if name.strip()))

    def get_backend(self, name: str) -> BackendSettings:
        return self.backends.get(name) or BackendSettings()

    def get_timeout_s(self, name: str) -> float | None:
        """How long a backend may take; None where nothing is set for it or for all."""
        timeout_ms = self.get_backend(name).timeout_ms or self.timeout_ms
        return timeout_ms / 1000 if timeout_ms else None

    def get_key_variable(self, name: str) -> str | None:
        """The environment variable that holds a backend's key; None where it takes none."""
        takes_key = name in BACKENDS and BACKENDS[name].key != "none"
        return self.get_backend(name).api_key_env or (f"{name.upper()}_API_KEY" if takes_key else None)

    def get_base_url(self, name: str) -> str | None:
        """The address that a service is asked at: the one that is set, else its own."""
        return self.get_backend(name).base_url or BACKENDS[name].base_url

    def get_host(self, name: str) -> str | None:
        """The host that a service's key is bound to; None where it has no address."""
        base_url = self.get_base_url(name)
        return get_host(base_url) if base_url else None

    def get_key(self, name: str) -> str | None:
        """The key for the host that the service is asked at."""
        variable = self.get_key_variable(name)
        return self.secrets.get(variable, self.get_host(name)) if variable else None

    def describe_key_problem(self, name: str) -> Message | None:
        """Why a key that is there does not go to the service's host; None where it does, or where there is none."""
        variable = self.get_key_variable(name)
        return self.secrets.describe_problem(variable, self.get_host(name)) if variable else None


def read_shared_variables(environment: Mapping[str, str]) -> dict[str, Any]:
    """What the shared variables say, as settings; an empty one says nothing."""
    found: dict[str, Any] = {}
    for variable, path in SHARED_VARIABLES.items():
        if value := environment.get(variable, "").strip():
            set_path(found, path, value)
    return {"search": found} if found else {}


ENV_PREFIX = "MONITOR_"


class BrowserSettings(SettingsGroup):
    path: Path | None = setting(None, "the Chromium to start; null = look for one")
    endpoint: str | None = setting(None, "a browser that runs elsewhere, as ws://host:port (CDP)")
    recycle_after: int = setting(200, "drawn pages after which the browser is started anew", ge=1)


class PagesSettings(SettingsGroup):
    render: Literal["auto", "always", "never"] = setting("auto", "draw pages in the browser: auto, always, never")
    max_concurrency: int = setting(4, "pages drawn at once", ge=1)
    delay_s: float = setting(1.0, "pause between two requests to one host", ge=0)
    timeout_s: float = setting(30, "longest wait for one page", gt=0)
    max_bytes: int = setting(10_485_760, "largest page or document that is read", ge=1024)
    respect_robots: bool = setting(True, "obey robots.txt")
    daily_requests: int | None = setting(None, "requests to one host and day at most; null = no limit", ge=1)
    browser: BrowserSettings = Field(default_factory=BrowserSettings, description="the browser")


class NetworkSettings(SettingsGroup):
    """The way out; shared by pages, search and fetch."""

    proxy: str | None = setting(None, "http(s) or socks proxy for everything that goes out")
    user_agent: str | None = setting(None, "null = Monitor's own")
    contact_url: str | None = setting(
        None, "a page or mailto: that says who runs this; stands in Monitor's own user agent"
    )
    timeout_s: float = setting(30, "longest wait for one request", gt=0)
    ca_bundle: Path | None = setting(None, "certificates of your organisation, in addition to the system's")
    allow_legacy_tls: bool = setting(False, "accept servers with TLS 1.0/1.1 and old ciphers")
    allowed_private_hosts: list[str] = setting(
        [], 'private hosts that may be asked, as ["127.0.0.1:8099"]; all others are refused'
    )
    proxy_suffixes: list[str] = setting(
        [], "endings of names that the proxy may resolve, as [corp.example]; others must resolve here"
    )

    _service_hosts: frozenset[str] = PrivateAttr(default=frozenset())

    @property
    def service_hosts(self) -> frozenset[str]:
        """The services that file and environment name, as `host:port`; their clients may connect to private ones."""
        return self._service_hosts

    def with_service_hosts(self, hosts: Collection[str]) -> Self:
        """Return a copy with these services in place of the known ones."""
        copy = self.model_copy()
        copy._service_hosts = frozenset(host.lower() for host in hosts)  # noqa: SLF001 -- of this class
        return copy

    @field_validator("user_agent")
    @classmethod
    def _check_user_agent(cls, user_agent: str | None) -> str | None:
        if user_agent is None:
            return None
        if not _HEADER_TEXT.fullmatch(user_agent.strip(" ")):
            raise ValueError("config.no_header")
        return user_agent.strip(" ")

    @field_validator("contact_url")
    @classmethod
    def _check_contact_url(cls, url: str | None) -> str | None:
        if url is None or not url.strip():
            return None
        if not _CONTACT_URL.fullmatch(url.strip()):
            raise ValueError("config.no_contact_url")
        return url.strip()

    @field_validator("proxy_suffixes")
    @classmethod
    def _check_proxy_suffixes(cls, suffixes: list[str]) -> list[str]:
        names = [suffix.strip().removeprefix("*").strip(".").lower() for suffix in suffixes]
        for name in names:
            if "*" in name or not _DOMAIN.fullmatch(name):
                raise PydanticCustomError("config.no_domain", "", {"domain": name[:60]})
        return names


class SweepSettings(SettingsGroup):
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
        [1, 3, 7, 30, 90],
        "days after which an item's page is looked at again, daily while a deadline is near; [] = never",
    )


class ResearchSettings(SettingsGroup):
    max_paragraphs: int = setting(5, "paragraphs of a report", ge=1)
    max_reflections: int = setting(2, "rounds of further search for a paragraph", ge=0)
    max_results: int = setting(20, "results of one search", ge=1)
    content_max_chars: int = setting(20000, "characters of one result that are read", ge=200)
    concurrency: int = setting(3, "paragraphs under way at once", ge=1)
    token_budget: int | None = setting(None, "tokens for one research; null = no limit", ge=0)
    cost_budget: float | None = setting(None, "money for one research, by llm.prices; null = no limit", ge=0)
    max_documents: int = setting(10, "documents that may be given with a question; 0 = none", ge=0, le=100)
    max_document_bytes: int = setting(20_971_520, "size of one such document", ge=1024, le=104_857_600)


class WebSettings(SettingsGroup):
    host: str = setting("127.0.0.1", "the address to listen on")
    port: int = setting(8000, "the port to listen on", ge=1, le=65535)
    public_url: str | None = setting(None, "the address that readers type, for links in briefings")
    requests_per_minute: int | None = setting(
        6000, "requests a minute of one person or token to the API or to /mcp, in each process; null = no limit", ge=1
    )
    trusted_proxies: list[str] = setting(
        [], 'proxies whose X-Forwarded-For counts, as ["127.0.0.1", "10.0.0.0/8"]; nobody else\'s does'
    )

    @field_validator("trusted_proxies")
    @classmethod
    def _check_networks(cls, trusted_proxies: list[str]) -> list[str]:
        check_networks(trusted_proxies)
        return trusted_proxies


class WorkSettings(SettingsGroup):
    executor_id: str | None = setting(None, "a stable name of this process; null = made from the host's name")
    scheduler: bool = setting(True, "run what is due")
    concurrency: int = setting(16, "runs under way at once in one worker", ge=1)
    max_runs: int | None = setting(None, "runs under way at once in all workers together; null = no limit", ge=1)
    jitter_s: int = setting(0, "spread the starts of runs that are due at once over so many seconds", ge=0)
    blackout: str | None = setting(None, "hours in which no planned run starts, as 23:00-06:00; they start after it")
    misfire_grace_s: int = setting(3600, "how late a planned run may still start", ge=1)
    retention_days: int = setting(400, "how long texts and records are kept; known urls are kept for ever", ge=1)
    audit_retention_days: int = setting(1100, "how long the audit is kept", ge=1)
    metrics_port: int | None = setting(
        None, "a port of web.host where this process shows its own figures to anybody; null = none", ge=1, le=65535
    )
    traces_url: str | None = setting(
        None, "where traces of runs go, by OTLP over HTTP, as http://127.0.0.1:4318/v1/traces; null = nowhere"
    )

    @field_validator("traces_url")
    @classmethod
    def _check_traces_url(cls, traces_url: str | None) -> str | None:
        if traces_url is not None and not traces_url.startswith(("http://", "https://")):
            raise ValueError("config.no_web_address")
        return traces_url


class LogSettings(SettingsGroup):
    syslog: str | None = setting(
        None, "where the audit is sent too: udp://host:514, tcp://host:601 or unix:///dev/log; null = nowhere"
    )

    @field_validator("syslog")
    @classmethod
    def _check_syslog_address(cls, syslog: str | None) -> str | None:
        if syslog is not None:
            try:
                SyslogAddress.parse(syslog)
            except ValueError:
                raise ValueError("config.no_syslog_address") from None
        return syslog


class EvidenceSettings(SettingsGroup):
    timestamp_url: str | None = setting(
        None, "a time stamping authority (RFC 3161) that stamps the head of each day; null = none"
    )


class BriefingSettings(SettingsGroup):
    template: Path | None = setting(None, "the firm's Word file that a docx is made from; null = Monitor's look")


class DeliverSettings(SettingsGroup):
    targets: list[TargetSettings] = setting([], "the delivery targets, as docs/administrators/delivery.md tells")
    variables: list[str] = setting(
        [], "variables that targets of the desk may use too, each for one host: [MAIL_PASSWORD@smtp://mail.example.org]"
    )

    @field_validator("variables")
    @classmethod
    def _check_variables(cls, variables: list[str]) -> list[str]:
        for entry in variables:
            parse_variable_entry(entry)
        return variables

    @field_validator("targets")
    @classmethod
    def _check_unique_names(cls, targets: list[TargetSettings]) -> list[TargetSettings]:
        names = [target.name for target in targets]
        for name in names:
            if names.count(name) > 1:
                raise PydanticCustomError("config.target_twice", "", {"name": name})
        return targets


class Settings(BaseSettings):
    """All of it. Relative paths are relative to the folder of the configuration file."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, env_nested_delimiter="__", extra="forbid")

    timezone: Annotated[str, AfterValidator(check_time_zone)] = setting(
        "Asia/Shanghai", "the time zone of dates and schedules where a source names none"
    )
    data_dir: Path = setting(Path("data"), "database, evidence, bundles and reports")
    storage_url: str | None = setting(None, "where evidence and documents go, as an fsspec url; null = under data_dir")
    database_url: str = setting("sqlite:///data/monitor.db", "SQLite, or postgresql://user:password@host/name")
    llm: LlmSettings = Field(default_factory=LlmSettings, description="the language model")
    pages: PagesSettings = Field(default_factory=PagesSettings, description="how pages are loaded")
    network: NetworkSettings = Field(default_factory=NetworkSettings, description="the way out")
    rsshub: RsshubSettings = Field(default_factory=RsshubSettings, description="feeds of sites that have none")
    sweep: SweepSettings = Field(default_factory=SweepSettings, description="limits of a sweep")
    search: SearchSettings = Field(default_factory=SearchSettings, description="web.search")
    retrieval: RetrievalSettings = Field(
        default_factory=RetrievalSettings, description="what search results are scored by"
    )
    research: ResearchSettings = Field(default_factory=ResearchSettings, description="the research workflow")
    web: WebSettings = Field(default_factory=WebSettings, description="the web pages")
    auth: AuthSettings = Field(default_factory=AuthSettings, description="who may sign in, and how")
    work: WorkSettings = Field(default_factory=WorkSettings, description="when and where things run")
    logs: LogSettings = Field(default_factory=LogSettings, description="where the audit goes beside the database")
    evidence: EvidenceSettings = Field(default_factory=EvidenceSettings, description="the proof of what was kept")
    briefing: BriefingSettings = Field(default_factory=BriefingSettings, description="what briefings look like")
    deliver: DeliverSettings = Field(default_factory=DeliverSettings, description="where briefings go")
    export: ExportSettings = Field(default_factory=ExportSettings, description="where the archive is exported to")
    sources: list[dict[str, Any]] = setting([], "sources to start with; each is created once")

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
        shared_variables = InitSettingsSource(settings_cls, read_shared_variables(os.environ))
        return env_settings, shared_variables, init_settings

    def update_from(self, other: "Settings") -> None:
        """Become what the other one is, group by group.

        Groups are values and are never changed: who holds this object sees what holds now, who holds a group, as a run
        does, goes on with what held when it was taken.
        """
        for name in type(self).model_fields:
            setattr(self, name, getattr(other, name))
