"""The settings of the model: what each may be, and where its headers go."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from monitor.config.llm import LlmSettings
from monitor.config.loading import load_settings
from monitor.config.model import Settings
from monitor.config.stored import apply_stored_settings, find_storage_error, get_display_value
from monitor.errors import SettingsError


def test_a_switch_of_yaml_is_read_as_it_is_written(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("llm: {thinking: off, structured_output: none}")
    llm = load_settings(file).llm
    assert (llm.thinking, llm.structured_output) == ("off", "none")


@pytest.mark.parametrize("name", ["messages", "model", "tools", "stream"])
def test_the_body_keeps_what_monitor_writes_itself(name: str) -> None:
    with pytest.raises(ValidationError, match="own_field"):
        LlmSettings(extra_body={"top_k": 20, name: 1})


@pytest.mark.parametrize("header", [{"Host": "a"}, {"a b": "c"}, {"X-A": "b\r\nX-C: d"}, {"X-A": "密"}])
def test_a_header_that_no_request_can_carry_is_refused(header: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="own_header"):
        LlmSettings(extra_headers=header)


def test_headers_stay_with_the_host_that_the_file_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROXY_KEY", "hidden-1")
    base = Settings(llm={"base_url": "https://one.example/v1", "extra_headers": {"X-Key": "Key $PROXY_KEY"}})
    known = apply_stored_settings(base, {}, {}).settings
    assert known.llm.headers_for_host == {"X-Key": "Key hidden-1"}
    moved = apply_stored_settings(base, {"llm.base_url": "https://two.example/v1"}, {}).settings
    assert moved.llm.headers_for_host == {}
    assert get_display_value("llm.extra_headers", known) == {"X-Key": "…"}
    assert find_storage_error("llm.extra_headers", {"X-Key": "a"}) is not None


def test_no_header_is_repeated_in_a_complaint(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("llm: {extra_headers: {X-Key: 48151623}}")
    with pytest.raises(SettingsError) as raised:
        load_settings(file)
    assert "48151623" not in str(raised.value)


def test_a_variable_that_no_header_can_carry_is_named_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROXY_KEY", "one\ntwo")
    llm = LlmSettings(base_url="https://one.example/v1", extra_headers={"X-Key": "$PROXY_KEY"})
    with pytest.raises(SettingsError, match="X-Key") as raised:
        llm.check_endpoint()
    assert "two" not in str(raised.value)
