import inspect

import pytest

from monitor.cli.sources import add_source_options, collect_fields, get_default_values
from monitor.errors import UsageError
from monitor.services.sources.form import SourceForm


def test_every_field_of_a_source_but_what_it_is_taught_is_an_option() -> None:
    @add_source_options()
    def command(**fields: object) -> None: ...

    assert list(inspect.signature(command).parameters) == [
        name for name in SourceForm.model_fields if name != "recipes"
    ]


def test_only_what_was_given_is_changed() -> None:
    fields = {"name": None, "tags": [], "enabled": False, "rules": "", "sections": ["政策 = https://a.example/?a=b"]}
    assert collect_fields(fields) == {
        "enabled": False,
        "rules": "",
        "sections": [{"name": "政策", "url": "https://a.example/?a=b"}],
    }


@pytest.mark.parametrize("text", ["https", "=https://a.example/", "name="])
def test_a_section_without_name_or_url_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="NAME=URL"):
        collect_fields({"sections": [text]})


def test_a_cleared_field_goes_back_to_its_default() -> None:
    assert get_default_values(["tags", "schedule", "rules", "enabled"]) == {
        "tags": [],
        "schedule": None,
        "rules": "",
        "enabled": True,
    }


def test_what_a_source_cannot_be_without_is_not_cleared() -> None:
    with pytest.raises(UsageError, match="'url' cannot be cleared"):
        get_default_values(["url"])
