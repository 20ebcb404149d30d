"""How deliveries stand, and why one did not arrive; what a receiver itself said stays as it said it."""

import datetime as dt
import re
from collections.abc import Sequence

from monitor.app.deliveries import DeliveryWire
from monitor.briefing.wording import wording_for
from monitor.domain.deliveries import DeliveryStatus

_REASONS = (
    (r"The mail server (\S+) was not reached: (.*)\.", "连不上邮件服务器 {0}：{1}"),
    (r"The mail server answered (\d+): (.*)\.", "邮件服务器答复 {0}：{1}"),
    (r"The mail server refused (.*)\.", "邮件服务器拒收：{0}"),
    (r"The mail server broke off: (.*)\.", "邮件服务器中断了连接：{0}"),
    (r"The mail server cannot do what is asked of it: (.*)\.", "邮件服务器不支持所需的功能：{0}"),
    (r"The mail server offers no TLS.*", "邮件服务器不支持 TLS，未发送密码；请改用 smtps://"),
    (r"The receiver answered (\d+)(?:: (.*))?\.", "接收方答复 {0}：{1}"),
    (r"The chat service did not answer within (.*) s\.", "聊天服务在 {0} 秒内没有答复"),
    (r"The chat service was not reached: (.*)\.", "连不上聊天服务：{0}"),
    (r"The chat service refused it: (.*)\.", "聊天服务拒收：{0}"),
    (r"Apprise did not hand it over\.", "Apprise 未能送达"),
    (r"Apprise broke off without a word\.", "Apprise 中断，没有说明原因"),
    (r"Apprise cannot read the url of this target.*", "Apprise 读不懂这个目标的网址"),
    (r"The try broke off; the log says why\.", "发送中途中断，原因见日志"),
    (r"An unexpected (\w+); the log tells more\.", "意外错误 {0}，详情见日志"),
    (
        r"The target (\S+) needs the environment variable (\S+), which is not set\.",
        "目标 {0} 需要环境变量 {1}，尚未设置",
    ),
    (r"There is no target '(.*)' in deliver\.targets.*", "设置里已没有目标 {0}"),
    (r"The briefing of this delivery is gone.*", "这次投递的简报已不在，或由其他版本写成"),
    (r"The alarms were forgotten before they could be told\.", "告警在发送之前已被清除"),
)


def is_under_way(deliveries: Sequence[DeliveryWire], now: dt.datetime) -> bool:
    """Whether one of them is being made at this moment, so that it is worth to look again."""
    return any(
        delivery.status is DeliveryStatus.QUEUED and delivery.next_try_at is not None and delivery.next_try_at <= now
        for delivery in deliveries
    )


def said(told: str | None, language: str) -> str:
    """A reason of the log in the language; one that nobody foresaw as it stands."""
    if not told or language != "zh":
        return told or ""
    for pattern, words in _REASONS:
        if found := re.fullmatch(pattern, told, re.DOTALL):
            return words.format(*(group or "" for group in found.groups())).removesuffix("：")
    return wording_for(language).said(told)
