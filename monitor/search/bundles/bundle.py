"""Bundles of search results: one query, what it found, and how that is judged.

Names and constraints are those of the retrieval protocol to the letter. What is optional there is absent from the JSON
where it is not known, never null. The JSON names its schema and version under `$schema`; keys beside the protocol's are
passed over when a bundle is read.
"""

import datetime as dt
import os
import re
import secrets
import shutil
from collections.abc import Sequence
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

from monitor.errors import WorkFailed
from monitor.urls import url_key

_FAILED_ITEM_RULE: JsonDict = {
    "if": {"properties": {"status": {"const": "failed"}}, "required": ["status"]},
    "then": {"required": ["error_code"]},
}


def _replace_surrogates(text: str) -> str:
    """A text that a file can hold: half characters, which pages do contain, replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _drop_default(schema: JsonDict) -> None:
    schema.pop("default", None)


class ItemStatus(StrEnum):
    """What became of a result: `ok` is handed on, `filtered` was not asked for, `failed` could not be had."""

    OK = "ok"
    FILTERED = "filtered"
    FAILED = "failed"


def _convert_to_utc(instant: dt.datetime) -> dt.datetime:
    """An instant in UTC; one without a zone is taken as UTC, which is what everything here is written in."""
    return instant.replace(tzinfo=dt.UTC) if instant.tzinfo is None else instant.astimezone(dt.UTC)


def _strip_time(value: Any) -> Any:
    """Of a date with a time of day the date, as it stands there: publication dates have no time zone."""
    return value[:10] if isinstance(value, str) and value[10:11] in ("T", "t", " ") else value


def _build_optional_field() -> Any:
    """The value of a field that the protocol marks with `?`, until it is known."""
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
    """One result.

    `source_id` is the first 16 hex digits of the SHA-256 of the normalised url. `error_code` is one of the codes by
    which pages fail, as `Timeout` or `WebBlocked`.
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
    """What became of the results of a query.

    `total_returned` is the sum of `kept_after_filter` (status ok), `failed_count`, `dedup_count` (removed, because the
    same source stands in the bundle already) and the items of status filtered.
    """

    total_returned: Count
    kept_after_filter: Count
    failed_count: Count
    dedup_count: Count


class SearchResultBundle(BaseModel):
    """One query and what it found."""

    task_id: str = Field(min_length=1)
    query_id: str = Field(min_length=1)
    query_text: Text
    query_intent: Text
    provider: Text
    executed_at: Instant
    results: list[SearchResultItem]
    stats: SearchResultStats

    def list_by_score(self) -> list[SearchResultItem]:
        """The results by `score_final`, best first; equal ones by rank, then by `source_id`, always in the same way."""
        return sorted(self.results, key=lambda item: (-item.score_final, item.rank, item.source_id))


def compute_stats(results: Sequence[SearchResultItem], *, removed: int) -> SearchResultStats:
    """The counts of a bundle's results, `removed` being how many were left out as duplicates."""
    having = [item.status for item in results]
    return SearchResultStats(
        total_returned=len(results) + removed,
        kept_after_filter=having.count(ItemStatus.OK),
        failed_count=having.count(ItemStatus.FAILED),
        dedup_count=removed,
    )


def compute_source_id(url: str) -> str:
    """The name of a source: the first 16 hex digits of the SHA-256 of its normalised url (`url_key`).

    What is no url at all has the name of its own text.
    """
    try:
        key = url_key(url)
    except ValueError:
        key = url
    return sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]


SCHEMA_KEY = "$schema"
BUNDLE_SCHEMA = "urn:monitor:search-result-bundle:1"
"""The name of a bundle's schema; the number at its end is its version."""

_FILE_SUFFIX = ".json"
_MAX_NAME_BYTES = 200
_OBJECT_ADAPTER: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])
FileSignature = tuple[int, int, int]
"""What changes when a file is replaced: its number on the disk, its size, its time."""


class BundleDamaged(WorkFailed):
    """A bundle is there and cannot be read."""


