"""Settings, secrets and prompts: what holds, where it comes from, and what administrators store."""

import asyncio
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, reduce
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel

from monitor.clock import Clock
from monitor.config.model import BACKENDS, Settings
from monitor.config.stored import (
    ENCRYPTED_SETTINGS,
    SECRET_PREFIX,
    Origin,
    Overlay,
    SettingInfo,
    apply_stored_settings,
    find_storage_error,
    get_display_value,
    get_setting_infos,
    get_setting_origin,
    list_secret_readers,
    read_environment,
)
from monitor.db.database import Store
from monitor.db.sessions import sanitize_text
from monitor.db.tables.people import StoredPrompt, StoredSetting
from monitor.errors import NotFound, UsageError
from monitor.fetch.client import build_tls_context
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.llm.prompts import Prompt, PromptSet
from monitor.logs import get_logger
from monitor.services.audit import Actor, AuditAction, AuditRecord, AuditService
from monitor.services.secrets import SecretBox
from monitor.vocabulary import Role

SettingCheck = Callable[[Settings], object]
MODEL_PHASES = ("navigate", "crawl", "summarise", "rank", "plan", "search", "modeling", "report")
_PROXY_SCHEMES = ("http", "https", "socks4", "socks5", "socks5h")
_HOST_PATTERN = re.compile(r"(\[[0-9a-f:.]+\]|[\w.-]+)(:\d{1,5})?", re.IGNORECASE)


def _check_proxy(settings: Settings) -> None:
    if settings.network.proxy is not None and not _is_url(settings.network.proxy, _PROXY_SCHEMES):
        raise UsageError("settings.bad_proxy", schemes=[f"{scheme}://…" for scheme in _PROXY_SCHEMES])


def _check_browser(settings: Settings) -> None:
    endpoint = settings.pages.browser.endpoint
    if endpoint is not None and not _is_url(endpoint, ("ws", "wss", "http", "https")):
        raise UsageError("settings.bad_browser_endpoint")


def _check_public_url(settings: Settings) -> None:
    if settings.web.public_url is not None and not _is_url(settings.web.public_url, ("http", "https")):
        raise UsageError("settings.bad_public_url")


def _check_hosts(settings: Settings) -> None:
    for host in settings.network.allowed_private_hosts:
        if not _HOST_PATTERN.fullmatch(host.strip()):
            raise UsageError("settings.bad_host", host=host)


def _check_certificates(settings: Settings) -> None:
    build_tls_context(ca_bundle=settings.network.ca_bundle, allow_legacy_tls=False)


def _check_backends(settings: Settings) -> None:
    from monitor.search.registry import describe_unknown_backend

    for name in settings.search.backend_names:
        if name not in BACKENDS:
            raise UsageError(describe_unknown_backend(name))


def _check_phases(settings: Settings) -> None:
    for phase, model in settings.llm.models.items():
        if phase not in MODEL_PHASES or not model.strip():
            raise UsageError("settings.bad_phase", phase=phase, known=MODEL_PHASES)


def _check_model(settings: Settings) -> None:
    if not settings.llm.model.strip():
        raise UsageError("settings.no_model")


def _check_endpoint(settings: Settings) -> None:
    settings.llm.check_endpoint()


def _check_template(settings: Settings) -> None:
    from monitor.services.briefings import check_template

    check_template(settings)


CHECKS: Mapping[str, SettingCheck] = {
    "llm.base_url": _check_endpoint,
    "llm.models": _check_phases,
    "llm.model": _check_model,
    "network.proxy": _check_proxy,
    "network.ca_bundle": _check_certificates,
    "network.allowed_private_hosts": _check_hosts,
    "pages.browser.endpoint": _check_browser,
    "search.backend": _check_backends,
    "web.public_url": _check_public_url,
    "briefing.template": _check_template,
}
"""The checks that need nothing but the settings, by the path that they are about; each raises `UsageError`."""


def _is_url(text: str, schemes: tuple[str, ...]) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme.lower() in schemes and bool(parts.hostname) and parts.port != 0 and text.isprintable()
    except ValueError:
        return False


_SECRET_NAME_PATTERN = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,79}")
_MAX_SECRET_CHARS = 4000
_INVALID_SECRET = Message.of("settings.bad_secret_characters")
_log = get_logger("settings")


