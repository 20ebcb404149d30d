"""The use cases of the Settings page: what holds and who says so, what an administrator stored, and its secrets."""

import asyncio
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from monitor.app.sealing import Seal
from monitor.app.setting_checks import Check
from monitor.domain.desk import StoredSetting
from monitor.errors import UsageError
from monitor.logs import logger_of
from monitor.ports import Clock
from monitor.settings import Settings
from monitor.settings.places import SEALED, SECRETS, Place, places, shown
from monitor.settings.stored import (
    Origin,
    Overlay,
    complaint_about,
    environment_values,
    origin_of,
    overlaid,
    readers_of_secrets,
)
from monitor.store import Store
from monitor.store.sessions import storable

_SECRET_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,79}")
_MOST_CHARS = 4000
_NO_KEY = "It holds characters that no key or password has; copy it again."
_log = logger_of("settings")


class SettingWire(BaseModel):
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


class SecretWire(BaseModel):
    """A secret by the environment variable that it stands for; what it is is never told."""

    name: str
    is_set: bool
    origin: Origin | None
    used_by: str
    complaint: str | None = None


class Change(BaseModel):
    """What was changed, for the audit: of secrets, only that they were."""

    path: str
    before: Any
    after: Any


class Refused(UsageError):
    """Settings that are not stored; `complaints` hold a sentence for each, by its path."""

    def __init__(self, complaints: Mapping[str, str]) -> None:
        super().__init__(" ".join(f"{path}: {sentence}" for path, sentence in complaints.items()))
        self.complaints = dict(complaints)


class _Stored(BaseModel):
    """The rows as they are meant: values by path, secrets by variable, complaints by path."""

    values: dict[str, Any] = {}
    secrets: dict[str, str] = {}
    complaints: dict[str, str] = {}


