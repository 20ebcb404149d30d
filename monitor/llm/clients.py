"""The model clients of a process: built from the settings of the moment, when a run first needs one."""

from typing import TYPE_CHECKING

from monitor.config.model import LlmSettings, Settings
from monitor.errors import SettingsError

if TYPE_CHECKING:
    from monitor.llm.client import ModelClient


def check_endpoint(llm: LlmSettings) -> None:
    """Raise `SettingsError` for an address or a key that no server can have."""
    if llm.base_url is not None and not llm.base_url.startswith(("http://", "https://")):
        raise SettingsError("llm.address_invalid", url=llm.base_url)
    if not (llm.api_key or "").isascii():
        raise SettingsError("llm.key_invalid", variable=llm.api_key_env)


def build_client(settings: LlmSettings) -> "ModelClient":
    """Return a client; raise `SettingsError` where the settings are invalid."""
    from monitor.llm.client import ModelClient  # its library takes a second to import

    check_endpoint(settings)
    return ModelClient(settings)


class ModelClients:
    """Gives each run the client of the current settings; a run under way keeps the one that it began with."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._clients: list[ModelClient] = []
        self._current_settings: object = None

    def get_current(self) -> "ModelClient | None":
        """Return the client, or None where the model is off; raise `SettingsError` for invalid settings."""
        llm = self._settings.llm
        if not llm.is_on:
            return None
        if self._current_settings != llm:
            self._clients.append(build_client(llm))
            self._current_settings = llm
        return self._clients[-1]

    async def close(self) -> None:
        for client in self._clients:
            await client.close()
