"""How sample sites are swept: in a folder of their own, with nothing of this machine's network but the sites."""

from pathlib import Path
from urllib.parse import urlsplit

from monitor.settings import Settings

TIMEZONE = "Asia/Shanghai"


def sample_settings(settings: Settings, *base_urls: str, folder: Path) -> Settings:
    """The settings with their data in `folder`, allowed to ask the sites at these urls under both names of loopback.

    Pauses between requests are for other people's servers; these are ours.
    """
    hosts = [f"{name}:{urlsplit(url).port}" for url in base_urls for name in ("127.0.0.1", "localhost")]
    network = settings.network.model_copy(update={"allowed_private_hosts": hosts, "proxy": None})
    return settings.model_copy(
        update={
            "timezone": TIMEZONE,
            "data_dir": folder,
            "database_url": f"sqlite:///{folder / 'monitor.db'}",
            "network": network,
            "pages": settings.pages.model_copy(update={"delay_s": 0.0}),
            "sources": [],
        }
    )
