"""An instance of RSSHub of one's own, which makes feeds of sites that have none."""

from urllib.parse import urlsplit

from pydantic import field_validator

from monitor.config.group import SettingsGroup, setting

SCHEME = "rsshub://"


class RsshubSettings(SettingsGroup):
    base_url: str | None = setting(None, "the RSSHub that serves addresses as rsshub://nea/sxzx; null = none")

    @field_validator("base_url")
    @classmethod
    def _check_base_url(cls, base_url: str | None) -> str | None:
        if base_url is None or not base_url.strip():
            return None
        try:
            parts = urlsplit(base_url.strip())
            is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_address = False
        if not is_address:
            raise ValueError("config.no_backend_address")
        return base_url.strip().rstrip("/")

    def resolve(self, url: str) -> str:
        """Return where an `rsshub://` address is served; any other address, or without an instance, as it is."""
        if self.base_url is None or not url.startswith(SCHEME):
            return url
        return f"{self.base_url}/{url.removeprefix(SCHEME)}"
