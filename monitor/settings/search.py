"""web.search: which backends answer, and how each is reached."""

import difflib
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from monitor.settings.group import Group
from monitor.settings.group import setting
from monitor.settings.retrieval import WeightSettings

BACKENDS = ("stub", "ddg_html", "baidu_html", "searxng", "bocha", "brave", "tavily", "archive")
"""The names of all backends."""

KEY_VARIABLES = {
    "searxng": "SEARXNG_API_KEY",
    "bocha": "BOCHA_API_KEY",
    "brave": "BRAVE_API_KEY",
    "tavily": "TAVILY_API_KEY",
}
"""Where a backend's key is looked for when its settings name no other variable."""

VARIABLES = {
    "WEB_SEARCH_BACKEND": ("backend",),
    "WEB_SEARCH_TIMEOUT_MS": ("timeout_ms",),
    "SEARXNG_BASE_URL": ("backends", "searxng", "base_url"),
    "SEARXNG_TIMEOUT_MS": ("backends", "searxng", "timeout_ms"),
    "BOCHA_BASE_URL": ("backends", "bocha", "base_url"),
    "BOCHA_TIMEOUT_MS": ("backends", "bocha", "timeout_ms"),
    "BOCHA_TOP_K_DEFAULT": ("backends", "bocha", "max_results"),
}
"""Variables of the environment that tools of this kind share, and the setting within `search` that each one fills."""


class BackendSettings(Group):
    base_url: str | None = setting(None, "scheme, host and port in place of the service's own")
    api_key_env: str | None = setting(None, "the environment variable that holds the key")
    timeout_ms: int | None = setting(None, "longest wait for its answer", gt=0)
    max_results: int | None = setting(None, "results of a query that names no number", ge=1, le=10)
    daily_quota: int | None = setting(None, "requests a day; null = no limit", ge=0)
    price: float | None = setting(None, "money for one request", ge=0)

    @field_validator("base_url")
    @classmethod
    def _is_address(cls, base_url: str | None) -> str | None:
        if base_url is None:
            return None
        try:
            parts = urlsplit(base_url.strip())
            is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_address = False
        if not is_address:
            raise ValueError("it is no address; write it as http://127.0.0.1:8080")
        return base_url.strip().rstrip("/")


class SearchSettings(Group):
    backend: str | list[str] = setting("stub", f"one name or a list: {' '.join(BACKENDS)}")
    backends: dict[str, BackendSettings] = setting(
        {}, "by name: {base_url, api_key_env, timeout_ms, max_results, daily_quota, price}"
    )
    timeout_ms: int | None = setting(None, "longest wait for a backend; null = network.timeout_s", gt=0)
    cache_s: int = setting(900, "how long an answer serves the same query again; 0 = not at all", ge=0)
    weights: WeightSettings = Field(default_factory=WeightSettings, description="how results are scored")

    @field_validator("backends")
    @classmethod
    def _are_known(cls, backends: dict[str, BackendSettings]) -> dict[str, BackendSettings]:
        for name in backends:
            if name not in BACKENDS:
                near = difflib.get_close_matches(name, BACKENDS, n=1)
                raise ValueError(f"there is no backend {name}; {f'did you mean {near[0]}' if near else 'leave it out'}")
        return backends

    @property
    def names(self) -> list[str]:
        """The backends that are asked for, known or not; in one text they are parted by commas."""
        chosen = self.backend.split(",") if isinstance(self.backend, str) else self.backend
        return list(dict.fromkeys(name.strip() for name in chosen if name.strip()))

    def of(self, name: str) -> BackendSettings:
        return self.backends.get(name) or BackendSettings()

    def timeout_s(self, name: str) -> float | None:
        """How long a backend may take; None where nothing is set for it or for all."""
        timeout_ms = self.of(name).timeout_ms or self.timeout_ms
        return timeout_ms / 1000 if timeout_ms else None

    def key_variable(self, name: str) -> str | None:
        """The environment variable that holds a backend's key; None where it takes none."""
        return self.of(name).api_key_env or KEY_VARIABLES.get(name)

    def key(self, name: str) -> str | None:
        """The key of a backend, if there is any."""
        variable = self.key_variable(name)
        return self.secret_in(variable) if variable else None


def from_variables(environment: Mapping[str, str]) -> dict[str, Any]:
    """What the shared variables say, as settings; an empty one says nothing."""
    found: dict[str, Any] = {}
    for variable, path in VARIABLES.items():
        if value := environment.get(variable, "").strip():
            group = found
            for part in path[:-1]:
                group = group.setdefault(part, {})
            group[path[-1]] = value
    return {"search": found} if found else {}
