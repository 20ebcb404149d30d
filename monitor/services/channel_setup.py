"""A delivery target set up in its channel's own words: what a person pastes from WeCom, Slack or a mail server."""

import re
from enum import StrEnum
from typing import Literal
from urllib.parse import quote

from pydantic import BaseModel, Field

from monitor.config.targets import convert_chat_webhook
from monitor.i18n.message import Message
from monitor.services.deliveries import TargetForm
from monitor.services.settings import InvalidSettings


class SetupChannel(StrEnum):
    MAIL = "mail"
    WECOM = "wecom"
    FEISHU = "feishu"
    DINGTALK = "dingtalk"
    SLACK = "slack"
    TEAMS = "teams"


_SCHEMES = {
    SetupChannel.WECOM: ("wecombot",),
    SetupChannel.FEISHU: ("feishu", "lark"),
    SetupChannel.DINGTALK: ("dingtalk",),
    SetupChannel.SLACK: ("slack",),
    SetupChannel.TEAMS: ("workflows",),
}
_DINGTALK_SECRET = re.compile(r"\w+")
_HOST = re.compile(r"[\w.-]+")


class ChannelSetup(BaseModel):
    """What is typed: `address` for a chat, with `secret` for DingTalk; for mail the other fields."""

    channel: SetupChannel
    address: str = Field(default="", max_length=2000)
    secret: str = Field(default="", max_length=200)
    server: str = Field(default="", max_length=255)
    port: str = Field(default="", max_length=5)
    security: Literal["tls", "starttls"] = "tls"
    user: str = Field(default="", max_length=320)
    password: str = Field(default="", max_length=1000)
    sender: str = Field(default="", max_length=300)
    to: list[str] = Field(default_factory=list, max_length=200)
    schedule: str | None = None
    language: Literal["zh", "en"] = "zh"
    alarms: bool = False


def build_target_form(setup: ChannelSetup) -> TargetForm:
    """Return the target's form; `InvalidSettings` says by field of the setup what is wrong."""
    url = _build_mail_url(setup) if setup.channel is SetupChannel.MAIL else _build_chat_url(setup)
    form = TargetForm(url=url, schedule=setup.schedule, language=setup.language, alarms=setup.alarms)
    if setup.channel is SetupChannel.MAIL:
        form.sender, form.to = setup.sender, setup.to
    return form


def _build_chat_url(setup: ChannelSetup) -> str:
    url = convert_chat_webhook(setup.address)
    if url is None or url.partition("://")[0] not in _SCHEMES[setup.channel]:
        raise InvalidSettings({"address": Message(f"channel.not_an_address_of_{setup.channel}")})
    if setup.channel is SetupChannel.DINGTALK and setup.secret:
        if not _DINGTALK_SECRET.fullmatch(setup.secret):
            raise InvalidSettings({"secret": Message("channel.bad_secret")})
        return url.replace("://", f"://{setup.secret}@")
    return url


def _build_mail_url(setup: ChannelSetup) -> str:
    problems = {}
    if not _HOST.fullmatch(setup.server):
        problems["server"] = Message("channel.bad_server")
    if setup.port and not (setup.port.isdecimal() and 0 < int(setup.port) < 65536):
        problems["port"] = Message("channel.bad_port")
    if not setup.sender:
        problems["sender"] = Message("channel.no_sender")
    if not setup.to:
        problems["to"] = Message("channel.no_receiver")
    if problems:
        raise InvalidSettings(problems)
    credentials = f"{quote(setup.user, safe='')}:{quote(setup.password, safe='')}@" if setup.user else ""
    scheme, port = "smtps" if setup.security == "tls" else "smtp", f":{setup.port}" if setup.port else ""
    return f"{scheme}://{credentials}{setup.server}{port}"
