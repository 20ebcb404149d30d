"""The audit in syslog: what was done arrives there, what was undone does not, and nobody waits for it."""

import asyncio
import datetime as dt
import json
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from monitor.bootstrap import open_app
from monitor.config.loading import load_settings
from monitor.config.model import Settings
from monitor.errors import SettingsError
from monitor.logs import forward_audit, send_audit_entry
from monitor.services.audit import COMMAND_LINE, Actor, AuditAction
from monitor.vocabulary import Role

ANNA = Actor("anna", Role.EDITOR, address="192.0.2.7")
ENTRY = {"at": "2026-02-03T08:00:00Z", "person": "anna", "action": "source.edit", "subject": "s", "detail": {}}


@contextmanager
def receive(kind: str, folder: Path) -> Iterator[tuple[str, socket.socket]]:
    """A datagram socket on loopback or in a folder, and its address."""
    family = socket.AF_UNIX if kind == "unix" else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as receiver:
        receiver.bind(str(folder / "log") if kind == "unix" else ("127.0.0.1", 0))
        receiver.settimeout(30)
        name = receiver.getsockname()
        yield f"unix://{name}" if kind == "unix" else f"udp://127.0.0.1:{name[1]}", receiver


async def read(receiver: socket.socket) -> dict[str, Any]:
    line = (await asyncio.to_thread(receiver.recv, 65536)).decode()
    assert line.startswith("<86>monitor: {"), line  # authpriv, info
    return dict(json.loads(line.partition(" ")[2]))


@pytest.mark.parametrize("kind", ["udp", "unix"])
async def test_an_act_arrives_as_one_json_document(tmp_path: Path, sqlite_url: str, kind: str) -> None:
    with receive(kind, tmp_path) as (address, receiver):
        settings = Settings(data_dir=tmp_path, database_url=sqlite_url, logs={"syslog": address})
        async with open_app(settings) as app:
            await app.audit.record(ANNA, AuditAction.SOURCE_EDIT, "国家\n能源局", after={"n": 1})
            entry = await read(receiver)
    assert (entry["person"], entry["address"], entry["action"]) == ("anna", "192.0.2.7", "source.edit")
    assert dt.datetime.fromisoformat(entry["at"]).tzinfo is not None
    assert (entry["subject"], entry["detail"]) == ("国家\n能源局", {"after": {"n": 1}})


async def test_an_act_that_was_undone_does_not_arrive(tmp_path: Path, sqlite_url: str) -> None:
    with receive("udp", tmp_path) as (address, receiver):
        settings = Settings(data_dir=tmp_path, database_url=sqlite_url, logs={"syslog": address})
        async with open_app(settings) as app:

            async def fail() -> None:
                async with app.store.transaction():
                    await app.audit.record(ANNA, AuditAction.SOURCE_EDIT, "undone")
                    raise ZeroDivisionError

            with pytest.raises(ZeroDivisionError):
                await fail()
            async with app.store.transaction():
                await app.audit.record(ANNA, AuditAction.SOURCE_EDIT, "done")
            assert (await read(receiver))["subject"] == "done"


async def test_a_command_that_ends_at_once_has_sent_what_it_did(tmp_path: Path, sqlite_url: str) -> None:
    with receive("udp", tmp_path) as (address, receiver):
        settings = Settings(data_dir=tmp_path, database_url=sqlite_url, logs={"syslog": address})
        async with open_app(settings) as app:
            await app.people.add("bert", "reader", by=COMMAND_LINE)
        receiver.setblocking(False)
        assert b'"person.add"' in receiver.recv(65536)


async def test_what_no_receiver_takes_whole_arrives_without_its_detail(tmp_path: Path) -> None:
    with receive("udp", tmp_path) as (address, receiver), forward_audit(address):
        send_audit_entry({**ENTRY, "detail": {"after": "长" * 30_000}})
        entry = await read(receiver)
    assert (entry["detail"], entry["is_cut"], entry["person"]) == (None, True, "anna")


@asynccontextmanager
async def listen(port: int) -> AsyncIterator["asyncio.Queue[bytes]"]:
    """A syslog server over TCP; its lines as they come."""
    lines: asyncio.Queue[bytes] = asyncio.Queue()
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        while line := await reader.readline():
            lines.put_nowait(line)

    async with await asyncio.start_server(serve, "127.0.0.1", port):
        yield lines
        for writer in writers:
            writer.close()
            await writer.wait_closed()


async def test_what_waits_for_a_receiver_arrives_when_it_is_there(free_port: int) -> None:
    async with AsyncExitStack() as stack:
        stack.enter_context(forward_audit(f"tcp://127.0.0.1:{free_port}"))
        for number in range(3):
            send_audit_entry({**ENTRY, "subject": str(number)})
        lines = await stack.enter_async_context(listen(free_port))
        arrived = [await asyncio.wait_for(lines.get(), 60) for _ in range(3)]
        assert [json.loads(line.partition(b" ")[2])["subject"] for line in arrived] == ["0", "1", "2"]


def test_nobody_waits_for_a_receiver_that_does_not_take_anything() -> None:
    with ExitStack() as stack:
        silent = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=1))
        stack.enter_context(forward_audit(f"tcp://127.0.0.1:{silent.getsockname()[1]}"))
        for _ in range(20_000):  # more than may wait: the rest is dropped
            send_audit_entry({**ENTRY, "detail": {"after": "x" * 200}})


@pytest.mark.parametrize(
    "address", ["syslog.example", "http://x:1", "udp://", "unix://", "tcp://x:port", "udp://x:1/y"]
)
def test_an_address_that_is_none_is_refused(tmp_path: Path, address: str) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(f"logs: {{syslog: '{address}'}}\n")
    with pytest.raises(SettingsError, match="udp://host:514"):
        load_settings(file)


def test_a_network_of_trusted_proxies_that_is_none_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("web: {trusted_proxies: [10.0.0.0/8, proxy.example]}\n")
    with pytest.raises(SettingsError, match=r"'proxy\.example' is neither an address"):
        load_settings(file)
