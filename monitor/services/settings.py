"""The use cases of the Settings page: what holds and who says so, what an administrator stored, and its secrets."""

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
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
from monitor.llm.prompts import Prompt, PromptSet
from monitor.logs import get_logger
from monitor.services.secrets import SecretBox

SettingCheck = Callable[[Settings], object]

MODEL_PHASES = ("navigate", "crawl", "summarise", "rank", "plan", "search", "modeling", "report")

_PROXY_SCHEMES = ("http", "https", "socks4", "socks5", "socks5h")

_HOST_PATTERN = re.compile(r"(\[[0-9a-f:.]+\]|[\w.-]+)(:\d{1,5})?", re.IGNORECASE)


def _check_proxy(settings: Settings) -> None:
    if settings.network.proxy is not None and not _is_url(settings.network.proxy, _PROXY_SCHEMES):
        raise UsageError(f"It is no address of a proxy: write {', '.join(f'{one}://…' for one in _PROXY_SCHEMES)}.")


def _check_browser(settings: Settings) -> None:
    endpoint = settings.pages.browser.endpoint
    if endpoint is not None and not _is_url(endpoint, ("ws", "wss", "http", "https")):
        raise UsageError("It is no address of a browser: write it as ws://host:port.")


def _check_public_url(settings: Settings) -> None:
    if settings.web.public_url is not None and not _is_url(settings.web.public_url, ("http", "https")):
        raise UsageError("It is no web address: write it as https://monitor.example.org.")


def _check_hosts(settings: Settings) -> None:
    for host in settings.network.allowed_private_hosts:
        if not _HOST_PATTERN.fullmatch(host.strip()):
            raise UsageError(f"{host!r} is no host: write it as 10.0.0.5 or 10.0.0.5:8099.")


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
            raise UsageError(f"{phase!r} is no phase, or has no model: the phases are {', '.join(MODEL_PHASES)}.")


def _check_model(settings: Settings) -> None:
    if not settings.llm.model.strip():
        raise UsageError("Name a model.")


def _check_endpoint(settings: Settings) -> None:
    from monitor.llm.clients import check_endpoint

    check_endpoint(settings.llm)


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

_INVALID_KEY_MESSAGE = "It holds characters that no key or password has; copy it again."

_log = get_logger("settings")


class SettingSchema(BaseModel):
    """A setting as it stands. `waits_for_restart`: what was stored holds in this process when it is started anew."""

    path: str
    value: Any
    origin: Origin
    default: Any
    description: str
    is_storable: bool
    needs_restart: bool
    waits_for_restart: bool = False
    complaint: str | None = None


class SecretSettingSchema(BaseModel):
    """A secret by the environment variable that it stands for; what it is is never told."""

    name: str
    is_set: bool
    origin: Origin | None
    used_by: str
    complaint: str | None = None


class SettingChange(BaseModel):
    """What was changed, for the audit: of secrets, only that they were."""

    path: str
    before: Any
    after: Any


class InvalidSettings(UsageError):
    """Settings that are not stored; `complaints` hold a sentence for each, by its path."""

    def __init__(self, complaints: Mapping[str, str]) -> None:
        super().__init__(" ".join(f"{path}: {sentence}" for path, sentence in complaints.items()))
        self.complaints = dict(complaints)


class _StoredSettings(BaseModel):
    """The rows as they are meant: values by path, secrets by variable, complaints by path."""

    values: dict[str, Any] = {}
    secrets: dict[str, str] = {}
    complaints: dict[str, str] = {}