class BundleFolder:
    """The bundles of all tasks, below one folder. Every call waits for the disk."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def write(self, bundle: SearchResultBundle) -> Path:
        """Keep a bundle, in place of one that its query had before; `WorkFailed` where that is not possible."""
        path = self._path(bundle.task_id, bundle.query_id)
        write_atomically(path, serialize_document(bundle, BUNDLE_SCHEMA))
        return path

    def read(self, task_id: str, query_id: str) -> SearchResultBundle:
        """The bundle of a query; `BundleDamaged` where there is none that can be read, with the reason."""
        path = self._path(task_id, query_id)
        try:
            bundle = SearchResultBundle.model_validate(parse_document(path.read_bytes(), BUNDLE_SCHEMA))
        except OSError as error:
            raise BundleDamaged(f"The bundle {path} cannot be read: {error.strerror or error}.") from error
        except ValidationError as error:
            raise BundleDamaged(
                f"The bundle {path} is not as its schema says: {_format_first_error(error)}."
            ) from error
        except ValueError as error:
            raise BundleDamaged(f"The bundle {path} is damaged: {error}.") from error
        if (bundle.task_id, bundle.query_id) != (task_id, query_id):
            raise BundleDamaged(f"The bundle {path} belongs to another query: {bundle.task_id}/{bundle.query_id}.")
        return bundle

    def list_bundles(self, task_id: str) -> dict[str, FileSignature]:
        """The queries of a task whose bundles are there, in natural order, each with its file's signature."""
        found: dict[str, FileSignature] = {}
        try:
            with os.scandir(self._root / _encode_name(task_id)) as entries:
                for entry in entries:
                    query_id = unquote(entry.name.removesuffix(_FILE_SUFFIX))
                    if _is_bundle_file(query_id, entry.name) and entry.is_file():
                        about = entry.stat()
                        found[query_id] = (about.st_ino, about.st_size, about.st_mtime_ns)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise WorkFailed(f"The bundles of {task_id} cannot be listed: {error.strerror or error}.") from error
        return {query_id: found[query_id] for query_id in sorted(found, key=build_natural_key)}

    def remove_before(self, instant: dt.datetime) -> int:
        """Let go of the tasks of which nothing was written since an instant; answers how many files that were.

        `WorkFailed` where one cannot be removed.
        """
        removed = 0
        try:
            for folder in list(self._root.iterdir()) if self._root.is_dir() else []:
                files = [path for path in folder.rglob("*") if path.is_file()]
                if all(path.stat().st_mtime < instant.timestamp() for path in files):
                    shutil.rmtree(folder)
                    removed += len(files)
        except OSError as error:
            raise WorkFailed(f"Old bundles could not be removed: {error.strerror or error}.") from error
        return removed

    def get_cursor_folder(self, task_id: str) -> Path:
        """The folder in which the readers of a task keep how far they are."""
        return self._root / _encode_name(task_id) / "cursors"

    def _path(self, task_id: str, query_id: str) -> Path:
        return self._root / _encode_name(task_id) / build_file_name(query_id)


def build_natural_key(text: str) -> tuple[object, ...]:
    """The key by which `q2` stands before `q10`: numbers by their value, what is between them by its characters.

    Texts that are equal in this way (`q2`, `q02`) stand in the order of their characters.
    """
    parts = [
        (1, 0, words) if words else (0, len(digits.lstrip("0")), digits.lstrip("0"))
        for digits, words in re.findall(r"([0-9]+)|([^0-9]+)", text)
    ]
    return (*parts, (-1, 0, text))


def build_file_name(name: str) -> str:
    """The file of a name that anybody may have chosen; `WorkFailed` where it can be none."""
    return _encode_name(name) + _FILE_SUFFIX


def serialize_document(document: BaseModel, schema: str) -> bytes:
    """A document with the name of its schema in front."""
    body = document.model_dump_json(indent=1)
    return f'{{\n "{SCHEMA_KEY}": "{schema}",{body.removeprefix("{")}\n'.encode()


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file that is whole or not there after any kill or loss of power: `WorkFailed` where it cannot be.

    Written and flushed under another name, renamed, and the folder flushed, which makes the new name last.
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
        raise WorkFailed(f"The file {path} could not be written: {error.strerror or error}.") from error


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, so that they last."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        flush_folder(folder.parent)


def flush_folder(folder: Path) -> None:
    """Make the names in a folder last."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def parse_document(content: bytes, schema: str) -> dict[str, Any]:
    """The object in a file; `ValueError` where it holds none, or one of a later version of the schema."""
    values = _OBJECT_ADAPTER.validate_python(from_json(content))
    named = values.get(SCHEMA_KEY, schema)
    if named != schema:
        raise ValueError(f"its schema is {str(named)[:100]}, this version reads {schema}")
    return values


def _encode_name(name: str) -> str:
    """A name as one part of a path: all but letters, digits, `-`, `_` and `.` percent-encoded, and a leading dot too.

    So no name leads out of its folder, hides, or is two names at once, and the name can be read back.
    """
    try:
        safe = quote(name, safe="").replace("~", "%7E")
    except UnicodeEncodeError:
        safe = ""
    if safe.startswith("."):
        safe = f"%2E{safe[1:]}"
    if not 0 < len(safe) <= _MAX_NAME_BYTES:
        raise WorkFailed(f"{name[:40]!a} cannot name a bundle: it is empty, too long or no text.")
    return safe


def _is_bundle_file(query_id: str, name: str) -> bool:
    """Whether a file's name is the one that a query's bundle has."""
    try:
        return build_file_name(query_id) == name
    except WorkFailed:
        return False


def _format_first_error(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg'].rstrip('.')}"
