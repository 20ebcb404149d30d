import ipaddress
import socket
from typing import Any

import pytest

from monitor.config.model import NetworkSettings
from monitor.fetch.guard import Address, Guard, Resolver
from monitor.fetch.result import FetchError
from monitor.page import PageErrorCode


def answering(*addresses: str):
    async def resolve(host: str, port: int) -> list[Address]:
        return [ipaddress.ip_address(address) for address in addresses]

    return resolve


async def unresolvable(host: str, port: int) -> list[Address]:
    raise socket.gaierror(socket.EAI_NONAME, "no such name")


REFUSED = [
    "http://127.0.0.1/",
    "http://127.8.9.1:8080/x",
    "http://10.0.0.1/",
    "http://172.16.3.4/",
    "http://192.168.1.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://100.100.100.200/",
    "http://168.63.129.16/",
    "http://0.0.0.0/",
    "http://255.255.255.255/",
    "http://224.0.0.1/",
    "http://240.0.0.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "http://0x7f.1/",
    "http://127。0。0。1/",
    "http://１２７.0.0.1/",
    "http://①②⑦.0.0.1/",
    "http://127.0.0.1./",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:a00:1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[::127.0.0.1]/",
    "http://[fe80::1]/",
    "http://[fd00:ec2::254]/",
    "http://[ff02::1]/",
    "http://user:secret@127.0.0.1/",
    "https://public.example@10.0.0.1/",
    "ftp://8.8.8.8/",
    "file:///etc/passwd",
    "data:text/html,hello",
    "javascript:alert(1)",
    "view-source:http://8.8.8.8/",
    "gopher://8.8.8.8/",
    "chrome://settings/",
]


@pytest.mark.parametrize("url", REFUSED)
async def test_private_addresses_and_other_schemes_are_refused(url: str) -> None:
    with pytest.raises(FetchError) as caught:
        await Guard(resolver=answering("93.184.216.34")).check(url)
    assert caught.value.error.code is PageErrorCode.FORBIDDEN


@pytest.mark.parametrize(
    "url", ["", "nonsense", "http://", "http:///path", "http://a b/", "http://[::1/", "http://x:99999/"]
)
async def test_what_is_no_url_is_called_invalid(url: str) -> None:
    with pytest.raises(FetchError) as caught:
        await Guard(resolver=answering("93.184.216.34")).check(url)
    assert caught.value.error.code is PageErrorCode.INVALID_URL


@pytest.mark.parametrize("url", ["http://93.184.216.34/", "https://public.example:8443/a", "http://[2606:4700::1111]/"])
async def test_public_addresses_pass(url: str) -> None:
    await Guard(resolver=answering("93.184.216.34")).check(url)


@pytest.mark.parametrize("answers", [("10.1.2.3",), ("93.184.216.34", "127.0.0.1"), ("::ffff:192.168.0.1",)])
async def test_a_name_that_resolves_to_a_private_address_is_refused(answers: tuple[str, ...]) -> None:
    with pytest.raises(FetchError) as caught:
        await Guard(resolver=answering(*answers)).check("http://innocent.example/")
    assert caught.value.error.code is PageErrorCode.FORBIDDEN


async def test_an_exception_holds_for_the_host_and_port_it_names_and_no_other() -> None:
    guard = Guard(allowed_private_hosts=["127.0.0.1:8099", "intranet.example"], resolver=answering("10.0.0.7"))
    await guard.check("http://127.0.0.1:8099/x")
    await guard.check("https://intranet.example/")
    for url in (
        "http://127.0.0.1:8098/",
        "http://other.example:8099/",
        "http://2130706433:8099/",
        "http://[::ffff:127.0.0.1]:8099/",
    ):
        with pytest.raises(FetchError):
            await guard.check(url)


async def test_a_name_without_an_address_is_a_network_error() -> None:
    with pytest.raises(FetchError, match="could not be resolved") as caught:
        await Guard(resolver=unresolvable).check("http://nowhere.example/")
    assert caught.value.error.code is PageErrorCode.NETWORK


def build_proxied_guard(resolver: Resolver, **network: Any) -> Guard:
    settings = NetworkSettings(proxy="http://proxy.example:3128", **network)
    return Guard.from_settings(settings, service_hosts=["model.example:8000"], resolver=resolver)


@pytest.mark.parametrize(
    "url",
    [
        "http://corp.example/",
        "https://a.b.corp.example.:8443/x",
        "http://A.CN/",
        "http://named.example:8099/",
        "http://model.example:8000/v1",
    ],
)
async def test_behind_a_proxy_a_name_that_does_not_resolve_passes_with_an_ending_or_as_an_exception(url: str) -> None:
    guard = build_proxied_guard(
        unresolvable, proxy_suffixes=[".corp.example", "cn"], allowed_private_hosts=["named.example:8099"]
    )
    await guard.check(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://intranet.example/",
        "http://xcorp.example/",
        "http://corp.example.evil.example/",
        "http://127.0.0.1.nip.io/",
        "http://named.example/",
        "http://model.example:8001/",
        "http://public.example@intranet.example/",
    ],
)
async def test_behind_a_proxy_any_other_name_that_does_not_resolve_is_refused(url: str) -> None:
    guard = build_proxied_guard(
        unresolvable, proxy_suffixes=["corp.example"], allowed_private_hosts=["named.example:8099"]
    )
    with pytest.raises(FetchError, match=r"network\.proxy_suffixes"):
        await guard.check(url)


@pytest.mark.parametrize("url", [*REFUSED, "http://wiki.internal/", "http://intranet/", "http://localhost/"])
async def test_an_ending_lets_no_private_address_and_no_local_name_pass(url: str) -> None:
    guard = build_proxied_guard(unresolvable, proxy_suffixes=["internal", "intranet", "localhost", "1", "example"])
    with pytest.raises(FetchError) as caught:
        await guard.check(url)
    assert caught.value.error.code is PageErrorCode.FORBIDDEN


async def test_behind_a_proxy_a_name_that_resolves_to_a_private_address_is_refused_whatever_its_ending() -> None:
    guard = build_proxied_guard(answering("10.0.0.7"), proxy_suffixes=["example"])
    with pytest.raises(FetchError) as caught:
        await guard.check("http://innocent.example/")
    assert caught.value.error.code is PageErrorCode.FORBIDDEN
