"""Where briefings go: one target is one address with its own filters, formats, schedule and language."""

import re
from collections.abc import Collection, Mapping
from typing import Literal
from urllib.parse import unquote, urlsplit
from zoneinfo import ZoneInfo

from pydantic import Field, field_validator, model_validator

from monitor.config.group import SettingsGroup, setting
from monitor.errors import UsageError

MAIL_SCHEMES = ("smtp", "smtps")

WEBHOOK_SCHEMES = ("http", "https")

CHAT_SCHEMES = {
    "wecombot": "WeCom",
    "dingtalk": "DingTalk",
    "feishu": "Feishu",
    "lark": "Lark",
    "slack": "Slack",
    "workflows": "Teams",
    "tgram": "Telegram",
}
"""The chat services that Apprise carries to, by the scheme of its urls."""

ChannelKind = Literal["mail", "webhook", "chat"]

SCHEMES: Mapping[ChannelKind, Collection[str]] = {
    "mail": MAIL_SCHEMES,
    "webhook": WEBHOOK_SCHEMES,
    "chat": CHAT_SCHEMES,
}
"""The url schemes of each kind of channel; `monitor.notify.registry` has the channel for each kind."""

_NAME = re.compile(r"[\w.-]{1,40}")

_ADDRESS = re.compile(r"[^\s@<>,;]+@[^\s@<>,;]+")

_VARIABLE = re.compile(r"\$\{(\w+)\}")


class TargetSettings(SettingsGroup):
    """One target. `${NAME}` in its url stands for an environment variable, so that no secret stands in the file."""

    name: str = Field(description="its name: letters, digits, `-`, `_` and `.`")
    url: str = Field(description="where to: smtp(s)://…, http(s)://…, or Apprise's url of a chat service")
    sender: str | None = setting(None, "mail: the address that it comes from, as Monitor <monitor@example.org>")
    to: list[str] = setting([], "mail: the addresses that it goes to")
    secret_env: str | None = setting(None, "webhook: the environment variable with the secret that signs")
    schedule: str | None = setting(None, "when, as cron: minute, hour, day, month, weekday; null = only when asked")
    timezone: str | None = setting(None, "the time zone of the schedule and of the days; null = the service's")
    days: int = setting(
        1, "days of the first briefing and of one asked for; planned ones begin where the last one ended", ge=1
    )
    sources: list[str] = setting([], "only these sources")
    tags: list[str] = setting([], "only sources with one of these tags")
    keywords: list[str] = setting([], "only items with one of these words")
    types: list[str] = setting([], "only items of these types")
    formats: list[str] = setting([], "documents that go along, by their [format](../users/formats.md)")
    language: Literal["zh", "en"] = setting("zh", "the language of the briefing's own words")
    top: int | None = setting(None, "so many items in full, the rest listed; null = all", ge=1)
    quiet: Literal["none", "note"] = setting("none", "a day without news: none = nothing is sent; note = it says so")
    deadline_minutes: int = setting(60, "so long a briefing waits for its sources' runs of the day", ge=0, le=1440)
    alarms: bool = setting(False, "alarms go there too, those of a minute as one message")

    @property
    def scheme(self) -> str:
        """The scheme of its url, in lower case: how it is reached."""
        return self.url.split("://", 1)[0].lower()

    @property
    def kind(self) -> ChannelKind:
        return next(kind for kind, schemes in SCHEMES.items() if self.scheme in schemes)

    @property
    def shown(self) -> str:
        """The address as it may be shown to anyone: scheme and host, for a chat service its name."""
        if self.kind == "chat":
            return CHAT_SCHEMES[self.scheme]
        host = urlsplit(self.url).netloc.rpartition("@")[2]
        return f"{self.scheme}://{_VARIABLE.sub('…', host)}"

    def list_variables(self) -> list[str]:
        """The environment variables that it needs, for its url and for what signs."""
        return [*_VARIABLE.findall(self.url), *([self.secret_env] if self.secret_env else [])]

    def load_secret(self) -> bytes:
        """The secret that signs; `UsageError` where its variable is not set."""
        return self._require_variable(self.secret_env or "").encode()

    def expand_url(self) -> str:
        """The url with the variables put in; `UsageError` where one is not set."""
        return _VARIABLE.sub(lambda found: self._require_variable(found[1]), self.url)

    def load_credentials(self) -> tuple[str, str] | None:
        """User and password of a mail server's url, where it has them; `UsageError` where a variable is not set."""
        parts = urlsplit(self.url)
        if parts.username is None:
            return None
        given = (unquote(parts.username), unquote(parts.password or ""))
        user, password = (_VARIABLE.sub(lambda found: self._require_variable(found[1]), one) for one in given)
        return user, password

    def list_secrets(self) -> list[str]:
        """What must not be told of this target, as far as it is set: keys, passwords, whole addresses with them."""
        values = [self.get_secret(name) for name in self.list_variables()]
        parts = urlsplit(self.url)
        literal = [] if _VARIABLE.search(self.url) else [unquote(parts.password or ""), parts.query]
        if self.kind in ("chat", "webhook"):
            literal += [part for part in self.url.split("://", 1)[1].split("/")[1:] if len(part) >= 16]
        return sorted((value for value in [*values, *literal] if value), key=len, reverse=True)

    def _require_variable(self, variable: str) -> str:
        value = self.get_secret(variable)
        if not value:
            raise UsageError(f"The target {self.name} needs the environment variable {variable}, which is not set.")
        return value

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise ValueError("a name has up to 40 letters, digits, `-`, `_` and `.`, and no spaces")
        return name

    @field_validator("timezone")
    @classmethod
    def _check_timezone(cls, timezone: str | None) -> str | None:
        try:
            ZoneInfo(timezone or "UTC")
        except (KeyError, ValueError, OSError):
            raise ValueError("it is no time zone; write one as Asia/Shanghai or Europe/Berlin") from None
        return timezone

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        known = [scheme for schemes in SCHEMES.values() for scheme in schemes]
        scheme, has_scheme, rest = url.partition("://")
        try:
            parts = urlsplit(url)
            is_whole = bool(rest.strip("/")) and (scheme.lower() in CHAT_SCHEMES or bool(parts.hostname))
            _ = None if scheme.lower() in CHAT_SCHEMES else parts.port
        except ValueError:
            is_whole = False
        if not has_scheme or scheme.lower() not in known or not is_whole:
            raise ValueError(f"write {', '.join(f'{one}://…' for one in known)}")
        return url

    @model_validator(mode="after")
    def _check_target(self) -> "TargetSettings":
        if self.kind == "mail":
            _check_mail(self)
        elif self.to or self.sender:
            raise ValueError(f"the target {self.name} is no mail: leave `to` and `sender` out")
        if self.secret_env and self.kind != "webhook":
            raise ValueError(f"the target {self.name} is no webhook: leave `secret_env` out")
        if self.formats and self.kind == "chat":
            raise ValueError(f"the target {self.name} is a chat, which carries text alone: leave `formats` out")
        return self


def _check_mail(target: TargetSettings) -> None:
    if not target.to or not target.sender:
        raise ValueError(f"the target {target.name} sends mail and needs `sender` and `to`")
    plain = target.sender.rpartition("<")[2].rstrip(">") if "<" in target.sender else target.sender
    for address in (plain, *target.to):
        if not _ADDRESS.fullmatch(address):
            raise ValueError(f"the target {target.name} has the address {address!r}: write it as name@example.org")
