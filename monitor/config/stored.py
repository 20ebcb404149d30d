"""What was stored on the Settings page, laid between the file and the environment (contracts, section 7)."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python
from pydantic_settings import EnvSettingsSource

from monitor.config.group import SettingsGroup, describe_error_detail, is_group, set_path
from monitor.config.model import BACKENDS, ENV_PREFIX, BackendSettings, Settings, read_shared_variables
from monitor.config.secrets import SecretBindings, StoredSecret, get_host_and_port
from monitor.config.targets import parse_variable_entry
from monitor.i18n.message import Message

SECRET_PREFIX = "secrets."  # noqa: S105
"""What the path of a stored secret begins with; the name of the environment variable that it stands for follows."""

SOURCE_PREFIX = "source."
"""What a reader of a secret is called that is the log-in of a source; the name of the source follows."""

ENCRYPTED_SETTINGS = frozenset({"deliver.targets"})
"""Settings that may hold a password within their value: they are kept encrypted as a whole."""

_NOT_STORABLE = {
    "data_dir": "config.not_stored.place",
    "storage_url": "config.not_stored.place",
    "database_url": "config.not_stored.place",
    "sources": "config.not_stored.sources",
    "evidence.timestamp_url": "config.not_stored.evidence",
    "web": "config.not_stored.early",
    "auth": "config.not_stored.auth",
    "web.trusted_proxies": "config.not_stored.watch",
    "work.audit_retention_days": "config.not_stored.watch",
    "logs.syslog": "config.not_stored.watch",
    "work.scheduler": "config.not_stored.process",
    "work.executor_id": "config.not_stored.process",
    "work.metrics_port": "config.not_stored.process",
    "work.traces_url": "config.not_stored.watch",
    "pages.browser": "config.not_stored.program",
    "network": "config.not_stored.network",
    "deliver.variables": "config.not_stored.variable",
    "export": "config.not_stored.place",
    "llm.extra_headers": "config.not_stored.variable",
}
"""Settings that the database cannot hold, or whole groups of them, each with the code of the reason."""

_STORABLE = frozenset({"network.user_agent", "network.contact_url", "network.timeout_s", "web.public_url"})
"""The settings of those groups that it can hold all the same."""

_NEEDS_RESTART = frozenset({"timezone", "pages.max_bytes", "web.public_url", "briefing.template"})
SEARCH_SERVICES = tuple(name for name, info in BACKENDS.items() if info.is_service)
"""The search backends that are services elsewhere."""

_USER_INFO = re.compile(r"(?<=://)[^/@\s]+(?=@)")


@dataclass(frozen=True)
class SettingInfo:
    """A setting by its path, as `llm.model`; `not_storable_reason` is a code, None where it can be stored."""

    path: str
    field: FieldInfo
    not_storable_reason: str | None

    @property
    def group(self) -> str:
        """The part of the configuration that it belongs to; its own name where it stands alone."""
        return self.path.partition(".")[0]

    @property
    def needs_restart(self) -> bool:
        """Whether a running process goes on with the value that it was started with."""
        is_work = self.group == "work" and self.path != "work.retention_days"
        return is_work or self.path in _NEEDS_RESTART

    @property
    def default(self) -> Any:
        return to_jsonable_python(self.field.get_default(call_default_factory=True))


@cache
def get_setting_infos() -> dict[str, SettingInfo]:
    """Every setting by its path; those of a search service have one for each service."""
    fields = _iter_fields(Settings, "")
    return {path: SettingInfo(path, info, _get_not_storable_reason(path, info)) for path, info in fields}


def get_value(settings: Settings, path: str) -> Any:
    value: Any = settings
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else getattr(value, part, None)
    return to_jsonable_python(value)


def get_display_value(path: str, settings: Settings) -> Any:
    """The value of a setting as anybody may see it: without passwords, and of a target's address only its host."""
    if path == "deliver.targets":
        return [target.model_dump(mode="json") | {"url": target.shown} for target in settings.deliver.targets]
    if path == "llm.extra_headers":
        return dict.fromkeys(settings.llm.extra_headers, "…")
    return mask_passwords(get_value(settings, path))


