import pytest
from pydantic import ValidationError

from monitor.log_in import LogInStep, format_step


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("open https://a.example/login", {"kind": "open", "url": "https://a.example/login"}),
        ("fill #user with text  anna b ", {"kind": "fill", "selector": "#user", "value": "anna b"}),
        ("fill input[name=p] with secret A_1", {"kind": "fill", "selector": "input[name=p]", "secret": "A_1"}),
        ("click form > button", {"kind": "click", "selector": "form > button"}),
        ("wait for .account", {"kind": "wait", "selector": ".account"}),
        ("wait for https://a.example/me", {"kind": "wait", "url": "https://a.example/me"}),
    ],
)
def test_a_line_and_its_parts_are_one_step(line: str, parts: dict[str, str]) -> None:
    step = LogInStep.model_validate(line)
    assert step == LogInStep.model_validate(parts)
    assert step.model_dump(mode="json") == parts
    assert LogInStep.model_validate(format_step(step)) == step


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("", "source.step_line"),
        ("press the button", "source.step_line"),
        ("fill #user anna", "source.step_line"),
        ("wait .account", "source.step_line"),
        ("open ", "source.step_parts"),
        ("open ftp://a.example/", "source.bad_url"),
        ("fill #p with secret not-a-name", "source.step_secret_name"),
        ("click #frame >> internal:control=enter-frame >> button", "source.step_selector"),
        ("click a\x00b", "source.step_selector"),
        ({"kind": "fill", "selector": "#p", "secret": "A", "value": "b"}, "source.step_parts"),
        ({"kind": "click", "selector": "a", "url": "https://a.example/"}, "source.step_parts"),
        ({"kind": "fill", "selector": "a[title='b with text c']", "value": "d"}, "source.step_selector"),
    ],
)
def test_what_is_no_step_is_refused(given: object, code: str) -> None:
    with pytest.raises(ValidationError) as refused:
        LogInStep.model_validate(given)
    assert refused.value.errors()[0]["type"] == code
