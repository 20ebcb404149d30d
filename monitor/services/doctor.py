"""`monitor doctor`: whether an installation can work, check by check."""

import asyncio
import datetime as dt
import shlex
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Literal

from monitor.clock import Clock, SystemClock
from monitor.config.loading import get_settings_path, load_settings
from monitor.config.model import Settings
from monitor.config.stored import list_service_hosts
from monitor.db.database import Store
from monitor.db.engines import DatabaseAddress
from monitor.db.integrity import QUICK_CHECK_TIMEOUT_S, BackupLog, check_integrity
from monitor.db.tables.evidence import IncidentKind
from monitor.errors import DatabaseError, MonitorError, UsageError
from monitor.evidence.chain import EvidenceChain, SigningKey
from monitor.extras import needs_extra
from monitor.fetch.outbound import OutboundPolicy
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.search.registry import STUB_BACKEND, find_missing_setting, select_backends
from monitor.services.deliveries import check_targets
from monitor.services.drafts import check_template
from monitor.services.health import DISK_WARN_BYTES, get_free_bytes
from monitor.services.private_files import list_open_paths
from monitor.services.probes import probe_browser, probe_database, probe_storage
from monitor.services.schedules import check_timezone
from monitor.services.settings import SettingsService

DISK_FAIL_BYTES = 100_000_000
_MAX_SHOWN_PATHS = 5
_MAX_HEAD_AGE = dt.timedelta(days=2)
_MIN_CLOCK_TIME = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
FindingLevel = Literal["ok", "warn", "fail"]
Finding = str | Message
"""What a check found; plain text is a path, a name or the like, the same in every language."""

Check = Callable[[Settings], Finding]
"""Raises a `MonitorError` that says what is wrong."""

AsyncCheck = Callable[[Settings], Awaitable["Finding | DoctorFinding"]]
"""The same, for what takes time; one that only warns gives the whole finding."""


class DoctorFinding(MessageModel):
    """The result of a check; the message of one that is not ok says how to repair it."""

    check: str
    level: FindingLevel
    message: Message


def load_configuration(config_path: Path | None) -> tuple[Settings, Finding]:
    """Return the settings in force and where they come from; `SettingsError` where they cannot be used."""
    path = get_settings_path(config_path)
    origin = str(path) if path.is_file() else Message.of("doctor.no_config", path=path)
    return load_settings(config_path), origin


async def check_database(settings: Settings) -> Message:
    address = DatabaseAddress.parse(settings.database_url)
    if address.file is not None and not address.file.exists():
        raise DatabaseError("database.missing", database=address.redacted_url)
    is_complete = await asyncio.to_thread(check_integrity, settings.database_url, BackupLog(settings.data_dir))
    async with Store.open(settings.database_url) as store:
        await probe_database(store, SystemClock())
    if is_complete:
        return Message.of("doctor.database", database=address.redacted_url)
    return Message.of("doctor.database_large", database=address.redacted_url, seconds=f"{QUICK_CHECK_TIMEOUT_S:g}")


async def check_model(settings: Settings) -> "Finding | DoctorFinding":
    """Try every configured model; what one cannot do is a warning, for the rules do it."""
    if not settings.llm.is_on:
        return Message("doctor.model_off")
    with needs_extra("models"):
        from monitor.llm.client import ModelClient  # its library takes a second to import
        from monitor.llm.examination import examine_models

    client = ModelClient(settings.llm, OutboundPolicy(settings.network))
    try:
        trials = await examine_models(client)
    finally:
        await client.close()
    if refused := next((trial.complaint for trial in trials if trial.complaint is not None), None):
        return _build_finding("model", "fail", refused)
    message = _join(
        [
            Message.of("doctor.model", model=trial.model, verdict=trial.verdict, findings=_join(trial.findings))
            for trial in trials
        ]
    )
    return _build_finding("model", "warn" if any(trial.goes_by_rule for trial in trials) else "ok", message)