def mask_passwords(value: Any) -> Any:
    if isinstance(value, str):
        return _USER_INFO.sub("…", value)
    if isinstance(value, list):
        return [mask_passwords(entry) for entry in value]
    return {key: mask_passwords(entry) for key, entry in value.items()} if isinstance(value, dict) else value


def format_variable_name(path: str) -> str:
    return ENV_PREFIX + path.upper().replace(".", "__")


def _iter_fields(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, FieldInfo]]:
    for name, info in model.model_fields.items():
        path = f"{prefix}{name}"
        if path == "search.backends":
            for service in SEARCH_SERVICES:
                yield from _iter_fields(BackendSettings, f"{path}.{service}.")
        elif is_group(info.annotation):
            yield from _iter_fields(info.annotation, f"{path}.")
        else:
            yield path, info


def _get_not_storable_reason(path: str, info: FieldInfo) -> str | None:
    if path in _STORABLE:
        return None
    if path.endswith(".api_key_env"):
        return "config.not_stored.variable"
    outer = (path.rsplit(".", depth)[0] for depth in range(path.count(".") + 1))
    found = next((_NOT_STORABLE[place] for place in outer if place in _NOT_STORABLE), None)
    return found or ("config.not_stored.path" if Path in (info.annotation, *get_args(info.annotation)) else None)


Origin = Literal["default", "file", "stored", "environment"]


@dataclass(frozen=True)
class Overlay:
    """Settings with what was stored over them; `errors` say by path what could not be used."""

    settings: Settings
    errors: dict[str, Message] = field(default_factory=dict)


def apply_stored_settings(base: Settings, stored: Mapping[str, Any], secrets: Mapping[str, StoredSecret]) -> Overlay:
    """The settings of file and environment (`base`) with what was stored between them, and the secrets at hand.

    Each group is checked as a whole by its own model. Where it does not hold together, its stored values are taken one
    by one and those that spoil it are left out, with a complaint: one bad row does not undo the others.
    """
    environment = read_environment()
    by_group: dict[str, dict[str, Any]] = {}
    complaints: dict[str, Message] = {}
    for path, value in sorted(stored.items()):
        place = get_setting_infos().get(path)
        if place is None:
            complaints[path] = Message("config.not_storable")
        elif place.not_storable_reason:
            complaints[path] = _describe_unused(place, value)
        elif not _has_path(environment, path):
            by_group.setdefault(place.group, {})[path] = value
    changes = {group: _apply_to_group(base, group, values, complaints) for group, values in by_group.items()}
    settings = base.model_copy(update={name: value for name, value in changes.items() if value is not None})
    network = settings.network.with_service_hosts(list_service_hosts(base))
    return Overlay(_bind_secrets(base, settings.model_copy(update={"network": network}), secrets), complaints)


def _describe_unused(place: SettingInfo, value: Any) -> Message:
    """Say that a stored value is not used, and what it is: whoever runs the service may want it in the file."""
    reason, variable = Message(place.not_storable_reason or ""), format_variable_name(place.path)
    shown = json.dumps(mask_passwords(value), ensure_ascii=False)
    return Message.of("config.stored_unused", value=shown, reason=reason, variable=variable)


def get_setting_origin(path: str, base: Settings, stored: Mapping[str, Any], environment: Mapping[str, Any]) -> Origin:
    """Return who decides a setting: the environment, the Settings page, the file, or nobody."""
    if _has_path(environment, path):
        return "environment"
    if path in stored:
        return "stored"
    return "file" if _is_set(base, path.split(".")) else "default"


def find_storage_error(path: str, value: Any) -> Message | None:
    """Return why a value cannot be stored although its type may be right."""
    place = get_setting_infos().get(path)
    if place is None:
        return Message("config.no_such_setting")
    if place.not_storable_reason:
        reason = Message(place.not_storable_reason)
        return Message.of("config.cannot_be_stored", reason=reason, variable=format_variable_name(path))
    if _has_path(read_environment(), path):
        return Message.of("config.set_by_environment", variable=format_variable_name(path))
    if not _is_storable(value):
        return Message("config.bad_characters")
    if path not in ENCRYPTED_SETTINGS and mask_passwords(value) != value:
        return Message("config.holds_password")
    return None


