"""Where briefings go: one target is one address with its own filters, formats, schedule and language."""

import re
from collections.abc import Collection, Mapping
from typing import Literal
from urllib.parse import unquote, urlsplit

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from monitor.config.group import SettingsGroup, check_time_zone, setting
from monitor.config.secrets import get_host
from monitor.errors import UsageError
from monitor.i18n.message import Message

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

_CHAT_WEBHOOKS = {
    "wecombot": r"https://qyapi\.weixin\.qq\.com/cgi-bin/webhook/send/?\?key=([\w-]+)",
    "dingtalk": r"https://oapi\.dingtalk\.com/robot/send/?\?access_token=(\w+)",
    "feishu": r"https://open\.feishu\.cn/open-apis/bot/v2/hook/([\w-]+)/?",
    "lark": r"https://open\.larksuite\.com/open-apis/bot/v2/hook/([\w-]+)/?",
    "slack": r"https://hooks\.slack\.com/services/(\w+/\w+/\w+)/?",
}
_TEAMS_WEBHOOK = re.compile(
    r"https://([\w.-]+\.(?:logic\.azure|powerplatform|appsplatform)\.[\w.]+(?::\d+)?)"
    r"(/powerautomate/automations/direct(?:/cu/(\d+))?)?/workflows/([\w-]+)/triggers/manual/paths/invoke/?\?(\S+)"
)


def convert_chat_webhook(address: str) -> str | None:
    """Return Apprise's url for the webhook address that a chat service shows; None for any other address."""
    for scheme, pattern in _CHAT_WEBHOOKS.items():
        if found := re.fullmatch(pattern, address.strip()):
            return f"{scheme}://{found[1]}"
    if found := _TEAMS_WEBHOOK.fullmatch(address.strip()):
        host, power_automate, route, workflow, query = found.groups()
        options = ("&pa=yes" if power_automate else "") + (f"&routeid={route}" if route else "")
        return f"workflows://{host}/{workflow}/?{query}{options}"
    return None


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
_HOSTED_CHAT_SCHEME = "workflows"  # the only chat service whose url names a host; the others have one of their own
_FILE_OPTION = re.compile(r"[?&;][\s:+-]*template\s*=")


def parse_variable_entry(entry: str) -> tuple[str, str]:
    """Return variable and host of an entry `NAME@address`; a chat's address is its scheme, as `WECOM_KEY@wecombot`."""
    variable, _, address = entry.strip().partition("@")
    host = CHAT_SCHEMES.get(address) or get_host(address if "://" in address else f"https://{address}")
    if not re.fullmatch(r"\w+", variable) or host is None:
        raise PydanticCustomError("config.variable_entry", "", {"entry": entry[:80]})
    return variable, host


def _get_target_host(url: str) -> str | None:
    scheme = url.split("://", 1)[0].lower()
    if scheme in CHAT_SCHEMES and scheme != _HOSTED_CHAT_SCHEME:
        return CHAT_SCHEMES[scheme]
    return get_host(url)


def _reads_file(url: str) -> bool:
    """Whether a chat's url names a template: Apprise reads it as a file of this machine."""
    return bool(_FILE_OPTION.search(unquote(unquote(url)).lower()))


