"""Bundles of search results, one query each, and the folder that keeps them as files.

Names and constraints are those of the retrieval protocol. Optional fields are absent from the JSON where unknown, never
null. The JSON names its schema and version under `$schema`; unknown keys are ignored when a bundle is read.
"""

import datetime as dt
import os
import re
import secrets
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import quote, unquote

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic.config import JsonDict
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import from_json

from monitor.durable_files import flush_folder, make_folder
from monitor.errors import WorkFailed
from monitor.urls import url_key

_FAILED_ITEM_RULE: JsonDict = {
    "if": {"properties": {"status": {"const": "failed"}}, "required": ["status"]},
    "then": {"required": ["error_code"]},
}


def _replace_surrogates(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _drop_default(schema: JsonDict) -> None:
    schema.pop("default", None)


class ItemStatus(StrEnum):
    """The state of a result: usable, outside of what was asked for, or not loaded."""

    OK = "ok"
    FILTERED = "filtered"
    FAILED = "failed"


def _convert_to_utc(instant: dt.datetime) -> dt.datetime:
    """Return the instant in UTC; one without a zone is taken as UTC."""
    return instant.replace(tzinfo=dt.UTC) if instant.tzinfo is None else instant.astimezone(dt.UTC)


def _strip_time(value: Any) -> Any:
    """Drop the time of day as written: publication dates have no time zone."""
    return value[:10] if isinstance(value, str) and value[10:11] in ("T", "t", " ") else value


def _build_optional_field() -> Any:
    """Return a field that the protocol marks with `?`: absent from the JSON while it is None."""
    return Field(default=None, exclude_if=lambda value: value is None, json_schema_extra=_drop_default)


Text = Annotated[str, AfterValidator(_replace_surrogates)]
Instant = Annotated[dt.datetime, AfterValidator(_convert_to_utc)]
Day = Annotated[dt.date, BeforeValidator(_strip_time)]
UnitScore = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]
HttpStatus = Annotated[int, Field(ge=100, le=999)]
ErrorCode = Annotated[str, Field(min_length=1)]
Absent = SkipJsonSchema[None]


class SearchResultItem(BaseModel):
    """A result of a query.

    `source_id` is the first 16 hex digits of the SHA-256 of the normalised url. `error_code` of a failed result is the
    code of its page, such as `Timeout` or `WebBlocked`.
    """

    model_config = ConfigDict(json_schema_extra=_FAILED_ITEM_RULE)

    source_id: str = Field(min_length=1)
    rank: int = Field(ge=1)
    url: Text
    title: Text
    snippet: Text | Absent = _build_optional_field()
    content_text: Text | Absent = _build_optional_field()
    language: Text | Absent = _build_optional_field()
    published_at: Day | Absent = _build_optional_field()
    captured_at: Instant
    http_status: HttpStatus | Absent = _build_optional_field()
    score_relevance: UnitScore
    score_freshness: UnitScore
    score_authority: UnitScore
    score_final: UnitScore
    status: ItemStatus
    error_code: ErrorCode | Absent = _build_optional_field()

    @model_validator(mode="after")
    def _require_error_code(self) -> Self:
        if self.status is ItemStatus.FAILED and self.error_code is None:
            raise ValueError("a failed item needs an error_code")
        return self


class SearchResultStats(BaseModel):
    """The counts of a query's results.

    `total_returned` is the sum of `kept_after_filter` (status ok), `failed_count`, `dedup_count` (duplicates of a
    source, which were removed) and the items of status filtered.
    """

    total_returned: Count
    kept_after_filter: Count
    failed_count: Count
    dedup_count: Count


class SearchResultBundle(BaseModel):
    task_id: str = Field(min_length=1)
    query_id: str = Field(min_length=1)
    query_text: Text
    query_intent: Text
    provider: Text
    executed_at: Instant
    results: list[SearchResultItem]
    stats: SearchResultStats

    def list_by_score(self) -> list[SearchResultItem]:
        """Return the results by `score_final`, best first; equal ones by rank, then by `source_id`."""
        return sorted(self.results, key=lambda item: (-item.score_final, item.rank, item.source_id))


def compute_stats(results: Sequence[SearchResultItem], *, removed: int) -> SearchResultStats:
    """Count the results; `removed` is the number of duplicates that were left out."""
    having = [item.status for item in results]
    return SearchResultStats(
        total_returned=len(results) + removed,
        kept_after_filter=having.count(ItemStatus.OK),
        failed_count=having.count(ItemStatus.FAILED),
        dedup_count=removed,
    )


def compute_source_id(url: str) -> str:
    """Return the first 16 hex digits of the SHA-256 of the normalised url (`url_key`), or of the text if it is none."""
    try:
        key = url_key(url)
    except ValueError:
        key = url
    return sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]


SCHEMA_KEY = "$schema"
BUNDLE_SCHEMA = "urn:monitor:search-result-bundle:1"
_FILE_SUFFIX = ".json"
_MAX_NAME_BYTES = 200
_OBJECT_ADAPTER: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])
FileSignature = tuple[int, int, int]  # inode, size and modification time, which change when a file is replaced


class BundleDamaged(WorkFailed):
    """A bundle is missing, damaged or that of another query."""


