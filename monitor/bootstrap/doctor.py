"""The doctor, with the parts that it tries out."""

from pathlib import Path
from typing import TYPE_CHECKING

from monitor.app.configuring import SettingsDesk
from monitor.app.deliveries import examine_targets
from monitor.app.doctor import Doctor
from monitor.bootstrap.clock import SystemClock
from monitor.bootstrap.parts import new_settings_desk
from monitor.errors import DatabaseError
from monitor.evidence.storage import Storage
from monitor.pages.browser import find_browser
from monitor.settings import LlmSettings, Settings, load_settings, settings_path
from monitor.store import Store
from monitor.store.address import DatabaseAddress
from monitor.work.triggers import CronSchedules

if TYPE_CHECKING:
    from monitor.llm.client import ModelServer


def new_doctor(given: Path | None) -> Doctor:
    """A doctor for the configuration that `--config` names, or for the one that is found."""

    def load() -> tuple[Settings, str]:
        path = settings_path(given)
        where = str(path) if path.is_file() else f"{path} is not there: the defaults hold (`monitor init` writes it)"
        return load_settings(given), where

    async def check_database(settings: Settings) -> str:
        address = DatabaseAddress.parse(settings.database_url)
        if address.file is not None and not address.file.exists():
            raise DatabaseError(f"The database {address.shown} is not there yet: run `monitor init`.")
        async with Store.open(settings.database_url) as store:
            await store.check()
        return f"{address.shown} is migrated"

    async def lay_over(settings: Settings) -> SettingsDesk:
        async with Store.open(settings.database_url) as store:
            desk = new_settings_desk(settings, store, SystemClock(), CronSchedules())
            await desk.load()
        return desk

    async def check_model(settings: Settings) -> str:
        if not settings.llm.is_on:
            return "off: every phase works by rule"
        server = _model_server(settings.llm)
        try:
            return await server.check()
        finally:
            await server.close()

    return Doctor(
        load=load,
        check_database=check_database,
        lay_over=lay_over,
        find_browser=lambda settings: str(find_browser(settings.pages.browser)),
        check_model=check_model,
        check_targets=lambda settings: examine_targets(settings, CronSchedules()),
        check_storage=_check_storage,
        clock=SystemClock(),
    )


def _check_storage(settings: Settings) -> str:
    if settings.storage_url is None:
        return f"evidence lies under {settings.data_dir}"
    return Storage(settings.storage_url).check()


def _model_server(settings: LlmSettings) -> "ModelServer":
    from monitor.llm.client import ModelServer  # its library takes a second to import

    return ModelServer(settings)