class SettingSchema(MessageModel):
    """A setting. `waits_for_restart`: the stored value takes effect when this process is restarted."""

    path: str
    value: Any
    origin: Origin
    default: Any
    description: str
    is_storable: bool
    needs_restart: bool
    waits_for_restart: bool = False
    complaint: Message | None = None


class SecretSettingSchema(MessageModel):
    """A secret by the environment variable that it stands for; its value is never shown."""

    name: str
    is_set: bool
    origin: Origin | None
    used_by: str
    complaint: Message | None = None


class SettingChange(BaseModel):
    """A change of a setting; of a secret, only that it was changed."""

    path: str
    before: Any
    after: Any


class InvalidSettings(UsageError):
    """Settings that are not stored; `complaints` hold a message for each, by its path."""

    def __init__(self, complaints: Mapping[str, str | Message]) -> None:
        self.complaints = {path: _to_message(complaint) for path, complaint in complaints.items()}
        super().__init__(_join_complaints("settings.complaint", self.complaints))


def _to_message(complaint: str | Message) -> Message:
    return complaint if isinstance(complaint, Message) else Message.other(complaint)


def _join_complaints(code: str, complaints: Mapping[str, Message]) -> Message:
    sentences = [Message.of(code, path=path, complaint=complaint) for path, complaint in complaints.items()]
    return reduce(lambda first, rest: Message.of("settings.complaints", first=first, rest=rest), sentences)


class _StoredSettings(BaseModel):
    """The stored rows, decoded: values by path, secrets by variable, complaints by path."""

    values: dict[str, Any] = {}
    secrets: dict[str, str] = {}
    complaints: dict[str, Message] = {}


