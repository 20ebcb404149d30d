"""`monitor secrets`: passwords and keys, stored encrypted for the hosts that ask for them, and never shown."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.parser import build_group
from monitor.cli.terminal import JsonOption, get_terminal
from monitor.config.stored import SECRET_PREFIX

if TYPE_CHECKING:
    from monitor.bootstrap import App
    from monitor.services.audit import Actor
    from monitor.services.settings import SecretSettingSchema

app = build_group()
Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the secret, as INTRANET_PASSWORD.")]


@app.command("list")
def list_secrets(as_json: JsonOption = False) -> None:
    """List the secrets by name: who uses them, whether they are set, and for which hosts."""
    terminal = get_terminal()

    async def load(app: "App") -> "list[SecretSettingSchema]":
        return await app.settings_service.list_secrets()

    terminal.write_list(
        "secrets",
        terminal.run(load),
        lambda secret: {
            "name": secret.name,
            "used_by": secret.used_by,
            "is_set": terminal.translate("yes" if secret.is_set else "no"),
            "hosts": ", ".join(secret.hosts),
            "complaint": secret.complaint,
        },
        as_json=as_json,
        none="secrets.none",
    )


@app.command("set")
def set_secret(
    name: Name,
    from_stdin: Annotated[
        bool, typer.Option("--stdin", help="Read the secret from standard input, its first line.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Store a secret, asked for without showing it, for the hosts that use it now."""
    terminal = get_terminal()
    if from_stdin:
        value = sys.stdin.readline().removesuffix("\n").removesuffix("\r")
    else:
        value = typer.prompt(terminal.translate("Secret"), hide_input=True, err=True)
    terminal.act(lambda app, by: app.settings_service.update({SECRET_PREFIX + name: value}, by=by))
    terminal.report("secret.stored", name=name, as_json=as_json)


@app.command()
def forget(name: Name, as_json: JsonOption = False) -> None:
    """Delete a stored secret; what used it goes without."""
    terminal = get_terminal()

    async def reset(app: "App", by: "Actor") -> bool:
        return bool(await app.settings_service.reset([SECRET_PREFIX + name], by=by))

    was_stored = terminal.act(reset)
    document = {"name": name, "was_stored": was_stored}
    code = "secret.forgotten" if was_stored else "secret.not_stored"
    terminal.report(code, name=name, document=document, as_json=as_json)
