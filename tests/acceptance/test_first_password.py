"""The first password, as somebody meets it who starts the program: printed once, in a file of theirs, good for once."""

import json
import signal
import stat
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from tests.acceptance.people import Service


async def sign_in(service: Service, password: str) -> httpx.Response:
    async with httpx.AsyncClient(base_url=service.address, timeout=60) as client:
        return await client.post("sign-in", data={"name": "admin", "password": password})


async def stop(service: Service) -> None:
    service.process.send_signal(signal.SIGTERM)
    await service.process.wait()


@pytest.mark.timeout(300)
async def test_the_first_password_is_printed_once_kept_in_a_file_and_spent_by_a_sign_in(
    workplace: Any, serve: Callable[[], Awaitable[Service]], free_port: int
) -> None:
    workplace.configure(web={"port": free_port})
    service = await serve()
    file = workplace.folder / "data" / "first_password.txt"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text().splitlines()[:2] == ["admin", service.one_time]
    await stop(service)
    again = await serve()
    assert again.one_time == "", "it was printed twice"
    signed_in = await sign_in(again, service.one_time)
    assert (signed_in.status_code, signed_in.headers["location"]) == (303, "/account")
    assert not file.exists()
    assert (await sign_in(again, service.one_time)).status_code == 403
    await stop(again)
    third = await serve()
    assert third.one_time not in ("", service.one_time), "nobody could sign in any more"
    assert (await sign_in(third, service.one_time)).status_code == 403
    assert (await sign_in(third, third.one_time)).status_code == 303
    exported = await workplace.monitor("audit", "export")
    acts = [(entry["action"], entry["address"]) for entry in map(json.loads, exported.out.splitlines())]
    assert acts == [
        ("person.add", ""),
        ("session.sign_in", "127.0.0.1"),
        ("session.sign_in_failed", "127.0.0.1"),
        ("person.reset", ""),
        ("session.sign_in_failed", "127.0.0.1"),
        ("session.sign_in", "127.0.0.1"),
        ("audit.export", ""),
    ]