class SettingsService:
    """Lays what was stored between the file and the environment, and keeps `current` up to date with it.

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
        self._stored = _StoredSettings()
        self._startup_values: dict[str, Any] | None = None
        self._loaded_stamps: object = None

    async def load(self) -> Settings:
        """Let what is stored hold from now on; what cannot be used is left out, and the log says so."""
        self._loaded_stamps = await self._store.settings.load_timestamps()
        rows = await self._store.settings.list_all()
        self._stored = stored = await asyncio.to_thread(_decode_rows, rows, self._secret_box)
        if self._startup_values is None:
            self._startup_values = {path: value for path, value in stored.values.items() if _needs_restart(path)}
        running = {
            path: value for path, value in stored.values.items() if not _needs_restart(path)
        } | self._startup_values
        overlay = self._build_overlay(running, stored.secrets)
        stored.complaints |= {path: render(error, "en") for path, error in overlay.errors.items()}
        for path, sentence in stored.complaints.items():
            _log.warning("stored setting not used", setting=path, reason=sentence)
        self.current.update_from(overlay.settings)
        return self.current

    async def reload_if_changed(self) -> None:
        """Take over what another process stored, if any did."""
        if await self._store.settings.load_timestamps() != self._loaded_stamps:
            await self.load()
            _log.info("settings taken over")

    def list_settings(self) -> list[SettingSchema]:
        """Every setting, in the order of the file."""
        outside = read_environment()
        return [self._build_schema(place, outside) for place in get_setting_infos().values()]

    def list_secrets(self) -> list[SecretSettingSchema]:
        """Every secret that a setting names or that is stored, whether it is there or not."""
        readers = list_secret_readers(self.current)
        spoiled = [
            path.removeprefix(SECRET_PREFIX) for path in self._stored.complaints if path.startswith(SECRET_PREFIX)
        ]
        found = []
        for name in dict.fromkeys([*readers, *self._stored.secrets, *spoiled]):
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

    def describe_stored(self) -> str:
        """In a sentence, what is stored; `UsageError` where some of it cannot be used."""
        if self._stored.complaints:
            raise UsageError(
                " ".join(f"{path}, which is stored: {said}" for path, said in self._stored.complaints.items())
            )
        values, secrets = sorted(self._stored.values), sorted(self._stored.secrets)
        if not values and not secrets:
            return "nothing is stored on the Settings page"
        return f"stored on the Settings page: {', '.join([*values, *(f'the secret {name}' for name in secrets)])}"

    async def update(self, values: Mapping[str, Any], *, by: str) -> list[SettingChange]:
        """Store the values, by path, all or none; `InvalidSettings` says why not, for each one that is wrong.

        `secrets.NAME` is the secret that stands for a variable, `llm.api_key` and `search.backends.….api_key` the one
        that is read there. What takes effect while running does so at once.
        """
        wanted = {self._resolve_path(path): value for path, value in values.items()}
        self._validate(wanted)
        changes = [change for path, value in wanted.items() if (change := self._build_change(path, value)) is not None]
        changed = {change.path for change in changes}
        await self._save_values({path: value for path, value in wanted.items() if path in changed}, by)
        return changes

    async def reset(self, paths: Iterable[str]) -> list[SettingChange]:
        """Let the file and the defaults hold again; a path that is not stored is passed over."""
        known = {
            *self._stored.values,
            *self._stored.complaints,
            *(SECRET_PREFIX + name for name in self._stored.secrets),
        }
        meant = [path for path in map(self._resolve_path, paths) if path in known]
        before = {path: self._format_value(path, self.current) for path in meant}
        await self._store.settings.change([], deleted_paths=meant)
        await self.load()
        return [
            SettingChange(path=path, before=before[path], after=self._format_value(path, self.current))
            for path in meant
        ]

    def _validate(self, wanted: Mapping[str, Any]) -> None:
        """`InvalidSettings` for what cannot be stored: by itself, by its type and limits, or with all the rest."""
        for complain, is_about_secrets in ((_find_secret_problem, True), (_find_storage_problem, False)):
            mine = {path: value for path, value in wanted.items() if path.startswith(SECRET_PREFIX) is is_about_secrets}
            if complaints := {path: said for path, value in mine.items() if (said := complain(path, value))}:
                raise InvalidSettings(complaints)
        readers = list_secret_readers(self.current)
        for path, value in wanted.items():
            used_by, _ = readers.get(path.removeprefix(SECRET_PREFIX), ("", None))
            if used_by.startswith(("llm", "search.")) and not value.isascii():  # it travels in a header
                raise InvalidSettings({path: _INVALID_KEY_MESSAGE})
        values = {path: value for path, value in wanted.items() if not path.startswith(SECRET_PREFIX)}
        secrets = {
            path.removeprefix(SECRET_PREFIX): value for path, value in wanted.items() if path.startswith(SECRET_PREFIX)
        }
        overlay = self._build_overlay(self._stored.values | values, self._stored.secrets | secrets)
        if spoiled := {path: render(error, "en") for path, error in overlay.errors.items() if path in values}:
            raise InvalidSettings(spoiled)

    def _build_overlay(self, values: Mapping[str, Any], secrets: Mapping[str, str]) -> Overlay:
        """The settings with these values; those that a check is against are left out with its complaint."""
        overlay = apply_stored_settings(self._base, values, secrets)
        for path, check in self._checks.items():
            if path not in values:
                continue
            try:
                check(overlay.settings)
            except UsageError as error:
                values = {one: value for one, value in values.items() if one != path}
                complaints = overlay.errors | {path: error.message}
                overlay = apply_stored_settings(self._base, values, secrets)
                overlay.errors.update(complaints)
        return overlay

    async def _save_values(self, wanted: Mapping[str, Any], by: str) -> None:
        if not wanted:
            return
        now = self._clock.now()
        rows = []
        for path, value in wanted.items():
            is_secret = path.startswith(SECRET_PREFIX) or path in ENCRYPTED_SETTINGS
            text = value.strip() if path.startswith(SECRET_PREFIX) else json.dumps(value)
            kept = await asyncio.to_thread(self._secret_box.encrypt, text) if is_secret else value
            rows.append(StoredSetting(path=path, value=kept, is_secret=is_secret, by=by, at=now))
        await self._store.settings.change(rows)
        await self.load()

    def _build_change(self, path: str, value: Any) -> SettingChange | None:
        """What storing the value changes; None where it is stored already."""
        if path.startswith(SECRET_PREFIX):
            before = "set" if self._stored.secrets.get(path.removeprefix(SECRET_PREFIX)) else "not set"
            return SettingChange(path=path, before=before, after="changed")
        if path in self._stored.values and self._stored.values[path] == value:
            return None
        after = apply_stored_settings(self._base, self._stored.values | {path: value}, {}).settings
        return SettingChange(
            path=path, before=self._format_value(path, self.current), after=self._format_value(path, after)
        )

    def _format_value(self, path: str, settings: Settings) -> Any:
        if path.startswith(SECRET_PREFIX):
            return "set" if path.removeprefix(SECRET_PREFIX) in self._stored.secrets else "not set"
        return get_display_value(path, settings) if path in get_setting_infos() else None

    def _resolve_path(self, path: str) -> str:
        """The path under which it is stored."""
        if path == "llm.api_key":
            return SECRET_PREFIX + self.current.llm.api_key_env
        service = re.fullmatch(r"search\.backends\.(\w+)\.api_key", path)
        variable = self.current.search.get_key_variable(service[1]) if service else None
        return SECRET_PREFIX + variable if variable else path

    def _build_schema(self, place: SettingInfo, environment: Mapping[str, Any]) -> SettingSchema:
        path = place.path
        origin = get_setting_origin(path, self._base, self._stored.values, environment)
        begun = self._startup_values or {}
        is_waiting = (
            _needs_restart(path) and origin != "environment" and self._stored.values.get(path) != begun.get(path)
        )
        after = apply_stored_settings(self._base, self._stored.values, {}).settings if is_waiting else self.current
        return SettingSchema(
            path=path,
            value=get_display_value(path, after),
            origin=origin,
            default=place.default,
            description=place.field.description or "",
            is_storable=place.not_storable_reason is None and origin != "environment",
            needs_restart=place.needs_restart,
            waits_for_restart=is_waiting,
            complaint=self._stored.complaints.get(path),
        )


def _decode_rows(rows: Sequence[StoredSetting], secret_box: SecretBox) -> _StoredSettings:
    """What the rows say, as far as their key is at hand."""
    stored = _StoredSettings()
    for row in rows:
        try:
            text = secret_box.decrypt(str(row.value)) if row.is_secret else ""
        except UsageError as error:
            stored.complaints[row.path] = str(error)
            continue
        if row.path.startswith(SECRET_PREFIX):
            stored.secrets[row.path.removeprefix(SECRET_PREFIX)] = text
        else:
            stored.values[row.path] = json.loads(text) if row.is_secret else row.value
    return stored


def _find_storage_problem(path: str, value: Any) -> str | None:
    problem = find_storage_error(path, value)
    return None if problem is None else render(problem, "en")


def _find_secret_problem(path: str, value: Any) -> str | None:
    if not _SECRET_NAME_PATTERN.fullmatch(path.removeprefix(SECRET_PREFIX)):
        return "A secret is named after an environment variable: letters, digits and _."
    if not isinstance(value, str) or not value.strip():
        return "It is empty."
    if len(value) > _MAX_SECRET_CHARS or not value.strip().isprintable() or sanitize_text(value) != value:
        return _INVALID_KEY_MESSAGE
    return None


def _needs_restart(path: str) -> bool:
    place = get_setting_infos().get(path)
    return place is not None and place.needs_restart


@cache
def load_prompts() -> Mapping[str, Prompt]:
    """Return every wording, by name, in the order of the work."""
    from monitor.briefing.overview import OVERVIEW_PROMPTS
    from monitor.ranking.prompt import RANKING_PROMPTS
    from monitor.research.prompts import RESEARCH_PROMPTS
    from monitor.sweep.prompts import SWEEP_PROMPTS

    prompts = (*SWEEP_PROMPTS, *RANKING_PROMPTS, *OVERVIEW_PROMPTS, *RESEARCH_PROMPTS)
    return {prompt.name: prompt for prompt in prompts}


_log = get_logger("prompts")


class PromptSchema(BaseModel):
    """A wording. `text` is the one that holds; `complaint` says why a stored one does not."""

    name: str
    language: str
    text: str
    ours: str
    is_adjusted: bool
    required: list[str]
    optional: list[str]
    by: str | None = None
    complaint: str | None = None


class PromptService:
    """Keeps the wordings that administrators put in place of ours. A run takes those that hold when it begins."""

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def load_active(self) -> PromptSet:
        """The wordings that hold now; one that cannot do its work any more, after an upgrade, gives way to ours."""
        adjusted = {}
        for row in await self._store.prompts.list_all():
            complaint = _find_problem(row)
            if complaint is None:
                adjusted[row.name] = row.text
            else:
                _log.warning("stored wording not used", prompt=row.name, reason=complaint)
        return PromptSet(adjusted)

    async def list_prompts(self) -> list[PromptSchema]:
        rows = {row.name: row for row in await self._store.prompts.list_all()}
        return [_build_prompt_schema(prompt, rows.get(name)) for name, prompt in load_prompts().items()]

    async def get(self, name: str) -> PromptSchema:
        """One wording; `NotFound` where there is none of that name."""
        prompt = _get_prompt(name)
        rows = {row.name: row for row in await self._store.prompts.list_all()}
        return _build_prompt_schema(prompt, rows.get(name))

    async def put(self, name: str, text: str, *, by: str) -> PromptSchema:
        """Let this wording hold from the next run on; `UsageError` where it could not do the work of ours."""
        prompt = _get_prompt(name)
        text = sanitize_text(text.replace("\r\n", "\n"))
        prompt.check(text)
        if text.strip() == prompt.text.strip():
            await self._store.prompts.delete(name)
        else:
            await self._store.prompts.save(StoredPrompt(name=name, text=text, by=by, at=self._clock.now()))
        return await self.get(name)

    async def reset(self, name: str) -> bool:
        """Let ours hold again; False where it did."""
        return await self._store.prompts.delete(_get_prompt(name).name)


def _get_prompt(name: str) -> Prompt:
    prompts = load_prompts()
    if name not in prompts:
        raise NotFound(f"There is no prompt {name!r}; known are {', '.join(prompts)}.")
    return prompts[name]


def _find_problem(row: StoredPrompt) -> str | None:
    try:
        _get_prompt(row.name).check(row.text)
    except UsageError as error:
        return str(error)
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
