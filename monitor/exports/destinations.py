"""Where files of an export go, each written whole or not at all: below a folder, or to an S3-compatible bucket."""

import asyncio
import datetime as dt
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from monitor.config.export import BucketSettings
from monitor.durable_files import flush_folder
from monitor.errors import UsageError, WorkFailed
from monitor.extras import needs_extra
from monitor.fetch.client import HttpClient
from monitor.fetch.outbound import OutboundPolicy
from monitor.fetch.result import FetchError

_PUT_TIMEOUT_S = 120.0
_SIGNATURE_LIFETIME = dt.timedelta(minutes=15)
_ERROR_CODE = re.compile(rb"<Code>([A-Za-z0-9.]{1,60})</Code>")


class Destination(Protocol):
    async def put(self, path: str, content: bytes) -> None:
        """Write a file, in place of one of the same path; `WorkFailed` or `UsageError` where it cannot be written.

        `path` has no part that comes from a page.
        """
        ...


@dataclass(frozen=True)
class FolderDestination:
    """The folder `name` below `root`, which must exist; what is made has the permissions of `root`."""

    root: Path
    name: str
    _kept: set[Path] = field(default_factory=set)
    """Folders whose name is on the disk for sure; that one is there does not say so: a kill may have come between."""

    async def put(self, path: str, content: bytes) -> None:
        try:
            await asyncio.to_thread(self._write, path, content)
        except OSError as error:
            raise WorkFailed("export.folder_failed", folder=self.root, reason=error.strerror or "") from None

    def _write(self, path: str, content: bytes) -> None:
        if not self.root.is_dir():
            raise UsageError("export.no_such_folder", folder=self.root)
        mode = self.root.stat().st_mode & 0o777
        target = self.root / self.name / path
        inner = [folder for folder in target.parents if self.root in folder.parents]
        for folder in reversed(inner):
            if folder not in self._kept:
                with suppress(FileExistsError):
                    folder.mkdir()
                    folder.chmod(mode)
                flush_folder(folder.parent)
                self._kept.add(folder)
        draft = target.with_name(f".{target.name}.tmp")  # what a kill left is written over by the next attempt
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), mode & 0o666)
            os.fsync(file.fileno())
        draft.replace(target)
        flush_folder(target.parent)


@dataclass(frozen=True)
class BucketDestination:
    """The folder `name` of a bucket. Requests are signed by obstore, and sent as all that leaves the house."""

    bucket: BucketSettings
    name: str
    client: HttpClient

    async def put(self, path: str, content: bytes) -> None:
        url = await asyncio.to_thread(self._sign, f"{self.bucket.prefix}{self.name}/{path}")
        try:
            answer = await self.client.request(url, method="PUT", content=content, timeout_s=_PUT_TIMEOUT_S)
        except FetchError as failure:
            raise WorkFailed("export.bucket_unreachable", bucket=self.bucket.name, reason=failure.message) from None
        if answer.status != 200:
            found = _ERROR_CODE.search(answer.body[:65_536])
            code = found[1].decode() if found else ""
            raise WorkFailed("export.bucket_refused", bucket=self.bucket.name, status=answer.status, code=code)

    def _sign(self, key: str) -> str:
        with needs_extra("export"):
            import obstore
            from obstore.store import S3Store
        key_id, secret = self.bucket.load_key()
        store = S3Store(
            self.bucket.bucket,
            endpoint=self.bucket.endpoint,
            region=self.bucket.region,
            access_key_id=key_id,
            secret_access_key=secret,
            virtual_hosted_style_request=self.bucket.is_virtual_host,
            client_options={"allow_http": True},
        )
        return obstore.sign(store, "PUT", key, _SIGNATURE_LIFETIME)


@asynccontextmanager
async def open_destination(
    name: str, place: Path | BucketSettings, policy: OutboundPolicy
) -> AsyncIterator[Destination]:
    """Open the folder `name` of a place."""
    if isinstance(place, Path):
        yield FolderDestination(place, name)
        return
    async with policy.open_client() as client:
        yield BucketDestination(place, name, client)
