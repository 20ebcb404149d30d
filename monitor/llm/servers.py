"""The model server that the settings name now."""

from typing import TYPE_CHECKING

from monitor.errors import SettingsError
from monitor.settings import LlmSettings, Settings

if TYPE_CHECKING:
    from monitor.llm.client import ModelServer


def check_endpoint(llm: LlmSettings) -> None:
    """`SettingsError` for an address or a key that no server can have."""
    if llm.base_url is not None and not llm.base_url.startswith(("http://", "https://")):
        raise SettingsError(f"llm.base_url must begin with http:// or https://, and is {llm.base_url!r}.")
    if not (llm.api_key or "").isascii():
        raise SettingsError(f"The key in {llm.api_key_env} holds characters that no key has; copy it again.")


class ModelServers:
    """Gives each run the server of the moment; a run that is under way goes on with the one that it began with."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._servers: list[ModelServer] = []
        self._made_of: object = None

    def current(self) -> "ModelServer | None":
        """The server; None where the model is off. `SettingsError` where its settings cannot be meant."""
        llm = self._settings.llm
        if not llm.is_on:
            return None
        if self._made_of != llm:
            from monitor.llm.client import ModelServer  # its library takes a second to import

            self._servers.append(ModelServer(llm))
            self._made_of = llm
        return self._servers[-1]

    async def close(self) -> None:
        for server in self._servers:
            await server.close()