class SettingsService:
    """Overlays what was stored between the file and the environment; `current` follows every change.

    `base` are the settings of file and environment. `checks` are those of what a group's own model cannot see, by the
    path that they are about; each raises `UsageError`.
    """

    def __init__(
        self, *, store: Store, base: Settings, secret_box: SecretBox, clock: Clock, checks: Mapping[str, SettingCheck]
    ) -> None:
        self.current = base.model_copy()
        self._store = store
        self._base = base
        self._secret_box = secret_box
        self._clock = clock
        self._checks = checks
        self._audit = AuditService(store=store, clock=clock)
        self._stored = _StoredSettings()
        self._startup_values: dict[str, Any] | None = None
        self._loaded_stamps: object = None

    async def load(self) -> Settings:
        """Apply what is stored to `current`; what cannot be used is left out and logged."""
        self._loaded_stamps = await self._store.settings.load_timestamps()
        rows = await self._store.settings.list_all()
        self._stored = stored = await asyncio.to_thread(_decode_rows, rows, self._secret_box)
        if self._startup_values is None:
            self._startup_values = {path: value for path, value in stored.values.items() if _needs_restart(path)}
        running = {
            path: value for path, value in stored.values.items() if not _needs_restart(path)
        } | self._startup_values
        overlay = self._build_overlay(running, stored.secrets)
        stored.complaints |= {path: _to_message(complaint) for path, complaint in overlay.errors.items()}
        for path, complaint in stored.complaints.items():
            _log.warning("stored setting not used", setting=path, reason=render(complaint, "en"))
        self.current.update_from(overlay.settings)
        return self.current

    async def reload_if_changed(self) -> None:
        """Apply what another process stored, if any did."""
        if await self._store.settings.load_timestamps() != self._loaded_stamps:
            await self.load()
            _log.info("settings reloaded")

    def list_settings(self) -> list[SettingSchema]:
        """Return every setting, in the order of the file."""
        environment = read_environment()
        return [self._build_schema(setting, environment) for setting in get_setting_infos().values()]

    def list_secrets(self) -> list[SecretSettingSchema]:
        """Return every secret that a setting names or that is stored, whether it is set or not."""
        readers = list_secret_readers(self.current)
        unreadable = [
            path.removeprefix(SECRET_PREFIX) for path in self._stored.complaints if path.startswith(SECRET_PREFIX)
        ]
        found = []
        for name in dict.fromkeys([*readers, *self._stored.secrets, *unreadable]):
            used_by, group = readers.get(name, ("", None))
            stored: Origin | None = "stored" if name in self._stored.secrets else None
            origin = group.get_secret_origin(name) if group is not None else stored
            complaint = self._stored.complaints.get(SECRET_PREFIX + name) if origin is None else None
            found.append(
                SecretSettingSchema(
                    name=name, is_set=origin is not None, origin=origin, used_by=used_by, complaint=complaint
                )
            )
        return found

    def describe_stored(self) -> Message:
        """Say what is stored; `UsageError` where some of it cannot be used."""
        if self._stored.complaints:
            raise UsageError(_join_complaints("settings.stored_complaint", self._stored.complaints))
        values, secrets = sorted(self._stored.values), sorted(self._stored.secrets)
        if not values and not secrets:
            return Message("settings.nothing_stored")
        names = [*values, *(Message.of("settings.stored_secret", name=name) for name in secrets)]
        return Message.of("settings.stored", names=names)

    async def update(self, values: Mapping[str, Any], *, by: Actor) -> list[SettingChange]:
        """Store the values, by path, all or none; `InvalidSettings` says why not, for each one that is wrong.

        `secrets.NAME` is the secret that stands for a variable, `llm.api_key` and `search.backends.….api_key` the one
        that is read there. What takes effect while running does so at once.
        """
        return await self.store(values, None, by=by)

    async def store(self, values: Mapping[str, Any], record: AuditRecord | None, *, by: Actor) -> list[SettingChange]:
        """Do what `update` does; the audit gets `record`, where there is one, instead of every change."""
        by.require(Role.ADMIN)
        wanted = {self._resolve_path(path): value for path, value in values.items()}
        self._validate(wanted)
        changes = [change for path, value in wanted.items() if (change := self._build_change(path, value)) is not None]
        rows = [await self._build_row(change.path, wanted[change.path], by.name) for change in changes]
        async with self._store.transaction():
            await self._store.settings.change(rows)
            if record is not None:
                await self._audit.record(by, record.action, record.subject, **record.detail)
            else:
                await self._record_changes(by, AuditAction.SETTINGS_CHANGE, changes)
        if changes:
            await self.load()
        return changes

    async def reset(self, paths: Iterable[str], *, by: Actor) -> list[SettingChange]:
        """Let the file and the defaults hold again; a path that is not stored is passed over."""
        by.require(Role.ADMIN)
        known = {
            *self._stored.values,
            *self._stored.complaints,
            *(SECRET_PREFIX + name for name in self._stored.secrets),
        }
        stored = [path for path in map(self._resolve_path, paths) if path in known]
        before = {path: self._format_value(path, self.current) for path in stored}
        overlay = self._build_overlay(
            {path: value for path, value in self._stored.values.items() if path not in stored}, self._stored.secrets
        )
        changes = [
            SettingChange(path=path, before=before[path], after=self._format_value(path, overlay.settings, stored))
            for path in stored
        ]
        async with self._store.transaction():
            await self._store.settings.change([], deleted_paths=stored)
            await self._record_changes(by, AuditAction.SETTINGS_FORGET, changes)
        await self.load()
        return changes

    async def _record_changes(self, by: Actor, action: AuditAction, changes: Sequence[SettingChange]) -> None:
        for change in changes:
            await self._audit.record(by, action, change.path, before=change.before, after=change.after)

    def _validate(self, wanted: Mapping[str, Any]) -> None:
        """Raise `InvalidSettings` for values that are wrong in themselves, in type and limits, or with all the rest."""
        secrets = {path: value for path, value in wanted.items() if path.startswith(SECRET_PREFIX)}
        values = {path: value for path, value in wanted.items() if path not in secrets}
        for find_problem, group in ((_find_secret_problem, secrets), (find_storage_error, values)):
            problems = {path: found for path, value in group.items() if (found := find_problem(path, value))}
            if problems:
                raise InvalidSettings(problems)
        readers = list_secret_readers(self.current)
        for path, value in wanted.items():
            used_by, _ = readers.get(path.removeprefix(SECRET_PREFIX), ("", None))
            if used_by.startswith(("llm", "search.")) and not value.isascii():  # it travels in a header
                raise InvalidSettings({path: _INVALID_SECRET})
        named = {path.removeprefix(SECRET_PREFIX): value for path, value in secrets.items()}
        overlay = self._build_overlay(self._stored.values | values, self._stored.secrets | named)
        if problems := {path: found for path, found in overlay.errors.items() if path in values}:
            raise InvalidSettings(problems)

    def _build_overlay(self, values: Mapping[str, Any], secrets: Mapping[str, str]) -> Overlay:
        """The settings with these values; those that a check is against are left out with its complaint."""
        overlay = apply_stored_settings(self._base, values, secrets)
        for path, check in self._checks.items():
            if path not in values:
                continue
            try:
                check(overlay.settings)
            except UsageError as error:
                values = {other: value for other, value in values.items() if other != path}
                errors: dict[str, Any] = overlay.errors | {path: error.message}
                overlay = replace(apply_stored_settings(self._base, values, secrets), errors=errors)
        return overlay

    async def _build_row(self, path: str, value: Any, person: str) -> StoredSetting:
        is_secret = path.startswith(SECRET_PREFIX) or path in ENCRYPTED_SETTINGS
        text = value.strip() if path.startswith(SECRET_PREFIX) else json.dumps(value)
        kept = await asyncio.to_thread(self._secret_box.encrypt, text) if is_secret else value
        return StoredSetting(path=path, value=kept, is_secret=is_secret, by=person, at=self._clock.now())

    def _build_change(self, path: str, value: Any) -> SettingChange | None:
        """Return what storing the value changes; None where it is stored already."""
        if path.startswith(SECRET_PREFIX):
            before = "set" if self._stored.secrets.get(path.removeprefix(SECRET_PREFIX)) else "not set"
            return SettingChange(path=path, before=before, after="changed")
        if path in self._stored.values and self._stored.values[path] == value:
            return None
        after = apply_stored_settings(self._base, self._stored.values | {path: value}, {}).settings
        return SettingChange(
            path=path, before=self._format_value(path, self.current), after=self._format_value(path, after)
        )

    def _format_value(self, path: str, settings: Settings, removed: Collection[str] = ()) -> Any:
        if path.startswith(SECRET_PREFIX):
            is_set = path.removeprefix(SECRET_PREFIX) in self._stored.secrets and path not in removed
            return "set" if is_set else "not set"
        return get_display_value(path, settings) if path in get_setting_infos() else None

    def _resolve_path(self, path: str) -> str:
        """Return the path under which it is stored."""
        if path == "llm.api_key":
            return SECRET_PREFIX + self.current.llm.api_key_env
        service = re.fullmatch(r"search\.backends\.(\w+)\.api_key", path)
        variable = self.current.search.get_key_variable(service[1]) if service else None
        return SECRET_PREFIX + variable if variable else path

    def _build_schema(self, setting: SettingInfo, environment: Mapping[str, Any]) -> SettingSchema:
        path = setting.path
        origin = get_setting_origin(path, self._base, self._stored.values, environment)
        at_start = self._startup_values or {}
        is_waiting = (
            _needs_restart(path) and origin != "environment" and self._stored.values.get(path) != at_start.get(path)
        )
        after = apply_stored_settings(self._base, self._stored.values, {}).settings if is_waiting else self.current
        return SettingSchema(
            path=path,
            value=get_display_value(path, after),
            origin=origin,
            default=setting.default,
            description=setting.field.description or "",
            is_storable=setting.not_storable_reason is None and origin != "environment",
            needs_restart=setting.needs_restart,
            waits_for_restart=is_waiting,
            complaint=self._stored.complaints.get(path),
        )