class TargetSettings(SettingsGroup):
    """One target. `${NAME}` in its url stands for an environment variable, so that no secret stands in the file."""

    name: str = Field(description="its name: letters, digits, `-`, `_` and `.`")
    url: str = Field(description="where to: smtp(s)://…, http(s)://…, or Apprise's url of a chat service")
    sender: str | None = setting(None, "mail: the address that it comes from, as Monitor <monitor@example.org>")
    to: list[str] = setting([], "mail: the addresses that it goes to")
    bcc: list[str] = setting([], "mail: addresses that get it too, and that no other receiver sees")
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
    formats: list[str] = setting([], "attached documents, by their [format](../users/formats.md)")
    language: Literal["zh", "en"] = setting("zh", "the language of the briefing's own words")
    team: str | None = setting(None, "the team whose subjects it gets beside those of all; null = those of all alone")
    topic: str | None = setting(None, "only items that fit this topic; its name stands at the top")
    top: int | None = setting(None, "how many items are shown in full, the rest as a list; null = all", ge=1)
    include_gaps: bool = setting(True, "whether it says what could not be read; false = a copy for a client")
    quiet: Literal["none", "note"] = setting("none", "a day without news: none = nothing is sent; note = it says so")
    deadline_minutes: int = setting(60, "how many minutes a briefing waits for its sources to be read", ge=0, le=1440)
    alarms: bool = setting(False, "alarms go there too, those of one minute as one message")
    alerts: bool = setting(
        False, "alerts of its items go there too, as one message a minute: moved and near deadlines, repeals"
    )
    subscriptions: bool = setting(
        False, "mail: readers may subscribe: briefings of their choice go through it to addresses that they confirm"
    )

    @property
    def scheme(self) -> str:
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

    @property
    def host(self) -> str | None:
        """The host that its secrets are bound to, for a chat service its name; None where a variable stands for it."""
        return _get_target_host(self.url)

    def list_variables(self) -> list[str]:
        return [*_VARIABLE.findall(self.url), *([self.secret_env] if self.secret_env else [])]

    def load_secret(self) -> bytes:
        """The secret that signs; `UsageError` where its variable is not set."""
        return self._require_variable(self.secret_env or "").encode()

    def expand_url(self) -> str:
        """The url with the variables put in; `UsageError` where one is not set, or where they lead elsewhere."""
        url = _VARIABLE.sub(lambda found: self._require_variable(found[1]), self.url)
        # A mail's credentials are taken from the url before variables are put in, so that nothing can move its host.
        is_moved = self.kind != "mail" and self.host not in (None, _get_target_host(url))
        if is_moved or (self.kind == "chat" and _reads_file(url)):
            raise UsageError("target.variable_leads_elsewhere", target=self.name)
        return url

    def describe_secret_problem(self) -> Message | None:
        """Why one of its secrets, which is there, does not go to its host; None where all do."""
        problems = (self.secrets.describe_problem(variable, self.host) for variable in self.list_variables())
        return next((problem for problem in problems if problem is not None), None)

    @property
    def has_secret(self) -> bool:
        """Whether the secret that signs is there, for its host."""
        return bool(self.secret_env and self.secrets.get(self.secret_env, self.host))

    def load_credentials(self) -> tuple[str, str] | None:
        """User and password of a mail server's url, where it has them; `UsageError` where a variable is not set."""
        parts = urlsplit(self.url)
        if parts.username is None:
            return None
        given = (unquote(parts.username), unquote(parts.password or ""))
        user, password = (_VARIABLE.sub(lambda found: self._require_variable(found[1]), text) for text in given)
        return user, password

    def list_secrets(self) -> list[str]:
        """Return what nobody may see of this target: keys, passwords, whole addresses with them."""
        values = [self.secrets.get(name, self.host) for name in self.list_variables()]
        parts = urlsplit(self.url)
        literal = [] if _VARIABLE.search(self.url) else [unquote(parts.password or ""), parts.query]
        if self.kind in ("chat", "webhook"):
            literal += [part for part in self.url.split("://", 1)[1].split("/")[1:] if len(part) >= 16]
        return sorted((value for value in [*values, *literal] if value), key=len, reverse=True)

    def _require_variable(self, variable: str) -> str:
        value = self.secrets.get(variable, self.host)
        if not value:
            if problem := self.secrets.describe_problem(variable, self.host):
                raise UsageError("target.wrong", target=self.name, reason=problem)
            raise UsageError("target.variable_not_set", target=self.name, variable=variable)
        return value

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise ValueError("config.target_name")
        return name

    @field_validator("timezone")
    @classmethod
    def _check_timezone(cls, timezone: str | None) -> str | None:
        return timezone and check_time_zone(timezone)

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
            raise PydanticCustomError("config.target_url", "", {"schemes": [f"{name}://…" for name in known]})
        return url

    @model_validator(mode="after")
    def _check_target(self) -> "TargetSettings":
        if self.kind == "mail":
            _check_mail(self)
        elif self.to or self.bcc or self.sender or self.subscriptions:
            raise PydanticCustomError("config.target_no_mail", "", {"target": self.name})
        if self.secret_env and self.kind != "webhook":
            raise PydanticCustomError("config.target_no_webhook", "", {"target": self.name})
        if self.formats and self.kind == "chat":
            raise PydanticCustomError("config.target_chat_formats", "", {"target": self.name})
        if self.kind == "chat" and _reads_file(self.url):
            raise PydanticCustomError("config.target_template", "", {"target": self.name})
        return self


def is_mail_address(text: str) -> bool:
    return _ADDRESS.fullmatch(text) is not None


def _check_mail(target: TargetSettings) -> None:
    if not (target.to or target.bcc) or not target.sender:
        raise PydanticCustomError("config.target_mail_addresses", "", {"target": target.name})
    plain = target.sender.rpartition("<")[2].rstrip(">") if "<" in target.sender else target.sender
    for address in (plain, *target.to, *target.bcc):
        if not is_mail_address(address):
            raise PydanticCustomError("config.target_address", "", {"target": target.name, "address": repr(address)})
