"""Settings and secrets: what holds, where it comes from, and what administrators store."""

import asyncio
import base64
import hashlib
import hmac
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet, InvalidToken
from pydantic import BaseModel, Field

from monitor.config.model import Settings
from monitor.config.secrets import StoredSecret
from monitor.config.stored import (
    ENCRYPTED_SETTINGS,
    SECRET_PREFIX,
    Origin,
    Overlay,
    SecretReader,
    SettingInfo,
    apply_stored_settings,
    collect_hosts,
    find_storage_error,
    get_display_value,
    get_setting_infos,
    get_setting_origin,
    list_secret_readers,
    read_environment,
)
from monitor.config.targets import TargetSettings
from monitor.db.sessions import sanitize_text
from monitor.db.tables.collection import Source
from monitor.db.tables.people import StoredSetting
from monitor.errors import UsageError
from monitor.fetch.log_in import LogIn
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.logs import get_logger
from monitor.services.audit import Actor, AuditAction, AuditedService, AuditRecord
from monitor.services.sources.secrets import bind_source_secrets, build_log_in, find_shared_secret, list_source_readers
from monitor.vocabulary import Role

SettingCheck = Callable[[Settings], object]
"""Raises `UsageError` where stored settings would not work."""

KEY_VARIABLE = "MONITOR_SECRET_KEY"
KEY_FILE = "secret.key"
_KEY_SALT = b"monitor: stored secrets"
_FINGERPRINT_PURPOSE = b"monitor: fingerprint of "
_FINGERPRINT_CHARS = 8
_OTHERS_MODE = stat.S_IRWXG | stat.S_IRWXO


