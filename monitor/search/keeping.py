"""Pages that showed a block or a layout that we cannot read, kept for whoever looks into it."""

import asyncio
import datetime as dt
from hashlib import sha256
from pathlib import Path

KEPT_PAGES = 20
"""So many pages of one backend are kept, the newest."""


class KeptPages:
    """A folder of pages; older ones make room."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def keep(self, backend: str, body: bytes, at: dt.datetime) -> str:
        """Keep a page; answers the name of its file."""
        return await asyncio.to_thread(self._keep, backend, body, at)

    def _keep(self, backend: str, body: bytes, at: dt.datetime) -> str:
        name = f"{backend}-{at:%Y%m%dT%H%M%S}-{sha256(body).hexdigest()[:8]}.html"
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / name).write_bytes(body)
        for old in sorted(self._folder.glob(f"{backend}-*.html"))[:-KEPT_PAGES]:
            old.unlink(missing_ok=True)
        return name