def read_environment() -> dict[str, Any]:
    own = EnvSettingsSource(Settings, env_prefix=ENV_PREFIX, env_nested_delimiter="__")()
    return _merge(read_shared_variables(os.environ), own)


def _is_storable(value: Any) -> bool:
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        return "\\u0000" not in text and bool(text.encode())
    except (ValueError, RecursionError):  # NaN, or halves of surrogate pairs
        return False


def _apply_to_group(base: Settings, group: str, values: Mapping[str, Any], errors: dict[str, Message]) -> Any:
    """The group with the values; with those of them that hold together where they do not all."""
    try:
        return _validate_group(base, group, values)
    except ValidationError as error:
        found = _collect_errors(error, group, values)
        fitting: dict[str, Any] = {}
        for path, value in values.items():
            try:
                _validate_group(base, group, fitting | {path: value})
            except ValidationError as alone:
                errors[path] = found.get(path) or describe_error_detail(
                    alone.errors()[0], shows_value=path not in ENCRYPTED_SETTINGS
                )
            else:
                fitting[path] = value
        return _validate_group(base, group, fitting) if fitting else None


def _validate_group(base: Settings, group: str, values: Mapping[str, Any]) -> Any:
    known = getattr(base, group)
    if not isinstance(known, SettingsGroup):
        alone = base.model_copy()
        Settings.__pydantic_validator__.validate_assignment(alone, group, values[group])
        return getattr(alone, group)
    dump = known.model_dump(exclude_unset=True)
    for path, value in values.items():
        set_path(dump, path.split(".")[1:], value)
    return type(known).model_validate(dump)


def _collect_errors(error: ValidationError, group: str, values: Mapping[str, Any]) -> dict[str, Message]:
    """Return what is wrong by path: the longest path that the complaint's place begins with."""
    found: dict[str, Message] = {}
    for detail in error.errors():
        loc = [str(part) for part in detail["loc"]]
        where = ".".join(loc if loc[:1] == [group] else [group, *loc])
        about = max((path for path in values if f"{where}.".startswith(f"{path}.")), key=len, default=None)
        if about is not None:
            found.setdefault(
                about,
                describe_error_detail(
                    {**detail, "loc": _get_inner_location(detail["loc"], about)},
                    shows_value=about not in ENCRYPTED_SETTINGS,
                ),
            )
    return found


def _get_inner_location(loc: tuple[int | str, ...], about: str) -> tuple[int | str, ...]:
    """Return the place of a complaint from its setting on: `("", 0, "url")` in a list of targets."""
    return ("", *loc[about.count(".") :])


@dataclass(frozen=True)
class SecretReader:
    """Who reads a variable, for the host that it asks, if it has one.

    `used_by` is `llm`, `search.brave`, `auth.oidc`, `export.<bucket>`, `deliver.<target>` or, for a log-in,
    `source.<name>`.
    """

    variable: str
    used_by: str
    host: str | None
    secrets: SecretBindings

    @property
    def is_key(self) -> bool:
        """Whether it is a service's key, which travels in a header."""
        return not self.used_by.startswith(("deliver.", SOURCE_PREFIX))