class SecretBox:
    """Encrypts and decrypts with Fernet; `UsageError` says what is wrong with a key.

    The key is MONITOR_SECRET_KEY: a Fernet key, or a passphrase from which one is derived. Where it is not set, the
    key is in a file of the data folder that only its owner may read, created with the first secret.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / KEY_FILE
        self._keys: dict[str, bytes] = {}

    def encrypt(self, secret: str) -> str:
        return Fernet(self._load_key(may_create=True)).encrypt(secret.encode()).decode()

    def decrypt(self, encrypted: str) -> str:
        """Return the secret; `UsageError` where it was encrypted with another key."""
        try:
            return Fernet(self._load_key(may_create=False)).decrypt(encrypted.encode()).decode()
        except (InvalidToken, ValueError):
            raise UsageError("secret.other_key", variable=KEY_VARIABLE, file=str(self._file)) from None

    def compute_fingerprint(self, secret: str) -> str:
        """Return eight hexadecimal digits by which two secrets can be told apart, and no secret be guessed.

        They are of an HMAC with the box's key: whoever reads the audit alone cannot try secrets against them.
        """
        key = base64.urlsafe_b64decode(self._load_key(may_create=True))
        return hmac.new(key, _FINGERPRINT_PURPOSE + secret.encode(), hashlib.sha256).hexdigest()[:_FINGERPRINT_CHARS]

    def _load_key(self, *, may_create: bool) -> bytes:
        text = os.environ.get(KEY_VARIABLE, "").strip()
        if not text:
            if may_create and not self._file.exists():
                self._create_key_file()
            text = self._read_key_file()
        if text not in self._keys:
            self._keys[text] = _derive_key(text)
        return self._keys[text]

    def _read_key_file(self) -> str:
        try:
            mode = self._file.stat().st_mode
            if mode & _OTHERS_MODE:
                raise UsageError("secret.key_file_open", file=str(self._file), mode=f"{stat.S_IMODE(mode):o}")
            return self._file.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            raise UsageError("secret.no_key", variable=KEY_VARIABLE, file=str(self._file)) from None
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError("secret.key_file_unreadable", file=str(self._file), reason=str(error)) from None

    def _create_key_file(self) -> None:
        """Write a new key; of several processes that do so at once, the first one wins."""
        part = self._file.with_name(f"{KEY_FILE}.{os.getpid()}.part")
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "wb") as opened:
                opened.write(Fernet.generate_key())
                opened.flush()
                os.fsync(opened.fileno())
            with suppress(FileExistsError):
                os.link(part, self._file)
        except OSError as error:
            raise UsageError("secret.key_file_not_written", file=str(self._file), reason=str(error)) from None
        finally:
            part.unlink(missing_ok=True)


def _derive_key(text: str) -> bytes:
    """Return the text if it is a Fernet key, else a key derived slowly, so that a passphrase cannot be guessed."""
    try:
        if len(base64.b64decode(text.encode(), altchars=b"-_", validate=True)) == 32:
            return text.encode()
    except ValueError:
        pass
    made = hashlib.scrypt(text.encode(), salt=_KEY_SALT, n=2**15, r=8, p=1, maxmem=2**26, dklen=32)
    return base64.urlsafe_b64encode(made)


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
    """A secret by the environment variable that it stands for; its value is never shown.

    `origin` says where the secret in use comes from; `is_stored`, whether there is a stored one, in use or not. `hosts`
    are those that it was entered for. Version 0.1.0 kept none: `is_host_assumed` marks a secret
    that was bound at the upgrade to the hosts that it was then used for.
    """

    name: str
    is_set: bool
    origin: Origin | None
    used_by: str
    is_stored: bool = False
    hosts: list[str] = Field(default_factory=list)
    is_host_assumed: bool = False
    complaint: Message | None = None


class SettingChange(BaseModel):
    """A change of a setting; of a secret, its fingerprint and hosts."""

    path: str
    before: Any
    after: Any


class InvalidSettings(UsageError):
    def __init__(self, complaints: Mapping[str, Message]) -> None:
        self.complaints = complaints
        super().__init__(_join_complaints("settings.complaint", complaints))


def _join_complaints(code: str, complaints: Mapping[str, Message]) -> Message:
    return join_messages([Message.of(code, path=path, complaint=complaint) for path, complaint in complaints.items()])


def join_messages(messages: Sequence[Message]) -> Message:
    return reduce(lambda first, rest: Message.of("settings.complaints", first=first, rest=rest), messages)


@dataclass
class _StoredSettings:
    values: dict[str, Any] = field(default_factory=dict)
    secrets: dict[str, StoredSecret] = field(default_factory=dict)
    complaints: dict[str, Message] = field(default_factory=dict)
    assumed: set[str] = field(default_factory=set)


@dataclass(kw_only=True)
class SettingsService(AuditedService):
    """Overlays stored values between file and environment (`base`); `checks` raise `UsageError` by setting path."""

    base: Settings
    secret_box: SecretBox
    checks: Mapping[str, SettingCheck]

    def __post_init__(self) -> None:
        self.current = self.base.model_copy()
        self._stored = _StoredSettings()
        self._startup_values: dict[str, Any] | None = None
        self._loaded_stamps: object = None

    async def load(self) -> Settings:
        """Apply what is stored to `current`; what cannot be used is left out and logged."""
        self._loaded_stamps = await self.store.settings.load_timestamps()
        rows = await self.store.settings.list_all()
        self._stored = stored = await asyncio.to_thread(_decode_rows, rows, self.secret_box)
        if self._startup_values is None:
            self._startup_values = {path: value for path, value in stored.values.items() if _needs_restart(path)}
        running = {path: value for path, value in stored.values.items() if not _needs_restart(path)}
        running |= self._startup_values
        overlay = self._build_overlay(running, stored.secrets)
        if await self._bind_unbound(rows, overlay.settings):
            return await self.load()
        stored.complaints |= overlay.errors
        stored.values = {path: value for path, value in stored.values.items() if _is_storable(path)}
        for path, complaint in stored.complaints.items():
            _log.warning("stored setting not used", setting=path, reason=render(complaint, "en"))
        self.current.update_from(overlay.settings)
        return self.current

    async def _bind_unbound(self, rows: Sequence[StoredSetting], settings: Settings) -> bool:
        """Bind the secrets of version 0.1.0, which have no hosts, to those that they are used for now."""
        unbound = [row.path for row in rows if row.path.startswith(SECRET_PREFIX) and row.hosts is None]
        hosts = collect_hosts(list_secret_readers(settings))
        bound = {path: sorted(hosts.get(path.removeprefix(SECRET_PREFIX), ())) for path in unbound}
        if bound:
            await self.store.settings.bind(bound)
            _log.warning("stored secrets bound to hosts", **{path: " ".join(hosts) for path, hosts in bound.items()})
        return bool(bound)

    async def reload_if_changed(self) -> None:
        if await self.store.settings.load_timestamps() != self._loaded_stamps:
            await self.load()
            _log.info("settings reloaded")

    def list_settings(self) -> list[SettingSchema]:
        environment = read_environment()
        return [self._build_schema(setting, environment) for setting in get_setting_infos().values()]

    def build_log_in(self, source: Source) -> LogIn | None:
        """Return how a source is logged in to, with the secrets that are for its hosts; None for one without steps."""
        return build_log_in(source, bind_source_secrets(self._stored.secrets, self.base.sources))

    async def _list_source_readers(self) -> list[SecretReader]:
        secrets = bind_source_secrets(self._stored.secrets, self.base.sources)
        return list_source_readers([source.model_dump() for source in await self.store.sources.list()], secrets)

    async def list_secrets(self) -> list[SecretSettingSchema]:
        readers: dict[str, list[SecretReader]] = {}
        for reader in [*list_secret_readers(self.current), *await self._list_source_readers()]:
            readers.setdefault(reader.variable, []).append(reader)
        unreadable = [
            path.removeprefix(SECRET_PREFIX) for path in self._stored.complaints if path.startswith(SECRET_PREFIX)
        ]
        return [
            self._build_secret_schema(name, readers.get(name, []))
            for name in dict.fromkeys([*readers, *self._stored.secrets, *unreadable])
        ]

    def _build_secret_schema(self, name: str, readers: Sequence[SecretReader]) -> SecretSettingSchema:
        origins = [reader.secrets.get_origin(name, reader.host) for reader in readers]
        origin = next((origin for origin in origins if origin), None)
        problems = (reader.secrets.describe_problem(name, reader.host) for reader in readers)
        problem = next((problem for problem in problems if problem is not None), None)
        if origin is None:
            problem = self._stored.complaints.get(SECRET_PREFIX + name) or problem
        stored = self._stored.secrets.get(name, StoredSecret(""))
        return SecretSettingSchema(
            name=name,
            is_set=origin is not None,
            origin=origin,
            used_by=readers[0].used_by if readers else "",
            is_stored=name in self._stored.secrets or SECRET_PREFIX + name in self._stored.complaints,
            hosts=sorted(stored.hosts),
            is_host_assumed=name in self._stored.assumed,
            complaint=problem,
        )

    def describe_stored(self) -> Message:
        if self._stored.complaints:
            raise UsageError(_join_complaints("settings.stored_complaint", self._stored.complaints))
        values, secrets = sorted(self._stored.values), sorted(self._stored.secrets)
        if not values and not secrets:
            return Message("settings.nothing_stored")
        names = [*values, *(Message.of("settings.stored_secret", name=name) for name in secrets)]
        return Message.of("settings.stored", names=names)

    async def update(
        self, values: Mapping[str, Any], *, by: Actor, record: AuditRecord | None = None
    ) -> list[SettingChange]:
        """Store the values, by path, all or none; `InvalidSettings` says why not, for each one that is wrong.

        `secrets.NAME` is the secret that stands for a variable, `llm.api_key` and `search.backends.….api_key` the one
        that is read there; it is bound to the hosts that it is then used for. What takes effect while running does so
        at once. The audit gets `record`, where there is one, instead of every change.
        """
        by.require(Role.ADMIN)
        wanted = {self._resolve_path(path): value for path, value in values.items()}
        settings, secrets = self._validate(wanted, await self._list_source_readers())
        wanted = {path: value for path, value in wanted.items() if not self._is_stored(path, value)}
        rows = [await self._build_row(path, value, by.name, secrets) for path, value in wanted.items()]
        changes = [await asyncio.to_thread(self._build_change, path, settings, secrets) for path in wanted]
        async with self.store.transaction():
            await self.store.settings.change(rows)
            if record is not None:
                await self.record(by, record.action, record.subject, **record.detail)
            for change in changes if record is None else ():
                await self.record(
                    by, AuditAction.SETTINGS_CHANGE, change.path, before=change.before, after=change.after
                )
        if changes:
            await self.load()
        return changes

    async def reset(self, paths: Iterable[str], *, by: Actor) -> list[SettingChange]:
        by.require(Role.ADMIN)
        named = (SECRET_PREFIX + name for name in self._stored.secrets)
        known = {*self._stored.values, *self._stored.complaints, *named}
        stored = [path for path in map(self._resolve_path, paths) if path in known]
        values = {path: value for path, value in self._stored.values.items() if path not in stored}
        secrets = {name: kept for name, kept in self._stored.secrets.items() if SECRET_PREFIX + name not in stored}
        after = self._build_overlay(values, secrets).settings
        changes = [await asyncio.to_thread(self._build_change, path, after, secrets) for path in stored]
        async with self.store.transaction():
            await self.store.settings.change([], deleted_paths=stored)
            for change in changes:
                await self.record(
                    by, AuditAction.SETTINGS_FORGET, change.path, before=change.before, after=change.after
                )
        await self.load()
        return changes

    def _validate(
        self, wanted: Mapping[str, Any], source_readers: Sequence[SecretReader]
    ) -> tuple[Settings, dict[str, StoredSecret]]:
        """Return the settings and secrets as they will be.

        Raises `InvalidSettings` for values that are wrong in themselves, in type and limits, or with all the rest.
        """
        secrets = {path: value for path, value in wanted.items() if path.startswith(SECRET_PREFIX)}
        values = {path: value for path, value in wanted.items() if path not in secrets}
        for find_problem, group in ((_find_secret_problem, secrets), (find_storage_error, values)):
            problems = {path: found for path, value in group.items() if (found := find_problem(path, value))}
            if problems:
                raise InvalidSettings(problems)
        in_headers = {SECRET_PREFIX + reader.variable for reader in list_secret_readers(self.current) if reader.is_key}
        for path, value in secrets.items():
            if path in in_headers and not value.isascii():
                raise InvalidSettings({path: _INVALID_SECRET})
        overlay = self._build_overlay(self._stored.values | values, self._stored.secrets)
        if problems := {path: found for path, found in overlay.errors.items() if path in values}:
            raise InvalidSettings(problems)
        readers = [*list_secret_readers(overlay.settings), *source_readers]
        hosts = collect_hosts(readers)
        named = {path.removeprefix(SECRET_PREFIX): value.strip() for path, value in secrets.items()}
        if shared := {SECRET_PREFIX + name: found for name in named if (found := find_shared_secret(name, readers))}:
            raise InvalidSettings(shared)
        if homeless := [name for name in named if not hosts.get(name)]:
            raise InvalidSettings(
                {SECRET_PREFIX + name: Message.of("settings.secret_without_host", variable=name) for name in homeless}
            )
        entered = {name: StoredSecret(value, hosts[name]) for name, value in named.items()}
        return overlay.settings, self._stored.secrets | entered

    def _build_overlay(self, values: Mapping[str, Any], secrets: Mapping[str, StoredSecret]) -> Overlay:
        """The settings with these values; those that a check is against are left out with its complaint."""
        overlay = apply_stored_settings(self.base, values, secrets)
        for path, check in self.checks.items():
            if path not in values:
                continue
            try:
                check(overlay.settings)
            except UsageError as error:
                values = {other: value for other, value in values.items() if other != path}
                errors = overlay.errors | {path: error.message}
                overlay = replace(apply_stored_settings(self.base, values, secrets), errors=errors)
        return overlay

    async def _build_row(
        self, path: str, value: Any, person: str, secrets: Mapping[str, StoredSecret]
    ) -> StoredSetting:
        secret = secrets[path.removeprefix(SECRET_PREFIX)] if path.startswith(SECRET_PREFIX) else None
        is_secret = secret is not None or path in ENCRYPTED_SETTINGS
        text = secret.value if secret is not None else json.dumps(value)
        kept = await asyncio.to_thread(self.secret_box.encrypt, text) if is_secret else value
        hosts = sorted(secret.hosts) if secret is not None else None
        return StoredSetting(path=path, value=kept, is_secret=is_secret, hosts=hosts, by=person, at=self.clock.now())

    def _is_stored(self, path: str, value: Any) -> bool:
        return path in self._stored.values and bool(self._stored.values[path] == value)

    def _build_change(self, path: str, settings: Settings, secrets: Mapping[str, StoredSecret]) -> SettingChange:
        before = self._format_value(path, self.current, self._stored.secrets)
        return SettingChange(path=path, before=before, after=self._format_value(path, settings, secrets))

    def _format_value(self, path: str, settings: Settings, secrets: Mapping[str, StoredSecret]) -> Any:
        """Return a value as the audit may keep it: of secrets, and of addresses that hold them, the fingerprint."""
        if path.startswith(SECRET_PREFIX):
            secret = secrets.get(path.removeprefix(SECRET_PREFIX))
            if secret is None:
                return None
            return {"fingerprint": self.secret_box.compute_fingerprint(secret.value), "hosts": sorted(secret.hosts)}
        if path == "deliver.targets":
            return [self.describe_target(target) for target in settings.deliver.targets]
        return get_display_value(path, settings) if path in get_setting_infos() else None

    def describe_target(self, target: TargetSettings) -> dict[str, Any]:
        """Return a target as the audit may keep it: of its address the host, and the fingerprint of the whole."""
        address = {"url": target.shown, "url_fingerprint": self.secret_box.compute_fingerprint(target.url)}
        return target.model_dump(mode="json", exclude_unset=True) | address

    def _resolve_path(self, path: str) -> str:
        if path == "llm.api_key":
            return SECRET_PREFIX + self.current.llm.api_key_env
        service = re.fullmatch(r"search\.backends\.(\w+)\.api_key", path)
        variable = self.current.search.get_key_variable(service[1]) if service else None
        return SECRET_PREFIX + variable if variable else path

    def _build_schema(self, setting: SettingInfo, environment: Mapping[str, Any]) -> SettingSchema:
        path = setting.path
        origin = get_setting_origin(path, self.base, self._stored.values, environment)
        at_start = self._startup_values or {}
        is_waiting = (
            _needs_restart(path) and origin != "environment" and self._stored.values.get(path) != at_start.get(path)
        )
        after = apply_stored_settings(self.base, self._stored.values, {}).settings if is_waiting else self.current
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
            name = row.path.removeprefix(SECRET_PREFIX)
            stored.secrets[name] = StoredSecret(text, frozenset(row.hosts or ()))
            stored.assumed |= {name} if row.is_host_assumed else set()
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


def _is_storable(path: str) -> bool:
    setting = get_setting_infos().get(path)
    return setting is not None and setting.not_storable_reason is None


def _needs_restart(path: str) -> bool:
    setting = get_setting_infos().get(path)
    return setting is not None and setting.needs_restart
