from typing import Any

import pytest

from monitor.config.targets import TargetSettings, convert_chat_webhook
from monitor.services.channel_setup import ChannelSetup, SetupChannel, build_target_form
from monitor.services.settings import InvalidSettings

TEAMS = "https://prod-1.westeurope.logic.azure.com:443/workflows/ab12/triggers/manual/paths/invoke?api-version=2016-06-01&sig=x-Y_z"
POWER = "https://d1.environment.api.powerplatform.com/powerautomate/automations/direct/workflows/ab12/triggers/manual/paths/invoke?sig=s"


@pytest.mark.parametrize(
    ("address", "url"),
    [
        (" https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=a1-b2 ", "wecombot://a1-b2"),
        ("https://oapi.dingtalk.com/robot/send?access_token=a1", "dingtalk://a1"),
        ("https://open.feishu.cn/open-apis/bot/v2/hook/a1-b2", "feishu://a1-b2"),
        ("https://open.larksuite.com/open-apis/bot/v2/hook/a1-b2", "lark://a1-b2"),
        ("https://hooks.slack.com/services/T1/B1/c3", "slack://T1/B1/c3"),
        (TEAMS, "workflows://prod-1.westeurope.logic.azure.com:443/ab12/?api-version=2016-06-01&sig=x-Y_z"),
        (POWER, "workflows://d1.environment.api.powerplatform.com/ab12/?sig=s&pa=yes"),
        ("https://intranet.example/hooks/monitor", None),
        ("https://evil.example/?https://hooks.slack.com/services/T1/B1/c3", None),
        ("https://hooks.slack.com.evil.example/services/T1/B1/c3", None),
    ],
)
def test_the_webhook_address_of_a_chat_becomes_its_url(address: str, url: str | None) -> None:
    assert convert_chat_webhook(address) == url


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what the sender imports
@pytest.mark.parametrize("address", [TEAMS, POWER, "https://hooks.slack.com/services/T1/B1/c3"])
def test_the_url_is_one_that_the_sender_understands(address: str) -> None:
    apprise = pytest.importorskip("apprise")
    assert apprise.Apprise.instantiate(convert_chat_webhook(address)) is not None


def test_dingtalk_signs_with_its_secret() -> None:
    setup = ChannelSetup(
        channel=SetupChannel.DINGTALK,
        address="https://oapi.dingtalk.com/robot/send?access_token=a1",
        secret="SEC9",  # noqa: S106 -- made up
    )
    assert build_target_form(setup).url == "dingtalk://SEC9@a1"


def test_a_password_may_hold_any_character() -> None:
    form = build_target_form(
        ChannelSetup(
            channel=SetupChannel.MAIL,
            server="mail.example",
            security="starttls",
            port="25",
            user="me@x.example",
            password="p@ss:/?#%",  # noqa: S106 -- made up
            sender="m@x.example",
            to=["a@x.example"],
        )
    )
    target = TargetSettings(name="mail", url=form.url or "", sender=form.sender, to=form.to)
    assert target.load_credentials() == ("me@x.example", "p@ss:/?#%")
    assert (target.shown, target.scheme) == ("smtp://mail.example:25", "smtp")


@pytest.mark.parametrize(
    ("values", "fields"),
    [
        ({"channel": "slack", "address": "https://open.feishu.cn/open-apis/bot/v2/hook/a1"}, ["address"]),
        ({"channel": "mail", "server": "smtps://mail.example", "port": "0"}, ["server", "port", "sender", "to"]),
    ],
)
def test_what_is_wrong_is_said_beside_its_field(values: dict[str, Any], fields: list[str]) -> None:
    with pytest.raises(InvalidSettings) as refused:
        build_target_form(ChannelSetup.model_validate(values))
    assert list(refused.value.complaints) == fields
