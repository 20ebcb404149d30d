"""The channel of a target."""

from monitor.channels.chat import ChatChannel
from monitor.channels.mail import MailChannel
from monitor.channels.webhook import WebhookChannel
from monitor.net.guard import Guard
from monitor.ports import Channel, Clock
from monitor.settings import NetworkSettings
from monitor.settings.targets import MAIL_SCHEMES, WEBHOOK_SCHEMES, TargetSettings


def channel_of(target: TargetSettings, network: NetworkSettings, clock: Clock) -> Channel:
    """The channel that carries to a target. What it asks is under the guard, as everything that goes out."""
    guard = Guard(allowed_private_hosts=network.allowed_private_hosts)
    if target.scheme in MAIL_SCHEMES:
        return MailChannel(target, network, guard)
    if target.scheme in WEBHOOK_SCHEMES:
        return WebhookChannel(target, network, guard, clock)
    return ChatChannel(target, network, guard)
