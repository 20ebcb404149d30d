"""The channel of a target."""

from monitor.clock import Clock
from monitor.config.model import NetworkSettings
from monitor.config.targets import MAIL_SCHEMES, WEBHOOK_SCHEMES, TargetSettings
from monitor.fetch.guard import Guard
from monitor.notify.chat import ChatChannel
from monitor.notify.mail import MailChannel
from monitor.notify.notification import Channel
from monitor.notify.webhook import WebhookChannel


def build_channel(target: TargetSettings, network: NetworkSettings, clock: Clock) -> Channel:
    """The channel that carries to a target. What it asks is under the guard, as everything that goes out."""
    guard = Guard(allowed_private_hosts=network.allowed_private_hosts)
    if target.scheme in MAIL_SCHEMES:
        return MailChannel(target, network, guard)
    if target.scheme in WEBHOOK_SCHEMES:
        return WebhookChannel(target, network, guard, clock)
    return ChatChannel(target, network, guard)
