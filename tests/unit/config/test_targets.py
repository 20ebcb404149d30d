from pathlib import Path
from typing import Any

import pytest
import yaml

from monitor.config.loading import load_settings
from monitor.config.secrets import SecretBindings, StoredSecret
from monitor.config.targets import TargetSettings
from monitor.errors import SettingsError, UsageError

MAIL = {"name": "partners", "url": "smtp://u:hunter2hunter2@mail.example:587", "sender": "m@x.org", "to": ["p@x.org"]}
HOOK = {"name": "hook", "url": "https://x.example/hook"}
CHAT = {"name": "team", "url": "wecombot://0a1b2c3d4e5f6789abcd"}


def loaded(folder: Path, *targets: dict[str, Any]) -> list[TargetSettings]:
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump({"deliver": {"targets": list(targets)}}), encoding="utf-8")
    return load_settings(file).deliver.targets


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ({"url": "https://x.example"}, "`deliver.targets.0.name` .* is missing"),
        ({**HOOK, "name": "a b"}, "no spaces"),
        ({**HOOK, "url": "ftp://x.example"}, "smtp://…, smtps://…, http://…"),
        ({**HOOK, "url": "https://"}, "https://…"),
        ({**HOOK, "url": "https://x.example:none/"}, "https://…"),
        ({**HOOK, "keywrds": ["x"]}, "did you mean `deliver.targets.0.keywords`"),
        ({**HOOK, "quiet": "silent"}, "none, note"),
        ({**HOOK, "timezone": "Moon/Base"}, "not a time zone"),
        ({**HOOK, "deadline_minutes": -1}, "greater than or equal to 0"),
        ({**HOOK, "to": ["p@x.org"]}, "is not a mail target"),
        ({**MAIL, "to": []}, "needs `sender` and `to`"),
        ({**MAIL, "sender": None}, "needs `sender` and `to`"),
        ({**MAIL, "to": ["p@x.org\nBcc: q@x.org"]}, "name@example.org"),
        ({**MAIL, "secret_env": "X"}, "is not a webhook"),
        ({**CHAT, "formats": ["pdf"]}, "text only"),
        ({**CHAT, "url": "slack://a/b/c/?overflow=split&Template=/etc/passwd"}, "a file on this machine"),
    ],
)
def test_a_target_that_cannot_be_meant_is_one_sentence_without_its_secrets(
    tmp_path: Path, target: dict[str, Any], words: str
) -> None:
    with pytest.raises(SettingsError, match=words) as raised:
        loaded(tmp_path, target)
    assert "hunter2" not in str(raised.value)
    assert "0a1b2c3d" not in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("entry", ["MAIL_PASSWORD", "MAIL PASSWORD@mail.example", "KEY@", "@x.example", "KEY@a b"])
def test_a_variable_is_listed_with_the_address_that_it_is_for(tmp_path: Path, entry: str) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump({"deliver": {"variables": [entry]}}))
    with pytest.raises(SettingsError, match="MAIL_PASSWORD@smtp://"):
        load_settings(file)
    file.write_text("deliver: {variables: [KEY@smtp://mail.example, KEY@wecombot]}")
    assert len(load_settings(file).deliver.variables) == 2


def test_two_targets_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="two targets are named hook"):
        loaded(tmp_path, HOOK, HOOK)


def test_a_mapping_of_groups_takes_any_name_and_checks_what_stands_under_it(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("llm: {prices: {gpt-5: {input: 1.25, output: 10}}}", encoding="utf-8")
    assert load_settings(file).llm.prices["gpt-5"].output == 10
    file.write_text("llm: {prices: {gpt-5: {inptu: 1.25}}}", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"did you mean `llm\.prices\.gpt-5\.input`"):
        load_settings(file)


def test_variables_stand_for_secrets_and_one_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    target = TargetSettings(**{**MAIL, "url": "smtp://user%40x:${MAIL_PASSWORD}@mail.example"})
    with pytest.raises(UsageError, match="partners needs the environment variable MAIL_PASSWORD"):
        target.load_credentials()
    monkeypatch.setenv("MAIL_PASSWORD", "p/ss@w:rd")
    assert target.load_credentials() == ("user@x", "p/ss@w:rd")
    assert target.expand_url() == "smtp://user%40x:p/ss@w:rd@mail.example"
    hook = TargetSettings(name="hook", url="https://x.example/${MAIL_PASSWORD}")
    assert hook.expand_url() == "https://x.example/p/ss@w:rd"
    assert "p/ss@w:rd" in hook.list_secrets()


HOOK_SECRETS = SecretBindings(
    {
        "KEY": StoredSecret("the key", frozenset({"x.example"})),
        "USER": StoredSecret("u@evil.example/", frozenset({"x.example", "WeCom"})),
    }
)


@pytest.mark.parametrize(
    "target",
    [
        {**HOOK, "url": "https://${USER}:${KEY}@x.example/"},
        {**HOOK, "url": "https://${KEY}.x.example/"},
        {**CHAT, "url": "workflows://${USER}/x.example/sign"},
        {**CHAT, "url": "wecombot://${KEY}"},
    ],
)
def test_no_variable_moves_a_key_to_another_host(target: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        TargetSettings(**target).bind_secrets(HOOK_SECRETS).expand_url()


def test_no_variable_of_a_chat_names_a_file_of_this_machine() -> None:
    stored = SecretBindings({"KEY": StoredSecret("0123456789?%74emplate=/etc/passwd", frozenset({"WeCom"}))})
    with pytest.raises(UsageError, match="leads to another host or to a file"):
        TargetSettings(**{**CHAT, "url": "wecombot://${KEY}"}).bind_secrets(stored).expand_url()


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        (MAIL, "smtp://mail.example:587"),
        (CHAT, "WeCom"),
        ({**HOOK, "url": "https://x.example/t0k?k=s"}, "https://x.example"),
    ],
)
def test_what_is_shown_of_a_target_is_its_host(target: dict[str, Any], shown: str) -> None:
    assert TargetSettings(**target).shown == shown


def test_secrets_that_stand_in_a_url_are_known_as_such() -> None:
    assert TargetSettings(**MAIL).list_secrets() == ["hunter2hunter2"]
    assert TargetSettings(name="h", url="https://x.example/T0/abcdefghijklmnop?key=s").list_secrets() == [
        "abcdefghijklmnop?key=s",
        "key=s",
    ]
