"""Where the archive is exported to for a firm's own tools: below a folder, or to buckets of an S3-compatible store."""

import re
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from monitor.config.group import SettingsGroup, setting
from monitor.config.secrets import get_host
from monitor.errors import UsageError

_NAME = re.compile(r"[\w-][\w.-]{0,39}")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX = re.compile(r"(?:[\w=-][\w.=-]*/)*", re.ASCII)


class BucketSettings(SettingsGroup):
    """One bucket. Its keys are secrets, which two variables name."""

    name: str = Field(description="its name here: letters, digits, `-`, `_` and `.`")
    endpoint: str = Field(description="the address of the store, as https://s3.eu-central-1.amazonaws.com")
    bucket: str = Field(description="the name of the bucket there")
    prefix: str = setting("", "folders in the bucket below which everything goes, as monitor/; each ends with /")
    region: str = setting("us-east-1", "the region that signatures name", min_length=1, max_length=60)
    key_id_env: str = Field(description="the variable with the id of the access key")
    secret_env: str = Field(description="the variable with its secret")
    is_virtual_host: bool = setting(
        False, "whether the endpoint is the bucket's own address, as https://BUCKET.oss-cn-hangzhou.aliyuncs.com"
    )

    @property
    def host(self) -> str | None:
        """The host that its keys are bound to."""
        return get_host(self.endpoint)

    def load_key(self) -> tuple[str, str]:
        """Return the id of the access key and its secret; `UsageError` where one is not there for the host."""
        return self._require_variable(self.key_id_env), self._require_variable(self.secret_env)

    def _require_variable(self, variable: str) -> str:
        value = self.secrets.get(variable, self.host)
        if value:
            return value
        if problem := self.secrets.describe_problem(variable, self.host):
            raise UsageError(problem)
        raise UsageError("export.variable_not_set", bucket=self.name, variable=variable)

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise ValueError("config.target_name")
        return name

    @field_validator("endpoint")
    @classmethod
    def _check_endpoint(cls, endpoint: str) -> str:
        parts = urlsplit(endpoint)
        if parts.scheme not in ("http", "https") or get_host(endpoint) is None or parts.query or parts.fragment:
            raise ValueError("config.no_web_address")
        return endpoint.rstrip("/")

    @field_validator("bucket")
    @classmethod
    def _check_bucket(cls, bucket: str) -> str:
        if not _BUCKET.fullmatch(bucket):
            raise ValueError("config.bucket_name")
        return bucket

    @field_validator("prefix")
    @classmethod
    def _check_prefix(cls, prefix: str) -> str:
        if not _PREFIX.fullmatch(prefix):
            raise ValueError("config.bucket_prefix")
        return prefix


class ExportSettings(SettingsGroup):
    folder: Path | None = setting(None, "the folder below which exports of the archive go; null = none does")
    buckets: list[BucketSettings] = setting([], "buckets that they may go to, as docs/administrators/exports.md tells")

    @field_validator("buckets")
    @classmethod
    def _check_unique_names(cls, buckets: list[BucketSettings]) -> list[BucketSettings]:
        names = [bucket.name for bucket in buckets]
        for name in names:
            if names.count(name) > 1:
                raise PydanticCustomError("config.bucket_twice", "", {"name": name})
        return buckets

    def find_bucket(self, name: str) -> BucketSettings:
        """Return the bucket of that name; `UsageError` where the configuration names none such."""
        for bucket in self.buckets:
            if bucket.name == name:
                return bucket
        raise UsageError("export.no_such_bucket", name=name)
