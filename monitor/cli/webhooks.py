"""`monitor webhooks`: programs that are told of events, what they were sent, and sending it once more."""

import datetime as dt
from typing import Annotated, Any

import typer

from monitor.cli.parser import build_group
from monitor.cli.terminal import JsonOption, get_terminal
from monitor.db.tables.webhooks import WebhookDeliveryStatus, WebhookEventType, WebhookFormat
from monitor.errors import UsageError

app = build_group()

Number = Annotated[int, typer.Argument(metavar="ID", min=1, help="The number of the webhook.")]


@app.command("list")
def list_webhooks(as_json: JsonOption = False) -> None:
    """List the webhooks, newest first, and how sending to them goes."""
    terminal = get_terminal()
    terminal.write_list(
        "webhooks",
        terminal.act(lambda app, by: app.webhooks.list(by=by)),
        lambda webhook: {
            "id": webhook.id,
            "label": webhook.label,
            "url": webhook.url,
            "types": ", ".join(webhook.types),
            "failing_since": webhook.failing_since,
            "disabled": webhook.disabled_reason,
        },
        as_json=as_json,
        none="webhooks.none",
    )


@app.command()
def add(
    url: Annotated[str, typer.Argument(metavar="URL", help="Where to: http(s)://…")],
    label: Annotated[str, typer.Option("--label", metavar="NAME", help="A name for lists.")] = "",
    types: Annotated[
        list[WebhookEventType] | None,
        typer.Option("--type", metavar="TYPE", help="Only events of this type, as item.created; may be repeated."),
    ] = None,
    topics: Annotated[
        list[str] | None, typer.Option("--topic", metavar="NAME", help="Only items of this topic; may be repeated.")
    ] = None,
    form: Annotated[WebhookFormat, typer.Option("--format", help="The body of an event.")] = WebhookFormat.STANDARD,
    language: Annotated[str, typer.Option("--lang", metavar="zh|en", help="The language of its words.")] = "en",
    *,
    as_json: JsonOption = False,
) -> None:
    """Add a webhook, and print the secret that signs its requests; it is shown this once."""
    from pydantic import ValidationError

    from monitor.i18n.model import describe_validation_error
    from monitor.services.webhooks.endpoints import WebhookForm

    terminal = get_terminal()

    async def create(app: Any, by: Any) -> Any:
        chosen = [(await app.topics.find(name)).id for name in topics or ()]
        fields = {"url": url, "label": label, "types": types or [], "topics": chosen}
        try:
            wanted = WebhookForm.model_validate(fields | {"format": form, "language": language})
        except ValidationError as error:
            raise UsageError(describe_validation_error(error.errors()[0])) from None
        return await app.webhooks.add(wanted, by=by)

    webhook, secret = terminal.act(create)
    if as_json:
        terminal.write_json({"webhook": webhook.model_dump(mode="json"), "secret": secret})
        return
    terminal.write_line(secret)
    terminal.notify("webhooks.added", webhook=webhook.id)


@app.command()
def remove(webhook: Number, as_json: JsonOption = False) -> None:
    """Remove a webhook with its log."""
    terminal = get_terminal()
    terminal.act(lambda app, by: app.webhooks.remove(webhook, by=by))
    terminal.report("webhooks.removed", webhook=webhook, as_json=as_json)


@app.command()
def log(
    webhook: Number,
    status: Annotated[WebhookDeliveryStatus | None, typer.Option("--status", help="Only these.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """List what a webhook was sent, the newest events first."""
    terminal = get_terminal()
    terminal.write_list(
        "deliveries",
        terminal.act(lambda app, by: app.webhooks.list_log(webhook, status=status, limit=limit, by=by)),
        lambda delivery: {
            "id": delivery.id,
            "type": str(delivery.type),
            "subject": delivery.subject,
            "status": terminal.word("webhook_delivery", delivery.status),
            "happened": delivery.occurred_at,
            "tries": delivery.attempts,
            "sent": delivery.sent_at,
            "error": delivery.last_error,
        },
        as_json=as_json,
        none="webhooks.no_events",
    )


@app.command()
def redeliver(
    webhook: Number,
    delivery: Annotated[int, typer.Argument(metavar="DELIVERY", min=1, help="Its number in the log.")],
    as_json: JsonOption = False,
) -> None:
    """Have an event sent once more under its id; the service does it."""
    terminal = get_terminal()
    detail = terminal.act(lambda app, by: app.webhooks.redeliver(webhook, delivery, by=by))
    terminal.report("webhooks.redelivered", key=detail.key, as_json=as_json)


@app.command()
def replay(
    webhook: Number,
    since: Annotated[str, typer.Option("--since", metavar="TIME", help="From when on, as 2026-03-02T08:00:00+08:00.")],
    as_json: JsonOption = False,
) -> None:
    """Have all events since a time sent once more; the service does it."""
    try:
        instant = dt.datetime.fromisoformat(since)
    except ValueError:
        raise UsageError("webhook.bad_since") from None
    terminal = get_terminal()
    count = terminal.act(lambda app, by: app.webhooks.replay(webhook, instant, by=by))
    terminal.report("webhooks.replayed", count=count, as_json=as_json)