async def check_embeddings(settings: Settings) -> Message:
    """Ask the embedding model, where one is set, for the vector of one word."""
    own = settings.llm.embeddings
    if own.model is None:
        return Message("doctor.embeddings_off")
    with needs_extra("models"):
        from monitor.llm.client import ModelClient

    client = ModelClient(settings.llm.for_embeddings(), OutboundPolicy(settings.network))
    try:
        answer = await client.embed(own.model, ["ready"], dimensions=own.dimensions, max_retries=0, timeout_s=30)
    finally:
        await client.close()
    return Message.of("doctor.embeddings", model=own.model, length=len(answer.vectors[0].values))


def check_delivery(settings: Settings) -> Finding:
    """Check the targets, and that every variable they need is set."""
    check_targets(settings)
    targets = settings.deliver.targets
    for target in targets:
        if target.kind == "mail":
            target.load_credentials()  # a password may hold what would end the host in an address
        else:
            target.expand_url()
        if target.secret_env:
            target.load_secret()
    return ", ".join(f"{target.name} ({target.shown})" for target in targets) or Message("doctor.no_target")


async def check_evidence(settings: Settings, now: dt.datetime) -> DoctorFinding:
    """Check what is known of the evidence: when it was signed, and what a scrub found. `evidence verify` checks all."""
    key = SigningKey(settings.data_dir)
    try:
        async with Store.open(settings.database_url) as store:
            chain = EvidenceChain(store=store, clock=SystemClock(), key=key)
            await chain.check_anchor()
            head, open_ones = await store.chain.get_last_head(), await store.evidence_files.list_open()
        public_key = key.get_public_key()
    except MonitorError as error:
        return _build_finding("evidence", "fail", error.message)
    gaps = sum(incident.kind is IncidentKind.GAP for incident in open_ones)
    if open_ones:
        message = Message.of("doctor.evidence_damaged", damaged=len(open_ones) - gaps, gaps=gaps)
        return _build_finding("evidence", "warn", message)
    if head is None:
        return _build_finding("evidence", "ok", Message("doctor.evidence_new"))
    is_old = now - head.at > _MAX_HEAD_AGE
    code = "doctor.evidence_old" if is_old else "doctor.evidence"
    message = Message.of(code, at=f"{head.at:%F %H:%MZ}", **({} if is_old else {"key": public_key or "-"}))
    return _build_finding("evidence", "warn" if is_old else "ok", message)


@dataclass(kw_only=True)
class Doctor:
    """Examines an installation.

    `load` gives the settings or raises what is wrong with them. Where they cannot be read, what depends on them is not
    checked and the rest uses the defaults. `load_stored_settings` reads what the Settings page stored, which the other
    checks then use.
    """

    load: Callable[[], tuple[Settings, Finding]]
    load_stored_settings: Callable[[Settings], Awaitable[SettingsService]]
    clock: Clock
    check_database: AsyncCheck = check_database
    check_model: AsyncCheck = check_model
    check_browser: AsyncCheck = probe_browser
    check_targets: Check = check_delivery
    check_storage: Check = probe_storage
    check_evidence: Callable[[Settings, dt.datetime], Awaitable[DoctorFinding]] = check_evidence

    async def run_checks(self) -> list[DoctorFinding]:
        """Run every check, in the order of the commands that need it."""
        settings, configuration = self._check_configuration()
        is_readable = configuration.level == "ok"
        database = _skip_check("database")
        if is_readable:
            database = await _run_async_check("database", self.check_database, settings)
        stored = _skip_check("settings")
        if database.level == "ok":
            settings, stored = await self._check_stored_settings(settings)
        model = await _run_async_check("model", self.check_model, settings) if is_readable else _skip_check("model")
        checks = {"template": check_template, "delivery": self.check_targets, "storage": self.check_storage}
        return [
            configuration,
            database,
            stored,
            await _run_async_check("browser", self.check_browser, settings),
            model,
            await _run_async_check("embeddings", check_embeddings, settings)
            if is_readable
            else _skip_check("embeddings"),
            _check_search(settings),
            *(_run_check(name, ask, settings) if is_readable else _skip_check(name) for name, ask in checks.items()),
            check_open_files(settings) if is_readable else _skip_check("files"),
            await self.check_evidence(settings, self.clock.now())
            if database.level == "ok"
            else _skip_check("evidence"),
            check_disk_space(settings.data_dir, get_free_bytes(settings.data_dir)),
            self._check_clock(settings),
        ]

    def _check_configuration(self) -> tuple[Settings, DoctorFinding]:
        try:
            settings, path = self.load()
        except MonitorError as error:
            # `model_construct` asks neither the file nor the environment: one of them is what is broken.
            return Settings.model_construct(), _build_finding("configuration", "fail", error.message)
        network = settings.network.with_service_hosts(list_service_hosts(settings))
        return settings.model_copy(update={"network": network}), _build_finding("configuration", "ok", path)

    async def _check_stored_settings(self, settings: Settings) -> tuple[Settings, DoctorFinding]:
        try:
            service = await self.load_stored_settings(settings)
        except MonitorError as error:
            return settings, _build_finding("settings", "fail", error.message)
        return service.current, _run_check("settings", lambda _: service.describe_stored(), settings)

    def _check_clock(self, settings: Settings) -> DoctorFinding:
        now = self.clock.now()
        try:
            local = now.astimezone(check_timezone(settings.timezone))
        except UsageError as error:
            return _build_finding("clock", "fail", Message.of("doctor.bad_timezone", reason=error.message))
        if now < _MIN_CLOCK_TIME:
            return _build_finding("clock", "fail", Message.of("doctor.clock_behind", day=f"{now:%Y-%m-%d}"))
        message = Message.of("doctor.clock", time=f"{local:%Y-%m-%d %H:%M}", timezone=settings.timezone)
        return _build_finding("clock", "ok", message)


