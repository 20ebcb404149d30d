"""Every setting by its path: what it is, whether it can be stored, how it is shown."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from monitor.settings.model import ENV_PREFIX, Settings
from monitor.settings.search import BACKENDS, BackendSettings

SECRETS = "secrets."
"""What the path of a stored secret begins with; the name of the environment variable that it stands for follows."""

SEALED = frozenset({"network.proxy", "deliver.targets"})
"""Settings that may hold a password within their value: they are kept encrypted as a whole."""

_NEVER_STORED = {
    "data_dir": "where things lie is decided before the database is open",
    "storage_url": "where things lie is decided before the database is open",
    "database_url": "where things lie is decided before the database is open",
    "sources": "sources have their own page",
    "web.host": "it is needed before the database is open",
    "web.port": "it is needed before the database is open",
    "work.scheduler": "each process has its own",
    "work.executor_id": "each process has its own",
    "pages.browser.path": "which program is started is for whoever runs the service to say",
    "llm.api_key_env": "which variable is read is for whoever runs the service to say",
}
_AFTER_RESTART = frozenset({"timezone", "pages.max_bytes", "web.public_url", "briefing.template"})
SERVICES = tuple(name for name in BACKENDS if name not in ("stub", "archive"))
"""The search backends that are services elsewhere."""

_USER_INFO = re.compile(r"(?<=://)[^/@\s]+(?=@)")


@dataclass(frozen=True)
class Place:
    """A setting by its path, as `llm.model`; `why_not` says why it cannot be stored, None where it can."""

    path: str
    field: FieldInfo
    why_not: str | None

    @property
    def group(self) -> str:
        """The part of the configuration that it belongs to; its own name where it stands alone."""
        return self.path.partition(".")[0]

    @property
    def needs_restart(self) -> bool:
        """Whether a running process goes on with the value that it was started with."""
        is_work = self.group == "work" and self.path != "work.retention_days"
        return is_work or self.path in _AFTER_RESTART

    @property
    def default(self) -> Any:
        """What holds where nobody says anything, as JSON has it."""
        return to_jsonable_python(self.field.get_default(call_default_factory=True))


@cache
def places() -> dict[str, Place]:
    """Every setting by its path; those of a search service have one for each service."""
    return {path: Place(path, info, _why_not(path)) for path, info in _leaves(Settings, "")}


def value_at(settings: Settings, path: str) -> Any:
    """The value of a setting, as JSON has it."""
    value: Any = settings
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else getattr(value, part, None)
    return to_jsonable_python(value)


def shown(path: str, settings: Settings) -> Any:
    """The value of a setting as anybody may see it: without passwords, and of a target's address only its host."""
    if path == "deliver.targets":
        return [target.model_dump(mode="json") | {"url": target.shown} for target in settings.deliver.targets]
    return masked(value_at(settings, path))


def masked(value: Any) -> Any:
    """The value without user and password in any address."""
    if isinstance(value, str):
        return _USER_INFO.sub("…", value)
    if isinstance(value, list):
        return [masked(one) for one in value]
    return {key: masked(one) for key, one in value.items()} if isinstance(value, dict) else value


def variable_of(path: str) -> str:
    """The environment variable that sets it."""
    return ENV_PREFIX + path.upper().replace(".", "__")


def _leaves(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, FieldInfo]]:
    for name, info in model.model_fields.items():
        path = f"{prefix}{name}"
        kind = info.annotation
        if path == "search.backends":
            for service in SERVICES:
                yield from _leaves(BackendSettings, f"{path}.{service}.")
        elif isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _leaves(kind, f"{path}.")
        else:
            yield path, info


def _why_not(path: str) -> str | None:
    return _NEVER_STORED.get(path) or (_NEVER_STORED["llm.api_key_env"] if path.endswith(".api_key_env") else None)