def _decode_rows(rows: Sequence[StoredSetting], secret_box: SecretBox) -> _StoredSettings:
    """Decode the rows; those whose key is missing become complaints."""
    stored = _StoredSettings()
    for row in rows:
        try:
            text = secret_box.decrypt(str(row.value)) if row.is_secret else ""
        except UsageError as error:
            stored.complaints[row.path] = error.message
            continue
        if row.path.startswith(SECRET_PREFIX):
            stored.secrets[row.path.removeprefix(SECRET_PREFIX)] = text
        else:
            stored.values[row.path] = json.loads(text) if row.is_secret else row.value
    return stored


def _find_secret_problem(path: str, value: Any) -> Message | None:
    if not _SECRET_NAME_PATTERN.fullmatch(path.removeprefix(SECRET_PREFIX)):
        return Message("settings.bad_secret_name")
    if not isinstance(value, str) or not value.strip():
        return Message("settings.empty_secret")
    if len(value) > _MAX_SECRET_CHARS or not value.strip().isprintable() or sanitize_text(value) != value:
        return _INVALID_SECRET
    return None


def _needs_restart(path: str) -> bool:
    setting = get_setting_infos().get(path)
    return setting is not None and setting.needs_restart


@cache
def load_prompts() -> Mapping[str, Prompt]:
    """Return every prompt, by name, in the order of the work."""
    from monitor.briefing.overview import OVERVIEW_PROMPTS
    from monitor.ranking.prompt import RANKING_PROMPTS
    from monitor.research.prompts import RESEARCH_PROMPTS
    from monitor.sweep.prompts import SWEEP_PROMPTS

    prompts = (*SWEEP_PROMPTS, *RANKING_PROMPTS, *OVERVIEW_PROMPTS, *RESEARCH_PROMPTS)
    return {prompt.name: prompt for prompt in prompts}