def list_secret_readers(settings: Settings) -> list[SecretReader]:
    """Return all that read keys and passwords; several may read one variable."""
    llm, search, vectors = settings.llm, settings.search, settings.llm.for_embeddings()
    oidc = settings.auth.oidc
    has_vectors = bool(vectors.model) and (vectors.api_key_env, vectors.host) != (llm.api_key_env, llm.host)
    return [
        SecretReader(llm.api_key_env, "llm", llm.host, llm.secrets),
        *([SecretReader(vectors.api_key_env, "llm.embeddings", vectors.host, vectors.secrets)] if has_vectors else []),
        *(
            SecretReader(variable, f"search.{service}", search.get_host(service), search.secrets)
            for service in SEARCH_SERVICES
            if (variable := search.get_key_variable(service))
        ),
        *([SecretReader(oidc.client_secret_env, "auth.oidc", oidc.host, oidc.secrets)] if oidc.is_on else []),
        *(
            SecretReader(variable, f"deliver.{target.name}", target.host, target.secrets)
            for target in settings.deliver.targets
            for variable in target.list_variables()
        ),
        *(
            SecretReader(variable, f"export.{bucket.name}", bucket.host, bucket.secrets)
            for bucket in settings.export.buckets
            for variable in (bucket.key_id_env, bucket.secret_env)
        ),
    ]


def collect_hosts(readers: Iterable[SecretReader]) -> dict[str, frozenset[str]]:
    """Return by variable the hosts that it is read for."""
    found: dict[str, set[str]] = {}
    for reader in readers:
        found.setdefault(reader.variable, set()).update([reader.host] if reader.host else [])
    return {variable: frozenset(hosts) for variable, hosts in found.items()}


def list_service_hosts(base: Settings) -> frozenset[str]:
    """Return the services that file and environment name, as `host:port`."""
    addresses = [
        base.llm.address,
        base.llm.embeddings.base_url,
        base.pages.browser.endpoint,
        *(target.url for target in base.deliver.targets),
    ]
    addresses += [
        base.rsshub.base_url,
        base.evidence.timestamp_url,
        base.auth.oidc.issuer,
        *(backend.base_url for backend in base.search.backends.values()),
        *(bucket.endpoint for bucket in base.export.buckets),
    ]
    hosts = (
        # A variable may stand for the host; one that stands for a password may hold what looks like a host.
        get_host_and_port(address) or get_host_and_port(os.path.expandvars(address))
        for address in addresses
        if address
    )
    return frozenset(host for host in hosts if host)


def _bind_secrets(base: Settings, settings: Settings, stored: Mapping[str, StoredSecret]) -> Settings:
    """Return the settings with the secrets at hand, each for its hosts.

    A variable of the environment is for the hosts that file and environment (`base`) name, stored addresses or not.
    A target of the file reads what the file says; one that was stored reads what the file lists, for its hosts.
    """
    readers = list_secret_readers(base)
    services = collect_hosts(reader for reader in readers if reader.is_key)
    listed = collect_hosts(reader for reader in readers if not reader.is_key)
    for variable, host in map(parse_variable_entry, base.deliver.variables):
        listed[variable] = listed.get(variable, frozenset()) | {host}
    of_services = SecretBindings(stored, services)
    of_file = SecretBindings(stored)
    of_page = SecretBindings(stored, listed)
    known = {(target.url, target.secret_env) for target in base.deliver.targets}
    targets = [
        target.bind_secrets(of_file if (target.url, target.secret_env) in known else of_page)
        for target in settings.deliver.targets
    ]
    buckets = [bucket.bind_secrets(of_services) for bucket in settings.export.buckets]
    return settings.model_copy(
        update={
            "llm": settings.llm.bind_secrets(of_services),
            "search": settings.search.bind_secrets(of_services),
            "auth": settings.auth.model_copy(update={"oidc": settings.auth.oidc.bind_secrets(of_services)}),
            "deliver": settings.deliver.model_copy(update={"targets": targets}),
            "export": settings.export.model_copy(update={"buckets": buckets}),
        }
    )


def _has_path(values: Any, path: str) -> bool:
    for part in path.split("."):
        if not isinstance(values, dict):
            return True
        if part not in values:
            return False
        values = values[part]
    return True


def _is_set(value: Any, path: list[str]) -> bool:
    """Whether somebody gave the value, down to its last part."""
    for part in path:
        if isinstance(value, dict):
            if part not in value:
                return False
            value = value[part]
        elif isinstance(value, BaseModel) and part in value.model_fields_set:
            value = getattr(value, part)
        else:
            return False
    return True


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        known = merged.get(key)
        merged[key] = _merge(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return merged