class SettingsDesk:
    """Lays what was stored between the file and the environment, and keeps `current` up to date with it.

    `base` are the settings of file and environment. `checks` are those of what a group's own model cannot see, by the
    path that they are about; each raises `UsageError`.
    """

    def __init__(self, *, store: Store, base: Settings, seal: Seal, clock: Clock, checks: Mapping[str, Check]) -> None:
        self.current = base.model_copy()
        self._store = store
        self._base = base
        self._seal = seal
        self._clock = clock
        self._checks = checks
        self._stored = _Stored()
        self._at_start: dict[str, Any] | None = None
        self._stamps: object = None

    async def load(self) -> Settings:
        """Let what is stored hold from now on; what cannot be used is left out, and the log says so."""
        self._stamps = await self._store.desk_settings.stamps()
        rows = await self._store.desk_settings.all()
        self._stored = stored = await asyncio.to_thread(_read, rows, self._seal)
        if self._at_start is None:
            self._at_start = {path: value for path, value in stored.values.items() if _waits(path)}
        running = {path: value for path, value in stored.values.items() if not _waits(path)} | self._at_start
        overlay = self._overlaid(running, stored.secrets)
        stored.complaints |= overlay.complaints
        for path, sentence in stored.complaints.items():
            _log.warning("stored setting not used", setting=path, reason=sentence)
        self.current.adopt(overlay.settings)
        return self.current

    async def follow(self) -> None:
        """Take over what another process stored, if any did."""
        if await self._store.desk_settings.stamps() != self._stamps:
            await self.load()
            _log.info("settings taken over")

    def all(self) -> list[SettingWire]:
        """Every setting, in the order of the file."""
        outside = environment_values()
        return [self._wire(place, outside) for place in places().values()]

    def secrets(self) -> list[SecretWire]:
        """Every secret that a setting names or that is stored, whether it is there or not."""
        readers = readers_of_secrets(self.current)
        spoiled = [path.removeprefix(SECRETS) for path in self._stored.complaints if path.startswith(SECRETS)]
        found = []
        for name in dict.fromkeys([*readers, *self._stored.secrets, *spoiled]):
            used_by, group = readers.get(name, ("", None))
            stored: Origin | None = "stored" if name in self._stored.secrets else None
            origin = group.origin_of_secret(name) if group is not None else stored
            complaint = self._stored.complaints.get(SECRETS + name) if origin is None else None
            found.append(
                SecretWire(name=name, is_set=origin is not None, origin=origin, used_by=used_by, complaint=complaint)
            )
        return found

    def summary(self) -> str:
        """In a sentence, what is stored; `UsageError` where some of it cannot be used."""
        if self._stored.complaints:
            raise UsageError(
                " ".join(f"{path}, which is stored: {said}" for path, said in self._stored.complaints.items())
            )
        values, secrets = sorted(self._stored.values), sorted(self._stored.secrets)
        if not values and not secrets:
            return "nothing is stored on the Settings page"
        return f"stored on the Settings page: {', '.join([*values, *(f'the secret {name}' for name in secrets)])}"

    async def change(self, values: Mapping[str, Any], *, by: str) -> list[Change]:
        """Store the values, by path, all or none; `Refused` says why not, for each one that is wrong.

        `secrets.NAME` is the secret that stands for a variable, `llm.api_key` and `search.backends.….api_key` the one
        that is read there. What takes effect while running does so at once.
        """
        wanted = {self._meant(path): value for path, value in values.items()}
        self._check(wanted)
        changes = [change for path, value in wanted.items() if (change := self._change(path, value)) is not None]
        changed = {change.path for change in changes}
        await self._keep({path: value for path, value in wanted.items() if path in changed}, by)
        return changes

    async def forget(self, paths: Iterable[str]) -> list[Change]:
        """Let the file and the defaults hold again; a path that is not stored is passed over."""
        known = {*self._stored.values, *self._stored.complaints, *(SECRETS + name for name in self._stored.secrets)}
        meant = [path for path in map(self._meant, paths) if path in known]
        before = {path: self._shown(path, self.current) for path in meant}
        await self._store.desk_settings.change([], forgotten=meant)
        await self.load()
        return [Change(path=path, before=before[path], after=self._shown(path, self.current)) for path in meant]

    def _check(self, wanted: Mapping[str, Any]) -> None:
        """`Refused` for what cannot be stored: by itself, by its type and limits, or with all the rest."""
        for complain, is_about_secrets in ((_secret_complaint, True), (complaint_about, False)):
            mine = {path: value for path, value in wanted.items() if path.startswith(SECRETS) is is_about_secrets}
            if complaints := {path: said for path, value in mine.items() if (said := complain(path, value))}:
                raise Refused(complaints)
        readers = readers_of_secrets(self.current)
        for path, value in wanted.items():
            used_by, _ = readers.get(path.removeprefix(SECRETS), ("", None))
            if used_by.startswith(("llm", "search.")) and not value.isascii():  # it travels in a header
                raise Refused({path: _NO_KEY})
        values = {path: value for path, value in wanted.items() if not path.startswith(SECRETS)}
        secrets = {path.removeprefix(SECRETS): value for path, value in wanted.items() if path.startswith(SECRETS)}
        overlay = self._overlaid(self._stored.values | values, self._stored.secrets | secrets)
        if spoiled := {path: said for path, said in overlay.complaints.items() if path in values}:
            raise Refused(spoiled)

    def _overlaid(self, values: Mapping[str, Any], secrets: Mapping[str, str]) -> Overlay:
        """The settings with these values; those that a check is against are left out with its complaint."""
        overlay = overlaid(self._base, values, secrets)
        for path, check in self._checks.items():
            if path not in values:
                continue
            try:
                check(overlay.settings)
            except UsageError as error:
                values = {one: value for one, value in values.items() if one != path}
                complaints = overlay.complaints | {path: str(error)}
                overlay = overlaid(self._base, values, secrets)
                overlay.complaints.update(complaints)
        return overlay

    async def _keep(self, wanted: Mapping[str, Any], by: str) -> None:
        if not wanted:
            return
        now = self._clock.now()
        rows = []
        for path, value in wanted.items():
            is_secret = path.startswith(SECRETS) or path in SEALED
            text = value.strip() if path.startswith(SECRETS) else json.dumps(value)
            kept = await asyncio.to_thread(self._seal.seal, text) if is_secret else value
            rows.append(StoredSetting(path=path, value=kept, is_secret=is_secret, by=by, at=now))
        await self._store.desk_settings.change(rows)
        await self.load()

    def _change(self, path: str, value: Any) -> Change | None:
        """What storing the value changes; None where it is stored already."""
        if path.startswith(SECRETS):
            before = "set" if self._stored.secrets.get(path.removeprefix(SECRETS)) else "not set"
            return Change(path=path, before=before, after="changed")
        if path in self._stored.values and self._stored.values[path] == value:
            return None
        after = overlaid(self._base, self._stored.values | {path: value}, {}).settings
        return Change(path=path, before=self._shown(path, self.current), after=self._shown(path, after))

    def _shown(self, path: str, settings: Settings) -> Any:
        if path.startswith(SECRETS):
            return "set" if path.removeprefix(SECRETS) in self._stored.secrets else "not set"
        return shown(path, settings) if path in places() else None

    def _meant(self, path: str) -> str:
        """The path under which it is stored."""
        if path == "llm.api_key":
            return SECRETS + self.current.llm.api_key_env
        service = re.fullmatch(r"search\.backends\.(\w+)\.api_key", path)
        variable = self.current.search.key_variable(service[1]) if service else None
        return SECRETS + variable if variable else path

    def _wire(self, place: Place, outside: Mapping[str, Any]) -> SettingWire:
        path = place.path
        origin = origin_of(path, self._base, self._stored.values, outside)
        begun = self._at_start or {}
        is_waiting = _waits(path) and origin != "environment" and self._stored.values.get(path) != begun.get(path)
        after = overlaid(self._base, self._stored.values, {}).settings if is_waiting else self.current
        return SettingWire(
            path=path,
            value=shown(path, after),
            origin=origin,
            default=place.default,
            description=place.field.description or "",
            is_storable=place.why_not is None and origin != "environment",
            needs_restart=place.needs_restart,
            waits_for_restart=is_waiting,
            complaint=self._stored.complaints.get(path),
        )


def _read(rows: Sequence[StoredSetting], seal: Seal) -> _Stored:
    """What the rows say, as far as their key is at hand."""
    stored = _Stored()
    for row in rows:
        try:
            text = seal.unseal(str(row.value)) if row.is_secret else ""
        except UsageError as error:
            stored.complaints[row.path] = str(error)
            continue
        if row.path.startswith(SECRETS):
            stored.secrets[row.path.removeprefix(SECRETS)] = text
        else:
            stored.values[row.path] = json.loads(text) if row.is_secret else row.value
    return stored


def _secret_complaint(path: str, value: Any) -> str | None:
    if not _SECRET_NAME.fullmatch(path.removeprefix(SECRETS)):
        return "A secret is named after an environment variable: letters, digits and _."
    if not isinstance(value, str) or not value.strip():
        return "It is empty."
    if len(value) > _MOST_CHARS or not value.strip().isprintable() or storable(value) != value:
        return _NO_KEY
    return None


def _waits(path: str) -> bool:
    place = places().get(path)
    return place is not None and place.needs_restart