def _build_finding(check: str, level: FindingLevel, found: Finding) -> DoctorFinding:
    message = found if isinstance(found, Message) else Message.other(found)
    return DoctorFinding(check=check, level=level, message=message)


def _join(messages: Sequence[Message]) -> Message:
    return reduce(lambda first, rest: Message.of("settings.complaints", first=first, rest=rest), messages)


async def _run_async_check(check: str, ask: AsyncCheck, settings: Settings) -> DoctorFinding:
    try:
        found = await ask(settings)
        return found if isinstance(found, DoctorFinding) else _build_finding(check, "ok", found)
    except MonitorError as error:
        return _build_finding(check, "fail", error.message)


def _run_check(check: str, ask: Check, settings: Settings) -> DoctorFinding:
    try:
        return _build_finding(check, "ok", ask(settings))
    except MonitorError as error:
        return _build_finding(check, "fail", error.message)


def _skip_check(check: str) -> DoctorFinding:
    return _build_finding(check, "warn", Message("doctor.not_checked"))


def _check_search(settings: Settings) -> DoctorFinding:
    """Check whether the backends can be asked, by the settings alone: a query might cost money."""
    choice = select_backends(settings.search)
    missing = [what for name in choice.names if (what := find_missing_setting(settings.search, name)) is not None]
    if missing:
        return _build_finding("search", "fail", _join(missing))
    if choice.warnings:
        return _build_finding("search", "warn", _join(choice.warnings))
    if list(choice.names) == [STUB_BACKEND]:
        return _build_finding("search", "warn", Message("doctor.only_stub"))
    return _build_finding("search", "ok", ", ".join(choice.names))


def check_open_files(settings: Settings) -> DoctorFinding:
    """Check whether other users of this machine can read database, data or backups."""
    found = list_open_paths(settings)
    if not found:
        return _build_finding("files", "ok", Message("doctor.files_closed"))
    shown = [str(entry) for entry in found[:_MAX_SHOWN_PATHS]]
    mend = f"chmod -R go-rwx {shlex.join(str(entry.path) for entry in found[:_MAX_SHOWN_PATHS])}"
    return _build_finding("files", "warn", Message.of("doctor.files_open", count=len(found), paths=shown, mend=mend))


def check_disk_space(folder: Path, free_bytes: int) -> DoctorFinding:
    """Check whether so many free bytes are enough for the data in `folder`."""
    level: FindingLevel = "fail" if free_bytes < DISK_FAIL_BYTES else "warn" if free_bytes < DISK_WARN_BYTES else "ok"
    free = f"{free_bytes / 1e9:.1f} GB" if free_bytes >= DISK_WARN_BYTES else f"{free_bytes / 1e6:.0f} MB"
    code = "doctor.disk" if level == "ok" else "doctor.disk_low"
    return _build_finding("disk", level, Message.of(code, free=free, folder=str(folder)))