class PromptSchema(MessageModel):
    """A prompt. `text` is the wording in use, `ours` the built-in one; `complaint` is why a stored one is not used."""

    name: str
    language: str
    text: str
    ours: str
    is_adjusted: bool
    required: list[str]
    optional: list[str]
    by: str | None = None
    complaint: Message | None = None


class PromptService:
    """Stores the prompts that administrators put in place of the built-in ones. A run uses those at its start."""

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._audit = AuditService(store=store, clock=clock)

    async def load_active(self) -> PromptSet:
        """Return the prompts in use; a stored one that is no longer valid, after an upgrade, is left out."""
        adjusted = {}
        for row in await self._store.prompts.list_all():
            complaint = _find_problem(row)
            if complaint is None:
                adjusted[row.name] = row.text
            else:
                _log.warning("stored prompt not used", prompt=row.name, reason=render(complaint, "en"))
        return PromptSet(adjusted)

    async def list_prompts(self) -> list[PromptSchema]:
        rows = {row.name: row for row in await self._store.prompts.list_all()}
        return [_build_prompt_schema(prompt, rows.get(name)) for name, prompt in load_prompts().items()]

    async def get(self, name: str) -> PromptSchema:
        prompt = _get_prompt(name)
        rows = {row.name: row for row in await self._store.prompts.list_all()}
        return _build_prompt_schema(prompt, rows.get(name))

    async def put(self, name: str, text: str, *, by: Actor) -> PromptSchema:
        """Use this wording from the next run on; `UsageError` where a placeholder is missing or unknown."""
        by.require(Role.ADMIN)
        prompt = _get_prompt(name)
        text = sanitize_text(text.replace("\r\n", "\n"))
        prompt.check(text)
        async with self._store.transaction():
            before = await self.get(name)
            if text.strip() == prompt.text.strip():
                await self._store.prompts.delete(name)
            else:
                await self._store.prompts.save(StoredPrompt(name=name, text=text, by=by.name, at=self._clock.now()))
            after = await self.get(name)
            if after.text != before.text:
                action = AuditAction.PROMPT_CHANGE
                await self._audit.record(by, action, name, before=before.text, after=after.text)
        return after

    async def reset(self, name: str, *, by: Actor) -> PromptSchema:
        """Use the built-in wording again; `NotFound` where it is in use."""
        by.require(Role.ADMIN)
        async with self._store.transaction():
            before = await self.get(name)
            if not await self._store.prompts.delete(name):
                raise NotFound("prompt.not_adjusted", prompt=name)
            after = await self.get(name)
            await self._audit.record(by, AuditAction.PROMPT_BACK, name, before=before.text, after=after.text)
        return after


def _get_prompt(name: str) -> Prompt:
    prompts = load_prompts()
    if name not in prompts:
        raise NotFound("prompt.not_found", prompt=name, known=list(prompts))
    return prompts[name]


def _find_problem(row: StoredPrompt) -> Message | None:
    try:
        _get_prompt(row.name).check(row.text)
    except UsageError as error:
        return error.message
    return None


def _build_prompt_schema(prompt: Prompt, row: StoredPrompt | None) -> PromptSchema:
    complaint = _find_problem(row) if row is not None else None
    is_adjusted = row is not None and complaint is None
    return PromptSchema(
        name=prompt.name,
        language=prompt.language,
        text=row.text if row is not None and is_adjusted else prompt.text,
        ours=prompt.text,
        is_adjusted=is_adjusted,
        required=sorted(prompt.required),
        optional=sorted(prompt.optional),
        by=row.by if row is not None and is_adjusted else None,
        complaint=complaint,
    )