@dataclass(frozen=True)
class BundleFolder:
    """The bundles of all tasks below one folder. Every call blocks on the disk."""

    root: Path

    def write(self, bundle: SearchResultBundle) -> Path:
        """Write a bundle, replacing an earlier one of its query; raise `WorkFailed` where that fails."""
        path = self._path(bundle.task_id, bundle.query_id)
        write_atomically(path, serialize_document(bundle, BUNDLE_SCHEMA))
        return path

    def read(self, task_id: str, query_id: str) -> SearchResultBundle:
        """Return the bundle of a query; raise `BundleDamaged` where there is none that can be read."""
        path = self._path(task_id, query_id)
        try:
            bundle = SearchResultBundle.model_validate(parse_document(path.read_bytes(), BUNDLE_SCHEMA))
        except OSError as error:
            raise BundleDamaged("search.bundle_unreadable", path=str(path), reason=_format_os_error(error)) from error
        except ValidationError as error:
            reason = _format_first_error(error)
            raise BundleDamaged("search.bundle_invalid", path=str(path), reason=reason) from error
        except ValueError as error:
            raise BundleDamaged("search.bundle_damaged", path=str(path), reason=str(error)) from error
        if (bundle.task_id, bundle.query_id) != (task_id, query_id):
            raise BundleDamaged("search.bundle_foreign", path=str(path), query=f"{bundle.task_id}/{bundle.query_id}")
        return bundle

    def list_bundles(self, task_id: str) -> dict[str, FileSignature]:
        """Return the queries of a task that have a bundle, in natural order, each with its file's signature."""
        found: dict[str, FileSignature] = {}
        try:
            with os.scandir(self.root / _encode_name(task_id)) as entries:
                for entry in entries:
                    query_id = unquote(entry.name.removesuffix(_FILE_SUFFIX))
                    if _is_bundle_file(query_id, entry.name) and entry.is_file():
                        about = entry.stat()
                        found[query_id] = (about.st_ino, about.st_size, about.st_mtime_ns)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise WorkFailed("search.bundles_not_listed", task=task_id, reason=_format_os_error(error)) from error
        return {query_id: found[query_id] for query_id in sorted(found, key=build_natural_key)}

    def remove_before(self, instant: dt.datetime) -> int:
        """Remove the tasks to which nothing was written since an instant and return the number of files.

        Raises `WorkFailed` where one cannot be removed.
        """
        removed = 0
        try:
            for folder in list(self.root.iterdir()) if self.root.is_dir() else []:
                files = [path for path in folder.rglob("*") if path.is_file()]
                if all(path.stat().st_mtime < instant.timestamp() for path in files):
                    shutil.rmtree(folder)
                    removed += len(files)
        except OSError as error:
            raise WorkFailed("search.bundles_not_removed", reason=_format_os_error(error)) from error
        return removed

    def remove(self, task_id: str) -> None:
        """Remove the bundles and cursors of a task; what is not there is no matter."""
        shutil.rmtree(self.root / _encode_name(task_id), ignore_errors=True)

    def get_cursor_folder(self, task_id: str) -> Path:
        return self.root / _encode_name(task_id) / "cursors"

    def _path(self, task_id: str, query_id: str) -> Path:
        return self.root / _encode_name(task_id) / build_file_name(query_id)


def build_natural_key(text: str) -> tuple[object, ...]:
    """Return the sort key by which `q2` comes before `q10`: numbers by value, the rest by characters.

    Texts that are equal in this way (`q2`, `q02`) are ordered by their characters.
    """
    pieces = [
        (1, 0, words) if words else (0, len(digits.lstrip("0")), digits.lstrip("0"))
        for digits, words in re.findall(r"([0-9]+)|([^0-9]+)", text)
    ]
    return (*pieces, (-1, 0, text))


def build_file_name(name: str) -> str:
    """Return the file name for an id chosen by anybody; raise `WorkFailed` where it cannot be one."""
    return _encode_name(name) + _FILE_SUFFIX


def serialize_document(document: BaseModel, schema: str) -> bytes:
    body = document.model_dump_json(indent=1)
    return f'{{\n "{SCHEMA_KEY}": "{schema}",{body.removeprefix("{")}\n'.encode()


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that it is whole or absent after a crash or loss of power; raise `WorkFailed` on errors.

    The content is flushed under another name, the file renamed, and the folder flushed to make the name last.
    """
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        make_folder(path.parent)
        try:
            with part.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        flush_folder(path.parent)
    except OSError as error:
        raise WorkFailed("search.file_not_written", path=str(path), reason=_format_os_error(error)) from error


def parse_document(content: bytes, schema: str) -> dict[str, Any]:
    """Parse the object in a file; raise `ValueError` where it holds none, or one of another schema version."""
    values = _OBJECT_ADAPTER.validate_python(from_json(content))
    named = values.get(SCHEMA_KEY, schema)
    if named != schema:
        raise ValueError(f"its schema is {str(named)[:100]}, this version reads {schema}")
    return values


def _encode_name(name: str) -> str:
    """Encode a name as one part of a path: all but letters, digits, `-`, `_` and `.` percent-encoded.

    A leading dot is encoded too, so that no name leaves its folder or is hidden, and every name can be decoded.
    """
    try:
        safe = quote(name, safe="").replace("~", "%7E")
    except UnicodeEncodeError:
        safe = ""
    if safe.startswith("."):
        safe = f"%2E{safe[1:]}"
    if not 0 < len(safe) <= _MAX_NAME_BYTES:
        raise WorkFailed("search.bundle_name_invalid", name=ascii(name[:40])[1:-1])
    return safe


def _is_bundle_file(query_id: str, name: str) -> bool:
    try:
        return build_file_name(query_id) == name
    except WorkFailed:
        return False


def _format_os_error(error: OSError) -> str:
    return error.strerror or str(error)


def _format_first_error(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg'].rstrip('.')}"
