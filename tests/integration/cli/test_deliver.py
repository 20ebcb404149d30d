"""`monitor deliver`, typed as a person types it, with a receiver on loopback."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

TOKEN, SECRET, PASSWORD = "t0ken-of-the-hook", "s3cret-that-signs", "p4ssword/of@mail"


@pytest.fixture
def configured(tmp_path: Path, site: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A webhook at the site and a mail server that is not there; their secrets stand in the environment."""

    def write(**hook: Any) -> None:
        url = f"http://{site.host}/hook/${{TOKEN}}"
        targets = [
            {"name": "hook", "url": url, "secret_env": "SECRET", **hook},
            {"name": "mail", "url": "smtp://u:${PASSWORD}@127.0.0.1:9", "sender": "m@x.org", "to": ["p@x.org"]},
        ]
        hosts = [site.host, "127.0.0.1:9"]
        given = {"deliver": {"targets": targets}, "network": {"allowed_private_hosts": hosts}}
        (tmp_path / "config.yaml").write_text(yaml.safe_dump(given), encoding="utf-8")

    for name, value in (("TOKEN", TOKEN), ("SECRET", SECRET), ("PASSWORD", PASSWORD)):
        monkeypatch.setenv(name, value)
    return write


async def test_deliveries_are_tried_told_and_retried(
    here: Any, configured: Callable[..., None], site: Any, reply: Any
) -> None:
    configured()
    site.on(f"/hook/{TOKEN}", reply("", 400))
    refused = await here("deliver", "now", "hook", "--json")
    assert (refused.code, refused.document["status"]) == (1, "failed")
    assert "answered 400" in refused.complaint
    health = (await here("health", "--json")).document
    assert [delivery["id"] for delivery in health["deliveries"]] == [refused.document["id"]]
    assert refused.document["id"] in (await here("health")).out
    site.on(f"/hook/{TOKEN}", "ok")
    again = await here("deliver", "retry", refused.document["id"])
    assert (again.code, again.err) == (0, "")
    assert (await here("deliver", "test", "hook")).out.startswith("hook-test-")
    (listed) = (await here("deliver", "list", "--target", "hook", "--json")).document["deliveries"]
    assert [(entry["kind"], entry["status"]) for entry in listed] == [("test", "sent"), ("typed", "sent")]
    keys = [json.loads(entry.body)["key"] for entry in site.asked]
    assert keys == [listed[1]["key"], listed[1]["key"], listed[0]["key"]]
    for words, output in (
        (("deliver", "test", "nobody"), "There is no target 'nobody'"),
        (("deliver", "retry", "nothing"), "There is no delivery 'nothing'"),
        (("deliver", "retry", refused.document["id"]), "has not failed"),
    ):
        answer = await here(*words)
        assert (answer.code, output in answer.complaint) == (2, True)


async def test_no_secret_is_ever_printed(
    here: Any, configured: Callable[..., None], site: Any, reply: Any, tmp_path: Path
) -> None:
    configured()
    site.on(f"/hook/{TOKEN}", lambda asked: reply(f"no: {asked.path} {SECRET} {asked.headers}", 400))
    said = [
        await here(*words)
        for words in (
            ("--debug", "deliver", "test", "hook"),
            ("--debug", "deliver", "test", "mail"),
            ("deliver", "now", "hook", "--json"),
            ("deliver", "list"),
            ("deliver", "list", "--json"),
            ("health", "--json"),
            ("doctor",),
        )
    ]
    configured(days=0)
    said.append(await here("deliver", "list"))
    for answer in said:
        for secret in (TOKEN, SECRET, PASSWORD):
            assert secret not in answer.out + answer.err
    assert "hook (http://127.0.0.1" in said[6].out
    kept = b"".join(file.read_bytes() for file in sorted((tmp_path / "data").glob("monitor.db*")))
    assert b"hook-test" in kept
    assert not any(secret.encode() in kept for secret in (TOKEN, SECRET, PASSWORD))


@pytest.mark.parametrize(
    ("fields", "output"),
    [
        ({"schedule": "0 8 * *"}, "The target hook in deliver.targets: The schedule '0 8 * *' has 4 fields"),
        ({"formats": ["odt"]}, "The target hook in deliver.targets: There is no format 'odt'"),
        ({"types": ["政治"]}, "there is no type '政治'"),
    ],
)
async def test_a_target_that_cannot_be_meant_is_told_at_the_start_and_by_the_doctor(
    here: Any, configured: Callable[..., None], fields: dict[str, Any], output: str
) -> None:
    configured(**fields)
    answer = await here("sources", "list")
    assert answer.code == 2
    assert output in answer.complaint
    doctor = (await here("doctor", "--json")).document
    assert [check["level"] for check in doctor["checks"] if check["check"] == "delivery"] == ["fail"]


async def test_the_doctor_names_a_variable_that_is_not_set(
    here: Any, configured: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    configured()
    monkeypatch.delenv("SECRET")
    doctor = await here("doctor")
    assert "The target hook needs the environment variable SECRET" in doctor.out
