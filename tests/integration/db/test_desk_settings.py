"""Stored settings and wordings, on both databases."""

import datetime as dt
from typing import Any

import pytest

from monitor.db.database import Store
from monitor.db.tables.people import StoredPrompt, StoredSetting

NOW = dt.datetime(2026, 2, 3, 8, tzinfo=dt.UTC)


def row(path: str, value: Any, at: dt.datetime = NOW) -> StoredSetting:
    return StoredSetting(path=path, value=value, by="admin", at=at)


@pytest.mark.parametrize("value", [None, True, 0.5, "中文", ["a", 1], {"a": {"b": None}}])
async def test_a_value_comes_back_as_it_was_stored(store: Store, value: Any) -> None:
    await store.settings.change([row("llm.model", value)])
    assert [(setting.path, setting.value) for setting in await store.settings.list_all()] == [("llm.model", value)]


async def test_a_change_replaces_forgets_and_can_be_noticed(store: Store) -> None:
    await store.settings.change([row("a", 1), row("b", 2)])
    before = await store.settings.load_timestamps()
    await store.settings.change([row("a", 3, NOW + dt.timedelta(seconds=1))])
    changed = await store.settings.load_timestamps()
    await store.settings.change([], deleted_paths=["b", "never there"])
    assert [(setting.path, setting.value) for setting in await store.settings.list_all()] == [("a", 3)]
    assert len({str(sorted(entry.items())) for entry in (before, changed, await store.settings.load_timestamps())}) == 3


async def test_a_wording_replaces_the_earlier_one_and_is_forgotten_once(store: Store) -> None:
    for text in ("one", "another"):
        await store.prompts.save(StoredPrompt(name="summary.user.zh", text=text, by="admin", at=NOW))
    assert [prompt.text for prompt in await store.prompts.list_all()] == ["another"]
    assert [await store.prompts.delete("summary.user.zh") for _ in range(2)] == [True, False]
