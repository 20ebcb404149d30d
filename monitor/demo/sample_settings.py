"""How a sample site is swept: in a folder of its own, with nothing of this machine's network but the site."""

from pathlib import Path
from urllib.parse import urlsplit

from monitor.settings import Settings

TIMEZONE = "Asia/Shanghai"


def sample_settings(settings: Settings, *, base_url: str, folder: Path) -> Settings:
    """The settings with their data in `folder`, allowed to ask the site at `base_url` under both names of loopback.

    Pauses between requests are for other people's servers; this one is ours.
    """
    port = urlsplit(base_url).port
    network = settings.network.model_copy(
        update={"allowed_private_hosts": [f"127.0.0.1:{port}", f"localhost:{port}"], "proxy": None}
    )
    return settings.model_copy(
        update={
            "timezone": TIMEZONE, "data_dir": folder, "database_url": f"sqlite:///{folder / 'monitor.db'}",
            "network": network, "pages": settings.pages.model_copy(update={"delay_s": 0.0}), "sources": [],
        }
    )  # fmt: skip
