"""The channel for each kind of target; `SCHEMES` of the settings has the url schemes of each kind."""

from collections.abc import Mapping

from monitor.clock import Clock
from monitor.config.model import NetworkSettings
from monitor.config.targets import ChannelKind, TargetSettings
from monitor.fetch.outbound import OutboundPolicy
from monitor.notify.chat import ChatChannel
from monitor.notify.mail import MailChannel
from monitor.notify.notification import Channel
from monitor.notify.webhook import WebhookChannel

CHANNELS: Mapping[ChannelKind, type[Channel]] = {"mail": MailChannel, "webhook": WebhookChannel, "chat": ChatChannel}


def build_channel(target: TargetSettings, network: NetworkSettings, clock: Clock) -> Channel:
    return CHANNELS[target.kind](target=target, policy=OutboundPolicy(network), clock=clock)
